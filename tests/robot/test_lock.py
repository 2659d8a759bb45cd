"""Locked joints: the robot that is left moves as before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minertia.dynamics.model import inverse_dynamics
from minertia.io.errors import DescriptionError, UnknownName
from minertia.robot.files import read_robot
from minertia.robot.joint import Follows
from minertia.robot.variants import locked
from tests.random_robots import random_robot


def test_locked_robot_has_the_same_torques():
    rng = np.random.default_rng(0)
    for seed in range(20):
        robot = random_robot(seed, tree=True, n=5)
        hold = {"j2": 0.3, "j4": -0.2}
        small = locked(robot, hold)
        q, qd, qdd = rng.normal(size=(3, 6, 5))
        q[:, 1], q[:, 3] = 0.3, -0.2
        qd[:, [1, 3]] = qdd[:, [1, 3]] = 0
        keep = [0, 2, 4]
        whole = inverse_dynamics(robot, q, qd, qdd)[:, keep]
        np.testing.assert_allclose(inverse_dynamics(small, q[:, keep], qd[:, keep], qdd[:, keep]), whole, atol=1e-9)


def test_followers_are_locked_with_the_joint_they_follow():
    robot = random_robot(1, mimic=True, n=4)
    small = locked(robot, {"j1": 0.4})
    assert [joint.name for joint in small.joints] == ["j2", "j3"]
    with pytest.raises(DescriptionError, match="follows another joint"):
        locked(robot, {"j4": 0.4})


def test_refusals():
    robot = random_robot(2, n=2)
    assert locked(robot, {}) is robot
    with pytest.raises(UnknownName, match="there is no joint called 'j9'"):
        locked(robot, {"j9": 0.0})
    with pytest.raises(DescriptionError, match="every joint is locked"):
        locked(robot, {"j1": 0.0, "j2": 0.0})
    with pytest.raises(DescriptionError, match="coupled drives"):
        locked(read_robot("tx40"), {read_robot("tx40").joints[0].name: 0.0})


def test_a_follower_of_several_joints_keeps_those_that_move() -> None:
    robot = random_robot(5, n=4)
    joints = (*robot.joints[:3], replace(robot.joints[3], follows=Follows((0, 1), (2.0, -1.0), 0.1)))
    robot = replace(robot, joints=joints)
    one = locked(robot, {"j1": 0.5})
    assert one.joints[2].follows == Follows((0,), (-1.0,), 1.1)
    both = locked(robot, {"j1": 0.5, "j2": 0.2})
    assert [joint.name for joint in both.joints] == ["j3"]
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 5, 2))
    whole = [np.column_stack([np.full(5, first), a]) for first, a in ((0.5, q), (0.0, qd), (0.0, qdd))]
    ours = inverse_dynamics(one, q, qd, qdd)
    np.testing.assert_allclose(ours, inverse_dynamics(robot, *whole)[:, 1:], rtol=0, atol=1e-9)
    with pytest.raises(DescriptionError, match="cannot be locked alone"):
        locked(robot, {"j4": 0.5, "j1": 0.0})
