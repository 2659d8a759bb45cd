"""Models of other programs: they compute our efforts, and what they have no place for is named."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import minertia as mi
from minertia.robot.robot import Robot
from tests.every_effect import coupled_robot
from tests.random_robots import random_robot

PUMA = mi.read_robot("puma560_physical")


def states(robot: Robot, count: int = 5) -> np.ndarray:
    return np.random.default_rng(4).normal(size=(3, count, robot.n))


def with_drives(robot: Robot) -> Robot:
    effects = [{"IA": 0.3 + 0.1 * j, "FV": 0.5, "FC": 0.7, "OFF": 0.2 * (j - 1)} for j in range(robot.n_joints)]
    return replace(robot, effects=tuple(effects))


def mujoco_efforts(robot: Robot, q, qd, qdd) -> np.ndarray:
    """mj_inverse with dry friction by the sign of the velocity."""
    mujoco = pytest.importorskip("mujoco")
    model = mi.to_mujoco(robot)
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= off.mjDSBL_FRICTIONLOSS | off.mjDSBL_LIMIT
    data, found = mujoco.MjData(model), []
    dofs = [model.joint(joint.name).dofadr[0] for joint in robot.joints]
    for row in zip(q, qd, qdd, strict=True):
        data.qpos[dofs], data.qvel[dofs], data.qacc[dofs] = row
        mujoco.mj_inverse(model, data)
        dry = model.dof_frictionloss * np.sign(data.qvel)
        for t in range(model.ntendon):
            turned = np.array(
                [model.wrap_prm[w] for w in range(model.tendon_adr[t], model.tendon_adr[t] + model.tendon_num[t])]
            )
            where = [
                model.jnt_dofadr[model.wrap_objid[w]]
                for w in range(model.tendon_adr[t], model.tendon_adr[t] + model.tendon_num[t])
            ]
            dry[where] += turned * model.tendon_frictionloss[t] * np.sign(turned @ data.qvel[where])
        found.append((data.qfrc_inverse + dry)[dofs])
    return np.array(found)


@pytest.mark.parametrize("robot", [with_drives(random_robot(k)) for k in range(4)] + [PUMA], ids=lambda r: r.name)
def test_mujoco_computes_our_efforts(robot):
    q, qd, qdd = states(robot)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is left out
        ours, theirs = mi.inverse_dynamics(robot, q, qd, qdd), mujoco_efforts(robot, q, qd, qdd)
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-6 * np.abs(ours).max())


def test_mujoco_has_springs_beside_offsets_and_cubic_friction():
    robot = PUMA.with_parameters({"KS2": 30.0, "FVC3": 0.4}, {"KS2": {"rest": 0.3}})
    assert robot.effects[1]["OFF"]
    q, qd, qdd = states(robot)
    ours = mi.inverse_dynamics(robot, q, qd, qdd)
    np.testing.assert_allclose(mujoco_efforts(robot, q, qd, qdd), ours, rtol=0, atol=1e-6 * np.abs(ours).max())


def test_mujoco_has_motors_that_turn_with_several_joints():
    robot = coupled_robot()
    robot = robot.without_effects([name for name in robot.other_effects])
    assert any(name.startswith("IAM") for name in robot.effect_values)
    q, qd, qdd = states(robot)
    ours = mi.inverse_dynamics(robot, q, qd, qdd)
    np.testing.assert_allclose(mujoco_efforts(robot, q, qd, qdd), ours, rtol=0, atol=1e-6 * np.abs(ours).max())


def test_what_mujoco_has_no_place_for_is_named():
    pytest.importorskip("mujoco")
    with pytest.warns(mi.simulation.UnsupportedPartWarning, match=r"MuJoCo: joint .*cannot represent .*\(FS1"):
        mi.to_mujoco(PUMA.with_parameters({"FS1": 0.4}, {"FS1": {"velocity": 0.1}}))


@pytest.mark.parametrize("robot", [with_drives(random_robot(k)) for k in range(4)] + [PUMA], ids=lambda r: r.name)
def test_pinocchio_has_rotors_and_friction(robot):
    pin = pytest.importorskip("pinocchio")
    q, qd, qdd = states(robot)
    with pytest.warns(mi.simulation.UnsupportedPartWarning, match=r"Pinocchio cannot represent .*\(OFF1"):
        model = mi.to_pinocchio(robot)
    data = model.createData()
    rigid = np.array([pin.rnea(model, data, *row) for row in zip(q, qd, qdd, strict=True)])
    offset = [effects["OFF"] for effects in robot.effects]
    theirs = rigid + model.damping * qd + model.friction * np.sign(qd) + offset
    ours = mi.inverse_dynamics(robot, q, qd, qdd)
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-9 * np.abs(ours).max())
    free = robot.without_effects(["friction"])
    np.testing.assert_allclose(
        pin.aba(model, data, q[0], qd[0], rigid[0]), mi.forward_dynamics(free, q[0], qd[0], rigid[0]), atol=1e-6
    )
    assert list(model.names)[1:] == [joint.name for joint in robot.joints]
    assert model.existFrame(robot.joints[-1].link or robot.joints[-1].name)


def test_a_floating_base_in_pinocchio():
    pin = pytest.importorskip("pinocchio")
    robot = random_robot(3, floating=True).without_effects(["offset"])
    model = mi.to_pinocchio(robot)
    assert model.nv == robot.n_velocity and model.nq == robot.n_position
    assert pin.computeTotalMass(model) == pytest.approx(robot.base_link[9] + sum(ten[9] for ten in robot.links))


def test_motors_of_several_joints_have_no_place_in_pinocchio():
    pytest.importorskip("pinocchio")
    with pytest.warns(mi.simulation.UnsupportedPartWarning, match="IAM"):
        mi.to_pinocchio(coupled_robot())


def test_what_is_no_robot():
    with pytest.raises(mi.MinertiaError, match="the robot"):
        mi.to_pinocchio(560)
