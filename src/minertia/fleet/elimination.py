"""Columns that are free on each day, or of each robot, taken off the rows: what is left, and the way back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from minertia.fleet.day_stack import DayStack
from minertia.io.arrays import Array

RANK = 1e-6  # of a column's length: less than that beside the columns before it is nothing


@dataclass(frozen=True)
class Head:
    """What gives columns that were taken off their values back: R own = H [rest | effort], effort by effort."""

    names: tuple[tuple[str, ...], ...]
    R: tuple[Array, ...]  # (..., e, e)
    H: tuple[Array, ...]  # (..., e, k)
    rest: tuple[tuple[str, ...], ...]  # names of the k - 1 columns

    def one(self, place: int) -> Head:
        """That of one of several robots."""
        own = slice(place, place + 1)
        return Head(self.names, tuple(R[own] for R in self.R), tuple(H[own] for H in self.H), self.rest)

    def values(self, above: Mapping[str, float]) -> dict[str, Array]:
        """Values of the columns, (...,) each, where those above have these."""
        found: dict[str, Array] = {}
        for names, R, H, rest in zip(self.names, self.R, self.H, self.rest, strict=True):
            if names:
                known = np.array([-above[name] for name in rest] + [1.0])
                own = _solved(R, H @ known)
                found |= {name: own[..., k] for k, name in enumerate(names)}
        return found

    def mean_slopes(self) -> Iterator[tuple[tuple[str, ...], Array, tuple[str, ...]]]:
        """Names of own columns, their values' mean slopes (e, k - 1) over those of the rest, and the rest's names.

        For each effort, over the days that show all its own columns; efforts without such a day are left out.
        """
        for names, R, H, rest in zip(self.names, self.R, self.H, self.rest, strict=True):
            alive = np.all(np.einsum("dii->di", R) != 0, axis=1)
            if names and alive.any():
                inv = np.linalg.inv(R[alive])
                flat = H[alive][:, :, :-1].reshape(-1, len(rest))
                yield names, np.swapaxes(inv, 0, 1).reshape(len(names), -1) @ flat / len(inv), rest


def projected(
    stack: DayStack, names: Sequence[str], kept: Sequence[str] | None = None, *, alone: bool = False
) -> tuple[DayStack, Head]:
    """What is left of the rows when columns, free on each day, are projected out, and what gives their values back.

    kept: the columns that stay, in this order; all others by default.  alone: days have nothing to do with one another,
    so each tells by itself which columns are explained.
    """
    wanted = set(names)
    if stack.layout.shares(wanted):
        stack = stack.joined()
    above = [n for n in stack.layout.names if n not in wanted] if kept is None else kept
    layout, places = stack.layout.chosen(above)
    rows, own_names, Rs, Hs = [], [], [], []
    for B, titles, own in zip(stack.rows, stack.layout.titles, places, strict=True):
        gone = [k for k, name in enumerate(titles) if name in wanted]
        rest = np.take(B, [*own, B.shape[2] - 1], axis=2)
        Q, R = _basis(np.take(B, gone, axis=2))
        H = np.swapaxes(Q, 1, 2) @ rest
        if gone:
            rest -= Q @ H
            _clear(rest, H, alone)
        rows.append(rest)
        own_names.append(tuple(titles[k] for k in gone))
        Rs.append(R)
        Hs.append(H)
    head = Head(tuple(own_names), tuple(Rs), tuple(Hs), layout.titles)
    return DayStack(layout, stack.days, tuple(rows), stack.samples), head


def shows_all(R: Array) -> bool:
    """Whether every column of triangles (D, e, e) adds to those before it."""
    lengths = np.sqrt(np.einsum("djk,djk->dk", R, R))
    return bool(np.all(np.abs(np.einsum("dii->di", R)) > RANK * np.maximum(lengths, 1e-300)))


def _clear(left: Array, H: Array, alone: bool) -> None:
    """Set columns of which next to nothing is left to zero: rounding must not pass for a direction.

    H (D, e, k): what was taken off each.  alone: day by day.
    """
    square, taken = (np.einsum("dnk,dnk->dk", part, part) for part in (left, H))
    if not alone:
        square, taken = square.sum(axis=0, keepdims=True), taken.sum(axis=0, keepdims=True)
    dead = square <= RANK**2 * (square + taken)
    dead[:, -1] = False  # an effort may be explained completely
    if dead.any():
        left[np.broadcast_to(dead[:, None], left.shape)] = 0.0


def _basis(X: Array) -> tuple[Array, Array]:
    """Orthogonal columns that span those of X (D, N, e), and R with X = Q R; columns that add nothing are zero in both.

    Column by column where some add nothing: Householder's way would span other directions in their place, and take
    those off the rows.
    """
    if X.shape[2] == 0:
        return X, np.zeros((len(X), 0, 0))
    Q, R = np.linalg.qr(X)
    if shows_all(R):
        return Q, R
    lengths = np.sqrt(np.einsum("djk,djk->dk", R, R))
    Q, R = np.zeros(X.shape), np.zeros((len(X), X.shape[2], X.shape[2]))
    for k in range(X.shape[2]):
        v = X[:, :, k]
        for _ in range(2):  # twice is enough
            part = np.einsum("dnj,dn->dj", Q[:, :, :k], v)
            v = v - np.einsum("dnj,dj->dn", Q[:, :, :k], part)
            R[:, :k, k] += part
        size = np.linalg.norm(v, axis=1)
        alive = size > RANK * np.maximum(lengths[:, k], 1e-300)
        R[:, k, k] = np.where(alive, size, 0.0)
        Q[:, :, k] = np.where(alive[:, None], v / np.where(alive, size, 1.0)[:, None], 0.0)
    return Q, R


def _solved(R: Array, b: Array) -> Array:
    """R x = b for triangles (..., e, e) some rows of which may be zero: their values are NaN."""
    if np.all(np.einsum("...ii->...i", R) != 0):
        return np.asarray(np.linalg.solve(R, b[..., None])[..., 0])
    x = np.full(b.shape, np.nan)
    for k in range(R.shape[-1] - 1, -1, -1):
        rest = b[..., k] - np.einsum("...j,...j->...", R[..., k, k + 1 :], np.nan_to_num(x[..., k + 1 :]))
        pivot = R[..., k, k]
        x[..., k] = np.where(pivot != 0, rest / np.where(pivot != 0, pivot, 1.0), np.nan)
    return x
