"""95 % intervals hold the truth in 95 % of cases, whatever the correlation time of the noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from tests.identification.coverage import KINDS, TIMES, Trial, coverages
from tests.random_robots import random_robot

SAMPLE = 8  # draws
LEAST = {
    "fit": 0.87,
    "payload from logs": 0.87,
    "payload from a model": 0.87,
    "gains": 0.6,
}  # gains of a draw err alike


@pytest.mark.parametrize(
    "time", [TIMES[0], pytest.param(TIMES[1], marks=pytest.mark.slow), pytest.param(TIMES[2], marks=pytest.mark.slow)]
)
def test_intervals_hold_in_a_sample(time):
    """A seeded sample: less than the true coverage by what so few draws may be off, which are correlated in a draw."""
    found = coverages(Trial(random_robot(5, n=3), duration=24.0, rate=25.0), list(LEAST), time, SAMPLE)
    assert {kind: value for kind, value in found.items() if not value > LEAST[kind]} == {}


def test_white_residuals_would_not_do():
    """The same without the spectrum of the residuals: an offset under noise of 3 s."""
    trial = Trial(random_robot(5, n=3), duration=24.0, rate=25.0)
    inside = [np.abs(b - trial.model.nominal()) < 1.96 * d for b, d in map(trial.as_if_white, trial.draws(3.0, SAMPLE))]
    assert np.mean(inside) < 0.5


DRAWS = 30  # of each arm
# statements of other draws are independent: 1 in 1000 to be outside on either side, where those of a draw err alike
ALONE = [float(binom.ppf(p, 3 * DRAWS, 0.95)) / (3 * DRAWS) for p in (0.001, 0.999)]
BOUNDS = {kind: (0.92, 0.98) for kind in KINDS} | dict.fromkeys(("gains", "test of zeros"), (ALONE[0], ALONE[1]))


@pytest.mark.slow
@pytest.mark.parametrize("time", TIMES)
def test_intervals_hold(time, record_property):
    """Three arms and logs of 12 to 60 s together; intervals that hold too often are wrong, too."""
    trials = [
        Trial(random_robot(5, n=4), duration=30.0),
        Trial(random_robot(1, n=3), duration=12.0),
        Trial(random_robot(3, n=4), duration=60.0, rate=25.0),
    ]
    found = [coverages(trial, list(KINDS), time, DRAWS) for trial in trials]
    wrong = {}
    for kind, (low, high) in BOUNDS.items():
        own = [part[kind] for part in found]
        record_property(kind, [round(value, 3) for value in own])
        print(f"{kind}, {time} s: {[f'{value:.3f}' for value in own]}, together {np.mean(own):.3f}")
        wrong |= {} if low <= np.mean(own) <= high else {kind: own}
    assert wrong == {}
