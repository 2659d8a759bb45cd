"""Optimality criteria as functions of the information matrix G = W' W, with derivatives (theory, eq. 30).

A criterion returns its value and S = d value / d G; then d value / d W = 2 W S.  Maxima and minima are replaced by
power means of the given sharpness, which are differentiable where two values meet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.linalg import lapack

from minertia.io.arrays import Array

Criterion: TypeAlias = Callable[[Array, float], tuple[float, Array] | None]  # (G, sharpness); None: G is singular


def log_det(G: Array, sharpness: float = 0.0) -> tuple[float, Array] | None:
    """-log det G: D-optimality, the volume of the confidence ellipsoid."""
    factor, info = lapack.dpotrf(G.T, lower=1)
    if info != 0:
        return None
    return -2.0 * float(np.log(factor.diagonal()).sum()), -_inverse(factor)


def log_condition(G: Array, sharpness: float = 32.0) -> tuple[float, Array] | None:
    """Upper bound of the log condition number of W, with soft maximum and minimum of the eigenvalues of G.

    The value is (log soft maximum - log soft minimum) / 2; its gradient is with respect to G.  None if G is
    singular.
    """
    values, V = np.linalg.eigh(G)
    if values[0] <= 1e-14 * values[-1]:
        return None
    high, p = _soft_max(np.log(values), sharpness)
    low, r = _soft_max(-np.log(values), sharpness)
    return 0.5 * (high + low), np.asarray((V * (0.5 * (p - r) / values)) @ V.T)


def log_scaled_condition(G: Array, sharpness: float = 32.0) -> tuple[float, Array] | None:
    """Log of the condition number of W with columns scaled to length 1, and its gradient with respect to G.

    Upper bound as in `log_condition`; None if the matrix is singular.
    """
    d = np.sqrt(np.diag(G))
    if not np.all(d > 0):
        return None
    found = log_condition(G / np.outer(d, d), sharpness)
    if found is None:
        return None
    value, S = found
    scaled = S / np.outer(d, d)
    return value, scaled - np.diag((scaled * G).sum(axis=1) / d**2)


@dataclass(frozen=True)
class LargestDeviation:
    """Log of the largest relative standard deviation of a parameter; W must be in units of the noise.

    others: weight of the mean over all parameters, so that those other than the worst also improve.
    """

    sizes: Array
    others: float = 0.05

    def __call__(self, G: Array, sharpness: float = 32.0) -> tuple[float, Array] | None:
        """Value and its derivative with respect to G."""
        factor, info = lapack.dpotrf(G.T, lower=1)
        if info != 0:
            return None
        C = _inverse(factor)
        logs = np.log(np.diag(C) / self.sizes**2)
        value, p = _soft_max(logs, sharpness)
        p = p + self.others / len(logs)
        return 0.5 * (value + self.others * float(logs.mean())), -np.asarray((C * (0.5 * p / np.diag(C))) @ C)


def _inverse(factor: Array) -> Array:
    """Inverse of a matrix from its lower Cholesky factor (entries above the diagonal must be zero)."""
    lower, _ = lapack.dtrtri(factor, lower=1)
    return np.asarray(lower.T @ lower)  # faster than LAPACK's own product, which leaves half to be filled in


def _soft_max(x: Array, sharpness: float) -> tuple[float, Array]:
    """log-sum-exp / sharpness and its weights (they sum to 1)."""
    top = float(x.max())
    e = np.exp(sharpness * (x - top))
    return top + float(np.log(e.sum())) / sharpness, e / e.sum()


def condition_number(W: Array) -> float:
    """Condition number of W: largest over smallest singular value."""
    s = np.linalg.svd(_triangle(W), compute_uv=False)
    return float(s[0] / s[-1]) if s[-1] > 0 else float("inf")


def scaled_condition_number(W: Array) -> float:
    """Condition number of W with columns scaled to length 1."""
    lengths = np.linalg.norm(W, axis=0)
    return condition_number(W / lengths) if np.all(lengths > 0) else float("inf")


def predicted_deviations(W: Array, previous: Array | None = None) -> Array:
    """Predicted standard deviations of the parameters.

    W: rows divided by their noise.  previous: information matrix of earlier recordings.
    """
    G = W.T @ W + (0 if previous is None else previous)
    d = np.sqrt(np.diag(G))
    d = np.where(d > 0, d, 1.0)
    values, V = np.linalg.eigh(G / np.outer(d, d))
    shown = values > 1e-13 * max(float(values[-1]), 1e-300)
    variances = (V[:, shown] ** 2 / values[shown]).sum(axis=1)
    hidden = (V[:, ~shown] ** 2).sum(axis=1) > 1e-12  # what was never shown has no deviation that could be stated
    return np.asarray(np.where(hidden, np.inf, np.sqrt(variances) / d))


def _triangle(W: Array) -> Array:
    return np.asarray(np.linalg.qr(W, mode="r")) if len(W) > W.shape[1] else W
