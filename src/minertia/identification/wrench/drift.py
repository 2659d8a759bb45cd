"""Bias of a sensor over the poses: constant, in steps, linear, or a random walk, each with white noise.

The bias of each channel is a mean over the fitted poses, with further terms by model.  Linear: a slope.
Steps: a value for each interval between tares.  Walk: a random walk whose variance per step is `walk`
times that of the white noise; its mean over the fitted poses is removed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from minertia.io.arrays import Array

BIASES = ("constant", "steps", "linear", "walk")


@dataclass(frozen=True)
class Clock:
    """Position of the fitted poses in the recording order, in steps; a step is the median spacing of neighbours."""

    order: Array

    @cached_property
    def step(self) -> float:
        """Length of a step in the unit of `order`."""
        gaps = np.diff(np.sort(self.order))
        gaps = gaps[gaps > 0]
        return float(np.median(gaps)) if len(gaps) else 1.0

    def steps(self, order: Array) -> Array:
        """Positions in the recording order, in steps from the mean of the fitted poses."""
        return np.asarray((order - self.order.mean()) / self.step)

    @property
    def walked(self) -> Array:
        """Covariance (N, N) of a unit random walk at the fitted poses, with its mean over these poses removed."""
        own = self.steps(self.order)
        apart = np.abs(own[:, None] - own)
        return np.asarray((apart.mean(axis=1)[:, None] + apart.mean(axis=0) - apart - apart.mean()) / 2)

    @cached_property
    def modes(self) -> tuple[Array, Array]:
        """Eigenvalues (N,) and eigenvectors (N, N) of the covariance `walked`."""
        values, vectors = np.linalg.eigh(self.walked)
        return np.maximum(values, 0.0), vectors

    @cached_property
    def rises(self) -> Array:
        """Relative power (N,) of second differences in each mode; 1 if it alternates from pose to pose."""
        values = self.modes[0]
        is_mode = values > 1e-9 * values.max(initial=0.0)  # all but the mean
        return np.where(is_mode, 1 / (4 * np.where(is_mode, values, 1.0)) ** 2, 0.0)


@dataclass(frozen=True)
class SensorNoise:
    """Noise of each channel (6,): white noise, random walk, and noise that rises with frequency; angles (2,).

    white: standard deviation [N, N m].  walk: variance of the random walk of the bias per step, relative to
    that of the white noise.  rise: relative variance, at the highest frequency, of noise whose power rises as
    that of second differences does, such as the noise of accelerations from differentiated positions.
    angles: standard deviation of tilt and of gravity direction, relative to the typical ones.
    """

    white: Array
    walk: Array = field(default_factory=lambda: np.zeros(6))
    rise: Array = field(default_factory=lambda: np.zeros(6))
    angles: Array = field(default_factory=lambda: np.ones(2))

    def variance(self, clock: Clock) -> Array:
        """Variance (6, N) of each mode over the poses, relative to that of the white noise."""
        return np.asarray(1 + self.walk[:, None] * clock.modes[0] + self.rise[:, None] * clock.rises)

    def weights(self, clock: Clock) -> Array:
        """Inverse standard deviation (6, N) of each mode of the noise, per channel."""
        return np.asarray(1 / (self.white[:, None] * np.sqrt(self.variance(clock))))

    def drift(self, clock: Clock, residual: Array) -> Array:
        """Best linear prediction of the random walk (N, 6) at the fitted poses from residuals (6, N)."""
        values, vectors = clock.modes
        share = self.walk[:, None] * values / self.variance(clock)
        return np.asarray(vectors @ (share * (residual @ vectors)).T)


@dataclass(frozen=True)
class BiasCurve:
    """Bias over the recording order: values (K, 6) [N, N m] at positions (K,), and its slope (6,) beyond them.

    In between, it is interpolated linearly, which is the expected value of a random walk between two known
    points.
    """

    order: Array
    values: Array
    slope: Array

    def at(self, order: Array | None, count: int = 1) -> Array:
        """Bias (N, 6) at positions in the recording order; for None, the last value `count` times."""
        if order is None:
            return np.repeat(self.values[-1:], count, axis=0)
        found = np.stack([np.interp(order, self.order, own) for own in self.values.T], axis=1)
        beyond = order - np.clip(order, self.order[0], self.order[-1])
        return np.asarray(found + beyond[:, None] * self.slope)
