"""Lin's Newton-Euler in minimal combinations: its efforts, and every quantity on the way to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import minertia as mi
from minertia.base.composite_dynamics import CompositeBodies, composite_torques
from minertia.codegen.compiled import program
from minertia.codegen.generate import generate
from minertia.codegen.options import CodeModel
from minertia.codegen.setting import setting_of
from minertia.dynamics.kinematics import State
from minertia.io.errors import InputError, MinertiaError
from minertia.robot.files import bundled_robots
from minertia.robot.inertia import symmetric
from minertia.robot.robot import Robot
from tests.codegen import robots
from tests.composite_bodies import Reference, combinations, drawn, geometry
from tests.loop_robots import five_bar
from tests.oracles import PinocchioOracle
from tests.random_robots import random_robot

KINDS = ("RTRRR", "RTTRTR", "TTRTR", "RRTTR", "TRRTRT", "RTRTT", "TRTTR", "RTRTR", "TTT")
PARALLEL = ((), (1,), (1, 2), (2,))


def states(robot: Robot, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q, qd, qdd = np.random.default_rng(seed).uniform(-1.5, 1.5, (3, robot.n))
    return q, qd, qdd


def relative_error(robot: Robot) -> float:
    bare, chi = drawn(robot)
    q, qd, qdd = states(bare)
    tau = mi.inverse_dynamics(bare, q, qd, qdd)
    found = composite_torques(bare, combinations(bare, chi), State(list(q), list(qd), list(qdd)))
    return float(np.abs(np.array(found, float) - tau).max() / np.abs(tau).max())


@pytest.mark.parametrize("name", bundled_robots())
def test_efforts_of_bundled_robots(name: str) -> None:
    robot = mi.read_robot(name)
    if robot.passive or robot.open_cuts:
        with pytest.raises(InputError, match="minimal linear combinations"):
            composite_torques(robot.numeric, {}, State(*([0.0] * robot.n,) * 3))
    else:
        assert relative_error(robot) < 1e-12


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("square", [False, True])
def test_slides_before_between_and_beyond(kinds: str, square: bool) -> None:
    """Slides before the first turning joint, between the first direction and the second, and beyond."""
    assert max(relative_error(geometry(kinds, p, square)) for p in PARALLEL) < 1e-12


@pytest.mark.parametrize("seed", range(10))
def test_random_trees_agree_with_pinocchio(seed: int) -> None:
    robot = random_robot(seed, tree=seed % 2 == 1).without_effects(["rotors", "friction"])
    found = mi.base_parameters(robot, method="mlc")
    values = dict(zip(found.names, found.values(robot.parameter_vector()).tolist(), strict=True))
    q, qd, qdd = states(robot, seed)
    tau = PinocchioOracle(robot).inverse_dynamics(q, qd, qdd)
    own = composite_torques(robot, values, State(list(q), list(qd), list(qdd)))
    assert np.allclose(np.array(own, float), tau, rtol=0, atol=1e-10 * np.abs(tau).max())


# ---------------------------------------------------------------------- quantities on the way


@pytest.mark.parametrize(
    "robot",
    [geometry("RRTRTTR", (), False), geometry("RRRRRR", (), True), random_robot(3, tree=True), random_robot(8, n=6)],
    ids=["RRTRTTR", "RRRRRR", "tree", "chain"],
)
def test_quantities_one_by_one(robot: Robot) -> None:
    """(63) to (68) and (38) to (43) on full vectors, beyond the second direction, where nothing is left out."""
    bare, chi = drawn(robot, 5)
    q, qd, qdd = states(bare, 6)
    lin = CompositeBodies(bare, combinations(bare, chi), State(list(q), list(qd), list(qdd)))
    known = Reference(bare, chi, lin)
    beyond = [j for j in range(bare.n_joints) if lin.axes.axis[j].beyond]
    assert beyond
    for j in beyond:
        w, wd, vd, W, _ = (np.array(v, float) for v in lin.motions[j])
        P = sum((np.array(lin.ways[c].outward(lin.bodies[c].P), float) for c in known.children(j)), np.zeros(3))
        assert np.allclose(known.mass[j] * vd + W @ known.k[j] + P, known.f[j], atol=1e-11)  # lemma 3, (32)
        if not lin.turning[j]:
            h = np.array(lin.bodies[j].h, float)
            assert np.allclose(np.array(lin.bodies[j].rho, float), known.mass[j] * h)
            assert np.allclose(np.array(lin._before(j), float) + h, vd)  # (69) to (71)
            continue
        D, full = np.array(lin.bodies[j].D, float), known.inertia(j)
        gap = full - D
        level = (known.U[j] + known.raised[j])[1, 1]
        assert np.allclose(gap, np.diag([level, level, 0]), atol=1e-11)  # (38), (42), (91)
        N = np.zeros(3)
        for c in known.children(j):
            way, body = lin.ways[c], lin.bodies[c]
            out = np.array(way.outward(body.P), float)
            N += np.array(way.outward(body.N), float) + np.cross(np.array(way.p, float), out)
        whole = full @ wd + np.cross(w, full @ w) + np.cross(known.k[j], vd) + N
        assert np.allclose(whole, known.m[j], atol=1e-10)  # lemma 4, (53)
        assert lin.efforts[j] == pytest.approx(known.m[j][2], abs=1e-10)  # (68)


def test_two_numbers_of_slides_between_the_directions() -> None:
    """(86), (87): kappa_1 = KB and kappa_2 = KA of Lin's constants, whose formula stands in the seed."""
    robot = geometry("RTTRR", (3,), False, seed=4)
    bare, chi = drawn(robot, 2)
    q, qd, qdd = states(bare, 3)
    lin = CompositeBodies(bare, combinations(bare, chi), State(list(q), list(qd), list(qdd)))
    known = Reference(bare, chi, lin)
    for j in (1, 2):
        u = lin.axes.axis[j].u
        assert u is not None
        (ux, uy, uz), (kx, ky, kz) = (float(s) for s in u), known.k[j]
        assert lin._of("KB", j) == pytest.approx(-uy * kx + ux * ky)
        assert lin._of("KA", j) == pytest.approx(-uz * (ux * kx + uy * ky) + (1 - uz * uz) * kz)
        assert lin.efforts[j] == pytest.approx(known.f[j][2], abs=1e-11)
    assert lin.efforts[0] == pytest.approx(known.m[0][2], abs=1e-11)


def test_robots_of_turning_joints_are_khalil_and_kleinfingers() -> None:
    """Where all joints turn, D and k are the regrouped links that Khalil and Kleinfinger's recursion takes.

    With the second axis not parallel to the first every term of the two recursions is the same.
    """
    robot = geometry("RRRRRR", (), False, seed=7)
    bare, chi = drawn(robot, 8)
    q, qd, qdd = states(bare, 9)
    lin = CompositeBodies(bare, combinations(bare, chi), State(list(q), list(qd), list(qdd)))
    regrouped = mi.base_parameters(bare)
    link = dict(zip(regrouped.columns, regrouped.standard_values(regrouped.values(chi)), strict=True))
    for j in range(1, bare.n_joints):
        ten = [link[f"{s}{j + 1}"] for s in ("XX", "XY", "XZ", "YY", "YZ", "ZZ")]
        assert np.allclose(np.array(lin.bodies[j].D, float), symmetric(ten), atol=1e-11)
        assert [lin._of("K1", j), lin._of("K2", j)] == pytest.approx([link[f"MX{j + 1}"], link[f"MY{j + 1}"]])
        assert link[f"M{j + 1}"] == link[f"MZ{j + 1}"] == link[f"YY{j + 1}"] == 0
    assert lin.bodies[0].D[2][2] == pytest.approx(link["ZZ1"], abs=1e-11)


# ---------------------------------------------------------------------- generated code


@pytest.mark.parametrize("parameters", ["baked", "mlc", "standard"])
def test_generated_code_computes_the_same(parameters: str) -> None:
    """Compiled, with rotors and friction, for parameters in the code and at run time."""
    robot = mi.read_robot("stanford")
    robot = replace(robot, effects=tuple({"IA": 0.4, "FV": 0.3, "FC": 0.2} for _ in robot.joints))
    model = CodeModel(parameters, rotors=True, friction=True, formulation="mlc")
    inputs = setting_of(model, robot).nominal_inputs()
    q, qd, qdd = (np.tile(v, (2, 1)) for v in states(robot))
    tau = mi.compile(program(robot, "inverse_dynamics", model=model))(q, qd, qdd, *inputs.values())
    assert np.allclose(tau, mi.inverse_dynamics(robot, q, qd, qdd), rtol=0, atol=1e-11)


def test_regrouped_parameters_at_run_time_are_refused() -> None:
    with pytest.raises(MinertiaError, match="choose the parameters mlc"):
        program(mi.read_robot("stanford"), "inverse_dynamics", model=CodeModel("base", formulation="mlc"))


def test_identified_values_reach_the_combinations() -> None:
    """Values of the regrouped set, as an identification gives them, make the same code in either formulation."""
    robot = mi.read_robot("stanford").without_effects(["friction", "rotors"])
    found = mi.base_parameters(robot)
    values = found.values() * np.random.default_rng(0).uniform(0.5, 1.5, found.count)
    q, qd, qdd = (np.tile(v, (2, 1)) for v in states(robot))
    models = [CodeModel("baked", False, False, values=values, formulation=f) for f in ("newton-euler", "mlc")]
    tau = [mi.compile(program(robot, "inverse_dynamics", model=m))(q, qd, qdd) for m in models]
    assert np.allclose(*tau, rtol=0, atol=1e-12 * np.abs(tau[0]).max())


def test_counts_stay_below_lins() -> None:
    """(89n - 82)M (77n - 71)A and 4n M for the rotations, on general robots; gravity in any direction."""
    for n in (4, 6):
        model = CodeModel("baked", rotors=False, friction=False, formulation="mlc")
        found = generate(robots.general(n), None, programs=("inverse_dynamics",), model=model)
        count = found.counts["inverse_dynamics"]
        assert count["multiplications"] <= 93 * n - 82
        assert count["additions"] <= 77 * n - 71


def test_loops_are_refused() -> None:
    with pytest.raises(InputError, match="closed loops"):
        composite_torques(five_bar(), {}, State(*([0.0, 0.0],) * 3))
