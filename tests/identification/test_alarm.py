"""Thresholds of the observer: the rate of false alarms that is stated is kept on other motion."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from minertia.identification.alarm import observer_thresholds, output_thresholds
from minertia.io.errors import InputError, ShapeError

RATE, GAIN = 100.0, 20.0


def _residual(hours, seed):
    """Noise with a memory, and friction errors that flip with a slow motion."""
    rng = np.random.default_rng(seed)
    count = round(3600 * RATE * hours)
    t = np.arange(count)[:, None] / RATE
    noise = lfilter([0.3], [1, -0.7], rng.normal(size=(count, 2)), axis=0)
    return np.array([1.0, 0.2]) * (noise + 0.5 * np.sign(np.sin(0.9 * t + np.array([0.0, 1.0]))))


def _alarms(residual, thresholds):
    """Separate crossings of the thresholds."""
    share = GAIN / RATE
    r = np.abs(lfilter([share], [1, share - 1], residual, axis=0))
    above = np.flatnonzero((r > np.array(thresholds.values)).any(axis=1))
    return 0 if not len(above) else 1 + int(np.sum(np.diff(above) > 3 * RATE / GAIN))


def test_false_alarms_are_as_rare_as_stated():
    learned = _residual(0.5, 0)
    for per_hour in (20.0, 2.0):
        found = observer_thresholds(learned, RATE, GAIN, per_hour)
        assert _alarms(_residual(2.0, 1), found) <= 2.0 * per_hour
        assert _alarms(_residual(2.0, 1) + np.array([3.0, 0.0]), found) > 0
    assert 3 < found.values[0] / found.values[1] < 8  # each joint has its own
    assert "2 false alarms an hour" in repr(found)


def test_rare_high_peaks_count_among_many_low_ones():
    """A joint that sticks now and then: thresholds stand above what was seen twenty times, and not far above it."""
    rng = np.random.default_rng(4)
    noise = 0.02 * rng.normal(size=(round(0.2 * 3600 * RATE), 1))
    for k in range(500, len(noise) - 200, 1500):
        noise[k : k + 40] += 1.0 + 0.05 * rng.normal()
    (threshold,) = observer_thresholds(noise, RATE, GAIN, 1.0).values
    assert 1.05 < threshold < 1.5


def test_samples_that_count_have_thresholds_of_their_own():
    share = GAIN / RATE
    r = lfilter([share], [1, share - 1], _residual(0.2, 2), axis=0)
    calm = np.zeros(r.shape, bool)
    calm[: len(r) // 2] = True
    loud = np.where(calm, r, 5 * r)
    among = output_thresholds(loud, RATE, GAIN, 2.0, among=calm)
    everywhere = output_thresholds(loud, RATE, GAIN, 2.0)
    assert all(3 * a < b for a, b in zip(among.values, everywhere.values, strict=True))
    assert calm[:5].all()  # what is given is left as it is
    with pytest.raises(ShapeError, match="mask of samples"):
        output_thresholds(loud, RATE, GAIN, 2.0, among=calm[:, 0])


def test_wrong_requests_are_one_sentence():
    e = _residual(0.01, 0)
    with pytest.raises(InputError, match=r"joint 1 has \d+ separate peaks in 0.00056 h"):
        observer_thresholds(e[:200], RATE, GAIN)
    with pytest.raises(ShapeError, match=r"needs? \(N, n\)"):
        observer_thresholds(e[:, 0], RATE, GAIN)
    with pytest.raises(InputError, match="between 0 and the rate"):
        observer_thresholds(e, RATE, 200.0)
    with pytest.raises(InputError, match="not finite"):
        observer_thresholds(np.full((10, 2), np.nan), RATE, GAIN)
