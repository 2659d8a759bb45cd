"""The elements of a MATLAB file of version 5, checked before SciPy reads it.

SciPy looks up the kind of an element without checking it, so a damaged file can end the whole program.  An element is
a tag (kind and number of bytes; both in four bytes where the data are short) and its data; matrices hold elements.
"""

from __future__ import annotations

import struct
import zlib

HEADER = 128  # bytes before the first element
NUMBERS = (1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 16, 17, 18)  # kinds of data; 8, 10 and 11 are not used
MATRIX, COMPRESSED = 14, 15
HOLDERS = (1, 2, 3, 16, 17)  # classes whose matrices hold matrices: cells, structs, objects, handles, opaque
MAX_DEPTH = 30


def check_matlab(data: bytes, most: int) -> int:
    """Bytes of a file of version 5 once it is unpacked, as far as `most`; its own size for files of other versions.

    Refuses, with ValueError, elements that are not what they must be.
    """
    if len(data) < HEADER or 0 in data[:4] or data[126:128] not in (b"IM", b"MI"):
        return len(data)
    order = "<" if data[126:128] == b"IM" else ">"
    if data[125 if order == "<" else 124] != 1:
        return len(data)
    return _check(memoryview(data)[HEADER:], order, (MATRIX, COMPRESSED), 0, most)


def _check(data: memoryview, order: str, allowed: tuple[int, ...], depth: int, most: int = 0) -> int:
    """Walk over the elements that stand side by side; their bytes, unpacked, until there are more than `most`."""
    if depth > MAX_DEPTH:
        raise ValueError("its matrices are nested too deeply")
    at, total = 0, len(data)
    while at < len(data) and (depth or total <= most):
        kind, body, at = _element(data, order, at)
        if kind not in allowed:
            raise ValueError("an element is of no known kind")
        if kind == COMPRESSED:
            unpacked = zlib.decompressobj().decompress(body, most - total + 1)
            total += len(unpacked)
            if total <= most:
                _check(memoryview(unpacked), order, (MATRIX,), depth + 1)
        elif kind == MATRIX:
            _check_matrix(body, order, depth + 1)
    return total


def _element(data: memoryview, order: str, at: int) -> tuple[int, memoryview, int]:
    """Kind and data of the element at a place, and the place of the next one."""
    if at + 8 > len(data):
        raise ValueError("an element is cut short")
    kind, size = struct.unpack_from(f"{order}II", data, at)
    if kind >> 16:
        kind, size, start, end = kind & 0xFFFF, kind >> 16, at + 4, at + 8
        if size > 4:
            raise ValueError("a short element is too long")
    else:
        start = at + 8
        end = start + size + (0 if kind == COMPRESSED else -size % 8)
    if start + size > len(data):
        raise ValueError("an element is cut short")
    return kind, data[start : start + size], end


def _check_matrix(data: memoryview, order: str, depth: int) -> None:
    if not len(data):
        return
    kind, flags, _ = _element(data, order, 0)
    if kind not in NUMBERS or len(flags) != 8:
        raise ValueError("a matrix does not say what it holds")
    holds = struct.unpack_from(f"{order}I", flags)[0] & 0xFF
    _check(data, order, (*NUMBERS, MATRIX) if holds in HOLDERS else NUMBERS, depth)
