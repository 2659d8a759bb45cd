"""Limited-memory BFGS for functions that are infinite outside their domain."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Function = Callable[[Array], tuple[float, Array]]
MEMORY = 20
HALVINGS = 30


class Minimum(NamedTuple):
    """Where the search ended."""

    x: Array
    value: float
    iterations: int


def minimise(function: Function, x: Array, *, iterations: int, tolerance: float, first_step: float = 0.1) -> Minimum:
    """Walk down from a point inside the domain until the value falls by less than `tolerance` in three steps.

    Steps that leave the domain (infinite values) are halved, which is all that logarithmic walls ask for.
    """
    value, g = function(x)
    pairs: list[tuple[Array, Array, float]] = []
    recent: list[float] = []
    for k in range(iterations):
        d = _direction(g, pairs, first_step)
        found = _step(function, x, value, g, d)
        if found is None:
            if not pairs:
                return Minimum(x, value, k)
            pairs = []  # the model of the curvature is wrong here: start again along the gradient
            continue
        x_new, new, g_new = found
        s, y = x_new - x, g_new - g
        if (sy := float(s @ y)) > 1e-10 * float(np.linalg.norm(s) * np.linalg.norm(y)):
            pairs = [*pairs[1 - MEMORY :], (s, y, sy)]
        recent = [*recent[-2:], value - new]
        x, value, g = x_new, new, g_new
        if len(recent) == 3 and sum(recent) < tolerance:
            return Minimum(x, value, k + 1)
    return Minimum(x, value, iterations)


def _direction(g: Array, pairs: list[tuple[Array, Array, float]], first_step: float) -> Array:
    d = -g
    if not pairs:
        return d * (first_step / max(float(np.linalg.norm(g)), 1e-300))
    factors = []
    for s, y, sy in reversed(pairs):
        a = float(s @ d) / sy
        factors.append(a)
        d = d - a * y
    _, y, sy = pairs[-1]
    d = d * (sy / float(y @ y))
    for (s, y, sy), a in zip(pairs, reversed(factors), strict=True):
        d = d + (a - float(y @ d) / sy) * s
    return d


def _step(function: Function, x: Array, value: float, g: Array, d: Array) -> tuple[Array, float, Array] | None:
    slope, step = float(g @ d), 1.0
    if not slope < 0:
        return None
    for _ in range(HALVINGS):
        x_new = x + step * d
        new, g_new = function(x_new)
        if new <= value + 1e-4 * step * slope:
            return x_new, new, g_new
        if np.isfinite(new):  # the lowest point of the parabola through what is known
            step *= min(max(-0.5 * slope * step / (new - value - slope * step), 0.1), 0.6)
        else:
            step *= 0.5
    return None
