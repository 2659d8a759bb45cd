"""Sequential evidence for a step in a stream: e-values that are valid at any time.

The e-value is a mixture of likelihood ratios for steps of unknown size over their possible start days.
Without drift it is a martingale of mean 1, so it exceeds 1/alpha at any time with probability at most alpha
(Ville).  Innovations are clipped, which can only lower its mean, and keeps the bound for tails heavier than
Gaussian.

The innovations come from a Kalman filter whose state holds the baseline, its dependence on temperature, the errors of
the robot's constant values, the day effect and the steps at events.  A new day costs the same after a month and after
years, and the state can be stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from minertia.fleet.day_effects import FLAT, DayEffects
from minertia.fleet.options import DriftOptions
from minertia.fleet.streams import LevelStream
from minertia.io.arrays import Array
from minertia.io.resources import one_thread

HORIZON = DriftOptions().horizon  # days over which the beginning of a step is spread
CLIP = 3.0  # deviations at which an innovation is clipped
STEP = 0.1  # deviation of a step of friction, over its level
LOAD_STEP = 0.005  # of a load, over the moving mass
WIDE = 1e-3  # weight of the usual size of a step where its own is stated
WIDER = 1.5  # by which a stated deviation of a step is widened


@dataclass(frozen=True)
class EProcess:
    """E-process of one stream on its monitored days.

    days (W,): monitored days with logs.  e (W,): e-value of each day.  raw (W,): e-value without clipping,
    for a watch list.  since: first day that the last e-value covers.  posterior (n,): posterior probability
    of each start day of a step, over `starts`.  clipped (n,): the same with clipped innovations, which
    dates gradual changes earlier.  change, deviation (p,): estimated step of the levels and its standard
    deviation.  causes (p,): log likelihood ratio of a step of each level alone.
    """

    days: NDArray[np.int_]
    e: Array
    raw: Array
    since: int
    starts: NDArray[np.int_]
    posterior: Array
    clipped: Array
    change: Array
    deviation: Array
    causes: Array

    @property
    def last(self) -> float:
        """E-value of the last day; 1 without monitored days."""
        return float(self.e[-1]) if len(self.e) else 1.0

    @property
    def last_raw(self) -> float:
        """E-value of the last day without clipping."""
        return float(self.raw[-1]) if len(self.raw) else 1.0

    def span(self, part: float = 0.95) -> tuple[int, int]:
        """Credible interval of the start day of the step."""
        edge = (1 - part) / 2
        first = min(int(np.searchsorted(np.cumsum(p), edge)) for p in (self.posterior, self.clipped))
        last = min(int(np.searchsorted(np.cumsum(self.posterior), 1 - edge)), len(self.starts) - 1)
        return int(self.starts[min(first, last)]), int(self.starts[last])


@dataclass(frozen=True)
class EvidenceState:
    """Evidence of streams with the same days and events, after their last day.

    day: last day; 0 before the first one.  marks: days of the events so far.  x (b, m), P (b, m, m): mean and
    covariance of the filter's state: baseline, temperature slope, day effect, constant values, steps at events.
    starts (n,): days on which a step may have begun.  response (b, m, n p): filter means if a step of unit size began
    on each of them.  A (b, n, p, p), B, raw (b, n, p): sums of the likelihood ratio.  days (W,), e, e_raw (b, W):
    evidence of each monitored day.
    """

    day: int
    marks: tuple[int, ...]
    x: Array
    P: Array
    starts: NDArray[np.int_]
    response: Array
    A: Array
    B: Array
    raw: Array
    days: NDArray[np.int_]
    e: Array
    e_raw: Array

    @classmethod
    def before(cls, streams: Sequence[LevelStream], effects: Sequence[DayEffects]) -> EvidenceState:
        """State before the first day: a flat baseline, and stationary day effects."""
        b, p, c = len(streams), streams[0].y.shape[1], streams[0].J.shape[2]
        P = np.zeros((b, 3 * p + c, 3 * p + c))
        P[:, range(2 * p), range(2 * p)] = FLAT
        P[:, range(2 * p, 3 * p), range(2 * p, 3 * p)] = np.array([own.omega for own in effects]) ** 2
        P[:, 3 * p :, 3 * p :] = [stream.P for stream in streams]
        none, days = np.zeros((b, 0)), np.zeros(0, int)
        return cls(
            0, (), np.zeros((b, 3 * p + c)), P, days, np.zeros((b, 3 * p + c, 0)), np.zeros((b, 0, p, p)),
            np.zeros((b, 0, p)), np.zeros((b, 0, p)), days, none, none,
        )  # fmt: skip

    def process(self, k: int, kappa: float, watched_from: int) -> EProcess:
        """E-process of one of the streams."""
        p = self.B.shape[2]
        if not len(self.starts):
            nothing = np.zeros(p)
            return EProcess(
                self.days, self.e[k], self.e_raw[k], watched_from, self.days, np.zeros(0), np.zeros(0),
                nothing, nothing, nothing,
            )  # fmt: skip
        A, B, raw = self.A[k], self.B[k], self.raw[k]
        posterior, clipped = (_normalised(_log_ratio(A, own)) for own in (raw, B))
        change, deviation, causes = _step(A, B, raw, np.full(p, kappa), posterior)
        return EProcess(
            self.days, self.e[k], self.e_raw[k], int(self.starts[0]), self.starts, posterior, clipped,
            change, deviation, causes,
        )  # fmt: skip


def step_size(stream: LevelStream) -> float:
    """Standard deviation of the steps that are tested for, as a fraction of the level or of the moving mass."""
    return LOAD_STEP if stream.joint is None else STEP


def advanced(
    state: EvidenceState,
    streams: Sequence[LevelStream],
    effects: Sequence[DayEffects],
    watched_from: int,
    events: Sequence[int] = (),
    horizon: int = HORIZON,
) -> EvidenceState:
    """State after the days of the streams that are later than its own; it restarts after the horizon and at events.

    streams: streams of one robot with the same days and number of levels.  effects: their day effects.
    """
    with one_thread():
        found = _StreamFilter(state, streams, effects, horizon)
        for k, day in enumerate(streams[0].days.tolist()):
            if day > state.day:
                found.add(k, int(day), int(day) >= watched_from, events)
        return found.state()


class _StreamFilter:
    """Kalman filter of some streams, day by day; arrays have the stream as first axis."""

    def __init__(
        self, state: EvidenceState, streams: Sequence[LevelStream], effects: Sequence[DayEffects], horizon: int
    ) -> None:
        self.was, self.horizon = state, horizon
        self.day, self.marks = state.day, list(state.marks)
        self.x, self.P, self.response = state.x.copy(), state.P.copy(), state.response.copy()
        self.starts, self.A, self.B, self.raw = state.starts.tolist(), state.A, state.B, state.raw
        self.y = np.stack([s.y for s in streams])
        self.V = np.stack([s.V for s in streams])
        self.J = np.stack([s.J for s in streams])
        self.warm = np.stack([s.warm for s in streams])
        self.b, _, self.p = self.y.shape
        self.phi = np.array([own.phi for own in effects])
        self.omega2 = np.array([own.omega for own in effects]) ** 2
        self.kappa = np.array([step_size(s) for s in streams])
        self.days, self.e, self.e_raw = list[int](), list[Array](), list[Array]()

    def add(self, k: int, day: int, is_watched: bool, events: Sequence[int]) -> None:
        """Process the k-th day of the streams."""
        fresh = [e for e in events if self.day < e <= day] if self.day else [e for e in events if e <= day]
        if self.day:
            self._forget(day - self.day)
        self._widen(fresh)
        H = self._rows(k)
        PH = self.P @ np.swapaxes(H, 1, 2)
        S = H @ PH + self.V[:, k]
        root = _root(S)
        half = _solved(root, np.swapaxes(PH, 1, 2))  # (b, p, m): the gain times the root
        gap = self.y[:, k] - (H @ self.x[:, :, None])[:, :, 0]
        w = _solved(root, gap[:, :, None])[:, :, 0]
        if is_watched:
            self._weigh(H, root, half, w, day, bool(fresh))
        self.x += (w[:, None, :] @ half)[:, 0]
        self.P -= np.swapaxes(half, 1, 2) @ half
        self.day = day

    def _forget(self, gap: int) -> None:
        """Day effects after some days: partly remembered, with new variance."""
        p, factor = self.p, self.phi**gap
        own = slice(2 * p, 3 * p)
        self.x[:, own] *= factor[:, None]
        self.response[:, own] *= factor[:, None, None]
        self.P[:, own] *= factor[:, None, None]
        self.P[:, :, own] *= factor[:, None, None]
        self.P[:, range(2 * p, 3 * p), range(2 * p, 3 * p)] += (1 - factor**2)[:, None] * self.omega2

    def _widen(self, fresh: Sequence[int]) -> None:
        """Add a step of unknown size for each new event."""
        for mark in fresh:
            self.marks.append(mark)
            m, p = self.x.shape[1], self.p
            P = np.zeros((self.b, m + p, m + p))
            P[:, :m, :m] = self.P
            P[:, range(m, m + p), range(m, m + p)] = FLAT
            self.P, self.x = P, np.concatenate([self.x, np.zeros((self.b, p))], axis=1)
            self.response = np.concatenate([self.response, np.zeros((self.b, p, self.response.shape[2]))], axis=1)

    def _rows(self, k: int) -> Array:
        """Levels of a day in terms of the state, (b, p, m)."""
        p = self.p
        H = np.zeros((self.b, p, self.x.shape[1]))
        own = range(p)
        H[:, own, own] = 1.0
        H[:, own, range(p, 2 * p)] = self.warm[:, k, None]
        H[:, own, range(2 * p, 3 * p)] = 1.0
        c = self.J.shape[3]
        H[:, :, 3 * p : 3 * p + c] = self.J[:, k]
        for first in range(3 * p + c, H.shape[2], p):
            H[:, own, range(first, first + p)] = 1.0
        return H

    def _weigh(self, H: Array, root: Array, half: Array, w: Array, day: int, is_event: bool) -> None:
        """Add a monitored day to the evidence for steps that began on it or before."""
        b, p, m = self.b, self.p, self.x.shape[1]
        if len(self.starts) == self.horizon or (is_event and self.starts):
            self.starts, self.response = [], np.zeros((b, m, 0))
            self.A, self.B, self.raw = np.zeros((b, 0, p, p)), np.zeros((b, 0, p)), np.zeros((b, 0, p))
        self.starts.append(day)
        n = len(self.starts)
        self.response = np.concatenate([self.response, np.zeros((b, m, p))], axis=2)
        step = np.tile(np.eye(p), n) * self.kappa[:, None, None]
        sig = _solved(root, step - H @ self.response)  # (b, p, n p)
        self.response = self.response + np.swapaxes(half, 1, 2) @ sig
        own = np.swapaxes(sig.reshape(b, p, n, p), 1, 2)  # (b, n, p, p): days' levels, levels of the step
        turned = np.swapaxes(own, 2, 3)
        new = np.broadcast_to(np.eye(p), (b, 1, p, p))
        none = np.zeros((b, 1, p))
        self.A = np.concatenate([self.A, new], axis=1) + turned @ own
        clipped = np.minimum(np.maximum(w, -CLIP), CLIP)
        self.B = np.concatenate([self.B, none], axis=1) + (turned @ clipped[:, None, :, None])[..., 0]
        self.raw = np.concatenate([self.raw, none], axis=1) + (turned @ w[:, None, :, None])[..., 0]
        self.days.append(day)
        for values, B in ((self.e, self.B), (self.e_raw, self.raw)):
            ratio = np.exp(np.minimum(_log_ratio(self.A, B), 600.0))
            values.append(ratio.sum(axis=1) / self.horizon + (1.0 - n / self.horizon))

    def state(self) -> EvidenceState:
        """State after the last day."""
        e, e_raw = (
            np.concatenate([before, np.reshape(new, (len(new), self.b)).T], axis=1)
            for before, new in ((self.was.e, self.e), (self.was.e_raw, self.e_raw))
        )
        days = np.concatenate([self.was.days, np.array(self.days, int)])
        return replace(
            self.was, day=self.day, marks=tuple(self.marks), x=self.x, P=self.P, starts=np.array(self.starts, int),
            response=self.response, A=self.A, B=self.B, raw=self.raw, days=days, e=e, e_raw=e_raw,
        )  # fmt: skip


def _root(S: Array) -> Array:
    """Lower Cholesky factors of covariances (b, p, p), p = 1 or 2."""
    root = np.zeros_like(S)
    root[:, 0, 0] = np.sqrt(S[:, 0, 0])
    if S.shape[1] == 2:
        root[:, 1, 0] = S[:, 1, 0] / root[:, 0, 0]
        root[:, 1, 1] = np.sqrt(S[:, 1, 1] - root[:, 1, 0] ** 2)
    return root


def _solved(root: Array, right: Array) -> Array:
    """root^-1 right for lower triangular roots (b, p, p), p = 1 or 2."""
    first = right[:, :1] / root[:, :1, :1]
    if root.shape[1] == 1:
        return np.asarray(first)
    second = (right[:, 1:] - root[:, 1:, :1] * first) / root[:, 1:, 1:]
    return np.concatenate([first, second], axis=1)


def e_process(
    stream: LevelStream, effects: DayEffects, watched_from: int, events: Sequence[int] = (), horizon: int = HORIZON
) -> EProcess:
    """E-process of one stream on all its monitored days."""
    start = EvidenceState.before([stream], [effects])
    found = advanced(start, [stream], [effects], watched_from, events, horizon)
    return found.process(0, step_size(stream), watched_from)


def _step(A: Array, B: Array, raw: Array, kappa: Array, posterior: Array) -> tuple[Array, Array, Array]:
    """Estimated step, averaged over the posterior of its start, its standard deviation, and causes.

    causes: log evidence of each level alone.  Clipping protects the e-value; the size of the step is
    estimated from unclipped data.
    """
    known = A - (1 - WIDE) * np.eye(len(kappa))  # the size as the days have it, not drawn to what is usual
    mean = np.linalg.solve(known, raw[..., None])[..., 0]
    change = posterior @ mean
    inside = np.einsum("s,skk->k", posterior, np.linalg.inv(known))
    between = posterior @ (mean - change) ** 2
    alone = np.einsum("skk->sk", A)
    single = -0.5 * np.log(alone) + 0.5 * B**2 / alone
    top = single.max(axis=0)
    causes = top + np.log(np.exp(single - top).sum(axis=0))
    return change * kappa, WIDER * np.sqrt(inside + between) * kappa, causes


def _normalised(log: Array) -> Array:
    """Normalise a posterior given its logarithms."""
    part = np.exp(log - log.max())
    return np.asarray(part / part.sum())


def _log_ratio(A: Array, B: Array) -> Array:
    """log of det(A)^-1/2 exp(B'A^-1 B / 2), for one or two levels."""
    if A.shape[-1] == 1:
        det, square = A[..., 0, 0], B[..., 0] ** 2 / A[..., 0, 0]
    else:
        a, b, d = A[..., 0, 0], A[..., 0, 1], A[..., 1, 1]
        det = a * d - b * b
        square = (d * B[..., 0] ** 2 - 2 * b * B[..., 0] * B[..., 1] + a * B[..., 1] ** 2) / det
    return np.asarray(-0.5 * np.log(det) + 0.5 * square)
