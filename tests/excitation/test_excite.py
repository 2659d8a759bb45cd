"""The search: conditions reached, limits on a fine grid, repeatability, and every refusal."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from minertia import read_robot
from minertia.codegen.kernels.build import native
from minertia.excitation.excite import excite
from minertia.excitation.fourier import Fourier
from minertia.excitation.limits import Box, MotionLimits, motion_limits
from minertia.excitation.options import MotionSearch, MotionShape, Optimality, Workspace
from minertia.excitation.result import stacked_regressor
from minertia.excitation.spline import Spline
from minertia.excitation.sweep import sweeps
from minertia.excitation.trajectory import RecordedMotions
from minertia.io.errors import Infeasible, MissingParameters, ShapeError, UnknownName
from minertia.io.schema import OptionError
from minertia.robot.joint import Limits
from tests.random_robots import random_robot

JUDGED = {"position": 2.0, "beyond_file": True, "velocity": 1.5, "acceleration": 4.0}
SHORT = Fourier(harmonics=3)


def planar(**changes):
    return replace(read_robot("planar2r"), **changes)


def quick(robot, family=SHORT, *, seed=0, starts=1, **options):
    """A search short enough for a test."""
    limits = options.pop("limits", None) or motion_limits(robot, **JUDGED)
    search = MotionSearch(starts, seed, n_samples=80, patience=0.3)
    return excite(robot, family, limits=limits, search=search, **options)


def assert_within(result, limits: MotionLimits):
    t = np.linspace(0, result.motion.duration, 10 * result.n_samples + 1)
    q, qd, qdd = result.motion.at(t)
    slack = 1e-9
    assert np.all(q >= limits.lower - slack) and np.all(q <= limits.upper + slack)
    assert np.all(np.abs(qd) <= limits.velocity + slack)
    assert np.all(np.abs(qdd) <= limits.acceleration + slack)
    np.testing.assert_allclose(result.trajectory.q, q)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "largest"), [("puma560", 25), ("panda", 100)])
def test_condition_numbers(name, largest):
    robot = read_robot(name)
    limits = motion_limits(robot, **JUDGED)
    result = excite(
        robot,
        Fourier(rest=False),
        limits=limits,
        optimality=Optimality(rotors=False, friction=False),
        search=MotionSearch(starts=1, patience=0.6),
    )
    assert result.condition <= largest
    assert result.scaled_condition < result.condition
    assert_within(result, limits)


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2))])
def test_everything_at_once_stays_feasible(seed):
    from minertia.dynamics.model import inverse_dynamics

    robot = read_robot("puma560_physical")
    limits = motion_limits(
        robot,
        velocity=1.5,
        acceleration=4.0,
        effort=True,
        workspace=Workspace(boxes=[Box("j6", (-0.9, -0.9, -0.7), (0.9, 0.9, 1.0))]),
    )
    result = excite(robot, limits=limits, search=MotionSearch(starts=1, seed=seed, patience=0.2))
    assert_within(result, limits)
    assert result.margins.is_feasible and result.margins.worst <= 1
    assert result.margins.boxes[0][1] >= 0
    ends = result.motion.at([0.0, result.motion.duration])
    np.testing.assert_allclose(ends[1:], 0, atol=1e-10)
    tau = inverse_dynamics(robot, result.trajectory.q, result.trajectory.qd, result.trajectory.qdd)
    assert np.all(np.abs(tau).max(axis=0) <= 0.9 * limits.effort + 1e-9)


def test_seed_decides():
    robot = read_robot("planar2r")
    a, b, c = (quick(robot, seed=seed) for seed in (5, 5, 6))
    assert np.array_equal(a.trajectory.q, b.trajectory.q)
    assert not np.array_equal(a.trajectory.q, c.trajectory.q)


@cache
def best_by(criterion):
    return quick(read_robot("puma560_physical"), Fourier(harmonics=4), optimality=Optimality(criterion), seed=1)


@pytest.mark.parametrize(
    "criterion",
    [
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("condition", "scaled-condition")),
        "logdet",
        "deviation",
    ],
)
def test_each_criterion_wins_at_its_own_game(criterion):
    result = best_by(criterion)
    other = best_by("logdet" if criterion != "logdet" else "condition")
    figures = {
        "condition": lambda r: r.condition,
        "scaled-condition": lambda r: r.scaled_condition,
        "logdet": lambda r: -np.linalg.slogdet(r.information(np.ones(6)))[1],
        "deviation": lambda r: r.relative_deviations.max(),
    }[criterion]
    assert figures(result) < figures(other)


def test_start_posture_and_gravity():
    robot = read_robot("planar2r").with_gravity((0, 0, -9.81))
    start = [0.3, -0.2]
    result = quick(robot, start=start)
    np.testing.assert_allclose(result.trajectory.q[0], start, atol=1e-10)
    np.testing.assert_allclose(result.trajectory.q[-1], start, atol=1e-10)
    assert result.base.robot.gravity == (0, 0, -9.81)


def test_splines():
    robot = read_robot("planar2r")
    limits = motion_limits(robot, **JUDGED)
    result = quick(robot, limits=limits, family=Spline(8.0, 8))
    assert_within(result, limits)
    np.testing.assert_allclose(result.motion.at([0.0, 8.0])[1:], 0, atol=1e-10)


def test_sequential_design_looks_elsewhere():
    robot = read_robot("puma560_physical")
    family, optimality = Fourier(4.0, 2), Optimality("deviation", noise=np.full(6, 0.5))
    first = quick(robot, family, optimality=optimality)
    known = RecordedMotions(information=first.information())
    second = quick(robot, family, optimality=optimality, seed=3, after=known)
    assert np.all(second.deviations <= first.deviations * (1 + 1e-9))
    triangle = np.linalg.cholesky(first.information()).T
    again = quick(robot, family, optimality=optimality, seed=3, after=RecordedMotions(information=triangle))
    np.testing.assert_allclose(again.deviations.max(), second.deviations.max(), rtol=0.2)


def test_progress_and_interruption():
    robot, seen = read_robot("planar2r"), []

    def stop(progress):
        seen.append(progress)
        if len(seen) == 3:
            raise KeyboardInterrupt

    result = quick(robot, progress=stop, starts=3)
    assert result.interrupted and result.margins.is_feasible
    assert any("interrupted" in note for note in result.notes)
    assert seen[0].starts == 3 and seen[-1].evaluations > seen[0].evaluations


def test_an_interruption_before_any_motion_is_no_fault_of_the_limits(monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("minertia.excitation.optimise.Search._follow", stop)
    with pytest.raises(KeyboardInterrupt):
        quick(read_robot("planar2r"))


def test_report_is_plain_data():
    result = quick(read_robot("planar2r"))
    data = json.loads(result.to_json())
    assert data["format"] == 1 and data["condition"] == pytest.approx(result.condition)
    assert set(data["parameters"]) == set(result.base.names)
    assert "condition number" in str(result)


def test_predicted_deviations_are_observed():
    """Least squares on 50 simulated repeats scatters as predicted, for every parameter."""
    robot = read_robot("puma560_physical")
    result = quick(robot, Fourier(harmonics=5))
    W = (
        stacked_regressor(result.base, result.motion, result.n_samples)
        / np.tile(result.noise, result.n_samples)[:, None]
    )
    noise = np.random.default_rng(0).normal(size=(len(W), 50))
    errors = np.linalg.lstsq(W, noise, rcond=None)[0]  # of the parameters, whatever their values
    ratio = np.sqrt(np.mean(errors**2, axis=1)) / result.deviations
    assert ratio.min() > 1 / 1.5 and ratio.max() < 1.5


def test_robot_without_masses_has_deviations_but_no_sizes(monkeypatch):
    if native() is not None:
        monkeypatch.setenv("MINERTIA_KERNELS", "interpreter")  # no other test here has a kernel of this robot
    result = quick(read_robot("scara"))
    assert result.relative_deviations is None
    assert np.all(np.isfinite(result.deviations))


def test_sweeps_move_one_joint_at_a_time():
    robot = read_robot("puma560_physical")
    limits = motion_limits(robot, velocity=1.5, acceleration=4.0, effort=True)
    found = sweeps(robot, limits=limits)
    assert [s.joint for s in found] == [5, 4, 3, 2, 1, 0]
    for sweep in found:
        moved = np.ptp(sweep.trajectory.q, axis=0)
        assert np.flatnonzero(moved > 1e-12).tolist() == [sweep.joint]
        np.testing.assert_allclose(sweep.trajectory.qd[[0, -1]], 0, atol=1e-12)
        np.testing.assert_allclose(sweep.trajectory.qdd[[0, -1]], 0, atol=1e-12)
        assert sweep.margins.is_feasible


# ------------------------------------------------------------------ refusals


def test_zero_duration():
    with pytest.raises(OptionError, match="duration of Fourier must be a number from 0.01"):
        Fourier(0)


def test_unknown_criterion():
    with pytest.raises(OptionError, match="did you mean 'condition'"):
        Optimality("conditon")


def test_joint_that_cannot_move():
    robot = planar()
    joints = list(robot.joints)
    joints[1] = replace(joints[1], limits=Limits(lower=0.5, upper=0.5))
    with pytest.raises(Infeasible, match=f"joint '{joints[1].name}' cannot move"):
        motion_limits(replace(robot, joints=tuple(joints)))
    joints[1] = replace(joints[1], limits=Limits(velocity=0.0))
    with pytest.raises(Infeasible, match="its velocity limit is 0"):
        motion_limits(replace(robot, joints=tuple(joints)))


def test_missing_effort_limits_and_parameters():
    robot = planar()
    bare = replace(robot, joints=tuple(replace(j, limits=Limits()) for j in robot.joints))
    with pytest.raises(Infeasible, match="were requested, but"):
        motion_limits(bare, effort=True)
    panda = read_robot("panda")
    with pytest.raises(MissingParameters, match="no inertial parameters"):
        quick(panda, limits=motion_limits(panda, effort=True))


def test_efforts_too_small_to_stand():
    robot = read_robot("puma560_physical")
    with pytest.raises(Infeasible, match="stand still.*effort"):
        quick(robot, limits=motion_limits(robot, velocity=1.0, acceleration=3.0, effort=0.5))


def test_start_outside_the_limits():
    robot = read_robot("puma560_physical")
    with pytest.raises(Infeasible, match="start posture.*position"):
        quick(robot, start=[0, 9, 0, 0, 0, 0])
    with pytest.raises(ShapeError, match="6 finite"):
        quick(robot, start=[0, 0])
    boxed = motion_limits(robot, workspace=Workspace(boxes=[Box("j6", (3, 3, 3), (4, 4, 4))]), **JUDGED)
    with pytest.raises(Infeasible, match="outside its box"):
        quick(robot, limits=boxed, start=[0] * 6)
    with pytest.raises(Infeasible, match="no posture"):
        quick(robot, limits=boxed)


def test_sliding_joint_without_a_range():
    robot = random_robot(0, n=1)
    joint = replace(robot.joints[0], kind="prismatic")
    with pytest.raises(Infeasible, match="prismatic joint"):
        motion_limits(replace(robot, joints=(joint,)))


def test_positions_given_never_widen_those_of_the_file():
    robot = read_robot("puma560_physical")
    own, both, asked = (motion_limits(robot, **given) for given in ({}, {"position": 2.0}, JUDGED))
    assert np.array_equal(both.lower, np.maximum(own.lower, -2.0))
    assert np.array_equal(both.upper, np.minimum(own.upper, 2.0))
    assert any("wider than those of the robot file" in note and "'j2'" in note for note in both.notes)
    assert np.all(asked.upper == 2.0) and not asked.notes
    narrow = motion_limits(robot, position=0.5)
    assert not any("wider" in note for note in narrow.notes) and np.all(narrow.upper == 0.5)
    free = planar(joints=tuple(replace(j, limits=Limits(lower=-1.0)) for j in planar().joints))
    half = motion_limits(free, position=[[-4.0, 9.0], [-0.5, 9.0]])
    assert list(half.lower) == [-1.0, -0.5] and list(half.upper) == [9.0, 9.0]


def test_assumed_rates_are_said():
    limits = motion_limits(planar(joints=tuple(replace(j, limits=Limits()) for j in planar().joints)))
    assert len(limits.notes) == 2 and "assumed" in limits.notes[0]


def test_bad_shapes():
    robot = read_robot("puma560_physical")
    with pytest.raises(ShapeError, match="velocity"):
        motion_limits(robot, velocity=[1, 2])
    with pytest.raises(ShapeError, match="matrix of earlier logs"):
        quick(robot, after=RecordedMotions(information=np.eye(3)))
    with pytest.raises(Infeasible, match="empty"):
        Box("j6", (0, 0, 0), (1, 1, 0))
    with pytest.raises(UnknownName, match="frame"):
        quick(
            robot, limits=motion_limits(robot, workspace=Workspace(boxes=[Box("hand", (0, 0, 0), (1, 1, 1))]), **JUDGED)
        )


def test_sweeps_of_a_floating_base():
    with pytest.raises(Infeasible, match="floating"):
        sweeps(random_robot(1, floating=True), MotionShape())
