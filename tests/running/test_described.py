"""The robot's own description held against the robot's file: axes of joints, whatever frames they are written in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from minertia import motion_limits, read_robot
from minertia.io.errors import Infeasible
from minertia.robot.formats.urdf.new import new_urdf
from minertia.robot.robot import Robot
from minertia.running.driver import RobotIdentity
from minertia.running.identity import check_description, check_identity
from tests.shared import SHARED, needs_shared

Change = Callable[[Robot], Robot]
ARM = "puma560_physical"


def urdf(name: str, change: Change = lambda robot: robot) -> str:
    """URDF of a bundled robot, changed in its numbers."""
    return new_urdf(change(read_robot(name, letters=False).numeric))[0]


def other(k: int, **values: object) -> Change:
    """Robots with another joint k."""

    def change(robot: Robot) -> Robot:
        joints = list(robot.joints)
        joints[k] = replace(joints[k], **values)  # type: ignore[arg-type]
        return replace(robot, joints=tuple(joints))

    return change


def longer(k: int, axis: int, by: float) -> Change:
    """Robots whose joint k is farther from the one before."""

    def change(robot: Robot) -> Robot:
        p = [float(v) for v in robot.joints[k].p]
        p[axis] += by
        return other(k, p=tuple(p))(robot)

    return change


def turned(k: int, degrees: float, axis: int = 2) -> Change:
    """Robots with another zero of joint k (axis 2, its own), or another direction."""

    def change(robot: Robot) -> Robot:
        turn = Rotation.from_rotvec(np.deg2rad(degrees) * np.eye(3)[axis]).as_matrix()
        return other(k, R=tuple(map(tuple, (np.array(robot.joints[k].R, float) @ turn).tolist())))(robot)

    return change


@pytest.mark.parametrize(
    "change, said",
    [
        (longer(2, 0, 0.02), "have a different distance between their axes"),
        (longer(3, 1, -0.1), "have a different distance between their axes"),
        (turned(2, 5.0), "have a different angle between their axes"),
        (turned(4, 180.0, 0), "have a different angle between their axes"),
        (turned(1, 10.0, 0), "have a different angle between their axes"),
        (other(4, kind="prismatic"), "'j5' is prismatic in the robot's own description .* and revolute in the file"),
        (other(5, name="wrist_3"), "has no actuated joint 'j6', but"),
    ],
)
def test_a_description_of_another_robot_is_refused(change: Change, said: str) -> None:
    with pytest.raises(Infeasible, match=said):
        check_description(urdf(ARM, change), read_robot(ARM))


@pytest.mark.parametrize("name", [ARM, "planar2r", "scara", "stanford", "gantry", "rx90", "panda", "ur10e", "emps"])
def test_the_same_robot_passes_wherever_its_base_stands(name: str) -> None:
    moved = turned(0, 0.0) if name == "gantry" else longer(0, 2, 0.7)
    assert check_description(urdf(name, moved), read_robot(name)) == ""


def test_planar_axes_are_told_apart_by_their_distance() -> None:
    with pytest.raises(Infeasible, match="a different distance"):
        check_description(urdf("planar2r", longer(1, 0, 0.01)), read_robot("planar2r"))


def test_what_cannot_be_compared_is_said() -> None:
    robot = read_robot("planar2r")
    for text, said in (
        ("<robot", "it cannot be read"),
        ("", "it cannot be read"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><robot name='x'/>", "it cannot be read"),
    ):
        found = RobotIdentity(joints=robot.coordinate_names, description=text)
        driver = type("Told", (), {"identity": lambda self, found=found: found})()
        assert f"a description that was not compared ({said}" in check_identity(driver, robot)
    told = RobotIdentity(joints=robot.coordinate_names, description=urdf("planar2r"))
    driver = type("Told", (), {"identity": lambda self: told})()
    assert "a description of the same axes" in check_identity(driver, robot)


def test_a_robot_that_allows_less_than_the_motion_was_held_against() -> None:
    def narrowed(**values: float) -> Change:
        return lambda robot: other(1, limits=replace(robot.joints[1].limits, **values))(robot)

    robot = read_robot(ARM, letters=False)
    limits = motion_limits(robot, velocity=1.0, acceleration=2.0)
    wide = narrowed(lower=-7.0, upper=7.0, velocity=5.0)
    assert check_description(urdf(ARM, wide), robot, limits) == ""
    for change, said in (
        (narrowed(velocity=0.5), "allows joint 'j2' a velocity of 0.5, less than the limit of 1"),
        (narrowed(lower=-0.1, upper=0.1, velocity=5.0), "allows joint 'j2' -0.1 to 0.1"),
    ):
        with pytest.raises(Infeasible, match=said):
            check_description(urdf(ARM, change), robot, limits)


@needs_shared
def test_tables_of_denavit_and_hartenberg_agree_with_the_makers_descriptions() -> None:
    for name, prefix in (("ur10e", ""), ("panda", "panda_joint")):
        robot = read_robot(name, letters=False)
        joints = tuple(replace(j, name=f"{prefix}{k}" if prefix else j.name) for k, j in enumerate(robot.joints, 1))
        text = (SHARED / "robots" / f"{name}.urdf").read_text()
        assert check_description(text, replace(robot, joints=joints)) == ""
