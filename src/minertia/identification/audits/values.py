"""Checks of channel values: NaN, constant, held, stuck, saturated, quantised, spiky; and checks of commands."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from minertia.identification.audits.findings import Finding
from minertia.identification.logs.recording import MATRICES, Recording
from minertia.identification.logs.stamps import usual_step
from minertia.io.arrays import Array
from minertia.robot.robot import Robot

COARSE = 2e-4  # step of a quantised channel over its range, above which it is told
MOST_MISREAD = 0.05  # of all rows: more are not misread but motion
SPIKE = 0.2  # of the range between the 1st and 99th percentile
STUCK_S = 0.1  # s without any change while the joint moves before and after
SATURATED = 5  # samples in a row at the largest or smallest value


def channels(recording: Recording, *names: str) -> Iterator[tuple[str, int, Array]]:
    """For each channel of the named signals: its name in the log, joint index and values."""
    for name in names or MATRICES:
        values = getattr(recording, name)
        if values is not None:
            for j in range(recording.n):
                yield recording.column(f"{name}{j + 1}"), j, values[:, j]


def runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last index of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def not_numbers(recording: Recording, robot: Robot | None) -> Iterator[Finding]:
    """Check for runs of NaN."""
    for column, _, x in channels(recording):
        bad = ~np.isfinite(x)
        if not bad.any():
            continue
        found = runs(bad)
        a, b = max(found, key=lambda run: run[1] - run[0])
        rows = f"rows {recording.first_row + a} to {recording.first_row + b}"
        more = f", {len(found)} intervals in total" if len(found) > 1 else ""
        yield Finding(
            "error", "not a number", f"not a number in {rows}{more}", column, recording.first_row + found[0][0]
        )


def constant(recording: Recording, robot: Robot | None) -> Iterator[Finding]:
    """Check for constant efforts and positions."""
    for column, _, x in channels(recording, "tau"):
        if np.ptp(x) == 0:
            yield Finding("error", "constant", f"the effort is {x[0]:g} throughout", column, recording.first_row)
    still = [column for column, _, x in channels(recording, "q") if np.ptp(x) == 0]
    for column in still:
        yield Finding("warning", "constant", "the joint does not move", column)


def held(recording: Recording, robot: Robot | None) -> Iterator[Finding]:
    """Check for rows that repeat the previous one in every channel, with a new stamp."""
    signals = [getattr(recording, name) for name in MATRICES if getattr(recording, name) is not None]
    same = np.logical_and.reduce([(s[1:] == s[:-1]).all(axis=1) for s in signals])
    if same.sum() > 0.001 * len(recording):
        yield Finding(
            "info",
            "held rows",
            f"{int(same.sum())} of {len(recording)} rows repeat the previous row: samples were held, not measured",
            row=recording.first_row + int(np.argmax(same)) + 1,
        )


def stuck(recording: Recording, robot: Robot | None) -> Iterator[Finding]:
    """Check for a position that freezes during a motion and then jumps."""
    step = usual_step(recording.t)
    if step <= 0:
        return
    shortest = max(4, round(STUCK_S / step))
    for column, _, x in channels(recording, "q"):
        speed = np.abs(np.diff(x)) / step
        fast = float(np.percentile(speed, 95)) if len(speed) else 0.0
        if fast <= 0 or not np.isfinite(fast):
            continue
        for a, b in runs(speed == 0):
            before = speed[max(0, a - 3) : a]
            after = speed[b + 1 : b + 4]
            if b - a + 1 >= shortest and len(before) and len(after) and min(before.mean(), after.max()) > 0.5 * fast:
                rows = f"rows {recording.first_row + a} to {recording.first_row + b + 1}"
                text = f"the value does not change in {rows} while the joint moves: the channel was stuck"
                yield Finding("warning", "stuck", text, column, recording.first_row + a)
                break


def saturation(recording: Recording, robot: Robot | None) -> Iterator[Finding]:
    """Check for efforts that stay at their largest or smallest value."""
    for column, _, x in channels(recording, "tau"):
        if not np.isfinite(x).all():
            continue
        span = float(np.ptp(without_spikes(x[:, None])))  # a spike must not make all other samples alike
        if span == 0:
            continue
        for limit, word in ((float(x.max()), "largest"), (float(x.min()), "smallest")):
            at = np.abs(x - limit) <= 1e-6 * span
            near = (np.abs(x - limit) <= 0.03 * span) & ~at
            longest = max(runs(at), key=lambda run: run[1] - run[0])
            if longest[1] - longest[0] + 1 >= SATURATED and at.sum() > near.sum():
                text = f"{int(at.sum())} samples are at the {word} value {limit:.5g}: the effort is saturated"
                yield Finding("warning", "saturation", text, column, recording.first_row + longest[0])


def quantisation(recording: Recording, robot: Robot | None) -> Iterator[Finding]:
    """Check for channels with coarse quantisation."""
    for column, _, x in channels(recording, "q", "tau"):
        resolution = quantum(x)
        span = float(np.ptp(x))
        if resolution is not None and resolution > COARSE * span:
            text = f"quantised at {resolution:.2g}, 1/{span / resolution:.0f} of its range"
            yield Finding("info", "quantisation", text, column)


def quantum(x: Array) -> float | None:
    """Quantisation step of a channel; None if values are not multiples of one step apart."""
    levels = np.unique(x[np.isfinite(x)])
    if len(levels) < 3:
        return None
    gaps = np.diff(levels)
    gaps = gaps[gaps > 1e-7 * (levels[-1] - levels[0])]
    step = float(np.percentile(gaps, 5)) if len(gaps) else 0.0
    if step <= 0:
        return None
    ratio = gaps / step
    return step if np.mean(np.abs(ratio - np.rint(ratio)) < 0.1) > 0.9 else None


def spike_rows(x: Array) -> tuple[Array, NDArray[np.intp]]:
    """How far each sample is away from its neighbours, and the rows of those that are too far."""
    off, is_spike, _ = _compared(x)
    return off, np.flatnonzero(is_spike)


def without_spikes(x: Array) -> Array:
    """Columns with the median of their neighbours in place of single samples far from these."""
    _, is_spike, middle = _compared(x)
    return np.where(is_spike, middle, x)


def _compared(x: Array) -> tuple[Array, NDArray[np.bool_], Array]:
    """Distance of each sample from the median of its neighbours in a column, whether it is a spike, and the median."""
    low, high = np.percentile(x, (1, 99), axis=0)
    middle = _median_of_five(x)
    off = np.abs(x - middle)
    noise = np.percentile(off, 99, axis=0)
    return off, (off > SPIKE * (high - low)) & (off > 4 * noise) & (high > low), middle


def _median_of_five(x: Array) -> Array:
    """Median of each sample and two on either side, of all columns at once; the ends are repeated."""
    n = len(x)
    a, b, c, d, e = (x[np.clip(np.arange(k, k + n), 0, n - 1)] for k in range(-2, 3))
    a, b = np.minimum(a, b), np.maximum(a, b)
    d, e = np.minimum(d, e), np.maximum(d, e)
    least, most = np.maximum(a, d), np.minimum(b, e)  # the smallest of the four, and the largest, cannot be it
    return np.asarray(np.maximum(np.minimum(least, most), np.minimum(c, np.maximum(least, most))))


def without_misread(recording: Recording) -> Recording:
    """Recording of commands without rows whose position or supply voltage is a spike: a bus misread them."""
    if len(recording) < 20 or not np.isfinite(recording.q).all():
        return recording
    supply = recording.channels.get("volts")
    signals = [*recording.q.T, *(() if supply is None else supply.T)]
    bad = np.unique(np.concatenate([spike_rows(x)[1] for x in signals if np.isfinite(x).all()]))
    if not len(bad) or len(bad) > MOST_MISREAD * len(recording):
        return recording
    kept = np.setdiff1d(np.arange(len(recording)), bad)
    rows = f"{len(bad)} row{'s' * (len(bad) > 1)}"
    return recording.select(kept).noted(f"{rows} jump farther than the joint can and back: left out as misread")


def spikes(recording: Recording, robot: Robot | None) -> Iterator[Finding]:
    """Check for single samples far from their neighbours."""
    for column, _, x in channels(recording, "q", "tau"):
        if not np.isfinite(x).all() or len(x) < 20:
            continue
        off, bad = spike_rows(x)
        if len(bad):
            worst = int(np.argmax(off))
            text = (
                f"{len(bad)} spike{'s' * (len(bad) > 1)}, the largest {off[worst]:.3g} away from its neighbours; "
                "if there are many, --estimator robust gives them less weight"
            )
            yield Finding("warning", "spikes", text, column, recording.first_row + worst)


__all__ = ["channels", "constant", "held", "not_numbers", "quantisation", "quantum", "runs",
           "saturation", "spike_rows", "spikes", "stuck", "without_misread", "without_spikes"]  # fmt: skip


# ---------------------------------------------------------------------- commands


HELD = 1.5  # rows for which a command usually stays the same while it changes, above which it is told
LONGEST_LAG = 0.5  # s within which the lag is looked for
FAR = 1.0  # rad or m between command and position that no servo leaves at rest


def commands(recording: Recording, robot: Robot | None) -> Iterator[Finding]:
    """Check the commands of a log: constant, held over rows, or far from the positions; report their delay."""
    u = recording.channels.get("command")
    if u is None or not np.isfinite(u).all():
        return
    names = [recording.column(f"command{j + 1}") for j in range(recording.n)]
    moving = np.ptp(u, axis=0) > 0
    for j in np.flatnonzero(~moving):
        text = "the command never changes: neither its delay nor rotor inertia is identifiable at this joint"
        yield Finding("warning", "constant command", text, names[j])
    step = usual_step(recording.t)
    for j in np.flatnonzero(moving):
        held = _held(u[:, j])
        if held > HELD:
            text = f"the command changes only every {held:.1f} rows: it is a staircase and must not be interpolated"
            yield Finding("info", "held command", text, names[j])
        if float(np.median(np.abs(u[:, j] - recording.q[:, j]))) > FAR:
            text = "the command is far from the position most of the time; check that both have the same zero and unit"
            yield Finding("warning", "far command", text, names[j])
    if moving.any() and step > 0:
        lag = float(np.median([_lag(u[:, j], recording.q[:, j], step) for j in np.flatnonzero(moving)]))
        yield Finding("info", "lag", f"joints follow their commands with a delay of about {1000.0 * lag:.0f} ms")


def _held(u: np.ndarray) -> float:
    """Median number of rows between changes of the command, without pauses."""
    changes = np.flatnonzero(np.diff(u) != 0)
    return float(np.median(np.diff(changes))) if len(changes) > 10 else 1.0


def _lag(u: np.ndarray, q: np.ndarray, step: float) -> float:
    """Delay [s] of the positions behind the command."""
    most = min(int(LONGEST_LAG / step), len(u) // 4)
    a, b = u - u.mean(), q - q.mean()
    likeness = [float(a[: len(a) - k] @ b[k:]) / max(len(a) - k, 1) for k in range(most + 1)]
    return step * int(np.argmax(likeness))
