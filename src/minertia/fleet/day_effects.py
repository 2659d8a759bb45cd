"""Day effects: day-to-day variation of levels without wear, learnt per type and joint by maximum likelihood.

y_d = mu + Gamma warm_d + sum of steps at events + u_d + noise_d, u an AR(1) of standard deviation omega and
autocorrelation phi; mu, Gamma and steps have a flat prior (variance 3^2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from minertia.fleet.streams import LevelStream
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError
from minertia.io.resources import one_thread

FLAT = 3.0**2  # variance of what is not known beforehand
MISSING = 1e4  # variance of a day that a robot has fewer than others
LARGE = 1e12  # more than the squared length of any whitened level
FAR = 1000  # days after which nothing is remembered: MOST_MEMORY to this power is below 1e-13
MOST_ROBOTS = 40  # whose learnt days are looked at
FEWEST_ROBOTS = 5
MOST_MEMORY = 0.97
INTERVAL = 3.84  # twice the log likelihood that the upper end of the memory's interval loses
STEP = 0.03  # in which the upper end is looked for


@dataclass(frozen=True)
class DayEffects:
    """omega (p,): standard deviations of a stream's day effects; phi: upper bound of their autocorrelation.

    likeliest: maximum-likelihood autocorrelation; phi is the upper end of its confidence interval, as an underestimate
    would raise false alarms.  robots, days: numbers it was learnt from.
    """

    omega: tuple[float, ...]
    phi: float
    likeliest: float
    robots: int
    days: int


def learn_day_effects(streams: Sequence[LevelStream], windows: Sequence[tuple[int, int]]) -> DayEffects:
    """Estimate day effects over the training days of robots of one type, by maximum likelihood.

    streams: level streams of one joint, or of the load, one per robot.  windows: first and last training
    day of each robot.
    """
    if len(streams) < FEWEST_ROBOTS:
        raise MinertiaError(
            f"day effects need the training days of at least {FEWEST_ROBOTS} robots, not of {len(streams)}; give "
            "a calibration of the same robot type"
        )
    chosen = np.unique(np.linspace(0, len(streams) - 1, min(len(streams), MOST_ROBOTS)).astype(int))
    with one_thread():
        months = _Months.of([streams[k] for k in chosen], [windows[k] for k in chosen])
        start = np.append(np.log(months.first_guess()), 0.5)
        best = minimize(
            months.cost, start, method="Nelder-Mead", options={"xatol": 1e-2, "fatol": 1e-2, "maxiter": 400}
        )
        omega, phi = np.exp(best.x[:-1]), _memory(best.x[-1])
        upper, omega = _upper_end(months, float(best.fun), omega, phi)
    return DayEffects(tuple(omega.tolist()), upper, phi, len(chosen), months.length)


def _memory(x: float) -> float:
    """Map an unbounded value to an autocorrelation between 0 and the maximum."""
    return float(MOST_MEMORY / (1.0 + np.exp(-2 * x)))


def _unbounded(phi: float) -> float:
    part = min(max(phi / MOST_MEMORY, 1e-6), 1 - 1e-6)
    return float(0.5 * np.log(part / (1 - part)))


def _upper_end(months: _Months, least: float, omega: Array, phi: float) -> tuple[float, Array]:
    """Largest autocorrelation within the likelihood interval, with the corresponding standard deviations."""
    while phi < MOST_MEMORY - 1e-3:
        further = min(phi + STEP, MOST_MEMORY - 1e-4)

        def cost(x: Array, at: float = further) -> float:
            return months.cost(np.append(x, _unbounded(at)))

        found = minimize(
            cost, np.log(omega), method="Nelder-Mead", options={"xatol": 2e-2, "fatol": 2e-2, "maxiter": 60}
        )
        omega, phi = np.exp(found.x), further
        if 2 * (float(found.fun) - least) > INTERVAL:
            break
    return phi, omega


@dataclass(frozen=True)
class _Months:
    """Stacked training days of all robots: y (N, L p), fixed (N, L p, L p): covariance without day effects.

    apart (N, L, L): number of days between training days; (1, L, L) if it is the same for all robots.
    """

    length: int
    apart: NDArray[np.int_]
    y: Array
    fixed: Array
    own: Array  # deviations of levels (p,)

    @classmethod
    def of(cls, streams: Sequence[LevelStream], windows: Sequence[tuple[int, int]]) -> _Months:
        learnt = [
            np.flatnonzero((stream.days >= first) & (stream.days <= last))
            for stream, (first, last) in zip(streams, windows, strict=True)
        ]
        p, L = streams[0].y.shape[1], max(len(inside) for inside in learnt)
        y, fixed = np.zeros((len(streams), L * p)), np.zeros((len(streams), L * p, L * p))
        apart = np.full((len(streams), L, L), FAR)
        for n, (stream, inside) in enumerate(zip(streams, learnt, strict=True)):
            count, rows = len(inside), (inside[:, None] * p + np.arange(p)).ravel()
            fixed[n] = MISSING * np.eye(L * p)
            fixed[n, : count * p, : count * p] = _flat_and_noise(stream, inside, rows, p)
            y[n, : count * p] = stream.y[inside].ravel()
            apart[n, range(L), range(L)] = 0
            apart[n, :count, :count] = np.abs(np.subtract.outer(stream.days[inside], stream.days[inside]))
        if np.all(apart == apart[0]):
            apart = apart[:1]
        spread = np.median([np.std(s.y[inside], axis=0) for s, inside in zip(streams, learnt, strict=True)], axis=0)
        return cls(L, np.minimum(apart, FAR), y, fixed, np.maximum(spread, 1e-9))

    def first_guess(self) -> Array:
        return self.own

    def cost(self, x: Array) -> float:
        """Negative log likelihood at the logarithms of omega and the unbounded autocorrelation."""
        omega, phi = np.exp(np.clip(x[:-1], -25.0, 3.0)), _memory(float(x[-1]))
        m = self.y.shape[1]
        C = np.empty((len(self.y), m + 1, m + 1))
        memory: Array = phi ** np.arange(FAR + 1.0)
        C[:, :m, :m] = self.fixed + _by_levels(memory[self.apart], omega)
        C[:, m, :m] = self.y  # the last row of the root is then the whitened levels
        C[:, m, m] = LARGE
        try:
            L = np.linalg.cholesky(C)
        except np.linalg.LinAlgError:
            return float("inf")
        diagonal = np.einsum("nii->ni", L)[:, :m]
        return float(0.5 * np.sum(L[:, m, :m] ** 2) + np.sum(np.log(diagonal)))


def _flat_and_noise(stream: LevelStream, inside: NDArray[np.int_], rows: NDArray[np.int_], p: int) -> Array:
    warm = stream.warm[inside]
    flat = np.kron(FLAT * (1.0 + np.outer(warm, warm)), np.eye(p))
    own = stream.J[inside].reshape(len(rows), -1)
    return np.asarray(flat + blocks(stream.V[inside]) + own @ stream.P @ own.T)


def blocks(V: Array) -> Array:
    """Block-diagonal matrix (D p, D p) of matrices (D, p, p)."""
    D, p = V.shape[:2]
    full = np.zeros((D, p, D, p))
    full[range(D), :, range(D), :] = V
    return full.reshape(D * p, D * p)


def _by_levels(memory: Array, omega: Array | Sequence[float]) -> Array:
    """Correlations (..., D, D) of days times the variance of each level, (..., D p, D p)."""
    D, p = memory.shape[-1], len(omega)
    full = np.zeros((*memory.shape[:-2], D, p, D, p))
    for k, own in enumerate(omega):
        full[..., k, :, k] = memory * own**2
    return full.reshape(*memory.shape[:-2], D * p, D * p)
