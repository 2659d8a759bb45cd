"""The choice between plain least squares and physical fits."""

from __future__ import annotations

import numpy as np
import pytest

from minertia.identification.estimators import named_estimator
from minertia.identification.problem.linear import linear_model
from minertia.identification.problem.observation import observe
from minertia.robot.read import read_robot
from tests.identification.fits import fitted
from tests.identification.motions import fourier_motion, noisy

ROBOT = read_robot("puma560_physical")


def recording(seed: int, size: float, samples: int = 800, level: float = 0.03, duration: float = 8.0):
    motion = fourier_motion(ROBOT, samples, seed, duration=duration, size=size)
    return noisy(motion, np.random.default_rng(seed + 100), level)


def unseen(chosen: str, training, other) -> float:
    return fitted(ROBOT, training, estimator=chosen, validate=[other]).validation[0].relative


def test_weak_excitation_is_held_by_physics():
    """A short motion of small amplitude, noisy efforts: the free fit follows the noise."""
    training, other = [recording(1, 0.12, 400)], recording(2, 0.7)
    result = fitted(ROBOT, training, estimator="auto", validate=[other])
    assert result.estimate.estimator == "physical"
    assert any("left-out folds" in note for note in result.estimate.notes)
    assert result.validation[0].relative < 0.5 * unseen("wls", training, other)


def test_a_log_of_few_blocks_is_held_too():
    """So short that there are fewer blocks than would fill every fold twice: there the free fit fails most."""
    training, other = [recording(1, 0.12, 120, duration=4.0)], recording(2, 0.7)
    assert 3 <= len(observe(linear_model(ROBOT), training).blocks) < 10
    result = fitted(ROBOT, training, estimator="auto", validate=[other])
    assert result.estimate.estimator == "physical"
    assert result.validation[0].relative < 0.5 * unseen("wls", training, other)


def test_good_excitation_needs_nothing():
    training, other = [recording(k, 0.8, 4000, 0.01, 40.0) for k in (3, 4)], recording(5, 0.7)
    result = fitted(ROBOT, training, estimator="auto", validate=[other])
    assert result.estimate.estimator == "wls" and not result.estimate.notes
    np.testing.assert_array_equal(result.beta, fitted(ROBOT, training, estimator="wls").beta)


def test_alone_it_fits_as_what_it_chooses():
    problem = observe(linear_model(ROBOT), [recording(1, 0.12, 400)])
    automatic = named_estimator("auto")
    choice = automatic.chosen(problem)
    np.testing.assert_allclose(automatic.fit(problem).beta, choice.estimator.fit(problem).beta)


@pytest.mark.parametrize("joints", [[1], [1, 2, 3, 4, 5, 6]])
def test_what_is_fixed_stays(joints):
    result = fitted(ROBOT, [recording(1, 0.12, 400)], estimator="auto", fix={"FV1": 1.5}, joints=joints)
    assert result.estimate.value("FV1") == pytest.approx(1.5)
