"""Rank certificate of a set of base parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

CLEAR_GAP = 1e3  # between singular values that count and those that do not
CLOSED_GAP = 1e5  # the same where loops are closed: closing leaves more than rounding
SMALLEST = 1e-8  # singular value that counts where loops are closed; below it numbers of 16 digits decide nothing
DIGITS = 16  # of the usual numbers
WIDE_SMALLEST = 1e-14  # the same in more digits: of what is smaller the rounding of lengths and axes may be the cause
CONFIRMED = 1e-9  # largest reconstruction error of a set that is right


class Judged(NamedTuple):
    """Numerical rank with the evidence for it; see `Certificate`."""

    rank: int
    gap: float
    smallest: float | None = None
    digits: int = DIGITS

    @property
    def is_clear(self) -> bool:
        """Whether the rank is unambiguous."""
        if self.smallest is None:
            return self.gap >= CLEAR_GAP
        return self.gap >= CLOSED_GAP and self.smallest >= (SMALLEST if self.digits == DIGITS else WIDE_SMALLEST)


@dataclass(frozen=True, slots=True)
class Redrawn:
    """Verification of the symbolic relations at a second, independent draw of all symbols and other random states.

    count: number of fully symbolic relations, before some are merged numerically for this robot's values.
    """

    values: Mapping[str, float]
    count: int
    rank: int
    gap: float
    error: float


@dataclass(frozen=True, slots=True, repr=False)
class Certificate:
    """Numerical verification of a set of base parameters on random states (theory, eq. 22).

    rank: rank of the whole regressor.  gap: ratio of the smallest nonzero singular value to the largest one
    that counts as zero, or to the measured rounding error (columns scaled to length 1).  error: largest
    column norm of Y - Y_base K, each relative to the longest column of Y of the same kind; the larger value
    of two sets of states. states, seed: number and seed of the random states.  redrawn: the same
    verification at other values of the symbols. smallest: for closed kinematic chains, ratio of the
    smallest nonzero to the largest singular value; the states then belong only to the assembly branch of
    the robot's seed.  digits: number of decimal digits that decided the rank; 60 where 16 were ambiguous
    (`smallest` and `gap` then come from the pivots of a column-pivoted factorisation).
    """

    rank: int
    gap: float
    error: float
    states: int
    seed: int
    redrawn: Redrawn | None = None
    smallest: float | None = None
    digits: int = DIGITS

    def __repr__(self) -> str:
        again = "" if self.redrawn is None else ", symbols redrawn"
        return (
            f"<Certificate: rank {self.rank}, gap {self.gap:.1e}, reconstruction error {self.error:.1e} at "
            f"{self.states} random states{again}>"
        )

    @property
    def is_clear(self) -> bool:
        """Whether the rank is unambiguous."""
        return Judged(self.rank, self.gap, self.smallest, self.digits).is_clear

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON."""
        data: dict[str, Any] = {name: getattr(self, name) for name in ("rank", "gap", "error", "states", "seed")}
        data["gap"] = self.gap if math.isfinite(self.gap) else None
        r = self.redrawn
        letters = None if r is None else {"values": dict(r.values), "count": r.count, "rank": r.rank, "error": r.error}
        closed = {} if self.smallest is None else {"smallest": self.smallest, "digits": self.digits}
        return data | {"redrawn": letters} | closed

    def __str__(self) -> str:
        text = f"certificate: rank {self.rank}, gap {self.gap:.1e}, reconstruction error {self.error:.1e}"
        if self.smallest is not None:
            is_usual = self.digits == DIGITS
            what = "singular value" if is_usual else "part of a column that is independent of the others"
            text += f", loops closed on the seed's assembly branch (smallest {what} {self.smallest:.1e})"
            text += "" if is_usual else f", rank determined with {self.digits} digits"
        r = self.redrawn
        if r is None:
            return text
        return f"{text}; at a second random draw of the symbols: rank {r.rank} of {r.count}, error {r.error:.1e}"
