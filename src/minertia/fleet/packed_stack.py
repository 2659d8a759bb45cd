"""Evidence of the days of one robot in storage format: packed triangular factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from minertia.fleet.day_stack import DayStack, day_weights, noise_of
from minertia.fleet.evidence import EvidenceLayout
from minertia.io.arrays import Array
from minertia.io.notebook import plural


@dataclass(frozen=True)
class PackedStack:
    """Packed triangular factors (D, values) of one robot's days, and samples (D, efforts); days ascending."""

    layout: EvidenceLayout
    days: tuple[int, ...]
    packed: Array
    samples: Array

    def __repr__(self) -> str:
        return f"<PackedStack of {plural(len(self.days), 'day')}: {plural(len(self.layout.names), 'column')}>"

    @classmethod
    def of(cls, layout: EvidenceLayout, days: Sequence[int], packed: Array, samples: Array) -> PackedStack:
        """Stack of days given in any order."""
        order = np.argsort(days, kind="stable")
        if not np.array_equal(order, np.arange(len(order))):
            packed, samples = np.asarray(packed)[order], np.asarray(samples)[order]
        return cls(
            layout,
            tuple(int(days[k]) for k in order),
            np.ascontiguousarray(packed, float),
            np.asarray(samples, float),
        )

    def unpacked(self) -> DayStack:
        """Triangular factors as matrices."""
        return DayStack.of_packed(self.layout, self.days, self.packed, self.samples)

    def noise(self) -> Array:
        """Noise level of each effort, from the fit with all columns."""
        return noise_of(self.packed[:, list(_last(self.layout))], self.samples)

    def forgotten(self, half_life: float) -> PackedStack:
        """Apply exponential forgetting to the days, with a half-life [days] before the last one."""
        weight = day_weights(self.days, half_life)[:, None]
        return replace(self, packed=self.packed * np.sqrt(weight), samples=self.samples * weight)

    def weighted(self, sigma: Array) -> PackedStack:
        """Divide the rows by the noise of their effort."""
        counts = [k * (k + 1) // 2 for k in self.layout.sizes]
        return replace(self, packed=self.packed / np.repeat(sigma, counts))


@lru_cache(maxsize=16)
def _last(layout: EvidenceLayout) -> tuple[int, ...]:
    """Index of the last value of each effort's triangular factor."""
    return tuple((np.cumsum([k * (k + 1) // 2 for k in layout.sizes]) - 1).tolist())
