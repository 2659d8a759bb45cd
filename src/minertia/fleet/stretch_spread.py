"""Standard deviations under correlated residuals, from the scores or triangular factors of a day's time blocks."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from minertia.identification.evidence.intervals import FEWEST_FREEDOM, LEAST_INFLATION, LEVEL, NORMAL, Spread
from minertia.identification.problem.solve import inverse
from minertia.identification.problem.triangles import triangle
from minertia.io.arrays import Array
from minertia.io.resources import one_thread

ALONE = 1e-10  # what others add to a direction that one stretch knows by itself: its residual says nothing there


def score_spread(R: Array, z: Array, g: Array, length: int) -> Spread:
    """Covariance of a day's fit from the scores of its time blocks (sandwich estimator).

    cov = A^-1 [sum_b z_b z_b'] A^-1 m/(m-1), m the effective number of blocks that inform an unknown.

    R (k+1, k+1): triangular factor of the day.  z, g (B, k): scores and information of the blocks.  length:
    autocorrelation time [samples].
    """
    with one_thread():
        inv = inverse(R[:-1, :-1])
        white = inv @ inv.T
        z = z - z.mean(axis=0)  # truncation and rounding leave a sum that is no score
        half = z @ white
        carried = np.sum(g, axis=0) ** 2 / np.maximum(np.sum(g**2, axis=0), 1e-300)
        freedom = np.maximum(carried - 1.0, FEWEST_FREEDOM)
        scale = np.sqrt((freedom + 1.0) / freedom)
        S = (half.T @ half) * np.outer(scale, scale)
    return _stated(S, white, freedom, length, len(z))


def triangle_spread(R: Array, stretches: Array, length: int) -> Spread:
    """Cluster-robust covariance (CR2): block residuals of the day's fit, corrected for the block leverage.

    R (k+1, k+1): triangular factor of the day; stretches (B, any, k+1): rows of the blocks, or their triangular
    factors. Degrees of freedom by Bell and McCaffrey (2002): those that the variance would have if residuals were
    white.
    """
    with one_thread():
        inv = inverse(R[:-1, :-1])
        white, beta = inv @ inv.T, inv @ R[:-1, -1]
        scores, squares, pulled = [], [], []
        for rows in stretches:
            own = triangle(rows)
            W, e = own[:, :-1], own[:, -1] - own[:, :-1] @ beta
            U, s, _ = np.linalg.svd(W @ inv, full_matrices=False)  # W inv inv' W' is the stretch's part of the hat
            rest = 1.0 - s**2
            wider = np.where(rest > ALONE, 1 / np.sqrt(np.maximum(rest, ALONE)), 0.0) - 1.0
            scores.append(W.T @ (e + U @ (wider * (U.T @ e))))
            P = W @ white
            P = P + U @ (wider[:, None] * (U.T @ P))
            squares.append(np.sum(P**2, axis=0))
            pulled.append(inv.T @ (W.T @ P))
        half, D, T = np.array(scores) @ white, np.array(squares), np.array(pulled)
        M = -np.einsum("bia,cia->abc", T, T, optimize=True)
        M[:, np.arange(len(D)), np.arange(len(D))] += D.T
        trace = np.einsum("abb->a", M)
        freedom = np.maximum(trace**2 / np.maximum(np.einsum("abc,abc->a", M, M), 1e-300), FEWEST_FREEDOM)
    return _stated(half.T @ half, white, freedom, length, len(half))


def _stated(S: Array, white: Array, freedom: Array, length: int, stretches: int) -> Spread:
    """`Spread` from a covariance, with standard deviations of at least 0.1 of those for white noise.

    Few degrees of freedom (few blocks) widen it by the quantile of Student's t relative to the normal one.
    """
    alone = np.maximum(np.diag(white), 1e-300)
    variance = np.maximum(np.diag(S), LEAST_INFLATION**2 * alone)
    S = S + np.diag(variance - np.diag(S))
    wider = stdtrit(freedom, 0.5 + LEVEL / 2) / NORMAL
    return Spread(np.sqrt(variance / alone) * wider, freedom, length, stretches, S, white)
