"""Estimates and covariance of the unknowns identifiable from commands, and residuals of simulated positions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from minertia.identification.campaigns.campaign import Campaign, LogLike
from minertia.identification.campaigns.prepare import Tell, silent
from minertia.identification.closed_loop.build import loop_model, nominal_links
from minertia.identification.closed_loop.carrying import is_weightless, with_loads
from minertia.identification.closed_loop.fit import FEW, MOVED, moved, triangle_at
from minertia.identification.closed_loop.found import LoopFit
from minertia.identification.closed_loop.ground import touching_rows
from minertia.identification.closed_loop.judge import coarser_steps, steps_of
from minertia.identification.closed_loop.logs import LoopLog, loop_log
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.closed_loop.simulate import simulated, with_start
from minertia.identification.evidence.left_out import LOGS_HELD_OUT, posture_thirds, stepped, what_is_held_out
from minertia.identification.kind import DrawnOutputs, LogReading
from minertia.identification.model import IdentifiedModel
from minertia.identification.posterior.shown import (
    POSTERIOR,
    UNKNOWN,
    HeldOut,
    ResidualNoise,
    Shown,
    noise_between_logs,
    value_variance,
    white_covariance,
)
from minertia.identification.problem.solve import solution
from minertia.identification.problem.terms import at_joints
from minertia.identification.problem.triangles import triangle, without_each
from minertia.identification.remembered import campaign_like, fitted_before
from minertia.io.arrays import Array
from minertia.io.errors import InputError, MinertiaError

STEP = 1e-3  # s, of simulations: many robots are simulated


def shown_by_commands(fit: LoopFit, campaign: Campaign, logs: Sequence[LoopLog]) -> Shown:
    """Estimates of the unknowns that the motion distinguishes, with their covariance.

    Links of the robot file are not exact: where the fit kept them, the equations contain them as well.
    """
    model = fit.model
    kept = [k for k in fit.kept if k < model.count]
    of_robot = model.linear.standard if model.keeps_links else model.linear.names
    own = {name: float(fit.theta[k]) for k, name in enumerate(model.names) if name not in of_robot}
    positive = tuple(name for name, low in zip(model.names, model.lower, strict=True) if name in own and low >= 0)
    covariance = fit.covariance[np.ix_(kept, kept)]
    found = Shown(model.names, np.eye(model.count)[kept], fit.theta[kept], covariance, own, positive, model.keeps_links)
    if not model.keeps_links or is_weightless(model.robot):
        return found
    wide = loop_model(campaign, min(log.period for log in logs), varies_links=True)
    try:
        return _with_links(found, fit, wide, logs)
    except MinertiaError:  # the simulated motion diverges at coarser steps than those of the fit
        return found


def _with_links(shown: Shown, fit: LoopFit, wide: ServoModel, logs: Sequence[LoopLog]) -> Shown:
    """Equations of a fit's unknowns and of the links that it kept, linearised at the fit.

    wide: model with these links as its last unknowns.  The first rows of a triangular factor tell how the estimates of
    the others depend on the links, the last rows which links explain the residuals.  The factor is that of white
    residuals, so the last rows count as much less as residuals are correlated.
    """
    count, file = fit.model.count, nominal_links(wide.linear, wide.links)
    masks = fit.pushed or (None,) * len(logs)
    used = [replace(log, pushed=mask) for log, mask in zip(logs, masks, strict=True)]
    whole, memory = triangle_at(wide, used, np.append(fit.theta, file), coarser_steps(fit.steps, logs))
    own = [k if k < count else k + len(file) for k in fit.kept]  # initial states come last
    prior = np.insert(fit.prior, [len(own)] * len(file), 0.0, axis=1)
    R = triangle(np.concatenate([whole[:, [*own, *range(count, wide.count), -1]], prior]))
    size = np.maximum(np.linalg.norm(R[:, : len(own)], axis=0), 1e-300)
    before, links = slice(len(own)), slice(len(own), len(own) + len(file))
    by_links = np.linalg.lstsq(R[before, before] / size, R[before, links], rcond=UNKNOWN)[0] / size[:, None]
    by_links = by_links[[place for place, k in enumerate(fit.kept) if k < count]]
    return Shown(
        wide.names,
        np.block([[shown.rows, by_links], [np.zeros((len(file), count)), R[links, links]]]),
        np.append(shown.values + by_links @ file, R[links, -1]),
        block_diag(shown.covariance, memory * np.eye(len(file))),
        shown.own,
        shown.positive,
        shown.keeps_links,
        dict(zip(wide.links, file.tolist(), strict=True)),
    )


def noise_of_positions(
    fit: LoopFit, logs: Sequence[LoopLog], unseen: Sequence[LoopLog], tell: Tell = silent
) -> ResidualNoise:
    """Statistics of the residuals of simulated positions, in the fitted logs and in held-out logs or segments."""
    model, fitted, held = fit.model, [], []
    folds = _Folds(fit, logs, held_out_rows(logs), tell)
    for k, log in enumerate(logs):
        own = _residual(model, fit.theta, log)
        if own is None:
            continue
        counted = own if k >= len(fit.pushed) else np.where(fit.pushed[k][log.rows], np.nan, own)
        fitted.append((counted, log.period))
        for fold, rows in folds.of(k):
            again = _residual(model, folds.theta[fold], log)
            part = rows[log.rows]
            by_all, by_others = (folds.variance(k, C)[log.rows][part] for C in (folds.whole, folds.covariance(fold)))
            theta, e = (fit.theta, own) if again is None else (folds.theta[fold], again)
            held.append(HeldOut(e[part], by_all, by_others, _touching(model, theta, log, e)[part]))
    usual = value_variance(fit.part.totals[:, :, folds.columns], fit.part.samples, folds.whole)
    rest = [(log, x) for log in unseen if (x := _residual(model, fit.theta, log)) is not None]
    held += [HeldOut(x, usual, usual, _touching(model, fit.theta, log, x)) for log, x in rest]
    told = what_is_held_out(len(logs), len(unseen))
    return noise_between_logs(model.output_names, fitted, held, told)


def held_out_rows(logs: Sequence[LoopLog]) -> list[tuple[int, NDArray[np.bool_]]]:
    """Folds: number of a log and its held-out rows (N,); whole logs, or of few logs each third of their postures.

    Rows that are not evaluated belong to none: of a short log they could make up a whole third.
    """
    if len(logs) >= LOGS_HELD_OUT:
        return [(k, np.ones(len(log.q), bool)) for k, log in enumerate(logs)]
    return [
        (k, np.isin(np.arange(len(log.u)), log.first + own))
        for k, log in enumerate(logs)
        for own in posture_thirds(log.u[log.rows])
    ]


class _Folds:
    """Fits without the held-out rows of each fold.

    held: folds that have all rows together (`held_out_rows`).  columns: place of each identifiable unknown of the model
    among those of the fit.  whole: their covariance.  theta: values of each fold.
    """

    def __init__(
        self, fit: LoopFit, logs: Sequence[LoopLog], held: Sequence[tuple[int, NDArray[np.bool_]]], tell: Tell
    ) -> None:
        self.held = held
        self.columns = [place for place, k in enumerate(fit.kept) if k < fit.model.count]
        places = [fit.kept[place] for place in self.columns]
        self.whole = fit.covariance[np.ix_(places, places)]
        rows: list[list[Array]] = [[] for _ in fit.part.logs]
        for block in fit.part.stream():
            rows[block.log].append(np.concatenate([block.Y, block.tau[:, :, None]], axis=2))
        self.rows = [np.concatenate(blocks) for blocks in rows]
        others = without_each([self._piece(fit.sigma, *own) for own in held])
        self.others = [triangle(np.concatenate([R, fit.prior])) for R in others] if len(fit.prior) else others
        self.theta = _refits(fit, logs, held, tell) if len(logs) == 1 else list(self._stepped(fit, places))
        white = white_covariance(fit.R, self.columns)
        self.wider = np.sqrt(np.diag(self.whole) / np.maximum(np.diag(white), 1e-300))

    def of(self, log: int) -> Iterator[tuple[int, NDArray[np.bool_]]]:
        """Numbers of the folds of a log, and their held-out rows (N,)."""
        yield from ((fold, rows) for fold, (k, rows) in enumerate(self.held) if k == log)

    def _piece(self, sigma: Array, log: int, rows: NDArray[np.bool_]) -> Array:
        """R factor of some rows of a log, of derivatives and residuals over the noise."""
        own = self.rows[log][rows] / sigma[:, None]
        return triangle(own.reshape(-1, own.shape[2]))

    def _stepped(self, fit: LoopFit, places: Sequence[int]) -> Iterator[Array]:
        """Values after one Gauss-Newton step from the estimate: without a small part of the rows they are near it."""
        before = solution(fit.R)
        nothing = np.zeros((0, fit.part.count))
        for R in self.others:
            theta = fit.theta.copy()
            theta[places] += (stepped(R, nothing, before) - before)[self.columns]
            yield np.clip(theta, fit.model.lower, fit.model.upper)

    def covariance(self, fold: int) -> Array:
        """Covariance of the unknowns in a fold; as much wider than for white residuals as that of all logs."""
        return np.asarray(white_covariance(self.others[fold], self.columns) * np.outer(self.wider, self.wider))

    def variance(self, log: int, covariance: Array) -> Array:
        """Variance of the positions (N, outputs) of a fitted log due to that of the unknowns, row by row.

        Its mean says little: near contacts, and where a joint may stick or slide, a few rows have most of it.
        """
        Y = self.rows[log][:, :, self.columns]
        return np.asarray(np.einsum("noi,ij,noj->no", Y, covariance, Y, optimize=True))


def _refits(
    fit: LoopFit, logs: Sequence[LoopLog], held: Sequence[tuple[int, NDArray[np.bool_]]], tell: Tell
) -> list[Array]:
    """Values of each fold of a single log: after one step without so many rows the others may fit worse than before."""
    found = []
    for k, (log, rows) in enumerate(held):
        tell(f"predicting held-out postures, part {k + 1} of {len(held)}")
        found.append(refitted(fit, logs, log, rows))
    return found


def refitted(fit: LoopFit, logs: Sequence[LoopLog], log: int, rows: NDArray[np.bool_]) -> Array:
    """Values of a fit without some rows of a log, begun at the estimate; those of the estimate if it cannot begin."""
    masks = fit.pushed or tuple(np.zeros(own.q.shape, bool) for own in logs)
    used = [replace(own, pushed=mask) for own, mask in zip(logs, masks, strict=True)]
    used[log] = replace(used[log], pushed=masks[log] | rows[:, None])
    try:
        found = moved(fit.model, used, fit.theta, coarser_steps(fit.steps, logs), FEW, close=MOVED)
    except MinertiaError:  # the simulated motion diverges at coarser steps than those of the fit
        return fit.theta
    return found.theta[: fit.model.count]


def _touching(model: ServoModel, theta: Array, log: LoopLog, residuals: Array) -> NDArray[np.bool_]:
    """Evaluated rows (N,) of a log in which the simulated robot touches the ground."""
    found = touching_rows(model, theta, log.q[log.rows] - residuals)
    return np.zeros(len(residuals), bool) if found is None else found


def _residual(model: ServoModel, theta: Array, log: LoopLog) -> Array | None:
    """Measured less simulated positions of the evaluated rows; None if the simulation diverges."""
    steps = steps_of(log, STEP)
    found = simulated(model, theta, with_start(model, theta, log, steps), steps, slopes=False)
    return None if found is None else np.asarray((log.q - found.q)[log.rows])


def _fitted_campaign(model: IdentifiedModel, campaign: Campaign) -> Campaign:
    """Campaign with the effects and known values of a model's fit, so that both have the same unknowns."""
    robot, choice = model.nominal, model.linear.choice
    terms = [replace(at_joints(robot, t.symbol, [t.joint], t.settings, t.tag), known=t.is_known) for t in choice.terms]
    fix = {name: float(value) for name, value in model.campaign.get("fix", {}).items()}
    return replace(campaign, joints=(), effects=(*choice.own, *terms), fix=fix)


def drawn_positions(
    model: IdentifiedModel, values: Array, logs: LogLike | Sequence[LogLike], reading: LogReading
) -> Iterator[DrawnOutputs]:
    """Simulate logs of commands for each row of `values`; the first row contains the most probable unknowns."""
    shown = Shown.from_dict(model.evidence[POSTERIOR]["shown"])
    campaign = campaign_like(model, logs, reading.columns, drop_torn=reading.drop_torn)
    for log in campaign.validate:
        reading.tell(f"simulating {log.name}")
        one = loop_log(campaign, log)
        servos = loop_model(_fitted_campaign(model, campaign), one.period, varies_links=bool(shown.file_links))
        if servos.names != shown.names:
            raise InputError("the unknowns of this model differ from those of its campaign; identify it again")
        (one,) = with_loads(servos, [one], [log])
        steps = steps_of(one, STEP)
        rows = np.clip(values, servos.lower, servos.upper)
        started = with_start(servos, rows[0], one, steps)
        motions = (simulated(servos, theta, started, steps, slopes=False) for theta in rows)
        nothing = np.full(one.q.shape, np.nan)
        q = np.array([(nothing if motion is None else motion.q)[one.rows] for motion in motions])
        t = one.period * np.arange(len(one.q))[one.rows]
        told = fitted_before(model, log.name)
        touching = touching_rows(servos, rows[0], q[0])
        measured = one.q[one.rows]
        yield DrawnOutputs(log.name, servos.output_names, np.asarray(t, float), measured, q[0], q[1:], told, touching)
