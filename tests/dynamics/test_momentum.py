"""Momentum, power, observer and adaptive law: against Pinocchio, and the laws they have to keep."""

from __future__ import annotations

import numpy as np
import pytest

import minertia as mi
from minertia.base.numeric import random_states
from minertia.codegen.programs import build
from minertia.codegen.search import representative
from minertia.codegen.setting import Setting
from minertia.codegen.targets.more_references import ten_of
from minertia.robot.files import bundled_robots
from tests.codegen import robots
from tests.dynamics.test_oracles_on_robots import close, planted
from tests.oracles import PinocchioOracle
from tests.random_robots import random_robot


@pytest.mark.parametrize("name", bundled_robots())
def test_momentum_and_observer_against_pinocchio(name):
    robot = planted(name)
    oracle, X, n = PinocchioOracle(robot), robot.parameter_vector(), robot.n
    setting = Setting(robot)
    program = build(setting, "momentum_observer", representative(setting, "momentum_observer"), thorough=None)
    for q, qd, _ in zip(*random_states(robot, 2, 5), strict=True):
        Yp, Yc = mi.dynamics.momentum_regressor(robot, q, qd)
        p = oracle.mass_matrix(q) @ qd
        C = oracle.pin.computeCoriolisMatrix(oracle.model, oracle.data, q, qd).reshape(n, n)
        rate = C.T @ qd - oracle.inverse_dynamics(q, 0 * q, 0 * q)
        assert close(Yp @ X, p) and close(Yc @ X, -rate)
        E, P = mi.dynamics.power_regressor(robot, q, qd)
        assert np.isclose(E @ X, sum(oracle.energies(q, qd))) and not np.any(P)
        tau, held = np.cos(q), np.sin(q)
        given = {"q": q, "qd": qd, "tau": tau, "gain": np.full(n, 30.0), "period": [1e-3], "momentum": held}
        found = program.evaluate(**given)
        assert close(found["r"], 30 * (p - held))
        assert close(found["momentum_next"], held + 1e-3 * (tau + rate + found["r"]))


@pytest.mark.parametrize("seed", [1, 4])
def test_power_is_the_rate_of_energy_with_effects(seed):
    robot = random_robot(seed, tree=True, mimic=True)
    q, qd, qdd = random_states(robot, 4, seed)
    names = robot.columns(rotors=True, friction=True)
    X = robot.parameter_vector(rotors=True, friction=True)
    h = 1e-6
    tau = mi.dynamics.torque_regressor(robot, q, qd, qdd, columns=names) @ X
    ahead, behind = ((q + s * h * qd + h * h / 2 * qdd, qd + s * h * qdd) for s in (1, -1))
    for of, left in ((mi.dynamics.power_regressor, (tau * qd).sum(1)), (mi.dynamics.momentum_regressor, tau)):
        after, before = (of(robot, *state, columns=names)[0] @ X for state in (ahead, behind))
        rest = of(robot, q, qd, columns=names)[1] @ X
        slope = (after - before) / (2 * h)
        assert np.allclose(slope + rest, left, rtol=0, atol=1e-6 * np.abs(left).max())


def test_the_observer_finds_an_external_effort():
    robot = robots.planar2r()
    program = build(Setting(robot), "momentum_observer")
    q, qd, h, held = np.array([0.3, -0.4]), np.zeros(2), 2e-3, np.zeros(2)
    outside = np.array([2.0, -1.0])
    for k in range(400):
        tau = mi.dynamics.gravity_torques(robot, q) + 3 * np.sin(0.01 * k + np.array([0.0, 1.0])) - 2 * qd
        acting = outside if k >= 100 else 0
        found = program.evaluate(q=q, qd=qd, tau=tau, gain=np.full(2, 50.0), period=[h], momentum=held)
        held = found["momentum_next"]
        if k == 99:
            assert np.abs(found["r"]).max() < 0.1
        qdd = mi.forward_dynamics(robot, q, qd, tau + acting)
        q, qd = q + h * qd + h * h / 2 * qdd, qd + h * qdd
    assert np.abs(found["r"] - outside).max() < 0.15


def _pseudo_inertia(G):
    G = G.reshape(-1, 4, 4)
    return G @ G.transpose(0, 2, 1)


def test_no_step_makes_a_body_that_cannot_exist():
    """Even with gains a million times too large."""
    robot = robots.puma560(True)
    program = build(Setting(robot), "adaptive_law", thorough=None)
    start = build(Setting(robot), "adaptive_start")
    chi = np.array(
        [[x[s] for s in ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M")] for x in robot.parameters()]
    )
    G = start.evaluate(chi=chi)["G"]
    assert np.allclose(ten_of(_pseudo_inertia(G)), chi)
    rng = np.random.default_rng(0)
    for rate in (1e-3, 1.0, 1e6):
        factor = G
        for _ in range(20):
            q, qd, qdr, qddr = rng.normal(size=(4, 6)) * np.array([[3], [5], [5], [9]])
            given = {
                "q": q,
                "qd": qd,
                "qdr": qdr,
                "qddr": qddr,
                "damping": np.ones(6),
                "rate": np.full(6, rate),
                "G": factor,
            }
            before, factor = factor, program.evaluate(**given)["G_next"]
            growth = np.linalg.svd(
                np.linalg.solve(before.reshape(-1, 4, 4), factor.reshape(-1, 4, 4)), compute_uv=False
            )
            assert growth.min() > 0.62 and growth.max() < 1.63
        signs, _ = np.linalg.slogdet(factor.reshape(-1, 4, 4))
        assert np.all(np.abs(signs) == 1)


@pytest.mark.slow
def test_the_adaptive_law_tracks_with_a_load_it_does_not_know():
    robot = robots.planar2r()
    true = robot.with_payload(2.0, com=(0.3, 0.0, 0.0))
    law, start = build(Setting(robot), "adaptive_law", thorough=None), build(Setting(robot), "adaptive_start")
    chi = np.array(
        [[x[s] for s in ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M")] for x in robot.parameters()]
    )
    q, qd, h, errors = np.zeros(2), np.zeros(2), 4e-3, []
    G = start.evaluate(chi=chi)["G"]
    for k in range(1200):
        t, w = k * h, np.array([2.0, 3.1])
        goal, speed, bend = 0.6 * np.sin(w * t), 0.6 * w * np.cos(w * t), -0.6 * w**2 * np.sin(w * t)
        qdr = speed + 8 * (goal - q)
        qddr = bend + 8 * (speed - qd)
        given = {"q": q, "qd": qd, "qdr": qdr, "qddr": qddr, "damping": [6.0, 4.0], "rate": [0.4 * h] * 2, "G": G}
        found = law.evaluate(**given)
        G = found["G_next"]
        qdd = mi.forward_dynamics(true, q, qd, found["tau"])
        q, qd = q + h * qd + h * h / 2 * qdd, qd + h * qdd
        errors.append(np.abs(goal - q).max())
    assert max(errors[-200:]) < 0.25 * max(errors[:300])
