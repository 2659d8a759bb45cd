"""Locked joints: the robot that is left moves as before."""

from __future__ import annotations

import numpy as np
import pytest

from minertia.dynamics.model import inverse_dynamics
from minertia.errors import DescriptionError, UnknownName
from minertia.robot.lock import locked
from minertia.robot.read import read_robot
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
    with pytest.raises(DescriptionError, match="follows another one"):
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
