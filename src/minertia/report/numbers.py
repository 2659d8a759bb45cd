"""Numbers as the page gets them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


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
