"""Logs that are not held in memory: opened again at each pass, and filtered and judged block by block."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.campaigns.judged import JudgedMotion
from minertia.identification.loads.carried import Carried
from minertia.identification.logs.even import EVEN, check_finite
from minertia.identification.logs.readers import iter_blocks, open_log
from minertia.identification.logs.recording import Recording, joined
from minertia.identification.logs.repair import (
    STILL_AT_LEAST,
    Grid,
    even_grid,
    in_bursts,
    moves,
    proper_range,
    still_window,
    stretches,
    without_repeats,
    worth_cutting,
)
from minertia.identification.logs.stamps import bursts_of
from minertia.identification.logs.streaming import even_blocks, later_blocks
from minertia.identification.signals.evaluation import evaluation_times
from minertia.identification.signals.filtering import SETTLED, Motion, half_length, prepared_blocks, thinning
from minertia.identification.signals.options import Evaluation, Filter
from minertia.io.errors import RecordingError
from minertia.io.notebook import plural
from minertia.io.resources import room, too_large

Array = NDArray[np.float64]
LONG_BYTES = 50_000_000  # of the numbers of a log, from which it is read in blocks
BLOCK = 200_000  # samples in one block; the first ones are audited, and tell what the filter leaves open
HELD = 1_000_000  # samples left after decimation that are kept in memory between passes


@dataclass(frozen=True)
class LongLog:
    """The samples from `first` to before `stop` of a log whose stamps are even, in blocks; every pass reads the file.

    span: first and last stamp [s].  part: of the file, by samples; grid: times that replace its own.  notes: what was
    done to it; torn: rows that were dropped.
    """

    campaign: Campaign
    log: Log
    first: int
    stop: int
    span: tuple[float, float]
    part: slice
    grid: Grid | None = None
    notes: tuple[str, ...] = ()
    torn: tuple[int, ...] = ()

    def __len__(self) -> int:
        return self.stop - self.first

    @property
    def rate_hz(self) -> float:
        """Samples per second."""
        return (len(self) - 1) / (self.span[1] - self.span[0])

    def __iter__(self) -> Iterator[Recording]:
        logged: Iterator[Recording] = self._logged()
        if self.campaign.repairs.stamps:
            logged = later_blocks(logged)
        even = logged if self.grid is None else even_blocks(logged, self.grid)
        return _between(even, slice(self.first, self.stop))

    def _logged(self) -> Iterator[Recording]:
        for block in _between(_file_blocks(self.campaign, self.log), self.part):
            check_finite(block)
            yield block

    def beginning(self) -> Recording:
        """The first samples, for what is judged from a part; the notes say so."""
        part = replace(_start(self), torn=self.torn)
        return part.noted(
            *self.notes,
            f"read in blocks: of {len(self)} samples the first {len(part)} were audited, and chose what was left open",
        )

    def as_logged(self) -> Recording:
        """The first samples as they were logged, for an audit."""
        return self.beginning() if self.grid is None else replace(_start(self._logged()), torn=self.torn)


def _between(blocks: Iterable[Recording], wanted: slice) -> Iterator[Recording]:
    """The samples of a range that the blocks hold."""
    done = 0
    for block in blocks:
        rows = slice(max(wanted.start - done, 0), min(wanted.stop - done, len(block)))
        done += len(block)
        if rows.start < rows.stop:
            yield block if rows == slice(0, len(block)) else block.select(rows)
        if done >= wanted.stop:
            return


def _start(blocks: Iterable[Recording]) -> Recording:
    parts: list[Recording] = []
    for block in blocks:
        parts.append(block)
        if sum(map(len, parts)) >= BLOCK:
            break
    return joined(parts).select(slice(0, BLOCK))


def long_log(campaign: Campaign, log: Log) -> LongLog | None:
    """The log in blocks; None where it is small, or where its stamps are to stay as they are and do not allow it."""
    if log.file is None or open_log(log.file, campaign.map).weight() < LONG_BYTES:
        return None
    stamps, travel = _scanned(campaign, log)
    first = 0 if log.start is None else int(np.searchsorted(stamps.t, log.start))
    stop = len(stamps) if log.stop is None else int(np.searchsorted(stamps.t, log.stop))
    if stop - first < 4:
        return None
    part, n_notes = slice(first, stop), len(stamps.notes)
    stamps = stamps.select(part)
    if not _is_even(stamps.t) and campaign.repairs.stamps:
        bursts = bursts_of(stamps.t)
        if bursts is not None:
            raise in_bursts(stamps, bursts)
        stamps = without_repeats(stamps)
    grid = None
    if not _is_even(stamps.t):
        if not campaign.repairs.resample or not _increases(stamps.t):
            return None
        grid = even_grid(stamps)
    t = stamps.t if grid is None else grid.times(0, grid.count)
    notes = (*stamps.notes[n_notes:], *(() if grid is None else (grid.note,)))
    long = LongLog(campaign, log, 0, len(t), (float(t[0]), float(t[-1])), part, grid, notes, stamps.torn)
    if not campaign.repairs.standstill:
        return long
    return _moving(long, t, travel if grid is None else _travel(long))


def _file_blocks(campaign: Campaign, log: Log) -> Iterator[Recording]:
    assert log.file is not None  # others are in memory
    return iter_blocks(log.file, campaign.robot, campaign.map, rows=BLOCK)


def _scanned(campaign: Campaign, log: Log) -> tuple[Recording, Array]:
    """All stamps of a log, in a recording of no joints, and how far each joint travels between `from` and `to`."""
    times, low, high = [], np.array(np.inf), np.array(-np.inf)
    start = -np.inf if log.start is None else log.start
    stop = np.inf if log.stop is None else log.stop
    head: Recording | None = None
    torn: list[int] = []
    left = room() // 2  # for the stamps, which are held
    for block in _file_blocks(campaign, log):
        block.efforts()
        left -= block.t.nbytes
        if left < 0:
            samples = room() // 2 // block.t.itemsize
            what = f"the log has more than {samples} samples, whose times alone take"
            raise RecordingError(too_large(what, room() // 2), file=log.file)
        head = head or block.select(slice(0, 1))
        times.append(block.t)
        torn += block.torn
        inside = (block.t >= start) & (block.t < stop)
        q = block.q if inside.all() else block.q[inside]
        low = np.minimum(low, q.min(axis=0, initial=np.inf))
        high = np.maximum(high, q.max(axis=0, initial=-np.inf))
    assert head is not None  # a log without rows is refused by its reader
    t = np.concatenate(times)
    t.flags.writeable = False  # so that it need not be copied
    none = np.zeros((len(t), 0))
    marked = {"channels": {}, "marks": {}, "torn": tuple(dict.fromkeys(torn))}
    bare = replace(head, t=t, q=none, qd=None, qdd=None, tau=None, joints=(), **marked)  # type: ignore[arg-type]
    return bare, np.asarray(high - low)


def _travel(log: LongLog) -> Array:
    """How far each joint travels."""
    ends = [(block.q.min(axis=0), block.q.max(axis=0)) for block in log]
    return np.asarray(np.max([high for _, high in ends], axis=0) - np.min([low for low, _ in ends], axis=0))


def _increases(t: Array) -> bool:
    return all(bool(np.all(np.diff(t[k : k + BLOCK + 1]) > 0)) for k in range(0, len(t) - 1, BLOCK))


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

    Where decimation leaves few samples, the first pass keeps them and the log is not read again.
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

    @property
    def states(self) -> int:
        """Number of samples of all sections."""
        return self.kept if self.filter.on == "signals" else len(self.log)

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

    def __repr__(self) -> str:
        return f"<JudgedBlocks: {plural(len(self.log), 'sample')} judged below {self.evaluation.cutoff_hz:.3g} Hz>"

    @property
    def unit(self) -> str:
        """Unit of the efforts that are compared."""
        source = self.beginning
        return source.log_unit if self.evaluation.log_unit else source.effort_unit

    @property
    def states(self) -> int:
        """Number of samples of all sections, but for their overlaps."""
        return -(-len(self.log) // self._step)

    @property
    def _step(self) -> int:
        return thinning(self.filter, self.log.rate_hz) if self.filter.on == "signals" else 1

    def parts(self) -> Iterator[JudgedMotion]:
        """The parts to compare one after the other."""
        return iter(self)

    def __iter__(self) -> Iterator[JudgedMotion]:
        rate, first, step = self.log.rate_hz, self.log.span[0], self._step
        last = first + (len(self.log) - 1) // step * step / rate
        times = evaluation_times(np.array([first, last]), self.evaluation)
        halo = math.ceil(SETTLED * rate / step / self.evaluation.cutoff_hz)
        for motion, start, stop in _overlapping(prepared_blocks(self.log, self.filter, edges=True, rate_hz=rate), halo):
            own = times[(times >= start) & (times < stop)]
            if len(own):
                yield JudgedMotion(motion, self.beginning, self.evaluation, self.rows, own, self.carried)


def _overlapping(motions: Iterable[Motion], halo: int) -> Iterator[tuple[Motion, float, float]]:
    """Motions with `halo` samples more on either side, and the times between which each one counts [s]."""
    held: Motion | None = None
    start = -np.inf
    for motion in motions:
        held = motion if held is None else held.followed_by(motion)
        if len(held) <= 2 * halo:
            continue
        stop = float(held.t[-1 - halo])
        yield held, start, stop
        held, start = held.select(slice(len(held) - 1 - 2 * halo, None)), stop
    if held is None:
        raise RecordingError("there are no samples to judge")
    yield held, start, np.inf
