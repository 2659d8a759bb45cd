"""Zero-phase filters, differentiation and decimation: from blocks of a recording to blocks of a `Motion`.

Positions pass a zero-phase Butterworth low-pass and are differentiated.  Then both sides of the equation, the
regressor columns and the efforts, pass the same linear-phase filter and are decimated (the parallel filter),
so that noise above the motion's frequencies is removed from both sides equally.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from minertia.codegen.kernels import build
from minertia.identification.logs.recording import (
    Recording,
    check_finite,
    even_rate,
    expect_recording,
    freeze,
    frozen_array,
    joined,
    with_last,
)
from minertia.identification.signals.options import Evaluation, Filter
from minertia.identification.signals.spectrum import chosen_cutoff
from minertia.io.arrays import Array
from minertia.io.errors import FilterError, RecordingError
from minertia.io.notebook import clipped, plural

SETTLED = 9.0  # periods of the cut-off after which a 4th-order Butterworth has forgotten an edge (to 1e-9)
EDGE = 1.5  # periods of the cut-off dropped at each end when no time is given
PADDING = 3.0  # periods of the cut-off by which signals are continued beyond their ends
PARALLEL = 0.4  # cut-off of the parallel filter over the rate after decimation when none is given
PARALLEL_EDGE = 4.5  # periods of its cut-off that the parallel filter drops at each end
OVERSAMPLING = 5.0  # rate after decimation, in cut-offs, when none is given
STOPBAND = 7.0  # Kaiser window: 70 dB
LOWEST = 1e-6  # cut-off over the rate below which a Butterworth filter runs out of digits


def resolved(plan: Filter, recording: Recording) -> Filter:
    """Filter with every unspecified setting chosen for this recording, and checked against its sampling rate."""
    if plan.equations != "torque" and plan.on == "signals":
        raise FilterError(
            f"{plan.equations} equations are differentiated at the rate of the log, so the filter must act "
            'on the equations; set on = "equation", or use torque equations'
        )
    rate = even_rate(recording)
    cutoff = plan.cutoff_hz
    if cutoff is None:
        cutoff = chosen_cutoff(recording.q, rate)
    _below_nyquist(cutoff, rate, "the cut-off")
    out = min(plan.rate_hz or OVERSAMPLING * cutoff, rate)
    parallel = plan.parallel_hz or PARALLEL * rate / max(1, round(rate / out))
    _below_nyquist(parallel, rate, "the cut-off of the parallel filter")
    trim = EDGE / cutoff if plan.trim_s is None else plan.trim_s
    return replace(plan, cutoff_hz=cutoff, rate_hz=out, parallel_hz=parallel, trim_s=trim)


SIGNALS = ("t", "q", "qd", "qdd", "tau")


@dataclass(frozen=True)
class Motion:
    """Block of samples (N,) and (N, n) with velocities and accelerations, from which a regressor is computed.

    rate_hz: sampling rate of these samples.  filter: resolved filter that was applied, None for a motion given as
    is.  keep: samples retained after the parallel filter, as start, stop and step, all by default; `decimated`
    applies it.  channels: other logged signals, filtered like positions.  direction: sign of the velocities at
    the rate of the log, passed through the low-pass of the efforts (on = "signals"), so that dry-friction columns
    are filtered like the efforts; None if it was not requested.  instants: times at which the efforts of an
    evaluated block are compared [s]; None in a fitted block.  projection (N, efforts, efforts): removes unmeasured
    contact forces, already applied to `tau`; None where there are none.  noise (efforts,): noise levels for which the
    projection is made; None without one.
    """

    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    rate_hz: float = 0.0
    filter: Filter | None = None
    keep: tuple[int, int, int] = (0, 0, 0)
    source: str = ""
    channels: Mapping[str, Array] = field(default_factory=dict)
    direction: Array | None = None
    instants: Array | None = None
    projection: Array | None = None
    noise: Array | None = None

    def __post_init__(self) -> None:
        for name in (*SIGNALS, "direction", "instants", "projection", "noise"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen_array(getattr(self, name)))
        object.__setattr__(self, "channels", {name: frozen_array(v) for name, v in self.channels.items()})
        if not self.keep[2]:
            object.__setattr__(self, "keep", (0, len(self.t), 1))

    @classmethod
    def of(cls, given: Any) -> Motion:
        """Convert an object with the arrays t, q, qd, qdd and tau to a motion."""
        if isinstance(given, cls):
            return given
        t, q, qd, qdd, tau = (getattr(given, name) for name in SIGNALS)
        return cls(t, q, qd, qdd, tau, channels=getattr(given, "channels", {}))

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        name = f" '{clipped(Path(self.source).name, 50)}'" if self.source else ""
        filtered = "" if self.filter is None else f", cut-off {self.filter.cutoff_hz or 0:.4g} Hz"
        return (
            f"<Motion{name}: {plural(len(self), 'sample')} of {plural(self.q.shape[1], 'joint')} at {self.rate_hz:.4g} "
            f"Hz{filtered}; {self.kept} kept>"
        )

    @property
    def kept(self) -> int:
        """Number of samples after `decimated`."""
        return len(range(*self.keep))

    def select(self, rows: slice) -> Motion:
        """Motion of a range of samples, all of which are retained."""
        arrays = {name: getattr(self, name)[rows] for name in SIGNALS}
        channels = {name: values[rows] for name, values in self.channels.items()}
        projection = None if self.projection is None else self.projection[rows]
        return replace(self, **arrays, channels=channels, keep=(0, 0, 0), projection=projection)  # type: ignore[arg-type]

    def followed_by(self, other: Motion) -> Motion:
        """Join this block with the next one; all of its samples are retained."""
        arrays = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in SIGNALS}
        channels = {name: np.concatenate([v, other.channels[name]]) for name, v in self.channels.items()}
        return replace(self, **arrays, channels=channels, keep=(0, 0, 0))  # type: ignore[arg-type]


def prepared(recording: Recording, filter: Filter | None = None, *, edges: bool = False) -> Motion:
    """Filter and differentiate a recording; edges: keep the ends, which the filter distorts."""
    expect_recording(recording)
    plan, rate = resolved(filter or Filter(), recording), even_rate(recording)
    refuse_short(recording, plan, rate, edges=edges)
    (motion,) = prepared_blocks([recording], plan, edges=edges, rate_hz=rate)
    return motion


def prepared_with_edges(recording: Recording, plan: Filter) -> tuple[Motion, Motion]:
    """`prepared` without and with its edges, on the same filtered samples; plan: resolved."""
    rate = even_rate(recording)
    refuse_short(recording, plan, rate)
    passes = [_FilterPass.started(plan, rate, edges=edges) for edges in (False, True)]
    check_finite(recording)
    filtered = signals(recording, plan, rate)
    motion, whole = (one.block(recording, filtered, one.end(len(recording), True), True) for one in passes)
    return motion, whole


def filtered_efforts(recording: Recording, plan: Filter, tau: Array) -> Array:
    """Efforts (N, columns) at the samples of a recording, filtered as for its motion; plan: resolved."""
    rate = even_rate(recording)
    one = _FilterPass.started(plan, rate, edges=False)
    if plan.on == "signals":
        assert plan.cutoff_hz is not None
        tau = low_pass(tau, plan.cutoff_hz, rate, plan.order)
    return tau[one.rows(one.end(len(recording), True), True)]


def refuse_short(recording: Recording, plan: Filter, rate: float, *, edges: bool = False) -> None:
    """Raise an error for a recording that is too short for the filter."""
    dropped = 0 if edges else sum(dropped_ends(plan, rate))
    if len(recording) - 2 * dropped < 2 * thinning(plan, rate):
        raise FilterError(
            f"{recording.source or 'the recording'} is too short: of {recording.duration:.3g} s the filter at "
            f"{plan.cutoff_hz:g} Hz drops {dropped / rate:.3g} s at each end; use a longer log"
        )


def prepared_blocks(
    blocks: Iterable[Recording],
    filter: Filter | None = None,
    *,
    edges: bool = False,
    rate_hz: float | None = None,
    standing: float | None = None,
) -> Iterator[Motion]:
    """Filter consecutive blocks of one log; each retained sample of the whole log is returned exactly once.

    Unspecified settings of the filter are chosen from the first block; if rate_hz, the rate of the whole log,
    is given, the filter must be resolved.  edges: retain the ends, and add no samples around the retained
    ones.  standing [rad/s or m/s]: compute `Motion.direction`, with 0 for joints below this speed.  A log in
    one block gives one motion; the motions of several blocks agree with it to about 1e-9 of the signals.
    """
    stream: _FilterPass | None = None
    for block, is_last in with_last(blocks):
        if stream is None:
            plan = filter or Filter()
            plan, rate = (resolved(plan, block), even_rate(block)) if rate_hz is None else (plan, rate_hz)
            stream = _FilterPass.started(plan, rate, edges=edges, standing=standing)
        motion = stream.motion(block, is_last)
        if motion is not None:
            yield motion
    if stream is None:
        raise FilterError("there are no samples to filter")


@dataclass
class _FilterPass:
    """State of the filtering of a log block by block; indices count the samples of the log from 0.

    halo: samples after which the filter's edge transient has decayed.  half: samples needed on each side of the
    retained ones.  trim, ends: samples dropped at each end of the log, and further ones that have no row of their own.
    """

    plan: Filter
    rate: float
    halo: int
    half: int
    trim: int
    ends: int
    next: int
    standing: float | None
    tail: Recording | None = None
    offset: int = 0

    @classmethod
    def started(cls, plan: Filter, rate: float, *, edges: bool, standing: float | None = None) -> _FilterPass:
        assert plan.cutoff_hz is not None
        halo = math.ceil(SETTLED * rate / plan.cutoff_hz) + plan.window
        half = 0 if edges else half_length(plan, rate)
        trim, ends = (0, 0) if edges else dropped_ends(plan, rate)
        return cls(plan, rate, halo, half, trim, ends, trim + ends, standing)

    def motion(self, block: Recording, is_last: bool) -> Motion | None:
        """Retained samples that become available with this block; None if there are none."""
        buffer = block if self.tail is None else joined([self.tail, block])
        end, found = self.end(self.offset + len(buffer), is_last), None
        if end > self.next:
            check_finite(buffer)
            even_rate(buffer)
            found = self.block(buffer, signals(buffer, self.plan, self.rate), end, is_last)
            self.next = end
        first = max(self.next - self.half - self.halo, self.offset)
        self.tail, self.offset = buffer.select(slice(first - self.offset, None)), first
        return found

    def end(self, count: int, is_last: bool) -> int:
        """Index before which all retained samples are available, once `count` samples have been read."""
        if is_last:
            return count - self.trim - self.ends
        ready, step = count - self.halo - self.half - self.next, thinning(self.plan, self.rate)
        return self.next + ready // step * step

    def block(self, buffer: Recording, filtered: Sequence[Array], end: int, is_last: bool) -> Motion:
        """Retained samples from `next` to before `end`, with the neighbours that the parallel filter needs."""
        rows, rate, step = self.rows(end, is_last), self.rate, thinning(self.plan, self.rate)
        first = self.next - self.offset - rows.start
        keep = (first, first + end - self.next, step)
        if self.plan.on == "signals":
            rate, keep = rate / step, (0, 0, 0)
        q, qd, qdd, tau = (a[rows] for a in filtered)
        channels = channel_signals(buffer, self.plan, self.rate, rows)
        direction = None if self.standing is None else self._direction(filtered[1])[rows]
        return Motion(buffer.t[rows], q, qd, qdd, tau, rate, self.plan, keep, buffer.source, channels, direction)

    def rows(self, end: int, is_last: bool) -> slice:
        """Samples of the buffer that the block from `next` to before `end` is made of."""
        step = thinning(self.plan, self.rate) if self.plan.on == "signals" else 1
        first = max(self.next - self.half, self.trim)
        stop = end + min(self.half, self.ends) if is_last else end + self.half
        return slice(first - self.offset, stop - self.offset, step)

    def _direction(self, qd: Array) -> Array:
        """Signs of the velocities (N, n), filtered as the efforts are."""
        assert self.plan.cutoff_hz is not None and self.standing is not None
        return low_pass(np.sign(qd) * (np.abs(qd) >= self.standing), self.plan.cutoff_hz, self.rate, self.plan.order)


def decimated(motion: Motion, *arrays: Array) -> tuple[Array, ...]:
    """Filter arrays with one entry per sample of the motion, and return the retained samples."""
    return tuple(_parallel(motion, array) for array in arrays)


def low_pass(x: Array, cutoff_hz: float, rate_hz: float, order: int = 4) -> Array:
    """Zero-phase Butterworth along the first axis, run forwards and backwards, with odd extension at the ends."""
    _below_nyquist(cutoff_hz, rate_hz, "the cut-off")
    if cutoff_hz < LOWEST * rate_hz:
        raise FilterError(
            f"the cut-off of {cutoff_hz:g} Hz is too low for a rate of {rate_hz:g} Hz; choose at least "
            f"{LOWEST * rate_hz:g} Hz"
        )
    sos, start = _butterworth(order, cutoff_hz, rate_hz)
    padding = min(len(x) - 1, max(3 * (2 * len(sos) + 1), math.ceil(PADDING * rate_hz / cutoff_hz)))
    both_ways = getattr(build.native(), "both_ways", None)  # four times as fast as SciPy's
    if both_ways is None or x.ndim != 2 or len(x) < 2:
        from scipy import signal

        return np.asarray(signal.sosfiltfilt(sos, x, axis=0, padtype="odd", padlen=max(padding, 0)))
    y = np.empty((len(x) + 2 * padding, x.shape[1]))
    y[:padding] = 2 * x[0] - x[padding:0:-1]
    y[padding : padding + len(x)] = x
    y[padding + len(x) :] = 2 * x[-1] - x[-2 : -2 - padding : -1]
    both_ways(sos, start, y)
    return y[padding : padding + len(x)]


@lru_cache(maxsize=64)
def _butterworth(order: int, cutoff_hz: float, rate_hz: float) -> tuple[Array, Array]:
    """Second-order sections of a low-pass and their steady state, cached because the design is slow."""
    from scipy import signal  # here: it takes a second to load, which commands without logs save

    sos = np.asarray(signal.butter(order, cutoff_hz, fs=rate_hz, output="sos"))
    return sos, np.ascontiguousarray(signal.sosfilt_zi(sos))


# ---------------------------------------------------------------------- derivatives

REACH = 2  # samples on each side that `rate_of_change` needs


def rate_of_change(x: Array, rate_hz: float) -> Array:
    """Five-point derivative along the first axis."""
    return _central5(x, 1 / rate_hz, Filter())


def _central(x: Array, T: float, plan: Filter) -> Array:
    d = np.empty_like(x)
    np.subtract(x[2:], x[:-2], out=d[1:-1])
    d[1:-1] /= 2 * T
    d[0], d[-1] = (x[1] - x[0]) / T, (x[-1] - x[-2]) / T
    return d


def _central5(x: Array, T: float, plan: Filter) -> Array:
    d = _central(x, T, plan)
    d[2:-2] = (x[:-4] - 8 * x[1:-3] + 8 * x[3:-1] - x[4:]) / (12 * T)
    return d


def _parabola(x: Array, T: float, plan: Filter) -> Array:
    from scipy import signal  # here: it takes a second to load

    return np.asarray(signal.savgol_filter(x, 5, 2, deriv=1, delta=T, axis=0))


def _savgol(x: Array, T: float, plan: Filter) -> Array:
    from scipy import signal  # here: it takes a second to load

    return np.asarray(signal.savgol_filter(x, plan.window, plan.degree, deriv=1, delta=T, axis=0))


# name -> first derivative along the first axis, applied twice for accelerations
DERIVATIVES: dict[str, Callable[[Array, float, Filter], Array]] = {
    "central": _central,
    "central5": _central5,
    "parabola": _parabola,
    "savgol": _savgol,
}


def signals(recording: Recording, plan: Filter, rate: float) -> tuple[Array, Array, Array, Array]:
    """Filtered q, qd, qdd and tau of all samples, for a resolved filter."""
    needed = plan.window if plan.derivative == "savgol" else 5
    if len(recording) < needed:
        raise FilterError(f"the recording has {len(recording)} samples; the derivative needs {needed}")
    assert plan.cutoff_hz is not None
    q = low_pass(recording.q, plan.cutoff_hz, rate, plan.order)
    if plan.derivative == "logged":
        if recording.qd is None:
            raise RecordingError(
                "the log has no velocities to use; choose another derivative", file=recording.source or None
            )
        qd = low_pass(recording.qd, plan.cutoff_hz, rate, plan.order)
        qdd = _central5(qd, 1 / rate, plan)
    else:
        derivative = DERIVATIVES[plan.derivative]
        qd = derivative(q, 1 / rate, plan)
        qdd = derivative(qd, 1 / rate, plan)
    tau = recording.every_effort()
    if plan.on == "signals":
        tau = low_pass(tau, plan.cutoff_hz, rate, plan.order)
    for array in (q, qd, qdd, tau):
        freeze(array)  # so that parts of them need not be copied
    return q, qd, qdd, tau


def channel_signals(recording: Recording, plan: Filter, rate: float, rows: slice) -> dict[str, Array]:
    """Other logged signals of a range of samples, filtered like positions."""
    assert plan.cutoff_hz is not None
    return {name: low_pass(v, plan.cutoff_hz, rate, plan.order)[rows] for name, v in recording.channels.items()}


def _below_nyquist(cutoff: float, rate: float, what: str) -> None:
    if cutoff >= rate / 2:
        raise FilterError(
            f"{what} of {cutoff:g} Hz is above the Nyquist frequency of {rate / 2:g} Hz, half the rate of {rate:g} Hz"
        )


# ---------------------------------------------------------------------- the parallel filter

BLOCK = 12  # outputs of the parallel filter computed by one product: more multiply more zeros, fewer call more often


def thinning(plan: Filter, rate: float) -> int:
    """Decimation factor."""
    return max(1, round(rate / (plan.rate_hz or rate)))


def half_length(plan: Filter, rate: float) -> int:
    """Half length of the linear-phase filter in samples, 0 without one."""
    if plan.on == "signals" or thinning(plan, rate) == 1:
        return 0
    assert plan.parallel_hz is not None
    return math.ceil(PARALLEL_EDGE * rate / plan.parallel_hz)


def dropped_ends(plan: Filter, rate: float) -> tuple[int, int]:
    """Samples that the low-pass discards at each end of a log, and those that the parallel filter discards there."""
    half = half_length(plan, rate)
    whole = plan.parallel_trim_s is None or plan.equations != "torque"  # a derivative needs neighbours
    own = half if whole else min(math.ceil((plan.parallel_trim_s or 0.0) * rate), half)
    return math.ceil((plan.trim_s or 0.0) * rate), own


def _parallel(motion: Motion, x: Array) -> Array:
    start, stop, step = motion.keep
    if len(x) != len(motion):
        raise FilterError(f"the array has {len(x)} rows, but the motion has {len(motion)} samples")
    if step == 1:
        return np.asarray(x[start:stop])
    assert motion.filter is not None  # a motion without a filter keeps every sample
    half = half_length(motion.filter, motion.rate_hz)
    assert motion.filter.parallel_hz is not None
    taps = _taps(half, motion.filter.parallel_hz, motion.rate_hz)
    flat, count = x.reshape(len(x), -1), len(range(start, stop, step))
    before, after = max(half - start, 0), max(half - (len(x) - stop), 0)
    first, last = start + before - half, stop + before + half
    if not before and not after:
        y = _every(step, taps, flat[first:last], count)
    else:  # near the ends of a log, a mean over the samples that there are
        padded = np.pad(np.column_stack([flat, np.ones(len(x))]), ((before, after), (0, 0)))
        y = _every(step, taps, padded[first:last], count)
        y = y[:, :-1] / y[:, -1:]
    return y.reshape(count, *x.shape[1:])


@lru_cache(maxsize=64)
def _taps(half: int, cutoff_hz: float, rate_hz: float) -> Array:
    """Coefficients of the linear-phase filter, cached because every piece of a log needs the same ones."""
    from scipy import signal  # here: it takes a second to load

    return np.asarray(signal.firwin(2 * half + 1, cutoff_hz, fs=rate_hz, window=("kaiser", STOPBAND)))


def _every(step: int, taps: Array, x: Array, count: int) -> Array:
    """Output of a filter of signals (N, columns) at every step-th sample, as products with one banded matrix."""
    width = (BLOCK - 1) * step + len(taps)
    band = np.zeros((BLOCK, width))
    for row in range(BLOCK):
        band[row, row * step : row * step + len(taps)] = taps
    y = np.empty((count, x.shape[1]))
    for first in range(0, count, BLOCK):
        n = min(BLOCK, count - first)
        used = (n - 1) * step + len(taps)
        y[first : first + n] = band[:n, :used] @ x[first * step : first * step + used]
    return y


# ------------------------------------------------------------------------------------------- how residuals are judged


ORDER = 4


def evaluated_at(times: Array, t: Array, effort: Array, evaluation: Evaluation) -> Array:
    """Uniformly sampled efforts (N, n), passed through the evaluation filter and interpolated at given times."""
    if len(t) < 3:
        raise FilterError(f"{len(t)} samples are too few to evaluate")
    rate = (len(t) - 1) / float(t[-1] - t[0])
    smooth = low_pass(effort, evaluation.cutoff_hz, rate, ORDER)
    return np.column_stack([np.interp(times, t, column) for column in smooth.T])


def evaluation_times(t: Array, evaluation: Evaluation, span: tuple[float, float] | None = None) -> Array:
    """Times [s] at which predicted and measured efforts are compared."""
    first, last = (float(t[0]), float(t[-1])) if span is None else span
    start, stop = first + evaluation.trim_s, last - evaluation.trim_s
    count = int(np.floor((stop - start) * evaluation.rate_hz + 1e-6)) + 1
    times = start + np.arange(max(count, 0)) / evaluation.rate_hz
    times = times[(times >= t[0] - 1e-9) & (times <= t[-1] + 1e-9)]
    if len(times) < 2:
        raise FilterError(
            f"the log of {last - first:.3g} s is too short to evaluate without {evaluation.trim_s:g} s at each end"
        )
    return np.asarray(times)
