"""Sequential evidence for a step in a stream: e-values that are valid at any time.

The e-value is a mixture of likelihood ratios for steps of unknown size over their possible start days.
Without drift it is a martingale of mean 1, so it exceeds 1/alpha at any time with probability at most alpha
(Ville).  Innovations are clipped, which can only lower its mean, and keeps the bound for tails heavier than
Gaussian.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from minertia.fleet.day_effects import FLAT, DayEffects, blocks, effects_covariance
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


def innovations(stream: LevelStream, effects: DayEffects, events: Sequence[int]) -> tuple[Array, Array]:
    """Whitened levels (D p,) and the factor L of their covariance, including the baseline's uncertainty."""
    p = stream.y.shape[1]
    steps = [np.ones(len(stream.days)), stream.warm, *((stream.days >= e).astype(float) for e in events)]
    flat = sum(np.outer(column, column) for column in steps)
    C = np.kron(FLAT * flat, np.eye(p)) + effects_covariance(stream.days, effects.omega, effects.phi)
    C += blocks(stream.V) + stream.common
    L = np.linalg.cholesky(C)
    return np.asarray(solve_triangular(L, stream.y.ravel(), lower=True)), np.asarray(L, float)


def e_process(
    stream: LevelStream, effects: DayEffects, watched_from: int, events: Sequence[int] = (), horizon: int = HORIZON
) -> EProcess:
    """Compute the e-process of a stream day by day; it restarts after the horizon and at events."""
    with one_thread():
        w, L = innovations(stream, effects, events)
        first = int(np.searchsorted(stream.days, watched_from))
        p = stream.y.shape[1]
        kappa = np.full(p, LOAD_STEP if stream.joint is None else STEP)
        watched = stream.days[first:]
        e, raw = np.ones(len(watched)), np.ones(len(watched))
        cuts = _starts(watched, events, horizon)
        last = None
        for begin, end in itertools.pairwise([*cuts, len(watched)]):
            if end > begin:
                part = _Segment.of(w, L, kappa, first + begin, first + end)
                e[begin:end], raw[begin:end] = part.evidence(horizon)
                last = part
    if last is None:
        nothing = np.zeros(p)
        return EProcess(watched, e, raw, watched_from, watched, np.zeros(0), np.zeros(0), nothing, nothing, nothing)
    begun = stream.days[last.begin : last.end]
    posterior, clipped = (_normalised(_log_ratio(last.A[-1], B[-1])) for B in (last.raw, last.B))
    change, deviation, causes = last.step(kappa, posterior)
    return EProcess(watched, e, raw, int(begun[0]), begun, posterior, clipped, change, deviation, causes)


def _starts(watched: NDArray[np.int_], events: Sequence[int], horizon: int) -> list[int]:
    """Indices of the monitored days at which the e-process restarts."""
    if not len(watched):
        return []
    marks = sorted({0, *(int(np.searchsorted(watched, e)) for e in events if watched[0] < e <= watched[-1])})
    cuts = []
    for begin, end in itertools.pairwise([*marks, len(watched)]):
        cuts += list(range(begin, end, horizon))
    return cuts


@dataclass(frozen=True)
class _Segment:
    """Sums for steps that begin within a segment: A (days, starts, p, p), B and raw B (days, starts, p)."""

    begin: int
    end: int
    A: Array
    B: Array
    raw: Array
    alive: NDArray[np.bool_]

    @classmethod
    def of(cls, w: Array, L: Array, kappa: Array, begin: int, end: int) -> _Segment:
        n, p = end - begin, len(kappa)
        rows = slice(begin * p, end * p)
        steps = np.kron(np.tri(n), np.diag(kappa))  # of each level, from each start on
        sig = solve_triangular(L[rows, rows], steps, lower=True)
        sig = sig.reshape(n, p, n, p)  # days, levels, starts, levels of the step
        own = w[rows].reshape(n, p)
        A = np.cumsum(np.einsum("disk,disl->dskl", sig, sig), axis=0) + np.eye(p)
        B = np.cumsum(np.einsum("disk,di->dsk", sig, np.clip(own, -CLIP, CLIP)), axis=0)
        raw = np.cumsum(np.einsum("disk,di->dsk", sig, own), axis=0)
        return cls(begin, end, A, B, raw, np.tri(n, dtype=bool))

    def evidence(self, horizon: int) -> tuple[Array, Array]:
        """E-value of each day, clipped and unclipped."""
        left = 1.0 - np.arange(1, len(self.alive) + 1) / horizon
        found = []
        for B in (self.B, self.raw):
            ratio = np.where(self.alive, np.exp(np.minimum(_log_ratio(self.A, B), 600.0)), 0.0)
            found.append(ratio.sum(axis=1) / horizon + left)
        return found[0], found[1]

    def step(self, kappa: Array, posterior: Array) -> tuple[Array, Array, Array]:
        """Estimated step, averaged over the posterior of its start, its standard deviation, and causes.

        causes: log evidence of each level alone.  Clipping protects the e-value; the size of the step is
        estimated from unclipped data.
        """
        A, B = self.A[-1], self.B[-1]
        known = A - (1 - WIDE) * np.eye(len(kappa))  # the size as the days have it, not drawn to what is usual
        mean = np.linalg.solve(known, self.raw[-1][..., None])[..., 0]
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
    """log of det(A)^-1/2 exp(B'A^-1 B / 2)."""
    if A.shape[-1] == 1:
        det, square = A[..., 0, 0], B[..., 0] ** 2 / A[..., 0, 0]
    else:
        det = np.linalg.det(A)
        square = np.einsum("...i,...i->...", B, np.linalg.solve(A, B[..., None])[..., 0])
    return np.asarray(-0.5 * np.log(det) + 0.5 * square)
