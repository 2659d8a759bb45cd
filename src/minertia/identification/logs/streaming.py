"""Repairs of logs that are read in blocks: each needs a few samples around the ones it gives out, not the whole log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from minertia.identification.logs.recording import Recording, joined
from minertia.identification.logs.repair import Grid, interpolated
from minertia.io.errors import RecordingError

Array = NDArray[np.float64]
FORGOTTEN = 64  # samples after which a cubic spline has forgotten its end: each halves what is left, at least


def undelayed_blocks(blocks: Iterable[Recording], delay: float) -> Iterator[Recording]:
    """Efforts moved to the positions they belong to: tau(t) = logged(t + delay), delay in s; the ends are lost."""
    held: Recording | None = None  # samples to come, and the efforts they need
    done, begin, found = 0, 0.0, False
    note = f"efforts moved {delay * 1e3:g} ms earlier: they lag the positions"
    for block in blocks:
        if block.tau is None:
            yield block
            found = True
            continue
        begin = float(block.t[0]) if held is None else begin
        held = block if held is None else joined([held, block])
        at = held.t + delay
        ready = _leading(at <= held.t[-1])
        first = max(done, _leading(at < begin))
        if ready > first:
            rows = slice(first, ready)
            tau = np.column_stack([np.interp(at[rows], held.t, column) for column in held.efforts().T])
            yield replace(held.select(rows), tau=tau).noted(note)
            found = True
        done = max(done, ready)
        needed = min(float(at[min(done, len(at) - 1)]), float(held.t[min(done, len(at) - 1)]))
        keep = max(min(int(np.searchsorted(held.t, needed)) - 1, done), 0)
        held, done = held.select(slice(keep, None)), done - keep
    if held is not None and not found:
        raise RecordingError(f"the log is shorter than the delay of {delay:g} s", file=held.source or None)


def _leading(holds: NDArray[np.bool_]) -> int:
    """For how many samples from the start something holds."""
    return len(holds) if holds.all() else int(np.argmin(holds))


def later_blocks(blocks: Iterable[Recording]) -> Iterator[Recording]:
    """Only the samples whose stamp is later than all before."""
    highest = -np.inf
    for block in blocks:
        before = np.maximum.accumulate(np.concatenate([[highest], block.t]))
        later = block.t > before[:-1]
        highest = float(before[-1])
        if later.any():
            yield block if later.all() else block.select(later)


def even_blocks(blocks: Iterable[Recording], grid: Grid) -> Iterator[Recording]:
    """Blocks with increasing stamps brought to the times of a grid, as the whole log would be."""
    held: Recording | None = None
    done = 0
    for block in blocks:
        held = block if held is None else joined([held, block])
        if len(held) <= 2 * FORGOTTEN:
            continue
        end = min(grid.before(float(held.t[-1 - FORGOTTEN])), grid.count)
        if end > done:
            yield interpolated(held, grid.times(done, end))
            done = end
        keep = int(np.searchsorted(held.t, grid.start + grid.step * done)) - FORGOTTEN
        held = held.select(slice(max(keep, 0), None))
    end = grid.count if held is None else min(grid.count, grid.before(float(held.t[-1])))
    if held is not None and end > done:
        yield interpolated(held, grid.times(done, end))
