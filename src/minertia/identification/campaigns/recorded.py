"""`RecordedLog`: log of a campaign after audit and repair, in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from minertia.identification.audits.audit import audit
from minertia.identification.audits.findings import Finding
from minertia.identification.audits.values import without_misread
from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.campaigns.law_audit import law_findings
from minertia.identification.evidence.overlap import Prints, row_prints
from minertia.identification.logs.readers import iter_blocks, open_log
from minertia.identification.logs.recording import Blocks, Passes, Recording, between, joined, mapped
from minertia.identification.logs.repair import Overview, overview, repaired_blocks
from minertia.io.errors import RecordingError
from minertia.io.notebook import clipped, plural

LONG_BYTES = 50_000_000  # of the numbers of a log, from which it is read in blocks
BLOCK = 200_000  # samples in one block; the first ones are audited, and tell what the filter leaves open
USELESS = ("length", "constant")  # checks of an audit without whose passing nothing can be fitted


@dataclass(frozen=True)
class RecordedLog:
    """One uniformly sampled log, in blocks that can be read repeatedly; a log in memory is one block.

    beginning: its first samples (all of a log in memory), with notes on the repairs of the log.  count: number of
    samples; span: first and last stamp [s].  findings: of its audit.  prints: fingerprints of the logged rows, by
    which rows shared with other logs are found; None without efforts.  given: of a log to be simulated, its samples
    before they were resampled; None where they were not.
    """

    log: Log
    blocks: Blocks = field(repr=False)
    beginning: Recording
    count: int
    span: tuple[float, float]
    findings: tuple[Finding, ...] = ()
    prints: Prints | None = field(default=None, repr=False)
    given: Recording | None = field(default=None, repr=False)

    @classmethod
    def of(cls, log: Log, recording: Recording) -> RecordedLog:
        """Log in memory, unchanged."""
        return cls(log, [recording], recording, len(recording), (float(recording.t[0]), float(recording.t[-1])))

    def __repr__(self) -> str:
        return f"<RecordedLog '{clipped(self.log.name, 50)}': {plural(self.count, 'sample')} at {self.rate_hz:.4g} Hz>"

    @property
    def rate_hz(self) -> float:
        """Sampling rate [Hz]."""
        return 1.0 / ((self.span[1] - self.span[0]) / (self.count - 1))


def recorded_log(campaign: Campaign, log: Log, *, simulated: bool = False) -> RecordedLog:
    """Read, audit and repair a log as its campaign specifies; simulated: for simulation under its commands.

    A log to be simulated needs no efforts, keeps its standstill, and is held in memory from first to last sample.
    """
    blocks, seen = _logged(campaign, log, simulated)
    logged = _beginning(blocks, seen.stamps.torn)
    findings = audit(logged, campaign.robot)
    if simulated and isinstance(blocks, list):
        logged = without_misread(logged)
        if len(logged) < len(blocks[0]):
            blocks = [logged]
            seen = overview(blocks)
    if not simulated:
        if not (campaign.sensors and campaign.rows != "all"):
            logged.efforts()
        _refuse_useless(campaign, log, logged, findings)
    r, raw, given = campaign.repairs, blocks, None
    blocks, told = repaired_blocks(
        raw, seen, stamps=r.stamps, resample=r.resample, standstill=r.standstill and not simulated
    )
    if simulated:
        kept, own = repaired_blocks(raw, seen, stamps=r.stamps, resample=False, standstill=False)
        given = None if np.array_equal(own.t, told.t) else _beginning(kept, ())
    part = replace(_beginning(blocks, told.torn), notes=told.notes)
    if isinstance(blocks, list):
        blocks = [part]
    else:
        part = part.noted(
            f"read in blocks: the first {len(part)} of {len(told)} samples were audited and used to choose "
            "options that were not given"
        )
    if not simulated:
        findings = (*findings, *law_findings(part, campaign.command))
    prints = None if logged.tau is None else row_prints(logged.q, logged.tau)
    return RecordedLog(log, blocks, part, len(told), (float(told.t[0]), float(told.t[-1])), findings, prints, given)


def _logged(campaign: Campaign, log: Log, simulated: bool) -> tuple[Blocks, Overview]:
    """Blocks of a log before repairs: one block if it is held in memory, else read from its file at each pass."""
    if simulated or campaign.sensors or log.file is None or open_log(log.file, campaign.map).weight() < LONG_BYTES:
        blocks = [campaign.as_logged(log, effort=not simulated)]
        return blocks, overview(blocks)
    passes = Passes(lambda: _file_blocks(campaign, log))
    seen = overview(passes, log.start, log.stop)
    rows = seen.stamps.rows_between(log.start, log.stop)
    return mapped(passes, lambda own: between(own, rows)), replace(seen, stamps=seen.stamps.select(rows))


def _file_blocks(campaign: Campaign, log: Log) -> Iterator[Recording]:
    assert log.file is not None  # others are in memory
    return iter_blocks(log.file, campaign.robot, campaign.map, rows=BLOCK)


def _beginning(blocks: Blocks, torn: tuple[int, ...]) -> Recording:
    """First samples of a log, or all of a log in memory; torn: malformed rows dropped from the whole log."""
    if isinstance(blocks, list):
        return blocks[0]
    parts: list[Recording] = []
    for block in blocks:
        parts.append(block)
        if sum(map(len, parts)) >= BLOCK:
            break
    return replace(joined(parts).select(slice(0, BLOCK)), torn=torn)


def _refuse_useless(campaign: Campaign, log: Log, logged: Recording, findings: tuple[Finding, ...]) -> None:
    """Raise an error for a log from which nothing can be fitted."""
    names = campaign.joints or campaign.robot.coordinate_names
    used = {logged.column(f"tau{j + 1}") for j, name in enumerate(campaign.robot.coordinate_names) if name in names}
    for finding in findings:
        if finding.level == "error" and finding.check in USELESS and (finding.channel or "") in {"", *used}:
            raise RecordingError(
                finding.text, file=log.file or log.name, column=finding.channel or None, row=finding.row
            )
