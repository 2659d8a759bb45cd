"""95 % intervals hold the truth, and tests at 5 % reject it as often, under noise of every kind."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.identification.noises import NOISES, Coverage, Fixed, bundled, covered, twelve
from tests.random_robots import random_robot


@cache
def few() -> tuple[Fixed, ...]:
    return (
        Fixed.of(random_robot(1, n=3), 12.0, 40.0, 12.0),
        Fixed.of(random_robot(11, n=2), 16.0, 40.0, 8.0),
        Fixed.of(bundled("planar2r", 1), 15.0, 40.0, 7.5),
    )


@pytest.mark.parametrize("kind", list(NOISES))
def test_intervals_hold_in_a_sample(kind):
    """Less than the true coverage by what so few draws may be off, and no wider than the truth by as much."""
    found = covered(list(few()), kind, 6)
    assert found.held > 0.86 and 0.75 < found.width < 1.35
    assert max(found.rejected.values()) < 0.3


@pytest.mark.parametrize("kind", ["shared, equal signs", "shared, alternating signs", "with speed", "clock"])
def test_each_deviation_is_that_of_the_noise_that_is_there(kind):
    """Value by value: noise that is equal in each effort but shared in another way moves other values."""
    case = few()[2]
    stated = np.mean([np.sqrt(np.diag(widths.stated)) for _, widths in case.fits(kind, 8)], axis=0)
    ratio = stated / case.scatter(kind, 400)
    assert np.all((ratio > 0.75) & (ratio < 1.4))


def test_signs_of_shared_noise_matter():
    """The same noise in each effort, by itself: signs that differ make variances that differ by half."""
    case = few()[2]
    equal, other = (
        np.mean([np.diag(widths.covariance) for _, widths in case.fits(kind, 6)], axis=0)
        for kind in ("shared, equal signs", "shared, alternating signs")
    )
    assert np.max(np.maximum(equal / other, other / equal)) > 1.5


DRAWS = 100
LOWEST = {"drift": 0.55}  # of offsets: a log cannot tell them from a walk that is as slow as itself
REJECTED = (0.025, 0.08)  # 5 %, and what 1200 tests may be off, with 1 % more for slow noise


@cache
def robots() -> tuple[Fixed, ...]:
    return tuple(twelve())


@cache
def found(kind: str) -> Coverage:
    return covered(list(robots()), kind, DRAWS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(NOISES))
def test_intervals_hold(kind, record_property):
    """On twelve robots, over 100 draws each."""
    own = found(kind)
    record_property(kind, repr(own))
    print(kind, own)
    assert 0.925 <= own.held <= 0.97
    assert own.lowest > LOWEST.get(kind, 0.8) and own.width < 1.15


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(NOISES))
def test_zeros_are_rejected_as_often_as_stated(kind):
    """F tests of one to eight values that are zero, at 5 %."""
    assert all(REJECTED[0] < part < REJECTED[1] for part in found(kind).rejected.values()), found(kind)
