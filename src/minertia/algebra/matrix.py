"""Matrices of any scalar type, as lists of rows; operations are unrolled into code without branches.

Sums and products; Gaussian elimination with pivots chosen once from numerical samples; and one step of
recursive least squares in square-root form, for generated C code and for identification.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from minertia.algebra.scalar import Scalar, add, div, is_zero, mul, sqrt, sub
from minertia.io.arrays import Array

Pivots = tuple[tuple[int, int], ...]  # row and column of each, in order
PIVOT = 0.1  # part of the largest entry below a pivot that it must have wherever the matrix was looked at
NONE = 1e-12  # part of its row's largest entry at which an entry counts as none


Matrix = list[list[Scalar]]
Rows = Sequence[Sequence[Scalar]]


def inner(a: Iterable[Scalar], b: Iterable[Scalar], start: Scalar = 0) -> Scalar:
    """Inner product of a and b, added to `start`."""
    found = start
    for x, y in zip(a, b, strict=True):  # each product beside its sum, as generated code has them
        found = add(found, mul(x, y))
    return found


def transposed(A: Rows) -> Matrix:
    """Transpose A'."""
    return [list(column) for column in zip(*A, strict=True)]


def product(A: Rows, B: Rows) -> Matrix:
    """A B."""
    columns = transposed(B)
    return [[inner(row, column) for column in columns] for row in A]


def summed(a: Iterable[Scalar], b: Iterable[Scalar]) -> list[Scalar]:
    """a + b, entry by entry."""
    return [add(x, y) for x, y in zip(a, b, strict=True)]


def matrix_sum(first: Rows, *others: Rows) -> Matrix:
    """Sum of one or more matrices."""
    found = [list(row) for row in first]
    for other in others:
        found = [summed(*rows) for rows in zip(found, other, strict=True)]
    return found


# ------------------------------------------------------------------------------------------------------- elimination


def pivots_of(A: Array) -> Pivots:
    """Choose pivots for matrices of one structure (N, r, r): not small in any of them, with few operations."""
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
    """Linear system whose matrix is eliminated once, for any number of right-hand sides.

    rows: {column: entry}, without structural zeros.  diagonal: pivots, whose product is the determinant up to a sign
    that depends only on the order of the pivots.
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
        """Solution as {column: unknown}."""
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


# -------------------------------------------------------------------------------------------- recursive least squares
# The covariance P = S S' is carried by its upper triangular root S (Carlson 1973), so it stays positive whatever the
# rounding; with a forgetting factor f the information of the past is multiplied by f at each step.


def square_root_update(
    S: Matrix, theta: Sequence[Scalar], row: Sequence[Scalar], value: Scalar, forgetting: Scalar = 1
) -> tuple[Matrix, list[Scalar]]:
    """Update S and theta with a measurement value = row . theta + noise of standard deviation 1.

    Divide row and value by the standard deviation of the noise first.
    S: upper triangular, p x p.  Entries of the row that are the int 0 cost nothing.
    """
    p = len(theta)
    f = [inner([S[i][j] for i in range(j + 1)], row[: j + 1]) for j in range(p)]  # S' row
    error = sub(value, inner(row, theta))
    new: Matrix = [list(line) for line in S]
    gain: list[Scalar] = [0] * p
    alpha: Scalar = forgetting
    for j in range(p):
        if is_zero(f[j]):
            new_alpha, ratio = alpha, 1
        else:
            new_alpha = add(alpha, mul(f[j], f[j]))
            ratio = sqrt(div(alpha, new_alpha))
        _update_column(S, new, gain, j, f[j], alpha, ratio)
        alpha = new_alpha
    _scale(new, forgetting)
    step = div(error, alpha)
    return new, [add(t, mul(g, step)) for t, g in zip(theta, gain, strict=True)]


def _update_column(S: Matrix, new: Matrix, gain: list[Scalar], j: int, f: Scalar, alpha: Scalar, ratio: Scalar) -> None:
    """Update column j of the square root S and add its contribution to the gain."""
    if is_zero(f):
        return
    shrink = div(f, alpha)
    for i in range(j + 1):
        new[i][j] = mul(ratio, sub(S[i][j], mul(shrink, gain[i])))
        gain[i] = add(gain[i], mul(f, S[i][j]))


def _scale(new: Matrix, forgetting: Scalar) -> None:
    if type(forgetting) is int and forgetting == 1:
        return
    growth = div(1, sqrt(forgetting))
    for i in range(len(new)):
        for j in range(i, len(new)):
            new[i][j] = mul(growth, new[i][j])
