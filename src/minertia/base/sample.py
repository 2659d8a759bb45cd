"""The regressor of a robot at random states: which columns count, which are independent, what the others are of them.

One rule decides (theory, "Numerical completion and certificate"): columns are scaled to length 1, and the rank is read
at the lowest place where the singular values fall by `CLEAR_GAP` or more, measured rounding included.  Nothing depends
on the units of the robot, nor on how near its axes are to being aligned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from minertia.base.certificate import CLEAR_GAP, CONFIRMED
from minertia.base.numeric import SMALL, random_states, regressor_at, triangle
from minertia.io.arrays import Array
from minertia.robot.parameters import LINK, split_name
from minertia.robot.robot import Robot

NO_EFFECT = 1e-12  # of the longest column of its kind: shorter ones are zero as far as rounding lets one see
CLOSED_NO_EFFECT = 1e-10  # the same where loops are closed, as far as closing goes
PIVOT = 1e-5  # a column may be preferred to the one of which most is left if this part of that is left of it
LAST_DIGITS = 2.0**-51  # relative change of a position that leaves a state as it was but for rounding
CANCELLED = 1e-12  # part of the terms of a sum below which it is rounding


@dataclass(frozen=True, slots=True)
class Sample:
    """A regressor at random states, or its triangle.

    lengths: of its columns.  rounding: in each column; it is measured, by computing the columns once more at the same
    states with positions changed in their last digits.  scale: length of the longest column of the same kind (inertia,
    first moment, mass, or one effect), so that units do not matter.  no_effect: part of it that counts as zero.
    """

    R: Array
    lengths: Array
    rounding: Array
    scale: Array
    no_effect: float = NO_EFFECT

    @staticmethod
    def of(robot: Robot, columns: Sequence[str], count: int, seed: int) -> Sample:
        """The regressor of a robot at so many random states."""
        q, qd, qdd = (np.asarray(a) for a in random_states(robot, count, seed))
        W = regressor_at(robot, columns, q, qd, qdd)
        again = regressor_at(robot, columns, q * (1 + LAST_DIGITS), qd, qdd)
        lengths = np.linalg.norm(W, axis=0)
        rounding = np.linalg.norm(again - W, axis=0)
        return Sample(triangle(W), lengths, rounding, _scale(columns, lengths), _no_effect(robot))

    @staticmethod
    def to_check(robot: Robot, columns: Sequence[str], count: int, seed: int) -> Sample:
        """The same as rows, its rounding not measured: enough for `error`."""
        W = regressor_at(robot, columns, *random_states(robot, count, seed))
        lengths = np.linalg.norm(W, axis=0)
        return Sample(W, lengths, np.zeros(len(columns)), _scale(columns, lengths))

    @staticmethod
    def of_matrix(R: Array, units: Array | float = 1.0) -> Sample:
        """A matrix that is only rounded; columns are compared with one another once divided by their units."""
        lengths = np.linalg.norm(R, axis=0)
        longest = (lengths / units).max(initial=0.0)
        return Sample(R, lengths, np.zeros(R.shape[1]), np.broadcast_to(longest * units, lengths.shape))

    @staticmethod
    def of_relations(K: Array) -> Sample:
        """Relations beta = K chi: each column is compared with itself, as its unit is another one in every row."""
        lengths = np.linalg.norm(K, axis=0)
        return Sample.of_matrix(K, np.where(lengths > 0, lengths, 1.0))

    @property
    def shown(self) -> NDArray[np.bool_]:
        """Which columns are not zero."""
        return self.lengths > self.no_effect * self.scale

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

    def smallest(self, among: Sequence[int], rank: int) -> float:
        """The smallest singular value that counts, over the largest, of columns scaled to length 1."""
        there = [c for c in among if self.shown[c]]
        s = np.linalg.svd(self.R[:, there] / self.lengths[there], compute_uv=False)
        return float(s[rank - 1] / s[0]) if rank else 1.0

    def chosen(self, order: Sequence[int], rank: int) -> list[int]:
        """So many independent columns: at each step the first in order of which nearly as much is left as of any."""
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
        """Largest column of Y - Y_base K over the longest of its kind, with Y_base = Y[:, kept] K[:, kept]^-1.

        (theory, eq. 22).  Infinite where the groups of the kept columns depend on one another.
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
    """For each column the length of the longest one with the same unit, or of the same effect."""
    units = {symbol.name: symbol.unit for symbol in LINK}
    symbols = [split_name(name)[0] for name in columns]
    kinds = [units.get(symbol, symbol) for symbol in symbols]
    longest: dict[str, float] = {}
    for kind, length in zip(kinds, lengths, strict=True):
        longest[kind] = max(longest.get(kind, 0.0), float(length))
    return np.array([longest[kind] for kind in kinds])


def product(A: Array, B: Array) -> Array:
    """A B, with what is only the rounding of a sum set to zero and what is next to an integer made exact."""
    C: Array = A @ B
    nearest = np.rint(C)
    return np.where(np.abs(C - nearest) <= CANCELLED * (np.abs(A) @ np.abs(B)), nearest, C)
