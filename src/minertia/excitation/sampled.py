"""`SampledMotion`: interpolation of a sampled motion with continuous acceleration."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, factorial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.excitation.trajectory import ContinuousMotion, Trajectory
from minertia.io.arrays import Array
from minertia.io.errors import Infeasible

DEGREE = 5
BLOCK = 20_000  # intervals looked at together


@dataclass(frozen=True, repr=False)
class SampledMotion(ContinuousMotion):
    """Quintic interpolation that matches positions, velocities and accelerations at the samples."""

    path: Trajectory

    def __post_init__(self) -> None:
        if len(self.path.t) < 2 or not np.all(np.diff(self.path.t) > 0):
            raise Infeasible("a trajectory needs at least two samples with increasing time")

    @property
    def duration(self) -> float:  # type: ignore[override]
        """Time from the first to the last sample [s]."""
        return float(self.path.t[-1] - self.path.t[0])

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """q, qd, qdd at times (N,), each of shape (N, n)."""
        x, h, c = self._pieces(t)
        q = c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * (c[4] + x * c[5]))))
        qd = c[1] + x * (2 * c[2] + x * (3 * c[3] + x * (4 * c[4] + x * 5 * c[5])))
        qdd = 2 * c[2] + x * (6 * c[3] + x * (12 * c[4] + x * 20 * c[5]))
        return q, qd / h, qdd / h**2

    def jerk(self, t: ArrayLike) -> Array:
        """Third derivatives at times (N,), shape (N, n)."""
        x, h, c = self._pieces(t)
        return np.asarray((6 * c[3] + x * (24 * c[4] + x * 60 * c[5])) / h**3)

    def _pieces(self, t: ArrayLike) -> tuple[Array, Array, tuple[Array, ...]]:
        """Normalised time in the interval, its length, and the coefficients of its quintic, for each time."""
        path = self.path
        times = path.t[0] + np.clip(np.atleast_1d(np.asarray(t, float)), 0.0, self.duration)
        k = np.clip(np.searchsorted(path.t, times, side="right") - 1, 0, len(path.t) - 2)
        h, coefficients = self._quintics(k)
        return (times - path.t[k])[:, None] / h, h, coefficients

    def _quintics(self, k: NDArray[np.intp]) -> tuple[Array, tuple[Array, ...]]:
        """Lengths (N, 1) of the intervals k and the coefficients (N, n) of their quintics, over 0 to 1."""
        path = self.path
        h = (path.t[k + 1] - path.t[k])[:, None]
        a, b = ((path.q[m], h * path.qd[m], h**2 * path.qdd[m]) for m in (k, k + 1))
        way, rate, bend = b[0] - a[0] - a[1] - a[2] / 2, b[1] - a[1] - a[2], b[2] - a[2]
        cubic, quartic, quintic = 10 * way - 4 * rate, -15 * way + 7 * rate - bend, 6 * way - 3 * rate + bend / 2
        return h, (a[0], a[1], a[2] / 2, cubic + bend / 2, quartic, quintic)

    def hulls(self, order: int) -> tuple[Array, Array]:
        """Bounds (N - 1, n) of a derivative in each interval; 0: position, 3: jerk.

        They are the smallest and the largest Bernstein coefficient, which enclose the polynomial.
        """
        low, high = [], []
        for k in range(0, len(self.path.t) - 1, BLOCK):
            h, c = self._quintics(np.arange(k, min(k + BLOCK, len(self.path.t) - 1)))
            power = [factorial(i + order) // factorial(i) * c[i + order] / h**order for i in range(DEGREE + 1 - order)]
            hull = np.array([
                sum(comb(j, i) / comb(DEGREE - order, i) * power[i] for i in range(j + 1)) for j in range(len(power))
            ])  # fmt: skip
            low.append(hull.min(axis=0))
            high.append(hull.max(axis=0))
        return np.vstack(low), np.vstack(high)
