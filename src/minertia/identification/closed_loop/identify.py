"""Logs of commands and positions to a model: chosen by itself where a campaign's logs hold no efforts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from minertia.errors import CampaignError, MinertiaError, RecordingError, UnknownName
from minertia.identification.audits.audit import audit
from minertia.identification.audits.findings import Finding
from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.campaigns.options import SAME
from minertia.identification.campaigns.prepare import Tell, refuse_twins
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.carrying import refuse_loads, with_loads
from minertia.identification.closed_loop.elasticity import elasticity_notes
from minertia.identification.closed_loop.fit import output_error
from minertia.identification.closed_loop.found import LoopFit
from minertia.identification.closed_loop.judge import judged, loose_gains
from minertia.identification.closed_loop.law import didim, law_fit
from minertia.identification.closed_loop.logs import LoopLog, made_log, with_encoder
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.closed_loop.outcome import LoopOutcome, ReadLog
from minertia.identification.closed_loop.placed_friction import with_placed_friction
from minertia.identification.logs.columns import choose
from minertia.identification.logs.readers import column_names
from minertia.identification.logs.recording import Recording
from minertia.identification.problem.linear import symbol_of
from minertia.schema import UNKNOWN


def is_commanded(campaign: Campaign) -> bool:
    """Whether the logs that are fitted hold commands and no efforts."""
    return bool(campaign.train) and all(_has_commands_alone(campaign, log) for log in campaign.train)


def _has_commands_alone(campaign: Campaign, log: Log) -> bool:
    if isinstance(log.source, Recording):
        return log.source.tau is None and "command" in log.source.channels
    if log.file is None:
        return False
    robot = campaign.robot
    try:
        found = choose(column_names(log.file, campaign.map, robot), campaign.map, robot, str(log.file), effort=False)
    except MinertiaError:
        return False  # told by whoever reads it
    return found.effort is None and found.command is not None


def identify_commands(campaign: Campaign, tell: Tell) -> LoopOutcome:
    """Fit a campaign of commands, and judge it by simulation."""
    refuse_twins(campaign)
    _refuse_unused(campaign)
    named = (*campaign.train, *campaign.validate)
    logged = [_logged(campaign, log, tell) for log in named]
    campaign = with_encoder(campaign, logged)
    read = [_read(campaign, log, recording) for log, recording in zip(named, logged, strict=True)]
    count = len(campaign.train)
    tell("deriving the loop")
    period = min(r.loop.period for r in read[:count])
    model = loop_model(campaign, period)
    loops = with_loads(model, [r.loop for r in read], [r.log for r in read])
    read = [replace(r, loop=loop) for r, loop in zip(read, loops, strict=True)]
    logs, unseen = loops[:count], loops[count:]
    tell("fitting")
    fit, notes = fitted(model, logs, campaign.command.method), []
    for change in (_with_same_gains, _without_offsets):
        changed = change(campaign, fit)
        if changed is not None:
            campaign, note = changed
            fit = fitted(loop_model(campaign, period), logs, campaign.command.method)
            notes.append(note)
    tell("looking for friction that changes with the position")
    placed = with_placed_friction(campaign, fit, logs)
    if placed is not None:
        campaign, fit, note = placed
        notes.append(note)
    tell("looking for elastic joints")
    fit = replace(fit, notes=(*notes, *fit.notes, *elasticity_notes(campaign, fit, logs)))
    tell("judging")
    found = judged(fit, logs, unseen, scale(fit.model))
    return LoopOutcome(campaign, tuple(read[:count]), tuple(read[count:]), fit, found)


def _with_same_gains(campaign: Campaign, fit: LoopFit) -> tuple[Campaign, str] | None:
    """The campaign with one kp for all joints where some of them have no scale of their own, and why."""
    loose = loose_gains(fit)
    if not loose or any(value != UNKNOWN for value in campaign.command.each("kp", campaign.robot.n)):
        return None
    return replace(campaign, command=replace(campaign.command, kp=SAME)), (
        f"{', '.join(loose)} had no scale of {'its' if len(loose) == 1 else 'their'} own (deviation above 30 %): "
        "the servos were taken to be the same, with one kp"
    )


def _without_offsets(campaign: Campaign, fit: LoopFit) -> tuple[Campaign, str] | None:
    """The campaign without offsets where these can take the place of the weights that give kp its scale, and why."""
    loose = loose_gains(fit)
    offsets = [name for name in fit.model.names if symbol_of(name) == "OFF"]
    if not loose or not offsets or not fit.model.keeps_links:
        return None
    return replace(campaign, fix={**campaign.fix, **dict.fromkeys(offsets, 0.0)}), (
        f"{', '.join(loose)} had no scale beside offsets (deviation above 30 %), which stand for weights here: offsets "
        "were taken to be zero, as of servos whose commands and encoders share their zeros"
    )


def _refuse_unused(campaign: Campaign) -> None:
    """Refuse what has no effect on a fit of commands, which nobody should believe that it had."""
    refuse_loads(campaign)
    if campaign.estimator not in ("auto", "weighted", "wls"):
        raise CampaignError(
            f"the estimator '{campaign.estimator}' does not fit commands: state method in [command], and links = "
            '"physical" in [model] for bodies that can exist'
        )


def _logged(campaign: Campaign, log: Log, tell: Tell) -> Recording:
    tell(f"reading {log.name}")
    return campaign.as_logged(log, effort=False)


def _read(campaign: Campaign, log: Log, logged: Recording) -> ReadLog:
    findings = audit(logged, campaign.robot)
    _refuse_degrees(log, findings)
    return ReadLog(log, made_log(campaign, log.name, logged), findings)


def _refuse_degrees(log: Log, findings: Sequence[Finding]) -> None:
    """Positions that cannot be radians make nonsense of every value here, however well they are followed."""
    for finding in findings:
        if finding.check == "degrees":
            raise RecordingError(
                f'{finding.text.removesuffix(": are they degrees?")}: state angle = "deg" in [columns] if they are '
                "degrees, and convert parts of a range (-100 to 100) first",
                file=log.name,
                column=finding.channel or None,
            )


METHODS: dict[str, Callable[[ServoModel, list[LoopLog]], np.ndarray | None]] = {"law": law_fit, "didim": didim}


def fitted(model: ServoModel, logs: list[LoopLog], method: str) -> LoopFit:
    """A fit by one of the methods; of the quick ones the positions tell deviations and residuals all the same."""
    if method == "output-error":
        return output_error(model, logs)
    if method not in METHODS:
        raise UnknownName("method without efforts", method, ("output-error", *METHODS))
    theta = METHODS[method](model, logs)
    if theta is None:
        raise MinertiaError("the efforts of the law cannot be fitted: nothing moved in these logs")
    return output_error(model, logs, theta, iterate=False)


def scale(model: ServoModel) -> str:
    """The sentence that says what fixed the scale."""
    if model.gauges:
        names = ", ".join(model.robot.coordinate_names[j] for j in model.gauges)
        return f"nothing fixes the scale: values are ratios, in units of kp of {names}, which was set to 1"
    if all(not isinstance(v, str) for v in model.command.each("kp", model.robot.n)):
        return (
            "scale: your gains; a gain wrong by 10 % makes every inertia wrong by 10 %, and no log of positions can "
            "show it"
        )
    if model.command.reference == "load":
        return "scale: the load that you gave; a mass wrong by 10 % makes gains, friction and inertia wrong by 10 %"
    if model.keeps_links:
        return "scale: the masses of the robot's file; where they are wrong, gains and friction are wrong alike"
    return "scale: the gains that you gave, one for each group of joints that inertia ties together"
