"""`ColumnMap` and `Drive`: columns and units of the signals in a log, and their conversion to the joint side."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from minertia.io.errors import RecordingError
from minertia.io.schema import Declared, check, option

Names = str | tuple[str, ...]
EFFORT_UNITS = ("Nm", "A", "V", "permille", "percent")
ANGLES = {"rad": 1.0, "deg": math.pi / 180, "mrad": 1e-3}  # the first is that of logs that do not say theirs
LENGTHS = {"m": 1.0, "mm": 1e-3, "cm": 1e-2, "um": 1e-6, "in": 0.0254}
TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
ENCODINGS = ("utf-8", "windows-1252", "utf-16")  # of spreadsheets, in Europe and of Excel's Unicode text
DELIMITERS = (",", ";", "\t", "|", " ")
SIDES = ("joint", "motor")


@dataclass(frozen=True, slots=True, repr=False)
class Drive(Declared):
    """Conversion of logged signals to the joint side: q = S inv(G) qm + offsets, tau = S S_e G' K effort."""

    position: str | None = option(
        None,
        "Side of the transmission on which positions are logged.",
        choices=SIDES,
        otherwise="from the names of the columns (`qm1`: motor), else the joint side",
    )
    effort: str | None = option(
        None,
        "Side on which efforts are logged.",
        choices=SIDES,
        otherwise="from the names of the columns (`taum1`: motor), else the joint side",
    )
    ratios: tuple[float, ...] | None = option(
        None,
        "Motor turns per joint turn, one per coordinate; may be negative.",
        range=(1e-6, 1e9),
        is_size=True,
    )
    coupling: tuple[tuple[float, ...], ...] | None = option(
        None,
        "Coupling matrix G, instead of `ratios`: motor positions = G q and joint efforts = G' motor efforts. "
        "Motors coupled to several joints get motor-side effects (`IAM6`, `FVM6`, `FCM6`).",
        range=(1e-9, 1e9),
        is_size=True,
        zero=True,
        otherwise="the robot's `drive_coupling`",
    )
    gains: tuple[float, ...] | None = option(
        None,
        "Drive gain K: effort per logged unit, on the side on which it is logged, one per coordinate. Without "
        "gains, A, V and per mille are not converted, which suits a single joint only.",
        unit="N m or N per unit",
        range=(1e-9, 1e9),
        is_size=True,
        command="gains",
        otherwise="1",
    )
    gain_deviations: tuple[float, ...] | None = option(
        None,
        "Standard deviation of the gains, in their unit; it is included in the standard deviations of a "
        "[payload](howto/payload.md).",
        range=(1e-12, 1e9),
        zero=True,
        otherwise="10 % of each gain",
    )
    signs: tuple[float, ...] | None = option(
        None, "Sign S, 1 or -1: -1 reverses a joint's position and effort.", range=(1, 1), is_size=True, otherwise="1"
    )
    effort_signs: tuple[float, ...] | None = option(
        None, "Sign S_e, 1 or -1: -1 reverses a joint's effort only.", range=(1, 1), is_size=True, otherwise="1"
    )
    offsets: tuple[float, ...] | None = option(
        None,
        "Offset added to the joint positions after all other conversions; `offsets_deg` is the same in degrees.",
        unit="rad or m",
        range=(0, 1e6),
        is_size=True,
        also={"offsets_deg": math.pi / 180},
        otherwise="0",
    )
    delay: float | None = option(
        None,
        "Time by which the effort lags the position (`minertia check LOG` estimates it, too).",
        unit="s",
        range=(-1e6, 1e6),
        otherwise="chosen from the logs in a fit of efforts, else 0",
    )

    def __post_init__(self) -> None:
        check(self)
        if self.ratios is not None and self.coupling is not None:
            raise RecordingError("a drive has ratios or a coupling matrix (which contains the ratios), not both")
        if self.gain_deviations is not None and self.gains is None:
            raise RecordingError("gain_deviations of a drive need its gains; give both")


def _signal(help: str, otherwise: str = "recognised") -> Names | None:
    """Option that names the columns of a signal."""
    found: Names | None = option(None, help, otherwise=otherwise)
    return found


@dataclass(frozen=True, slots=True, repr=False)
class ColumnMap(Declared):
    """Columns of the signals in a log, and their units.

    A signal is a template ("q{j}": joints from 1, "actual_q_{j0}": from 0, "{joint}_position": by name) or one
    name per coordinate of the robot; None: recognised from the header, "" to ignore a logged signal.  found: the
    file that contains this map, if the user did not name that file.
    """

    t: str | None = option(
        None, "Name of the time column.", otherwise="a column called `t`, `time`, `timestamp` or the like"
    )
    rate_hz: float | None = option(
        None, "Samples per second, for logs without a time column.", unit="Hz", range=(0.01, 1e7)
    )
    time_unit: str = option(
        "s", "Unit of the time column.", choices=tuple(TIMES), otherwise='`"s"`, or from the name (`time_ms`)'
    )
    q: Names | None = _signal("Positions.")
    qd: Names | None = _signal('Columns of velocities, optional; `""` ignores logged ones.')
    qdd: Names | None = _signal('Columns of accelerations, optional; `""` ignores logged ones.')
    effort: Names | None = _signal("Columns of measured torques, forces, currents or voltages.")
    temperature: Names | None = _signal(
        "Columns of joint temperatures [°C], for temperature-dependent friction; optional.",
        "recognised (`temperature1`, `temp_<joint>`)",
    )
    command: Names | None = _signal(
        "Columns of commanded positions, for logs without efforts ([Robots without torque "
        "sensing](output-error.md)); optional.",
        "recognised (`q_cmd1`, `q_ref1`, `q_des1`, `target_q_0`, `cmd_1`, `des_dof_pos_0`, `action_0`)",
    )
    command_velocity: Names | None = _signal("Columns of commanded velocities; optional.", "recognised (`qd_cmd1` ...)")
    command_when: str | None = option(
        None,
        "Whether a row's positions were read before or after its command was sent.",
        choices=("before", "after"),
        otherwise="not known",
    )
    motor: Names | None = _signal(
        "Columns of motor positions of [elastic joints](elastic.md), a second encoder, divided by the drive's "
        'ratios if it has any; optional. In a list `""` means that a joint has none.',
        "recognised in addition to link positions (`theta1`, `q_motor1`, `qm1` ...)",
    )
    volts: Names | None = _signal(
        "Columns of supply voltages of servos [V], or the one of all; optional.", "recognised (`volts`, `volts1`)"
    )
    enabled: Names | None = _signal(
        "Columns that are 0 while the motor of a joint is switched off, else 1; optional.",
        "recognised (`enabled1`, `torque_enable1`)",
    )
    program: str | None = option(
        None,
        "Column with the number of the running program; stored in records of [fleets](fleets.md).",
        otherwise="not read",
    )
    load: str | None = option(
        None, "Column with the payload mass [kg]; stored in records of [fleets](fleets.md).", otherwise="not read"
    )
    angle: str | None = option(
        None,
        "Unit of revolute positions and their rates.",
        choices=tuple(ANGLES),
        otherwise='`"rad"`',
        label="unit of angles",
    )
    length: str | None = option(
        None,
        "Unit of prismatic positions and their rates, and of measured lengths.",
        choices=tuple(LENGTHS),
        otherwise='`"m"`; for measurements it must be given',
        label="unit of lengths",
    )
    effort_unit: str | None = option(
        None,
        "Unit of the efforts; `Nm` means N m, and N for prismatic joints.",
        choices=EFFORT_UNITS,
        otherwise="from the name: `tau`, `torque` N m; `i`, `current` A; `u`, `voltage` V; for `effort` it must "
        "be given",
    )
    header: tuple[str, ...] = option((), "Names of all columns, for files without a header line.")
    delimiter: str | None = option(None, "Column separator.", choices=DELIMITERS, otherwise="found")
    decimal: str = option(".", "Decimal sign.", choices=(".", ","))
    encoding: str = option("utf-8", "Character encoding of text files.", choices=ENCODINGS)
    topic: str | None = option(
        None,
        "Topic of a bag's joint states.",
        command="topic",
        otherwise="the only one with positions of all joints of the robot",
    )
    command_topic: str | None = option(None, "Topic of a bag's commanded positions.", otherwise="none is read")
    wrench_topic: str | None = option(
        None, "Topic of a bag's wrenches.", otherwise="all; their columns have the topic as prefix if there are several"
    )
    pose_topic: str | None = option(
        None,
        "Topic of a bag's measured poses: poses, points, transforms or tf.",
        otherwise="the only one, if calibrating",
    )
    pose_frame: str | None = option(None, "Child frame of the measured poses in tf.", otherwise="the only one")
    episode: int | None = option(
        None,
        "Episode of a LeRobot table with several episodes, counted from 0.",
        range=(0, math.inf),
        otherwise="the only one",
    )
    drop_torn: bool = option(
        False,
        "Drop and count malformed rows of logs: rows with too few or too many values, or values that are not "
        "numbers. The audit lists them; more than a fifth of malformed rows is an error.",
        command="drop-torn",
    )
    drive: Drive = option(factory=Drive, table="drive")
    found: str = field(default="", compare=False)
