"""Logs in NumPy archives (.npz), read in blocks without unpickling."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import IO, Any

import numpy as np

from minertia.identification.logs.file import BLOCK_BYTES, MAX_COLUMNS, Block, LogFile
from minertia.io.arrays import Array
from minertia.io.errors import RecordingError

MAGIC, MAX_HEAD = 12, 10_000  # bytes at the start of an array, and of the description behind them


class NpzLog(LogFile):
    """NumPy archive, read in blocks; objects in it are never unpickled."""

    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return self.unique(list(self._places()))

    def weight(self) -> int:
        """Size of all values [bytes]."""
        return 8 * sum(array.size for array in self._arrays())

    def blocks(self, wanted: Collection[str], rows: int) -> Iterator[Block]:
        """Iterate over the wanted columns in blocks of rows."""
        places = {name: place for name, place in self._places().items() if name in wanted}
        count = self.same_length({name: place.array.samples for name, place in places.items()})
        columns: dict[_Array, list[int]] = {}
        for place in places.values():
            columns.setdefault(place.array, []).append(place.column)
        rows = min(rows, *(self._rows(array) for array in columns))
        with ExitStack() as stack:
            try:
                archive = stack.enter_context(zipfile.ZipFile(self.path))
                readers = {array: _reader(archive, array, own, stack) for array, own in columns.items()}
                for start in range(0, count, rows):
                    size = min(rows, count - start)
                    read = {array: reader(size) for array, reader in readers.items()}
                    yield Block({name: read[p.array][p.column] for name, p in places.items()}, start + 1)
            except Exception:  # whatever a broken archive makes the zip and array readers raise
                raise self._broken() from None

    def _places(self) -> dict[str, _Place]:
        """Map from column name to the array of the archive and its channel."""
        arrays = [a for a in self._arrays() if a.size > 1]
        if not arrays:
            raise self.fail("the file contains no arrays of numbers")
        longest = max(max(a.shape) for a in arrays)
        places: dict[str, _Place] = {}
        for array in arrays:
            if array.ndim == 1:
                places[array.name] = _Place(array, 0)
                continue
            is_turned = array.shape[0] != longest and array.shape[1] == longest
            array = replace(array, is_turned=is_turned)
            places |= {f"{array.name}{k + 1}": _Place(array, k) for k in range(min(array.channels, MAX_COLUMNS))}
        return places

    def _rows(self, array: _Array) -> int:
        """Number of samples to read at once, limited by the size of a sample with all channels."""
        sample = array.channels * array.dtype.itemsize
        if sample > BLOCK_BYTES:
            raise self.fail(f"the array '{array.name}' has {array.channels} channels, too many for a log")
        return max(1, BLOCK_BYTES // max(sample, 1))

    def _arrays(self) -> list[_Array]:
        """Numeric matrices and vectors in the archive, from their headers."""
        if not zipfile.is_zipfile(self.path):
            raise self.fail("the file is not a NumPy archive (.npz), or it is truncated")
        try:
            with zipfile.ZipFile(self.path) as archive:
                members = [name for name in archive.namelist() if name.endswith(".npy")]
                found = [_head(archive, name) for name in members[:MAX_COLUMNS]]
        except Exception:  # as above
            raise self._broken() from None
        return [array for array in found if array is not None]

    def _broken(self) -> RecordingError:
        return self.fail("the NumPy archive is damaged and cannot be read")


@dataclass(frozen=True)
class _Array:
    """One array of an archive: a vector, or samples by channels; is_turned: stored as channels by samples."""

    name: str
    member: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_fortran: bool
    offset: int  # bytes of the head
    is_turned: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def samples(self) -> int:
        return self.shape[1] if self.is_turned else self.shape[0]

    @property
    def channels(self) -> int:
        return 1 if self.ndim == 1 else self.shape[0] if self.is_turned else self.shape[1]


@dataclass(frozen=True)
class _Place:
    array: _Array
    column: int


def _head(archive: zipfile.ZipFile, member: str) -> _Array | None:
    """Array described by its header; None if it is not a numeric vector or matrix."""
    with archive.open(member) as file:
        _check_head(file.read(MAGIC))
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran, dtype = read(file)
        offset = file.tell()
    if dtype.hasobject or dtype.kind not in "fiub" or not 1 <= len(shape) <= 2:
        return None
    if len(shape) == 2 and 1 in shape:
        shape, is_fortran = (shape[0] * shape[1],), False
    return _Array(member.removesuffix(".npy"), member, shape, dtype, is_fortran, offset)


def _check_head(start: bytes) -> None:
    """Raise an error for an array header of excessive size."""
    wide = len(start) == MAGIC and start[6] > 1
    if int.from_bytes(start[8 : 12 if wide else 10], "little") > MAX_HEAD:
        raise ValueError("the header of an array is too long")


def _reader(
    archive: zipfile.ZipFile, array: _Array, columns: Sequence[int], stack: ExitStack
) -> Callable[[int], dict[int, Array]]:
    """Function that reads the next samples of some columns; its argument is their number."""
    item = array.dtype.itemsize
    is_together = array.ndim == 1 or array.is_fortran == array.is_turned
    together = array.channels if is_together else 1
    files = {}
    for k in (0,) if is_together else columns:  # channels that stand one behind the other are read side by side
        files[k] = stack.enter_context(archive.open(array.member))
        files[k].seek(array.offset + k * array.samples * item)

    def read(samples: int) -> dict[int, Array]:
        parts = {
            k: np.frombuffer(_exactly(file, samples * together * item), array.dtype).reshape(samples, together)
            for k, file in files.items()
        }
        return {k: (parts[0][:, k] if is_together else parts[k][:, 0]).astype(float) for k in columns}

    return read


def _exactly(file: IO[bytes], size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise EOFError("an array ends before its last sample")
    return data
