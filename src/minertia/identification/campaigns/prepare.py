"""From a campaign to logs that can be fitted and judged: read, audited, repaired, filtered."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from minertia.identification.audits.audit import audit
from minertia.identification.audits.findings import Finding
from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.campaigns.cutoff import fitted_cutoff
from minertia.identification.campaigns.judged import JudgedMotion
from minertia.identification.campaigns.law_audit import law_findings
from minertia.identification.campaigns.long_logs import JudgedBlocks, LongLog, MotionBlocks, long_log
from minertia.identification.campaigns.settle import settled
from minertia.identification.evidence.overlap import Prints, row_prints
from minertia.identification.loads.carried import carried
from minertia.identification.logs.recording import SI, Recording
from minertia.identification.problem.linear import chosen_rows
from minertia.identification.problem.rows import LogMotion, blocks_of
from minertia.identification.signals.filtering import prepared_with_edges, resolved
from minertia.io.errors import FilterError, RecordingError
from minertia.io.notebook import clipped, plural

Array = NDArray[np.float64]
Tell = Callable[[str], None]  # told what is being done
STANDSTILL = 1e-3  # rad or m; what flickers less stands still
USELESS = ("length", "constant")  # checks of an audit without whose passing nothing can be fitted


def silent(step: str) -> None:
    """Nobody asked."""


@dataclass(frozen=True)
class PreparedLog:
    """One log of a campaign, read: what its audit said, the motion that is fitted, and the log as it is judged.

    Of a log that is read in blocks, the recording is the beginning.  A log that was given as a motion has no recording
    and is judged as it is fitted.  prints: of its rows as they were logged, by which shared ones are found.
    """

    log: Log
    motion: LogMotion
    recording: Recording | None = None
    findings: tuple[Finding, ...] = ()
    judged: JudgedMotion | JudgedBlocks | None = None
    prints: Prints | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"<PreparedLog '{clipped(self.name, 50)}': {plural(len(self.findings), 'finding')}; {self.motion!r}>"

    @property
    def name(self) -> str:
        """Name of the log."""
        return self.log.name


@dataclass(frozen=True)
class PreparedCampaign:
    """A campaign with its logs read and its filters settled."""

    campaign: Campaign
    train: tuple[PreparedLog, ...]
    validate: tuple[PreparedLog, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<PreparedCampaign: {len(self.train)} logs to fit and {len(self.validate)} to predict, read and filtered>"
        )


def prepare_campaign(campaign: Campaign, tell: Tell = silent) -> PreparedCampaign:
    """Read, audit, repair and filter all logs; a log that cannot be used is refused with column and row."""
    refuse_twins(campaign)
    logs = (*campaign.train, *campaign.validate)
    read = {k: _Read.of(campaign, log, tell) for k, log in enumerate(logs) if _is_recorded(log)}
    count = len(campaign.train)
    for k, one in read.items():
        if k < count:
            _refuse_standstill(one.log, one.recording)
    _refuse_copies(list(read.values()), count)
    campaign = _settled(campaign, read, tell)
    prepared_logs = []
    for k, log in enumerate(logs):
        if k not in read:
            prepared_logs.append(_as_given(log))
            continue
        tell(f"filtering {log.name}")
        try:
            prepared_logs.append(_prepared(campaign, read[k]))
        except FilterError as err:
            raise RecordingError(str(err), file=log.name) from None
    return PreparedCampaign(campaign, tuple(prepared_logs[:count]), tuple(prepared_logs[count:]))


def _as_given(log: Log) -> PreparedLog:
    """A log that was given as a motion."""
    first = next(blocks_of(log.source), None)  # type: ignore[arg-type]
    prints = None if first is None else row_prints(np.asarray(first.q, float), np.asarray(first.tau, float))
    return PreparedLog(log, log.source, prints=prints)  # type: ignore[arg-type]


def _is_recorded(log: Log) -> bool:
    """Whether a log has to be filtered; a motion was already."""
    return log.file is not None or isinstance(log.source, Recording)


def _settled(campaign: Campaign, read: dict[int, _Read], tell: Tell) -> Campaign:
    """The campaign with the filter and the evaluation that its logs ask for."""
    if not read:
        return campaign
    count = len(campaign.train)
    fitted = [one for k, one in read.items() if k < count]
    is_open = campaign.filter.cutoff_hz is None
    first = [one.recording for one in (fitted or list(read.values())[:1])]
    campaign = settled(campaign, first)
    if is_open and fitted:
        tell("choosing the cut-off")
        shortest = min(one.recording.duration for one in read.values())
        cutoff = fitted_cutoff(campaign, [(one.recording, one.log.load) for one in fitted], shortest)
        campaign = replace(campaign, filter=replace(campaign.filter, cutoff_hz=cutoff))
    return campaign


def refuse_unknown_gains(campaign: Campaign, logs: Sequence[PreparedLog]) -> None:
    """Currents of several joints do not add up to anything unless their gains are known."""
    rows = chosen_rows(campaign.robot, campaign.joints or None)
    for log in logs:
        recording = log.recording
        if recording is not None and recording.effort_unit != SI and len(rows) > 1:
            raise RecordingError(
                f"the efforts of {len(rows)} joints are in {recording.effort_unit} and their gains are not known; give "
                "[drive] gains, find them from a known load (minertia payload --mass), or identify one joint at a time",
                file=recording.source or log.name,
                column=recording.column(f"tau{rows[0] + 1}"),
            )


@dataclass(frozen=True)
class _Read:
    """A log as it was read; long: its blocks, where it is not held in memory."""

    log: Log
    recording: Recording
    findings: tuple[Finding, ...]
    long: LongLog | None
    prints: Prints

    @classmethod
    def of(cls, campaign: Campaign, log: Log, tell: Tell) -> _Read:
        tell(f"reading {log.name}")
        long = long_log(campaign, log)
        logged = campaign.as_logged(log) if long is None else long.as_logged()
        logged.efforts()
        findings = audit(logged, campaign.robot)
        names = campaign.joints or campaign.robot.coordinate_names
        used = {logged.column(f"tau{j + 1}") for j, name in enumerate(campaign.robot.coordinate_names) if name in names}
        for finding in findings:
            if finding.level == "error" and finding.check in USELESS and (finding.channel or "") in {"", *used}:
                raise RecordingError(
                    finding.text, file=log.file or log.name, column=finding.channel or None, row=finding.row
                )
        recording = campaign.repaired(logged) if long is None else long.beginning()
        findings = (*findings, *law_findings(recording, campaign.command))
        return cls(log, recording, findings, long, row_prints(logged.q, logged.efforts()))


def _prepared(campaign: Campaign, read: _Read) -> PreparedLog:
    evaluation, load = campaign.evaluation, carried(campaign.robot, read.log.load)
    assert evaluation is not None
    rows = chosen_rows(campaign.robot, campaign.joints or None)
    recording, long = read.recording, read.long
    if long is not None:
        plan = resolved(campaign.filter, recording)
        blocks = JudgedBlocks(long, plan, recording, evaluation, rows, load)
        return PreparedLog(read.log, MotionBlocks(long, plan, load), recording, read.findings, blocks, read.prints)
    motion, edged = prepared_with_edges(recording, resolved(campaign.filter, recording))
    whole = JudgedMotion(edged, recording, evaluation, rows, carried=load)
    fitted = motion if load is None else load.taken_off(motion)
    return PreparedLog(read.log, fitted, recording, read.findings, whole, read.prints)


def refuse_twins(campaign: Campaign) -> None:
    """Refuse a log that counts twice: it would weigh double, or be called unseen though it was fitted."""
    for k, log in enumerate((*campaign.train, *campaign.validate)):
        if any(_overlap(log, fitted) for fitted in campaign.train[:k]):
            is_fitted = k < len(campaign.train)
            what = "is named twice" if is_fitted else "was used to fit and cannot judge the fit"
            raise RecordingError(
                f"this log {what}; name it once, or parts of it that do not overlap", file=log.file or log.name
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


def _refuse_copies(read: Sequence[_Read], count: int) -> None:
    """Refuse a file with the samples of another one that is fitted: copied, it would count twice just the same."""
    for k, one in enumerate(read):
        for other in read[: min(k, count)]:
            a, b = one.recording, other.recording
            if len(a) == len(b) and np.array_equal(a.q, b.q) and np.array_equal(a.efforts(), b.efforts()):
                what = "fit a log once" if k < count else "it was used to fit, and cannot judge the fit"
                raise RecordingError(
                    f"this log holds the same samples as {other.log.name}; {what}", file=one.log.file or one.log.name
                )


def _refuse_standstill(log: Log, recording: Recording) -> None:
    """Refuse to fit a log in which no joint moves: it shows one posture and nothing of inertia or friction."""
    travel = np.ptp(recording.q, axis=0)
    if not np.any(travel > STANDSTILL):
        raise RecordingError(
            f"no joint moves by more than {float(travel.max()):.2g} rad (or m) in this log; a fit needs motion",
            file=log.file or log.name,
        )
