"""Least-squares residuals of efforts after fitting friction, rotor inertia and offsets, for set-up trials."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear, nnls

from minertia.identification.evidence.thresholds import CENTRES, MASSES

Array = NDArray[np.float64]
RIDGE = 1e-6  # of the squared length of a column: what a motion hardly shows stays small


def root_mean_square(parts: Array) -> float:
    """Root mean square over the joints."""
    return float(np.sqrt(np.mean(parts**2))) if len(parts) else 0.0


@dataclass(frozen=True)
class JointEffects:
    """Q and R of the columns of a joint's effects that vary, without their means, and these means."""

    Q: Array
    R: Array
    means: Array

    @classmethod
    def of(cls, effects: Array) -> JointEffects:
        """From the columns (N, effects)."""
        return cls(*_orthogonal(effects))

    def fitted(self, effort: Array) -> tuple[float, float]:
        """RMS residual of an effort, and its offset; effects by non-negative least squares."""
        mean = float(effort.mean())
        centred = effort - mean
        shown = self.Q.T @ centred
        x, left = nnls(self.R, shown) if len(self.R) else (shown, 0.0)
        outside = float(np.linalg.norm(centred - self.Q @ shown))
        return math.hypot(outside, float(left)) / math.sqrt(len(effort)), mean - float(self.means @ x)


def without(effects: Array, columns: Array) -> Array:
    """Project the effects and an offset out of columns."""
    Q = _orthogonal(effects)[0]
    centred = columns - columns.mean(axis=0)
    return np.asarray(centred - Q @ (Q.T @ centred))


def constant(effects: Array, columns: Array) -> Array:
    """Constant part of each column, estimated together with the effects."""
    Q, R, means = _orthogonal(effects)
    x = np.linalg.lstsq(R, Q.T @ (columns - columns.mean(axis=0)), rcond=RIDGE)[0]
    return np.asarray(columns.mean(axis=0) - means @ x)


def _orthogonal(effects: Array) -> tuple[Array, Array, Array]:
    """Q and R of the centred columns of effects that vary, and the means of these columns."""
    means = effects.mean(axis=0)
    centred = effects - means
    moving = np.linalg.norm(centred, axis=0) > 0
    Q, R = np.linalg.qr(centred[:, moving])
    return np.asarray(Q), np.asarray(R), means[moving]


def within_bounds(parts: list[tuple[Array, int]], links: int, samples: int) -> float:
    """Residual over all joints with bounded mass factors and link centres of mass, and effects of each joint.

    parts: for each joint, its rows (links, three directions of each centre, effects, effort) and its number of
    effects.
    """
    shared = 4 * links
    total = shared + sum(count for _, count in parts)
    G, start = np.zeros((total + 1, total + 1)), shared
    for rows, count in parts:
        at = [*range(shared), *range(start, start + count), total]
        G[np.ix_(at, at)] += rows.T @ rows / samples
        start += count
    size = np.sqrt(np.maximum(np.diag(G), 1e-300))
    for own in (slice(0, links), slice(links, shared)):  # one scale for factors, and one for centres: each has bounds
        size[own] = max(float(size[own].max()), 1e-150)
    A = G / np.outer(size, size) + RIDGE * np.eye(total + 1)
    R = np.linalg.cholesky(A).T
    low, high = np.zeros(total), np.full(total, np.inf)
    low[:links], high[:links] = (1 - MASSES) * size[:links], size[:links] / (1 - MASSES)
    low[links:shared], high[links:shared] = -CENTRES * size[links:shared], CENTRES * size[links:shared]
    found = lsq_linear(R[:-1, :-1], R[:-1, -1], bounds=(low / size[-1], high / size[-1]))
    return float(np.hypot(np.linalg.norm(found.fun), R[-1, -1]) * size[-1] / np.sqrt(len(parts)))


def least_left(G: Array) -> float:
    """Least-squares residual of the last column of normal equations, given the other columns."""
    x = np.append(-fitted(G), 1.0)
    return max(float(x @ G @ x), 0.0)


def fitted(G: Array) -> Array:
    """Least-squares coefficients of the last column of normal equations on the others."""
    size = np.sqrt(np.diag(G)[:-1])
    kept = np.flatnonzero(size > 1e-9 * size.max(initial=0.0))
    A = G[np.ix_(kept, kept)] / np.outer(size[kept], size[kept])
    x = np.zeros(len(size))
    x[kept] = np.linalg.solve(A + RIDGE * np.eye(len(kept)), G[kept, -1] / size[kept]) / size[kept]
    return x
