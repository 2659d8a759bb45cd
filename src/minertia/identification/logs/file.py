"""Interface of every log format: the names of its columns, and the columns in blocks of rows."""

from __future__ import annotations

import abc
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minertia.identification.logs.options import ColumnMap
from minertia.io.arrays import Array
from minertia.io.errors import RecordingError

MAX_COLUMNS = 10_000
BLOCK_BYTES = 64_000_000  # of an array, or of messages, that are read at once
MOST_TORN = 0.2  # part of the rows; more of them are no damage, but another format
MOST_NAMED = 20  # rows named in one sentence
DROP = "drop such rows with --drop-torn, or with drop_torn = true in [columns]"


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows of some columns; first_row: number of the first row, from 1."""

    columns: Mapping[str, Array]
    first_row: int = 1


class LogFile(abc.ABC):
    """Abstract base class of log files."""

    def __init__(self, path: Path, columns: ColumnMap) -> None:
        self.path, self.map = path, columns

    @abc.abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""

    @abc.abstractmethod
    def blocks(self, wanted: Collection[str], rows: int) -> Iterator[Block]:
        """Iterate over the wanted columns, at most about `rows` rows at a time."""

    def look_for(self, fits: Callable[[Collection[str]], bool]) -> None:
        """Set the test for the robot's columns, for files that contain several sets of columns."""
        return None

    def by_wrench(self) -> None:
        """Make each wrench a row, in files of messages."""
        return None

    def assumed(self) -> tuple[str, ...]:
        """Messages on assumptions about what the file format does not specify."""
        return ()

    def weight(self) -> int:
        """Estimated size of all values in the file [bytes]."""
        files = self.path.rglob("*") if self.path.is_dir() else [self.path]
        return sum(file.stat().st_size for file in files if file.is_file())

    def fail(self, message: str, column: str | None = None, row: int | None = None) -> RecordingError:
        """Return an error of this file, to be raised."""
        return RecordingError(message, file=self.path, column=column, row=row)

    def same_length(self, lengths: Mapping[str, int]) -> int:
        """Common number of rows of all columns; raises an error if they differ."""
        if len(set(lengths.values())) > 1:
            short = min(lengths, key=lambda name: lengths[name])
            long = max(lengths, key=lambda name: lengths[name])
            raise self.fail(f"has {lengths[short]} rows, but '{long}' has {lengths[long]}", short, lengths[short] + 1)
        return next(iter(lengths.values()), 0)

    def unique(self, names: Sequence[str]) -> tuple[str, ...]:
        """Check that no column name occurs twice, and return the names."""
        if len(names) > MAX_COLUMNS:
            raise self.fail(f"the log has {len(names)} columns; the limit is {MAX_COLUMNS}")
        first: dict[str, int] = {}
        for k, name in enumerate(names):
            if name in first:
                raise self.fail(
                    f"the name occurs twice in the header, in columns {first[name] + 1} and {k + 1}; check "
                    "whether the file contains two robots, and give every column a unique name",
                    name,
                )
            first[name] = k
        return tuple(names)


def flattened(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Columns from named arrays, samples first: 'q' of shape (N, 6) becomes q1 to q6."""
    longest = max((max(a.shape) for a in arrays.values() if a.size), default=0)
    columns: dict[str, Array] = {}
    for name, array in arrays.items():
        if array.ndim == 2 and 1 in array.shape:
            array = array.reshape(-1)
        if array.ndim == 1:
            columns[name] = array
        elif array.ndim == 2:
            array = array.T if array.shape[0] != longest and array.shape[1] == longest else array
            columns |= {f"{name}{k + 1}": array[:, k] for k in range(min(array.shape[1], MAX_COLUMNS))}
    return columns


class ArrayLog(LogFile):
    """Log file of named arrays, small enough to be read at once."""

    def __init__(self, path: Path, columns: ColumnMap) -> None:
        super().__init__(path, columns)
        self._columns: dict[str, Array] | None = None

    @abc.abstractmethod
    def load(self) -> dict[str, Array]:
        """Numeric arrays of the file by name."""

    def columns(self) -> dict[str, Array]:
        """Columns of the file, cached."""
        if self._columns is None:
            arrays = {name: a for name, a in self.load().items() if a.ndim in (1, 2) and a.size > 1}
            if not arrays:
                raise self.fail("the file contains no arrays of numbers")
            self._columns = flattened(arrays)
        return self._columns

    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return self.unique(list(self.columns()))

    def blocks(self, wanted: Collection[str], rows: int) -> Iterator[Block]:
        """Iterate over the wanted columns; raises an error if their lengths differ."""
        columns = {name: a for name, a in self.columns().items() if name in wanted}
        n = self.same_length({name: len(a) for name, a in columns.items()})
        for start in range(0, n, rows):
            parts = {name: np.asarray(a[start : start + rows], dtype=float) for name, a in columns.items()}
            yield Block(parts, start + 1)


def torn_rows(rows: Sequence[int]) -> str:
    """Message on the number of malformed rows, and their row numbers."""
    named = ", ".join(map(str, rows[:MOST_NAMED])) + (" ..." if len(rows) > MOST_NAMED else "")
    return f"{len(rows)} row{'s are' if len(rows) > 1 else ' is'} malformed ({named})"


def float_column(column: Any) -> Array:
    """Convert a pyarrow array or chunked array to doubles; NaN for missing values.

    `to_numpy` would load pandas, which takes a third of a second, so it is used only for columns with missing
    values.
    """
    if column.null_count:
        found = column.to_numpy() if hasattr(column, "chunks") else column.to_numpy(zero_copy_only=False)
        return np.array(found, dtype=np.float64)
    return np.concatenate([np.empty(0), *(np.from_dlpack(part) for part in getattr(column, "chunks", [column]))])
