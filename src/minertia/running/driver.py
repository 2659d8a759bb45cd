"""`Driver`: one robot that takes positions and tells its state, period by period."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple, Self

from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError


class DriverError(MinertiaError):
    """A robot that cannot be reached, or whose connection ended."""


class JointReading(NamedTuple):
    """A state of the robot: its own time [s], positions (n,) [rad or m], efforts (n,) in the driver's unit or None."""

    t: float
    q: Array
    effort: Array | None = None


@dataclass(frozen=True)
class RobotIdentity:
    """What a driver knows of its robot, None for what it cannot tell.

    joints: names of the joints that it tells positions of.  order: those that it commands, in order.  model: of the
    maker, such as UR10.  serial: its serial number.  description: the URDF that the robot's own system holds.
    """

    joints: tuple[str, ...] | None = None
    order: tuple[str, ...] | None = None
    model: str | None = None
    serial: str | None = None
    description: str | None = None


class Driver(abc.ABC):
    """What runs motions knows of a robot.  period [s]: of its control; effort: column of its efforts in a log.

    is_simulated: whether the robot's time is that of a simulation, which goes on with the commands.  Of any other robot
    the stamps must go on as this computer's clock does.
    """

    period: float
    effort: str = "tau{j}"  # N m or N; "i{j}" for currents [A]
    is_simulated: bool = False

    def identity(self) -> RobotIdentity:
        """Which robot this is, asked once before it moves."""
        return RobotIdentity()

    @abc.abstractmethod
    def read(self) -> JointReading | None:
        """The newest state that came within one period; None where none came."""

    @abc.abstractmethod
    def command(self, q: Array, qd: Array) -> None:
        """Ask for positions (n,) at the end of the next period, and velocities there."""

    @abc.abstractmethod
    def stop(self) -> None:
        """Bring the robot to rest at once, in the way its controller has for that."""

    @abc.abstractmethod
    def close(self) -> None:
        """Let go of the robot."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
