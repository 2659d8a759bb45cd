"""From a campaign to an identification: read, filter, fit, judge."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.errors import CampaignError, FilterError, RecordingError
from minertia.identification.audits.audit import audit
from minertia.identification.audits.findings import Finding
from minertia.identification.campaigns.campaign import Campaign, LogEntry
from minertia.identification.campaigns.given import settled
from minertia.identification.campaigns.record import recorded_campaign
from minertia.identification.carried import carried
from minertia.identification.cutoff import fitted_cutoff
from minertia.identification.evidence import Residuals
from minertia.identification.extrapolation import Reach, fitted_reach, remarks
from minertia.identification.identify import Identification, identify
from minertia.identification.judging import Judged
from minertia.identification.logs.columns import ColumnMap
from minertia.identification.logs.recording import SI, Recording
from minertia.identification.long_logs import JudgedBlocks, LongLog, MotionBlocks, long_log
from minertia.identification.model import IdentifiedModel, correlated_covariance, is_model_file, read_model
from minertia.identification.problem.observation import Observation, observe
from minertia.identification.problem.prediction import pinned
from minertia.identification.signals.filtering import Motion, decimated, half_length, prepared
from minertia.robot.read import read_robot
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
Tell = Callable[[str], None]  # told what is being done
UNITS = ("degrees", "clock")  # checks of an audit without whose passing no fit is good
STANDSTILL = 1e-3  # rad or m; what flickers less stands still
USELESS = ("length", "constant")  # checks of an audit without whose passing nothing can be fitted


def _silent(step: str) -> None:
    """Nobody asked."""


class Parallel:
    """Both sides of the equation through the filter of their motion."""

    def halo(self, section: Motion) -> int:
        """Samples on either side that a result depends on."""
        return half_length(section.filter, section.rate_hz)

    def __call__(self, section: Motion, columns: Array) -> Array:
        """Filtered columns at the samples that are kept."""
        return decimated(section, columns)[0]


@dataclass(frozen=True)
class PreparedLog:
    """One log of a campaign, read: what its audit said, the motion that is fitted, and the log as it is judged.

    Of a log that is read in blocks, the recording is the beginning.
    """

    name: str
    recording: Recording
    findings: tuple[Finding, ...]
    motion: Motion | MotionBlocks
    judged: Judged | JudgedBlocks


@dataclass(frozen=True)
class PreparedCampaign:
    """A campaign with its logs read and its filters settled."""

    campaign: Campaign
    train: tuple[PreparedLog, ...]
    validate: tuple[PreparedLog, ...] = ()


def prepare_campaign(campaign: Campaign, tell: Tell = _silent) -> PreparedCampaign:
    """Read, audit, repair and filter all logs; a log that cannot be used is refused with column and row."""
    _refuse_twins(campaign)
    read = [(e, *_read(campaign, e, tell)) for e in (*campaign.train, *campaign.validate)]
    for entry, recording, *_ in read[: len(campaign.train)]:
        _refuse_standstill(entry, recording)
    is_open = campaign.filter.cutoff_hz is None
    first = [recording for _, recording, *_ in read[: len(campaign.train) or 1]]
    campaign = settled(campaign, first)
    if is_open and campaign.train:
        tell("choosing the cut-off")
        shortest = min(recording.duration for _, recording, *_ in read)
        cutoff = fitted_cutoff(campaign, first, Parallel(), shortest)
        campaign = replace(campaign, filter=replace(campaign.filter, cutoff_hz=cutoff))
    logs = []
    for entry, recording, findings, long in read:
        tell(f"filtering {entry.name}")
        try:
            logs.append(_prepared(campaign, entry, recording, findings, long))
        except FilterError as err:
            raise RecordingError(str(err), file=entry.name) from None
    count = len(campaign.train)
    return PreparedCampaign(campaign, tuple(logs[:count]), tuple(logs[count:]))


def identify_campaign(campaign: Campaign | PreparedCampaign, *, tell: Tell = _silent, **changes: Any) -> Identification:
    """Run a campaign; `changes` are options of `identify` that replace the campaign's."""
    ready = campaign if isinstance(campaign, PreparedCampaign) else prepare_campaign(campaign, tell)
    chosen = ready.campaign
    options: dict[str, Any] = {
        "effects": chosen.effects,
        "estimator": chosen.estimator,
        "options": chosen.options,
        "fix": chosen.fix,
        "joints": [j + 1 for j in chosen.joints] or None,
        "prior": _prior(chosen),
        "names": [log.name for log in ready.train],
        "validation_names": [log.name for log in ready.validate],
        "rows": Parallel(),
        "validation": [log.judged for log in ready.validate],
        "judged_motions": [log.judged for log in ready.train],
        "judge": lambda section, predicted: section.compared(predicted),
    }
    refuse_unknown_gains(ready.train)
    tell("fitting")
    result = identify(chosen.robot, [log.motion for log in ready.train], **(options | changes))
    return _with_remarks(_without_wrong_units(result, ready), ready)


def _without_wrong_units(result: Identification, ready: PreparedCampaign) -> Identification:
    """The result, not good where a log can hardly be in the units that it was read in."""
    logs = (*ready.train, *ready.validate)
    found = [(log.name, f) for log in logs for f in log.findings if f.level == "error" and f.check in UNITS]
    if not found:
        return result
    name, first = found[0]
    others = f" (and {len(found) - 1} more of this kind)" if len(found) > 1 else ""
    reason = f"{name}, {first.channel}: {first.text}{others}"
    return replace(result, verdict=replace(result.verdict, is_good=False, reasons=(reason, *result.verdict.reasons)))


def _with_remarks(result: Identification, ready: PreparedCampaign) -> Identification:
    """The result with what is odd about its validation logs in its reasons."""
    if result.observation is None or not result.validation:
        return result
    doubts = [_load_doubt(result, log) for log in ready.validate]
    covariance, reach = correlated_covariance(result), fitted_reach(result.observation)
    validation = tuple(
        replace(r, remarks=remarks(result.model, result.beta, covariance, reach, result.training.relative, parts))
        for r, parts in zip(result.validation, (list(log.judged.parts()) for log in ready.validate), strict=True)
    )
    told = [f"{r.log}: {remark}" for r in validation for remark in r.remarks]
    reasons = (*result.verdict.reasons, *told, *(doubt for doubt in doubts if doubt is not None))
    return replace(result, validation=validation, verdict=replace(result.verdict, reasons=reasons))


def _load_doubt(result: Identification, log: PreparedLog) -> str | None:
    """A sentence where a log is predicted better without the load that it is said to have."""
    if log.judged.carried is None:
        return None
    left = [0.0, 0.0]
    for part in log.judged.parts():
        predicted = result.predict(part)
        for k, judged in enumerate((part, replace(part, carried=None))):
            measured, own = judged.compared(predicted)
            left[k] += float(np.sum((measured - own) ** 2))
    if left[0] <= left[1]:
        return None
    return (
        f"{log.name} is predicted better without its load ({(left[1] / left[0]) ** 0.5:.2g} times the residual): is "
        "the load where the campaign says, and was the controller told of it?"
    )


def refuse_unknown_gains(logs: Sequence[PreparedLog]) -> None:
    """Currents of several joints do not add up to anything unless their gains are known."""
    for log in logs:
        unit, rows = log.recording.effort_unit, log.judged.rows
        if unit != SI and len(rows) > 1:
            raise RecordingError(
                f"the efforts of {len(rows)} joints are in {unit} and their gains are not known; give [drive] gains, "
                "find them from a known load (minertia payload --mass), or identify one joint at a time",
                file=log.recording.source or log.name,
                column=log.recording.column(f"tau{rows[0] + 1}"),
            )


def observe_campaign(campaign: PreparedCampaign, *, tell: Tell = _silent) -> tuple[Observation, Observation | None]:
    """The linear problem of a campaign with what is pinned taken out, and that of its validation logs."""
    result = identify_campaign(campaign, tell=tell, estimator="wls", options={})
    assert result.observation is not None
    known = {**result.model.choice.pinned, **campaign.campaign.fix}
    problem = pinned(result.observation, known)[0]
    if not campaign.validate:
        return problem, None
    motions, names = [log.motion for log in campaign.validate], [log.name for log in campaign.validate]
    return problem, pinned(observe(result.model, motions, names=names, rows=Parallel()), known)[0]


def validate_model(
    model: IdentifiedModel,
    logs: Sequence[str | Path],
    columns: ColumnMap | None = None,
    *,
    drop_torn: bool = False,
    tell: Tell = _silent,
) -> tuple[Residuals, ...]:
    """Residuals of a saved model on logs, read, filtered and judged as its campaign's; nothing is fitted."""
    ready = prepare_validation(model, logs, columns, drop_torn=drop_torn, tell=tell)
    tell("predicting")
    found = model.validate(
        [log.judged for log in ready],
        [log.name for log in ready],
        lambda section, predicted: section.compared(predicted),  # type: ignore[attr-defined]
    )
    found = tuple(replace(r, remarks=_fitted_before(model, r.log)) for r in found)
    if "reach" not in model.evidence:
        return found
    reach, training = Reach.from_dict(model.evidence["reach"]), float(model.evidence["training"]["relative"])
    return tuple(
        replace(
            r,
            remarks=(
                *r.remarks,
                *remarks(model.model, model.beta, model.covariance, reach, training, list(log.judged.parts())),
            ),
        )
        for r, log in zip(found, ready, strict=True)
    )


def _fitted_before(model: IdentifiedModel, log: str) -> tuple[str, ...]:
    """A remark where the model was fitted to a log of this name, or to a part of it."""
    fitted = {Path(str(r["log"]).partition(" [")[0]).name for r in model.evidence.get("recordings", ())}
    if Path(log).name not in fitted:
        return ()
    return ("a log of this name was fitted, at least in part: its residual says little about other motion",)


def prepare_validation(
    model: IdentifiedModel,
    logs: Sequence[str | Path],
    columns: ColumnMap | None = None,
    *,
    drop_torn: bool = False,
    tell: Tell = _silent,
) -> tuple[PreparedLog, ...]:
    """Logs read as the campaign of a model says; drop_torn: without torn rows, whatever it says of those."""
    campaign = recorded_campaign(model.robot, model.campaign)
    if columns is not None:
        campaign = replace(campaign, columns=columns)
    if drop_torn:
        campaign = replace(campaign, columns=replace(campaign.columns, drop_torn=True))
    first = 6 * model.robot.is_floating
    campaign = replace(campaign, joints=tuple(r - first for r in model.model.rows))
    return prepare_campaign(campaign.with_validation(logs), tell).validate


def _read(campaign: Campaign, entry: LogEntry, tell: Tell) -> tuple[Recording, tuple[Finding, ...], LongLog | None]:
    tell(f"reading {entry.name}")
    long = long_log(campaign, entry)
    raw = campaign.raw(entry) if long is None else long.as_logged()
    raw.efforts()
    findings = audit(raw, campaign.robot)
    used = {raw.column(f"tau{j + 1}") for j in campaign.joints or range(raw.n)}
    for finding in findings:
        if finding.level == "error" and finding.check in USELESS and (finding.channel or "") in {"", *used}:
            raise RecordingError(finding.text, file=entry.file, column=finding.channel or None, row=finding.row)
    return campaign.repaired(raw) if long is None else long.beginning(), findings, long


def _refuse_twins(campaign: Campaign) -> None:
    """Refuse a log that counts twice: it would weigh double, or be called unseen though it was fitted."""
    for k, entry in enumerate((*campaign.train, *campaign.validate)):
        if any(_overlap(entry, fitted) for fitted in campaign.train[:k]):
            is_fitted = k < len(campaign.train)
            what = "is named twice" if is_fitted else "was used to fit and cannot judge the fit"
            raise RecordingError(f"this log {what}; name it once, or parts of it that do not overlap", file=entry.file)


def _overlap(a: LogEntry, b: LogEntry) -> bool:
    """Whether two entries share a part of one file."""
    if os.path.realpath(a.file) != os.path.realpath(b.file):
        return False
    begin = max(-math.inf if e.start is None else e.start for e in (a, b))
    end = min(math.inf if e.stop is None else e.stop for e in (a, b))
    return begin < end


def _refuse_standstill(entry: LogEntry, recording: Recording) -> None:
    """Refuse to fit a log in which no joint moves: it shows one posture and nothing of inertia or friction."""
    travel = np.ptp(recording.q, axis=0)
    if not np.any(travel > STANDSTILL):
        raise RecordingError(
            f"no joint moves by more than {float(travel.max()):.2g} rad (or m) in this log; a fit needs motion",
            file=entry.file,
        )


def _prepared(
    campaign: Campaign, entry: LogEntry, recording: Recording, findings: tuple[Finding, ...], long: LongLog | None
) -> PreparedLog:
    evaluation, name, load = campaign.evaluation, entry.name, carried(campaign.robot, entry.load)
    assert evaluation is not None
    first = 6 * campaign.robot.is_floating
    rows = tuple(first + j for j in campaign.joints) or tuple(range(campaign.robot.n_velocity))
    if long is not None:
        plan = campaign.filter.resolved(recording)
        blocks = JudgedBlocks(long, plan, recording, evaluation, rows, load)
        return PreparedLog(name, recording, findings, MotionBlocks(long, plan, load), blocks)
    whole = Judged(prepared(recording, campaign.filter, edges=True), recording, evaluation, rows, carried=load)
    motion = prepared(recording, campaign.filter)
    return PreparedLog(name, recording, findings, motion if load is None else load.taken_off(motion), whole)


def _prior(campaign: Campaign) -> Mapping[str, float] | Robot | None:
    """What an estimator with a prior is drawn to."""
    if campaign.prior is None:
        return None
    if campaign.prior == "robot":
        return campaign.robot
    path = Path(campaign.prior)
    if is_model_file(path):
        return dict(read_model(path).standard)
    other = read_robot(path)
    if other.n_joints != campaign.robot.n_joints:
        raise CampaignError(
            f"the prior has {other.n_joints} joints where the robot has {campaign.robot.n_joints}", file=path
        )
    return other
