"""Autocorrelation of a robot's day values, and their effective number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minertia.io.arrays import Array

FEWEST_DAYS = 5  # from which days tell by themselves how much they differ
USUAL_MEMORY = 0.7  # of day effects, where too few robots tell
ENOUGH_ROBOTS = 5  # to tell it
ROUNDS = 20
MOST_MEMORY = 0.95


@dataclass(frozen=True)
class DayMemory:
    """Autocorrelation of day values: a fraction of their variance is AR(1), the rest is white noise.

    part: that fraction.  memory: autocorrelation of the AR(1) process from one day to the next.
    """

    part: float = 1.0
    memory: float = USUAL_MEMORY

    def of_mean(self, count: int) -> float:
        """Ratio of the variance of the mean of `count` days to the variance of one day."""
        if count < 1:
            return 1.0
        lag = np.arange(1, count)
        remembered = (1 + 2 * np.sum((1 - lag / count) * self.memory**lag)) / count
        return float(self.part * remembered + (1 - self.part) / count)


def day_memory(days: Sequence[Array]) -> DayMemory:
    """Estimate the autocorrelation of day values from the first two lags of friction over all robots.

    The bias from removing each robot's mean is corrected.
    """
    sums, lengths = np.zeros(3), []
    for values in days:
        x = values[np.isfinite(values).all(axis=1)] if values.size else values
        if len(x) >= FEWEST_DAYS:
            x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-300)
            sums += [float(np.sum(x[k:] * x[: len(x) - k])) * len(x) / (len(x) - k) for k in range(3)]
            lengths.append(len(x))
    if len(lengths) < ENOUGH_ROBOTS:
        return DayMemory()
    r, found, D = sums[1:] / sums[0], DayMemory(), int(np.mean(lengths))
    for _ in range(ROUNDS):
        v = found.of_mean(D)
        first, second = r * (1 - v) + v
        memory = float(np.clip(second / max(first, 1e-3), 0.0, MOST_MEMORY))
        found = DayMemory(float(np.clip(first / max(memory, 1e-3), 0.0, 1.0)), memory)
    return found
