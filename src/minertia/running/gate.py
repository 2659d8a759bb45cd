"""Check of the commanded trajectory, between its samples, against every limit before a driver is opened.

Samples of a file are interpolated by quintics, so limits at the samples do not bound the commands.  Here each
polynomial is bounded from end to end, and the constraints on floor, obstacles, links, loop closure and
efforts are sampled so densely that no violation fits between two samples.  Commands are positions on these
polynomials, in order and at most one period of the stage apart; so no difference of commands, at any rate and
any fraction of the speed, exceeds the derivative that is bounded here.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from minertia.base.derive import base_parameters
from minertia.excitation.capsules import length
from minertia.excitation.check import Checker, Margins
from minertia.excitation.effort import EffortModel
from minertia.excitation.limits import MotionLimits
from minertia.excitation.options import SECONDS
from minertia.excitation.route import AT_REST, Route
from minertia.excitation.sampled import SampledMotion
from minertia.excitation.trajectory import Trajectory
from minertia.io.arrays import Array
from minertia.io.errors import Infeasible, MinertiaError, ShapeError
from minertia.io.files import is_file
from minertia.robot.robot import Robot
from minertia.running.gate_limits import gate_limits, within_file

# what sampling explains: excite looks on a grid, and its motion can be a little beyond between two looks
POSITION_SLACK = 1e-3  # of half a range
RATE_SLACK = {"velocity": 0.01, "acceleration": 0.01, "jerk": 0.05}  # parts of the limits
EFFORT_SLACK = 0.02
LOOP_SLACK = 0.02  # of the room of closed loops
DISTANCE_SLACK = 0.1  # of the distance to keep; what is left of it still keeps things apart
ORDERS = {"position": 0, "velocity": 1, "acceleration": 2, "jerk": 3}
INSIDE = np.linspace(0.0, 1.0, 33)  # parts of an interval at which one that may be beyond a limit is looked at
STEP = 0.01  # rad or m that all joints together go between two looks, at most
PASSED = 1 - DISTANCE_SLACK  # of twice the distance to keep: what a point of the robot goes between two looks, at most
FEWEST, MOST = 200, 2_000_000  # looks: seven joints at 1 rad/s for 48 minutes
MISFIT = 0.01  # of a joint's largest velocity: what quadrature and rounded numbers leave between positions and it
BEND = 1 / 6  # of the change of velocity in an interval that the change of its acceleration may explain
UNEVEN = 0.3  # of a joint's largest acceleration: what five samples in a period of its fastest part leave
TINY = 2e-3  # rad/s or m/s, and per s2: what six decimals at 1 kHz leave, and nobody feels
QUARTERS = np.arange(4) / 4  # parts of an interval at which efforts are looked at
COARSE = 0.1  # part of the largest error by which a motion may leave the straight line between two commands


def check_columns(name: str, path: Trajectory, names: tuple[str, ...]) -> None:
    """Raise an error for a file whose velocities or accelerations are inconsistent with its positions."""
    t, h = path.t, np.diff(path.t)[:, None]
    mean = np.diff(path.q, axis=0) / h
    told = 0.5 * (path.qd[1:] + path.qd[:-1])
    change = np.abs(np.diff(path.qdd, axis=0)) * h
    room = MISFIT * np.abs(path.qd).max(axis=0) + BEND * change + TINY + _rounding(path, h)
    off = np.abs(mean - told) > room
    if off.any():
        k, j = np.unravel_index(int(np.argmax(np.where(off, np.abs(mean - told) / room, 0.0))), off.shape)
        raise Infeasible(
            f"'{name}' is inconsistent: from t = {t[k]:.6g} to {t[k + 1]:.6g} s joint '{names[j]}' moves by "
            f"{path.q[k + 1, j] - path.q[k, j]:.4g}, a velocity of {mean[k, j]:.4g}, but its velocity column "
            f"gives {told[k, j]:.4g}; write positions, velocities and accelerations of the same trajectory"
        )
    _check_accelerations(name, path, names)


def _rounding(path: Trajectory, h: Array) -> Array:
    """Velocity error due to rounding of positions and times."""
    digits = 8 * np.finfo(float).eps
    return np.asarray(digits * (np.abs(path.q).max(axis=0) + np.abs(path.t).max() * np.abs(path.qd).max(axis=0)) / h)


def _check_accelerations(name: str, path: Trajectory, names: tuple[str, ...]) -> None:
    """Check that each acceleration lies between the neighbouring velocity difference quotients, with a tolerance."""
    if len(path.t) < 3:
        return
    mean = np.diff(path.qd, axis=0) / np.diff(path.t)[:, None]
    low, high = np.minimum(mean[1:], mean[:-1]), np.maximum(mean[1:], mean[:-1])
    inner = path.qdd[1:-1]
    room = UNEVEN * np.minimum(np.abs(path.qdd).max(axis=0), np.abs(mean).max(axis=0)) + TINY
    room = room + 8 * np.finfo(float).eps * np.abs(path.qd).max(axis=0) / np.diff(path.t).min()
    off = np.maximum(low - inner, inner - high) / room
    if off.max() > 1:
        k, j = np.unravel_index(int(np.argmax(off)), off.shape)
        raise Infeasible(
            f"'{name}' is inconsistent: at t = {path.t[k + 1]:.6g} s the acceleration of joint '{names[j]}' is "
            f"{inner[k, j]:.4g}, but its velocities imply {low[k, j]:.4g} to {high[k, j]:.4g}; write velocities "
            "and accelerations of the same trajectory, with at least eight samples per period of its highest "
            "frequency"
        )


class Gate:
    """Limits against which the trajectories of a robot are checked, each part of a trajectory separately."""

    def __init__(self, robot: Robot, limits: MotionLimits) -> None:
        self.limits, self.step = limits, _step(robot, limits)
        base = base_parameters(robot, rotors=True, friction=True)
        has_efforts = limits.effort is not None and robot.has_parameters
        self.space = Checker(replace(limits, effort=None), base, None)
        plain = replace(limits, clearance=None, boxes=(), loops=None, effort_margin=0.0)
        self.efforts = Checker(plain, base, EffortModel(base)) if has_efforts else None

    def check(self, name: str, motion: SampledMotion) -> None:
        """Raise an error for a trajectory that violates a limit at any time."""
        self._check_joints(name, motion)
        self._refuse(name, self.space, self._space(motion))
        if self.efforts is not None:
            margins = self.efforts.states(*motion.at(_between(motion.path)))
            largest = margins.effort or ()
            if max(largest) > 1 + EFFORT_SLACK:
                j = int(np.argmax(largest))
                raise Infeasible(
                    f"'{name}' exceeds the effort limit of joint '{self.limits.names[j]}': it needs "
                    f"{largest[j]:.3g} times the allowed effort; reduce the trajectory or its speed"
                )

    def _check_joints(self, name: str, motion: SampledMotion) -> None:
        limits = self.limits
        reach = {"velocity": limits.velocity, "acceleration": limits.acceleration, "jerk": limits.jerk}
        room = POSITION_SLACK * limits.half
        bounds = {"position": (limits.lower - room, limits.upper + room)}
        bounds |= {w: (-(1 + RATE_SLACK[w]) * r, (1 + RATE_SLACK[w]) * r) for w, r in reach.items() if r is not None}
        for what, (low, high) in bounds.items():
            found = _beyond(motion, ORDERS[what], low, high)
            if found is not None:
                t, j, value = found
                limit = limits.upper[j] if value > high[j] else limits.lower[j]
                allowed = limit if what == "position" else reach[what][j]  # type: ignore[index]
                raise Infeasible(
                    f"'{name}' exceeds the {what} limit of joint '{limits.names[j]}': {value:.4g} at t = {t:.6g} "
                    f"s, allowed {allowed:.4g}"
                )

    def _space(self, motion: SampledMotion) -> Margins:
        """Margins of floor, obstacles, links, boxes and loop closure, at closely spaced times."""
        low, high = motion.hulls(1)
        path = motion.path
        ways = np.maximum(-low, high).sum(axis=1) * np.diff(path.t)
        gone = np.concatenate([[0.0], np.cumsum(ways)])
        count = max(FEWEST, int(np.ceil(gone[-1] / self.step))) + 1
        if count > MOST:
            raise Infeasible(
                f"the joints travel {gone[-1]:.4g} rad or m in total, too far for the collision check; split the "
                "trajectory into parts"
            )
        times = np.interp(np.linspace(0.0, gone[-1], count), gone, path.t - path.t[0])
        still = np.linspace(0.0, motion.duration, FEWEST)
        q, qd, _ = motion.at(np.sort(np.concatenate([times, still])))
        return self.space.states(q, qd, np.zeros_like(q))

    def _refuse(self, name: str, checker: Checker, margins: Margins) -> None:
        joints = (0.0,) * len(self.limits.names)  # were looked at before
        found = replace(margins, position=joints, velocity=joints, acceleration=joints, jerk=None)
        room = DISTANCE_SLACK * margins.clearance_margin
        eased = replace(
            found,
            boxes=tuple((frame, distance + room) for frame, distance in margins.boxes),
            passive=None if margins.passive is None else margins.passive + LOOP_SLACK * (margins.passive > -1),
            clearance_margin=margins.clearance_margin - room,
        )
        if not eased.is_feasible:
            raise Infeasible(f"'{name}' must not be run: {checker.explain(found)}")


def _step(robot: Robot, limits: MotionLimits) -> float:
    """Joint step between two checks, so small that no point of the robot can pass through an obstacle."""
    if limits.clearance is None:
        return STEP
    slides = [c for c, j in enumerate(robot.independent) if robot.joints[j].kind == "prismatic"]
    out = float(np.maximum(np.abs(limits.lower), np.abs(limits.upper))[slides].sum())
    reach = max(length(robot) + out, 1.0)  # m that a point moves for each rad or m of a joint, at most
    return min(STEP, PASSED * 2 * limits.clearance.margin / reach)


def _beyond(motion: SampledMotion, order: int, low: Array, high: Array) -> tuple[float, int, float] | None:
    """(time in the file, joint, value) of the largest violation of bounds on a derivative; None if there is none."""
    with np.errstate(over="ignore", invalid="ignore"):  # numbers without end are beyond every limit
        return _farthest(motion, order, low, high)


def _farthest(motion: SampledMotion, order: int, low: Array, high: Array) -> tuple[float, int, float] | None:
    least, most = motion.hulls(order)
    suspects = np.flatnonzero(~((least >= low) & (most <= high)).all(axis=1))
    if not len(suspects):
        return None
    t = motion.path.t
    worst: tuple[float, int, float] | None = None
    largest = 0.0
    for part in np.array_split(suspects, max(1, len(suspects) // 2000)):
        times = (t[part, None] + INSIDE * (t[part + 1] - t[part])[:, None]).ravel()
        values = _derivative(motion, order, times - t[0])
        over = np.nan_to_num(np.maximum(low - values, values - high), nan=np.inf)
        k, j = np.unravel_index(int(np.argmax(over)), over.shape)
        if over[k, j] > largest:
            largest, worst = float(over[k, j]), (float(times[k]), int(j), float(values[k, j]))
    return worst


def _derivative(motion: SampledMotion, order: int, times: Array) -> Array:
    return motion.jerk(times) if order == ORDERS["jerk"] else motion.at(times)[order]


def _between(path: Trajectory) -> Array:
    """Times of the samples, and of three points between each pair of neighbours."""
    t = path.t - path.t[0]
    return np.append((t[:-1, None] + QUARTERS * np.diff(t)[:, None]).ravel(), t[-1])


def check_rate(motion: SampledMotion, error: Array, rate: float, names: tuple[str, ...]) -> None:
    """Raise an error for a command rate [Hz] too low to follow the curvature of the trajectory."""
    low, high = motion.hulls(2)
    bent = np.maximum(-low, high).max(axis=0)
    off = bent / (8 * rate**2)  # of a parabola from its chord
    part = off / (COARSE * error)
    j = int(np.argmax(part))
    if part[j] > 1:
        raise Infeasible(
            f"{rate:g} commands per second are too few for this trajectory: joint '{names[j]}' deviates from the "
            f"straight line between two commands by {off[j]:.2g}; give a --rate of at least "
            f"{rate * np.sqrt(part[j]):.0f}"
        )


# ------------------------------------------------------------------------------------------------- motions from files


PARTS = ("approach", "excitation", "return")
JOINED = 1e-6  # rad or m between the end of a part and the beginning of the next one


def read_route(path: str | Path, robot: Robot, limits: MotionLimits | None = None) -> Route:
    """Read a closed trajectory: from rest to rest, back to its first posture, within every limit at all times.

    limits: by default those of the robot file and of the trajectory's folder, as in `gate_limits`; given limits
    never exceed those of the robot file.
    """
    found = _files(Path(path))
    for name, part in found:
        _check_samples(name, part, robot)
    for (first, a), (second, b) in zip(found, [*found[1:], found[0]], strict=True):
        if np.abs(a.q[-1] - b.q[0]).max() > JOINED:
            raise Infeasible(
                f"'{first}' does not end where '{second}' begins; write both in one call of excite, with --from"
            )
    gate = Gate(robot, gate_limits(path, robot).limits if limits is None else within_file(robot, limits))
    parts = tuple((name, SampledMotion(part)) for name, part in found)
    for name, motion in parts:
        gate.check(name, motion)
    for name, part in found:
        check_columns(name, part, robot.coordinate_names)
    return Route(parts)


def _files(path: Path) -> list[tuple[str, Trajectory]]:
    """(name, samples) of a file, or of the parts in a folder."""
    if is_file(path):
        return [(path.stem, Trajectory.load(path))]
    files = [(name, path / f"{name}.csv") for name in PARTS]
    found = [(name, Trajectory.load(file)) for name, file in files if is_file(file)]
    if "excitation" not in dict(found):
        raise MinertiaError(f"'{path}' is neither a trajectory file nor a folder written by `minertia excite`")
    return found


def _check_samples(name: str, part: Trajectory, robot: Robot) -> None:
    """Raise an error for other joints, times that do not increase, and ends that are not at rest."""
    if part.n != robot.n:
        raise ShapeError(f"'{name}' moves {part.n} joints, but '{robot.name}' has {robot.n}")
    back = np.flatnonzero(np.diff(part.t) <= 0)
    if len(back) or len(part.t) < 2:
        where = f"the time stamps do not increase at t = {part.t[back[0] + 1]:.6g} s" if len(back) else "it has one row"
        raise Infeasible(f"'{name}' is not a valid trajectory: {where}")
    seconds = float(part.t[-1] - part.t[0])
    if not SECONDS[0] <= seconds <= SECONDS[1]:
        raise Infeasible(
            f"'{name}' lasts {seconds:g} s, but the allowed duration is {SECONDS[0]:g} to {SECONDS[1]:g} s"
        )
    ends = [0, -1]
    if max(np.abs(part.qd[ends]).max(), np.abs(part.qdd[ends]).max()) > AT_REST:
        raise Infeasible(f"'{name}' does not start and end at rest")
