"""Assessments of earlier drift reports in the store, so that late logs do not change earlier verdicts.

judged/learning-N.parquet has a row for each record in use, and in its metadata for each robot: its training
days, the assessed joints, and the last report that assessed them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from minertia.fleet.calendar import day_name, day_number
from minertia.fleet.drift import FleetDrift, NoLongerJudged
from minertia.fleet.events import EVERY, RETIRED, RobotEvent
from minertia.fleet.index import IndexRow, LogFault
from minertia.fleet.levels import LOAD
from minertia.fleet.places import StoreError
from minertia.fleet.store import EvidenceStore
from minertia.io.documents import json_document
from minertia.io.extras import load

JUDGED = "judged"
SHORT = 16  # characters of a hash that tell contents and keys apart
ROBOTS = b"robots"  # key of the metadata
Record = tuple[str, str, str]  # robot, and the beginnings of content and key
GONE = "the store contains no valid log of it"


@dataclass(frozen=True)
class JudgedRobot:
    """Robot that was assessed.

    key: key of its records.  learnt: first and last training day.  newest: its newest day.  joints: for
    each joint, or the load, the last report that assessed it.
    """

    key: str
    learnt: tuple[int, int]
    newest: int
    joints: Mapping[str, int]


@dataclass(frozen=True)
class JudgedBefore:
    """Earlier assessments: robots by name, and the records used, with a flag for training."""

    robots: Mapping[str, JudgedRobot] = field(default_factory=dict)
    records: Mapping[Record, bool] = field(default_factory=dict)

    def windows(self, key: str) -> dict[str, tuple[int, int]]:
        """First and last training day of the robots whose records have this key."""
        return {robot: own.learnt for robot, own in self.robots.items() if own.key == key[:SHORT]}


@dataclass(frozen=True)
class CountedRows:
    """Rows to assess; left_out: rows that arrived after their days were used for training; notes: late arrivals."""

    rows: list[IndexRow]
    left_out: list[LogFault]
    notes: list[str]


def record_of(row: IndexRow) -> Record:
    """Identity of a row (robot, content, key), shortened as in the file of assessments."""
    return row.robot, row.content[:SHORT], row.key[:SHORT]


def counted_rows(rows: Iterable[IndexRow], doubted: Iterable[IndexRow], before: JudgedBefore) -> CountedRows:
    """Rows to assess: those assessed before, and new ones of days after the training days.

    doubted: rows that conflict with others; those that were assessed before the conflict arose stay in use.
    """
    kept = [row for row in doubted if record_of(row) in before.records]
    left_out, late = [], dict[str, list[str]]()
    for row in rows:
        known = before.robots.get(row.robot)
        if record_of(row) in before.records or known is None or known.key != row.key[:SHORT]:
            kept.append(row)
            continue
        day = day_number(row.day)
        if day <= known.learnt[1]:
            left_out.append(LogFault(row.source or row.record, row.robot, _why_not(row, day, known)))
            continue
        kept.append(row)
        if day < known.newest:
            late.setdefault(row.robot, []).append(row.day)
    notes = [
        f"logs of robot '{robot}' were added after their days had been assessed, and count from this report on: "
        + ", ".join(sorted(set(days)))
        for robot, days in sorted(late.items())
    ]
    return CountedRows(kept, left_out, notes)


def _why_not(row: IndexRow, day: int, known: JudgedRobot) -> str:
    first, last = (day_name(d) for d in known.learnt)
    when = "is older than" if day < known.learnt[0] else "came after"
    return (
        f"the log of {row.day} {when} the training days of robot '{row.robot}' ({first} to {last}), so it does "
        "not change the assessment"
    )


def no_longer_judged(
    found: FleetDrift, before: JudgedBefore, events: Iterable[RobotEvent]
) -> tuple[NoLongerJudged, ...]:
    """Robots, and joints of robots still assessed, that were assessed before and are not now.

    Robots that an event retires are not expected any more.
    """
    retired = {(event.robot, event.joint) for event in events if event.kind == RETIRED}
    now: dict[str, set[str]] = {}
    for judged in found.streams:
        now.setdefault(judged.stream.robot, set()).add(judged.stream.joint or LOAD)
    lost = []
    for robot, own in sorted(before.robots.items()):
        missing = tuple(
            joint for joint in own.joints if joint not in now.get(robot, ()) and (robot, joint) not in retired
        )
        if not missing or (robot, EVERY) in retired:
            continue
        reasons = [n for n in found.not_judged if n.robot == robot and (n.joint is None or n.joint in missing)]
        if robot in now and all(n.settling for n in reasons) and reasons:
            continue  # a repair that was told, or a new program, of which a few days will tell more
        why = reasons[0].reason if reasons else GONE if robot not in now else "it is no longer logged"
        until = max(own.joints[joint] for joint in missing)
        lost.append(NoLongerJudged(robot, until, why, missing if robot in now else ()))
    return tuple(lost)


def judged_after(
    found: FleetDrift, rows: Sequence[IndexRow], before: JudgedBefore, keys: Mapping[str, str]
) -> JudgedBefore:
    """Assessments after a report: assessed robots are updated, all others are unchanged.

    keys: key of the records of each robot type.
    """
    robots, now = dict(before.robots), set()
    for judged in found.streams:
        robot, key = judged.stream.robot, keys[judged.type][:SHORT]
        own, known = found.robots[robot], robots.get(robot)
        kept = known.joints if known is not None and known.key == key else {}
        joints = {**kept, judged.stream.joint or LOAD: found.days[1]}
        robots[robot] = JudgedRobot(key, own.learnt, max(own.days), joints)
        now.add(robot)
    records = dict(before.records)
    for row in rows:
        if row.robot in now and row.key[:SHORT] == robots[row.robot].key:
            first, last = robots[row.robot].learnt
            if first <= (day := day_number(row.day)) <= robots[row.robot].newest:
                records[record_of(row)] = day <= last
    return JudgedBefore(robots, records)


# ---------------------------------------------------------------------- the file


def judged_name(learning: int) -> str:
    """File name of the assessments for reports with this number of training days."""
    return f"{JUDGED}/learning-{learning}.parquet"


def read_judged(store: EvidenceStore, learning: int) -> tuple[JudgedBefore, list[LogFault]]:
    """Earlier assessments, empty if there are none; and a fault if the file cannot be read."""
    name = judged_name(learning)
    data = store.read(name)
    if data is None:
        return JudgedBefore(), []
    parquet = load("pyarrow.parquet", "logs")
    try:
        table = parquet.ParquetFile(io.BytesIO(data), page_checksum_verification=True).read()
        said = json_document(table.schema.metadata[ROBOTS].decode())
        robots = {robot: _robot(own) for robot, own in said.items()}
        cells = zip(*(table.column(c).to_pylist() for c in ("robot", "content", "key", "learnt")), strict=True)
        return JudgedBefore(robots, {(robot, content, key): learnt for robot, content, key, learnt in cells}), []
    except Exception as err:  # whatever a broken file makes Arrow raise
        why = (str(err).splitlines() or [type(err).__name__])[0][:120]
        return JudgedBefore(), [
            LogFault(
                name,
                "",
                f"the assessments of earlier reports cannot be read ({why}); the training days of "
                "the robots start again with this report",
            )
        ]


def _robot(said: Mapping[str, Any]) -> JudgedRobot:
    first, last = said["learnt"]
    joints = {str(joint): int(page) for joint, page in said["joints"].items()}
    return JudgedRobot(str(said["key"]), (int(first), int(last)), int(said["newest"]), joints)


def write_judged(store: EvidenceStore, learning: int, after: JudgedBefore) -> str | None:
    """Store the assessments; return a message if that fails, as in a read-only store."""
    arrow, parquet = load("pyarrow", "logs"), load("pyarrow.parquet", "logs")
    ordered = sorted(after.records.items())
    columns = {name: [record[k] for record, _ in ordered] for k, name in enumerate(("robot", "content", "key"))}
    kinds = {name: arrow.array(own, arrow.string()) for name, own in columns.items()}
    table = arrow.table({**kinds, "learnt": arrow.array([learnt for _, learnt in ordered], arrow.bool_())})
    robots = json.dumps({robot: asdict(own) for robot, own in sorted(after.robots.items())})
    sink = io.BytesIO()
    parquet.write_table(
        table.replace_schema_metadata({ROBOTS: robots}), sink, compression="zstd", write_page_checksum=True
    )
    try:
        store.write(judged_name(learning), sink.getvalue())
    except StoreError as err:
        return (
            "the assessment of this report could not be stored for the next one: "
            f"{str(err).removeprefix(f'{store.place.url}: ')}"
        )
    return None
