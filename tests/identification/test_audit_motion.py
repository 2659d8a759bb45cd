"""Audits of the motion against known answers: delays to a part of a sample, derivatives, units, limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minertia.dynamics.model import inverse_dynamics
from minertia.identification.audits.audit import audit
from minertia.identification.audits.motion import _basis, _costs, _minimum, estimated_delay, longest_delay
from minertia.identification.logs.recording import Recording
from minertia.robot.joint import Limits
from minertia.robot.robot import Robot
from tests.identification.logs import chain, motion, recorded
from tests.random_robots import random_robot


def told(recording: Recording, check: str, robot: Robot | None = None) -> list[str]:
    """Sentences of one check."""
    return [finding.text for finding in audit(recording, robot) if finding.check == check]


def lagging(
    late: float | list[float],
    n: int = 3,
    seconds: float = 10.0,
    rate: float = 200.0,
    speed: float = 1.0,
    robot: Robot | None = None,
) -> tuple[Recording, Robot]:
    """A robot and a log of it in which the effort of each joint is late by so many seconds, to the last digit."""
    robot = random_robot(3, n=n) if robot is None else robot
    w, phase = 2 * np.pi * speed * (0.2 + 0.1 * np.arange(n)), np.random.default_rng(3).uniform(0, 6, n)

    def at(t: np.ndarray) -> tuple[np.ndarray, ...]:
        x = np.outer(t, w) + phase
        return np.sin(x), w * np.cos(x), -(w**2) * np.sin(x)

    t = np.arange(round(seconds * rate)) / rate
    each = np.broadcast_to(late, (n,))
    tau = np.column_stack([inverse_dynamics(robot, *at(t - own))[:, j] for j, own in enumerate(each)])
    return Recording(t, at(t)[0], tau), robot


@pytest.mark.parametrize(
    ("late", "rate", "speed", "within"),
    [(0.1234, 1000.0, 1.0, 1e-4), (0.03, 200.0, 1.0, 1e-4), (-0.0371, 200.0, 1.0, 1e-3), (0.08, 25.0, 8.0, 1e-3)],
)
def test_a_delay_is_found_to_a_part_of_a_sample(late, rate, speed, within):
    """Also in motion so quick for its rate that the filter must not follow it up."""
    assert estimated_delay(*lagging(late, seconds=20.0, rate=rate, speed=speed)) == pytest.approx(late, abs=within)


@pytest.mark.parametrize(("late", "word"), [(0.02, "lag"), (-0.02, "lead")])
def test_the_sign_of_a_delay_is_told(late, word):
    recording, robot = lagging(late)
    (text,) = told(recording, "delay", robot)
    assert text.startswith(f"the efforts {word} the positions by about 20.")
    assert float(text.split("delay = ")[1]) == pytest.approx(late, abs=5e-4)


def test_joints_must_agree_on_a_delay():
    assert estimated_delay(*lagging([0.05, 0.05, -0.05])) == pytest.approx(0.05, abs=1e-3)  # two of three
    assert estimated_delay(*lagging([0.05, -0.05, 0.0])) is None
    assert estimated_delay(*lagging([0.2, 0.24, 0.16], seconds=20.0)) == pytest.approx(0.2, abs=1e-3)  # nearly alike
    assert estimated_delay(*lagging([0.2, 0.3, 0.1], seconds=20.0)) is None


def test_joints_that_differ_by_a_sample_agree_on_a_delay():
    """At 200 Hz no log shows whether joints lag by one sample or by three, where the others say two."""
    assert estimated_delay(*lagging([0.01, 0.015, 0.005])) == pytest.approx(0.01, abs=2e-3)
    assert estimated_delay(*lagging([0.01, 0.025, -0.005])) is None


def test_joints_with_little_effort_do_not_decide_on_a_delay():
    """An arm whose last joint has a quarter of the others' effort: two of three agree, with the large ones or not."""
    arm = random_robot(5, n=3)
    assert estimated_delay(*lagging([0.05, 0.05, 0.0], robot=arm)) == pytest.approx(0.05, abs=1e-3)
    assert estimated_delay(*lagging([0.0, 0.05, 0.05], robot=arm)) is None


def test_friction_and_rotors_are_no_delay():
    """Friction leads gravity by a quarter of a period, which a model without it would take for a delay."""
    arm = random_robot(3, n=3)
    heavy = replace(arm, effects=tuple({"IA": 5.0, "FV": 20.0, "FC": 15.0, "OFF": 9.0} for _ in arm.joints))
    assert estimated_delay(*lagging(0.0, robot=heavy)) is None
    assert estimated_delay(*lagging(0.03, robot=heavy)) == pytest.approx(0.03, abs=1e-3)


@pytest.mark.parametrize(("noise", "is_found"), [(0.3, True), (3.0, False)])
def test_a_delay_must_explain_something(noise, is_found):
    """Noise that is three times the effort hides it, noise of a third does not."""
    recording, robot = lagging(0.05)
    rng = np.random.default_rng(1)
    efforts = recording.tau + noise * recording.tau.std(axis=0) * rng.normal(size=recording.tau.shape)
    found = estimated_delay(Recording(recording.t, recording.q, efforts), robot)
    assert (found is not None) == is_found
    assert found is None or found == pytest.approx(0.05, abs=5e-3)


def test_a_delay_needs_samples_enough_for_its_joints():
    assert estimated_delay(*lagging(0.03, n=7, seconds=2.0, rate=100.0, speed=2.0)) == pytest.approx(0.03, abs=1e-3)
    assert estimated_delay(*lagging(0.03, n=9, seconds=2.0, rate=100.0, speed=2.0)) is None


@pytest.mark.parametrize(("late", "is_told"), [(0.0008, False), (0.0015, True), (-0.0015, True)])
def test_delays_of_less_than_a_millisecond_are_not_worth_a_word(late, is_told):
    """However quick the log is."""
    recording, robot = lagging(late, seconds=0.45, rate=2000.0, speed=10.0)
    assert estimated_delay(recording, robot) == pytest.approx(late, abs=2e-4)
    assert bool(told(recording, "delay", robot)) == is_told


@pytest.mark.parametrize("late", [0.003, -0.004])
def test_a_delay_shorter_than_a_first_step_of_the_search_is_found(late):
    """The first search of a long log goes in steps of 10 ms."""
    assert estimated_delay(*lagging(late, seconds=6.0, rate=1000.0, speed=4.0)) == pytest.approx(late, abs=5e-4)


@pytest.mark.parametrize(("seconds", "is_told"), [(1.9, False), (3.0, True)])
def test_short_logs_say_nothing_about_delays(seconds, is_told):
    """Less than 200 samples, here at 100 Hz."""
    recording, robot = lagging(0.03, seconds=seconds, rate=100.0, speed=2.0)
    assert bool(told(recording, "delay", robot)) == is_told


def test_longest_delay_is_a_tenth_of_a_short_log():
    assert longest_delay(400, 200.0) == pytest.approx(0.2)
    assert longest_delay(4000, 200.0) == longest_delay(40000, 200.0) < 1.0


def test_minimum_of_a_parabola_between_samples():
    x = np.arange(-4.0, 5.0)
    assert _minimum(x, 3 * (x - 0.37) ** 2 + 1) == pytest.approx(0.37)
    assert _minimum(0.1 * x, (0.1 * x + 0.12) ** 2) == pytest.approx(-0.12)
    uneven = np.array([-4.0, -1.0, 0.0, 0.5, 2.0])
    assert _minimum(uneven, (uneven - 0.2) ** 2) == pytest.approx(0.2)
    assert _minimum(x, x) == -4.0 and _minimum(x, -x) == 4.0
    assert _minimum(x, np.zeros(9)) in x


def test_basis_spans_columns_of_any_size_without_their_means():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 300))
    Y = np.column_stack([a + 5, 1e-4 * b, 1e4 * (a - b), np.ones(300), np.zeros(300)])
    Q = _basis(Y)
    assert Q.shape == (300, 2)
    np.testing.assert_allclose(Q.T @ Q, np.eye(2), atol=1e-9)
    centred = Y - Y.mean(axis=0)
    np.testing.assert_allclose(Q @ (Q.T @ centred), centred, atol=1e-8)
    assert _basis(np.ones((300, 2))).shape == (300, 0)


def test_efforts_that_are_explained_to_the_last_digit_have_a_cost():
    """A sine at any shift is a sine and a cosine; rounding leaves a little more than nothing, or less."""
    x = np.arange(600) * 2 * np.pi / 100
    rows, shifts = np.arange(50, 550), np.arange(-50, 51)
    basis = _basis(np.column_stack([np.sin(x), np.cos(x)])[rows])
    (cost,) = _costs([basis], np.sin(x + 0.3)[:, None], rows, shifts)
    assert np.all(np.isfinite(cost)) and np.all(cost < -15)


def without_velocities(factor: float = 1.0, **changes: np.ndarray) -> Recording:
    m = motion()
    return Recording(m["t"], m["q"], m["tau"], qdd=factor * m["qdd"], **changes)


@pytest.mark.parametrize(("factor", "is_told"), [(1.0, False), (1.3, True)])
def test_accelerations_beside_positions_alone(factor, is_told):
    texts = told(without_velocities(factor), "qdd inconsistent")
    assert len(texts) == (2 if is_told else 0)
    assert all("derivative of the positions; it is about 1.3 times that" in text for text in texts)


def test_derivatives_of_a_motion_that_is_quick_for_its_rate():
    """Ten times its frequencies are beyond what a filter at this rate can have."""
    t = np.arange(600) / 10.0
    w = 2 * np.pi * np.array([0.5, 0.6])
    q, qd = np.sin(np.outer(t, w)), w * np.cos(np.outer(t, w))
    fine = Recording(t, q, q, qd=qd, qdd=-(w**2) * q)
    assert not told(fine, "qd inconsistent") and not told(fine, "qdd inconsistent")
    assert len(told(Recording(t, q, q, qd=qd, qdd=-1.4 * w**2 * q), "qdd inconsistent")) == 2


@pytest.mark.parametrize(("samples", "is_told"), [(40, False), (60, True)])
def test_derivatives_need_some_samples(samples, is_told):
    m = motion(seconds=samples / 20, rate=20)
    assert bool(told(Recording(m["t"], m["q"], m["tau"], qd=3 * m["qd"]), "qd inconsistent")) == is_told


@pytest.mark.parametrize(("travel", "is_told"), [(2e-4, False), (5e-3, True)])
def test_derivatives_of_a_joint_that_hardly_moves_are_not_compared(travel, is_told):
    m = motion()
    recording = Recording(m["t"], m["q"] * [travel, 1.0], m["tau"], qd=m["qd"] * [3 * travel, 1.0])
    assert bool(told(recording, "qd inconsistent")) == is_told


@pytest.mark.parametrize(("part", "has_factor"), [(0.2, True), (0.45, False)])
def test_a_factor_is_told_where_it_explains_nearly_all(part, has_factor):
    """Velocities twice too large, with another motion on top of this part of their size."""
    m = motion()
    other = np.cos(2 * np.pi * 0.4 * m["t"])[:, None] * m["qd"].std(axis=0) * np.sqrt(2)
    (first, _) = told(recorded(qd=2 * (m["qd"] + part * other)), "qd inconsistent")
    assert ("times that" in first) == has_factor


def test_no_factor_where_the_size_is_right():
    m = motion()
    other = np.cos(2 * np.pi * 0.4 * m["t"])[:, None] * m["qd"].std(axis=0) * np.sqrt(2)
    texts = told(recorded(qd=m["qd"] + 0.2 * other), "qd inconsistent")
    assert len(texts) == 2 and not any("times that" in text for text in texts)


@pytest.mark.parametrize(("factor", "is_degrees"), [(57.3, True), (1 / 57.3, True), (50.0, False), (30.0, False)])
def test_degrees_are_told_by_their_factor(factor, is_degrees):
    texts = told(recorded(qd=factor * motion()["qd"]), "qd inconsistent")
    assert len(texts) == 2 and all(("in degrees" in text) == is_degrees for text in texts)
    backwards = told(recorded(qd=-factor * motion()["qd"]), "qd inconsistent")
    assert len(backwards) == 2 and not any("times that" in text or "in degrees" in text for text in backwards)


def test_a_joint_that_may_turn_several_times_is_not_in_degrees():
    m = motion()
    recording = Recording(m["t"], 11.0 * m["q"], m["tau"])
    assert not told(recording, "degrees", chain("RR", limit=12.0))
    (text, _) = told(Recording(m["t"], 17.0 * m["q"], m["tau"]), "degrees", chain("RR", limit=0.3))
    assert text == "positions reach 17 rad, which would be 2.7 turns; check whether they are in degrees"
    assert not told(Recording(m["t"], 30.0 * m["q"], m["tau"]), "degrees", chain("RR", limit=0.3))  # nor degrees


def test_a_joint_that_was_turned_round_before_is_not_in_degrees():
    """Without limits: far from zero, but moving less than two turns."""
    m = motion()
    assert not told(Recording(m["t"], 20.0 + 2.0 * m["q"], m["tau"]), "degrees", chain("RR"))
    assert told(Recording(m["t"], 20.0 + 7.0 * m["q"], m["tau"]), "degrees", chain("RR"))


def test_small_angles_in_degrees_cannot_be_told():
    """A joint with limits of 0.1 rad that reaches 5: that may be degrees, or anything else."""
    m = motion()
    assert not told(Recording(m["t"], 5.0 * m["q"], m["tau"]), "degrees", chain("RR", limit=0.1))


def test_the_position_named_is_the_one_furthest_outside():
    robot = chain("RR")
    joints = [replace(joint, limits=Limits(-1.0, 3.0)) for joint in robot.joints]
    m = motion()
    q = 1.0 + 1.5 * m["q"]
    q[500], q[700] = 4.5, -3.0  # 3.5 and 4 from the middle
    (text, _) = told(Recording(m["t"], q, m["tau"]), "limits", Robot("chain", tuple(joints)))
    assert text.startswith("2 samples are outside the limits -1 to 3, such as -3")
