"""Alarm thresholds of a momentum observer from effort residuals, at a specified false alarm rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.signal import lfilter

from minertia.io.errors import InputError, ShapeError

Array = NDArray[np.float64]
TAIL = 0.9  # quantile above which peaks are looked for
HIGHEST = 20  # peaks of a joint that a tail is fitted to
APART = 3.0  # time constants between two peaks that count as two


@dataclass(frozen=True)
class AlarmThresholds:
    """Alarm thresholds of |r| [N m or N] of each joint.

    per_hour: false alarms of all joints together in an hour; hours: duration of the data.
    """

    values: tuple[float, ...]
    per_hour: float
    hours: float

    def __repr__(self) -> str:
        values = ", ".join(f"{v:.3g}" for v in self.values[:8])
        return f"<AlarmThresholds: {values}; {self.per_hour:g} false alarms an hour, from {self.hours:.2g} h>"


def observer_thresholds(residual: ArrayLike, rate: float, gain: float, per_hour: float = 1.0) -> AlarmThresholds:
    """Thresholds for the output r of the program `momentum_observer`.

    residual (N, n): measured less predicted efforts of free motion [N m or N], unfiltered, sampled at `rate`
    [Hz]. gain [1/s]: observer gain; r is the residual after a first-order low-pass with this bandwidth.
    per_hour: false alarms of all joints together in an hour of such motion.

    The peaks of |r| above its 90 % quantile, some time constants apart, are sorted.  The twenty highest are
    assumed to have an exponential tail: their rate at a height b above the 21st is proportional to exp(-b /
    mean excess), with a mean excess one standard deviation larger than the estimated one.  Tails of friction
    and noise decay faster, so that the rate is an upper bound.  Lower peaks carry no information on the
    highest ones if these have a rare cause, such as a joint that sticks.
    """
    e = np.asarray(residual, float)
    _check(e, rate, gain, per_hour)
    share = gain / rate
    return output_thresholds(lfilter([share], [1.0, share - 1.0], e, axis=0), rate, gain, per_hour)


def output_thresholds(
    output: ArrayLike, rate: float, gain: float, per_hour: float = 1.0, among: ArrayLike | None = None
) -> AlarmThresholds:
    """Thresholds from outputs r (N, n) of the observer itself in free motion [N m or N]; see `observer_thresholds`.

    They include effects that the residual of a filtered log does not: delayed velocities from encoder steps.
    among (N, n): samples of each joint in use, such as those at which it slides; default: all.  per_hour: at
    those samples, in an hour of the motion.
    """
    r = np.abs(np.asarray(output, float))
    _check(r, rate, gain, per_hour)
    counted = np.ones(r.shape, bool) if among is None else np.array(among, bool)
    if counted.shape != r.shape:
        raise ShapeError(f"the outputs have shape {r.shape}, but the mask of samples has {counted.shape}")
    apart = max(1, round(APART * rate / gain))
    counted[:apart] = False  # the observer begins
    hours = len(r) / rate / 3600.0
    each = [
        _threshold(np.where(counted[:, j], r[:, j], 0.0), counted[:, j], j, apart, hours, per_hour / r.shape[1])
        for j in range(r.shape[1])
    ]
    return AlarmThresholds(tuple(each), per_hour, hours)


def _check(e: Array, rate: float, gain: float, per_hour: float) -> None:
    if e.ndim != 2 or not e.size:
        raise ShapeError(f"the residual has shape {e.shape}; thresholds need (N, n), with one row per sample")
    if not np.isfinite(e).all():
        raise InputError("the residual contains values that are not finite; exclude such samples")
    if not (0 < gain < rate and per_hour > 0):
        raise InputError("thresholds need a gain between 0 and the rate, and a false-alarm rate above 0")


def _threshold(r: Array, counted: NDArray[np.bool_], joint: int, apart: int, hours: float, per_hour: float) -> float:
    start = float(np.quantile(r[counted], TAIL)) if counted.any() else 0.0
    peaks = np.sort(_peaks(r, start, apart))[::-1]
    if len(peaks) <= HIGHEST:
        raise InputError(
            f"joint {joint + 1} has {len(peaks)} separate peaks in {hours:.2g} h, but fitting the tail needs "
            f"{HIGHEST + 1}; give a longer record"
        )
    start = float(peaks[HIGHEST])
    excess = float(np.mean(peaks[:HIGHEST] - start)) * (1 + 1 / math.sqrt(HIGHEST))
    return start + excess * math.log(max(1.0, HIGHEST / hours / per_hour))


def _peaks(r: Array, start: float, apart: int) -> Any:
    """Maximum of each run of samples above `start`; runs at most `apart` samples apart count as one."""
    above = np.flatnonzero(r > start)
    if not len(above):
        return np.zeros(0)
    groups = np.split(above, np.flatnonzero(np.diff(above) > apart) + 1)
    return np.array([r[group].max() for group in groups])
