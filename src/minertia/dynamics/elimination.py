"""Gaussian elimination on any scalar, unrolled: pivots are chosen once, from numbers, so that code has no branch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from minertia.algebra.scalar import Scalar, div, is_zero, mul, sub
from minertia.io.arrays import Array

Pivots = tuple[tuple[int, int], ...]  # row and column of each, in order
PIVOT = 0.1  # part of the largest entry below a pivot that it must have wherever the matrix was looked at
NONE = 1e-12  # part of its row's largest entry at which an entry counts as none


def pivots_of(A: Array) -> Pivots:
    """Pivots for matrices of one structure, shape (N, r, r): none small in any of them, and few operations."""
    work = A / np.abs(A).max(axis=2, initial=0.0, keepdims=True)
    rows, columns = list(range(A.shape[1])), list(range(A.shape[2]))
    found: list[tuple[int, int]] = []
    while rows:
        part = np.abs(work[np.ix_(range(len(work)), rows, columns)])
        strength = (part / np.maximum(part.max(axis=1, keepdims=True), NONE)).min(axis=0)
        there = (part > NONE).any(axis=0)
        cost = np.outer(there.sum(axis=1) - 1, there.sum(axis=0) - 1)
        least = min(PIVOT, float(strength.max()))
        chosen = np.where(strength >= least, cost - strength, np.inf)  # the stronger of equally cheap ones
        i, c = np.unravel_index(int(np.argmin(chosen)), chosen.shape)
        row, column = rows.pop(int(i)), columns.pop(int(c))
        found.append((row, column))
        factors = work[:, rows, column] / work[:, row, column, None]
        work[:, rows] -= factors[:, :, None] * work[:, None, row]
    return tuple(found)


class Eliminated:
    """A square system of equations whose matrix is eliminated once, for any number of right-hand sides.

    rows: {column: entry}, structural zeros left out.  diagonal: what was divided by, in whose product, the determinant,
    only a sign is missing that depends on the pivots alone.
    """

    def __init__(self, pivots: Pivots, rows: Sequence[Mapping[int, Scalar]]) -> None:
        self.pivots = pivots
        self.rows = [{c: entry for c, entry in row.items() if not is_zero(entry)} for row in rows]
        self.diagonal: list[Scalar] = []
        self.inverses: list[Scalar] = []
        self.factors: list[tuple[int, int, Scalar]] = []  # row that changes, row taken from it, how often
        left = set(range(len(self.rows)))
        for row, column in pivots:
            left.discard(row)
            self.diagonal.append(self.rows[row][column])
            self.inverses.append(div(1, self.diagonal[-1]))
            for other in sorted(left):
                if column in self.rows[other]:
                    self._eliminate(other, row, column)

    def _eliminate(self, other: int, row: int, column: int) -> None:
        changed, taken = self.rows[other], self.rows[row]
        factor = mul(changed.pop(column), self.inverses[-1])
        self.factors.append((other, row, factor))
        for c, entry in taken.items():
            if c != column:
                changed[c] = sub(changed.get(c, 0), mul(factor, entry))

    def solve(self, right: Sequence[Scalar]) -> dict[int, Scalar]:
        """{column: unknown}."""
        values = list(right)
        for other, row, factor in self.factors:
            values[other] = sub(values[other], mul(factor, values[row]))
        found: dict[int, Scalar] = {}
        for (row, column), inverse in reversed(list(zip(self.pivots, self.inverses, strict=True))):
            value = values[row]
            for c, entry in self.rows[row].items():
                if c in found:
                    value = sub(value, mul(entry, found[c]))
            found[column] = mul(value, inverse)
        return found
