"""The spectrum of residuals, and the deviations that come of it, where theory says what they are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import toeplitz
from scipy.optimize import nnls

import minertia.identification.evidence.intervals as intervals
from minertia.identification.evidence.intervals import (
    NORMAL,
    Weighted,
    half_width_of,
    residue_of_rows,
    spread_by,
    spread_of,
    stretches,
)
from minertia.identification.evidence.noise import (
    DRAWS,
    Kinds,
    Residue,
    cosines,
    expected,
    likelihood,
    memory_length,
    posterior,
)
from tests.identification.coverage import forgotten


def test_the_bands_hold_all_power_of_every_kind():
    kinds = Kinds.of(500)
    for samples in (500, 120):
        assert np.allclose(kinds.banded(expected(kinds, samples)).sum(axis=1), samples)
    assert np.allclose(kinds.memory[:, 0], 1.0)
    assert kinds.prior.sum() == pytest.approx(1.0) and np.allclose(kinds.mixtures.sum(axis=1), 1.0)
    e = np.random.default_rng(0).normal(size=500)
    assert kinds.banded(cosines(e) ** 2).sum() == pytest.approx(np.sum(e**2))


def test_every_mixture_knows_its_slow_part():
    kinds = Kinds.of(200)
    assert np.all(np.diff(kinds.slow) >= 0) and set(kinds.slow.tolist()) == set(range(len(kinds.memory)))
    assert all(own[0] == 1 if k == 0 else own[k] > 0 for k, own in zip(kinds.slow, kinds.mixtures, strict=True))


def test_bands_are_narrow_where_slow_noise_is_told_from_the_mean():
    """One ordinate of the cosine transform, half a period in the stretch; a third of the frequency at most."""
    kinds = Kinds.of(1000)
    periods = kinds.edges * 1000 / kinds.size
    steps = np.diff(periods)
    assert periods[1] == pytest.approx(0.5, abs=0.1) and 15 < len(periods) < 30
    assert np.all(steps > 0.45) and np.all(steps[periods[1:] > 5] < 0.45 * periods[1:][periods[1:] > 5])


@pytest.mark.parametrize("samples", [1, 2, 37, 60])
def test_expected_power_is_that_of_the_covariance(samples):
    """Of noise of every kind, as slow as the stretch itself or slower."""
    kinds = Kinds.of(60)
    D = cosines(np.eye(samples)).T
    for memory, found in zip(kinds.memory, expected(kinds, samples), strict=True):
        assert np.allclose(found, np.diag(D @ toeplitz(memory[:samples]) @ D.T))


@pytest.mark.parametrize("is_known", [False, True])
def test_power_that_a_fit_takes_off_slow_noise_is_that_of_its_hat_matrix(is_known):
    """Two efforts that see some unknowns together, noise of one kind: D - H D - D H + H D H, by definition."""
    rng, samples, shown = np.random.default_rng(1), 90, [[0, 2], [0, 1, 2, 3]]
    t = np.arange(samples) / samples
    X = np.stack([np.stack([np.cos(2 * np.pi * k * t + j) for k in (0, 1, 2, 7)], axis=1) for j in range(2)], axis=1)
    X[:, 0, [1, 3]] = 0.0
    P = np.diag([3.0, 0.0, 50.0, 0.0]) if is_known else np.zeros((4, 4))
    flat = X.transpose(1, 0, 2).reshape(-1, 4)
    inv = np.linalg.inv(np.linalg.cholesky(flat.T @ flat + P)).T
    kinds = Kinds.of(samples)
    residue = Residue(kinds, inv, shown, inv.T @ P @ inv if is_known else None)
    residue.add(X, rng.normal(size=(samples, 2)))
    M = np.eye(2 * samples) - flat @ inv @ inv.T @ flat.T
    cosine = np.kron(np.eye(2), cosines(np.eye(samples)).T)
    for kind in (0, 5, len(kinds.memory) - 1):
        D = np.kron(np.eye(2), toeplitz(kinds.memory[kind, :samples]))
        exact = np.diag(cosine @ M @ D @ M.T @ cosine.T).reshape(2, samples)
        near = (residue.whole - residue.taken)[:, :, kind]
        wanted = kinds.banded(exact)
        assert np.allclose(near, wanted, atol=0.15 * wanted.max() if kind else 1e-9)  # ordinates hardly correlate
        assert near.sum() == pytest.approx(wanted.sum(), rel=0.1)
    if is_known:
        added = np.diag(cosine @ flat @ inv @ inv.T @ P @ inv @ inv.T @ flat.T @ cosine.T).reshape(2, samples)
        assert np.allclose(residue.added, kinds.banded(added))
    seen = np.fft.rfft(X, kinds.size, axis=0)
    for j in range(2):
        influence = np.abs(seen[:, j] @ (inv @ inv.T)) ** 2
        assert np.allclose(residue.each[j], influence.T @ (kinds.weights * kinds.spectra).T)


def test_the_shape_that_made_a_spectrum_is_found():
    """Noise of one shape in its mean power: the most probable shape is that one, its scale the noise's power."""
    kinds = Kinds.of(1000)
    whole = kinds.banded(expected(kinds, 1000)).T
    means = whole @ kinds.mixtures.T
    for true in (0, 60, 110):
        logs, scales = likelihood(means, 3.0 * means[:, true], whole[:, 0])
        (odds,), _ = posterior(kinds, [logs])
        assert odds.sum() == pytest.approx(1.0)
        mean = (odds * scales) @ means.T
        assert np.all(np.abs(mean / means[:, true] / 3.0 - 1)[12:] < 0.2)  # what is as slow as the log is open
        assert scales[true] == pytest.approx(3.0, rel=0.05)
    logs, _ = likelihood(means, 0.3 * means[:, 60], whole[:, 0])
    again, _ = likelihood(means, 3.0 * means[:, 60], whole[:, 0])
    assert np.allclose(logs - logs.max(), again - again.max())


def test_little_data_leave_many_shapes_possible():
    kinds = Kinds.of(1000)
    whole = kinds.banded(expected(kinds, 1000)).T
    means = whole @ kinds.mixtures.T
    few, many = (
        posterior(kinds, [likelihood(means, means[:, 90] * part, whole[:, 0] * part)[0]])[0] for part in (0.02, 1.0)
    )
    assert np.sum(few**2) < 0.5 * np.sum(many**2)


def test_efforts_with_one_correlation_time_tell_it_together():
    """Five efforts leave fewer correlation times than one; one of another kind keeps its own."""
    kinds = Kinds.of(400)
    whole = kinds.banded(expected(kinds, 400)).T
    means = whole @ kinds.mixtures.T
    slow = int(np.flatnonzero((kinds.slow == 10) & (kinds.mixtures[:, 0] == 0))[0])
    of = [likelihood(means, means[:, k], whole[:, 0])[0] for k in (slow, 0)]
    (alone,), (white,) = (posterior(kinds, [own])[0] for own in of)
    together, drawn = posterior(kinds, [of[0]] * 5)
    here = kinds.slow == kinds.slow[slow]
    assert together[0][here].sum() > 1.5 * alone[here].sum()
    assert np.mean(kinds.slow[drawn[0]] == kinds.slow[drawn[3]]) > 0.9
    mixed, drawn = posterior(kinds, [of[0], of[1]])
    assert np.allclose(mixed[0], alone, atol=0.02) and white[0] > 0.9 and mixed[1][0] > 0.6
    assert drawn.shape == (2, DRAWS) and np.mean(drawn[1] == 0) == pytest.approx(mixed[1][0], abs=0.02)


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
    assert 0.6 < middle[0] < 2.5 and 0.8 < middle[1] < 1.25  # little tells how large noise is near frequency 0
    assert np.mean(held) > 0.9


def test_what_is_known_beforehand_is_left_alone_by_noise():
    """A mean known to 0.1, and noise that says nothing about it: the deviation is 0.1, whatever the noise."""
    samples, rng = 400, np.random.default_rng(0)
    X = np.ones((samples, 1))
    noise = 50 * forgotten(rng, (samples, 1), 30.0, 1.0)[:, 0]
    prior = 10.0  # one over the deviation
    sigma = float(noise.std())
    inv = 1 / np.sqrt(samples / sigma**2 + prior**2)
    residual = (noise - inv**2 * noise.sum() / sigma**2) / sigma
    rows = [Weighted(0, X[:, None, :] / sigma, residual[:, None])]
    known = np.array([[prior**2 * inv**2]])
    widths = spread_by(residue_of_rows(rows, [samples], np.array([[inv]]), [[0]], known), samples)
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
    count = 300
    for _ in range(count):
        noise, wrong = rng.normal(size=samples), deviation * rng.normal(size=2)
        beta = np.linalg.solve(A, X.T @ noise + P @ wrong)
        residue.add(X[:, None, :], (noise - X @ beta)[:, None])
    mean = (residue.whole - residue.taken[0])[:, 0] + residue.added[0]
    assert np.all(np.abs(residue.power[0] / mean - 1)[1:8] < 0.25)
    assert residue.spectra()[0].powers.sum() == pytest.approx(1.0, abs=0.1)


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
        scores.append(spread_of([row], [samples], 1 / np.linalg.norm(X, axis=0)[None], [[0]]).draws.scores[0])
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
