"""Code for robots with loops: the closed form against Newton's method, and programs against the dynamics on numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import minertia as mi
from minertia.algebra.expr import Graph
from minertia.algebra.matrix import Eliminated, pivots_of
from minertia.algebra.scalar import Turn
from minertia.codegen.generate import count_programs
from minertia.codegen.options import CodeModel
from minertia.codegen.program import Port
from minertia.codegen.programs import BUILDERS, ON_TREES, build
from minertia.codegen.setting import Setting, setting_of
from minertia.codegen.targets.selftest import reference
from minertia.dynamics.loops.closing import closing_of
from minertia.dynamics.loops.scalar import LoopsOnScalars
from minertia.robot.robot import Robot
from tests.codegen.compiled import COMPILERS, STRICT, call, difference, library, run
from tests.codegen.test_cortex_m import FLAGS as CORTEX_M
from tests.dynamics.test_loops import motion, with_drives
from tests.loop_robots import five_bar, four_bar, ram, random_loop, spatial_four_bar, with_rough_pins
from tests.shared import SHARED, needs_shared

DYADS = {
    "four-bar": four_bar(2),
    "four-bar cut after the crank": four_bar(1),
    "four-bar cut at the ground": four_bar(3),
    "five-bar": five_bar(),
    "ram": ram("pin"),
    "friction at the cut": with_rough_pins(four_bar(2)),
    "on a carrier": random_loop(3),
    "five-bar on a carrier": random_loop(5),
}


PROJECTED = {
    robot.name: setting_of(CodeModel("baked"), with_drives(robot))
    for robot in (five_bar(), spatial_four_bar(), ram("slider"))
}


def against_newton(robot: Robot) -> None:
    closing = closing_of(robot)
    q, qd, _ = motion(robot, 30)
    closed = closing.close(q)
    G, form = closing.rates(closed), LoopsOnScalars(closing, list(q.T))
    for c in closing.passive:
        assert isinstance(form.q[c], Turn)
        assert np.allclose(form.q[c].c, np.cos(closed[:, c]), atol=1e-12)
        assert np.allclose(form.q[c].s, np.sin(closed[:, c]), atol=1e-12)
    found = np.array([[np.broadcast_to(entry, len(q)) for entry in row] for row in form.G]).transpose(2, 0, 1)
    assert np.allclose(found, G, atol=1e-12 * np.abs(G).max())
    rates = (G @ qd[:, :, None])[:, :, 0]
    drift = np.array([np.broadcast_to(entry, len(q)) for entry in form.drift(list(rates.T))]).T
    wanted = closing.drift(closed, rates)
    assert np.allclose(drift, wanted, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize("robot", DYADS.values(), ids=DYADS)
def test_the_closed_form_gives_what_newton_gives(robot: Robot) -> None:
    against_newton(robot)


@needs_shared
def test_the_closed_form_of_both_rams_of_a_file_gives_what_newton_gives() -> None:
    against_newton(mi.read_robot(SHARED / "robots" / "loops" / "AKR3000.par").numeric)


# every program of the cheapest robot, and of a closed form and of a loop in space those that others are made of
QUICK = ("inverse_dynamics", "forward_dynamics", "background", "mass_matrix", "base_regressor", "friction", "jacobian")


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        pytest.param(
            *(setting, name),
            id=f"{robot}-{name}",
            marks=() if robot == "ram-slider" or name in QUICK else pytest.mark.slow,
        )
        for robot, setting in PROJECTED.items()
        for name in sorted(BUILDERS.keys() - {"differentiator", "parabola_differentiator", "low_pass"} - ON_TREES)
    ],
)
def test_programs_compute_the_projected_dynamics(setting: Setting, name: str) -> None:
    program = build(setting, name, thorough=None)
    inputs, wanted = reference(setting, program)
    found = program.evaluate(**inputs)
    assert [port.name for port in program.ports] == list(wanted)
    assert np.abs(found.pop("residual", np.zeros(1))).max() < 1e-12
    for port, values in found.items():
        assert difference(np.asarray(values).reshape(wanted[port].shape), wanted[port]) < 1e-11


@pytest.mark.skipif(not COMPILERS, reason="there is no C compiler")
def test_the_self_test_of_generated_code_holds_loops_against_newton(tmp_path: Path) -> None:
    robot = with_drives(ram("pin"))
    mi.generate(robot, tmp_path, programs=["inverse_dynamics", "forward_dynamics"])
    assert "FAILED" not in run(["make", "-s", f"CC={COMPILERS[0]}"], tmp_path)
    setting = setting_of(CodeModel("baked"), robot)
    program = build(setting, "inverse_dynamics")
    inputs, wanted = reference(setting, program, seed=5)
    lib = library(tmp_path, "ram_pin", COMPILERS[0])
    assert difference(call(lib, "ram_pin", program, inputs)["tau"], wanted["tau"]) < 1e-11


@pytest.mark.skipif(not COMPILERS, reason="there is no C compiler")
def test_the_self_test_holds_control_of_loops_that_take_steps(tmp_path: Path) -> None:
    names = ["recursive_update", "momentum_observer", "adaptive_law", "inverse_dynamics_derivatives"]
    mi.generate(with_drives(ram("slider")), tmp_path, programs=names)
    said = run(["make", "-s", f"CC={COMPILERS[0]}"], tmp_path)
    assert "FAILED" not in said and all(name in said for name in names)


def test_the_update_of_loops_that_take_steps_is_the_same_in_numpy(tmp_path: Path) -> None:
    setting = setting_of(CodeModel("baked"), with_drives(ram("slider")))
    mi.generate(setting.robot, tmp_path, programs=["recursive_update"], target="numpy")
    names: dict = {}
    exec((tmp_path / "ram_slider.py").read_text(), names)
    program = build(setting, "recursive_update")
    inputs, wanted = reference(setting, program)
    found = names["recursive_update"](*(inputs[port.name] for port in program.inputs))
    assert [port.name for port in program.ports] == ["beta_next", "S_next", "passive_next", "residual", "branch"]
    for port, values in zip(program.ports, found, strict=True):
        assert difference(values, wanted[port.name]) < 1e-9 or np.abs(values - wanted[port.name]).max() < 1e-12


def test_expressions_of_the_dynamics_close_loops() -> None:
    robot = four_bar()
    graph = Graph()
    q, qd, qdd = (graph.variables(name, 1) for name in ("q", "qd", "qdd"))
    tau = mi.inverse_dynamics(robot, q, qd, qdd)
    assert len(tau) == 1
    assert not any(graph.nodes[k][0] == "atan2" for k in graph.needed(tau))
    assert sum(graph.nodes[k][0] == "sqrt" for k in graph.needed(tau)) == 1


def servo_motion(robot: Robot, seconds: float = 0.06) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, velocities and accelerations at 1 kHz from the seed, joints at some 3 rad/s."""
    closing = closing_of(robot.numeric)
    t = np.arange(0.0, seconds, 1e-3)[:, None]
    rate = 20.0 + np.arange(robot.n)
    size = 0.3 * closing.sizes[closing.active]
    q = closing.seed[closing.active] + size * (1 - np.cos(rate * t)) / 2
    return q, size * rate * np.sin(rate * t) / 2, size * rate**2 * np.cos(rate * t) / 2


@needs_shared
@pytest.mark.skipif(not COMPILERS, reason="there is no C compiler")
@pytest.mark.parametrize(
    "file, most", [pytest.param("delta.xml", 5700, marks=pytest.mark.slow), ("cassie_left_leg.xml", 1650)]
)
def test_compiled_code_closes_general_loops_from_its_last_solution(tmp_path: Path, file: str, most: int) -> None:
    robot = replace(mi.read_robot(SHARED / "robots" / "loops" / file), name="loops")
    made = mi.generate(robot, tmp_path, programs=["inverse_dynamics"])
    count = made.counts["inverse_dynamics"]
    assert count["multiplications"] + count["additions"] < most
    passive = mi.dynamics.passive_start(robot)
    sets = (sum(dyad is None for dyad in closing_of(robot.numeric).dyads),)
    state = [Port(name, (robot.n,)) for name in ("q", "qd", "qdd")] + [Port("passive", passive.shape)]
    outputs = [
        Port("tau", (robot.n,)),
        Port("passive_next", passive.shape),
        Port("residual", (1,)),
        Port("branch", sets),
    ]
    program = SimpleNamespace(name="inverse_dynamics", inputs=state, ports=outputs, parameters=())
    lib = library(tmp_path, "loops", COMPILERS[0], ("-O0",))
    q, qd, qdd = servo_motion(robot)
    wanted = mi.inverse_dynamics(robot, q, qd, qdd)
    for k in range(len(q)):
        given = {"q": q[k : k + 1], "qd": qd[k : k + 1], "qdd": qdd[k : k + 1], "passive": passive[None]}
        found = call(lib, "loops", program, given)
        passive = found["passive_next"][0]
        assert found["residual"][0, 0] < 1e-12 and found["branch"].min() > 0
        assert np.abs(found["tau"][0] - wanted[k]).max() < 1e-9 * np.abs(wanted).max()
    assert np.allclose(passive, mi.dynamics.passive_start(robot, q[-1]), atol=1e-12)


@pytest.mark.skipif("clang" not in COMPILERS, reason="needs clang")
def test_code_with_steps_compiles_for_cortex_m(tmp_path: Path) -> None:
    mi.generate(replace(spatial_four_bar(), name="loops"), tmp_path, target="cortex-m")
    (tmp_path / "math.h").write_text("float sqrtf(float);\n")  # of the toolchain, which the machine need not have
    run(["clang", *CORTEX_M, "-Wall", "-Werror", "-I.", "-c", "loops.c", "-o", "x.o"], tmp_path)
    (tmp_path / "math.h").unlink()
    assert "FAILED" not in run(["make", "-s", "CC=clang"], tmp_path)
    text = (tmp_path / "README.md").read_text()
    (tmp_path / "example.c").write_text(text.split("```c\n")[1].split("```")[0])
    run(["clang", *STRICT, "-c", "example.c", "-o", "y.o"], tmp_path)


def test_steps_from_too_far_off_say_that_loops_are_open_and_more_calls_close_them() -> None:
    robot = spatial_four_bar()
    program = mi.codegen.build_program(robot, "inverse_dynamics")
    kernel = mi.compile(program)
    q, qd, qdd = motion(robot, 20)
    close = mi.dynamics.passive_start(robot, q)
    tau, at, residual, _ = kernel(q, qd, qdd, close + 1e-3)
    wanted = mi.inverse_dynamics(robot, q, qd, qdd)
    assert difference(tau, wanted) < 1e-10 and residual.max() < 1e-12 and np.allclose(at, close, atol=1e-11)
    assert kernel(q, qd, qdd, close + 0.5)[2].min() > 1e-6
    _, at, residual, _ = kernel(q, qd, qdd, close + 0.3)
    assert residual.max() > 1e-6
    tau, at, residual, _ = kernel(q, qd, qdd, at)
    assert difference(tau, wanted) < 1e-10 and residual.max() < 1e-12
    more = mi.codegen.build_program(robot, "inverse_dynamics", model=mi.options.CodeModel(closing_steps=5))
    assert more.evaluate(q=q, qd=qd, qdd=qdd, passive=close + 0.3)["residual"].max() < 1e-12


def test_steps_that_end_on_another_branch_say_so() -> None:
    """A closed loop is not enough: from a start far off Newton's method finds the rod's cross turned over."""
    robot = spatial_four_bar()
    program = mi.codegen.build_program(robot, "inverse_dynamics", model=mi.options.CodeModel(closing_steps=8))
    q = np.array([[0.3]])
    close = mi.dynamics.passive_start(robot, q)
    turned = close + [[0.0, np.pi, -np.pi - 2 * close[0, 2]]]  # about both axes of the cross
    for start, sign in ((close, 1), (turned, -1)):
        found = program.evaluate(q=q, qd=0 * q, qdd=0 * q, passive=start + 0.05)
        assert found["residual"].max() < 1e-12
        assert sign * found["branch"].min() > 0.5
    at_seed = program.evaluate(q=0 * q, qd=0 * q, qdd=0 * q, passive=mi.dynamics.passive_start(robot)[None])
    np.testing.assert_allclose(at_seed["branch"], 1.0, rtol=1e-9)


def test_elimination_with_pivots_chosen_before_solves_all_matrices_of_a_structure() -> None:
    rng = np.random.default_rng(4)
    there = rng.random((9, 9)) < 0.4
    there[np.arange(9), rng.permutation(9)] = True
    A = there * (2.0 + rng.random((20, 9, 9)))
    A *= np.sign(rng.normal(size=(9, 9)))
    b = rng.normal(size=(20, 9))
    rows = [{c: A[:, i, c] for c in range(9) if there[i, c]} for i in range(9)]
    found = Eliminated(pivots_of(A), rows).solve(list(b.T))
    error = np.einsum("kij,jk->ki", A, np.array([found[c] for c in range(9)])) - b
    assert np.abs(error).max() < 1e-11 * np.linalg.cond(A).max()


def test_what_code_for_loops_cannot_do_is_refused_in_one_sentence() -> None:
    graph = Graph()
    with pytest.raises(
        mi.MinertiaError, match="'ball' of 'spatial four-bar' has no closed-form solution for expressions"
    ):
        mi.dynamics.gravity_torques(spatial_four_bar(), graph.variables("q", 1))
    with pytest.raises(mi.MinertiaError, match="closing_steps of CodeModel must be an integer from 1 to 20"):
        mi.options.CodeModel(closing_steps=0)
    with pytest.raises(mi.MinertiaError, match="q has shape"):
        mi.dynamics.passive_start(four_bar(), [0.0, 1.0])


def test_an_angle_known_by_cosine_and_sine_adds_and_has_no_number() -> None:
    a, b = 0.7, -1.9
    turn = Turn(np.cos(a), np.sin(a))
    for found, wanted in ((turn + b, a + b), (b + turn, a + b), (turn - b, a - b), (b - turn, b - a), (-turn, -a)):
        assert np.allclose([found.cos(), found.sin()], [np.cos(wanted), np.sin(wanted)])
    with pytest.raises(mi.MinertiaError, match="gives only its cosine and sine"):
        2.0 * turn


def cut_open(robot: Robot) -> Robot:
    """The tree that the cuts leave, every joint moving by itself."""
    joints = tuple(replace(joint, follows=None, is_passive=False) for joint in robot.joints)
    return replace(robot, joints=joints, cuts=(), seed=None)


def test_counts_of_the_page_and_parallelograms_cost_less_than_their_tree() -> None:
    text = (Path(__file__).parents[2] / "docs" / "loops.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\d+) M (\d+) A (\d+) S \| (\d+) M (\d+) A (\d+) S \|$", text, re.MULTILINE)
    assert [row[0] for row in rows] == ["palletiser", "parallelogram_arm", "five_bar"]
    for name, *said in rows:
        robot = mi.read_robot(name)
        found = [operations(each) for each in (robot, cut_open(robot))]
        # another processor may end the search for the cheapest parameters a little elsewhere
        assert [int(v) for v in said] == pytest.approx([v for pair in found for v in pair], rel=0.03)
        if not robot.open_cuts:
            assert sum(found[0][:2]) <= 1.6 * sum(found[1][:2])


def operations(robot: Robot) -> tuple[int, int, int]:
    counts = count_programs(robot, ["inverse_dynamics"]).counts["inverse_dynamics"]
    return counts["multiplications"], counts["additions"], counts["trigonometric"]


@pytest.mark.skipif(not COMPILERS, reason="there is no C compiler")
@pytest.mark.parametrize("name", ["palletiser", pytest.param("five_bar", marks=pytest.mark.slow)])
def test_the_code_of_bundled_robots_with_loops_passes_its_self_test(name: str, tmp_path: Path) -> None:
    mi.generate(mi.read_robot(name), tmp_path, programs=["inverse_dynamics", "forward_dynamics"])
    said = run(["make", "-s", f"CC={COMPILERS[0]}"], tmp_path)
    assert "FAILED" not in said and "ok" in said
