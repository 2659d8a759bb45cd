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
DELIMITERS = (",", ";", "\t", "|", " ")
SIDES = ("joint", "motor")


@dataclass(frozen=True, slots=True, repr=False)
class Drive(Declared):
    """Conversion of logged signals to the joint side: q = S inv(G) qm + offsets, tau = S S_e G' K effort."""

    position: str | None = option(
        None,
        "Side on which positions are logged.",
        choices=SIDES,
        otherwise="what the names of the columns say (`qm1`: motor), else the joint's",
    )
    effort: str | None = option(
        None,
        "Side on which efforts are logged.",
        choices=SIDES,
        otherwise="what the names of the columns say (`taum1`: motor), else the joint's",
    )
    ratios: tuple[float, ...] | None = option(
        None,
        "Motor turns per joint turn, one for each coordinate, may be negative.",
        range=(1e-6, 1e9),
        is_size=True,
    )
    coupling: tuple[tuple[float, ...], ...] | None = option(
        None,
        "G, instead of `ratios`: motor positions = G q and joint efforts = G' motor efforts. Motors that turn with "
        "several joints get motor-side effects (`IAM6`, `FVM6`, `FCM6`).",
        range=(1e-9, 1e9),
        is_size=True,
        zero=True,
        otherwise="the robot's `drive_coupling`",
    )
    gains: tuple[float, ...] | None = option(
        None,
        "K: effort per unit of the log, on the side it is logged on, one for each coordinate. Without gains, A, V and "
        "per mille stay as they are, which suits one joint only.",
        unit="N m or N per unit",
        range=(1e-9, 1e9),
        is_size=True,
        otherwise="1",
    )
    gain_deviations: tuple[float, ...] | None = option(
        None,
        "Standard deviation of the gains, in their unit; it enters the deviations of a [payload](howto/payload.md).",
        range=(1e-12, 1e9),
        zero=True,
        otherwise="10 % of each gain",
    )
    signs: tuple[float, ...] | None = option(
        None, "S: 1 or -1, flips a joint's position and effort.", range=(1, 1), is_size=True, otherwise="1"
    )
    effort_signs: tuple[float, ...] | None = option(
        None, "S_e: 1 or -1, flips a joint's effort only.", range=(1, 1), is_size=True, otherwise="1"
    )
    offsets: tuple[float, ...] | None = option(
        None,
        "Added to the joint positions, last; `offsets_deg` is the same in degrees.",
        unit="rad or m",
        range=(0, 1e6),
        is_size=True,
        also={"offsets_deg": math.pi / 180},
        otherwise="0",
    )
    delay: float = option(
        0.0,
        "Time by which the effort lags the position (`minertia check LOG` estimates it).",
        unit="s",
        range=(-1e6, 1e6),
    )

    def __post_init__(self) -> None:
        check(self)
        if self.ratios is not None and self.coupling is not None:
            raise RecordingError("a drive has ratios or a coupling matrix (which holds the ratios), not both")
        if self.gain_deviations is not None and self.gains is None:
            raise RecordingError("gain_deviations of a drive stand beside its gains")


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
        "s", "Unit of the time column.", choices=tuple(TIMES), otherwise='`"s"`, or what the name says (`time_ms`)'
    )
    q: Names | None = _signal("Positions.")
    qd: Names | None = _signal('Velocities, optional; `""` leaves logged ones out.')
    qdd: Names | None = _signal('Accelerations, optional; `""` leaves logged ones out.')
    effort: Names | None = _signal("Measured torques, forces, currents, voltages.")
    temperature: Names | None = _signal(
        "Temperatures of the joints [°C], for friction that depends on them; optional.",
        "recognised (`temperature1`, `temp_<joint>`)",
    )
    command: Names | None = _signal(
        "Commanded positions, for logs without efforts ([Robots without torque sensing](output-error.md)); optional.",
        "recognised (`q_cmd1`, `q_ref1`, `q_des1`, `target_q_0`, `cmd_1`, `des_dof_pos_0`, `action_0`)",
    )
    command_velocity: Names | None = _signal("Commanded velocities; optional.", "recognised (`qd_cmd1` ...)")
    command_when: str | None = option(
        None,
        "Whether a row's positions were read before or after its command was sent.",
        choices=("before", "after"),
        otherwise="not known",
    )
    motor: Names | None = _signal(
        "Positions of the motors of [elastic joints](elastic.md), a second encoder, divided by the drive's ratios "
        'where it has any; optional. In a list `""` stands for a joint without one.',
        "recognised beside positions of links (`theta1`, `q_motor1`, `qm1` ...)",
    )
    program: str | None = option(
        None,
        "Column with the number of the program that runs; kept in records of [fleets](fleets.md).",
        otherwise="not read",
    )
    load: str | None = option(
        None, "Column with the mass carried [kg]; kept in records of [fleets](fleets.md).", otherwise="not read"
    )
    angle: str | None = option(
        None, "Unit of revolute positions and their rates.", choices=tuple(ANGLES), otherwise='`"rad"`'
    )
    length: str | None = option(
        None,
        "Unit of prismatic positions and their rates, and of measured lengths.",
        choices=tuple(LENGTHS),
        otherwise='`"m"`; of measurements it must be said',
    )
    effort_unit: str | None = option(
        None,
        "Unit of the efforts; `Nm` is N m, and N for prismatic joints.",
        choices=EFFORT_UNITS,
        otherwise="what the name says: `tau`, `torque` N m; `i`, `current` A; `u`, `voltage` V; `effort` says nothing "
        "and must be stated",
    )
    header: tuple[str, ...] = option((), "Names of all columns, for files without a header line.")
    delimiter: str | None = option(None, "Column separator.", choices=DELIMITERS, otherwise="found")
    decimal: str = option(".", "Decimal sign.", choices=(".", ","))
    topic: str | None = option(
        None,
        "Topic of a bag's joint states.",
        command="topic",
        otherwise="the only one that has positions of all of the robot's joints",
    )
    command_topic: str | None = option(None, "Topic of a bag's commanded positions.", otherwise="none is read")
    pose_topic: str | None = option(
        None,
        "Topic of a bag's measured poses: poses, points, transforms or tf.",
        otherwise="the only one, if calibrating",
    )
    pose_frame: str | None = option(None, "Child frame of the measured poses in tf.", otherwise="the only one")
    episode: int | None = option(
        None,
        "Episode of a table of LeRobot that holds several, counted from 0.",
        range=(0, math.inf),
        otherwise="the only one",
    )
    drop_torn: bool = option(
        False,
        "Leave out malformed rows of logs, and count them. Malformed are rows with too few or too many values, or "
        "values that are not numbers; the audit names them, and more than a fifth of them is refused.",
        command="drop-torn",
    )
    drive: Drive = option(factory=Drive, table="drive")
    found: str = field(default="", compare=False)
