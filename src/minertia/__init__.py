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
    from minertia.base.symbolic import SymbolicDynamics, symbolic
    from minertia.codegen.compiled import compile, program, to_jax, to_torch
    from minertia.codegen.generate import GenerationResult, generate
    from minertia.codegen.options import Arithmetic, CodeModel, CodeSearch
    from minertia.dynamics.frame import ChosenFrame, FrameWrench
    from minertia.dynamics.model import (
        actuation_matrix,
        coordinate_efforts,
        coriolis_matrix,
        forward_dynamics,
        forward_dynamics_derivatives,
        forward_kinematics,
        gravity_torques,
        inverse_dynamics,
        inverse_dynamics_derivatives,
        jacobian,
        kinetic_energy,
        mass_matrix,
        momentum_regressor,
        passive_start,
        potential_energy,
        power_regressor,
        slotine_li_regressor,
        slotine_li_torques,
        torque_regressor,
        velocity_torques,
    )
    from minertia.errors import MinertiaError
    from minertia.excitation.excite import excite
    from minertia.excitation.fourier import Fourier
    from minertia.excitation.limits import MotionLimits, motion_limits
    from minertia.excitation.options import MotionSearch, Optimality, Recorded
    from minertia.excitation.result import Excitation
    from minertia.excitation.space import Box, Workspace
    from minertia.excitation.spline import Spline
    from minertia.excitation.trajectory import Trajectory
    from minertia.fleet.add import Added
    from minertia.fleet.drift import DriftOptions, FleetAlarm, FleetDrift
    from minertia.fleet.evidence import FleetEvidence
    from minertia.fleet.fit import FitOptions
    from minertia.fleet.fit_result import FleetFit
    from minertia.fleet.fleet import Fleet
    from minertia.fleet.fleet_file import FleetFile, FleetRobot, read_fleet
    from minertia.fleet.record import EvidenceRecord
    from minertia.fleet.robot_type import RobotType
    from minertia.identification.audits.audit import audit
    from minertia.identification.campaigns.campaign import Campaign, Log, Repairs
    from minertia.identification.campaigns.command import Command
    from minertia.identification.campaigns.elastic import ElasticJoints
    from minertia.identification.campaigns.floor import Floor
    from minertia.identification.campaigns.new import new_campaign
    from minertia.identification.campaigns.read import read_campaign
    from minertia.identification.closed_loop.actuators import isaac_lab_text, position_mjcf
    from minertia.identification.comparison import ModelComparison, compare_models
    from minertia.identification.estimators.estimate import Estimate
    from minertia.identification.evidence.residuals import Residuals
    from minertia.identification.identify import build_problem, identify, judge, solve
    from minertia.identification.kind import Problem
    from minertia.identification.loads.gains import DriveGains
    from minertia.identification.loads.load import Load
    from minertia.identification.loads.payload import Payload
    from minertia.identification.logs.columns import ColumnMap
    from minertia.identification.logs.drive import Drive
    from minertia.identification.logs.readers import iter_blocks, read_recording
    from minertia.identification.logs.recording import Recording
    from minertia.identification.logs.repair import repaired
    from minertia.identification.model import IdentifiedModel
    from minertia.identification.model_file import read_model, write_model
    from minertia.identification.online.levels import WatchLevels, WatchOptions
    from minertia.identification.online.levels_file import read_levels
    from minertia.identification.payload import identify_gains, identify_payload
    from minertia.identification.result import Identification, LoopIdentification
    from minertia.identification.signals.evaluation import Evaluation
    from minertia.identification.signals.filtering import Filter, prepared
    from minertia.identification.significance import SignificantParameters, significance
    from minertia.identification.validate import validate
    from minertia.identification.watch import OnlineWatch, WatchAlarm, Watched, learn_levels, watch_log
    from minertia.report.show import ResultPage, show
    from minertia.robot.check import check_robot
    from minertia.robot.read import bundled_robots, read_robot
    from minertia.robot.robot import Robot
    from minertia.robot.write import write_robot
    from minertia.simulation.commanded_plant import validate_in_mujoco
    from minertia.simulation.engines import NotHeld, to_mujoco, to_pinocchio
    from minertia.simulation.rehearsal import rehearse
    from minertia.simulation.rehearsed import Rehearsal, RehearsalOptions

_HOME = {
    "Added": "minertia.fleet.add",
    "Arithmetic": "minertia.codegen.options",
    "BaseParameters": "minertia.base.grouping",
    "Box": "minertia.excitation.space",
    "Campaign": "minertia.identification.campaigns.campaign",
    "ChosenFrame": "minertia.dynamics.frame",
    "CodeModel": "minertia.codegen.options",
    "CodeSearch": "minertia.codegen.options",
    "ColumnMap": "minertia.identification.logs.columns",
    "Command": "minertia.identification.campaigns.command",
    "DriftOptions": "minertia.fleet.drift",
    "ElasticJoints": "minertia.identification.campaigns.elastic",
    "Floor": "minertia.identification.campaigns.floor",
    "Drive": "minertia.identification.logs.drive",
    "DriveGains": "minertia.identification.loads.gains",
    "Estimate": "minertia.identification.estimators.estimate",
    "Evaluation": "minertia.identification.signals.evaluation",
    "EvidenceRecord": "minertia.fleet.record",
    "Excitation": "minertia.excitation.result",
    "Filter": "minertia.identification.signals.filtering",
    "FitOptions": "minertia.fleet.fit",
    "Fleet": "minertia.fleet.fleet",
    "FleetAlarm": "minertia.fleet.drift",
    "FleetDrift": "minertia.fleet.drift",
    "FleetEvidence": "minertia.fleet.evidence",
    "FleetFile": "minertia.fleet.fleet_file",
    "FleetFit": "minertia.fleet.fit_result",
    "FleetRobot": "minertia.fleet.fleet_file",
    "Fourier": "minertia.excitation.fourier",
    "FrameWrench": "minertia.dynamics.frame",
    "GenerationResult": "minertia.codegen.generate",
    "Identification": "minertia.identification.result",
    "IdentifiedModel": "minertia.identification.model",
    "Load": "minertia.identification.loads.load",
    "Log": "minertia.identification.campaigns.campaign",
    "LoopIdentification": "minertia.identification.result",
    "MinertiaError": "minertia.errors",
    "ModelComparison": "minertia.identification.comparison",
    "MotionLimits": "minertia.excitation.limits",
    "MotionSearch": "minertia.excitation.options",
    "NotHeld": "minertia.simulation.engines",
    "Optimality": "minertia.excitation.options",
    "Payload": "minertia.identification.loads.payload",
    "Problem": "minertia.identification.kind",
    "Recorded": "minertia.excitation.options",
    "Recording": "minertia.identification.logs.recording",
    "Rehearsal": "minertia.simulation.rehearsed",
    "RehearsalOptions": "minertia.simulation.rehearsed",
    "Repairs": "minertia.identification.campaigns.campaign",
    "Residuals": "minertia.identification.evidence.residuals",
    "ResultPage": "minertia.report.show",
    "Robot": "minertia.robot.robot",
    "RobotType": "minertia.fleet.robot_type",
    "SignificantParameters": "minertia.identification.significance",
    "Spline": "minertia.excitation.spline",
    "SymbolicDynamics": "minertia.base.symbolic",
    "Trajectory": "minertia.excitation.trajectory",
    "Workspace": "minertia.excitation.space",
    "actuation_matrix": "minertia.dynamics.model",
    "audit": "minertia.identification.audits.audit",
    "base_parameters": "minertia.base.derive",
    "build_problem": "minertia.identification.identify",
    "bundled_robots": "minertia.robot.read",
    "check_robot": "minertia.robot.check",
    "compare_models": "minertia.identification.comparison",
    "compile": "minertia.codegen.compiled",
    "coordinate_efforts": "minertia.dynamics.model",
    "coriolis_matrix": "minertia.dynamics.model",
    "excite": "minertia.excitation.excite",
    "forward_dynamics": "minertia.dynamics.model",
    "forward_dynamics_derivatives": "minertia.dynamics.model",
    "forward_kinematics": "minertia.dynamics.model",
    "generate": "minertia.codegen.generate",
    "gravity_torques": "minertia.dynamics.model",
    "identify": "minertia.identification.identify",
    "identify_gains": "minertia.identification.payload",
    "identify_payload": "minertia.identification.payload",
    "inverse_dynamics": "minertia.dynamics.model",
    "inverse_dynamics_derivatives": "minertia.dynamics.model",
    "isaac_lab_text": "minertia.identification.closed_loop.actuators",
    "iter_blocks": "minertia.identification.logs.readers",
    "jacobian": "minertia.dynamics.model",
    "judge": "minertia.identification.identify",
    "kinetic_energy": "minertia.dynamics.model",
    "mass_matrix": "minertia.dynamics.model",
    "momentum_regressor": "minertia.dynamics.model",
    "motion_limits": "minertia.excitation.limits",
    "new_campaign": "minertia.identification.campaigns.new",
    "passive_start": "minertia.dynamics.model",
    "position_mjcf": "minertia.identification.closed_loop.actuators",
    "potential_energy": "minertia.dynamics.model",
    "power_regressor": "minertia.dynamics.model",
    "prepared": "minertia.identification.signals.filtering",
    "program": "minertia.codegen.compiled",
    "read_campaign": "minertia.identification.campaigns.read",
    "read_fleet": "minertia.fleet.fleet_file",
    "read_model": "minertia.identification.model_file",
    "read_recording": "minertia.identification.logs.readers",
    "read_robot": "minertia.robot.read",
    "rehearse": "minertia.simulation.rehearsal",
    "repaired": "minertia.identification.logs.repair",
    "show": "minertia.report.show",
    "significance": "minertia.identification.significance",
    "slotine_li_regressor": "minertia.dynamics.model",
    "slotine_li_torques": "minertia.dynamics.model",
    "solve": "minertia.identification.identify",
    "symbolic": "minertia.base.symbolic",
    "to_jax": "minertia.codegen.compiled",
    "to_mujoco": "minertia.simulation.engines",
    "to_pinocchio": "minertia.simulation.engines",
    "to_torch": "minertia.codegen.compiled",
    "torque_regressor": "minertia.dynamics.model",
    "validate": "minertia.identification.validate",
    "validate_in_mujoco": "minertia.simulation.commanded_plant",
    "velocity_torques": "minertia.dynamics.model",
    "write_model": "minertia.identification.model_file",
    "write_robot": "minertia.robot.write",
    "OnlineWatch": "minertia.identification.watch",
    "WatchAlarm": "minertia.identification.watch",
    "Watched": "minertia.identification.watch",
    "WatchLevels": "minertia.identification.online.levels",
    "WatchOptions": "minertia.identification.online.levels",
    "learn_levels": "minertia.identification.watch",
    "watch_log": "minertia.identification.watch",
    "read_levels": "minertia.identification.online.levels_file",
}

__all__ = [
    "Added",
    "Arithmetic",
    "BaseParameters",
    "Box",
    "Campaign",
    "ChosenFrame",
    "CodeModel",
    "CodeSearch",
    "ColumnMap",
    "Command",
    "DriftOptions",
    "Drive",
    "DriveGains",
    "ElasticJoints",
    "Estimate",
    "Evaluation",
    "EvidenceRecord",
    "Excitation",
    "Filter",
    "FitOptions",
    "Fleet",
    "FleetAlarm",
    "FleetDrift",
    "FleetEvidence",
    "FleetFile",
    "FleetFit",
    "FleetRobot",
    "Floor",
    "Fourier",
    "FrameWrench",
    "GenerationResult",
    "Identification",
    "IdentifiedModel",
    "Load",
    "Log",
    "LoopIdentification",
    "MinertiaError",
    "ModelComparison",
    "MotionLimits",
    "MotionSearch",
    "NotHeld",
    "OnlineWatch",
    "Optimality",
    "Payload",
    "Problem",
    "Recorded",
    "Recording",
    "Rehearsal",
    "RehearsalOptions",
    "Repairs",
    "Residuals",
    "ResultPage",
    "Robot",
    "RobotType",
    "SignificantParameters",
    "Spline",
    "SymbolicDynamics",
    "Trajectory",
    "WatchAlarm",
    "WatchLevels",
    "WatchOptions",
    "Watched",
    "Workspace",
    "__version__",
    "actuation_matrix",
    "audit",
    "base_parameters",
    "build_problem",
    "bundled_robots",
    "check_robot",
    "compare_models",
    "compile",
    "coordinate_efforts",
    "coriolis_matrix",
    "excite",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "forward_kinematics",
    "generate",
    "gravity_torques",
    "identify",
    "identify_gains",
    "identify_payload",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "isaac_lab_text",
    "iter_blocks",
    "jacobian",
    "judge",
    "kinetic_energy",
    "learn_levels",
    "mass_matrix",
    "momentum_regressor",
    "motion_limits",
    "new_campaign",
    "passive_start",
    "position_mjcf",
    "potential_energy",
    "power_regressor",
    "prepared",
    "program",
    "read_campaign",
    "read_fleet",
    "read_levels",
    "read_model",
    "read_recording",
    "read_robot",
    "rehearse",
    "repaired",
    "show",
    "significance",
    "slotine_li_regressor",
    "slotine_li_torques",
    "solve",
    "symbolic",
    "to_jax",
    "to_mujoco",
    "to_pinocchio",
    "to_torch",
    "torque_regressor",
    "validate",
    "validate_in_mujoco",
    "velocity_torques",
    "watch_log",
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
