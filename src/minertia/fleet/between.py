"""Variation between robots of one type: random effects by restricted maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError
from minertia.io.notebook import plural
from minertia.io.resources import one_thread

FEWEST_ROBOTS = 3
ROUNDS = 500
SETTLED = 1e-8  # relative change of the spread in one round


@dataclass(frozen=True)
class Between:
    """Random-effects model b_i ~ N(mean, scatter + V_i) for the estimates b_i of robots with covariance V_i.

    names: names of the values.  mean, covariance: mean of the fleet, and the covariance of this estimate.
    scatter: covariance between robots.  robots (N, p): shrinkage estimate of each robot; the weaker its
    evidence, the closer it is to the mean.
    """

    names: tuple[str, ...]
    mean: Array
    covariance: Array
    scatter: Array
    robots: Array

    def __repr__(self) -> str:
        return f"<Between {plural(len(self.robots), 'robot')}: {plural(len(self.names), 'value')}>"

    @property
    def deviation(self) -> Array:
        """Standard deviation of the fleet's mean."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def spread(self) -> Array:
        """Standard deviation between robots."""
        return np.sqrt(np.diag(self.scatter))


def between_robots(names: tuple[str, ...], values: Array, covariances: Array) -> Between:
    """Fit random effects by EM for restricted maximum likelihood; values (N, p), covariances (N, p, p)."""
    count = len(values)
    if count < FEWEST_ROBOTS:
        raise MinertiaError(f"the spread between robots needs at least {FEWEST_ROBOTS} robots, not {count}")
    unit = np.maximum(values.std(axis=0), np.sqrt(np.median(np.einsum("nii->ni", covariances), axis=0)))
    unit = np.where(unit > 0, unit, 1.0)
    b, V = values / unit, covariances / np.outer(unit, unit)
    with one_thread():
        T = np.cov(b.T).reshape(b.shape[1], b.shape[1]) + 1e-6 * np.eye(b.shape[1])
        for _ in range(ROUNDS):
            mean, P, T_new, shrunk = _round(b, V, T)
            done = float(np.abs(T_new - T).max()) < SETTLED * float(np.abs(T).max())
            T = T_new
            if done:
                break
        mean, P, _, shrunk = _round(b, V, T)
    square = np.outer(unit, unit)
    return Between(names, mean * unit, P * square, T * square, (mean + shrunk) * unit)


def _round(b: Array, V: Array, T: Array) -> tuple[Array, Array, Array, Array]:
    """One EM step: mu, its covariance, the next scatter, and the deviation of each robot from mu."""
    W = np.linalg.inv(V + T)
    P = np.linalg.inv(W.sum(axis=0))
    mean = P @ np.einsum("nij,nj->i", W, b)
    TW = T @ W
    u = np.einsum("nij,nj->ni", TW, b - mean)
    WT = np.swapaxes(TW, 1, 2)
    inside = T - TW @ T + TW @ P @ WT
    T_new = np.mean(np.einsum("ni,nj->nij", u, u) + inside, axis=0)
    return mean, P, (T_new + T_new.T) / 2, u
