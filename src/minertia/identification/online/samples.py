"""Residuals without accelerations from samples, one by one as in a controller, or for a whole log.

The same causal low-pass filters positions and efforts; velocities are five-point differences delayed by two
samples. Both sides of tau = d/dt p + c are filtered by F = w / (s + w), by the trapezoidal rule, which turns
the derivative into w (p - F p); so are the columns of a payload.  The C code of `codegen/targets/watch.py`
does the same, statement by statement.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from minertia.codegen.compiled import compile, program
from minertia.codegen.options import CodeModel
from minertia.codegen.watch_rules import HALF
from minertia.identification.online.levels import Blocks, WatchLevels
from minertia.io.arrays import Array
from minertia.io.errors import ShapeError
from minertia.robot.robot import Robot

Block = tuple[Array, Array, NDArray[np.bool_]]  # e, Y, valid
LATE = 2  # samples by which five-point differences are late


@dataclass(frozen=True)
class WatchedRobot:
    """Terms of one robot for monitoring: functions of states and efforts, samples first."""

    robot: Robot

    @cached_property
    def terms(self) -> Any:
        """Compiled function from q, qd, tau (N, n) to p, p_rate (N, n), Yp and Yc (N, n, 10)."""
        return compile(program(self.robot, "watch_terms", model=CodeModel(temperature=False)))

    def signals(self, q: Array, qd: Array, tau: Array, gain: float) -> tuple[Array, Array]:
        """Inputs of the filter (N, n, 11), residual first, and terms to be subtracted from its output."""
        p, rate, Yp, Yc = (np.asarray(part) for part in self.terms(q, qd, tau))
        after = gain * np.concatenate([p[..., None], Yp], axis=2)
        inner = np.concatenate([rate[..., None], -Yc], axis=2)
        return inner + after, after


def low_pass_section(levels: WatchLevels) -> tuple[Array, Array]:
    """Coefficients b, a of the causal second-order Butterworth low-pass."""
    b, a = signal.butter(2, levels.options.cutoff_hz, fs=levels.rate)
    return np.asarray(b), np.asarray(a)


def trapezoid(levels: WatchLevels) -> tuple[float, float]:
    """Coefficients b, a of y_k = b (x_k + x_(k-1)) + a y_(k-1): w / (s + w) by the trapezoidal rule."""
    wh = levels.options.gain / levels.rate
    return wh / (2 + wh), (2 - wh) / (2 + wh)


class SampleStage:
    """Sample-by-sample processing that returns the block means when a block is full."""

    def __init__(self, watched: WatchedRobot, levels: WatchLevels) -> None:
        self.watched, self.levels = watched, levels
        n = watched.robot.n
        self.b, self.a = low_pass_section(levels)
        self.share, self.past = trapezoid(levels)
        self.memory: Array | None = None  # of the low-pass, (2, signals)
        self.window: list[Array] = []
        self.held: Array | None = None  # of the filter of first order, (n, 11)
        self.slides, self.count, self.filled = np.zeros(n, int), 0, 0
        self.sums, self.counts = np.zeros((n, 11)), np.zeros(n, int)

    def step(self, q: Array, tau: Array, qd: Array | None = None) -> Block | None:
        """Process one sample; returns (e, Y, valid) at the end of a block, else None."""
        state = self._differentiated(self._smooth(self._signals(q, tau, qd)))
        if state is None:
            return None
        e, Y = self._filtered(*state)
        return self._averaged(e, Y, np.abs(state[1]) > np.array(self.levels.slow))

    def _signals(self, q: Array, tau: Array, qd: Array | None) -> Array:
        if (qd is not None) != self.levels.options.velocities:
            raise ShapeError("samples must contain velocities if and only if the option 'velocities' is set")
        return np.concatenate([q, tau] if qd is None else [q, tau, qd])

    def _smooth(self, x: Array) -> Array:
        if self.memory is None:  # as if the first sample had lasted
            zi = signal.lfilter_zi(self.b, self.a)
            self.memory = np.outer(zi, x)
        y = self.b[0] * x + self.memory[0]
        first = self.b[1] * x - self.a[1] * y + self.memory[1]
        self.memory = np.array([first, self.b[2] * x - self.a[2] * y])
        return np.asarray(y)

    def _differentiated(self, x: Array) -> tuple[Array, Array, Array] | None:
        n = self.watched.robot.n
        if self.levels.options.velocities:
            return x[:n], x[2 * n :], x[n : 2 * n]
        self.window = [*self.window[-4:], x]
        if len(self.window) < 2 * LATE + 1:
            return None
        far, near = self.window[4] - self.window[0], self.window[3] - self.window[1]
        qd = (8 * near[:n] - far[:n]) * (self.levels.rate / 12)
        return self.window[LATE][:n], qd, self.window[LATE][n:]

    def _filtered(self, q: Array, qd: Array, tau: Array) -> tuple[Array, Array]:
        x, after = self.watched.signals(q[None], qd[None], tau[None], self.levels.options.gain)
        if self.held is None:
            self.held = (1 - self.share) * x[0]  # settled at the first sample
        y = self.share * x[0] + self.held
        self.held = self.share * x[0] + self.past * y
        return y[:, 0] - after[0, :, 0], after[0, :, 1:] - y[:, 1:]

    def _averaged(self, e: Array, Y: Array, slides: NDArray[np.bool_]) -> Block | None:
        self.slides = np.where(slides, self.slides + 1, 0)
        counts = self.slides > self.levels.settling
        self.sums[counts] += np.column_stack([e, Y])[counts]
        self.counts += counts
        self.filled += 1
        if self.filled < self.levels.samples:
            return None
        means = self.sums / np.maximum(self.counts, 1)[:, None]
        valid = self.counts >= HALF * self.levels.samples
        self.sums, self.counts, self.filled = np.zeros_like(self.sums), np.zeros_like(self.counts), 0
        return means[:, 0], means[:, 1:], valid


def filtered_motion(
    levels: WatchLevels, q: Array, tau: Array, qd: Array | None = None
) -> tuple[Array, Array, Array, int]:
    """Filtered q, qd, tau of a whole log, and the index of the log sample to which their first row belongs.

    Shape (N - 4, n); (N, n) if velocities qd are given.
    """
    b, a = low_pass_section(levels)
    given = np.concatenate([q, tau] if qd is None else [q, tau, qd], axis=1)
    start = signal.lfilter_zi(b, a)[:, None] * given[:1]
    x = np.asarray(signal.lfilter(b, a, given, axis=0, zi=start)[0])
    n = q.shape[1]
    if qd is not None:
        return x[:, :n], x[:, 2 * n :], x[:, n : 2 * n], 0
    far, near = x[4:, :n] - x[:-4, :n], x[3:-1, :n] - x[1:-3, :n]
    velocity = (8 * near - far) * (levels.rate / 12)
    return x[LATE:-LATE, :n], velocity, x[LATE:-LATE, n:], 2 * LATE


def blocks_of_log(
    watched: WatchedRobot, levels: WatchLevels, t: Array, q: Array, tau: Array, qd: Array | None = None
) -> Blocks:
    """Blocks of a whole log, vectorised; the same as those of `SampleStage`."""
    q, qd, tau, first = filtered_motion(levels, q, tau, qd)
    x, after = watched.signals(q, qd, tau, levels.options.gain)
    share, past = trapezoid(levels)
    start = ((1 - share) * x[0])[None]
    y = np.asarray(signal.lfilter([share, share], [1.0, -past], x, axis=0, zi=start)[0])
    both = np.concatenate([y[:, :, :1] - after[:, :, :1], after[:, :, 1:] - y[:, :, 1:]], axis=2)
    counts = _running(np.abs(qd) > np.array(levels.slow)) > levels.settling
    size, whole = levels.samples, len(both) // levels.samples
    shape = (whole, size, *counts.shape[1:])
    kept = counts[: whole * size].reshape(shape)
    sums = np.where(kept[..., None], both[: whole * size].reshape(*shape, 11), 0.0).sum(axis=1)
    number = kept.sum(axis=1)
    means = sums / np.maximum(number, 1)[..., None]
    ends = first + size * np.arange(1, whole + 1) - 1
    return Blocks(t[ends], means[..., 0], means[..., 1:], number >= HALF * size)


def _running(flags: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Length of the run of true flags that ends at each sample."""
    index = np.arange(1, len(flags) + 1)[:, None]
    last = np.maximum.accumulate(np.where(flags, 0, index), axis=0)
    return np.asarray(index - last)
