"""Coriolis matrix, Slotine-Li and first derivatives: against Pinocchio, finite differences, and as programs."""

from __future__ import annotations

import numpy as np
import pytest

import minertia as mi
from minertia.base.numeric import random_states
from minertia.codegen.programs import build
from minertia.codegen.search import representative
from minertia.codegen.setting import Setting
from minertia.robot.files import bundled_robots
from tests.dynamics.test_oracles_on_robots import QUICK, close, planted
from tests.every_effect import robot_with_every_effect
from tests.oracles import PinocchioOracle
from tests.random_robots import random_robot


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in bundled_robots()]
)
def test_against_pinocchio(name):
    robot = planted(name)
    oracle, setting = PinocchioOracle(robot), Setting(robot)
    pin, n = oracle.pin, robot.n
    programs = {
        p: build(setting, p, representative(setting, p), thorough=None)
        for p in ("coriolis_matrix", "slotine_li", "inverse_dynamics_derivatives", "forward_dynamics_derivatives")
    }
    for q, qd, qdd in zip(*random_states(robot, 2, 5), strict=True):
        C = pin.computeCoriolisMatrix(oracle.model, oracle.data, q, qd).reshape(n, n).copy()
        assert close(mi.dynamics.coriolis_matrix(robot, q, qd), C)
        assert close(programs["coriolis_matrix"].evaluate(q=q, qd=qd)["C"], C)
        qdr, rest = np.sin(q + 1), np.zeros(n)
        wanted = oracle.mass_matrix(q) @ qdd + C @ qdr + oracle.inverse_dynamics(q, rest, rest)
        assert close(mi.dynamics.slotine_li_torques(robot, q, qd, qdr, qdd), wanted)
        assert close(programs["slotine_li"].evaluate(q=q, qd=qd, qdr=qdr, qddr=qdd)["tau"], wanted)
        parts = pin.computeRNEADerivatives(oracle.model, oracle.data, q, qd, qdd)
        inverse = programs["inverse_dynamics_derivatives"].evaluate(q=q, qd=qd, qdd=qdd)
        found = mi.dynamics.inverse_dynamics_derivatives(robot, q, qd, qdd)
        for part, own, key in zip(parts[:2], found, ("dtau_dq", "dtau_dqd"), strict=False):
            assert close(own, np.reshape(part, (n, n))) and close(inverse[key], own)
        assert close(found[2], oracle.mass_matrix(q)) and close(inverse["dtau_dqdd"], found[2])
        tau = oracle.inverse_dynamics(q, qd, qdd)
        pin.computeABADerivatives(oracle.model, oracle.data, q, qd, tau)
        data = oracle.data
        forward = programs["forward_dynamics_derivatives"].evaluate(q=q, qd=qd, tau=tau)
        D_inverse = np.linalg.inv(oracle.mass_matrix(q))
        wanted = [np.reshape(part, (n, n)) for part in (data.ddq_dq, data.ddq_dv, D_inverse)]
        for part, own, key in zip(
            wanted, mi.dynamics.forward_dynamics_derivatives(robot, q, qd, tau), ("dq", "dqd", "dtau"), strict=True
        ):
            assert close(own, part) and close(forward[f"dqdd_{key}"], part)


@pytest.mark.parametrize("seed", range(4))
def test_skew_on_trees_with_dependent_joints(seed):
    robot = random_robot(seed, tree=True, mimic=True)
    q, qd, _ = random_states(robot, 4, seed)
    C, h = mi.dynamics.coriolis_matrix(robot, q, qd), 1e-5
    D_dot = (mi.dynamics.mass_matrix(robot, q + h * qd) - mi.dynamics.mass_matrix(robot, q - h * qd)) / (2 * h)
    rest = D_dot - 2 * C
    assert np.allclose(rest, -rest.transpose(0, 2, 1), atol=1e-7 * np.abs(D_dot).max())
    assert np.allclose(np.einsum("kij,kj->ki", C, qd), mi.dynamics.velocity_torques(robot, q, qd))


def _slopes(function, given, h=1e-6):
    """Central differences of a function of one vector."""
    return np.stack([(function(given + h * e) - function(given - h * e)) / (2 * h) for e in np.eye(len(given))], axis=1)


def _robots_with_effects():
    return [robot_with_every_effect(), random_robot(4, tree=True, mimic=True)]


@pytest.mark.parametrize("robot", _robots_with_effects(), ids=["every effect", "tree"])
def test_derivatives_with_effects_are_the_slopes(robot):
    """Rotors, friction of all kinds, friction by load and springs, away from standstill."""
    q, qd, qdd = (part[0] for part in random_states(robot, 1, 7))
    qd = np.where(np.abs(qd) < 0.2, 0.4, qd)
    found = mi.dynamics.inverse_dynamics_derivatives(robot, q, qd, qdd)
    wanted = [
        _slopes(lambda x: mi.inverse_dynamics(robot, x, qd, qdd), q),
        _slopes(lambda x: mi.inverse_dynamics(robot, q, x, qdd), qd),
        _slopes(lambda x: mi.inverse_dynamics(robot, q, qd, x), qdd),
    ]
    for own, slope in zip(found, wanted, strict=True):
        assert np.allclose(own, slope, rtol=0, atol=1e-6 * max(1.0, np.abs(slope).max()))
    tau = mi.inverse_dynamics(robot, q, qd, qdd)
    found = mi.dynamics.forward_dynamics_derivatives(robot, q, qd, tau)
    wanted = [
        _slopes(lambda x: mi.forward_dynamics(robot, x, qd, tau), q),
        _slopes(lambda x: mi.forward_dynamics(robot, q, x, tau), qd),
        _slopes(lambda x: mi.forward_dynamics(robot, q, qd, x), tau),
    ]
    for own, slope in zip(found, wanted, strict=True):
        assert np.allclose(own, slope, rtol=0, atol=1e-6 * max(1.0, np.abs(slope).max()))


def test_the_regressor_of_a_reference_gives_its_torques():
    robot = random_robot(3)
    q, qd, qdd = random_states(robot, 5, 2)
    qdr = np.cos(q)
    names = robot.columns(rotors=True, friction=True)
    Y = mi.dynamics.slotine_li_regressor(robot, q, qd, qdr, qdd, columns=names)
    assert np.allclose(
        Y @ robot.parameter_vector(rotors=True, friction=True), mi.dynamics.slotine_li_torques(robot, q, qd, qdr, qdd)
    )
    assert np.allclose(mi.dynamics.slotine_li_torques(robot, q, qd, qd, qdd), mi.inverse_dynamics(robot, q, qd, qdd))
