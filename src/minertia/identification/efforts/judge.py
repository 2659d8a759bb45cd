"""Evaluation of an estimate from efforts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.floating import PLANTED
from minertia.identification.campaigns.prepared import EffortLog
from minertia.identification.efforts.build import EffortRows, plain_values
from minertia.identification.efforts.entrants import Entrant
from minertia.identification.efforts.floating_setups import floating_faults
from minertia.identification.efforts.sensor_setups import saturated_channels, sensor_faults
from minertia.identification.estimators.estimate import Estimate
from minertia.identification.evidence.changed import CarriedLoad, carried_load, changed
from minertia.identification.evidence.doubts import Doubts, doubts
from minertia.identification.evidence.evidence import Evidence, ScoredEvidence
from minertia.identification.evidence.extrapolation import fitted_reach, remarks, unknown_part, unmoved
from minertia.identification.evidence.intervals import Spread, left_out_spread, spread
from minertia.identification.evidence.left_out import NOTHING_LEFT_OUT, left_out_error
from minertia.identification.evidence.log_noise import white_noise
from minertia.identification.evidence.overlap import copied_part, moves_alike, shared_part
from minertia.identification.evidence.parameters import ParameterEvidence, over_recordings, parameter_evidence
from minertia.identification.evidence.plausibility import implausible
from minertia.identification.evidence.prior import held_spread
from minertia.identification.evidence.residuals import (
    Residuals,
    pooled,
    residuals_of_arrays,
    training_residuals,
)
from minertia.identification.evidence.rivals import rivals
from minertia.identification.evidence.thresholds import COPIED_PART, SHARED
from minertia.identification.evidence.trial import trial_of
from minertia.identification.loads.gains import DriveGains
from minertia.identification.logs.recording import SI, Recording
from minertia.identification.physical.fit import NOT_FOUND
from minertia.identification.problem.linear import LinearModel, symbol_of
from minertia.identification.problem.observation import Observation, observe
from minertia.identification.problem.path import with_path, without_order
from minertia.identification.problem.prediction import load_efforts, predict
from minertia.identification.signals.filtering import Motion
from minertia.robot.check import doubtful_bodies
from minertia.robot.parameters import BIAS_SYMBOLS

Array = NDArray[np.float64]
UNITS = ("degrees", "clock")  # checks of an audit without whose passing no fit is good
FEWEST_BLOCKS = 4  # from which the spread of their contributions says something
LOOKED_AT = 2  # parts of a log whose noise is looked at
OFFSET = "OFF"  # no friction


def effort_evidence(problem: EffortRows, estimate: Estimate) -> Evidence:
    """Evidence for an estimate: residuals, and the uncertainty of each parameter."""
    fit, part = estimate.fit, estimate.part
    assert fit is not None and part is not None
    widths, by_prior = _spread(problem, estimate)
    if widths is not None and problem.ladder is not None and problem.ladder.unselected is not None:
        widths = widths.wider(_at(part.names, *problem.ladder.unselected))
    parameters = parameter_evidence(estimate, part, widths, over_recordings(part, fit.sigma), by_prior)
    counted = _on_training(problem, estimate)
    training = pooled("training", counted)
    unseen, changes = _unseen(problem, estimate, correlated_covariance(estimate, parameters, widths), training)
    hardly = _unmoved(problem)
    found = _doubts(problem)
    return Evidence(
        training=training,
        logs=tuple(r for r, _ in counted),
        parameters=parameters,
        left_out=left_out_error(part, fit.sigma, fit.refit, problem.in_torques(part))
        if part.count
        else NOTHING_LEFT_OUT,
        unseen=unseen,
        rivals=_rivals(problem),
        not_excited=estimate.not_excited,
        spread=widths,
        suspicions=found.suspicions,
        faults=(
            *floating_faults(problem, training),
            *_faults(problem, estimate),
            *found.faults,
            *(() if found.suspicions or hardly else changes),
        ),
        remarks=_remarks(problem, estimate, unseen),
        not_judged=found.not_judged,
        friction=friction_part(problem.observation, estimate.beta),
        unmoved=hardly,
    )


def scored_evidence(problem: EffortRows, entry: Entrant) -> ScoredEvidence:
    """Evidence for a prediction that anybody made, which was not fitted here.

    The bound on the residual depends on the friction of the robot, as a plain fit of the campaign gives it: the same
    for every entry.
    """
    linear = problem.linear
    has_training = all(entry.covers(log) for log in problem.logs)

    def residuals(log: EffortLog) -> tuple[Residuals, int]:
        return residuals_by(linear, log, lambda block: entry.efforts(log, block))

    unseen = [residuals(log) for log in problem.unseen]
    fitted = [residuals(log) for log in problem.logs] if has_training or not unseen else unseen
    training, found, hardly = pooled("training", fitted), _doubts(problem), _unmoved(problem)
    changes = [
        changed(own, training, entry.unknown(log), None) if has_training else None
        for (own, _), log in zip(unseen, problem.unseen, strict=True)
    ]
    faults = (*_faults_of_logs(problem), *found.faults, *(() if found.suspicions or hardly else changes))
    evidence = Evidence(
        training=training,
        logs=tuple(r for r, _ in fitted),
        parameters=(),
        left_out=NOTHING_LEFT_OUT,
        unseen=tuple(r for r, _ in unseen),
        rivals=_rivals(problem),
        suspicions=found.suspicions,
        faults=tuple(sentence for sentence in faults if sentence is not None),
        remarks=tuple(_repeats(problem)),
        not_judged=found.not_judged,
        friction=friction_part(problem.observation, plain_values(problem.observation)),
        unmoved=hardly,
    )
    return ScoredEvidence(entry.kind, evidence, has_training)


def _rivals(problem: EffortRows) -> dict[str, tuple[Residuals, ...]]:
    """Residuals of the reference models on the validation logs."""
    theirs = rivals(problem.observation) if problem.unseen else {}
    return {
        name: tuple(residuals_on(problem.linear, beta, log)[0] for log in problem.unseen)
        for name, beta in theirs.items()
    }


def _doubts(problem: EffortRows) -> Doubts:
    """Diagnosis of the set-up and the motion from the logs."""
    if wrong_units((*problem.logs, *problem.unseen)) is not None:
        return Doubts()
    units = {log.recording.effort_unit for log in problem.logs if log.recording is not None}
    unseen = [trial_of(problem.linear, [log]) for log in problem.unseen]
    fitted = trial_of(problem.linear, problem.logs, in_newtons=units <= {SI})
    with np.errstate(all="ignore"):
        return doubts(fitted, [trial for trial in unseen if trial is not None])


def _on_training(problem: EffortRows, estimate: Estimate) -> list[tuple[Residuals, int]]:
    """Residuals of each fitted log and its samples; a log given as a motion is evaluated as it was fitted."""
    found = []
    for k, log in enumerate(problem.logs):
        own = problem.observation.only([k])
        if log.evaluation is None and own.row_names == problem.linear.row_names:
            found.append((training_residuals(own, estimate.beta, log.name), own.samples))
        else:
            found.append(residuals_on(problem.linear, estimate.beta, log))
    return found


def _at(names: Sequence[str], own: Sequence[str], covariance: Array) -> Array:
    """Covariance of some unknowns among those of another list, zero where they are not in both."""
    place = {name: k for k, name in enumerate(own)}
    chosen = np.zeros((len(names), len(own)))
    for k, name in enumerate(names):
        if name in place:
            chosen[k, place[name]] = 1.0
    return np.asarray(chosen @ covariance @ chosen.T)


def _spread(problem: EffortRows, estimate: Estimate) -> tuple[Spread | None, tuple[str, ...]]:
    """Interval widths under correlated residuals, and names of parameters that the prior determines.

    None for the widths where data and prior do not determine the fit.
    """
    fit, part = estimate.fit, estimate.part
    assert fit is not None and part is not None
    if part.count and fit.prior is not None:
        held = held_spread(part, fit)
        return held.widths, tuple(name for name, own in zip(part.names, held.by_prior, strict=True) if own)
    if not part.count or sum(len(log.counts) for log in part.logs) < FEWEST_BLOCKS:
        return None, ()
    robot = problem.linear.robot
    if robot.is_floating or robot.sensors:  # errors common to efforts, and gaps at changes of contacts
        own = list(problem.excitation.independent)
        return left_out_spread(part.reduced(own), fit.sigma).among(own, part.count), ()
    if problem.excitation.rank == part.count:
        return spread(part, fit.beta, fit.sigma), ()
    own = list(problem.excitation.independent)
    return spread(part.reduced(own), fit.beta[own], fit.sigma).among(own, part.count), ()


def residuals_on(
    model: LinearModel, beta: Array, log: EffortLog, compared: Sequence[int] | None = None
) -> tuple[Residuals, int]:
    """Residuals of an estimate on one log, through the evaluation filter, and the number of samples.

    A log given as a motion is evaluated as it is fitted, with all rows.  compared: see `residuals_by`.
    """
    if log.evaluation is None:
        load = load_efforts(model, beta, log.states) if model.choice.needs_load else None
        seen = observe(model, [log.in_torques()], names=[log.name], load=load)
        return training_residuals(seen, beta, log.name), seen.samples
    return residuals_by(model, log, lambda block: predict(model, beta, block, samples=log.states), compared=compared)


def residuals_by(
    model: LinearModel,
    log: EffortLog,
    efforts: Callable[[Motion], Array],
    most: int | None = None,
    compared: Sequence[int] | None = None,
) -> tuple[Residuals, int]:
    """Residuals of efforts (N, rows) predicted by a function, through the evaluation filter, and number of samples.

    Efforts of a log given as a motion are compared unfiltered.  most: number of samples to compare.  compared:
    positions of the rows to compare, default: all.
    """
    of = list(range(len(model.rows)) if compared is None else compared)
    pairs: list[tuple[Array, Array]] = []
    noise: list[Array] = []
    samples = 0
    for block in with_path(model, log.judged):
        own = efforts(block)
        if log.evaluation is None:
            pairs.append((np.asarray(block.tau)[:, list(model.rows)], own))
        else:
            pairs.append(log.compared(block, own))
            if len(noise) < LOOKED_AT:
                noise.append(_noise_of(log, block))
        samples += len(own)
        if most is not None and samples >= most:
            break
    measured, predicted = (np.concatenate(side)[:, of] for side in zip(*pairs, strict=True))
    found = residuals_of_arrays(log.name, [model.row_names[k] for k in of], measured, predicted)
    return (found.with_noise(np.min(noise, axis=0)[of].tolist()) if noise else found), len(measured)


def _noise_of(log: EffortLog, block: Motion) -> Array:
    """Noise of each effort in a block of a log, in the unit and frequency band of the evaluation."""
    assert log.evaluation is not None
    rate = (len(block) - 1) / max(float(block.t[-1] - block.t[0]), 1e-9)
    return white_noise(log.in_unit(block.tau)[:, list(log.rows)], rate, log.evaluation.cutoff_hz)


def friction_part(observation: Observation, beta: Array) -> float:
    """Fraction of the fitted effort due to friction, offsets excluded."""
    model = observation.model
    constant = (OFFSET, *BIAS_SYMBOLS)
    own = [k for k, name in enumerate(model.names) if model.is_friction(k) and symbol_of(name) not in constant]
    whole = float(np.linalg.norm(observation.totals[:, :, -1]))
    return float(np.linalg.norm(observation.totals[:, :, own] @ beta[own])) / whole if own and whole > 0 else 0.0


def _unseen(
    problem: EffortRows, estimate: Estimate, covariance: Array, training: Residuals
) -> tuple[tuple[Residuals, ...], tuple[str, ...]]:
    """Residuals of the validation logs, with warnings on extrapolation, and messages on changes between logs."""
    reach = fitted_reach(problem.observation)
    found, changes = [], []
    for log in problem.unseen:
        residuals = residuals_on(problem.linear, estimate.beta, log)[0]
        unknown = unknown_part(problem.linear, estimate.beta, covariance, log.judged)
        levels = {"seen": residuals.relative, "unknown": unknown}
        told = remarks(problem.linear, estimate.beta, covariance, reach, training.relative, log.judged, **levels)
        found.append(replace(residuals, remarks=told))
        changes.append(changed(residuals, training, unknown, _load_of(problem, estimate, log)))
    return tuple(found), tuple(sentence for sentence in changes if sentence is not None)


def _unmoved(problem: EffortRows) -> dict[str, float]:
    """Joints that hardly moved in the fitted logs but do in a validation log, with the ratio of the ranges."""
    reach, found = fitted_reach(problem.observation), dict[str, float]()
    for log in problem.unseen:
        for joint, times in unmoved(problem.linear.robot, reach, log.judged).items():
            found[joint] = max(times, found.get(joint, 0.0))
    return found


def _load_of(problem: EffortRows, estimate: Estimate, log: EffortLog) -> CarriedLoad | None:
    """Payload that explains the residual of a log best."""
    trial = trial_of(problem.linear, [log])
    if trial is None or problem.linear.choice.needs("temperature"):
        return None
    measured = np.any(next(iter(log.judged)).tau, axis=0).astype(float)  # zero for loads that the log does not have
    tau = np.broadcast_to(measured, (len(trial.q), len(measured)))
    motion = Motion(np.arange(len(trial.q), dtype=float), trial.q, trial.qd, trial.qdd, tau)
    motion = without_order(problem.linear, motion)
    return carried_load(trial, predict(problem.linear, estimate.beta, motion)[:, : len(trial.joints)])


def correlated_covariance(estimate: Estimate, parameters: Sequence[ParameterEvidence], widths: Spread | None) -> Array:
    """Covariance whose standard deviations are those of the evidence, valid under correlated residuals."""
    covariance = np.array(estimate.covariance)
    if widths is not None and estimate.part is not None:
        own = [estimate.names.index(name) for name in estimate.part.names]
        covariance[np.ix_(own, own)] = widths.joint  # slow noise also ties values together otherwise than white noise
    wanted = {p.name: p.deviation for p in parameters}
    known = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.array([wanted.get(n, d) / d if d > 0 else 1.0 for n, d in zip(estimate.names, known, strict=True)])
    return np.asarray(covariance * np.outer(scale, scale))


def _faults(problem: EffortRows, estimate: Estimate) -> tuple[str, ...]:
    """Messages on faults, each of which alone makes the verdict reject the model."""
    fit = estimate.fit
    assert fit is not None
    found = _faults_of_logs(problem)
    if fit.verdict.get("status") == NOT_FOUND:
        found.append(str(fit.verdict["sentence"]))
    elif not fit.standard:
        found.append(implausible(problem.observation, problem.free, estimate.beta, fit.sigma, problem.campaign.fix))
    return tuple(sentence for sentence in found if sentence is not None)


def _faults_of_logs(problem: EffortRows) -> list[str | None]:
    """Messages on faults of the logs, None where there is none."""
    sensors = (*sensor_faults(problem), *saturated_channels(problem.logs, problem.linear.robot))
    return [wrong_units((*problem.logs, *problem.unseen)), planted_feet(problem), *_overlaps(problem), *sensors]


def planted_feet(problem: EffortRows) -> str | None:
    """Message on a floating base whose contacts never lift, while their unmeasured forces are projected out."""
    campaign = problem.campaign
    if campaign.floating.rows != "projected" or not campaign.robot.is_floating:
        return None
    never = [{f.channel for f in log.findings if f.check == PLANTED} for log in problem.logs]
    if any(len(own) < len(campaign.contacts) for own in never):
        return None
    return (
        "no contact is lifted in the fitted logs and their forces are not measured, so that a fit says little of other "
        "motion: lift and wave each foot, or measure the forces"
    )


def _overlaps(problem: EffortRows) -> Iterator[str]:
    """Warnings on validation logs that share rows with fitted ones."""
    for log in problem.unseen:
        for fitted in problem.logs:
            if log.prints is None or fitted.prints is None or log.blocks is fitted.blocks:
                continue
            part, noise = shared_part(log.prints, fitted.prints), copied_part(_rows(log), _rows(fitted))
            if part > SHARED or noise > COPIED_PART:
                what = f"{part:.0%} of its rows" if part >= noise else f"the noise of {noise:.0%} of its rows"
                yield (
                    f"{log.name} shares {what} with the training log {fitted.name}: it is a copy and cannot "
                    "validate the fit; name another log in validate"
                )
                break


def _repeats(problem: EffortRows) -> Iterator[str]:
    """Warnings on validation logs that repeat the motion of a fitted one."""
    for log in problem.unseen:
        same = [f.name for f in problem.logs if f.blocks is not log.blocks and moves_alike(_rows(log), _rows(f))]
        if same:
            yield (
                f"{log.name} is the same motion as the training log {same[0]}: it shows that the robot repeats "
                "its motion, and little of how well other motion is predicted"
            )


def _rows(log: EffortLog) -> Recording | Motion:
    """Logged rows of a log, or the motion that it was given as."""
    return next(iter(log)) if log.recording is None else log.recording


def _gains_sentence(found: DriveGains) -> str:
    """Drive gains that the sensors give, with 95 % intervals."""
    each = zip(found.joints, found.gains, found.deviations, strict=True)
    listed = ", ".join(f"{joint} {gain:.4g} +- {1.96 * dev:.2g}" for joint, gain, dev in each)
    return (
        f"drive gains from the sensors [N m or N per logged unit]: {listed}; intervals of other values leave out their "
        "uncertainty"
    )


def wrong_units(logs: Sequence[EffortLog]) -> str | None:
    """Warning if a log can hardly be in the units in which it was read; else None."""
    found = [(log.name, f) for log in logs for f in log.findings if f.level == "error" and f.check in UNITS]
    if not found:
        return None
    name, first = found[0]
    others = f" (and {len(found) - 1} more of this kind)" if len(found) > 1 else ""
    return f"{name}, {first.channel}: {first.text}{others}"


def _remarks(problem: EffortRows, estimate: Estimate, unseen: Sequence[Residuals]) -> tuple[str, ...]:
    """Warnings on the validation logs and on the robot file."""
    told = [f"{r.log}: {remark}" for r in unseen for remark in r.remarks]
    told += [f"{note.where}: {note.text}" for note in doubtful_bodies(problem.campaign.robot)]
    if problem.gains is not None:
        told.append(_gains_sentence(problem.gains))
    doubts = [*_repeats(problem), *(_load_doubt(problem, estimate, log) for log in problem.unseen)]
    return (*told, *(doubt for doubt in doubts if doubt is not None))


def _load_doubt(problem: EffortRows, estimate: Estimate, log: EffortLog) -> str | None:
    """Warning where a log is predicted better without its specified payload."""
    if log.carried is None:
        return None
    left = [0.0, 0.0]
    for block in with_path(problem.linear, log.judged):
        predicted = predict(problem.linear, estimate.beta, block)
        for k, one in enumerate((log, replace(log, carried=None))):
            measured, own = one.compared(block, predicted)
            left[k] += float(np.sum((measured - own) ** 2))
    if left[0] <= left[1]:
        return None
    return (
        f"{log.name} is predicted better without its payload ({(left[1] / left[0]) ** 0.5:.2g} times the "
        "residual); check where the payload is, and whether the controller was given it"
    )
