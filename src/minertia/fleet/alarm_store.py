"""Alarms of a store: history of reports, and actions of people.

alarms/history.parquet has a row for each report and alarm, written by reports only.  alarms/actions holds one small
file for each action, so that people and reports never overwrite each other, and an operator needs no other access.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime

from minertia.fleet.alarm_life import (
    NOT_JUDGED,
    QUIET,
    RAISED,
    SILENT,
    AlarmAction,
    AlarmLife,
    AlarmRow,
    alarm_lives,
)
from minertia.fleet.alarms import FleetAlarm
from minertia.fleet.calendar import day_name
from minertia.fleet.drift import FleetDrift
from minertia.fleet.levels import LOAD
from minertia.fleet.store import EvidenceStore
from minertia.io.documents import DocumentError, json_document
from minertia.io.errors import InputError, MinertiaError
from minertia.io.extras import load

FOLDER = "alarms"
HISTORY, ACTIONS = f"{FOLDER}/history.parquet", f"{FOLDER}/actions"
TYPES = {
    **dict.fromkeys(("day", "alarm", "robot", "joint", "what", "status"), "string"),
    **dict.fromkeys(("change", "deviation"), "float64"),
    **dict.fromkeys(("unit", "since_first", "since_last"), "string"),
    **{"e": "float64", "at": "string"},
}


def report_rows(
    found: FleetDrift, before: Sequence[AlarmLife], at: str, names: Mapping[tuple[str, str], str]
) -> list[AlarmRow]:
    """Rows of a report: its alarms, and living alarms of earlier reports that it does not raise.

    names: identities of alarms that an earlier report of the same day raised.
    """
    day = day_name(found.days[1])
    living = {(life.row.robot, life.row.joint): life for life in before if life.is_living and life.first <= day}
    rows = []
    for alarm in found.alarms:
        place = alarm.robot, alarm.joint or LOAD
        known = living.pop(place, None)
        fresh = names.get(place, f"{place[0]}/{place[1]}/{day}")
        rows.append(_row(alarm, fresh if known is None else known.row.alarm, day, at))
    for robot, last in found.silent.items():
        known = living.pop((robot, SILENT), None)
        name = names.get((robot, SILENT), f"{robot}/{SILENT}/{day}") if known is None else known.row.alarm
        since = day_name(last)
        rows.append(AlarmRow(day, name, robot, SILENT, "no logs", RAISED, 0.0, 0.0, "", since, since, 0.0, at))
    judged = {(s.stream.robot, s.stream.joint or LOAD) for s in found.streams}
    judged |= {place for place in living if place[1] == SILENT}  # it has logs again
    for place, life in living.items():
        rows.append(replace(life.row, day=day, at=at, status=QUIET if place in judged else NOT_JUDGED))
    return rows


def _row(alarm: FleetAlarm, name: str, day: str, at: str) -> AlarmRow:
    first, last = (day_name(d) for d in alarm.since)
    return AlarmRow(
        day, name, alarm.robot, alarm.joint or LOAD, alarm.what, RAISED, alarm.change, alarm.deviation, alarm.unit,
        first, last, alarm.e, at,
    )  # fmt: skip


# ---------------------------------------------------------------------- files


def now() -> str:
    """The present time, as in files."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def history_bytes(rows: Sequence[AlarmRow]) -> bytes:
    """Parquet bytes of the history, which databases read."""
    arrow, parquet = load("pyarrow", "logs"), load("pyarrow.parquet", "logs")
    kinds = {name: getattr(arrow, kind)() for name, kind in TYPES.items()}
    table = arrow.table({name: arrow.array([getattr(row, name) for row in rows], kind) for name, kind in kinds.items()})
    sink = io.BytesIO()
    parquet.write_table(table, sink, compression="zstd", write_page_checksum=True)
    return sink.getvalue()


def read_history(store: EvidenceStore) -> list[AlarmRow]:
    """Rows of all reports of a store."""
    data = store.read(HISTORY)
    if data is None:
        return []
    parquet = load("pyarrow.parquet", "logs")
    try:
        table = parquet.ParquetFile(io.BytesIO(data), page_checksum_verification=True).read()
        return [AlarmRow(**cells) for cells in table.select(list(TYPES)).to_pylist()]
    except Exception as err:  # whatever a broken file makes Arrow raise
        why = (str(err).splitlines() or [type(err).__name__])[0][:120]
        raise MinertiaError(
            f"{store.place.url}: {HISTORY} is damaged ({why}); restore it, or remove it, and alarms start as new"
        ) from None


def read_actions(store: EvidenceStore) -> list[AlarmAction]:
    """Actions on the alarms of a store; files that are no actions are ignored."""
    found = []
    for name in store.place.names(ACTIONS):
        try:
            found.append(AlarmAction(**json_document((store.read(name) or b"").decode())))
        except (DocumentError, UnicodeDecodeError, TypeError, MinertiaError):
            continue
    return found


def read_lives(store: EvidenceStore) -> list[AlarmLife]:
    """Alarms of a store with their states."""
    return alarm_lives(read_history(store), read_actions(store))


def act(store: EvidenceStore, action: AlarmAction) -> AlarmLife:
    """Store an action on an alarm, and return the alarm after it."""
    known = {life.row.alarm: life for life in read_lives(store)}
    if action.alarm not in known:
        living = ", ".join(name for name, life in known.items() if life.is_living) or "none"
        raise InputError(f"there is no alarm '{action.alarm}' in the store; alarms that are not closed: {living[:300]}")
    data = json.dumps(asdict(action), sort_keys=True).encode()
    stamp = action.at.replace(":", "").replace("+0000", "")
    store.write(f"{ACTIONS}/{stamp}-{hashlib.sha256(data).hexdigest()[:8]}.json", data)
    return next(life for life in read_lives(store) if life.row.alarm == action.alarm)


def keep_alarms(store: EvidenceStore, found: FleetDrift) -> list[AlarmLife]:
    """Add a report to the history of a store, and return all alarms with their states.

    A repeated report of the same day replaces the earlier one, unless its rows are the same.
    """
    history, actions = read_history(store), read_actions(store)
    day = day_name(found.days[1])
    earlier = [row for row in history if row.day != day]
    same_day = {row.alarm: row for row in history if row.day == day}
    names = {(row.robot, row.joint): row.alarm for row in same_day.values()}
    rows = report_rows(found, alarm_lives(earlier, actions), now(), names)
    kept = [_unchanged(same_day.get(row.alarm), row) for row in rows]
    if kept != list(same_day.values()):
        store.write(HISTORY, history_bytes([*earlier, *kept]))
    return alarm_lives([*earlier, *kept], actions)


def _unchanged(before: AlarmRow | None, row: AlarmRow) -> AlarmRow:
    """The earlier row of a repeated report with its time, if nothing else differs."""
    return before if before is not None and replace(row, at=before.at) == before else row
