"""Choice of the filter cut-off of a recording from its spectrum."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np

from minertia.io.arrays import Array

FLOOR_BAND = (0.5, 0.95)  # part of the Nyquist frequency where only noise is expected
ABOVE_FLOOR = 10.0  # power over the noise floor that counts as motion
SHARE = 0.99  # part of the velocity's power that makes the motion's band
MARGIN = 10.0  # cut-off over the end of that band
SEGMENT_S = 10.0  # length of the pieces whose spectra are averaged
MOVES = 0.01  # travel of a joint that counts as moving, over the largest
HIGHEST = 0.4  # part of the rate
CYCLES = 10.0  # of the cut-off in a recording, at least: three of them are discarded at its ends
NOISE = 0.01  # power of the noise kept in the accelerations, over that of the motion
REMEMBERED = 64  # results that are kept
Result = TypeVar("Result")
OCTAVE = 1.0  # width over which the spectrum of the accelerations is averaged, to find its valley


def chosen_cutoff(q: Array, rate_hz: float) -> float:
    """Cut-off [Hz] of the low-pass on positions when none is given.

    For each joint, the power spectrum of the position is averaged over segments of 10 s.  Its noise floor is the
    median over the upper half of the band.  The motion's band ends where the smoothed spectrum first falls to ten
    times the floor.  Within that band, the frequency below which 99 % of the velocity power lies is taken.  The
    cut-off is ten times the highest of these over the moving joints, so that the filter changes the motion's own
    frequencies by less than one part in a million.  It is limited such that noise makes up at most 1 % of the
    power of the accelerations (`quiet_frequency`), but it is at least ten cycles per recording and at most 0.4
    of the rate.
    """
    lowest, top = CYCLES * rate_hz / len(q), motion_band(q, rate_hz)
    if top is None:
        return float(min(lowest, HIGHEST * rate_hz))
    return float(min(max(min(MARGIN * top, quiet_cutoff(q, rate_hz)), lowest), HIGHEST * rate_hz))


def motion_band(q: Array, rate_hz: float) -> float | None:
    """Frequency [Hz] below which 99 % of the velocity's power of every moving joint lies; None at standstill."""
    return _once(_motion_band, q, rate_hz)


def _motion_band(q: Array, rate_hz: float) -> float | None:
    moving, _ = _moving(q)
    return max(top_frequencies(q[:, moving], rate_hz)) if len(moving) else None


_known: dict[tuple[object, ...], Any] = {}  # by function, positions and rate


def _once(function: Callable[[Array, float], Result], q: Array, rate_hz: float) -> Result:
    """Result of a function of positions (N, joints), which audits, filter and evaluation of a log all ask for."""
    key = function.__name__, q.shape, blake2b(q.tobytes()).digest(), rate_hz
    if key not in _known:
        if len(_known) >= REMEMBERED:
            _known.clear()
        _known[key] = function(q, rate_hz)
    found: Result = _known[key]
    return found


def _moving(q: Array) -> tuple[list[int], Array]:
    """Indices of the moving joints, and the travel of all joints [rad or m]."""
    travel = np.ptp(q, axis=0)
    return np.flatnonzero(travel > MOVES * travel.max()).tolist(), travel


def quiet_cutoff(q: Array, rate_hz: float) -> float:
    """Highest cut-off [Hz] that passes hardly any noise in the accelerations of the moving joints."""
    return _once(_quiet_cutoff, q, rate_hz)


def _quiet_cutoff(q: Array, rate_hz: float) -> float:
    moving, travel = _moving(q)
    if not len(moving):
        return HIGHEST * rate_hz
    return min(quiet_frequency(q[:, moving] / travel[moving], rate_hz), HIGHEST * rate_hz)


def quiet_frequency(q: Array, rate_hz: float) -> float:
    """Frequency [Hz] up to which the accelerations of positions (N, joints) contain hardly any noise.

    The power of a motion's accelerations falls with frequency, that of differentiated noise rises, so their sum
    has a minimum where noise starts to dominate.  Above the minimum, noise is admitted up to 1 % of the power
    below it.
    """
    from scipy import signal  # here: it takes a second to load

    length = int(min(len(q), max(64, SEGMENT_S * rate_hz / 2)))
    f, power = signal.welch(q, rate_hz, window="hann", nperseg=length, detrend="linear", axis=0)
    f, acceleration = f[1:], (f[1:, None] ** 4 * power[1:]).sum(axis=1)
    total = np.concatenate([[0.0], np.cumsum(acceleration)])
    low = np.searchsorted(f, f * 2 ** (-OCTAVE / 2))
    high = np.searchsorted(f, f * 2 ** (OCTAVE / 2), side="right")
    mean = (total[high] - total[low]) / (high - low)
    first = int(np.argmax(np.cumsum(power[1:].sum(axis=1)) >= 0.5 * power[1:].sum()))  # where most of the motion is
    inside = np.flatnonzero((np.arange(len(f)) > first) & (f < HIGHEST * rate_hz))
    if not len(inside):
        return HIGHEST * rate_hz
    valley = int(inside[np.argmin(mean[inside])])
    noisy = np.flatnonzero(total[1:] > (1 + NOISE) * total[valley + 1])
    return float(f[noisy[0]] if len(noisy) else f[-1])


def top_frequencies(q: Array, rate_hz: float) -> list[float]:
    """Frequencies [Hz] below which 99 % of the power of each signal's derivative lies, noise excluded.

    q (N, signals): the signals.
    """
    from scipy import signal  # here: it takes a second to load

    length = int(min(len(q), max(64, SEGMENT_S * rate_hz)))
    f, power = signal.welch(q, rate_hz, window="hann", nperseg=length, detrend="linear", axis=0)
    return [_top_frequency(f[1:], own, rate_hz) for own in np.ascontiguousarray(power[1:].T)]


def _top_frequency(f: Array, power: Array, rate_hz: float) -> float:
    """Frequency of `top_frequencies` from a power spectrum without its constant part."""
    nyquist = rate_hz / 2
    band = (f > FLOOR_BAND[0] * nyquist) & (f < FLOOR_BAND[1] * nyquist)
    floor = float(np.median(power[band])) if band.any() else 0.0
    # a running mean so that one strong line far up does not count, and one gap between harmonics does not end the band
    width = max(1, round(0.5 / f[0])) if len(f) else 1
    smooth = np.convolve(power, np.ones(width) / width, mode="same")
    noisy = np.flatnonzero(smooth <= ABOVE_FLOOR * floor)
    end = int(noisy[0]) if len(noisy) else len(f)
    end = max(end, 1)
    energy = np.cumsum(f[:end] ** 2 * power[:end])
    return float(f[min(int(np.searchsorted(energy, SHARE * energy[-1])), end - 1)])
