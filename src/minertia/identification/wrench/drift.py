"""Sensor bias over the poses: constant, linear, or a random walk, in addition to white noise.

The bias of each channel is a mean over the fitted poses, plus a slope (linear) or a random walk (walk).  The
variance of the walk per step is `walk` times that of the white noise; a walk has zero mean over the fitted
poses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from minertia.io.arrays import Array

BIASES = ("constant", "linear", "walk")


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
        """Covariance (N, N) at the fitted poses of a unit random walk, its mean over these poses removed."""
        own = self.steps(self.order)
        apart = np.abs(own[:, None] - own)
        return np.asarray((apart.mean(axis=1)[:, None] + apart.mean(axis=0) - apart - apart.mean()) / 2)

    @cached_property
    def modes(self) -> tuple[Array, Array]:
        """Eigenvalues (N,) and eigenvectors (N, N) of the covariance `walked`."""
        values, vectors = np.linalg.eigh(self.walked)
        return np.maximum(values, 0.0), vectors


@dataclass(frozen=True)
class SensorNoise:
    """Noise of the six sensor channels.

    white (6,): standard deviation of the white noise [N, N m].  walk (6,): variance per step of the bias random
    walk, relative to the variance of the white noise.
    """

    white: Array
    walk: Array

    def weights(self, clock: Clock) -> Array:
        """Inverse standard deviation (6, N) of each mode of the random walk plus white noise, per channel."""
        values, _ = clock.modes
        return np.asarray(1 / (self.white[:, None] * np.sqrt(1 + self.walk[:, None] * values)))

    def drift(self, clock: Clock, residual: Array) -> Array:
        """Best linear prediction of the random walk (N, 6) at the fitted poses from residuals (6, N)."""
        values, vectors = clock.modes
        share = self.walk[:, None] * values / (1 + self.walk[:, None] * values)
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
