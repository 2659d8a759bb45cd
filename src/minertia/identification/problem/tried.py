"""Record of automatic choices: every option that was tried, with its gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Tried:
    """One option of an automatic choice.

    gain: relative reduction of the compared error over the option in use when it was tried, nan where it could not be
    fitted; below 0 the error is larger.  reason: why it was not selected, or why it was where gains do not decide.
    """

    choice: str
    option: str
    gain: float
    is_selected: bool = False
    reason: str = ""

    @property
    def percent(self) -> str:
        """Gain [%] as text; below 0.005 % it is 0."""
        if not np.isfinite(self.gain):
            return ""
        percent = round(100 * self.gain, 2) + 0.0
        return f"{percent:.2g} %" if abs(percent) < 99.5 else f"{percent:.0f} %"

    @property
    def result(self) -> str:
        """Whether the option was selected, with the reason."""
        return ": ".join(filter(None, ("selected", self.reason))) if self.is_selected else self.reason

    def to_dict(self) -> dict[str, Any]:
        """Return the option as a dict of plain data, for JSON."""
        gain = self.gain if np.isfinite(self.gain) else None
        return {
            "choice": self.choice,
            "option": self.option,
            "gain": gain,
            "selected": self.is_selected,
            "reason": self.reason,
        }


def closest_options(tried: Sequence[Tried]) -> tuple[str, ...]:
    """For each choice, a sentence with the best option that was not selected: the one that new data may favour."""
    sentences = []
    for choice in dict.fromkeys(one.choice for one in tried):
        others = [one for one in tried if one.choice == choice and not one.is_selected and np.isfinite(one.gain)]
        if others:
            best = max(others, key=lambda one: one.gain)
            why = f" ({best.reason})" if best.reason else ""
            sentences.append(f"{choice}: the best option not selected is {best.option}, gain {best.percent}{why}")
    return tuple(sentences)
