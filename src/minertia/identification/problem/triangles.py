"""Triangles: what least squares needs to know of any number of rows.

R of the QR factorisation of [W tau] has W'W, W'tau and tau'tau in a few kilobytes.  Triangles of blocks are merged
in a fixed tree, so the result does not depend on how a log was cut for reading.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

Array = NDArray[np.float64]
FAN = 8  # triangles merged at a time


def triangle(rows: Array) -> Array:
    """R of [..., N, k] rows, shape [..., k, k] (padded with zeros where N < k)."""
    k = rows.shape[-1]
    if rows.shape[-2] == 0:
        return np.zeros((*rows.shape[:-2], k, k))
    R: Array = np.asarray(np.linalg.qr(rows, mode="r"))
    if R.shape[-2] < k:
        R = np.concatenate([R, np.zeros((*R.shape[:-2], k - R.shape[-2], k))], axis=-2)
    return np.asarray(R)


def shown_triangle(rows: Array) -> Array:
    """R of each of [n, N, k] rows; columns that are zero, half of them by structure, are left out of the work."""
    n, N, k = rows.shape
    R = np.zeros((n, k, k))
    for own, target in zip(rows, R, strict=True):
        shown = np.flatnonzero(np.abs(own).max(axis=0, initial=0.0) > 0)
        if N > len(shown) > 0:
            target[np.ix_(shown, shown)] = triangle(own[:, shown])
        else:
            target[:] = triangle(own)
    return R


def merged(triangles: Array) -> Array:
    """One triangle of a stack [B, ..., k, k], eight at a time in a fixed order."""
    level = np.asarray(triangles)
    if len(level) == 0:
        raise ValueError("nothing to merge")
    while len(level) > 1:
        groups = [level[k : k + FAN] for k in range(0, len(level), FAN)]
        level = np.stack([triangle(np.concatenate(list(group), axis=-2)) for group in groups])
    return np.asarray(level[0])


def gram_triangle(rows: Array, S: Array | None) -> Array:
    """Triangle through normal equations of rows S^-1, S a triangle of similar rows: as accurate as QR, and faster.

    [n, N, k] rows, [n, k, k] S.  Where the rows do not have full rank it is QR after all.
    """
    if S is None:
        return triangle(rows)
    return np.stack([_gram_triangle(r, s) for r, s in zip(rows, S, strict=True)])


def _gram_triangle(rows: Array, S: Array) -> Array:
    shown = np.flatnonzero(np.abs(rows).max(axis=0) > 0)
    if len(rows) <= len(shown):
        return triangle(rows)
    own = np.ix_(shown, shown)
    inverse = solve_triangular(S[own], np.eye(shown.size), check_finite=False)
    Z = rows[:, shown] @ inverse
    try:
        L = np.linalg.cholesky(Z.T @ Z)
    except np.linalg.LinAlgError:
        return triangle(rows)
    R = np.zeros_like(S)
    R[own] = L.T @ S[own]
    return R


def preconditioner(R: Array) -> Array:
    """A triangle made safe to divide by: no diagonal entry below 1e-6 of its column's length."""
    S = np.array(R)
    lengths = np.linalg.norm(S, axis=-2)
    floor = np.maximum(1e-6 * lengths, 1e-150)
    d = np.arange(S.shape[-1])
    small = np.abs(S[..., d, d]) < floor
    S[..., d, d] = np.where(small, np.where(lengths > 0, floor, 1.0), S[..., d, d])
    return S


class Accumulator:
    """Triangles of the blocks of one recording, at most `max_blocks`: beyond that neighbours are merged."""

    def __init__(self, block: int, max_blocks: int, method: str) -> None:
        self.block, self.max_blocks, self.method = block, max_blocks, method
        self.done: list[Array] = []
        self.counts: list[int] = []
        self.pending: list[Array] = []
        self.S: Array | None = None

    def add(self, rows: Array) -> None:
        """Rows [N, n, k] that follow those added before."""
        self.pending.append(rows)
        if sum(map(len, self.pending)) < self.block:
            return
        waiting = np.concatenate(self.pending) if len(self.pending) > 1 else self.pending[0]
        while (size := self.block) <= len(waiting):  # closing a block may double it
            self._close(waiting[:size])
            waiting = waiting[size:]
        self.pending = [waiting]

    def finish(self) -> tuple[Array, Array]:
        """Triangles [B, n, k, k] and samples per block [B]; a short rest joins the last block."""
        rest = np.concatenate(self.pending) if self.pending else np.zeros((0, 1, 1))
        if len(rest) >= self.block // 2 or (len(rest) and not self.done):
            self._close(rest)
        elif len(rest):
            last = np.stack([self.done[-1], triangle(np.swapaxes(rest, 0, 1))])
            self.done[-1] = merged(last)
            self.counts[-1] += len(rest)
        self.pending = []
        return np.stack(self.done), np.array(self.counts)

    def _close(self, rows: Array) -> None:
        by_row = np.swapaxes(rows, 0, 1)
        R = gram_triangle(by_row, self.S) if self.method == "gram" else shown_triangle(by_row)
        if self.method == "gram" and self.S is None:
            self.S = preconditioner(R)
        self.done.append(R)
        self.counts.append(len(rows))
        if len(self.done) > self.max_blocks:
            self._halve()

    def _halve(self) -> None:
        even = len(self.done) // 2 * 2
        pairs = [merged(np.stack(self.done[k : k + 2])) for k in range(0, even, 2)]
        self.done = pairs + self.done[even:]
        self.counts = [sum(self.counts[k : k + 2]) for k in range(0, even, 2)] + self.counts[even:]
        self.block *= 2
