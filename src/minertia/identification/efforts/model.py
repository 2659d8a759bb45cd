"""Standard parameters of an identification from efforts, physically consistent where possible."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minertia.identification.estimators.estimate import Estimate
from minertia.identification.physical.consistency import GAPS_ONLY, PhysicalSpace, feasibility, physical_space
from minertia.identification.physical.fit import nearest_with_base, physical_fit
from minertia.identification.problem.observation import Observation
from minertia.identification.remembered import is_possible
from minertia.io.errors import SolverFailed

Array = NDArray[np.float64]


def standard_parameters(
    observation: Observation, estimate: Estimate, *, physical: bool
) -> tuple[dict[str, float], bool, float]:
    """All standard parameters, whether they are physically consistent, and the increase of the sum of squares.

    Source, in this order: the physical fit; physically consistent parameters with the same efforts; the
    physically consistent parameters that fit best; the unconstrained estimate.
    """
    model, beta = observation.model, np.array(estimate.beta)
    if estimate.standard:
        return dict(estimate.standard), True, 0.0
    if physical:
        space = physical_space(model, None, {n: estimate.value(n) for n in estimate.fixed}, observation.effort_rms)
        try:
            if feasibility(space, beta).slack > 0:
                x = _nearest(space, beta)
                if min(space.margins(x).values(), default=1.0) >= 0:
                    return dict(zip(model.standard, x.tolist(), strict=True)), True, 0.0
            R, rows = observation.triangle(estimate.sigma), observation.samples
            fit = physical_fit(space.free(), R, rows * len(observation.row_names), weight=GAPS_ONLY)
            return dict(zip(model.standard, fit.x.tolist(), strict=True)), True, fit.excess
        except SolverFailed:
            pass
    values = model.standard_values(beta)
    return values, is_possible(model.robot, values), 0.0


def _nearest(space: PhysicalSpace, beta: Array) -> Array:
    """Physically consistent standard parameters with these efforts, centres of mass in their links if possible."""
    try:
        return nearest_with_base(space, beta)
    except SolverFailed:
        return nearest_with_base(space.free(), beta)
