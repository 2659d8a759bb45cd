"""The regressor at random states, and the rank of any matrix at a fixed tolerance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lapack

from minertia.dynamics.closing import closing_of
from minertia.dynamics.kinematics import State
from minertia.dynamics.model import torque_regressor
from minertia.io.arrays import Array
from minertia.robot.robot import Robot

RANK_TOLERANCE = 1e-9  # of the largest singular value, columns scaled to length 1
SMALL = 1e-9  # coefficients below this part of the largest are rounding errors
STATES = 100
FEWEST_STATES = 50  # of large robots, where each state gives many rows


def random_states(robot: Robot, count: int, seed: int) -> State:
    """States that excite everything: any posture (of closed loops), velocities and accelerations of gravity's size."""
    rng = np.random.default_rng(seed)
    reach = np.array([np.pi if robot.joints[j].kind == "revolute" else 1.0 for j in robot.independent])
    q = rng.uniform(-1, 1, (count, robot.n)) * reach
    if robot.open_cuts:  # only postures in which the loops are closed, on the branch of the seed
        q = closing_of(robot.numeric).draw(q, rng)
    if robot.is_floating:
        turn = rng.normal(size=(count, 4))
        turn /= np.linalg.norm(turn, axis=1, keepdims=True)
        q = np.hstack([rng.normal(size=(count, 3)), turn, q])
    qd, qdd = 2 * rng.normal(size=(2, count, robot.n_velocity))
    return State(q, qd, 2 * qdd)


def sample_regressor(robot: Robot, columns: Sequence[str], count: int, seed: int) -> Array:
    """Y stacked over random states, shape (count * n, columns)."""
    return regressor_at(robot, columns, *random_states(robot, count, seed))


def regressor_at(robot: Robot, columns: Sequence[str], q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Y stacked over states, shape (states * n, columns)."""
    Y = torque_regressor(robot, q, qd, qdd, columns=columns)
    absent = robot.massless_columns
    Y[..., [k for k, name in enumerate(columns) if name in absent]] = 0.0
    return np.ascontiguousarray(Y.reshape(-1, len(columns)))


def enough_states(robot: Robot, n_columns: int) -> int:
    """Random states that make the stacked regressor several times taller than wide, whatever part of it one takes."""
    tall = int(np.ceil(4 * n_columns / robot.n_velocity))
    return max(tall, STATES if n_columns <= 200 else FEWEST_STATES)


def triangle(W: Array) -> Array:
    """R of the QR factorisation of a tall matrix."""
    factor, _, _, info = lapack.dgeqrf(W, overwrite_a=False)
    assert info == 0
    return np.triu(factor[: W.shape[1]])


def scaled(R: Array) -> tuple[Array, Array]:
    """Columns scaled to length 1, and their lengths; columns that are zero stay zero with length 0."""
    lengths = np.linalg.norm(R, axis=0)
    lengths = np.where(lengths > RANK_TOLERANCE * max(lengths.max(initial=0.0), 1e-300), lengths, 0.0)
    return R / np.where(lengths > 0, lengths, np.inf), lengths


def singular_values(R: Array) -> Array:
    """Singular values of a matrix with its columns scaled to length 1, largest first."""
    return np.asarray(np.linalg.svd(scaled(R)[0], compute_uv=False))


def rank_and_gap(R: Array) -> tuple[int, float]:
    """Numerical rank of a triangle and the ratio of the singular values on both sides of it."""
    s = singular_values(R)
    if s.size == 0 or s[0] == 0:
        return 0, float("inf")
    rank = int((s > RANK_TOLERANCE * s[0]).sum())
    dropped = s[rank] if rank < s.size else 0.0
    return rank, float(s[rank - 1] / max(dropped, np.finfo(float).eps * 1e-2 * s[0]))


def cleared(K: Array) -> Array:
    """Coefficients that are only rounding set to zero, those next to an integer made exact."""
    K = np.where(np.abs(K) < SMALL * max(1.0, float(np.abs(K).max(initial=0.0))), 0.0, K)
    nearest = np.rint(K)
    return np.where(np.abs(K - nearest) < SMALL, nearest, K)
