"""Least squares on the triangles of a linear problem: values, noise levels, and the weighted fit that all build on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import solve_triangular

from minertia.identification.problem.observation import Observation, Rows
from minertia.identification.problem.triangles import triangle
from minertia.io.arrays import Array

NOISE_FLOOR = 1e-13  # of an effort's size: rounding, not noise


def solution(R: Array) -> Array:
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
        beta = solution(R)
        updated = noise_levels(problem, beta, R, sigma)
        done = bool(np.all(np.abs(updated / sigma - 1) < tolerance))
        sigma = updated
        if done:
            break
    R = problem.triangle(sigma)
    return solution(R), R, sigma


def streamed_triangle(problem: Observation, weight: Callable[[Rows], Array]) -> Array:
    """Triangle of all rows, each times its weight (N, efforts), in one more pass."""
    R = np.zeros((0, problem.count + 1))
    for block in problem.stream():
        rows = np.concatenate([block.Y, block.tau[:, :, None]], axis=2) * weight(block)[:, :, None]
        R = triangle(np.concatenate([R, rows.reshape(-1, rows.shape[2])]))
    return R
