"""Single-joint sweeps for off-line identification: one joint moves, from the last to the first, the others stand still.

With one joint moving at a time its effort shows the inertia and first moments about its axis and its friction alone,
so the parameters are found link by link.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.base.derive import base_parameters
from minertia.errors import Infeasible
from minertia.excitation.check import Checker, Margins
from minertia.excitation.effort import EffortModel
from minertia.excitation.fourier import FourierSeries
from minertia.excitation.limits import MotionLimits, motion_limits
from minertia.excitation.optimise import FINER
from minertia.excitation.posture import feasible_posture
from minertia.excitation.trajectory import Trajectory
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
USED = 0.95  # part of the limits a sweep may use
SHORTEST = 1e-3


@dataclass(frozen=True)
class Sweep:
    """One joint's motion: its name and coordinate, the series, the sampled trajectory and its margins."""

    name: str
    joint: int
    motion: FourierSeries
    trajectory: Trajectory
    margins: Margins


def sweeps(
    robot: Robot,
    *,
    limits: MotionLimits | None = None,
    duration: float = 10.0,
    harmonics: int = 3,
    posture: ArrayLike | None = None,
    n_samples: int = 200,
    seed: int = 0,
) -> tuple[Sweep, ...]:
    """A rest-to-rest sweep of each joint about a posture, from the last joint to the first, as wide as limits allow."""
    if not duration > 0 or harmonics < 2:
        raise Infeasible("a sweep needs a positive duration and at least two harmonics")
    base = base_parameters(robot)
    effort = EffortModel(base) if robot.has_parameters else None
    checker = Checker(motion_limits(robot) if limits is None else limits, base, effort)
    q = feasible_posture(checker, posture, seed)
    order = reversed(range(len(checker.limits.names)))
    return tuple(_sweep(checker, j, q, duration, harmonics, n_samples) for j in order)


def _sweep(checker: Checker, j: int, q: Array, duration: float, harmonics: int, n_samples: int) -> Sweep:
    limits, unit = checker.limits, _unit(duration, harmonics)
    count = FINER * n_samples + 1
    shape = unit.sample(count)
    size = _largest_size(limits, shape, j)
    n = len(limits.names)
    while size > SHORTEST:
        sine, cosine = np.zeros((n, harmonics)), np.zeros((n, harmonics))
        sine[j], cosine[j] = size * unit.sine[0], size * unit.cosine[0]
        offset = q.copy()
        offset[j] = _centre(limits, shape, j, size)
        motion = FourierSeries(duration, unit.frequency, offset, sine, cosine)
        trajectory = motion.sample(count)
        margins = checker.trajectory(trajectory)
        if margins.is_feasible:
            return Sweep(limits.names[j], j, motion, trajectory, margins)
        size *= 0.9
    raise Infeasible(f"joint '{limits.names[j]}' cannot be swept at this posture: {checker.explain(margins)}")


def _unit(duration: float, harmonics: int) -> FourierSeries:
    """A series whose velocity and acceleration vanish at both ends: cosines of growing order that cancel there."""
    k = np.arange(1, harmonics + 1)
    sine = np.where(k == 1, 1.0, -1.0 / max(harmonics - 1, 1))[None, :]  # velocities at 0 sum to 0
    cosine = np.zeros((1, harmonics))  # accelerations at 0 are those of the cosines alone
    return FourierSeries(duration, 1 / duration, np.zeros(1), sine, cosine)


def _largest_size(limits: MotionLimits, shape: Trajectory, j: int) -> float:
    """Factor on the unit shape at which the first limit of the joint is nearly reached."""
    span = float(np.ptp(shape.q[:, 0]))
    sizes = (
        (limits.upper[j] - limits.lower[j]) / span,
        limits.velocity[j] / float(np.abs(shape.qd).max()),
        limits.acceleration[j] / float(np.abs(shape.qdd).max()),
    )
    return USED * float(min(sizes))


def _centre(limits: MotionLimits, shape: Trajectory, j: int, size: float) -> float:
    """Offset that puts the sweep in the middle of the joint's range."""
    high, low = float(shape.q.max()), float(shape.q.min())
    return float(limits.middle[j]) - 0.5 * size * (high + low)
