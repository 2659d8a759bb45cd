"""Columns of pyarrow as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def float_column(column: Any) -> NDArray[np.float64]:
    """A column of doubles (an array of pyarrow, or several one after the other); NaN for what is missing.

    `to_numpy` would load pandas, a third of a second, so it is left to columns with something missing.
    """
    if column.null_count:
        found = column.to_numpy() if hasattr(column, "chunks") else column.to_numpy(zero_copy_only=False)
        return np.array(found, dtype=np.float64)
    return np.concatenate([np.empty(0), *(np.from_dlpack(part) for part in getattr(column, "chunks", [column]))])
