"""The campaign file: one TOML that can be rerun (docs/campaign.md)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from minertia.errors import CampaignError, FilterError, MinertiaError, expect_path
from minertia.files import reading
from minertia.identification.campaigns.campaign import SETS, Campaign, Log, Repairs
from minertia.identification.campaigns.command import LINKS, parse_command
from minertia.identification.campaigns.effects import joint_list, parse_effects
from minertia.identification.campaigns.elastic import parse_elastic
from minertia.identification.campaigns.floor import parse_floor
from minertia.identification.estimators.options import RANGES
from minertia.identification.loads.load import LARGEST, Load
from minertia.identification.logs.campaign_table import CampaignTable
from minertia.identification.logs.columns_file import parse_columns
from minertia.identification.logs.readers import is_there, log_files
from minertia.identification.signals.evaluation import Evaluation
from minertia.identification.signals.filtering import Filter
from minertia.robot.lock import locked
from minertia.robot.read import bundled_robots, read_robot
from minertia.robot.robot import Robot
from minertia.tables import load_toml, shown

FORMAT = 1
TOP_KEYS = ("format", "name", "robot", "base", "gravity", "joints", "hold", "logs", "columns", "drive", "filter",
            "model", "estimator", "evaluation", "command", "elastic", "floor")  # fmt: skip
LOG_KEYS = ("train", "validate", "stamps", "resample", "standstill")
ENTRY_KEYS = ("file", "from", "to", "load")
LOAD_KEYS = ("mass", "com", "inertia", "at")
MODEL_KEYS = ("effects", "fix", "parameters", "prior", "links")
FILTER_KEYS = (
    *("cutoff_hz", "order", "derivative", "window", "degree", "rate_hz", "parallel_hz", "on", "trim_s", "equations"),
)
ESTIMATOR_KEYS = ("name", *RANGES, "kind")  # which of them an estimator takes, it says itself
EVALUATION_KEYS = ("cutoff_hz", "rate_hz", "trim_s", "log_unit")


def read_campaign(path: str | Path, data: str | Path | None = None) -> Campaign:
    """A campaign from its file; logs are looked up beside it, then in `data`.

    The robot is also looked up in a folder `robots` two levels above `data`, and among the bundled ones.
    """
    expect_path(path, "a campaign")
    return _CampaignReader(Path(path), None if data is None else Path(data)).campaign()


def is_campaign_file(path: str | Path) -> bool:
    """Whether a file is a campaign: TOML with the name of a robot and logs."""
    if Path(path).suffix.lower() != ".toml":
        return False
    try:
        top = load_toml(Path(path), CampaignTable)
    except MinertiaError:
        return False
    return isinstance(top.entries.get("robot"), str) and "logs" in top


def parse_filter(table: CampaignTable) -> Filter:
    """The filter of a table [filter]."""
    table.only(FILTER_KEYS)
    given: dict[str, Any] = {
        **{key: table.positive(key) for key in ("cutoff_hz", "rate_hz", "parallel_hz")},
        **{key: table.whole(key) for key in ("order", "window", "degree")},
        **{key: table.text(key) for key in ("derivative", "on", "equations")},
        "trim_s": table.number("trim_s"),
    }
    try:
        return Filter(**{key: value for key, value in given.items() if value is not None})
    except MinertiaError as err:
        raise CampaignError(str(err), file=table.source, field=table.where) from None


class _CampaignReader:
    """One campaign file being read."""

    def __init__(self, path: Path, data: Path | None) -> None:
        self.path, self.data = path, data
        self.top = load_toml(path, CampaignTable)
        self.top.only(TOP_KEYS)
        if self.top.get("format") != FORMAT:
            raise self.top.fail(f"the file must say format = {FORMAT}", "format")
        if data is not None and not data.is_dir():
            raise CampaignError(f"the data folder '{data}' does not exist", file=path)

    def campaign(self) -> Campaign:
        """The checked campaign."""
        top = self.top
        columns = parse_columns(top.table("columns"), top.table("drive"))
        robot = self._robot()
        logs, model, estimator = (top.table(name) for name in ("logs", "model", "estimator"))
        logs.only(LOG_KEYS)
        model.only(MODEL_KEYS)
        train = self._logs(logs, "train")
        if not train:
            raise logs.fail("name at least one log to fit", "train")
        estimator.only(ESTIMATOR_KEYS)
        options = {key: estimator.get(key) for key in estimator if key != "name"}
        return Campaign(
            robot,
            train,
            self._logs(logs, "validate"),
            name=top.text("name") or self.path.stem,
            columns=columns,
            repairs=Repairs(*(logs.flag(key, True) for key in ("stamps", "resample", "standstill"))),
            filter=self._filter(),
            effects=parse_effects(model, "effects", robot) if "effects" in model else None,
            joints=self._joints(robot),
            estimator=estimator.text("name") or "auto",
            options=options,
            prior=self._prior(model),
            fix=self._numbers(model.table("fix")),
            parameters=self._set(model),
            evaluation=self._evaluation(),
            command=parse_command(top.table("command")),
            elastic=parse_elastic(top.table("elastic")),
            floor=parse_floor(top.table("floor")),
            links=model.choice("links", LINKS, "robot"),
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
                reading(*log_files(file))  # an input of the command, whether or not it comes to be read
                return file
        places = ", ".join(str(p) for p in self._places(robots))
        hint = "" if self.data is not None else "; name the folder of the logs with --data"
        raise CampaignError(f"'{name}' is not in {places}{hint}", file=self.path, field=field)

    def _robot(self) -> Robot:
        top = self.top
        name = top.text("robot")
        if not name:
            raise top.fail("name the robot: a file, or a bundled one", "robot")
        found = name if name in bundled_robots() else str(self._find(name, "robot", robots=True))
        gravity = top.numbers("gravity", 3)
        base = top.text("base")
        return locked(read_robot(found, gravity=gravity, base=base), self._numbers(top.table("hold")))

    # ------------------------------------------------------------------ tables

    def _joints(self, robot: Robot) -> tuple[str, ...]:
        if "joints" not in self.top:
            return ()
        return tuple(robot.coordinate_names[c] for c in joint_list(self.top, "joints", robot))

    def _logs(self, logs: CampaignTable, key: str) -> tuple[Log, ...]:
        value = logs.get(key)
        items = [] if value is None else value if isinstance(value, list) else [value]
        return tuple(self._log(logs, key, item) for item in items)

    def _log(self, logs: CampaignTable, key: str, item: Any) -> Log:
        if not isinstance(item, (str, dict)):
            raise logs.fail(f"a log is the name of a file or a table, not {shown(item)}", key)
        table = replace(logs, entries={"file": item} if isinstance(item, str) else item, where=f"logs.{key}")
        table.only(ENTRY_KEYS)
        name = table.text("file")
        if not name:
            raise table.fail("name the file of the log", "file")
        start, stop = table.number("from"), table.number("to")
        return Log(self._find(name, f"logs.{key}"), start, stop, self._load(table))

    def _load(self, table: CampaignTable) -> Load | None:
        if "load" not in table:
            return None
        load = table.table("load")
        load.only(LOAD_KEYS)
        mass, com = load.positive("mass"), load.numbers("com", 3)
        if mass is None:
            raise load.fail("a load needs its mass [kg]", "mass")
        for key, values in (("mass", (mass,)), ("com", com or ()), ("inertia", load.numbers("inertia", 6) or ())):
            if any(abs(v) > LARGEST for v in values):
                raise load.fail(f"no load has a number above {LARGEST:g} [kg, m, kg m2]", key)
        centre = None if com is None else (com[0], com[1], com[2])
        return Load(mass, centre, load.numbers("inertia", 6), load.text("at"))

    def _filter(self) -> Filter:
        return parse_filter(self.top.table("filter"))

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

    def _set(self, model: CampaignTable) -> str:
        name = model.text("parameters") or "base"
        if name not in SETS:
            raise model.fail(f"parameters are {' or '.join(SETS)}, not {shown(name)}", "parameters")
        return name

    def _prior(self, model: CampaignTable) -> str | Path | None:
        name = model.text("prior")
        return name if name in (None, "robot") else self._find(name, "model.prior", robots=True)

    def _numbers(self, table: CampaignTable) -> dict[str, float]:
        return {key: value for key in table if (value := table.number(key)) is not None}
