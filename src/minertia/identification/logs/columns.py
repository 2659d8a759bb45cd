"""Assignment of log columns to signals: `ColumnMap`, name templates, and the headers recognised without one.

The format of the tables [columns] and [drive] is described in docs/campaign.md.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from minertia.identification.logs.options import ColumnMap, Names
from minertia.io.errors import EffortUnitUnknown, RecordingError
from minertia.io.files import is_file
from minertia.robot.robot import Robot

# signals that hardly anything needs: positions are differentiated
OPTIONAL = ("qd", "qdd", "temperature", "command", "command_velocity", "motor", "volts", "enabled")
MARKS = ("program", "load")  # what is logged once for each sample


@dataclass(frozen=True, slots=True)
class Chosen:
    """Selected columns of one log: a name per coordinate and signal; None if the signal is not logged."""

    t: str | None
    q: tuple[str, ...]
    qd: tuple[str, ...] | None
    qdd: tuple[str, ...] | None
    effort: tuple[str, ...] | None
    temperature: tuple[str, ...] | None
    effort_unit: str
    position_side: str
    effort_side: str
    time_unit: str
    notes: tuple[str, ...]
    marks: tuple[tuple[str, str], ...] = ()
    command: tuple[str, ...] | None = None
    command_velocity: tuple[str, ...] | None = None
    motor: tuple[str, ...] | None = None
    volts: tuple[str, ...] | None = None
    enabled: tuple[str, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are read."""
        of_joints = (self.q, self.qd, self.qdd, self.effort, self.temperature, self.motor)
        signals = (*of_joints, self.command, self.command_velocity, self.volts, self.enabled)
        named = tuple(dict.fromkeys(name for s in signals for name in s or () if name))
        named += tuple(name for _, name in self.marks)
        return ((self.t,) if self.t is not None else ()) + named


@dataclass(frozen=True, slots=True)
class Pattern:
    """Name template of columns, with the side of the signal and the unit of an effort (None: unknown)."""

    template: str
    side: str = "joint"
    unit: str | None = None


def _patterns(stems: str, named: str, side: str = "joint", unit: str | None = None) -> tuple[Pattern, ...]:
    """Name patterns from words used with joint numbers and from words used with joint names."""
    numbered = [f"{stem}{joint}" for stem in stems.split() for joint in ("{j}", "_{j}", "{j0}", "_{j0}")]
    by_name = [
        form.format(word=word)
        for word in named.split()
        for form in (
            "{word}_{{joint}}",
            "{{joint}}_{word}",
            "{{joint}}/{word}",
            "{{joint}}.{word}",
            "{word}/{{joint}}",
            "{word}.{{joint}}",
        )  # fmt: skip
    ]
    return tuple(Pattern(template, side, unit) for template in (*numbered, *by_name))


TIME_NAMES = {  # name -> unit
    **dict.fromkeys(("t", "time", "timestamp", "stamp", "t_s", "time_s", "seconds", "sec", "time[s]"), "s"),
    **dict.fromkeys(("t_ms", "time_ms", "timestamp_ms"), "ms"),
    **dict.fromkeys(("t_us", "time_us", "timestamp_us"), "us"),
    **dict.fromkeys(("t_ns", "time_ns", "timestamp_ns"), "ns"),
}
PATTERNS: dict[str, tuple[Pattern, ...]] = {
    "q": (
        *_patterns("q actual_q pos position joint_position joint_pos q_meas dof_pos", "position pos q"),
        *_patterns("qm q_motor motor_position theta_m", "motor_position", side="motor"),
    ),
    "qd": (
        *_patterns("dq qd actual_qd vel velocity joint_velocity joint_vel", "velocity vel dq qd"),
        *_patterns("dqm qdm motor_velocity", "motor_velocity", side="motor"),
    ),
    "qdd": (
        *_patterns("ddq qdd acc acceleration joint_acceleration", "acceleration acc ddq qdd"),
        *_patterns("ddqm qddm motor_acceleration", "motor_acceleration", side="motor"),
    ),
    "effort": (
        *_patterns("tau tau_J torque joint_torque actual_torque measured_torque", "torque tau", unit="Nm"),
        *_patterns("taum tau_m motor_torque", "motor_torque taum", side="motor", unit="Nm"),
        *_patterns("i current actual_current motor_current", "current", unit="A"),
        *_patterns("u voltage", "voltage", unit="V"),
        *_patterns("effort joint_effort", "effort"),
    ),
    "temperature": _patterns("temperature temp joint_temperature actual_temperature", "temperature temp"),
    # what the joints were told; never u1, which is a voltage
    "command": (
        *_patterns(
            "q_cmd q_ref q_des q_target target_q cmd cmd_q des_dof_pos action",
            "q_cmd command target_position target action",
        ),
        *(Pattern(f"q{joint}_{word}") for word in ("cmd", "ref", "des", "target") for joint in ("{j}", "{j0}")),
    ),
    "command_velocity": _patterns("qd_cmd qd_ref qd_des target_qd dq_cmd dq_des des_dof_vel", "qd_cmd target_velocity"),
    # a second encoder, beside that of the link
    "motor": _patterns("theta q_motor motor_q qm theta_m motor_position", "q_motor motor_position theta"),
    # the supply of servos, of each or of all, and whether their motors are on
    "volts": (*_patterns("volts supply_voltage", "volts supply_voltage"), Pattern("volts"), Pattern("supply_voltage")),
    "enabled": _patterns("enabled torque_enable", "enabled torque_enable"),
}


_FIELD = re.compile(r"\{\{|\}\}|\{(j0|joint|j)\}|[{}]")


def _is_numbered(template: str) -> bool:
    """Whether a template contains the number of a joint."""
    return "{j}" in template or "{j0}" in template


def filled(template: str, **values: object) -> str:
    """Column name from a template; ValueError if it contains fields other than {j}, {j0} and {joint}.

    str.format would also access attributes of its arguments.
    """

    def put(match: re.Match[str]) -> str:
        if match[0] in ("{{", "}}"):
            return match[0][0]
        if match[1] not in values:
            raise ValueError(f"'{match[0]}' is not a field of a column-name template")
        return str(values[match[1]])

    return _FIELD.sub(put, template)


def choose(names: Sequence[str], columns: ColumnMap, robot: Robot, source: str, *, effort: bool = True) -> Chosen:
    """Select the columns of a log with these names; effort: raise an error for a log without efforts."""
    return _HeaderChoice(names, columns, robot, source).chosen(effort)


class _HeaderChoice:
    """Column selection from one header for one robot."""

    def __init__(self, names: Sequence[str], columns: ColumnMap, robot: Robot, source: str) -> None:
        self.names, self.known, self.map, self.robot, self.source = tuple(names), set(names), columns, robot, source
        self.joints = robot.coordinate_names
        self.notes: list[str] = []
        self.side = {"q": columns.drive.position, "effort": columns.drive.effort}
        self.unit = columns.effort_unit

    def chosen(self, effort: bool) -> Chosen:
        t, time_unit = self._time()
        found = {signal: self._signal(signal) for signal in PATTERNS}
        for signal in ("q", "effort") if effort else ("q",):
            if found[signal] is None:
                self._missing(signal)
        if found["effort"] is not None and self.unit is None:
            raise EffortUnitUnknown(
                f"the unit of the efforts in '{found['effort'][0]}' is not known; give effort_unit (N m, A, V or "
                "per mille) in [columns], in the campaign or in a file given with --columns",
                file=self.source,
                column=found["effort"][0],
            )
        q = found["q"]
        assert q is not None
        return Chosen(
            t, q, found["qd"], found["qdd"], found["effort"], found["temperature"], self.unit or "Nm",
            self.side["q"] or "joint", self.side["effort"] or "joint", time_unit, tuple(self.notes), self._marks(),
            *self._commands(found),
        )  # fmt: skip

    def _commands(self, found: dict[str, tuple[str, ...] | None]) -> list[tuple[str, ...] | None]:
        """Columns of commands and their velocities, if used, of a second encoder, and of supply and switch.

        Commands are used if there are no efforts or the map names them.
        """
        names = ("command", "command_velocity")
        is_wanted = found["effort"] is None or self.map.command is not None
        told = [found[name] if is_wanted else None for name in names]
        has_second = (self.map.motor is not None or told[0] is not None) and found["motor"] != found["q"]
        motors = [found[name] if told[0] is not None else None for name in ("volts", "enabled")]
        return [*told, found["motor"] if has_second else None, *motors]

    def _marks(self) -> tuple[tuple[str, str], ...]:
        """Scalar signals named in the map (one value per sample), each with its column."""
        given = tuple((mark, name) for mark in MARKS if (name := getattr(self.map, mark)))
        for mark, name in given:
            if name not in self.known:
                self._absent(name, mark)
        return given

    def _time(self) -> tuple[str | None, str]:
        if self.map.t is not None:
            if self.map.t not in self.known:
                self._absent(self.map.t, "time")
            return self.map.t, self.map.time_unit
        if self.map.rate_hz is not None:
            return None, "s"
        clock = time_column(self.names)
        if clock is not None:
            unit = TIME_NAMES[clock.strip().lower()]
            return clock, self.map.time_unit if self.map.time_unit != "s" else unit
        rate = beside(self.source, "rate_hz = 1000")
        self._fail(
            f'there is no time column; {rate}, with the log\'s samples per second, or name the time column: t = "name"'
        )
        raise AssertionError

    def _signal(self, signal: str) -> tuple[str, ...] | None:
        given = getattr(self.map, signal)
        if given == "":
            return None
        if given is not None:
            return self._given(signal, given)
        for pattern in PATTERNS[signal]:
            names = self._expand(pattern.template)
            if all(name in self.known for name in names):
                if signal in OPTIONAL and len(self._numbered(pattern.template)) > len(names):
                    self.notes.append(f"{names[0]} ... are ignored: there are more of these columns than coordinates")
                    return None
                self._check_count(pattern.template)
                if signal in ("qd", "qdd") and pattern.side != (self.side["q"] or "joint"):
                    continue
                self._accept(signal, pattern, names)
                return names
        return None

    def _given(self, signal: str, given: Names) -> tuple[str, ...]:
        names = self._expand(given) if isinstance(given, str) else given
        if len(names) != len(self.joints):
            self._fail(
                f"{signal} names {len(names)} columns; the robot '{self.robot.name}' has {len(self.joints)} "
                f"coordinates: {', '.join(self.joints)}"
            )
        for joint, name in zip(self.joints, names, strict=True):
            if name not in self.known and not (signal == "motor" and name == ""):
                self._absent(name, f"{signal} of joint '{joint}'")
        if signal == "effort" and self.unit is None:
            self.unit = self._unit_of(names)
        return names

    def _unit_of(self, names: tuple[str, ...]) -> str | None:
        """Effort unit inferred from the column names, for columns given without one."""
        for pattern in PATTERNS["effort"]:
            if self._expand(pattern.template) == names:
                return pattern.unit
        return None

    def _expand(self, template: str) -> tuple[str, ...]:
        try:
            return tuple(filled(template, j=k + 1, j0=k, joint=joint) for k, joint in enumerate(self.joints))
        except ValueError:
            self._fail(f"'{template}' is not a template: it may contain {{j}} (from 1), {{j0}} (from 0) or {{joint}}")
            raise AssertionError from None

    def _numbered(self, template: str) -> list[int]:
        """Joint numbers for which the log has a column of this template; none for templates of joint names."""
        if not _is_numbered(template):
            return []
        return [k for k in range(100) if filled(template, j=k, j0=k) in self.known]

    def _check_count(self, template: str) -> None:
        """Raise an error if the numbered columns of the log are not exactly those of the robot's coordinates."""
        n = len(self.joints)
        if not _is_numbered(template):
            return
        numbers = self._numbered(template)
        first = 1 if "{j}" in template else 0
        if numbers != list(range(first, first + n)):
            columns = ", ".join(filled(template, j=k, j0=k) for k in numbers)
            self._fail(
                f"the log has {len(numbers)} joints ({columns}), the robot '{self.robot.name}' has {n} coordinates "
                f"({', '.join(self.joints)}); name the columns that belong to it in [columns], in the "
                "campaign or in a file given with --columns",
                filled(template, j=numbers[-1], j0=numbers[-1]),
            )

    def _accept(self, signal: str, pattern: Pattern, names: tuple[str, ...]) -> None:
        if signal not in self.side:
            return
        stated = self.side[signal]
        self.side[signal] = stated or pattern.side
        if signal == "effort" and self.unit is None and pattern.unit is not None:
            self.unit = pattern.unit
            words = {"Nm": "N m", "A": "A", "V": "V"}[pattern.unit]
            self.notes.append(
                f"efforts assumed to be in {words} on the {self.side[signal]} side, from the name '{names[0]}'"
            )

    def _missing(self, signal: str) -> None:
        examples = {"q": "q1, actual_q_0 or position_<joint>", "effort": "tau1, i1, actual_current_0 or effort_<joint>"}
        instead = ", nor of commanded positions, such as q_cmd1 or command_<joint>" if signal == "effort" else ""
        if getattr(self.map, signal) == "":
            self._fail(f'{signal} = "" omits a signal that is needed; name its columns')
        n = len(self.joints)
        for pattern in PATTERNS[signal]:
            names = self._expand(pattern.template)
            there = [name for name in names if name in self.known]
            if there:
                lost = next(name for name in names if name not in self.known)
                joint = self.joints[names.index(lost)]
                self._absent(
                    lost,
                    f"{signal} of joint '{joint}': only {len(there)} of {n} columns like '{there[0]}' exist; "
                    "'minertia campaign new' shows how to lock joints that are not logged",
                )
        what = "positions" if signal == "q" else "efforts"
        listed = ", ".join(f'"c{k + 1}"' for k in range(n))
        self._fail(
            f"no columns of {what} are recognised for the {n} coordinates of '{self.robot.name}' "
            f"({', '.join(self.joints)}), such as {examples[signal]}{instead}; "
            f"{beside(self.source, f'{signal} = [{listed}]')}, with names of columns in place of c1 ...; the log "
            f"has: {self._listed()}"
        )

    def _absent(self, name: str, role: str) -> None:
        self._fail(f"there is no such column ({role}); the log has: {self._listed()}", name)

    def _listed(self) -> str:
        return ", ".join(self.names[:40]) + (" ..." if len(self.names) > 40 else "")

    def _fail(self, message: str, column: str | None = None) -> None:
        raise RecordingError(message, file=self.source, column=column)


def likely(names: Sequence[str], robot: Robot, signal: str) -> tuple[str, ...] | None:
    """Columns of a header that may be a signal of this robot's coordinates, ignoring other columns."""
    known = set(names)
    for pattern in PATTERNS[signal]:
        expanded = _expanded(pattern.template, robot)
        if known.issuperset(expanded):
            return expanded
    return None


def has_positions(names: Collection[str], columns: ColumnMap, robot: Robot) -> bool:
    """Whether a header contains the positions of all coordinates of a robot, as specified or as recognised."""
    if not columns.q:
        return likely(tuple(names), robot, "q") is not None
    try:
        wanted = _expanded(columns.q, robot) if isinstance(columns.q, str) else columns.q
    except ValueError:  # no template, which is told when the columns are chosen
        return True
    return set(names).issuperset(wanted)


def time_column(names: Sequence[str]) -> str | None:
    """First column whose name is that of a time signal; None if there is none."""
    return next((name for name in names if name.strip().lower() in TIME_NAMES), None)


def _expanded(template: str, robot: Robot) -> tuple[str, ...]:
    return tuple(filled(template, j=k + 1, j0=k, joint=joint) for k, joint in enumerate(robot.coordinate_names))


def template_of(names: tuple[str, ...], robot: Robot) -> str | None:
    """Template that generates these names; None if there is none."""
    for patterns in PATTERNS.values():
        for pattern in patterns:
            template = pattern.template
            if _expanded(template, robot) == names:
                return template
    return None


def beside(path: str | Path, entry: str) -> str:
    """Part of a message that advises where to specify the columns of a log."""
    file = Path(path).with_name(Path(path).name.split(".")[0] + ".toml")
    if is_file(file) and "columns" not in (text := file.read_text(errors="replace")) and "drive" not in text:
        file = file.with_name("columns.toml")  # that one is something else, such as a robot
    return f"write columns.{entry} into '{file}' (or {entry} into [columns] of a campaign or of a file for --columns)"
