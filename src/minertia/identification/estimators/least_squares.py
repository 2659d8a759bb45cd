"""Ordinary least squares, and least squares weighted by joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from minertia.identification.estimators.estimate import Fit
from minertia.identification.estimators.estimator import Estimator
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import inverse, noise_levels, solution, weighted_solution
from minertia.io.schema import option


@final
@dataclass(frozen=True)
class OrdinaryLeastSquares(Estimator):
    """Ordinary least squares; the covariance accounts for the noise level of each effort."""

    def fit(self, problem: Observation) -> Fit:  # noqa: D102
        ones = np.ones(len(problem.row_names))
        R = problem.triangle()
        beta = solution(R)
        sigma = noise_levels(problem, beta, R, ones)
        inv = inverse(R[:-1, :-1])
        spread = sum(
            (inv.T @ (s * total[:, :-1]).T) @ (s * total[:, :-1] @ inv)
            for s, total in zip(sigma, problem.totals, strict=True)
        )
        return Fit(beta, inv @ spread @ inv.T, sigma)


@final
@dataclass(frozen=True)
class WeightedLeastSquares(Estimator):
    """Weighted least squares, each effort divided by its residual standard deviation, iterated to convergence.

    See equation 25 of the theory page, and Izaguirre 1992.
    """

    iterations: int = option(30, "Maximum number of reweighting iterations.", range=(1, 10_000))

    def fit(self, problem: Observation) -> Fit:  # noqa: D102
        beta, R, sigma = weighted_solution(problem, self.iterations)
        inv = inverse(R[:-1, :-1])
        return Fit(beta, inv @ inv.T, sigma)
