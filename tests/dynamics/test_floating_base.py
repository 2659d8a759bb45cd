"""Programs around the dynamics of robots whose base floats: against Pinocchio, and the laws they have to keep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import minertia as mi
from minertia.base.numeric import random_states
from minertia.codegen.programs import build
from minertia.codegen.setting import Setting
from minertia.codegen.targets.more_references import ten_of
from minertia.robot.files import read_robot
from minertia.robot.parameters import LINK_SYMBOLS
from tests.dynamics.test_oracles_on_robots import close, planted
from tests.every_effect import coupled_robot, robot_with_every_effect
from tests.loop_robots import FIVE_BAR, planar_loop
from tests.oracles import PinocchioOracle
from tests.random_robots import random_robot, random_ten
from tests.shared import SHARED

SEEDS = range(6)
LEGGED = ("go2.mjcf.xml", "simple_humanoid.urdf", "solo12.urdf")
PROGRAMS = (
    *("coriolis_matrix", "slotine_li", "inverse_dynamics_derivatives", "forward_dynamics_derivatives"),
    "momentum_observer",
)


def floating(robot):
    """The robot on a base that floats."""
    return replace(robot, base="floating", base_link=random_ten(np.random.default_rng(robot.n)))


def moved(robot, q, step):
    """Positions after a small motion: the base along and about its own axes, then the joints."""
    turn = Rotation.from_quat(q[3:7])
    place = q[:3] + turn.apply(step[:3])
    return np.concatenate([place, (turn * Rotation.from_rotvec(step[3:6])).as_quat(), q[7:] + step[6:]])


def samples(robot, seed, count=2):
    """States and reference velocities."""
    q, qd, qdd = random_states(robot, count, seed)
    return zip(q, qd, qdd, np.random.default_rng(seed).normal(size=qd.shape), strict=True)


def random_floating(seed):
    """A chain or a tree with every joint on its own and no effects, as Pinocchio has them."""
    return replace(random_robot(seed, tree=seed % 2 == 0, floating=True), effects=())


def compare_with_pinocchio(robot, state, evaluate):
    """Pinocchio's free flyer has our velocities: components in the base frame, linear ones first."""
    oracle, n = PinocchioOracle(robot), robot.n_velocity
    pin, model, data = oracle.pin, oracle.model, oracle.data
    q, qd, qdd, qdr = state
    D, rest = oracle.mass_matrix(q), np.zeros(n)
    g, tau = oracle.inverse_dynamics(q, rest, rest), oracle.inverse_dynamics(q, qd, qdd)
    C = pin.computeCoriolisMatrix(model, data, q, qd).reshape(n, n).copy()
    assert close(evaluate("coriolis_matrix", q=q, qd=qd)["C"], C)
    assert close(evaluate("slotine_li", q=q, qd=qd, qdr=qdr, qddr=qdd)["tau"], D @ qdd + C @ qdr + g)
    by_q, by_qd = (np.reshape(part, (n, n)) for part in pin.computeRNEADerivatives(model, data, q, qd, qdd)[:2])
    found = evaluate("inverse_dynamics_derivatives", q=q, qd=qd, qdd=qdd)
    assert close(found["dtau_dq"], by_q) and close(found["dtau_dqd"], by_qd) and close(found["dtau_dqdd"], D)
    pin.computeABADerivatives(model, data, q, qd, tau)
    found = evaluate("forward_dynamics_derivatives", q=q, qd=qd, tau=tau)
    assert close(found["dqdd_dq"], np.reshape(data.ddq_dq, (n, n)))
    assert close(found["dqdd_dqd"], np.reshape(data.ddq_dv, (n, n))) and close(found["dqdd_dtau"], np.linalg.inv(D))
    given = {"tau": tau, "gain": np.full(n, 30.0), "period": [1e-3], "momentum": qdr}
    found = evaluate("momentum_observer", q=q, qd=qd, **given)
    assert close(found["r"], 30 * (D @ qd - qdr))
    assert close(found["momentum_next"], qdr + 1e-3 * (tau + C.T @ qd - g + found["r"]))


@pytest.mark.parametrize("seed", [1, 6])
def test_programs_against_pinocchio(seed):
    robot = random_floating(seed)
    programs = {name: build(Setting(robot), name, thorough=None) for name in PROGRAMS}
    for state in samples(robot, seed):
        compare_with_pinocchio(robot, state, lambda name, **inputs: programs[name].evaluate(**inputs))


def in_python(robot, name, *, q, qd, **given):
    """What a program computes, by the functions of users."""
    if name == "coriolis_matrix":
        return {"C": mi.dynamics.coriolis_matrix(robot, q, qd)}
    if name == "slotine_li":
        return {"tau": mi.dynamics.slotine_li_torques(robot, q, qd, given["qdr"], given["qddr"])}
    if name == "inverse_dynamics_derivatives":
        found = mi.dynamics.inverse_dynamics_derivatives(robot, q, qd, given["qdd"])
        return dict(zip(("dtau_dq", "dtau_dqd", "dtau_dqdd"), found, strict=True))
    if name == "forward_dynamics_derivatives":
        found = mi.dynamics.forward_dynamics_derivatives(robot, q, qd, given["tau"])
        return dict(zip(("dqdd_dq", "dqdd_dqd", "dqdd_dtau"), found, strict=True))
    X, (Yp, Yc) = robot.parameter_vector(), mi.dynamics.momentum_regressor(robot, q, qd)
    r = given["gain"] * (Yp @ X - given["momentum"])
    return {"r": r, "momentum_next": given["momentum"] + given["period"][0] * (given["tau"] - Yc @ X + r)}


FLOATING = [*(random_floating(seed) for seed in SEEDS), replace(planted("stanford"), base="floating")]


@pytest.mark.parametrize("robot", FLOATING, ids=lambda robot: robot.name)
def test_python_against_pinocchio(robot):
    for state in samples(robot, 5, 1):
        compare_with_pinocchio(robot, state, lambda name, **inputs: in_python(robot, name, **inputs))


@pytest.mark.parametrize("name", LEGGED)
def test_legged_robots_against_pinocchio(name):
    path = SHARED / "robots" / name
    if not path.exists():
        pytest.skip("the robot's file is not there")
    robot = replace(planted(str(path)), base="floating")
    for state in samples(robot, 5, 1):
        compare_with_pinocchio(robot, state, lambda name, **inputs: in_python(robot, name, **inputs))


LAWFUL = {
    **{f"random{seed}": random_robot(seed, tree=seed % 2 == 0, floating=True, mimic=True) for seed in SEEDS},
    "no joints": random_robot(3, floating=True, n=0),
    "five-bar": floating(planar_loop(FIVE_BAR, active=(0, 4))),
}


@pytest.mark.parametrize("robot", LAWFUL.values(), ids=LAWFUL)
def test_the_coriolis_matrix_keeps_its_laws(robot):
    """Followers and loops, too; D' along the motion."""
    h = 1e-5
    for q, qd, _, _ in samples(robot, 3):
        C, D = mi.dynamics.coriolis_matrix(robot, q, qd), mi.dynamics.mass_matrix(robot, q)
        after, before = (mi.dynamics.mass_matrix(robot, moved(robot, q, s * h * qd)) for s in (1, -1))
        skew = (after - before) / (2 * h) - 2 * C
        assert np.abs(skew + skew.T).max() < 1e-7 * max(np.abs(C).max(), np.abs(D).max())
        assert close(C @ qd, mi.dynamics.velocity_torques(robot, q, qd))


@pytest.mark.parametrize("robot", LAWFUL.values(), ids=LAWFUL)
def test_a_reference_is_what_the_coriolis_matrix_makes_of_it(robot):
    names, X = robot.columns(rotors=True, friction=True), robot.parameter_vector(rotors=True, friction=True)
    for q, qd, qdd, qdr in samples(robot, 4):
        tau = mi.dynamics.slotine_li_torques(robot, q, qd, qdr, qdd)
        along = mi.dynamics.slotine_li_torques(robot, q, qd, qd, qdd)
        assert close(tau - along, mi.dynamics.coriolis_matrix(robot, q, qd) @ (qdr - qd))
        assert close(along, mi.inverse_dynamics(robot, q, qd, qdd))
        assert close(mi.dynamics.slotine_li_regressor(robot, q, qd, qdr, qdd, columns=names) @ X, tau)


def _slopes(function, n, h=1e-6):
    """Central differences of a function of a small step."""
    return np.stack([(function(h * e) - function(-h * e)) / (2 * h) for e in np.eye(n)], axis=1)


WITH_EFFECTS = {
    "every effect": floating(robot_with_every_effect()),
    "coupled motors": floating(coupled_robot()),
    "followers": random_robot(4, tree=True, mimic=True, floating=True),
    "no joints": random_robot(3, floating=True, n=0),
}


@pytest.mark.parametrize("robot", WITH_EFFECTS.values(), ids=WITH_EFFECTS)
def test_derivatives_are_the_slopes_along_the_motions_of_the_base(robot):
    """Away from standstill, where Coulomb friction has no slope."""
    n = robot.n_velocity
    q, qd, qdd = (part[0] for part in random_states(robot, 1, 7))
    qd = np.where(np.abs(qd) < 0.2, 0.4, qd)
    tau = mi.inverse_dynamics(robot, q, qd, qdd)
    pairs = [
        (mi.dynamics.inverse_dynamics_derivatives(robot, q, qd, qdd), mi.inverse_dynamics, qdd),
        (mi.dynamics.forward_dynamics_derivatives(robot, q, qd, tau), mi.forward_dynamics, tau),
    ]
    for found, function, last in pairs:
        wanted = [
            _slopes(lambda x, of=function, z=last: of(robot, moved(robot, q, x), qd, z), n),
            _slopes(lambda x, of=function, z=last: of(robot, q, qd + x, z), n),
            _slopes(lambda x, of=function, z=last: of(robot, q, qd, z + x), n),
        ]
        for own, slope in zip(found, wanted, strict=True):
            assert np.allclose(own, slope, rtol=0, atol=1e-6 * max(1.0, np.abs(slope).max()))


def test_samples_together_are_samples_one_by_one():
    robot = random_robot(5, floating=True)
    q, qd, qdd = random_states(robot, 3, 1)
    together = mi.dynamics.inverse_dynamics_derivatives(robot, q, qd, qdd)
    for k in range(3):
        for whole, one in zip(
            together, mi.dynamics.inverse_dynamics_derivatives(robot, q[k], qd[k], qdd[k]), strict=True
        ):
            assert close(whole[k], one)
    C = mi.dynamics.coriolis_matrix(robot, q, qd)
    assert close(C[1], mi.dynamics.coriolis_matrix(robot, q[1], qd[1]))


@pytest.mark.parametrize("robot", LAWFUL.values(), ids=LAWFUL)
def test_efforts_are_rates_of_momentum_and_power_that_of_energy(robot):
    names, X = robot.columns(rotors=True, friction=True), robot.parameter_vector(rotors=True, friction=True)
    h = 1e-6
    for q, qd, qdd, _ in samples(robot, 2):
        tau = mi.inverse_dynamics(robot, q, qd, qdd)
        ahead, behind = ((moved(robot, q, s * h * qd + h * h / 2 * qdd), qd + s * h * qdd) for s in (1, -1))
        for of, left in ((mi.dynamics.momentum_regressor, tau), (mi.dynamics.power_regressor, tau @ qd)):
            after, before = (of(robot, *state, columns=names)[0] @ X for state in (ahead, behind))
            rest = of(robot, q, qd, columns=names)[1] @ X
            assert np.allclose((after - before) / (2 * h) + rest, left, rtol=0, atol=1e-6 * np.abs(tau).max() * 9)


def _stepped(robot, q, qd, qdd, h):
    return moved(robot, q, h * qd + h * h / 2 * qdd), qd + h * qdd


def test_the_observer_finds_a_wrench_on_the_base():
    """A free body with one arm, pushed at its base and its joints from sample 50 on."""
    robot = floating(read_robot("planar2r").with_parameters({"M1": 3.0, "ZZ1": 0.2, "MX1": 0.4, "M2": 2.0, "ZZ2": 0.1}))
    robot = replace(robot, base_link=(2.0, 0.0, 0.0, 2.0, 0.0, 2.0, 0.1, 0.2, 0.0, 20.0))
    program = build(Setting(robot), "momentum_observer", thorough=None)
    q, qd = np.array([0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 1.0, 0.4, -0.3]), np.zeros(8)
    held, h, found = np.zeros(8), 2e-3, {}
    outside = np.array([4.0, -3.0, 2.0, 0.5, -0.4, 0.3, 0.5, -0.2])
    for k in range(150):
        tau = mi.dynamics.gravity_torques(robot, q) + np.sin(0.02 * k + np.arange(8.0)) - 0.5 * qd
        given = {"q": q, "qd": qd, "tau": tau, "gain": np.full(8, 80.0), "period": [h], "momentum": held}
        found = program.evaluate(**given)
        held = found["momentum_next"]
        if k == 49:
            assert np.abs(found["r"]).max() < 0.05
        acting = outside if k >= 50 else 0.0
        q, qd = _stepped(robot, q, qd, mi.forward_dynamics(robot, q, qd, tau + acting), h)
    assert np.abs(found["r"] - outside).max() < 0.05


def _ten(robot):
    return np.array([[x[s] for s in LINK_SYMBOLS] for x in robot.parameters()])


def _divergence(P, true):
    """Of bodies from the true ones: 0 where they are the same."""
    ratio = np.linalg.solve(P, true)
    return float((np.trace(ratio, axis1=1, axis2=2) - np.linalg.slogdet(ratio)[1] - 4).sum())


def test_the_adaptive_law_falls_along_lyapunovs_function():
    """Energy of the error and divergence of the bodies lose s' damping s together, as D' - 2 C is skew.

    The bodies differ from the true ones in the base, too; steps a million times too large leave bodies that can exist.
    """
    robot = replace(random_robot(2, floating=True, n=3, tree=True), effects=())
    law, start = (build(Setting(robot), name, thorough=None) for name in ("adaptive_law", "adaptive_start"))
    rng = np.random.default_rng(1)
    G = start.evaluate(chi=_ten(robot))["G"]
    factors = G.reshape(-1, 4, 4)
    assert np.allclose(ten_of(factors @ factors.transpose(0, 2, 1)), _ten(robot))
    mixing = np.eye(4) + 0.2 * rng.normal(size=factors.shape)
    bodies = (factors @ mixing) @ (factors @ mixing).transpose(0, 2, 1)
    base, *links = (tuple(ten) for ten in ten_of(bodies))
    true = replace(robot, base_link=base, links=tuple(links))
    (q, qd, qddr, qdr), gain, h = next(samples(robot, 3)), 0.4, 1e-6
    given = {"q": q, "qd": qd, "qdr": qdr, "qddr": qddr, "damping": rng.uniform(1.0, 9.0, 9), "G": G}
    tau = law.evaluate(**given, rate=np.zeros(4))["tau"]
    qdd, values = mi.forward_dynamics(true, q, qd, tau), []
    for time in (h, -h):
        after = law.evaluate(**given, rate=np.full(4, gain * time))["G_next"].reshape(-1, 4, 4)
        there, rates = _stepped(robot, q, qd, qdd, time)
        s = rates - qdr - time * qddr
        energy = s @ mi.dynamics.mass_matrix(true, there) @ s / 2
        values.append(energy + _divergence(after @ after.transpose(0, 2, 1), bodies) / gain)
    lost = (qd - qdr) @ (given["damping"] * (qd - qdr))
    assert np.isclose((values[0] - values[1]) / (2 * h), -lost, rtol=1e-5)
    wild = law.evaluate(**given, rate=np.full(4, 1e6))["G_next"].reshape(-1, 4, 4)
    growth = np.linalg.svd(np.linalg.solve(factors, wild), compute_uv=False)
    assert growth.min() > 0.62 and growth.max() < 1.63
