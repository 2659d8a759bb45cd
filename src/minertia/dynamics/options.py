"""Option `ChosenFrame`: frame at which wrenches, Jacobians and poses are expressed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from minertia.io.schema import Declared, option

if TYPE_CHECKING:
    from minertia.robot.robot import Robot

AXES = ("world", "link")


@dataclass(frozen=True, slots=True, repr=False)
class ChosenFrame(Declared):
    """Frame given by name, and the axes in which vectors at its origin are expressed."""

    name: str | None = option(
        None,
        "Frame of wrench, Jacobian and pose: a link or frame of the robot file, or a joint.",
        command="frame",
        otherwise="the last link",
    )
    axes: str = option(
        "world",
        "Axes in which vectors at that frame are expressed: those of the base frame, or those of the frame itself.",
        choices=AXES,
        command="axes",
    )

    def of(self, robot: Robot) -> str:
        """Name of the frame on a robot."""
        if self.name is not None:
            return self.name
        return robot.base_name if not robot.joints else robot.joints[robot.tip].link or robot.joints[robot.tip].name


LAST_LINK = ChosenFrame()
