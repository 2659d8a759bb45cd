"""Plausibility check: whether a physically consistent robot explains the efforts.

Noise can make an unconstrained fit unphysical, but then hardly increases the residual of a physically
consistent fit.  A wrong sign, unit, joint order or gravity leads to bodies of negative mass: the best
physically consistent fit then has a far larger residual than the unconstrained one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from minertia.identification.estimators.automatic import MOST_LINKS
from minertia.identification.evidence import thresholds as at
from minertia.identification.physical.consistency import GAPS_ONLY, physical_space
from minertia.identification.physical.fit import physical_fit
from minertia.identification.physical.scaling import trusted_levels, unshifted
from minertia.identification.problem.observation import Observation
from minertia.io.errors import SolverFailed

Array = NDArray[np.float64]


def implausible(
    observation: Observation, problem: Observation, beta: Array, sigma: Array, fixed: Mapping[str, float]
) -> str | None:
    """Message where no physically consistent robot explains the efforts nearly as well as an unconstrained fit.

    problem: the observation without known parameters.  beta: values of all unknowns of the unconstrained fit.
    """
    space = physical_space(observation.model, None, fixed, problem.effort_rms).free()
    if not 0 < len(space.links) <= MOST_LINKS:
        return None
    R = unshifted(problem, problem.triangle(trusted_levels(problem, sigma)))
    try:
        answer = physical_fit(space, R, problem.samples * len(sigma), weight=GAPS_ONLY)
    except SolverFailed:
        return None
    effort = np.maximum(np.linalg.norm(observation.totals[:, :, -1], axis=1), 1e-300)
    free, physical = observation.residuals(beta), observation.residuals(answer.beta)
    size = float(np.linalg.norm(effort))
    ours, theirs = float(np.linalg.norm(free)) / size, float(np.linalg.norm(physical)) / size
    far = (physical > at.IMPOSSIBLE_TIMES * free) & (physical > free + at.IMPOSSIBLE_AT_JOINT * effort)
    if not far.any() and (theirs <= at.IMPOSSIBLE_TIMES * ours or theirs <= ours + at.IMPOSSIBLE_MORE):
        return None
    where = [name for name, is_far in zip(observation.row_names, far, strict=True) if is_far]
    worst = f", most at {', '.join(where)}" if 0 < len(where) < len(effort) else ""
    return (
        "no physically consistent robot explains these efforts: the best has a relative residual of "
        f"{100 * theirs:.3g} %, this fit {100 * ours:.3g} %{worst}; check signs, units and order of the joints, "
        "gravity and the clock"
    )
