"""Detection of a changed program, by its name or by what the robot does on a day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from minertia.fleet.columns import FLEET
from minertia.fleet.events import EVERY, RobotEvent
from minertia.fleet.evidence import EvidenceLayout, FleetEvidence
from minertia.fleet.robot_day import RobotDay
from minertia.identification.problem.linear import symbol_of
from minertia.io.arrays import Array

NEW_PROGRAM = 0.05  # earth mover's distance, over the range, from which days are of different programs
NEW_MOTION = 0.35  # relative difference of second moments: half of the smallest between programs of like histograms
STEADY = ("FV", "FC", "OFF", "KS")  # joint columns that depend on the motion alone


@dataclass(frozen=True)
class ProgramState:
    """Program of a robot after some days.

    usual: mean histograms since the program began, over `count` days.  moments: mean second moments of the regressor.
    name: last logged name.  changes: days on which the program changed, with a note.
    """

    usual: Array = field(default_factory=lambda: np.zeros((0, 0)))
    moments: Array = field(default_factory=lambda: np.zeros(0))
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
        moments = second_moments(day.evidence)
        why = self._changed(day, moments)
        usual, mean, count, changes = self.usual, self.moments, self.count, self.changes
        if why:
            count, changes = 0, (*changes, (number, why))
        count += 1
        mean = moments if count == 1 else mean + (moments - mean) / count
        if day.histograms is not None:
            usual = day.histograms if count == 1 or not usual.size else usual + (day.histograms - usual) / count
        return ProgramState(usual, mean, count, day.program or self.name, changes)

    def _changed(self, day: RobotDay, moments: Array) -> str:
        """Reason to take the program of a day for a new one, else ""."""
        if day.program and self.name and day.program != self.name:
            return f"program {day.program}"
        if not self.count:
            return ""
        if day.histograms is not None and self.usual.size and movers_distance(day.histograms, self.usual) > NEW_PROGRAM:
            return "the distribution of positions and speeds changed"
        sizes = _sizes(day.evidence.layout)
        if moments_distance(moments, self.moments, sizes) > NEW_MOTION:
            return "positions and speeds are distributed as before, but combined in another way"
        return ""


def program_events(robot: str, days: Mapping[int, RobotDay]) -> tuple[RobotEvent, ...]:
    """Days on which the program of a robot changes, detected by its name, else by histograms."""
    return ProgramState().followed(days).events(robot)


def movers_distance(one: Array, other: Array) -> float:
    """Earth mover's distance of histograms over the same bins, relative to the range, averaged over the rows."""
    return float(np.mean(np.sum(np.abs(np.cumsum(one - other, axis=1)), axis=1)) / one.shape[1])


@lru_cache(maxsize=16)
def _columns(layout: EvidenceLayout) -> tuple[tuple[int, ...], ...]:
    """For each effort, the places of the columns that depend on the motion alone: not on load or temperature."""
    own = {symbol for symbol in FLEET if symbol not in STEADY}
    return tuple(tuple(k for k, n in enumerate(titles) if symbol_of(n) not in own) for titles in layout.titles)


def _sizes(layout: EvidenceLayout) -> tuple[int, ...]:
    return tuple(len(own) for own in _columns(layout))


def second_moments(evidence: FleetEvidence) -> Array:
    """Second moments W'W / rows of the regressor of each effort, upper triangles one after the other.

    They depend on positions, speeds and accelerations of all joints together, so they differ between programs whose
    histograms are alike: another order of moves, another coordination or other accelerations.
    """
    parts = []
    for R, own, rows in zip(evidence.triangles, _columns(evidence.layout), evidence.samples, strict=True):
        W = R[:, list(own)]
        parts.append((W.T @ W)[np.triu_indices(len(own))] / max(float(rows), 1.0))
    return np.concatenate(parts)


def moments_distance(one: Array, usual: Array, sizes: Sequence[int]) -> float:
    """Largest relative difference over efforts of second moments, each column scaled to usual length 1."""
    worst, done = 0.0, 0
    for k in sizes:
        rows, columns = np.triu_indices(k)
        a, b = one[done : done + len(rows)], usual[done : done + len(rows)]
        done += len(rows)
        length = np.sqrt(b[rows == columns])
        scale = np.outer(length, length)[rows, columns]
        shown = scale > 1e-9 * scale.max(initial=0.0)
        if shown.any():
            gap = (a[shown] - b[shown]) / scale[shown]
            worst = max(worst, float(np.linalg.norm(gap) / np.linalg.norm(b[shown] / scale[shown])))
    return worst
