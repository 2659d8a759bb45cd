"""Robots drawn from the posterior: possible ones, that keep what the logs say and vary otherwise as the prior does."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import minertia as mi
from minertia.cli.sample import _far_masses
from minertia.identification.bands import predict_bands, summary
from minertia.identification.logs.options import ColumnMap, Drive
from minertia.identification.posterior import draw as chains
from minertia.identification.posterior.density import Density, maximum
from minertia.identification.posterior.draw import draw
from minertia.identification.posterior.mixing import effective_size, split_rhat
from minertia.identification.posterior.prior import FILE, Posterior
from minertia.identification.posterior.shown import LEVELS, HeldOut, ResidualNoise, Shown, noise_between_logs
from minertia.identification.posterior.space import robot_space
from minertia.identification.samples import Samples, is_samples_file, read_samples
from minertia.identification.sampling import _prior_share, sample_model
from minertia.identification.signals.options import Evaluation
from minertia.io.errors import InputError
from minertia.options import SampleOptions
from minertia.robot.inertia import from_com, impossible
from minertia.robot.parameters import LINK_SYMBOLS
from tests.identification.logs import write_csv
from tests.identification.planted_posterior import EFFECTS, Planted, planted
from tests.shared import SHARED, needs_shared


@cache
def case() -> Planted:
    return next(planted("planar2r", 1))


@cache
def samples() -> Samples:
    return case().samples(300)


# ---------------------------------------------------------------------- coordinates and draws


def test_derivatives_of_robots_are_those_of_differences():
    rng = np.random.default_rng(0)
    ten = from_com(2.0, (0.1, -0.2, 0.3), np.diag([0.1, 0.12, 0.05]))
    space = robot_space([str(k) for k in range(13)], np.array([*ten, 0.5, 1.0, 0.2]), [range(10)], [(10, 0.7)],
                        [(11, 2.0)], link_width=0.3, bent=[(12, 0.5, 0.1)])  # fmt: skip
    z, h = rng.normal(size=(3, 13)), 1e-6
    z[0] = 0.0  # equal eigenvalues
    x, D, others = space.moved(z)
    slopes = np.stack([(space.values(z + h * e) - space.values(z - h * e)) / (2 * h) for e in np.eye(13)], axis=2)
    assert np.allclose(slopes[:, :10, :10], D[:, 0], atol=1e-7)
    assert np.allclose(np.stack([slopes[:, k, k] for k in (10, 11, 12)], axis=1), others, atol=1e-7)
    assert np.allclose(space.values(np.zeros((1, 13)))[0], space.prior)
    assert np.all(space.values(5 * rng.normal(size=(50, 13)))[:, 12] > 0)


def test_second_derivatives_of_the_density_are_those_of_differences():
    rng = np.random.default_rng(2)
    ten = from_com(2.0, (0.1, -0.2, 0.3), np.diag([0.1, 0.12, 0.05]))
    space = robot_space([str(k) for k in range(23)], np.array([*ten, *ten, 0.5, 1.0, 0.2]), [range(10), range(10, 20)],
                        [(20, 0.7)], [(21, 2.0)], link_width=0.3, bent=[(22, 0.5, 0.1)])  # fmt: skip
    density = Density(space, rng.normal(size=(5, 23)), rng.normal(size=5))
    z, h = rng.normal(size=23), 1e-5
    r, J = density.jacobian(z)

    def gradient(at):
        own, slopes = density.jacobian(at)
        return slopes.T @ own

    hessian = np.array([(gradient(z + h * e) - gradient(z - h * e)) / (2 * h) for e in np.eye(23)])
    assert np.allclose(J.T @ J + density.second(z, r), hessian, atol=1e-6 * np.abs(hessian).max())


def test_draws_have_the_posterior_of_a_problem_that_is_known():
    """x = exp(0.7 z) measured as 1.5 +- 0.4: mean and deviation as by quadrature."""
    space = robot_space(["x"], np.array([1.0]), [], [(0, 0.7)], [], link_width=0.3)
    found = draw(Density(space, np.array([[1 / 0.4]]), np.array([1.5 / 0.4])), 20000, 3)
    grid = np.linspace(-6, 6, 20001)
    density = np.exp(-(grid**2) / 2 - (np.exp(0.7 * grid) - 1.5) ** 2 / (2 * 0.4**2))
    mean = np.sum(grid * density) / density.sum()
    deviation = np.sqrt(np.sum((grid - mean) ** 2 * density) / density.sum())
    assert abs(found.z.mean() - mean) < 0.02 * deviation * 2 and abs(found.z.std() / deviation - 1) < 0.02


def test_draws_of_a_linear_gaussian_fit_have_its_mean_and_covariance():
    """Values that add to their centres: the posterior is normal, and known."""
    rng, count, n = np.random.default_rng(4), 6, 8000
    widths = rng.uniform(0.5, 2.0, count)
    space = robot_space([str(k) for k in range(count)], np.ones(count), [], [], list(enumerate(widths)), link_width=0.3)
    rows, values = rng.normal(size=(4, count)) / 0.2, rng.normal(size=4) / 0.2
    found = draw(Density(space, rows, values), n, 1)
    W = rows * widths
    covariance = np.linalg.inv(W.T @ W + np.eye(count))
    mean = covariance @ W.T @ (values - rows.sum(axis=1))
    spread = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(found.z.mean(axis=0) - mean) < 4 * spread / np.sqrt(n))
    errors = (np.cov(found.z.T) - covariance) / np.outer(spread, spread)
    assert np.abs(errors).max() < 4 * np.sqrt(2 / n)
    assert np.allclose(found.best, mean, atol=1e-8) and found.accepted > 0.999


def test_draws_far_from_what_is_possible_are_those_of_quadrature():
    """A positive value measured as -1 +- 0.01: where the residual is large, the curvature of the values counts."""
    space = robot_space(["x"], np.array([1.0]), [], [(0, 0.7)], [], link_width=0.3)
    found = draw(Density(space, np.array([[100.0]]), np.array([-100.0])), 20000, 0)
    grid = np.linspace(-16, -4, 200001)
    log = -(grid**2) / 2 - (100 * np.exp(0.7 * grid) + 100) ** 2 / 2
    density = np.exp(log - log.max())
    mean = np.sum(grid * density) / density.sum()
    deviation = np.sqrt(np.sum((grid - mean) ** 2 * density) / density.sum())
    assert abs(found.z.mean() - mean) < 0.03 * deviation and abs(found.z.std() / deviation - 1) < 0.02
    assert found.accepted > 0.9 and found.best[0] == pytest.approx(grid[np.argmax(log)], abs=1e-4)


def test_positive_values_with_negative_sums_are_drawn():
    """Twelve values: nearly no independent draw without second derivatives follows this narrow, bent posterior."""
    density = _negative_sums()
    found = draw(density, 400, 0)
    r, J = density.jacobian(found.best)
    assert np.abs(J.T @ r).max() < 1e-3 * np.linalg.norm(r)
    assert found.accepted > 0.5 and found.effective > 0.5 and found.rhat < 1.05
    assert np.array_equal(found.best, maximum(density))


def _negative_sums() -> Density:
    rng, count = np.random.default_rng(0), 12
    space = robot_space([str(k) for k in range(count)], np.ones(count), [], [(k, 0.7) for k in range(count)], [],
                        link_width=0.3)  # fmt: skip
    rows = np.abs(rng.normal(size=(count, count))) / 0.01
    return Density(space, rows, np.full(count, -1.0 / 0.01))


def test_copies_of_few_robots_are_refused(monkeypatch):
    """A body of a wide prior, whose exactly measured sums have the opposite sign: its chains do not mix in time."""
    monkeypatch.setattr(chains, "MOST_STEPS", 256)
    ten, rng = np.array(from_com(2.0, (0.1, -0.2, 0.3), np.diag([0.1, 0.12, 0.05]))), np.random.default_rng(1)
    space = robot_space([str(k) for k in range(10)], ten, [range(10)], [], [], link_width=1.0)
    rows = rng.normal(size=(3, 10)) / 1e-4
    with pytest.raises(InputError, match="copies of few robots"):
        draw(Density(space, rows, -rows @ ten), 200, 0)


def test_mixing_is_told_as_for_autoregressive_chains():
    """States of correlation a have the share (1 - a) / (1 + a) of independent ones; apart, they have a large R-hat."""
    rng, a = np.random.default_rng(0), 0.8
    states = np.empty((600, 32, 3))
    states[0] = rng.normal(size=(32, 3))
    for k in range(1, len(states)):
        states[k] = a * states[k - 1] + np.sqrt(1 - a**2) * rng.normal(size=(32, 3))
    assert effective_size(states) == pytest.approx(600 * 32 * (1 - a) / (1 + a), rel=0.2)
    assert np.all(split_rhat(states) < 1.03)
    states[:, :16] += 3.0
    assert np.all(split_rhat(states) > 1.5) and np.all(effective_size(states) < 100)


def test_without_data_draws_are_the_prior():
    space = robot_space(["x"], np.array([2.0]), [], [(0, 0.5)], [], link_width=0.3)
    found = draw(Density(space, np.zeros((0, 1)), np.zeros(0)), 5000, 0)
    assert abs(found.z.mean()) < 0.06 and abs(found.z.std() - 1) < 0.04 and found.effective > 0.99


# ---------------------------------------------------------------------- a planted chain


def test_every_robot_is_possible_and_keeps_what_the_logs_say():
    found = samples()
    assert all(impossible(ten) is None and ten[9] > 0 for row in found.tens for ten in row.tolist())
    assert np.all(found.at_joints("FC") > 0) and np.all(found.at_joints("IA") > 0)
    linear = found.model.linear
    base = found.unknown_values()
    spread = np.sqrt(np.diag(found.model.covariance))
    assert np.all(np.abs(base.mean(axis=0) - found.model.beta) < 2 * spread)
    assert np.all(base.std(axis=0) < 1.3 * spread)
    assert len(np.unique(found.x[:, 0])) > 0.9 * len(found)
    assert found.names == linear.standard


def test_shares_of_the_prior_are_those_of_what_the_logs_show():
    """The weight of the first link of a vertical axis never shows, friction always does."""
    share = dict(zip(samples().names, samples().prior_share.tolist(), strict=True))
    assert share["M1"] > 0.7 and share["XX1"] > 0.7
    assert share["FC1"] < 0.2 and share["FC2"] < 0.2


def test_shares_of_the_prior_do_not_depend_on_the_number_of_robots():
    model = case().result.model()
    few, more = (sample_model(model, SampleOptions(n=n, seed=3)).prior_share for n in (1, 100))
    assert np.array_equal(few, more) and np.abs(few - samples().prior_share).max() < 0.3


def test_shares_of_the_prior_are_measured_where_the_logs_move_the_values():
    """A factor exp(0.7 z) of 1, measured as 8 +- 1: about the file the prior of x is as narrow, of log x it is not."""
    space = robot_space(["x", "y"], np.ones(2), [], [(0, 0.7), (1, 0.7)], [], link_width=0.3)
    density = Density(space, np.array([[1.0, 0.0]]), np.array([8.0]))
    found = draw(density, 2000, 0)
    share = _prior_share(Posterior(density, np.zeros((0, 2)), FILE, ()), space.values(found.states), found.best, 0)
    logarithm = np.log(space.values(found.states)[:, 0])
    assert share[0] == pytest.approx((logarithm.std() / 0.7) ** 2, abs=0.02) and share[0] < 0.1
    assert share[1] > 0.9


def test_masses_beyond_the_prior_are_named():
    """The truth of a file whose second link weighs a quarter: its share of the prior is no larger, and it is named."""
    own = case()
    light = own.file.with_parameters({f"{s}2": v / 4 for s, v in zip(LINK_SYMBOLS, own.file.links[1], strict=True)})
    found = mi.identify(mi.Campaign(light, [own.log(0)], effects=list(EFFECTS))).sample(300)
    (far,) = found.far_masses
    assert far == {"link": "j2", "mass": found.standard()["M2"], "robot_file": float(light.links[1][9])}
    assert far["mass"] > 1.8 * far["robot_file"] and found.to_dict()["far_masses"] == [far]
    assert "j2 " in _far_masses(found.far_masses) and samples().far_masses == []
    k = found.names.index("M2")
    assert found.prior_share[k] < 0.8


def test_bands_hold_what_they_promise():
    found, own = samples(), case()
    clean = summary(predict_bands(found, [own.log(1, noise=0.0, duration=10.0)]))
    noisy = summary(predict_bands(found, [own.log(1, duration=10.0)]))
    assert clean["values"]["covered"] > 0.8 and noisy["prediction"]["covered"] > 0.9
    assert noisy["values"]["covered"] < noisy["prediction"]["covered"]
    assert noisy["values"]["width"] < noisy["prediction"]["width"]
    assert [r["joint"] for r in noisy["values"]["per_joint"]] == ["j1", "j2"]
    half = summary(predict_bands(found, [own.log(1, duration=10.0)], level=0.5))
    assert 0.3 < half["prediction"]["covered"] < 0.7


def test_bands_warn_of_positions_in_degrees():
    """As `validate` with the model does: positions beyond the range of the fit, or of any joint."""
    log = case().log(1, duration=10.0)
    (bands,) = predict_bands(samples(), [log])
    assert not any("degrees" in text for text in bands.remarks)
    (bands,) = predict_bands(samples(), [replace(log, q=np.degrees(log.q))])
    (checked,) = mi.validate(case().result.model(), replace(log, q=np.degrees(log.q)))
    assert bands.remarks == checked.remarks == tuple(bands.to_dict()["remarks"])
    assert any("check whether they are in degrees" in text for text in bands.remarks)
    assert any("outside the range of the training logs: j1, j2" in text for text in bands.remarks)


def test_conformal_factors_cover_held_out_residuals():
    """Held-out residuals twice as large as the fitted ones: factors of 2 at every level."""
    rng = np.random.default_rng(1)
    logs = [2 * rng.normal(size=(20000, 1)) for _ in range(8)]
    held = [HeldOut(e, np.zeros(1), np.zeros(1)) for e in logs]
    noise = noise_between_logs(["a"], [(rng.normal(size=(20000, 1)), 0.1)], held, "all")
    assert all(abs(noise.factors(level)[0] - 2) < 0.1 for level in (*LEVELS, 0.7, 0.995))
    assert noise.correlation[0] == pytest.approx(0.1)


def test_conformal_factors_are_those_of_the_robots_that_are_drawn():
    """A fit with a prior and chosen effects: its stated deviations are larger than those that draws have."""
    one = next(planted("planar2r", 1))
    noise = mi.identify(mi.Campaign(one.file, [one.log(0)])).model().evidence["posterior"]["residual"]
    assert ResidualNoise.from_dict(noise).factors(0.95) == pytest.approx(1.0, abs=0.1)


def test_conformal_factors_of_one_log_tell_of_other_postures():
    """Friction that changes with the position and is not fitted: parts in time, which are alike, give less than 1."""
    one = list(planted("planar2r", 2))[1]
    log = one.log(0, noise=0.1)
    qd, size = np.gradient(log.q, log.t, axis=0), np.sqrt(np.mean(log.tau**2, axis=0))
    more = 0.3 * size * np.tanh(qd / 0.05) * (log.q - log.q.mean(axis=0))
    for tau, least, most in ((log.tau, 0.9, 1.2), (log.tau + more, 1.4, 3.0)):
        campaign = mi.Campaign(one.file, [replace(log, tau=tau)], effects=list(EFFECTS), estimator="wls")
        noise = ResidualNoise.from_dict(mi.identify(campaign).model().evidence["posterior"]["residual"])
        assert noise.held_out == "each third of the postures of each fitted log"
        assert np.all((least < noise.factors(0.95)) & (noise.factors(0.95) < most))


def test_bands_in_amperes_hold_as_those_in_newton_metres(tmp_path):
    """Residuals in the unit of the log and the scatter of predictions are compared in one unit."""
    log, gains = case().log(0), np.array([50.0, 20.0])  # N m/A
    names = {"t": log.t, **{f"q{j + 1}": log.q[:, j] for j in range(2)}}
    write_csv(tmp_path / "run.csv", names | {f"i{j + 1}": log.tau[:, j] / gains[j] for j in range(2)})
    columns = ColumnMap(t="t", q="q{j}", effort="i{j}", effort_unit="A", drive=Drive(gains=tuple(gains.tolist())))
    factors = []
    for in_amperes in (False, True):
        seen = Evaluation(5.0, 25.0, 0.5, log_unit=in_amperes)
        campaign = mi.Campaign(case().file, [tmp_path / "run.csv"], effects=list(EFFECTS), evaluation=seen)
        noise = mi.identify(campaign.reading(columns)).sample(100).noise
        factors.append(noise.factors(0.95))
        deviation = noise.deviation
    assert factors[0] == pytest.approx(factors[1], rel=1e-6) and np.all(deviation < 1.0)


def test_samples_survive_their_file(tmp_path):
    found = samples()
    found.save(tmp_path / "samples.npz")
    again = read_samples(tmp_path)
    assert np.array_equal(again.x, found.x) and again.names == found.names
    log = [case().log(1, duration=10.0)]
    assert summary(predict_bands(again, log)) == summary(predict_bands(found, log))
    with np.load(tmp_path / "samples.npz") as arrays:
        assert arrays["mass"].shape == (300, 2) and arrays["inertia"].shape == (300, 2, 6)
        assert arrays["armature"].shape == arrays["frictionloss"].shape == (300, 2)
        assert len(arrays["residual_sd"]) == len(arrays["residual_correlation"]) == 2


DAMAGES = {
    "empty": lambda arrays: None,
    "truncated": lambda arrays: None,
    "objects": lambda arrays: arrays | {"x": arrays["x"].astype(object)},
    "words": lambda arrays: arrays | {"x": np.full(arrays["x"].shape, "a")},
    "a column short": lambda arrays: arrays | {"x": arrays["x"][:, :-1]},
    "unknowns short": lambda arrays: arrays | {"unknowns": arrays["unknowns"][:, :-1]},
    "flat": lambda arrays: arrays | {"x": arrays["x"][0]},
    "no robots": lambda arrays: arrays | {"x": arrays["x"][:0]},
    "not a number": lambda arrays: arrays | {"x": np.where(arrays["x"] == arrays["x"].max(), np.nan, arrays["x"])},
    "without best": lambda arrays: {name: own for name, own in arrays.items() if name != "best"},
    "without names": lambda arrays: {name: own for name, own in arrays.items() if name != "names"},
    "other names": lambda arrays: arrays | {"names": np.array([f"a{k}" for k in range(len(arrays["names"]))])},
    "prior": lambda arrays: arrays | {"prior": "[1"},
    "format": lambda arrays: arrays | {"format": "one"},
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_of_samples_are_refused_in_a_sentence(tmp_path, damage):
    file = tmp_path / "samples.npz"
    changed = DAMAGES[damage](samples().arrays())
    if changed is None:
        content = samples().to_bytes()
        file.write_bytes(content[: len(content) // 2 if damage == "truncated" else 0])
    else:
        np.savez_compressed(file, **changed)
    with pytest.raises(InputError, match="not a complete file of samples; write it again with `minertia sample`"):
        read_samples(tmp_path)
    assert is_samples_file(file)


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("shown", "rows", [["x"]]),
        ("shown", "values", [float("nan")] * 99),
        ("shown", "covariance", "DELETED"),
        ("residual", "quantiles", "x"),
    ],
)
def test_a_model_with_a_damaged_posterior_is_refused_in_a_sentence(part, key, value):
    model = case().result.model()
    table = {**model.evidence["posterior"][part], key: value}
    if value == "DELETED":
        del table[key]
    posterior = {**model.evidence["posterior"], part: table}
    with pytest.raises(InputError, match=rf"the table evidence\.posterior\.{part} of its file is invalid .*; identify"):
        sample_model(replace(model, evidence={**model.evidence, "posterior": posterior}), SampleOptions(n=2))


@pytest.mark.parametrize("place", ["rows", "values", "covariance"])
def test_numbers_of_a_posterior_that_overflow_are_refused(place):
    table = dict(case().result.model().evidence["posterior"]["shown"])
    table[place] = (
        [1e300, *table[place][1:]] if place == "values" else [[1e300, *table[place][0][1:]], *table[place][1:]]
    )
    with pytest.raises(ValueError, match="not finite or too large"):
        Shown.from_dict(table)


def test_a_seed_draws_the_same_robots():
    model = case().result.model()
    one, two, other = (sample_model(model, SampleOptions(n=20, seed=seed)) for seed in (1, 1, 2))
    assert np.array_equal(one.x, two.x) and not np.array_equal(one.x, other.x)


def test_robots_without_masses_are_drawn_around_the_identified_ones():
    own = case()
    bare = replace(own.file, links=tuple(None for _ in own.file.joints), effects=tuple({} for _ in own.file.joints))
    found = mi.identify(mi.Campaign(bare, [own.log(0)], effects=["rotor", "viscous", "coulomb"])).sample(120)
    assert "identified" in found.prior["centre"]
    assert all(impossible(ten) is None for row in found.tens for ten in row.tolist())


def test_joints_that_never_moved_are_left_to_the_prior():
    """Values in which the logs show nothing, or only sums, neither vanish nor become certain."""
    own = case()
    log = own.log(0)
    still = replace(log, q=np.column_stack([log.q[:, 0], np.zeros(len(log.q))]))
    truth = own.truth
    motion = mi.Campaign(own.file, [_efforts(truth, still)], effects=["rotor", "viscous", "coulomb"])
    found = mi.identify(motion).sample(150)
    share = dict(zip(found.names, found.prior_share.tolist(), strict=True))
    assert share["FV2"] > 0.7 and share["FC1"] < 0.3
    assert all(impossible(ten) is None for row in found.tens for ten in row.tolist())


def _efforts(robot, log):
    rate = 1 / (log.t[1] - log.t[0])
    qd = np.gradient(log.q, 1 / rate, axis=0)
    tau = mi.inverse_dynamics(robot, log.q, qd, np.gradient(qd, 1 / rate, axis=0))
    rng = np.random.default_rng(0)
    return replace(log, tau=tau + 0.01 * rng.normal(size=tau.shape))


def test_known_values_stay_as_they_are():
    """A mass and friction that the campaign fixes are those of every robot."""
    own = case()
    truth = dict(zip(own.truth.columns(True, True), own.truth.parameter_vector(True, True).tolist(), strict=True))
    fix = {"M2": truth["M2"], "FC1": truth["FC1"]}
    found = mi.identify(mi.Campaign(own.file, [own.log(0)], effects=["rotor", "viscous", "coulomb"], fix=fix)).sample(
        120
    )
    assert np.all(found.values("FC1") == truth["FC1"])
    assert np.allclose(found.values("M2"), truth["M2"], rtol=2e-3)
    assert found.values("M1").std() > 0.05 * truth["M1"]


def test_bands_of_few_robots_are_refused():
    few = sample_model(case().result.model(), SampleOptions(n=20))
    with pytest.raises(InputError, match="at least 100"):
        predict_bands(few, [case().log(1)])


# ---------------------------------------------------------------------- coverage


@pytest.mark.slow
@pytest.mark.parametrize(("name", "cases"), [("planar2r", 24), ("panda", 12)])
def test_bands_of_planted_robots_hold_95_percent(name, cases, record_property):
    """Truth drawn from the prior: its values, its efforts on unseen motion, and what is measured there."""
    found = [one.covered(1000) for one in planted(name, cases)]
    mean = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
    record_property(name, json.dumps(mean))
    print(name, mean)
    assert all(0.92 <= mean[key] <= 0.98 for key in ("parameters", "values", "prediction"))


@pytest.mark.slow
@needs_shared
def test_a_real_arm_whose_fit_no_robot_near_its_file_has_is_drawn():
    """One weak chirp, nothing stated: nearly no independent draw is accepted, and the chains still mix."""
    log = SHARED / "data" / "airbot_play" / "airbot_chirp.csv.gz"
    found = mi.identify(mi.Campaign(SHARED / "robots" / "airbot_play.urdf", [log])).sample(100, prior=0.1)
    assert found.drawn["rhat"] < 1.1 and found.drawn["effective"] > 0.5 and found.prior["missed"] > 2
    assert len(np.unique(found.x[:, 0])) > 90
    assert all(impossible(ten) is None and ten[9] > 0 for row in found.tens for ten in row.tolist())


@pytest.mark.slow
def test_4096_pandas_are_drawn_within_a_minute():
    import time

    model = next(planted("panda", 1)).result.model()
    start = time.process_time()
    found = sample_model(model, SampleOptions(n=4096))
    assert time.process_time() - start < 60
    assert all(impossible(ten) is None for row in found.tens for ten in row.tolist())
