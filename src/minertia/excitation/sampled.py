"""`SampledMotion`: a motion between the samples of its file, without a jump of acceleration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.errors import Infeasible
from minertia.excitation.trajectory import ContinuousMotion, Trajectory

Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class SampledMotion(ContinuousMotion):
    """Quintics between samples: positions, velocities and accelerations are those of the samples at each of them."""

    path: Trajectory

    def __post_init__(self) -> None:
        if len(self.path.t) < 2 or not np.all(np.diff(self.path.t) > 0):
            raise Infeasible("a motion needs at least two samples, one after the other")

    @property
    def duration(self) -> float:  # type: ignore[override]
        """From the first to the last sample [s]."""
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
        """Part of the interval that is over, its length, and coefficients of the quintic in it, columns over times."""
        path = self.path
        times = path.t[0] + np.clip(np.atleast_1d(np.asarray(t, float)), 0.0, self.duration)
        k = np.clip(np.searchsorted(path.t, times, side="right") - 1, 0, len(path.t) - 2)
        h = (path.t[k + 1] - path.t[k])[:, None]
        x = (times - path.t[k])[:, None] / h
        a, b = ((path.q[m], h * path.qd[m], h**2 * path.qdd[m]) for m in (k, k + 1))
        way, rate, bend = b[0] - a[0] - a[1] - a[2] / 2, b[1] - a[1] - a[2], b[2] - a[2]
        cubic, quartic, quintic = 10 * way - 4 * rate, -15 * way + 7 * rate - bend, 6 * way - 3 * rate + bend / 2
        return x, h, (a[0], a[1], a[2] / 2, cubic + bend / 2, quartic, quintic)
