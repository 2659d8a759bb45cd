"""The ladder: a motion slowly, then faster, then as it is, watched in every period and stopped at the first fault.

Time is the robot's own: the motion goes on by what its clock says, so a slow computer makes a slow motion and no jump.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from minertia.errors import InputError
from minertia.excitation.trajectory import ContinuousMotion, frozen
from minertia.running.driver import Driver, DriverError, JointReading
from minertia.running.guard import Following, Guard

Array = NDArray[np.float64]
SPEEDS = (0.1, 0.5, 1.0)
WATCHDOG = 5  # periods without news from the robot after which it is stopped
CATCH_UP = 2.0  # periods that a motion goes on at most in one, whatever the robot's clock says
SETTLE = 0.2  # s for which the last posture is held
LOOK = 500  # times at which the largest velocities of a motion are taken
BY_HAND = "stopped by hand"
SLOWEST = 0.01  # part of its speed at which a motion can be run

Stop = Callable[[], bool]


def _never() -> bool:
    return False


@dataclass(frozen=True)
class RungLog:
    """One run of a motion: speed (1: as it is), rows of t (N,), q, commanded (N, n) and efforts (N, n) or None.

    A row's q was read before its command was sent.  aborted: why the robot was stopped, "" where the motion ended.
    """

    speed: float
    t: Array
    q: Array
    commanded: Array
    effort: Array | None
    aborted: str = ""

    def __post_init__(self) -> None:
        for name in ("t", "q", "commanded", "effort"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(getattr(self, name)))

    def __repr__(self) -> str:
        end = f"aborted: {self.aborted}" if self.aborted else "ended"
        return f"<RungLog at {100 * self.speed:g} %: {len(self.t)} rows, {end[:120]}>"

    @property
    def largest_error(self) -> Array:
        """Largest distance of each joint (n,) from the command sent in the row before."""
        if len(self.t) < 2:
            return np.zeros(self.q.shape[1])
        return np.asarray(np.abs(self.q[1:] - self.commanded[:-1]).max(axis=0))


def climb(
    driver: Driver,
    motion: ContinuousMotion,
    guard: Guard,
    *,
    speeds: Sequence[float] = SPEEDS,
    stop: Stop = _never,
    progress: Callable[[RungLog], None] | None = None,
) -> list[RungLog]:
    """Run a motion at each speed in turn; the first that is aborted is the last one.

    motion: from rest to rest, from a posture back to it.  stop: asked once a period whether a person wants to stop.
    """
    if not speeds or not all(SLOWEST <= speed <= 1 for speed in speeds):
        raise InputError(f"speeds are parts of the motion's own, from {SLOWEST:g} to 1")
    logs: list[RungLog] = []
    for speed in speeds:
        rung = _Rung(driver, motion, guard, speed, stop)
        logs.append(rung.run())
        try:
            if progress is not None:
                progress(logs[-1])
        except KeyboardInterrupt:  # between two speeds, where the robot stands; its logs are kept
            logs[-1] = rung.left(BY_HAND)
        if logs[-1].aborted:
            break
    return logs


@dataclass
class _Rung:
    """One run: where it stands, and its rows."""

    driver: Driver
    motion: ContinuousMotion
    guard: Guard
    speed: float
    stop: Stop
    rows: list[tuple[JointReading, Array]] = field(default_factory=list)

    def run(self) -> RungLog:
        """Run to the end of the motion, or to the first fault; whatever happens here, the robot is stopped first."""
        try:
            aborted = self._begin() or self._go()
        except KeyboardInterrupt:
            aborted = BY_HAND
        except DriverError as err:
            aborted = str(err)
        except BaseException:
            self._halt()
            raise
        return self.left(aborted) if aborted else self._log("")

    def left(self, why: str) -> RungLog:
        """Stop the robot; the log up to here."""
        self._halt()
        return self._log(why)

    def _halt(self) -> None:
        with contextlib.suppress(DriverError):  # a robot that is gone cannot be told
            self.driver.stop()

    def _begin(self) -> str:
        """Look where the robot is."""
        times = np.linspace(0.0, self.motion.duration, LOOK)
        self.fastest = self.speed * np.abs(self.motion.at(times)[1]).max(axis=0)
        self.commanded = self.motion.at(0.0)[0][0]
        self.phase, self.held, self.silent = 0.0, 0.0, 0
        self.before: JointReading | None = None
        self.following = Following(self.guard, self.driver.period)
        while (now := self._read()) is None:
            if self._is_silent():
                return self._silence()
        self.silent = 0
        wrong = self.guard.place(now.q, self.commanded)
        if wrong is None:
            self._send(now)
        return wrong or ""

    def _read(self) -> JointReading | None:
        now = self.driver.read()
        if now is not None and not np.isfinite(now.t):  # by which the motion goes on
            raise DriverError("the robot tells no time")
        return now

    def _go(self) -> str:
        """Period by period: read, judge, record, command; why it ended, "" at the end of the motion."""
        while True:
            now = self._read()
            if now is None or (self.before is not None and now.t <= self.before.t):
                if self._is_silent():
                    return self._silence()
                continue
            self.silent = 0
            wrong = self._wrong(now)
            if wrong:
                self.rows.append((now, self.commanded))
                return wrong
            if self.held >= SETTLE:
                self._send(now)  # the posture is held on, while nobody asks for more
                return ""
            self._send(now)

    def _wrong(self, now: JointReading) -> str:
        if self.stop():
            return BY_HAND
        fault = self.guard.fault(now, self.before, self.commanded, self.fastest)
        return fault or self.following.fault(now, self.before) or ""

    def _send(self, now: JointReading) -> None:
        """Command what is due a period later, and keep the row."""
        period = self.driver.period
        passed = period if self.before is None else min(now.t - self.before.t, CATCH_UP * period)
        self.phase += self.speed * passed
        if self.phase >= self.motion.duration:
            self.held += passed
        q, qd, _ = self.motion.at(min(self.phase, self.motion.duration))
        self.following.commanded(q[0] - self.commanded)
        self.commanded = q[0]
        self.rows.append((now, self.commanded))
        self.before = now
        self.driver.command(self.commanded, self.speed * qd[0] * (self.held == 0))

    def _is_silent(self) -> bool:
        self.silent += 1
        return self.silent >= WATCHDOG

    def _silence(self) -> str:
        return f"the robot told nothing new for {WATCHDOG} periods ({1e3 * WATCHDOG * self.driver.period:.3g} ms)"

    def _log(self, aborted: str) -> RungLog:
        n = len(self.guard.names)
        t = np.array([now.t for now, _ in self.rows])
        q = np.array([now.q for now, _ in self.rows]).reshape(-1, n)
        commanded = np.array([command for _, command in self.rows]).reshape(-1, n)
        efforts = [now.effort for now, _ in self.rows]
        known = [e for e in efforts if e is not None]
        effort = np.array(known).reshape(-1, n) if known and len(known) == len(efforts) else None
        return RungLog(self.speed, t - (t[0] if len(t) else 0.0), q, commanded, effort, aborted)
