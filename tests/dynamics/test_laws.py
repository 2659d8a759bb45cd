"""Laws of mechanics and independent engines, over random robots of every structure."""

from __future__ import annotations

import numpy as np
import pytest

import minertia.dynamics.model as dynamics
from minertia.algebra.expr import Graph, evaluate
from minertia.algebra.linear import Linear
from minertia.base.numeric import random_states
from minertia.dynamics.kinematics import State
from minertia.dynamics.newton_euler import inverse_dynamics as recursion
from minertia.io.errors import MissingParameters, ShapeError
from minertia.robot.parameters import full_name
from tests.oracles import MujocoOracle, PinocchioOracle
from tests.random_robots import random_robot

SHAPES = [
    {"tree": False},
    {"tree": True},
    {"tree": True, "floating": True},
    {"tree": True, "mimic": True},
    {"tree": True, "mimic": True, "floating": True},
]
CASES = [(seed, shape) for seed in range(8) for shape in SHAPES]


def largest(a: np.ndarray) -> float:
    return float(np.abs(a).max()) or 1.0


@pytest.mark.parametrize(("seed", "shape"), [c for c in CASES if not c[1].get("mimic")])
def test_agrees_with_pinocchio(seed, shape):
    robot = random_robot(seed, **shape).with_parameters({})
    oracle = PinocchioOracle(robot)
    for q, qd, qdd in zip(*random_states(robot, 5, seed), strict=True):
        tau = oracle.inverse_dynamics(q, qd, qdd)
        links = dynamics.torque_regressor(robot, q, qd, qdd) @ robot.parameter_vector()
        assert np.allclose(links, tau, rtol=0, atol=1e-9 * largest(tau))
        Y = oracle.regressor(q, qd, qdd)
        assert np.allclose(dynamics.torque_regressor(robot, q, qd, qdd), Y, rtol=0, atol=1e-9 * largest(Y))
        D = oracle.mass_matrix(q)
        assert np.allclose(dynamics.mass_matrix(robot, q, rotors=False), D, rtol=0, atol=1e-9 * largest(D))
        kinetic, potential = oracle.energies(q, qd)
        assert dynamics.kinetic_energy(robot, q, qd, rotors=False) == pytest.approx(kinetic, rel=1e-9)
        assert dynamics.potential_energy(robot, q) == pytest.approx(potential, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_agrees_with_mujoco(seed):
    robot = random_robot(seed, tree=seed % 2 == 1)
    oracle = MujocoOracle(robot)
    for q, qd, qdd in zip(*random_states(robot, 5, seed), strict=True):
        tau = oracle.inverse_dynamics(q, qd, qdd)
        links = dynamics.torque_regressor(robot, q, qd, qdd) @ robot.parameter_vector()
        assert np.allclose(links, tau, rtol=0, atol=1e-9 * largest(tau))


@pytest.mark.parametrize(("seed", "shape"), CASES)
def test_parts_add_up(seed, shape):
    robot = random_robot(seed, **shape)
    q, qd, qdd = random_states(robot, 20, seed)
    tau = dynamics.inverse_dynamics(robot, q, qd, qdd)
    columns = robot.columns(rotors=True, friction=True)
    Y = dynamics.torque_regressor(robot, q, qd, qdd, columns=columns)
    assert np.allclose(Y @ robot.parameter_vector(True, True), tau, rtol=0, atol=1e-12 * largest(tau))
    D = dynamics.mass_matrix(robot, q)
    assert np.allclose(D, D.transpose(0, 2, 1), rtol=0, atol=1e-12 * largest(D))
    assert np.linalg.eigvalsh(D).min() > 0
    still = dynamics.inverse_dynamics(robot, q, qd, 0 * qdd)
    assert np.allclose(np.einsum("nij,nj->ni", D, qdd) + still, tau, rtol=0, atol=1e-11 * largest(tau))
    friction = still - dynamics.velocity_torques(robot, q, qd) - dynamics.gravity_torques(robot, q)
    assert np.allclose(friction.sum(axis=1), _friction_power_free(robot, qd), atol=1e-9 * largest(tau))
    back = dynamics.forward_dynamics(robot, q, qd, tau)
    assert np.allclose(back, qdd, rtol=0, atol=1e-7 * largest(qdd))


def _friction_power_free(robot, qd):
    """Sum over coordinates of viscous, Coulomb and offset efforts, from the effects themselves."""
    own = qd[:, 6 * robot.is_floating :]
    total = np.zeros(len(qd))
    for j in range(robot.n_joints):
        rate = robot.joint_rate(j, list(own.T))
        effort = 0.3 * rate + 0.2 * np.sign(rate) + 0.05
        total += sum(ratio * effort for _, ratio in robot.shares(j))
    return total


@pytest.mark.parametrize(("seed", "shape"), [c for c in CASES if not c[1].get("floating")])
def test_power_is_energy_rate(seed, shape):
    """tau . qd = d/dt (kinetic + potential) along any motion, by the complex step."""
    robot = random_robot(seed, **shape)
    q, qd, qdd = (a[0] for a in random_states(robot, 1, seed))
    chi = [{symbol: value for symbol, value in x.items()} for x in robot.parameters()]
    names = robot.columns(rotors=True)
    Y = dynamics.torque_regressor(robot, q, qd, qdd, columns=names)
    own = dict(zip(robot.columns(True, True), robot.parameter_vector(True, True), strict=True))
    power = float((Y @ [own[name] for name in names]) @ qd)
    step = 1e-30j
    kinetic = dynamics.kinetic_energy(robot, q + step * qd, qd + step * qdd, parameters=chi)
    potential = dynamics.potential_energy(robot, q + step * qd, parameters=chi)
    assert (kinetic + potential).imag / 1e-30 == pytest.approx(power, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize(("seed", "shape"), CASES)
def test_expressions_and_linear_forms_agree_with_floats(seed, shape):
    robot = random_robot(seed, **shape)
    q, qd, qdd = random_states(robot, 3, seed)
    tau = dynamics.inverse_dynamics(robot, q, qd, qdd)
    graph = Graph()
    names = {"q": q, "qd": qd, "qdd": qdd}
    inputs = {name: graph.variables(name, array.shape[1]) for name, array in names.items()}
    outputs = dynamics.inverse_dynamics(robot, inputs["q"], inputs["qd"], inputs["qdd"])
    values = {f"{name}[{k}]": array[:, k] for name, array in names.items() for k in range(array.shape[1])}
    expressed = np.stack([np.broadcast_to(v, len(q)) for v in evaluate(outputs, values)], axis=1)
    assert np.allclose(expressed, tau, rtol=0, atol=1e-12 * largest(tau))
    # the recursion itself on linear forms gives the rows of the regressor
    first = 0 if robot.is_floating else 1
    units = [{s: Linear.unit(full_name(s, first + k)) for s in x} for k, x in enumerate(robot.parameters())]
    forms = recursion(robot, units, State(*(list(a[0]) for a in (q, qd, qdd))))
    columns = robot.columns(True, True)
    rows = np.array([[float(getattr(f, "terms", {}).get(c, 0.0)) for c in columns] for f in forms])
    Y = dynamics.torque_regressor(robot, q[0], qd[0], qdd[0], columns=columns)
    assert np.allclose(rows, Y, rtol=0, atol=1e-12 * largest(Y))


def test_batch_is_the_same_as_one_by_one():
    robot = random_robot(3, tree=True)
    q, qd, qdd = random_states(robot, 7, 1)
    tau = dynamics.inverse_dynamics(robot, q, qd, qdd)
    assert tau.shape == (7, robot.n)
    one = np.stack([dynamics.inverse_dynamics(robot, *state) for state in zip(q, qd, qdd, strict=True)])
    assert np.allclose(one, tau, rtol=1e-13, atol=1e-13 * largest(tau))


def test_payload_adds_and_replaces_nothing():
    robot = random_robot(5, n=4)
    loaded = robot.with_payload(2.0, (0.1, -0.2, 0.3), (0.1, 0.01, 0, 0.2, 0, 0.15))
    q, qd, qdd = (a[0] for a in random_states(robot, 1, 2))
    empty = robot.with_parameters({name: 0.0 for name in robot.columns(True, True)})
    only = empty.with_payload(2.0, (0.1, -0.2, 0.3), (0.1, 0.01, 0, 0.2, 0, 0.15))
    together = dynamics.inverse_dynamics(robot, q, qd, qdd) + dynamics.inverse_dynamics(only, q, qd, qdd)
    assert np.allclose(dynamics.inverse_dynamics(loaded, q, qd, qdd), together)
    assert loaded.links[3][9] == pytest.approx(robot.links[3][9] + 2.0)


def test_shapes_are_checked():
    robot = random_robot(2, n=3)
    with pytest.raises(ShapeError, match="with one row per sample"):
        dynamics.inverse_dynamics(robot, np.zeros((3, 5)), np.zeros((3, 5)), np.zeros((3, 5)))
    with pytest.raises(ShapeError, match="samples"):
        dynamics.inverse_dynamics(robot, np.zeros((3, 3)), np.zeros((4, 3)), np.zeros((3, 3)))


def test_a_robot_without_parameters_has_no_torques():
    robot = random_robot(2, n=3)
    bare = type(robot)(robot.name, robot.joints)
    with pytest.raises(MissingParameters, match="base parameters"):
        dynamics.gravity_torques(bare, np.zeros(3))
