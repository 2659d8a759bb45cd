"""Regressor at random states: its rank, its independent columns, and the other columns expressed in these.

One rule decides (theory, "Numerical completion and certificate"): columns are scaled to length 1, and the
rank is read at the last gap where the singular values fall by `CLEAR_GAP` or more, taking the measured
rounding error into account.  The result depends neither on the units of the robot nor on how nearly aligned
its axes are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack, solve_triangular

from minertia.algebra.expr import Graph
from minertia.algebra.wide import Wide, digits, pivot_sizes, solve, stacked, wide, wide_tape
from minertia.base.certificate import CLEAR_GAP, CONFIRMED
from minertia.dynamics.kinematics import State
from minertia.dynamics.loops.closing import Closing, closing_of
from minertia.dynamics.loops.equations import MOTION, columns_by_name
from minertia.dynamics.model import torque_regressor
from minertia.dynamics.regressor import regressor_entries
from minertia.io.arrays import Array
from minertia.robot.parameters import LINK, split_name
from minertia.robot.robot import Robot

RANK_TOLERANCE = 1e-9  # of the largest singular value, columns scaled to length 1
SMALL = 1e-9  # coefficients below this part of the largest are rounding errors
STATES = 100
FEWEST_STATES = 50  # of large robots, where each state gives many rows


def random_states(robot: Robot, count: int, seed: int) -> State:
    """Random states: any posture (with loops closed), velocities and accelerations comparable to gravity."""
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
    """Regressor Y stacked over random states, shape (count * n, columns)."""
    return regressor_at(robot, columns, *random_states(robot, count, seed))


def regressor_at(robot: Robot, columns: Sequence[str], q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Regressor Y stacked over the given states, shape (states * n, columns)."""
    Y = torque_regressor(robot, q, qd, qdd, columns=columns)
    absent = robot.massless_columns
    Y[..., [k for k, name in enumerate(columns) if name in absent]] = 0.0
    return np.ascontiguousarray(Y.reshape(-1, len(columns)))


def enough_states(robot: Robot, n_columns: int) -> int:
    """Number of random states that makes the stacked regressor several times taller than wide."""
    tall = int(np.ceil(4 * n_columns / robot.n_velocity))
    return max(tall, STATES if n_columns <= 200 else FEWEST_STATES)


def triangle(W: Array) -> Array:
    """R factor of the QR factorisation of a tall matrix."""
    factor, _, _, info = lapack.dgeqrf(W, overwrite_a=False)
    assert info == 0
    return np.triu(factor[: W.shape[1]])


def scaled(R: Array) -> tuple[Array, Array]:
    """Scale columns to length 1; return them and their lengths.  Zero columns stay zero with length 0."""
    lengths = np.linalg.norm(R, axis=0)
    lengths = np.where(lengths > RANK_TOLERANCE * max(lengths.max(initial=0.0), 1e-300), lengths, 0.0)
    return R / np.where(lengths > 0, lengths, np.inf), lengths


def singular_values(R: Array) -> Array:
    """Singular values of a matrix with its columns scaled to length 1, largest first."""
    return np.asarray(np.linalg.svd(scaled(R)[0], compute_uv=False))


def rank_and_gap(R: Array) -> tuple[int, float]:
    """Numerical rank of a triangular matrix, and the ratio of the singular values before and after the gap."""
    s = singular_values(R)
    if s.size == 0 or s[0] == 0:
        return 0, float("inf")
    rank = int((s > RANK_TOLERANCE * s[0]).sum())
    dropped = s[rank] if rank < s.size else 0.0
    return rank, float(s[rank - 1] / max(dropped, np.finfo(float).eps * 1e-2 * s[0]))


def cleared(K: Array) -> Array:
    """Set coefficients within rounding error of zero or of an integer to that value."""
    K = np.where(np.abs(K) < SMALL * max(1.0, float(np.abs(K).max(initial=0.0))), 0.0, K)
    nearest = np.rint(K)
    return np.where(np.abs(K - nearest) < SMALL, nearest, K)


# ------------------------------------------------------------------------------------------------ independent columns


NO_EFFECT = 1e-12  # of the longest column of its kind: shorter ones are zero as far as rounding lets one see
CLOSED_NO_EFFECT = 1e-10  # the same where loops are closed, as far as closing goes
PIVOT = 1e-5  # a column may be preferred to the one of which most is left if this part of that is left of it
LAST_DIGITS = 2.0**-51  # relative change of a position that leaves a state as it was but for rounding
CANCELLED = 1e-12  # part of the terms of a sum below which it is rounding


@dataclass(frozen=True, slots=True)
class Sample:
    """Regressor at random states, or its triangular factor.

    lengths: lengths of its columns.  rounding: rounding error in each column, measured by a second
    evaluation at the same states with positions changed in their last digits.  scale: length of the longest
    column of the same kind (inertia, first moment, mass, or one effect), so that units do not matter.
    no_effect: fraction of `scale` below which a column counts as zero.
    """

    R: Array
    lengths: Array
    rounding: Array
    scale: Array
    no_effect: float = NO_EFFECT

    @staticmethod
    def of(robot: Robot, columns: Sequence[str], count: int, seed: int) -> Sample:
        """Regressor of a robot at `count` random states."""
        q, qd, qdd = (np.asarray(a) for a in random_states(robot, count, seed))
        W = regressor_at(robot, columns, q, qd, qdd)
        again = regressor_at(robot, columns, q * (1 + LAST_DIGITS), qd, qdd)
        lengths = np.linalg.norm(W, axis=0)
        rounding = np.linalg.norm(again - W, axis=0)
        return Sample(triangle(W), lengths, rounding, _scale(columns, lengths), _no_effect(robot))

    @staticmethod
    def to_check(robot: Robot, columns: Sequence[str], count: int, seed: int) -> Sample:
        """Sample like that of `of`, without triangularisation and rounding estimate; sufficient for `error`."""
        W = regressor_at(robot, columns, *random_states(robot, count, seed))
        lengths = np.linalg.norm(W, axis=0)
        return Sample(W, lengths, np.zeros(len(columns)), _scale(columns, lengths))

    @staticmethod
    def of_matrix(R: Array, units: Array | float = 1.0) -> Sample:
        """Sample of a matrix with rounding errors only; columns are comparable after division by their units."""
        lengths = np.linalg.norm(R, axis=0)
        longest = (lengths / units).max(initial=0.0)
        return Sample(R, lengths, np.zeros(R.shape[1]), np.broadcast_to(longest * units, lengths.shape))

    @staticmethod
    def of_relations(K: Array) -> Sample:
        """Sample of relations beta = K chi; each column is scaled by its length, as units differ between rows."""
        lengths = np.linalg.norm(K, axis=0)
        return Sample.of_matrix(K, np.where(lengths > 0, lengths, 1.0))

    @property
    def shown(self) -> NDArray[np.bool_]:
        """Mask of the nonzero columns."""
        return self.lengths > self.no_effect * self.scale

    def rank_and_gap(self, among: Sequence[int]) -> tuple[int, float]:
        """Rank of some columns, scaled to length 1, read at the last clear gap of singular values; and that gap."""
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

    def smallest(self, among: Sequence[int], rank: int) -> float:
        """Smallest nonzero singular value over the largest, of columns scaled to length 1."""
        there = [c for c in among if self.shown[c]]
        s = np.linalg.svd(self.R[:, there] / self.lengths[there], compute_uv=False)
        return float(s[rank - 1] / s[0]) if rank else 1.0

    def chosen(self, order: Sequence[int], rank: int) -> list[int]:
        """Select `rank` independent columns: at each step the first in order whose residual is nearly the largest."""
        left = [c for c in order if self.shown[c]]
        V = self.R[:, left] / self.scale[left]
        found: list[int] = []
        for _ in range(min(rank, len(left))):
            sizes = np.linalg.norm(V, axis=0)
            most = float(sizes.max())
            k = int(np.argmax(sizes >= max(PIVOT * most, min(0.5 * most, NO_EFFECT))))
            found.append(left[k])
            v = V[:, k] / sizes[k]
            V = V - np.outer(v, v @ V)
            V = V - np.outer(v, v @ V)
            V[:, k] = 0.0
        return found

    def express(self, kept: Sequence[int], among: Sequence[int] | None = None) -> Array:
        """Matrix K with R = R[:, kept] K (theory, eq. 21) for some columns, by default all; rounding cleared.

        K is the identity on the kept columns, which `among` must contain.
        """
        kept, columns = list(kept), list(range(len(self.lengths)) if among is None else among)
        places = [columns.index(c) for c in kept]
        Q, T = np.linalg.qr(self.R[:, kept] / self.lengths[kept])
        K: Array = solve_triangular(T, Q.T @ self.R[:, columns]) / self.lengths[kept][:, None]
        K[:, places] = np.eye(len(kept))
        K[:, ~self.shown[columns]] = 0.0
        return self._cleared(K, kept, columns)

    def _cleared(self, K: Array, kept: list[int], columns: list[int]) -> Array:
        """Set small coefficients to zero and round near-integers, provided that the efforts do not change."""
        scale = np.where(self.scale > 0, self.scale, 1.0)[columns]
        weights = self.lengths[kept][:, None] / np.maximum(self.lengths[columns], NO_EFFECT * scale)
        nearest = np.rint(K)
        for small in (SMALL, 1e-2 * SMALL, 1e-4 * SMALL):
            rounded = np.where(np.abs(K - nearest) * np.maximum(weights, 1.0) < small, nearest, K)
            rounded = np.where(np.abs(K) * weights < small, 0.0, rounded)
            change = np.linalg.norm(self.R[:, kept] @ (rounded - K), axis=0) / scale
            if change.max(initial=0.0) < 1e-2 * CONFIRMED:
                return rounded
        return K

    def error(self, kept: Sequence[int], K: Array) -> float:
        """Largest column norm of Y - Y_base K relative to `scale`, with Y_base = Y[:, kept] K[:, kept]^-1.

        See theory, eq. 22.  The error is infinite if the parameters of the kept columns are linearly
        dependent.
        """
        kept = list(kept)
        try:
            base = self.R[:, kept] @ np.linalg.inv(K[:, kept]) if kept else np.zeros((len(self.R), 0))
        except np.linalg.LinAlgError:  # axes that are tilted by next to nothing divide by it
            return float("inf")
        off = np.linalg.norm(self.R - base @ K, axis=0)
        return float((off / np.where(self.scale > 0, self.scale, 1.0)).max(initial=0.0))


def _no_effect(robot: Robot) -> float:
    return CLOSED_NO_EFFECT if robot.open_cuts else NO_EFFECT


def _scale(columns: Sequence[str], lengths: Array) -> Array:
    """Length of the longest column with the same unit, or of the same effect, for each column."""
    units = {symbol.name: symbol.unit for symbol in LINK}
    symbols = [split_name(name)[0] for name in columns]
    kinds = [units.get(symbol, symbol) for symbol in symbols]
    longest: dict[str, float] = {}
    for kind, length in zip(kinds, lengths, strict=True):
        longest[kind] = max(longest.get(kind, 0.0), float(length))
    return np.array([longest[kind] for kind in kinds])


def product(A: Array, B: Array) -> Array:
    """Product A B, with entries that are only rounding error set to zero and near-integers rounded."""
    C: Array = A @ B
    nearest = np.rint(C)
    return np.where(np.abs(C - nearest) <= CANCELLED * (np.abs(A) @ np.abs(B)), nearest, C)


# ------------------------------------------------------------------------------------------------------- sixty digits
# Where sixteen digits do not decide the rank of columns of a robot with loops. The states are closed in sixty digits,
# from where sixteen close them, on the same rows and branch of each loop. Lengths and axes are taken as their floats
# are, so that what is smaller than their own rounding is not told apart.


TALL = 2  # rows for each column
MORE_STATES = 4
STEPS = 3  # of Newton's method: 16, 32, 64 digits
NOISE = 1e-45  # what is left of a column that depends on others


class WideRank(NamedTuple):
    """Rank, ratio of the smallest nonzero pivot to the largest pivot that counts as zero, and that smallest pivot."""

    rank: int
    gap: float
    smallest: float


def wide_rank(robot: Robot, columns: Sequence[str], seed: int) -> WideRank:
    """Rank of some columns of a robot with closed kinematic chains on a fixed base, at random closed states."""
    robot = robot.numeric
    count = -(-TALL * len(columns) // robot.n) + MORE_STATES
    q, qd, qdd = (np.asarray(part) for part in random_states(robot, count, seed))
    closing = closing_of(robot)
    with digits():
        states = _ClosedStates(closing, wide(closing.close(q)), wide(qd), wide(qdd))
        sizes = pivot_sizes(_regressor(closing.robot.opened, states, columns))
    rank = sum(size > NOISE for size in sizes)
    dropped = max([*sizes[rank:], NOISE * 1e-5])
    return WideRank(rank, sizes[rank - 1] / dropped if rank else float("inf"), sizes[rank - 1] if rank else 1.0)


class _ClosedStates:
    """Closed states of the spanning tree in 60 digits, and the velocity map G (N, tree, n).

    Positions, velocities and accelerations have shape (N, tree); tree velocities are G times those of the robot.
    """

    def __init__(self, closing: Closing, q: Wide, qd: Wide, qdd: Wide) -> None:
        self.closing, self.count = closing, len(q)
        self._tape = wide_tape(closing.recorded.outputs)
        rows, solved, active = closing.rows, closing.solved, closing.active
        for _ in range(STEPS):
            off, A = self._equations(q)
            q[:, solved] = q[:, solved] - solve(A[:, rows][:, :, solved], off[:, rows, None])[:, :, 0]
        A = self._equations(q)[1][:, rows]
        self.G = np.full((self.count, closing.tree.n, len(active)), Decimal(0), object)
        self.G[:, active] = wide(np.eye(len(active)))
        self.G[:, solved] = -solve(A[:, :, solved], A[:, :, active])
        rates, accelerations = ((self.G * part[:, None]).sum(axis=2) for part in (qd, qdd))
        bias = stacked(wide_tape(closing.recorded_bias.outputs).run(columns_by_name(q=q, qd=rates)), self.count)[
            :, rows, None
        ]
        accelerations[:, solved] = accelerations[:, solved] - solve(A[:, :, solved], bias)[:, :, 0]
        self.inputs = columns_by_name(q=q, qd=rates, qdd=accelerations)

    def _equations(self, q: Wide) -> tuple[Wide, Wide]:
        """Loop-closure residual (N, equations) and its derivatives (N, equations, tree)."""
        values = stacked(self._tape.run(columns_by_name(q=q)), self.count)
        first = len(self.closing.units)
        A = np.full((self.count, first, q.shape[1]), Decimal(0), object)
        A[:, self.closing.recorded_places[0], self.closing.recorded_places[1]] = values[:, first:]
        return values[:, :first], A


def _regressor(tree: Robot, states: _ClosedStates, columns: Sequence[str]) -> Wide:
    """Projected regressor G' Y of some columns, stacked over states and coordinates."""
    graph = Graph()
    motion = State(*(graph.variables(name, tree.n) for name in MOTION))
    entries = regressor_entries(tree, motion, frozenset(columns))
    values = stacked(wide_tape(list(entries.values())).run(states.inputs), states.count)
    Y = np.full((states.count, tree.n, len(columns)), Decimal(0), object)
    where = {name: c for c, name in enumerate(columns)}
    for k, (row, name) in enumerate(entries):
        Y[:, row, where[name]] = values[:, k]
    found = [(states.G[:, :, k, None] * Y).sum(axis=1) for k in range(states.G.shape[2])]
    return np.concatenate(found)
