"""Minimisation with barriers: exact curvature of the barriers, BFGS for everything else.

The Hessian of the search is a BFGS model of the criterion plus the block-diagonal curvature of the barriers at the
joint limits.  A plain quasi-Newton method has to learn those steep barriers at every step and takes many times as
long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from minertia.excitation.objective import INFINITE, Objective, ObjectiveValue
from minertia.io.arrays import Array

HALVINGS = 25
NEAR = 0.95  # part of the way to a wall that one step may go


class Minimum(NamedTuple):
    """Result of a search: the minimiser and the BFGS model of the criterion there."""

    y: Array
    value: float
    iterations: int
    model: Array


def minimise(
    objective: Objective,
    function: Callable[[Array], ObjectiveValue | None],
    y: Array,
    *,
    weight: float,
    iterations: int,
    tolerance: float,
    model: Array | None = None,
) -> Minimum:
    """Minimise from a point inside the barriers until the value falls by less than `tolerance` in three steps.

    If the function has no value at the initial point (singular information matrix), that point is returned.
    """
    here = function(y)
    if here is None:
        return Minimum(y, INFINITE, 0, np.eye(len(y)))
    B = None if model is None else model
    recent: list[float] = []
    for k in range(iterations):
        H = objective.wall_curvature(here.use, weight)
        d = _direction(B, H, here)
        found = _step(objective, function, y, here, d)
        if found is None:
            if B is None:
                return Minimum(y, here.value, k, np.eye(len(y)))
            B = None
            continue
        y_new, there = found
        B = _updated(B, y_new - y, there.rest - here.rest)
        recent = [*recent[-2:], here.value - there.value]
        y, here = y_new, there
        if len(recent) == 3 and sum(recent) < tolerance:
            break
    return Minimum(y, here.value, k + 1, np.eye(len(y)) if B is None else B)


def _direction(B: Array | None, H: Array, here: ObjectiveValue) -> Array:
    g = here.rest + here.wall
    A = np.eye(len(g)) * float(np.linalg.norm(here.rest)) * 10 if B is None else B.copy()
    n, m = H.shape[:2]
    blocks = A.reshape(n, m, n, m)
    blocks[np.arange(n), :, np.arange(n), :] += H
    _, x, info = lapack.dposv(A, -g, lower=1)
    return x if info == 0 else -g / max(float(np.linalg.norm(g)), 1e-300)


def _updated(B: Array | None, s: Array, y: Array) -> Array:
    """Powell's damped BFGS update: stays positive definite where the criterion has negative curvature."""
    sy = float(s @ y)
    if B is None:
        length = max(float(np.linalg.norm(s)), 1e-300)
        B = np.eye(len(s)) * max(float(y @ y) / sy if sy > 0 else float(np.linalg.norm(y)) / length, 1e-8)
    Bs = B @ s
    sBs = float(s @ Bs)
    if sy < 0.2 * sBs:
        theta = 0.8 * sBs / (sBs - sy)
        y = theta * y + (1 - theta) * Bs
        sy = float(s @ y)
    if not (sBs > 0 and 0 < sy < np.inf):  # a step too small to tell anything
        return B
    return B + np.outer(y, y / sy) - np.outer(Bs, Bs / sBs)


def _step(
    objective: Objective, function: Callable[[Array], ObjectiveValue | None], y: Array, here: ObjectiveValue, d: Array
) -> tuple[Array, ObjectiveValue] | None:
    slope = float((here.rest + here.wall) @ d)
    if not slope < 0:
        return None
    step = min(1.0, NEAR * objective.room(here.use, d))
    for _ in range(HALVINGS):
        there = function(y + step * d)
        if there is not None and there.value <= here.value + 1e-4 * step * slope:
            return y + step * d, there
        if there is None:
            step *= 0.5
        else:  # the lowest point of the parabola through what is known
            step *= min(max(-0.5 * slope * step / (there.value - here.value - slope * step), 0.1), 0.6)
    return None
