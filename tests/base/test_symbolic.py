"""Dynamics in letters against the dynamics on numbers, at random values of everything."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy

import minertia as mi
from minertia.algebra.polynomial import letter
from minertia.algebra.quotient import Quotient
from minertia.algebra.sympy_form import expression, symbol
from minertia.base.symbolic import SymbolicDynamics, symbolic
from minertia.dynamics.loops.closing import closing_of
from minertia.io.errors import InputError
from minertia.robot.joint import Follows
from minertia.robot.variants import locked
from tests.random_robots import random_robot


def first_three(name: str) -> mi.Robot:
    """An arm with its wrist locked."""
    robot = mi.read_robot(name)
    return locked(robot, {joint: 0.3 * (k + 1) for k, joint in enumerate(robot.coordinate_names[3:])})


ROBOTS = {
    "planar2r": lambda: mi.read_robot("planar2r").with_gravity((0, -9.81, 0)),
    "puma560": lambda: first_three("puma560_physical"),
    "oblique": lambda: random_robot(6, n=3),  # gravity in no axis
    "sliding": lambda: random_robot(9, n=3),
    "branched": lambda: random_robot(12, n=3, tree=True),
}


def known(robot: mi.Robot) -> mi.Robot:
    """The robot with random parameters."""
    rng = np.random.default_rng(1)
    return robot.with_parameters(dict(zip(robot.columns(True), rng.normal(size=len(robot.columns(True))), strict=True)))


def state(robot: mi.Robot) -> np.ndarray:
    return np.random.default_rng(2).normal(size=(3, robot.n))


def at(found: SymbolicDynamics, value: sympy.Matrix, motion: np.ndarray) -> np.ndarray:
    """Numbers of a matrix in letters."""
    numbers = {**found.values, **dict(zip((*found.q, *found.qd, *found.qdd), motion.ravel().tolist(), strict=True))}
    return np.array(sympy.lambdify(list(numbers), value, "numpy")(*numbers.values()), dtype=float)


@pytest.mark.parametrize("in_base", [pytest.param(False, marks=pytest.mark.slow), True], ids=["standard", "base"])
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n == "puma560" else ()) for n in ROBOTS])
def test_letters_agree_with_numbers(name: str, in_base: bool) -> None:
    robot = known(ROBOTS[name]())
    found = symbolic(mi.base_parameters(robot, rotors=True) if in_base else robot, rotors=True)
    motion = state(robot)
    q, qd, qdd = motion
    gravity, velocity = mi.dynamics.gravity_torques(robot, q), mi.dynamics.velocity_torques(robot, q, qd)
    M = mi.dynamics.mass_matrix(robot, q)
    close = {"rtol": 1e-9, "atol": 1e-9}
    assert np.allclose(at(found, found.M, motion), M, **close)
    assert np.allclose(at(found, found.g, motion).ravel(), gravity, **close)
    assert np.allclose(at(found, found.c, motion).ravel(), velocity, **close)
    assert np.allclose(at(found, found.C, motion) @ qd, velocity, **close)
    assert np.allclose(at(found, found.tau, motion).ravel(), M @ qdd + velocity + gravity, **close)
    parameters = [found.values[symbol(own)] for own in found.parameters.values()]
    assert np.allclose(at(found, found.Y, motion) @ parameters, M @ qdd + velocity + gravity, **close)


def test_the_coriolis_matrix_is_skew_against_the_mass_matrix() -> None:
    found = symbolic(mi.read_robot("planar2r"))
    change = sum((found.M.diff(q) * qd for q, qd in zip(found.q, found.qd, strict=True)), sympy.zeros(2, 2))
    N = (change - 2 * found.C).expand()
    assert (N + N.T).expand() == sympy.zeros(2, 2)


def test_a_textbook_arm() -> None:
    found = symbolic(mi.base_parameters(mi.read_robot("planar2r").with_gravity((0, -9.81, 0))))
    D2, MX2, MY2, ZZ2, g, q1, q2 = map(symbol, ("D2", "MX2", "MY2", "ZZ2", "g", "q1", "q2"))
    assert found.M[0, 1] == ZZ2 + D2 * MX2 * sympy.cos(q2) - D2 * MY2 * sympy.sin(q2)
    assert found.g[1] == g * (MX2 * sympy.cos(q1 + q2) - MY2 * sympy.sin(q1 + q2))  # not four products
    assert r"\cos{\left(q_{1} + q_{2} \right)}" in found.latex()
    assert r"\dot{q}_{1}" in found._repr_latex_()


def test_a_product_is_written_as_a_sum_only_where_that_is_shorter() -> None:
    a, b = letter("a"), letter("b")
    A, B = symbol("a"), symbol("b")
    assert expression(a.cos() * b.cos() - a.sin() * b.sin()) == sympy.cos(A + B)
    assert expression(a.cos() * b.sin()) == sympy.cos(A) * sympy.sin(B)
    assert expression(2 * (a.cos() * a.cos()) - 1) == sympy.cos(2 * A)
    assert expression(0.3 * (a.sin() * b.cos()) + 0.3 * (a.cos() * b.sin())).equals(sympy.Float(0.3) * sympy.sin(A + B))
    assert expression(0) == 0 and expression(3) == 3


def test_a_quotient_stays_one() -> None:
    a, b = letter("a"), letter("b")
    A, B = symbol("a"), symbol("b")
    assert expression(Quotient(a * a, a + b)).equals(A**2 / (A + B))


def test_relations_in_sympy() -> None:
    base = mi.base_parameters(mi.read_robot("puma560"), rotors=True)
    forms = base.to_sympy()
    assert [s.name for s in forms] == list(base.names)
    rng = np.random.default_rng(0)
    chi = rng.normal(size=len(base.columns))
    numbers = {symbol(n): v for n, v in zip(base.columns, chi, strict=True)}
    numbers |= {symbol(n): v for n, v in base.robot.symbol_values.items()}
    assert np.allclose([float(form.subs(numbers)) for form in forms.values()], base.values(chi))


def test_what_is_refused() -> None:
    puma = mi.read_robot("puma560_physical")
    with pytest.raises(InputError, match=r"has 6 joints, .* symbolic\(robot, most_joints=6\)"):
        symbolic(puma)
    assert symbolic(mi.read_robot("scara"), most_joints=4).M.shape == (4, 4)
    arm = mi.read_robot("planar2r")
    with pytest.raises(InputError, match="fixed base"):
        symbolic(replace(arm, base="floating"))
    with pytest.raises(InputError, match="ratio 1 or -1"):
        symbolic(replace(arm, joints=(arm.joints[0], replace(arm.joints[1], follows=Follows((0,), (0.5,))))))
    with pytest.raises(InputError, match="without it"):
        symbolic(mi.base_parameters(arm, friction=True))
    with pytest.raises(InputError, match="rename it in the robot file"):
        symbolic(replace(arm, symbols={**arm.symbols, "qd2": 1.0}))


def test_loops_leave_no_terms_in_letters_but_their_tree_does() -> None:
    """M_a = G' M G of what the sentence points to."""
    robot = mi.read_robot("five_bar")
    with pytest.raises(InputError, match=r"'five-bar' has loops.*\('.+'\).*symbolic\(robot.opened\)"):
        symbolic(robot)
    found = symbolic(robot.opened, most_joints=4)
    closing = closing_of(robot.numeric)
    closed = closing.close(closing.seed[None, closing.active] + 0.1)
    values = found.values | dict(zip(found.q, closed[0].tolist(), strict=True))
    M, G = np.array(found.M.subs(values), float), closing.rates(closed)[0]
    expected = mi.dynamics.mass_matrix(robot, closed[0, closing.active], rotors=False)
    np.testing.assert_allclose(G.T @ M @ G, expected, rtol=1e-10)


def test_terms_of_two_parallel_hinges_are_those_of_textbooks() -> None:
    """Products where there are common factors, and cosines of sums of angles."""
    found = symbolic(mi.base_parameters(mi.read_robot("planar2r").with_gravity((0.0, -9.81, 0.0))))
    shown = [str(entry) for entry in (*found.C, *found.g)]
    assert shown == [
        "-D2*qd2*(MX2*sin(q2) + MY2*cos(q2))",
        "-D2*(qd1 + qd2)*(MX2*sin(q2) + MY2*cos(q2))",
        "D2*qd1*(MX2*sin(q2) + MY2*cos(q2))",
        "0",
        "g*(MX2*cos(q1 + q2) + MXR1*cos(q1) - MY1*sin(q1) - MY2*sin(q1 + q2))",
        "g*(MX2*cos(q1 + q2) - MY2*sin(q1 + q2))",
    ]
