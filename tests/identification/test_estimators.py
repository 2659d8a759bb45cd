"""Every estimator of the table passes the same checks."""

from __future__ import annotations

import math
import re
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import minertia as mi
from minertia import Campaign
from minertia.identification.estimators import ESTIMATORS, OLD_NAMES, estimator_options, named_estimator
from minertia.identification.estimators.recursive import OnlineState
from minertia.identification.estimators.total import EXACT
from minertia.identification.problem.linear import linear_model
from minertia.identification.problem.observation import observe
from minertia.io.errors import MinertiaError, OldName, UnknownName
from tests.identification.motions import fourier_motion, noisy, part
from tests.random_robots import random_robot

OPTIONS = {"ridge": {"weight": 1e-18}}  # a prior whose weight goes to zero
TOLERANCE = {"recursive": 1e-6}


def made(name):
    return named_estimator(name, **OPTIONS.get(name, {}))


def problem_of(robot, motions, **options):
    return observe(linear_model(robot, **options), motions)


def scale_of(beta):
    return max(1.0, float(np.abs(beta).max()))


SHAPES = ((5, {"n": 3, "tree": True}), (3, {"n": 4}), (8, {"n": 4, "mimic": True}))
# every estimator on a tree; the other shapes make other columns, which is nothing to the estimator
EXACTLY = [
    pytest.param(name, *shape, marks=() if shape is SHAPES[0] or name == "wls" else pytest.mark.slow)
    for name in ESTIMATORS
    for shape in SHAPES
]


@pytest.mark.parametrize(("name", "seed", "shape"), EXACTLY)
def test_exact_recovery_without_noise(name, seed, shape):
    robot = random_robot(seed, **shape)
    problem = problem_of(robot, [fourier_motion(robot, 300, 1), fourier_motion(robot, 200, 2)])
    truth = problem.model.nominal()
    found = made(name).fit(problem).beta
    assert np.abs(found - truth).max() < TOLERANCE.get(name, 1e-8) * scale_of(truth)


@pytest.mark.parametrize("forgetting", [pytest.param(0.95, marks=pytest.mark.slow), 0.98,
                                        pytest.param(0.995, marks=pytest.mark.slow)])  # fmt: skip
def test_deviations_under_forgetting_hold_in_white_noise(forgetting: float):
    """Stated 95 % intervals hold 93 to 97 % of the time, whatever is forgotten; P alone would hold them 99 %."""
    rng = np.random.default_rng(5)
    samples, draws, truth = int(6 / (1 - forgetting)), 40 if forgetting > 0.99 else 120, np.array([1.0, -2.0, 0.5])
    phases = np.arange(samples)[:, None] * np.array([0.31, 0.83, 1.7])
    rows = np.stack([np.cos(phases), np.sin(phases + 1)], axis=1)  # (samples, efforts, unknowns)
    sigma, inside = np.array([0.3, 0.7]), []
    for _ in range(draws):
        state = OnlineState(3, sigma, forgetting=forgetting)
        for k, Y in enumerate(rows):
            state.update(Y, Y @ truth + sigma * rng.normal(size=2))
            if k % 97 == 96 and k > samples // 2:
                inside += list(np.abs(state.beta - truth) < 1.96 * np.sqrt(np.diag(state.covariance)))
    assert 0.93 < np.mean(inside) < 0.97


@pytest.mark.parametrize("forgetting", [0.95, 0.98, 0.995])
def test_the_covariance_under_forgetting_is_that_of_a_weighted_fit(forgetting: float):
    """P (sum of lambda^2k y y') P, written out over all samples; P alone is about 1 + lambda times as large."""
    samples = int(6 / (1 - forgetting))
    phases = np.arange(samples)[:, None] * np.array([0.31, 0.83, 1.7])
    rows, sigma = np.stack([np.cos(phases), np.sin(phases + 1)], axis=1), np.array([0.3, 0.7])
    state = OnlineState(3, sigma, forgetting=forgetting)
    for Y in rows:
        state.update(Y, Y @ np.ones(3))
    weights, scaled = forgetting ** np.arange(samples)[::-1], rows / sigma[:, None]
    once, twice = (np.einsum("k,kij,kil->jl", w, scaled, scaled) for w in (weights, weights**2))
    P = np.linalg.inv(once)
    assert np.allclose(state.covariance, P @ twice @ P, rtol=1e-6, atol=1e-9 * np.abs(P).max())
    assert np.trace(P) > 1.8 * np.trace(state.covariance)


def test_one_estimator_has_one_name() -> None:
    """Old names work until 1.0.0, say the new one, and appear in no record."""
    for old, name in OLD_NAMES.items():
        with pytest.warns(OldName, match=f"'{old}' has been renamed to '{name}'"):
            assert Campaign("planar2r", estimator=old).estimator == name
    assert not set(OLD_NAMES) & set(ESTIMATORS)
    page = (Path(mi.__file__).parents[2] / "studio" / "src" / "options.ts").read_text(encoding="utf-8")
    listed = page.partition("const ESTIMATORS")[2].partition("}")[0]
    assert re.findall(r"^  \"(\w+)\":", listed, re.MULTILINE) == list(ESTIMATORS)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_units_of_the_columns_do_not_matter(name):
    robot = random_robot(3, n=3)
    rng = np.random.default_rng(0)
    motion = noisy(fourier_motion(robot, 250, 1), rng, 0.002)
    model = linear_model(robot)
    d = 10.0 ** rng.uniform(-3, 3, model.count)
    scaled = replace(model, K=model.K / d[:, None], reference=model.reference * d)
    found, other = (made(name).fit(observe(m, [motion])) for m in (model, scaled))
    assert np.allclose(other.beta * d, found.beta, rtol=1e-6, atol=1e-7 * scale_of(found.beta))


@pytest.mark.parametrize("name", [n for n in ESTIMATORS if n != "iv"])  # instruments are simulated in time
def test_order_of_the_samples_does_not_matter(name):
    robot = random_robot(5, n=3)
    rng = np.random.default_rng(0)
    motion = noisy(fourier_motion(robot, 250, 1), rng, 0.002)
    shuffled = part(motion, rng.permutation(250))
    found, other = (made(name).fit(problem_of(robot, [m])).beta for m in (motion, shuffled))
    assert np.allclose(other, found, rtol=1e-6, atol=1e-7 * scale_of(found))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_covariance_agrees_with_some_draws(name):
    assert 0.7 < squares_over_covariance(name, 6 if name in ("iv", "auto") else 12) < 1.4


@pytest.mark.slow
@pytest.mark.parametrize("name", ESTIMATORS)
def test_covariance_agrees_with_monte_carlo(name):
    assert 0.7 < squares_over_covariance(name, 12 if name == "iv" else 50) < 1.4


def squares_over_covariance(name, repeats):
    """Mean over draws of noise of squared errors over their variances; 1 if the covariance is right."""
    robot = random_robot(3, n=2)
    motion = fourier_motion(robot, 150, 4)
    model = linear_model(robot)
    truth = model.nominal()
    rng = np.random.default_rng(1)
    level = np.array([0.01, 0.002])
    ratios = []
    for _ in range(repeats):
        fit = made(name).fit(observe(model, [noisy(motion, rng, level)]))
        ratios.append((fit.beta - truth) ** 2 / np.diag(fit.covariance))
    return np.mean(ratios)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_noise_levels_stand_at_the_right_joints(name):
    """A peer put weights on the wrong joints; here the noisy joint is the one that is called noisy."""
    robot = random_robot(8, n=4)
    rng = np.random.default_rng(2)
    level = np.array([0.001, 0.05, 0.001, 0.02])
    motion = noisy(fourier_motion(robot, 600, 1), rng, level)
    true = level * np.sqrt(np.mean(motion.tau**2, axis=0))
    found = made(name).fit(problem_of(robot, [motion])).sigma
    assert found.argmax() == true.argmax()
    if name not in ("ols", "sequential"):  # these let a noisy joint spoil the others' fit
        assert np.allclose(found, true, rtol=0.2)


def test_weights_help_where_joints_differ():
    robot = random_robot(3, n=3)
    model = linear_model(robot)
    motion, rng = fourier_motion(robot, 300, 1), np.random.default_rng(3)
    errors = {"ols": 0.0, "wls": 0.0}
    for _ in range(10):
        problem = observe(model, [noisy(motion, rng, np.array([0.1, 0.001, 0.001]))])
        for name in errors:
            errors[name] += float(np.sum((made(name).fit(problem).beta - model.nominal()) ** 2))
    assert errors["wls"] < 0.5 * errors["ols"]


def test_robust_is_not_moved_by_spikes():
    robot = random_robot(5, n=3)
    model, rng = linear_model(robot), np.random.default_rng(4)
    motion = noisy(fourier_motion(robot, 400, 1), rng, 0.002)
    tau = motion.tau.copy()
    tau[rng.choice(400, 20, replace=False)] += 50 * np.abs(tau).max()
    problem = observe(model, [replace(motion, tau=tau)])
    robust, plain = (np.abs(made(n).fit(problem).beta - model.nominal()).max() for n in ("robust", "wls"))
    assert robust < 0.05 * plain


@pytest.mark.slow
def test_instruments_take_away_the_bias_of_noisy_positions():
    """Noise on velocity and acceleration shrinks least squares; instruments from a simulation do not."""
    robot = random_robot(7, n=1)
    model, rng = linear_model(robot, ["FV"]), np.random.default_rng(5)
    clean = fourier_motion(robot.with_parameters({"FC1": 0.0, "OFF1": 0.0, "IA1": 0.0}), 1500, 3)
    errors = {"wls": [], "iv": []}
    for _ in range(4):
        qd = clean.qd + 0.3 * np.abs(clean.qd).max() * rng.normal(size=clean.qd.shape)
        qdd = clean.qdd + 0.3 * np.abs(clean.qdd).max() * rng.normal(size=clean.qdd.shape)
        problem = observe(model, [replace(clean, qd=qd, qdd=qdd)])
        for name, error in errors.items():
            error.append(made(name).fit(problem).beta[0] / model.nominal()[0] - 1)
    assert abs(np.mean(errors["iv"])) < 0.4 * abs(np.mean(errors["wls"]))


def test_total_least_squares_is_the_classical_one():
    robot = random_robot(7, n=1)
    model, rng = linear_model(robot, ["FV"]), np.random.default_rng(6)
    motion = noisy(fourier_motion(robot, 300, 2), rng, 0.05)
    problem = observe(model, [motion])
    Y = model.columns(motion.q, motion.qd, motion.qdd).reshape(300, -1)
    both = np.column_stack([Y, motion.tau])
    lengths = np.linalg.norm(both, axis=0)
    v = np.linalg.svd(both / lengths)[2][-1] / lengths
    assert np.allclose(named_estimator("tls", ratio=1.0).fit(problem).beta, -v[:-1] / v[-1], rtol=1e-8)


def test_ridge_goes_from_data_to_prior():
    robot = random_robot(3, n=3)
    model, rng = linear_model(robot), np.random.default_rng(7)
    problem = observe(model, [noisy(fourier_motion(robot, 300, 1), rng, 0.01)])
    prior = model.nominal() + 0.1
    far, near = (named_estimator("ridge", prior=prior, weight=w).fit(problem).beta for w in (1e8, 1e-14))
    assert np.allclose(far, prior, atol=1e-6)
    assert np.allclose(near, made("wls").fit(problem).beta, rtol=1e-4, atol=1e-6)


def test_one_joint_at_a_time():
    """Recordings in which joints move one by one, in several postures, identify the whole arm."""
    robot = random_robot(5, n=3)
    runs = [fourier_motion(robot, 120, 10 * j + k, joints=[j]) for j in range(3) for k in range(4)]
    runs += [fourier_motion(robot, 200, 99)]
    problem = problem_of(robot, runs)
    assert [r.still for r in problem.logs[:4]] == [(1, 2)] * 4
    truth = problem.model.nominal()
    assert np.abs(made("offline").fit(problem).beta - truth).max() < 1e-8 * scale_of(truth)


def test_online_state_forgets_and_says_when_it_is_not_ready():
    robot = random_robot(7, n=2)
    model = linear_model(robot)
    heavy = robot.with_payload(3.0, (0.1, 0.0, 0.2))
    before, after = fourier_motion(robot, 300, 1), fourier_motion(heavy, 300, 2)
    state = OnlineState(model.count, np.ones(2), forgetting=0.95)
    with pytest.raises(MinertiaError, match="has not excited"):
        _ = state.beta
    for motion in (before, after):
        Y = model.columns(motion.q, motion.qd, motion.qdd)
        for row, tau in zip(Y, motion.tau, strict=True):
            state.update(row, tau)
    own = dict(zip(heavy.columns(True, True), heavy.parameter_vector(True, True), strict=True))
    assert np.allclose(state.beta, model.values(own), atol=1e-4)
    with pytest.raises(MinertiaError, match="forgetting"):
        OnlineState(3, np.ones(1), forgetting=1.5)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_option_has_its_range(name):
    """Else a file refuses what Python takes, and nothing checks the number."""
    fields_ = {f.name for f in fields(type(named_estimator(name))) if f.init}
    declared = estimator_options(name)
    assert fields_ - {one.name for one in declared} <= {
        "prior",
        "fixed",
        "heaviest",
        "likely",
    }  # of the call, not of files
    assert all(one.help and (one.choices or one.high < math.inf) for one in declared)


def test_constants_and_signs_are_exact():
    assert {"OFF", "FC", "FCP", "FCN", "OFFM", "FCM", "FCPM", "FCNM"} == set(EXACT)


def test_unknown_names_are_named():
    with pytest.raises(UnknownName, match="did you mean 'robust'"):
        named_estimator("robus")
