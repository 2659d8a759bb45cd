"""Messages of progress callbacks, and the part of the work that they show to be complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

MOST = 0.97  # part of the work that is complete when its last step begins


class WorkStep(str):
    """Message that also states which part of a computation is complete, between 0 and 1."""

    __slots__ = ("done",)
    done: float

    def __new__(cls, text: str, done: float) -> Self:
        """Message with the completed part."""
        made = super().__new__(cls, text)
        made.done = min(max(done, 0.0), 1.0)
        return made


def within(tell: Callable[[str], None], first: float, last: float) -> Callable[[str], None]:
    """Progress callback of a computation that is the part from `first` to `last` of a longer one."""

    def part(step: str) -> None:
        done = step.done if isinstance(step, WorkStep) else 0.0
        tell(WorkStep(step, first + (last - first) * done))

    return part


class StepCount:
    """Completed part of work of about so many steps; a step that states its part is believed."""

    def __init__(self, steps: int) -> None:
        self.steps, self.begun, self.done = max(steps, 1), 0, 0.0

    def begin(self, step: str) -> float:
        """Completed part of the work when a step begins."""
        if isinstance(step, WorkStep):
            self.done = step.done
        else:
            self.done = max(self.done, self.begun / self.steps)
            self.begun += 1
        self.done = min(self.done, MOST)
        return self.done
