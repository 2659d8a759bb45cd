"""Cross-validation over segments of the logs, computed from R factors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
THIRDS = 3  # of the postures of few logs: each is left out, as a new log has postures that were not fitted
SINGULAR = 1e-9  # of the largest singular value: directions that the other blocks do not determine stay where they are


def posture_thirds(postures: Array) -> list[NDArray[np.int64]]:
    """Places of the lower, middle and upper third of postures (N, joints), along the direction of most variation.

    The parts of one motion in time are alike, and so say little about another motion.  Thirds of the postures differ as
    the postures of other logs do.
    """
    off = postures - postures.mean(axis=0)
    along = off @ np.linalg.eigh(off.T @ off)[1][:, -1]
    return np.array_split(np.argsort(along, kind="stable"), THIRDS)  # equal ones in time, so that none is empty


def what_is_held_out(fitted: int, unseen: int) -> str:
    """Description of the held-out data of some fitted and validation logs."""
    told = "each fitted log" if fitted >= LOGS_HELD_OUT else "each third of the postures of each fitted log"
    return told + (" and the validation logs" if unseen else "")


def triangle_without(problem: Observation, sigma: Array, blocks: NDArray[np.int64]) -> Array:
    """R factor of the rows, over their noise, of all but some blocks."""
    others = np.delete(np.arange(len(problem.blocks)), blocks)
    if not len(others) or not problem.count:
        return np.zeros((problem.count + 1, problem.count + 1))
    with one_thread():
        return triangle((merged(problem.blocks[others]) / sigma[:, None, None]).reshape(-1, problem.count + 1))


def stepped(R: Array, prior: Array, before: Array) -> Array:
    """Estimate from the R factor of some rows and rows of a prior, beginning at that of all rows."""
    with one_thread():
        A = np.concatenate([R[:, :-1], prior])
        rest = np.append(R[:, -1] - R[:, :-1] @ before, np.zeros(len(prior)))
        size = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
        return np.asarray(before + np.linalg.lstsq(A / size, rest, rcond=SINGULAR)[0] / size)
