"""Combinations of unknowns identifiable from efforts, and statistics of the residuals of predicted efforts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from minertia.identification.campaigns.prepared import EffortLog
from minertia.identification.efforts.build import EffortRows
from minertia.identification.estimators.estimate import Estimate
from minertia.identification.evidence.intervals import spread
from minertia.identification.evidence.left_out import LOGS_HELD_OUT, equal_parts, held_out_values
from minertia.identification.posterior.shown import ResidualNoise, Shown, residual_noise, value_variance
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.prediction import predict
from minertia.identification.problem.solve import FOLDS, weighted_solution
from minertia.identification.signals.filtering import Motion
from minertia.io.arrays import Array
from minertia.io.resources import one_thread

KEPT = 10_000_000  # predicted efforts in memory


def shown_by_efforts(problem: EffortRows, estimate: Estimate, covariance: Array) -> Shown:
    """Identifiable combinations of the unknowns with their least-squares estimates, without a prior.

    An unknown that the motion does not distinguish from others is part of their combinations.  covariance:
    covariance of the estimate, under correlated residuals.
    """
    free, own = problem.free, list(problem.excitation.independent)
    others = [k for k in range(free.count) if k not in own]
    rows = np.zeros((len(own), problem.linear.count))
    kept = [free.keep[k] for k in own]
    rows[range(len(own)), kept] = 1.0
    with one_thread():
        if others and own:
            R = free.triangle(estimate.sigma)[:, :-1]
            rows[:, [free.keep[k] for k in others]] = np.linalg.lstsq(R[:, own], R[:, others], rcond=None)[0]
        if not estimate.fills_gaps:
            return Shown(problem.linear.names, rows, estimate.beta[kept], covariance[np.ix_(kept, kept)])
        part = free.reduced(own)
        beta, _, sigma = weighted_solution(part)
        return Shown(problem.linear.names, rows, part.expand(beta)[kept], spread(part, beta, sigma).joint)


def is_plain(problem: EffortRows, estimate: Estimate) -> bool:
    """Whether estimate and covariance contain all information of the logs: full rank, and no prior in the fit."""
    return not estimate.fills_gaps and problem.excitation.rank == problem.linear.count


def noise_of_efforts(problem: EffortRows, estimate: Estimate, shown: Shown) -> ResidualNoise:
    """Statistics of effort residuals after the evaluation filter: in the fitted logs, and held out.

    Held out are whole logs, or parts of each log if there are few, and the validation logs.  Of a log that is
    read in blocks, only the first block is used.  shown: combinations of the unknowns from which robots are drawn,
    whose predictions vary with their covariance alone: an estimate with a prior, or whose deviations include effects
    that were not selected, has a larger one.
    """
    by_logs = len(problem.logs) >= LOGS_HELD_OUT
    fitted, held = [], []
    for k, log in enumerate(problem.logs):
        block = next(iter(log.judged))  # of a long log the first one, without which a fit would hardly differ
        values = list(_without(estimate, k, 1 if by_logs else FOLDS))
        every = residuals_of_values(problem.linear, log, block, np.array([estimate.beta, *values]))
        fitted.append((every[0], _period(block)))
        held += [e[part] for e, part in zip(every[1:], equal_parts(len(every[0]), len(values)), strict=True)]
    for log in problem.unseen:
        held.append(residuals_of_values(problem.linear, log, next(iter(log.judged)), estimate.beta[None])[0])
    told = "each fitted log" if by_logs else f"{FOLDS} parts of each fitted log"
    more = " and the validation logs" if problem.unseen else ""
    part = problem.free.reduced(problem.excitation.independent)
    by_values = value_variance(part.totals, part.samples, shown.covariance)
    is_effort = len(by_values) == len(problem.linear.row_names)  # other equations have rows of their own
    in_unit = by_values * _unit_of(problem.logs[0], problem.linear) ** 2 if is_effort else 0.0
    return residual_noise(problem.linear.row_names, fitted, held, told + more, in_unit)


def _unit_of(log: EffortLog, model: LinearModel) -> Array:
    """Size of each effort in the unit in which it is compared, such as ampere, over that in which it is fitted."""
    tau, rows = np.asarray(next(iter(log.judged)).tau), list(model.rows)
    fitted, compared = (np.linalg.norm(efforts[:, rows], axis=0) for efforts in (tau, log.in_unit(tau)))
    return np.asarray(np.divide(compared, fitted, out=np.ones(len(rows)), where=fitted > 0))


def residuals_of_values(model: LinearModel, log: EffortLog, block: Motion, values: Array) -> Array:
    """Measured less predicted efforts (draws, N, efforts) of a block after the evaluation filter.

    values: one row of unknowns per draw.
    """
    measured, predicted = predictions_of_values(model, log, block, values)
    return np.asarray(measured - predicted)


def predictions_of_values(model: LinearModel, log: EffortLog, block: Motion, values: Array) -> tuple[Array, Array]:
    """Measured (N, efforts) and predicted efforts (draws, N, efforts) of a block, through the evaluation filter."""
    measured, found = np.asarray(block.tau)[:, list(model.rows)], []
    for own in _efforts(model, values, block, log.states):
        if log.evaluation is None:
            found.append(own)
        else:
            measured, compared = log.compared(block, own)
            found.append(compared)
    return measured, np.array(found)


def _efforts(model: LinearModel, values: Array, block: Motion, samples: int | None) -> Iterator[Array]:
    """Predicted efforts (N, efforts) for each row of `values`, several rows per evaluation of the regressor."""
    if model.choice.needs_load:
        yield from (predict(model, beta, block, samples=samples) for beta in values)
        return
    together = max(1, KEPT // (len(block) * len(model.rows)))
    for k in range(0, len(values), together):
        efforts = predict(model, values[k : k + together].T, block, samples=samples)
        yield from np.moveaxis(efforts, -1, 0)


def _without(estimate: Estimate, log: int, parts: int) -> Iterator[Array]:
    """Estimates without each of some equal parts of a log; the prior of the estimate, if any, is retained."""
    fit, part = estimate.fit, estimate.part
    assert fit is not None and part is not None
    prior = np.zeros((0, part.count)) if fit.prior is None else fit.prior.rows
    for beta in held_out_values(part, fit.sigma, log, parts, (prior, fit.beta)):
        yield part.expand(beta)


def _period(block: Motion) -> float:
    """Time between compared samples [s]."""
    t = block.t if block.instants is None else block.instants
    return float(t[-1] - t[0]) / max(len(t) - 1, 1)
