"""Index of a store: one row per added log, and conflicts between them.

It can be rebuilt from the records alone, except for the locations of the logs.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from minertia.fleet.record import EvidenceRecord
from minertia.io.extras import load

TYPES = {
    **{"record": "string", "robot": "string", "robot_type": "string", "day": "string", "content": "string"},
    **{"key": "string", "length": "int64", "clock": "string", "first": "float64", "last": "float64"},
    **{"samples": "int64", "arithmetic": "string", "source": "string", "stamp": "string"},
}


@dataclass(frozen=True, slots=True)
class IndexRow:
    """A log and its record.

    record: name of the file that contains it.  length: bytes of the log.  source, stamp: location of the log and time
    of its last change, "" if the index was rebuilt from the records.
    """

    record: str
    robot: str
    robot_type: str
    day: str
    content: str
    key: str
    length: int
    clock: str
    first: float
    last: float
    samples: int
    arithmetic: str
    source: str = ""
    stamp: str = ""

    @classmethod
    def of(cls, record: EvidenceRecord | Mapping[str, Any], name: str, source: str = "", stamp: str = "") -> IndexRow:
        """Row of a record, or of its plain fields, in a file of this name."""
        take = record.__getitem__ if isinstance(record, Mapping) else record.__getattribute__
        own = {key: take(key) for key in TYPES if key not in ("record", "source", "stamp")}
        return cls(record=name, **own, source=source, stamp=stamp)

    @property
    def identity(self) -> tuple[str, str, str]:
        """Identity of a record: robot, content and key."""
        return self.robot, self.content, self.key


@dataclass(frozen=True, slots=True)
class LogFault:
    """Log that was excluded, or faulty file of a store, with the reason in one sentence."""

    source: str
    robot: str
    reason: str

    def __str__(self) -> str:
        return f"{self.source}: {self.reason}"

    def to_json(self) -> dict[str, str]:
        """Return as a dict of plain data, for JSON."""
        return asdict(self)


def index_bytes(rows: Iterable[IndexRow]) -> bytes:
    """Parquet bytes of an index, sorted by robot, day and content."""
    arrow, parquet = load("pyarrow", "logs"), load("pyarrow.parquet", "logs")
    ordered = sorted(rows, key=lambda r: (r.robot, r.day, r.first, r.content, r.key, r.source))
    cells = [asdict(row) for row in ordered]
    kinds = {name: arrow.string() if kind == "string" else getattr(arrow, kind)() for name, kind in TYPES.items()}
    table = arrow.table({name: arrow.array([c[name] for c in cells], kind) for name, kind in kinds.items()})
    sink = io.BytesIO()
    parquet.write_table(table, sink, compression="zstd", store_schema=False)
    return sink.getvalue()


def index_rows(data: bytes) -> list[IndexRow]:
    """Rows of an index; repeated texts are stored once."""
    parquet = load("pyarrow.parquet", "logs")
    held: dict[Any, Any] = {}
    table = parquet.ParquetFile(io.BytesIO(data)).read(list(TYPES))
    cells = zip(*(table.column(name).to_pylist() for name in TYPES), strict=True)
    return [IndexRow(*(held.setdefault(value, value) for value in own)) for own in cells]


def conflicts(rows: Sequence[IndexRow]) -> tuple[set[tuple[str, str, str]], list[LogFault]]:
    """Records to exclude, by identity, and the reasons: a log of two robots, or logs that overlap in time.

    The result depends on the rows alone, not on their order.
    """
    faults = [*_of_two_robots(rows), *_overlapping(rows)]
    return {row.identity for row, _ in faults}, [LogFault(_named(row), row.robot, why) for row, why in faults]


def _of_two_robots(rows: Sequence[IndexRow]) -> list[tuple[IndexRow, str]]:
    found: dict[str, dict[str, IndexRow]] = {}
    for row in _ordered(rows):
        found.setdefault(row.content, {}).setdefault(row.robot, row)
    every = [row for row in _ordered(rows) if len(found[row.content]) > 1]
    return [
        (row, f"the same log is also stored for {_others(found[row.content], row.robot)}; both are ignored: "
"remove it from the wrong robot's folder")
        for row in every
    ]  # fmt: skip


def _others(own: Mapping[str, IndexRow], robot: str) -> str:
    return " and ".join(f"robot '{name}' ({_named(row)})" for name, row in own.items() if name != robot)


def _overlapping(rows: Sequence[IndexRow]) -> list[tuple[IndexRow, str]]:
    found: list[tuple[IndexRow, str]] = []
    timed = [row for row in _ordered(rows) if row.clock == "absolute"]
    unique = {row.identity: row for row in reversed(timed)}
    ordered = sorted(unique.values(), key=lambda r: (r.robot, r.key, r.first, r.content))
    for _, group in itertools.groupby(ordered, key=lambda r: (r.robot, r.key)):
        latest: IndexRow | None = None
        for row in group:
            if latest is not None and row.first <= latest.last:
                found += [(a, f"it overlaps in time with {_named(b)} of the same robot, and both are ignored: "
"keep one of the two") for a, b in ((latest, row), (row, latest))]  # fmt: skip
            latest = row if latest is None or row.last > latest.last else latest
    return found


def _ordered(rows: Iterable[IndexRow]) -> list[IndexRow]:
    return sorted(rows, key=lambda r: (r.robot, r.key, r.first, r.content, r.source))


def _named(row: IndexRow) -> str:
    return row.source or row.record
