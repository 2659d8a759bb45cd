"""Speed stages: a trajectory is run slowly, then faster, then at full speed, and stopped at the first fault.

Two clocks are used.  The trajectory advances by the robot's time stamps, so a slow computer causes a slow
motion and no jump; but never by more than a period per command, nor faster than this computer's clock,
regardless of earlier delays.  A real robot whose time stamps run faster or slower than this clock is stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic

import numpy as np

from minertia.excitation.trajectory import ContinuousMotion, frozen
from minertia.io.arrays import Array
from minertia.io.errors import InputError
from minertia.running.driver import Driver, DriverError, JointReading
from minertia.running.guard import Following, Guard

SPEEDS = (0.1, 0.5, 1.0)
WATCHDOG = 5  # periods without news from the robot after which it is stopped
AHEAD = 2.0  # periods that a motion may be ahead of this computer's clock: messages come early now and then
LATE = 0.1  # s by which stamps and this computer's clock may differ, or the silence that is allowed, if longer
DRIFT = 0.02  # part of the time by which they may differ besides
PERIODS = 5e-4, 0.1  # s: a command leads on by one of them
FIRST = 0.1  # part of its speed at which a motion begins on a real robot
SETTLE = 0.2  # s for which the last posture is held
CREEP = 0.02  # rad/s or m/s, at most, from where the robot stands to the first posture of a motion
STEEPEST = 1.875  # largest slope of the quintic from 0 to 1 that begins and ends at rest
LOOK, LOOKS_A_SECOND, MOST_LOOKS = 500, 50, 100_000  # times at which the largest velocities of a motion are taken
BY_HAND = "stopped by hand"
SLOWEST = 0.01  # part of its speed at which a motion can be run

Stop = Callable[[], bool]
Listen = Callable[[JointReading], None]


def _never() -> bool:
    return False


def _deaf(now: JointReading) -> None:
    """Default listener: does nothing."""


def _mute(sentence: str) -> None:
    """Default message callback: does nothing."""


def check_speeds(speeds: Sequence[float]) -> None:
    """Raise an error for invalid speeds."""
    if not speeds or not all(SLOWEST <= speed <= 1 for speed in speeds):
        raise InputError(f"speeds are fractions of the trajectory's own speed, from {SLOWEST:g} to 1")


def check_first(speeds: Sequence[float]) -> None:
    """Raise an error for speeds that do not begin slowly enough for a real robot."""
    if speeds[0] > FIRST * (1 + 1e-9):
        usual = ",".join(f"{100 * speed:g}" for speed in SPEEDS)
        raise InputError(
            f"a real robot must begin with at most {100 * FIRST:g} % of the speed, not with {100 * speeds[0]:g} "
            f"%; give --speeds {usual}"
        )


@dataclass(frozen=True)
class RungLog:
    """One run of a trajectory: speed (1: full), rows of t (N,), q, commanded (N, n) and efforts (N, n) or None.

    The position q of a row was read before its command was sent.  aborted: why the robot was stopped, "" for a
    completed run.
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
        """Largest tracking error of each joint (n,), with respect to the command of the previous row."""
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
    listen: Listen = _deaf,
    say: Callable[[str], None] = _mute,
) -> list[RungLog]:
    """Run a trajectory at each speed in turn, up to the first run that is aborted.

    A robot that is not simulated begins with at most a tenth of the speed.  The first command is the robot's
    current position; it moves slowly to the first posture before the trajectory begins.  motion: from rest to
    rest, returning to its first posture.  stop: callback, called once per period for a stop request.  listen:
    callback with every state that passed the checks, after its command was sent.  say: callback for messages on
    what is not monitored.
    """
    check_speeds(speeds)
    if not driver.is_simulated:
        check_first(speeds)
    if not PERIODS[0] <= driver.period <= PERIODS[1] * (1 + 1e-9):
        raise InputError(
            f"the command period of a robot must be {PERIODS[0]:g} to {PERIODS[1]:g} s, not {driver.period:g} s"
        )
    logs: list[RungLog] = []
    for speed in speeds:
        held = logs[-1].commanded[-1] if logs else None
        rung = _Rung(driver, motion, guard, speed, stop, listen, _mute if logs else say, held)
        logs.append(rung.run())
        try:
            if progress is not None:
                progress(logs[-1])
        except KeyboardInterrupt:  # between two speeds, where the robot stands; its logs are kept
            logs[-1] = rung.left(BY_HAND)
        except Exception as err:  # a terminal that is gone, for instance
            logs[-1] = rung.left(f"the run failed ({_first_line(err)})")
        if logs[-1].aborted:
            break
    return logs


@dataclass
class _Clocks:
    """Robot time stamps and this computer's clock, since the first state of a stage."""

    period: float
    stamp: float
    wall: float
    spent: float = 0.0  # s of the motion that were commanded, at full speed, and those that were lost

    def fault(self, stamp: float, wall: float) -> str:
        """Reason to distrust the time stamps; "" while both clocks agree."""
        told, passed = stamp - self.stamp, wall - self.wall
        allowed = max(LATE, WATCHDOG * self.period) + DRIFT * passed
        if abs(told - passed) <= allowed:
            return ""
        how = "faster" if told > passed else "slower"
        return (
            f"the robot's clock runs {how} than this computer's: its time stamps advanced by {told:.3g} s in "
            f"{passed:.3g} s; correct the robot's clock"
        )

    def left(self, wall: float) -> float:
        """Largest time [s] by which the trajectory may advance now; lost time is never made up at once."""
        due = wall - self.wall + AHEAD * self.period
        self.spent = max(self.spent, due - 2 * AHEAD * self.period)
        return max(0.0, due - self.spent)


@dataclass
class _Creep:
    """Slow approach from the current position to the first posture of the trajectory, from rest to rest."""

    start: Array
    end: Array
    duration: float  # s
    gone: float = 0.0  # s

    @classmethod
    def of(cls, start: Array, end: Array) -> _Creep:
        return cls(start, end, STEEPEST * float(np.abs(end - start).max()) / CREEP)

    def after(self, passed: float) -> tuple[Array, Array] | None:
        """Position and velocity (n,) after this time [s]; None when the approach is complete."""
        self.gone += passed
        if self.gone >= self.duration:
            return None
        x, way = self.gone / self.duration, self.end - self.start
        return self.start + way * x**3 * (10 - 15 * x + 6 * x**2), way * 30 * x**2 * (1 - x) ** 2 / self.duration


@dataclass
class _Rung:
    """One run of the trajectory: its progress, and the recorded rows."""

    driver: Driver
    motion: ContinuousMotion
    guard: Guard
    speed: float
    stop: Stop
    listen: Listen = _deaf
    say: Callable[[str], None] = _mute
    held_at: Array | None = None  # (n,) command that the robot holds; None: where it stands
    rows: list[tuple[JointReading, Array]] = field(default_factory=list)

    def run(self) -> RungLog:
        """Run to the end of the trajectory, or to the first fault; the robot is stopped on any exception."""
        try:
            aborted = self._begin() or self._go()
        except KeyboardInterrupt:
            aborted = BY_HAND
        except DriverError as err:
            aborted = str(err)
        except Exception as err:  # of a driver, or of this program: the rows up to here are kept
            aborted = f"the run failed ({_first_line(err)})"
        except BaseException:
            self._halt()
            raise
        return self.left(aborted) if aborted else self._log("")

    def left(self, why: str) -> RungLog:
        """Stop the robot; returns the log so far."""
        failed = self._halt()
        return self._log(f"{why}; {failed}" if failed else why)

    def _halt(self) -> str:
        """Stop the robot, even after a second Ctrl-C; returns the reason of a failure, "" on success."""
        failed = ""
        for _ in range(2):
            try:
                self.driver.stop()
                return ""
            except KeyboardInterrupt:
                failed = BY_HAND
            except Exception as err:  # whatever it is, the log must not be lost
                failed = _first_line(err)
                break
        return f"stopping the robot failed as well ({failed}): press the emergency stop"

    def _begin(self) -> str:
        """Check the robot's initial position; returns the reason not to begin, or an empty text."""
        looks = min(max(LOOK, int(LOOKS_A_SECOND * self.motion.duration)), MOST_LOOKS)
        self.fastest = self.speed * np.abs(self.motion.at(np.linspace(0.0, self.motion.duration, looks))[1]).max(axis=0)
        first = self.motion.at(0.0)[0][0]
        self.phase, self.held, self.silent = 0.0, 0.0, 0
        self.before: JointReading | None = None
        self.following = Following(self.guard, self.driver.period)
        while (now := self._read()) is None:
            if self._is_silent():
                return self._silence()
        self.silent = 0
        self.clocks = _Clocks(self.driver.period, now.t, monotonic())
        self.guard, wrong, unwatched = self.guard.watching(now)
        if unwatched:
            self.say(unwatched)
        wrong = wrong or self.guard.place(now.q, first) or ""
        if not wrong:
            self.creep = _Creep.of(now.q if self.held_at is None else self.held_at, first)
            self.commanded = self.creep.start
            self._send(now)
        return wrong

    def _read(self) -> JointReading | None:
        now = self.driver.read()
        if now is None:
            return None
        if not np.isfinite(now.t):  # by which the motion goes on
            raise DriverError("the robot reports no time stamps")
        q = np.array(now.q, float)  # drivers may tell every state from one buffer
        effort = None if now.effort is None else np.array(now.effort, float)
        for what, values in (("positions", q), ("efforts", effort)):
            if values is not None and values.shape != (len(self.guard.names),):
                raise DriverError(f"the robot reports {values.size} {what} for {len(self.guard.names)} joints")
        return JointReading(float(now.t), q, effort)

    def _go(self) -> str:
        """Loop over periods: read, check, record, command; returns why it ended, "" at the trajectory's end."""
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
            self.listen(now)

    def _wrong(self, now: JointReading) -> str:
        if self.stop():
            return BY_HAND
        clocks = "" if self.driver.is_simulated else self.clocks.fault(now.t, monotonic())
        fault = self.guard.fault(now, self.before, self.commanded, self.fastest)
        return clocks or fault or self.following.fault(now, self.before) or ""

    def _send(self, now: JointReading) -> None:
        """Send the command for the next period, and record the row."""
        passed = self._passed(now)
        self.clocks.spent += passed
        q, qd = self.creep.after(passed) or self._next(passed)
        self.following.commanded(q - self.commanded)
        self.commanded = q
        self.rows.append((now, self.commanded))
        self.before = now
        self.driver.command(self.commanded.copy(), qd)

    def _next(self, passed: float) -> tuple[Array, Array]:
        """Position and velocity (n,) of the trajectory after this time; held at its end."""
        self.phase += self.speed * passed
        if self.phase >= self.motion.duration:
            self.held += passed
        q, qd, _ = self.motion.at(min(self.phase, self.motion.duration))
        return q[0], self.speed * qd[0] * (self.held == 0)

    def _passed(self, now: JointReading) -> float:
        """Time [s] by which the trajectory advances: never more than a period, so that no command is too fast."""
        period = self.driver.period
        passed = period if self.before is None else min(now.t - self.before.t, period)
        return passed if self.driver.is_simulated else min(passed, self.clocks.left(monotonic()))

    def _is_silent(self) -> bool:
        self.silent += 1
        return self.silent >= WATCHDOG

    def _silence(self) -> str:
        return (
            f"the robot reported no new state for {WATCHDOG} periods ({1000.0 * WATCHDOG * self.driver.period:.3g} ms)"
        )

    def _log(self, aborted: str) -> RungLog:
        n = len(self.guard.names)
        t = np.array([now.t for now, _ in self.rows])
        q = np.array([now.q for now, _ in self.rows]).reshape(-1, n)
        commanded = np.array([command for _, command in self.rows]).reshape(-1, n)
        efforts = [now.effort for now, _ in self.rows]
        known = [e for e in efforts if e is not None]
        effort = np.array(known).reshape(-1, n) if known and len(known) == len(efforts) else None
        return RungLog(self.speed, t - (t[0] if len(t) else 0.0), q, commanded, effort, aborted)


def _first_line(err: BaseException) -> str:
    """Type and first line of an exception."""
    text = (str(err).splitlines() or [""])[0][:120]
    return text if isinstance(err, DriverError) else f"{type(err).__name__}: {text}".removesuffix(": ")
