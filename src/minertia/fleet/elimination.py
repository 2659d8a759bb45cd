"""Elimination of columns that are free on each day, or of each robot, and back-substitution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from minertia.fleet.day_stack import DayStack
from minertia.io.arrays import Array

RANK = 1e-6  # of a column's length: less than that beside the columns before it is nothing


@dataclass(frozen=True)
class Head:
    """Back-substitution of eliminated columns for each effort: R x = H (-r, 1) gives their values x.

    names: names of the eliminated columns.  R: their triangular factor, Q R.  H: Q' [remaining columns |
    effort].  r: values of the remaining columns.  rest: names of the remaining columns.
    """

    names: tuple[tuple[str, ...], ...]
    R: tuple[Array, ...]  # (..., e, e)
    H: tuple[Array, ...]  # (..., e, k)
    rest: tuple[tuple[str, ...], ...]  # names of the k - 1 columns

    def one(self, place: int) -> Head:
        """Back-substitution for one of several robots, by its index."""
        own = slice(place, place + 1)
        return Head(self.names, tuple(R[own] for R in self.R), tuple(H[own] for H in self.H), self.rest)

    def values(self, above: Mapping[str, float]) -> dict[str, Array]:
        """Values of the eliminated columns, (...,) each, given those of the others."""
        found: dict[str, Array] = {}
        for names, R, H, rest in zip(self.names, self.R, self.H, self.rest, strict=True):
            if names:
                known = np.array([-above[name] for name in rest] + [1.0])
                own = _solved(R, H @ known)
                found |= {name: own[..., k] for k, name in enumerate(names)}
        return found

    def mean_slopes(self) -> Iterator[tuple[tuple[str, ...], Array, tuple[str, ...]]]:
        """Mean sensitivity R^-1 H of the eliminated values to the remaining ones, for each effort.

        It is minus the mean derivative.  Yields the names of the eliminated columns, the matrix (e, k - 1), and the
        names of the remaining columns.  The mean is over days on which the eliminated columns have full rank;
        efforts without such a day are skipped.
        """
        for names, R, H, rest in zip(self.names, self.R, self.H, self.rest, strict=True):
            alive = np.all(np.einsum("dii->di", R) != 0, axis=1)
            if names and rest and alive.any():
                inv = np.linalg.inv(R[alive])
                flat = H[alive][:, :, :-1].reshape(-1, len(rest))
                yield names, np.swapaxes(inv, 0, 1).reshape(len(names), -1) @ flat / len(inv), rest


def projected(
    stack: DayStack, names: Sequence[str], kept: Sequence[str] | None = None, *, alone: bool = False
) -> tuple[DayStack, Head]:
    """Project out columns that are free on each day; return the projected rows and the back-substitution.

    kept: remaining columns, in this order; all others by default.  alone: days are independent, so each determines by
    itself which columns are explained.
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
    """Whether triangular factors (D, e, e) have full rank."""
    lengths = np.sqrt(np.einsum("djk,djk->dk", R, R))
    return bool(np.all(np.abs(np.einsum("dii->di", R)) > RANK * np.maximum(lengths, 1e-300)))


def _clear(left: Array, H: Array, alone: bool) -> None:
    """Set columns with a negligible residual to zero, so that rounding is not taken for information.

    H (D, e, k): projections removed from each.  alone: day by day.
    """
    square, taken = (np.einsum("dnk,dnk->dk", part, part) for part in (left, H))
    if not alone:
        square, taken = square.sum(axis=0, keepdims=True), taken.sum(axis=0, keepdims=True)
    dead = square <= RANK**2 * (square + taken)
    dead[:, -1] = False  # an effort may be explained completely
    if dead.any():
        left[np.broadcast_to(dead[:, None], left.shape)] = 0.0


def _basis(X: Array) -> tuple[Array, Array]:
    """Orthogonal basis of the columns of X (D, N, e), and R with X = Q R; dependent columns are zero in both.

    By Gram-Schmidt if columns are dependent: Householder reflections would span other directions in their place, and
    remove those from the rows.
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
    """Solve R x = b for triangular factors (..., e, e); values of zero rows are NaN."""
    if np.all(np.einsum("...ii->...i", R) != 0):
        return np.asarray(np.linalg.solve(R, b[..., None])[..., 0])
    x = np.full(b.shape, np.nan)
    for k in range(R.shape[-1] - 1, -1, -1):
        rest = b[..., k] - np.einsum("...j,...j->...", R[..., k, k + 1 :], np.nan_to_num(x[..., k + 1 :]))
        pivot = R[..., k, k]
        x[..., k] = np.where(pivot != 0, rest / np.where(pivot != 0, pivot, 1.0), np.nan)
    return x
