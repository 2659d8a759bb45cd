"""`read_recording` and `iter_blocks`: any log file to `Recording`s of a robot's coordinates."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minertia.identification.logs.columns import Chosen, choose, has_positions
from minertia.identification.logs.columns_file import columns_beside, read_columns
from minertia.identification.logs.drive import Conversion, conversion, drive_matrix, undelayed_blocks
from minertia.identification.logs.file import DROP, MOST_TORN, Block, LogFile
from minertia.identification.logs.options import ANGLES, LENGTHS, TIMES, ColumnMap
from minertia.identification.logs.recording import Recording, freeze, joined
from minertia.identification.logs.sage import SageLog, is_sage
from minertia.io.arrays import Array
from minertia.io.errors import RecordingError, expect_path
from minertia.io.files import is_file, reading, why_no_file
from minertia.io.resources import room, too_large
from minertia.robot.files import RobotLike, as_robot
from minertia.robot.robot import Robot

ROWS = 200_000  # in one block
MOST_NUMBERS = 8_000_000  # in one block
LARGEST = 1e30  # of what is measured, in any unit; its fourth powers are still numbers
SHORTEST, LATEST = 1e-9, 1e20  # s between samples, and of a time; clocks that count something else are for the audit
# ending of the name -> "module:class"
FORMATS = {
    ".csv": "minertia.identification.logs.csv:CsvLog",
    ".csv.gz": "minertia.identification.logs.csv:CsvLog",
    ".txt": "minertia.identification.logs.csv:CsvLog",
    ".tsv": "minertia.identification.logs.csv:CsvLog",
    ".dat": "minertia.identification.logs.csv:CsvLog",
    ".parquet": "minertia.identification.logs.parquet:ParquetLog",
    ".pt": "minertia.identification.logs.torch_file:TorchLog",
    ".npy": "minertia.identification.logs.torch_file:NpyLog",
    ".npz": "minertia.identification.logs.npz:NpzLog",
    ".mat": "minertia.identification.logs.matlab:MatLog",
    ".mcap": "minertia.identification.logs.ros:BagLog",
    ".db3": "minertia.identification.logs.ros:BagLog",
}
SIGNALS = ("q", "qd", "qdd", "effort", "temperature", "command", "command_velocity", "motor", "volts", "enabled")


def read_recording(
    path: str | Path,
    robot: RobotLike,
    columns: ColumnMap | str | Path | None = None,
    *,
    effort: bool = True,
    drop_torn: bool = False,
) -> Recording:
    """Read a log as the motion and the joint-side efforts of the robot's coordinates.

    columns: a `ColumnMap`, the TOML file of one, or None for the file beside the log (<log>.toml, columns.toml,
    log.toml) and else the names of the header.  effort: raise an error for a log without efforts.
    drop_torn: drop malformed rows, with too few or many values or with non-numeric ones; `torn` lists them.
    """
    expect_path(path, "a log")
    given = _columns(path, columns)
    blocks = iter_blocks(path, robot, given, effort=effort, drop_torn=drop_torn)
    return joined(_held(blocks, open_log(path, given)))


def _held(blocks: Iterable[Recording], log: LogFile) -> Iterator[Recording]:
    """Pass the blocks through; raises an error as soon as their total size exceeds the memory limit."""
    size, most = 0, room()
    for block in blocks:
        size += block.nbytes
        if size > most:
            what = "the log is too large to be read into memory: its numbers take about"
            raise log.fail(too_large(what, max(log.weight(), size)))
        yield block


def iter_blocks(
    path: str | Path,
    robot: RobotLike,
    columns: ColumnMap | str | Path | None = None,
    *,
    rows: int = ROWS,
    effort: bool = True,
    drop_torn: bool = False,
) -> Iterator[Recording]:
    """Read a log in blocks of about `rows` samples, for logs that do not fit in memory."""
    robot = as_robot(robot)
    expect_path(path, "a log")
    given = _columns(path, columns)
    if drop_torn:
        given = replace(given, drop_torn=True)
    blocks = _blocks(path, robot, given, rows, effort)
    if given.drive.delay == 0:  # stated, so that no fit chooses another
        return (replace(block, undelayed=0.0) for block in blocks)
    return blocks if given.drive.delay is None else undelayed_blocks(blocks, given.drive.delay)


def column_names(path: str | Path, columns: ColumnMap | None = None, robot: Robot | None = None) -> tuple[str, ...]:
    """Names of all columns of a log; robot: see `open_log`."""
    return open_log(path, columns or ColumnMap(), robot).names()


def is_bag(path: str | Path) -> bool:
    """Whether a path is the folder of a ROS 2 bag."""
    return is_file(Path(path) / "metadata.yaml")


def is_folder(path: str | Path) -> bool:
    """Whether a path is a folder that is one log: a ROS 2 bag or a SAGE folder."""
    return is_bag(path) or is_sage(path)


def is_there(path: str | Path) -> bool:
    """Whether a log exists: a file, or a folder that is a log."""
    return is_file(path) or is_folder(path)


def open_log(path: str | Path, columns: ColumnMap, robot: Robot | None = None) -> LogFile:
    """Open a log with the reader of its format; robot: selects among several sets of joints in a file."""
    log = _opened(path, columns)
    if robot is not None:
        log.look_for(lambda names: has_positions(names, columns, robot))
    return log


def _opened(path: str | Path, columns: ColumnMap) -> LogFile:
    path = Path(path)
    reading(*log_files(path))
    if is_bag(path):
        suffix = ".mcap"
    elif is_sage(path):
        return SageLog(path, columns)
    elif not is_file(path):
        raise RecordingError(why_no_file(path), file=path)
    else:
        endings = [ending for ending in FORMATS if path.name.lower().endswith(ending)]
        if not endings:
            raise RecordingError(f"the format of the log is not known; known formats: {', '.join(FORMATS)}", file=path)
        suffix = max(endings, key=len)
    module, name = FORMATS[suffix].split(":")
    log: LogFile = getattr(importlib.import_module(module), name)(path, columns)
    return log


def log_files(path: str | Path) -> list[Path]:
    """All files of a log, including those of its bag or folder."""
    log = Path(path)
    folders = [folder for folder in (log, log.parent) if is_bag(folder)] + ([log] if is_sage(log) else [])
    return [log, *(file for folder in folders for file in folder.iterdir())]


def _columns(path: str | Path, columns: ColumnMap | str | Path | None) -> ColumnMap:
    if isinstance(columns, ColumnMap):
        return columns
    if columns is not None:
        expect_path(columns, "a map of columns")
    return read_columns(columns) if columns is not None else columns_beside(path)


def _blocks(path: str | Path, robot: Robot, columns: ColumnMap, rows: int, effort: bool) -> Iterator[Recording]:
    if robot.is_floating:
        raise RecordingError(
            f"the robot '{robot.name}' has a floating base, which joint logs do not contain; read it with a fixed base",
            file=path,
        )
    log = open_log(path, columns, robot)
    chosen = choose(log.names(), columns, robot, str(path), effort=effort)
    reading = _Reading(log, columns, robot, chosen)
    count, torn = 0, 0
    wanted = frozenset(chosen.names)
    for block in log.blocks(wanted, max(1, min(rows, MOST_NUMBERS // len(wanted)))):
        recording = reading.recording(block)
        count, torn = count + len(recording), torn + len(recording.torn)
        if len(recording):
            yield recording
    if torn > MOST_TORN * (count + torn):
        raise log.fail(
            f"{torn} of {count + torn} rows are malformed, too many for accidental damage; check the delimiter "
            "and the header"
        )
    if count == 0:
        raise log.fail("the log has a header and no rows")


class _Reading:
    """Reader state of one log: conversion of its columns to joint signals."""

    def __init__(self, log: LogFile, columns: ColumnMap, robot: Robot, chosen: Chosen) -> None:
        self.log, self.map, self.robot, self.chosen = log, columns, robot, chosen
        scale = position_scale(columns, robot, chosen.position_side)
        sides = (chosen.position_side, chosen.effort_side)
        drive = columns.drive
        if drive.ratios is None and drive.coupling is None and robot.coupling is not None:
            drive = replace(drive, coupling=robot.coupling)
        self.convert: Conversion = conversion(drive, sides, chosen.effort_unit, scale, str(log.path))
        side = "joint" if drive_matrix(drive) is None else "motor"
        turns = position_scale(columns, robot, side)
        self.motor: Conversion = conversion(drive, (side, "joint"), chosen.effort_unit, turns, str(log.path))
        self.channels = {
            f"{'tau' if signal == 'effort' else signal}{j + 1}": name
            for signal in SIGNALS
            for j, name in enumerate(getattr(chosen, signal) or ())
            if name
        }
        self.notes = [*chosen.notes, *log.assumed()]
        if columns.found:
            self.notes.insert(0, f"columns and drives are taken from '{columns.found}', which is next to the log")
        if self.convert.effort_unit != "Nm" and chosen.effort is not None:
            self.notes.append(f"efforts stay in {self.convert.effort_unit}: no gains of the drives are given")

    def recording(self, block: Block) -> Recording:
        """Convert a block to a recording; malformed rows are dropped if the map specifies it."""
        convert, chosen = self.convert, self.chosen
        count = len(next(iter(block.columns.values())))
        whole = np.ones(count, bool)
        if self.map.drop_torn:
            whole = np.logical_and.reduce([np.isfinite(values) for values in block.columns.values()])
        torn = tuple((block.first_row + np.flatnonzero(~whole)).tolist())
        if torn:
            block = Block({name: values[whole] for name, values in block.columns.items()}, block.first_row)
        q, qd, qdd = (self._stack(block, getattr(chosen, s), convert.position) for s in ("q", "qd", "qdd"))
        tau = self._stack(block, chosen.effort, convert.effort)
        assert q is not None
        further = {
            "temperature": self._stack(block, chosen.temperature, np.eye(q.shape[1])),
            "command": self._stack(block, chosen.command, convert.position),
            "command_velocity": self._stack(block, chosen.command_velocity, convert.position),
            "volts": self._stack(block, chosen.volts, np.eye(q.shape[1])),
            "enabled": self._stack(block, chosen.enabled, np.eye(q.shape[1])),
        }
        if further["command"] is not None:
            further["command"] = further["command"] + convert.offset
        if np.any(convert.offset):
            q = q + convert.offset
        further["motor"] = self._motors(block, q)
        for fresh in (q, qd, qdd, tau, *further.values()):
            if fresh is not None:
                freeze(fresh)  # so that the recording need not copy it
        return Recording(
            t=self._times(block, np.flatnonzero(whole)),
            q=q,
            qd=qd,
            qdd=qdd,
            tau=tau,
            joints=self.robot.coordinate_names,
            effort_unit=convert.effort_unit,
            log_unit=chosen.effort_unit,
            to_log=convert.to_log,
            source=str(self.log.path),
            columns=self.channels,
            first_row=block.first_row,
            notes=tuple(self.notes),
            channels={name: values for name, values in further.items() if values is not None},
            torn=torn,
            marks={mark: block.columns[name] for mark, name in chosen.marks},
        )

    def _motors(self, block: Block, q: Array) -> Array | None:
        """Motor positions on the joint side; joints without a second encoder get those of the first."""
        names, chosen = self.chosen.motor, self.chosen
        if names is None:
            return None
        logged = tuple(name or own for name, own in zip(names, chosen.q, strict=True))
        found = self._stack(block, logged, self.motor.position)
        return None if found is None else np.where([bool(name) for name in names], found + self.motor.offset, q)

    def _stack(self, block: Block, names: tuple[str, ...] | None, matrix: Array) -> Array | None:
        if names is None:
            return None
        logged = np.column_stack([block.columns[name] for name in names])
        with np.errstate(all="ignore"):  # what overflows is refused below, what is no number by whoever needs it
            if np.array_equal(matrix, np.eye(len(matrix))):
                found = logged
            elif np.array_equal(matrix, np.diag(np.diag(matrix))):
                found = logged * np.diag(matrix)
            else:
                found = logged @ matrix.T
        if not (found.min(initial=0.0) >= -LARGEST and found.max(initial=0.0) <= LARGEST):  # nor is it with NaN
            absurd = np.isfinite(logged) & ~(np.abs(found) <= LARGEST)
            if not absurd.any():
                return found
            row, j = (int(k) for k in np.argwhere(absurd)[0])
            raise self.log.fail(
                f"the value is {logged[row, j]:.3g}, which gives {found[row, j]:.3g} at the joint in SI units and "
                "is implausible; correct the log, or the units, ratios and gains used to read it",
                names[j],
                block.first_row + row,
            )
        return found

    def _times(self, block: Block, rows: NDArray[np.intp]) -> Array:
        """Times of the retained rows [s]; rows: indices from 0 within the block."""
        if self.chosen.t is None:
            assert self.map.rate_hz is not None
            return self._plausible((block.first_row - 1 + rows) / self.map.rate_hz, block)
        t = block.columns[self.chosen.t] * TIMES[self.chosen.time_unit]
        bad = np.flatnonzero(~np.isfinite(t))
        if len(bad):
            raise self.log.fail(f"the time is not a number; {DROP}", self.chosen.t, block.first_row + int(bad[0]))
        return self._plausible(np.asarray(t), block)

    def _plausible(self, t: Array, block: Block) -> Array:
        """Raise an error for times [s] outside a plausible range; an audit checks their correctness."""
        step = abs(float(t[-1]) - float(t[0])) / max(len(t) - 1, 1) if len(t) else 0.0
        if 0 < step < SHORTEST or not np.all(np.abs(t) <= LATEST):
            raise self.log.fail(
                f"the times run from {t[0]:.3g} s to {t[-1]:.3g} s in {len(t)} samples, which is implausible; "
                "check the unit of time (time_unit, or rate_hz)",
                self.chosen.t,
                block.first_row,
            )
        return t


def position_scale(columns: ColumnMap, robot: Robot, side: str) -> list[float]:
    """Conversion factor of each logged position to SI units; motors are always rotary."""
    angle, length = ANGLES[columns.angle or "rad"], LENGTHS[columns.length or "m"]
    kinds = [robot.joints[j].kind for j in robot.independent]
    return [angle if side == "motor" or kind == "revolute" else length for kind in kinds]
