"""Checks of time stamps: length, rate, jitter, repeated or backward stamps, gaps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from minertia.identification.audits.findings import Finding
from minertia.identification.logs.file import torn_rows
from minertia.identification.logs.recording import EVEN, Recording
from minertia.identification.logs.repair import LONGEST_GAP
from minertia.identification.logs.stamps import bursts_of, usual_step
from minertia.io.notebook import plural
from minertia.robot.robot import Robot

FEWEST, SHORTEST = 200, 2.0  # samples and seconds below which a log is called short
GAP = 1.5  # steps
SLOWEST = 0.5  # s: a longer step shows no motion of a robot, so the unit of the stamps must be another


def length(recording: Recording, robot: Robot | None) -> Iterator[Finding]:
    """Check for too few samples or too short a log."""
    n, seconds = len(recording), recording.duration
    if n < 20:
        yield Finding("error", "length", f"a log of {plural(n, 'sample')} is too short to identify anything")
    elif n < FEWEST or seconds < SHORTEST:
        yield Finding("warning", "length", f"{n} samples over {seconds:.3g} s: a short log")


def rate(recording: Recording, robot: Robot | None) -> Iterator[Finding]:
    """Report the sampling rate and its jitter."""
    steps = np.diff(recording.t)
    good = steps[steps > 0]
    if not len(good):
        if len(steps):
            text = (
                f"all {len(recording)} time stamps are equal: the log has no clock (set rate_hz, without t, in "
                "[columns])"
            )
            yield Finding("error", "clock", text, recording.column("t"), recording.first_row)
        return
    bursts = bursts_of(recording.t)
    if bursts is not None:
        level = "info" if bursts.is_even else "error"
        then = "identify spaces them uniformly" if bursts.is_even else "they are not measurement times"
        text = f"{bursts}, {1 / bursts.step:.4g} Hz on average; {then}"
        yield Finding(level, "bursts", text, recording.column("t"), recording.first_row + int(bursts.starts[1]))
        return
    step = usual_step(recording.t)
    hz = 1 / step
    off = np.flatnonzero(np.abs(steps - step) > EVEN * step)
    if not len(off):
        yield Finding(
            "info", "rate", f"{hz:.5g} Hz, uniformly sampled, {len(recording)} samples, {recording.duration:.4g} s"
        )
        return
    jitter = float(np.std(good[good < GAP * np.median(good)]))
    yield Finding(
        "info",
        "jitter",
        f"about {hz:.4g} Hz, non-uniformly sampled: {len(off)} of {len(steps)} steps differ by more than "
        f"{EVEN:.0%} from {step * 1000.0:.4g} ms (from {good.min() * 1000.0:.3g} to {good.max() * 1000.0:.3g} ms, "
        f"standard deviation {jitter * 1000.0:.2g} ms); identify resamples it",
        recording.column("t"),
        recording.first_row + int(off[0]) + 1,
    )


def torn(recording: Recording, robot: Robot | None) -> Iterator[Finding]:
    """Report malformed rows that were dropped."""
    if recording.torn:
        yield Finding("warning", "torn rows", f"{torn_rows(recording.torn)} and dropped", "", recording.torn[0])


def unit(recording: Recording, robot: Robot | None) -> Iterator[Finding]:
    """Check for stamps that cannot be seconds."""
    steps = np.diff(recording.t)
    if not np.any(steps > 0):
        return
    step = usual_step(recording.t)
    if step >= SLOWEST:
        text = (
            f"a sample every {step:.3g} s, {recording.duration:.3g} s in total; check whether the times are in seconds"
        )
        yield Finding("error", "clock", f"{text} (time_unit of [columns])", recording.column("t"))


def order(recording: Recording, robot: Robot | None) -> Iterator[Finding]:
    """Check for repeated and backward stamps."""
    steps = np.diff(recording.t)
    if bursts_of(recording.t) is not None:
        return
    repeated, back = np.flatnonzero(steps == 0), np.flatnonzero(steps < 0)
    column = recording.column("t")
    if len(repeated):
        yield Finding(
            "info",
            "repeated stamps",
            f"{len(repeated)} time stamps repeat the previous one; identify drops these samples",
            column,
            recording.first_row + int(repeated[0]) + 1,
        )
    if len(back):
        most = float(-steps.min())
        far = most > max(10 * usual_step(recording.t), LONGEST_GAP)
        hint = "; check whether the file contains two logs" if far else ""
        yield Finding(
            "error" if far else "warning",
            "backward stamps",
            f"time goes back {len(back)} times, by at most {most:.4g} s{hint}",
            column,
            recording.first_row + int(back[0]) + 1,
        )


def gaps(recording: Recording, robot: Robot | None) -> Iterator[Finding]:
    """Check for gaps in the time stamps."""
    steps = np.diff(recording.t)
    if not np.any(steps > 0) or bursts_of(recording.t) is not None:
        return
    usual = float(np.median(steps[steps > 0]))
    wide = np.flatnonzero(steps > GAP * usual)
    if not len(wide):
        return
    widest = int(np.argmax(steps))
    unusable = steps[widest] > max(LONGEST_GAP, 20 * usual)
    yield Finding(
        "error" if unusable else "warning",
        "gaps",
        f"{len(wide)} gaps longer than {GAP * usual * 1e3:.3g} ms, the longest {steps[widest] * 1e3:.3g} ms",
        recording.column("t"),
        recording.first_row + widest,
    )
