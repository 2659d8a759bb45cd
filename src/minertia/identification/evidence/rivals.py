"""Reference models (baselines) that an identified model must beat on validation data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minertia.identification.problem.diagnosis import excitation
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import weighted_solution

Array = NDArray[np.float64]


def rivals(observation: Observation) -> dict[str, Array]:
    """Parameter values of the reference models by name: file inertias with fitted friction, and the file itself."""
    model = observation.model
    if not model.robot.has_parameters:
        return {"friction only": friction_only(observation, None)}
    nominal = model.nominal()
    return {"nominal with fitted friction": friction_only(observation, nominal), "the nominal model": nominal}


def friction_only(observation: Observation, nominal: Array | None) -> Array:
    """Baseline with the inertias of the robot file (zero if it has none), and fitted friction and offsets."""
    model = observation.model
    friction = [k for k in range(model.count) if model.is_friction(k)]
    known = np.zeros(model.count) if nominal is None else np.array(nominal, float)
    known[friction] = 0.0
    if not friction:
        return known
    rest = observation.reduced(friction, known)
    found = excitation(rest)
    rest = rest.reduced(found.independent)
    if rest.count == 0:
        return known
    beta, _, _ = weighted_solution(rest)
    return rest.expand(beta)
