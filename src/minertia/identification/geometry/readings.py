"""Measurement files: meaning of their columns, and their readings."""

from __future__ import annotations

import codecs
import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.options import MEASURED, ROTATIONS, MeasureColumns
from minertia.identification.geometry.chain import Array, Chain
from minertia.identification.geometry.layout import Postures
from minertia.identification.geometry.measures import KINDS, SamePointMeasure, ToolReadings
from minertia.identification.geometry.ply import read_ply
from minertia.identification.logs.bag_messages import ONLY, PLACE, TURN
from minertia.identification.logs.options import ANGLES, LENGTHS, ColumnMap
from minertia.identification.logs.readers import is_bag, open_log
from minertia.identification.logs.worded import UNITS
from minertia.io.errors import RecordingError
from minertia.io.files import is_file, reading, why_no_file
from minertia.robot.robot import Robot

BAGS = (".mcap", ".db3")
SI = "SI"  # unit of columns in rad or m
POSITION = "position_"  # before the name of a joint, in columns of bags
STILL, STOP = 1e-3, 0.3  # rad or m, s: joints of a bag stand where they move less for that long
WITH_UNIT = re.compile(r"(.*?)\s*[\[(]\s*([\w°]+)\s*[\])]")  # a column with its unit
PLY = ".ply"  # points, with the joints in a table of the same name beside it
TEXT = (".csv", ".txt", ".tsv", ".dat")
MOST_BYTES = 200_000_000
COMMANDED = ("q_cmd{j}", "q_ref{j}", "q_des{j}")  # names of commanded positions


@dataclass(frozen=True)
class Measurements:
    """Readings of one or more files, for a calibration.

    places: region index of each posture, if the measurement names regions.  notes: messages on excluded readings.
    fixed: names of the fixed points, planes or marks of each measurement that has them, in order.
    """

    postures: Postures
    places: NDArray[np.intp] | None
    notes: tuple[str, ...]
    files: tuple[str, ...]
    fixed: Mapping[str, Sequence[str]] = field(default_factory=dict)


def _named(measures: Sequence[MeasureColumns]) -> tuple[MeasureColumns, ...]:
    """Measurements with names; known distances between group positions are attached to their measurement."""
    named = [m if m.name else replace(m, name=str(k)) for k, m in enumerate(measures, 1)]
    known = [m for m in named if m.kind == "distance_between" and m.of is not None]
    rest = [m for m in named if m not in known]
    for distance in known:
        rest = [
            replace(m, of=distance.of, within=distance.within, apart=distance.apart) if m.kind == "same_point" else m
            for m in rest
        ]
    return tuple(rest)


# ------------------------------------------------------------------ tables of a file


class MeasurementTable:
    """One measurement file: values by column (empty cells are NaN), and labels for columns that group rows."""

    def __init__(self, path: str | Path, columns: ColumnMap | None = None, *, by_wrench: bool = False) -> None:
        self.path, self.notes, self.units = Path(path), list[str](), dict[str, str]()
        is_folder = is_bag(self.path)
        if not is_folder and not is_file(self.path):
            raise RecordingError(why_no_file(self.path), file=self.path)
        reading(self.path)
        self._cells = self._text_cells() if self.path.suffix.lower() in TEXT and not is_folder else None
        self._log, self._stops = None, dict[str, Array]()
        self._beside: MeasurementTable | None = None
        if self.path.suffix.lower() == PLY:
            self._stops = read_ply(self.path)
            self._beside = self._joints_beside()
            self.names: tuple[str, ...] = (*self._stops, *(self._beside.names if self._beside else ()))
        elif self._cells is not None:
            self.names = tuple(self._cells)
        elif by_wrench and (is_folder or self.path.suffix.lower() in BAGS):
            self._stops = self._by_wrench(columns or ColumnMap())
            self.names = tuple(self._stops)
        elif columns is not None and (is_folder or self.path.suffix.lower() in BAGS):
            self._stops = self._at_stops(replace(columns, pose_topic=columns.pose_topic or ONLY))
            self.names = tuple(self._stops)
        else:
            self._log = open_log(self.path, ColumnMap())
            self.names = self._log.names()

    def _joints_beside(self) -> MeasurementTable | None:
        """Table of the same name beside points, a row for each: joints and labels; None where there is none."""
        found = [path for ending in TEXT if is_file(path := self.path.with_suffix(ending))]
        if not found:
            return None
        table = MeasurementTable(found[0])
        if len(table) != len(self):
            raise RecordingError(f"'{found[0].name}' has {len(table)} rows for {len(self)} points", file=self.path)
        self.units = table.units
        return table

    def _by_wrench(self, columns: ColumnMap) -> dict[str, Array]:
        """Each wrench of a bag with the latest joint positions and the pose of its frame in tf."""
        log = open_log(self.path, columns)
        log.by_wrench()
        names = log.names()
        blocks = list(log.blocks(frozenset(names), 1_000_000))
        found = {name: np.concatenate([b.columns[name] for b in blocks]) for name in names}
        named = {name.removeprefix(POSITION): values for name, values in found.items()}
        self.units = dict.fromkeys(named, SI)
        return named

    def _at_stops(self, columns: ColumnMap) -> dict[str, Array]:
        """Mean joint positions and measured pose at each stop in a bag; readings in motion are excluded."""
        log = open_log(self.path, columns)
        names = [n for n in log.names() if n in (*PLACE, *TURN, "t") or n.startswith(POSITION)]
        blocks = list(log.blocks(frozenset(names), 1_000_000))
        found = {name: np.concatenate([b.columns[name] for b in blocks]) for name in names} if blocks else {}
        joints = [name for name in names if name.startswith(POSITION)]
        if not found or not joints:
            raise RecordingError("the bag has no measured pose after a joint state", file=self.path)
        stops = still_parts(np.column_stack([found[name] for name in joints]), found["t"])
        if not stops:
            raise RecordingError(
                f"the joints never stand still for {STOP:g} s while poses are measured; stop at each posture",
                file=self.path,
            )
        if TURN[0] in found:  # q and -q are one rotation
            turns = np.column_stack([found[name] for name in TURN])
            for part in stops:
                turns[part] *= np.where(turns[part] @ turns[part][0] < 0, -1.0, 1.0)[:, None]
            found |= dict(zip(TURN, turns.T, strict=True))
        total, used = len(found["t"]), sum(part.stop - part.start for part in stops)
        self.notes.append(f"{used} of {total} poses were measured at {len(stops)} stops; the others are left out")
        means = {name: np.array([values[part].mean() for part in stops]) for name, values in found.items()}
        named = {name.removeprefix(POSITION): values for name, values in means.items()}
        self.units = dict.fromkeys(named, SI)  # as ROS has them
        return named

    def _text_cells(self) -> dict[str, list[str]]:
        if self.path.stat().st_size > MOST_BYTES:
            raise RecordingError(
                f"the file of measurements is larger than the limit of {MOST_BYTES // 1000000} MB", file=self.path
            )
        text = _decoded(self.path.read_bytes())
        lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
        if not lines:
            raise RecordingError("the file is empty", file=self.path)
        delimiter = max(";\t,", key=lambda d: (lines[0].count(d), d != ","))
        if delimiter in lines[0]:
            rows = list(csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter))
        else:  # columns of a tracker, set apart by spaces
            rows = [line.split() for line in lines]
        header = [cell.strip() for cell in rows[0]]
        for k, row in enumerate(rows[1:], 1):
            if len(row) != len(header):
                raise RecordingError(
                    f"the row has {len(row)} cells, but the header has {len(header)}", file=self.path, row=k
                )
        if len(rows) < 2:
            raise RecordingError("the file has a header and no rows", file=self.path)
        self._decimal = "," if delimiter == ";" and any("," in c for row in rows[1:3] for c in row) else "."
        cells = {name: [row[k].strip() for row in rows[1:]] for k, name in enumerate(header)}
        for name in header:  # x1 [mm] is x1, too
            found = WITH_UNIT.fullmatch(name)
            unit = _unit(found[2]) if found else None
            if found and unit and found[1] not in cells:
                cells[found[1]] = cells[name]
                self.units |= dict.fromkeys((name, found[1]), unit)
        return cells

    @property
    def has_points_alone(self) -> bool:
        """Whether this is a PLY file without a table of joints beside it."""
        return self.path.suffix.lower() == PLY and self._beside is None

    def __len__(self) -> int:
        if self._stops:
            return len(next(iter(self._stops.values())))
        if self._cells is not None:
            return len(next(iter(self._cells.values())))
        return len(self.numbers([self.names[0]])[:, 0])

    def require(self, names: Sequence[str], what: str) -> None:
        """Raise an error for missing columns."""
        missing = [name for name in names if name not in self.names]
        if missing:
            some = ", ".join(self.names[:20])
            raise RecordingError(f"there is no column '{missing[0]}' for {what}; the file has {some}", file=self.path)

    def numbers(self, names: Sequence[str]) -> Array:
        """Values of some columns (N, len(names)); NaN for empty cells."""
        if self._stops:
            return np.column_stack([self._column(name) for name in names])
        if self._cells is None:
            assert self._log is not None
            blocks = list(self._log.blocks(frozenset(names), 1_000_000))
            return np.column_stack([np.concatenate([b.columns[name] for b in blocks]) for name in names])
        return np.column_stack(
            [[self._number(cell, name, k) for k, cell in enumerate(self._cells[name], 1)] for name in names]
        )

    def _column(self, name: str) -> Array:
        if name in self._stops or self._beside is None:
            return self._stops[name]
        return self._beside.numbers([name])[:, 0]

    def _number(self, cell: str, name: str, row: int) -> float:
        if not cell or cell.lower() in ("nan", "na", "-"):
            return math.nan
        try:
            return float(cell.replace(",", ".") if self._decimal == "," else cell)
        except ValueError:
            raise RecordingError(f"'{cell[:40]}' is not a number", file=self.path, column=name, row=row) from None

    def labels(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Text of some columns, row by row."""
        if self._cells is not None:
            return list(zip(*(self._cells[name] for name in names), strict=True))
        if self._beside is not None and set(names) <= set(self._beside.names):
            return self._beside.labels(names)
        return [tuple(f"{value:g}" for value in row) for row in self.numbers(names)]


def _decoded(data: bytes) -> str:
    """Text of a file in UTF-8 or UTF-16, else in the encoding of European spreadsheets."""
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return data.decode("windows-1252", errors="replace")


def _unit(word: str) -> str | None:
    """Unit of angles or lengths that a word in a header states; None for another."""
    known = {**{unit: unit for unit in (*ANGLES, *LENGTHS)}, "µm": "um", "μm": "um"}
    option, unit = UNITS.get(word.lower(), ("", ""))
    return unit if option == "angle" else known.get(word)


def still_parts(positions: Array, t: Array) -> list[slice]:
    """Parts of a recording (N, joints) at times t (N,) [s] in which no joint moves, each of at least `STOP` seconds."""
    parts, first = [], 0
    for k in range(1, len(t) + 1):
        if k == len(t) or np.abs(positions[k] - positions[first]).max() > STILL:
            if t[k - 1] - t[first] >= STOP:
                parts.append(slice(first, k))
            first = k
    return parts


# ------------------------------------------------------------------ readings


def read_measurements(
    paths: Sequence[str | Path],
    chain: Chain,
    columns: ColumnMap,
    given: Sequence[MeasureColumns] = (),
    fixed: Mapping[str, Sequence[str]] | None = None,
) -> Measurements:
    """Read the measurements of some files for a chain; unspecified columns are inferred from the header.

    given: the measurements.  fixed: as in `Measurements`, the points, planes or marks that were fitted; readings
    of any other then raise an error.
    """
    tables = [MeasurementTable(path, columns) for path in paths]
    q = np.concatenate([joint_positions(table, chain, columns) for table in tables])
    notes = [note for table in tables for note in table.notes]
    measures, places, names = [], None, dict(fixed or {})
    for m in _named(given) or _found_measures(tables[0]):
        if MEASURED[m.kind].is_fixed and m.name not in names:
            names[m.name] = _fixed_names(m, tables)
        measure, region, note = _measure(m, tables, columns, names.get(m.name, ()))
        measures.append(measure)
        notes += note
        places = region if region is not None else places
    used = np.zeros(len(q), bool)
    for measure in measures:
        used[measure.posture] = True
    is_known = np.isfinite(q).all(axis=1)
    if not is_known.all():
        notes.append(f"{int((~is_known).sum())} postures without joint positions are ignored")
    kept = np.flatnonzero(used & is_known)
    if not len(kept):
        raise RecordingError("no posture has a reading", file=tables[0].path)
    postures = Postures(q, tuple(measures), _commanded(tables, chain, columns)).take(kept)
    found = None if places is None else np.unique(places[kept], return_inverse=True)[1].astype(np.intp)
    return Measurements(postures, found, tuple(notes), tuple(str(t.path) for t in tables), names)


def _commanded(tables: Sequence[MeasurementTable], chain: Chain, columns: ColumnMap) -> Array | None:
    """Commanded coordinates (N, robot.n) [rad, m] of files that have them beside those of `q`; None for others."""
    own, count = columns.q or "", len(chain.coordinates)
    for names in (columns.command,) if columns.command else COMMANDED:
        wanted = _expanded(names, chain.robot, chain.coordinates)
        if names != own and len(wanted) == count and all(set(wanted) <= set(table.names) for table in tables):
            named = replace(columns, q=names)
            found = np.concatenate([joint_positions(table, chain, named) for table in tables])
            return found if np.isfinite(found).all() else None
    return None


def _found_joints(table: MeasurementTable, chain: Chain) -> tuple[str, ...]:
    """Find the columns of the chain's coordinates: by joint names, else q1, q2, ..."""
    robot = chain.robot
    wanted = [robot.coordinate_names[c] for c in chain.coordinates]
    if all(name in table.names for name in wanted):
        return tuple(wanted)
    counted = [f"q{k + 1}" for k in range(len(wanted))]
    if all(name in table.names for name in counted):
        return tuple(counted)
    if table.has_points_alone:
        raise RecordingError(
            f"the points have no joint positions; put these into a table '{table.path.stem}.csv' beside them, a row "
            "for each point",
            file=table.path,
        )
    some = ", ".join(table.names[:20])
    raise RecordingError(
        f"the header names neither the joints ({', '.join(wanted[:8])}) nor q1 to q{len(wanted)}; it has {some}; "
        'name the columns with q = "..." in [columns] of a file given by --columns',
        file=table.path,
    )


def _found_measures(table: MeasurementTable) -> tuple[MeasureColumns, ...]:
    """Find poses (x y z qx qy qz qw) or points (x1 y1 z1, x2 ...) in a header."""
    names = set(table.names)
    if {"x", "y", "z", "qx", "qy", "qz", "qw"} <= names:
        return (MeasureColumns("pose", "1", ("x", "y", "z"), ("qx", "qy", "qz", "qw")),)
    if {"x", "y", "z"} <= names:
        return (MeasureColumns("point", "1", ("x", "y", "z")),)
    numbers = sorted({int(m[1]) for name in names if (m := re.fullmatch(r"x_?(\d+)", name))})
    found = []
    for k in numbers:
        for pattern in (("x{}", "y{}", "z{}"), ("x_{}", "y_{}", "z_{}")):
            at = tuple(p.format(k) for p in pattern)
            if set(at) <= names:
                found.append(MeasureColumns("point", str(k), at))
                break
    if not found:
        raise RecordingError(
            "the header names no measured points (x y z, or x1 y1 z1 ...); describe the measurement with "
            "[[measure]] in a file given by --columns",
            file=table.path,
        )
    return tuple(found)


def joint_positions(table: MeasurementTable, chain: Chain, columns: ColumnMap) -> Array:
    """Coordinates of the robot (N, robot.n) [rad, m]; those that do not move the chain stay at zero."""
    robot, wanted = chain.robot, chain.coordinates
    names = _expanded(columns.q or _found_joints(table, chain), robot, wanted)
    table.require(names, "the joints")
    q = np.zeros((len(table), robot.n))
    for name, c in zip(names, wanted, strict=True):
        turns = robot.joints[robot.independent[c]].kind == "revolute"
        given = (columns.angle, "angle", "of the joints") if turns else (columns.length, "length", "of slides")
        q[:, c] = _scale(*given, ANGLES if turns else LENGTHS, table, [name]) * table.numbers([name])[:, 0]
    return q


def _expanded(template: str | Sequence[str], robot: Robot, wanted: Sequence[int]) -> list[str]:
    if not isinstance(template, str):
        names = list(template)
        if len(names) == robot.n and len(names) != len(wanted):
            return [names[c] for c in wanted]
        if len(names) != len(wanted):
            joints = ", ".join(robot.coordinate_names[c] for c in wanted)
            raise RecordingError(f"q names {len(names)} columns for {len(wanted)} joints ({joints})")
        return names
    return [
        template.replace("{joint}", robot.coordinate_names[c]).replace("{j}", str(k + 1)).replace("{j0}", str(k))
        for k, c in enumerate(wanted)
    ]


def _scale(
    given: str | None, key: str, what: str, known: Mapping[str, float], table: MeasurementTable, names: Sequence[str]
) -> float:
    """Conversion factor to SI units for the given unit, else for the unit in the header of these columns."""
    named = {table.units.get(name) for name in names}
    unit = given if given is not None else named.pop() if len(named) == 1 else None
    if unit == SI:
        return 1.0
    if unit is None or unit not in known:
        raise RecordingError(
            f'the unit {what} is unknown; give {key} = "{next(iter(known))}" in [columns], or --{key} '
            f"({', '.join(known)})",
            file=table.path,
        )
    return known[unit]


Read = tuple[ToolReadings, "NDArray[np.intp] | None", list[str]]


def _fixed_names(m: MeasureColumns, tables: Sequence[MeasurementTable]) -> list[str]:
    """Sorted labels of the fixed points, planes or marks of a measurement."""
    for table in tables:
        table.require(m.groups, f"the measurement '{m.name}' ({m.kind})")
    return sorted({label for table in tables for label in _labels(m, table)})


def _measure(m: MeasureColumns, tables: Sequence[MeasurementTable], columns: ColumnMap, fixed: Sequence[str]) -> Read:
    """Readings of one [[measure]], the region of each row if named, and messages about excluded rows."""
    for table in tables:
        table.require((*m.at, *m.rotation, *m.groups), f"the measurement '{m.name}' ({m.kind})")
    total = sum(len(table) for table in tables)
    if MEASURED[m.kind].is_bound:
        return _same_point(m, tables, total)
    values = np.concatenate([_values(m, table, columns) for table in tables])
    is_there = np.isfinite(values).all(axis=1) & ~_is_blank(m, tables)
    left = int((~is_there).sum())
    notes = [f"measurement '{m.name}': {left} of {total} readings are missing"] if left else []
    posture = np.flatnonzero(is_there)
    return _made(m, posture, values[is_there], tables, fixed), None, notes


def _is_blank(m: MeasureColumns, tables: Sequence[MeasurementTable]) -> NDArray[np.bool_]:
    """Mask of all-zero readings: trackers write 0 0 0 if they found no target."""
    if MEASURED[m.kind].zero_counts or not m.at:
        return np.zeros(sum(len(t) for t in tables), bool)
    raw = np.concatenate([table.numbers(m.at) for table in tables])
    return np.asarray((raw == 0).all(axis=1))


def _values(m: MeasureColumns, table: MeasurementTable, columns: ColumnMap) -> Array:
    row, scale = MEASURED[m.kind], 1.0
    if row.is_length:
        scale = _scale(columns.length, "length", "of what was measured", LENGTHS, table, m.at)
    if len(m.at) != row.at and (m.at or row.needs_at):
        raise RecordingError(
            f"a measurement of kind '{m.kind}' needs {row.at or 'no'} columns in 'at', not {len(m.at)}", file=table.path
        )
    parts = [scale * table.numbers(m.at)] if m.at else []
    parts += [rotation_matrices(m, table)] if row.has_rotation else []
    return np.concatenate(parts, axis=1) if parts else np.zeros((len(table), row.at))


def rotation_matrices(m: MeasureColumns, table: MeasurementTable) -> Array:
    """Rotation matrices of all rows as nine numbers each, by rows."""
    from scipy.spatial.transform import Rotation

    if len(m.rotation) != ROTATIONS[m.rotation_as]:
        raise RecordingError(
            f"rotation_as = \"{m.rotation_as}\" needs {ROTATIONS[m.rotation_as]} columns in 'rotation', "
            f"not {len(m.rotation)}",
            file=table.path,
        )
    raw = table.numbers(m.rotation)
    out = np.full((len(raw), 9), np.nan)
    ok = np.isfinite(raw).all(axis=1) & (np.abs(raw).sum(axis=1) > 0 if m.rotation_as in ("xyzw", "wxyz") else True)
    x = raw[ok]
    if m.rotation_as == "wxyz":
        x = x[:, [1, 2, 3, 0]]
    if m.rotation_as in ("xyzw", "wxyz"):
        made = Rotation.from_quat(x).as_matrix()
    elif m.rotation_as == "matrix":
        made = Rotation.from_matrix(x.reshape(-1, 3, 3)).as_matrix()
    else:
        made = (Rotation.from_euler("xyz", x) if m.rotation_as == "rpy" else Rotation.from_rotvec(x)).as_matrix()
    out[ok] = made.reshape(-1, 9)
    return out


def _numbered(labels: Sequence[tuple[str, ...]]) -> tuple[NDArray[np.intp], list[tuple[str, ...]]]:
    """Index of each label among the distinct labels, and these in sorted order."""
    known = sorted(set(labels))
    where = {label: k for k, label in enumerate(known)}
    return np.array([where[label] for label in labels], np.intp), known


def _made(
    m: MeasureColumns,
    posture: NDArray[np.intp],
    values: Array,
    tables: Sequence[MeasurementTable],
    fixed: Sequence[str],
) -> ToolReadings:
    number = _numbers_of(m, posture, tables, fixed)
    if MEASURED[m.kind].has_camera and m.camera is None:
        raise RecordingError(
            f"a measurement of kind '{m.kind}' needs camera = [fx, fy, cx, cy] in pixels", file=tables[0].path
        )
    return KINDS[m.kind].read(m, posture, values, number)


def _labels(m: MeasureColumns, table: MeasurementTable) -> list[str]:
    """Label of each row: its entries in the columns `groups`, joined to one text."""
    return [" ".join(label) for label in table.labels(m.groups)] if m.groups else [""] * len(table)


def _numbers_of(
    m: MeasureColumns, posture: NDArray[np.intp], tables: Sequence[MeasurementTable], fixed: Sequence[str]
) -> NDArray[np.intp]:
    """Index of the fixed point, plane or mark of each reading; raises an error for one that was not fitted."""
    if not fixed:
        return np.zeros(len(posture), np.intp)
    labels = [label for table in tables for label in _labels(m, table)]
    where = {name: k for k, name in enumerate(fixed)}
    strange = next((labels[k] for k in posture if labels[k] not in where), None)
    if strange is not None:
        raise RecordingError(
            f"'{strange}' of the measurement '{m.name}' is not among the fitted targets "
            f"({', '.join(fixed)[:80]}), so its location is unknown; also fit readings of it",
            file=tables[0].path,
        )
    return np.array([where[labels[k]] for k in posture], np.intp)


def _same_point(m: MeasureColumns, tables: Sequence[MeasurementTable], total: int) -> Read:
    if not m.groups:
        raise RecordingError(
            "a measurement of kind 'same_point' needs 'groups', the columns that distinguish the points",
            file=tables[0].path,
        )
    labels = [(str(k), *label) for k, table in enumerate(tables) for label in table.labels(m.groups)]
    group, known = _numbered(labels)
    single = [" ".join(known[g][1:]) for g, count in enumerate(np.bincount(group)) if count < 2]
    notes = (
        [f"{len(single)} points were touched only once, which gives no information: {', '.join(single[:5])}"]
        if single
        else []
    )
    pairs, apart = _pairs(m, known)
    region = None
    if len(m.groups) > 1:
        region = _numbered([label[:2] for label in labels])[0]
    measure = SamePointMeasure(np.arange(total), np.zeros((total, 3)), m.name, group, pairs, apart)
    return measure, region, notes


def _pairs(m: MeasureColumns, known: Sequence[tuple[str, ...]]) -> tuple[NDArray[np.intp], Array]:
    """Pairs of groups that differ in the columns `of` and agree in `within`, and their known distance [m]."""
    if m.of is None or m.apart is None:
        return np.zeros((0, 2), np.intp), np.zeros(0)
    at = [1 + m.groups.index(name) for name in m.within]
    pairs = [
        (a, b)
        for a in range(len(known))
        for b in range(a + 1, len(known))
        if known[a][0] == known[b][0] and all(known[a][k] == known[b][k] for k in at)
    ]
    return np.array(pairs, np.intp).reshape(-1, 2), np.full(len(pairs), m.apart)
