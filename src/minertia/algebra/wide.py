"""Arithmetic with 60 decimal digits, as arrays of `decimal.Decimal`, for rank decisions beyond double precision.

Sums and products use NumPy object arrays; every computation runs inside `digits()`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from decimal import Context, Decimal, localcontext
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.algebra.expr import Tape

Wide = NDArray[np.object_]
DIGITS = 60
HALVINGS = 6  # of an angle before its series


def digits() -> AbstractContextManager[Context]:
    """Context manager that sets decimal arithmetic to 60 digits."""
    return localcontext(Context(prec=DIGITS))


def wide(values: ArrayLike) -> Wide:
    """Convert an array of floats exactly to decimals."""
    return np.asarray(_EXACT(np.asarray(values, float)), object)


def wide_tape(outputs: Sequence[Any]) -> Tape:
    """Return a tape that runs on arrays of decimals."""
    return Tape(outputs, _OPERATIONS, Decimal)


def stacked(values: Sequence[Any], count: int) -> Wide:
    """Stack the outputs of a tape, some of which may be constants, as columns."""
    found = np.empty((count, len(values)), object)
    for k, value in enumerate(values):
        found[:, k] = value if isinstance(value, np.ndarray | Decimal) else Decimal(value)
    return found


def solve(A: Wide, b: Wide) -> Wide:
    """Solve A x = b for every sample, A (N, r, r), b (N, r, columns), by Gaussian elimination with row pivoting."""
    A, b, every = A.copy(), b.copy(), np.arange(len(A))
    for k in range(A.shape[1]):
        pivot = np.abs(A[:, k:, k]).astype(float).argmax(axis=1) + k
        for M in (A, b):
            M[every, k], M[every, pivot] = M[every, pivot].copy(), M[every, k].copy()
        part = Decimal(1) / A[:, k, k]
        A[:, k], b[:, k] = A[:, k] * part[:, None], b[:, k] * part[:, None]
        others = [i for i in range(A.shape[1]) if i != k]
        factors = A[:, others, k, None]
        b[:, others] = b[:, others] - factors * b[:, None, k]
        A[:, others] = A[:, others] - factors * A[:, None, k]
    return b


def pivot_sizes(W: Wide) -> list[float]:
    """Pivot norms of a column-pivoted QR factorisation of columns of length 1 (or 0), largest first."""
    V = W / np.array([_length(column) or Decimal(1) for column in W.T], object)
    found: list[float] = []
    while V.shape[1]:
        sizes = [_length(column) for column in V.T]
        k = max(range(len(sizes)), key=sizes.__getitem__)
        found.append(float(sizes[k]))
        if not sizes[k]:
            return [*found, *[0.0] * (V.shape[1] - 1)]
        v, V = V[:, k] / sizes[k], np.delete(V, k, axis=1)
        V = V - v[:, None] * (v[:, None] * V).sum(axis=0)
    return found


def _length(column: Wide) -> Decimal:
    return Decimal((column * column).sum()).sqrt()


def _turn(angle: Decimal) -> tuple[Decimal, Decimal]:
    """Sine and cosine by their series at a small fraction of the angle, followed by angle doubling."""
    small = angle / 2**HALVINGS
    square, sine, cosine = small * small, small, Decimal(1)
    odd, even, k = small, Decimal(1), 0
    while abs(even) > Decimal(10) ** -(DIGITS + 5):
        k += 2
        even = -even * square / (k * (k - 1))
        odd = -odd * square / (k * (k + 1))
        sine, cosine = sine + odd, cosine + even
    for _ in range(HALVINGS):
        sine, cosine = 2 * sine * cosine, 1 - 2 * sine * sine
    return sine, cosine


_EXACT = np.frompyfunc(Decimal, 1, 1)
_OPERATIONS: dict[str, Callable[..., Any]] = {
    "sin": np.frompyfunc(lambda angle: _turn(angle)[0], 1, 1),
    "cos": np.frompyfunc(lambda angle: _turn(angle)[1], 1, 1),
    "sqrt": np.frompyfunc(Decimal.sqrt, 1, 1),
    "sign": np.frompyfunc(lambda value: Decimal((value > 0) - (value < 0)), 1, 1),
    "abs": np.frompyfunc(abs, 1, 1),
}
