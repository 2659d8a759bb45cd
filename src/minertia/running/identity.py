"""Whether the robot at the other end is that of the robot's file, as far as it can tell."""

from __future__ import annotations

import re

from minertia.excitation.claims import listed
from minertia.excitation.limits import MotionLimits
from minertia.io.errors import Infeasible
from minertia.robot.robot import Robot
from minertia.running.described import check_description
from minertia.running.driver import Driver, RobotIdentity

UNIVERSAL = re.compile(r"(?<![a-z])ur[\s_-]*(\d{1,2})(?!\d)", re.IGNORECASE)


def check_identity(driver: Driver, robot: Robot, limits: MotionLimits | None = None) -> str:
    """Refuse another robot; what the driver could tell, or that it could not, in a sentence.

    limits: those that the motion was held against; none is to be wider than the robot's own system allows.
    """
    found = driver.identity()
    _check_joints(found, robot)
    _check_model(found, robot)
    unsure = "" if found.description is None else check_description(found.description, robot, limits)
    return _sentence(found, robot, unsure)


def _check_joints(found: RobotIdentity, robot: Robot) -> None:
    own = robot.coordinate_names
    missing = [name for name in own if found.joints is not None and name not in found.joints]
    if missing:
        raise Infeasible(
            f"the robot tells joints {listed(list(found.joints or ()))} and not {listed(missing)} of '{robot.name}': "
            "this is another robot, or its file has other names"
        )
    if found.order is not None and found.order != own:
        raise Infeasible(
            f"the robot's controller takes joints in the order {', '.join(found.order)} and '{robot.name}' has "
            f"{', '.join(own)}: commands would go to the wrong joints"
        )


def _check_model(found: RobotIdentity, robot: Robot) -> None:
    """Sizes of Universal Robots, where both names tell one; dashboards say UR10 for a UR10e."""
    theirs = UNIVERSAL.search(found.model or "")
    ours = UNIVERSAL.search(robot.name)
    if theirs is not None and ours is not None and theirs[1] != ours[1]:
        raise Infeasible(f"the robot is a {found.model} and its file is of '{robot.name}': this is another robot")


def _sentence(found: RobotIdentity, robot: Robot, undescribed: str) -> str:
    told = [f"model {found.model}"] * (found.model is not None)
    told += [f"serial number {found.serial}"] * (found.serial is not None)
    told += [f"joints {listed(list(found.joints or ()))}"] * (found.joints is not None)
    told += ["commands in their order"] * (found.order is not None)
    told += ["not in which order it takes commands"] * (found.joints is not None and found.order is None)
    if found.description is not None:
        same = (
            f"a description that was not compared ({undescribed})" if undescribed else "a description of the same axes"
        )
        told.append(same)
    if not told:
        return f"this driver cannot tell which robot it moves: see to it that it is '{robot.name}'"
    unsure = "" if found.joints is not None or _is_known(found, robot) else f"; see to it that it is '{robot.name}'"
    return f"the robot tells {', '.join(told)}{unsure}"


def _is_known(found: RobotIdentity, robot: Robot) -> bool:
    return UNIVERSAL.search(found.model or "") is not None and UNIVERSAL.search(robot.name) is not None
