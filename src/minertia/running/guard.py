"""`Guard`: checks every period whether a robot follows its commands."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.excitation.limits import per_joint
from minertia.excitation.trajectory import frozen
from minertia.io.arrays import Array
from minertia.io.errors import InputError
from minertia.robot.robot import Robot
from minertia.running.driver import JointReading

ERROR, SLIDING_ERROR = 0.1, 0.02  # rad, m: largest distance from what was commanded
WIDEST, SLIDING_WIDEST = 0.5, 0.1  # rad, m that can be allowed: half a rad at a metre's reach is a blow, not an error
FASTER = 2.0  # times the largest velocity that is commanded: no joint that follows is so fast
NEAR = 0.1  # part of the largest error within which a robot stands where a motion begins
JITTER = 0.1  # part of the largest error that encoders and clocks may add to a way within a period
LAG = 0.1  # s that a robot may be behind its commands
STANDS = 0.2  # part of the smallest way commanded in a period of that time, below which a joint stands still
LEAST = 2e-4  # rad or m that must be commanded in every period before a joint can be said to stand still
CLEAR = 4.0  # steps of its encoder at least; and times the change of its way from period to period, when it stops


@dataclass(frozen=True)
class Guard:
    """Bounds of every joint, arrays (n,): tracking error [rad or m], effort in the driver's unit.

    effort: None if no effort is monitored, infinite at joints without a bound.  must_tell: whether it is an error
    if the robot does not report an effort that is bounded; otherwise those joints are listed and not monitored.
    """

    names: tuple[str, ...]
    error: Array
    effort: Array | None = None
    must_tell: bool = True

    def __post_init__(self) -> None:
        for what in ("error", "effort"):
            values = getattr(self, what)
            if values is not None:
                object.__setattr__(self, what, frozen(_bounds(self.names, what, np.asarray(values, float))))
        if (self.error > WIDEST).any():
            raise _too_wide(self.names[int(np.argmax(self.error))], float(self.error.max()), f"{WIDEST:g} rad")

    @staticmethod
    def of(
        robot: Robot, error: ArrayLike | None = None, effort: ArrayLike | None = None, *, in_amperes: bool = False
    ) -> Guard:
        """Guard with the given bounds, else default tracking errors and the effort limits of the robot file.

        Bounds wider than a robot's limits are an error.  in_amperes: whether efforts are currents, to which the
        file's limits do not apply.
        """
        joints = [robot.joints[j] for j in robot.independent]
        slides = np.array([joint.kind == "prismatic" for joint in joints])
        own = np.array([joint.limits.effort or np.inf for joint in joints])  # a zero is what nobody knows
        own = np.full(robot.n, np.inf) if in_amperes else own
        known = own if np.isfinite(own).any() else None
        found = Guard(
            robot.coordinate_names,
            np.asarray(np.where(slides, SLIDING_ERROR, ERROR) if error is None else error, float),
            known if effort is None else np.asarray(effort, float),
            must_tell=effort is not None,
        )
        wide = slides & (found.error > SLIDING_WIDEST)
        if wide.any():
            j = int(np.argmax(wide))
            raise _too_wide(found.names[j], float(found.error[j]), f"{SLIDING_WIDEST:g} m")
        if found.effort is not None and (found.effort > own).any():
            j = int(np.argmax(found.effort > own))
            raise InputError(
                f"joint '{found.names[j]}' has an effort limit of {own[j]:g} in the robot file, but would be "
                f"stopped only at {found.effort[j]:g}; give an --effort that does not exceed the limit"
            )
        return found

    def watching(self, first: JointReading) -> tuple[Guard, str, str]:
        """(guard for a robot with this first state, reason not to begin or "", what is not monitored or "").

        A requested bound on an effort that the robot does not report is a reason not to begin.
        """
        if self.effort is None:
            return self, "", ""
        effort = np.full(len(self.names), np.nan) if first.effort is None else first.effort
        untold = np.isfinite(self.effort) & ~np.isfinite(effort)
        if not untold.any():
            return self, "", ""
        whose = ", ".join(name for name, is_untold in zip(self.names, untold, strict=True) if is_untold)
        if self.must_tell:
            return (
                self,
                (f"efforts of {whose} are to be monitored, but the robot does not report them; omit --effort"),
                "",
            )
        left = np.where(untold, np.inf, self.effort)
        guard = replace(self, effort=left if np.isfinite(left).any() else None)
        return guard, "", f"the robot does not report the effort of {whose}, so it is not monitored"

    @property
    def unwatched(self) -> tuple[str, ...]:
        """Names of the joints whose effort is not monitored."""
        return tuple(name for j, name in enumerate(self.names) if self.effort is None or np.isinf(self.effort[j]))

    def place(self, q: Array, first: Array) -> str | None:
        """Reason why a trajectory must not begin here; None if the robot is at the first posture."""
        off = np.abs(q - first) / (NEAR * np.minimum(self.error, ERROR))  # the first command is a step of that size
        if not off.max() <= 1:
            j = int(np.argmax(np.where(np.isnan(off), np.inf, off)))
            return (
                f"joint '{self.names[j]}' is at {q[j]:.4g}, but the trajectory begins at {first[j]:.4g}; give the "
                "present posture to `excite --from`, or move the robot to the start"
            )
        return None

    def fault(self, now: JointReading, before: JointReading | None, commanded: Array, fastest: Array) -> str | None:
        """Reason to stop the robot; None while it follows its commands.

        commanded (n,): commanded position at this time.  fastest (n,): largest commanded velocity.
        """
        if not np.all(np.isfinite(now.q)):
            return f"{self._joint(~np.isfinite(now.q))} reports no position"
        off = np.abs(now.q - commanded)
        if (off > self.error).any():
            j = int(np.argmax(off / self.error))
            return f"joint '{self.names[j]}' has a tracking error of {off[j]:.3g} (allowed {self.error[j]:.3g})"
        if now.effort is None and (self.effort is not None or (before is not None and before.effort is not None)):
            return "the robot no longer reports efforts"
        return self._jump(now, before, fastest) or self._effort(now.effort)

    def _jump(self, now: JointReading, before: JointReading | None, fastest: Array) -> str | None:
        if before is None:
            return None
        way = np.abs(now.q - before.q)
        room = FASTER * fastest * (now.t - before.t) + JITTER * self.error
        if not (way > room).any():
            return None
        j = int(np.argmax(way / room))
        return f"joint '{self.names[j]}' jumped by {way[j]:.3g} in {1e3 * (now.t - before.t):.3g} ms"

    def _effort(self, effort: Array | None) -> str | None:
        if self.effort is None or effort is None:
            return None
        untold = ~np.isfinite(effort) & np.isfinite(self.effort)
        if untold.any():
            return f"{self._joint(untold)} reports no effort"
        part = np.abs(np.where(np.isfinite(effort), effort, 0.0)) / self.effort
        j = int(np.argmax(part))
        if part[j] <= 1:
            return None
        return f"joint '{self.names[j]}' needs an effort of {effort[j]:.4g} (allowed {self.effort[j]:.4g})"

    def _joint(self, which: Sequence[bool] | NDArray[np.bool_]) -> str:
        return f"joint '{self.names[int(np.argmax(which))]}'"


def _too_wide(name: str, error: float, most: str) -> InputError:
    return InputError(
        f"joint '{name}' would be stopped only at a tracking error of {error:g}; give an --error of at most {most}"
    )


def _bounds(names: tuple[str, ...], what: str, values: Array) -> Array:
    """Positive bounds (n,); effort bounds may be infinite, for joints without a bound."""
    is_open = np.isposinf(values) & (what == "effort" and values.ndim == 1)
    found = np.where(is_open, np.inf, per_joint(names, what, np.where(is_open, 1.0, values)))
    if not np.all(found > 0):
        raise InputError(f"the allowed {what} of a joint must be positive")
    return found


@dataclass
class Following:
    """Early detection of stuck joints, before the tracking error is large.

    A joint is stuck if it is at rest although every command of the last `LAG` seconds moved on, and if it stopped
    more suddenly than its encoder's resolution and noise can explain; otherwise its tracking error shows it
    later.  A single state in which no joint at all has moved is taken as a repeated message, as sent by robots
    that publish at their own rate.
    """

    guard: Guard
    period: float
    commands: deque[Array] = field(init=False)  # ways from command to command
    ways: deque[Array] = field(init=False)  # ways that were gone
    step: Array = field(init=False)  # smallest way that each joint was seen to go: its encoder tells no less
    is_repeated: bool = False  # whether the last state was one told again

    def __post_init__(self) -> None:
        recent = max(2, round(LAG / self.period))
        self.commands, self.ways = deque(maxlen=recent), deque(maxlen=recent)
        self.step = np.full(len(self.guard.names), np.inf)

    def commanded(self, way: Array) -> None:
        """Register a command that differs by this distance (n,) from the previous one."""
        self.commands.append(way)

    def fault(self, now: JointReading, before: JointReading | None) -> str | None:
        """Message on a stuck joint; None while all joints move, or are not commanded to."""
        if before is None:
            return None
        way = now.q - before.q
        self.is_repeated = len(way) > 1 and not way.any() and not self.is_repeated
        if self.is_repeated:
            return None
        stuck = (np.abs(way) < STANDS * self._led_on()) & self._is_sudden(way)
        self.ways.append(way)
        self.step = np.where(way != 0, np.minimum(self.step, np.abs(way)), self.step)
        if not stuck.any():
            return None
        return f"joint '{self.guard.names[int(np.argmax(stuck))]}' stands still although it is commanded to move"

    def _led_on(self) -> Array:
        """Smallest step (n,) of the recent commands if all are in one direction; 0 where they are not."""
        ways = np.array(self.commands)
        if len(ways) < (self.commands.maxlen or 0):
            return np.zeros(len(self.guard.names))
        smallest = np.where((ways > 0).all(axis=0) | (ways < 0).all(axis=0), np.abs(ways).min(axis=0), 0.0)
        return np.asarray(np.where(smallest > np.maximum(LEAST, CLEAR * self.step), smallest, 0.0))

    def _is_sudden(self, way: Array) -> NDArray[np.bool_]:
        """Whether a joint's last step differs far more from the previous one than in recent periods."""
        if len(self.ways) < (self.ways.maxlen or 0):
            return np.zeros(len(way), bool)
        ways = np.array(self.ways)
        return np.asarray(np.abs(way - ways[-1]) > CLEAR * np.abs(np.diff(ways, axis=0)).max(axis=0))
