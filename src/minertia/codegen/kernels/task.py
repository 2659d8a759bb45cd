"""`Task`: what a kernel is told, field by field as native/blocks.h has it; `Work`: the same in arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from minertia.codegen.kernels.schedule import Schedule
from minertia.codegen.kernels.tiles import MatrixPattern, Tiles
from minertia.io.arrays import Array

PORTS = 12
ROWS, NONZEROS, GRAM, RESIDUAL, PRECONDITIONED, NOTHING = range(6)


@dataclass(frozen=True)
class Work:
    """A batch: what to do (`mode`) with which arrays.

    inputs, outputs: one C-contiguous float64 array per port; sums need none, and write (N, entries) to one.
    The rest is for least squares: tau and weights (N, n) or (n,), theta the parameters of a residual, those whose
    efforts are taken off tau before it is summed, or the padded inverse of a triangle.
    """

    mode: int
    inputs: Sequence[Array]
    outputs: Sequence[Array] = ()
    pattern: MatrixPattern | None = None
    tau: Array | None = None
    weights: Array | None = None
    theta: Array | None = None
    n_samples: int = 0

    @property
    def tiles(self) -> Tiles | None:
        """The products to sum."""
        if self.pattern is None or self.mode not in (GRAM, PRECONDITIONED):
            return None
        return self.pattern.tiles if self.mode == GRAM else self.pattern.z_tiles

    @property
    def n_sums(self) -> int:
        """Numbers a piece of this work results in."""
        if self.tiles is not None:
            return len(self.tiles.pairs)
        if self.mode == RESIDUAL and self.pattern is not None:
            return len(self.pattern.positions) + self.pattern.rows
        return 0


_POINTERS = ctypes.c_void_p * PORTS
_LENGTHS = ctypes.c_int64 * PORTS


class Task(ctypes.Structure):
    """One piece of work in the layout of the C side."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("mode", "first", "count", "n_inputs", "n_entries")),
        ("input", _POINTERS),
        ("stride", _LENGTHS),
        ("n_outputs", ctypes.c_int64),
        ("output", _POINTERS),
        ("size", _LENGTHS),
        ("numbers", _POINTERS),
        ("positions", _POINTERS),
        ("n_numbers", _LENGTHS),
        ("n_rows", ctypes.c_int64),
        ("n_columns", ctypes.c_int64),
        ("tau", ctypes.c_void_p),
        ("weights", ctypes.c_void_p),
        ("weight_stride", ctypes.c_int64),
        ("row_start", ctypes.c_void_p),
        ("column", ctypes.c_void_p),
        ("tiles", ctypes.c_void_p),
        ("n_tiles", ctypes.c_int64),
        ("n_products", ctypes.c_int64),
        ("theta", ctypes.c_void_p),
        ("z_start", ctypes.c_void_p),
        ("z_columns", ctypes.c_int64),
        ("result", ctypes.c_void_p),
        ("code", ctypes.c_void_p),
        ("constants", ctypes.c_void_p),
        ("n_steps", ctypes.c_int64),
        ("n_slots", ctypes.c_int64),
    ]


def address(array: NDArray[np.generic]) -> int:
    """Where an array's data start (`array.ctypes` would take longer than a small batch)."""
    return int(array.__array_interface__["data"][0])


@dataclass(frozen=True)
class Tables:
    """Arrays of a schedule that tasks point to."""

    schedule: Schedule
    numbers: tuple[NDArray[np.int32], ...] = field(init=False)
    positions: tuple[NDArray[np.int32], ...] = field(init=False)

    def __post_init__(self) -> None:
        ports = range(len(self.schedule.ports))
        object.__setattr__(self, "numbers", tuple(self.schedule.entry_numbers(p) for p in ports))
        object.__setattr__(self, "positions", tuple(self.schedule.positions(p) for p in ports))

    def frame(self, mode: int, n_outputs: int) -> Task:
        """What tasks of one mode have in common: all but the arrays of a batch and which of its samples are meant."""
        s = self.schedule
        task = Task(mode=mode, n_inputs=len(s.inputs), n_entries=len(s.entries), n_outputs=n_outputs)
        for p, (port, common) in enumerate(zip(s.inputs, s.common, strict=True)):
            task.stride[p] = 0 if common else port.size
        for p in range(n_outputs):
            task.size[p], task.n_numbers[p] = s.ports[p].size, len(self.numbers[p])
            task.numbers[p], task.positions[p] = address(self.numbers[p]), address(self.positions[p])
        return task

    def fill(self, task: Task, work: Work) -> Task:
        """A frame with the arrays of a batch; `first`, `count` and `result` are still to be filled in."""
        for p, array in enumerate(work.inputs):
            task.input[p] = address(array)
        for p, array in enumerate(work.outputs):
            task.output[p] = address(array)
        if work.pattern is not None:
            self._least_squares(task, work, work.pattern)
        return task

    @staticmethod
    def _least_squares(task: Task, work: Work, pattern: MatrixPattern) -> None:
        task.n_rows, task.n_columns = pattern.rows, pattern.columns
        task.row_start, task.column = address(pattern.row_start), address(pattern.column)
        if work.tau is not None:
            task.tau = address(work.tau)
        if work.weights is not None:
            task.weights = address(work.weights)
            task.weight_stride = pattern.rows if work.weights.ndim == 2 else 0
        if work.theta is not None:
            task.theta = address(work.theta)
        if work.tiles is not None:
            task.tiles, task.n_tiles = address(work.tiles.table), work.tiles.count
            task.n_products = len(work.tiles.pairs)
        task.z_start, task.z_columns = address(pattern.z_start), pattern.z_columns


class Single(ctypes.Structure):
    """What the interpreter needs for calls with one sample."""

    _fields_ = [
        ("code", ctypes.c_void_p),
        ("constants", ctypes.c_void_p),
        ("n_steps", ctypes.c_int64),
        ("n_slots", ctypes.c_int64),
        ("n_outputs", ctypes.c_int64),
        ("size", _LENGTHS),
        ("numbers", _POINTERS),
        ("positions", _POINTERS),
        ("n_numbers", _LENGTHS),
        ("slots", ctypes.c_void_p),
    ]
