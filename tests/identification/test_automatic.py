"""The choice between plain least squares and physical fits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minertia.identification.estimators import automatic, named_estimator, physical
from minertia.identification.estimators.automatic import CONTRADICTED, CONTRADICTS, impossible_effects
from minertia.identification.evidence.left_out import left_out_error
from minertia.identification.problem.linear import linear_model
from minertia.identification.problem.observation import observe
from minertia.io.errors import SolverFailed
from minertia.robot.files import read_robot
from tests.identification.fits import estimated, unseen_part
from tests.identification.motions import fourier_motion, noisy
from tests.random_robots import random_robot

ROBOT = read_robot("puma560_physical")
SLOW = np.array([0, 0, 0, 0, 1.3, 0]) * ROBOT.effects[4]["IA"]  # kg m2: more than the rotor of joint 5


def recording(seed: int, size: float, samples: int = 800, level: float = 0.03, duration: float = 8.0):
    motion = fourier_motion(ROBOT, samples, seed, duration=duration, size=size)
    return noisy(motion, np.random.default_rng(seed + 100), level)


def unseen(chosen: str, training, other) -> float:
    return unseen_part(*estimated(ROBOT, training, other, estimator=chosen))


def test_weak_excitation_is_held_by_physics():
    """A short motion of small amplitude, noisy efforts: the free fit follows the noise."""
    training, other = [recording(1, 0.12, 400)], recording(2, 0.7)
    problem, estimate = estimated(ROBOT, training, other, estimator="auto")
    assert estimate.estimator == "physical"
    assert any("the logs do not determine all values" in note for note in estimate.notes)
    assert unseen_part(problem, estimate) < 0.5 * unseen("wls", training, other)


def test_bodies_of_the_file_that_cannot_exist_are_named_where_they_are_the_prior():
    """The prior of a flat link with a third moment of inertia that is too large is the nearest body."""
    ten = [float(v) for v in ROBOT.links[2]]
    ten[5] += 10 * sum(ten[k] for k in (0, 3, 5))
    links = tuple(ten if k == 2 else own for k, own in enumerate(ROBOT.links))
    training = [recording(1, 0.12, 400)]
    for robot, told in ((ROBOT, False), (replace(ROBOT, links=links), True)):
        _, estimate = estimated(robot, training, estimator="auto")
        said = [note for note in estimate.notes if "no body has the inertia that the robot's file gives for" in note]
        assert [f"for {robot.joints[2].link or robot.joints[2].name}: " in note for note in said] == [True] * told


def test_the_choice_of_the_estimator_is_told_with_what_it_gains():
    """On held-out blocks, as the verdict: it was told as 0 %, and as nothing."""
    problem, estimate = estimated(ROBOT, [recording(1, 0.12, 400)], estimator="auto")
    plain, held = estimate.tried
    part, fit = estimate.part, estimate.fit
    errors = [left_out_error(part, fit.sigma, refit).relative for refit in (None, fit.refit)]
    assert (plain.option, plain.is_selected, held.is_selected, held.gain) == ("wls", False, True, 0.0)
    assert plain.gain == pytest.approx(1 - errors[0] / errors[1], abs=1e-6) and plain.gain < 0


@pytest.mark.slow
def test_a_log_of_few_blocks_is_held_too():
    """So short that there are fewer blocks than would fill every fold twice: there the free fit fails most."""
    training, other = [recording(1, 0.12, 120, duration=4.0)], recording(2, 0.7)
    assert 3 <= len(observe(linear_model(ROBOT), training).blocks) < 10
    problem, estimate = estimated(ROBOT, training, other, estimator="auto")
    assert estimate.estimator == "physical"
    assert unseen_part(problem, estimate) < 0.5 * unseen("wls", training, other)


def test_good_excitation_needs_nothing():
    """Two joints, each value far better known from the logs than from the file."""
    robot = replace(random_robot(3, n=2), gravity=(0.0, 0.0, -9.81))
    logs = [noisy(fourier_motion(robot, 4000, k, duration=40.0), np.random.default_rng(k), 0.003) for k in (3, 4)]
    chosen, plain = (estimated(robot, logs, estimator=name)[1] for name in ("auto", "wls"))
    assert chosen.estimator == "wls" and not chosen.notes
    np.testing.assert_array_equal(chosen.beta, plain.beta)


def test_a_prior_is_as_strong_as_the_file_deserves():
    """The same logs with a file of nearly right links, and with one whose links are twice as heavy."""
    training, other = [recording(1, 0.12, 400)], recording(2, 0.7)
    errors, left = [], []
    for factor in (1.02, 2.0):
        file = replace(
            ROBOT, links=tuple(None if ten is None else tuple(factor * x for x in ten) for ten in ROBOT.links)
        )
        problem, estimate = estimated(file, training, other, estimator="auto")
        (told,) = [one.option for one in estimate.tried if one.is_selected]
        errors.append(float(told.split()[-2]))
        left.append(unseen_part(problem, estimate))
    assert errors[0] <= 25.0 < errors[1]  # %; a quarter is what is assumed before the logs speak
    assert left[1] < unseen("wls", training, other)


@pytest.mark.slow
def test_negative_rotor_inertias_are_not_kept():
    """An effort that falls a little with the acceleration, as a slow sensor makes it, under more noise than that."""
    effects = ["rotor", "viscous", "coulomb", "offset"]
    runs = [recording(k, 0.8, 3000, 0.05, 30.0) for k in (3, 4, 5)]
    slow = [replace(m, tau=m.tau - m.qdd * SLOW) for m in runs]
    problem, free = estimated(ROBOT, slow[:2], slow[2:], effects=effects)
    assert impossible_effects(problem.free) == ["IA5"] and free.value("IA5") < 0
    chosen = estimated(ROBOT, slow[:2], estimator="auto", effects=effects)[1]
    assert chosen.estimator == "physical" and chosen.value("IA5") >= 0
    assert any("makes IA5 negative" in note for note in chosen.notes)
    assert unseen_part(problem, chosen) < 1.01 * unseen_part(problem, free)


def test_negative_values_stay_where_physics_predicts_worse():
    """Much of the effort falls with the acceleration: no robot does that, and the folds say so."""
    runs = [recording(k, 0.8, 3000, 0.005, 30.0) for k in (3, 4)]
    odd = [replace(m, tau=m.tau - m.qdd * 10 * SLOW) for m in runs]
    found = estimated(ROBOT, odd, estimator="auto", effects=["rotor", "viscous", "coulomb", "offset"])[1]
    assert found.estimator == "wls" and found.value("IA5") < 0


@pytest.mark.slow
def test_alone_it_fits_as_what_it_chooses():
    problem = observe(linear_model(ROBOT), [recording(1, 0.12, 400)])
    automatic = named_estimator("auto")
    choice = automatic.chosen(problem)
    np.testing.assert_allclose(automatic.fit(problem).beta, choice.estimator.fit(problem).beta)


@pytest.mark.parametrize("joints", [[1], [1, 2, 3, 4, 5, 6]])
def test_what_is_fixed_stays(joints):
    found = estimated(ROBOT, [recording(1, 0.12, 400)], estimator="auto", fix={"FV1": 1.5}, joints=joints)[1]
    assert found.value("FV1") == pytest.approx(1.5)


def test_least_squares_must_predict_held_out_parts(monkeypatch):
    """Noise on a small motion contradicts physics here; least squares is no rival until no physical fit is found."""
    problem = observe(linear_model(ROBOT), [recording(1, 0.02, 400)])
    monkeypatch.setattr(automatic, "_contradiction", lambda *_: 2 * CONTRADICTED)
    assert named_estimator("auto").chosen(problem).name == "physical"

    def failing(*_, **__):
        raise SolverFailed("no solution", "infeasible")

    monkeypatch.setattr(physical, "physical_fit", failing)
    choice = named_estimator("auto").chosen(problem)
    assert choice.name == "wls"
    assert [one.reason for one in choice.tried if not one.is_selected] == [CONTRADICTS]
