"""The choice between plain least squares and physical fits, by what predicts stretches that were left out.

Weakly exciting motion leaves directions of the parameters to the noise: the free fit follows it, and fails on other
motion.  That the links are bodies that can exist, and that they are about those of the robot's file, holds such
directions.  How far to trust either is what leaving out stretches of the recordings tells (cross-validation).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from minertia.errors import SolverFailed
from minertia.identification.estimate import Fit
from minertia.identification.estimators.estimator import Estimator, strongest, weighted_solution
from minertia.identification.estimators.least_squares import WeightedLeastSquares
from minertia.identification.estimators.physical import Physical, unshifted
from minertia.identification.physical.consistency import GAPS_ONLY, PhysicalSpace, physical_space
from minertia.identification.physical.fit import physical_fit
from minertia.identification.problem.diagnosis import excitation
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.triangles import merged, triangle
from minertia.threads import one_thread

Array = NDArray[np.float64]
FOLDS = 5
FEWEST_BLOCKS = 3  # of the recordings, below which leaving one out says too little
WEIGHTS = (GAPS_ONLY, 1e-4, 1e-2, 1.0, 100.0)  # of the prior that are tried
BETTER = 0.95  # residual over that of plain least squares from which a physical fit is taken
MOST_LINKS = 20  # semidefinite programs of larger robots take minutes


@dataclass(frozen=True)
class Choice:
    """The estimator that was chosen, its name in the table, and a sentence that says why."""

    name: str
    estimator: Estimator
    notes: tuple[str, ...] = ()


@final
@dataclass(frozen=True)
class Automatic(Estimator):
    """Plain weighted least squares, unless a physical fit predicts stretches left out clearly better.

    prior: standard parameters by name (None: the robot's own, where it has any).  fixed: known parameters.
    """

    prior: Mapping[str, float] | None = None
    fixed: Mapping[str, float] = field(default_factory=dict)

    def fit(self, problem: Observation) -> Fit:  # noqa: D102
        chosen = self.settled(problem).estimator
        if chosen.fills_gaps:
            return chosen.fit(problem)
        return chosen.fit(problem.reduced(excitation(problem).independent))

    def settled(self, problem: Observation) -> Choice:
        """The estimator to use for a problem, with a sentence where it is not plain least squares."""
        plain = Choice("wls", WeightedLeastSquares())
        space = physical_space(problem.model, self.prior, self.fixed, problem.effort_rms)
        if len(problem.blocks) < FEWEST_BLOCKS or not 0 < len(space.links) <= MOST_LINKS:
            return plain
        with one_thread():
            free, errors = _errors(problem, space, self._weights(problem))
        better = {weight: e for weight, e in errors.items() if e.sum() < BETTER**2 * free.sum()}
        if not better:
            return plain
        weight = list(better)[strongest(np.stack(list(better.values())))]
        ratio = float(np.sqrt(better[weight].sum() / free.sum()))
        pull = "" if weight == GAPS_ONLY else f" drawn to the prior with weight {weight:g}"
        note = (
            f"a physical fit{pull} was taken: it leaves {100 * ratio:.0f} % of the residual of plain least squares on "
            "stretches that were left out (choose with --estimator)"
        )
        return Choice("physical", Physical(prior=self.prior, weight=weight, fixed=self.fixed), (note,))

    def _weights(self, problem: Observation) -> tuple[float, ...]:
        return WEIGHTS if self.prior is not None or problem.model.robot.has_parameters else WEIGHTS[:1]


def _errors(problem: Observation, space: PhysicalSpace, weights: tuple[float, ...]) -> tuple[Array, dict[float, Array]]:
    """Sums of squares of stretches left out, in noise levels: of plain least squares, and for each weight."""
    found = excitation(problem)
    _, _, sigma = weighted_solution(problem.reduced(found.independent))
    blocks = problem.blocks / sigma[:, None, None]
    k = blocks.shape[-1]
    count = min(FOLDS, len(blocks))  # short logs have few blocks, and need the choice most
    folds = np.array_split(np.arange(len(blocks)), count)
    parts = [unshifted(problem, triangle(merged(blocks[f]).reshape(-1, k))) for f in folds]
    rows = problem.samples * len(sigma) * (count - 1) // count
    columns = [problem.keep[c] for c in found.independent]
    known = problem.shift

    def free(R: Array) -> Array:
        beta = np.array(known)
        beta[columns] += np.linalg.lstsq(R[:, columns], R[:, -1] - R[:, :-1] @ known, rcond=None)[0]
        return beta

    def physical(weight: float) -> Callable[[Array], Array]:
        return lambda R: physical_fit(space, R, rows, weight=weight).beta

    errors = {}
    for weight in weights:
        try:
            errors[weight] = _left_out(parts, physical(weight))
        except SolverFailed:
            continue
    return _left_out(parts, free), errors


def _left_out(parts: list[Array], fitted: Callable[[Array], Array]) -> Array:
    """Sum of squares of each part under the values that the others give."""
    sums = []
    for out, part in enumerate(parts):
        beta = fitted(triangle(np.concatenate([p for m, p in enumerate(parts) if m != out])))
        sums.append(float(np.sum((part @ np.append(-beta, 1.0)) ** 2)))
    return np.array(sums)
