"""Distance of loops without a closed form from singular postures, by singular values of their equations.

A_p are the columns of the loop-closure equations for the passive joints (theory, eq. 37).  Its inverse
condition number is 0 where these joints move without bound; for a dyad the transmission angle is the
equivalent.
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
    """Smallest and largest inverse condition number of simultaneously closed loops in a trajectory."""

    name: str
    smallest: float
    largest: float
    asked: float

    def __str__(self) -> str:
        return (
            f"Loop '{self.name}': ratio of smallest to largest singular value from {self.smallest:.3g} to "
            f"{self.largest:.3g} (at least {self.asked:.3g} required; 0 at a singular posture)."
        )


class Conditioning:
    """Inverse condition number of one block of loops, from the structurally non-zero entries of its equations.

    least: required minimum, smaller if the seed itself is nearly singular.
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
        """Range of the inverse condition number in a trajectory."""
        ratio = self.ratio(entries)[0]
        return ConditioningUse(self.name, float(ratio.min()), float(ratio.max()), self.least)

    def room(self, entries: Array) -> tuple[Array, Array]:
        """Normalised margin (N,), 1 at the seed, 0 at the limit, and its derivatives with respect to the entries.

        The derivatives are (N, entries).  NaN where the loops do not close.
        """
        ratio, slopes = self.ratio(entries)
        span = self.at_seed - self.least
        return (ratio - self.least) / span, slopes / span

    def ratio(self, entries: Array) -> tuple[Array, Array]:
        """Inverse condition number (N,), and its derivatives with respect to the entries."""
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
    """Conditioning of every block of loops without a closed form."""
    pairs = zip(closing.blocks, closing.dyads, strict=True)
    return [Conditioning(closing, block, closed) for block, dyad in pairs if dyad is None]
