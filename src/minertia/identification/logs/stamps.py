"""Sampling analysis of time stamps: uniform steps, or bursts of rows stamped on arrival."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minertia.io.arrays import Array

USUAL = 1.5  # times the median; a longer step is a gap
CROWDED = 0.25  # part of the mean step below which the usual step tells of bursts
LONGEST_PERIOD = 2.0  # s from burst to burst; what comes less often is a log of several parts
FEWEST_BURSTS = 4
ALIKE = 0.2  # part by which sizes and periods of bursts may differ where their rows count as evenly spaced


@dataclass(frozen=True)
class Bursts:
    """Time stamps that come in bursts.

    starts: row of the first sample of each burst.  size, period: typical number of rows and duration [s] of a
    burst. step: mean time between rows [s].  is_even: whether bursts are so regular that the rows must have been
    uniformly sampled.
    """

    starts: NDArray[np.intp]
    size: float
    period: float
    step: float
    is_even: bool

    def __str__(self) -> str:
        return f"the time stamps come in bursts of {self.size:.3g} rows every {self.period:.3g} s"


def bursts_of(t: Array) -> Bursts | None:
    """Bursts of time stamps, including bursts of equal stamps; None if stamps come one by one."""
    if len(t) < 2 * FEWEST_BURSTS:
        return None
    steps = np.diff(t)
    mean, middle = float(t[-1] - t[0]) / len(steps), float(np.median(steps))
    if mean <= 0 or middle > CROWDED * mean or steps.min() < 0:
        return None
    starts = np.concatenate([[0], np.flatnonzero(steps > max(mean, 4 * middle)) + 1])
    if len(starts) < FEWEST_BURSTS + 1:
        return None
    inner = starts[1:]  # the first one may be cut, as the last is
    sizes, periods = np.diff(inner), np.diff(t[inner])
    size, period = float(np.median(sizes)), float(np.median(periods))
    if size < 2 or period > LONGEST_PERIOD:
        return None
    rows, times = inner - inner.mean(), t[inner] - t[inner].mean()
    step = float(rows @ times) / float(rows @ rows)  # the line through the starts of all bursts
    off = times - step * rows  # a burst late by more has lost rows, or has too many
    alike = np.abs(sizes - size) <= max(1.0, ALIKE * size)
    is_even = bool(alike.mean() > 0.95 and np.abs(off).max() <= period)
    return Bursts(starts, size, period, step, is_even)


def spread(t: Array) -> Array:
    """Uniform times for rows that were stamped in regular bursts; others as they are."""
    bursts = bursts_of(t)
    if bursts is None or not bursts.is_even:
        return t
    first = int(bursts.starts[1])
    return np.asarray(t[first] + bursts.step * (np.arange(len(t)) - first))


def usual_step(t: Array) -> float:
    """Mean time step [s] without repeats and gaps; for stamps in bursts, the mean of all steps."""
    bursts = bursts_of(t)
    if bursts is not None:
        return bursts.step
    steps = np.diff(t)
    steps = steps[steps > 0]
    if not len(steps):
        return 0.0
    middle = float(np.median(steps))
    return float(np.mean(steps[steps < USUAL * middle]))
