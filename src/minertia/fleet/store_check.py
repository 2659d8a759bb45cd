"""Check of every record of a store and of its index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from minertia.fleet.index import IndexRow, LogFault, conflicts
from minertia.fleet.store import EVIDENCE, EvidenceStore, Tell, day_name
from minertia.io.errors import MinertiaError


@dataclass(frozen=True)
class StoreCheck:
    """Result of a store check.

    missing: days without a record between the first and the last day of each robot.  arithmetics, keys: number of
    records with each value; records with different keys are never mixed.
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
        """Return as a dict of plain data."""
        return asdict(self)


def missing_days(rows: Iterable[IndexRow]) -> dict[str, list[str]]:
    """Days without a record between the first and the last day of each robot."""
    days: dict[str, set[int]] = {}
    for row in rows:
        days.setdefault(row.robot, set()).add(date.fromisoformat(row.day).toordinal())
    holes = {robot: sorted(set(range(min(own), max(own))) - own) for robot, own in sorted(days.items())}
    return {robot: [date.fromordinal(d).isoformat() for d in own] for robot, own in holes.items() if own}


def _lost(index: Iterable[IndexRow], known: set[tuple[str, str, str]]) -> list[LogFault]:
    return [
        LogFault(row.source or row.record, row.robot, f"its record {row.record} is missing; add the log again")
        for row in index
        if row.identity not in known
    ]


def _unlisted(rows: Iterable[IndexRow], listed: set[tuple[str, str, str]]) -> list[LogFault]:
    return [
        LogFault(row.record, row.robot, "the index does not list it; run 'minertia fleet add' again, which lists it")
        for row in rows
        if row.identity not in listed
    ]


def check_store(store: EvidenceStore, tell: Tell = lambda step: None) -> StoreCheck:
    """Check every record (readable, at its location, of a known type), duplicates, overlaps and missing days."""
    store.require()
    faults: list[LogFault] = []
    damaged: list[str] = []
    sound: list[str] = []
    kept: dict[tuple[str, str, str], IndexRow] = {}
    for name in store.files():
        tell(name)
        own, said, is_damaged = _looked_at(store, name)
        faults += said
        (damaged if is_damaged else sound).append(name)
        faults += [
            LogFault(
                name,
                row.robot,
                f"the record is also in {kept[row.identity].record}; run compact, which keeps one of them",
            )
            for row in own
            if row.identity in kept
        ]
        kept |= {row.identity: row for row in own}
    store.note_damaged(damaged, sound)
    rows = list(kept.values())
    _, found = conflicts(rows)
    known = {row.identity for row in rows}
    tell("comparing with the index")
    index = store.index()
    faults += [*found, *_lost(index, known), *_unlisted(rows, {row.identity for row in index})]
    return StoreCheck(
        records=len(rows),
        robots=len({row.robot for row in rows}),
        faults=tuple(faults),
        missing=missing_days(rows),
        arithmetics=dict(Counter(row.arithmetic for row in rows)),
        keys=dict(Counter(row.key for row in rows)),
    )


def _looked_at(store: EvidenceStore, name: str) -> tuple[list[IndexRow], list[LogFault], bool]:
    """Index rows of a record file with every byte verified, its faults, and whether it is damaged."""
    table, why = store.readable(name)
    rows, said = store.rows_of(name, table), []
    if why:
        more = f", {len(rows)} records of it can be read: compact keeps these" if rows else ""
        said.append(LogFault(name, "", f"the file is damaged ({why}){more}; add its logs again"))
    for row, numbers in zip(rows, table.column("R"), strict=True):
        if name.startswith(EVIDENCE) and name != day_name(row.robot, row.day, row.content, row.key):
            said.append(LogFault(name, row.robot, "the file contains the record of another log, day or robot"))
        try:
            if len(numbers) != store.stored_type(row.key).layout.packed_length:
                said.append(LogFault(name, row.robot, "its triangular factors do not match the type's columns"))
        except MinertiaError as err:
            said.append(LogFault(name, row.robot, str(err)))
    return rows, said, bool(why)
