"""The spectrum of residuals, and the deviations that come of it, where theory says what they are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

import minertia.identification.evidence.intervals as intervals
from minertia.identification.evidence.intervals import NORMAL, Weighted, half_width_of, spread_of, stretches
from minertia.identification.evidence.noise import Kinds, Residue, memory_length, posterior
from tests.identification.coverage import forgotten


def test_the_bands_hold_all_power_of_every_kind():
    kinds = Kinds.of(500)
    assert np.allclose(kinds.expected(500).sum(axis=0), 500) and np.allclose(kinds.expected(120).sum(axis=0), 120)
    assert np.allclose(kinds.memory[:, 0], 1.0)
    assert kinds.prior.sum() == pytest.approx(1.0) and np.allclose(kinds.mixtures.sum(axis=1), 1.0)
    e = np.random.default_rng(0).normal(size=500)
    assert kinds.banded(np.abs(np.fft.rfft(e, kinds.size)) ** 2).sum() == pytest.approx(np.sum(e**2))


def test_bands_are_narrow_where_slow_noise_is_told_from_the_mean():
    """One period in the stretch at least, a third of the frequency at most."""
    kinds = Kinds.of(1000)
    periods = kinds.edges * 1000 / kinds.size
    steps = np.diff(periods)
    assert periods[1] == pytest.approx(1.5, abs=0.1) and 15 < len(periods) < 30
    assert np.all(steps > 0.9) and np.all(steps[periods[1:] > 5] < 0.45 * periods[1:][periods[1:] > 5])


def test_expected_power_is_that_of_draws():
    kinds, rng = Kinds.of(300), np.random.default_rng(0)
    power = np.zeros(len(kinds.edges))
    for _ in range(300):
        e = forgotten(rng, (300, 1), 50.0, 1.0)[:, 0]
        power += kinds.banded(np.abs(np.fft.rfft(e, kinds.size)) ** 2) / 300
    times = 0.5 * 10 ** (np.arange(len(kinds.memory) - 1) / 4)
    wanted = kinds.expected(300)[:, 1 + int(np.argmin(np.abs(times - 50.0)))]
    assert np.all(np.abs(power / wanted - 1) < 0.35)
    assert power.sum() == pytest.approx(300, rel=0.1)


@pytest.mark.parametrize("is_known", [False, True])
def test_what_is_kept_of_a_stretch_is_what_its_transforms_say(is_known):
    """Sums over frequencies by definition; one effort sees few of the unknowns, one all of them."""
    rng, shown = np.random.default_rng(1), [[0, 2], [0, 1, 2, 3]]
    X, e, inverse = rng.normal(size=(90, 2, 4)), rng.normal(size=(90, 2)), np.triu(rng.normal(size=(4, 4)))
    X[:, 0, [1, 3]] = 0.0
    known = np.diag([0.5, 0.0, 2.0, 0.0]) if is_known else None
    kinds = Kinds.of(90)
    residue = Residue(kinds, inverse, shown, known)
    residue.add(X, e)
    seen = np.fft.rfft(X, kinds.size, axis=0)
    metric = np.eye(4) if known is None else np.eye(4) + known
    for j in range(len(shown)):
        Z = seen[:, j] @ inverse
        took = np.einsum("fr,rs,fs->f", Z, metric, Z.conj()).real
        assert np.allclose(residue.taken[j], kinds.banded(kinds.spectra * took).T)
        if known is not None:
            assert np.allclose(residue.added[j], kinds.banded(np.einsum("fr,rs,fs->f", Z, known, Z.conj()).real))
        influence = np.abs(seen[:, j] @ (inverse @ inverse.T)) ** 2
        assert np.allclose(residue.each[j], influence.T @ (kinds.weights * kinds.spectra).T)


def test_the_shape_that_made_a_spectrum_is_found():
    """Noise of one shape in its mean power: the most probable shape is that one, its scale the noise's power."""
    kinds = Kinds.of(1000)
    means = kinds.expected(1000) @ kinds.mixtures.T
    for true in (0, 60, 110):
        odds, scales = posterior(means, 3.0 * means[:, true], means[:, 0], kinds.prior)
        assert odds.sum() == pytest.approx(1.0)
        mean = (odds * scales) @ means.T
        assert np.all(np.abs(mean / means[:, true] / 3.0 - 1)[8:] < 0.2)  # what is as slow as the log is open
        assert scales[true] == pytest.approx(3.0, rel=0.05)
    odds, scales = posterior(means, 0.3 * means[:, 60], means[:, 0], kinds.prior)
    assert np.allclose(odds, posterior(means, 3.0 * means[:, 60], means[:, 0], kinds.prior)[0])


def test_little_data_leave_many_shapes_possible():
    kinds = Kinds.of(1000)
    means = kinds.expected(1000) @ kinds.mixtures.T
    few, many = (posterior(means, means[:, 90] * part, means[:, 0] * part, kinds.prior)[0] for part in (0.02, 1.0))
    assert np.sum(few**2) < 0.5 * np.sum(many**2)


def test_half_of_an_interval_over_possible_variances():
    assert half_width_of(np.array([[4.0, 4.0]])) == pytest.approx([2 * NORMAL], rel=1e-6)
    found = half_width_of(np.array([[1.0, 1.0, 1.0, 9.0]]))[0]
    rng = np.random.default_rng(0)
    draws = rng.normal(size=400_000) * np.where(rng.random(400_000) < 0.25, 3.0, 1.0)
    assert np.mean(np.abs(draws) < found) == pytest.approx(0.95, abs=0.002)


@pytest.mark.parametrize("time", [1.0, 9.0, 28.0, 90.0, 300.0])
def test_noise_of_any_memory_is_near_some_of_the_kinds(time):
    """From a few samples to a third of the stretch: a sum of two kinds has nearly the same autocorrelation."""
    kinds = Kinds.of(1000)
    own = np.exp(-np.arange(kinds.memory.shape[1]) / time)
    theta, rest = nnls(kinds.memory.T, own)
    assert rest < 0.1 * np.linalg.norm(own) and theta.sum() == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("time", [20, 63, 200])
def test_memory_ends_where_a_tenth_is_left(time):
    kinds = Kinds.of(1000)
    own = np.exp(-np.arange(kinds.memory.shape[1]) / time)
    theta = nnls(kinds.memory.T, own)[0]
    assert memory_length(kinds, 9 * theta) == pytest.approx(np.log(10) * time, rel=0.05)
    assert memory_length(kinds, 9 * np.eye(len(kinds.memory))[0]) == 1


def rows(columns: np.ndarray, noise: np.ndarray) -> tuple[Weighted, np.ndarray]:
    """The rows of a fit of one effort, and its values."""
    beta = np.linalg.lstsq(columns, noise, rcond=None)[0]
    return Weighted(0, columns[:, None, :], (noise - columns @ beta)[:, None]), beta


@pytest.mark.parametrize("time", [None, 1.5, 15.0, 60.0])
def test_a_mean_and_a_wave_have_the_variances_of_theory(time):
    """Of a constant and a sine in noise whose autocorrelation is known."""
    samples, rng = 600, np.random.default_rng(1)
    t = np.arange(samples)
    X = np.column_stack([np.ones(samples), np.sin(2 * np.pi * 7 * t / samples)])
    lags = np.abs(t[:, None] - t)
    omega = np.eye(samples) if time is None else np.exp(-lags / time)
    inv = np.linalg.inv(X.T @ X)
    truth = np.sqrt(np.diag(inv @ X.T @ omega @ X @ inv))
    R = np.linalg.qr(X, mode="r")
    found, held = [], []
    for _ in range(60):
        noise = rng.normal(size=samples) if time is None else forgotten(rng, (samples, 1), time, 1.0)[:, 0]
        row, beta = rows(X, noise)
        widths = spread_of([row], [samples], np.linalg.inv(R), [[0, 1]])
        found.append(np.sqrt(np.diag(widths.covariance)))
        held.append(np.abs(beta) < NORMAL * np.sqrt(np.diag(widths.stated)))
        assert np.allclose(np.sqrt(np.diag(widths.stated)), widths.inflation * np.sqrt(np.diag(widths.white)))
        assert np.all(widths.freedom >= 2)
    middle = np.median(found, axis=0) / truth
    assert 0.6 < middle[0] < 2.0 and 0.8 < middle[1] < 1.25  # little tells how large noise is near frequency 0
    assert np.mean(held) > 0.88


def test_what_is_known_beforehand_is_left_alone_by_noise():
    """A mean known to 0.1, and noise that says nothing about it: the deviation is 0.1, whatever the noise."""
    samples, rng = 400, np.random.default_rng(0)
    X = np.ones((samples, 1))
    noise = 50 * forgotten(rng, (samples, 1), 30.0, 1.0)[:, 0]
    prior = 10.0  # one over the deviation
    sigma = float(noise.std())
    inv = 1 / np.sqrt(samples / sigma**2 + prior**2)
    residual = (noise - inv**2 * noise.sum() / sigma**2) / sigma
    widths = spread_of(
        [Weighted(0, X[:, None, :] / sigma, residual[:, None])],
        [samples],
        np.array([[inv]]),
        [[0]],
        np.array([[prior**2 * inv**2]]),
    )
    assert 0.095 < np.sqrt(widths.covariance[0, 0]) < 0.15


def test_the_power_that_uncertain_knowledge_adds_is_taken_off():
    """Mean power of residuals of a fit with knowledge: what noise leaves, and what the knowledge was wrong by."""
    samples, rng, deviation = 200, np.random.default_rng(0), 0.2
    X = np.column_stack([np.ones(samples), np.sin(np.arange(samples) / 9)])
    P = np.eye(2) / deviation**2
    A = X.T @ X + P
    inv = np.linalg.inv(np.linalg.cholesky(A)).T
    kinds, known = Kinds.of(samples), inv.T @ P @ inv
    residue = Residue(kinds, inv, [[0, 1]], known)
    assert residue.taking is not None and residue.knowing is not None
    assert np.allclose(residue.taking @ residue.taking.T, np.eye(2) + known)
    assert np.allclose(residue.knowing @ residue.knowing.T, known)
    count = 300
    for _ in range(count):
        noise, wrong = rng.normal(size=samples), deviation * rng.normal(size=2)
        beta = np.linalg.solve(A, X.T @ noise + P @ wrong)
        residue.add(X[:, None, :], (noise - X @ beta)[:, None])
    mean = (residue.whole - residue.taken[0])[:, 0] + residue.added[0]
    assert np.all(np.abs(residue.power[0] / mean - 1)[:6] < 0.2)
    assert residue.spectrum(0).powers.sum() == pytest.approx(1.0, abs=0.1)


def test_stretches_of_logs_are_equal_and_whole(monkeypatch):
    monkeypatch.setattr(intervals, "STRETCH", 100)
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 2, 3)) for n in (250, 90, 300)]
    pieces = [
        Weighted(k, part, part[:, :, 0]) for k, x in enumerate(X) for part in np.split(x, [min(37, len(x)), 60, 80])
    ]
    found = list(stretches(pieces, [250, 90, 300]))
    assert [len(e) for _, e in found] == [84, 83, 83, 90, 100, 100, 100]
    assert np.array_equal(np.concatenate([x for x, _ in found]), np.concatenate(X))
    assert all(np.array_equal(x[:, :, 0], e) for x, e in found)


def test_some_stretches_stand_for_all(monkeypatch):
    rng, samples = np.random.default_rng(0), 6000
    X = np.column_stack([np.ones(samples), np.sin(np.arange(samples) / 3)])
    row, _ = rows(X, forgotten(rng, (samples, 1), 8.0, 1.0)[:, 0])
    inv = np.linalg.inv(np.linalg.qr(X, mode="r"))
    whole = spread_of([row], [samples], inv, [[0, 1]])
    monkeypatch.setattr(intervals, "STRETCH", 300)
    monkeypatch.setattr(intervals, "STRETCHES", 5)
    looked: list[np.ndarray] = []
    monkeypatch.setattr(Residue, "add", lambda self, X, e, own=Residue.add: (looked.append(e), own(self, X, e)))
    some = spread_of([row], [samples], inv, [[0, 1]])
    assert [np.flatnonzero(row.e[:, 0] == e[0, 0])[0] for e in looked] == [0, 1200, 2400, 3600, 4800]
    assert some.inflation[1] == pytest.approx(whole.inflation[1], rel=0.2)
    assert 0.3 < some.inflation[0] / whole.inflation[0] < 3
    assert np.allclose(some.white, whole.white)
    assert whole.length == pytest.approx(8 * np.log(10), rel=0.3) and whole.blocks == samples // whole.length


def test_every_stretch_of_a_log_of_half_a_minute_at_a_kilohertz_counts():
    """Twice the log tells how large its noise is with twice the independent scores."""
    scores = []
    for samples in (16_000, 32_000):
        X = np.sin(np.arange(samples) / 3)[:, None]
        row, _ = rows(X, np.random.default_rng(0).normal(size=samples))
        scores.append(spread_of([row], [samples], 1 / np.linalg.norm(X, axis=0)[None], [[0]]).scores[0])
    assert scores[1] / scores[0] == pytest.approx(2.0, rel=0.25)


def test_noise_that_is_kind_to_a_value_is_not_believed_altogether():
    """Residuals without power at the frequency of a column: a tenth of the deviation under white noise, at least."""
    t = np.arange(600)
    X = np.sin(2 * np.pi * 150 * t / 600)[:, None]
    row, _ = rows(X, 10 * np.sin(2 * np.pi * 3 * t / 600))
    found = spread_of([row], [600], np.array([[1 / np.linalg.norm(X)]]), [[0]])
    assert found.covariance[0, 0] >= 0.01 * found.white[0, 0] * (1 - 1e-9)


def test_a_value_that_the_stretches_do_not_show_is_not_called_sure(monkeypatch):
    """Its column is not zero only where nothing is looked at: it gets the widest of the others."""
    monkeypatch.setattr(intervals, "STRETCH", 100)
    monkeypatch.setattr(intervals, "STRETCHES", 2)
    rng, samples = np.random.default_rng(0), 400
    X = np.column_stack(
        [np.ones(samples), np.where(np.arange(samples) // 100 == 1, 1.0, 0.0) * rng.normal(size=samples)]
    )
    row, _ = rows(X, forgotten(rng, (samples, 1), 8.0, 1.0)[:, 0])
    found = spread_of([row], [samples], np.linalg.inv(np.linalg.qr(X, mode="r")), [[0, 1]])
    assert found.covariance[1, 1] / found.white[1, 1] == pytest.approx(found.covariance[0, 0] / found.white[0, 0])
