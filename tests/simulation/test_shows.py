"""Generated controllers at work on the plant: adaptation, collisions, hand guiding (needs MuJoCo and a compiler)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minertia import read_robot
from minertia.codegen.kernels import build
from minertia.codegen.kernels.build import find_compiler
from minertia.dynamics import forward_kinematics
from minertia.dynamics.model import inverse_dynamics
from minertia.excitation.excite import excite
from minertia.excitation.fourier import Fourier
from minertia.excitation.limits import motion_limits
from minertia.excitation.options import MotionSearch
from minertia.excitation.result import Excitation
from minertia.io.errors import Infeasible
from minertia.io.schema import OptionError
from minertia.report.rehearsal_page import rehearsal_page
from minertia.robot.robot import Robot
from minertia.simulation import contact, guiding
from minertia.simulation.adaptation import show_adaptation
from minertia.simulation.arm import GRIP
from minertia.simulation.contact import show_collisions
from minertia.simulation.guiding import show_guiding
from minertia.simulation.moves import random_moves, to_and_fro
from minertia.simulation.options import RehearsalOptions
from minertia.simulation.plant import Imperfections, Plant
from minertia.simulation.rehearsal import file_names, rehearse
from minertia.simulation.rig import Rig
from minertia.simulation.shows import SHOWS, shown_code, shown_robot
from tests.pages import page_text

mujoco = pytest.importorskip("mujoco")
needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


@pytest.fixture(scope="module")
def puma() -> Robot:
    return read_robot("puma560_physical")


@pytest.fixture(scope="module")
def rig(puma: Robot, tmp_path_factory: pytest.TempPathFactory) -> Rig:
    """Controllers that know the arm to a percent of each effect and link, as an identification leaves it."""
    rng = np.random.default_rng(5)
    values = {name: v * (1 + 0.01 * rng.normal()) for name, v in puma.effect_values.items()}
    values |= {f"M{j}": 1.01 * float(puma.links[j - 1][9]) for j in (3, 4, 5)}  # type: ignore[index]
    known = shown_robot(puma.with_parameters(values))
    code = shown_code(known, tmp_path_factory.mktemp("controllers"))
    limits = motion_limits(puma, velocity=1.5, acceleration=4.0)
    family = Fourier(3.0, 3)
    motion = family.from_free(np.array([0, 1.5, -1.5, 0, 0.3, 0]), 0.25 * rng.normal(size=(6, family.free)))
    states = motion.sample(200)
    noise = 0.01 * np.sqrt(np.mean(np.square(inverse_dynamics(puma, states.q, states.qd, states.qdd)), axis=0))
    flaws = Imperfections(resolution=1e-5, torque_noise=noise, is_dithered=True)
    return Rig(puma, known, code, motion, limits, flaws, 2e-3, 1.8)


@needs_compiler
@pytest.mark.slow
def test_the_error_falls_back_after_a_load_is_taken_up(rig: Rig) -> None:
    found = show_adaptation(rig)
    assert found.ran_away is None and found.least > 0
    assert found.fixed[-1] > 1.4 * found.before  # what the load does to a controller that does not adapt
    assert found.after < found.at_pick_up < 0.8 * found.fixed[2]
    assert found.excess < 0.3
    assert abs(found.mass[-1] - found.true_mass) < 0.15 * found.load
    assert found.seconds_after == pytest.approx(9.0) and "with a payload of" in found.sentence()


@pytest.mark.slow
@needs_compiler
def test_a_heavy_hand_does_not_learn_too_quickly(tmp_path: Path) -> None:
    """The flange of the palletiser is heavier than the load; a gain for the load alone lets the arm run away."""
    robot = read_robot("palletiser").numeric
    known = shown_robot(robot)
    family, rng = Fourier(3.0, 3), np.random.default_rng(5)
    posture = np.array(robot.seed)[list(robot.independent)]
    motion = family.from_free(posture, 0.1 * rng.normal(size=(robot.n, family.free)))
    states = motion.sample(200)
    noise = 0.01 * np.sqrt(np.mean(np.square(inverse_dynamics(robot, states.q, states.qd, states.qdd)), axis=0))
    flaws = Imperfections(resolution=1e-5, torque_noise=noise, is_dithered=True)
    rig = Rig(robot, known, shown_code(known, tmp_path), motion, motion_limits(robot), flaws, 1e-3, 5.0)
    found = show_adaptation(rig)
    assert found.ran_away is None and found.least > 0
    assert found.after < 1.1 * found.before and found.after < 0.8 * found.fixed[-1]


@pytest.mark.slow
@needs_compiler
def test_collisions_are_felt_and_nothing_else(rig: Rig) -> None:
    """A sample of the slow test: a collision of the stated force within 10 ms, no alarm in some seconds."""
    found = show_collisions(rig, 6.0, learned=40.0, collisions=3)
    assert len(found.delays) == 3 and found.soon == 3 and found.latest <= 0.010
    assert found.alarms <= 1 and found.seconds > 5.0
    assert 1.0 < found.force < 40.0
    assert all(a < b for a, b in zip(found.sliding, found.standing, strict=True))
    assert "3 of 3 collisions" in found.sentence()


@needs_compiler
@pytest.mark.slow
def test_an_hour_of_motion_has_no_more_false_alarms_than_stated(rig: Rig) -> None:
    """One is stated; four come in an hour with a probability of two in a hundred if one is the mean."""
    found = show_collisions(rig, 3600.0, collisions=40)
    assert found.seconds > 3590.0 and found.alarms <= 3
    assert found.soon == len(found.delays) == 40


def test_how_delays_alarms_and_forces_are_counted() -> None:
    levels = np.zeros(200)
    levels[[53, 54, 58, 120]] = 2.0
    assert contact._delay(levels, 50, 2e-3) == pytest.approx(6e-3)
    assert contact._delay(levels, 80, 2e-3) == float("inf")  # the alarm at 120 comes when the collision is over
    assert contact._separate(levels > 1, 10) == 2 and contact._separate(levels > 1, 2) == 3
    assert contact._separate(levels > 9, 10) == 0
    assert contact._stated(7.41) == pytest.approx(7.5) and contact._stated(0.0312) == pytest.approx(0.032)
    missed = contact.Detection(5.0, 1.0, (0.004, float("inf")), 10.0, 0, (1.0,), (2.0,))
    assert missed.soon == 1 and missed.to_dict()["delays"] == [0.004, None]


@needs_compiler
@pytest.mark.slow
def test_guided_by_hand_the_arm_stays_where_it_is_left(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guiding, "FREE", 2.0)  # s
    found = show_guiding(rig)
    assert found.travelled > 0.1 and found.missed < found.travelled
    assert 1.0 < found.force < 100.0
    assert found.drift < 1e-3 < 0.1 < found.fallen
    assert len(found.drifts) == 6 and "after release" in found.sentence()


def test_a_touch_acts_where_it_is_said_to(puma: Robot) -> None:
    """The gripped point is that of the link's frame, and a force on it does the work that the kinematics say."""
    plant = Plant(puma)
    q = np.array([0.3, 1.2, -1.0, 0.4, 0.7, -0.2])
    plant.place(q)
    point, velocity, jacobian = plant.grip()
    R, p = forward_kinematics(puma, q)
    np.testing.assert_allclose(point, p + R @ np.array(GRIP), atol=1e-9)
    assert not velocity.any()
    R2, p2 = forward_kinematics(puma, q + np.array([0, 1e-6, 0, 0, 0, 0]))
    np.testing.assert_allclose(jacobian[:, 1], (p2 + R2 @ np.array(GRIP) - point) / 1e-6, atol=1e-5)
    plant.touched(lambda *_: np.array([0.0, 0.0, 7.0]), 0.0)
    np.testing.assert_allclose(plant.outside, 7.0 * jacobian[2])
    moves = random_moves(motion_limits(puma), 0.1, 1e-3, 0)
    plant.run(lambda s: np.zeros(6), moves, touch=lambda *_: np.ones(3))
    assert plant.outside is None  # what a run was touched with ends with it


def test_moves_keep_the_limits(puma: Robot) -> None:
    limits = motion_limits(puma, velocity=1.5, acceleration=4.0)
    moves = random_moves(limits, 20.0, 2e-3, 3)
    assert moves.t[-1] >= 19.9 and np.ptp(moves.q, axis=0).min() > 0.3
    assert (np.abs(moves.qd) <= 0.801 * limits.velocity).all()
    assert (np.abs(moves.qdd) <= 0.801 * limits.acceleration).all()
    assert (moves.q >= limits.lower).all() and (moves.q <= limits.upper).all()
    np.testing.assert_allclose(np.diff(moves.q, axis=0) / 2e-3, moves.qd[1:], atol=1e-2)


def test_to_and_fro_is_one_smooth_motion() -> None:
    family = Fourier(2.0, 3)
    motion = family.from_free(np.zeros(2), np.random.default_rng(0).normal(size=(2, family.free)))
    there = to_and_fro(motion, 3, 1e-3)
    assert there.t[-1] == pytest.approx(6.0)
    np.testing.assert_allclose(np.gradient(there.q, 1e-3, axis=0)[1:-1], there.qd[1:-1], atol=1e-3)
    np.testing.assert_allclose(there.q[2000:4001], there.q[2000::-1], atol=1e-12)


@pytest.fixture(scope="module")
def motions(puma: Robot) -> tuple[Excitation, Excitation]:
    limits = motion_limits(puma, velocity=1.5, acceleration=4.0)
    first, second = (excite(puma, Fourier(3.0, 3), limits=limits, search=MotionSearch(1, seed)) for seed in (1, 2))
    return first, second


@pytest.mark.slow
@needs_compiler
def test_a_rehearsal_shows_them(puma: Robot, motions: tuple[Excitation, Excitation]) -> None:
    options = RehearsalOptions(duration=3.0, harmonics=3, rate=500.0, seed=1, show=("guiding", "adaptive"))
    result = rehearse(puma, options, motions=motions, with_control=False)
    assert list(result.shown) == ["guiding", "adaptive"] and not result.skipped
    assert [step.name for step in result.steps][-3:] == ["controllers", "guiding", "adaptive"]
    data = json.loads(result.to_json())["shown"]
    assert data["guiding"]["drift"] < 1e-2 and data["adaptive"]["least_eigenvalue"] > 0
    text = page_text(rehearsal_page(result).written())
    assert "Guided by hand" in text and "Adaptive control takes up a load" in text and "can exist at every step" in text


@pytest.mark.slow
def test_without_a_compiler_it_is_said(
    puma: Robot, motions: tuple[Excitation, Excitation], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "find_compiler", lambda: None)
    options = RehearsalOptions(duration=3.0, harmonics=3, rate=500.0, seed=1, show=("guiding",))
    result = rehearse(puma, options, motions=motions, out=tmp_path, with_control=False)
    assert not result.shown and any(text.startswith("controllers in simulation: ") for text in result.skipped)
    assert (tmp_path / "controllers" / "puma_560_physical.c").exists()
    written = {path.relative_to(tmp_path).as_posix() for path in result.files}
    assert set(file_names(puma, options)) - written == {"rehearsal.json"} - written
    assert not any("controllers" in name for name in file_names(puma))


def test_refusals(puma: Robot) -> None:
    with pytest.raises(OptionError, match="'juggling'"):
        RehearsalOptions(show=("juggling",))
    with pytest.raises(OptionError, match="watch of RehearsalOptions must be a number above 0"):
        RehearsalOptions(watch=0.0)
    assert set(RehearsalOptions(show=tuple(SHOWS)).show) == {"adaptive", "collision", "guiding"}
    light = replace(puma, links=(*puma.links[:-1], (0.0,) * 10))
    with pytest.raises(Infeasible, match="it has no mass"):
        shown_robot(light)
