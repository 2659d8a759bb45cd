"""Settings of each kind of studio job, from which requests, forms and types are generated.

Files are named by keys of the project.  Options of other packages are included as declared there;
`table=""` means that they are not in a separate table of the job's settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from minertia.codegen.options import Arithmetic
from minertia.codegen.targets.options import CodeFiles
from minertia.excitation.options import LimitOptions, MotionSearch, MotionShape, Optimality
from minertia.fleet.options import DriftOptions
from minertia.identification.campaigns.options import CalibrationOptions, MeasureColumns, WrenchOptions
from minertia.identification.logs.options import ColumnMap
from minertia.io.errors import InputError
from minertia.io.schema import Declared, Option, keys_of, like, option, options, read
from minertia.io.tables import CheckedTable
from minertia.simulation.options import RehearsalOptions

KEY = r"[0-9a-f]{12}"  # of a file of the project
MOST_FILES = 200
SHOWN = {  # generated controllers
    "adaptive": "adaptive control: a payload is picked up",
    "guiding": "hand guiding: pulled and released",
}


@dataclass(frozen=True, repr=False)
class RobotJob(Declared):
    """Read the robot and derive its base parameters."""

    rotors: bool = option(True, "Rotor inertias.")
    friction: bool = option(False, "Friction and offsets.")
    robot: str = option("", "Version of the robot file that was read.")


@dataclass(frozen=True, repr=False)
class ProposeJob(Declared):
    """Read the headers of logs."""

    logs: tuple[str, ...] = option(
        (), "Logs to read, by their keys in the project.", pattern=KEY, most=MOST_FILES, otherwise="all"
    )


@dataclass(frozen=True, repr=False)
class CampaignJob(Declared):
    """Job that needs only the campaign."""


@dataclass(frozen=True, repr=False)
class ValidateJob(Declared):
    """Predict logs with a model."""

    model: str = option(help="Identified model, by its key in the project.", pattern=KEY)
    logs: tuple[str, ...] = option(help="Validation logs, by their keys in the project.", pattern=KEY, most=MOST_FILES)


@dataclass(frozen=True, repr=False)
class CalibrateJob(Declared):
    """Calibrate the robot from measurements of its tool."""

    measurements: tuple[str, ...] = option(
        help="Measurement files to fit, by their keys in the project.", pattern=KEY, most=MOST_FILES
    )
    validate: tuple[str, ...] = option(
        (),
        "Validation measurements, by their keys in the project.",
        pattern=KEY,
        most=MOST_FILES,
        otherwise="none: held-out regions",
    )
    angle: str | None = like(ColumnMap, "angle")
    length: str | None = like(ColumnMap, "length", otherwise="must be given")
    measure: tuple[MeasureColumns, ...] = option(
        (), "Measurements of the tool and their columns.", otherwise="recognised by the header"
    )
    calibration: CalibrationOptions = option(CalibrationOptions(), table="")


@dataclass(frozen=True, repr=False)
class WrenchJob(Declared):
    """Identify the tool on a force/torque sensor, its bias and its tilt."""

    measurements: tuple[str, ...] = like(CalibrateJob, "measurements")
    validate: tuple[str, ...] = like(CalibrateJob, "validate")
    angle: str | None = like(ColumnMap, "angle")
    wrench: WrenchOptions = option(WrenchOptions(), table="")


@dataclass(frozen=True, repr=False)
class ExciteJob(Declared):
    """Compute an excitation trajectory."""

    shape: MotionShape = option(MotionShape(), table="")
    optimality: Optimality = option(Optimality(), table="")
    search: MotionSearch = option(MotionSearch(starts=1), table="")
    limits: LimitOptions = option(LimitOptions(), "Limits of the trajectory, as in a limits file.")


@dataclass(frozen=True, repr=False)
class GenerateJob(Declared):
    """Generate code."""

    model: str | None = option(
        None, "Identified model, by its key in the project.", pattern=KEY, otherwise="the robot of the robot file"
    )
    code: CodeFiles = option(CodeFiles(), table="")
    arithmetic: Arithmetic = option(Arithmetic(), table="")


@dataclass(frozen=True, repr=False)
class RehearseJob(Declared):
    """Record logs of a simulated robot."""

    rehearsal: RehearsalOptions = option(RehearsalOptions(rate=500.0, duration=8.0), table="")


@dataclass(frozen=True, repr=False)
class ControlJob(Declared):
    """Simulate an arm that tracks a trajectory."""

    arm: str | None = option(
        None,
        "Identified model of the arm, by its key in the project.",
        pattern=KEY,
        otherwise="the robot of the robot file",
    )
    known: str | None = option(
        None, "Model used by the controller.", pattern=KEY, otherwise="the robot of the robot file"
    )
    seconds: float = option(4.0, "Duration of the trajectory.", unit="s", range=(0.5, 30), label="duration")
    seed: int = like(MotionSearch, "seed", help="Random seed of the trajectory.")
    shows: tuple[str, ...] = option(
        (), "Generated controllers to test.", choices=tuple(SHOWN), titles=SHOWN, label="controllers to test"
    )


@dataclass(frozen=True, repr=False)
class FleetJob(Declared):
    """Evaluate a fleet."""

    store: str = option(help="Fleet store, by its key in the project.", pattern=KEY)
    drift: DriftOptions = option(DriftOptions(), table="")


JOBS: Mapping[str, type[Declared]] = {
    "robot": RobotJob,
    "propose": ProposeJob,
    "check": CampaignJob,
    "identify": CampaignJob,
    "validate": ValidateJob,
    "calibrate": CalibrateJob,
    "wrench": WrenchJob,
    "excite": ExciteJob,
    "generate": GenerateJob,
    "rehearse": RehearseJob,
    "control": ControlJob,
    "fleet": FleetJob,
}


def job_options(kind: str) -> dict[str, tuple[Option, Any]]:
    """Every option in the settings of a job, by key, with its default for this job."""
    found: dict[str, tuple[Option, Any]] = {}
    for one in options(JOBS[kind]):
        if one.table == "":
            found |= {inner.key: (inner, getattr(one.default, inner.name)) for inner in options(type(one.default))}
        else:
            found[one.key] = (one, one.default)
    return found


def read_job(kind: str, settings: Mapping[str, Any]) -> Any:
    """Parse the settings of a job into its options object; null counts as not given."""
    given = without_nulls(settings)
    CheckedTable(given).only(job_options(kind))
    found: dict[str, Any] = {}
    for one in options(JOBS[kind]):
        if one.table == "":
            own = {key: given[key] for key in keys_of(type(one.default)) if key in given}
            stated = read(CheckedTable(own), type(one.default))
            names = [inner.name for inner in options(type(one.default)) if inner.key in own]
            found[one.name] = replace(one.default, **{name: getattr(stated, name) for name in names})
        elif one.key in given:
            found[one.name] = one.read(CheckedTable(given))
    missing = [one.key for one in options(JOBS[kind]) if one.default is ... and one.name not in found]
    if missing:
        raise InputError(f"a job '{kind}' also needs {' and '.join(missing)}")
    return JOBS[kind](**found)


def without_nulls(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without null entries, in nested tables as well."""
    plain = {k: without_nulls(v) if isinstance(v, Mapping) else v for k, v in settings.items()}
    return {k: v for k, v in plain.items() if v is not None}
