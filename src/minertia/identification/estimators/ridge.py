"""Ridge regression towards prior values, with the weight chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from minertia.identification.estimators.estimate import Fit, Prior
from minertia.identification.estimators.estimator import Estimator, Known, prior_weight
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import (
    block_folds,
    inverse,
    left_out_squares,
    noise_floor,
    noise_levels,
    solution,
    strongest,
)
from minertia.identification.problem.triangles import triangle
from minertia.io.errors import ShapeError
from minertia.io.schema import option

Array = NDArray[np.float64]
WEIGHTS = tuple(10.0**k for k in range(-8, 2))


@final
@dataclass(frozen=True)
class Ridge(Estimator):
    """Ridge regression with each unknown scaled by its column norm, so that units do not matter.

    prior: values of all the model's unknowns (None: zero).
    """

    prior: Array | None = None
    weight: float | None = option(
        None,
        "Weight of the prior; 1 counts as much as all data.",
        range=(1e-20, 1e20),
        otherwise="chosen by cross-validation",
    )
    fills_gaps: ClassVar[bool] = True
    takes_prior: ClassVar[bool] = True

    def fit(self, problem: Observation) -> Fit:  # noqa: D102
        target = self._target(problem)
        sigma = np.maximum(problem.effort_rms, noise_floor(problem))
        for _ in range(30):
            weight = _best_weight(problem, sigma, target) if self.weight is None else self.weight
            R = penalised(problem.triangle(sigma), target, weight, _lengths(problem, sigma))
            beta = solution(R)
            updated = noise_levels(problem, beta, R, sigma)
            done = bool(np.all(np.abs(updated / sigma - 1) < 1e-6))
            sigma = updated
            if done:
                break
        inv = inverse(R[:-1, :-1])
        return Fit(beta, inv @ inv.T, sigma, notes=(prior_weight(weight),), prior=self._prior(problem, sigma, weight))

    def _prior(self, problem: Observation, sigma: Array, weight: float) -> Prior:
        """Prior; a relative error of 1 is the error at which one unknown alone would explain all efforts."""
        lengths = _lengths(problem, sigma)
        whole = float(np.linalg.norm(problem.triangle(sigma)[:, -1]))
        return Prior(self._target(problem), np.diag(np.sqrt(weight) * lengths), np.diag((whole / lengths) ** 2))

    def informed(self, model: LinearModel, known: Known) -> Self:  # noqa: D102
        if self.prior is not None:
            return self
        if known.prior is not None:
            return replace(self, prior=model.values({**known.prior, **model.choice.fixed}))
        return replace(self, prior=model.nominal()) if model.robot.has_parameters else self

    def _target(self, problem: Observation) -> Array:
        if self.prior is None:
            return np.zeros(problem.count)
        prior = np.asarray(self.prior, float)
        if prior.shape != (problem.model.count,):
            raise ShapeError(f"the prior has {prior.shape} values, but the model has {problem.model.count} unknowns")
        return np.asarray((prior - problem.shift)[list(problem.keep)])


def penalised(R: Array, target: Array, weight: float, lengths: Array) -> Array:
    """R factor with rows sqrt(weight) lengths (beta - target) added."""
    root = np.sqrt(weight) * lengths
    return triangle(np.concatenate([R, np.column_stack([np.diag(root), root * target])]))


def _lengths(problem: Observation, sigma: Array) -> Array:
    """Norm of each column; for a column that is not excited, its reference norm."""
    lengths = np.linalg.norm(problem.triangle(sigma)[:, :-1], axis=0)
    usual = problem.model.reference[list(problem.keep)] * np.sqrt(problem.samples) / float(np.max(sigma))
    return np.asarray(np.where(lengths > 1e-7 * usual, lengths, usual))


def _best_weight(problem: Observation, sigma: Array, target: Array) -> float:
    """Strongest prior weight within one standard error of the smallest cross-validation error."""
    folds = block_folds(problem, sigma)
    if not folds:
        return WEIGHTS[2]
    lengths = _lengths(problem, sigma)

    def fitted(weight: float) -> Callable[[Array], Array]:
        return lambda R: solution(penalised(R, target, weight, lengths))

    return WEIGHTS[strongest(np.stack([left_out_squares(folds, fitted(weight)) for weight in WEIGHTS]))]
