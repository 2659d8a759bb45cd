"""Intervals that hold, residuals on unseen motion, verdicts with reasons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minertia.identification.campaigns.campaign import Log
from minertia.identification.estimators import named_estimator
from minertia.identification.evidence.evidence import Evidence
from minertia.identification.evidence.intervals import NORMAL, spread
from minertia.identification.evidence.left_out import LeftOut
from minertia.identification.evidence.residuals import (
    Residuals,
    log_residuals,
    pooled,
    residuals_of_arrays,
    training_residuals,
)
from minertia.identification.evidence.verdict import Verdict, verdict
from minertia.identification.logs.recording import Recording
from minertia.identification.problem.linear import linear_model
from minertia.identification.problem.observation import observe
from minertia.identification.signals.filtering import evaluated_at, evaluation_times, prepared
from minertia.identification.signals.options import Evaluation, Filter
from minertia.io.errors import MinertiaError
from minertia.robot.files import read_robot
from tests.identification.fits import fitted
from tests.identification.motions import fourier_motion, noisy, part
from tests.random_robots import random_robot


@pytest.mark.parametrize(("repeats", "least"), [(20, 0.75), pytest.param(60, 0.83, marks=pytest.mark.slow)])
def test_intervals_hold_under_filtered_noise(repeats, least):
    """95 % intervals over noisy repeats with low-passed noise; those for white noise hold in about 60 %."""
    robot = random_robot(7, n=3)
    model = linear_model(robot)
    truth = model.nominal()
    motion = fourier_motion(robot, 1200, 1, duration=12.0)
    rng = np.random.default_rng(0)
    inside, white = [], []
    for _ in range(repeats):
        problem = observe(model, [noisy(motion, rng, 0.05, cutoff=0.2)])
        fit = named_estimator("wls").fit(problem)
        widths = spread(problem, fit.beta, fit.sigma)
        deviation = np.sqrt(np.diag(fit.covariance))
        error = np.abs(fit.beta - truth)
        inside.append(error < widths.half_width(deviation * widths.inflation))
        white.append(error < 1.96 * deviation)
    assert 0.92 < np.mean(inside) < 0.98
    assert np.mean(inside, axis=0).min() > least  # 0.88 of 200 repeats
    assert np.mean(white) < 0.75


@pytest.mark.slow
def test_intervals_hold_when_values_are_drawn_to_a_wrong_prior():
    """A prior that is wrong by a quarter pulls values further than the curvature of its cost admits."""
    robot = random_robot(7, n=3)
    wrong = robot.with_parameters(
        {name: 1.25 * v for name, v in zip(robot.columns(), robot.parameter_vector(), strict=True)}
    )
    truth = dict(zip(linear_model(robot).names, linear_model(robot).nominal(), strict=True))
    motion = fourier_motion(robot, 1200, 1, duration=12.0, size=0.3)
    rng = np.random.default_rng(0)
    inside, curvature = [], []
    for _ in range(40):
        run = noisy(motion, rng, 0.05, cutoff=0.2)
        result = fitted(wrong, [run], estimator="physical", options={"weight": 100.0})
        inside.append([p.interval[0] <= truth[p.name] <= p.interval[1] for p in result.parameters])
        assert all(p.interval[0] <= p.value <= p.interval[1] for p in result.parameters)
        assert result.evidence.spread is not None
        own = NORMAL * result.estimate.deviation
        curvature.append(np.abs(result.beta - np.array([truth[n] for n in result.linear.names])) < own)
    assert np.mean(inside) > 0.93
    assert np.mean(inside, axis=0).min() > 0.8  # of 40 repeats
    assert np.mean(curvature, axis=0).min() < 0.6  # what the prior's own curvature would have said


@pytest.mark.slow
def test_a_joint_at_rest_leaves_the_deviations_of_the_others():
    """With a prior for what was not excited, correlated residuals still widen what was."""
    robot = read_robot("puma560_physical")
    rng = np.random.default_rng(0)
    run = noisy(fourier_motion(robot, 1500, 1, duration=15.0, joints=[0, 1, 2, 3, 4]), rng, 0.03, cutoff=0.05)
    free, held = ({p.name: p for p in fitted(robot, [run], estimator=e).parameters} for e in ("wls", "physical"))
    ratio = [held[n].deviation / free[n].deviation for n in ("FV1", "FC1", "FV2", "FC2")]
    assert min(ratio) > 0.5 and max(ratio) < 2.0
    wider = [held[n].interval[1] - held[n].interval[0] for n in free]
    assert all(w >= 0.99 * (p.interval[1] - p.interval[0]) for w, p in zip(wider, free.values(), strict=True))


def test_white_noise_is_not_inflated():
    robot = random_robot(7, n=3)
    model = linear_model(robot)
    problem = observe(model, [noisy(fourier_motion(robot, 2000, 1), np.random.default_rng(0), 0.05)])
    fit = named_estimator("wls").fit(problem)
    widths = spread(problem, fit.beta, fit.sigma)
    assert widths.length == 1
    assert 0.8 < np.median(widths.inflation) < 1.2


@pytest.mark.parametrize("joint", [0, 1, 2])
def test_slow_noise_of_a_joint_widens_its_offset_most(joint):
    """It looks like an offset; those of joints with white noise stay as they are."""
    robot = random_robot(7, n=3)
    model = linear_model(robot)
    motion, rng = fourier_motion(robot, 1200, 1, duration=12.0), np.random.default_rng(0)
    slow, white = noisy(motion, rng, 0.5, cutoff=0.01), noisy(motion, rng, 0.05)
    problem = observe(model, [replace(motion, tau=np.where(np.arange(3) == joint, slow.tau, white.tau))])
    fit = named_estimator("wls").fit(problem)
    inflation = dict(zip(model.names, spread(problem, fit.beta, fit.sigma).inflation, strict=True))
    own = inflation[f"OFF{joint + 1}"]
    assert own > 10 and own > 2 * max(v for name, v in inflation.items() if name != f"OFF{joint + 1}")
    assert all(0.5 < inflation[f"OFF{j + 1}"] < 2 for j in range(3) if j != joint)


def test_residuals_from_triangles_are_those_of_the_samples():
    robot = random_robot(5, n=3)
    model = linear_model(robot)
    runs = [noisy(fourier_motion(robot, 200 + 50 * k, k), np.random.default_rng(k), 0.05) for k in range(2)]
    problem = observe(model, runs)
    beta = model.nominal()
    found = log_residuals(problem, beta)
    for run, residuals in zip(runs, found, strict=True):
        direct = residuals_of_arrays("", model.row_names, run.tau, model.columns(run.q, run.qd, run.qdd) @ beta)
        assert residuals.relative == pytest.approx(direct.relative, rel=1e-9)
        assert residuals.joint_rmse == pytest.approx(direct.joint_rmse, rel=1e-9)
    together = training_residuals(problem, beta)
    joined = pooled("training", [(found[0], 200), (found[1], 250)])
    assert together.relative == pytest.approx(joined.relative, rel=1e-9)
    assert together.joint_relative == pytest.approx(joined.joint_relative, rel=1e-9)


@pytest.fixture(scope="module")
def runs():
    robot = random_robot(5, n=3)
    rng = np.random.default_rng(0)
    return robot, [noisy(fourier_motion(robot, 400, k), rng, 0.02) for k in range(4)]


def test_identification_ends_with_a_verdict(runs):
    robot, motions = runs
    wrong = robot.with_parameters(
        {name: 1.3 * v for name, v in zip(robot.columns(), robot.parameter_vector(), strict=True)}
    )
    result = fitted(wrong, motions[:3], validate=Log(motions[3], title="last"))
    assert result.verdict.is_good
    assert result.validation[0].log == "last"
    assert result.validation[0].relative == pytest.approx(0.02, rel=0.15)
    assert any(r.startswith("better than the nominal model") for r in result.verdict.reasons)
    assert set(result.evidence.rivals) == {"nominal with fitted friction", "the nominal model"}
    spread_out = result.parameters[0].over_recordings
    assert spread_out is not None and spread_out["recordings"] == 3
    assert spread_out["min"] <= spread_out["mean"] <= spread_out["max"]
    data = result.to_dict()
    assert list(data) == [
        "format", "robot", "estimator", "count", "condition", "parameters", "not_excited", "ladder", "training",
        "validation", "physical", "verdict",
    ]  # fmt: skip
    assert list(data["parameters"][0]) == ["name", "value", "deviation", "relative_deviation", "class"]
    assert list(data["training"]) == ["relative", "rmse", "per_joint"]
    assert list(data["validation"][0])[:4] == ["log", "relative", "rmse", "per_joint"]
    assert list(data["training"]["per_joint"][0]) == ["joint", "relative", "rmse"]
    assert list(data["verdict"]) == [
        "good", "grade", "limits", "predicts", "knows", "reasons", "suspicions", "not_judged",
    ]  # fmt: skip
    assert result.to_json()


def test_a_model_of_another_robot_is_called_bad(runs):
    robot, motions = runs
    rng = np.random.default_rng(1)
    wild = [replace(m, tau=rng.normal(size=m.tau.shape) * 50) for m in motions[:2]]
    result = fitted(robot, wild, validate=motions[2:])
    assert not result.verdict.is_good
    assert any(r.startswith("worse than") for r in result.verdict.reasons)


def test_a_recording_is_not_compared_with_itself(runs):
    """A peer compared validation rows with themselves."""
    robot, motions = runs
    with pytest.raises(MinertiaError, match="was used for fitting"):
        fitted(robot, motions[:2], validate=motions[1:2])
    copy = part(motions[0], slice(None))
    with pytest.raises(MinertiaError, match="was used for fitting"):
        fitted(robot, motions[:2], validate=[copy])
    scaled = replace(motions[3], tau=2 * motions[3].tau)
    assert fitted(robot, motions[:2], validate=[scaled]).validation[0].relative == pytest.approx(0.5, rel=0.05)


def test_without_unseen_motion_folds_are_left_out(runs):
    robot, motions = runs
    result = fitted(robot, motions[:1])
    assert "no validation log was given" in result.verdict.reasons[0]
    assert result.verdict.is_good


def test_recordings_are_judged_through_the_evaluation_filter(runs):
    """Whatever filter the fit used: measured and predicted efforts pass the same one, and are compared."""
    robot, motions = runs
    recordings = [Recording(m.t, m.q, m.tau) for m in motions[:3]]
    evaluation = Evaluation(cutoff_hz=3.0, rate_hz=10.0, trim_s=0.5)
    result = fitted(robot, recordings[:2], recordings[2], filter=Filter(cutoff_hz=8.0), evaluation=evaluation)
    seen = prepared(recordings[2], Filter(cutoff_hz=8.0), edges=True)
    times = evaluation_times(seen.t, evaluation)
    sides = [evaluated_at(times, seen.t, side, evaluation) for side in (seen.tau, result.predict(seen))]
    direct = residuals_of_arrays("", ("j1", "j2", "j3"), *sides)
    assert result.validation[0].relative == pytest.approx(direct.relative, rel=1e-12)
    assert result.training.relative == pytest.approx(
        pooled("", [(r, n) for r, n in zip(result.evidence.logs, (len(times), len(times)), strict=True)]).relative,
        rel=1e-9,
    )


def test_what_was_not_excited_has_a_sentence_and_no_number():
    robot = random_robot(3, n=3)
    motion = noisy(fourier_motion(robot, 400, 1, joints=[0, 1]), np.random.default_rng(0), 0.01)
    result = fitted(robot, [motion])
    data = result.to_dict()
    assert "FC3" in data["not_excited"]
    assert "FC3" not in [p["name"] for p in data["parameters"]]
    assert "FC3 was not excited: joint 'j3' did not move" in data["verdict"]["reasons"]
    with pytest.raises(MinertiaError, match="no joint moves"):
        fitted(robot, [part(fourier_motion(robot, 50, 1, joints=[]), slice(None))], effects=["FV"], joints=[3])


def test_gravity_can_be_given():
    robot = random_robot(0, n=3)
    turned = robot.with_gravity((9.81, 0.0, 0.0))
    motion = fourier_motion(turned, 300, 1)
    assert fitted(robot.with_gravity((9.81, 0, 0)), [motion]).training.relative < 1e-9
    assert fitted(robot, [motion]).training.relative > 1e-3


def test_rotor_inertia_counts_once():
    """A peer counted rotor inertia twice: in the links and in the rotor."""
    robot = random_robot(5, n=3).with_parameters({"IA1": 5.0, "IA2": 4.0, "IA3": 3.0})
    result = fitted(robot, [fourier_motion(robot, 300, 1)])
    assert result.estimate.value("IA2") == pytest.approx(4.0, rel=1e-8)
    assert np.allclose(result.linear.nominal(), result.beta, rtol=1e-7, atol=1e-8)


def test_a_model_that_explains_nothing_is_not_good_however_bad_its_rivals_are():

    def residuals(log, relative, joints):
        return Residuals(log, relative, 1.0, ("j1", "j2"), joints, joints)  # efforts of size 1

    training = residuals("train", 0.02, (0.02, 0.02))
    worse = {"nominal": [residuals("unseen", 1.05, (1.0, 1.1))]}
    for unseen in (residuals("unseen", 0.9, (0.9, 0.9)), residuals("unseen", 0.2, (1.4, 0.1))):
        found = judged(training, [unseen], worse, left_out(0.02))
        assert not found.is_good
        assert any("explained" in reason or "joint j1" in reason for reason in found.reasons)
    assert judged(training, [residuals("unseen", 0.09, (0.2, 0.05))], worse, left_out(0.02)).is_good


def test_a_joint_without_effort_decides_nothing():
    """A passive joint: its effort is below what the model leaves in training anyway."""

    def residuals(log, relative, joints, rmse):
        return Residuals(log, relative, 1.0, ("j1", "j2"), joints, rmse)

    training = residuals("train", 0.08, (0.1, 0.08), (0.1, 0.08))
    rival = {"nominal": [residuals("unseen", 0.5, (8.0, 0.5), (0.4, 0.5))]}
    idle = judged(training, [residuals("unseen", 0.08, (2.4, 0.08), (0.12, 0.08))], rival, left_out(0.08))
    assert idle.is_good and any("hardly any effort in unseen" in reason for reason in idle.reasons)
    wrong = judged(training, [residuals("unseen", 0.1, (6.0, 0.1), (0.3, 0.1))], rival, left_out(0.1))
    assert not wrong.is_good and any("more than without any model" in reason for reason in wrong.reasons)


def test_much_worse_on_left_out_folds_is_told():
    training = Residuals("train", 0.03, 1.0, ("j1",), (0.03,), (0.03,))
    found = judged(training, [], {}, left_out(0.09))
    assert found.is_good and any("3.0 times the residual of the training" in reason for reason in found.reasons)
    assert not any("times the residual" in reason for reason in judged(training, [], {}, left_out(0.033)).reasons)


def judged(training, unseen, rivals, left_out) -> Verdict:
    """The verdict on residuals alone."""
    return verdict(Evidence(training, (), (), left_out, tuple(unseen), rivals))


def left_out(*relative: float, effort: float = 10.0) -> LeftOut:
    """Of joints with the same effort over 100 samples."""
    return LeftOut(effort * np.array(relative), np.full(len(relative), effort), 100)


@pytest.mark.parametrize(
    ("relative", "is_good", "words"),
    [(0.09, True, ""), (0.39, False, "39 % of the effort is not explained")],
)
def test_a_large_residual_is_never_good_without_a_word(relative, is_good, words):
    """Whatever it is compared with."""
    training = Residuals("train", relative, relative, ("j1",), (relative,), (relative,))
    rival = {"nominal": [replace(training, relative=2.0)]}
    for found in (
        judged(training, [training], rival, left_out(0.0)),
        judged(training, [], {}, left_out(relative)),
    ):
        assert found.is_good == is_good
        assert any(words in reason for reason in found.reasons)
        assert bool(words) == any("explained" in reason for reason in found.reasons)


def test_a_joint_that_is_not_explained_counts_without_unseen_logs_too():
    training = Residuals("train", 0.05, 0.05, ("j1", "j2"), (0.05, 0.7), (0.05, 0.07))
    half = judged(training, [], {}, LeftOut(np.array([4.0, 2.8]), np.array([100.0, 4.0]), 100))
    assert half.grade == "usable" and [limit.joint for limit in half.limits] == ["j2"]
    wide = LeftOut(np.array([1.0, 6.0]), np.array([50.0, 4.0]), 100)
    found = judged(training, [], {}, wide)
    assert not found.is_good and any(
        "joint j2: the relative residual of its effort is 150 %" in reason for reason in found.reasons
    )


@pytest.fixture(scope="module")
def arm():
    robot = read_robot("puma560_physical")
    rng = np.random.default_rng(0)
    return robot, [noisy(fourier_motion(robot, 1000, k, duration=20.0), rng, 0.02) for k in (1, 2, 3)]


@pytest.mark.slow
def test_efforts_that_a_robot_has_are_not_doubted(arm):
    robot, motions = arm
    right = fitted(robot, motions[:2], validate=motions[2:])
    assert not any("no robot" in reason for reason in right.verdict.reasons)


WRONG = ("sign of one position", "sign of one effort", "sign of all efforts")
TURNED = [
    pytest.param(w, u, marks=pytest.mark.slow if k + m else ())
    for k, w in enumerate(WRONG)
    for m, u in enumerate((True, False))
]


@pytest.mark.parametrize(("wrong", "has_unseen"), TURNED)
def test_efforts_that_no_robot_can_have_are_not_good(arm, wrong, has_unseen):
    """Bodies of negative mass explain efforts of the wrong sign perfectly, on unseen motion too."""
    robot, motions = arm
    sign = np.where(np.arange(robot.n) == 1, -1.0, 1.0)
    change = {
        "sign of all efforts": lambda m: replace(m, tau=-m.tau),
        "sign of one effort": lambda m: replace(m, tau=sign * m.tau),
        "sign of one position": lambda m: replace(m, q=sign * m.q, qd=sign * m.qd, qdd=sign * m.qdd),
    }[wrong]
    turned = [change(m) for m in motions]
    found = fitted(robot, turned[:2], validate=turned[2:] if has_unseen else []).verdict
    assert not found.is_good
    assert any("no physically consistent robot explains these efforts" in reason for reason in found.reasons)
