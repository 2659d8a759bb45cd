"""One step of recursive least squares in square-root form, on scalars: for the controller's C and for identification.

The covariance P = S S' is carried by its upper triangular root S (Carlson 1973), so it stays positive whatever the
rounding; with a forgetting factor f the information of the past is multiplied by f at each step.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minertia.algebra.scalar import Scalar, add, div, is_zero, mul, sub

Matrix = list[list[Scalar]]


def square_root_update(
    S: Matrix, theta: Sequence[Scalar], row: Sequence[Scalar], value: Scalar, forgetting: Scalar = 1
) -> tuple[Matrix, list[Scalar]]:
    """S and theta after a measurement value = row . theta + noise of deviation 1 (scale both by 1/deviation).

    S: upper triangular, p x p.  Entries of the row that are the int 0 cost nothing.
    """
    p = len(theta)
    f = [_dot([(S[i][j], row[i]) for i in range(j + 1)]) for j in range(p)]  # S' row
    error = sub(value, _dot(list(zip(row, theta, strict=True))))
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
    """Column j of the root, and what it adds to the gain."""
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


def sqrt(a: Scalar) -> Scalar:
    """Square root of any scalar."""
    if type(a) is int and a in (0, 1):
        return a
    return a.sqrt() if hasattr(a, "sqrt") else np.sqrt(a)


def _dot(pairs: Sequence[tuple[Scalar, Scalar]]) -> Scalar:
    total: Scalar = 0
    for a, b in pairs:
        total = add(total, mul(a, b))
    return total
