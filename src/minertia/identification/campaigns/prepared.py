"""Logs that are ready to be fitted: `PreparedLog`, and for logs of efforts `EffortLog`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from minertia.identification.audits.findings import Finding
from minertia.identification.campaigns.campaign import Log
from minertia.identification.campaigns.recorded import RecordedLog
from minertia.identification.evidence.overlap import Prints, row_prints
from minertia.identification.loads.body import Carried
from minertia.identification.logs.recording import Passes, Recording, with_last
from minertia.identification.problem.rows import LogMotion, blocks_of, judged_motion, states
from minertia.identification.signals.filtering import (
    SETTLED,
    Motion,
    dropped_ends,
    evaluated_at,
    evaluation_times,
    prepared_blocks,
    prepared_with_edges,
    thinning,
)
from minertia.identification.signals.options import Evaluation, Filter
from minertia.io.arrays import Array
from minertia.io.errors import RecordingError
from minertia.io.notebook import clipped, plural

HELD = 1_000_000  # samples left after decimation that are kept in memory between passes


@dataclass(frozen=True)
class PreparedLog:
    """One log of a problem, ready to be fitted; each kind of problem derives its own class.

    recording: the repaired recording, or the beginning of a log in blocks; None if the log was given as a motion.
    findings: of its audit.
    """

    name: str
    recording: Recording | None
    findings: tuple[Finding, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True)
class EffortLog(PreparedLog):
    """Log of efforts in blocks of motion, for fit and evaluation; iteration yields the blocks to fit.

    blocks: to fit, without the efforts of a known payload.  edged: the same samples with both ends and the
    payload. recorded: None for a log given as a motion, which is evaluated as it is fitted.  filter: resolved.
    evaluation: how efforts are compared.  rows: indices of the compared efforts.  carried: the payload, which is
    missing in predictions of the unloaded robot.
    """

    blocks: LogMotion = field(repr=False)
    prints: Prints | None = field(repr=False)
    recorded: RecordedLog | None = None
    edged: Iterable[Motion] = field(default=(), repr=False)
    filter: Filter | None = None
    evaluation: Evaluation | None = None
    rows: tuple[int, ...] = ()
    carried: Carried | None = None

    @classmethod
    def given(cls, log: Log) -> EffortLog:
        """Log that was given as a motion."""
        blocks: LogMotion = log.source  # type: ignore[assignment]
        first = next(blocks_of(blocks), None)
        return cls(log.name, None, blocks, None if first is None else row_prints(first.q, first.tau))

    @classmethod
    def of(
        cls, log: RecordedLog, plan: Filter, evaluation: Evaluation, rows: tuple[int, ...], load: Carried | None
    ) -> EffortLog:
        """Recorded log with a resolved filter applied."""
        blocks, edged = _filtered(log, plan, load)
        return cls(
            log.log.name, log.beginning, blocks, log.prints, log, edged, plan, evaluation, rows, load,
            findings=log.findings,
        )  # fmt: skip

    def __repr__(self) -> str:
        judged = "" if self.evaluation is None else f", evaluated below {self.evaluation.cutoff_hz:.3g} Hz"
        return (
            f"<EffortLog '{clipped(self.name, 50)}': {plural(self.kept or 0, 'sample')} to fit{judged}; "
            f"{plural(len(self.findings), 'finding')}>"
        )

    def __iter__(self) -> Iterator[Motion]:
        return blocks_of(self.blocks)

    @property
    def kept(self) -> int | None:
        """Number of samples that remain after the filter; None if it is known only after a pass over the log."""
        if self.recorded is None:
            return getattr(self.blocks, "kept", None)
        assert self.filter is not None
        return _kept(self.recorded, self.filter)

    @property
    def states(self) -> int | None:
        """Number of samples at which regressor columns are evaluated; None if known only after a pass."""
        if self.recorded is None or not isinstance(self.blocks, Passes):
            return states(self.blocks)
        assert self.filter is not None
        return self.kept if self.filter.on == "signals" else self.recorded.count

    def in_torques(self) -> EffortLog:
        """Log with effort equations, even if it is fitted with other equations such as power."""
        return replace(self, blocks=judged_motion(self.blocks))

    @property
    def judged(self) -> Iterable[Motion]:
        """Blocks to be evaluated, each with its evaluation times; for a given motion, the blocks to fit."""
        return Passes(lambda: iter(self)) if self.evaluation is None else Passes(self._judged)

    def _judged(self) -> Iterator[Motion]:
        """Blocks to be evaluated, overlapping by the settling time of the evaluation filter."""
        log, plan, evaluation = self.recorded, self.filter, self.evaluation
        assert log is not None and plan is not None and evaluation is not None
        step = thinning(plan, log.rate_hz) if plan.on == "signals" else 1
        rate = log.rate_hz / step
        ends = np.array([log.span[0], log.span[0] + (log.count - 1) // step / rate])
        times = evaluation_times(ends, evaluation)
        for motion, start, stop in _overlapping(self.edged, math.ceil(SETTLED * rate / evaluation.cutoff_hz)):
            own = times[(times >= start) & (times < stop)]
            if len(own):
                yield replace(motion, instants=own)

    def compared(self, block: Motion, predicted: Array) -> tuple[Array, Array]:
        """Measured and predicted efforts of a block after the evaluation filter, at its evaluation times."""
        assert self.evaluation is not None and block.instants is not None
        rows, full = list(self.rows), np.array(block.tau)
        full[:, rows] = predicted if self.carried is None else predicted + self.carried.efforts(block)[:, rows]
        measured, own = (
            evaluated_at(block.instants, block.t, self.in_unit(side)[:, rows], self.evaluation)
            for side in (block.tau, full)
        )
        return measured, own

    def in_unit(self, efforts: Array) -> Array:
        """Joint-side efforts (N, n) in the unit in which they are compared."""
        if self.evaluation is None or self.recording is None or not self.evaluation.log_unit:
            return efforts
        return self.recording.in_log_unit(efforts)

    @property
    def unit(self) -> str | None:
        """Unit in which efforts are compared; None for a log given as a motion."""
        if self.evaluation is None or self.recording is None:
            return None
        return self.recording.log_unit if self.evaluation.log_unit else self.recording.effort_unit


def _filtered(log: RecordedLog, plan: Filter, load: Carried | None) -> tuple[LogMotion, Iterable[Motion]]:
    """Blocks to fit and blocks to evaluate; a log in memory is filtered once, others anew at each pass.

    If decimation leaves few samples, the first pass keeps them and the log is not read again.
    """
    if isinstance(log.blocks, list):
        (recording,) = log.blocks
        motion, edged = prepared_with_edges(recording, plan)
        return [motion if load is None else load.taken_off(motion)], [edged]

    def fitted() -> Iterator[Motion]:
        blocks = prepared_blocks(log.blocks, plan, rate_hz=log.rate_hz)
        return blocks if load is None else map(load.taken_off, blocks)

    few = plan.on == "signals" and _kept(log, plan) <= HELD
    edges = Passes(lambda: prepared_blocks(log.blocks, plan, edges=True, rate_hz=log.rate_hz))
    return Passes(fitted, keep=few), edges


def _kept(log: RecordedLog, plan: Filter) -> int:
    """Number of samples that remain after a filter."""
    ends = sum(dropped_ends(plan, log.rate_hz))
    return len(range(ends, log.count - ends, thinning(plan, log.rate_hz)))


def _overlapping(motions: Iterable[Motion], halo: int) -> Iterator[tuple[Motion, float, float]]:
    """Motions that overlap by `halo` samples on either side, and the valid time range of each [s]."""
    held: Motion | None = None
    start = -np.inf
    for motion, is_last in with_last(motions):
        held = motion if held is None else held.followed_by(motion)
        if not is_last and len(held) <= 2 * halo:
            continue
        stop = np.inf if is_last else float(held.t[-1 - halo])
        yield held, start, stop
        if is_last:
            return
        held, start = held.select(slice(len(held) - 1 - 2 * halo, None)), stop
    raise RecordingError("there are no samples to evaluate")
