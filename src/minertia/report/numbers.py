"""Numbers and curves as the page gets them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.io.arrays import Array

POINTS = 4000  # of one curve; parts keep their extremes


def thinned(t: Array, rows: Array, points: int = POINTS) -> NDArray[np.intp]:
    """Indices of at most about so many samples: in each part the extremes of one column stay, of each in turn."""
    n = len(t)
    if n <= points:
        return np.arange(n)
    kept: list[int] = [0, n - 1]
    for k, part in enumerate(np.array_split(np.arange(n), points // 2)):
        column = np.nan_to_num(np.asarray(rows)[part, k % rows.shape[1]])
        kept += [int(part[column.argmin()]), int(part[column.argmax()])]
    return np.unique(kept)


def rounded(values: Any, digits: int | None = None, *, figures: int = 6) -> list[float | None]:
    """Numbers for JSON: to some digits behind the point, else to some figures; null for what is none."""
    array = np.asarray(values, float)
    if digits is not None:
        return [None if not math.isfinite(v) else v for v in np.round(array, digits).tolist()]
    return [None if not math.isfinite(v) else float(f"{v:.{figures}g}") for v in array.tolist()]


def finite(value: Any) -> float | None:
    """A number, null for what is none."""
    number = float(value)
    return number if math.isfinite(number) else None
