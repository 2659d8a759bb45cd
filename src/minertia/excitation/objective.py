"""The function a search makes small: a criterion and logarithmic walls at the limits, with its exact gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from minertia.excitation.criteria import Criterion
from minertia.excitation.effort import EffortModel
from minertia.excitation.limits import MotionLimits
from minertia.excitation.model import PointModel, Regressor
from minertia.excitation.trajectory import Family

Array = NDArray[np.float64]
INFINITE = float("inf")


@dataclass(frozen=True)
class Problem:
    """Everything that defines a search.

    offset: posture (n,) the family moves about.  row_scale: (n,) factors on the rows of each joint (1 / noise), None
    for none.  previous: information matrix of what is already recorded.
    """

    family: Family
    offset: Array
    limits: MotionLimits
    model: Regressor
    n_samples: int
    effort: EffortModel | None = None
    points: PointModel | None = None
    row_scale: Array | None = None
    previous: Array | None = None
    wall_samples: int = 67  # postures at which distances to obstacles are taken


class Objective:
    """criterion(G) + weight * walls, for free coefficients x of all joints, scaled so that all matter alike."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.n = len(problem.offset)
        family, limits = problem.family, problem.limits
        t = np.arange(problem.n_samples) * family.duration / problem.n_samples
        self.matrices = family.matrices(t)
        # between two samples a motion overshoots by about (w dt)^2 / 8 of its size
        self.tight = 1.0 - min(0.2, (_fastest(*self.matrices[1:]) * t[1]) ** 2 / 8)
        self.sizes = [s * self.tight for s in (limits.half, limits.velocity, limits.acceleration)]
        self.shift = (problem.offset - limits.middle) / self.sizes[0]
        self.scale = self._scaling()
        self.row_scale = None if problem.row_scale is None else np.repeat(problem.row_scale, problem.n_samples)
        if limits.effort is not None and problem.effort is not None:
            self.effort_size = limits.effort * (1 - limits.effort_margin) * self.tight - problem.effort.coulomb
        self.evaluations = 0

    def _scaling(self) -> Array:
        """(n, free, free): coefficients = scale_j y_j; the rows of the limits are orthonormal in y."""
        scale = []
        for j in range(self.n):
            rows = np.vstack([M / size[j] for M, size in zip(self.matrices, self.sizes, strict=True)])
            L = np.linalg.cholesky(rows.T @ rows / len(rows))
            scale.append(np.linalg.inv(L).T)
        return np.array(scale)

    def coefficients(self, y: Array) -> Array:
        """Free coefficients (n, free) of the search's own unknowns."""
        return np.asarray(np.einsum("jab,jb->ja", self.scale, y.reshape(self.n, -1)))

    def unknowns(self, x: Array) -> Array:
        """The search's own unknowns of free coefficients."""
        return np.asarray(np.linalg.solve(self.scale, x[..., None])[..., 0].ravel(), np.float64)

    def motion(self, x: Array) -> tuple[Array, Array, Array]:
        """q, qd, qdd at the samples, each (N, n)."""
        q, qd, qdd = (M @ x.T for M in self.matrices)
        return self.problem.offset + q, qd, qdd

    def __call__(self, y: Array, criterion: Criterion, weight: float, sharpness: float) -> tuple[float, Array]:
        """Value and gradient; infinite where a limit is not respected."""
        self.evaluations += 1
        x = self.coefficients(y)
        state = self.motion(x)
        slopes = [np.zeros_like(state[0]) for _ in range(3)]
        value = self._joint_walls(state, slopes, weight)
        value = value if value == INFINITE else value + self._space_walls(state[0], slopes[0], weight)
        if value == INFINITE:
            return INFINITE, np.zeros_like(y)
        total = self._criterion(state, slopes, criterion, weight, sharpness)
        if total == INFINITE:
            return INFINITE, np.zeros_like(y)
        gradient = sum(g.T @ M for g, M in zip(slopes, self.matrices, strict=True))
        return value + total, np.einsum("jab,ja->jb", self.scale, gradient).ravel()

    def _joint_walls(self, state: tuple[Array, Array, Array], slopes: list[Array], weight: float) -> float:
        value = 0.0
        for k, (s, size) in enumerate(zip(state, self.sizes, strict=True)):
            u = (s - self.problem.limits.middle) / size if k == 0 else s / size
            wall, slope = wall_and_slope(u)
            if wall == INFINITE:
                return INFINITE
            value += weight * wall
            slopes[k] += weight * slope / size
        return value

    def _space_walls(self, q: Array, slope_q: Array, weight: float) -> float:
        """Boxes for points, and distances to obstacles at a few of the samples."""
        value = 0.0
        if self.problem.points is not None:
            lower, upper = box_corners(self.problem.limits)
            half = 0.5 * (upper - lower) * self.tight
            wall, slope = wall_and_slope((self.problem.points.value(q) - 0.5 * (lower + upper)) / half)
            if wall == INFINITE:
                return INFINITE
            value += weight * wall
            slope_q += self.problem.points.vjp(weight * slope / half)
        if self.problem.limits.clearance is not None:
            value += self._clearance_wall(q, slope_q, weight)
        return value

    def _clearance_wall(self, q: Array, slope_q: Array, weight: float) -> float:
        clearance = self.problem.limits.clearance
        assert clearance is not None
        step = max(1, len(q) // self.problem.wall_samples)
        d, slopes = clearance.distances_and_slopes(q[::step])
        wall, slope = reach_wall(d - clearance.margin)
        if wall == INFINITE:
            return INFINITE
        slope_q[::step] += weight * step * np.einsum("np,npj->nj", slope, slopes)
        return weight * step * wall

    def _criterion(
        self, state: tuple[Array, Array, Array], slopes: list[Array], criterion: Criterion, weight: float, sharp: float
    ) -> float:
        value = INFINITE

        def weigh(W: Array) -> Array | None:
            nonlocal value
            scaled = W if self.row_scale is None else W * self.row_scale[:, None]
            G = scaled.T @ scaled
            found = criterion(G if self.problem.previous is None else G + self.problem.previous, sharp)
            if found is None:
                return None
            value, S = found
            weights = W @ (2 * S)
            weights = weights if self.row_scale is None else weights * (self.row_scale**2)[:, None]
            return self._with_efforts(W, weights, state, slopes, weight)

        found = self.problem.model.value_and_vjp(*state, weigh)
        if found is None:
            return INFINITE
        for slope, more in zip(slopes, found, strict=True):
            slope += more
        return value + self._effort_value

    def _with_efforts(
        self, W: Array, weights: Array, state: tuple[Array, Array, Array], slopes: list[Array], weight: float
    ) -> Array | None:
        """Weights with those of the wall at the effort limits; None where one is not respected."""
        self._effort_value, model = 0.0, self.problem.effort
        if model is None or self.problem.limits.effort is None:
            return weights
        tau = model.efforts(W, state[1], state[2])
        wall, slope = wall_and_slope(tau / self.effort_size)
        if wall == INFINITE:
            return None
        self._effort_value = weight * wall
        slope = weight * slope / self.effort_size
        slopes[1] += slope @ model.viscous
        slopes[2] += slope @ model.rotors
        return weights + np.outer(slope.T.ravel(), model.beta)


def wall_and_slope(u: Array) -> tuple[float, Array]:
    """-sum log(1 - u^2) and its derivative; infinite where |u| reaches 1."""
    s = 1.0 - u * u
    if not s.min() > 0 or not np.abs(u).max() < 1:
        return INFINITE, u
    return -float(np.log(s).sum()), 2 * u / s


def reach_wall(d: Array, reach: float = 0.1) -> tuple[float, Array]:
    """The same for distances d [m]: zero beyond `reach`, infinite at 0."""
    if not d.min() > 0:
        return INFINITE, d
    r = np.minimum(d / reach, 1.0)
    s = r * (2 - r)
    return -float(np.log(s).sum()), -(2 - 2 * r) / s / reach


def box_corners(limits: MotionLimits) -> tuple[Array, Array]:
    """Lower and upper corners of all boxes, one after the other."""
    return np.hstack([box.lower for box in limits.boxes]), np.hstack([box.upper for box in limits.boxes])


def _fastest(velocity: Array, acceleration: Array) -> float:
    """Largest rate of change of a motion of the family, in rad/s."""
    V, A = velocity.T @ velocity, acceleration.T @ acceleration
    V += 1e-9 * np.trace(V) * np.eye(len(V))
    return float(np.sqrt(eigh(A, V, eigvals_only=True)[-1]))
