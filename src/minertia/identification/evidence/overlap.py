"""Independence of a validation log: rows shared with a fitted log, noise copied from it, or the same motion.

Measured efforts never repeat to the last digit, so equal rows are copies however a log was cut.  Rounded,
decimated or time-shifted rows are no longer equal, but they contain the noise of the fitted log, which a
repeated run does not reproduce: the difference of two runs contains the noise of both, the difference
from a copy contains none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from minertia.identification.evidence.log_noise import white_density
from minertia.identification.evidence.thresholds import COPIED, SAME_MOTION
from minertia.identification.logs.recording import Recording
from minertia.identification.signals.filtering import Motion

Array = NDArray[np.float64]
Prints = NDArray[np.uint64]
THINNEST = 10  # rows of the fitted log for one of the copy
WINDOW, WINDOWS = 8192, 4  # rows that are looked for together, and how often
LONGEST = 200_000  # rows of the fitted log in which they are looked for
BLOCK = 160  # rows, at least, of which noise can be compared
CLIPPED = 4.0  # usual sizes: steps of friction must not decide where noise agrees
PACE = 50.0  # Hz at which motions are compared


def row_prints(q: Array, tau: Array) -> Prints:
    """Hashes of the distinct rows of positions and efforts, equal for equal rows."""
    rows = np.ascontiguousarray(np.hstack([q, tau]) + 0.0).view(np.uint64)  # + 0.0: no negative zeros
    factors = np.random.default_rng(0).integers(1, 2**63, rows.shape[1], dtype=np.uint64) | np.uint64(1)
    with np.errstate(over="ignore"):
        mixed = rows ^ (rows >> np.uint64(29))
        return np.unique((mixed * factors).sum(axis=1, dtype=np.uint64))


def shared_part(prints: Prints, fitted: Prints) -> float:
    """Fraction of a log's rows that also occur in a fitted log."""
    return float(np.isin(prints, fitted).mean()) if len(prints) else 0.0


def copied_part(log: Recording | Motion, fitted: Recording | Motion) -> float:
    """Fraction of a log whose noise is copied from a fitted log; robust to changed stamps, rounding and rate."""
    own, theirs = _efforts(log), _efforts(fitted)[:LONGEST]
    if min(len(own), len(theirs)) < BLOCK or own.shape[1] != theirs.shape[1]:
        return 0.0
    times = _rate(fitted) / _rate(log)
    if times < 0.75:  # the copy has more rows: thin it instead
        own, times = own[:: max(round(1 / times), 1)], 1.0
    step = max(round(times), 1)
    if step > THINNEST or len(own) < BLOCK:
        return 0.0
    starts = np.unique(np.linspace(0, max(len(own) - WINDOW, 0), WINDOWS).astype(int))
    noise = _noise_of_both(log, fitted)
    length = min(WINDOW, len(own))
    thinned = [_Sought.of(theirs[phase::step], length) for phase in range(step)]
    parts = [_copied(own[a : a + length], thinned, noise) for a in starts]
    return float(np.mean(parts))


def _efforts(log: Recording | Motion) -> Array:
    assert log.tau is not None  # others are not fitted
    return log.tau


def _rate(log: Recording | Motion) -> float:
    """Sampling rate [Hz] of a log."""
    return (len(log) - 1) / max(float(log.t[-1] - log.t[0]), 1e-9)


def _copied(window: Array, fitted: Sequence[_Sought], noise: Array) -> float:
    """Fraction of a window whose noise equals that of a fitted log, thinned at any phase, at any offset."""
    _, lag, thinned = max((one.aligned(window) for one in fitted), key=lambda found: found[0])
    first, last = max(-lag, 0), min(len(window), len(thinned) - lag)
    if last - first < BLOCK:
        return 0.0
    a, b = window[first:last], thinned[first + lag : last + lag]
    count = max((last - first) // BLOCK, 1)
    blocks = zip(np.array_split(a, min(count, 8)), np.array_split(b, min(count, 8)), strict=True)
    alike = np.mean([_is_copy(x, y, noise) for x, y in blocks])
    return float(alike) * (last - first) / len(window)


@dataclass(frozen=True)
class _Sought:
    """Efforts of a log in which windows of another one are looked for, and the transform of their noise."""

    tau: Array
    size: int
    transform: Array

    @classmethod
    def of(cls, tau: Array, window: int) -> _Sought:
        """For windows of so many rows."""
        size = int(fft.next_fast_len(window + len(tau), real=True))
        return cls(tau, size, np.asarray(fft.rfft(_rough(tau), size, axis=0)))

    def aligned(self, window: Array) -> tuple[float, int, Array]:
        """Maximum cross-correlation of the noise of a window and of this log, its shift in rows, and this log."""
        spectrum = np.conj(fft.rfft(_rough(window), self.size, axis=0)) * self.transform
        found = fft.irfft(np.sum(spectrum, axis=1), self.size)
        at = int(np.argmax(found))
        return float(found[at]), at if at < len(self.tau) else at - self.size, self.tau


def _rough(tau: Array) -> Array:
    """Second differences of each column, normalised by their median magnitude and clipped."""
    rest = np.zeros_like(tau)
    rest[1:-1] = tau[2:] - 2 * tau[1:-1] + tau[:-2]
    usual = np.median(np.abs(rest), axis=0)
    usual = np.where(usual > 0, usual, np.abs(rest).mean(axis=0))
    return np.asarray(np.clip(np.divide(rest, usual, out=np.zeros_like(rest), where=usual > 0), -CLIPPED, CLIPPED))


def _is_copy(a: Array, b: Array, noise: Array) -> bool:
    """Whether, at most joints, the difference of two segments has far less noise than that of independent logs.

    A segment in which a log is quieter than elsewhere, as at standstill, is compared with its own noise.
    """
    found = white_density(np.hstack([a - b, a, b]), 1.0, 0.0)
    if found is None:
        return False
    rest, *each = np.split(found, 3)
    level = np.min([noise, *each], axis=0)
    seen = level > 0
    return bool(seen.any() and 2 * np.sum(rest[seen] < COPIED * 2 * level[seen]) >= seen.sum())


def _noise_of_both(log: Recording | Motion, fitted: Recording | Motion) -> Array:
    """Noise power of each effort per row, from the log with less noise; decimation does not change it.

    It is estimated at the sampling rate of the log, above repeatable content such as vibration.
    """
    each = [white_density(_efforts(rows)[:LONGEST], 1.0, 0.0) for rows in (log, fitted)]
    return np.asarray(np.min([found for found in each if found is not None], axis=0))


def moves_alike(log: Recording | Motion, fitted: Recording | Motion) -> bool:
    """Whether a log repeats the motion of a fitted one, from any time on."""
    if log.q.shape[1] != fitted.q.shape[1]:
        return False
    a, b = (_paced(rows)[:WINDOW] for rows in (log, fitted))
    if min(len(a), len(b)) < BLOCK:
        return False
    middle, size = a.mean(axis=0), np.std(a, axis=0)
    moving = size > 0
    if not moving.any():
        return False
    a, b = ((x[:, moving] - middle[moving]) / size[moving] for x in (a, b))
    n = int(fft.next_fast_len(len(a) + len(b), real=True))
    cross = fft.irfft(np.sum(np.conj(fft.rfft(a, n, axis=0)) * fft.rfft(b, n, axis=0), axis=1), n)
    ends = [np.concatenate([[0.0], np.cumsum(np.sum(x**2, axis=1))]) for x in (a, b)]
    lags = np.arange(-len(a) // 2, len(b) - len(a) // 2)  # at least half of the log lies in the other one
    first, last = np.maximum(-lags, 0), np.minimum(len(a), len(b) - lags)
    rows = last - first
    squares = ends[0][last] - ends[0][first] + ends[1][last + lags] - ends[1][first + lags] - 2 * cross[lags % n]
    is_long = rows >= max(len(a) // 2, BLOCK)
    if not is_long.any():
        return False
    return bool(np.min(squares[is_long] / rows[is_long]) < SAME_MOTION * a.shape[1])


def _paced(rows: Recording | Motion) -> Array:
    t = np.arange(rows.t[0], rows.t[-1], 1 / PACE)
    return np.column_stack([np.interp(t, rows.t, column) for column in rows.q.T])
