"""95 % intervals hold the truth in 95 % of cases, whatever the correlation time of the noise."""

from __future__ import annotations

import numpy as np
import pytest

from tests.identification.coverage import KINDS, TIMES, Trial, coverage
from tests.random_robots import random_robot

SAMPLE = 8  # draws
LEAST = {
    "fit": 0.87,
    "payload from logs": 0.87,
    "payload from a model": 0.87,
    "gains": 0.7,
}  # gains of a draw err alike


@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("kind", list(LEAST))
def test_intervals_hold_in_a_sample(kind, time):
    """A seeded sample: less than the true coverage by what so few draws may be off, which are correlated in a draw."""
    assert coverage(Trial(random_robot(5, n=3), duration=24.0, rate=25.0), kind, time, SAMPLE) > LEAST[kind]


def test_white_residuals_would_not_do():
    """The same without the spectrum of the residuals: an offset under noise of 3 s."""
    trial = Trial(random_robot(5, n=3), duration=24.0, rate=25.0)
    inside = [np.abs(b - trial.model.nominal()) < 1.96 * d for b, d in map(trial.as_if_white, trial.draws(3.0, SAMPLE))]
    assert np.mean(inside) < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("kind", list(KINDS))
def test_intervals_hold(kind, time, record_property):
    """Three arms and logs of 12 to 60 s together."""
    trials = [
        (Trial(random_robot(5, n=4), duration=30.0), 60),
        (Trial(random_robot(1, n=3), duration=12.0), 60),
        (Trial(random_robot(3, n=4), duration=60.0, rate=25.0), 60),
    ]
    found = [coverage(trial, kind, time, count) for trial, count in trials]
    record_property("coverage", [round(value, 3) for value in found])
    print(f"{kind}, {time} s: {[f'{value:.3f}' for value in found]}, together {np.mean(found):.3f}")
    assert 0.92 <= np.mean(found) <= 0.98
