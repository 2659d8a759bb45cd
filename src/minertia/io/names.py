"""Public names of a package: imported on first use, so that importing it is cheap, and deprecated names.

The stub beside the package (`__init__.pyi`) is the one list of its names: type checkers read it, and so does this.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # that of `typing`, which takes half of the time of `import minertia`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy_names(
    package: str, renamed: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package; renamed: new name of each deprecated name, within the package."""
    homes: dict[str, tuple[str, str]] = {}
    before = renamed or {}

    def table() -> dict[str, tuple[str, str]]:
        if not homes:
            homes.update(homes_in(_stub_of(package)))
        return homes

    def load(name: str) -> Any:
        if name in before:
            _warn(
                f"{package}.{name} has been renamed to {package}.{before[name]}; the old name will be removed "
                "in version 1.0.0"
            )
            return _reached(package, before[name])
        if name.startswith("__") or name not in table():
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        module, own = table()[name]
        value = getattr(import_module(module), own) if own else import_module(module)
        setattr(import_module(package), name, value)
        return value

    def names() -> list[str]:
        return sorted({*table(), "__doc__", "__file__", "__name__"})

    return load, names


def _warn(told: str) -> None:
    import warnings

    warnings.warn(told, DeprecationWarning, stacklevel=3)  # whoever asked for the name


def homes_in(stub: str) -> dict[str, tuple[str, str]]:
    """{name: (module, name there)} of the imports of a stub; the second is empty for a module itself."""
    import ast

    found = {}
    for node in ast.parse(stub).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                home = (
                    (f"{node.module}.{alias.name}", "") if node.module == "minertia" else (str(node.module), alias.name)
                )
                found[alias.asname or alias.name] = home
    return found


def _stub_of(package: str) -> str:
    from pathlib import Path

    return Path(str(import_module(package).__file__)).with_suffix(".pyi").read_text(encoding="utf-8")


def _reached(package: str, path: str) -> Any:
    value: Any = import_module(package)
    for part in path.split("."):
        value = getattr(value, part)
    return value


# names of before and what they are called today; the old ones work until version 1.0.0, with a warning
RENAMED = {
    "Added": "fleet.AddResult",
    "Arithmetic": "options.Arithmetic",
    "Box": "excitation.Box",
    "ChosenFrame": "dynamics.ChosenFrame",
    "CodeModel": "options.CodeModel",
    "CodeSearch": "options.CodeSearch",
    "ColumnMap": "options.ColumnMap",
    "Command": "options.Command",
    "DriftOptions": "options.DriftOptions",
    "Drive": "options.Drive",
    "DriveGains": "identification.DriveGains",
    "ElasticJoints": "options.ElasticJoints",
    "Estimate": "identification.Estimate",
    "Evaluation": "options.Evaluation",
    "EvidenceRecord": "fleet.EvidenceRecord",
    "Filter": "options.Filter",
    "FitOptions": "options.FitOptions",
    "Fleet": "fleet.Fleet",
    "FleetAlarm": "fleet.FleetAlarm",
    "FleetDrift": "fleet.FleetDrift",
    "FleetEvidence": "fleet.FleetEvidence",
    "FleetFile": "fleet.FleetFile",
    "FleetFit": "fleet.FleetFit",
    "FleetRobot": "fleet.FleetRobot",
    "Floor": "options.Floor",
    "Fourier": "excitation.Fourier",
    "FrameWrench": "dynamics.FrameWrench",
    "GenerationResult": "codegen.GenerationResult",
    "Load": "options.Load",
    "LoopIdentification": "identification.LoopIdentification",
    "ModelComparison": "identification.ModelComparison",
    "MotionLimits": "excitation.MotionLimits",
    "MotionSearch": "options.MotionSearch",
    "NotHeld": "simulation.UnsupportedPartWarning",
    "OnlineWatch": "watch.OnlineWatch",
    "Optimality": "options.Optimality",
    "Payload": "identification.Payload",
    "Recorded": "options.RecordedMotions",
    "Rehearsal": "simulation.Rehearsal",
    "RehearsalOptions": "options.RehearsalOptions",
    "Repairs": "options.Repairs",
    "Residuals": "identification.Residuals",
    "ResultPage": "report.ResultPage",
    "RobotType": "fleet.RobotType",
    "SignificantParameters": "identification.SignificantParameters",
    "Spline": "excitation.Spline",
    "SymbolicDynamics": "base.SymbolicDynamics",
    "WatchAlarm": "watch.WatchAlarm",
    "WatchLevels": "watch.WatchLevels",
    "WatchOptions": "options.WatchOptions",
    "Watched": "watch.WatchResult",
    "Workspace": "excitation.Workspace",
    "actuation_matrix": "dynamics.actuation_matrix",
    "bundled_robots": "list_robots",
    "compare_models": "compare",
    "coordinate_efforts": "dynamics.coordinate_efforts",
    "coriolis_matrix": "dynamics.coriolis_matrix",
    "forward_dynamics_derivatives": "dynamics.forward_dynamics_derivatives",
    "forward_kinematics": "dynamics.forward_kinematics",
    "gravity_torques": "dynamics.gravity_torques",
    "inverse_dynamics_derivatives": "dynamics.inverse_dynamics_derivatives",
    "isaac_lab_text": "identification.to_isaac_lab",
    "iter_blocks": "identification.read_blocks",
    "jacobian": "dynamics.jacobian",
    "kinetic_energy": "dynamics.kinetic_energy",
    "learn_levels": "watch.learn_levels",
    "mass_matrix": "dynamics.mass_matrix",
    "momentum_regressor": "dynamics.momentum_regressor",
    "new_campaign": "draft_campaign",
    "passive_start": "dynamics.passive_start",
    "position_mjcf": "identification.to_position_mjcf",
    "potential_energy": "dynamics.potential_energy",
    "power_regressor": "dynamics.power_regressor",
    "prepared": "identification.filter_log",
    "program": "codegen.build_program",
    "read_fleet": "fleet.read_fleet",
    "read_levels": "watch.read_levels",
    "repaired": "identification.repair_log",
    "slotine_li_regressor": "dynamics.slotine_li_regressor",
    "slotine_li_torques": "dynamics.slotine_li_torques",
    "symbolic": "base.derive_symbolic",
    "to_jax": "codegen.to_jax",
    "to_torch": "codegen.to_torch",
    "torque_regressor": "dynamics.torque_regressor",
    "validate_in_mujoco": "simulation.validate_in_mujoco",
    "velocity_torques": "dynamics.velocity_torques",
    "watch_log": "watch.watch_log",
}
