"""Deviations and intervals that hold when residuals are correlated in time.

Filtered residuals are not white: their neighbours agree, and the usual covariance is several times too small.  Blocks
of the recordings longer than that memory are independent, so the spread of their contributions is what counts
(cluster-robust covariance with the CR2 correction and the degrees of freedom of Bell & McCaffrey 2002).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import inverse
from minertia.identification.problem.triangles import merged, triangle
from minertia.threads import one_thread

Array = NDArray[np.float64]
FADED = 0.1  # autocorrelation below which samples count as independent
LENGTHS = 6  # blocks are at least so many correlation lengths long
FEWEST = 12  # blocks that are never merged further
LONGEST = 512  # samples over which correlation is looked for


@dataclass(frozen=True)
class Spread:
    """Deviations under correlated residuals, for the unknowns of a problem.

    inflation: deviation over that for white residuals.  freedom: degrees of freedom of each deviation.
    length: autocorrelation time of the residuals, in samples; blocks: independent blocks of time used.
    covariance, white: of all values, under correlated and under white residuals.
    """

    inflation: Array
    freedom: Array
    length: int
    blocks: int
    covariance: Array
    white: Array

    def __repr__(self) -> str:
        typical = float(np.median(self.inflation)) if len(self.inflation) else 1.0
        return (
            f"<Spread: correlation length {self.length} samples, {self.blocks} blocks; deviations {typical:.3g} times "
            "those for white residuals (median)>"
        )

    def half_width(self, deviation: Array, level: float = 0.95) -> Array:
        """Half the interval of values with these deviations."""
        return np.asarray(deviation * student.ppf(0.5 + level / 2, np.maximum(self.freedom, 1.0)))

    def design_effect(self, chosen: Sequence[int]) -> float:
        """Mean variance of some values together over that for white residuals: how many samples count as one.

        The first-order correction of Rao & Scott 1981 of a test that these values are zero.
        """
        ask = np.ix_(chosen, chosen)
        return float(np.trace(np.linalg.solve(self.white[ask], self.covariance[ask])) / len(chosen))


def spread(problem: Observation, beta: Array, sigma: Array) -> Spread:
    """How much wider than for white noise the deviations are, from blocks of the logs (theory, eq. 27)."""
    with one_thread():
        length = correlation_length(problem, beta)
        T = independent_blocks(problem, sigma, LENGTHS * length)
        R = triangle(T.reshape(-1, T.shape[-1]))
        inv = inverse(R[:-1, :-1])
        Z = T[:, :, :-1] @ inv  # (blocks, k, p), orthonormal columns when stacked
        e = T[:, :, -1] - T[:, :, :-1] @ beta
        A = _correction(Z)
        scores = np.einsum("bkp,bkl,bl->bp", Z, A, e)
        S = inv @ (scores.T @ scores) @ inv.T
        white = inv @ inv.T
        return Spread(np.sqrt(np.diag(S) / np.diag(white)), _freedom(Z, A, inv), length, len(T), S, white)


def correlation_length(problem: Observation, beta: Array) -> int:
    """Samples after which the residual of every effort has forgotten itself, at least 1."""
    sums: Array | None = None
    for _, rest in problem.rest(problem.expand(beta)):
        lags = min(LONGEST, len(rest))
        size = 2 ** int(np.ceil(np.log2(2 * len(rest))))
        power = np.abs(np.fft.rfft(rest - rest.mean(axis=0), size, axis=0)) ** 2
        found = np.zeros((LONGEST, rest.shape[1]))
        found[:lags] = np.fft.irfft(power, size, axis=0)[:lags]
        sums = found if sums is None else sums + found
    if sums is None:
        return 1
    shape = sums / np.maximum(sums[0], 1e-300)
    faded = shape < FADED
    return max(1, int(np.where(faded.any(axis=0), faded.argmax(axis=0), LONGEST).max()))


def independent_blocks(problem: Observation, sigma: Array, length: int) -> Array:
    """Triangles (blocks, k, k) of weighted rows of all efforts, neighbours merged until blocks have this length."""
    parts = []
    total = sum(len(r.counts) for r in problem.logs)
    for record in problem.logs:
        fewest = max(2, -(-FEWEST * len(record.counts) // total))
        rows = record.triangles / sigma[:, None, None]
        T = triangle(rows.reshape(len(rows), -1, rows.shape[-1]))
        group = int(np.ceil(length / max(float(np.median(record.counts)), 1.0)))
        groups = max(len(T) // max(group, 1), min(fewest, len(T)))
        parts += [merged(piece) for piece in np.array_split(T, groups)]
    return np.stack(parts)


def _correction(Z: Array) -> Array:
    """(1 - H_b)^(-1/2) of each block: what its own part in the fit took off its residuals."""
    H = Z @ np.swapaxes(Z, 1, 2)
    values, vectors = np.linalg.eigh(H)
    left = np.clip(1 - values, 0.0, 1.0)
    root = np.where(left > 1e-4, 1 / np.sqrt(np.maximum(left, 1e-4)), 0.0)  # a block that alone decides says nothing
    return np.asarray((vectors * root[:, None, :]) @ np.swapaxes(vectors, 1, 2))


def _freedom(Z: Array, A: Array, inv: Array) -> Array:
    """Degrees of freedom of each deviation: (tr G)^2 / tr G^2, G the covariance of the blocks' contributions."""
    AZ = A @ Z
    found = []
    for row in inv:
        g = AZ @ row  # (blocks, k)
        u = np.einsum("bkp,bk->bp", Z, g)
        G = np.diag(np.sum(g**2, axis=1)) - u @ u.T
        found.append(np.trace(G) ** 2 / max(float(np.sum(G**2)), 1e-300))
    return np.array(found)
