"""minertia: robot dynamic modelling and identification.

The public names are listed here and loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from minertia.version import __version__

if TYPE_CHECKING:
    from minertia.base.derive import base_parameters
    from minertia.base.grouping import BaseParameters
    from minertia.dynamics.model import (
        forward_dynamics,
        gravity_torques,
        inverse_dynamics,
        kinetic_energy,
        mass_matrix,
        potential_energy,
        torque_regressor,
        velocity_torques,
    )
    from minertia.errors import MinertiaError
    from minertia.identification.auditing import audit
    from minertia.identification.campaign import read_campaign
    from minertia.identification.campaign_new import new_campaign
    from minertia.identification.columns import ColumnMap
    from minertia.identification.filtering import Filter, prepared
    from minertia.identification.identify import Identification, identify
    from minertia.identification.model import IdentifiedModel, identified_model, read_model, write_model
    from minertia.identification.payload import identify_payload
    from minertia.identification.readers import iter_blocks, read_recording
    from minertia.identification.recording import Recording
    from minertia.identification.repair import repaired
    from minertia.identification.run import identify_campaign
    from minertia.robot.check import check_robot
    from minertia.robot.read import bundled_robots, read_robot
    from minertia.robot.robot import Robot
    from minertia.robot.write import write_robot

_HOME = {
    "BaseParameters": "minertia.base.grouping",
    "ColumnMap": "minertia.identification.columns",
    "Filter": "minertia.identification.filtering",
    "Identification": "minertia.identification.identify",
    "IdentifiedModel": "minertia.identification.model",
    "MinertiaError": "minertia.errors",
    "Recording": "minertia.identification.recording",
    "Robot": "minertia.robot.robot",
    "audit": "minertia.identification.auditing",
    "base_parameters": "minertia.base.derive",
    "bundled_robots": "minertia.robot.read",
    "check_robot": "minertia.robot.check",
    "forward_dynamics": "minertia.dynamics.model",
    "gravity_torques": "minertia.dynamics.model",
    "identified_model": "minertia.identification.model",
    "identify": "minertia.identification.identify",
    "identify_campaign": "minertia.identification.run",
    "identify_payload": "minertia.identification.payload",
    "inverse_dynamics": "minertia.dynamics.model",
    "iter_blocks": "minertia.identification.readers",
    "kinetic_energy": "minertia.dynamics.model",
    "mass_matrix": "minertia.dynamics.model",
    "new_campaign": "minertia.identification.campaign_new",
    "potential_energy": "minertia.dynamics.model",
    "prepared": "minertia.identification.filtering",
    "read_campaign": "minertia.identification.campaign",
    "read_model": "minertia.identification.model",
    "read_recording": "minertia.identification.readers",
    "read_robot": "minertia.robot.read",
    "repaired": "minertia.identification.repair",
    "torque_regressor": "minertia.dynamics.model",
    "velocity_torques": "minertia.dynamics.model",
    "write_model": "minertia.identification.model",
    "write_robot": "minertia.robot.write",
}

__all__ = [
    "BaseParameters",
    "ColumnMap",
    "Filter",
    "Identification",
    "IdentifiedModel",
    "MinertiaError",
    "Recording",
    "Robot",
    "__version__",
    "audit",
    "base_parameters",
    "bundled_robots",
    "check_robot",
    "forward_dynamics",
    "gravity_torques",
    "identified_model",
    "identify",
    "identify_campaign",
    "identify_payload",
    "inverse_dynamics",
    "iter_blocks",
    "kinetic_energy",
    "mass_matrix",
    "new_campaign",
    "potential_energy",
    "prepared",
    "read_campaign",
    "read_model",
    "read_recording",
    "read_robot",
    "repaired",
    "torque_regressor",
    "velocity_torques",
    "write_model",
    "write_robot",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'minertia' has no attribute '{name}'")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
