"""Array type for annotations, and thinning of curves for display."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

POINTS = 4000  # of one curve on a page


def thinned(t: Array, rows: Array, points: int = POINTS) -> NDArray[np.intp]:
    """Indices of at most `points` samples for display, both ends included.

    The samples are split into equal parts; of each part, the extremes of one column are kept, the columns in
    turn.
    """
    n = len(t)
    if n <= points:
        return np.arange(n)
    rows = np.asarray(rows)
    if not np.isfinite(rows).all():
        rows = np.nan_to_num(rows)
    kept: list[int] = [0, n - 1]
    parts = points // 2 - 1
    ends = [n * k // parts for k in range(parts + 1)]
    for k in range(parts):
        column = rows[ends[k] : ends[k + 1], k % rows.shape[1]]
        kept += [ends[k] + int(column.argmin()), ends[k] + int(column.argmax())]
    return np.unique(kept)
