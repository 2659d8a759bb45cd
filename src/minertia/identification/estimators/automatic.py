"""Choice between unconstrained least squares and physically consistent fits, by cross-validation.

With weakly exciting motion, some directions of the parameters are determined by noise: the unconstrained fit
follows the noise, and fails on other motion.  Physical consistency of the links, and a prior from the robot
file, constrain such directions.  Cross-validation decides how far to trust either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from minertia.identification.estimators.estimate import Fit
from minertia.identification.estimators.estimator import Choice, Estimator, Known
from minertia.identification.estimators.least_squares import WeightedLeastSquares
from minertia.identification.estimators.physical import Physical
from minertia.identification.physical.consistency import GAPS_ONLY, PhysicalSpace, is_nonnegative, physical_space
from minertia.identification.physical.fit import physical_fit
from minertia.identification.physical.scaling import unshifted_fold
from minertia.identification.problem.diagnosis import excitation
from minertia.identification.problem.linear import LinearModel, symbol_of
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import block_folds, inverse, left_out_squares, strongest, weighted_solution
from minertia.identification.problem.tried import Tried
from minertia.io.errors import SolverFailed
from minertia.io.resources import one_thread

Array = NDArray[np.float64]
FEWEST_BLOCKS = 3  # of the logs, below which leaving one out says too little
WEIGHTS = (GAPS_ONLY, 1e-4, 1e-2, 1.0, 100.0)  # of the prior that are tried
BETTER = 0.95  # residual over that of plain least squares from which a physical fit is taken
AS_GOOD = 1.01  # the same where plain least squares gives values that cannot be: as good is good enough
CERTAIN = 5.0  # deviations below 0 from which a value is negative: these are for white residuals, and so too small
MOST_LINKS = 20  # semidefinite programs of larger robots take minutes


@final
@dataclass(frozen=True)
class Automatic(Estimator):
    """Unconstrained weighted least squares, unless a physical fit predicts held-out folds clearly better.

    If least squares makes rotor inertia or friction negative, a physical fit that predicts as well is chosen.
    prior: standard parameters by name (None: those of the robot, if it has any).  fixed: known parameters.
    """

    prior: Mapping[str, float] | None = None
    fixed: Mapping[str, float] = field(default_factory=dict)

    takes_prior: ClassVar[bool] = True

    def informed(self, model: LinearModel, known: Known) -> Self:  # noqa: D102
        prior = known.prior if self.prior is None else self.prior
        return replace(self, prior=prior, fixed={**known.fixed, **self.fixed})

    def fit(self, problem: Observation) -> Fit:  # noqa: D102
        chosen = self.chosen(problem).estimator
        if chosen.fills_gaps:
            return chosen.fit(problem)
        return chosen.fit(problem.reduced(excitation(problem).independent))

    def chosen(self, problem: Observation) -> Choice:
        """Estimator to use for a problem, with a message if it is not weighted least squares."""
        plain = Choice(WeightedLeastSquares(), "wls")
        space = physical_space(problem.model, self.prior, self.fixed, problem.effort_rms).free()
        if len(problem.blocks) < FEWEST_BLOCKS or not 0 < len(space.links) <= MOST_LINKS:
            return plain
        with one_thread():
            free, errors = _errors(problem, space, self._weights(problem))
        better = {weight: e for weight, e in errors.items() if e.sum() < BETTER**2 * free.sum()}
        wrong = [] if better else impossible_effects(problem)
        if wrong and GAPS_ONLY in errors and errors[GAPS_ONLY].sum() < AS_GOOD**2 * free.sum():
            better = {GAPS_ONLY: errors[GAPS_ONLY]}  # physics alone: no prior is needed for that
        weight = list(better)[strongest(np.stack(list(better.values())))] if better else None
        tried = tuple(
            _tried(own, float(1 - np.sqrt(e.sum() / free.sum())), own == weight)
            for own, e in ((None, free), *errors.items())
        )
        if weight is None:
            return replace(plain, tried=tried)
        ratio = float(np.sqrt(better[weight].sum() / free.sum()))
        pull = "" if weight == GAPS_ONLY else f" regularised towards the prior with weight {weight:g}"
        why = f", which makes {', '.join(wrong)} negative" if wrong else ""
        note = (
            f"the physically consistent fit{pull} was chosen: its residual on held-out folds is {100 * ratio:.3g} "
            f"% of that of least squares{why} (choose with --estimator)"
        )
        return Choice(Physical(prior=self.prior, weight=weight, fixed=self.fixed), "physical", (note,), tried)

    def _weights(self, problem: Observation) -> tuple[float, ...]:
        return WEIGHTS if self.prior is not None or problem.model.robot.has_parameters else WEIGHTS[:1]


def _tried(weight: float | None, gain: float, is_selected: bool) -> Tried:
    """Record of a compared estimator; weight: that of its prior, None for least squares."""
    if weight is None:
        return Tried("estimator", "wls", gain, is_selected, "" if is_selected else "a physical fit predicts better")
    option = "physical" if weight == GAPS_ONLY else f"physical, prior weight {weight:g}"
    reason = (
        f"less than {100 * (1 - BETTER):.2g} % better than wls"
        if gain < 1 - BETTER
        else "another weight is as good within one standard error"
    )
    return Tried("estimator", option, gain, is_selected, "" if is_selected else reason)


def impossible_effects(problem: Observation) -> list[str]:
    """Effects that cannot be negative but whose least-squares coefficient is significantly negative."""
    part = problem.reduced(excitation(problem).independent)
    beta, R, _ = weighted_solution(part)
    deviation = np.linalg.norm(inverse(R[:-1, :-1]), axis=1)
    values = zip(part.names, beta + part.shift[list(part.keep)], deviation, strict=True)
    return [name for name, v, d in values if v < -CERTAIN * d and is_nonnegative(symbol_of(name))]


def _errors(problem: Observation, space: PhysicalSpace, weights: tuple[float, ...]) -> tuple[Array, dict[float, Array]]:
    """Sums of squares on held-out folds over the noise variance: for least squares, and for each prior weight."""
    found = excitation(problem)
    _, _, sigma = weighted_solution(problem.reduced(found.independent))
    folds = [unshifted_fold(problem, fold) for fold in block_folds(problem, sigma)]  # few blocks need the choice most
    rows = problem.samples * len(sigma) * (len(folds) - 1) // len(folds)
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
            errors[weight] = left_out_squares(folds, physical(weight))
        except SolverFailed:
            continue
    return left_out_squares(folds, free), errors
