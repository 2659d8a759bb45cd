"""Logs in MATLAB files, of version 5 and of 7.3 (HDF5).

SciPy does not check the types of elements in version 5, so a damaged file can crash the process: elements are
checked first.  An element is a tag (type and number of bytes; both in four bytes if the data are short) and
its data; matrices contain elements.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

from minertia.identification.logs.file import ArrayLog
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError
from minertia.io.extras import load
from minertia.io.resources import room, too_large

HEADER = 128  # bytes before the first element
NUMBERS = (1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 16, 17, 18)  # kinds of data; 8, 10 and 11 are not used
MATRIX, COMPRESSED = 14, 15
HOLDERS = (1, 2, 3, 16, 17)  # classes whose matrices hold matrices: cells, structs, objects, handles, opaque
MAX_DEPTH = 30


def check_matlab(data: bytes, most: int) -> int:
    """Unpacked size of a file of version 5 [bytes], up to `most`; the file size for other versions.

    Raises ValueError for invalid elements.
    """
    if len(data) < HEADER or 0 in data[:4] or data[126:128] not in (b"IM", b"MI"):
        return len(data)
    order = "<" if data[126:128] == b"IM" else ">"
    if data[125 if order == "<" else 124] != 1:
        return len(data)
    return _check(memoryview(data)[HEADER:], order, (MATRIX, COMPRESSED), 0, most)


def _check(data: memoryview, order: str, allowed: tuple[int, ...], depth: int, most: int = 0) -> int:
    """Check consecutive elements; returns their unpacked size in bytes, counted up to `most`."""
    if depth > MAX_DEPTH:
        raise ValueError("its matrices are nested too deeply")
    at, total = 0, len(data)
    while at < len(data) and (depth or total <= most):
        kind, body, at = _element(data, order, at)
        if kind not in allowed:
            raise ValueError("an element has an unknown type")
        if kind == COMPRESSED:
            unpacked = zlib.decompressobj().decompress(body, most - total + 1)
            total += len(unpacked)
            if total <= most:
                _check(memoryview(unpacked), order, (MATRIX,), depth + 1)
        elif kind == MATRIX:
            _check_matrix(body, order, depth + 1)
    return total


def _element(data: memoryview, order: str, at: int) -> tuple[int, memoryview, int]:
    """Type and data of the element at an offset, and the offset of the next one."""
    if at + 8 > len(data):
        raise ValueError("an element is truncated")
    kind, size = struct.unpack_from(f"{order}II", data, at)
    if kind >> 16:
        kind, size, start, end = kind & 0xFFFF, kind >> 16, at + 4, at + 8
        if size > 4:
            raise ValueError("a small data element has more than 4 bytes")
    else:
        start = at + 8
        end = start + size + (0 if kind == COMPRESSED else -size % 8)
    if start + size > len(data):
        raise ValueError("an element is truncated")
    return kind, data[start : start + size], end


def _check_matrix(data: memoryview, order: str, depth: int) -> None:
    if not len(data):
        return
    kind, flags, _ = _element(data, order, 0)
    if kind not in NUMBERS or len(flags) != 8:
        raise ValueError("a matrix does not give its type")
    holds = struct.unpack_from(f"{order}I", flags)[0] & 0xFF
    _check(data, order, (*NUMBERS, MATRIX) if holds in HOLDERS else NUMBERS, depth)


# ------------------------------------------------------------------------------------------------------ both versions


STRUCT_DEPTH = 4  # of structs inside structs
MOST_PACKED = 1100  # bytes that one byte of a compressed file can stand for


class MatLog(ArrayLog):
    """MATLAB file of arrays; arrays inside structs have dotted names (run.q)."""

    def load(self) -> dict[str, Array]:
        """Numeric arrays of the file by name."""
        from scipy.io import loadmat  # here: 0.1 s that only MATLAB files need

        try:
            self._check_size(check_matlab(self._bytes(), room()))
            content = loadmat(str(self.path), squeeze_me=True, struct_as_record=False)
        except NotImplementedError:  # SciPy's word for version 7.3, which is HDF5
            return self._hdf5()
        except MinertiaError:
            raise
        except Exception as err:  # whatever a broken file makes the reader raise
            raise self.fail(f"the file cannot be read as a MATLAB file ({str(err)[:160]})") from None
        arrays: dict[str, Array] = {}
        for name, value in content.items():
            if not name.startswith("__"):
                _collect(arrays, name, value, 0)
        return arrays

    def _bytes(self) -> bytes:
        self._check_size(self.path.stat().st_size)
        return self.path.read_bytes()

    def _check_size(self, size: int) -> None:
        if size > room():
            raise self.fail(too_large("the file is read at once, and its numbers take at least", size))

    def _hdf5(self) -> dict[str, Array]:
        h5py = load("h5py", "mat73")
        arrays: dict[str, Array] = {}
        size, total = self.path.stat().st_size, 0

        def visit(name: str, item: Any) -> None:
            nonlocal total
            if isinstance(item, h5py.Dataset) and item.dtype.kind in "fiu" and not item.external:
                total += item.nbytes
                if item.nbytes > MOST_PACKED * size:
                    raise OSError("it declares more numbers than it contains")
                self._check_size(total)
                arrays[name.replace("/", ".")] = item[()].T  # MATLAB stores columns first

        try:
            with h5py.File(self.path, "r") as file:
                file.visititems(visit)
        except MinertiaError:
            raise
        except Exception as err:  # whatever a broken file makes the reader raise
            raise self.fail(f"the file cannot be read as a MATLAB 7.3 file ({str(err)[:160]})") from None
        return arrays


def _collect(arrays: dict[str, Array], name: str, value: Any, depth: int) -> None:
    fields = getattr(value, "_fieldnames", None)
    if fields is not None and depth < STRUCT_DEPTH:
        for field in fields:
            _collect(arrays, f"{name}.{field}", getattr(value, field), depth + 1)
        return
    array = _array(value)
    if array is not None:
        arrays[name] = array


def _array(value: Any) -> Array | None:
    array = np.asarray(value) if isinstance(value, (np.ndarray, np.number)) else None
    return array if array is not None and array.dtype.kind in "fiub" else None
