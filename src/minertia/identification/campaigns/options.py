"""Plain-value options of a campaign: repairs, position servos, elastic joints, ground contact, and others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minertia.identification.logs.options import ColumnMap
from minertia.identification.signals.options import Evaluation, Filter
from minertia.io.errors import CampaignError, InputError
from minertia.io.schema import UNKNOWN, Declared, check, option

if TYPE_CHECKING:
    from minertia.identification.estimators.estimator import Estimator
    from minertia.identification.problem.terms import Wanted
    from minertia.robot.robot import Robot

SAME = "same"  # one value for all joints, fitted; UNKNOWN: one of its own for each
FITTED = (UNKNOWN, SAME)
LARGEST = 1e12
REFERENCE = 25.0  # °C at which the effort of a motor is told
STIFFNESS = 1.0, 1e9  # N m/rad or N/m between which a joint is elastic
FLOORS = {"height": (-100.0, 100.0), "stiffness": (100.0, 1e7), "friction": (0.0, 5.0)}
SETS = {"base": "closed-form", "mlc": "mlc"}  # sets that are fitted, with the method that derives each
ROTATIONS = {"xyzw": 4, "wxyz": 4, "rpy": 3, "vector": 3, "matrix": 9}  # with their number of columns
LEVELS: dict[str, tuple[str, ...]] = {  # of corrections of geometry, with the groups of unknowns that each adds
    "zeros": ("zeros",),
    "geometry": ("lengths", "angles"),
    "compliance": ("compliance",),  # of joints under gravity, where the robot's file has masses
    "sag": ("sag",),  # compliance times first moments, where it has none
    "transmission": ("gear", "harmonics", "coupling"),
}
MOMENTS = {"N m": 1.0, "N mm": 1e-3, "N cm": 1e-2}  # units of a sensor's moments, in N m


def servo_factors(own: Mapping[str, Any], warming: Any) -> tuple[Any, Any]:
    """Factors on kp and kd of a servo with these options; warming: relative change of its efforts per degree.

    kp is the effort of a volt: error gain, register and supply make a stiffness of it.
    """
    warm = 1 + warming * (own["temperature"] - REFERENCE)
    return warm * own["error_gain"] * own["register"] * own["volts"], warm


@dataclass(frozen=True)
class MeasuredKind:
    """A row of `MEASURED`: one kind of measurement of the tool, and its properties in files and calibration.

    readings: name of the class in `identification/geometry/measures.py`; a name, since options do not load
    NumPy. at: number of columns in `at`; needs_at: whether they are required.  is_length: whether they are
    lengths. has_rotation, has_camera: whether a rotation or a camera is given in addition.  is_fixed:
    `groups` distinguish fixed points, planes or marks at unknown positions.  is_bound: `groups` are the
    reading itself, so that postures depend on each other and cannot be planned.  zero_counts: readings that
    are all zero are valid, not missing. targets: number of points on the tool; several have one table each in
    files, so that only kinds with one are `in_files`.  columns, measured: descriptions for the documentation.
    """

    readings: str
    columns: str
    measured: str
    at: int = 3
    needs_at: bool = True
    is_length: bool = False
    has_rotation: bool = False
    has_camera: bool = False
    is_fixed: bool = False
    is_bound: bool = False
    zero_counts: bool = False
    targets: int = 1

    @property
    def in_files(self) -> bool:
        """Whether a [[measure]] table may have this kind."""
        return self.targets == 1


TURNED = "`rotation`, `rotation_as`"
CAMERA = "`at` (2), `camera` [fx, fy, cx, cy]"
MEASURED: dict[str, MeasuredKind] = {
    "point": MeasuredKind("PointMeasure", "`at` (3)", "position of a point of the tool", is_length=True),
    "points": MeasuredKind(
        "PointMeasure",
        "a `[[measure]]` of kind `point` for each",
        "positions of three or more points of the tool",
        is_length=True,
        targets=3,
    ),
    "pose": MeasuredKind(
        "PoseMeasure", f"`at` (3), {TURNED}", "position and rotation", is_length=True, has_rotation=True
    ),
    "orientation": MeasuredKind(
        "OrientationMeasure", TURNED, "rotation alone", at=0, needs_at=False, has_rotation=True
    ),
    "direction": MeasuredKind("DirectionMeasure", "`at` (3)", "direction of gravity in the tool", zero_counts=True),
    "pixel": MeasuredKind(
        "PixelMeasure",
        CAMERA,
        "image of a point of the tool in a fixed camera; at least 20 readings of one target",
        at=2,
        has_camera=True,
    ),
    "pixel_tool": MeasuredKind(
        "PixelToolMeasure",
        f"{CAMERA}, `groups`",
        "images of fixed points in a camera on the tool, distinguished by `groups`; at least 20 readings of one target",
        at=2,
        has_camera=True,
        is_fixed=True,
    ),
    "distance": MeasuredKind(
        "DistanceMeasure",
        "`at` (1), `groups`",
        "distance to fixed points of unknown position, distinguished by `groups`",
        at=1,
        is_length=True,
        is_fixed=True,
    ),
    "distance_between": MeasuredKind(
        "DistanceBetweenMeasure",
        "`at` (1)",
        "distance between the positions of two successive rows",
        at=1,
        is_length=True,
    ),
    "same_point": MeasuredKind(
        "SamePointMeasure",
        "`groups`",
        "rows with equal entries have the point at one position; with a further `[[measure]]` "
        '`kind = "distance_between"`, `of`, `within`, `length` [m] the known distance of two such positions',
        at=0,
        needs_at=False,
        is_bound=True,
    ),
    "plane": MeasuredKind(
        "PlaneMeasure",
        "`at` (1) or none, `groups`",
        "height over a plane of unknown position, or contact with it",
        at=1,
        needs_at=False,
        is_length=True,
        is_fixed=True,
        zero_counts=True,
    ),
}
Gain = float | str
Gains = Gain | tuple[Gain, ...]
FORMAT = 1  # of campaign files


@dataclass(frozen=True, slots=True, repr=False)
class Repairs(Declared):
    """Repairs of logs; standstill, where friction is not defined, is removed for fitting and evaluation."""

    stamps: bool = option(
        True, "Drop samples whose time stamp repeats or decreases.", label="drop repeated time stamps"
    )
    resample: bool = option(
        True,
        "Resample non-uniform time stamps to a uniform rate: positions by a cubic spline, other signals "
        "linearly. Gaps of more than 0.25 s are an error.",
        label="resample to a uniform rate",
    )
    standstill: bool = option(
        True,
        "Remove standstill at both ends, and short moves separate from the rest such as the approach to the "
        "first point. Friction is not defined at rest.",
        label="remove standstill",
    )


@dataclass(frozen=True, slots=True, repr=False)
class Command(Declared):
    """Control law of the position servos, tau = kp (u - q) + ki int(u - q) + kd (ud - qd), with limits.

    A gain is one value for all joints or one each; "?" for one unknown per joint, "same" for one shared unknown.
    """

    law: str = option(
        "pd",
        'Control law of the position servos. `"voltage"` is for servos driven by their duty cycle: `KD` is the '
        'back-EMF, to which the effort limit does not apply. `"servo"`: the same with the firmware\'s gain and the '
        "supply ([servo models](output-error.md#servo-models)); `KP` is then the effort of a volt.",
        choices=("p", "pd", "pid", "voltage", "servo"),
    )
    kp: Gains = option(UNKNOWN, "Proportional gain.", unit="N m/rad or N/m", above=0, range=(0, LARGEST), words=FITTED)
    kd: Gains = option(UNKNOWN, "Derivative gain.", unit="N m s/rad or N s/m", range=(0, LARGEST), words=FITTED)
    ki: Gains = option(0.0, "Integral gain.", unit="N m/(rad s) or N/(m s)", range=(0, LARGEST), words=FITTED)
    velocity_reference: bool = option(
        False,
        "Damping acts on the velocity error: commanded less measured velocity. The commanded velocity is that of "
        "columns `qd_cmd1`, else the derivative of the command; quadrupeds and MuJoCo's `kv` use none.",
    )
    hold: str = option(
        "zero", "Interpolation of the command between rows: held, or linear.", choices=("zero", "linear")
    )
    delay: Gain = option(UNKNOWN, "Delay.", unit="s", range=(-1.0, 1.0), words=(UNKNOWN,))
    delay_of: str = option(
        "command",
        "Signal that is delayed: the `command` if the servo closes its own loop, the whole `effort` if a host "
        "computer closes it over a bus.",
        choices=("command", "effort"),
    )
    limit: float | tuple[float, ...] | None = option(
        None, "Effort limit, one number or one per joint.", unit="N m or N", above=0, range=(0, LARGEST)
    )
    reference: str | None = option(
        None,
        "Reference that fixes the scale. `gains`, `links` (masses of the robot file), `load` (a known payload in "
        "some of the training logs: `load` in [`[logs]`](campaign.md); links are fitted), `none` (ratios to kp "
        "are reported).",
        choices=("gains", "links", "load", "none"),
        otherwise="gains if they are known, else the links if these are kept",
    )
    method: str = option(
        "output-error",
        "Method of the fit. Besides simulated positions, two quick approximations: `law` (least squares on the "
        "efforts of the control law) and `didim` (the same on simulated states).",
        choices=("output-error", "didim", "law"),
    )
    integrator: str = option(
        "midpoint",
        "Integrator of the simulated motion. `midpoint`: its step is halved as needed; `euler`: that of MuJoCo "
        "with the time step `step`, for parameters to be used in MuJoCo.",
        choices=("midpoint", "euler"),
    )
    step: float | None = option(
        None, "Time step of the simulator, for the integrator euler.", unit="s", range=(1e-5, 0.02)
    )
    zeros: Gains = option(
        0.0,
        'Joint offsets, added to logged positions to get those of the robot file (q + zeros). `"?"` if the encoders '
        "were not calibrated to the file; offsets are identifiable from gravity only.",
        unit="rad or m",
        range=(-LARGEST, LARGEST),
        words=(UNKNOWN,),
    )
    loss: str = option(
        "squares",
        "Loss of the simulated positions: squares, or Huber's, with which large residuals count less (a fall whose end "
        "is nearly chance).",
        choices=("squares", "huber"),
    )
    error_gain: float | None = option(
        None,
        'Law `"servo"`: duty cycle of a position error of 1 for a register of 1.',
        unit="1/rad or 1/m",
        above=0,
        range=(0, LARGEST),
    )
    register: float | None = option(
        None,
        'Law `"servo"`: proportional gain in the firmware; a log can have its own.',
        above=0,
        range=(0, LARGEST),
    )
    volts: float | None = option(
        None,
        'Law `"servo"`: supply voltage of logs without a column of it; a log can have its own.',
        unit="V",
        above=0,
        range=(0, LARGEST),
    )
    duty_limit: float = option(1.0, 'Law `"servo"`: largest duty cycle.', above=0, range=(0, 1))
    target_speed: Gains | None = option(
        None,
        'Law `"servo"`: speed at which the target follows the command, `"?"` if unknown.',
        unit="rad/s or m/s",
        above=0,
        range=(0, LARGEST),
        words=(UNKNOWN,),
        otherwise="the target is the command",
    )
    target_lapse: Gains = option(
        0.0,
        'Law `"servo"`: part of this speed that the target loses while its command changes, `"?"` if unknown.',
        range=(0, 0.9),
        words=(UNKNOWN,),
    )
    load_share: Gains = option(
        0.5,
        'Law `"servo"`: part of the motor\'s effort in the load of the gear that friction depends on, the rest is '
        'the static effort of the links; `"?"` if both sides differ.',
        range=(0, 1),
        words=(UNKNOWN,),
    )
    load_curve: Gains = option(
        0.0,
        'Law `"servo"`: friction depends on L (1 + load_curve abs(L)) in place of a load L, `"?"` if unknown.',
        unit="1/(N m) or 1/N",
        range=(0, 100),
        words=(UNKNOWN,),
    )
    startup_duty: Gains = option(
        0.0,
        'Law `"servo"`: duty cycle that the firmware adds to any position error to start the motor, `"?"` if unknown.',
        range=(0, 1),
        words=(UNKNOWN,),
    )
    warming: Gains = option(
        0.0,
        'Law `"servo"`: relative change of the motor\'s effort with its temperature, from 25 °C on, `"?"` if unknown.',
        unit="1/K",
        range=(-0.1, 0.1),
        words=(UNKNOWN,),
    )
    supply_sag: Gains = option(
        0.0,
        'Law `"servo"`: drop of the supply by the motor\'s effort times the duty cycle, `"?"` if unknown; unless 0, '
        "the highest logged voltages are those without load.",
        unit="V/(N m) or V/N",
        range=(0, 100),
        words=(UNKNOWN,),
    )
    backlash: Gains = option(
        0.0,
        'Law `"servo"`: play between the gear and the measured shaft, which stays while the gear crosses it, `"?"` if '
        "unknown.",
        unit="rad or m",
        range=(0, 1),
        words=(UNKNOWN,),
    )
    temperature: float = option(
        REFERENCE,
        'Law `"servo"`: temperature of motors in logs that do not contain it.',
        unit="°C",
        range=(-100, 300),
    )
    leave_out_contact: bool = option(
        True,
        "Exclude segments with unmodelled contact from the fit ([below](#where-the-robot-is-pushed)).",
    )

    def __post_init__(self) -> None:
        check(self)
        if self.law == "p" and self.kd == UNKNOWN:
            object.__setattr__(self, "kd", 0.0)
        if self.law == "p" and self.kd != 0:
            raise InputError('the control law "p" has no kd; set law = "pd"')
        if self.law != "pid" and self.ki != 0:
            raise InputError(f'the control law "{self.law}" has no ki; set law = "pid"')
        if self.law == "servo":
            self._check_servo()
        if self.integrator == "euler" and self.step is None:
            raise InputError("the integrator euler needs the simulator's own time step, such as step = 0.001")
        if self.delay_of == "effort" and self.delay != UNKNOWN and float(self.delay) < 0:
            raise InputError("the delay of an effort must be at least 0")

    def _check_servo(self) -> None:
        if self.error_gain is None:
            raise InputError(
                'the control law "servo" needs error_gain, the duty cycle of a position error of 1 rad for a register '
                "of 1"
            )
        if self.delay_of == "effort" or self.limit is not None or self.velocity_reference or self.hold != "zero":
            raise InputError(
                'the control law "servo" holds commands and delays them, damps the joint\'s own velocity and limits '
                "the duty cycle; remove delay_of, limit, velocity_reference and hold"
            )

    def each(self, name: str, n: int) -> tuple[Gain, ...]:
        """Gain or limit of each of n joints."""
        value = getattr(self, name)
        if not isinstance(value, tuple):
            return (value,) * n
        if len(value) != n:
            raise CampaignError(f"command.{name} has {len(value)} values, but the robot has {n} coordinates")
        return value


@dataclass(frozen=True, slots=True, repr=False)
class ElasticJoints(Declared):
    """Options of elastic joints: which joints are elastic, initial values, and the side of the encoder."""

    joints: tuple[str | int, ...] = option(
        (), "Elastic joints: names, or numbers starting at 1.", range=(1, math.inf), otherwise="those of the robot file"
    )
    stiffness: Gains | None = option(
        None,
        'Initial value of the stiffness on the link side: one number or one per elastic joint, or `"?"`.',
        unit="N m/rad or N/m",
        range=STIFFNESS,
        words=(UNKNOWN,),
        otherwise='that of the robot file, else `"?"`',
    )
    damping: Gains | None = option(
        None,
        'Initial value of the damping on the link side: one number or one per elastic joint, or `"?"`.',
        unit="N m s/rad or N s/m",
        range=(0, STIFFNESS[1]),
        words=(UNKNOWN,),
        otherwise='that of the robot file, else `"?"`',
    )
    encoder: str | None = option(
        None,
        "Side on which positions were measured.",
        choices=("both", "motor", "link"),
        otherwise='`"both"` if the log has a second encoder; else it must be given',
    )
    feedback: str = option("motor", "Side that the position servos measure.", choices=("motor", "link"))


@dataclass(frozen=True, slots=True, repr=False)
class Floor(Declared):
    """Ground contact: a horizontal plane that the named frames of the robot cannot penetrate; default: none."""

    touches: tuple[str, ...] = option(
        (), "Links or frames of the robot file whose origins can touch the ground.", otherwise="none: no floor"
    )
    height: Gain = option(
        UNKNOWN,
        "Height of the ground above the base's origin, along the direction opposite to gravity.",
        unit="m",
        range=FLOORS["height"],
        words=(UNKNOWN,),
    )
    friction: Gain = option(0.0, "Coefficient of friction.", range=FLOORS["friction"], words=(UNKNOWN,))
    stiffness: Gain = option(
        1e4,
        "Contact stiffness of the ground and the bodies that touch it.",
        unit="N/m",
        range=FLOORS["stiffness"],
        words=(UNKNOWN,),
    )


@dataclass(frozen=True, slots=True, repr=False)
class MeasureColumns(Declared):
    """Table [[measure]] of a calibration: kind of measurement of the tool, and the columns that contain it."""

    kind: str = option(help="Kind of measurement.", choices=tuple(k for k, row in MEASURED.items() if row.in_files))
    name: str = option("", "Name of the target in the results.", otherwise="its number")
    at: Sequence[str] = option(
        (), "Columns of the measured point, direction, pixel or distance.", label="columns of the measurement"
    )
    rotation: Sequence[str] = option((), "Columns of the rotation.", label="columns of the rotation")
    rotation_as: str = option(
        "xyzw", "Representation of the rotation.", choices=tuple(ROTATIONS), label="rotation given as"
    )
    groups: Sequence[str] = option(
        (), "Columns that group rows: equal entries mean the same point, plane or mark.", label="columns of groups"
    )
    of: str | None = option(
        None, "Column that distinguishes two points whose distance is known.", label="column of the point"
    )
    within: Sequence[str] = option(
        (), "Columns whose entries are equal for the two points of a pair.", label="columns of a pair"
    )
    apart: float | None = option(None, "Distance between the two points.", unit="m", key="length", above=0)
    camera: Sequence[float] | None = option(
        None,
        "Camera intrinsics: focal lengths and principal point fx, fy, cx, cy.",
        unit="pixels",
        length=4,
        label="camera intrinsics",
    )


@dataclass(frozen=True, slots=True, repr=False)
class CalibrationOptions(Declared):
    """Options of a kinematic calibration: which corrections are fitted, and where joint offsets are written."""

    levels: Sequence[str] | None = option(
        None,
        "Groups of corrections to fit, in this order.",
        choices=tuple(LEVELS),
        otherwise="chosen by cross-validation over regions of postures",
        label="corrections",
    )
    tip: str | None = option(
        None, "Link or frame that carries the target.", otherwise="the last link", label="target carried by"
    )
    root: str | None = option(
        None, "Link or frame where the kinematic chain begins.", otherwise="the ground", label="chain begins at"
    )
    zeros: str = option(
        "file",
        "Where joint offsets are written: into the robot's frames, or into a table for its controller.",
        choices=("file", "controller"),
        label="joint offsets go into",
    )

    def __post_init__(self) -> None:
        check(self)
        if self.levels is not None:
            object.__setattr__(self, "levels", tuple(level for level in LEVELS if level in self.levels))


@dataclass(frozen=True, slots=True, repr=False)
class WrenchOptions(Declared):
    """Options for wrenches of a force/torque sensor: its frame, axes and sign, and the fitted parameters."""

    frame: str | None = option(
        None,
        "Link or frame to which the sensor is attached, placed by the joint positions of the file.",
        otherwise="the orientation in the file, else the last link",
        label="sensor attached to",
    )
    axes: str | None = option(
        None,
        "Axes of the wrench.",
        choices=("sensor", "base"),
        otherwise="those for which a rigid tool explains the forces",
        label="axes of the wrench",
    )
    of: str | None = option(
        None,
        "Body on which the wrench acts: `sensor` (the tool's weight, down) or `tool` (the robot's reaction, up).",
        choices=("sensor", "tool"),
        otherwise="that with a positive mass",
        label="wrench acts on",
    )
    bias: str = option(
        "auto",
        "Sensor bias over the poses: constant, in steps where a column `tare` changes, linear in their order, or a "
        "random walk. `auto` takes the one that predicts held-out poses best.",
        choices=("auto", "constant", "steps", "linear", "walk"),
        label="bias of the sensor",
    )
    moment: str = option("N m", "Unit of the moments.", choices=tuple(MOMENTS), label="unit of moments")
    columns: Sequence[str] | None = option(
        None,
        "Columns of force and moment.",
        length=6,
        otherwise="fx fy fz tx ty tz, and other common names",
        label="columns of force and moment",
    )
    rotation: Sequence[str] = option(
        (),
        "Columns of the sensor's orientation in the base.",
        otherwise="qx qy qz qw",
        label="columns of the orientation",
    )
    rotation_as: str = option(
        "xyzw", "Representation of the orientation.", choices=tuple(ROTATIONS), label="orientation given as"
    )
    motion: str | None = option(
        None,
        "Whether rows are poses at rest, or samples of a motion whose derivatives are computed.",
        choices=("rest", "moving"),
        otherwise="moving where rows are at most 0.1 s apart and the sensor's position is known",
        label="rows are",
    )


@dataclass(frozen=True, slots=True, repr=False)
class FloatingOptions(Declared):
    """Floating base in a log: columns of its inertial measurement unit and attitude, and equations to fit."""

    rows: str | None = option(
        None,
        "Equations: all, those of the base or the joints only, or all with contact forces projected out.",
        choices=("all", "base", "joints", "projected"),
        otherwise="all with measured forces, else projected; joints without contacts",
    )
    gyro: str = option("gyro_{k}", "Columns of the angular velocity in base axes [rad/s].")
    accelerometer: str = option("accel_{k}", "Columns of the specific force, acceleration less gravity [m/s^2].")
    at: Sequence[float] = option(
        (0.0, 0.0, 0.0), "Position of the accelerometer in the base.", unit="m", length=3, otherwise="its origin"
    )
    attitude: str = option("base_q{k}", "Columns of the base's quaternion in the world.")


@dataclass(frozen=True, slots=True, repr=False)
class ContactOptions(Declared):
    """One [[contact]] of a floating base: where a link touches the environment, and what is measured there."""

    name: str = option(help="Name of the contact.")
    frame: str = option(help="Link or frame that makes contact.")
    at: Sequence[float] = option(
        (0.0, 0.0, 0.0), "Contact point in the frame.", unit="m", length=3, otherwise="its origin"
    )
    radius: float = option(0.0, "Radius of a round foot about that point.", unit="m", range=(0, 10))
    kind: str = option("point", "Forces alone, or forces and moments.", choices=("point", "surface"))
    active: str = option(
        "",
        "Column of contact flags, 1 in contact; `always` for a permanent contact.",
        otherwise="where the measured force exceeds 5 N, else where it is as low as the lowest contact",
    )
    force: str = option("", "Columns of the force on the robot [N].", otherwise="not measured")
    moment: str = option("", "Columns of the moment of a surface contact [N m].", otherwise="none")
    axes: str = option("world", "Axes of force and moment.", choices=("world", "base", "frame"))


@dataclass(frozen=True, slots=True, repr=False)
class SensorOptions(Declared):
    """One [[sensor]] of a robot: a force/torque sensor in a link, or a force plate, logged beside the joints."""

    at: str = option(
        help="Place: a link or frame, a joint (just before it), or `plate` for a force plate at the base frame.",
    )
    name: str = option("", "Name in results and columns.", otherwise="its place")
    columns: Sequence[str] | None = option(
        None,
        "Columns of force and moment.",
        length=6,
        otherwise="`<name>_fx` to `<name>_mz`; of an only sensor also `fx`",
    )
    of: str = option(
        "sensor",
        "Body on which the wrench acts: `sensor` (weight downwards) or `tool` (the robot's reaction, upwards).",
        choices=("sensor", "tool"),
    )
    axes: str = option("sensor", "Axes of the wrench at the sensor's origin.", choices=("sensor", "base"))
    moment: str = option("N m", "Unit of the moments.", choices=tuple(MOMENTS))


@dataclass(frozen=True, kw_only=True, repr=False)
class CampaignOptions(Declared):
    """Plain-value options of a campaign, and the tables that group them."""

    name: str = option("", "Title of reports.", table="", otherwise="name of the file")
    repairs: Repairs = option(factory=Repairs, table="logs")
    filter: Filter = option(factory=Filter, table="filter")
    columns: ColumnMap | str | Path | None = option(
        None,
        "Columns of the logs; also the path of a file with this table.",
        table="columns",
        otherwise="in a file next to the first log, else recognised by name",
    )
    effects: Sequence[Wanted] | None = option(
        None,
        "Joint effects besides the inertia of the links, by word or symbol (FC, on one joint FC3), or none. In "
        "files also tables.",
        table="model",
        command="effects",
        otherwise="chosen by the marginal likelihood",
    )
    memory: bool = option(
        False,
        "Whether friction with a memory of the path (presliding) is among the candidates when effects are chosen. It "
        "predicts better, but generated code, simulations and monitoring take it as Coulomb friction.",
        table="model",
        command="memory",
    )
    joints: Sequence[str | int] = option(
        (), "Joints to identify: names, or numbers starting at 1.", table="", command="joints", otherwise="all"
    )
    estimator: str | Estimator = option("auto", "Estimator.", table="estimator", key="name", command="estimator")
    options: Mapping[str, Any] = option(factory=dict, help="Options of the estimator.", table="estimator")
    fix: Mapping[str, float] = option(
        factory=dict,
        help="Known parameters that are not fitted, by their full names. In files a table: `fix = { M6 = 2.8, "
        "FC1 = 0 }`.",
        table="model",
        command="fix",
        otherwise="none",
    )
    parameters: str = option(
        "base",
        "Set of parameters that is fitted: base parameters, or minimal linear combinations of composite bodies "
        "(mlc). Efforts and residuals are equal for both (Lin 1995).",
        choices=tuple(SETS),
        table="model",
        command="parameters",
    )
    links: str = option(
        "robot",
        "For logs of commands: link inertial parameters of the robot file, or fitted physically consistent ones.",
        choices=("robot", "physical"),
        table="model",
    )
    prior: str | Path | Robot | Mapping[str, float] | None = option(
        None,
        "Prior values towards which ridge and physical are regularised: those of the robot file (robot), or of "
        "another robot or model file.",
        table="model",
        command="prior",
        otherwise="none",
    )
    evaluation: Evaluation | None = option(None, table="evaluation")
    command: Command = option(factory=Command, table="command")
    elastic: ElasticJoints = option(factory=ElasticJoints, table="elastic")
    floor: Floor = option(factory=Floor, table="floor")
    floating: FloatingOptions = option(factory=FloatingOptions, table="floating")
    contacts: tuple[ContactOptions, ...] = option(
        (),
        "Contacts of [legs](howto/legs.md): tables `[[contact]]`.",
        table="",
        key="contact",
    )
    sensors: tuple[SensorOptions, ...] = option(
        (),
        "Force/torque sensors and force plates [logged beside the joints](howto/wrench.md): tables `[[sensor]]`.",
        table="",
        key="sensor",
        otherwise="none",
    )
    rows: str | None = option(
        None,
        "Equations to fit with [[sensor]]: those of joints and sensors, or of sensors only.",
        choices=("all", "sensors"),
        table="",
        otherwise="all; sensors where logs have no joint efforts",
    )
    measures: tuple[MeasureColumns, ...] = option(
        (),
        "Measurements of the tool, for a [calibration](howto/calibrate.md): tables `[[measure]]`.",
        key="measure",
        table="",
        otherwise="none; for a calibration inferred from the column names",
    )
    calibration: CalibrationOptions | None = option(None, table="calibration")
    wrench: WrenchOptions | None = option(None, table="wrench")
