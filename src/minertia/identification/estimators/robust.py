"""Robust fit by iteratively reweighted least squares with Huber weights, against outliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from minertia.identification.estimators.estimate import Fit
from minertia.identification.estimators.estimator import Estimator
from minertia.identification.problem.observation import Observation, Rows
from minertia.identification.problem.solve import inverse, noise_floor, solution, streamed_triangle, weighted_solution
from minertia.io.schema import option

Array = NDArray[np.float64]
LEAST = 0.1, 1e6  # thresholds; below, too few residuals count in full to tell their spread
SAMPLE = 50_000  # residuals per effort from which the scale is taken
MAD = 0.6745  # median absolute deviation of a unit normal


@final
@dataclass(frozen=True)
class Robust(Estimator):
    """Huber's M-estimator, with the scale of each effort from its median absolute residual."""

    threshold: float = option(
        1.345, "Huber threshold in units of the residual scale; 1.345 is 95 % efficient on clean data.", range=LEAST
    )
    iterations: int = option(30, "Maximum number of iterations.", range=(1, 10_000))
    tolerance: float = option(1e-4, "Convergence tolerance on the step, in standard deviations.", range=(1e-12, 1))

    def fit(self, problem: Observation) -> Fit:  # noqa: D102
        beta, R, sigma = weighted_solution(problem)
        floor = noise_floor(problem)
        scale = np.maximum(_scale(problem, beta), floor)
        for _ in range(self.iterations):
            R = streamed_triangle(problem, lambda c: np.sqrt(self._weights(c, beta, scale)) / scale)  # noqa: B023
            new = solution(R)
            step = np.abs(R[:-1, :-1] @ (new - beta)).max(initial=0.0)
            beta = new
            if step < self.tolerance:
                break
            scale = np.maximum(_scale(problem, beta), floor)
        return Fit(beta, self._covariance(problem, beta, scale), scale)

    def _weights(self, block: Rows, beta: Array, scale: Array) -> Array:
        u = np.abs(block.tau - block.Y @ beta) / scale
        return np.asarray(self.threshold / np.maximum(u, self.threshold))

    def _covariance(self, problem: Observation, beta: Array, scale: Array) -> Array:
        """Sandwich covariance A^-1 B A^-1 with A = sum psi' y y', B = sum psi^2 y y'."""

        def inside(block: Rows) -> Array:
            u = np.abs(block.tau - block.Y @ beta) / scale
            return np.asarray((u <= self.threshold) / scale)

        def psi(block: Rows) -> Array:
            u = np.abs(block.tau - block.Y @ beta) / scale
            return np.asarray(np.minimum(u, self.threshold) / scale)

        inv = inverse(streamed_triangle(problem, inside)[:-1, :-1])
        spread = streamed_triangle(problem, psi)[:-1, :-1] @ inv @ inv.T
        rows = problem.samples * len(problem.row_names)
        return np.asarray(spread.T @ spread * rows / max(rows - problem.count, 1))


def _scale(problem: Observation, beta: Array) -> Array:
    """Noise scale of each effort: its median absolute residual over that of a unit normal distribution."""
    step = -(-problem.samples // SAMPLE)
    taken = [np.abs(rest[::step]) for _, rest in problem.rest(problem.expand(beta))]
    return np.asarray(np.median(np.concatenate(taken), axis=0) / MAD)
