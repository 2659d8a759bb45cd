"""Robots of a store as they are fitted and judged: read file by file, each when it is asked for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.errors import MinertiaError
from minertia.fleet.calendar import DayLog, day_evidence, day_number
from minertia.fleet.evidence import EvidenceLayout, FleetEvidence
from minertia.fleet.index import IndexRow
from minertia.fleet.packed_stack import PackedStack
from minertia.fleet.record import EvidenceRecord, records_of
from minertia.fleet.robot_day import RobotDay
from minertia.fleet.store import MONTHS, EvidenceStore
from minertia.fleet.stored_types import StoredType
from minertia.fleet.streams import StreamType
from minertia.identification.problem.linear import LinearModel
from minertia.robot.parameters import full_name

Array = NDArray[np.float64]
KEPT = 6  # files of months that are kept decoded
SMALL = ("robot", "content", "key", "rows", "R")  # columns that fits read
UNKNOWN_MASS = 50.0  # kg, of robots whose file does not say
MAIN = 0.1  # part of a day that a program must run to name it


class _RecordFile:
    """A table of records with the place of each; read by the first of several threads that asks, the others wait.

    widths: columns of lists of one length each, which are taken out of the table as arrays.
    """

    def __init__(self, read: Callable[[], Any], widths: Mapping[str, int]) -> None:
        self._read, self._widths, self._lock = read, widths, Lock()
        self._table: Any = None
        self._places: dict[tuple[str, str, str], int] = {}
        self._numbers: dict[str, Array] = {}

    def places(self) -> dict[tuple[str, str, str], int]:
        """The places of rows by robot, content and key."""
        with self._lock:
            if self._table is None:
                table = self._read()
                heads = zip(*(table.column(name).to_pylist() for name in ("robot", "content", "key")), strict=True)
                self._places = {head: k for k, head in enumerate(heads)}
                for name, width in self._widths.items():
                    flat = np.from_dlpack(table.column(name).combine_chunks().flatten())  # `to_numpy` loads pandas
                    self._numbers[name] = np.asarray(flat, float).reshape(-1, width)
                self._table = table.drop_columns(list(self._widths))
            return self._places

    def rows(self, places: Sequence[int]) -> Any:
        """Some rows of the table; those that follow one another, as a robot's days do, are not copied."""
        return self._table.slice(places[0], len(places)) if _follow(places) else self._table.take(places)

    def numbers(self, name: str, places: Sequence[int]) -> Array:
        """Some rows of an array, likewise."""
        found = self._numbers[name]
        return found[places[0] : places[-1] + 1] if _follow(places) else found[list(places)]


def _follow(places: Sequence[int]) -> bool:
    """Whether places follow one another without a gap."""
    return list(places) == list(range(places[0], places[0] + len(places)))


class _RecordFiles:
    """Tables of records, the last ones kept: robots that follow one another lie in the same files."""

    def __init__(self, store: EvidenceStore, columns: Sequence[str] | None, widths: Mapping[str, int]) -> None:
        self.store, self.columns, self.widths = store, columns, widths
        self._kept: OrderedDict[str, _RecordFile] = OrderedDict()
        self._lock = Lock()

    def rows(self, name: str, wanted: Sequence[IndexRow], alone: str | None = None) -> tuple[_RecordFile, list[int]]:
        """A file and the places of some rows in it; alone: the only robot that will be asked for."""
        file = self._file(name) if alone is None else self._new(name, alone)
        places = file.places()
        missing = [row for row in wanted if row.identity not in places]
        if missing:
            raise MinertiaError(
                f"{self.store.place.url}: {name} does not hold the record of robot '{missing[0].robot}' on "
                f"{missing[0].day} that the index names; run 'minertia fleet check'"
            )
        return file, [places[row.identity] for row in wanted]

    def _new(self, name: str, robot: str | None) -> _RecordFile:
        return _RecordFile(partial(self.store.table, name, self.columns, robot=robot), self.widths)

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


class StoredDays(Mapping[str, Mapping[int, RobotDay]]):
    """Robots with their days, whole: what drift is judged from."""

    def __init__(self, store: EvidenceStore, stored: StoredType, rows: Sequence[IndexRow]) -> None:
        self._rows, self._layout, self._files = _by_robot(rows), stored.layout, _RecordFiles(store, None, {})

    def __getitem__(self, robot: str) -> Mapping[int, RobotDay]:
        days: dict[int, list[EvidenceRecord]] = {}
        for name, own in _by_file(self._rows[robot]).items():
            file, places = self._files.rows(name, own)
            for record in records_of(file.rows(places), self._layout):
                days.setdefault(day_number(record.day), []).append(record)
        return {day: robot_day(days[day]) for day in sorted(days)}

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def robot_day(records: Sequence[EvidenceRecord]) -> RobotDay:
    """All records of one robot on one day."""
    evidence = day_evidence([DayLog(r.first, r.content, r.evidence) for r in records])
    joints = len(evidence.layout.efforts)
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
    """Robots with the triangles of their days: what fits are made from."""

    def __init__(self, store: EvidenceStore, stored: StoredType, rows: Sequence[IndexRow]) -> None:
        self._rows, self._layout = _by_robot(rows), stored.layout
        widths = {"R": stored.layout.packed_length, "rows": len(stored.layout.efforts)}
        self._files = _RecordFiles(store, SMALL, widths)

    def __getitem__(self, robot: str) -> PackedStack:
        return self._found(robot, None)

    def alone(self, robot: str) -> PackedStack:
        """One robot whose neighbours are not asked for: no more is read than it needs."""
        return self._found(robot, robot)

    def _found(self, robot: str, alone: str | None) -> PackedStack:
        rows: list[IndexRow] = []
        packed, samples = [], []
        for name, own in _by_file(self._rows[robot]).items():
            file, places = self._files.rows(name, own, alone)
            rows += own
            packed.append(file.numbers("R", places))
            samples.append(file.numbers("rows", places))
        return _stack(self._layout, rows, _together(packed), _together(samples))

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def _together(parts: Sequence[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _stack(layout: EvidenceLayout, rows: Sequence[IndexRow], packed: Array, samples: Array) -> PackedStack:
    """One triangle for each day; several logs of a day are merged as everywhere."""
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
    """What streams of a stored type are made with: its load at the flange, moving mass and limits."""
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
    """What 1 kg at the last link's frame, and first moments of 1 kg m along its axes, add to the inertial unknowns.

    Those that the ones before show already are left out; None where no effort shows the mass.
    """
    link = model.robot.tip + 1
    found = np.stack([model.values({full_name(symbol, link): 1.0}) for symbol in ("M", "MX", "MY", "MZ")], axis=1)
    if not np.any(found[:, 0]):
        return None
    kept = [0]
    for k in range(1, found.shape[1]):
        if np.linalg.matrix_rank(found[:, [*kept, k]]) > len(kept):
            kept.append(k)
    return np.asarray(found[:, kept])
