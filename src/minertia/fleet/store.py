"""`EvidenceStore`: storage of the records of a fleet.

store.toml                                      format marker
fleet.toml                                      the robots, and the key of each type's records
types/<key>.toml                                a type as its records were made: robot, filter, columns, layout
evidence/robot=R/day=YYYY-MM-DD/<content>-<key>.parquet
months/type=T/month=YYYY-MM/part-NNN.parquet    merged records
index.parquet                                   index of the records; can be rebuilt from them
judged/learning-N.parquet                       assessments of drift reports
damaged.txt                                     record files that were found damaged
kept.txt                                        first day from which on all records are kept
alarms/                                         history of alarms, and actions on them
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import tomli_w

from minertia.fleet.fleet_file import FleetFile
from minertia.fleet.index import IndexRow, index_bytes, index_rows
from minertia.fleet.places import StoreError, StorePlace, place
from minertia.fleet.record import TYPES, EvidenceRecord, records_of, schema, table_bytes
from minertia.fleet.stored_types import (
    FORMAT,
    StoredFleet,
    StoredType,
    fleet_text,
    parsed_fleet,
    parsed_type,
    type_text,
)
from minertia.io.documents import DocumentError, toml_document
from minertia.io.errors import MinertiaError
from minertia.io.extras import load

MARK, FLEET, INDEX, DAMAGED = "store.toml", "fleet.toml", "index.parquet", "damaged.txt"
KEPT = "kept.txt"
EVIDENCE, MONTHS, KINDS = "evidence", "months", "types"
GROUP = 40  # records in a row group of a file of a month
HEAD = [name for name in IndexRow.__dataclass_fields__ if name not in ("record", "source", "stamp")]
Tell = Callable[[str], None]


def record_name(record: EvidenceRecord) -> str:
    """File name of one record."""
    return day_name(record.robot, record.day, record.content, record.key)


def day_name(robot: str, day: str, content: str, key: str) -> str:
    """File name of the record of a log."""
    return f"{EVIDENCE}/robot={robot}/day={day}/{content[:16]}-{key[:8]}.parquet"


class EvidenceStore:
    """Store of the records of a fleet."""

    def __init__(self, at: StorePlace) -> None:
        self.place = at
        self._types: dict[str, StoredType] = {}

    def __repr__(self) -> str:
        return f"<EvidenceStore '{self.place.url[-120:]}'>"

    @classmethod
    def open(cls, url: str) -> EvidenceStore:
        """Open the store at a path or URL; raises an error if there is none."""
        store = cls(place(str(url)))
        store.require()
        return store

    @classmethod
    def made(cls, url: str) -> EvidenceStore:
        """Open the store at a path or URL; create it if there is none."""
        store = cls(place(str(url)))
        with _sentences(store.place.url):
            if not store.place.exists(MARK):
                if store.place.names():
                    raise StoreError(
                        f"{store.place.url}: this is not a fleet store, and it is not empty; name another location"
                    )
                store.place.write(MARK, tomli_w.dumps({"format": FORMAT, "kind": "fleet store"}).encode())
        store.require()
        return store

    def require(self) -> None:
        """Raise an error if the location is not, or no longer, a store, so that nothing is written there."""
        with _sentences(self.place.url):
            try:
                said = toml_document(self.place.read(MARK).decode())
            except (FileNotFoundError, DocumentError, UnicodeDecodeError):
                raise StoreError(
                    f"{self.place.url}: there is no fleet store here (no {MARK}); check that it is mounted and "
                    "the name is right; 'minertia fleet add' creates a store"
                ) from None
        if said.get("format") != FORMAT:
            raise StoreError(
                f"{self.place.url}: the store has format {said.get('format')}, but this version reads format {FORMAT}"
            )

    # ------------------------------------------------------------------ fleet and types

    def keep_fleet(self, fleet: FleetFile, kind: str) -> dict[str, str]:
        """Store types and robots of a fleet file; return the key of each type's records."""
        keys = {name: own.key(kind) for name, own in fleet.types.items()}
        with _sentences(self.place.url):
            for name, own in fleet.types.items():
                self.write(f"{KINDS}/{keys[name][:16]}.toml", type_text(own, keys[name], kind).encode())
                self._types.pop(keys[name], None)
            try:
                known = self.fleet
            except StoreError:  # which is what this mends
                known = StoredFleet({}, ())
            robots = {one.identity: one for one in (*known.robots, *fleet.robots)}
            merged = StoredFleet(known.keys | keys, tuple(robots[name] for name in sorted(robots)))
            self.write(FLEET, fleet_text(merged).encode())
        return keys

    @property
    def fleet(self) -> StoredFleet:
        """The robots, and the key of each type's records."""
        data = self.read(FLEET)
        if data is None:
            return StoredFleet({}, ())
        try:
            return parsed_fleet(data.decode())
        except (DocumentError, UnicodeDecodeError, KeyError, TypeError, AttributeError, ValueError) as err:
            raise StoreError(
                f"{self.place.url}: {FLEET} is damaged ({(str(err).splitlines() or [''])[0][:120]}); add a log "
                "again with the fleet file (--fleet), which rewrites it"
            ) from None

    def stored_type(self, key: str) -> StoredType:
        """Robot type for which the records with this key were made."""
        if key not in self._types:
            name = f"{KINDS}/{key[:16]}.toml"
            with _sentences(self.place.url):
                try:
                    text = self.place.read(name).decode()
                except FileNotFoundError:
                    raise StoreError(
                        f"{self.place.url}: the file {name} of the store is missing; add one of its logs again"
                    ) from None
            self._types[key] = parsed_type(text, f"{self.place.url}/{name}")
        return self._types[key]

    # ------------------------------------------------------------------ small files beside the records

    def read(self, name: str) -> bytes | None:
        """Contents of a file; None if there is none."""
        with _sentences(self.place.url):
            try:
                return self.place.read(name)
            except FileNotFoundError:
                return None

    def write(self, name: str, data: bytes) -> None:
        """Write a file, unless it already has this content."""
        if self.read(name) != data:
            with _sentences(self.place.url):
                self.place.write(name, data)

    @property
    def kept_from(self) -> int:
        """Number of the first day from which on all records are kept; 0: nothing was deleted."""
        data = (self.read(KEPT) or b"").decode("ascii", "replace").strip()
        return int(data) if data.isdigit() else 0

    @property
    def damaged(self) -> frozenset[str]:
        """Record files that were found damaged and not repaired yet."""
        data = self.read(DAMAGED)
        return frozenset() if data is None else frozenset(data.decode("utf-8", "replace").split("\n")) - {""}

    def note_damaged(self, found: Iterable[str], mended: Iterable[str] = ()) -> None:
        """Store the names of damaged files, for `add` and `compact` to repair; ignored in a read-only store."""
        before = self.damaged
        now = (before | set(found)) - set(mended)
        if now != before:
            with contextlib.suppress(StoreError):
                self.write(DAMAGED, "\n".join(sorted(now)).encode())

    def lost(self, rows: Sequence[IndexRow]) -> set[tuple[str, str, str]]:
        """Identities of the records among `rows` that are missing or damaged.

        Only files found damaged before, and files written after the index, are read: minertia never writes a record
        file without updating the index.
        """
        names = {row.record for row in rows}
        with _sentences(self.place.url):
            when, damaged = self.place.changed([*names, INDEX]), self.damaged
        doubtful = {n for n in names if n in damaged or when.get(n, math.inf) > when.get(INDEX, -math.inf)}
        own = [row for row in rows if row.record in doubtful]
        there = {row.identity for name in doubtful for row in self.rows_of(name, self.readable(name)[0])}
        return {row.identity for row in own} - there

    # ------------------------------------------------------------------ index

    def index(self) -> list[IndexRow]:
        """All index rows: from the file, or rebuilt from the records if it is missing or broken."""
        with _sentences(self.place.url):
            try:
                data = self.place.read(INDEX)
            except FileNotFoundError:
                return self.rebuilt_index()
        try:
            return index_rows(data)
        except Exception:  # whatever a broken file makes Arrow raise
            return self.rebuilt_index()

    def unlisted(self, rows: Sequence[IndexRow]) -> list[IndexRow]:
        """Rows of readable day files whose records are not among `rows`, those of the index."""
        listed = {day_name(row.robot, row.day, row.content, row.key): row.identity for row in rows}
        found = (self.row(name) for name in self.place.names(EVIDENCE) if name not in listed)
        known = set(listed.values())
        return [row for row in found if row is not None and row.identity not in known]

    def write_index(self, rows: Iterable[IndexRow]) -> None:
        """Replace the index; its records must exist already."""
        with _sentences(self.place.url):
            self.require()
            self.place.write(INDEX, index_bytes(rows))

    def rebuilt_index(self) -> list[IndexRow]:
        """Index rebuilt from the records alone; unreadable files are skipped (`check` reports them)."""
        rows: dict[tuple[str, str, str], IndexRow] = {}
        for name in self.files():
            with contextlib.suppress(Exception):  # whatever a broken file makes Arrow raise
                rows |= {row.identity: row for row in self.rows_of(name, self.table(name, HEAD))}
        return list(rows.values())

    def files(self) -> list[str]:
        """Record files; monthly files come last, and take precedence over remaining day files."""
        return [*self.place.names(EVIDENCE), *self.place.names(MONTHS)]

    def rows_of(self, name: str, table: Any) -> list[IndexRow]:
        """Index rows of a file's table."""
        return [IndexRow.of(cells, name) for cells in table.select(HEAD).to_pylist()]

    # ------------------------------------------------------------------ records

    def put(self, record: EvidenceRecord) -> str:
        """Write one record and return its name."""
        self.require()
        name = record_name(record)
        self.place.write(name, record.to_bytes())
        return name

    def discard(self, row: IndexRow) -> None:
        """Delete a record; a monthly file is rewritten without it."""
        if row.record.startswith(EVIDENCE):
            self.place.remove(row.record)
            return
        table, _ = self.readable(row.record)
        kept = [k for k, own in enumerate(self.rows_of(row.record, table)) if own.identity != row.identity]
        self.place.write(row.record, table_bytes(table.take(kept), GROUP))

    def row(self, name: str) -> IndexRow | None:
        """Index row of the record file of one log; None if it is missing or any part of it is unreadable."""
        if not self.place.exists(name):
            return None
        table, why = self.readable(name)
        if why or len(table) != 1:
            return None
        return self.rows_of(name, table)[0]

    def readable(self, name: str, columns: Sequence[str] | None = None, robot: str | None = None) -> tuple[Any, str]:
        """Readable part of a record file, and the reason if it is incomplete, else "".

        robot: only row groups that may contain its records.  An unavailable store does not count as damage: that
        error is raised.
        """
        own = list(TYPES) if columns is None else list(columns)
        try:
            return self.table(name, columns, robot), ""
        except MinertiaError:
            raise
        except FileNotFoundError:
            self.require()
            return schema().empty_table().select(own), "it is gone"
        except Exception as err:  # whatever a broken file makes Arrow raise
            self.require()
            why = (getattr(err, "strerror", None) or str(err) or type(err).__name__).splitlines()[0][:120]
            return self._rescued(name, own, robot), why

    def _rescued(self, name: str, columns: list[str], robot: str | None) -> Any:
        """Rows of the readable groups of a damaged file."""
        arrow, parquet = load("pyarrow", "logs"), load("pyarrow.parquet", "logs")
        found = [schema().empty_table().select(columns)]
        with contextlib.suppress(Exception), self.place.opened(name) as file:
            whole = parquet.ParquetFile(file, page_checksum_verification=True)
            for k in range(whole.num_row_groups):
                if _may_hold(whole.metadata, k, robot):
                    with contextlib.suppress(Exception):
                        found.append(whole.read_row_groups([k], columns).cast(found[0].schema))
        return arrow.concat_tables(found)

    def table(self, name: str, columns: Sequence[str] | None = None, robot: str | None = None) -> Any:
        """Some columns of a record file's rows; robot: only row groups that may contain its records."""
        parquet = load("pyarrow.parquet", "logs")
        with self.place.opened(name) as file:  # `read_table` would load datasets, and pandas with them
            found = parquet.ParquetFile(file, page_checksum_verification=True)
            groups = [k for k in range(found.num_row_groups) if _may_hold(found.metadata, k, robot)]
            return found.read_row_groups(groups, None if columns is None else list(columns))

    def records(self, rows: Iterable[IndexRow]) -> Iterator[EvidenceRecord]:
        """Records of index rows, each file read once; raises an error for a damaged file."""
        files: dict[str, list[IndexRow]] = {}
        for row in rows:
            files.setdefault(row.record, []).append(row)
        for name, own in files.items():
            table, why = self.readable(name, robot=own[0].robot if len({row.robot for row in own}) == 1 else None)
            places = {row.identity: k for k, row in enumerate(self.rows_of(name, table))}
            lost = next((row for row in own if row.identity not in places), None)
            if lost is not None:
                self.note_damaged([name])
                raise StoreError(
                    f"{self.place.url}: the record of robot '{lost.robot}' on {lost.day} cannot be read ({name}: "
                    f"{why or 'it is not in the file'}); add its log again"
                )
            wanted = table.take(sorted(places[row.identity] for row in own))
            yield from records_of(wanted, self.stored_type(own[0].key).layout)


def _may_hold(metadata: Any, group: int, robot: str | None) -> bool:
    """Whether a row group may contain records of a robot, by the file's statistics."""
    names = metadata.schema.names
    said = metadata.row_group(group).column(names.index("robot")).statistics if "robot" in names and robot else None
    return said is None or not said.has_min_max or robot is None or bool(said.min <= robot <= said.max)


class _sentences:
    """Context manager that converts file system and server errors to one-sentence errors about the store."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, err: BaseException | None, trace: Any) -> None:
        if isinstance(err, OSError) and not isinstance(err, FileNotFoundError):
            raise StoreError(f"{self.url}: the store cannot be used ({err.strerror or str(err)[:200]})") from None
