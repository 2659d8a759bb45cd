"""Estimation of the unknowns from efforts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from minertia.identification.efforts.build import EffortRows
from minertia.identification.efforts.prior import prior_values
from minertia.identification.estimators import named_estimator, table_name
from minertia.identification.estimators.estimate import Estimate, Fit
from minertia.identification.estimators.estimator import Estimator, Known
from minertia.identification.evidence.left_out import left_out_error
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.tried import Tried
from minertia.io.errors import MinertiaError
from minertia.io.resources import one_thread


def solve_efforts(problem: EffortRows, estimator: str | Estimator | None) -> Estimate:
    """Fit the unknowns of a problem with the campaign's estimator, or another one by name or as an object."""
    campaign = problem.campaign
    asked = campaign.estimator if estimator is None else estimator
    options = campaign.options if estimator is None else {}
    made = named_estimator(asked, **options) if isinstance(asked, str) else asked
    with one_thread():
        informed = made.informed(problem.linear, Known(prior_values(campaign), campaign.fix))
        choice = informed.chosen(problem.free)
        chosen, found = choice.estimator, problem.excitation
        part = problem.free if chosen.fills_gaps else problem.free.reduced(found.independent)
        fit = _fitted(chosen, part)
        tried = choice.tried if fit.refit is None else _with_gains(choice.tried, problem, part, fit)
    return Estimate(
        names=problem.names,
        classes=problem.linear.classes,
        beta=part.expand(fit.beta),
        covariance=part.expand_covariance(fit.covariance),
        sigma=fit.sigma,
        estimator=choice.name or (table_name(asked) if isinstance(asked, str) else type(asked).__name__),
        rank=found.rank,
        condition=found.condition,
        scaled_condition=found.scaled_condition,
        fixed=problem.fixed,
        not_excited=found.not_excited,
        standard=fit.standard,
        verdict=fit.verdict,
        notes=(*problem.notes, *(() if problem.ladder is None else problem.ladder.notes), *choice.notes, *fit.notes),
        fit=fit,
        part=part,
        fills_gaps=chosen.fills_gaps,
        tried=tried,
    )


def _with_gains(tried: tuple[Tried, ...], problem: EffortRows, part: Observation, fit: Fit) -> tuple[Tried, ...]:
    """Estimators with the gain of least squares over the fit with a prior that was chosen, on held-out blocks."""
    if not tried:
        return ()
    free = problem.free.reduced(problem.excitation.independent)
    own = left_out_error(part, fit.sigma, fit.refit, problem.in_torques(part)).relative
    plain = left_out_error(free, fit.sigma, judged=problem.in_torques(free)).relative
    gain = 1 - plain / own if own > 0 and np.isfinite(plain) else float("nan")
    return tuple(replace(one, gain=0.0 if one.is_selected else gain) for one in tried)


def _fitted(chosen: Estimator, part: Observation) -> Fit:
    """Fit of an estimator; raises an error where it is singular or not finite."""
    try:
        fit = chosen.fit(part)
    except np.linalg.LinAlgError:
        fit = None
    if fit is None or not (np.isfinite(fit.beta).all() and np.isfinite(fit.covariance).all()):
        raise MinertiaError(
            "the fit is numerically singular because of its options, or the size of the efforts, positions or "
            "fixed values; check the units, or fit with --estimator wls"
        )
    return fit
