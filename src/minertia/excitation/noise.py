"""Default effort noise for predicted standard deviations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from minertia.base.grouping import BaseParameters
from minertia.excitation.effort import EffortModel
from minertia.excitation.limits import MotionLimits
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError
from minertia.robot.effects import BY_SYMBOL
from minertia.robot.robot import Robot

PART = 0.01  # of the largest nominal effort of a joint, or of its limit of effort
LEAST_PART = 0.001  # of the largest nominal effort of all joints of a kind, where a joint has no limit of effort
UNKNOWN = 1.0  # N m or N, where the file has neither masses nor limits of effort
STATES = 500
FRICTION = tuple(symbol for symbol, effect in BY_SYMBOL.items() if "qd" in effect.inputs)


@dataclass(frozen=True)
class Noise:
    """Standard deviation of the noise on each joint's effort (n,) [N m or N], and its source, in words."""

    levels: Array
    basis: str


def effort_noise(
    base: BaseParameters, limits: MotionLimits, effort: EffortModel | None, given: ArrayLike | None = None
) -> Noise:
    """Effort noise as given, or a fraction of each joint's largest nominal effort.

    Joints without friction have a minimum noise.  effort: None if the file has no masses; the noise is then a
    fraction of the effort limits, or a constant.
    """
    robot = base.robot
    if given is not None:
        levels = np.broadcast_to(np.asarray(given, float), (robot.n,)).copy()
        if not np.all(levels > 0):
            raise MinertiaError("noise standard deviations must be positive")
        return Noise(levels, "as given")
    allowed = _allowed(robot, limits)
    if effort is None:
        levels = np.where(np.isnan(allowed), UNKNOWN, PART * allowed)
        either = f"{_percent(PART)} of the effort limit" if not np.isnan(allowed).any() else "assumed"
        return Noise(levels, f"{either}: the robot file has no masses")
    largest = _largest(base, limits, effort)
    floor = np.where(np.isnan(allowed), LEAST_PART * _of_kind(robot, largest), PART * allowed)
    rubs = np.array([_rubs(robot, j) for j in robot.independent])
    levels = np.where(rubs, PART * largest, np.maximum(PART * largest, floor))
    levels = np.where(levels > 0, levels, UNKNOWN)
    basis = f"{_percent(PART)} of the largest effort predicted from the robot file"
    if rubs.all():
        return Noise(levels, basis)
    least = f"{_percent(PART)} of the effort limit" if not np.isnan(allowed).any() else "a floor"
    return Noise(levels, f"{basis}, and at least {least} if the robot file has no friction")


def _allowed(robot: Robot, limits: MotionLimits) -> Array:
    """Effort limit of each joint, nan if unknown."""
    if limits.effort is not None:
        return limits.effort
    values = [robot.joints[j].limits.effort for j in robot.independent]
    return np.array([np.nan if value is None or not value > 0 else value for value in values], float)


def _largest(base: BaseParameters, limits: MotionLimits, effort: EffortModel) -> Array:
    rng, n = np.random.default_rng(0), base.robot.n
    q = rng.uniform(limits.lower, limits.upper, (STATES, n))
    qd, qdd = (rng.uniform(-1, 1, (STATES, n)) * size for size in (limits.velocity, limits.acceleration))
    if limits.loops is not None:  # where loops close, and passive joints do not race near singular postures
        fine = np.asarray(np.nan_to_num(limits.loops.rooms(q, 0 * qd), nan=-1.0).min(axis=1) > 0)
        fine &= limits.loops.is_on_branch(q)
        q, qd, qdd = (x[fine] if fine.any() else x for x in (q, qd, qdd))
    W = base.regressor(q, qd, qdd).reshape(-1, base.count)
    return effort.largest(effort.efforts(W, q, qd, qdd))


def _of_kind(robot: Robot, largest: Array) -> Array:
    """Largest value over all joints of the same kind (revolute or prismatic), for each joint."""
    kinds = [robot.joints[j].kind for j in robot.independent]
    return np.array([max(v for v, other in zip(largest, kinds, strict=True) if other == kind) for kind in kinds])


def _rubs(robot: Robot, j: int) -> bool:
    effects = [robot.effects[j], *robot.motor_effects]
    return any(values.get(symbol, 0.0) != 0 for values in effects for symbol in FRICTION)


def _percent(part: float) -> str:
    return f"{100 * part:g} %"
