"""A simulated robot behind a socket of this machine: MuJoCo under a position servo, one JSON text in a line.

The robot's clock is that of the simulation: it goes on by a period with every command, so nothing here depends on how
fast a computer is.  It can be told to stick, to jump or to fall silent, which is how the watch over a run is tried.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.documents import DocumentError, json_document
from minertia.errors import InputError, MinertiaError, UnknownName
from minertia.robot.robot import Robot
from minertia.running.driver import Driver, DriverError, JointReading
from minertia.validation.closed_plant import plant_of
from minertia.validation.control_model import control_model
from minertia.validation.plant import RUNAWAY, ControlSample
from minertia.validation.tracking import Gains, computed_torque

Array = NDArray[np.float64]
HOST = "127.0.0.1"
SERVO = 1e-3  # s: period of the servo inside the robot
GAINS = Gains(frequency=40.0)
LONGEST = 65536  # bytes of a line
WAIT = 5.0  # s of this computer's time for one period of the simulation
FAULTS = ("stick", "jump", "silent")


@dataclass(frozen=True)
class Fault:
    """What goes wrong: one of `FAULTS`, from a time [s] on, at a joint (from 0); size of a jump [rad or m]."""

    kind: str
    at: float
    joint: int = 0
    size: float = 0.05

    def __post_init__(self) -> None:
        if self.kind not in FAULTS:
            raise UnknownName("fault of a simulated robot", self.kind, FAULTS)


class SimulatedRobot:
    """The robot itself: positions go in, its state comes out, a period later."""

    def __init__(
        self, robot: Robot, posture: ArrayLike, *, period: float = 0.008, fault: Fault | None = None, seed: int = 0
    ) -> None:
        self.inner = max(1, round(period / SERVO))
        self.period, self.fault = period, fault
        self.plant = plant_of(robot, period=period / self.inner, seed=seed)
        self.control = computed_torque(control_model(robot), GAINS)
        self.plant.place(posture)
        self.t, self.n = 0.0, robot.n
        self.reference = self.plant.q.copy()
        self.tau = np.zeros(self.n)
        self.stuck: float | None = None

    @property
    def is_silent(self) -> bool:
        """Whether it tells nothing any more."""
        return self.fault is not None and self.fault.kind == "silent" and self.t >= self.fault.at - 1e-9

    def step(self, q: Array) -> None:
        """Go to a position within a period, straight on; the servo is told where it should be meanwhile."""
        before, self.reference = self.reference, q
        for k in range(self.inner):
            s = (k + 1) / self.inner
            sample = ControlSample(
                self.t, self.plant.q, self.plant.qd, before + s * (q - before), (q - before) / self.period, 0 * q
            )
            self.tau = self.control(sample)
            self.plant.step(self.tau)
            self._go_wrong()
        self.t += self.period

    def hold(self) -> None:
        """Stay where it is."""
        self.reference = self.plant.q.copy()

    def _go_wrong(self) -> None:
        fault = self.fault
        if fault is None or self.t < fault.at - 1e-9:
            return
        q, qd, j = self.plant.q, self.plant.qd, fault.joint
        if fault.kind == "stick":
            self.stuck = q[j] if self.stuck is None else self.stuck
            q[j], qd[j] = self.stuck, 0.0
        elif fault.kind == "jump":
            q[j] += fault.size
            self.fault = None
        self.plant.place(q, qd)

    def state(self) -> dict[str, Any]:
        """What it tells."""
        if not np.all(np.abs(self.plant.qd) < RUNAWAY):
            raise DriverError("the simulated robot went out of control")
        return {"t": self.t, "q": self.plant.q.tolist(), "effort": self.tau.tolist()}


class RobotServer:
    """A simulated robot behind a socket, in a thread of its own; one client at a time."""

    def __init__(self, robot: SimulatedRobot) -> None:
        self.robot = robot
        self.socket = socket.create_server((HOST, 0))
        self.address: tuple[str, int] = self.socket.getsockname()[:2]
        self.stops = 0  # how often it was told to stop
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join(timeout=WAIT)

    def __enter__(self) -> RobotServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.socket.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with client, contextlib.suppress(OSError, MinertiaError, DocumentError):
                    self._talk(client)

    def _talk(self, client: socket.socket) -> None:
        lines = Lines(client)
        self._tell(client)
        while (text := lines.next()) is not None:
            message = json_document(text)
            if not isinstance(message, dict):
                return
            if message.get("stop"):
                self.stops += 1
                self.robot.hold()
                continue
            self.robot.step(_numbers(message.get("q"), self.robot.n))
            self._tell(client)

    def _tell(self, client: socket.socket) -> None:
        if not self.robot.is_silent:
            client.sendall(json.dumps(self.robot.state()).encode() + b"\n")


class Lines:
    """Lines of a socket, none longer than `LONGEST`."""

    def __init__(self, source: socket.socket) -> None:
        self.source, self.data = source, b""

    def next(self) -> str | None:
        """The next line; None at the end, TimeoutError where none comes in time (what has come is kept)."""
        while b"\n" not in self.data:
            if len(self.data) > LONGEST:
                raise DriverError(f"a line of more than {LONGEST} bytes came from the robot")
            part = self.source.recv(4096)
            if not part:
                return None
            self.data += part
        line, _, self.data = self.data.partition(b"\n")
        return line.decode("utf-8", "replace")


class LoopbackDriver(Driver):
    """A robot that talks as `RobotServer` does; wait [s] of this computer's time that one period may take."""

    is_simulated = True

    def __init__(self, address: tuple[str, int], n: int, *, period: float = 0.008, wait: float = WAIT) -> None:
        self.period, self.n = period, n
        try:
            self.socket = socket.create_connection(address, timeout=wait)
        except OSError as err:
            raise DriverError(f"the robot at {address[0]}:{address[1]} cannot be reached ({err.strerror})") from None
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.lines = Lines(self.socket)

    def read(self) -> JointReading | None:
        """The next state."""
        try:
            text = self.lines.next()
        except TimeoutError:
            return None
        except OSError:
            text = None
        if text is None:
            raise DriverError("the robot ended the connection")
        return self._reading(text)

    def _reading(self, text: str) -> JointReading:
        try:
            message = json_document(text)
            t = float(_numbers([message["t"]], 1)[0])
            return JointReading(t, _numbers(message["q"], self.n), _numbers(message["effort"], self.n))
        except (DocumentError, InputError, KeyError, TypeError, AttributeError):
            raise DriverError("the robot told something that is no state") from None

    def command(self, q: Array, qd: Array) -> None:
        """Send a position."""
        self._send({"q": q.tolist(), "qd": qd.tolist()})

    def stop(self) -> None:
        """Let it hold where it is."""
        self._send({"stop": True})

    def close(self) -> None:
        """End the connection."""
        self.socket.close()

    def _send(self, message: dict[str, Any]) -> None:
        try:
            self.socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            raise DriverError("the robot ended the connection") from None


def _numbers(values: Any, n: int) -> Array:
    """(n,) finite numbers from a message."""
    if not isinstance(values, list) or len(values) != n or not all(isinstance(v, (int, float)) for v in values):
        raise InputError(f"a message needs lists of {n} numbers")
    return np.array(values, float)
