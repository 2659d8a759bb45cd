"""`Campaign`: all settings of an identification, from Python or one TOML file (docs/campaign.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from minertia.identification.campaigns.options import CampaignOptions, MeasureColumns
from minertia.identification.campaigns.sensed import sensed_robot, with_sensed
from minertia.identification.campaigns.write import write_campaign
from minertia.identification.estimators import table_name
from minertia.identification.loads.load import Load
from minertia.identification.logs.columns_file import CampaignTable, columns_beside, read_columns
from minertia.identification.logs.drive import check_drive, undelayed_blocks
from minertia.identification.logs.options import ColumnMap
from minertia.identification.logs.readers import is_there, read_recording
from minertia.identification.logs.recording import Recording, joined
from minertia.identification.logs.repair import repaired
from minertia.identification.problem.linear import BASE_ROWS
from minertia.identification.problem.rows import LogMotion
from minertia.identification.problem.terms import read_effect, read_joints
from minertia.io.errors import CampaignError, InputError, UnknownName
from minertia.io.notebook import clipped
from minertia.io.schema import Declared, Given, check, option, option_of, overridden
from minertia.io.tables import load_toml
from minertia.robot.files import read_robot
from minertia.robot.robot import Robot

PART = re.compile(r"(.+)\[([^:\]]*):([^:\]]*)\]")  # of a log: file, from, to


@dataclass(frozen=True, slots=True)
class Log(Declared):
    """One log of a campaign, or a time window of it.

    title: name of a log that is not a file.
    """

    source: Path | Recording | LogMotion = option(
        help="The log: a file; in Python also a recording, or a motion with known velocities and accelerations.",
        key="file",
    )
    start: float | None = option(
        None,
        'Use the log only from this time on: `{ file = "run.csv", from = 5.0 }` or '
        "`'run.csv[5.0:]'`, as on the command line.",
        unit="s",
        key="from",
    )
    stop: float | None = option(None, "Use the log only up to this time.", unit="s", key="to")
    load: Load | None = option(
        None,
        "Known payload in this log. Its joint efforts are subtracted from the measured efforts, so logs with and "
        "without payload are fitted together and the model is that of the empty robot; predictions of the log "
        "include it. `minertia payload` estimates unknown payloads.",
        otherwise="none",
    )
    tool: str = option(
        "", "Name of the load on the sensors in this log, where logs have different loads.", otherwise="one load in all"
    )
    register: float | None = option(
        None, 'Proportional gain in the servo\'s firmware in this log, for the law `"servo"`.', range=(1e-9, 1e9)
    )
    volts: float | None = option(
        None,
        'Supply voltage in this log, for the law `"servo"`, if it has no column of it.',
        unit="V",
        range=(1e-3, 1e6),
    )
    title: str = ""

    @property
    def file(self) -> Path | None:
        """Path of the log's file; None if the log is not a file."""
        return self.source if isinstance(self.source, Path) else None

    @property
    def name(self) -> str:
        """Name of the file or recording, with its time window."""
        name = self.title or (self.file.name if self.file is not None else getattr(self.source, "source", "")) or "log"
        if self.start is None and self.stop is None:
            return str(name)
        return f"{name} [{'' if self.start is None else f'{self.start:g}'}:" + (
            "]" if self.stop is None else f"{self.stop:g}]"
        )


LogLike: TypeAlias = "str | Path | Recording | LogMotion | Log"


@dataclass(frozen=True, repr=False)
class Campaign(CampaignOptions):
    """Identification campaign: the robot, its logs, and all options.

    source: file that it was read from.  places: folders in which files are looked up.
    """

    robot: Given[Robot, Robot | str | Path] = option(
        help="The robot, a robot file, or the name of a bundled robot (`minertia robots`)."
    )
    train: Given[tuple[Log, ...], LogLike | Sequence[LogLike]] = option(
        (),
        "Training logs: paths, recordings, motions or `Log` objects; a single log needs no list.",
        table="logs",
        otherwise="required",
    )
    validate: Given[tuple[Log, ...], LogLike | Sequence[LogLike]] = option(
        (), "Validation logs, predicted but never fitted.", table="logs", otherwise="none"
    )
    source: str = field(default="", kw_only=True)
    places: tuple[Path, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        put("robot", _robot(self.robot))
        put("train", self._logs(self.train, "log"))
        put("validate", self._logs(self.validate, "validation log"))
        put("measures", self._measures())
        put("columns", self._columns())
        put("robot", sensed_robot(self._coupled(), self.sensors, self.tools))
        if isinstance(self.estimator, str):
            put("estimator", table_name(self.estimator))
        put("name", self.name or self.robot.name)
        put("joints", joint_names(self.robot, self.joints))
        if self.effects is not None:
            stated = [self.effects] if isinstance(self.effects, str) else _many(self.effects, "effects")
            put("effects", tuple(read_effect(self.robot, one) for one in stated))
        for key in ("options", "fix"):
            put(key, MappingProxyType(dict(_named(getattr(self, key) or {}, key))))
        check(self)

    def _logs(self, given: Any, word: str) -> tuple[Log, ...]:
        """Convert any accepted input to logs; recordings without a name are named by `word` and a number."""
        many = isinstance(given, Sequence) and not isinstance(given, str)
        logs = [self._log(item) for item in (given if many else [given])]
        return tuple(
            log if log.file is not None or log.title or getattr(log.source, "source", "") else replace(log, title=title)
            for log, title in zip(logs, (f"{word} {k + 1}" for k in range(len(logs))), strict=True)
        )

    def _log(self, item: Any) -> Log:
        if isinstance(item, Log) and item.file is not None:
            named = self._named(item.file)
            start, stop = (a if a is not None else b for a, b in ((item.start, named.start), (item.stop, named.stop)))
            return replace(item, source=named.source, start=start, stop=stop)
        if isinstance(item, Log):
            return item
        if isinstance(item, str | Path):
            return self._named(item)
        is_many = hasattr(item, "__iter__") and not isinstance(item, Mapping | Set | np.ndarray | bytes)
        if isinstance(item, Recording) or hasattr(item, "tau") or is_many:
            return Log(item)
        raise InputError(f"a log must be the path of a file, a recording or a motion, not {type(item).__name__}")

    def _named(self, name: str | Path) -> Log:
        """Log by name: a file, or a time window [s] of one: "run.csv[2.5:10]"."""
        found, part = self.find(name), PART.fullmatch(str(name))
        if part is None or is_there(found):
            return Log(found)
        try:
            start, stop = (float(text) if text.strip() else None for text in part.groups()[1:])
        except ValueError:
            raise CampaignError(
                "a part of a log must be given by two times [s], as in run.csv[2.5:10]", file=name
            ) from None
        return Log(self.find(part[1].strip()), start, stop)

    def _columns(self) -> ColumnMap:
        given: Any = self.columns
        if given is None:
            first = next((log.file for log in (*self.train, *self.validate) if log.file is not None), None)
            return ColumnMap() if first is None else columns_beside(first)
        return given if isinstance(given, ColumnMap) else read_columns(str(given))

    def _measures(self) -> tuple[MeasureColumns, ...]:
        """Measurements of the tool: as given, else from the column file."""
        if self.measures or not isinstance(self.columns, str | Path):
            return self.measures
        top = load_toml(self.columns, CampaignTable)
        one = option_of(Campaign, "measures")
        return one.read(top) if one.key in top else ()  # type: ignore[no-any-return]

    def _coupled(self) -> Robot:
        """Robot with the drive coupling of the column map."""
        drive = self.map.drive
        if drive.coupling is None:
            return self.robot
        check_drive(drive, self.robot.n, self.source or self.robot.source)
        return replace(self.robot, coupling=drive.coupling)

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the loads on the sensors of all logs, in order."""
        return tuple(dict.fromkeys(log.tool for log in (*self.train, *self.validate)))

    @property
    def map(self) -> ColumnMap:
        """Column map of the logs."""
        assert isinstance(self.columns, ColumnMap)
        return self.columns

    def reading(self, stated: ColumnMap) -> Campaign:
        """Campaign that reads its logs with the options that differ from their defaults in `stated`."""
        return replace(self, columns=overridden(self.map, stated))

    @property
    def efforts(self) -> tuple[str, ...] | None:
        """Names of the fitted efforts, including those of a floating base; None for all."""
        if not self.robot.is_floating:
            measured = tuple(name for one in self.robot.sensors for name in one.row_names)
            if self.rows == "sensors":
                return measured
            return (*map(str, self.joints), *measured) if self.joints else None
        only = {"base": BASE_ROWS, "joints": self.robot.coordinate_names}
        return only.get(str(self.floating.rows))

    def recording(self, log: Log, *, whole: bool = False) -> Recording:
        """Recording of a log with the campaign's repairs; `whole` retains standstill."""
        r = self.repairs
        return repaired(
            self.as_logged(log), stamps=r.stamps, resample=r.resample, standstill=r.standstill and not whole
        )

    def as_logged(self, log: Log, *, effort: bool = True) -> Recording:
        """Recording of a log without repairs; effort: whether missing efforts raise an error."""
        if log.file is not None:
            recording = read_recording(log.file, self.robot.on_ground, self.map, effort=effort and not self.sensors)
            if self.sensors:
                recording = with_sensed(recording, self.robot, self.sensors, self.map, log.file, log.tool)
        else:
            assert isinstance(log.source, Recording)
            recording = log.source
            if recording.n != self.robot.n:
                raise CampaignError(
                    f"{log.name} has {recording.n} joints, but '{self.robot.name}' has {self.robot.n} coordinates"
                )
            wide = 6 * len(self.robot.sensors)
            if self.sensors and (recording.sensed is None or recording.sensed.shape[1] != wide):
                raise CampaignError(f"{log.name} has no wrenches of its sensors; give them as sensed (N, 6 per sensor)")
            late = self.map.drive.delay
            if late and recording.undelayed is None and recording.tau is not None:
                recording = joined(undelayed_blocks([recording], late))
        if log.start is not None or log.stop is not None:
            recording = recording.between(log.start, log.stop)
        return recording

    def save(self, path: str | Path, *, force: bool = False) -> tuple[Path, ...]:
        """Write the campaign as a file that can be rerun; returns the paths written."""
        return write_campaign(self, path, force=force)

    def __repr__(self) -> str:
        logs = f"{len(self.train)} log{'s' * (len(self.train) != 1)} to fit, {len(self.validate)} to predict"
        effects = "chosen" if self.effects is None else f"{len(self.effects)} stated"
        estimator = self.estimator if isinstance(self.estimator, str) else type(self.estimator).__name__
        return f"<Campaign '{clipped(self.name, 40)}': {logs}; effects {effects}; estimator {estimator}>"

    def find(self, log: str | Path) -> Path:
        """Path of a log, looked up as named, then in the campaign's folders.

        Returned as named if it does not exist; the reader raises the error.
        """
        for place in (Path(), *self.places):
            file = place / log
            if is_there(file):
                return file
        return Path(log)


def _many(given: Any, what: str) -> Any:
    """Validate an iterable argument."""
    if not isinstance(given, Iterable):
        raise InputError(f"{what} of a campaign must be a list, not {given.__class__.__name__}")
    return given


def _named(given: Any, what: str) -> Any:
    """Validate a mapping argument."""
    if not isinstance(given, Mapping):
        raise InputError(
            f"{what} of a campaign must be a table of values by name, such as {{'M1': 2.0}}, not {clipped(given, 40)}"
        )
    return given


def joint_names(robot: Robot, joints: Any) -> tuple[str, ...]:
    """Names of coordinates given by name or by number from 1, in the robot's order."""
    given = joints if isinstance(joints, str | int) else _many(() if joints is None else joints, "joints")
    items = [given] if isinstance(given, str | int) else list(given)
    names = read_joints(robot, items) if items else ()
    for name in names:
        if name not in robot.coordinate_names:
            raise UnknownName("coordinate of the robot", name, robot.coordinate_names)
    return names


def _robot(given: Any) -> Robot:
    if isinstance(given, Robot):
        return given
    if isinstance(given, str | Path):
        return read_robot(given)
    raise InputError(
        f"the robot of a campaign must be a robot, a path or the name of a bundled robot, not {type(given).__name__}"
    )
