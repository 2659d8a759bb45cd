"""Logs to records: workers process batches of logs, write the records and return one row per log.

A log that cannot be used, or that terminates its worker, is reported; the records of all others are unaffected.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from pathlib import Path

from minertia.fleet.engine import Engine
from minertia.fleet.fleet_file import FleetFile
from minertia.fleet.gather import BLOCK, Gathered, gathered
from minertia.fleet.index import IndexRow, LogFault, conflicts
from minertia.fleet.outages import Outage
from minertia.fleet.places import place
from minertia.fleet.record import day_of, record_of
from minertia.fleet.robot_type import RobotType
from minertia.fleet.sources import LogContent, LogSource, opened
from minertia.fleet.store import EVIDENCE, EvidenceStore
from minertia.identification.campaigns.sensed import sensed_blocks
from minertia.identification.logs.columns import MARKS
from minertia.identification.logs.options import ColumnMap
from minertia.identification.logs.readers import column_names, iter_blocks
from minertia.identification.logs.recording import Recording
from minertia.io.errors import MinertiaError, RecordingError
from minertia.io.resources import keep_freed_memory

BATCH_BYTES, BATCH_LOGS = 400_000_000, 100  # in one task, at most
SHARES = 4  # tasks for each worker, at least, where the logs are few
SAVED = 30.0  # s after which the index is written again
YEAR = 366  # days
FEW = 64  # rows that are read to know the day
SHORT = 16  # characters of a hash by which a content is known
NEW, KNOWN, EARLY, FAULT = "new", "known", "early", "fault"


@dataclass(frozen=True, slots=True)
class LogTask:
    """One log to read.

    day: date in its path.  known: hashes of the log contents that this robot already has records of.
    earlier: lengths and hashes of earlier versions of this file.  since: the first day to include.
    """

    log: LogSource
    robot: str
    day: str | None
    known: frozenset[str]
    earlier: tuple[tuple[int, str], ...]
    since: str | None


@dataclass(frozen=True, slots=True)
class Batch:
    """Logs of one robot type for one worker.

    type: pickled robot type, as workers cache the data derived from it.
    """

    type: bytes
    kind: str
    store: str
    tasks: tuple[LogTask, ...]


@dataclass(frozen=True, slots=True)
class AddedLog:
    """Result of one log: "new", "known" (recorded already), "early" (before the robot's first day), "fault".

    content: SHA-256 of the log.  row: its row of the index.  replaces: hashes of earlier contents that this
    log continues. seconds: elapsed time; cpu: processor time.
    """

    source: str
    robot: str
    status: str
    content: str = ""
    row: IndexRow | None = None
    replaces: tuple[str, ...] = ()
    seconds: float = 0.0
    cpu: float = 0.0
    reason: str = ""


@dataclass(frozen=True)
class AddResult:
    """Result of `fleet.add`: a row for each log, and the faults.

    skipped: logs that have not changed since they were added.  arithmetics: floating-point environments of the new
    records; results agree bitwise only within one.
    """

    rows: tuple[AddedLog, ...]
    faults: tuple[LogFault, ...]
    skipped: int = 0
    arithmetics: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<AddResult: {self.count(NEW)} new, {self.skipped + self.count(KNOWN)} known, {len(self.faults)} faults>"
        )

    def count(self, status: str) -> int:
        """Number of logs of a status."""
        return sum(row.status == status for row in self.rows)


# ---------------------------------------------------------------------- in workers

_one_at_a_time = threading.Lock()  # the number of threads of linear algebra belongs to the process, and decides bits


def work(batch: Batch) -> list[AddedLog]:
    """Create the records of a batch; returns one row per log, even after errors."""
    keep_freed_memory()
    with _one_at_a_time:
        type = _type(batch.type)
        key, store = type.key(batch.kind), EvidenceStore(place(batch.store))
        return [_worked(task, type, key, batch.kind, store) for task in batch.tasks]


@lru_cache(maxsize=16)
def _type(data: bytes) -> RobotType:
    found: RobotType = pickle.loads(data)
    return found


def _worked(task: LogTask, type: RobotType, key: str, kind: str, store: EvidenceStore) -> AddedLog:
    start, cpu = time.perf_counter(), time.process_time()
    try:
        done = _recorded(task, type, key, kind, store)
    except Outage as err:
        if err.passes or err.url != task.log.url:  # all others would fail, too, each after its own tries
            raise
        done = _failed(task, str(err).removeprefix(f"{task.log.url}: "))
    except MinertiaError as err:
        done = _failed(task, str(err).removeprefix(f"{task.log.url}: "))
    except OSError as err:
        done = _failed(
            task, f"the log cannot be read, or its record cannot be written ({err.strerror or str(err)[:160]})"
        )
    except MemoryError:
        done = _failed(task, "there is not enough memory to read the log")
    except Exception as err:  # a fault of ours must not take the other logs with it
        done = _failed(task, f"internal error ({err.__class__.__name__}: {str(err)[:160]}); please report it")
    return replace(done, seconds=time.perf_counter() - start, cpu=time.process_time() - cpu)


def _failed(task: LogTask, reason: str) -> AddedLog:
    return AddedLog(task.log.url, task.robot, FAULT, reason=reason)


def _recorded(task: LogTask, type: RobotType, key: str, kind: str, store: EvidenceStore) -> AddedLog:
    url, robot = task.log.url, task.robot
    store.require()
    found: Gathered | None = None
    with opened(task.log, task.earlier) as content:
        if content.digest[:SHORT] in task.known:
            return AddedLog(url, robot, KNOWN, content.digest, replaces=content.starts)
        columns = _with_marks(content.path, type)
        day = day_of(_first_stamp(content, type, columns, url), type.zone, task.day)
        _refuse_other_year(day, task.day)
        if task.since is not None and day < task.since:
            return AddedLog(url, robot, EARLY, content.digest)

        def blocks() -> Iterator[Recording]:
            found = iter_blocks(content.path, type.robot, columns, rows=BLOCK)
            if type.sensors:
                found = sensed_blocks(found, type.robot, type.sensors, columns, content.path, BLOCK)
            return _named(found, url)

        try:
            found = gathered(blocks, type.column_set, type.filter, coarse=kind == "triangles")
        except RecordingError as err:
            raise _as_named(err, url) from None
    record = record_of(
        found, type, robot, content=content.digest, length=content.length, key=key, day=task.day
    )  # only now is it known that the log did not change meanwhile
    name = store.put(record)
    row = IndexRow.of(record, name, url, task.log.stamp)
    return AddedLog(url, robot, NEW, content.digest, row, content.starts)


def _refuse_other_year(day: str, told: str | None) -> None:
    """Raise an error if a log's time stamps and path differ by more than a year, as after a clock reset."""
    if told is not None and abs(date.fromisoformat(day) - date.fromisoformat(told)).days > YEAR:
        raise MinertiaError(
            f"its time stamps are of {day}, but its path says {told}; set the robot's clock, and correct the time "
            "stamps"
        )


def _with_marks(path: Path, type: RobotType) -> ColumnMap:
    """Column map completed with the log's columns of program and load, if the map names none."""
    columns = type.columns
    names = set(column_names(path, columns, type.robot))
    told = {mark: mark for mark in MARKS if getattr(columns, mark) is None and mark in names}
    return replace(columns, **told)  # type: ignore[arg-type]


def _first_stamp(content: LogContent, type: RobotType, columns: ColumnMap, url: str) -> float:
    try:
        return float(next(iter(iter_blocks(content.path, type.robot, columns, rows=FEW))).t[0])
    except RecordingError as err:
        raise _as_named(err, url) from None


def _named(blocks: Iterable[Recording], url: str) -> Iterator[Recording]:
    """Recording blocks named by the URL of the log instead of its local copy."""
    return (replace(block, source=url) for block in blocks)


def _as_named(err: RecordingError, url: str) -> RecordingError:
    return RecordingError(err.message, file=url, column=err.column, row=err.row)


# ---------------------------------------------------------------------- the one that hands out the work

Identity = tuple[str, str, str]  # of a record: robot, content, key


@dataclass
class _Ledger:
    """Index while logs are added: rows by identity and source, new rows, and replaced rows.

    lost: unreadable records, which are created again from their logs.
    """

    store: EvidenceStore
    rows: dict[Identity, dict[str, IndexRow]] = field(default_factory=dict)
    lost: set[Identity] = field(default_factory=set)
    fresh: set[tuple[Identity, str]] = field(default_factory=set)
    replaced: set[Identity] = field(default_factory=set)
    saved: float = field(default_factory=time.monotonic)
    unsaved: str = ""

    def __post_init__(self) -> None:
        listed = self.store.index()
        found = self.store.unlisted(listed)  # workers may outlive the run that would have listed their records
        for row in (*listed, *found):
            self.rows.setdefault(row.identity, {})[row.source] = row
        self.fresh.update((row.identity, row.source) for row in found)

    def all(self) -> list[IndexRow]:
        """All rows."""
        return [row for own in self.rows.values() for row in own.values()]

    def entered(self, done: AddedLog, log: LogSource, key: str) -> AddedLog:
        """Enter the row of a log in the index; return the log with its row."""
        row, own = done.row, self.rows.get((done.robot, done.content, key), {})
        kept = next(iter(own.values()), None)
        if done.status == KNOWN and kept is not None:
            row = replace(kept, source=log.url, stamp=log.stamp)
        if row is None:
            return done
        if row.identity in self.lost:
            self._heal(row)
        elif kept is not None and kept.record != row.record:  # a month file has it already
            self.store.place.remove(row.record)
            row = replace(row, record=kept.record)
        own = self.rows.setdefault(row.identity, {})
        own.pop("", None)  # made from the record alone
        own[row.source] = row
        self.fresh.add((row.identity, row.source))
        for content in done.replaces:
            self._replace((done.robot, content, key), row.source)
        return replace(done, row=row)

    def _heal(self, row: IndexRow) -> None:
        """Point all sources of a log to its re-created record."""
        self.lost.discard(row.identity)
        own = self.rows[row.identity]
        old = {one.record for one in own.values()}
        for source, one in own.items():
            own[source] = replace(one, record=row.record)
            self.fresh.add((row.identity, source))
        self.store.note_damaged((), (name for name in old if name.startswith(EVIDENCE)))

    def _replace(self, old: Identity, source: str) -> None:
        """Remove the earlier content of a log that has grown, unless another file still has it."""
        own = self.rows.get(old, {})
        if set(own) <= {source, ""} and own:
            self.store.discard(next(iter(own.values())))
            del self.rows[old]
            self.replaced.add(old)

    def written(self, *, now: bool = False) -> None:
        """Write the index periodically, merged with the additions of other processes."""
        if not now and time.monotonic() - self.saved < SAVED:
            return
        self.saved, self.unsaved = time.monotonic(), ""
        try:
            self.store.require()
            merged = {(row.identity, row.source): row for row in self.store.index()}
            merged |= {key: self.rows[key[0]][key[1]] for key in self.fresh if key[1] in self.rows.get(key[0], ())}
            placed = {identity for identity, source in merged if source}
            self.store.write_index(
                row
                for (identity, source), row in merged.items()
                if identity not in self.replaced and (source or identity not in placed)
            )
        except MinertiaError as err:  # the records that were written are there, and the next run finds them
            self.unsaved = f"the index was not written: {str(err).removeprefix(f'{self.store.place.url}: ')}"


def add_logs(
    store: EvidenceStore,
    fleet: FleetFile,
    logs: Sequence[LogSource],
    engine: Engine,
    kind: str = "scores",
    tell: Callable[[str], None] = lambda step: None,
) -> AddResult:
    """Add logs to a store; unchanged logs that were added before are not read."""
    keys, ledger = store.keep_fleet(fleet, kind), _Ledger(store)
    tasks, faults, skipped = _tasks(fleet, logs, ledger, keys)
    rows: list[AddedLog] = []
    try:
        for task, done in _results(engine, _batches(fleet, tasks, store, kind, engine.workers)):
            tell(done.source)
            rows.append(ledger.entered(done, task.log, keys[_type_name(fleet, task.robot)]))
            ledger.written()
    except Outage:
        raise  # the next run finds the records that were written
    except BaseException:
        ledger.written(now=True)  # an interrupted run goes on from here
        raise
    ledger.written(now=True)
    if ledger.unsaved:
        faults.append(LogFault(store.place.url, "", ledger.unsaved))
    rows.sort(key=lambda row: row.source)
    faults += [LogFault(row.source, row.robot, row.reason) for row in rows if row.status == FAULT]
    mine = {row.row.identity for row in rows if row.row is not None}
    bad, found = conflicts([row for row in ledger.all() if row.key in keys.values()])
    faults += [fault for fault in found if bad & mine and _concerns(fault, rows)]
    arithmetics = {row.row.arithmetic for row in rows if row.status == NEW and row.row is not None}
    return AddResult(tuple(rows), tuple(faults), skipped, tuple(sorted(arithmetics)))


def _concerns(fault: LogFault, rows: Sequence[AddedLog]) -> bool:
    """Whether a fault involves one of these logs."""
    return any(row.source == fault.source or row.source in fault.reason for row in rows)


def _type_name(fleet: FleetFile, robot: str) -> str:
    found = fleet.robot(robot)
    assert found is not None  # tasks are made of known robots alone
    return found.type


def _tasks(
    fleet: FleetFile, logs: Sequence[LogSource], ledger: _Ledger, keys: Mapping[str, str]
) -> tuple[list[LogTask], list[LogFault], int]:
    """Tasks to read, faults of unusable logs, and the number of unchanged logs."""
    by_source: dict[str, list[IndexRow]] = {}
    contents: dict[tuple[str, str], set[str]] = {}
    for row in ledger.all():
        by_source.setdefault(row.source, []).append(row)
    named, damaged = {log.url for log in logs} | {""}, ledger.store.damaged
    ledger.lost = ledger.store.lost([row for row in ledger.all() if row.source in named or row.record in damaged])
    for row in ledger.all():
        if row.identity not in ledger.lost:
            contents.setdefault((row.robot, row.key), set()).add(row.content[:SHORT])
    tasks, faults, skipped = [], [], 0
    for log in logs:
        robot = log.robot(fleet)
        if robot is None:
            why = "its path names no robot of the fleet; put it into a folder robot=ID, and ID into the fleet file"
            faults.append(LogFault(log.url, "", why))
            continue
        found = fleet.robot(robot)
        assert found is not None
        key = keys[found.type]
        before = [
            row for name in (log.url, "") for row in by_source.get(name, []) if (row.robot, row.key) == (robot, key)
        ]
        same = [row for row in before if (row.source, row.length, row.stamp) == (log.url, log.size, log.stamp)]
        if any(row.identity not in ledger.lost for row in same):
            skipped += 1
            continue
        earlier = tuple((row.length, row.content) for row in before if row.length < log.size)
        since = None if found.since is None else found.since.isoformat()
        known = frozenset(contents.get((robot, key), ()))
        tasks.append(LogTask(log, robot, log.day, known, earlier, since))
    return tasks, faults, skipped


def _batches(fleet: FleetFile, tasks: Sequence[LogTask], store: EvidenceStore, kind: str, workers: int) -> list[Batch]:
    """Batch the tasks by type and size; few logs are spread over all workers."""
    total = sum(task.log.size for task in tasks)
    most_bytes = min(BATCH_BYTES, max(total // (SHARES * workers), 1))
    most_logs = min(BATCH_LOGS, max(len(tasks) // (SHARES * workers), 1))
    batches = []
    for name, type in fleet.types.items():
        data, own = pickle.dumps(type), [task for task in tasks if _type_name(fleet, task.robot) == name]
        held: list[LogTask] = []
        for task in own:
            size = sum(t.log.size for t in held) + task.log.size
            if held and (size > most_bytes or len(held) >= most_logs):
                batches.append(Batch(data, kind, store.place.url, tuple(held)))
                held = []
            held.append(task)
        if held:
            batches.append(Batch(data, kind, store.place.url, tuple(held)))
    return batches


def _results(engine: Engine, batches: Sequence[Batch]) -> Iterator[tuple[LogTask, AddedLog]]:
    """Yield every task with its result; batches lost with their worker are repeated one log at a time."""
    lost: list[Batch] = []
    for batch, found in engine.run(work, batches):
        if isinstance(found, Outage):
            raise found
        if isinstance(found, BaseException):
            lost += [replace(batch, tasks=(task,)) for task in batch.tasks]
            continue
        yield from zip(batch.tasks, found, strict=True)
    for batch, found in engine.run(work, lost, alone=True):
        (task,) = batch.tasks
        if isinstance(found, Outage):
            raise found
        if isinstance(found, BaseException):
            found = [_failed(task, f"reading it ends the process ({type(found).__name__}); the file may be damaged")]
        yield task, found[0]
