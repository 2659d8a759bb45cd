"""The simulated robot: rehearsals, and models in other engines."""

from minertia.simulation.commanded_plant import validate_in_mujoco
from minertia.simulation.engines import UnsupportedPartWarning
from minertia.simulation.rehearsed import Rehearsal

__all__ = [
    "Rehearsal",
    "UnsupportedPartWarning",
    "validate_in_mujoco",
]
