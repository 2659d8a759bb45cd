"""Finite Fourier series (Swevers et al. 1997): periodic trajectories with few, well separated frequencies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from minertia.excitation.options import MotionShape
from minertia.excitation.trajectory import ContinuousMotion, Family, frozen
from minertia.io.arrays import Array
from minertia.io.schema import Declared, like, option


@dataclass(frozen=True, repr=False)
class FourierSeries(ContinuousMotion):
    """q_j = offset_j + sum over k of (sine_jk sin(w_k t) - cosine_jk cos(w_k t)) / w_k, with w_k = 2 pi k frequency.

    offset (n,) [rad or m]; sine, cosine (n, harmonics): amplitudes of the velocity [rad/s or m/s]; frequency [Hz].
    """

    duration: float
    frequency: float
    offset: Array
    sine: Array
    cosine: Array

    def __post_init__(self) -> None:
        for name in ("offset", "sine", "cosine"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def harmonics(self) -> int:
        """Number of harmonics."""
        return int(self.sine.shape[1])

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """q, qd, qdd at times (N,), each of shape (N, n)."""
        functions = _functions(np.atleast_1d(np.asarray(t, float)), self.frequency, self.harmonics)
        coefficients = np.hstack([self.sine, self.cosine, self.offset[:, None]])
        q, qd, qdd = (M @ coefficients.T for M in functions)
        return q, qd, qdd

    def jerk(self, t: ArrayLike) -> Array:
        """Third derivatives at times (N,), shape (N, n)."""
        functions = _third(np.atleast_1d(np.asarray(t, float)), self.frequency, self.harmonics)
        return np.asarray(functions[:, :-1] @ np.hstack([self.sine, self.cosine]).T)


@dataclass(frozen=True)
class Fourier(Declared, Family):
    """Series of `harmonics` multiples of a base frequency.

    start: posture at the beginning of the trajectory, set by `excite`.
    """

    duration: float = like(MotionShape, "duration")
    harmonics: int = like(MotionShape, "harmonics")
    frequency: float | None = option(
        None, "Fundamental frequency.", unit="Hz", above=0, otherwise="one period over the duration"
    )
    rest: bool = option(True, "Trajectories start and end at rest.")
    start: tuple[float, ...] | None = None

    @property
    def least_samples(self) -> int:
        """Minimum number of samples: four per period of the highest harmonic."""
        return 4 * self.harmonics

    @property
    def base_frequency(self) -> float:
        """Base frequency [Hz]."""
        return 1.0 / self.duration if self.frequency is None else self.frequency

    def raw(self, t: Array) -> tuple[Array, Array, Array]:
        """Basis functions: sines, cosines and a constant, with two derivatives."""
        return _functions(t, self.base_frequency, self.harmonics)

    def third(self, t: Array) -> Array:
        """Third derivatives of the basis functions."""
        return _third(t, self.base_frequency, self.harmonics)

    def motion(self, offset: Array, coefficients: Array) -> FourierSeries:
        """Fourier series with these coefficients."""
        h = self.harmonics
        return FourierSeries(
            duration=self.duration,
            frequency=self.base_frequency,
            offset=offset + coefficients[:, -1],
            sine=coefficients[:, :h],
            cosine=coefficients[:, h : 2 * h],
        )


def _third(t: Array, frequency: float, harmonics: int) -> Array:
    w = 2 * np.pi * frequency * np.arange(1, harmonics + 1)
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    return np.hstack([-c * w**2, -s * w**2, np.zeros((len(t), 1))])


def _functions(t: Array, frequency: float, harmonics: int) -> tuple[Array, Array, Array]:
    w = 2 * np.pi * frequency * np.arange(1, harmonics + 1)
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    one, zero = np.ones((len(t), 1)), np.zeros((len(t), 1))
    return np.hstack([s / w, -c / w, one]), np.hstack([c, s, zero]), np.hstack([-s * w, c * w, zero])
