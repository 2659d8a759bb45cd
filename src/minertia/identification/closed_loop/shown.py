"""Estimates and covariance of the unknowns identifiable from commands, and residuals of simulated positions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from minertia.identification.campaigns.campaign import Campaign, LogLike
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.carrying import with_loads
from minertia.identification.closed_loop.found import LoopFit
from minertia.identification.closed_loop.judge import steps_of
from minertia.identification.closed_loop.logs import LoopLog, loop_log
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.closed_loop.simulate import simulated, with_start
from minertia.identification.evidence.left_out import LOGS_HELD_OUT, equal_parts, stepped
from minertia.identification.kind import DrawnOutputs, LogReading
from minertia.identification.model import IdentifiedModel
from minertia.identification.posterior.shown import POSTERIOR, ResidualNoise, Shown, residual_noise, value_variance
from minertia.identification.problem.solve import solution
from minertia.identification.problem.terms import at_joints
from minertia.identification.problem.triangles import triangle, without_each
from minertia.identification.remembered import campaign_like, fitted_before
from minertia.io.arrays import Array
from minertia.io.errors import InputError

PARTS = 2  # of a log: other motion than was fitted, as of a log that is kept back
STEP = 1e-3  # s, of simulations: many robots are simulated


def shown_by_commands(fit: LoopFit) -> Shown:
    """Estimates of the unknowns that the motion distinguishes, with their covariance."""
    model = fit.model
    kept = [k for k in fit.kept if k < model.count]
    of_robot = model.linear.standard if model.keeps_links else model.linear.names
    own = {name: float(fit.theta[k]) for k, name in enumerate(model.names) if name not in of_robot}
    positive = tuple(name for name, low in zip(model.names, model.lower, strict=True) if name in own and low >= 0)
    covariance = fit.covariance[np.ix_(kept, kept)]
    return Shown(model.names, np.eye(model.count)[kept], fit.theta[kept], covariance, own, positive, model.keeps_links)


def noise_of_positions(fit: LoopFit, logs: Sequence[LoopLog], unseen: Sequence[LoopLog]) -> ResidualNoise:
    """Statistics of the residuals of simulated positions, in the fitted logs and in held-out logs or segments."""
    model, fitted, held = fit.model, [], []
    by_logs = len(logs) >= LOGS_HELD_OUT
    parts = 1 if by_logs else PARTS
    columns = [place for place, k in enumerate(fit.kept) if k < model.count]
    places = [fit.kept[place] for place in columns]
    covariance = fit.covariance[np.ix_(places, places)]
    usual = value_variance(fit.part.totals[:, :, columns], fit.part.samples, covariance)
    others, by_rows, by_values = without_each(_pieces(fit, parts)), _row_variances(fit, columns, covariance), []
    for k, log in enumerate(logs):
        own = _residual(model, fit.theta, log)
        if own is None:
            continue
        counted = own if k >= len(fit.pushed) else np.where(fit.pushed[k][log.rows], np.nan, own)
        fitted.append((counted, log.period))
        values = _without(fit, others[k * parts : (k + 1) * parts])
        for theta, part in zip(values, equal_parts(len(own), parts), strict=True):
            again = _residual(model, theta, log)
            held.append((own if again is None else again)[part])
            by_values.append(by_rows[k][log.rows][part])
    rest = [e for e in (_residual(model, fit.theta, log) for log in unseen) if e is not None]
    held, by_values = [*held, *rest], [*by_values, *[usual] * len(rest)]
    told = "each fitted log" if by_logs else f"{PARTS} parts of each fitted log"
    told += " and the validation logs" if unseen else ""
    return residual_noise(model.output_names, fitted, held, told, by_values)


def _without(fit: LoopFit, others: Sequence[Array]) -> Iterator[Array]:
    """Values of fits to R factors of the other pieces of the logs, one Gauss-Newton step from the estimate."""
    model = fit.model
    own = [place for place, k in enumerate(fit.kept) if k < model.count]
    places = [fit.kept[place] for place in own]
    before = solution(fit.part.triangle(fit.sigma))
    nothing = np.zeros((0, fit.part.count))
    for R in others:
        theta = fit.theta.copy()
        theta[places] += (stepped(R, nothing, before) - before)[own]
        yield np.clip(theta, model.lower, model.upper)


def _row_variances(fit: LoopFit, columns: Sequence[int], covariance: Array) -> list[Array]:
    """Variance of the positions (N, outputs) of each fitted log due to that of the unknowns, row by row.

    Its mean says little: near contacts, and where a joint may stick or slide, a few rows have most of it.
    """
    found: list[list[Array]] = [[] for _ in fit.part.logs]
    for block in fit.part.stream():
        Y = block.Y[:, :, columns]
        found[block.log].append(np.einsum("noi,ij,noj->no", Y, covariance, Y, optimize=True))
    return [np.concatenate(blocks) for blocks in found]


def _pieces(fit: LoopFit, parts: int) -> list[Array]:
    """R factors of equal parts of each log, log by log, of derivatives and residuals over the noise."""
    rows: list[list[Array]] = [[] for _ in fit.part.logs]
    for block in fit.part.stream():
        rows[block.log].append(np.concatenate([block.Y, block.tau[:, :, None]], axis=2) / fit.sigma[:, None])
    found = []
    for blocks in rows:
        every = np.concatenate(blocks)
        found += [triangle(every[part].reshape(-1, every.shape[2])) for part in equal_parts(len(every), parts)]
    return found


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
    campaign = campaign_like(model, logs, reading.columns, drop_torn=reading.drop_torn)
    for log in campaign.validate:
        reading.tell(f"simulating {log.name}")
        one = loop_log(campaign, log)
        servos = loop_model(_fitted_campaign(model, campaign), one.period)
        if list(servos.names) != list(Shown.from_dict(model.evidence[POSTERIOR]["shown"]).names):
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
        yield DrawnOutputs(log.name, servos.output_names, np.asarray(t, float), one.q[one.rows], q[0], q[1:], told)
