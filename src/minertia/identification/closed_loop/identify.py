"""Logs of commands and positions to a model: chosen by itself where a campaign's logs hold no efforts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from minertia.errors import CampaignError, MinertiaError, UnknownName
from minertia.identification.audits.audit import audit
from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.campaigns.command import SAME, UNKNOWN
from minertia.identification.campaigns.prepare import Tell, refuse_twins
from minertia.identification.closed_loop.carrying import refuse_loads, with_loads
from minertia.identification.closed_loop.elasticity import elasticity_notes
from minertia.identification.closed_loop.fit import LoopFit, output_error
from minertia.identification.closed_loop.judge import judged, loose_gains
from minertia.identification.closed_loop.law import didim, law_fit
from minertia.identification.closed_loop.logs import LoopLog, made_log, with_encoder
from minertia.identification.closed_loop.model import ServoModel, loop_model
from minertia.identification.closed_loop.outcome import LoopOutcome, ReadLog
from minertia.identification.logs.columns import choose
from minertia.identification.logs.readers import column_names
from minertia.identification.logs.recording import Recording


def is_commanded(campaign: Campaign) -> bool:
    """Whether the logs that are fitted hold commands and no efforts."""
    return bool(campaign.train) and all(_has_commands_alone(campaign, log) for log in campaign.train)


def _has_commands_alone(campaign: Campaign, log: Log) -> bool:
    if isinstance(log.source, Recording):
        return log.source.tau is None and "command" in log.source.channels
    if log.file is None:
        return False
    try:
        found = choose(column_names(log.file, campaign.map), campaign.map, campaign.robot, str(log.file), effort=False)
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
    fit = fitted(model, logs, campaign.command.method)
    loose = loose_gains(fit)
    kp = campaign.command.each("kp", campaign.robot.n)
    notes: tuple[str, ...] = ()
    if loose and all(value == UNKNOWN for value in kp):
        campaign = replace(campaign, command=replace(campaign.command, kp=SAME))
        fit = fitted(loop_model(campaign, period), logs, campaign.command.method)
        notes = (
            f"{', '.join(loose)} had no scale of {'its' if len(loose) == 1 else 'their'} own (deviation above 30 %): "
            "the servos were taken to be the same, with one kp",
        )
    tell("looking for elastic joints")
    fit = replace(fit, notes=(*notes, *fit.notes, *elasticity_notes(campaign, fit, logs)))
    tell("judging")
    found = judged(fit, logs, unseen, scale(fit.model))
    return LoopOutcome(campaign, tuple(read[:count]), tuple(read[count:]), fit, found)


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
    return ReadLog(log, made_log(campaign, log.name, logged), audit(logged, campaign.robot))


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
