"""Records of days put together into files of months."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from minertia.extras import load
from minertia.fleet.index import IndexRow
from minertia.fleet.places import StoreError
from minertia.fleet.record import table_bytes
from minertia.fleet.store import EVIDENCE, GROUP, HEAD, MONTHS, EvidenceStore, Tell, day_name

PART = 400  # records in a file of a month
MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")


def compact(store: EvidenceStore, before: str | None = None, tell: Tell = lambda step: None) -> list[str]:
    """Put the records of days into files of months, up to before the month `before` (YYYY-MM; None: this one).

    Day files are taken away only when the file of the month was read back and holds the same.  Returns its files.
    """
    store.require()
    if before is not None and not MONTH.fullmatch(before):
        raise StoreError(f"a month is written as 2026-03, not '{before[:40]}'")
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
            name = _month_part(store, kind, month, part)
            written.append(name)
            moved = {row.identity for row in part}
            rows = [replace(row, record=name) if row.identity in moved else row for row in rows]
            store.write_index(rows)
            for row in part:
                store.place.remove(row.record)
    return written


def _tidied(store: EvidenceStore, rows: list[IndexRow]) -> list[IndexRow]:
    """The rows, after what a compaction that was killed has left behind is cleared away.

    Days that a month of the index holds go; so does a month that the index does not name, if it holds only what is
    elsewhere.
    """
    held = {day_name(*row.identity[:1], row.day, *row.identity[1:]) for row in rows if row.record.startswith(MONTHS)}
    for name in store.place.names(EVIDENCE):
        if name in held:
            store.place.remove(name)
    named, known = {row.record for row in rows}, {row.identity for row in rows}
    for name in store.place.names(MONTHS):
        if name not in named:
            own = store.rows_of(name, store.table(name, HEAD))
            if {row.identity for row in own} <= known:
                store.place.remove(name)
            else:
                rows = [*rows, *(row for row in own if row.identity not in known)]
    return rows


def _month_part(store: EvidenceStore, kind: str, month: str, part: Sequence[IndexRow]) -> str:
    arrow = load("pyarrow", "logs")
    folder = f"{MONTHS}/type={kind}/month={month}"
    table = arrow.concat_tables([store.table(row.record) for row in part])
    taken = store.place.names(folder)
    number = 1 + max((int(name.rpartition("part-")[2].partition(".")[0]) for name in taken), default=-1)
    name = f"{folder}/part-{number:03d}.parquet"
    store.place.write(name, table_bytes(table, GROUP))
    if not store.table(name).equals(table):
        store.place.remove(name)
        raise StoreError(f"{store.place.url}: {name} does not read back as it was written; the days stay as they are")
    return name
