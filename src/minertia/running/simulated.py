"""Simulated robot behind a local socket: MuJoCo under a position servo, one JSON text per line.

The robot's clock is that of the simulation: it advances by a period with every command, so results do not depend on the
speed of the computer.  It can simulate a stuck joint, a jump or a lost connection, to test the run-time monitoring.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from dataclasses import dataclass
from functools import cache
from math import perm
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from minertia.dynamics.model import inverse_dynamics
from minertia.excitation.limits import usual_rates
from minertia.io.arrays import Array
from minertia.io.documents import DocumentError, json_document
from minertia.io.errors import InputError, MinertiaError, UnknownName
from minertia.robot.robot import Robot
from minertia.running.driver import Driver, DriverError, JointReading
from minertia.simulation.arm import RUNAWAY
from minertia.simulation.control_model import control_model
from minertia.simulation.options import RehearsalOptions
from minertia.simulation.plant import ControlSample, Imperfections, Plant, Sensors
from minertia.simulation.tracking import Gains, computed_torque

HOST = "127.0.0.1"
SERVO = 1e-3  # s: period of the servo inside the robot
GAINS = Gains(frequency=40.0)
LONGEST = 65536  # bytes of a line
WAIT = 5.0  # s of this computer's time for one period of the simulation
BACKWARD = np.array([25, -48, 36, -16, 3]) / 12  # velocity times period at the last of five positions, newest first
KEPT = len(BACKWARD) - 1
DIRECTIONS = 200  # of velocities and accelerations in which usual efforts are taken
FAULTS = ("stick", "jump", "silent")


@dataclass(frozen=True)
class Fault:
    """Simulated fault: one of `FAULTS`, from a time [s] on, at a joint (from 0); size of a jump [rad or m]."""

    kind: str
    at: float
    joint: int = 0
    size: float = 0.05

    def __post_init__(self) -> None:
        if self.kind not in FAULTS:
            raise UnknownName("fault of a simulated robot", self.kind, FAULTS)


class SimulatedRobot:
    """Simulated robot: takes position and velocity commands, and returns its state one period later.

    Its servo follows the commands so smoothly that a sample of the effort also represents the time between
    samples.  It reports the effort at the time of the position: the mean of the efforts held before and after.
    """

    def __init__(
        self,
        robot: Robot,
        posture: ArrayLike,
        *,
        period: float = 0.008,
        fault: Fault | None = None,
        seed: int = 0,
        imperfections: Imperfections | None = None,
    ) -> None:
        self.inner = max(1, round(period / SERVO))
        self.period, self.fault = period, fault
        self.plant = Plant(robot, period=period / self.inner, seed=seed)
        self.control = computed_torque(control_model(robot), GAINS)
        self.plant.place(posture)
        self.t, self.n = 0.0, robot.n
        self.stuck: float | None = None
        self.sensors = Sensors(imperfections or usual_imperfections(robot, posture), self.n, seed)
        self.way: Way
        self.held: Array  # effort of the last step of the servo
        self.wanted: Array  # that of the next one
        self.hold()

    @property
    def is_silent(self) -> bool:
        """Whether it no longer reports its state."""
        return self.fault is not None and self.fault.kind == "silent" and self.t >= self.fault.at - 1e-9

    def step(self, q: Array, qd: Array | None = None) -> None:
        """Move to a position within one period; qd: final velocity, by default estimated from the last commands."""
        self.way = self.way.next(q, qd)
        for wanted in zip(*self.way.parts(self.inner), strict=True):
            self.held = self.wanted
            self.plant.step(self.held)
            self._go_wrong()
            self.wanted = self._torque(*wanted)
        self.t += self.period

    def hold(self) -> None:
        """Hold the current position."""
        here, still = self.plant.q, np.zeros(self.n)
        self.way = Way(self.period, np.tile(here, (KEPT, 1)), still, still)
        self.held = self.wanted = self._torque(here, still, still)

    def _torque(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Servo effort for this reference, at the middle of the step for which it is held.

        Otherwise the servo's friction compensation would always reverse later than the friction of the joints.
        """
        half, rate = 0.5 * self.period / self.inner, self.plant.qd
        here = ControlSample(self.t, self.plant.q + half * rate, rate + half * qdd, q + half * qd, qd + half * qdd, qdd)
        return self.control(here)

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
        """Reported state."""
        if not np.all(np.abs(self.plant.qd) < RUNAWAY):
            raise DriverError("the simulated robot became unstable")
        q = self.sensors.position(self.plant.q)
        effort = self.sensors.effort(0.5 * (self.held + self.wanted))
        return {"t": self.t, "q": q.tolist(), "effort": effort.tolist()}


@dataclass(frozen=True)
class Way:
    """Interpolation from a command to the next one, as a polynomial in time over the period [s].

    It is the quintic through three commands and their velocities.  With a cubic through two commands, the
    accelerations at the commands, where efforts are reported, would be wrong by a twelfth of their second
    derivative times the period squared, and between commands by half of that in the other direction.
    """

    period: float
    q: Array  # (KEPT, n): the last commands, that where it ends first
    qd: Array  # (n,) where it ends
    begun: Array  # (n,): velocity where it begins
    polynomial: Array | None = None  # (6, n); None at standstill

    def next(self, q: Array, qd: Array | None = None) -> Way:
        """Interpolation to the next command.

        qd: velocity at the command, by default from the quartic through it and the stored commands.
        """
        T, (here, last) = self.period, self.q[:2]
        commands = np.vstack([q, self.q])
        qd = BACKWARD @ commands / T if qd is None else qd
        even, odd = 0.5 * (q + last) - here, 0.5 * (q - last) - T * self.qd
        even_rate, odd_rate = 0.5 * T * (qd - self.begun), 0.5 * T * (qd + self.begun) - T * self.qd
        fourth, fifth = 0.5 * even_rate - even, 0.5 * (odd_rate - 3 * odd)
        found = np.stack([here, T * self.qd, even - fourth, odd - fifth, fourth, fifth])
        return Way(T, commands[:KEPT], qd, self.qd, found)

    def parts(self, count: int) -> list[Array]:
        """Positions, velocities and accelerations (count, n) at the ends of `count` equal parts of the period."""
        assert self.polynomial is not None
        return [basis @ self.polynomial / self.period**m for m, basis in enumerate(_powers(count))]


@cache
def _powers(count: int) -> list[Array]:
    """Powers (count, 6) of normalised times, and their first two derivatives."""
    s, found = np.arange(1, count + 1) / count, []
    for m in range(3):
        found.append(np.stack([perm(k, m) * s ** max(k - m, 0) for k in range(6)], axis=1))
    return found


def usual_imperfections(robot: Robot, posture: ArrayLike) -> Imperfections:
    """Default sensor errors of a rehearsal: encoders of 1e-5 rad or 1e-6 m, and noise of 1 % of typical efforts.

    Typical efforts are computed at one posture, with random velocities and accelerations within the limits of the
    robot file (or within 1 rad/s or m/s and four times that per second), so that they do not depend on the
    trajectory.
    """
    options, rng, size = RehearsalOptions(), np.random.default_rng(0), (DIRECTIONS, robot.n)
    velocity, acceleration = usual_rates(robot)
    q = np.broadcast_to(np.asarray(posture, float), size)
    qd, qdd = (most * rng.uniform(-1, 1, size) for most in (velocity, acceleration))
    tau = np.asarray(inverse_dynamics(robot, q, qd, qdd), float)
    rms = np.sqrt(np.mean(tau**2, axis=0))
    floor = rms[rms > 0].min(initial=1.0)
    return Imperfections(resolution=options.resolutions(robot), torque_noise=options.noise * np.maximum(rms, floor))


class RobotServer:
    """Simulated robot behind a socket, in a separate thread; one client at a time."""

    def __init__(self, robot: SimulatedRobot) -> None:
        self.robot = robot
        self.socket = socket.create_server((HOST, 0))
        self.address: tuple[str, int] = self.socket.getsockname()[:2]
        self.stops = 0  # how often it was told to stop
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def close(self) -> None:
        """Stop the server."""
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
            qd = message.get("qd")
            self.robot.step(
                _numbers(message.get("q"), self.robot.n), None if qd is None else _numbers(qd, self.robot.n)
            )
            self._tell(client)

    def _tell(self, client: socket.socket) -> None:
        if not self.robot.is_silent:
            client.sendall(json.dumps(self.robot.state()).encode() + b"\n")


class Lines:
    """Lines received from a socket, none longer than `LONGEST`."""

    def __init__(self, source: socket.socket) -> None:
        self.source, self.data = source, b""

    def next(self) -> str | None:
        """Next line; None at the end, TimeoutError where none arrives in time (partial data are kept)."""
        while b"\n" not in self.data:
            if len(self.data) > LONGEST:
                raise DriverError(f"the robot sent a line of more than {LONGEST} bytes")
            part = self.source.recv(4096)
            if not part:
                return None
            self.data += part
        line, _, self.data = self.data.partition(b"\n")
        return line.decode("utf-8", "replace")


class LoopbackDriver(Driver):
    """Driver of a `RobotServer`; wait [s]: real time that one period may take."""

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
        """Next state of the simulated robot."""
        try:
            text = self.lines.next()
        except TimeoutError:
            return None
        except OSError:
            text = None
        if text is None:
            raise DriverError("the robot closed the connection")
        return self._reading(text)

    def _reading(self, text: str) -> JointReading:
        try:
            message = json_document(text)
            t = float(_numbers([message["t"]], 1)[0])
            return JointReading(t, _numbers(message["q"], self.n), _numbers(message["effort"], self.n))
        except (DocumentError, InputError, KeyError, TypeError, AttributeError):
            raise DriverError("the robot sent a message that is not a valid state") from None

    def command(self, q: Array, qd: Array) -> None:
        """Send a position command, with the velocity at that position."""
        self._send({"q": q.tolist(), "qd": qd.tolist()})

    def stop(self) -> None:
        """Command the robot to hold its position."""
        self._send({"stop": True})

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()

    def _send(self, message: dict[str, Any]) -> None:
        try:
            self.socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            raise DriverError("the robot closed the connection") from None


def _numbers(values: Any, n: int) -> Array:
    """Finite numbers (n,) from a message."""
    if not isinstance(values, list) or len(values) != n or not all(isinstance(v, (int, float)) for v in values):
        raise InputError(f"a message must contain lists of {n} numbers")
    return np.array(values, float)
