"""Retention and migration: deletion of old records, and records of logs for changed settings of their type.

A robot's training days are never deleted, as they define its levels; of later days the state of the last drift report
has all that the next one needs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from minertia.fleet.calendar import day_number
from minertia.fleet.index import IndexRow
from minertia.fleet.judged import JUDGED, JudgedBefore, read_judged
from minertia.fleet.record import table_bytes
from minertia.fleet.store import EVIDENCE, GROUP, KEPT, EvidenceStore


@dataclass(frozen=True)
class Pruned:
    """Deleted records: those that are too old, and those of earlier settings that were replaced."""

    old: int
    superseded: int


def prune(store: EvidenceStore, before: int, keys: Collection[str], *, superseded: bool = False) -> Pruned:
    """Delete records of monitored days before a day; superseded: also replaced records of earlier settings.

    keys: keys of the records in use.  First the day is noted, then the index is written, then files are deleted: an
    interrupted run can be repeated.
    """
    rows, judged = store.index(), _judged(store)
    present = {(row.robot, row.content) for row in rows if row.key in keys}
    replaced = {
        row.identity for row in rows if superseded and row.key not in keys and (row.robot, row.content) in present
    }
    old = {row.identity for row in rows if row.key in keys and _is_old(row, before, judged)}
    gone = [row for row in rows if row.identity in old | replaced]
    if gone:
        store.write(KEPT, str(max(before, store.kept_from)).encode())
        kept = [row for row in rows if row.identity not in old | replaced]
        store.write_index(kept)
        _delete(store, gone, {row.record for row in kept})
    return Pruned(len(old), len(replaced))


def _judged(store: EvidenceStore) -> list[JudgedBefore]:
    """Assessments of all numbers of training days."""
    names = (name.rpartition("/")[2] for name in store.place.names(JUDGED))
    lengths = [
        name.removeprefix("learning-").removesuffix(".parquet") for name in names if name.startswith("learning-")
    ]
    return [read_judged(store, int(length))[0] for length in lengths if length.isdigit()]


def _is_old(row: IndexRow, before: int, judged: Sequence[JudgedBefore]) -> bool:
    """Whether a record is older than a day, and of a day that every series of reports has assessed after training."""
    day = day_number(row.day)
    windows = [own.robots[row.robot] for own in judged if row.robot in own.robots]
    return day < before and bool(windows) and all(own.learnt[1] < day <= own.newest for own in windows)


def _delete(store: EvidenceStore, gone: Sequence[IndexRow], kept: Collection[str]) -> None:
    """Delete files without records in use; monthly files are rewritten without the deleted records."""
    files: dict[str, set[tuple[str, str, str]]] = {}
    for row in gone:
        files.setdefault(row.record, set()).add(row.identity)
    for name, identities in files.items():
        if name not in kept or name.startswith(EVIDENCE):
            store.place.remove(name)
            continue
        table, _ = store.readable(name)
        places = [k for k, row in enumerate(store.rows_of(name, table)) if row.identity not in identities]
        store.place.write(name, table_bytes(table.take(places), GROUP))


def superseded_logs(rows: Sequence[IndexRow], keys: Collection[str]) -> list[IndexRow]:
    """Logs that have records of earlier settings of their type only, one row each."""
    present = {(row.robot, row.content) for row in rows if row.key in keys}
    found = {(row.robot, row.content): row for row in rows if (row.robot, row.content) not in present}
    return [found[place] for place in sorted(found)]
