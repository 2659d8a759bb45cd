"""What the options of estimators may be; they come from campaign files and command lines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minertia.errors import InputError


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from `low` to `high`; whole: only whole ones.  zero: 0 is one of them, too; auto: None is, too."""

    low: float
    high: float
    whole: bool = False
    zero: bool = False
    auto: bool = False

    def __str__(self) -> str:
        kind = "whole number" if self.whole else "number"
        return f"a {kind} from {self.low:g} to {self.high:g}{', or 0' if self.zero else ''}"

    def holds(self, value: object) -> bool:
        """Whether a value is one of these."""
        if value is None:
            return self.auto
        if isinstance(value, bool) or not isinstance(value, int if self.whole else (int, float)):
            return False
        return math.isfinite(value) and self.low <= value <= self.high or (self.zero and value == 0)


RANGES = {
    "iterations": Range(1, 10_000, whole=True),
    "segments": Range(1, 1_000_000, whole=True),
    "tolerance": Range(1e-12, 1),
    "threshold": Range(0.1, 1e6),  # below, too few residuals count in full to tell their spread
    "ratio": Range(1e-6, 1e6, zero=True),
    "bandwidth": Range(0.1, 1e4),
    "weight": Range(1e-20, 1e20, auto=True),
    "forgetting": Range(0.5, 1),
    "margin": Range(1e-12, 0.1, zero=True),
}


def check_options(name: str, options: Mapping[str, Any]) -> None:
    """Refuse an option of an estimator that is of another kind than it must be, or too small or large to work."""
    for option, value in options.items():
        if option in RANGES and not _fits(RANGES[option], value):
            raise InputError(
                f"the option '{option}' of the estimator '{name}' must be {RANGES[option]}, not {_shown(value)}"
            )


def _fits(known: Range, value: Any) -> bool:
    try:
        return known.holds(value)
    except OverflowError:  # a whole number that no float can hold
        return False


def _shown(value: object) -> str:
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**30 else "a larger one"
    return text if len(text) <= 40 else text[:37] + "..."
