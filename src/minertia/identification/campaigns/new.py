"""`new_campaign`: text of a campaign file from a robot and the headers of its logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from minertia.identification.logs.columns import TIME_NAMES, Chosen, choose, likely, template_of, time_column
from minertia.identification.logs.columns_file import columns_beside
from minertia.identification.logs.csv import CsvLog
from minertia.identification.logs.options import ColumnMap
from minertia.identification.logs.readers import iter_blocks, open_log
from minertia.identification.logs.recording import Recording
from minertia.identification.logs.repair import repaired
from minertia.identification.logs.worded import worded
from minertia.identification.problem.ladder import START
from minertia.identification.signals.filtering import resolved
from minertia.identification.signals.options import Filter
from minertia.io.errors import CampaignError, MinertiaError, RecordingError
from minertia.io.schema import overridden
from minertia.robot.files import read_robot
from minertia.robot.options import RobotOptions
from minertia.robot.robot import Robot
from minertia.robot.variants import held, locked

ASK = '"?"'
UNITS = "Nm (N m, and N for prismatic joints), A, V, permille or percent"
SUSPICIOUS = 10.0  # rad or m: a position beyond this may be in degrees or mm
ROWS = 50_000  # looked at to choose a filter


def new_campaign(
    robot: str | Path | Robot,
    logs: Sequence[str | Path],
    columns: ColumnMap | None = None,
    *,
    topic: str | None = None,
    reading: ColumnMap | None = None,
    how: RobotOptions | None = None,
) -> str:
    """Text of a campaign for a robot and its logs; values that cannot be inferred are marked "?".

    The last of several logs is held out for validation.  columns: format of the files, such as a delimiter
    or a header; None for the file beside the first log.  topic: of the joint states, if logs are bags.
    reading: options that take precedence over those of `columns`.  how: options of a robot that is a file.
    """
    if not logs:
        raise CampaignError("a campaign needs at least one log")
    stated = reading or ColumnMap()
    stated = stated if topic is None else replace(stated, topic=topic)
    return _CampaignWriter(robot, [Path(log) for log in logs], columns, stated, how or RobotOptions()).text()


class _CampaignWriter:
    """Writer of a campaign file from its first log."""

    def __init__(
        self,
        robot: str | Path | Robot,
        logs: list[Path],
        columns: ColumnMap | None,
        stated: ColumnMap,
        how: RobotOptions,
    ) -> None:
        self.robot_name = (robot.source or robot.name) if isinstance(robot, Robot) else str(robot)
        self.how = how
        self.robot = (
            robot if isinstance(robot, Robot) else read_robot(robot, base=how.base, gravity=how.gravity, prim=how.prim)
        )
        self.robot = held(self.robot, how.hold)
        self.logs = logs
        read = as_written(logs[0], columns_beside(logs[0]) if columns is None else columns)
        self.map = overridden(read, stated)
        self.names = open_log(logs[0], self.map, self.robot).names()
        self.held: tuple[str, ...] = ()
        self.asks_which = False  # joints of the robot the columns belong to
        self.is_commanded = False  # whether commands stand in for efforts
        self.chosen = self._chosen() or self._chosen_by_words() or self._chosen_with_held()
        self.sample = self._sample()

    def _chosen(self) -> Chosen | None:
        """Recognised columns; a missing clock or unit is marked later."""
        clock, unit = {"rate_hz": 1.0}, {"effort_unit": "Nm"}
        for more in ({}, clock, unit, clock | unit):
            columns = replace(self.map, **more)  # type: ignore[arg-type]
            try:
                chosen = choose(self.names, columns, self.robot, str(self.logs[0]))
            except RecordingError:
                continue
            self.asks_unit = columns.effort_unit is not None and self.map.effort_unit is None
            return chosen
        self.asks_unit = True
        return self._chosen_commands()

    def _chosen_commands(self) -> Chosen | None:
        """Recognised columns of a log of commands without efforts."""
        for more in ({}, {"rate_hz": 1.0}):
            try:
                chosen = choose(self.names, replace(self.map, **more), self.robot, str(self.logs[0]), effort=False)  # type: ignore[arg-type]
            except RecordingError:
                continue
            if chosen.effort is None and chosen.command is not None:
                self.is_commanded = True
                return chosen
        return None

    def _chosen_by_words(self) -> Chosen | None:
        """Columns recognised by words and units in their names."""
        before = self.map
        self.map = overridden(worded(self.names, self.robot), before)
        chosen = self._chosen()
        self.map = self.map if chosen else before
        return chosen

    def _chosen_with_held(self) -> Chosen | None:
        """Recognised columns of a log without some joints, such as those of a gripper; these are locked.

        With numbered columns the missing joints cannot be inferred, and the user is asked.
        """
        whole = self.robot
        for names, is_told in _absent(whole.coordinate_names, self.names):
            try:
                self.robot = locked(whole, {name: _middle(whole, name) for name in names})
            except MinertiaError:
                continue
            chosen = self._chosen()
            if chosen is not None:
                self.held, self.asks_which = names, not is_told
                return chosen
        self.robot = whole
        self.asks_unit = True
        return None

    def _sample(self) -> Recording | None:
        """First rows of the log, with unknown gains set to 1 as only their time course matters, or None."""
        if self.chosen is None or (self.chosen.t is None and self.map.rate_hz is None):
            return None
        n = self.robot.n
        drive = replace(self.map.drive, gains=None, gain_deviations=None)
        if "motor" in (self.chosen.position_side, self.chosen.effort_side) and drive.coupling is None:
            drive = replace(drive, ratios=drive.ratios or (1.0,) * n)
        try:
            columns = replace(self.map, effort_unit=self.chosen.effort_unit, drive=drive)
            blocks = iter_blocks(self.logs[0], self.robot, columns, rows=ROWS, effort=not self.is_commanded)
            return repaired(next(blocks))
        except (MinertiaError, StopIteration):
            return None

    def text(self) -> str:
        """Text of the whole file."""
        parts = [self._head(), self._logs(), self._columns()]
        parts += [self._command()] if self.is_commanded else [self._drive(), self._filter(), self._rest()]
        return "\n".join("\n".join(lines) + "\n" for lines in parts if lines)

    def _head(self) -> list[str]:
        gravity = ", ".join(f"{v:g}" for v in self.robot.gravity)
        return [
            '# Written from the column names of the logs; every "?" must be replaced before the campaign can run.',
            "# All keys: docs/campaign.md.",
            "format = 1",
            f"name = {_quoted(self.robot.name)}",
            f"robot = {_quoted(self.robot_name)}",
            f"gravity = [{gravity}]  # m/s2 in the robot's base frame: is the robot mounted upright?",
            *([] if self.how.base is None else [f"base = {_quoted(self.how.base)}"]),
            *([f"prim = {_quoted(self.how.prim)}"] if self.how.prim else []),
            *self._hold(),
        ]

    def _hold(self) -> list[str]:
        stated = [f"{_quoted(name)} = {value or 0.0:g}" for name, value in self.how.hold.items()]
        if not self.held:
            return [f"hold = {{ {', '.join(stated)} }}"] if stated else []
        if self.asks_which:
            assert self.chosen is not None
            whole = (*self.robot.coordinate_names, *self.held)
            example = ", ".join(f"{_quoted(name)} = 0" for name in self.held)
            return [
                f"# the log has {self.robot.n} numbered joints ({_plain(self.chosen.q[0])} ...), "
                f"the robot {len(whole)}: {_plain(', '.join(whole))}",
                f"hold = {ASK}  # which joints are not logged, and at which positions [rad or m] were they? {{ "
                f"{example} }} locks the last joint; the columns belong to the others, in this order",
            ]
        places = ", ".join([*stated, *(f"{_quoted(name)} = {ASK}" for name in self.held)])
        return [
            f"hold = {{ {places} }}  # the log has no columns for these joints: at which positions [rad or m] "
            "were they?"
        ]

    def _logs(self) -> list[str]:
        names = [_quoted(str(log)) for log in self.logs]
        train, validate = (names[:-1], names[-1:]) if len(names) > 1 else (names, [])
        lines = ["[logs]", f"train = [{', '.join(train)}]"]
        if validate:
            return [*lines, f"validate = [{', '.join(validate)}]  # held out: never fitted"]
        return [*lines, "# validate = []  # a log of another motion, to validate the result"]

    def _columns(self) -> list[str]:
        chosen = self.chosen
        if chosen is None:
            return self._columns_to_name()
        rate = ASK if self.map.rate_hz is None else f"{self.map.rate_hz:g}"
        clock = f"rate_hz = {rate}  # no time column" if chosen.t is None else f"t = {_quoted(chosen.t)}"
        lines = ["[columns]", *self._stated(), clock]
        if chosen.time_unit != "s":
            lines.append(f"time_unit = {_quoted(chosen.time_unit)}")
        for signal in ("q", "qd", "qdd", "effort", "command", "command_velocity", "motor"):
            names = getattr(chosen, signal)
            if names is not None and not self._is_useless(signal):
                lines.append(f"{signal} = {self._names(names)}")
            elif names is not None:
                listed = _plain(", ".join(names[:6]))
                lines.append(f'{signal} = ""  # not used: {listed} do not change although the joints move')
        unit = [] if self.is_commanded else [self._unit(chosen)]
        return [*lines, *self._angle(), *self._length(), *unit]

    def _command(self) -> list[str]:
        """Lines of the position servo table, in which "?" is a valid value: an unknown gain."""
        links = "robot" if self.robot.has_parameters else "physical"
        return [
            "# there are no efforts: the position servos of the joints are simulated (docs/output-error.md)",
            '[command]  # "?" is fitted here; known gains fix the scale of all values',
            'law = "pd"',
            'kp = "?"  # N m/rad; "same" if all servos are equal',
            'kd = "?"  # N m s/rad',
            'delay = "?"  # s',
            "",
            "[model]",
            f'links = "{links}"  # robot: keep the links of the robot file; physical: fit physically consistent links',
        ]

    def _stated(self) -> list[str]:
        """Lines of the file format settings that the column map specifies."""
        lines = [f"header = [{', '.join(map(_quoted, self.map.header))}]"] if self.map.header else []
        lines += [f"delimiter = {_quoted(self.map.delimiter)}"] if self.map.delimiter else []
        lines += [f"decimal = {_quoted(self.map.decimal)}"] if self.map.decimal != "." else []
        lines += [f"encoding = {_quoted(self.map.encoding)}"] if self.map.encoding != "utf-8" else []
        lines += [f"topic = {_quoted(self.map.topic)}"] if self.map.topic else []
        lines += [f"command_topic = {_quoted(self.map.command_topic)}"] if self.map.command_topic else []
        lines += [f"episode = {self.map.episode}"] if self.map.episode is not None else []
        return [*lines, "drop_torn = true"] if self.map.drop_torn else lines

    def _columns_to_name(self) -> list[str]:
        """Lines of the column table if the header does not identify this robot's columns."""
        clock = time_column(self.names)
        lines = ["[columns]", *self._stated(), f"# the log has: {_plain(', '.join(self.names[:60]))}"]
        lines.append(f"t = {ASK if clock is None else _quoted(clock)}")
        if clock is not None and TIME_NAMES[clock.strip().lower()] != "s":
            lines.append(f"time_unit = {_quoted(TIME_NAMES[clock.strip().lower()])}")
        joints = _plain(", ".join(self.robot.coordinate_names))
        lines.append(f'# a template such as "pos{{j}}" or a list, one name for each of: {joints}')
        for signal in ("q", "effort"):
            some = likely(self.names, self.robot, signal)
            hint = "" if some is None else f"  # [{', '.join(_quoted(name) for name in some)}]?"
            lines.append(f"{signal} = {ASK}{hint}")
        return [*lines, *self._angle(), *self._length(), f"effort_unit = {ASK}  # {UNITS}"]

    def _is_useless(self, signal: str) -> bool:
        """Whether a logged rate stays constant while its joint moves: an unused field."""
        logged = getattr(self.sample, signal, None) if signal in ("qd", "qdd") else None
        if logged is None or self.sample is None:
            return False
        return bool(np.any((np.ptp(logged, axis=0) == 0) & (np.ptp(self.sample.q, axis=0) > 0)))

    def _names(self, names: tuple[str, ...]) -> str:
        template = template_of(names, self.robot)
        return _quoted(template) if template else f"[{', '.join(_quoted(name) for name in names)}]"

    def _angle(self) -> list[str]:
        return self._position_unit("angle", "revolute", ("rad", "deg"))

    def _length(self) -> list[str]:
        return self._position_unit("length", "prismatic", ("m", "mm"))

    def _position_unit(self, key: str, kind: str, units: tuple[str, str]) -> list[str]:
        """Line of the position unit of a joint kind, marked "?" if values are too large for the default unit."""
        usual, other = units
        moving = [k for k, j in enumerate(self.robot.independent) if self.robot.joints[j].kind == kind]
        if not moving:
            return []
        if given := getattr(self.map, key):
            return [f"{key} = {_quoted(given)}"]
        if self.sample is None:
            return [f"{key} = {ASK}  # {usual} or {other}"]
        largest = float(np.abs(self.sample.q[:, moving]).max())
        motor = self.chosen is not None and self.chosen.position_side == "motor"
        if largest > SUSPICIOUS and not motor:
            return [f"{key} = {ASK}  # {usual} or {other}: positions reach {largest:.4g}"]
        return [f"{key} = {_quoted(usual)}"]

    def _unit(self, chosen: Chosen) -> str:
        if self.asks_unit:
            return f"effort_unit = {ASK}  # {UNITS}"
        return f"effort_unit = {_quoted(chosen.effort_unit)}"

    def _drive(self) -> list[str]:
        chosen, n = self.chosen, self.robot.n
        if chosen is None:
            return []
        lines = [f"position = {_quoted(chosen.position_side)}", f"effort = {_quoted(chosen.effort_side)}"]
        each = ", ".join([ASK] * n)
        if self.asks_unit or chosen.effort_unit != "Nm":
            per = "N m (N for prismatic joints) per"
            if self.asks_unit:
                lines.append(f"# gains = [{', '.join(['1'] * n)}]  # unless efforts are in N m: {per} the log's unit")
            else:
                known = each if self.map.drive.gains is None else ", ".join(f"{k:.17g}" for k in self.map.drive.gains)
                lines.append(f"gains = [{known}]  # {per} {chosen.effort_unit}, for each joint")
            lines.append(
                "# gains unknown? `minertia payload EMPTY LOADED --robot ROBOT --mass KG` estimates them from a "
                "known payload"
            )
        if "motor" in (chosen.position_side, chosen.effort_side) and self.robot.coupling is None:
            lines.append(f"ratios = [{each}]  # motor turns per joint turn, with sign; or a matrix `coupling`")
        return ["[drive]", *lines]

    def _filter(self) -> list[str]:
        return ["[filter]", "# cutoff_hz is chosen by the smallest residual if it is not given"]

    def _rest(self) -> list[str]:
        effects = ", ".join(_quoted(word) for word in START)
        stated = f"# effects = [{effects}]  # chosen by cross-validation if not given"
        lines = ["[model]", stated, "", "[estimator]", 'name = "auto"']
        if self.sample is None:
            return lines
        try:
            plan = resolved(Filter(), self.sample)
        except MinertiaError:
            return lines
        return [*lines, "", "[evaluation]", f"cutoff_hz = {plan.cutoff_hz:.3g}", f"rate_hz = {plan.rate_hz:.4g}",
                "trim_s = 0.5"]  # fmt: skip


def as_written(log: str | Path, columns: ColumnMap) -> ColumnMap:
    """Column map with the encoding and the decimal sign with which the first rows of a text log can be read."""
    file = open_log(log, columns)
    if not isinstance(file, CsvLog):
        return columns
    columns = replace(columns, encoding=file.text_encoding())
    if columns.decimal != ".":
        return columns
    return replace(columns, decimal=CsvLog(file.path, columns).decimal_sign())


def _absent(joints: tuple[str, ...], columns: Sequence[str]) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Candidate sets of joints that a log lacks, and whether its header shows it.

    First the joints that no column names, then the last joint, the last two, and so on.
    """
    unnamed = tuple(joint for joint in joints if not any(joint in column for column in columns))
    if 0 < len(unnamed) < len(joints):
        yield unnamed, True
    for k in range(1, len(joints)):
        yield joints[-k:], False


def _middle(robot: Robot, name: str) -> float:
    """Middle of a joint's range; 0 if it is unlimited."""
    limits = robot.joints[robot.joint_index(name)].limits
    return 0.0 if limits.lower is None or limits.upper is None else 0.5 * (limits.lower + limits.upper)


def _quoted(text: str) -> str:
    """Quoted TOML string."""
    escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\u{ord(c):04x}" for c in text if ord(c) < 0x10000)
    return f'"{escaped}"'


def _plain(text: str) -> str:
    """Text that is safe in a comment."""
    return "".join(c if c.isprintable() else " " for c in text)


__all__ = ["as_written", "new_campaign"]
