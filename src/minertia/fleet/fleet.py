"""`Fleet`: store of the records of many robots and days, with its analyses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from minertia.fleet.add import AddResult, add_logs
from minertia.fleet.alarm_life import AlarmAction, AlarmLife
from minertia.fleet.alarm_store import act, now, read_lives
from minertia.fleet.calendar import CalendarTree, DayLog, day_evidence, day_number
from minertia.fleet.drift import FleetDrift
from minertia.fleet.engine import engine
from minertia.fleet.events import EVERY, RobotEvent
from minertia.fleet.evidence import FleetEvidence
from minertia.fleet.fit_result import FleetFit
from minertia.fleet.fleet_file import FleetFile, FleetRobot, read_fleet
from minertia.fleet.index import IndexRow, LogFault, conflicts
from minertia.fleet.judging import add_event, fit_stored, judge_stored, stored_events
from minertia.fleet.months import compact
from minertia.fleet.options import AddOptions, DriftOptions, FitOptions
from minertia.fleet.places import StoreError, is_remote
from minertia.fleet.readout import robot_day
from minertia.fleet.record import EvidenceRecord
from minertia.fleet.retention import Pruned, prune, superseded_logs
from minertia.fleet.robot_day import RobotDay
from minertia.fleet.robot_model import robot_model
from minertia.fleet.sources import LogSource, find_logs
from minertia.fleet.store import EvidenceStore
from minertia.fleet.store_check import StoreCheck, check_store
from minertia.fleet.stored_types import StoredType
from minertia.identification.model import IdentifiedModel
from minertia.io.errors import MinertiaError, UnknownName

Days = str | tuple[str | date | None, str | date | None] | None
Tell = Callable[[str], None]

USUAL, RATE = AddOptions(), DriftOptions().q


@dataclass(frozen=True, repr=False)
class Fleet:
    """Fleet and the store of its records.

    file: types and robots, if given; else those known to the store.
    """

    store: EvidenceStore
    file: FleetFile | None = None

    @classmethod
    def open(cls, store: str | Path, fleet: FleetFile | str | Path | None = None) -> Fleet:
        """Open the fleet of a store: a folder, or a URL such as s3://bucket/fleet.

        fleet: its file, required to add logs of robots unknown to the store; the store is then created if it does not
        exist.
        """
        if fleet is None:
            return cls(EvidenceStore.open(str(store)))
        return cls(EvidenceStore.made(str(store)), fleet if isinstance(fleet, FleetFile) else read_fleet(fleet))

    def __repr__(self) -> str:
        rows = self.store.index()
        return (
            f"<Fleet: {len(rows)} logs of {len({row.robot for row in rows})} robots in '{self.store.place.url[-80:]}'>"
        )

    # ------------------------------------------------------------------ adding

    def add(
        self,
        logs: str | Path | Iterable[str | Path | LogSource],
        executor: Any = None,
        *,
        workers: int | None = None,
        scheduler: str | None = None,
        stretches: str = USUAL.stretches,
        tell: Tell = lambda step: None,
    ) -> AddResult:
        """Read logs into records; logs that were read before are skipped.

        logs: files, folders, URLs.  executor: any with `submit`, or the client of a Dask cluster; workers: processes
        of this machine (0: this process); scheduler: address of a Dask scheduler.  stretches: "scores", or "triangles"
        to also store the triangular factors of 16 time blocks.  The records are reproducible byte for byte.
        """
        AddOptions(workers, scheduler, stretches)  # says what is wrong
        named = [logs] if isinstance(logs, str | Path) else list(logs)
        if self.store.place.url.startswith("memory://") and executor is None and scheduler is None:
            workers = 0  # no other process sees it
        with engine(executor, workers=workers, scheduler=scheduler) as by:
            return add_logs(self.store, self.described, find_logs(named), by, stretches, tell)

    @property
    def described(self) -> FleetFile:
        """Types and robots: as given, else as known to the store."""
        if self.file is not None:
            return self.file
        known = self.store.fleet
        if not known.keys:
            raise MinertiaError(f"{self.store.place.url}: the store contains no robots yet; give the fleet file")
        types = {name: self.store.stored_type(key).type for name, key in known.keys.items()}
        return FleetFile(types, known.robots, self.store.place.url)

    # ------------------------------------------------------------------ asking

    def stored_type(self, name: str | None = None) -> StoredType:
        """Type as stored with its records; the only one if none is named."""
        keys = self.store.fleet.keys
        if name is None and len(keys) == 1:
            name = next(iter(keys))
        if name not in keys:
            raise UnknownName("type of robots", name, keys)
        return self.store.stored_type(keys[name])

    def rows(self, robot: str | None = None, days: Days = None, type: str | None = None) -> list[IndexRow]:
        """Index rows in use, one per record, without records in conflict.

        Only records made with the current settings (key) of their robot type are in use.
        """
        first, last = day_span(days)
        every = self._present_rows()
        bad, _ = conflicts(every)
        found = {
            row.identity: row
            for row in every
            if robot in (None, row.robot) and type in (None, row.robot_type) and first <= row.day <= last
        }
        counted = [row for identity, row in found.items() if identity not in bad]
        if robot is not None and not counted and robot not in {row.robot for row in every}:
            raise UnknownName("robot with records", robot, sorted({row.robot for row in every}))
        return sorted(counted, key=lambda row: (row.robot, row.day, row.first, row.content))

    def conflicts(self) -> list[LogFault]:
        """Logs that are excluded because they belong to two robots or overlap in time."""
        return conflicts(self._present_rows())[1]

    @property
    def robots(self) -> list[str]:
        """Robots with records."""
        return sorted({row.robot for row in self.rows()})

    @property
    def known_robots(self) -> tuple[FleetRobot, ...]:
        """Robots known to the store, including patterns for several robots."""
        return self.store.fleet.robots

    def records(self, robot: str | None = None, days: Days = None, type: str | None = None) -> Iterator[EvidenceRecord]:
        """Records of a robot, or of all, within days ("2026-03-01:2026-03-31", both included)."""
        return self.store.records(self.rows(robot, days, type))

    def days(self, robot: str, days: Days = None) -> dict[str, FleetEvidence]:
        """Evidence of each day of a robot, with its time blocks."""
        logs: dict[str, list[DayLog]] = {}
        for record in self.records(robot, days):
            logs.setdefault(record.day, []).append(DayLog(record.first, record.content, record.evidence))
        return {day: day_evidence(own) for day, own in sorted(logs.items())}

    def evidence(self, robot: str, days: Days = None) -> FleetEvidence:
        """Evidence of all days of a robot, merged in an order determined only by the calendar.

        Time blocks are kept for a single day only: those of several days must not be pooled.
        """
        own = self.days(robot, days)
        if len(own) == 1:
            return next(iter(own.values()))
        total = CalendarTree({day_number(day): evidence for day, evidence in own.items()}).total()
        if total is None:
            raise MinertiaError(f"there is no record of robot '{robot}' on these days")
        return total

    # ------------------------------------------------------------------ judging

    def fit(
        self,
        type: str | None = None,
        options: FitOptions | None = None,
        *,
        robot: str | None = None,
        days: Days = None,
    ) -> FleetFit:
        """Fit a type and its robots, with standard deviations; the only type if none is named."""
        return fit_stored(self.store, self.stored_type(type), self.rows(robot, days, type), options)

    def model(self, fit: FleetFit, robot: str) -> IdentifiedModel:
        """Model of one robot of a fit: values of its type, payload relative to the mean, friction of this robot."""
        return robot_model(self.stored_type(fit.type.name), fit, robot)

    def drift(
        self,
        q: float = RATE,
        options: DriftOptions | None = None,
        *,
        events: str | Path | None = None,
        days: Days = None,
    ) -> FleetDrift:
        """Detect changes of friction or load, with a false discovery rate of at most q.

        options: further options besides q.  events: a file of maintenance and similar events; by default
        events.csv of the store.  days: assess only these days, separately.  Without `days`, assessments are
        stored, so that logs that arrive later do not change earlier verdicts.
        """
        types, faults = [], []
        for name in self.store.fleet.keys:
            try:
                types.append(self.stored_type(name))
            except StoreError as err:  # the others are judged all the same
                faults.append(LogFault(f"type '{name}'", "", str(err).removeprefix(f"{self.store.place.url}: ")))
        happened = stored_events(self.store, None if events is None else Path(events))
        rows = self.rows(days=days)
        found = judge_stored(
            self.store, types, rows, options or DriftOptions(q), happened, self._doubted(days), is_kept=days is None
        )
        return replace(found, faults=(*found.faults, *faults), tags=self._lines(found.tags))

    def _lines(self, tags: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
        """Tags of robots with their lines."""
        known = FleetFile({}, self.store.fleet.robots)
        found = {robot: known.robot(robot) for robot in tags}
        return {robot: {**own, "line": one.line if (one := found[robot]) else ""} for robot, own in tags.items()}

    def alarms(self) -> list[AlarmLife]:
        """Alarms of all reports with their states: new, open, acknowledged, muted or closed."""
        return read_lives(self.store)

    def act(self, alarm: str, verb: str, by: str, reason: str = "", until: str = "") -> AlarmLife:
        """Acknowledge, mute, open or close an alarm, and return it; until: last day on which it is muted."""
        return act(self.store, AlarmAction(alarm, verb, by, now(), reason, until))

    def add_event(self, robot: str, day: str, kind: str, joint: str = EVERY, note: str = "") -> None:
        """Add an event to the store: maintenance, tool, program, calibration, exchanged or retired."""
        rows = self.rows(robot)
        joints = self.stored_type(rows[0].robot_type).layout.efforts
        add_event(self.store, RobotEvent(robot, day_number(day), joint, kind, note), joints)

    def _doubted(self, days: Days) -> list[IndexRow]:
        """Rows excluded because of conflicts, one for each record."""
        first, last = day_span(days)
        every = self._present_rows()
        bad, _ = conflicts(every)
        return list({row.identity: row for row in every if row.identity in bad and first <= row.day <= last}.values())

    def _present_rows(self) -> list[IndexRow]:
        """Index rows made with the current settings (keys) of the robot types, and of each robot's declared type."""
        known = self.store.fleet
        keys, described = set(known.keys.values()), FleetFile({}, known.robots)
        every = [row for row in self.store.index() if row.key in keys]
        types = {name: described.robot(name) for name in {row.robot for row in every}}
        return [row for row in every if (own := types[row.robot]) is None or own.type == row.robot_type]

    def robot_days(self, type: str | None = None, days: Days = None) -> dict[str, dict[str, RobotDay]]:
        """Daily statistics of every robot of a type for drift detection, by robot and day."""
        own = self.stored_type(type)
        found: dict[str, dict[str, list[EvidenceRecord]]] = {}
        for record in self.records(None, days, own.type.name):
            found.setdefault(record.robot, {}).setdefault(record.day, []).append(record)
        return {
            robot: {day: robot_day(logs) for day, logs in sorted(own_days.items())}
            for robot, own_days in sorted(found.items())
        }

    # ------------------------------------------------------------------ keeping

    def compact(self, before: str | None = None, tell: Tell = lambda step: None) -> list[str]:
        """Merge the records of whole months; returns the files written."""
        return compact(self.store, before, tell)

    def prune(self, keep: int, *, superseded: bool = False) -> Pruned:
        """Delete records of monitored days older than `keep` days before the newest; training days are kept.

        superseded: also delete records of earlier settings whose logs have records with the current ones.
        """
        rows = self.store.index()
        newest = max((day_number(row.day) for row in rows), default=0)
        return prune(self.store, newest - keep + 1, set(self.store.fleet.keys.values()), superseded=superseded)

    def migrate(self, workers: int | None = None, tell: Tell = lambda step: None) -> tuple[AddResult, list[str]]:
        """Read logs again whose records have earlier settings of their type; returns them and logs that are gone.

        A record cannot be converted to another filter or other columns, so the logs are needed.
        """
        kind = USUAL.stretches
        keys = self.store.keep_fleet(self.described, kind) if self.file is not None else self.store.fleet.keys
        sources = [row.source for row in superseded_logs(self.store.index(), set(keys.values()))]
        there = [name for name in sources if name and (is_remote(name) or Path(name).is_file())]
        done = self.add(there, workers=workers, tell=tell) if there else AddResult((), (), 0, ())
        return done, sorted(name or "unknown log" for name in set(sources) - set(there))

    def check(self, tell: Tell = lambda step: None) -> StoreCheck:
        """Check every record of the store."""
        return check_store(self.store, tell)


def day_span(days: Days) -> tuple[str, str]:
    """First and last day of "A:B", of a pair, or of one day; open ends are unlimited."""
    if days is None:
        return "", "9999-12-31"
    ends: Sequence[Any] = (days.split(":") if ":" in days else (days, days)) if isinstance(days, str) else days
    if len(ends) != 2:
        raise MinertiaError(f"days must be given as 2026-03-01:2026-03-31, not {str(days)[:60]!r}")
    found = []
    for end, usual in zip(ends, ("", "9999-12-31"), strict=True):
        try:
            found.append(date.fromisoformat(str(end)).isoformat() if end else usual)
        except ValueError:
            raise MinertiaError(f"'{str(end)[:40]}' is not a date; write it as 2026-03-31") from None
    return found[0], found[1]
