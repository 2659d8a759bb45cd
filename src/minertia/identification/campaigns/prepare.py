"""Preparation of a campaign's logs for fit and validation: read, audit, repair, filter."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.campaigns.cutoff import fitted_cutoff
from minertia.identification.campaigns.floating import floating_log, settled_floating
from minertia.identification.campaigns.prepared import EffortLog
from minertia.identification.campaigns.recorded import RecordedLog, recorded_log
from minertia.identification.campaigns.sensed import precise, refuse_with_sensors, settled_rows
from minertia.identification.loads.body import carried
from minertia.identification.logs.recording import SI, Recording, even_rate
from minertia.identification.problem.linear import chosen_rows
from minertia.identification.problem.rows import blocks_of
from minertia.identification.problem.tried import Tried
from minertia.identification.signals.filtering import OVERSAMPLING, PARALLEL, resolved
from minertia.identification.signals.options import Evaluation, Filter
from minertia.identification.signals.spectrum import CYCLES, MARGIN, motion_band, quiet_cutoff
from minertia.io.arrays import Array
from minertia.io.errors import CampaignError, FilterError, RecordingError

TRIM_S = 0.5  # dropped at each end of a log before it is judged ...
FINER = 10.0  # rate at which efforts are judged over that of the logs, at most
TRIM_PART = 0.05  # ... or this part of a short one


def settled(campaign: Campaign, recordings: Sequence[Recording]) -> Campaign:
    """Campaign with its log-dependent options determined, the same for all logs.

    The cut-off is the highest required by any recording; efforts are evaluated at the cut-off of the first one,
    whatever the fit uses.
    """
    filter_, evaluation, usual = campaign.filter, campaign.evaluation, None
    if filter_.cutoff_hz is None:
        plans = [resolved(filter_, r) for r in recordings]
        usual = plans[0] if filter_ == Filter() else None
        filter_ = replace(filter_, cutoff_hz=max(plan.cutoff_hz or 0.0 for plan in plans))
    if evaluation is None:
        evaluation = usual_evaluation(recordings[0], usual)
    fastest = max(r.rate_hz for r in recordings)
    if evaluation.rate_hz > FINER * fastest:
        raise CampaignError(
            f"efforts cannot be evaluated at {evaluation.rate_hz:g} Hz: the logs have {fastest:.4g} samples per "
            "second; give a lower rate_hz in [evaluation]",
            file=campaign.source or None,
            field="evaluation.rate_hz",
        )
    return replace(campaign, filter=filter_, evaluation=evaluation)


def usual_evaluation(recording: Recording, plan: Filter | None = None) -> Evaluation:
    """Default evaluation filter; plan: the default filter resolved for this recording, if known."""
    plan = resolved(Filter(), recording) if plan is None else plan
    assert plan.cutoff_hz is not None and plan.rate_hz is not None
    return Evaluation(plan.cutoff_hz, plan.rate_hz, min(TRIM_S, TRIM_PART * recording.duration))


Tell = Callable[[str], None]  # told what is being done
STANDSTILL = 1e-3  # rad or m; what flickers less stands still


def silent(step: str) -> None:
    """Ignore a progress message."""


@dataclass(frozen=True)
class PreparedCampaign:
    """Campaign with its logs read and its filters determined; tried: the options of the filter that were tried."""

    campaign: Campaign
    train: tuple[EffortLog, ...]
    validate: tuple[EffortLog, ...] = ()
    tried: tuple[Tried, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<PreparedCampaign: {len(self.train)} logs to fit and {len(self.validate)} to predict, read and filtered>"
        )


def prepare_campaign(campaign: Campaign, tell: Tell = silent) -> PreparedCampaign:
    """Read, audit, repair and filter all logs; unusable logs raise an error with column and row."""
    refuse_twins(campaign)
    campaign = settled_floating(campaign)
    logs = (*campaign.train, *campaign.validate)
    read: dict[int, RecordedLog] = {}
    for k, log in enumerate(logs):
        if _is_recorded(log) and not campaign.robot.is_floating:
            tell(f"reading {log.name}")
            read[k] = recorded_log(campaign, log)
    count = len(campaign.train)
    for k, one in read.items():
        if k < count:
            _refuse_standstill(one.log, one.beginning)
    refuse_copies(list(read.values()), count)
    if campaign.sensors:
        campaign = replace(campaign, filter=precise(campaign.filter))
        refuse_with_sensors(campaign.filter.equations, any(log.load is not None for log in logs))
        rows = settled_rows(campaign.rows, [one.beginning for one in read.values()])
        campaign = replace(campaign, rows=rows, effects=() if rows == "sensors" else campaign.effects)
    campaign, tried = _settled(campaign, read, tell)
    ready = []
    for k, log in enumerate(logs):
        if k not in read:
            tell(f"reading {log.name}")
            ready.append(floating_log(campaign, log) if _is_recorded(log) else EffortLog.given(log))
            continue
        tell(f"filtering {log.name}")
        try:
            ready.append(_prepared(campaign, read[k], is_fitted=k < count))
        except FilterError as err:
            raise RecordingError(str(err), file=log.name) from None
    return PreparedCampaign(campaign, tuple(ready[:count]), tuple(ready[count:]), tried)


def _is_recorded(log: Log) -> bool:
    """Whether a log is a file or recording, which has to be filtered; a given motion is filtered already."""
    return log.file is not None or isinstance(log.source, Recording)


def _settled(campaign: Campaign, read: dict[int, RecordedLog], tell: Tell) -> tuple[Campaign, tuple[Tried, ...]]:
    """Campaign with the filter and evaluation chosen from its logs, and the cut-offs that were tried."""
    tried: tuple[Tried, ...] = ()
    if not read:
        return campaign, tried
    count = len(campaign.train)
    fitted = [one for k, one in read.items() if k < count]
    is_open = campaign.filter.cutoff_hz is None
    first = [one.beginning for one in (fitted or list(read.values())[:1])]
    campaign = settled(campaign, first)
    if is_open and fitted:
        if campaign.filter.parallel_trim_s is None:  # a short log has nothing to give away at its ends
            campaign = replace(campaign, filter=replace(campaign.filter, parallel_trim_s=0.0))
        tell("choosing the cut-off")
        shortest = min(one.beginning.duration for one in read.values())
        cutoff, tried = fitted_cutoff(campaign, fitted, shortest)
        assert campaign.evaluation is not None
        chosen = _chosen(campaign.filter, cutoff, campaign.evaluation, first)
        campaign = replace(campaign, filter=chosen)
    return campaign, tried


def _chosen(plan: Filter, cutoff: float, evaluation: Evaluation, fitted: Sequence[Recording]) -> Filter:
    """Filter with a chosen cut-off; equations are fitted in the band of the evaluation unless it states another.

    If that is more than twice the cut-off, they are fitted below twice the cut-off.
    """
    motion = [motion_band(one.q, even_rate(one)) or 0.0 for one in fitted]
    plan = replace(plan, cutoff_hz=cutoff, band_hz=plan.band_hz or max(motion) or None)
    band = evaluation.cutoff_hz
    if plan.rate_hz is not None or plan.parallel_hz is not None or band > PARALLEL * OVERSAMPLING * cutoff:
        return plan
    return replace(plan, parallel_hz=band, rate_hz=band / PARALLEL)


def refuse_unknown_gains(campaign: Campaign, logs: Sequence[EffortLog]) -> None:
    """Raise an error for currents of several joints with unknown gains, as these cannot be combined."""
    rows = chosen_rows(campaign.robot, campaign.efforts)
    for log in logs:
        recording = log.recording
        if recording is not None and recording.effort_unit != SI and len(rows) > 1:
            raise RecordingError(
                f"the efforts of {len(rows)} joints are in {recording.effort_unit}, but the drive gains are "
                "unknown; give [drive] gains, estimate them from a known payload (minertia payload --mass), or "
                "identify one joint at a time",
                file=recording.source or log.name,
                column=recording.column(f"tau{rows[0] + 1}"),
            )


def _prepared(campaign: Campaign, read: RecordedLog, is_fitted: bool) -> EffortLog:
    assert campaign.evaluation is not None
    rows, load = chosen_rows(campaign.robot, campaign.efforts), carried(campaign.robot, read.log.load)
    plan = campaign.filter if is_fitted else _scaled(campaign.filter, read.beginning)
    return EffortLog.of(read, resolved(plan, read.beginning), campaign.evaluation, rows, load)


def _scaled(plan: Filter, recording: Recording) -> Filter:
    """Filter of a validation log: its cut-off is to the band of its motion as that of the fit to the fitted motion.

    It is not lowered below ten times the band, and not raised to frequencies where noise shows in the accelerations.
    """
    if plan.band_hz is None or plan.cutoff_hz is None:
        return plan
    rate = even_rate(recording)
    band = motion_band(recording.q, rate) or plan.band_hz
    lowest = min(plan.cutoff_hz, max(MARGIN * band, CYCLES / recording.duration))
    highest = max(plan.cutoff_hz, quiet_cutoff(recording.q, rate))
    return replace(plan, cutoff_hz=float(np.clip(plan.cutoff_hz * band / plan.band_hz, lowest, highest)))


def refuse_twins(campaign: Campaign) -> None:
    """Raise an error for duplicate or overlapping logs: they would count twice, or validate on training data."""
    for k, log in enumerate((*campaign.train, *campaign.validate)):
        if any(_overlap(log, fitted) for fitted in campaign.train[:k]):
            is_fitted = k < len(campaign.train)
            what = "is named twice" if is_fitted else "was used for fitting and cannot validate the fit"
            raise RecordingError(
                f"this log {what}; name it once, or use parts of it that do not overlap", file=log.file or log.name
            )


def _overlap(a: Log, b: Log) -> bool:
    """Whether two logs share a part of one file, recording or motion."""
    if not _same_source(a, b):
        return False
    begin = max(-math.inf if log.start is None else log.start for log in (a, b))
    end = min(math.inf if log.stop is None else log.stop for log in (a, b))
    return begin < end


def _same_source(a: Log, b: Log) -> bool:
    if a.file is not None or b.file is not None:
        return a.file is not None and b.file is not None and os.path.realpath(a.file) == os.path.realpath(b.file)
    if a.source is b.source:
        return True
    x, y = (log.source if isinstance(log.source, Recording) else next(blocks_of(log.source)) for log in (a, b))  # type: ignore[arg-type]
    if x.tau is None or y.tau is None or np.shape(x.tau) != np.shape(y.tau):
        return False
    return bool(np.array_equal(x.q, y.q) and np.array_equal(x.tau, y.tau))


def refuse_copies(read: Sequence[RecordedLog], count: int) -> None:
    """Raise an error for a file with the same samples as another file that is fitted: one of the first `count`."""
    for k, one in enumerate(read):
        for other in read[: min(k, count)]:
            a, b = _samples(one.beginning), _samples(other.beginning)
            if len(a) == len(b) and all(np.array_equal(x, y) for x, y in zip(a, b, strict=True)):
                what = "fit a log once" if k < count else "it was used for fitting and cannot validate the fit"
                raise RecordingError(
                    f"this log contains the same samples as {other.log.name}; {what}", file=one.log.file or one.log.name
                )


def _samples(recording: Recording) -> list[Array]:
    """Positions, and efforts or commands, of a log."""
    logged = recording.every_effort() if recording.tau is not None or recording.sensed is not None else None
    return [own for own in (recording.q, logged, recording.channels.get("command")) if own is not None]


def _refuse_standstill(log: Log, recording: Recording) -> None:
    """Raise an error for a training log without motion, which does not excite inertia or friction."""
    travel = np.ptp(recording.q, axis=0)
    if not np.any(travel > STANDSTILL):
        raise RecordingError(
            f"no joint moves in this log (by {float(travel.max()):.2g} rad or m at most); use a log with motion",
            file=log.file or log.name,
        )
