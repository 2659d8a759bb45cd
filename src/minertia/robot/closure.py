"""Closing of loops on numbers: how far cut joints are from closed, its derivative, and Newton's steps to closed.

Positions are those of every joint of the tree, shape (..., n_joints), so that one call serves a batch.
The equations are those of `closure_rows`, on numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from minertia.io.arrays import Array
from minertia.robot.closure_rows import cut_equations
from minertia.robot.loop import Cut
from minertia.robot.robot import Robot

STEPS = 60
LARGEST_STEP = 0.5  # rad or m: of one step of Newton
CLOSED = 1e-10  # what is left of the equations [m or rad] where a loop counts as closed
CUTOFF = 1e-9  # singular values below this part of the largest are none


def residual(robot: Robot, q: ArrayLike, cuts: Sequence[Cut] | None = None) -> Array:
    """What is left of the equations of the cuts (by default the open ones), (..., equations) [m and cosines]."""
    return equations(robot, q, cuts)[0]


def jacobian(robot: Robot, q: ArrayLike, cuts: Sequence[Cut] | None = None) -> Array:
    """Derivative of `residual` by the position of every joint, (..., equations, n_joints); followers count as free."""
    return equations(robot, q, cuts)[1]


def equations(robot: Robot, q: ArrayLike, cuts: Sequence[Cut] | None = None) -> tuple[Array, Array]:
    """`residual` and `jacobian`; q: position of every joint, shape (..., n_joints) [rad or m]."""
    given, numeric = np.asarray(q, float), robot.numeric
    chosen = [cut.at(robot.symbol_values) for cut in (robot.open_cuts if cuts is None else cuts)]
    scalars = [given[..., j] for j in range(numeric.n_joints)]
    found = [cut_equations(numeric, cut, scalars) for cut in chosen]
    values = [value for own, _ in found for value in own]
    rows = [row for _, own in found for row in own]
    left = np.zeros((*given.shape[:-1], len(values)))
    A = np.zeros((*left.shape, numeric.n_joints))
    for k, (value, row) in enumerate(zip(values, rows, strict=True)):
        left[..., k] = value
        for j, entry in row.items():
            A[..., k, j] = entry
    return left, A


def follower_map(robot: Robot) -> tuple[Array, Array]:
    """S and c with positions of all joints = S u + c, u: those of the joints that follow no other, passive ones too."""
    tree = robot.opened
    S, c = np.zeros((tree.n_joints, tree.n)), np.zeros(tree.n_joints)
    for j, joint in enumerate(tree.joints):
        for k, ratio in tree.shares(j):
            S[j, k] += float(ratio)  # type: ignore[arg-type]
        c[j] = 0.0 if joint.follows is None else joint.follows.offset
    return S, c


def close(
    robot: Robot, start: ArrayLike, held: Sequence[int] = (), cuts: Sequence[Cut] | None = None
) -> tuple[Array, float]:
    """Positions of all joints near `start` at which the cuts close, and the largest equation left.

    held: joints that keep their position.  Newton's steps of least length, until they do not improve any more.
    """
    q, left = close_many(robot, np.asarray(start, float)[None], held, cuts)
    return q[0], float(left[0])


def close_many(
    robot: Robot, starts: Array, held: Sequence[int] = (), cuts: Sequence[Cut] | None = None
) -> tuple[Array, Array]:
    """`close` from each of the starts, (starts, n_joints): closed positions, and the largest equation left of each."""
    S, c = follower_map(robot)
    free = list(robot.opened.independent)
    moving = [k for k, j in enumerate(free) if j not in held]
    u = starts[:, free]
    best, left = u @ S.T + c, np.full(len(u), np.inf)
    going = np.arange(len(u))
    for _ in range(STEPS):
        q = u[going] @ S.T + c
        r, slopes = equations(robot, q, cuts)
        now = np.abs(r).max(axis=-1, initial=0.0)
        better = now < left[going]  # what is not a number is none
        best[going[better]], left[going[better]] = q[better], now[better]
        going = going[better]
        if not len(going):
            break
        A = slopes[better] @ S[:, moving]
        step = -np.einsum("sij,sj->si", np.linalg.pinv(A, rcond=CUTOFF), r[better])
        step *= np.minimum(1.0, LARGEST_STEP / np.maximum(np.abs(step).max(axis=1, initial=0.0), 1e-300))[:, None]
        u[np.ix_(going, moving)] += step
    return best, left


def motions_left(A: Array, cutoff: float) -> Array:
    """Motions that equations A leave, one per column: its null space, singular values below the cutoff being none."""
    _, values, V = np.linalg.svd(A)
    rank = int(np.sum(values > cutoff * max(float(values.max(initial=0.0)), 1e-300)))
    return np.asarray(V[rank:].T)
