"""Points of a PLY file (ASCII or binary), as instruments and scanners export them: one vertex for each posture."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from minertia.identification.geometry.chain import Array
from minertia.io.errors import RecordingError

NUMBERS = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "float": "f4",
    "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4",
    "float32": "f4", "float64": "f8",
}  # fmt: skip
ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
END = b"end_header\n"
MOST_HEADER = 100_000  # bytes


class _PlyHeader(NamedTuple):
    """Layout of the vertices: byte order ("" for text), their number, and name and type of each property."""

    order: str
    number: int
    properties: list[tuple[str, str]]


def read_ply(path: Path) -> dict[str, Array]:
    """Properties of the vertices (x, y, z and others) by name, in the units of the file."""
    data = path.read_bytes()
    start = data[:MOST_HEADER].replace(b"\r\n", b"\n")
    if not start.startswith(b"ply\n") or END not in start:
        raise RecordingError("the file is no PLY file: it has no header from 'ply' to 'end_header'", file=path)
    text, *_ = start.split(END)
    header = _header(text.decode("ascii", errors="replace").splitlines()[1:], path)
    at = data.index(b"end_header") + len(b"end_header")
    body = data[at:].removeprefix(b"\r").removeprefix(b"\n")
    found = _text_vertices(header, body, path) if not header.order else _binary_vertices(header, body, path)
    return {name: np.ascontiguousarray(found[name], np.float64) for name, _ in header.properties}


def _header(lines: list[str], path: Path) -> _PlyHeader:
    """Layout of the vertices, which must be the first element: others are meshes around them."""
    order, count, properties, element = None, 0, list[tuple[str, str]](), 0
    for words in (line.split() for line in lines):
        if words[:1] == ["format"] and len(words) > 1:
            order = ORDERS.get(words[1])
        elif words[:1] == ["element"] and len(words) == 3:
            element += 1
            if element == 1 and words[1] == "vertex" and words[2].isdecimal():
                count = int(words[2])
        elif words[:1] == ["property"] and element == 1:
            if len(words) != 3 or words[1] not in NUMBERS:
                raise RecordingError(f"the vertices have the property '{' '.join(words[1:])}', not a number", file=path)
            properties.append((words[2], NUMBERS[words[1]]))
    if order is None or not count or not properties:
        raise RecordingError("the PLY file does not begin with vertices in a known format; export points", file=path)
    return _PlyHeader(order, count, properties)


def _text_vertices(header: _PlyHeader, body: bytes, path: Path) -> dict[str, Array]:
    lines, width = body.decode("ascii", errors="replace").splitlines()[: header.number], len(header.properties)
    try:
        table = np.array([[float(word) for word in line.split()[:width]] for line in lines], ndmin=2)
    except ValueError:
        raise RecordingError("a vertex has a cell that is not a number, or too few", file=path) from None
    if table.shape != (header.number, width):
        raise RecordingError(f"the header announces {header.number} vertices; the file has {len(lines)}", file=path)
    return {name: table[:, k] for k, (name, _) in enumerate(header.properties)}


def _binary_vertices(header: _PlyHeader, body: bytes, path: Path) -> np.ndarray:  # type: ignore[type-arg]
    layout = np.dtype([(name, header.order + kind) for name, kind in header.properties])
    if len(body) < header.number * layout.itemsize:
        raise RecordingError(f"the file ends before its {header.number} vertices", file=path)
    return np.frombuffer(body, layout, header.number)
