"""Intervals from stored scores hold what they state under residuals with memory."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.simulated_fleet import SimulatedFleet
from benchmarks.simulated_program import simulated_model

from minertia.fleet.evidence import LEFT_OUT, FleetEvidence
from minertia.identification.problem.solve import solution

OWN = ("FV", "FC", "OFF", "FCL", "FVK", "FCK", "KS")


def chosen_names() -> list[str]:
    own = [f"{symbol}{j + 1}" for j in range(6) for symbol in OWN]
    return [*simulated_model().names, *own]


def covered(fits: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Part of the fits in which each interval holds the truth, and in which that for white residuals does."""
    names, fleet = chosen_names(), SimulatedFleet(1, fits, seed, programs=1, day_effects=(0.0, 0.0, 0.0), plain=True)
    truth = np.array([fleet.true_values(0, 0)[name] for name in names])
    inside, white = np.zeros((2, len(names)))
    for day in fleet.robot(0).values():
        own = day.evidence.columns(names).weighted(fleet.sigma)
        beta, spread = solution(own.total), own.spread()
        assert own.unexplained(beta) < LEFT_OUT
        alone = np.sqrt(np.diag(spread.white))
        inside += np.abs(beta - truth) < spread.half_width(spread.inflation * alone)
        white += np.abs(beta - truth) < 1.96 * alone
    return inside / fits, white / fits


@pytest.mark.slow
def test_coverage_of_two_hundred_fits() -> None:
    inside, white = covered(200, 0)
    assert 0.92 < inside.mean() < 0.98 and inside.min() > 0.8
    assert white.mean() < 0.7  # what the textbook would state


def test_coverage() -> None:
    inside, white = covered(60, 1)
    assert 0.91 < inside.mean() < 0.985 and white.mean() < 0.7


def test_scores_of_weights_and_columns_are_those_of_the_rows() -> None:
    """A day's scores add to zero over its stretches, for any columns and weights: they are of its own fit."""
    fleet = SimulatedFleet(1, 1, 2, programs=1, plain=True)
    evidence: FleetEvidence = next(iter(fleet.robot(0).values())).evidence
    part = evidence.columns(chosen_names()[::-1]).weighted(fleet.sigma)
    assert part.stretches is not None and evidence.stretches is not None
    np.testing.assert_allclose(part.stretches.rest, evidence.stretches.rest / fleet.sigma**2)
    for score, wanted, s in zip(part.stretches.scores, evidence.stretches.scores, fleet.sigma, strict=True):
        assert np.linalg.norm(score) < np.linalg.norm(wanted) / s**2
    twice = evidence.merged(evidence).columns(chosen_names()).spread(fleet.sigma)
    once = evidence.columns(chosen_names()).spread(fleet.sigma)
    ratio = np.sqrt(np.diag(twice.covariance) / np.diag(once.covariance))
    np.testing.assert_allclose(ratio, np.sqrt(0.5), rtol=0.02)  # two days are known better by the root of two
