"""The abstract estimator, and the algebra on triangles that all share."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from minertia.identification.estimate import Fit
from minertia.identification.problem.observation import Chunk, Observation
from minertia.identification.problem.triangles import triangle

Array = NDArray[np.float64]
NOISE_FLOOR = 1e-13  # of an effort's size: rounding, not noise


class Estimator(abc.ABC):
    """A way to solve Y beta = tau.

    fills_gaps: whether it gives a value to what the motion does not excite (from a prior); other estimators are given
    problems of full rank.
    """

    fills_gaps: ClassVar[bool] = False

    @abc.abstractmethod
    def fit(self, problem: Observation) -> Fit:
        """Values, covariance and noise levels."""


def solve(R: Array) -> Array:
    """beta of the triangle of [W tau]."""
    return np.asarray(solve_triangular(R[:-1, :-1], R[:-1, -1]))


def inverse(R: Array) -> Array:
    """Inverse of a triangle, columns scaled first."""
    lengths = np.linalg.norm(R, axis=0)
    lengths = np.where(lengths > 0, lengths, 1.0)
    return np.asarray(solve_triangular(R / lengths, np.eye(len(R))) / lengths[:, None])


def noise_floor(problem: Observation) -> Array:
    """Levels below which a residual is rounding."""
    largest = float(problem.effort_rms.max(initial=0.0))
    return np.asarray(np.maximum(NOISE_FLOOR * np.maximum(problem.effort_rms, 1e-3 * largest), 1e-300))


def noise_levels(problem: Observation, beta: Array, R: Array, sigma: Array) -> Array:
    """Deviation of each effort's residual, with the degrees of freedom that the fit used up in it.

    R: the triangle of the fit, made with these sigma.
    """
    inv = inverse(R[:-1, :-1])
    used = np.array([np.sum((total[:, :-1] / s @ inv) ** 2) for total, s in zip(problem.totals, sigma, strict=True)])
    freedom = np.maximum(problem.samples - used, 1.0)
    return np.asarray(np.maximum(problem.residuals(beta) / np.sqrt(freedom), noise_floor(problem)))


def weighted_solution(
    problem: Observation, iterations: int = 30, tolerance: float = 1e-9
) -> tuple[Array, Array, Array]:
    """beta, R and sigma of the fit in which each effort counts by its own noise level (iterated)."""
    sigma = np.maximum(problem.effort_rms, noise_floor(problem))
    for _ in range(iterations):
        R = problem.triangle(sigma)
        beta = solve(R)
        updated = noise_levels(problem, beta, R, sigma)
        done = bool(np.all(np.abs(updated / sigma - 1) < tolerance))
        sigma = updated
        if done:
            break
    R = problem.triangle(sigma)
    return solve(R), R, sigma


def streamed_triangle(problem: Observation, weight: Callable[[Chunk], Array]) -> Array:
    """Triangle of all rows, each times its weight (N, efforts), in one more pass."""
    R = np.zeros((0, problem.count + 1))
    for chunk in problem.stream():
        rows = np.concatenate([chunk.Y, chunk.tau[:, :, None]], axis=2) * weight(chunk)[:, :, None]
        R = triangle(np.concatenate([R, rows.reshape(-1, rows.shape[2])]))
    return R


def prior_weight(weight: float) -> str:
    """How far a fit was drawn to its prior, as a sentence."""
    return f"the prior has weight {weight:.3g} (at 1 it counts as much as the logs)"


def strongest(errors: Array) -> int:
    """Index of the strongest prior that predicts what was left out as well as the best one.

    errors (weights, folds): within one standard error of the smallest mean (Hastie, Tibshirani, Friedman 2009, 7.10).
    """
    mean = errors.mean(axis=1)
    best = int(np.argmin(mean))
    limit = mean[best] + errors[best].std(ddof=1) / np.sqrt(errors.shape[1])
    return int(np.flatnonzero(mean <= limit)[-1])
