"""`Task`: arguments of a kernel, with the fields of native/blocks.h; `Work`: the same as arrays; `Tiles`."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from minertia.codegen.kernels.schedule import Schedule
from minertia.io.arrays import Array

# -------------------------------------------------------------------------------------------------------------- tiles
# Tables that tell a kernel how to multiply the columns of a matrix with many zeros. The matrix of one sample has
# `rows` rows (joints) and `columns` columns (parameters); its entries are numbered row by row. Columns with the same
# pattern of rows form groups of up to four, a pair of groups is a *tile*, and only rows that are in both are visited.
# tau is the last column; its entry in row r has the number -1 - r.


TILE = 4  # native/blocks.h has the same


@dataclass(frozen=True)
class Tiles:
    """Tiles as one flat table, and the pair of columns of each sum."""

    table: NDArray[np.int32]
    count: int
    pairs: NDArray[np.int32]  # (sums, 2)

    def matrix(self, sums: NDArray[np.float64], size: int) -> NDArray[np.float64]:
        """Symmetric matrix assembled from the sums."""
        G = np.zeros((size, size))
        i, j = self.pairs.T
        inside = (i < size) & (j < size)
        G[i[inside], j[inside]] = G[j[inside], i[inside]] = sums[inside]
        return G

    def places(self, size: int) -> NDArray[np.intp]:
        """Index of the sum at each position of the symmetric matrix; one past the last if there is none."""
        place = np.full((size, size), len(self.pairs), np.intp)
        i, j = self.pairs.T
        inside = (i < size) & (j < size)
        place[i[inside], j[inside]] = place[j[inside], i[inside]] = np.flatnonzero(inside)
        return place


@dataclass(frozen=True)
class MatrixPattern:
    """Sparsity pattern of a matrix: `positions` are row * columns + column, ascending."""

    rows: int
    columns: int
    positions: NDArray[np.int32]

    @cached_property
    def row(self) -> NDArray[np.int32]:
        """Row of each entry."""
        return (self.positions // self.columns).astype(np.int32)

    @cached_property
    def column(self) -> NDArray[np.int32]:
        """Column of each entry."""
        return (self.positions % self.columns).astype(np.int32)

    @cached_property
    def row_start(self) -> NDArray[np.int32]:
        """Index of the first entry of each row, and the total (CSR row pointers)."""
        return np.searchsorted(self.row, np.arange(self.rows + 1)).astype(np.int32)

    @cached_property
    def tiles(self) -> Tiles:
        """Tiles of [Y tau]."""
        number = {(int(r), int(c)): k for k, (r, c) in enumerate(zip(self.row, self.column, strict=True))}
        rows_of: dict[int, list[int]] = {c: [] for c in range(self.columns)}
        for r, c in number:
            rows_of[c].append(r)
        rows_of[self.columns] = list(range(self.rows))
        number |= {(r, self.columns): -1 - r for r in range(self.rows)}
        groups = list(_groups(rows_of))
        described = []
        for a, b in combinations_with_replacement(groups, 2):
            common = sorted(set(rows_of[a[0]]) & set(rows_of[b[0]]))
            numbers = [[number[r, c] for c in (a if a is b else a + b)] for r in common]
            described.append((a, b, numbers))
        return _tiles(described)

    # ------------------------------------------------------------------ after a triangle was taken out

    @cached_property
    def z_columns(self) -> int:
        """Number of columns including tau, padded to tiles."""
        return -(-(self.columns + 1) // TILE) * TILE

    @cached_property
    def z_start(self) -> NDArray[np.int32]:
        """First column of each row of [Y tau] R^-1, rounded down to a tile; R^-1 adds columns to the right only."""
        first = [
            int(self.column[a]) if a < b else self.columns
            for a, b in zip(self.row_start[:-1], self.row_start[1:], strict=True)
        ]
        return np.array([c // TILE * TILE for c in first], np.int32)

    @cached_property
    def z_tiles(self) -> Tiles:
        """Tiles of [Y tau] R^-1, rows stored contiguously from their first column."""
        offset = np.concatenate([[0], np.cumsum(self.z_columns - self.z_start)]).astype(int)
        width = self.columns + 1  # what they are padded with is in no product
        groups = [list(range(c, min(c + TILE, width))) for c in range(0, width, TILE)]
        described = []
        for a, b in combinations_with_replacement(groups, 2):
            rows = [r for r in range(self.rows) if self.z_start[r] <= a[0]]
            numbers = [[offset[r] + c - int(self.z_start[r]) for c in (a if a is b else a + b)] for r in rows]
            described.append((a, b, numbers))
        return _tiles(described)


def _groups(rows_of: dict[int, list[int]]) -> Iterator[list[int]]:
    """Groups of columns with the same rows, at most a tile's width each."""
    same: dict[tuple[int, ...], list[int]] = {}
    for c, rows in rows_of.items():
        if rows:
            same.setdefault(tuple(sorted(rows)), []).append(c)
    for columns in same.values():
        parts = -(-len(columns) // TILE)
        for part in np.array_split(np.array(columns), parts):
            yield [int(c) for c in part]


def _tiles(described: Sequence[tuple[list[int], list[int], list[list[int]]]]) -> Tiles:
    table: list[int] = []
    pairs: list[tuple[int, int]] = []
    count = 0
    for a, b, numbers in described:
        if not numbers:
            continue
        count += 1
        table += [len(a), len(b), int(a is b), len(numbers), *(k for row in numbers for k in row)]
        pairs += [(i, j) for x, i in enumerate(a) for y, j in enumerate(b) if a is not b or x <= y]
    return Tiles(np.array(table, np.int32), count, np.array(pairs, np.int32).reshape(-1, 2))


# -------------------------------------------------------------------------------------------------------------- tasks


PORTS = 12
ROWS, NONZEROS, GRAM, RESIDUAL, PRECONDITIONED, NOTHING = range(6)


@dataclass(frozen=True)
class Work:
    """Batch: the operation (`mode`) and its arrays.

    inputs, outputs: one C-contiguous float64 array per port; a mode that returns sums needs no output, or
    writes the varying entries to one output (N, entries).  The other fields are for least squares.  tau,
    weights: (N, n) or (n,). theta: parameters at which the residual is computed, or parameters whose
    efforts are subtracted from tau before summation, or the padded inverse of a triangle.
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
        """Tiles of the products to sum."""
        if self.pattern is None or self.mode not in (GRAM, PRECONDITIONED):
            return None
        return self.pattern.tiles if self.mode == GRAM else self.pattern.z_tiles

    @property
    def n_sums(self) -> int:
        """Number of sums that a piece of this work returns."""
        if self.tiles is not None:
            return len(self.tiles.pairs)
        if self.mode == RESIDUAL and self.pattern is not None:
            return len(self.pattern.positions) + self.pattern.rows
        return 0


_POINTERS = ctypes.c_void_p * PORTS
_LENGTHS = ctypes.c_int64 * PORTS


class Task(ctypes.Structure):
    """Piece of work in the C memory layout."""

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
    """Address of an array's data (`array.ctypes` would take longer than a small batch)."""
    return int(array.__array_interface__["data"][0])


@dataclass(frozen=True)
class Tables:
    """Arrays of a schedule that tasks refer to."""

    schedule: Schedule
    numbers: tuple[NDArray[np.int32], ...] = field(init=False)
    positions: tuple[NDArray[np.int32], ...] = field(init=False)

    def __post_init__(self) -> None:
        ports = range(len(self.schedule.ports))
        object.__setattr__(self, "numbers", tuple(self.schedule.entry_numbers(p) for p in ports))
        object.__setattr__(self, "positions", tuple(self.schedule.positions(p) for p in ports))

    def frame(self, mode: int, n_outputs: int) -> Task:
        """Task with the fields common to one mode: all but the arrays of a batch and the range of samples."""
        s = self.schedule
        task = Task(mode=mode, n_inputs=len(s.inputs), n_entries=len(s.entries), n_outputs=n_outputs)
        for p, (port, common) in enumerate(zip(s.inputs, s.common, strict=True)):
            task.stride[p] = 0 if common else port.size
        for p in range(n_outputs):
            task.size[p], task.n_numbers[p] = s.ports[p].size, len(self.numbers[p])
            task.numbers[p], task.positions[p] = address(self.numbers[p]), address(self.positions[p])
        return task

    def fill(self, task: Task, work: Work) -> Task:
        """Fill a task with the arrays of a batch; `first`, `count` and `result` are set later."""
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
    """Arguments of the interpreter for calls with one sample."""

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
