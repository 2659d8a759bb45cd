"""Single-joint excitation: one joint moves at a time, from the last to the first; the others are at rest.

With only one joint moving, its effort depends only on the inertia and first moments about its axis and on its
friction, so the parameters are identified link by link.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np

from minertia.base.derive import base_parameters
from minertia.base.grouping import BaseParameters
from minertia.excitation.check import Checker, Margins
from minertia.excitation.claims import Claims, claims
from minertia.excitation.criteria import predicted_deviations
from minertia.excitation.effort import EffortModel
from minertia.excitation.fourier import FourierSeries
from minertia.excitation.limits import MotionLimits, motion_limits
from minertia.excitation.objective import FINER
from minertia.excitation.options import MotionSearch, MotionShape
from minertia.excitation.posture import feasible_posture
from minertia.excitation.result import FORMAT, WIDTH, stacked_regressor
from minertia.excitation.trajectory import Trajectory
from minertia.io.arrays import Array
from minertia.io.errors import Infeasible
from minertia.io.notebook import clipped, plural
from minertia.robot.robot import Robot

USED = 0.95  # part of the limits a sweep may use
SHORTEST = 1e-3
SWEPT, SEARCH = MotionShape(harmonics=3), MotionSearch()
STEPS = 201  # positions at which a joint's way is looked at


@dataclass(frozen=True)
class Sweep:
    """Excitation of one joint: its name and coordinate, the series, the sampled trajectory and its margins."""

    name: str
    joint: int
    motion: FourierSeries
    trajectory: Trajectory
    margins: Margins

    @property
    def file(self) -> str:
        """Name of the trajectory file for the controller."""
        return f"sweep-{self.joint + 1}.csv"

    @property
    def range(self) -> tuple[float, float]:
        """Smallest and largest position of the joint [rad or m]."""
        q = self.trajectory.q[:, self.joint]
        return float(q.min()), float(q.max())


@dataclass(frozen=True)
class Sweeps:
    """Single-joint excitations in the order to run them, last joint first, and their identifiable parameters.

    shown: base parameters identifiable from all sweeps; hidden: those that need several joints to move at once.
    """

    base: BaseParameters
    limits: MotionLimits
    sweeps: tuple[Sweep, ...]
    shown: tuple[str, ...]
    hidden: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"<Sweeps of '{clipped(self.base.robot.name, 40)}': {plural(len(self), 'motion')}; {len(self.shown)} "
            f"of {self.base.count} base parameters identifiable>"
        )

    @property
    def claims(self) -> Claims:
        """Verified and unverified limits of the motions."""
        return claims(self.limits)

    def __iter__(self) -> Iterator[Sweep]:
        return iter(self.sweeps)

    def __len__(self) -> int:
        return len(self.sweeps)

    def to_dict(self) -> dict[str, Any]:
        """All fields except the samples, for JSON."""
        return {
            "format": FORMAT,
            "robot": self.base.robot.name,
            "shown": list(self.shown),
            "hidden": list(self.hidden),
            "sweeps": [
                {
                    "joint": sweep.name,
                    "file": sweep.file,
                    "duration": sweep.motion.duration,
                    "range": [float(v) for v in (sweep.range[0], sweep.range[1])],
                    "margins": sweep.margins.to_dict(),
                }
                for sweep in self.sweeps
            ],
            "checked": list(self.claims.checked),
            "not_checked": list(self.claims.unchecked),
            "notes": list(self.limits.notes),
        }

    def to_json(self) -> str:
        """JSON text of `to_dict`."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    @property
    def headline(self) -> str:
        """One-line summary."""
        return f"{self.base.robot.name}: {len(self.sweeps)} sweeps, from the last joint to the first"

    def remarks(self) -> list[str]:
        """Sentences on the identifiable parameters, and notes."""
        said = f"{len(self.shown)} of {self.base.count} base parameters are identifiable from these sweeps"
        more = [f"simultaneous motion of several joints is needed for: {', '.join(self.hidden)}"] if self.hidden else []
        return [said, *more, *self.limits.notes]

    def __str__(self) -> str:
        checked = [line for sentence in self.claims.sentences for line in wrap(sentence, WIDTH)]
        rows = [f"{'joint':<16}{'from':>10}{'to':>10}{'largest use of a limit':>26}"]
        rows += [f"{s.name:<16}{s.range[0]:>10.3f}{s.range[1]:>10.3f}{s.margins.worst:>26.3f}" for s in self.sweeps]
        return "\n".join([self.headline, *checked, *rows, *self.remarks()])


def sweeps(
    robot: Robot,
    shape: MotionShape = SWEPT,
    *,
    limits: MotionLimits | None = None,
    search: MotionSearch = SEARCH,
) -> Sweeps:
    """Rest-to-rest excitation of each joint about a posture, last joint first, as large as limits allow."""
    duration, harmonics, n_samples = shape.duration, shape.harmonics, search.n_samples
    if harmonics < 2:
        raise Infeasible("a sweep needs at least two harmonics")
    if robot.is_floating:
        raise Infeasible(
            "a floating base has no motors; hang the robot up and plan its joints with a fixed base (--base fixed), "
            "or let it stand and wave one foot after the other"
        )
    robot.require_values("an excitation trajectory")
    base = base_parameters(robot, rotors=True, friction=True)
    effort = EffortModel(base) if robot.has_parameters else None
    checker = Checker(motion_limits(robot) if limits is None else limits, base, effort)
    q = feasible_posture(checker, shape.start, search.seed)  # type: ignore[arg-type]
    order = reversed(range(len(checker.limits.names)))
    found = tuple(_sweep(checker, j, q, duration, harmonics, n_samples) for j in order)
    W = np.vstack([stacked_regressor(base, sweep.motion, n_samples) for sweep in found])
    is_shown = np.isfinite(predicted_deviations(W))
    names = [[n for n, s in zip(base.names, is_shown, strict=True) if s == wanted] for wanted in (True, False)]
    return Sweeps(base, checker.limits, found, tuple(names[0]), tuple(names[1]))


def _sweep(checker: Checker, j: int, q: Array, duration: float, harmonics: int, n_samples: int) -> Sweep:
    limits, unit = checker.limits, _unit(duration, harmonics)
    count = FINER * n_samples + 1
    shape = unit.sample(count)
    ends = _stretch(checker, j, q)
    size = _largest_size(limits, unit, shape, j, ends)
    n, margins = len(limits.names), None
    while size > SHORTEST:
        sine, cosine = np.zeros((n, harmonics)), np.zeros((n, harmonics))
        sine[j], cosine[j] = size * unit.sine[0], size * unit.cosine[0]
        offset = q.copy()
        offset[j] = _centre(shape, ends, size)
        motion = FourierSeries(duration, unit.frequency, offset, sine, cosine)
        margins = checker.motion(motion, count)
        if margins.is_feasible:
            return Sweep(limits.names[j], j, motion, motion.sample(count), margins)
        size *= 0.9
    why = checker.explain(checker.posture(q) if margins is None else margins)
    raise Infeasible(
        f"joint '{limits.names[j]}' cannot be swept at this posture: {why}; give another posture with --start"
    )


def _unit(duration: float, harmonics: int) -> FourierSeries:
    """Fourier series with zero velocity and acceleration at both ends: cosines of growing order that cancel there."""
    k = np.arange(1, harmonics + 1)
    sine = np.where(k == 1, 1.0, -1.0 / max(harmonics - 1, 1))[None, :]  # velocities at 0 sum to 0
    cosine = np.zeros((1, harmonics))  # accelerations at 0 are those of the cosines alone
    return FourierSeries(duration, 1 / duration, np.zeros(1), sine, cosine)


def _stretch(checker: Checker, j: int, q: Array) -> tuple[float, float]:
    """Collision-free range of a joint around its position, with the others at rest."""
    limits = checker.limits
    positions = np.union1d(np.linspace(limits.lower[j], limits.upper[j], STEPS), q[j])
    postures = np.repeat(q[None], len(positions), axis=0)
    postures[:, j] = positions
    here = int(np.searchsorted(positions, q[j]))
    blocked = np.flatnonzero(checker.room(postures) < 0)
    below, above = blocked[blocked < here], blocked[blocked > here]
    first = int(below[-1]) + 1 if len(below) else 0
    last = int(above[0]) - 1 if len(above) else len(positions) - 1
    return float(positions[first]), float(positions[last])


def _largest_size(
    limits: MotionLimits, unit: FourierSeries, shape: Trajectory, j: int, ends: tuple[float, float]
) -> float:
    """Factor on the unit shape at which the first limit of the joint is nearly reached."""
    span = float(np.ptp(shape.q[:, 0]))
    sizes = (
        (ends[1] - ends[0]) / span,
        limits.velocity[j] / float(np.abs(shape.qd).max()),
        limits.acceleration[j] / float(np.abs(shape.qdd).max()),
        np.inf if limits.jerk is None else limits.jerk[j] / float(np.abs(unit.jerk(shape.t)).max()),
    )
    return USED * float(min(sizes))


def _centre(shape: Trajectory, ends: tuple[float, float], size: float) -> float:
    """Offset that centres the sweep in its range."""
    high, low = float(shape.q.max()), float(shape.q.min())
    return 0.5 * (ends[0] + ends[1]) - 0.5 * size * (high + low)
