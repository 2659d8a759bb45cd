"""Fleet file, FLEET.toml: types of robots, the robots, and the store of their records (docs/fleets.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType

from minertia.fleet.options import FORMAT, FleetEntries, RobotEntry, TypeEntries
from minertia.fleet.places import is_remote
from minertia.fleet.robot_type import RobotType
from minertia.identification.logs.columns_file import CampaignTable, parse_columns
from minertia.io.errors import MinertiaError, expect_path
from minertia.io.files import is_file
from minertia.io.notebook import plural
from minertia.io.schema import keys_of, read
from minertia.io.tables import load_toml, shown
from minertia.robot.files import bundled_robots, read_robot
from minertia.robot.robot import Robot

IDENTITY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._*?-]{0,63}")  # part of a path, and perhaps a pattern


@dataclass(frozen=True, slots=True)
class FleetRobot:
    """Robot of a fleet, or several: identity may be a pattern such as ``line3-*``.

    since: the first day to include, None for all.  line: line or cell, for grouping.
    """

    identity: str
    type: str
    since: date | None = None
    line: str = ""

    @property
    def is_pattern(self) -> bool:
        """Whether the identity is a pattern for several robots."""
        return "*" in self.identity or "?" in self.identity


@dataclass(frozen=True)
class FleetFile:
    """Contents of a fleet file; store: None if it names none."""

    types: Mapping[str, RobotType]
    robots: tuple[FleetRobot, ...]
    store: str | None = None
    source: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "types", MappingProxyType(dict(self.types)))

    def __repr__(self) -> str:
        return f"<FleetFile: {plural(len(self.types), 'type')}, {plural(len(self.robots), 'robot')}>"

    def robot(self, identity: str) -> FleetRobot | None:
        """Robot of this identity, by name or else by pattern; None if there is none."""
        named = (one for one in self.robots if one.identity == identity and not one.is_pattern)
        matched = (one for one in self.robots if one.is_pattern and fnmatchcase(identity, one.identity))
        return next(named, None) or next(matched, None)


def read_fleet(path: str | Path) -> FleetFile:
    """Read a fleet file; robot files are looked up beside it, then among the bundled ones."""
    expect_path(path, "a fleet")
    return _FleetReader(Path(path)).fleet()


class _FleetReader:
    """Reader of one fleet file."""

    def __init__(self, path: Path) -> None:
        self.path, self.top = path, load_toml(path, CampaignTable)
        self.top.only(keys_of(FleetEntries))
        if self.top.get("format") != FORMAT:
            raise self.top.fail(f"the file must contain format = {FORMAT}", "format")

    def fleet(self) -> FleetFile:
        """Validated contents of the fleet file."""
        every = self.top.table("types")
        types = {name: self._type(name, every.table(name)) for name in every}
        if not types:
            raise self.top.fail("the file names no type of robots; add at least one table [types.NAME]", "types")
        robots = tuple(self._one(table, types) for table in self.top.tables("robots"))
        if not robots:
            raise self.top.fail("the file names no robots; add [[robots]] tables with id and type", "robots")
        names = [one.identity for one in robots]
        twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
        if twice is not None:
            raise self.top.fail(f"the robot '{twice}' is listed twice; give every robot one entry", "robots")
        return FleetFile(types, robots, self._store(), str(self.path))

    def _store(self) -> str | None:
        """Store as a URL, or a folder relative to the file."""
        store = self.top.text("store")
        return store if store is None or is_remote(store) else str(self.path.parent / store.removeprefix("file://"))

    def _type(self, name: str, table: CampaignTable) -> RobotType:
        if not IDENTITY.fullmatch(name) or "*" in name:
            raise table.fail(
                f"the name of a type may contain letters, digits, '.', '_' and '-' only, not {shown(name)}"
            )
        given = read(table, TypeEntries)
        robot = self._robot(table, "robot")
        if robot is None:
            raise table.fail("the robot is missing; name a robot file or a bundled robot", "robot")
        zone = given.zone or self.top.text("zone") or FleetEntries().zone
        columns = parse_columns(table.table("columns"), table.table("drive"))
        try:
            return RobotType(
                name,
                robot,
                columns,
                given.filter,
                self._robot(table, "reference"),
                given.temperature,
                given.rest,
                zone,
                given.sensors,
            )
        except MinertiaError as err:
            raise table.fail(str(err)) from None

    def _robot(self, table: CampaignTable, key: str) -> Robot | None:
        name = table.text(key)
        if not name:
            return None
        beside = self.path.parent / name
        if not is_file(beside) and name not in bundled_robots():
            raise table.fail(f"there is neither a robot file '{beside}' nor a bundled robot of that name", key)
        return read_robot(beside if is_file(beside) else name, letters=False)

    def _one(self, table: CampaignTable, types: Mapping[str, RobotType]) -> FleetRobot:
        given = read(table, RobotEntry)
        identity, kind, since = given.id, given.type, given.since
        if not IDENTITY.fullmatch(identity):
            raise table.fail(
                f"an id may contain letters, digits, '.', '_' and '-', and '*' or '?' for any, not {shown(identity)}",
                "id",
            )
        if kind is None and len(types) == 1:
            kind = next(iter(types))
        if kind is None or kind not in types:
            raise table.fail(f"the type {shown(kind)} is unknown; it must be one of: {', '.join(types)}", "type")
        if isinstance(since, str):
            try:
                since = date.fromisoformat(since)
            except ValueError:
                raise table.fail(f"a date must be written as 2026-03-31, not {shown(since)}", "since") from None
        if since is not None and type(since) is not date:
            raise table.fail(f"a date must be written as 2026-03-31, not {shown(since)}", "since")
        return FleetRobot(identity, kind, since, given.line)
