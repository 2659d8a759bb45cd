"""Physically consistent estimator, with a verdict on consistency."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from minertia.identification.estimators.estimate import Fit, Prior
from minertia.identification.estimators.estimator import Estimator, Known, prior_weight
from minertia.identification.physical.consistency import (
    GAPS_ONLY,
    MARGIN,
    PRIORS,
    PhysicalSpace,
    feasibility,
    physical_space,
)
from minertia.identification.physical.fit import NOT_FOUND, PhysicalFit, nearest_with_base, physical_fit
from minertia.identification.physical.places import misplaced, unplaced
from minertia.identification.physical.scaling import trusted_levels, unshifted, unshifted_fold
from minertia.identification.problem.diagnosis import excitation
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.marginal import PriorDeviations
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import (
    ExcitedFit,
    block_folds,
    excited_fit,
    inverse,
    left_out_squares,
    noise_floor,
    strongest,
)
from minertia.identification.problem.triangles import triangle
from minertia.io.errors import SolverFailed
from minertia.io.schema import option

Array = NDArray[np.float64]
WEIGHTS = tuple(10.0**k for k in range(-6, 3))
FOLDS = 4
CONTRADICTED = 1.02  # sum of squares over that without limits of centres of mass and masses: these are wrong
SINGULAR = 1e-12  # of a unit variance: base parameters of a prior need not be independent
CLEAR = 1e-6  # slack from which a fit is physical beyond the solver's tolerance


@final
@dataclass(frozen=True)
class Physical(Estimator):
    """Physically consistent least squares by semidefinite programming, efforts weighted by joint.

    prior: standard parameters by name (None: those of the robot).  fixed: known parameters.  heaviest: limits of
    link masses [kg] by link number from 1, which are exceeded only if the data contradict them.  likely: deviations
    of the prior by parameter, in place of one weight.
    """

    prior: Mapping[str, float] | None = None
    weight: float | None = option(
        GAPS_ONLY,
        "Weight of the distance to the prior, relative to the mean squared weighted residual.",
        range=(1e-20, 1e20),
        otherwise="only unidentifiable parameters are regularised; chosen by cross-validation when a prior is given",
    )
    kind: str = option("euclidean", "Distance measure to the prior.", choices=PRIORS)
    margin: float = option(
        MARGIN, "Smallest eigenvalue of a pseudo-inertia, relative to its trace.", range=(1e-12, 0.1), zero=True
    )
    fixed: Mapping[str, float] = field(default_factory=dict)
    heaviest: Mapping[int, float] = field(default_factory=dict)
    likely: PriorDeviations | None = None
    fills_gaps: ClassVar[bool] = True
    takes_prior: ClassVar[bool] = True

    def informed(self, model: LinearModel, known: Known) -> Self:  # noqa: D102
        own = replace(self, fixed={**known.fixed, **self.fixed})
        if known.prior is None or self.prior is not None:
            return own
        # who names a prior wants to be drawn to it, as strongly as predicts best
        return replace(own, prior=known.prior, weight=None if self.weight == GAPS_ONLY else self.weight)

    def fit(self, problem: Observation) -> Fit:  # noqa: D102
        space = self._space(problem)
        found, least = excitation(problem), excited_fit(problem)
        free = least.beta
        sigma = trusted_levels(problem, least.sigma if self.likely is None else np.array(self.likely.levels))
        R = problem.triangle(sigma)
        rows = problem.samples * len(sigma)
        weight = self._best_weight(problem, space, sigma) if self.weight is None else self.weight
        slack = _slack(space, problem.expand(free)) if found.is_complete else None
        if slack is not None and slack > CLEAR and weight <= GAPS_ONLY and self.likely is None:
            kept = self._free_fit(problem, space, problem.expand(free), sigma, slack)
            if kept is not None:
                return kept
        settle = not found.is_complete and not self.heaviest
        try:
            space, answer, remarks = self._limited(space, unshifted(problem, R), rows, weight, settle)
        except SolverFailed as err:
            return _unphysical(problem, least, self.fixed, err)
        sigma = np.maximum(problem.residuals(problem.own(answer.beta)) / np.sqrt(problem.samples), noise_floor(problem))
        notes = (*((prior_weight(weight),) if weight > GAPS_ONLY else ()), *remarks)
        verdict = answer.verdict(
            free_is_physical=slack is not None and slack > 0,
            slack=slack,
            drawn=weight > GAPS_ONLY or self.likely is not None,
        )
        return self._result(problem, space, answer, sigma, verdict, weight, notes)

    def _space(self, problem: Observation) -> PhysicalSpace:
        space = physical_space(problem.model, self.prior, self.fixed, problem.effort_rms)
        if self.likely is not None:
            space = space.deviating(self.likely, problem)
        return space.no_heavier(self.heaviest)

    def _limited(
        self, space: PhysicalSpace, R: Array, rows: int, weight: float, settle: bool
    ) -> tuple[PhysicalSpace, PhysicalFit, tuple[str, ...]]:
        """Fit with limited link masses; limits that the data contradict are removed.

        The limit whose removal improves the fit most is removed first.
        """

        def fitted(within: PhysicalSpace) -> tuple[PhysicalSpace, PhysicalFit, tuple[str, ...]]:
            return self._placed(within, R, rows, weight, settle)

        try:
            found = fitted(space)
            if not space.at_heaviest(found[1].x):
                return found
            free = fitted(space.of_any_mass())
            while 1 + found[1].excess > CONTRADICTED * (1 + free[1].excess):
                tried = [fitted(space.of_any_mass(link)) for link in space.at_heaviest(found[1].x)]
                if not tried:
                    return free
                found = min(tried, key=lambda one: one[1].excess)
                space = replace(space, heaviest=found[0].heaviest)
            return found
        except SolverFailed:
            if not space.heaviest:
                raise
            return fitted(space.of_any_mass())

    def _placed(
        self, space: PhysicalSpace, R: Array, rows: int, weight: float, settle: bool
    ) -> tuple[PhysicalSpace, PhysicalFit, tuple[str, ...]]:
        """Fit with centres of mass in the bounding boxes of their links, unless the data contradict them."""

        def fitted(within: PhysicalSpace) -> PhysicalFit:
            return physical_fit(within, R, rows, weight=weight, kind=self.kind, margin=self.margin, settle=settle)

        try:
            answer = fitted(space)
        except SolverFailed:  # no robot has centres of mass in all boxes, or it takes too many digits to say
            free = fitted(space.free())
            return space.free(), free, (*misplaced(space, free.x), *unplaced(space, free.x))
        walls = space.at_walls(answer.x)
        if walls:
            free = fitted(space.free())
            if 1 + answer.excess > CONTRADICTED * (1 + free.excess):
                return space.free(), free, (*misplaced(space, free.x), *unplaced(space, free.x))
        return space, answer, unplaced(space, answer.x)

    def _free_fit(
        self, problem: Observation, space: PhysicalSpace, beta: Array, sigma: Array, slack: float
    ) -> Fit | None:
        """Unconstrained fit, if it is physically consistent and the constraints are thus inactive; else None."""
        try:
            x = nearest_with_base(space, beta, self.margin)
        except SolverFailed:
            return None
        margins = space.margins(x)
        if min(margins.values(), default=1.0) < 0:
            return None
        answer = PhysicalFit(x, beta, 0.0, space.at_walls(x), margins)
        verdict = answer.verdict(free_is_physical=True, slack=slack)
        return self._result(problem, space, answer, sigma, verdict, GAPS_ONLY, unplaced(space, x), is_held=False)

    def _result(
        self,
        problem: Observation,
        space: PhysicalSpace,
        answer: PhysicalFit,
        sigma: Array,
        verdict: dict[str, Any],
        weight: float,
        notes: tuple[str, ...],
        is_held: bool = True,
    ) -> Fit:
        standard = dict(zip(problem.model.standard, answer.x.tolist(), strict=True))
        covariance = self._covariance(problem, space, sigma, weight)
        rows = problem.samples * len(sigma)

        def refit(R: Array) -> Array:
            again = physical_fit(space, unshifted(problem, R), rows, weight=weight, kind=self.kind, margin=self.margin)
            return problem.own(again.beta)

        prior = self._prior(problem, space, sigma, weight) if is_held else None
        return Fit(problem.own(answer.beta), covariance, sigma, standard, verdict, notes, refit, prior)

    def _prior(self, problem: Observation, space: PhysicalSpace, sigma: Array, weight: float) -> Prior:
        """Prior of the standard parameters, transformed to the base parameters."""
        K = problem.model.K[list(problem.keep)]
        size = space.scales / np.sqrt(space.pull(weight) * problem.samples * len(sigma))
        root = K * size
        unit = np.linalg.norm(root, axis=1)
        shape = root @ root.T / np.outer(unit, unit) + SINGULAR * np.eye(len(unit))
        rows = np.linalg.cholesky(np.linalg.inv(shape)).T / unit
        error = K * space.errors
        return Prior(problem.own(problem.model.K @ space.x0), rows, error @ error.T)

    def _covariance(self, problem: Observation, space: PhysicalSpace, sigma: Array, weight: float) -> Array:
        """Covariance K H^-1 K' with the Hessian H of the cost; an active constraint only makes it smaller."""
        scales = space.scales
        K = problem.model.K[list(problem.keep)] * scales
        A = problem.triangle(sigma)[:-1, :-1] @ K
        root = np.sqrt(space.pull(weight) * problem.samples * len(sigma))
        T = triangle(np.concatenate([A, np.diag(root)]))
        half = np.linalg.solve(T.T, K.T)
        return np.asarray(half.T @ half)

    def _best_weight(self, problem: Observation, space: PhysicalSpace, sigma: Array) -> float:
        """Strongest prior weight within one standard error of the smallest cross-validation error."""
        folds = [unshifted_fold(problem, fold) for fold in block_folds(problem, sigma, FOLDS)]
        if not folds:
            return GAPS_ONLY
        rows = problem.samples * len(sigma) * (len(folds) - 1) // len(folds)

        def fitted(weight: float) -> Callable[[Array], Array]:
            return lambda R: physical_fit(space, R, rows, weight=weight, kind=self.kind, margin=self.margin).beta

        errors: dict[float, Array] = {}
        for weight in WEIGHTS:
            with contextlib.suppress(SolverFailed):
                errors[weight] = left_out_squares(folds, fitted(weight))
        return list(errors)[strongest(np.stack(list(errors.values())))] if errors else GAPS_ONLY


def _slack(space: PhysicalSpace, beta: Array) -> float | None:
    """Margin of base parameters to the boundary of the physically consistent set; None where the solver fails."""
    try:
        return feasibility(space, beta).slack
    except SolverFailed:
        return None


def _unphysical(problem: Observation, least: ExcitedFit, fixed: Mapping[str, float], failed: SolverFailed) -> Fit:
    """Least squares where no physically consistent parameters were found, with an explanation."""
    inv = inverse(least.R[:-1, :-1])
    places = [problem.names.index(name) for name in least.part.names]
    values, covariance = np.zeros(problem.count), np.zeros((problem.count, problem.count))
    values[places] = least.beta
    covariance[np.ix_(places, places)] = inv @ inv.T
    known = f", with {', '.join(f'{n} = {v:g}' for n, v in list(fixed.items())[:4])} fixed" if fixed else ""
    what = (
        "there are no physically consistent parameters"
        if "Infeasible" in failed.status
        else ("no physically consistent fit was found")
    )
    sentence = (
        f"{what}{known} (solver status: {failed.status}); the values are those of least squares: they may predict "
        "the efforts, but are not physically consistent; check fixed values, signs and units, and the order of "
        "the joints"
    )
    nothing: dict[str, object] = {"excess": None, "slack": None, "at_boundary": [], "smallest_margin": None}
    verdict: dict[str, object] = {"status": NOT_FOUND, "sentence": sentence, **nothing}
    return Fit(values, covariance, least.sigma, verdict=verdict)
