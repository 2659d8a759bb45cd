"""Campaign file: one TOML file that can be rerun (docs/campaign.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from minertia.identification.campaigns.campaign import PART, Campaign, Log
from minertia.identification.campaigns.options import FORMAT, Repairs
from minertia.identification.campaigns.record import further_options
from minertia.identification.estimators import ESTIMATORS, OLD_NAMES, estimator_options
from minertia.identification.logs.columns_file import CampaignTable, parse_columns
from minertia.identification.logs.options import ColumnMap, Drive
from minertia.identification.logs.readers import is_there, log_files
from minertia.identification.problem.terms import EffectSpec, read_effect, read_joints
from minertia.identification.signals.options import Evaluation, Filter
from minertia.io.errors import CampaignError, MinertiaError, UnknownName, expect_path
from minertia.io.files import reading
from minertia.io.schema import (
    Declared,
    Option,
    OptionError,
    Value,
    keys_of,
    option,
    options,
    read,
    restored_value,
    tables,
)
from minertia.io.tables import load_toml, shown
from minertia.robot.files import bundled_robots, read_robot
from minertia.robot.options import RobotOptions
from minertia.robot.robot import Robot
from minertia.robot.variants import held, locked


@dataclass(frozen=True, slots=True, repr=False)
class FileEntries(Declared):
    """Top-level entries of a file: format and name of the robot; those of `RobotOptions` stand beside them."""

    format: int = option(FORMAT, f"Format of the file, always {FORMAT}.", range=(FORMAT, FORMAT), otherwise="required")
    robot: str = option(
        "",
        "A robot file (TOML, URDF, MJCF, `.par`; see [formats.md](formats.md)), or the name of a bundled robot "
        "(`minertia robots`).",
        otherwise="required",
    )


ENTRIES = (*options(FileEntries), *options(RobotOptions))
TABLES = tables(Campaign)


def file_options() -> dict[str, dict[str, Option]]:
    """Every option of a campaign file, by its table ("" for the top level) and key."""
    found: dict[str, dict[str, Option]] = {"": {one.key: one for one in ENTRIES}}
    for name, own in TABLES.items():
        table = found.setdefault(name, {})
        for one in own:
            inner = [] if one.kind.own_table is None else [o for o in options(one.kind.own_table) if o.table is None]
            table |= {o.key: o for o in (inner or [one])}
    of_estimators = found["estimator"]
    del of_estimators["options"]
    for name in ESTIMATORS:
        for one in estimator_options(name):
            of_estimators.setdefault(one.key, one)
    return found


def read_campaign(path: str | Path, data: str | Path | None = None, robot: RobotOptions | None = None) -> Campaign:
    """Read a campaign file; logs are looked up beside it, then in `data`.

    The robot is also looked up in a folder `robots` two levels above `data`, and among the bundled ones.  robot:
    options that take precedence over those of the file; further joints are locked as well.
    """
    expect_path(path, "a campaign")
    return _CampaignReader(Path(path), None if data is None else Path(data), robot or RobotOptions()).campaign()


def is_campaign_file(path: str | Path) -> bool:
    """Whether a file is a campaign: TOML with the name of a robot and logs."""
    if Path(path).suffix.lower() != ".toml":
        return False
    try:
        top = load_toml(Path(path), CampaignTable)
    except MinertiaError:
        return False
    return isinstance(top.entries.get("robot"), str) and "logs" in top


class _CampaignReader:
    """Reader of one campaign file."""

    def __init__(self, path: Path, data: Path | None, robot: RobotOptions) -> None:
        self.path, self.data, self.stated = path, data, robot
        self.top = load_toml(path, CampaignTable)
        own = [name for name in TABLES if name]
        self.top.only((*(one.key for one in (*ENTRIES, *TABLES[""])), *own))
        if self.top.get("format") != FORMAT:
            raise self.top.fail(f"the file must contain format = {FORMAT}", "format")
        if data is not None and not data.is_dir():
            raise CampaignError(f"the data folder '{data}' does not exist", file=path)

    def campaign(self) -> Campaign:
        """Validated campaign."""
        robot = self._robot()
        self.robot = robot
        found = {name: value for name, value in self._options().items() if value is not None}
        found["name"] = found.get("name") or self.path.stem
        if not found.get("train"):
            raise self.top.table("logs").fail("the campaign has no training log; name at least one in train", "train")
        try:
            return Campaign(robot, **found, source=str(self.path), places=tuple(self._places(robots=False)))
        except OptionError as err:
            raise CampaignError(str(err), file=self.path) from None

    def _options(self) -> dict[str, Any]:
        """Options specified in the file, by field name."""
        forms: dict[str, Callable[[CampaignTable, Option], Any]] = {
            **dict.fromkeys(("train", "validate"), self._logs),
            **{"columns": self._columns, "effects": self._effects, "joints": self._joints, "prior": self._prior},
            **{"options": self._estimator_options, "evaluation": self._evaluation},
            "drive": lambda table, one: None,  # read with the columns
        }
        found: dict[str, Any] = {}
        for name, own in TABLES.items():
            table = self.top if not name else self.top.table(name)
            self._only(table, name, own)
            for one in own:
                if one.name in forms:
                    found[one.name] = forms[one.name](table, one)
                elif one.kind.own_table is not None:
                    is_absent = one.kind.is_optional and name not in self.top
                    found[one.name] = None if is_absent else self._record(table, one)
                elif one.key in table:
                    found[one.name] = one.read(table)
        return found

    def _only(self, table: CampaignTable, name: str, own: Sequence[Option]) -> None:
        """Raise an error for unknown keys of a table; the top level and estimators have their own checks."""
        if name and not any(one.name == "options" for one in own):
            records = [one.kind.own_table for one in own if one.kind.own_table is not None]
            known = [key for one in own if one.kind.own_table is None for key in one.keys]
            table.only((*known, *(key for record in records for key in keys_of(record))))

    def _record(self, table: CampaignTable, one: Option) -> Any:
        """Object made from those entries of a table that belong to its class."""
        kind: Any = one.kind.record
        return read(replace(table, entries={k: v for k, v in table.entries.items() if k in keys_of(kind)}), kind)

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
                reading(*log_files(file))  # an input of the command, whether or not it comes to be read
                return file
        places = ", ".join(dict.fromkeys(f"'{p.resolve()}'" for p in self._places(robots)))
        hint = "" if self.data is not None else "; give the folder of the logs with --data"
        raise CampaignError(f"'{name}' is not in {places}{hint}", file=self.path, field=field)

    def _robot(self) -> Robot:
        top = self.top
        given, how = self._entries(FileEntries), self._entries(RobotOptions)
        if not given.robot:
            raise top.fail("the robot is missing; name a robot file or a bundled robot", "robot")
        is_bundled = given.robot in bundled_robots()
        found = given.robot if is_bundled else str(self._find(given.robot, "robot", robots=True))
        gravity, base = self.stated.gravity or how.gravity, self.stated.base or how.base
        robot = locked(read_robot(found, gravity=gravity, base=base, prim=self.stated.prim or how.prim), how.hold)
        return held(robot, self.stated.hold)

    def _entries(self, kind: type[Value]) -> Value:
        """Top-level entries of the file that are options of a class."""
        own = {key: value for key, value in self.top.entries.items() if key in keys_of(kind)}
        return read(replace(self.top, entries=own), kind)

    # ------------------------------------------------------------------ tables

    def _columns(self, table: CampaignTable, one: Option) -> ColumnMap:
        return parse_columns(table, self.top.table("drive"))

    def _joints(self, table: CampaignTable, one: Option) -> tuple[str, ...]:
        return () if one.key not in table else read_joints(self.robot, table.get(one.key), table)

    def _effects(self, table: CampaignTable, one: Option) -> tuple[EffectSpec, ...] | None:
        if one.key not in table:
            return None
        value = table.get(one.key)
        if not isinstance(value, list):
            raise table.fail("this must be a list of effects", one.key)
        return tuple(read_effect(self.robot, item, table) for item in value)

    def _estimator_options(self, table: CampaignTable, one: Option) -> dict[str, Any]:
        """Options of the estimator named in the table."""
        name = table.text("name") or "auto"
        try:
            known = estimator_options(OLD_NAMES.get(name, name))  # the campaign warns of an old one
        except UnknownName as err:
            raise table.fail(str(err), "name") from None
        table.only(("name", *(option.key for option in known)))
        return {option.name: option.read(table) for option in known if option.key in table}

    def _evaluation(self, table: CampaignTable, one: Option) -> Evaluation | None:
        given = [key for key in ("cutoff_hz", "rate_hz") if key in table]
        if len(given) == 1:
            raise table.fail("the evaluation filter needs both cutoff_hz and rate_hz")
        if not given:
            table.only(keys_of(Evaluation))
            return None
        return read(table, Evaluation)

    def _logs(self, table: CampaignTable, one: Option) -> tuple[Log, ...]:
        value = table.get(one.key)
        items = [] if value is None else value if isinstance(value, list) else [value]
        return tuple(self._log(table, one.key, item) for item in items)

    def _log(self, logs: CampaignTable, key: str, item: Any) -> Log:
        if not isinstance(item, (str, dict)):
            raise logs.fail(f"a log must be the name of a file or a table, not {shown(item)}", key)
        table = replace(logs, entries={"file": item} if isinstance(item, str) else item, where=f"logs.{key}")
        name = table.text("file")
        if not name:
            raise table.fail('the file of the log is missing; give it with file = "..."', "file")
        rest = replace(table, entries={k: v for k, v in table.entries.items() if k != "file"})
        return read(rest, Log, source=self._find_log(name, f"logs.{key}"))

    def _find_log(self, name: str, field: str) -> Path:
        """File of a log, or a time window of one as on the command line: "run.csv[2.5:10]"."""
        part = PART.fullmatch(name)
        if part is None or any(is_there(place / name) for place in self._places(robots=False)):
            return self._find(name, field)
        return Path(f"{self._find(part[1].strip(), field)}[{part[2]}:{part[3]}]")

    def _prior(self, table: CampaignTable, one: Option) -> str | Path | None:
        name = table.text(one.key)
        return name if name in (None, "robot") else self._find(name, "model.prior", robots=True)


def recorded_campaign(robot: Robot, record: Mapping[str, Any]) -> Campaign:
    """Campaign without logs from the record in a model, with its settings to read and evaluate other logs."""
    try:
        evaluation = record.get("evaluation")
        return Campaign(
            name=str(record.get("name", robot.name)),
            robot=robot,
            train=(),
            columns=ColumnMap(**record.get("columns", {}), drive=Drive(**record.get("drive", {}))),
            repairs=Repairs(**record.get("repairs", {})),
            filter=Filter(**record.get("filter", {})),
            evaluation=None if evaluation is None else Evaluation(**evaluation),
            **{
                one.name: restored_value(one, record[one.name])
                for one in further_options(Campaign)
                if one.name in record
            },
        )
    except (TypeError, ValueError, AttributeError) as err:
        raise MinertiaError(f"the model's record of its campaign cannot be read ({err})") from None
