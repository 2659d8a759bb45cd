"""Gauss-Newton fit of the corrections, with noise and correction variances estimated by restricted likelihood.

Corrections of a group (zeros, lengths, angles, sag ...) have a zero-mean normal prior whose standard
deviation is estimated with them by restricted maximum likelihood: a group without support in the readings
shrinks to zero.  Base and tool have no prior.  All rows have equal weight, whatever the contribution of joint
errors: an incomplete model leaves errors that resemble joint errors, and weights derived from them would
trade positions for rotations.  Joint errors enter the covariance of the estimates instead (`spread.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
LEAST_NOISE = 1e-12  # of rows, so that exact readings can be fitted
HUBER = 3.0  # deviations of a posture beyond which it counts less
STEPS = 40  # Gauss-Newton steps at most
ENOUGH = 1e-8  # relative fall of the cost at which steps end
ROUGHLY = 1e-4  # the same before weights and sizes are settled
ROUNDS = 200  # of sizes at most
SETTLED = 1e-3  # relative change of sizes at which their rounds end
SHOWN = 3e-7  # of a scaled column: the part that others must leave, so that a factorisation is exact enough
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
        state, rows = self._converged(state, rows, ROUGHLY)
        for enough in (ROUGHLY, ENOUGH):
            self._reweigh(rows)
            self._resize(self._normal(rows), self._values(state), finds_sizes=finds_sizes)
            state, rows = self._converged(state, rows, enough)
        return GeometryFit(self.layout, state, self.active, self._inverse(self._normal(rows)), self.sizes, self.weights)

    def _values(self, state: GeometryState) -> Array:
        return self.layout.values(state)[self.active]

    def _cost(self, rows: LinearisedReadings, values: Array) -> float:
        size = np.array([self.sizes.rows.get(u, 1.0) for u in range(len(UNITS))])[rows.unit]
        weighted = self.weights[rows.posture] * (rows.residual / size) ** 2
        return float(weighted.sum() + values @ (prior_of(self.own_groups, self.sizes) * values))

    def _normal(self, rows: LinearisedReadings) -> dict[int, NormalEquations]:
        found = {}
        for unit in self.sizes.rows:
            of = rows.unit == unit
            root = np.sqrt(self.weights[rows.posture[of]])
            A, r = rows.A[of][:, self.active] * root[:, None], rows.residual[of] * root
            found[unit] = NormalEquations(A.T @ A, A.T @ r, float(r @ r), float(of.sum()))
        return found

    def _inverse(self, normal: Mapping[int, NormalEquations]) -> Array:
        """Inverse Hessian (sum of A'A / sigma^2 + prior)^-1; zero in unidentifiable directions."""
        H = sum((part.G / self.sizes.rows[u] ** 2 for u, part in normal.items()), np.zeros((len(self.active),) * 2))
        return inverse(H + np.diag(prior_of(self.own_groups, self.sizes)))

    def _step(self, normal: Mapping[int, NormalEquations], values: Array) -> Array:
        b = sum((part.b / self.sizes.rows[u] ** 2 for u, part in normal.items()), np.zeros(len(self.active)))
        return self._inverse(normal) @ (b - prior_of(self.own_groups, self.sizes) * values)

    def _converged(
        self, state: GeometryState, rows: LinearisedReadings, enough: float
    ) -> tuple[GeometryState, LinearisedReadings]:
        values = self._values(state)
        cost = self._cost(rows, values)
        for _ in range(STEPS):
            step = np.zeros(len(self.layout.columns))
            step[self.active] = self._step(self._normal(rows), values)
            for factor in FACTORS:
                new = self.layout.anchored(self.layout.stepped(state, factor * step))
                there, moved = self.layout.linearised(new), self._values(new)
                fallen = self._cost(there, moved)
                if fallen <= cost:
                    break
            else:
                break
            is_done = cost - fallen <= enough * cost
            state, rows, cost, values = new, there, fallen, moved
            if is_done:
                break
        return state, rows

    def _reweigh(self, rows: LinearisedReadings) -> None:
        """Huber weights by posture: an unseated or exchanged target corrupts a whole posture."""
        size = np.array([self.sizes.rows.get(u, 1.0) for u in range(len(UNITS))])[rows.unit]
        N = len(self.weights)
        count = np.bincount(rows.posture, minlength=N)
        mean = np.bincount(rows.posture, (rows.residual / size) ** 2, N) / np.maximum(count, 1)
        root = np.sqrt(mean)
        typical = max(float(np.sqrt(np.median(mean[count > 0]))), LEAST_NOISE)
        self.weights = np.minimum(1.0, HUBER * typical / np.maximum(root, LEAST_NOISE))

    def _resize(self, normal: Mapping[int, NormalEquations], values: Array, *, finds_sizes: bool) -> None:
        """Maximise the restricted likelihood over the standard deviations of rows and groups (MacKay's iteration)."""
        for _ in range(ROUNDS):
            S, step = self._inverse(normal), self._step(normal, values)
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
        """Standard deviation of a group, with one pseudo-observation from the prior for stability."""
        of = self.own_groups == group
        now, usual = self.sizes.groups[group], PRIOR.get(group, JOINT_PRIOR)
        found = max(float(of.sum() - np.diag(S)[of].sum() / now**2), 0.0)
        size = float(np.sqrt((values[of] @ values[of] + usual**2) / (found + 1)))
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
