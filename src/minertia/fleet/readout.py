"""Lazy reading of a store's robots for fits and drift detection, file by file."""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.fleet.calendar import DayLog, day_evidence, day_number
from minertia.fleet.evidence import EvidenceLayout, FleetEvidence
from minertia.fleet.fit import LostEvidence
from minertia.fleet.index import IndexRow, LogFault
from minertia.fleet.packed_stack import PackedStack
from minertia.fleet.record import EvidenceRecord, records_of
from minertia.fleet.robot_day import RobotDay
from minertia.fleet.store import MONTHS, EvidenceStore
from minertia.fleet.stored_types import StoredType
from minertia.fleet.streams import StreamType
from minertia.fleet.watch import FleetDays
from minertia.identification.problem.linear import LinearModel
from minertia.io.arrays import Array
from minertia.robot.parameters import full_name

KEPT = 6  # files of months that are kept decoded
SMALL = ("robot", "content", "key", "rows", "R")  # columns that fits read
UNKNOWN_MASS = 50.0  # kg, of robots whose file does not say
MAIN = 0.1  # part of a day that a program must run to name it


class _RecordFile:
    """Table of the records of one file; read by the first thread that needs it, while others wait.

    widths: columns of lists of constant length, which are converted to arrays.
    """

    def __init__(self, read: Callable[[], tuple[Any, str]], widths: Mapping[str, int]) -> None:
        self._read, self._widths, self._lock = read, widths, Lock()
        self._table: Any = None
        self.damage = ""
        self._places: dict[tuple[str, str, str], int] = {}
        self._numbers: dict[str, Array] = {}

    def places(self) -> dict[tuple[str, str, str], int]:
        """Row indices by robot, content and key."""
        with self._lock:
            if self._table is None:
                table, self.damage = self._read()
                table = self._of_widths(table)
                heads = zip(*(table.column(name).to_pylist() for name in ("robot", "content", "key")), strict=True)
                finite = np.ones(len(table), bool)
                for name, width in self._widths.items() if len(table) else ():
                    flat = np.from_dlpack(table.column(name).combine_chunks().flatten())  # `to_numpy` loads pandas
                    self._numbers[name] = np.asarray(flat, float).reshape(-1, width)
                    finite &= np.isfinite(self._numbers[name]).all(axis=1)
                self._places = {head: k for k, head in enumerate(heads) if finite[k]}
                self._table = table.drop_columns(list(self._widths))
            return self._places

    def _of_widths(self, table: Any) -> Any:
        """Rows whose lists have the expected length."""
        for name, width in self._widths.items():
            if len(table):
                ends = np.from_dlpack(table.column(name).combine_chunks().offsets)
                kept = np.flatnonzero(np.diff(ends) == width).tolist()
                table = table if len(kept) == len(table) else table.take(kept)
        return table

    def rows(self, places: Sequence[int]) -> Any:
        """Table rows at these indices; contiguous rows, such as the days of one robot, are not copied."""
        return self._table.slice(places[0], len(places)) if _follow(places) else self._table.take(places)

    def numbers(self, name: str, places: Sequence[int]) -> Array:
        """Values of an array column at these row indices; contiguous rows are not copied."""
        found = self._numbers[name]
        return found[places[0] : places[-1] + 1] if _follow(places) else found[list(places)]


def _follow(places: Sequence[int]) -> bool:
    """Whether row indices are contiguous."""
    return list(places) == list(range(places[0], places[0] + len(places)))


class _RecordFiles:
    """Cache of the most recently read record files, as successive robots are in the same files."""

    def __init__(self, store: EvidenceStore, columns: Sequence[str] | None, widths: Mapping[str, int]) -> None:
        self.store, self.columns, self.widths = store, columns, widths
        self._kept: OrderedDict[str, _RecordFile] = OrderedDict()
        self._lost: dict[tuple[str, str, str], tuple[IndexRow, str]] = {}
        self._lock = Lock()

    def rows(
        self, name: str, wanted: Sequence[IndexRow], alone: str | None = None
    ) -> tuple[_RecordFile, list[IndexRow], list[int]]:
        """Record file, the wanted rows that it contains, and their indices; alone: read only this robot."""
        file = self._file(name) if alone is None else self._new(name, alone)
        places = file.places()
        found = [row for row in wanted if row.identity in places]
        for row in wanted:
            if row.identity not in places:
                self.lose(row, file.damage or "it is not in its file")
        return file, found, [places[row.identity] for row in found]

    def lose(self, row: IndexRow, why: str) -> None:
        """Note a record that cannot be used, with the reason."""
        self._lost[row.identity] = row, why

    def has_lost(self) -> bool:
        """Whether records could not be used."""
        return bool(self._lost)

    def faults(self) -> tuple[LogFault, ...]:
        """Faults of unreadable records, one per file; the files are also noted as damaged in the store."""
        files: dict[str, list[tuple[IndexRow, str]]] = {}
        for row, why in self._lost.values():
            files.setdefault(row.record, []).append((row, why))
        self.store.note_damaged(files)
        return tuple(_damage(name, own) for name, own in sorted(files.items()))

    def _new(self, name: str, robot: str | None) -> _RecordFile:
        return _RecordFile(partial(self.store.readable, name, self.columns, robot), self.widths)

    def _file(self, name: str) -> _RecordFile:
        new = self._new(name, None)
        if not name.startswith(MONTHS):
            return new
        with self._lock:
            own = self._kept.setdefault(name, new)
            self._kept.move_to_end(name)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return own


def _damage(name: str, own: Sequence[tuple[IndexRow, str]]) -> LogFault:
    """Fault that describes the unreadable records of a file."""
    robots, days = sorted({row.robot for row, _ in own}), sorted({row.day for row, _ in own})
    who = f"robot '{robots[0]}'" if len(robots) == 1 else f"{len(robots)} robots ({', '.join(robots[:4])} ...)"
    when = f"on {days[0]}" if len(days) == 1 else f"from {days[0]} to {days[-1]}"
    what = "the record" if len(own) == 1 else f"{len(own)} records"
    sources = [row.source for row, _ in own if row.source]
    log = f" ({sources[0]}{' ...' * (len(sources) > 1)})" if sources else ""
    return LogFault(
        name,
        robots[0] if len(robots) == 1 else "",
        f"{what} of {who} {when} cannot be read ({own[0][1]}) and {'is' if len(own) == 1 else 'are'} ignored; "
        f"'minertia fleet add' with {'its log' if len(own) == 1 else 'their logs'}{log} writes "
        f"{'it' if len(own) == 1 else 'them'} again",
    )


def _by_robot(rows: Sequence[IndexRow]) -> dict[str, list[IndexRow]]:
    found: dict[str, list[IndexRow]] = {}
    for row in sorted(rows, key=lambda r: (r.robot, r.day, r.first, r.content)):
        found.setdefault(row.robot, []).append(row)
    return found


def _by_file(rows: Sequence[IndexRow]) -> dict[str, list[IndexRow]]:
    found: dict[str, list[IndexRow]] = {}
    for row in rows:
        found.setdefault(row.record, []).append(row)
    return found


def _is_finite(evidence: FleetEvidence) -> bool:
    """Whether all values of the evidence are finite."""
    parts: list[NDArray[Any]] = [*evidence.triangles]
    if evidence.stretches is not None:
        parts += evidence.stretches.scores
    return all(bool(np.isfinite(part).all()) for part in parts)


class StoredDays(FleetDays):
    """Days of the robots of a store with all stored statistics, for drift detection.

    since: time of the state of the last report [s since 1970]; record files changed later may have lost records.
    """

    def __init__(
        self, store: EvidenceStore, stored: StoredType, rows: Sequence[IndexRow], since: float = math.inf
    ) -> None:
        self._store, self._since = store, since
        self._rows, self._layout, self._files = _by_robot(rows), stored.layout, _RecordFiles(store, None, {})
        self._days: dict[str, dict[int, list[IndexRow]]] = {}

    def robots(self) -> list[str]:
        """Robots with records."""
        return list(self._rows)

    def records(self, robot: str) -> Mapping[int, str]:
        """Days with records, and a digest of the contents of each."""
        return {day: _digest(own) for day, own in self._by_day(robot).items()}

    def _by_day(self, robot: str) -> dict[int, list[IndexRow]]:
        if robot not in self._days:
            found: dict[int, list[IndexRow]] = {}
            self._days[robot] = found
            for row in self._rows[robot]:
                found.setdefault(day_number(row.day), []).append(row)
        return self._days[robot]

    def read(self, robot: str, days: Collection[int]) -> dict[int, RobotDay]:
        """Some days of a robot, without records that cannot be read (`faults`)."""
        every, found = self._by_day(robot), dict[int, list[EvidenceRecord]]()
        rows = [row for day in sorted(days) for row in every[day]]
        for name, own in _by_file(rows).items():
            file, there, places = self._files.rows(name, own)
            for row, record in self._records(file, there, places):
                found.setdefault(day_number(row.day), []).append(record)
        return {day: robot_day(found[day]) for day in sorted(found)}

    def doubtful(self) -> Collection[str]:
        """Robots with records in files that changed after the last report, are damaged or gone.

        A changed monthly file, which `compact` has verified, is read again; only robots that lost records count.
        """
        files: dict[str, list[IndexRow]] = {}
        for rows in self._rows.values():
            for row in rows:
                files.setdefault(row.record, []).append(row)
        when, damaged = self._store.place.changed(list(files)), self._store.damaged
        found: set[str] = set()
        for name, rows in files.items():
            if name in damaged or name not in when:
                found |= {row.robot for row in rows}
            elif when[name] > self._since:
                kept = self._files.rows(name, rows)[1] if name.startswith(MONTHS) else ()
                found |= {row.robot for row in rows} - {row.robot for row in kept}
        return found

    def _records(
        self, file: _RecordFile, rows: Sequence[IndexRow], places: Sequence[int]
    ) -> Iterator[tuple[IndexRow, EvidenceRecord]]:
        """Records with their index rows; malformed or non-finite records are reported and excluded."""
        for row, place in zip(rows, places, strict=True):
            try:
                (record,) = records_of(file.rows([place]), self._layout)
            except Exception as err:  # whatever lists of a wrong length make NumPy raise
                self._files.lose(row, (str(err) or type(err).__name__).splitlines()[0][:120])
                continue
            if _is_finite(record.evidence):
                yield row, record
            else:
                self._files.lose(row, "it contains numbers that are not finite")

    def is_damaged(self) -> bool:
        """Whether records could not be read."""
        return self._files.has_lost()

    def kept_from(self) -> int:
        """First day from which on all records are kept."""
        return self._store.kept_from

    def faults(self) -> tuple[LogFault, ...]:
        """Faults of unreadable records of the requested robots."""
        return self._files.faults()


def _digest(rows: Sequence[IndexRow]) -> str:
    """Digest of the contents of the records of a day, in the order in which they are merged."""
    return hashlib.sha256(" ".join(row.content for row in rows).encode()).hexdigest()[:16]


def robot_day(records: Sequence[EvidenceRecord]) -> RobotDay:
    """Merge all records of one robot on one day."""
    evidence = day_evidence([DayLog(r.first, r.content, r.evidence) for r in records])
    joints = len(records[0].positions)
    warm = [(r.temperature, r.samples) for r in records if len(r.temperature) == joints]
    mean = np.average([t for t, _ in warm], axis=0, weights=[n for _, n in warm]) if warm else np.full(joints, np.nan)
    counts = sum(np.concatenate([r.positions, r.speeds]).astype(float) for r in records)
    assert isinstance(counts, np.ndarray)
    histograms = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    programs: dict[int, int] = {}
    for record in records:
        for number, samples in record.programs.items():
            programs[number] = programs.get(number, 0) + samples
    whole = max(sum(programs.values()), 1)
    named = sorted(n for n, samples in programs.items() if samples > MAIN * whole)
    return RobotDay(evidence, np.asarray(mean, float), histograms, ", ".join(str(n) for n in named))


class StoredStacks(Mapping[str, PackedStack]):
    """Lazy mapping from robots to the triangular factors of their days, for fits."""

    def __init__(self, store: EvidenceStore, stored: StoredType, rows: Sequence[IndexRow]) -> None:
        self._rows, self._layout = _by_robot(rows), stored.layout
        widths = {"R": stored.layout.packed_length, "rows": len(stored.layout.efforts)}
        self._files = _RecordFiles(store, SMALL, widths)

    def __getitem__(self, robot: str) -> PackedStack:
        return self._found(robot, None)

    def faults(self) -> tuple[LogFault, ...]:
        """Faults of unreadable records of the requested robots."""
        return self._files.faults()

    def alone(self, robot: str) -> PackedStack:
        """Stack of one robot, reading only the row groups that may contain its records."""
        return self._found(robot, robot)

    def _found(self, robot: str, alone: str | None) -> PackedStack:
        rows: list[IndexRow] = []
        packed, samples = [], []
        for name, own in _by_file(self._rows[robot]).items():
            file, found, places = self._files.rows(name, own, alone)
            if found:
                rows += found
                packed.append(file.numbers("R", places))
                samples.append(file.numbers("rows", places))
        if not rows:
            raise LostEvidence(f"none of the {len(self._rows[robot])} records of robot '{robot}' can be read")
        return _stack(self._layout, rows, _together(packed), _together(samples))

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def _together(parts: Sequence[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _stack(layout: EvidenceLayout, rows: Sequence[IndexRow], packed: Array, samples: Array) -> PackedStack:
    """Stack with one triangular factor per day; several logs of a day are merged."""
    days: dict[int, list[int]] = {}
    for k, row in enumerate(rows):
        days.setdefault(day_number(row.day), []).append(k)
    if len(days) == len(rows):
        return PackedStack.of(layout, list(days), packed, samples)
    merged = [
        day_evidence(
            DayLog(rows[k].first, rows[k].content, FleetEvidence.unpacked(layout, packed[k], samples[k])) for k in own
        )
        for own in days.values()
    ]
    return PackedStack.of(
        layout, list(days), np.stack([e.packed() for e in merged]), np.stack([e.samples for e in merged])
    )


def stream_type(stored: StoredType) -> StreamType:
    """Stream settings of a stored type: load directions at the flange, moving mass and limits."""
    robot, model = stored.type.robot, stored.type.column_set.model
    names = robot.coordinate_names
    limits = [robot.joints[j].limits for j in robot.independent]
    efforts = {n: own.effort for n, own in zip(names, limits, strict=True) if own is not None and own.effort}
    speeds = {n: own.velocity for n, own in zip(names, limits, strict=True) if own is not None and own.velocity}
    mass = sum(float(ten[-1]) for ten in robot.links if ten is not None) if robot.has_parameters else 0.0
    return StreamType(
        stored.type.name, load_directions(model), mass if mass > 0 else UNKNOWN_MASS, None, efforts, speeds
    )


def load_directions(model: LinearModel) -> Array | None:
    """Change of the inertial unknowns due to 1 kg at the last link's frame, and to first moments of 1 kg m.

    A sensor in the last link carries the load.  Linearly dependent changes are omitted; None if the mass is
    unidentifiable.
    """
    robot = model.robot
    carrying = [robot.n_joints + 1 + k for k, one in enumerate(robot.sensors) if one.joint == robot.tip]
    link = carrying[-1] if carrying else robot.tip + 1
    found = np.stack([model.values({full_name(symbol, link): 1.0}) for symbol in ("M", "MX", "MY", "MZ")], axis=1)
    if not np.any(found[:, 0]):
        return None
    kept = [0]
    for k in range(1, found.shape[1]):
        if np.linalg.matrix_rank(found[:, [*kept, k]]) > len(kept):
            kept.append(k)
    return np.asarray(found[:, kept])
