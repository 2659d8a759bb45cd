"""Combinations of unknowns identifiable from efforts, and statistics of the residuals of predicted efforts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.prepared import EffortLog
from minertia.identification.efforts.build import EffortRows
from minertia.identification.estimators.estimate import Estimate
from minertia.identification.evidence.intervals import spread
from minertia.identification.evidence.left_out import (
    LOGS_HELD_OUT,
    posture_thirds,
    stepped,
    triangle_without,
    what_is_held_out,
)
from minertia.identification.posterior.shown import (
    HeldOut,
    ResidualNoise,
    Shown,
    noise_between_logs,
    value_variance,
    white_covariance,
)
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.prediction import predict
from minertia.identification.problem.solve import weighted_solution
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

    Held out are whole logs, or thirds of the postures of each log if there are few, and the validation logs.  Of a log
    that is read in blocks, only the first block is used.  shown: combinations of the unknowns from which robots are
    drawn, whose predictions vary with their covariance alone: an estimate with a prior, or whose deviations include
    effects that were not selected, has a larger one.
    """
    variance = _Variance(problem, estimate, shown.covariance)
    fitted, held, first = [], [], 0
    for k, log in enumerate(problem.logs):
        block = next(iter(log.judged))  # of a long log the first one, without which a fit would hardly differ
        counts = problem.free.logs[k].counts
        place = _triangle_of_rows(log, block, counts)
        is_whole = len(problem.logs) >= LOGS_HELD_OUT
        parts = [np.arange(len(counts))] if is_whole else _posture_thirds(place, _postures(block))
        values = [_without(estimate, first + own) for own in parts]
        every = residuals_of_values(problem.linear, log, block, np.array([estimate.beta, *values]))
        fitted.append((every[0], _period(block)))
        for e, own in zip(every[1:], parts, strict=True):
            held.append(HeldOut(e[np.isin(place, own)], variance.of_all, variance.without(first + own)))
        first += len(counts)
    for log in problem.unseen:
        e = residuals_of_values(problem.linear, log, next(iter(log.judged)), estimate.beta[None])[0]
        held.append(HeldOut(e, variance.of_all, variance.of_all))
    told = what_is_held_out(len(problem.logs), len(problem.unseen))
    return noise_between_logs(problem.linear.row_names, fitted, held, told)


def _triangle_of_rows(log: EffortLog, block: Motion, counts: Array) -> NDArray[np.int64]:
    """Place in its log of the R factor (N,) that holds the time of each compared sample of a block."""
    t = _instants(block)
    start, stop = (t[0], t[-1]) if log.recorded is None else log.recorded.span
    ends = np.cumsum(counts) / max(np.sum(counts), 1)
    share = (t - start) / max(stop - start, 1e-300)
    return np.asarray(np.minimum(np.searchsorted(ends, share), len(counts) - 1), np.int64)


def _posture_thirds(place: NDArray[np.int64], postures: Array) -> list[NDArray[np.int64]]:
    """Places of R factors by thirds of the mean postures (N, joints) of their samples."""
    own = np.unique(place)
    mean = np.array([postures[place == k].mean(axis=0) for k in own])
    return [own[third] for third in posture_thirds(mean) if len(third)]


class _Variance:
    """Mean variance of predicted efforts due to that of the unknowns: of a fit of all logs, and without some of them.

    In the unit in which efforts are compared.  Other equations have rows of their own, of which nothing is known.
    """

    def __init__(self, problem: EffortRows, estimate: Estimate, covariance: Array) -> None:
        assert estimate.fit is not None and estimate.part is not None
        self.fit, self.part = estimate.fit, estimate.part
        drawn = problem.free.reduced(problem.excitation.independent)
        found = value_variance(drawn.totals, drawn.samples, covariance)
        if estimate.fills_gaps:  # robots are drawn with a prior, too: where the logs show little, it limits them
            own = estimate.covariance[np.ix_(self.part.keep, self.part.keep)]
            found = np.minimum(found, value_variance(self.part.totals, self.part.samples, own))
        unit = _unit_of(problem.logs[0], problem.linear) ** 2
        self.of_all = found * unit if len(found) == len(unit) else np.zeros(len(unit))
        self.white = self._white(np.zeros(0, np.int64))

    def without(self, blocks: NDArray[np.int64]) -> Array:
        """Of a fit without some blocks: as much larger than that of all as for white residuals, with the same prior."""
        white = self._white(blocks)
        return self.of_all * (white / np.maximum(self.white, 1e-300) if len(white) == len(self.of_all) else 1.0)

    def _white(self, blocks: NDArray[np.int64]) -> Array:
        R = triangle_without(self.part, self.fit.sigma, blocks)
        if self.fit.prior is not None:
            R = np.concatenate([R, np.pad(self.fit.prior.rows, ((0, 0), (0, 1)))])
        return value_variance(self.part.totals, self.part.samples, white_covariance(R, range(self.part.count)))


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


def _without(estimate: Estimate, blocks: NDArray[np.int64]) -> Array:
    """Estimate without some blocks of the logs; its prior, if any, is retained."""
    fit, part = estimate.fit, estimate.part
    assert fit is not None and part is not None
    prior = np.zeros((0, part.count)) if fit.prior is None else fit.prior.rows
    return part.expand(stepped(triangle_without(part, fit.sigma, blocks), prior, fit.beta))


def _instants(block: Motion) -> Array:
    """Times of compared samples [s]."""
    return block.t if block.instants is None else block.instants


def _postures(block: Motion) -> Array:
    """Positions (N, joints) at the times of compared samples."""
    t = _instants(block)
    return np.column_stack([np.interp(t, block.t, q) for q in np.asarray(block.q).T])


def _period(block: Motion) -> float:
    """Time between compared samples [s]."""
    t = _instants(block)
    return float(t[-1] - t[0]) / max(len(t) - 1, 1)
