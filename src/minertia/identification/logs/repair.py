"""Repairs of a recording: repeated stamps dropped, non-uniform stamps resampled, standstill removed.

Each repair is listed in the notes.  Repairs operate on blocks; a recording in memory is one block.  Which
repairs are needed is determined from all stamps and the range of motion of the joints; each repair then
needs only a few samples around those that it returns, not the whole log.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from minertia.identification.logs.recording import (
    EVEN,
    MATRICES,
    Blocks,
    Recording,
    between,
    check_finite,
    expect_recording,
    joined,
    mapped,
    with_last,
)
from minertia.identification.logs.stamps import Bursts, bursts_of, usual_step
from minertia.io.arrays import Array
from minertia.io.errors import RecordingError
from minertia.io.resources import room, too_large

LONGEST_GAP = 0.25  # s that may be interpolated over
MOST_REPEATS = 0.75  # of all stamps; a clock that stands still longer tells no times
JUMP = 3.0  # a step from burst to burst over the mean step, above which the robot was truly sampled in bursts
MOST_SAMPLES = 4  # made of each one that was logged
STILL_WINDOW = 0.1  # s over which motion is measured
STILL = 0.002  # part of a joint's travel; less in a window is standstill
STILL_AT_LEAST = 0.2  # s of standstill worth cutting
FORGOTTEN = 64  # samples after which a cubic spline has forgotten its end: each halves what is left, at least
HELD = ("command", "command_velocity", "enabled")  # channels that keep their values until the next row
CHUNK = 200_000  # stamps that are compared at a time
APPROACH = 0.1  # length of a first or last move over the longest, below which it is not part of the motion


def repaired(recording: Recording, *, stamps: bool = True, resample: bool = True, standstill: bool = True) -> Recording:
    """Recording with strictly increasing, uniform time stamps and without standstill at its ends.

    stamps: spread bursts, drop samples whose stamp repeats or goes back.  resample: resample to a uniform rate
    (positions by a cubic spline, other signals linearly).  standstill: cut it off at both ends.  All repairs are listed
    in `notes`.
    """
    expect_recording(recording)
    seen = overview([recording])
    blocks, told = repaired_blocks([recording], seen, stamps=stamps, resample=resample, standstill=standstill)
    (block,) = blocks
    return block if told.notes == block.notes else replace(block, notes=told.notes)


@dataclass(frozen=True)
class Overview:
    """Results of one pass over the blocks of a log.

    stamps: all time stamps, in a recording without joints.  travel: range of motion of each joint [rad or m].
    gap: name of a temperature column with values that are not finite.
    """

    stamps: Recording
    travel: Array
    gap: str | None


def overview(blocks: Iterable[Recording], start: float | None = None, stop: float | None = None) -> Overview:
    """Overview of a log from one pass over its blocks.

    start, stop [s]: time window within which the range of motion (`travel`) is determined.
    """
    first, last = -math.inf if start is None else start, math.inf if stop is None else stop
    times, torn, low, high = list[Array](), list[int](), np.array(np.inf), np.array(-np.inf)
    head, gap, left = None, None, room() // 2  # for the stamps, which are held
    for block in blocks:
        left -= block.t.nbytes
        if left < 0 and times:
            samples = room() // 2 // block.t.itemsize
            what = f"the log has more than {samples} samples, whose times alone take"
            raise RecordingError(too_large(what, room() // 2), file=block.source or None)
        head = block.select(slice(0, 0)) if head is None else head
        times.append(block.t)
        torn += block.torn
        gap = gap or _gap_in_temperature(block)
        inside = (block.t >= first) & (block.t < last)
        q = block.q if inside.all() else block.q[inside]
        low = np.minimum(low, q.min(axis=0, initial=np.inf))
        high = np.maximum(high, q.max(axis=0, initial=-np.inf))
    if head is None:
        raise RecordingError("the log contains no samples")
    t = times[0] if len(times) == 1 else np.concatenate(times)
    t.flags.writeable = False  # so that it need not be copied
    bare = replace(
        head, t=t, q=np.zeros((len(t), 0)), qd=None, qdd=None, tau=None, joints=(), channels={}, marks={}, sensed=None,
        torn=tuple(dict.fromkeys(torn)),
    )  # fmt: skip
    with np.errstate(invalid="ignore"):  # what is no number is refused with its row, when it is repaired
        return Overview(bare, np.asarray(high - low), gap)


def repaired_blocks(
    blocks: Blocks, seen: Overview, *, stamps: bool = True, resample: bool = True, standstill: bool = True
) -> tuple[Blocks, Recording]:
    """Blocks repaired as by `repaired`, and all their stamps with notes on the repairs."""
    told, travel = seen.stamps, seen.travel
    if seen.gap is not None:
        told = told.noted(f"temperatures are ignored: '{seen.gap}' has values that are not numbers")
        blocks = mapped(blocks, _without_temperature)
    blocks = mapped(blocks, _finite)
    if not _is_even(told.t):
        if stamps:
            blocks, told = _without_bursts(blocks, told)
            later = without_repeats(told)
            blocks, told = (blocks if later is told else mapped(blocks, later_blocks)), later
        grid = even_grid(told) if resample else None
        if grid is not None:
            blocks = mapped(blocks, lambda own: even_blocks(own, grid))
            told = replace(told, t=grid.times(0, grid.count), q=np.zeros((grid.count, 0))).noted(grid.note)
        travel = _travel(blocks) if standstill else travel
    if not standstill or not len(told):
        return blocks, told
    t = told.t
    first, last = worth_cutting(proper_range(moving_parts(blocks, t, travel), len(t)), t)
    if (first, last) == (0, len(t) - 1):
        return blocks, told
    rows = slice(first, last + 1)
    note = f"standstill removed: {t[first] - t[0]:.3g} s at the start, {t[-1] - t[last]:.3g} s at the end"
    return mapped(blocks, lambda own: between(own, rows)), told.select(rows).noted(note)


def _finite(blocks: Iterable[Recording]) -> Iterator[Recording]:
    for block in blocks:
        check_finite(block)
        yield block


def _is_even(t: Array) -> bool:
    """Whether stamps are uniform; evaluated piecewise, for logs of which only the stamps fit in memory."""
    step = float(t[-1] - t[0]) / (len(t) - 1) if len(t) > 3 else 0.0
    parts = (np.diff(t[k : k + CHUNK + 1]) for k in range(0, len(t) - 1, CHUNK))
    return step > 0 and all(bool(np.all(np.abs(steps - step) <= EVEN * step)) for steps in parts)


def _travel(blocks: Iterable[Recording]) -> Array:
    """Range of motion of each joint [rad or m]."""
    low, high = zip(*((block.q.min(axis=0), block.q.max(axis=0)) for block in blocks), strict=True)
    return np.asarray(np.max(high, axis=0) - np.min(low, axis=0))


def _gap_in_temperature(block: Recording) -> str | None:
    values = block.channels.get("temperature")
    if values is None or np.isfinite(values).all():
        return None
    return block.column(f"temperature{int(np.argmax(~np.isfinite(values).all(axis=0))) + 1}")


def _without_temperature(blocks: Iterable[Recording]) -> Iterator[Recording]:
    """Blocks without temperatures, for logs in which not all of these are finite; most fits do not need them."""
    for block in blocks:
        yield replace(block, channels={name: v for name, v in block.channels.items() if name != "temperature"})


def _without_bursts(blocks: Blocks, told: Recording) -> tuple[Blocks, Recording]:
    """Blocks with uniform stamps for rows that were stamped in bursts on arrival."""
    bursts = bursts_of(told.t)
    if bursts is None:
        return blocks, told
    if not bursts.is_even or _jumps(blocks, bursts):
        raise in_bursts(told, bursts)
    first = int(bursts.starts[1])

    def times(begin: int, end: int) -> Array:
        return np.asarray(told.t[first] + bursts.step * (np.arange(begin, end) - first), dtype=float)

    def spread(own: Iterable[Recording]) -> Iterator[Recording]:
        done = 0
        for block in own:
            yield replace(block, t=times(done, done + len(block)))
            done += len(block)

    note = f"{bursts}; its rows are taken as uniformly spaced, {1 / bursts.step:.5g} Hz"
    return mapped(blocks, spread), replace(told, t=times(0, len(told))).noted(note)


def in_bursts(recording: Recording, bursts: Bursts) -> RecordingError:
    """Error for time stamps in bursts that cannot be spread, with advice."""
    return RecordingError(
        f"{bursts}, which are times of arrival and not of measurement; log the robot's own clock, or give its "
        f"rate (rate_hz = {1 / bursts.step:.4g}, without t, in [columns])",
        file=recording.source or None,
        column=recording.column("t"),
        row=recording.first_row + int(bursts.starts[1]),
    )


def _jumps(blocks: Iterable[Recording], bursts: Bursts) -> bool:
    """Whether positions are nearly constant within bursts and jump between them, a sign of missing samples."""
    moved, jumped, done, before = np.zeros(0), np.zeros(0), 0, None
    for block in blocks:
        steps = np.abs(np.diff(block.q, axis=0, prepend=block.q[:1] if before is None else before))
        own = bursts.starts[1:][(bursts.starts[1:] >= done) & (bursts.starts[1:] < done + len(block))] - done
        moved = steps.sum(axis=0) + (moved if before is not None else 0.0)
        jumped = steps[own].sum(axis=0) + (jumped if before is not None else 0.0)
        done, before = done + len(block), block.q[-1:]
    if not moved.any():
        return False
    joint = int(np.argmax(moved))
    return bool(jumped[joint] / (len(bursts.starts) - 1) > JUMP * moved[joint] / (done - 1))


def without_repeats(recording: Recording) -> Recording:
    """Recording of the samples whose stamp is later than all earlier ones.

    Raises an error if time goes back far.
    """
    t = recording.t
    highest = np.maximum.accumulate(t)
    step = usual_step(t)
    back = highest - t
    worst = int(np.argmax(back)) if len(t) else 0
    if len(t) and back[worst] > max(10 * step, LONGEST_GAP):
        row = recording.first_row + int(np.argmax(np.diff(t) < 0)) + 1
        raise RecordingError(
            f"time goes back by {back[worst]:.4g} s; check whether the file contains two logs",
            file=recording.source or None,
            column=recording.column("t"),
            row=row,
        )
    later = np.concatenate([[True], t[1:] > highest[:-1]]) if len(t) else np.zeros(0, bool)
    dropped = int((~later).sum())
    if not dropped:
        return recording
    if dropped > MOST_REPEATS * len(t):
        raise _standing_clock(recording, len(t) - dropped)
    return recording.select(later).noted(f"{dropped} samples with a repeated or earlier time stamp dropped")


def _standing_clock(recording: Recording, different: int) -> RecordingError:
    count, times = len(recording), recording.t
    what = f"all {count} time stamps are equal ({times[0]:.6g} s)" if different == 1 else (
        f"the {count} rows have only {different} different time stamps, "
f"{recording.duration / (different - 1):.3g} s apart"
    )  # fmt: skip
    return RecordingError(
        f"{what}: this clock is too coarse for the samples; log a finer one, or give the rate (such as rate_hz = "
        "1000, without t, in [columns])",
        file=recording.source or None,
        column=recording.column("t"),
        row=recording.first_row,
    )


@dataclass(frozen=True)
class Grid:
    """Uniform times that replace non-uniform ones [s]; note: description of the replacement."""

    start: float
    step: float
    count: int
    note: str

    def times(self, first: int, stop: int) -> Array:
        """Times of the indices from `first` to before `stop`."""
        return np.asarray(self.start + self.step * np.arange(first, stop), dtype=float)

    def before(self, t: float) -> int:
        """Number of grid times that are not later than t."""
        return int(np.floor((t - self.start) / self.step + 1e-9)) + 1


def even_grid(recording: Recording) -> Grid | None:
    """Uniform time grid for increasing stamps; None if they are uniform already.  Only the stamps are used."""
    t = recording.t
    if len(t) < 4:
        raise RecordingError(f"the recording has {len(t)} samples, which is too few", file=recording.source or None)
    steps = np.diff(t)
    mean = float(t[-1] - t[0]) / (len(t) - 1)
    shortest, longest = float(steps.min()), float(steps.max())
    if max(longest - mean, mean - shortest) <= EVEN * mean:
        return None
    step = usual_step(t)
    if longest > max(LONGEST_GAP, 20 * step):
        k = int(np.argmax(steps))
        middle = f"{(t[k] + t[k + 1]) / 2:.12g}"
        parts = [shlex.quote(f"{recording.source}[{part}]") for part in (f":{middle}", f"{middle}:")]
        raise RecordingError(
            f"a gap of {longest:.3g} s follows; use the parts before and after it as two logs: {' and '.join(parts)} "
            f"on the command line, to = {middle} and from = {middle} in a campaign",
            file=recording.source or None,
            column=recording.column("t"),
            row=recording.first_row + k,
        )
    count = int(np.floor((t[-1] - t[0]) / step + 1e-9)) + 1
    if count > MOST_SAMPLES * len(t):
        bursts = bursts_of(t)
        raise (
            in_bursts(recording, bursts)
            if bursts is not None
            else RecordingError(
                f"{len(t)} time stamps, most of them {step * 1000.0:.3g} ms apart, over {t[-1] - t[0]:.4g} s: "
                "most samples are missing; log all of them, or give the rate (rate_hz, without t, in [columns])",
                file=recording.source or None,
                column=recording.column("t"),
                row=recording.first_row,
            )
        )
    note = (
        f"resampled from non-uniform steps ({shortest * 1000.0:.3g} to {longest * 1000.0:.3g} ms) to {1 / step:.5g} Hz"
    )
    return Grid(float(t[0]), step, count, note)


def interpolated(recording: Recording, times: Array) -> Recording:
    """Recording interpolated at other times within it.

    Positions are interpolated by a cubic spline, commands and marks are held, other signals are linear.
    """
    from scipy.interpolate import make_interp_spline  # here: 0.3 s that only uneven logs need

    arrays = {}
    for name in (*MATRICES, "sensed"):
        values = getattr(recording, name)
        if values is not None:
            arrays[name] = make_interp_spline(recording.t, values, k=3 if name == "q" else 1)(times)
    last = np.clip(np.searchsorted(recording.t, times + 1e-9, side="right") - 1, 0, None)
    channels = {
        # a command is held until the next one
        name: v[last] if name in HELD else make_interp_spline(recording.t, v, k=1)(times)
        for name, v in recording.channels.items()
    }
    before = np.clip(np.searchsorted(recording.t, times, side="right") - 1, 0, None)
    marks = {name: values[before] for name, values in recording.marks.items()}
    return replace(recording, t=times, **arrays, channels=channels, marks=marks)


def later_blocks(blocks: Iterable[Recording]) -> Iterator[Recording]:
    """Blocks of the samples whose time stamp is later than all earlier ones."""
    highest = -np.inf
    for block in blocks:
        before = np.maximum.accumulate(np.concatenate([[highest], block.t]))
        later = block.t > before[:-1]
        highest = float(before[-1])
        if later.any():
            yield block if later.all() else block.select(later)


def even_blocks(blocks: Iterable[Recording], grid: Grid) -> Iterator[Recording]:
    """Resample blocks with increasing stamps to a grid, with the same result as for the whole log."""
    held: Recording | None = None
    done = 0
    for block, is_last in with_last(blocks):
        held = block if held is None else joined([held, block])
        if not is_last and len(held) <= 2 * FORGOTTEN:
            continue
        end = min(grid.before(float(held.t[-1 if is_last else -1 - FORGOTTEN])), grid.count)
        if end > done:
            yield interpolated(held, grid.times(done, end))
            done = end
        keep = int(np.searchsorted(held.t, grid.start + grid.step * done)) - FORGOTTEN
        held = held.select(slice(max(keep, 0), None))


def worth_cutting(moving: tuple[int, int], t: Array) -> tuple[int, int]:
    """First and last retained sample: the motion, and standstill too short to be cut."""
    first, last = moving
    before, after = t[first] - t[0], t[-1] - t[last]
    return first if before >= STILL_AT_LEAST else 0, last if after >= STILL_AT_LEAST else len(t) - 1


def moving_range(recording: Recording) -> tuple[int, int]:
    """First and last sample of the main motion; the whole recording if no joint moves.

    A separate short move, such as the approach to the first point of a trajectory, is not part of it.
    """
    return proper_range(moving_parts([recording], recording.t, np.ptp(recording.q, axis=0)), len(recording))


def moving_parts(blocks: Iterable[Recording], t: Array, travel: Array) -> list[tuple[int, int]]:
    """First and last sample of each segment of motion, separated by standstill long enough to be cut.

    t: stamps of all blocks [s].  travel: range of motion of each joint in them [rad or m].
    """
    step = usual_step(t)
    window = still_window(step)
    found: list[tuple[int, int]] = []
    tail, done = np.zeros((0, len(travel))), 0
    for block in blocks:
        q = np.concatenate([tail, block.q]) if len(tail) else block.q
        if len(q) > window:
            for a, b in stretches(np.flatnonzero(moves(q, window, travel)) + done, window, step):
                if found and (a - (found[-1][1] - window)) * step <= STILL_AT_LEAST:  # goes on from the block before
                    a = found.pop()[0]
                found.append((a, b))
            done += len(q) - window
        tail = q[-window:]
    return found


def still_window(step: float) -> int:
    """Number of samples of the window over which motion is detected."""
    return max(1, round(STILL_WINDOW / step)) if step > 0 else 1


def proper_range(parts: list[tuple[int, int]], count: int) -> tuple[int, int]:
    """First and last sample of the main motion among segments of motion; count: samples of the log."""
    if not parts:
        return 0, count - 1
    longest = max(b - a for a, b in parts)
    proper = [part for part in parts if part[1] - part[0] >= APPROACH * longest]
    return proper[0][0], proper[-1][1]


def moves(q: Array, window: int, travel: Array) -> NDArray[np.bool_]:
    """Whether any joint moves in the window that begins at each sample; travel: its range in the whole log."""
    moved = np.abs(q[window:] - q[:-window]) > STILL * np.maximum(travel, 1e-9)
    return np.asarray((moved & (travel > 0)).any(axis=1))


def stretches(moving: NDArray[np.intp], window: int, step: float) -> list[tuple[int, int]]:
    """First and last sample of each segment of motion, from the windows with motion."""
    if not len(moving):
        return []
    pauses = np.flatnonzero(np.diff(moving) * step > STILL_AT_LEAST)
    starts, ends = np.concatenate([[0], pauses + 1]), np.concatenate([pauses, [len(moving) - 1]])
    return [(int(moving[a]), int(moving[b]) + window) for a, b in zip(starts, ends, strict=True)]
