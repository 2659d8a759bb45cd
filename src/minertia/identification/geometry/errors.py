"""Errors of readings (measured less predicted), and their residual statistics under a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minertia.identification.evidence.residuals import Residuals, residuals_of
from minertia.identification.geometry.chain import Array, matrix_of
from minertia.identification.geometry.fit import rms
from minertia.identification.geometry.layout import GeometryLayout, GeometryState
from minertia.identification.geometry.measures import ToolReadings
from minertia.identification.kind import ErrorArrows
from minertia.robot.joint import numeric_pose

COMPONENTS = {1: ("",), 2: (" u", " v"), 3: (" x", " y", " z")}  # of an error, by their number


def judged_measures(measures: Sequence[ToolReadings]) -> tuple[ToolReadings, ...]:
    """Measurements with the unit of the first, whose errors are compared."""
    return tuple(m for m in measures if m.unit == measures[0].unit)


def output_names(measures: Sequence[ToolReadings]) -> tuple[str, ...]:
    """Names of the error components, in the order of `misses_of`."""
    return tuple(f"{m.name}{axis}" for m in judged_measures(measures) for axis in COMPONENTS[m.components])


def misses_of(layout: GeometryLayout, state: GeometryState) -> Array:
    """Measured less predicted readings (N, outputs) at each posture; NaN if there is no reading."""
    tool, N = layout.moved(state).tool, layout.postures.count
    parts = []
    for measure, own in zip(layout.postures.measures, state.own, strict=True):
        if measure.unit == layout.postures.measures[0].unit:
            posture, vectors = measure.misses(tool, own)
            table = np.full((N, measure.components), np.nan)
            table[posture] = vectors
            parts.append(table)
    return np.concatenate(parts, axis=1)


def error_arrows(layout: GeometryLayout, state: GeometryState, before: Array, after: Array) -> ErrorArrows | None:
    """Position errors (N, outputs) as arrows in the robot's base frame; None if readings are not positions.

    state: state with the corrections, whose errors are `after`.  None also for a chain whose root is not
    fixed to the base.
    """
    chain, measures = layout.chain, judged_measures(layout.postures.measures)
    first = chain.robot.joints[chain.joints[0]]
    if first.parent is not None or measures[0].unit != "m" or any(m.components != 3 for m in measures):
        return None
    placed = matrix_of(numeric_pose((first.R, first.p), chain.robot.symbol_values))
    to_base, tool = placed @ np.linalg.inv(state.placements[0]), layout.moved(state).tool
    posture, at, left, had = [], [], [], []
    for k, (measure, own) in enumerate(zip(measures, state.own, strict=False)):
        part = slice(3 * k, 3 * k + 3)
        rows = np.flatnonzero(np.isfinite(after[:, part]).all(axis=1) & np.isfinite(before[:, part]).all(axis=1))
        point = own[:3] if measure.has_point else np.zeros(3)
        x = tool[rows, :3, 3] + tool[rows, :3, :3] @ point
        posture.append(rows)
        at.append(x @ to_base[:3, :3].T + to_base[:3, 3])
        left.append(after[rows, part] @ to_base[:3, :3].T)
        had.append(before[rows, part] @ to_base[:3, :3].T)
    joined = (np.concatenate(parts) for parts in (at, had, left))
    return ErrorArrows(layout.postures.q, np.concatenate(posture), *joined)


def sizes_of(measures: Sequence[ToolReadings], misses: Array) -> Array:
    """Error magnitudes of all readings, target by target: distances for positions, angles for rotations."""
    return np.concatenate(list(_sizes(judged_measures(measures), misses)))


def _sizes(measures: Sequence[ToolReadings], misses: Array) -> Iterator[Array]:
    first = 0
    for measure in measures:
        own = misses[:, first : first + measure.components]
        yield np.linalg.norm(own[np.isfinite(own).all(axis=1)], axis=1)
        first += measure.components


@dataclass(frozen=True)
class ReadingResiduals(Residuals):
    """Residuals of a file's readings after correction, with statistics of their size [unit: m, rad, px].

    nominal_rms: with base and tool alone.  zeros_rms: with joint zeros alone; None if these were not fitted.
    """

    unit: str = "m"
    count: int = 0
    rms: float = 0.0
    median: float = 0.0
    p95: float = 0.0
    max: float = 0.0
    nominal_rms: float = 0.0
    zeros_rms: float | None = None

    def to_dict(self, with_log: bool = True) -> dict[str, Any]:
        """Return as a dict of plain data."""
        own = ("unit", "count", "rms", "median", "p95", "max", "nominal_rms", "zeros_rms")
        return super().to_dict(with_log) | {"file": self.log} | {name: getattr(self, name) for name in own}


def reading_residuals(
    name: str, measures: Sequence[ToolReadings], left: Array, nominal: Array, zeros: Array | None = None
) -> ReadingResiduals:
    """Residuals of a file from its errors (N, outputs): fitted, with base and tool alone, with zeros alone."""
    whole = residuals_of(
        name,
        output_names(measures),
        np.sqrt(np.nansum(left**2, axis=0)),
        np.sqrt(np.nansum(nominal**2, axis=0)),
        len(left),
    )
    sizes = sizes_of(measures, left)
    return ReadingResiduals(
        **vars(whole),
        unit=measures[0].unit,
        count=len(sizes),
        rms=rms(sizes),
        median=float(np.median(sizes)),
        p95=float(np.percentile(sizes, 95)),
        max=float(sizes.max()),
        nominal_rms=rms(sizes_of(measures, nominal)),
        zeros_rms=None if zeros is None else rms(sizes_of(measures, zeros)),
    )
