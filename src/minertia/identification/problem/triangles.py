"""R factors: the sufficient statistics of least squares for any number of rows.

R of the QR factorisation of [W tau] holds W'W, W'tau and tau'tau in a few kilobytes.  R factors of blocks are merged
in a fixed tree, so the result does not depend on how a log was cut for reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dgeqrf

from minertia.codegen.kernels import build
from minertia.io.arrays import Array

PANEL = 32  # columns that LAPACK factors at a time
FAN = 8  # triangles merged at a time
PIECE = 4096  # samples whose rows become triangles at a time, fewer where the rows would be more than
PIECE_NUMBERS = 4_000_000  # numbers
SIMILAR = 30.0  # by how much directions may differ in length after preconditioning: squared it costs 3 digits of 16


def triangle(rows: Array) -> Array:
    """R factor of [..., N, k] rows, shape [..., k, k] (padded with zeros where N < k)."""
    k = rows.shape[-1]
    if 0 in rows.shape[-2:]:
        return np.zeros((*rows.shape[:-2], k, k))
    if rows.ndim > 2:
        return np.stack([_of_shown(own) for own in rows.reshape(-1, *rows.shape[-2:])]).reshape(*rows.shape[:-2], k, k)
    R = _factor(rows)
    return R if len(R) == k else np.concatenate([R, np.zeros((k - len(R), k))])


def _of_shown(rows: Array) -> Array:
    """R factor of rows (N, k) of one effort: most of its columns and rows are zero, and are skipped."""
    k, filled = rows.shape[1], rows != 0
    shown = np.flatnonzero(filled.any(axis=0))
    own = _factor(rows[np.ix_(filled.any(axis=1), shown)]) if len(shown) else np.zeros((0, 0))
    R = np.zeros((k, k))
    R[np.ix_(shown[: len(own)], shown)] = own
    return R


def _factor(rows: Array) -> Array:
    """R factor of rows (N, k), as by NumPy's QR; calls LAPACK directly, twice as fast for small k."""
    count, k = rows.shape
    packed, *_ = dgeqrf(np.array(rows, float, order="F"), lwork=PANEL * k, overwrite_a=True)
    return np.where(_upper(k)[:count], packed[:k], 0.0)


@cache
def _upper(k: int) -> NDArray[np.bool_]:
    return np.triu(np.ones((k, k), bool))


def upright(rows: Array) -> Array:
    """R factor of [..., N, k] rows with a non-negative diagonal."""
    if rows.ndim == 2:
        return folded(np.zeros((rows.shape[1], rows.shape[1])), rows)
    return _turned(triangle(rows))


def folded(R: Array, rows: Array) -> Array:
    """R factor [k, k] of an R factor and of further rows [N, k], with a non-negative diagonal."""
    fold = getattr(build.native(), "fold", None)  # two to seven times as fast as LAPACK on so few columns
    own = np.array(R, float, order="C")
    if fold is not None and fold(own, np.ascontiguousarray(rows, float)):
        return own
    return _turned(triangle(np.concatenate([R, rows])))


def _turned(R: Array) -> Array:
    diagonal = np.einsum("...ii->...i", R)
    return np.asarray(R * np.where(diagonal < 0, -1.0, 1.0)[..., None]) + 0.0  # + 0.0: no zero keeps a sign


def without_each(parts: Sequence[Array]) -> list[Array]:
    """R factors of all parts [N, k] but one, for each of them, by merging what lies before and after it."""
    before, after = [parts[0][:0]], [parts[0][:0]]
    for R in parts[:-1]:
        before.append(triangle(np.concatenate([before[-1], R])))
    for R in parts[:0:-1]:
        after.append(triangle(np.concatenate([after[-1], R])))
    return [triangle(np.concatenate(pair)) for pair in zip(before, reversed(after), strict=True)]


def merged(triangles: Array) -> Array:
    """Merge a stack of R factors [B, ..., k, k] into one, eight at a time in a fixed order."""
    level = np.asarray(triangles)
    if len(level) == 0:
        raise ValueError("nothing to merge")
    while len(level) > 1:
        groups = [level[k : k + FAN] for k in range(0, len(level), FAN)]
        level = np.stack([triangle(np.concatenate(list(group), axis=-2)) for group in groups])
    return np.asarray(level[0])


def gram_triangle(rows: Array, S: Array) -> Array:
    """R factor [k, k] of rows [N, k] by preconditioned normal equations, faster than QR.

    S: R factor of similar rows, used as the preconditioner.  Falls back to QR where the rows are not similar
    enough for the same accuracy, or are rank deficient.
    """
    if len(rows) <= rows.shape[1]:
        return triangle(rows)
    Z = rows @ solve_triangular(S, np.eye(len(S)), check_finite=False)
    try:
        L = np.linalg.cholesky(Z.T @ Z)
    except np.linalg.LinAlgError:
        return triangle(rows)
    sizes = np.diag(L)
    return triangle(rows) if sizes.max() > SIMILAR * sizes.min() else np.asarray(L.T @ S)


def preconditioner(R: Array) -> Array:
    """R factor that is safe to divide by: no diagonal entry below 1e-6 of its column's norm."""
    S = np.array(R)
    lengths = np.linalg.norm(S, axis=-2)
    floor = np.maximum(1e-6 * lengths, 1e-150)
    d = np.arange(S.shape[-1])
    small = np.abs(S[..., d, d]) < floor
    S[..., d, d] = np.where(small, np.where(lengths > 0, floor, 1.0), S[..., d, d])
    return S


class Accumulator:
    """Accumulates the R factors of the blocks of one log; beyond `max_blocks`, neighbours are merged.

    Rows are collected in pieces, by effort, and each piece is reduced to an R factor at once; so memory does not
    grow with the log, and the result does not depend on how the rows arrive.  largest: largest absolute entries
    so far, (efforts, columns).
    """

    def __init__(self, efforts: int, columns: int, block: int, max_blocks: int, method: str) -> None:
        self.block, self.max_blocks, self.method = block, max_blocks, method
        self.done: list[Array] = []
        self.counts: list[int] = []
        self.largest = np.zeros((efforts, columns))
        piece = min(PIECE, max(PIECE_NUMBERS // (efforts * columns), 4 * columns))
        self._rows = np.empty((efforts, piece, columns))
        self._filled = 0  # rows of the piece
        self._before = 0  # samples of the block in pieces before it
        self._open: Array | None = None  # their triangles
        self._similar: list[Array | None] = [None] * efforts

    @property
    def samples(self) -> int:
        """Number of samples added so far."""
        return sum(self.counts) + self._before + self._filled

    def add(self, Y: Array, tau: Array) -> None:
        """Add rows [N, efforts, columns - 1] and efforts [N, efforts] that follow the previous ones."""
        done = 0
        while done < len(Y):
            left = min(self._rows.shape[1] - self._filled, self.block - self._before - self._filled)
            count = min(left, len(Y) - done)
            into, own = self._rows[:, self._filled : self._filled + count], slice(done, done + count)
            into[:, :, :-1] = np.swapaxes(Y[own], 0, 1)
            into[:, :, -1] = tau[own].T
            self._filled += count
            done += count
            if count == left:
                self._fold()
                if self._before == self.block:
                    self._close()

    def finish(self) -> tuple[Array, Array]:
        """R factors [B, n, k, k] and samples per block [B]; a short remainder joins the last block."""
        if self._filled:
            self._fold()
        if self._before >= self.block // 2 or (self._before and not self.done):
            self._close()
        elif self._open is not None:
            self.done[-1] = merged(np.stack([self.done[-1], self._open]))
            self.counts[-1] += self._before
            self._open, self._before = None, 0
        return np.stack(self.done), np.array(self.counts)

    def _fold(self) -> None:
        """Reduce the current piece to R factors and merge them with those of its block."""
        rows = self._rows[:, : self._filled]
        R = np.stack([self._triangle(effort, own) for effort, own in enumerate(rows)])
        self._open = R if self._open is None else triangle(np.concatenate([self._open, R], axis=-2))
        self._before += self._filled
        self._filled = 0

    def _triangle(self, effort: int, rows: Array) -> Array:
        """R factor of the rows of one effort; zero columns (about half, structurally) are skipped."""
        size = np.maximum(rows.max(axis=0), -rows.min(axis=0))
        self.largest[effort] = np.maximum(self.largest[effort], size)
        shown = np.flatnonzero(size > 0)
        if len(rows) <= len(shown) or not len(shown):
            return triangle(rows)
        own, S = np.ix_(shown, shown), self._similar[effort]
        R = np.zeros((rows.shape[1], rows.shape[1]))
        R[own] = triangle(rows[:, shown]) if S is None else gram_triangle(rows[:, shown], S[own])
        if self.method == "gram":
            self._similar[effort] = preconditioner(R)
        return R

    def _close(self) -> None:
        assert self._open is not None
        self.done.append(self._open)
        self.counts.append(self._before)
        self._open, self._before = None, 0
        if len(self.done) > self.max_blocks:
            self._halve()

    def _halve(self) -> None:
        even = len(self.done) // 2 * 2
        pairs = [merged(np.stack(self.done[k : k + 2])) for k in range(0, even, 2)]
        self.done = pairs + self.done[even:]
        self.counts = [sum(self.counts[k : k + 2]) for k in range(0, even, 2)] + self.counts[even:]
        self.block *= 2
