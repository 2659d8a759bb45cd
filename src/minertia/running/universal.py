"""Universal Robots driver through RTDE (extra `ur`, package `ur-rtde`): `servoJ`; reads positions and currents."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from minertia.io.arrays import Array
from minertia.io.errors import Infeasible, MissingExtra
from minertia.io.extras import load
from minertia.running.driver import Driver, DriverError, JointReading, RobotIdentity

JOINTS = 6
LOOKAHEAD, GAIN = 0.05, 300.0  # s; as servoJ has them
LOOKS = 8  # how often in a period the robot's clock is looked at
SOFT = 10.0  # m/s2 with which servoStop slows down
WORDS = 40  # characters of a model or a serial number


class UniversalDriver(Driver):
    """Universal Robot at a host; rate [Hz] of the commands.  Currents are logged, not efforts."""

    effort = "i{j}"

    def __init__(self, host: str, n: int, *, rate: float = 125.0) -> None:
        if n != JOINTS:
            raise Infeasible(f"a Universal Robot has {JOINTS} joints, not {n}")
        receive, control = load("rtde_receive", "ur"), load("rtde_control", "ur")
        self.host, self.period = host, 1.0 / rate
        self.seen = -np.inf
        try:
            self.receive: Any = receive.RTDEReceiveInterface(host, rate)
            self.control: Any = control.RTDEControlInterface(host, rate)
        except RuntimeError as err:
            raise DriverError(f"the robot at '{host}' cannot be reached ({str(err).splitlines()[0][:120]})") from None

    def identity(self) -> RobotIdentity:
        """Model and serial number, from the robot's dashboard where it responds."""
        try:
            dashboard: Any = load("dashboard_client", "ur").DashboardClient(self.host)
            dashboard.connect()
        except (MissingExtra, RuntimeError, OSError):
            return RobotIdentity()
        try:
            return RobotIdentity(model=_word(dashboard, "getRobotModel"), serial=_word(dashboard, "getSerialNumber"))
        finally:
            with contextlib.suppress(RuntimeError, OSError):
                dashboard.disconnect()

    def read(self) -> JointReading | None:
        """Next state; waits for the robot's clock to advance, at most a period."""
        for _ in range(LOOKS):
            with _said():
                t = float(self.receive.getTimestamp())
                q, current = self.receive.getActualQ(), self.receive.getActualCurrent()
            if t > self.seen:
                self.seen = t
                return JointReading(t, self._six(q), self._six(current))
            time.sleep(self.period / LOOKS)
        if not self.receive.isConnected():
            raise DriverError("the robot closed the connection")
        return None

    def command(self, q: Array, qd: Array) -> None:
        """Send a position command."""
        with _said():
            has_stopped = self.receive.isProtectiveStopped() or self.receive.isEmergencyStopped()
            is_taken = not has_stopped and self.control.servoJ(q.tolist(), 0.0, 0.0, self.period, LOOKAHEAD, GAIN)
        if not is_taken:
            raise DriverError("the robot has stopped by itself" if has_stopped else "the robot rejected the command")

    def stop(self) -> None:
        """Decelerate and stop."""
        with _said():
            self.control.servoStop(SOFT)

    def close(self) -> None:
        """Stop the robot's program and close the connections, even if one of these calls fails."""
        with contextlib.ExitStack() as calls:
            for call in (self.receive.disconnect, self.control.disconnect, self.control.stopScript, self.stop):
                calls.enter_context(contextlib.suppress(DriverError, RuntimeError))
                calls.callback(call)

    def _six(self, values: list[float]) -> Array:
        found = np.array(values, float)
        if found.shape != (JOINTS,):
            raise DriverError(f"the robot sent {found.size} numbers for {JOINTS} joints")
        return found


def _word(dashboard: Any, call: str) -> str | None:
    """Reply of the dashboard to a call; None if it has no such call."""
    try:
        return str(getattr(dashboard, call)()).strip()[:WORDS] or None
    except (AttributeError, RuntimeError, OSError):
        return None


@contextlib.contextmanager
def _said() -> Iterator[None]:
    """Context that converts exceptions of `ur-rtde` to driver errors."""
    try:
        yield
    except RuntimeError as err:
        first = (str(err).splitlines() or [err.__class__.__name__])[0]
        raise DriverError(f"the connection to the robot failed ({first[:120]})") from None
