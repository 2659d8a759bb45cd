"""Repairs of a recording, each one named: repeated stamps dropped, uneven stamps resampled, standstill cut off."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from minertia.identification.logs.even import EVEN, check_finite
from minertia.identification.logs.recording import MATRICES, Recording, expect_recording
from minertia.identification.logs.stamps import Bursts, bursts_of, usual_step
from minertia.io.errors import RecordingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LONGEST_GAP = 0.25  # s that may be interpolated over
MOST_REPEATS = 0.75  # of all stamps; a clock that stands still longer tells no times
JUMP = 3.0  # a step from burst to burst over the mean step, above which the robot was truly sampled in bursts
MOST_SAMPLES = 4  # made of each one that was logged
STILL_WINDOW = 0.1  # s over which motion is measured
STILL = 0.002  # part of a joint's travel; less in a window is standstill
STILL_AT_LEAST = 0.2  # s of standstill worth cutting
APPROACH = 0.1  # length of a first or last move over the longest, below which it is not part of the motion


def repaired(recording: Recording, *, stamps: bool = True, resample: bool = True, standstill: bool = True) -> Recording:
    """The recording with strictly increasing, even stamps and without standstill at its ends.

    stamps: spread bursts, drop samples whose stamp repeats or goes back.  resample: bring uneven stamps to an even rate
    (positions by a cubic spline, the rest linearly).  standstill: cut it off at both ends.  Everything that was done is
    in `notes`.
    """
    expect_recording(recording)
    recording = without_gaps_in_temperature(recording)
    check_finite(recording)
    if stamps:
        recording = without_repeats(without_bursts(recording))
    if resample:
        recording = resampled(recording)
    return without_standstill(recording) if standstill else recording


def without_gaps_in_temperature(recording: Recording) -> Recording:
    """Temperatures only where all of them are numbers: most fits do without."""
    values = recording.channels.get("temperature")
    if values is None or np.isfinite(values).all():
        return recording
    j = int(np.argmax(~np.isfinite(values).all(axis=0)))
    channels = {name: v for name, v in recording.channels.items() if name != "temperature"}
    column = recording.column(f"temperature{j + 1}")
    return replace(recording, channels=channels).noted(
        f"temperatures left out: '{column}' has values that are no numbers"
    )


def without_bursts(recording: Recording) -> Recording:
    """Rows that arrived, and were stamped, in bursts as the evenly spaced samples that they are."""
    bursts = bursts_of(recording.t)
    if bursts is None:
        return recording
    if not bursts.is_even or _jumps(recording.q, bursts):
        raise in_bursts(recording, bursts)
    first = int(bursts.starts[1])
    t = recording.t[first] + bursts.step * (np.arange(len(recording)) - first)
    return replace(recording, t=t).noted(f"{bursts}; its rows are taken as evenly spaced, {1 / bursts.step:.5g} Hz")


def in_bursts(recording: Recording, bursts: Bursts) -> RecordingError:
    """What to do about stamps in bursts that cannot be spread."""
    return RecordingError(
        f"{bursts}, which are times of arrival and not of measurement; log the robot's own clock, or state its rate "
        f"(rate_hz = {1 / bursts.step:.4g}, without t, in [columns])",
        file=recording.source or None,
        column=recording.column("t"),
        row=recording.first_row + int(bursts.starts[1]),
    )


def _jumps(q: Array, bursts: Bursts) -> bool:
    """Whether positions stand nearly still within bursts and jump between them: samples that are missing."""
    moved = np.abs(np.diff(q, axis=0))
    if not moved.size or not moved.any():
        return False
    joint = int(np.argmax(moved.sum(axis=0)))
    return bool(moved[bursts.starts[1:] - 1, joint].mean() > JUMP * moved[:, joint].mean())


def without_repeats(recording: Recording) -> Recording:
    """Only the samples whose stamp is later than all before."""
    t = recording.t
    highest = np.maximum.accumulate(t)
    step = usual_step(t)
    back = highest - t
    worst = int(np.argmax(back)) if len(t) else 0
    if len(t) and back[worst] > max(10 * step, LONGEST_GAP):
        row = recording.first_row + int(np.argmax(np.diff(t) < 0)) + 1
        raise RecordingError(
            f"time goes back by {back[worst]:.4g} s; does the file hold two logs?",
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
    return recording.select(later).noted(f"{dropped} samples with a repeated or earlier stamp dropped")


def _standing_clock(recording: Recording, different: int) -> RecordingError:
    count, times = len(recording), recording.t
    what = f"all {count} stamps are equal ({times[0]:.6g} s)" if different == 1 else (
        f"the {count} rows have only {different} different stamps, {recording.duration / (different - 1):.3g} s apart"
    )  # fmt: skip
    return RecordingError(
        f"{what}: this clock does not tell the times of samples; log them with a finer one, or state the rate "
        "(rate_hz = 1000, say, without t, in [columns])",
        file=recording.source or None,
        column=recording.column("t"),
        row=recording.first_row,
    )


def resampled(recording: Recording) -> Recording:
    """The recording at an even rate; as it is where its stamps are even already."""
    grid = even_grid(recording)
    if grid is None:
        return recording
    return interpolated(recording, grid.times(0, grid.count)).noted(grid.note)


@dataclass(frozen=True)
class Grid:
    """Even times that replace uneven ones [s]; note: what they replace, in words."""

    start: float
    step: float
    count: int
    note: str

    def times(self, first: int, stop: int) -> Array:
        """Some of the times."""
        return np.asarray(self.start + self.step * np.arange(first, stop), dtype=float)

    def before(self, t: float) -> int:
        """How many times are not later than t."""
        return int(np.floor((t - self.start) / self.step + 1e-9)) + 1


def even_grid(recording: Recording) -> Grid | None:
    """The times to which increasing stamps are brought, None where they are even; only the stamps are looked at."""
    t = recording.t
    if len(t) < 4:
        raise RecordingError(f"the recording has {len(t)} samples; that is too few", file=recording.source or None)
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
                f"{len(t)} stamps, most of them {step * 1e3:.3g} ms apart, over {t[-1] - t[0]:.4g} s: most samples are "
                "missing; log all of them, or state the rate (rate_hz, without t, in [columns])",
                file=recording.source or None,
                column=recording.column("t"),
                row=recording.first_row,
            )
        )
    note = f"resampled from uneven steps ({shortest * 1e3:.3g} to {longest * 1e3:.3g} ms) to {1 / step:.5g} Hz"
    return Grid(float(t[0]), step, count, note)


def interpolated(recording: Recording, times: Array) -> Recording:
    """The recording at other times within it: positions by a cubic spline, the rest linearly, marks as they were."""
    from scipy.interpolate import make_interp_spline  # here: 0.3 s that only uneven logs need

    arrays = {}
    for name in MATRICES:
        values = getattr(recording, name)
        if values is not None:
            arrays[name] = make_interp_spline(recording.t, values, k=3 if name == "q" else 1)(times)
    last = np.clip(np.searchsorted(recording.t, times + 1e-9, side="right") - 1, 0, None)
    channels = {
        # a command is held until the next one
        name: v[last] if name.startswith("command") else make_interp_spline(recording.t, v, k=1)(times)
        for name, v in recording.channels.items()
    }
    before = np.clip(np.searchsorted(recording.t, times, side="right") - 1, 0, None)
    marks = {name: values[before] for name, values in recording.marks.items()}
    return replace(recording, t=times, **arrays, channels=channels, marks=marks)


def without_standstill(recording: Recording) -> Recording:
    """The part from the first to the last motion of any joint."""
    t = recording.t
    first, last = worth_cutting(moving_range(recording), t)
    if (first, last) == (0, len(t) - 1):
        return recording
    return recording.select(slice(first, last + 1)).noted(
        f"standstill cut off: {t[first] - t[0]:.3g} s at the start, {t[-1] - t[last]:.3g} s at the end"
    )


def worth_cutting(moving: tuple[int, int], t: Array) -> tuple[int, int]:
    """First and last sample that stay: the motion, and standstill too short to be cut."""
    first, last = moving
    before, after = t[first] - t[0], t[-1] - t[last]
    return first if before >= STILL_AT_LEAST else 0, last if after >= STILL_AT_LEAST else len(t) - 1


def moving_range(recording: Recording) -> tuple[int, int]:
    """First and last sample of the motion proper; the whole recording where no joint moves.

    A short move apart from the rest, such as the approach to the first point of a trajectory, is not part of it.
    """
    return proper_range(moving_parts(recording), len(recording))


def proper_range(parts: list[tuple[int, int]], count: int) -> tuple[int, int]:
    """First and last sample of the motion proper among stretches of motion of so many samples."""
    if not parts:
        return 0, count - 1
    longest = max(b - a for a, b in parts)
    proper = [part for part in parts if part[1] - part[0] >= APPROACH * longest]
    return proper[0][0], proper[-1][1]


def moving_parts(recording: Recording) -> list[tuple[int, int]]:
    """First and last sample of each stretch of motion, apart from the next by standstill worth cutting."""
    step = usual_step(recording.t)
    window = still_window(step)
    q = recording.q
    if len(q) <= window:
        return []
    travel = np.ptp(q, axis=0)
    return stretches(np.flatnonzero(moves(q, window, travel)), window, step)


def still_window(step: float) -> int:
    """Samples over which motion is measured."""
    return max(1, round(STILL_WINDOW / step)) if step > 0 else 1


def moves(q: Array, window: int, travel: Array) -> NDArray[np.bool_]:
    """Whether any joint moves in the window that begins at each sample; travel: of each joint in the whole log."""
    moved = np.abs(q[window:] - q[:-window]) > STILL * np.maximum(travel, 1e-9)
    return np.asarray((moved & (travel > 0)).any(axis=1))


def stretches(moving: NDArray[np.intp], window: int, step: float) -> list[tuple[int, int]]:
    """First and last sample of each stretch of motion, from the windows in which something moves."""
    if not len(moving):
        return []
    pauses = np.flatnonzero(np.diff(moving) * step > STILL_AT_LEAST)
    starts, ends = np.concatenate([[0], pauses + 1]), np.concatenate([pauses, [len(moving) - 1]])
    return [(int(moving[a]), int(moving[b]) + window) for a, b in zip(starts, ends, strict=True)]
