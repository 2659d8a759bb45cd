"""Cross-validation over segments of the logs, computed from R factors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from minertia.identification.evidence.residuals import Residuals
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import block_folds, solution
from minertia.identification.problem.triangles import merged, triangle
from minertia.io.errors import SolverFailed
from minertia.io.resources import one_thread

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LeftOut:
    """Cross-validation result: norms per joint of residual and effort over the held-out folds."""

    rest: Array
    effort: Array
    samples: int

    @classmethod
    def of(cls, found: Residuals) -> LeftOut:
        """Result of one held-out part of the data, predicted by a fit of the rest."""
        return cls(np.array(found.joint_rmse), found.efforts, 1)

    def __repr__(self) -> str:
        return f"<LeftOut: {100 * self.relative:.3g} % of the effort of {self.samples} samples in held-out folds>"

    @property
    def relative(self) -> float:
        """Relative residual: norm of residual over norm of effort; nan without folds, inf if a fit fails."""
        size = float(np.linalg.norm(self.effort))
        return float(np.linalg.norm(self.rest)) / size if size > 0 else float("nan" if not len(self.rest) else "inf")


NOTHING_LEFT_OUT = LeftOut(np.zeros(0), np.zeros(0), 0)


def left_out_error(
    problem: Observation,
    sigma: Array,
    refit: Callable[[Array], Array] | None = None,
    judged: Observation | None = None,
) -> LeftOut:
    """Cross-validation residuals over folds (blocks of time), each predicted by a fit of the others.

    refit: estimate from an R factor of weighted rows; default: least squares.  judged: the same blocks and
    unknowns with effort equations, if the problem has other equations.
    """
    rows = problem if judged is None else judged
    count = len(rows.row_names)
    with one_thread():
        folds = block_folds(problem, sigma)
        if not folds:
            return NOTHING_LEFT_OUT
        rest, effort = np.zeros((2, count))
        held = folds if judged is None else block_folds(judged, np.ones(count))
        for fold, own in zip(folds, held, strict=True):
            beta = _refitted(fold.fitted, refit)
            if beta is None:  # the other folds do not excite everything
                return LeftOut(np.full(count, np.inf), np.ones(count), problem.samples)
            rest += np.sum((own.left_out @ np.append(-beta, 1.0)) ** 2, axis=1)
            effort += np.sum(own.left_out[:, :, -1] ** 2, axis=1)
        return LeftOut(np.sqrt(rest), np.sqrt(effort), problem.samples)


def _refitted(R: Array, refit: Callable[[Array], Array] | None) -> Array | None:
    """Estimate from an R factor by `refit`, or by least squares if `refit` is None or fails.

    None if least squares is singular.
    """
    if refit is not None:
        try:
            return refit(R)
        except SolverFailed:  # data without noise ask for more digits than a cone solver has
            pass
    least = np.abs(np.diag(R)[:-1]).min(initial=1.0)
    is_singular = least <= 1e-9 * np.linalg.norm(R[:, :-1], axis=0).max(initial=1.0)
    return None if is_singular else solution(R)


LOGS_HELD_OUT = 3  # logs from which whole ones are held out, and not parts of them
SINGULAR = 1e-9  # of the largest singular value: directions that the other blocks do not determine stay where they are


def held_out_values(
    problem: Observation, sigma: Array, log: int, parts: int, prior: tuple[Array, Array]
) -> Iterator[Array]:
    """Estimates without each of some equal parts of a log, from R factors.

    prior: rows of prior knowledge of the unknowns, and the estimate that they and all rows gave.
    """
    counts = [len(one.counts) for one in problem.logs]
    blocks = np.arange(sum(counts[:log]), sum(counts[: log + 1]))
    for own in np.array_split(blocks, parts):
        others = np.delete(np.arange(len(problem.blocks)), own)
        if not len(others) or not problem.count:
            yield prior[1]
            continue
        with one_thread():
            R = triangle((merged(problem.blocks[others]) / sigma[:, None, None]).reshape(-1, problem.count + 1))
        yield stepped(R, *prior)


def stepped(R: Array, prior: Array, before: Array) -> Array:
    """Estimate from the R factor of some rows and rows of a prior, beginning at that of all rows."""
    with one_thread():
        A = np.concatenate([R[:, :-1], prior])
        rest = np.append(R[:, -1] - R[:, :-1] @ before, np.zeros(len(prior)))
        size = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
        return np.asarray(before + np.linalg.lstsq(A / size, rest, rcond=SINGULAR)[0] / size)


def equal_parts(samples: int, count: int) -> list[slice]:
    """Equal consecutive parts of a number of samples."""
    ends = [samples * k // count for k in range(count + 1)]
    return [slice(a, b) for a, b in pairwise(ends)]
