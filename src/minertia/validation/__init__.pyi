"""The simulated robot: rehearsals, and models in other engines."""

from minertia.validation.commanded_plant import validate_in_mujoco
from minertia.validation.engines import UnsupportedPartWarning
from minertia.validation.rehearsed import Rehearsal

__all__ = [
    "Rehearsal",
    "UnsupportedPartWarning",
    "validate_in_mujoco",
]
