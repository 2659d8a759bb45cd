"""Regressor columns in blocks of eight for least squares, and the tiles of sums between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.expr import Expr
from minertia.codegen.program import Program

EDGE = 8  # columns of a block: the edge of a tile of `mma`


@dataclass(frozen=True)
class Columns:
    """Sparsity of [Y tau]: `present` (rows, columns + 1), and the order of columns in blocks of eight."""

    present: NDArray[np.bool_]
    order: tuple[int, ...]

    @cached_property
    def n_blocks(self) -> int:
        """Number of blocks of eight columns."""
        return -(-len(self.order) // EDGE)

    def mask(self, row: int, block: int) -> int:
        """Bit mask of the block's columns that are present in the row."""
        own = self.order[block * EDGE : (block + 1) * EDGE]
        return sum(1 << k for k, column in enumerate(own) if self.present[row, column])

    def blocks(self, row: int) -> list[int]:
        """Blocks that are present in the row."""
        return [b for b in range(self.n_blocks) if self.mask(row, b)]

    @cached_property
    def numbers(self) -> dict[tuple[int, int], int]:
        """Index of each entry (row, column), by rows in the order of columns."""
        places = [(r, c) for r in range(len(self.present)) for c in self.order if self.present[r, c]]
        return {place: number for number, place in enumerate(places)}

    def first(self, row: int, block: int) -> int:
        """Index of the first entry of a block in a row."""
        own = self.order[block * EDGE : (block + 1) * EDGE]
        return next(self.numbers[row, c] for c in own if self.present[row, c])

    def row_range(self, row: int) -> tuple[int, int]:
        """Range of the indices of a row's entries."""
        own = [self.numbers[row, c] for c in self.order if self.present[row, c]]
        return own[0], own[-1] + 1

    @property
    def cost(self) -> int:
        """Number of tile products of a sample."""
        counts = [len(self.blocks(r)) for r in range(len(self.present))]
        return sum(k * (k + 1) // 2 for k in counts)

    @classmethod
    def of(cls, program: Program, *, is_fixed: bool) -> Columns:
        """Columns of a program with one matrix, in the order with the fewest products unless it is fixed."""
        rows, columns = program.ports[0].shape
        flat = [not _is_zero(output) for output in program.outputs]
        present = np.column_stack([np.array(flat, bool).reshape(rows, columns), np.ones(rows, bool)])
        plain = tuple(range(columns + 1))
        if is_fixed:
            return cls(present, plain)
        tau = plain[-1:]
        by_rows = tuple(sorted(plain[:-1], key=lambda c: tuple(present[:, c]))) + tau
        by_last = tuple(sorted(plain[:-1], key=lambda c: (int(present[:, c].sum()), tuple(present[:, c])))) + tau
        return min((cls(present, order) for order in (plain, by_rows, by_last)), key=lambda found: found.cost)


def _is_zero(output: Expr | float) -> bool:
    value = output.value if isinstance(output, Expr) else float(output)
    return value == 0


@dataclass(frozen=True)
class Sum:
    """A tile of sums: products of two blocks of columns, over all rows or over one."""

    a: int
    b: int
    row: int | None = None

    def takes(self, row: int) -> bool:
        """Whether a row contributes to this tile of sums."""
        return self.row in (None, row)
