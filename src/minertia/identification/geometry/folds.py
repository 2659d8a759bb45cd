"""Cross-validation by regions of postures: neighbouring postures are too similar for leave-one-out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from minertia.identification.geometry.chain import Array, Chain
from minertia.identification.geometry.errors import misses_of, output_names, sizes_of
from minertia.identification.geometry.fit import GeometryFit, fit, fitted_in_levels, rms
from minertia.identification.geometry.layout import GeometryLayout, GeometryState, JointColumn, Postures
from minertia.identification.geometry.measures import SamePointMeasure
from minertia.identification.geometry.starts import near, started

REGIONS = 5
FEWEST = 3  # postures of a region
ROUNDS = 50
CAP = 5.0  # medians of the error beyond which one posture says no more


@dataclass(frozen=True)
class GeometryRows:
    """Data of a calibration fit: chain, postures, and all candidate joint corrections.

    places: region index of each posture, if the measurement names regions; else None.
    """

    chain: Chain
    postures: Postures
    columns: tuple[JointColumn, ...]
    places: NDArray[np.intp] | None = None  # regions that the measurement names

    def layout(self, groups: Sequence[str], chosen: NDArray[np.intp] | None = None) -> GeometryLayout:
        """Layout of the unknowns of some groups at some of the postures."""
        columns = [c for c in self.columns if c.group in groups]
        if chosen is None:
            return GeometryLayout(self.chain, self.postures, columns)
        taken = [replace(c, shape=c.shape[chosen]) for c in columns]
        return GeometryLayout(self.chain, self.postures.take(chosen), taken)

    def taken(self, chosen: NDArray[np.intp]) -> GeometryRows:
        """Subset of the problem at some of the postures."""
        columns = tuple(replace(c, shape=c.shape[chosen]) for c in self.columns)
        places = None if self.places is None else self.places[chosen]
        return GeometryRows(self.chain, self.postures.take(chosen), columns, places)

    def fit(
        self, groups: Sequence[str], chosen: NDArray[np.intp] | None = None, start: GeometryState | None = None
    ) -> GeometryFit:
        """Fit some groups, from scratch or from the state of an earlier fit of other groups."""
        layout = self.layout(groups, chosen)
        if start is None:
            return fitted_in_levels(layout, started(layout), groups)
        return fit(layout, near(layout, start), groups)

    def misses(self, found: GeometryFit, chosen: NDArray[np.intp] | None = None) -> Array:
        """Measured less predicted readings (chosen, outputs) at some postures (default: all); NaN if missing."""
        layout = self.layout([c.group for c in found.layout.joint_columns], chosen)
        return misses_of(layout, without_groups(found).state)

    def errors(self, found: GeometryFit, chosen: NDArray[np.intp] | None = None) -> Array:
        """Error magnitude of every reading at some postures, target by target."""
        return sizes_of(self.postures.measures, self.misses(found, chosen))


def regions(problem: GeometryRows) -> NDArray[np.intp]:
    """Region index of each posture: named positions of the measurement, else clusters in joint space (k-means)."""
    if problem.places is not None and len(np.unique(problem.places)) > 1:
        return problem.places
    positions = problem.chain.positions(problem.postures.q)
    spread = np.maximum(positions.std(axis=0), 1e-9)
    x = positions / spread
    count = min(REGIONS, len(x) // FEWEST)
    if count < 2:
        return np.zeros(len(x), np.intp)
    return _balanced(x, count)


def _balanced(x: Array, count: int) -> NDArray[np.intp]:
    """Deterministic k-means, initialised at the points farthest from one another."""
    centres = [x[np.argmax(((x - x.mean(axis=0)) ** 2).sum(axis=1))]]
    while len(centres) < count:
        nearest = np.min([((x - c) ** 2).sum(axis=1) for c in centres], axis=0)
        centres.append(x[np.argmax(nearest)])
    C = np.array(centres)
    label = np.zeros(len(x), np.intp)
    for _ in range(ROUNDS):
        distance = ((x[:, None] - C[None]) ** 2).sum(axis=2)
        new = distance.argmin(axis=1)
        if (new == label).all():
            break
        label = new
        C = np.stack([x[label == k].mean(axis=0) if (label == k).any() else C[k] for k in range(count)])
    return np.unique(label, return_inverse=True)[1].astype(np.intp)


@dataclass(frozen=True)
class RegionsLeftOut:
    """Errors of correction levels at held-out postures.

    by_region: root mean square in each region.  misses (N, outputs): errors of each posture, fitted without its
    region. sizes: error magnitude of every reading.  states: fitted without each region.
    """

    groups: tuple[str, ...]
    by_region: Array
    misses: Array
    sizes: Array
    states: tuple[GeometryState, ...]

    @property
    def rms(self) -> float:
        """Root mean square error over all readings."""
        return rms(self.sizes)


def left_out(
    problem: GeometryRows, groups: Sequence[str], region: NDArray[np.intp], fewer: RegionsLeftOut | GeometryFit
) -> RegionsLeftOut:
    """Cross-validation by regions: each is predicted by a fit of the others.

    fewer: initial states, from cross-validation with fewer groups or from a fit of all regions.
    """
    by_region, states, measures = [], [], problem.postures.measures
    misses = np.full((problem.postures.count, len(output_names(measures))), np.nan)
    for k, number in enumerate(np.unique(region)):
        inside, outside = np.flatnonzero(region == number), np.flatnonzero(region != number)
        found = problem.fit(groups, outside, fewer.state if isinstance(fewer, GeometryFit) else fewer.states[k])
        misses[inside] = problem.misses(found, inside)
        by_region.append(rms(sizes_of(measures, misses[inside])))
        states.append(found.state)
    return RegionsLeftOut(tuple(groups), np.array(by_region), misses, sizes_of(measures, misses), tuple(states))


def without_groups(found: GeometryFit) -> GeometryFit:
    """Fit without the fixed points of posture groups, which validation re-estimates; the tool point remains."""
    measures = found.layout.postures.measures
    own = tuple(
        values[:3] if isinstance(m, SamePointMeasure) else values
        for m, values in zip(measures, found.state.own, strict=True)
    )
    return replace(found, state=replace(found.state, own=own))


def capped(sizes: Array) -> float:
    """Root mean square of errors, clipped at a multiple of the median."""
    return rms(np.minimum(sizes, CAP * float(np.median(sizes)))) if len(sizes) else 0.0
