"""One pass over a log, in blocks: filtering, rows of the superset, and triangular factors of time blocks.

Everything that determines the rounding errors is fixed here: blocks of constant length from the start
of a run, one thread, one kernel path.  Memory does not grow with the log.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from minertia.fleet.columns import ColumnSet
from minertia.fleet.evidence import FleetEvidence
from minertia.identification.logs.recording import EVEN, Recording, check_finite, joined
from minertia.identification.logs.repair import LONGEST_GAP, Grid, even_blocks, in_bursts
from minertia.identification.logs.stamps import bursts_of, usual_step
from minertia.identification.problem.rows import STILL
from minertia.identification.problem.triangles import folded, upright
from minertia.identification.signals.filtering import Motion, prepared_blocks
from minertia.identification.signals.options import Filter
from minertia.io.arrays import Array
from minertia.io.errors import RecordingError
from minertia.io.resources import one_thread

BLOCK = 65_536  # samples that are filtered at a time, from the start of a run
STANDS = 1e-3  # rad/s or m/s below which the sign of a velocity is that of its noise
FEWEST = 64  # samples of a run between gaps that is used
SHORTEST = 2.0  # s of a stretch
FINE = 256  # stretches at most while the log is read, and
STRETCHES = 64  # in the end
COARSE = 16  # stretches whose triangles can be kept
FADED = 0.1  # autocorrelation below which residuals count as independent
REMEMBERED = 4096  # rows at the start of which the autocorrelation time is found
POSITION_BINS, TEMPERATURE_BINS = 33, 16  # odd: with an edge at zero speed a standing robot looks like another program
TEMPERATURES = (0.0, 80.0)  # degC
USUAL_TRAVEL, USUAL_SPEED = np.pi, 4.0  # rad or m, and per s, either way: of joints without limits


@dataclass(frozen=True)
class CoarseTriangles:
    """Triangular factors of a few time blocks, (blocks, k_i, k_i) for each effort."""

    triangles: tuple[Array, ...]
    counts: Array


@dataclass
class Histograms:
    """Histograms of position, speed and temperature of each coordinate: counts (n, bins), over the type's ranges."""

    lower: Array
    upper: Array
    fastest: Array
    positions: NDArray[np.int64] = field(init=False)
    speeds: NDArray[np.int64] = field(init=False)
    temperatures: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.lower)
        self.positions, self.speeds = (np.zeros((n, POSITION_BINS), np.int64) for _ in range(2))
        self.temperatures = np.zeros((n, TEMPERATURE_BINS), np.int64)

    @classmethod
    def of(cls, columns: ColumnSet) -> Histograms:
        """Empty histograms over the joint limits."""
        limits = [columns.robot.joints[j].limits for j in columns.robot.independent]
        lower = [-USUAL_TRAVEL if own is None or own.lower is None else own.lower for own in limits]
        upper = [USUAL_TRAVEL if own is None or own.upper is None else own.upper for own in limits]
        fastest = [USUAL_SPEED if own is None or own.velocity is None else own.velocity for own in limits]
        return cls(np.array(lower, float), np.array(upper, float), np.array(fastest, float))

    def add(self, q: Array, qd: Array, warmth: Array | None) -> None:
        """Count samples (N, n); those outside a range fall into its last bin."""
        _count(self.positions, q, self.lower, self.upper)
        _count(self.speeds, qd, -self.fastest, self.fastest)
        if warmth is not None:
            low, high = (np.full(len(self.lower), t) for t in TEMPERATURES)
            _count(self.temperatures, warmth, low, high)


def _count(into: NDArray[np.int64], values: Array, low: Array, high: Array) -> None:
    bins = into.shape[1]
    place = np.floor((values - low) * (bins / np.maximum(high - low, 1e-12)))
    place = np.clip(place, 0, bins - 1).astype(np.int64)
    for j in range(into.shape[0]):
        into[j] += np.bincount(place[:, j], minlength=bins)


@dataclass
class LogRemarks:
    """Information of a log besides its motion: temperatures, programs, loads, and repairs."""

    warm_sum: Array
    warm_samples: int = 0
    programs: dict[int, int] = field(default_factory=dict)
    load: list[float] = field(default_factory=lambda: [0.0, np.inf, -np.inf])  # sum, lowest, highest [kg]
    load_samples: int = 0
    gaps: int = 0
    repeated: int = 0
    resampled: bool = False

    def hear(self, block: Recording) -> None:
        """Add the program numbers and payloads [kg] that a block has for each sample."""
        if "program" in block.marks:
            numbers, counts = np.unique(np.nan_to_num(block.marks["program"]).astype(np.int64), return_counts=True)
            for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
                self.programs[number] = self.programs.get(number, 0) + count
        load = block.marks.get("load", np.zeros(0))
        load = load[np.isfinite(load)]
        if len(load):
            total, low, high = self.load
            self.load = [total + float(load.sum()), min(low, float(load.min())), max(high, float(load.max()))]
            self.load_samples += len(load)

    def warm(self, temperature: Array | None) -> None:
        """Add temperatures of retained samples (N, n)."""
        if temperature is not None:
            self.warm_sum = self.warm_sum + temperature.sum(axis=0)
            self.warm_samples += len(temperature)


@dataclass(frozen=True)
class Gathered:
    """Result of one pass over a log.

    span: first and last time stamp [s].  samples: number of logged samples.  reach (3, n): lowest and highest
    position and highest speed.  largest: largest entry of every column, effort by effort.
    """

    evidence: FleetEvidence
    span: tuple[float, float]
    samples: int
    histograms: Histograms
    reach: Array
    largest: Array
    told: LogRemarks
    coarse: CoarseTriangles | None = None


class UnevenStamps(Exception):
    """Time stamps are not equidistant, contrary to the first block: the log must be resampled from its start."""


def gathered(blocks: Callable[[], Iterable[Recording]], columns: ColumnSet, plan: Filter, *, coarse: bool) -> Gathered:
    """Compute the evidence of a log.

    blocks: opens the log; it is read once, and again if its stamps turn out not to be equidistant.  coarse: also store
    triangular factors of a few time blocks.
    """
    with one_thread():
        try:
            return _LogPass(columns, plan, resample=False).over(blocks(), coarse)
        except UnevenStamps:
            return _LogPass(columns, plan, resample=True).over(blocks(), coarse)


class _LogPass:
    """State of one pass over a log."""

    def __init__(self, columns: ColumnSet, plan: Filter, *, resample: bool) -> None:
        self.columns, self.plan = columns, plan
        n = columns.robot.n
        self.told = LogRemarks(np.zeros(n), resampled=resample)
        self.histograms = Histograms.of(columns)
        self.reach = np.array([np.inf, -np.inf, 0.0])[:, None] * np.ones(n)
        self.samples, self.first, self.last = 0, np.nan, np.nan
        self.stretches: _StretchTriangles | None = None

    def over(self, blocks: Iterable[Recording], coarse: bool) -> Gathered:
        for _, pieces in itertools.groupby(self._runs(blocks), key=lambda pair: pair[0]):
            for motion in self._motions(block for _, block in pieces):
                self._add(motion)
        if self.stretches is None:
            raise RecordingError(
                f"no sample remains after the filter: of {self.last - self.first:.3g} s it drops "
                f"{self.plan.trim_s or 0:.3g} s at each end and at each gap; use longer logs"
            )
        evidence, few = self.stretches.finished(coarse)
        span, largest = (float(self.first), float(self.last)), np.concatenate(self.stretches.largest)
        return Gathered(evidence, span, self.samples, self.histograms, self.reach, largest, self.told, few)

    def _runs(self, blocks: Iterable[Recording]) -> Iterator[tuple[int, Recording]]:
        """Blocks split at gaps, with the number of the run each belongs to; non-increasing stamps are dropped."""
        run, highest, step = 0, -np.inf, 0.0
        for block in blocks:
            self.told.hear(block)
            check_finite(block)
            _refuse_odd_channels(block)
            bursts = bursts_of(block.t)
            if bursts is not None:
                raise in_bursts(block, bursts)
            before = np.maximum.accumulate(np.concatenate([[highest], block.t]))
            self._refuse_two_logs(block, before, step or usual_step(block.t))
            later = block.t > before[:-1]
            self.told.repeated += int(len(later) - np.count_nonzero(later))
            block = block if later.all() else block.select(later)
            if not len(block):
                continue
            step = step or usual_step(block.t)
            steps = np.diff(block.t, prepend=block.t[0] if not np.isfinite(highest) else highest)
            highest = float(block.t[-1])
            self._note(block)
            cuts = [0, *np.flatnonzero(steps > max(LONGEST_GAP, 20 * step)).tolist(), len(block)]
            for k, (a, b) in enumerate(itertools.pairwise(cuts)):
                run += int(k > 0)
                if b > a:
                    yield run, block if b - a == len(block) else block.select(slice(a, b))
            self.told.gaps = run

    def _note(self, block: Recording) -> None:
        if not self.samples:
            self.first = float(block.t[0])
        self.samples, self.last = self.samples + len(block), float(block.t[-1])

    def _refuse_two_logs(self, block: Recording, before: Array, step: float) -> None:
        back = before[:-1] - block.t
        worst = int(np.argmax(back))
        if np.isfinite(back[worst]) and back[worst] > max(10 * step, LONGEST_GAP):
            raise RecordingError(
                f"time goes back by {back[worst]:.4g} s; check whether the file contains two logs",
                file=block.source or None,
                column=block.column("t"),
                row=block.first_row + worst,
            )

    def _motions(self, run: Iterable[Recording]) -> Iterator[Motion]:
        """Filtered motion of a run, in sections; empty for a run that is too short."""
        blocks = _in_blocks(run)
        first = next(blocks, None)
        if first is None or len(first) < FEWEST:
            return
        again: Iterator[Recording] = itertools.chain([first], blocks)
        if self.told.resampled:
            grid = Grid(float(first.t[0]), usual_step(first.t), sys.maxsize, "")
            again = _in_blocks(even_blocks(again, grid))
        yield from prepared_blocks(map(_even, again), self.plan, standing=min(self.columns.rest, STANDS))

    def _add(self, motion: Motion) -> None:
        """Add the rows of a section to the triangular factors."""
        q, qd, qdd = motion.q, motion.qd, motion.qdd
        direction = np.sign(qd) if motion.direction is None else motion.direction
        still = np.ptp(q, axis=0) < STILL
        if still.any():  # what a still joint seems to move is noise
            known = ((q.mean(axis=0), q), (0.0, qd), (0.0, qdd), (0.0, direction))
            q, qd, qdd, direction = (np.where(still, value, x) for value, x in known)
        warmth = motion.channels.get("temperature")
        self.histograms.add(q, qd, warmth)
        self.told.warm(warmth)
        own = np.stack([q.min(axis=0), q.max(axis=0), np.abs(qd).max(axis=0)])
        self.reach = np.stack([np.minimum(self.reach[0], own[0]), *np.maximum(self.reach[1:], own[1:])])
        rows, moves = self.columns.rows((q, qd, qdd), motion.tau, warmth, direction)
        if self.stretches is None:
            self.stretches = _StretchTriangles(self.columns, float(self.first))
        self.stretches.add(motion.t, rows, moves)


def _in_blocks(blocks: Iterable[Recording]) -> Iterator[Recording]:
    """Regroup samples into blocks of constant length; the last one may be shorter."""
    held: list[Recording] = []
    count = 0
    for block in blocks:
        while count + len(block) >= BLOCK:
            missing = BLOCK - count
            yield joined([*held, block if missing == len(block) else block.select(slice(0, missing))])
            held, count, block = [], 0, block.select(slice(missing, None))
        if len(block):
            held.append(block)
            count += len(block)
    if count:
        yield joined(held)


def _refuse_odd_channels(block: Recording) -> None:
    """Raise an error for NaN in the channels beside the motion: the filter would spread it over all columns."""
    for name, values in block.channels.items():
        if not np.isfinite(values).all():
            row, j = (int(k) for k in np.argwhere(~np.isfinite(values))[0])
            raise RecordingError(
                f'the {name} is not a number; correct the log, or exclude the column with {name} = "" in [columns]',
                file=block.source or None,
                column=block.column(f"{name}{j + 1}"),
                row=block.first_row + row,
            )


def _even(block: Recording) -> Recording:
    """Return the block if its time stamps are equidistant; raise UnevenStamps otherwise."""
    if len(block) > 2:
        steps = np.diff(block.t)
        step = float(block.t[-1] - block.t[0]) / (len(block) - 1)
        if np.any(np.abs(steps - step) > EVEN * step):
            raise UnevenStamps
    return block


class _StretchTriangles:
    """Triangular factors of at most `FINE` time blocks of equal length; neighbours are merged for longer logs."""

    def __init__(self, columns: ColumnSet, start: float) -> None:
        self.layout, self.start, self.length = columns.layout, start, SHORTEST
        self.done: dict[int, list[Array]] = {}
        self.counts: dict[int, Array] = {}
        self.largest = [np.zeros(k) for k in self.layout.sizes]
        self.beginning: list[list[Array]] = [[] for _ in self.layout.sizes]
        self._remembered = 0

    def add(self, t: Array, rows: list[Array], moves: NDArray[np.bool_]) -> None:
        """Add rows at ascending times; moves (N, efforts): mask of the nonzero ones."""
        self._remember(rows)
        for i, own in enumerate(rows):
            self.largest[i] = np.maximum(self.largest[i], np.maximum(own.max(axis=0), -own.min(axis=0)))
        while float(t[-1]) - self.start >= FINE * self.length:
            self._halve()
        place = ((t - self.start) / self.length).astype(np.int64)
        cuts = [0, *(np.flatnonzero(np.diff(place)) + 1).tolist(), len(t)]
        for a, b in itertools.pairwise(cuts):
            self._fold(int(place[a]), [own[a:b] for own in rows], moves[a:b].sum(axis=0).astype(float))

    def _fold(self, place: int, rows: list[Array], moved: Array) -> None:
        before = self.done.get(place)
        if before is None:
            self.done[place], self.counts[place] = [upright(own) for own in rows], moved
            return
        self.done[place] = [folded(R, own) for R, own in zip(before, rows, strict=True)]
        self.counts[place] = self.counts[place] + moved

    def _halve(self) -> None:
        self.length *= 2
        self.done, self.counts = self._grouped(lambda place: place // 2)

    def _grouped(self, group: Callable[[int], int]) -> tuple[dict[int, list[Array]], dict[int, Array]]:
        """Merge triangular factors of neighbours, in the order of time."""
        done: dict[int, list[Array]] = {}
        counts: dict[int, Array] = {}
        for number, places in itertools.groupby(sorted(self.done), key=group):
            found = list(places)
            parts = [self.done[place] for place in found]
            done[number] = [reduce(folded, own) for own in zip(*parts, strict=True)]
            counts[number] = np.sum([self.counts[place] for place in found], axis=0)
        return done, counts

    def finished(self, coarse: bool) -> tuple[FleetEvidence, CoarseTriangles | None]:
        """Evidence with its time blocks, and the triangular factors of a few if requested."""
        fine = max(self.done) + 1
        if fine > STRETCHES:
            self.done, self.counts = self._grouped(lambda place: place * STRETCHES // fine)
        parts = [self.done[place] for place in sorted(self.done)]
        total = tuple(reduce(folded, own) for own in zip(*parts, strict=True))
        counts = np.array([self.counts[place] for place in sorted(self.done)])
        evidence = FleetEvidence(self.layout, total, counts.sum(axis=0))
        beta = evidence.superset_fit()
        scores, diagonals = zip(*(self._scores(i, [p[i] for p in parts], beta) for i in range(len(total))), strict=True)
        evidence = evidence.with_stretches(
            scores, diagonals, counts.max(axis=1), np.array([self._memory(i, beta) for i in range(len(total))]), beta
        )
        if not coarse:
            return evidence, None
        few = self._coarse()
        return evidence.with_stretch_triangles(few.triangles), few

    def _scores(self, effort: int, parts: list[Array], beta: Array) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """W'(y - W beta) and diag(W'W) of each time block, from its triangular factor."""
        own = beta[list(self.layout.seen[effort])]
        W, y = (np.stack([R[:, :-1] for R in parts]), np.stack([R[:, -1] for R in parts]))
        rest = y - W @ own
        return np.einsum("bkj,bk->bj", W, rest).astype(np.float32), np.sum(W * W, axis=1).astype(np.float32)

    def _coarse(self) -> CoarseTriangles:
        most = max(self.done) + 1
        done, counts = self._grouped(lambda place: place * COARSE // most)
        stacked = [np.stack([own[i] for own in done.values()]) for i in range(len(self.layout.sizes))]
        return CoarseTriangles(tuple(stacked), np.array([c.max() for c in counts.values()]))

    def _remember(self, rows: list[Array]) -> None:
        left = REMEMBERED - self._remembered
        if left > 0:
            for held, own in zip(self.beginning, rows, strict=True):
                held.append(own[:left])
            self._remembered += min(left, len(rows[0]))

    def _memory(self, effort: int, beta: Array) -> float:
        """Autocorrelation time of an effort's residuals at the start of the log [samples]."""
        rows = np.concatenate(self.beginning[effort])
        rest = rows[:, -1] - rows[:, :-1] @ beta[list(self.layout.seen[effort])]
        rest = rest - rest.mean()
        power = np.abs(np.fft.rfft(rest, 2 * len(rest))) ** 2
        correlation = np.fft.irfft(power)[: len(rest)]
        if correlation[0] <= 0:
            return 1.0
        return float(max(int(np.argmax(correlation < FADED * correlation[0])), 1))
