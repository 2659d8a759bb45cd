"""Objective of a search: a criterion and logarithmic barriers at the limits, with its exact gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from minertia.excitation.constraint import checked_margins
from minertia.excitation.criteria import Criterion
from minertia.excitation.effort import EffortModel
from minertia.excitation.limits import MotionLimits
from minertia.excitation.model import Blocks, PointModel, RegressorModel
from minertia.excitation.trajectory import Family
from minertia.io.arrays import Array

INFINITE = float("inf")
FINER = 10  # the last check has this many times the samples of the search


@dataclass(frozen=True)
class MotionProblem:
    """Definition of a trajectory optimisation.

    offset: posture (n,) the family moves about.  row_scale: (n,) factors on the rows of each joint (1 / noise), None
    for none.  previous: information matrix of earlier recordings.
    """

    family: Family
    offset: Array
    limits: MotionLimits
    model: RegressorModel
    n_samples: int
    effort: EffortModel | None = None
    points: PointModel | None = None
    row_scale: Array | None = None
    previous: Array | None = None
    wall_samples: int = 100  # postures at which distances are taken at first; `Objective.refine` takes more


class ObjectiveValue(NamedTuple):
    """Objective value, its gradient in two parts, and the use of the joint limits.

    rest: gradient without the joint-limit barriers; wall: gradient of these barriers.  use: (3, N, n), or (4, N,
    n) if jerk is limited.
    """

    value: float
    rest: Array
    wall: Array
    use: Array


class Objective:
    """Objective criterion(G) + weight * barriers, as a function of the scaled free coefficients of all joints."""

    def __init__(self, problem: MotionProblem) -> None:
        self.problem = problem
        self.n = len(problem.offset)
        family, limits = problem.family, problem.limits
        t = np.arange(problem.n_samples) * family.duration / problem.n_samples
        matrices = family.matrices(t)
        # between two samples a motion overshoots by about (w dt)^2 / 8 of its size
        self.tight = 1.0 - min(0.2, (_fastest(*matrices[1:]) * t[1]) ** 2 / 8)
        bounds = [limits.half, limits.velocity, limits.acceleration]
        more = [] if limits.jerk is None else [family.jerks(t)]
        self.limited = np.vstack([*matrices, *more])  # (3 N or 4 N, free): positions and what is limited of their rates
        self.functions = self.limited[: 3 * problem.n_samples]  # what the model sees of them
        self.products = (self.limited[:, :, None] * self.limited[:, None, :]).reshape(len(self.limited), -1)
        self.sizes = self.tight * np.array(bounds if limits.jerk is None else [*bounds, limits.jerk])
        self.middle = np.array([limits.middle, *np.zeros((len(self.sizes) - 1, self.n))])
        self.scale = self._scaling()
        self.row_scale = np.ones(self.n) if problem.row_scale is None else problem.row_scale
        mixing, columns = problem.model.mixing, problem.model.columns
        self.mixing = mixing
        self.corners = [_corner(c, problem.model.p) for c in columns]
        if problem.effort is not None:
            beta = problem.effort.beta if mixing is None else mixing @ problem.effort.beta
            self.beta = [beta[c] for c in columns]
        if limits.effort is not None and problem.effort is not None:
            allowed = limits.effort * (1 - limits.effort_margin) * self.tight
            self.effort_size = (allowed - problem.effort.coulomb) / problem.effort.gain
        self.evaluations = 0
        self._look_at(problem.wall_samples)

    def _look_at(self, count: int) -> None:
        """Set the number of times at which distances are evaluated."""
        t = np.linspace(0.0, self.problem.family.duration, count + 1)
        self.looks = self.problem.family.matrices(t)[0]

    def refine(self) -> bool:
        """Double the number of times for distances; False if it already equals that of the final check."""
        count = len(self.looks) - 1
        if count >= FINER * self.problem.n_samples:
            return False
        self._look_at(min(2 * count, FINER * self.problem.n_samples))
        return True

    def _scaling(self) -> Array:
        """Scaling matrices (n, free, free), coefficients = scale_j y_j: the mean square limit use is |y_j|^2."""
        scale = []
        for j in range(self.n):
            rows = self.limited / np.repeat(self.sizes[:, j], self.problem.n_samples)[:, None]
            scale.append(np.linalg.inv(np.linalg.cholesky(rows.T @ rows / len(rows))).T)
        return np.array(scale)

    def coefficients(self, y: Array) -> Array:
        """Free coefficients (n, free) from the scaled unknowns of the search."""
        return np.asarray(np.matmul(self.scale, y.reshape(self.n, -1, 1))[..., 0])

    def motion(self, x: Array, out: Array | None = None) -> Array:
        """q, qd, qdd at the samples, shape (3, N, n)."""
        state = np.empty((3, self.problem.n_samples, self.n)) if out is None else out
        np.matmul(self.functions, x.T, out=state.reshape(-1, self.n))
        state[0] += self.problem.offset
        return state

    def use(self, y: Array) -> float:
        """Largest fraction of a joint limit that a motion uses, relative to its offset posture."""
        return float(np.abs(self._used(self.coefficients(y))).max())

    def _used(self, x: Array) -> Array:
        """Fraction of each limit that coefficients use, relative to the offset posture, (3 or 4, N, n)."""
        moved = (self.limited @ x.T).reshape(len(self.sizes), -1, self.n)
        return np.asarray(moved / self.sizes[:, None, :])

    def __call__(self, y: Array, criterion: Criterion, weight: float, sharpness: float) -> tuple[float, Array]:
        """Value and gradient; infinite if a limit is violated."""
        found = self.evaluate(y, criterion, weight, sharpness)
        return (INFINITE, np.zeros_like(y)) if found is None else (found.value, found.rest + found.wall)

    def evaluate(self, y: Array, criterion: Criterion, weight: float, sharpness: float) -> ObjectiveValue | None:
        """Value, gradient in two parts, and limit use for the barrier curvature; None if a limit is violated."""
        self.evaluations += 1
        x = self.coefficients(y)
        state = self.motion(x, out=self.problem.model.state(self.problem.n_samples))
        u = self._limits_used(x, state)
        wall, bend = wall_and_slope(u)
        if wall == INFINITE:
            return None
        bend *= weight / self.sizes[:, None, :]
        room, push = self._clearance_wall(x, weight)
        loops, turns = (INFINITE, None) if room == INFINITE else self._loop_wall(state, weight)
        found = None if loops == INFINITE else self.criterion_and_slopes(state, criterion, weight, sharpness)
        if found is None:
            return None
        value, slopes = found
        if turns is not None:
            slopes[:2] += turns
        value += weight * wall + room + loops + self._box_wall(state[0], slopes[0], weight)
        value += self._own_wall(state, slopes, weight)
        if value == INFINITE:
            return None
        rest, walls = self._gradient(slopes, self.functions), self._gradient(bend, self.limited)
        return ObjectiveValue(value, rest + push, walls, u)

    def _limits_used(self, x: Array, state: Array) -> Array:
        """Use of each limit: positions relative to the middle of their ranges, and rates, divided by the limits."""
        u = (state - self.middle[:3, None, :]) / self.sizes[:3, None, :]
        if len(self.sizes) == 3:
            return np.asarray(u)
        jerk = self.limited[3 * self.problem.n_samples :] @ x.T / self.sizes[3]
        return np.concatenate([u, jerk[None]])

    def _gradient(self, slopes: Array, functions: Array) -> Array:
        return self._by_unknowns(slopes.reshape(-1, self.n).T @ functions)

    def _by_unknowns(self, by_coefficients: Array) -> Array:
        return np.asarray(np.matmul(by_coefficients[:, None, :], self.scale).ravel())

    def wall_curvature(self, u: Array, weight: float) -> Array:
        """Second derivatives of the joint-limit barriers, one block (free, free) per joint."""
        s = 1.0 - u * u
        bend = (2 * weight * (1 + u * u) / (s * s) / self.sizes[:, None, :] ** 2).reshape(-1, self.n)
        m = self.limited.shape[1]
        return np.asarray(self.scale.swapaxes(1, 2) @ (bend.T @ self.products).reshape(self.n, m, m) @ self.scale)

    def room(self, u: Array, step: Array) -> float:
        """Largest step length before a joint limit is reached."""
        du = self._used(self.coefficients(step))
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.nanmin((1 - np.sign(du) * u) / np.abs(du)))

    def _box_wall(self, q: Array, slope_q: Array, weight: float) -> float:
        """Barrier of the boxes for points; its gradient is added to `slope_q`, the gradient with respect to q."""
        if self.problem.points is None:
            return 0.0
        lower, upper = box_corners(self.problem.limits)
        half = 0.5 * (upper - lower) * self.tight
        wall, slope = wall_and_slope((self.problem.points.value(q) - 0.5 * (lower + upper)) / half)
        if wall == INFINITE:
            return INFINITE
        slope_q += self.problem.points.vjp(q, weight * slope / half)
        return weight * wall

    def _loop_wall(self, state: Array, weight: float) -> tuple[float, Array | None]:
        """Barrier of singular postures of loops and passive joint limits; its gradients (2, N, n) for q and qd."""
        loops = self.problem.limits.loops
        if loops is None:
            return 0.0, None
        rooms, pull = loops.rooms_and_pull(state[0], state[1])
        rooms = (rooms - (1 - self.tight)) / self.tight
        if not rooms.min() > 0:  # nor is it where a loop does not close
            return INFINITE, None
        return -weight * float(np.log(rooms).sum()), np.array(pull(-weight / (rooms * self.tight)))

    def _own_wall(self, state: Array, slopes: Array, weight: float) -> float:
        """Barrier of further constraints; its gradient is added to that of the states."""
        wall = 0.0
        for constraint in self.problem.limits.constraints:
            margins = checked_margins(constraint, *state)
            rooms = (margins - (1 - self.tight)) / self.tight
            if not rooms.min() > 0:
                return INFINITE
            wall -= weight * float(np.log(rooms).sum())
            slopes += np.array(constraint.slopes(state[0], state[1], state[2], -weight / (rooms * self.tight)))
        return wall

    def _clearance_wall(self, x: Array, weight: float) -> tuple[float, Array]:
        """Barrier of distances to floor, links and obstacles; its gradient with respect to the scaled unknowns."""
        clearance = self.problem.limits.clearance
        if clearance is None:
            return 0.0, np.zeros(x.size)
        wall, slope = clearance.wall(self.problem.offset + self.looks @ x.T)
        if wall == INFINITE:
            return INFINITE, slope
        weight *= self.problem.n_samples / len(self.looks)
        return weight * wall, weight * self._by_unknowns(slope.T @ self.looks)

    def clears(self, y: Array) -> bool:
        """Whether a motion keeps its clearances on the fine grid."""
        clearance = self.problem.limits.clearance
        if clearance is None:
            return True
        t = np.linspace(0.0, self.problem.family.duration, FINER * self.problem.n_samples + 1)
        q = self.problem.offset + self.problem.family.matrices(t)[0] @ self.coefficients(y).T
        return all(found is None or found.distance >= clearance.margin for found in clearance.approaches(q))

    def criterion_and_slopes(
        self, state: Array, criterion: Criterion, weight: float, sharpness: float
    ) -> tuple[float, Array] | None:
        """Criterion with the effort barrier, and its gradient (3, N, n); None if it has no value.

        state: the array `state` of the model, filled with the motion.  The gradient is an array of the model,
        valid until the next call.
        """
        value, effort = INFINITE, _EffortSlopes(self.problem.effort)

        def weigh(G: Array, blocks: Blocks, weights: Blocks) -> bool:
            nonlocal value
            found = self._valued(criterion, G, sharpness)
            if found is None:
                return False
            S = 2 * found[1]
            for corner, scale, block, own in zip(self.corners, self.row_scale, blocks, weights, strict=True):
                np.matmul(block, S[corner] if scale == 1 else scale**2 * S[corner], out=own)
            value = found[0] + self._effort_wall(blocks, weights, state, effort, weight)
            return value < INFINITE

        slopes = self.problem.model.vjp(weigh, self.row_scale)
        if slopes is None:
            return None
        effort.add_to(slopes, state)
        return value, slopes

    def _valued(self, criterion: Criterion, G: Array, sharpness: float) -> tuple[float, Array] | None:
        """Criterion of the base parameters, with earlier recordings, and its derivative with respect to G."""
        M = self.mixing
        G = G if M is None else M.T @ G @ M
        found = criterion(G if self.problem.previous is None else G + self.problem.previous, sharpness)
        return found if found is None or M is None else (found[0], M @ found[1] @ M.T)

    def _effort_wall(
        self, blocks: Blocks, weights: Blocks, state: Array, slopes: _EffortSlopes, weight: float
    ) -> float:
        """Barrier at the effort limits.

        Its gradient is added to the weights, and to `slopes` for effects outside W.
        """
        model = self.problem.effort
        if model is None or self.problem.limits.effort is None:
            return 0.0
        smooth = np.column_stack([b @ beta for b, beta in zip(blocks, self.beta, strict=True)])
        wall, slope = wall_and_slope(model.with_effects(smooth, *state) / self.effort_size)
        if wall == INFINITE:
            return INFINITE
        slope *= weight / self.effort_size
        slopes.by_effort = slope
        for j, (beta, own) in enumerate(zip(self.beta, weights, strict=True)):
            own += np.outer(slope[:, j], beta)
        return weight * wall


@dataclass
class _EffortSlopes:
    """Gradient (N, n) of the barriers with respect to the efforts, propagated also to effects outside W."""

    model: EffortModel | None
    by_effort: Array | None = None

    def add_to(self, slopes: Array, state: Array) -> None:
        """Add the contribution of effects without a column in W to the gradient (3, N, n)."""
        if self.model is not None and self.by_effort is not None:
            self.model.add_slopes(self.by_effort, state, slopes)


def _corner(columns: NDArray[np.int32], p: int) -> Any:
    """Index of a block's rows and columns in a (p, p) matrix; a view if they are its last ones."""
    first = p - len(columns)
    is_last = np.array_equal(columns, np.arange(first, p))
    return (slice(first, None), slice(first, None)) if is_last else np.ix_(columns, columns)


def wall_and_slope(u: Array) -> tuple[float, Array]:
    """Barrier -sum log(1 - u^2) and its derivative; infinite where |u| reaches 1."""
    s = 1.0 - u * u
    if not s.min() > 0 or not np.abs(u).max() < 1:
        return INFINITE, u
    return -float(np.log(s).sum()), 2 * u / s


def box_corners(limits: MotionLimits) -> tuple[Array, Array]:
    """Lower and upper corners of all boxes, concatenated."""
    return np.hstack([box.lower for box in limits.boxes]), np.hstack([box.upper for box in limits.boxes])


def _fastest(velocity: Array, acceleration: Array) -> float:
    """Highest angular frequency of a motion of the family [rad/s]."""
    V, A = velocity.T @ velocity, acceleration.T @ acceleration
    V += 1e-9 * np.trace(V) * np.eye(len(V))
    return float(np.sqrt(eigh(A, V, eigvals_only=True)[-1]))
