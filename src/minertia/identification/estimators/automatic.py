"""Choice between unconstrained least squares and physically consistent fits with a prior.

With weakly exciting motion, some directions of the parameters are determined by noise: the unconstrained fit
follows the noise, and fails on other motion.  Physical consistency of the links, a prior from the robot file, and one
of zero for effects constrain such directions, each as strongly as the marginal likelihood of the logs says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from minertia.identification.estimators.estimate import Fit
from minertia.identification.estimators.estimator import Choice, Estimator, Known
from minertia.identification.estimators.least_squares import WeightedLeastSquares
from minertia.identification.estimators.physical import Physical
from minertia.identification.physical.consistency import (
    GAPS_ONLY,
    PhysicalSpace,
    impossible_links,
    physical_space,
    prior_groups,
)
from minertia.identification.physical.fit import physical_fit
from minertia.identification.physical.scaling import trusted_levels, unshifted
from minertia.identification.problem.diagnosis import excitation
from minertia.identification.problem.linear import LinearModel, is_nonnegative, symbol_of
from minertia.identification.problem.marginal import (
    FREE,
    LINKS,
    Groups,
    Marginal,
    MarginalLikelihood,
    PriorDeviations,
    memory_of,
)
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import (
    block_folds,
    excited_fit,
    inverse,
    left_out_squares,
    solution,
)
from minertia.identification.problem.tried import Tried
from minertia.io.errors import SolverFailed
from minertia.io.resources import one_thread

Array = NDArray[np.float64]
KNOWN = 0.01  # variance by the data over that of the prior: below it no value is moved by a tenth of its deviation
CONTRADICTED = 5.0  # deviations of the increase of the sum of squares from which the logs contradict physics
CONTRADICTS = "the logs contradict physical consistency or the prior, and held-out parts of them agree"
CERTAIN = 5.0  # deviations below 0 from which a value is negative: these are for white residuals, and so too small
MOST_LINKS = 20  # semidefinite programs of larger robots take minutes


@final
@dataclass(frozen=True)
class Automatic(Estimator):
    """Unconstrained weighted least squares if the logs determine all values; else a physical fit with a prior.

    The deviations of the prior maximise the marginal likelihood of the logs.  If least squares makes rotor inertia or
    friction negative, a physical fit is chosen, too, unless the logs contradict it.
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
        if not 0 < len(space.links) <= MOST_LINKS:
            return plain
        with one_thread():
            memory = memory_of(problem)
            groups = prior_groups(problem, self.prior, self.fixed)
            likelihood = MarginalLikelihood(problem, groups, memory)
            found = likelihood.maximised(np.ones(problem.count, bool))
            wrong = impossible_effects(problem)
            likely = PriorDeviations(
                _deviations(problem.model, groups, found),
                memory,
                tuple(found.sigma.tolist()),
                {problem.model.standard[k]: error for k, error in likelihood.errors(found).items()},
            )
            contradiction = _contradiction(problem, space.deviating(likely, problem), found.sigma, memory)
            is_known = excitation(problem).is_complete and likelihood.undetermined(found) < KNOWN
            physical = Physical(prior=self.prior, fixed=self.fixed, likely=likely)
            is_contradicted = contradiction >= CONTRADICTED and _predicts_better(problem, physical)
        takes = not is_contradicted and (bool(wrong) or not is_known)
        errors = [100 * value for name, value in found.factors.items() if name.startswith(LINKS)]
        trust = f"; relative errors of the prior's links {min(errors):.2g} to {max(errors):.2g} %" if errors else ""
        option = f"physical with a prior{trust}"
        reason = CONTRADICTS if is_contradicted else "the logs determine all values without it"
        fault = f"it makes {', '.join(wrong)} negative" if wrong else "the logs do not determine all values"
        tried = (
            Tried("estimator", "wls", 0.0, not takes, fault if takes else ""),
            Tried("estimator", option, float("nan"), takes, "" if takes else reason),
        )
        if not takes:
            return replace(plain, tried=tried)
        why = f"least squares makes {', '.join(wrong)} negative" if wrong else "the logs do not determine all values"
        notes = [f"the physically consistent fit with a prior was chosen: {why}{trust} (choose with --estimator)"]
        if self.prior is None and (odd := impossible_links(problem.model.robot, space.links)):
            notes.append(
                f"no body has the inertia that the robot's file gives for {', '.join(odd)}: the prior there is the "
                "nearest one (minertia check says why)"
            )
        return Choice(physical, "physical", tuple(notes), tried)


def _deviations(model: LinearModel, groups: Groups, found: Marginal) -> dict[str, float]:
    """Standard deviation of the prior of each standard parameter that has one."""
    deviations: dict[str, float] = {}
    for name, where in groups.members.items():
        if name != FREE:
            deviations |= {model.standard[k]: float(found.factors[name] * groups.units[k]) for k in where}
    return deviations


def impossible_effects(problem: Observation) -> list[str]:
    """Effects that cannot be negative but whose least-squares coefficient is significantly negative."""
    fit = excited_fit(problem)
    part, deviation = fit.part, np.linalg.norm(inverse(fit.R[:-1, :-1]), axis=1)
    values = zip(part.names, fit.beta + part.shift[list(part.keep)], deviation, strict=True)
    return [name for name, v, d in values if v < -CERTAIN * d and is_nonnegative(symbol_of(name))]


def _predicts_better(problem: Observation, physical: Physical) -> bool:
    """Whether least squares predicts held-out parts of the logs better than a physical fit, or no such fit is found.

    On weakly exciting motion, errors of the model contradict physics, too; but what least squares makes of them does
    not predict.  Logs too short to hold out a part of do not favour it.
    """
    fit = physical.fit(problem)
    if fit.refit is None:
        return True
    folds = block_folds(problem, fit.sigma)
    if not folds:
        return False
    part = problem.reduced(excitation(problem).independent)
    try:
        held = left_out_squares(folds, fit.refit).sum()
    except SolverFailed:
        return True
    try:
        return bool(left_out_squares(block_folds(part, fit.sigma), solution).sum() < held)
    except np.linalg.LinAlgError:  # the other parts do not excite everything
        return False


def _contradiction(problem: Observation, space: PhysicalSpace, sigma: Array, memory: float) -> float:
    """Increase of the sum of squares by physics and the prior, in deviations of what noise in the logs would give.

    sigma: noise level of each effort.  Infinite where no physical fit is found.
    """
    fit = excited_fit(problem)
    sigma = trusted_levels(problem, sigma)
    try:
        R = unshifted(problem, problem.triangle(sigma))
        held = physical_fit(space, R, problem.samples * len(sigma), weight=GAPS_ONLY).beta
    except SolverFailed:
        return float("inf")
    fits, count = (problem.own(held), problem.own(fit.part.expand(fit.beta))), fit.part.count
    with_prior, free = (float(np.sum((problem.residuals(own) / sigma) ** 2)) for own in fits)
    return ((with_prior - free) / memory - count) / float(np.sqrt(2 * max(count, 1)))
