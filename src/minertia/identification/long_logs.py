"""Logs that are not held in memory: opened again at each pass, and filtered and judged block by block."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minertia.errors import RecordingError
from minertia.identification.campaigns.campaign import Campaign, LogEntry
from minertia.identification.carried import Carried
from minertia.identification.judging import Judged
from minertia.identification.logs.readers import iter_blocks
from minertia.identification.logs.recording import Recording, joined
from minertia.identification.logs.repair import (
    STILL_AT_LEAST,
    moves,
    proper_range,
    still_window,
    stretches,
    worth_cutting,
)
from minertia.identification.signals.evaluation import Evaluation, evaluation_times
from minertia.identification.signals.filtering import (
    EVEN,
    SETTLED,
    Filter,
    Motion,
    check_finite,
    half_length,
    thinning,
)
from minertia.identification.signals.streaming import prepared_blocks

Array = NDArray[np.float64]
LONG_BYTES = 100_000_000  # size of a file from which it is read in blocks
BLOCK = 200_000  # samples in one block; the first ones are audited, and tell what the filter leaves open
HELD = 1_000_000  # samples left after thinning that are kept in memory between passes


@dataclass(frozen=True)
class LongLog:
    """The samples from `first` to before `stop` of a log, in blocks; every pass reads the file again.

    span: first and last stamp [s].  notes: what was cut off.
    """

    campaign: Campaign
    entry: LogEntry
    first: int
    stop: int
    span: tuple[float, float]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.stop - self.first

    @property
    def rate_hz(self) -> float:
        """Samples per second."""
        return (len(self) - 1) / (self.span[1] - self.span[0])

    def __iter__(self) -> Iterator[Recording]:
        done = 0
        for block in _file_blocks(self.campaign, self.entry):
            rows = slice(max(self.first - done, 0), min(self.stop - done, len(block)))
            done += len(block)
            if rows.start < rows.stop:
                part = block if rows == slice(0, len(block)) else block.select(rows)
                check_finite(part)
                yield part
            if done >= self.stop:
                return

    def beginning(self) -> Recording:
        """The first samples, for what is judged from a part; the notes say so."""
        parts: list[Recording] = []
        for block in self:
            parts.append(block)
            if sum(map(len, parts)) >= BLOCK:
                break
        part = joined(parts).select(slice(0, BLOCK))
        return part.noted(
            *self.notes,
            f"read in blocks: of {len(self)} samples the first {len(part)} were audited, and chose what was left open",
        )


def long_log(campaign: Campaign, entry: LogEntry) -> LongLog | None:
    """The log in blocks; None where it is small, or where a repair or a delay needs all of it at once."""
    if campaign.columns.drive.delay or _size(entry.file) < LONG_BYTES:
        return None
    t, travel = _scanned(campaign, entry)
    first = 0 if entry.start is None else int(np.searchsorted(t, entry.start))
    stop = len(t) if entry.stop is None else int(np.searchsorted(t, entry.stop))
    if stop - first < 4 or not _is_even(t[first:stop]):
        return None
    log = LongLog(campaign, entry, first, stop, (float(t[first]), float(t[stop - 1])))
    return _moving(log, t[first:stop], travel) if campaign.repairs.standstill else log


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def _file_blocks(campaign: Campaign, entry: LogEntry) -> Iterator[Recording]:
    return iter_blocks(entry.file, campaign.robot, campaign.columns, rows=BLOCK)


def _scanned(campaign: Campaign, entry: LogEntry) -> tuple[Array, Array]:
    """All stamps of a log, and how far each joint travels between `from` and `to`."""
    stamps, low, high = [], np.array(np.inf), np.array(-np.inf)
    start = -np.inf if entry.start is None else entry.start
    stop = np.inf if entry.stop is None else entry.stop
    for block in _file_blocks(campaign, entry):
        block.efforts()
        stamps.append(block.t)
        inside = (block.t >= start) & (block.t < stop)
        q = block.q if inside.all() else block.q[inside]
        low = np.minimum(low, q.min(axis=0, initial=np.inf))
        high = np.maximum(high, q.max(axis=0, initial=-np.inf))
    return np.concatenate(stamps), np.asarray(high - low)


def _is_even(t: Array) -> bool:
    step = float(t[-1] - t[0]) / (len(t) - 1)
    parts = (np.diff(t[k : k + BLOCK + 1]) for k in range(0, len(t) - 1, BLOCK))
    return step > 0 and all(bool(np.all(np.abs(steps - step) <= EVEN * step)) for steps in parts)


def _moving(log: LongLog, t: Array, travel: Array) -> LongLog:
    """The log without standstill at its ends."""
    step = 1 / log.rate_hz
    window = still_window(step)
    tail: Array | None = None
    found: list[tuple[int, int]] = []
    done = 0
    for block in log:
        q = block.q if tail is None else np.concatenate([tail, block.q])
        if len(q) > window:
            for a, b in stretches(np.flatnonzero(moves(q, window, travel)) + done, window, step):
                if found and (a - (found[-1][1] - window)) * step <= STILL_AT_LEAST:  # goes on from the block before
                    a = found.pop()[0]
                found.append((a, b))
            done += len(q) - window
            q = q[-window:]
        tail = q
    first, last = worth_cutting(proper_range(found, len(t)), t)
    if (first, last) == (0, len(t) - 1):
        return log
    note = f"standstill cut off: {t[first] - t[0]:.3g} s at the start, {t[-1] - t[last]:.3g} s at the end"
    span = (float(t[first]), float(t[last]))
    return replace(log, first=log.first + first, stop=log.first + last + 1, span=span, notes=(*log.notes, note))


# ---------------------------------------------------------------------- filtered and judged


@dataclass(frozen=True)
class MotionBlocks:
    """The motion of a long log, in sections that can be read again; `filter` is resolved.

    Where thinning leaves few samples, the first pass keeps them and the log is not read again.
    """

    log: LongLog
    filter: Filter
    carried: Carried | None = None
    held: list[Motion] = field(default_factory=list, repr=False, compare=False)

    @property
    def kept(self) -> int:
        """Number of samples left after the filter."""
        rate = self.log.rate_hz
        ends = math.ceil((self.filter.trim_s or 0.0) * rate) + half_length(self.filter, rate)
        return len(range(ends, len(self.log) - ends, thinning(self.filter, rate)))

    def __iter__(self) -> Iterator[Motion]:
        if self.held:
            yield from self.held
            return
        sections = prepared_blocks(self.log, self.filter, rate_hz=self.log.rate_hz)
        if self.carried is not None:
            sections = map(self.carried.taken_off, sections)
        if self.filter.on != "signals" or self.kept > HELD:
            yield from sections
            return
        seen = []
        for section in sections:
            seen.append(section)
            yield section
        self.held[:] = seen


@dataclass(frozen=True)
class JudgedBlocks:
    """A long log as it is judged, in sections that overlap by what the evaluation filter needs."""

    log: LongLog
    filter: Filter
    beginning: Recording
    evaluation: Evaluation
    rows: tuple[int, ...]
    carried: Carried | None = None

    @property
    def unit(self) -> str:
        """Unit of the efforts that are compared."""
        source = self.beginning
        return source.log_unit if self.evaluation.log_unit else source.effort_unit

    def parts(self) -> Iterator[Judged]:
        """The parts to compare one after the other."""
        return iter(self)

    def __iter__(self) -> Iterator[Judged]:
        rate, first = self.log.rate_hz, self.log.span[0]
        step = thinning(self.filter, rate) if self.filter.on == "signals" else 1
        last = first + (len(self.log) - 1) // step * step / rate
        times = evaluation_times(np.array([first, last]), self.evaluation)
        halo = math.ceil(SETTLED * rate / step / self.evaluation.cutoff_hz)
        for motion, start, stop in _overlapping(prepared_blocks(self.log, self.filter, edges=True, rate_hz=rate), halo):
            own = times[(times >= start) & (times < stop)]
            if len(own):
                yield Judged(motion, self.beginning, self.evaluation, self.rows, own, self.carried)


def _overlapping(motions: Iterable[Motion], halo: int) -> Iterator[tuple[Motion, float, float]]:
    """Motions with `halo` samples more on either side, and the times between which each one counts [s]."""
    held: Motion | None = None
    start = -np.inf
    for motion in motions:
        held = motion if held is None else _joined(held, motion)
        if len(held) <= 2 * halo:
            continue
        stop = float(held.t[-1 - halo])
        yield held, start, stop
        held, start = _select(held, slice(len(held) - 1 - 2 * halo, None)), stop
    if held is None:
        raise RecordingError("there are no samples to judge")
    yield held, start, np.inf


def _joined(a: Motion, b: Motion) -> Motion:
    arrays = {name: np.concatenate([getattr(a, name), getattr(b, name)]) for name in ("t", "q", "qd", "qdd", "tau")}
    return replace(a, **arrays, keep=(0, len(a) + len(b), 1))  # type: ignore[arg-type]


def _select(motion: Motion, rows: slice) -> Motion:
    arrays = {name: getattr(motion, name)[rows] for name in ("t", "q", "qd", "qdd", "tau")}
    return replace(motion, **arrays, keep=(0, len(arrays["t"]), 1))  # type: ignore[arg-type]
