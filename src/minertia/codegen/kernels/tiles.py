"""Tables that tell a kernel how to multiply the columns of a matrix with many zeros.

The matrix of one sample has `rows` rows (joints) and `columns` columns (parameters); its entries are numbered row by
row.  Columns with the same pattern of rows form groups of up to four, a pair of groups is a *tile*, and only rows
that are in both are visited.  tau is the last column; its entry in row r has the number -1 - r.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

TILE = 4  # native/blocks.h has the same


@dataclass(frozen=True)
class Tiles:
    """Tiles as one list of numbers, and the pair of columns each of the sums belongs to."""

    table: NDArray[np.int32]
    count: int
    pairs: NDArray[np.int32]  # (sums, 2)

    def matrix(self, sums: NDArray[np.float64], size: int) -> NDArray[np.float64]:
        """The symmetric matrix of the sums."""
        G = np.zeros((size, size))
        i, j = self.pairs.T
        inside = (i < size) & (j < size)
        G[i[inside], j[inside]] = G[j[inside], i[inside]] = sums[inside]
        return G

    def places(self, size: int) -> NDArray[np.intp]:
        """Which sum stands at each place of the symmetric matrix; one past the last where there is none."""
        place = np.full((size, size), len(self.pairs), np.intp)
        i, j = self.pairs.T
        inside = (i < size) & (j < size)
        place[i[inside], j[inside]] = place[j[inside], i[inside]] = np.flatnonzero(inside)
        return place


@dataclass(frozen=True)
class MatrixPattern:
    """Where the entries of a matrix stand: `positions` are row * columns + column, ascending."""

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
        """Number of the first entry of each row, and one more."""
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
        """Columns with tau, padded to tiles."""
        return -(-(self.columns + 1) // TILE) * TILE

    @cached_property
    def z_start(self) -> NDArray[np.int32]:
        """First column of each row of [Y tau] R^-1, down to a tile: an upper triangle fills only to the right."""
        first = [
            int(self.column[a]) if a < b else self.columns
            for a, b in zip(self.row_start[:-1], self.row_start[1:], strict=True)
        ]
        return np.array([c // TILE * TILE for c in first], np.int32)

    @cached_property
    def z_tiles(self) -> Tiles:
        """Tiles of [Y tau] R^-1, rows stored one after the other from their first column."""
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
    """Columns with the same rows, at most a tile's width together."""
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
