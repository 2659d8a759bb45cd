"""`Driver`: interface of a robot that accepts position commands and reports its state once per period."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple, Self

from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError


class DriverError(MinertiaError):
    """Robot that cannot be reached, or whose connection ended."""


class JointReading(NamedTuple):
    """State of the robot: time stamp of its clock [s], positions (n,) [rad or m], and efforts (n,).

    effort: in the driver's unit, None if it is not reported.
    """

    t: float
    q: Array
    effort: Array | None = None


@dataclass(frozen=True)
class RobotIdentity:
    """Identity of a robot as reported by its driver, None for unknown entries.

    joints: names of the joints whose positions it reports.  order: joints that it commands, in order.  model: the
    manufacturer's model name, such as UR10.  serial: serial number.  description: URDF from the robot's own
    system.
    """

    joints: tuple[str, ...] | None = None
    order: tuple[str, ...] | None = None
    model: str | None = None
    serial: str | None = None
    description: str | None = None


class Driver(abc.ABC):
    """Interface of a robot that runs trajectories.

    period [s]: control period.  effort: name of the effort column in a log.  is_simulated: whether the robot's
    time is that of a simulation, which advances with the commands.  The time stamps of any other robot must keep
    pace with this computer's clock.
    """

    period: float
    effort: str = "tau{j}"  # N m or N; "i{j}" for currents [A]
    is_simulated: bool = False

    def identity(self) -> RobotIdentity:
        """Identity of the robot, queried once before it moves."""
        return RobotIdentity()

    @abc.abstractmethod
    def read(self) -> JointReading | None:
        """Latest state received within one period; None if none was received."""

    @abc.abstractmethod
    def command(self, q: Array, qd: Array) -> None:
        """Command positions (n,) for the end of the next period, and the velocities (n,) at that time."""

    @abc.abstractmethod
    def stop(self) -> None:
        """Stop the robot immediately, by its controller's own method."""

    @abc.abstractmethod
    def close(self) -> None:
        """Release the robot."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
