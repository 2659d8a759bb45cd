"""`EvidenceStore`: where the records of a fleet are kept and found again.

store.toml                                      what this is
fleet.toml                                      the robots, and the key of each type's records
types/<key>.toml                                a type as its records were made: robot, filter, columns, layout
evidence/robot=R/day=YYYY-MM-DD/<content>-<key>.parquet
months/type=T/month=YYYY-MM/part-NNN.parquet    records put together
index.parquet                                   what is where; made from the records
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import tomli_w

from minertia.documents import DocumentError, toml_document
from minertia.extras import load
from minertia.fleet.fleet_file import FleetFile
from minertia.fleet.index import IndexRow, index_bytes, index_rows
from minertia.fleet.places import StoreError, StorePlace, place
from minertia.fleet.record import EvidenceRecord, records_of, table_bytes
from minertia.fleet.stored_types import (
    FORMAT,
    StoredFleet,
    StoredType,
    fleet_text,
    parsed_fleet,
    parsed_type,
    type_text,
)

MARK, FLEET, INDEX = "store.toml", "fleet.toml", "index.parquet"
EVIDENCE, MONTHS, KINDS = "evidence", "months", "types"
GROUP = 40  # records in a row group of a file of a month
HEAD = [name for name in IndexRow.__dataclass_fields__ if name not in ("record", "source", "stamp")]
Tell = Callable[[str], None]


def record_name(record: EvidenceRecord) -> str:
    """Name of the file of one record."""
    return day_name(record.robot, record.day, record.content, record.key)


def day_name(robot: str, day: str, content: str, key: str) -> str:
    """Name of the file of the record of a log."""
    return f"{EVIDENCE}/robot={robot}/day={day}/{content[:16]}-{key[:8]}.parquet"


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
            self.place.write(FLEET, fleet_text(merged).encode())
        return keys

    @property
    def fleet(self) -> StoredFleet:
        """The robots, and the key of each type's records."""
        with _sentences(self.place.url):
            try:
                return parsed_fleet(self.place.read(FLEET).decode())
            except FileNotFoundError:
                return StoredFleet({}, ())

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
            self._types[key] = parsed_type(text, f"{self.place.url}/{name}")
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
        for name in self.files():
            with contextlib.suppress(Exception):  # whatever a broken file makes Arrow raise
                rows |= {row.identity: row for row in self.rows_of(name, self.table(name, HEAD))}
        return list(rows.values())

    def files(self) -> list[str]:
        """Files of records; those of months come last, and count where a day was not taken away in time."""
        return [*self.place.names(EVIDENCE), *self.place.names(MONTHS)]

    def rows_of(self, name: str, table: Any) -> list[IndexRow]:
        """Rows of the index of a file's table."""
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
        kept = [k for k, own in enumerate(self.rows_of(row.record, table)) if own.identity != row.identity]
        self.place.write(row.record, table_bytes(table.take(kept), GROUP))

    def row(self, name: str) -> IndexRow | None:
        """The row of a record of one log; None where there is none that can be read."""
        if not self.place.exists(name):
            return None
        try:
            (row,) = self.rows_of(name, self.table(name, HEAD))
        except Exception:  # whatever a broken file makes Arrow raise
            return None
        return row

    def table(
        self, name: str, columns: Sequence[str] | None = None, filters: Any = None, robot: str | None = None
    ) -> Any:
        """Some columns of the rows of a file of records; robot: of the row groups that may hold records of it."""
        parquet = load("pyarrow.parquet", "logs")
        own = None if columns is None else list(columns)
        with self.place.opened(name) as file:
            if filters is None:  # `read_table` would load datasets, and pandas with them
                found = parquet.ParquetFile(file, page_checksum_verification=True)
                groups = range(found.num_row_groups)
                return found.read_row_groups([k for k in groups if _may_hold(found.metadata, k, robot)], own)
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


def _may_hold(metadata: Any, group: int, robot: str | None) -> bool:
    """Whether records of a robot may be in a row group, by what its file says of it."""
    names = metadata.schema.names
    said = metadata.row_group(group).column(names.index("robot")).statistics if "robot" in names and robot else None
    return said is None or not said.has_min_max or robot is None or bool(said.min <= robot <= said.max)


class _sentences:
    """Within, whatever a file system or a server says becomes one sentence about the store."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, err: BaseException | None, trace: Any) -> None:
        if isinstance(err, OSError) and not isinstance(err, FileNotFoundError):
            raise StoreError(f"{self.url}: the store cannot be used ({err.strerror or str(err)[:200]})") from None
