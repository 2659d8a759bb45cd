"""A robot as users give it to a verb: one that was read, the path of its file, a bundled name, or a model of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from minertia.io.errors import expected
from minertia.robot.read import read_robot
from minertia.robot.robot import Robot


@runtime_checkable
class HasRobot(Protocol):
    """What has a robot with all that was identified of it: a model."""

    def to_robot(self) -> Robot:
        """The robot."""


RobotLike: TypeAlias = "Robot | str | Path | HasRobot"


def as_robot(given: RobotLike) -> Robot:
    """The robot that was given, read where its path or bundled name was; of a model, with what was identified."""
    if isinstance(given, str | Path):
        return read_robot(given)
    robot: Any = given.to_robot() if not isinstance(given, Robot) and isinstance(given, HasRobot) else given
    expected(robot, Robot, "the robot", "read_robot")
    assert isinstance(robot, Robot)
    return robot
