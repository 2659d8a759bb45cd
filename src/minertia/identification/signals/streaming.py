"""The filters on logs that do not fit in memory: blocks that overlap by what the filters need."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minertia.identification.logs.even import check_finite, even_rate
from minertia.identification.logs.recording import Recording, joined
from minertia.identification.signals.filtering import (
    SETTLED,
    Motion,
    channel_signals,
    half_length,
    low_pass,
    resolved,
    signals,
    thinning,
)
from minertia.identification.signals.options import Filter
from minertia.io.errors import FilterError

Array = NDArray[np.float64]


def prepared_blocks(
    blocks: Iterable[Recording],
    filter: Filter | None = None,
    *,
    edges: bool = False,
    rate_hz: float | None = None,
    standing: float | None = None,
) -> Iterator[Motion]:
    """Motions of consecutive parts of one log; their kept samples are those of the whole log, once each.

    What the filter leaves open is chosen from the first block; where the rate of the whole log is given, the filter is
    resolved already.  `edges` keeps the ends, and no samples around those that are kept.  standing [rad/s or m/s]:
    makes `Motion.direction`, 0 while a joint is slower.  The parts agree with `prepared` on the whole log to about 1e-9
    of the signals.
    """
    stream: _FilterPass | None = None
    for block in blocks:
        stream = stream or _FilterPass.started(block, filter or Filter(), edges, rate_hz)
        stream.standing = standing
        yield from stream.motions(block)
    if stream is None:
        raise FilterError("there are no samples to filter")
    yield from stream.last()


@dataclass
class _FilterPass:
    """Where a pass over a log stands; indices count the samples of the log from 0."""

    plan: Filter
    rate: float
    halo: int
    half: int
    step: int
    trim: int
    next: int
    tail: Recording | None = None
    offset: int = 0
    standing: float | None = None

    @classmethod
    def started(cls, first: Recording, filter: Filter, edges: bool, rate_hz: float | None) -> _FilterPass:
        plan, rate = (resolved(filter, first), even_rate(first)) if rate_hz is None else (filter, rate_hz)
        assert plan.cutoff_hz is not None
        halo = math.ceil(SETTLED * rate / plan.cutoff_hz) + plan.window
        if edges:
            return cls(plan, rate, halo, 0, thinning(plan, rate) if plan.on == "signals" else 1, 0, 0)
        half = half_length(plan, rate)
        trim = math.ceil((plan.trim_s or 0.0) * rate)
        return cls(plan, rate, halo, half, thinning(plan, rate), trim, trim + half)

    def motions(self, block: Recording) -> Iterator[Motion]:
        buffer = block if self.tail is None else joined([self.tail, block])
        end = self.offset + len(buffer) - self.halo - self.half
        if end > self.next:
            yield self._motion(buffer, end)
        first = max(self.next - self.half - self.halo, self.offset)
        self.tail = buffer.select(slice(first - self.offset, None))
        self.offset = first

    def last(self) -> Iterator[Motion]:
        assert self.tail is not None
        end = self.offset + len(self.tail) - self.trim - self.half
        if end > self.next:
            yield self._motion(self.tail, end)

    def _motion(self, buffer: Recording, end: int) -> Motion:
        """The kept samples from `next` to before `end`, with what the parallel filter needs around them."""
        check_finite(buffer)
        even_rate(buffer)
        arrays = signals(buffer, self.plan, self.rate)
        count = len(range(self.next, end, self.step))
        rows = slice(self.next - self.half - self.offset, end + self.half - self.offset)
        rate, keep = self.rate, (self.half, self.half + end - self.next, self.step)
        if self.plan.on == "signals":
            rows = slice(rows.start, rows.stop, self.step)
            rate, keep = self.rate / self.step, (0, count, 1)
        self.next += count * self.step
        q, qd, qdd, tau = (a[rows] for a in arrays)
        channels = channel_signals(buffer, self.plan, self.rate, rows)
        direction = None if self.standing is None else self._direction(arrays[1])[rows]
        return Motion(buffer.t[rows], q, qd, qdd, tau, rate, self.plan, keep, buffer.source, channels, direction)

    def _direction(self, qd: Array) -> Array:
        """Signs of the velocities (N, n), filtered as the efforts are."""
        assert self.plan.cutoff_hz is not None and self.standing is not None
        return low_pass(np.sign(qd) * (np.abs(qd) >= self.standing), self.plan.cutoff_hz, self.rate, self.plan.order)
