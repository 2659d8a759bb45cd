"""Evidence of the days of one robot, stacked and merged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from minertia.fleet.evidence import EvidenceLayout, FleetEvidence, joined_rows
from minertia.identification.problem.triangles import gram_triangle, preconditioner, triangle, upright
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError
from minertia.io.notebook import plural

ALIKE = 6  # days from which normal equations are worth what makes them safe


@dataclass(frozen=True)
class DayStack:
    """Rows of the days of one robot by effort: (D, any, k_i), the effort last; days in ascending order."""

    layout: EvidenceLayout
    days: tuple[int, ...]
    rows: tuple[Array, ...]
    samples: Array  # (D, efforts)

    def __repr__(self) -> str:
        return f"<DayStack of {plural(len(self.days), 'day')}: {plural(len(self.layout.names), 'column')}>"

    @classmethod
    def of(cls, days: Mapping[int, FleetEvidence]) -> DayStack:
        """Stack of the triangular factors of days by number."""
        if not days:
            raise MinertiaError("there is no day with records to fit; add logs first")
        order = sorted(days)
        layout = days[order[0]].layout
        if any(days[d].layout != layout for d in order):
            raise MinertiaError(
                "the records of the days have different columns; add their logs with one set of columns"
            )
        rows = tuple(np.stack([days[d].triangles[i] for d in order]) for i in range(len(layout.efforts)))
        return cls(layout, tuple(order), rows, np.stack([days[d].samples for d in order]))

    @classmethod
    def of_packed(cls, layout: EvidenceLayout, days: Sequence[int], packed: Array, samples: Array) -> DayStack:
        """Stack from packed triangular factors (D, values) and samples (D, efforts), as in stores."""
        order = np.argsort(days, kind="stable")
        packed, rows, done = np.asarray(packed, float)[order], [], 0
        for k in layout.sizes:
            R, count = np.zeros((len(order), k * k)), k * (k + 1) // 2
            R[:, upper_places(k)] = packed[:, done : done + count]
            rows.append(R.reshape(-1, k, k))
            done += count
        return cls(layout, tuple(int(days[k]) for k in order), tuple(rows), np.asarray(samples, float)[order])

    def noise(self) -> Array:
        """Noise level of each effort in the fit with all columns, from the last diagonal entries of the factors."""
        return noise_of(np.stack([R[:, -1, -1] for R in self.rows], axis=1), self.samples)

    def only(self, first: int, last: int) -> DayStack:
        """Select the days from first to last, both included."""
        kept = [k for k, d in enumerate(self.days) if first <= d <= last]
        rows = tuple(R[kept] for R in self.rows)
        return DayStack(self.layout, tuple(self.days[k] for k in kept), rows, self.samples[kept])

    def forgotten(self, half_life: float) -> DayStack:
        """Apply exponential forgetting to the days, with a half-life [days] before the last one."""
        weight = day_weights(self.days, half_life)
        rows = tuple(R * np.sqrt(weight)[:, None, None] for R in self.rows)
        return replace(self, rows=rows, samples=self.samples * weight[:, None])

    def weighted(self, sigma: Array) -> DayStack:
        """Divide the rows by the noise of their effort."""
        return replace(self, rows=tuple(R / s for R, s in zip(self.rows, sigma, strict=True)))

    def joined(self) -> DayStack:
        """Combine all efforts into one over all names, for eliminating columns shared by several efforts."""
        k = len(self.layout.names)
        layout = EvidenceLayout(self.layout.names, ("all",), (tuple(range(k)),))
        return DayStack(
            layout, self.days, (joined_rows(self.layout, self.rows),), self.samples.sum(axis=1, keepdims=True)
        )


def merged_stack(stack: DayStack) -> FleetEvidence:
    """Merged evidence of all rows of all days."""
    triangles = tuple(_merged(R) for R in stack.rows)
    return FleetEvidence(stack.layout, triangles, stack.samples.sum(axis=0))


def _merged(rows: Array) -> Array:
    """Triangular factor of the rows (D, n, k) of all days.

    Days of one robot are similar, so the factor of some days preconditions the normal equations of all days, as
    accurately as QR (`gram_triangle`, which detects days that are not similar).
    """
    flat = rows.reshape(-1, rows.shape[2])
    if len(rows) < ALIKE:
        return upright(flat)
    some = rows[:: len(rows) // 3].reshape(-1, rows.shape[2])
    return upright(gram_triangle(flat, preconditioner(triangle(some))))


@cache
def upper_places(k: int) -> NDArray[np.intp]:
    """Indices of the upper triangle in a flat k x k matrix, row by row."""
    return np.flatnonzero(np.triu(np.ones((k, k))))


def noise_of(last: Array, samples: Array) -> Array:
    """Noise level of each effort from the last diagonal entries of the factors (D, efforts) and the samples."""
    return np.asarray(np.sqrt(np.sum(last**2, axis=0) / np.maximum(samples.sum(axis=0), 1.0)))


def day_weights(days: Sequence[int], half_life: float) -> Array:
    """Weights of days, halved for each half-life [days] before the last."""
    return np.asarray(0.5 ** ((days[-1] - np.array(days)) / half_life))


def noise_levels(noises: Iterable[Array]) -> Array:
    """Median noise of each effort over the robots with an estimate (> 0); 1 if none has one."""
    found = np.array(list(noises))
    levels = [np.median(own[own > 0]) if np.any(own > 0) else 1.0 for own in found.T]
    return np.array(levels, float)
