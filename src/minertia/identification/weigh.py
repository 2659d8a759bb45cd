"""`wrench`: from wrenches of a force/torque sensor to tool, bias and mount, with a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import WrenchOptions
from minertia.identification.campaigns.prepare import Tell, silent
from minertia.identification.identify import Identification, identify
from minertia.identification.logs.options import ColumnMap
from minertia.io.errors import InputError
from minertia.robot.files import RobotLike, as_robot
from minertia.robot.identified import ALONE
from minertia.robot.joint import Joint
from minertia.robot.robot import Robot

Files = Sequence[str | Path] | str | Path


def sensor_alone() -> Robot:
    """Substitute for the robot if files contain the sensor's orientation; only its gravity is used."""
    straight = ((1, 0, 0), (0, 1, 0), (0, 0, 1)), (0, 0, 0)
    return Robot(ALONE, (Joint(ALONE, "revolute", None, *straight, link=ALONE),))


def wrench(
    robot: RobotLike | Campaign | None,
    poses: Files = (),
    validate: Files = (),
    options: WrenchOptions | None = None,
    columns: ColumnMap | str | Path | None = None,
    *,
    tell: Tell = silent,
) -> Identification:
    """Identify tool mass, centre of mass, bias and tilt of a force/torque sensor, or run their `Campaign`.

    poses, validate: files of wrenches for fit and validation; rows are poses at rest, or samples of a motion.
    The orientation of the sensor is in the file (qx qy qz qw; robot may then be None), or follows from joint
    positions and the frame named in `options`.  options: axes, sign and unit of the wrench, and its bias.
    columns: columns of the joints in the files, and their unit.  tell: progress callback.  `minertia wrench`
    calls this function.
    """
    if isinstance(robot, Campaign):
        if poses:
            raise InputError(
                "the campaign already names the robot and the files; give either a campaign, or a robot and files"
            )
        return identify(replace(robot, wrench=options or robot.wrench or WrenchOptions()), validate=validate, tell=tell)
    campaign = Campaign(
        sensor_alone() if robot is None else as_robot(robot),
        poses,  # type: ignore[arg-type]
        validate,  # type: ignore[arg-type]
        columns=columns,
        wrench=options or WrenchOptions(),
    )
    return identify(campaign, tell=tell)
