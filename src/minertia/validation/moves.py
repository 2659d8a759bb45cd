"""Point-to-point motions, at rest at both ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from minertia.errors import Infeasible
from minertia.excitation.trajectory import Trajectory

PEAK = 1.875  # largest velocity of the quintic blend over its mean velocity


def point_to_point(start: ArrayLike, goal: ArrayLike, duration: float, period: float = 1e-3) -> Trajectory:
    """Quintic blend from one posture to another in `duration` [s]; velocity and acceleration are 0 at both ends."""
    if not duration > 0 or not period > 0:
        raise Infeasible("a move needs a positive duration and a positive period")
    a, b = np.asarray(start, float), np.asarray(goal, float)
    t = np.asarray(np.arange(max(round(duration / period), 1) + 1) * period, np.float64)
    s = np.minimum(t / t[-1], 1.0)[:, None]
    blend = s**3 * (10 + s * (6 * s - 15))
    rate = 30 * s**2 * (1 - s) ** 2 / t[-1]
    second = 60 * s * (1 - s) * (1 - 2 * s) / t[-1] ** 2
    return Trajectory(t, a + blend * (b - a), rate * (b - a), second * (b - a))


def joint_move(start: ArrayLike, joints: Sequence[int], angle: float, speed: float, period: float = 1e-3) -> Trajectory:
    """Some joints turn together by `angle` with largest velocity `speed` [rad, rad/s]."""
    if not speed > 0 or angle == 0:
        raise Infeasible("a move needs an angle and a positive speed")
    goal = np.asarray(start, float).copy()
    goal[list(joints)] += angle
    return point_to_point(start, goal, PEAK * abs(angle) / speed, period)
