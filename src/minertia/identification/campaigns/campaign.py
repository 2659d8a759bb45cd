"""The campaign file: everything an identification needs, in one TOML that can be rerun (docs/campaign.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from minertia.errors import CampaignError, FilterError, MinertiaError
from minertia.identification.campaigns.effects import DEFAULT_EFFECTS, EffectSpec, joint_list, parse_effects
from minertia.identification.campaigns.options import Options, load_toml, shown
from minertia.identification.estimators.options import RANGES
from minertia.identification.logs.columns import ColumnMap
from minertia.identification.logs.columns_file import parse_columns
from minertia.identification.logs.readers import is_there, read_recording
from minertia.identification.logs.recording import Recording
from minertia.identification.logs.repair import repaired
from minertia.identification.signals.evaluation import Evaluation
from minertia.identification.signals.filtering import Filter
from minertia.robot.lock import locked
from minertia.robot.read import bundled_robots, read_robot
from minertia.robot.robot import Robot

FORMAT = 1
TOP_KEYS = ("format", "name", "robot", "gravity", "joints", "hold", "logs", "columns", "drive", "filter", "model",
            "estimator", "evaluation")  # fmt: skip
LOG_KEYS = ("train", "validate", "stamps", "resample", "standstill")
PART = re.compile(r"(.+)\[([^:\]]*):([^:\]]*)\]")  # of a log: file, from, to
ENTRY_KEYS = ("file", "from", "to", "load")
LARGEST_LOAD = 1e6  # kg, m or kg m2
LOAD_KEYS = ("mass", "com", "inertia", "at")
MODEL_KEYS = ("effects", "fix", "prior")
FILTER_KEYS = ("cutoff_hz", "order", "derivative", "window", "degree", "rate_hz", "parallel_hz", "on", "trim_s")
ESTIMATOR_KEYS = ("name", *RANGES, "kind")  # which of them an estimator takes, it says itself
EVALUATION_KEYS = ("cutoff_hz", "rate_hz", "trim_s", "log_unit")


@dataclass(frozen=True, slots=True)
class Load:
    """What the robot carries in a log: mass [kg], and centre [m] and inertia [kg m2] in a frame where known."""

    mass: float
    com: tuple[float, float, float] | None = None
    inertia: tuple[float, ...] | None = None
    at: str | None = None


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One log of a campaign, or the part of it between two times of its own clock [s]."""

    file: Path
    start: float | None = None
    stop: float | None = None
    load: Load | None = None

    @property
    def name(self) -> str:
        """Name of the file, with the part."""
        if self.start is None and self.stop is None:
            return self.file.name
        return f"{self.file.name} [{'' if self.start is None else f'{self.start:g}'}:" + (
            "]" if self.stop is None else f"{self.stop:g}]"
        )


@dataclass(frozen=True, slots=True)
class Repairs:
    """What may be repaired in a log; standstill, where friction is not defined, goes for fitting and judging alike."""

    stamps: bool = True
    resample: bool = True
    standstill: bool = True


@dataclass(frozen=True)
class Campaign:
    """A campaign, checked: robot read, files found, every choice made.

    joints: coordinates (from 0) that are identified.  estimator: name, options: its own table without the name.
    prior: "robot" for the robot's own parameters, a path of a robot or model file, or None.
    fix: full name of a parameter -> value it is pinned to.  places: folders in which files are looked up.
    """

    name: str
    robot: Robot
    train: tuple[LogEntry, ...]
    validate: tuple[LogEntry, ...] = ()
    columns: ColumnMap = field(default_factory=ColumnMap)
    repairs: Repairs = field(default_factory=Repairs)
    filter: Filter = field(default_factory=Filter)
    effects: tuple[EffectSpec | str, ...] = DEFAULT_EFFECTS
    joints: tuple[int, ...] = ()
    estimator: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)
    prior: str | Path | None = None
    fix: Mapping[str, float] = field(default_factory=dict)
    evaluation: Evaluation | None = None
    source: str = ""
    places: tuple[Path, ...] = ()

    def recording(self, entry: LogEntry, *, whole: bool = False) -> Recording:
        """The recording of a log, repaired as the campaign says; `whole` keeps standstill all the same."""
        return self.repaired(self.raw(entry), whole=whole)

    def raw(self, entry: LogEntry) -> Recording:
        """The recording of a log as it was logged."""
        recording = read_recording(entry.file, self.robot, self.columns)
        if entry.start is not None or entry.stop is not None:
            recording = recording.between(entry.start, entry.stop)
        return recording

    def repaired(self, recording: Recording, *, whole: bool = False) -> Recording:
        """A recording repaired as the campaign says; `whole` keeps standstill all the same."""
        r = self.repairs
        return repaired(recording, stamps=r.stamps, resample=r.resample, standstill=r.standstill and not whole)

    def with_validation(self, logs: Sequence[str | Path]) -> Campaign:
        """The campaign judged on other logs, looked up as they are named, then where those of the campaign are."""
        return replace(self, validate=tuple(self.entry(log) for log in logs))

    def entry(self, log: str | Path) -> LogEntry:
        """A log as it is named: a file, or a part of one between two times [s]: "run.csv[2.5:10]"."""
        found = self.find(log)
        part = PART.fullmatch(str(log))
        if part is None or is_there(found):
            return LogEntry(found)
        try:
            start, stop = (float(text) if text.strip() else None for text in part.groups()[1:])
        except ValueError:
            raise CampaignError("a part of a log is between two times [s], as in run.csv[2.5:10]", file=log) from None
        return LogEntry(self.find(part[1].strip()), start, stop)

    def find(self, log: str | Path) -> Path:
        """The file of a log; as it is named where there is none, for the reader to refuse."""
        for place in (Path(), *self.places):
            file = place / log
            if is_there(file):
                return file
        return Path(log)


def read_campaign(path: str | Path, data: str | Path | None = None) -> Campaign:
    """A campaign from its file; logs are looked up beside it, then in `data`.

    The robot is also looked up in a folder `robots` two levels above `data`, and among the bundled ones.
    """
    return _Reader(Path(path), None if data is None else Path(data)).campaign()


class _Reader:
    """One campaign file being read."""

    def __init__(self, path: Path, data: Path | None) -> None:
        self.path, self.data = path, data
        self.top = load_toml(path)
        self.top.only(TOP_KEYS)
        if self.top.get("format") != FORMAT:
            raise self.top.fail(f"the file must say format = {FORMAT}", "format")
        if data is not None and not data.is_dir():
            raise CampaignError(f"the data folder '{data}' does not exist", file=path)

    def campaign(self) -> Campaign:
        """The checked campaign."""
        top = self.top
        columns = parse_columns(top.table("columns"), top.table("drive"))
        robot = self._robot(columns)
        logs, model, estimator = (top.table(name) for name in ("logs", "model", "estimator"))
        logs.only(LOG_KEYS)
        model.only(MODEL_KEYS)
        train = self._entries(logs, "train")
        if not train:
            raise logs.fail("name at least one log to fit", "train")
        estimator.only(ESTIMATOR_KEYS)
        options = {key: estimator.get(key) for key in estimator if key != "name"}
        return Campaign(
            name=top.text("name") or self.path.stem,
            robot=robot,
            train=train,
            validate=self._entries(logs, "validate"),
            columns=columns,
            repairs=Repairs(*(logs.flag(key, True) for key in ("stamps", "resample", "standstill"))),
            filter=self._filter(),
            effects=parse_effects(model, "effects", robot),
            joints=joint_list(top, "joints", robot),
            estimator=estimator.text("name") or "auto",
            options=MappingProxyType(options),
            prior=self._prior(model),
            fix=MappingProxyType(self._numbers(model.table("fix"))),
            evaluation=self._evaluation(),
            source=str(self.path),
            places=tuple(self._places(robots=False)),
        )

    # ------------------------------------------------------------------ files

    def _places(self, robots: bool) -> list[Path]:
        places = [self.path.parent]
        if self.data is not None:
            places.append(self.data)
            if robots:
                places.append(self.data.resolve().parent.parent / "robots")
        return places

    def _find(self, name: str, field: str, robots: bool = False) -> Path:
        for place in self._places(robots):
            file = place / name
            if is_there(file):
                return file
        places = ", ".join(str(p) for p in self._places(robots))
        hint = "" if self.data is not None else "; name the folder of the logs with --data"
        raise CampaignError(f"'{name}' is not in {places}{hint}", file=self.path, field=field)

    def _robot(self, columns: ColumnMap) -> Robot:
        top = self.top
        name = top.text("robot")
        if not name:
            raise top.fail("name the robot: a file, or a bundled one", "robot")
        found = name if name in bundled_robots() else str(self._find(name, "robot", robots=True))
        gravity = top.numbers("gravity", 3)
        robot = locked(read_robot(found, gravity=gravity), self._numbers(top.table("hold")))
        coupling = columns.drive.coupling
        if coupling is not None:
            columns.drive.checked(robot.n, str(self.path))
            robot = replace(robot, coupling=coupling)
        return robot

    # ------------------------------------------------------------------ tables

    def _entries(self, logs: Options, key: str) -> tuple[LogEntry, ...]:
        value = logs.get(key)
        items = [] if value is None else value if isinstance(value, list) else [value]
        return tuple(self._entry(logs, key, item) for item in items)

    def _entry(self, logs: Options, key: str, item: Any) -> LogEntry:
        if not isinstance(item, (str, dict)):
            raise logs.fail(f"a log is the name of a file or a table, not {shown(item)}", key)
        table = Options({"file": item} if isinstance(item, str) else item, logs.source, f"logs.{key}")
        table.only(ENTRY_KEYS)
        name = table.text("file")
        if not name:
            raise table.fail("name the file of the log", "file")
        start, stop = table.number("from"), table.number("to")
        return LogEntry(self._find(name, f"logs.{key}"), start, stop, self._load(table))

    def _load(self, table: Options) -> Load | None:
        if "load" not in table:
            return None
        load = table.table("load")
        load.only(LOAD_KEYS)
        mass, com = load.positive("mass"), load.numbers("com", 3)
        if mass is None:
            raise load.fail("a load needs its mass [kg]", "mass")
        for key, values in (("mass", (mass,)), ("com", com or ()), ("inertia", load.numbers("inertia", 6) or ())):
            if any(abs(v) > LARGEST_LOAD for v in values):
                raise load.fail(f"no load has a number above {LARGEST_LOAD:g} [kg, m, kg m2]", key)
        centre = None if com is None else (com[0], com[1], com[2])
        return Load(mass, centre, load.numbers("inertia", 6), load.text("at"))

    def _filter(self) -> Filter:
        table = self.top.table("filter")
        table.only(FILTER_KEYS)
        given: dict[str, Any] = {
            **{key: table.positive(key) for key in ("cutoff_hz", "rate_hz", "parallel_hz")},
            **{key: table.whole(key) for key in ("order", "window", "degree")},
            **{key: table.text(key) for key in ("derivative", "on")},
            "trim_s": table.number("trim_s"),
        }
        try:
            return Filter(**{key: value for key, value in given.items() if value is not None})
        except MinertiaError as err:
            raise CampaignError(str(err), file=self.path, field="filter") from None

    def _evaluation(self) -> Evaluation | None:
        table = self.top.table("evaluation")
        table.only(EVALUATION_KEYS)
        cutoff, rate = table.positive("cutoff_hz"), table.positive("rate_hz")
        if cutoff is None and rate is None:
            return None
        if cutoff is None or rate is None:
            raise table.fail("the evaluation filter needs both cutoff_hz and rate_hz")
        try:
            return Evaluation(cutoff, rate, table.number("trim_s") or 0.0, table.flag("log_unit", False))
        except FilterError as err:
            raise table.fail(str(err)) from None

    def _prior(self, model: Options) -> str | Path | None:
        name = model.text("prior")
        return name if name in (None, "robot") else self._find(name, "model.prior", robots=True)

    def _numbers(self, table: Options) -> dict[str, float]:
        return {key: value for key in table if (value := table.number(key)) is not None}
