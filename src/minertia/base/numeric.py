"""The numerical side: random states, rank, independent columns, and the certificate every result carries.

Which singular values count is decided by one rule (theory, "Numerical completion and certificate"): columns are scaled
to length 1, and the rank is read at the lowest place where the singular values fall by `CLEAR_GAP` or more, measured
rounding included.  Nothing depends on the units of the robot, nor on how near its axes are to being aligned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack, solve_triangular

from minertia.dynamics.kinematics import State
from minertia.dynamics.model import torque_regressor
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
RANK_TOLERANCE = 1e-9  # of the largest singular value, columns scaled to length 1
SMALL = 1e-9  # coefficients below this part of the largest are rounding errors
CLEAR_GAP = 1e3  # between singular values that count and those that do not
CONFIRMED = 1e-9  # largest reconstruction error of a set that is right
NO_EFFECT = 1e-12  # of the longest column: shorter ones are zero as far as rounding lets one see
PIVOT = 1e-5  # a column may be preferred to the most independent one if it is independent by this part of it
LAST_DIGITS = 2.0**-50  # relative change of a position that leaves a state as it was but for rounding
STATES = 100
FEWEST_STATES = 50  # of large robots, where each state gives many rows


@dataclass(frozen=True, slots=True)
class Redrawn:
    """What holds of the relations in letters at a second, independent draw of all letters, at states of its own.

    count: number of relations that are in letters throughout, before any was merged for this robot's own numbers.
    """

    values: Mapping[str, float]
    count: int
    rank: int
    gap: float
    error: float


@dataclass(frozen=True, slots=True)
class Certificate:
    """How a set of base parameters was checked on random states (theory, eq. 22).

    rank: of the whole regressor.  gap: smallest singular value that counts over the largest that does not, or over
    measured rounding (columns scaled to length 1).  error: largest column of Y - Y_base K over the largest of Y, the
    worse of two sets of states.  states, seed: how to repeat it.  redrawn: the same at other values of the letters.
    """

    rank: int
    gap: float
    error: float
    states: int
    seed: int
    redrawn: Redrawn | None = None

    @property
    def is_clear(self) -> bool:
        """Whether the rank is beyond doubt."""
        return self.gap >= CLEAR_GAP


def random_states(robot: Robot, count: int, seed: int) -> State:
    """States that excite everything: any posture, velocities and accelerations of the size of gravity's effects."""
    rng = np.random.default_rng(seed)
    reach = np.array([np.pi if robot.joints[j].kind == "revolute" else 1.0 for j in robot.independent])
    q = rng.uniform(-1, 1, (count, robot.n)) * reach
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
    return np.ascontiguousarray(Y.reshape(-1, len(columns)))


@dataclass(frozen=True, slots=True)
class Sample:
    """The regressor at random states: its triangle, the lengths of its columns, and the rounding in each.

    Rounding is measured: the columns are computed once more at the same states, positions changed in their last digits.
    """

    R: Array
    lengths: Array
    rounding: Array

    @staticmethod
    def of(robot: Robot, columns: Sequence[str], count: int, seed: int) -> Sample:
        """The regressor of a robot at so many random states."""
        q, qd, qdd = (np.asarray(a) for a in random_states(robot, count, seed))
        W = regressor_at(robot, columns, q, qd, qdd)
        again = regressor_at(robot, columns, q * (1 + LAST_DIGITS), qd, qdd)
        return Sample(triangle(W), np.linalg.norm(W, axis=0), np.linalg.norm(again - W, axis=0))

    @property
    def longest(self) -> float:
        """Length of the longest column."""
        return float(self.lengths.max(initial=0.0))

    @property
    def shown(self) -> NDArray[np.bool_]:
        """Which columns are not zero."""
        return self.lengths > NO_EFFECT * max(self.longest, 1e-300)

    def rank_and_gap(self, among: Sequence[int]) -> tuple[int, float]:
        """Rank of some columns, each scaled to length 1, read at the lowest clear gap; and that gap."""
        there = [c for c in among if self.shown[c]]
        if not there:
            return 0, float("inf")
        _, s, Vt = np.linalg.svd(self.R[:, there] / self.lengths[there], full_matrices=False)
        noise = np.linalg.norm(Vt * (self.rounding[there] / self.lengths[there]), axis=1) + np.finfo(float).eps * s[0]
        beyond_rounding = np.logical_and.accumulate(s >= CLEAR_GAP * noise)
        gaps = s / np.maximum(np.append(s[1:], 0.0), noise)
        clear = np.flatnonzero(beyond_rounding & (gaps >= CLEAR_GAP))
        last = int(clear[-1]) if clear.size else int(np.argmax(gaps))
        return last + 1, float(gaps[last])

    def chosen(self, order: Sequence[int], rank: int) -> list[int]:
        """So many independent columns: at each step the first in order that is nearly as independent as any left."""
        left = [c for c in order if self.shown[c]]
        V = self.R[:, left] / self.lengths[left]
        found: list[int] = []
        for _ in range(min(rank, len(left))):
            sizes = np.linalg.norm(V, axis=0)
            k = int(np.argmax(sizes >= PIVOT * sizes.max()))
            found.append(left[k])
            v = V[:, k] / sizes[k]
            V = V - np.outer(v, v @ V)
            V = V - np.outer(v, v @ V)
            V[:, k] = 0.0
        return found

    def express(self, kept: Sequence[int], among: Sequence[int] | None = None) -> Array:
        """K with R = R[:, kept] K (theory, eq. 21) over some columns, by default all; rounding errors cleared.

        It is the identity on the kept columns, which `among` must hold.
        """
        kept, columns = list(kept), list(range(len(self.lengths)) if among is None else among)
        places = [columns.index(c) for c in kept]
        Q, T = np.linalg.qr(self.R[:, kept] / self.lengths[kept])
        K: Array = solve_triangular(T, Q.T @ self.R[:, columns]) / self.lengths[kept][:, None]
        K[:, places] = np.eye(len(kept))
        K[:, ~self.shown[columns]] = 0.0
        return self._cleared(K, kept, columns)

    def _cleared(self, K: Array, kept: list[int], columns: list[int]) -> Array:
        """Small coefficients set to zero and near integers made exact, as far as torques do not notice."""
        weights = self.lengths[kept][:, None] / np.maximum(self.lengths[columns], NO_EFFECT * self.longest)
        nearest = np.rint(K)
        for small in (SMALL, 1e-2 * SMALL, 1e-4 * SMALL):
            rounded = np.where(np.abs(K - nearest) * np.maximum(weights, 1.0) < small, nearest, K)
            rounded = np.where(np.abs(K) * weights < small, 0.0, rounded)
            change = np.linalg.norm(self.R[:, kept] @ (rounded - K), axis=0).max(initial=0.0)
            if change < 1e-2 * CONFIRMED * self.longest:
                return rounded
        return K


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


def rank_and_gap(R: Array) -> tuple[int, float]:
    """Numerical rank of a triangle and the ratio of the singular values on both sides of it."""
    unit, _ = scaled(R)
    s = np.linalg.svd(unit, compute_uv=False)
    if s.size == 0 or s[0] == 0:
        return 0, float("inf")
    rank = int((s > RANK_TOLERANCE * s[0]).sum())
    dropped = s[rank] if rank < s.size else 0.0
    return rank, float(s[rank - 1] / max(dropped, np.finfo(float).eps * 1e-2 * s[0]))


def independent_columns(R: Array, order: Sequence[int]) -> list[int]:
    """Columns that depend on none before them in the given order (modified Gram-Schmidt, twice is enough)."""
    unit, lengths = scaled(R)
    Q = np.zeros((R.shape[0], 0))
    kept = []
    for c in order:
        if lengths[c] == 0:
            continue
        v = unit[:, c]
        for _ in range(2):
            v = v - Q @ (Q.T @ v)
        size = float(np.linalg.norm(v))
        if size > 10 * RANK_TOLERANCE:
            Q = np.column_stack([Q, v / size])
            kept.append(c)
    return kept


def express(R: Array, kept: Sequence[int]) -> Array:
    """K with R = R[:, kept] K (theory, eq. 21); the identity on the kept columns, rounding errors cleared."""
    Q, T = np.linalg.qr(R[:, kept])
    K: Array = solve_triangular(T, Q.T @ R)
    K[:, kept] = np.eye(len(kept))
    return cleared(K)


def cleared(K: Array) -> Array:
    """Coefficients that are only rounding set to zero, those next to an integer made exact."""
    K = np.where(np.abs(K) < SMALL * max(1.0, float(np.abs(K).max(initial=0.0))), 0.0, K)
    nearest = np.rint(K)
    return np.where(np.abs(K - nearest) < SMALL, nearest, K)


def reconstruction_error(R: Array, kept: Sequence[int], K: Array) -> float:
    """Largest column of Y - Y_base K over the largest of Y (Euclidean lengths, taken from the triangle of Y).

    Y_base = Y[:, kept] K[:, kept]^-1.
    """
    base = R[:, kept] @ np.linalg.inv(K[:, kept]) if len(kept) else np.zeros((len(R), 0))
    lengths = np.linalg.norm(R, axis=0)
    return float(np.linalg.norm(R - base @ K, axis=0).max(initial=0.0) / max(float(lengths.max(initial=0.0)), 1e-300))
