"""`EvidenceStore`: where the records of a fleet are kept, found again, put together by months, and checked.

store.toml                                      what this is
fleet.toml                                      the robots, and the key of each type's records
types/<key>.toml                                a type as its records were made: robot, filter, columns, layout
evidence/robot=R/day=YYYY-MM-DD/<content>-<key>.parquet
months/type=T/month=YYYY-MM/part-NNN.parquet    records put together
index.parquet                                   what is where; made from the records
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import Any

import tomli_w

from minertia.documents import DocumentError, toml_document
from minertia.errors import MinertiaError
from minertia.extras import load
from minertia.fleet.evidence import EvidenceLayout
from minertia.fleet.fleet_file import FleetFile, FleetRobot
from minertia.fleet.index import IndexRow, LogFault, conflicts, index_bytes, index_rows
from minertia.fleet.places import StoreError, StorePlace, place
from minertia.fleet.record import EvidenceRecord, records_of, table_bytes
from minertia.fleet.robot_type import RobotType
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.record import campaign_record, recorded_campaign
from minertia.robot.dh.write import toml_text
from minertia.robot.read import parse_robot

FORMAT = 1
MARK, FLEET, INDEX = "store.toml", "fleet.toml", "index.parquet"
EVIDENCE, MONTHS, KINDS = "evidence", "months", "types"
PART = 400  # records in a file of a month, and
GROUP = 40  # in a row group of it
MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")
HEAD = [name for name in IndexRow.__dataclass_fields__ if name not in ("record", "source", "stamp")]
Tell = Callable[[str], None]


def record_name(record: EvidenceRecord) -> str:
    """Name of the file of one record."""
    return day_name(record.robot, record.day, record.content, record.key)


def day_name(robot: str, day: str, content: str, key: str) -> str:
    """Name of the file of the record of a log."""
    return f"{EVIDENCE}/robot={robot}/day={day}/{content[:16]}-{key[:8]}.parquet"


@dataclass(frozen=True)
class StoredType:
    """A type as the records of one key were made; kind: what is kept of stretches."""

    type: RobotType
    key: str
    kind: str
    layout: EvidenceLayout

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.layout.efforts)


@dataclass(frozen=True)
class StoredFleet:
    """The robots that a store knows, and the key of the records of each type that count."""

    keys: dict[str, str]
    robots: tuple[FleetRobot, ...]


class EvidenceStore:
    """Records of a fleet in one place."""

    def __init__(self, at: StorePlace) -> None:
        self.place = at
        self._types: dict[str, StoredType] = {}

    def __repr__(self) -> str:
        return f"<EvidenceStore '{self.place.url[-120:]}'>"

    @classmethod
    def open(cls, url: str) -> EvidenceStore:
        """The store at a path or URL; refused where there is none."""
        store = cls(place(str(url)))
        store.require()
        return store

    @classmethod
    def made(cls, url: str) -> EvidenceStore:
        """The store at a path or URL, made where there is none."""
        store = cls(place(str(url)))
        with _sentences(store.place.url):
            if not store.place.exists(MARK):
                if store.place.names():
                    raise StoreError(
                        f"{store.place.url}: this is no store of a fleet, and it is not empty; name another place"
                    )
                store.place.write(MARK, tomli_w.dumps({"format": FORMAT, "kind": "fleet store"}).encode())
        store.require()
        return store

    def require(self) -> None:
        """Refuse a place that is no store, or is none any more: nothing must be written beside it."""
        with _sentences(self.place.url):
            try:
                said = toml_document(self.place.read(MARK).decode())
            except (FileNotFoundError, DocumentError, UnicodeDecodeError):
                raise StoreError(
                    f"{self.place.url}: there is no store of a fleet here (no {MARK}); is it mounted, and the name "
                    "right? 'minertia fleet add' makes one"
                ) from None
        if said.get("format") != FORMAT:
            raise StoreError(
                f"{self.place.url}: the store has format {said.get('format')}, this version reads {FORMAT}"
            )

    # ------------------------------------------------------------------ fleet and types

    def keep_fleet(self, fleet: FleetFile, kind: str) -> dict[str, str]:
        """Write down types and robots of a fleet file; the key of each type's records."""
        keys = {name: own.key(kind) for name, own in fleet.types.items()}
        with _sentences(self.place.url):
            for name, own in fleet.types.items():
                file = f"{KINDS}/{keys[name][:16]}.toml"
                if not self.place.exists(file):
                    self.place.write(file, type_text(own, keys[name], kind).encode())
            known = self.fleet if self.place.exists(FLEET) else StoredFleet({}, ())
            robots = {one.identity: one for one in (*known.robots, *fleet.robots)}
            merged = StoredFleet(known.keys | keys, tuple(robots[name] for name in sorted(robots)))
            self.place.write(FLEET, _fleet_text(merged).encode())
        return keys

    @property
    def fleet(self) -> StoredFleet:
        """The robots, and the key of each type's records."""
        with _sentences(self.place.url):
            try:
                said = toml_document(self.place.read(FLEET).decode())
            except FileNotFoundError:
                return StoredFleet({}, ())
        robots = (FleetRobot(own["id"], own["type"], own.get("since")) for own in said.get("robots", []))
        return StoredFleet(dict(said.get("types", {})), tuple(robots))

    def stored_type(self, key: str) -> StoredType:
        """The type that records of a key were made for."""
        if key not in self._types:
            name = f"{KINDS}/{key[:16]}.toml"
            with _sentences(self.place.url):
                try:
                    text = self.place.read(name).decode()
                except FileNotFoundError:
                    raise StoreError(
                        f"{self.place.url}: the store has lost its file {name}; add one of its logs again"
                    ) from None
            self._types[key] = _parsed_type(text, f"{self.place.url}/{name}")
        return self._types[key]

    # ------------------------------------------------------------------ index

    def index(self) -> list[IndexRow]:
        """All rows: those of the file, and made from the records where it is missing or broken."""
        with _sentences(self.place.url):
            try:
                data = self.place.read(INDEX)
            except FileNotFoundError:
                return self.rebuilt_index()
        try:
            return index_rows(data)
        except Exception:  # whatever a broken file makes Arrow raise
            return self.rebuilt_index()

    def write_index(self, rows: Iterable[IndexRow]) -> None:
        """Replace the index; the records it names are there already."""
        with _sentences(self.place.url):
            self.require()
            self.place.write(INDEX, index_bytes(rows))

    def rebuilt_index(self) -> list[IndexRow]:
        """The index made from the records alone; files that cannot be read are left out (`check` names them)."""
        rows: dict[tuple[str, str, str], IndexRow] = {}
        for name in self._files():
            with contextlib.suppress(Exception):  # whatever a broken file makes Arrow raise
                rows |= {row.identity: row for row in self._rows(name, self.table(name, HEAD))}
        return list(rows.values())

    def _files(self) -> list[str]:
        """Files of records; those of months come last, and count where a day was not taken away in time."""
        return [*self.place.names(EVIDENCE), *self.place.names(MONTHS)]

    def _rows(self, name: str, table: Any) -> list[IndexRow]:
        return [IndexRow.of(cells, name) for cells in table.select(HEAD).to_pylist()]

    # ------------------------------------------------------------------ records

    def put(self, record: EvidenceRecord) -> str:
        """Write one record; its name."""
        self.require()
        name = record_name(record)
        self.place.write(name, record.to_bytes())
        return name

    def discard(self, row: IndexRow) -> None:
        """Take a record away; a file of a month is written again without it."""
        if row.record.startswith(EVIDENCE):
            self.place.remove(row.record)
            return
        table = self.table(row.record)
        kept = [k for k, own in enumerate(self._rows(row.record, table)) if own.identity != row.identity]
        self.place.write(row.record, table_bytes(table.take(kept), GROUP))

    def row(self, name: str) -> IndexRow | None:
        """The row of a record of one log; None where there is none that can be read."""
        if not self.place.exists(name):
            return None
        try:
            (row,) = self._rows(name, self.table(name, HEAD))
        except Exception:  # whatever a broken file makes Arrow raise
            return None
        return row

    def table(self, name: str, columns: Sequence[str] | None = None, filters: Any = None) -> Any:
        """Some columns of the rows of a file of records."""
        parquet = load("pyarrow.parquet", "logs")
        own = None if columns is None else list(columns)
        with self.place.opened(name) as file:
            if filters is None:  # `read_table` would load datasets, and pandas with them
                return parquet.ParquetFile(file, page_checksum_verification=True).read(own)
            return parquet.read_table(
                file, columns=own, filters=filters, partitioning=None, page_checksum_verification=True
            )

    def records(self, rows: Iterable[IndexRow]) -> Iterator[EvidenceRecord]:
        """The records of rows, file by file; each file is read once."""
        files: dict[str, list[IndexRow]] = {}
        for row in rows:
            files.setdefault(row.record, []).append(row)
        for name, own in files.items():
            with _sentences(self.place.url):
                contents = [("content", "in", sorted({row.content for row in own}))]
                table = self.table(name, None, contents if name.startswith(MONTHS) else None)
            wanted = {row.identity for row in own}
            for record in records_of(table, self.stored_type(own[0].key).layout):
                if (record.robot, record.content, record.key) in wanted:
                    yield record

    # ------------------------------------------------------------------ months

    def compact(self, before: str | None = None, tell: Tell = lambda step: None) -> list[str]:
        """Put the records of days into files of months, up to before the month `before` (YYYY-MM; None: this one).

        Day files are taken away only when the file of the month was read back and holds the same.  Returns its files.
        """
        self.require()
        if before is not None and not MONTH.fullmatch(before):
            raise StoreError(f"a month is written as 2026-03, not '{before[:40]}'")
        limit, rows = before or f"{date.today():%Y-%m}", self._tidied(self.index())
        loose = [row for row in rows if row.record.startswith(EVIDENCE) and row.day[:7] < limit]
        groups: dict[tuple[str, str, str], dict[tuple[str, str, str], IndexRow]] = {}
        for row in loose:
            groups.setdefault((row.robot_type, row.day[:7], row.key), {})[row.identity] = row
        written = []
        for (kind, month, _), own in sorted(groups.items()):
            ordered = sorted(own.values(), key=lambda r: (r.robot, r.day, r.content))
            for start in range(0, len(ordered), PART):
                part = ordered[start : start + PART]
                tell(f"{month} of {kind}")
                name = self._month_part(kind, month, part)
                written.append(name)
                moved = {row.identity for row in part}
                rows = [replace(row, record=name) if row.identity in moved else row for row in rows]
                self.write_index(rows)
                for row in part:
                    self.place.remove(row.record)
        return written

    def _tidied(self, rows: list[IndexRow]) -> list[IndexRow]:
        """The rows, after what a compaction that was killed has left behind is cleared away.

        Days that a month of the index holds go; so does a month that the index does not name, if it holds only what is
        elsewhere.
        """
        held = {
            day_name(*row.identity[:1], row.day, *row.identity[1:]) for row in rows if row.record.startswith(MONTHS)
        }
        for name in self.place.names(EVIDENCE):
            if name in held:
                self.place.remove(name)
        named, known = {row.record for row in rows}, {row.identity for row in rows}
        for name in self.place.names(MONTHS):
            if name not in named:
                own = self._rows(name, self.table(name, HEAD))
                if {row.identity for row in own} <= known:
                    self.place.remove(name)
                else:
                    rows = [*rows, *(row for row in own if row.identity not in known)]
        return rows

    def _month_part(self, kind: str, month: str, part: Sequence[IndexRow]) -> str:
        arrow = load("pyarrow", "logs")
        folder = f"{MONTHS}/type={kind}/month={month}"
        table = arrow.concat_tables([self.table(row.record) for row in part])
        taken = self.place.names(folder)
        number = 1 + max((int(name.rpartition("part-")[2].partition(".")[0]) for name in taken), default=-1)
        name = f"{folder}/part-{number:03d}.parquet"
        self.place.write(name, table_bytes(table, GROUP))
        if not self.table(name).equals(table):
            self.place.remove(name)
            raise StoreError(
                f"{self.place.url}: {name} does not read back as it was written; the days stay as they are"
            )
        return name

    # ------------------------------------------------------------------ checking

    def check(self, tell: Tell = lambda step: None) -> StoreCheck:
        """Look at every record: readable, in its place, of a known type; then duplicates, overlaps and missing days."""
        self.require()
        faults: list[LogFault] = []
        kept: dict[tuple[str, str, str], IndexRow] = {}
        for name in self._files():
            tell(name)
            own, said = self._looked_at(name)
            faults += said
            faults += [
                LogFault(
                    name, row.robot, f"the record is also in {kept[row.identity].record}; run compact, which keeps one"
                )
                for row in own
                if row.identity in kept
            ]
            kept |= {row.identity: row for row in own}
        rows = list(kept.values())
        _, found = conflicts(rows)
        known = {row.identity for row in rows}
        tell("comparing with the index")
        index = self.index()
        faults += [*found, *_lost(index, known), *_unlisted(rows, {row.identity for row in index})]
        return StoreCheck(
            records=len(rows),
            robots=len({row.robot for row in rows}),
            faults=tuple(faults),
            missing=missing_days(rows),
            arithmetics=dict(Counter(row.arithmetic for row in rows)),
            keys=dict(Counter(row.key for row in rows)),
        )

    def _looked_at(self, name: str) -> tuple[list[IndexRow], list[LogFault]]:
        """The rows of a file of records with every byte verified, and what is wrong with them."""
        try:
            table = self.table(name)
            rows = self._rows(name, table)
        except Exception as err:  # whatever a broken file makes Arrow raise
            why = (str(err).splitlines() or [type(err).__name__])[0][:160]
            return [], [LogFault(name, "", f"the record is damaged ({why}); take it away and add its log again")]
        said = []
        for row, numbers in zip(rows, table.column("R"), strict=True):
            if name.startswith(EVIDENCE) and name != day_name(row.robot, row.day, row.content, row.key):
                said.append(LogFault(name, row.robot, "the file holds the record of another log, day or robot"))
            try:
                if len(numbers) != self.stored_type(row.key).layout.packed_length:
                    said.append(LogFault(name, row.robot, "its triangles are not those of the type's columns"))
            except MinertiaError as err:
                said.append(LogFault(name, row.robot, str(err)))
        return rows, said


@dataclass(frozen=True)
class StoreCheck:
    """What a check of a store found.

    missing: days without a record between the first and the last of each robot.  arithmetics, keys: how many records
    have each; records of several keys are never mixed.
    """

    records: int
    robots: int
    faults: tuple[LogFault, ...]
    missing: dict[str, list[str]]
    arithmetics: dict[str, int]
    keys: dict[str, int]

    def __repr__(self) -> str:
        return f"<StoreCheck: {self.records} records of {self.robots} robots, {len(self.faults)} faults>"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def missing_days(rows: Iterable[IndexRow]) -> dict[str, list[str]]:
    """Days without a record between the first and the last of each robot."""
    days: dict[str, set[int]] = {}
    for row in rows:
        days.setdefault(row.robot, set()).add(date.fromisoformat(row.day).toordinal())
    holes = {robot: sorted(set(range(min(own), max(own))) - own) for robot, own in sorted(days.items())}
    return {robot: [date.fromordinal(d).isoformat() for d in own] for robot, own in holes.items() if own}


def _lost(index: Iterable[IndexRow], known: set[tuple[str, str, str]]) -> list[LogFault]:
    return [
        LogFault(row.source or row.record, row.robot, f"its record {row.record} is gone; add the log again")
        for row in index
        if row.identity not in known
    ]


def _unlisted(rows: Iterable[IndexRow], listed: set[tuple[str, str, str]]) -> list[LogFault]:
    return [
        LogFault(row.record, row.robot, f"the index does not name it; take {INDEX} away, and it is made again")
        for row in rows
        if row.identity not in listed
    ]


# ---------------------------------------------------------------------- texts


def type_text(own: RobotType, key: str, kind: str) -> str:
    """A type as TOML: whole, so that records can be understood without the files it was made of."""
    record = campaign_record(Campaign(own.robot, columns=own.columns, filter=own.filter))
    layout = own.column_set.layout
    document = {
        "format": FORMAT,
        "name": own.name,
        "key": key,
        "stretches": kind,
        "zone": own.zone,
        "temperature": own.temperature,
        "rest": own.rest,
        "filter": record["filter"],
        "columns": record["columns"],
        "drive": record["drive"],
        "layout": {"names": layout.names, "efforts": layout.efforts, "seen": [list(s) for s in layout.seen]},
        "robot": toml_text(own.robot),
        **({} if own.reference is None else {"reference": toml_text(own.reference)}),
    }
    return tomli_w.dumps(document)


def _parsed_type(text: str, source: str) -> StoredType:
    try:
        said = toml_document(text)
        robot = parse_robot(said["robot"], source)
        reference = parse_robot(said["reference"], source) if "reference" in said else None
        settings = recorded_campaign(robot, said)
        own = RobotType(
            said["name"],
            robot,
            settings.map,
            settings.filter,
            reference,
            said["temperature"],
            said["rest"],
            said["zone"],
        )
        layout = said["layout"]
        seen = tuple(tuple(part) for part in layout["seen"])
        stored = EvidenceLayout(tuple(layout["names"]), tuple(layout["efforts"]), seen)
        return StoredType(own, said["key"], said["stretches"], stored)
    except (DocumentError, KeyError, TypeError) as err:
        raise StoreError(
            f"{source}: the file of a type is damaged ({str(err)[:160]}); add one of its logs again"
        ) from None


def _fleet_text(fleet: StoredFleet) -> str:
    robots = [
        {"id": one.identity, "type": one.type} | ({} if one.since is None else {"since": one.since})
        for one in fleet.robots
    ]
    return tomli_w.dumps({"format": FORMAT, "types": fleet.keys, "robots": robots})


class _sentences:
    """Within, whatever a file system or a server says becomes one sentence about the store."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, err: BaseException | None, trace: Any) -> None:
        if isinstance(err, OSError) and not isinstance(err, FileNotFoundError):
            raise StoreError(f"{self.url}: the store cannot be used ({err.strerror or str(err)[:200]})") from None
