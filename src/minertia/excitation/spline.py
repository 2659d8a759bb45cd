"""B-splines of degree 3 or 5: trajectories that need not be periodic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BSpline

from minertia.excitation.options import MotionShape
from minertia.excitation.trajectory import ContinuousMotion, Family, frozen
from minertia.io.arrays import Array
from minertia.io.errors import Infeasible
from minertia.io.schema import Declared, check, like, option

DEGREES = (3, 5)


@dataclass(frozen=True, repr=False)
class SplineMotion(ContinuousMotion):
    """A clamped B-spline: knots, degree, control points (n, points) [rad or m]."""

    duration: float
    knots: Array
    degree: int
    points: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "knots", frozen(self.knots))
        object.__setattr__(self, "points", frozen(self.points))

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """q, qd, qdd at times (N,), each of shape (N, n)."""
        times = np.clip(np.atleast_1d(np.asarray(t, float)), 0.0, self.duration)
        spline = BSpline(self.knots, self.points.T, self.degree)
        q, qd, qdd = (spline.derivative(k)(times) if k else spline(times) for k in range(3))
        return q, qd, qdd

    def jerk(self, t: ArrayLike) -> Array:
        """Third derivatives at times (N,), shape (N, n); discontinuous at the knots for degree 3."""
        times = np.clip(np.atleast_1d(np.asarray(t, float)), 0.0, self.duration)
        return np.asarray(BSpline(self.knots, self.points.T, self.degree).derivative(3)(times))


@dataclass(frozen=True)
class Spline(Declared, Family):
    """Clamped B-splines of a degree with `pieces` polynomial pieces of equal length.

    start: posture at the beginning of the trajectory, set by `excite`.
    """

    duration: float = like(MotionShape, "duration")
    pieces: int = like(MotionShape, "pieces")
    degree: int = option(5, "Degree of the polynomial segments, 3 or 5.", range=(3, 5))
    rest: bool = option(True, "Trajectories start and end at rest.")
    start: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check(self)
        if self.degree not in DEGREES:
            raise Infeasible(f"a spline trajectory must have degree 3 or 5, not {self.degree}")

    @property
    def least_samples(self) -> int:
        """Minimum number of samples: one per piece, and a few more."""
        return max(4, self.pieces)

    @cached_property
    def knots(self) -> Array:
        """Knots [s], those at the ends repeated."""
        inner = np.linspace(0.0, self.duration, self.pieces + 1)
        return np.concatenate([np.zeros(self.degree), inner, np.full(self.degree, self.duration)])

    def raw(self, t: Array) -> tuple[Array, Array, Array]:
        """B-spline basis functions and two derivatives."""
        count = self.pieces + self.degree
        return SplineMotion(self.duration, self.knots, self.degree, np.eye(count)).at(t)

    def third(self, t: Array) -> Array:
        """Third derivatives of the basis functions."""
        return SplineMotion(self.duration, self.knots, self.degree, np.eye(self.pieces + self.degree)).jerk(t)

    def motion(self, offset: Array, coefficients: Array) -> SplineMotion:
        """Spline with these control points (the B-splines sum to 1)."""
        return SplineMotion(self.duration, self.knots, self.degree, coefficients + np.asarray(offset)[:, None])
