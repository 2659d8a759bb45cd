"""Physically consistent estimator: values that a real robot can have, with a stated verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from minertia.errors import SolverFailed
from minertia.identification.estimate import Fit
from minertia.identification.estimators.estimator import (
    Estimator,
    noise_floor,
    prior_weight,
    strongest,
    weighted_solution,
)
from minertia.identification.physical.consistency import GAPS_ONLY, MARGIN, PhysicalSpace, feasibility, physical_space
from minertia.identification.physical.fit import PhysicalFit, nearest_with_base, physical_fit
from minertia.identification.problem.diagnosis import excitation
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.triangles import merged, triangle

Array = NDArray[np.float64]
WEIGHTS = tuple(10.0**k for k in range(-6, 3))
FOLDS = 4
FINEST = 1e-7  # of an effort's size: data are not trusted further, so that the program stays well scaled
CLEAR = 1e-6  # slack from which a fit is physical beyond the solver's tolerance


@final
@dataclass(frozen=True)
class Physical(Estimator):
    """Semidefinite fit on the triangle, efforts weighted by joint.

    prior: standard parameters by name (None: the robot's own).  weight: of the prior against the data, each per number
    fitted; the default only fills what the data leave open, None is chosen by leaving out stretches of the recordings.
    kind: "euclidean" or "entropic".  fixed: known parameters.
    """

    prior: Mapping[str, float] | None = None
    weight: float | None = GAPS_ONLY
    kind: str = "euclidean"
    margin: float = MARGIN
    fixed: Mapping[str, float] = field(default_factory=dict)
    fills_gaps: ClassVar[bool] = True

    def fit(self, problem: Observation) -> Fit:  # noqa: D102
        space = physical_space(problem.model, self.prior, self.fixed, problem.effort_rms)
        found = excitation(problem)
        part = problem if found.is_complete else problem.reduced(found.independent)
        free, _, sigma = weighted_solution(part)
        sigma = trusted_levels(problem, sigma)
        R = problem.triangle(sigma)
        rows = problem.samples * len(sigma)
        weight = self._best_weight(problem, space, sigma) if self.weight is None else self.weight
        slack = feasibility(space, problem.expand(free)).slack if found.is_complete else None
        if slack is not None and slack > CLEAR and weight <= GAPS_ONLY:
            kept = self._free_fit(problem, space, problem.expand(free), sigma, slack)
            if kept is not None:
                return kept
        full = unshifted(problem, R)
        answer = physical_fit(
            space, full, rows, weight=weight, kind=self.kind, margin=self.margin, settle=not found.is_complete
        )
        sigma = np.maximum(
            problem.residuals(_own(problem, answer.beta)) / np.sqrt(problem.samples), noise_floor(problem)
        )
        notes = (prior_weight(weight),) if weight > GAPS_ONLY else ()
        verdict = answer.verdict(
            free_is_physical=slack is not None and slack > 0, slack=slack, drawn=weight > GAPS_ONLY
        )
        return self._result(problem, space, answer, sigma, verdict, weight, notes)

    def _free_fit(
        self, problem: Observation, space: PhysicalSpace, beta: Array, sigma: Array, slack: float
    ) -> Fit | None:
        """The free fit where it is physical: then physics changes nothing."""
        try:
            x = nearest_with_base(space, beta, self.margin)
        except SolverFailed:
            return None
        margins = space.margins(x)
        if min(margins.values(), default=1.0) < 0:
            return None
        answer = PhysicalFit(x, beta, 0.0, (), margins)
        verdict = answer.verdict(free_is_physical=True, slack=slack)
        return self._result(problem, space, answer, sigma, verdict, GAPS_ONLY, ())

    def _result(
        self,
        problem: Observation,
        space: PhysicalSpace,
        answer: PhysicalFit,
        sigma: Array,
        verdict: dict[str, Any],
        weight: float,
        notes: tuple[str, ...],
    ) -> Fit:
        standard = dict(zip(problem.model.standard, answer.x.tolist(), strict=True))
        covariance = self._covariance(problem, space, sigma, weight)
        rows = problem.samples * len(sigma)

        def refit(R: Array) -> Array:
            again = physical_fit(space, unshifted(problem, R), rows, weight=weight, kind=self.kind, margin=self.margin)
            return _own(problem, again.beta)

        return Fit(_own(problem, answer.beta), covariance, sigma, standard, verdict, notes, refit)

    def _covariance(self, problem: Observation, space: PhysicalSpace, sigma: Array, weight: float) -> Array:
        """K H^-1 K' with H the curvature of the cost; an active constraint only makes it smaller."""
        scales = space.scales
        K = problem.model.K[list(problem.keep)] * scales
        A = problem.triangle(sigma)[:-1, :-1] @ K
        root = np.sqrt(space.pull(weight) * problem.samples * len(sigma))
        T = triangle(np.concatenate([A, np.diag(root)]))
        half = np.linalg.solve(T.T, K.T)
        return np.asarray(half.T @ half)

    def _best_weight(self, problem: Observation, space: PhysicalSpace, sigma: Array) -> float:
        """The weight that predicts best stretches of the recordings that were left out."""
        blocks = problem.blocks / sigma[:, None, None]
        folds = np.array_split(np.arange(len(blocks)), min(FOLDS, len(blocks)))
        if len(folds) < 2:
            return GAPS_ONLY
        k = blocks.shape[-1]
        parts = [unshifted(problem, triangle(merged(blocks[f]).reshape(-1, k))) for f in folds]
        rows = problem.samples * len(sigma) * (len(folds) - 1) // len(folds)
        errors = np.zeros((len(WEIGHTS), len(parts)))
        for k, weight in enumerate(WEIGHTS):
            for out, part in enumerate(parts):
                rest = triangle(np.concatenate([p for m, p in enumerate(parts) if m != out]))
                answer = physical_fit(space, rest, rows, weight=weight, kind=self.kind, margin=self.margin)
                errors[k, out] = float(np.sum((part @ np.append(-answer.beta, 1.0)) ** 2))
        return WEIGHTS[strongest(errors)]


def trusted_levels(problem: Observation, sigma: Array) -> Array:
    """Noise levels that are not so small that a cone solver runs out of digits."""
    usual = np.maximum(problem.effort_rms, 1e-3 * problem.effort_rms.max(initial=0.0))
    return np.asarray(np.maximum(sigma, FINEST * usual))


def unshifted(problem: Observation, R: Array) -> Array:
    """The triangle over all the model's unknowns with what is known put back into the efforts."""
    full = np.zeros((len(R), problem.model.count + 1))
    full[:, list(problem.keep)] = R[:, :-1]
    full[:, -1] = R[:, -1] + R[:, :-1] @ problem.shift[list(problem.keep)]
    return full


def _own(problem: Observation, beta: Array) -> Array:
    """Values of the problem's unknowns from those of the model."""
    return np.asarray((beta - problem.shift)[list(problem.keep)])
