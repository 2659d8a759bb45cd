"""Point-to-point trajectories, at rest at both ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from minertia.excitation.limits import MotionLimits
from minertia.excitation.trajectory import ContinuousMotion, Trajectory
from minertia.io.errors import Infeasible

PEAK = 1.875  # largest velocity of the quintic blend over its mean velocity
BEND = 5.774  # its largest acceleration, for a way of 1 in a time of 1
ROOM, SHARE = 0.6, 0.8  # parts of the ranges, and of velocities and accelerations, that random moves take


def point_to_point(start: ArrayLike, goal: ArrayLike, duration: float, period: float = 1e-3) -> Trajectory:
    """Quintic trajectory from one posture to another in `duration` [s]; zero velocity and acceleration at both ends."""
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
    """Trajectory in which some joints rotate together by `angle` [rad] with largest velocity `speed` [rad/s]."""
    if not speed > 0 or angle == 0:
        raise Infeasible("a move needs an angle and a positive speed")
    goal = np.asarray(start, float).copy()
    goal[list(joints)] += angle
    return point_to_point(start, goal, PEAK * abs(angle) / speed, period)


def to_and_fro(motion: ContinuousMotion, passes: int, period: float) -> Trajectory:
    """Repeat a rest-to-rest trajectory forwards and backwards in turn, `passes` times in all."""
    count = max(round(motion.duration / period), 2)
    t = np.asarray(np.arange(passes * count + 1) * (motion.duration / count), np.float64)
    phase = np.mod(t, 2 * motion.duration)
    back = phase > motion.duration
    q, qd, qdd = motion.at(np.where(back, 2 * motion.duration - phase, phase))
    return Trajectory(t, q, np.where(back, -1.0, 1.0)[:, None] * qd, qdd)


def random_moves(limits: MotionLimits, seconds: float, period: float, seed: int) -> Trajectory:
    """Point-to-point moves between random postures in the middle of the ranges, for at least `seconds`.

    They start from the middle of the ranges and use the fraction `SHARE` of the velocity and acceleration limits.
    """
    rng = np.random.default_rng(seed)
    posture, parts, total = limits.middle, list[Trajectory](), 0.0
    while total < seconds:
        goal = limits.middle + ROOM * limits.half * rng.uniform(-1, 1, len(limits.middle))
        far = np.abs(goal - posture)
        fast, soft = PEAK * far / (SHARE * limits.velocity), np.sqrt(BEND * far / (SHARE * limits.acceleration))
        parts.append(point_to_point(posture, goal, max(float(fast.max()), float(soft.max()), 10 * period), period))
        posture, total = goal, total + float(parts[-1].t[-1])
    q, qd, qdd = (np.concatenate([getattr(part, name)[:-1] for part in parts]) for name in ("q", "qd", "qdd"))
    return Trajectory(np.asarray(np.arange(len(q)) * period, np.float64), q, qd, qdd)
