"""How far loops without a closed form are from singular postures: by the singular values of their equations.

The smallest over the largest one of A_p, the passive joints' own equations (theory, eq. 37), is 0 where these joints
move without bound; of a dyad the transmission angle says the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minertia.algebra.scalar import Scalar, is_zero, mul
from minertia.dynamics.loops.closing import NEAR, REGULAR, Closing
from minertia.dynamics.loops.equations import LoopBlock
from minertia.dynamics.loops.scalar import LoopsOnScalars
from minertia.io.arrays import Array


@dataclass(frozen=True)
class ConditioningUse:
    """What a motion does to loops that close together: smallest and largest ratio of their singular values."""

    name: str
    smallest: float
    largest: float
    asked: float

    def __str__(self) -> str:
        return (
            f"Loop '{self.name}': smallest over largest singular value from {self.smallest:.3g} to {self.largest:.3g} "
            f"({self.asked:.3g} asked; 0 is a singular posture)."
        )


class Conditioning:
    """The ratio of one block of loops, from the entries of its equations that are not structurally zero.

    least: what is kept, less where the seed itself is nearly singular.
    """

    def __init__(self, closing: Closing, block: LoopBlock, closed: LoopsOnScalars) -> None:
        self.names = tuple(closing.cuts[k].name for k in block.cuts)
        self.name = ", ".join(self.names)
        self.least, self.at_seed, self.size = min(REGULAR, NEAR * block.ratio), block.ratio, len(block.passive)
        (solver,) = (s for s in closed.solvers if s.passive == block.passive)
        self.places: list[tuple[int, int]] = []
        self.outputs: list[Scalar] = []
        for i, (row, number) in enumerate(zip(solver.rows, block.rows, strict=True)):
            for k, c in enumerate(block.passive):
                if not is_zero(row.get(c, 0)):
                    self.places.append((i, k))
                    self.outputs.append(mul(float(closing.sizes[c] / closing.units[number]), row[c]))

    def use(self, entries: Array) -> ConditioningUse:
        """What a motion does to these loops."""
        ratio = self.ratio(entries)[0]
        return ConditioningUse(self.name, float(ratio.min()), float(ratio.max()), self.least)

    def room(self, entries: Array) -> tuple[Array, Array]:
        """1 at the seed, 0 at the limit (N,), and its slopes by the entries (N, entries); no numbers beyond reach."""
        ratio, slopes = self.ratio(entries)
        span = self.at_seed - self.least
        return (ratio - self.least) / span, slopes / span

    def ratio(self, entries: Array) -> tuple[Array, Array]:
        """Smallest over largest singular value (N,), and its slopes by the entries."""
        rows, columns = (list(part) for part in zip(*self.places, strict=True))
        there = np.asarray(np.isfinite(entries).all(axis=1))
        M = np.zeros((len(entries), self.size, self.size))
        M[:, rows, columns] = np.where(there[:, None], entries, 0.0)
        U, s, V = np.linalg.svd(M)
        with np.errstate(all="ignore"):
            found = np.where(there, s[:, -1] / s[:, 0], np.nan)
            last, first = (U[:, rows, k] * V[:, k][:, columns] for k in (self.size - 1, 0))
            slopes = (last - found[:, None] * first) / s[:, :1]
        return found, slopes


def conditionings(closing: Closing, closed: LoopsOnScalars) -> Sequence[Conditioning]:
    """Of every block of loops that has no closed form."""
    pairs = zip(closing.blocks, closing.dyads, strict=True)
    return [Conditioning(closing, block, closed) for block, dyad in pairs if dyad is None]
