"""Detection of a changed program, by its name or by what the robot does on a day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from minertia.fleet.events import EVERY, RobotEvent
from minertia.fleet.robot_day import RobotDay
from minertia.io.arrays import Array

NEW_PROGRAM = 0.05  # earth mover's distance, over the range, from which days are of different programs


@dataclass(frozen=True)
class ProgramState:
    """Program of a robot after some days.

    usual: mean histograms since the program began, over `count` days.  name: last logged name.  changes: days on which
    the program changed, with a note.
    """

    usual: Array = field(default_factory=lambda: np.zeros((0, 0)))
    count: int = 0
    name: str = ""
    changes: tuple[tuple[int, str], ...] = ()

    def events(self, robot: str) -> tuple[RobotEvent, ...]:
        """The changes as events of a robot."""
        return tuple(RobotEvent(robot, day, EVERY, "program", note, seen=True) for day, note in self.changes)

    def followed(self, days: Mapping[int, RobotDay]) -> ProgramState:
        """State after further days."""
        state = self
        for number in sorted(days):
            state = state._after(number, days[number])
        return state

    def _after(self, number: int, day: RobotDay) -> ProgramState:
        renamed = bool(day.program and self.name and day.program != self.name)
        moved = (
            self.count > 0 and day.histograms is not None and movers_distance(day.histograms, self.usual) > NEW_PROGRAM
        )
        usual, count, changes = self.usual, self.count, self.changes
        if renamed or moved:
            note = f"program {day.program}" if renamed else "the distribution of positions and speeds changed"
            count, changes = 0, (*changes, (number, note))
        if day.histograms is not None:
            count += 1
            usual = day.histograms if count == 1 else usual + (day.histograms - usual) / count
        return ProgramState(usual, count, day.program or self.name, changes)


def program_events(robot: str, days: Mapping[int, RobotDay]) -> tuple[RobotEvent, ...]:
    """Days on which the program of a robot changes, detected by its name, else by histograms."""
    return ProgramState().followed(days).events(robot)


def movers_distance(one: Array, other: Array) -> float:
    """Earth mover's distance of histograms over the same bins, relative to the range, averaged over the rows."""
    return float(np.mean(np.sum(np.abs(np.cumsum(one - other, axis=1)), axis=1)) / one.shape[1])
