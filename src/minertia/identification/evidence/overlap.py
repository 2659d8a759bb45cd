"""Rows that a log shares with another one, however it was cut: measured efforts never repeat to the last digit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Prints = NDArray[np.uint64]
SHARED = 0.1  # of the rows of a log that is called unseen, from which it is not


def row_prints(q: Array, tau: Array) -> Prints:
    """A number for each row that differs from the one before, equal for equal rows."""
    rows = np.ascontiguousarray(np.hstack([q, tau]) + 0.0).view(np.uint64)  # + 0.0: no negative zeros
    factors = np.random.default_rng(0).integers(1, 2**63, rows.shape[1], dtype=np.uint64) | np.uint64(1)
    with np.errstate(over="ignore"):
        mixed = rows ^ (rows >> np.uint64(29))
        return np.unique((mixed * factors).sum(axis=1, dtype=np.uint64))


def shared_part(prints: Prints, fitted: Prints) -> float:
    """Part of a log's rows that a fitted log has too."""
    return float(np.isin(prints, fitted).mean()) if len(prints) else 0.0
