"""Merging of daily records into monthly files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from minertia.fleet.index import IndexRow
from minertia.fleet.places import StoreError
from minertia.fleet.record import table_bytes
from minertia.fleet.store import EVIDENCE, GROUP, HEAD, MONTHS, EvidenceStore, Tell, day_name
from minertia.io.extras import load

PART = 400  # records in a file of a month
MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")


def compact(store: EvidenceStore, before: str | None = None, tell: Tell = lambda step: None) -> list[str]:
    """Merge daily records into monthly files, for months before `before` (YYYY-MM; None: the current month).

    Day files are deleted only after the monthly file was read back and verified; damaged day files are left
    unchanged.  Returns the names of the monthly files.
    """
    store.require()
    if before is not None and not MONTH.fullmatch(before):
        raise StoreError(f"a month must be written as 2026-03, not '{before[:40]}'")
    limit, rows = before or f"{date.today():%Y-%m}", _tidied(store, store.index())
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
            name, part = _month_part(store, kind, month, part)
            if not part:  # all of them are damaged
                continue
            written.append(name)
            moved = {row.identity for row in part}
            rows = [replace(row, record=name) if row.identity in moved else row for row in rows]
            store.write_index(rows)
            for row in part:
                store.place.remove(row.record)
    return written


def _tidied(store: EvidenceStore, rows: list[IndexRow]) -> list[IndexRow]:
    """Index rows after clean-up of an interrupted compaction.

    Day files contained in an indexed monthly file are deleted; so is a monthly file that is not in the index, if
    all its records exist elsewhere.  The readable part of a damaged monthly file is rewritten.
    """
    for name in sorted(name for name in store.damaged if name.startswith(MONTHS)):
        rows = _rescued(store, name, rows)
    held = {day_name(*row.identity[:1], row.day, *row.identity[1:]) for row in rows if row.record.startswith(MONTHS)}
    for name in store.place.names(EVIDENCE):
        if name in held:
            store.place.remove(name)
    named, known = {row.record for row in rows}, {row.identity for row in rows}
    for name in store.place.names(MONTHS):
        if name not in named:
            own = store.rows_of(name, store.readable(name, HEAD)[0])
            if {row.identity for row in own} <= known:
                store.place.remove(name)
            else:
                rows = [*rows, *(row for row in own if row.identity not in known)]
    return rows


def _rescued(store: EvidenceStore, name: str, rows: list[IndexRow]) -> list[IndexRow]:
    """Rewrite the readable part of a damaged monthly file, remove that file, and return the updated rows."""
    table, why = store.readable(name)
    if why and store.place.exists(name):
        there = {row.identity for row in store.rows_of(name, table)}
        if there:
            new = _written(store, name.rpartition("/")[0], table)
            rows = [replace(row, record=new) if row.record == name and row.identity in there else row for row in rows]
        store.write_index(rows)
        store.place.remove(name)
    store.note_damaged((), [name])
    return rows


def _month_part(store: EvidenceStore, kind: str, month: str, part: Sequence[IndexRow]) -> tuple[str, list[IndexRow]]:
    """Write some records of a month to one file; return its name and the rows that could be read."""
    arrow = load("pyarrow", "logs")
    read = [(row, *store.readable(row.record)) for row in part]
    store.note_damaged(row.record for row, _, why in read if why)
    sound = [(row, table) for row, table, why in read if not why]
    if not sound:
        return "", []
    table = arrow.concat_tables([table for _, table in sound])
    return _written(store, f"{MONTHS}/type={kind}/month={month}", table), [row for row, _ in sound]


def _written(store: EvidenceStore, folder: str, table: Any) -> str:
    """Write the next file of a month and read it back for verification; return its name."""
    taken = store.place.names(folder)
    number = 1 + max((int(name.rpartition("part-")[2].partition(".")[0]) for name in taken), default=-1)
    name = f"{folder}/part-{number:03d}.parquet"
    store.place.write(name, table_bytes(table, GROUP))
    if not store.table(name).equals(table):
        store.place.remove(name)
        raise StoreError(
            f"{store.place.url}: {name} could not be verified after writing; the records of single days are kept"
        )
    return name
