"""Every bundled robot and every robot file at hand, with random bodies planted on its geometry, against two engines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import minertia.dynamics.model as dynamics
from minertia.base.derive import base_parameters
from minertia.base.numeric import random_states
from minertia.robot.files import bundled_robots, read_robot
from tests.oracles import MujocoOracle, PinocchioOracle
from tests.random_robots import random_ten
from tests.shared import SHARED

FILES = sorted(p for p in (SHARED / "robots").glob("*") if p.suffix in (".urdf", ".par", ".xml"))
ROBOTS = [*bundled_robots(), *(str(path) for path in FILES)]
QUICK = ("puma560", "stanford", "panda", "scara", "gantry", "planar2r")  # of the bundled ones, where each takes longer


def planted(name):
    """The robot's geometry with random bodies, no effects, and every joint on its own; loops are cut open."""
    if name.endswith(".xml"):
        pytest.importorskip("mujoco")
    robot = read_robot(name)
    rng = np.random.default_rng(len(name))
    return replace(
        robot,
        joints=tuple(replace(joint, follows=None, is_passive=False) for joint in robot.joints),
        links=tuple(random_ten(rng) for _ in robot.joints),
        base_link=random_ten(rng),
        effects=(),
        coupling=None,
        motor_effects=(),
        cuts=(),
        seed=None,
    )


def close(a, b):
    return np.allclose(a, b, rtol=0, atol=1e-9 * np.abs(b).max())


@pytest.mark.parametrize("name", ROBOTS, ids=lambda name: name.rsplit("/", 1)[-1])
def test_pinocchio(name):
    robot = planted(name)
    oracle = PinocchioOracle(robot)
    for q, qd, qdd in zip(*random_states(robot, 3, 5), strict=True):
        assert close(dynamics.inverse_dynamics(robot, q, qd, qdd), oracle.inverse_dynamics(q, qd, qdd))
        assert close(dynamics.torque_regressor(robot, q, qd, qdd), oracle.regressor(q, qd, qdd))
        assert close(dynamics.mass_matrix(robot, q), oracle.mass_matrix(q))


@pytest.mark.parametrize("name", ROBOTS, ids=lambda name: name.rsplit("/", 1)[-1])
def test_mujoco(name):
    robot = replace(planted(name), base="fixed")
    oracle = MujocoOracle(robot)
    for q, qd, qdd in zip(*random_states(robot, 3, 5), strict=True):
        assert close(dynamics.inverse_dynamics(robot, q, qd, qdd), oracle.inverse_dynamics(q, qd, qdd))


@pytest.mark.parametrize("name", ["puma560", "stanford"])
def test_published_values(name):
    """As published, possible or not: Pinocchio does not mind."""
    robot = replace(read_robot(name), effects=())
    oracle = PinocchioOracle(robot)
    for q, qd, qdd in zip(*random_states(robot, 3, 5), strict=True):
        assert close(dynamics.inverse_dynamics(robot, q, qd, qdd), oracle.inverse_dynamics(q, qd, qdd))


@pytest.mark.parametrize("name", ROBOTS, ids=lambda name: name.rsplit("/", 1)[-1])
def test_regrouping_leaves_torques_unchanged(name):
    robot = planted(name)
    found = base_parameters(robot)
    assert found.method == "closed-form"
    assert found.certificate.is_clear
    twin = robot.with_parameters(dict(zip(found.columns, found.standard_values(found.values()), strict=True)))
    q, qd, qdd = random_states(robot, 5, 9)
    assert close(dynamics.inverse_dynamics(twin, q, qd, qdd), dynamics.inverse_dynamics(robot, q, qd, qdd))
