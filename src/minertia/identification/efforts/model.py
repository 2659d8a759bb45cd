"""The model of an identification from efforts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from minertia.errors import SolverFailed
from minertia.identification.evidence.extrapolation import fitted_reach
from minertia.identification.model import IdentifiedModel
from minertia.identification.physical.consistency import GAPS_ONLY, PhysicalSpace, feasibility, physical_space
from minertia.identification.physical.fit import nearest_with_base, physical_fit
from minertia.identification.remembered import is_possible

if TYPE_CHECKING:
    from minertia.identification.efforts.problem import EffortProblem
    from minertia.identification.result import Identification

Array = NDArray[np.float64]


def effort_model(problem: EffortProblem, result: Identification, *, physical: bool) -> IdentifiedModel:
    """The model of an identification; physical: look for standard parameters that a robot can have."""
    standard, is_physical, excess = _standard(result, physical)
    further = {
        "standard_excess": excess,
        "rivals": {name: [r.to_dict() for r in rs] for name, rs in result.evidence.rivals.items()},
        "reach": fitted_reach(problem.observation).to_dict(),
    }
    return result.as_model(problem.linear, (result.estimate.beta, result.covariance), (standard, is_physical), further)


def _standard(result: Identification, physical: bool) -> tuple[dict[str, float], bool, float]:
    """All standard parameters, whether a robot can have them, and what that costs in the sum of squares.

    Those of the physical fit, else of the physical robot with the same efforts, else of the one that fits best.
    """
    model, beta, estimate = result.linear, np.array(result.estimate.beta), result.estimate
    if estimate.standard:
        return dict(estimate.standard), True, 0.0
    if physical:
        observation = result.observation
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
    """The physical robot with these efforts, with centres of mass in their links where there is one."""
    try:
        return nearest_with_base(space, beta)
    except SolverFailed:
        return nearest_with_base(space.free(), beta)
