"""Code for robots with loops: the closed form against Newton's method, and programs against the dynamics on numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import minertia as mi
from minertia.algebra.expr import Graph
from minertia.algebra.turn import Turn
from minertia.codegen.generate import count_programs
from minertia.codegen.options import CodeModel
from minertia.codegen.programs import WITH_LOOPS, build
from minertia.codegen.targets.selftest import reference
from minertia.dynamics.closing import closing_of
from minertia.dynamics.projection import LoopsInClosedForm
from minertia.robot.robot import Robot
from tests.codegen.compiled import COMPILERS, call, difference, library, run
from tests.dynamics.test_loops import motion, with_drives
from tests.loop_robots import five_bar, four_bar, ram, random_loop, spatial_four_bar
from tests.shared import SHARED, needs_shared

DYADS = {
    "four-bar": four_bar(2),
    "four-bar cut after the crank": four_bar(1),
    "four-bar cut at the ground": four_bar(3),
    "five-bar": five_bar(),
    "ram": ram("pin"),
    "on a carrier": random_loop(3),
    "five-bar on a carrier": random_loop(5),
}


def against_newton(robot: Robot) -> None:
    closing = closing_of(robot)
    q, qd, _ = motion(robot, 30)
    closed = closing.close(q)
    G, form = closing.rates(closed), LoopsInClosedForm(closing, list(q.T))
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


@pytest.mark.parametrize("name", sorted(WITH_LOOPS - {"differentiator", "low_pass", "recursive_update"}))
def test_programs_compute_the_projected_dynamics(name: str) -> None:
    robot = with_drives(five_bar())
    setting = CodeModel("baked").setting(robot)
    program = build(setting, name, thorough=None)
    inputs, wanted = reference(setting, program)
    found = program.evaluate(**inputs)
    for port, values in wanted.items():
        assert difference(np.asarray(found[port]).reshape(values.shape), values) < 1e-11


@pytest.mark.skipif(not COMPILERS, reason="there is no C compiler")
def test_the_self_test_of_generated_code_holds_loops_against_newton(tmp_path: Path) -> None:
    robot = with_drives(ram("pin"))
    mi.generate(robot, tmp_path, programs=["inverse_dynamics", "forward_dynamics"])
    assert "FAILED" not in run(["make", "-s", f"CC={COMPILERS[0]}"], tmp_path)
    setting = CodeModel("baked").setting(robot)
    program = build(setting, "inverse_dynamics")
    inputs, wanted = reference(setting, program, seed=5)
    lib = library(tmp_path, "ram_pin", COMPILERS[0])
    assert difference(call(lib, "ram_pin", program, inputs)["tau"], wanted["tau"]) < 1e-11


def test_expressions_of_the_dynamics_close_loops() -> None:
    robot = four_bar()
    graph = Graph()
    q, qd, qdd = (graph.variables(name, 1) for name in ("q", "qd", "qdd"))
    tau = mi.inverse_dynamics(robot, q, qd, qdd)
    assert len(tau) == 1
    assert not any(graph.nodes[k][0] == "atan2" for k in graph.needed(tau))
    assert sum(graph.nodes[k][0] == "sqrt" for k in graph.needed(tau)) == 1


def test_what_has_no_closed_form_is_refused_in_one_sentence() -> None:
    with pytest.raises(mi.MinertiaError, match="'ball' of 'spatial four-bar' has no closed form"):
        count_programs(spatial_four_bar(), ["inverse_dynamics"])
    with pytest.raises(mi.MinertiaError, match="'slider' of 'ram-slider' has no closed form"):
        count_programs(ram("slider"), ["inverse_dynamics"])
    with pytest.raises(mi.MinertiaError, match="code for ROS 2 is not there yet"):
        mi.generate(four_bar(), None, target="ros2")
    with pytest.raises(mi.MinertiaError, match="the program 'coriolis_matrix'"):
        count_programs(four_bar(), ["coriolis_matrix"])


def test_an_angle_known_by_cosine_and_sine_adds_and_has_no_number() -> None:
    a, b = 0.7, -1.9
    turn = Turn(np.cos(a), np.sin(a))
    for found, wanted in ((turn + b, a + b), (b + turn, a + b), (turn - b, a - b), (b - turn, b - a), (-turn, -a)):
        assert np.allclose([found.cos(), found.sin()], [np.cos(wanted), np.sin(wanted)])
    with pytest.raises(mi.MinertiaError, match="cosine and sine only"):
        2.0 * turn


def cut_open(robot: Robot) -> Robot:
    """The tree that the cuts leave, every joint moving by itself."""
    joints = tuple(replace(joint, follows=None, is_passive=False) for joint in robot.joints)
    return replace(robot, joints=joints, cuts=(), seed=None)


def test_counts_of_the_page_and_parallelograms_cost_less_than_their_tree() -> None:
    text = (Path(__file__).parents[2] / "docs" / "loops.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\d+) M (\d+) A \| (\d+) M (\d+) A \|$", text, re.MULTILINE)
    assert [row[0] for row in rows] == ["palletiser", "parallelogram_arm", "five_bar"]
    for name, *said in rows:
        robot = mi.read_robot(name)
        found = [operations(each) for each in (robot, cut_open(robot))]
        # another processor may end the search for the cheapest parameters a little elsewhere
        assert [int(v) for v in said] == pytest.approx([v for pair in found for v in pair], rel=0.03)
        if not robot.open_cuts:
            assert sum(found[0]) <= 1.6 * sum(found[1])


def operations(robot: Robot) -> tuple[int, int]:
    counts = count_programs(robot, ["inverse_dynamics"]).counts["inverse_dynamics"]
    return counts["multiplications"], counts["additions"]


@pytest.mark.skipif(not COMPILERS, reason="there is no C compiler")
@pytest.mark.parametrize("name", ["palletiser", "five_bar"])
def test_the_code_of_bundled_robots_with_loops_passes_its_self_test(name: str, tmp_path: Path) -> None:
    mi.generate(mi.read_robot(name), tmp_path, programs=["inverse_dynamics", "forward_dynamics"])
    said = run(["make", "-s", f"CC={COMPILERS[0]}"], tmp_path)
    assert "FAILED" not in said and "ok" in said
