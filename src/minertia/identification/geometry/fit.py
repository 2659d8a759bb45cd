"""Gauss-Newton fit of the corrections, with noise and correction variances estimated by restricted likelihood.

Corrections of a group (zeros, lengths, angles, sag ...) have a zero-mean normal prior whose standard
deviation is estimated with them by restricted maximum likelihood: a group without support in the readings
shrinks to zero.  Base and tool have no prior.  All rows have equal weight, whatever the contribution of joint
errors: an incomplete model leaves errors that resemble joint errors, and weights derived from them would
trade positions for rotations.  Joint errors enter the covariance of the estimates instead (`spread.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri

from minertia.identification.geometry.chain import Array
from minertia.identification.geometry.layout import GeometryLayout, GeometryState, LinearisedReadings
from minertia.identification.geometry.measures import UNITS

FREE = ("base", "tool")
PRIOR = {"zeros": 0.03, "lengths": 2e-3, "angles": 1e-2}  # m, rad: sizes of corrections to begin with
JOINT_PRIOR = 3e-4  # rad: the same for corrections of joint positions
LARGEST = 5.0  # times the usual size: of what a robot file can be off
# observations that the usual size counts for, of 1, 0.1, 0.03, 0.01: on planted arms with few and noisy postures the
# errors fall with it, and at 0.01 intervals no longer cover 95 %
USUAL_COUNTS = 0.03
LEAST_NOISE = 1e-12  # of rows, so that exact readings can be fitted
ODD = 3.0  # typical errors of a posture beyond which it counts less
# power of its distance with which its weight falls, of 1, 2 and 4: on planted arms with unseated targets in runs, with
# single ones and with heavy tails, 4 is the most exact, and 2 the largest whose intervals still cover 95 %
FALL = 2
STEPS = 40  # Gauss-Newton steps at most
ENOUGH = 1e-8  # relative fall of the cost at which steps end
ROUGHLY = 1e-4  # the same before weights and sizes are settled
ROUNDS = 200  # of sizes at most
SETTLED = 1e-3  # relative change of sizes at which their rounds end
SHOWN = 3e-7  # of a scaled column: the part that others must leave, so that a factorisation is exact enough
QUICK = 0.1  # of the gain of the step before, below which derivatives of an earlier state are good enough
BLOCK = 5000  # rows at a time
FACTORS = (1.0, 0.3, 0.1, 0.01)  # of a step, until the cost falls


@dataclass(frozen=True)
class GeometrySizes:
    """Standard deviations: of rows by unit (index in `UNITS`), and of the corrections of each group [m, rad]."""

    rows: Mapping[int, float]
    groups: Mapping[str, float]


@dataclass(frozen=True)
class NormalEquations:
    """Normal equations of rows of one unit: A'A, A'r, r'r and number of rows, weighted by posture."""

    G: Array
    b: Array
    rr: float
    count: float


@dataclass(frozen=True)
class GeometryFit:
    """Fitted calibration state.

    active: fitted columns.  S: inverse Hessian of their cost.  weights: of postures, 1 for inliers.  sizes: standard
    deviations of rows and of corrections.
    """

    layout: GeometryLayout
    state: GeometryState
    active: NDArray[np.intp]
    S: Array
    sizes: GeometrySizes
    weights: Array

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the active columns."""
        return tuple(self.layout.columns[c] for c in self.active)

    @property
    def groups(self) -> NDArray[np.str_]:
        """Groups of the active columns."""
        return self.layout.groups[self.active]

    @property
    def values(self) -> Array:
        """Estimates of the active columns."""
        return self.layout.values(self.state)[self.active]

    @property
    def prior(self) -> Array:
        """Prior precision (1 / variance) of each active column."""
        return prior_of(self.groups, self.sizes)


def fit(
    layout: GeometryLayout, state: GeometryState, groups: Sequence[str], *, finds_sizes: bool = True
) -> GeometryFit:
    """Fit the corrections of some groups, besides base and tool, from an initial state near the readings.

    finds_sizes: whether the standard deviations of groups are estimated; otherwise those of `PRIOR` are used.
    """
    return _Fitter(layout, groups).fit(state, finds_sizes=finds_sizes)


def fitted_in_levels(layout: GeometryLayout, state: GeometryState, groups: Sequence[str]) -> GeometryFit:
    """Fit base and tool, then zeros, then all groups; each level starts from the previous one."""
    found = fit(layout, state, (), finds_sizes=False)
    if "zeros" in groups:
        found = fit(layout, found.state, ("zeros",), finds_sizes=set(groups) == {"zeros"})
    return fit(layout, found.state, groups) if set(groups) - {"zeros"} else found


def prior_of(groups: NDArray[np.str_], sizes: GeometrySizes) -> Array:
    """Prior precision (1 / variance) of columns by group; base and tool have no prior."""
    known = {**dict.fromkeys(FREE, np.inf), **sizes.groups}
    return np.array([known[g] for g in groups], float) ** -2.0


class _ConvergedFit(NamedTuple):
    """State with its linearised rows and the inverse Hessian; derivatives may be from a nearby state."""

    state: GeometryState
    rows: LinearisedReadings
    S: Array


class _FitStep(NamedTuple):
    state: GeometryState
    rows: LinearisedReadings
    values: Array
    cost: float


class _Fitter:
    """Gauss-Newton iteration of one fit, with its standard deviations and weights."""

    def __init__(self, layout: GeometryLayout, groups: Sequence[str]) -> None:
        self.layout = layout
        self.groups = tuple(g for g in dict.fromkeys(layout.groups.tolist()) if g in groups)
        self.active = np.flatnonzero(np.isin(layout.groups, [*FREE, *self.groups]))
        self.own_groups = layout.groups[self.active]
        self.weights = np.ones(layout.postures.count)
        self.sizes = GeometrySizes({}, {g: PRIOR.get(g, JOINT_PRIOR) for g in self.groups})

    def fit(self, state: GeometryState, *, finds_sizes: bool) -> GeometryFit:
        state = self.layout.anchored(state)
        rows = self.layout.linearised(state)
        sizes = {int(u): max(rms(rows.residual[rows.unit == u]), LEAST_NOISE) for u in np.unique(rows.unit)}
        self.sizes = GeometrySizes(sizes, self.sizes.groups)
        at = self._converged(state, rows, self._normal(rows), ROUGHLY)
        for enough in (ROUGHLY, ENOUGH):
            self._reweigh(at.rows)
            normal = self._normal(at.rows)
            self._resize(normal, self._values(at.state), finds_sizes=finds_sizes)
            at = self._converged(at.state, at.rows, normal, enough)
        return GeometryFit(self.layout, at.state, self.active, at.S, self.sizes, self.weights)

    def _values(self, state: GeometryState) -> Array:
        return self.layout.values(state)[self.active]

    def _row_sizes(self, rows: LinearisedReadings) -> Array:
        return np.array([self.sizes.rows.get(u, 1.0) for u in range(len(UNITS))])[rows.unit]

    def _cost(self, rows: LinearisedReadings, values: Array) -> float:
        weighted = self.weights[rows.posture] * (rows.residual / self._row_sizes(rows)) ** 2
        return float(weighted.sum() + values @ (prior_of(self.own_groups, self.sizes) * values))

    def _normal(self, rows: LinearisedReadings) -> dict[int, NormalEquations]:
        return {unit: self._normal_of(rows, np.flatnonzero(rows.unit == unit)) for unit in self.sizes.rows}

    def _normal_of(self, rows: LinearisedReadings, of: NDArray[np.intp]) -> NormalEquations:
        """Normal equations of some rows, in blocks to limit memory."""
        K = len(self.active)
        G, b, rr = np.zeros((K, K)), np.zeros(K), 0.0
        for first in range(0, len(of), BLOCK):
            part = of[first : first + BLOCK]
            root = np.sqrt(self.weights[rows.posture[part]])
            A, r = rows.A[np.ix_(part, self.active)] * root[:, None], rows.residual[part] * root
            G += A.T @ A
            b += A.T @ r
            rr += float(r @ r)
        return NormalEquations(G, b, rr, float(len(of)))

    def _inverse(self, normal: Mapping[int, NormalEquations]) -> Array:
        """(sum of A'A / sigma^2 + prior)^-1; unidentifiable directions get zero."""
        H = sum((part.G / self.sizes.rows[u] ** 2 for u, part in normal.items()), np.zeros((len(self.active),) * 2))
        return inverse(H + np.diag(prior_of(self.own_groups, self.sizes)))

    def _step(self, normal: Mapping[int, NormalEquations], values: Array, S: Array) -> Array:
        b = sum((part.b / self.sizes.rows[u] ** 2 for u, part in normal.items()), np.zeros(len(self.active)))
        return np.asarray(S @ (b - prior_of(self.own_groups, self.sizes) * values))

    def _converged(
        self, state: GeometryState, rows: LinearisedReadings, normal: Mapping[int, NormalEquations], enough: float
    ) -> _ConvergedFit:
        """Gauss-Newton iteration; derivatives are recomputed only if a step reduces the cost too little.

        Corrections are small: derivatives of an earlier state are nearly those of the present one.
        """
        values, S = self._values(state), self._inverse(normal)
        cost, last, is_fresh = self._cost(rows, values), np.inf, False
        step = self._step(normal, values, S)
        for _ in range(STEPS):
            found = self._stepped(state, rows, step, cost, FACTORS if is_fresh else FACTORS[:1])
            if found is None and is_fresh:
                break
            gain = 0.0 if found is None else cost - found.cost
            if found is not None:
                state, rows, cost, values = found.state, found.rows, found.cost, found.values
                if gain <= enough * cost:
                    break
            is_fresh = found is None or gain > QUICK * last
            last = np.inf if is_fresh else gain
            if is_fresh:
                rows = self.layout.linearised(state)
                normal = self._normal(rows)
                S = self._inverse(normal)
                step = self._step(normal, values, S)
            else:
                step = S @ (self._slope(rows) - prior_of(self.own_groups, self.sizes) * values)
        return _ConvergedFit(state, rows, S)

    def _slope(self, rows: LinearisedReadings) -> Array:
        """A' W r with the weights of the rows."""
        weighted = rows.residual * self.weights[rows.posture] / self._row_sizes(rows) ** 2
        return np.asarray((weighted @ rows.A)[self.active])

    def _stepped(
        self, state: GeometryState, rows: LinearisedReadings, step: Array, cost: float, factors: Sequence[float]
    ) -> _FitStep | None:
        """State after the first of the scaled steps that does not increase the cost; None if all increase it.

        factors: scale factors of the step, in descending order.
        """
        whole = np.zeros(len(self.layout.columns))
        whole[self.active] = step
        for factor in factors:
            new = self.layout.anchored(self.layout.stepped(state, factor * whole))
            there, values = replace(rows, residual=self.layout.residuals(new)), self._values(new)
            fallen = self._cost(there, values)
            if fallen <= cost:
                return _FitStep(new, there, values, fallen)
        return None

    def _reweigh(self, rows: LinearisedReadings) -> None:
        """Weights by posture: an unseated or exchanged target corrupts a whole posture, and often several in a row.

        They fall faster than Huber's: postures with one common error would move the fit by bounded influences.
        """
        N = len(self.weights)
        count = np.bincount(rows.posture, minlength=N)
        mean = np.bincount(rows.posture, (rows.residual / self._row_sizes(rows)) ** 2, N) / np.maximum(count, 1)
        root = np.sqrt(mean)
        typical = max(float(np.sqrt(np.median(mean[count > 0]))), LEAST_NOISE)
        self.weights = np.minimum(1.0, ODD * typical / np.maximum(root, LEAST_NOISE)) ** FALL

    def _resize(self, normal: Mapping[int, NormalEquations], values: Array, *, finds_sizes: bool) -> None:
        """Maximise the restricted likelihood over the standard deviations of rows and groups (MacKay's iteration)."""
        for _ in range(ROUNDS):
            S = self._inverse(normal)
            step = self._step(normal, values, S)
            rows = {u: self._row_size(part, step, S, u) for u, part in normal.items()}
            groups = dict(self.sizes.groups)
            if finds_sizes:
                groups = {g: self._group_size(g, values + step, S) for g in self.groups}
            old: list[float] = [*self.sizes.rows.values(), *self.sizes.groups.values()]
            new: list[float] = [*rows.values(), *groups.values()]
            self.sizes = GeometrySizes(rows, groups)
            if np.abs(np.log(np.array(new) / np.array(old))).max() < SETTLED:
                return

    def _row_size(self, part: NormalEquations, step: Array, S: Array, unit: int) -> float:
        left = float(part.rr - 2 * part.b @ step + step @ part.G @ step)
        used = float(np.sum(S * part.G)) / self.sizes.rows[unit] ** 2
        return max(float(np.sqrt(max(left, 0.0) / max(part.count - used, 1.0))), LEAST_NOISE)

    def _group_size(self, group: str, values: Array, S: Array) -> float:
        """Standard deviation of a group; the usual one decides only where the readings do not."""
        of = self.own_groups == group
        now, usual = self.sizes.groups[group], PRIOR.get(group, JOINT_PRIOR)
        found = max(float(of.sum() - np.diag(S)[of].sum() / now**2), 0.0)
        size = float(np.sqrt((values[of] @ values[of] + USUAL_COUNTS * usual**2) / (found + USUAL_COUNTS)))
        return min(size, LARGEST * usual)


def inverse(H: Array) -> Array:
    """Pseudo-inverse of a badly scaled symmetric matrix; directions of zero length get zero."""
    scale = 1 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    scaled = H * scale * scale[:, None]
    L, failed = dpotrf(scaled, lower=1)
    if failed or np.diag(L).min() < SHOWN:
        return np.asarray(scale[:, None] * np.linalg.pinv(scaled, rcond=1e-13, hermitian=True) * scale)
    lower = np.tril(dpotri(L, lower=1)[0])
    return np.asarray(scale[:, None] * (lower + np.tril(lower, -1).T) * scale)


def rms(x: Array) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(np.square(x)))) if len(x) else 0.0
