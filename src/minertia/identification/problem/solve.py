"""Least squares on the R factors of a linear problem: estimates, noise levels and weighted fits.

Cross-validation folds are blocks of time or whole logs, each held out of a fit of the others; a fold is a few
R factors, so no log is read again.  Among columns for several values of a scanned constant, the best is
retained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from minertia.identification.problem.diagnosis import excitation
from minertia.identification.problem.observation import Observation, Rows
from minertia.identification.problem.triangles import merged, triangle
from minertia.io.arrays import Array

STATED_EQUATIONS = 20.0  # that the stated noise level of a projected effort counts for: known to 16 %
NOISE_FLOOR = 1e-13  # of an effort's size: rounding, not noise


def solution(R: Array) -> Array:
    """Least-squares estimate beta from the R factor of [W tau]."""
    return np.asarray(solve_triangular(R[:-1, :-1], R[:-1, -1]))


def inverse(R: Array) -> Array:
    """Inverse of an R factor, with scaled columns."""
    lengths = np.linalg.norm(R, axis=0)
    lengths = np.where(lengths > 0, lengths, 1.0)
    return np.asarray(solve_triangular(R / lengths, np.eye(len(R))) / lengths[:, None])


def noise_floor(problem: Observation) -> Array:
    """Noise level of each effort below which a residual is only rounding error."""
    largest = float(problem.effort_rms.max(initial=0.0))
    return np.asarray(np.maximum(NOISE_FLOOR * np.maximum(problem.effort_rms, 1e-3 * largest), 1e-300))


def noise_levels(problem: Observation, beta: Array, R: Array, sigma: Array) -> Array:
    """Residual standard deviation of each effort, corrected for the degrees of freedom used by the fit.

    R: the R factor of the fit, computed with these sigma.
    """
    inv = inverse(R[:-1, :-1])
    rows, effort = problem.filled
    used = np.bincount(effort, np.sum((rows[:, :-1] @ inv) ** 2, axis=1), len(sigma)) / sigma**2
    left, squares = problem.equations - used, problem.residuals(beta) ** 2
    if problem.stated_noise is None:
        found = squares / np.maximum(left, 1.0)
    else:
        found = stated_variances(squares, np.maximum(left, 0.0), problem.stated_noise**2)
    return np.asarray(np.maximum(np.sqrt(found), noise_floor(problem)))


def stated_variances(squares: Array, left: Array, stated: Array) -> Array:
    """Variance of each effort, as if `STATED_EQUATIONS` more equations had its stated variance.

    An effort that is nearly always projected out has too few equations to tell its noise.  Stated variances may be
    wrong by a common factor, which the others tell: their geometric mean, as the errors are ratios.
    """
    ratio = squares / np.maximum(left, 1.0) / stated
    factor = np.exp(np.sum(left * np.log(np.maximum(ratio, 1e-300))) / np.maximum(np.sum(left), 1e-300))
    return np.asarray((squares + STATED_EQUATIONS * factor * stated) / (left + STATED_EQUATIONS))


def weighted_solution(
    problem: Observation, iterations: int = 30, tolerance: float = 1e-9
) -> tuple[Array, Array, Array]:
    """beta, R and sigma of the iterated fit in which each effort is weighted by its noise level."""
    start = problem.effort_rms if problem.stated_noise is None else problem.stated_noise
    sigma = np.maximum(start, noise_floor(problem))
    for _ in range(iterations):
        R = problem.triangle(sigma)
        beta = solution(R)
        updated = noise_levels(problem, beta, R, sigma)
        done = bool(np.all(np.abs(updated / sigma - 1) < tolerance))
        sigma = updated
        if done:
            break
    R = problem.triangle(sigma)
    return solution(R), R, sigma


@dataclass(frozen=True)
class ExcitedFit:
    """Weighted fit of the unknowns that the motion distinguishes: the problem in these, beta, R and sigma."""

    part: Observation
    beta: Array
    R: Array
    sigma: Array


def excited_fit(problem: Observation) -> ExcitedFit:
    """Weighted fit of the unknowns that the motion distinguishes, made once for a problem."""
    if "fit" not in problem.made:
        part = problem.reduced(excitation(problem).independent)
        problem.made["fit"] = ExcitedFit(part, *weighted_solution(part))
    found: ExcitedFit = problem.made["fit"]
    return found


def streamed_triangle(problem: Observation, weight: Callable[[Rows], Array]) -> Array:
    """R factor of all rows, each multiplied by its weight (N, efforts), in one more pass."""
    R = np.zeros((0, problem.count + 1))
    for block in problem.stream():
        rows = np.concatenate([block.Y, block.tau[:, :, None]], axis=2) * weight(block)[:, :, None]
        R = triangle(np.concatenate([R, rows.reshape(-1, rows.shape[2])]))
    return R


# -------------------------------------------------------------------------------------------------------------- folds


FOLDS = 5


@dataclass(frozen=True)
class Fold:
    """One cross-validation fold.

    fitted: R factor (k, k) of the weighted rows of all other folds.  left_out: R factors (efforts, k, k) of the
    held-out rows, not weighted.  weighted: one R factor (k, k) of the weighted held-out rows.
    """

    fitted: Array
    left_out: Array
    weighted: Array


def block_folds(problem: Observation, sigma: Array, count: int = FOLDS) -> tuple[Fold, ...]:
    """At most `count` folds of consecutive blocks; none where the problem has a single block.

    sigma: noise level of each effort, by which rows are weighted.
    """
    blocks = problem.blocks
    return _folds(blocks, np.array_split(np.arange(len(blocks)), min(count, len(blocks))), sigma)


def _folds(blocks: Array, groups: Sequence[Array], sigma: Array) -> tuple[Fold, ...]:
    if len(groups) < 2:
        return ()
    k = blocks.shape[-1]
    own = [merged(blocks[group]) for group in groups]
    weighted = [triangle((part / sigma[:, None, None]).reshape(-1, k)) for part in own]
    others = [triangle(np.concatenate([w for m, w in enumerate(weighted) if m != out])) for out in range(len(own))]
    return tuple(Fold(*parts) for parts in zip(others, own, weighted, strict=True))


def left_out_squares(folds: Iterable[Fold], fit: Callable[[Array], Array]) -> Array:
    """Normalised sum of squares of each held-out fold; fit: beta from the R factor of the other folds."""
    return np.array([float(np.sum((f.weighted @ np.append(-fit(f.fitted), 1.0)) ** 2)) for f in folds])


def strongest(errors: Array) -> int:
    """Index of the strongest prior within one standard error of the smallest cross-validation error.

    errors (weights, folds).  One-standard-error rule (Hastie, Tibshirani, Friedman 2009, section 7.10).
    """
    mean = errors.mean(axis=1)
    best = int(np.argmin(mean))
    limit = mean[best] + errors[best].std(ddof=1) / np.sqrt(errors.shape[1])
    return int(np.flatnonzero(mean <= limit)[-1])


# -------------------------------------------------------------------------------------------------- scanned constants


ROUNDS = 3


def best_terms(observation: Observation) -> Observation:
    """Retain the best column of each scanned effect (Stribeck velocities), joint by joint, by least squares.

    All candidates were streamed together, so no log is read again.
    """
    groups: dict[tuple[str, int], list[int]] = {}
    where = {name: k for k, name in enumerate(observation.names)}
    for term in observation.model.choice.terms:
        if term.tag and term.name in where:
            groups.setdefault((term.symbol, term.joint), []).append(where[term.name])
    if not groups:
        return observation
    chosen = {key: group[len(group) // 2] for key, group in groups.items()}
    every = {k for group in groups.values() for k in group}
    others = [k for k in range(observation.count) if k not in every]
    part = observation.reduced(sorted([*others, *chosen.values()]))
    part = part.reduced(excitation(part).independent)
    _, _, sigma = weighted_solution(part)
    R = observation.triangle(sigma)
    for _ in range(ROUNDS):
        before = dict(chosen)
        for key, group in groups.items():
            rest = [*others, *(c for other, c in chosen.items() if other != key)]
            costs = [_cost(R, [*rest, candidate]) for candidate in group]
            chosen[key] = group[int(np.argmin(costs))]
        if chosen == before:
            break
    return _without(observation, sorted([*others, *chosen.values()]))


def _cost(R: Array, columns: list[int]) -> float:
    """Residual norm of the least-squares fit with these columns."""
    return float(abs(triangle(R[:, [*columns, R.shape[1] - 1]])[-1, -1]))


def _without(observation: Observation, keep: list[int]) -> Observation:
    """Observation and model restricted to the given columns."""
    model = observation.model
    part = observation.reduced(keep)
    names = tuple(model.names[k] for k in keep)
    dropped = {model.names[k] for k in range(model.count)} - set(names)
    terms = tuple(t for t in model.choice.terms if t.name not in dropped)
    standard = [c for c, name in enumerate(model.standard) if name not in dropped]
    position = {c: k for k, c in enumerate(standard)}
    smaller = replace(
        model,
        names=names,
        standard=tuple(model.standard[c] for c in standard),
        K=model.K[np.ix_(keep, standard)],
        kept=tuple(position[model.kept[k]] for k in keep),
        choice=replace(model.choice, terms=terms),
        reference=model.reference[keep],
    )
    every = observation.rest

    def rest(beta: Array) -> Iterator[tuple[int, Array]]:
        full = np.zeros(model.count)
        full[keep] = beta
        return every(full)

    return replace(part, model=smaller, rest=rest, keep=tuple(range(len(keep))), shift=np.zeros(len(keep)))


def normal_products(columns: Array, sides: Array) -> Array:
    """Normal equations [A'A, A'b] of rows (samples, joints, columns) and right sides (samples, joints, ...)."""
    A = columns.reshape(-1, columns.shape[2])
    return np.asarray(A.T @ np.concatenate([A, sides.reshape(len(A), -1)], axis=1))


def normal_solution(products: Array, hardly: float) -> Array:
    """Least-squares solution (columns, sides) of normal equations, without directions that the rows hardly show.

    hardly: singular value of the columns, scaled to length 1, over the largest one below which a direction is left out.
    """
    count = len(products)
    scale = np.sqrt(np.maximum(np.diag(products), 1e-300))
    squares, V = np.linalg.eigh(products[:, :count] / np.outer(scale, scale))
    shown = squares > hardly**2 * squares.max(initial=0.0)
    squares, V = squares[shown], V[:, shown]
    return np.asarray(V @ (V.T @ (products[:, count:] / scale[:, None]) / squares[:, None]) / scale[:, None])
