"""Points of mesh files (STL, OBJ, COLLADA), as far as the extent of a link needs them."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np

from minertia.io.arrays import Array
from minertia.io.files import reading
from minertia.robot.collada import collada_points

LARGEST = 50_000_000  # bytes of a file
HEADER, FACE = 84, 50  # bytes of a binary STL file before its faces, and of each


def mesh_points(path: Path) -> Array | None:
    """Vertices (N, 3) in the file's own units, of COLLADA in metres.

    None where there is no such file or its format is not one of these.
    """
    reader = {".stl": _stl, ".obj": _obj, ".dae": collada_points}.get(path.suffix.lower())
    try:
        if reader is None or not path.is_file() or path.stat().st_size > LARGEST:
            return None
        reading(path)
        points = reader(path.read_bytes())
    except (OSError, ValueError):
        return None
    is_good = points is not None and len(points) > 0 and bool(np.isfinite(points).all())
    return points if is_good else None


def _stl(data: bytes) -> Array | None:
    count = int.from_bytes(data[80:HEADER], "little") if len(data) >= HEADER else -1
    if len(data) == HEADER + count * FACE:  # text may begin with the same word, so the length decides
        faces = np.frombuffer(data, np.uint8, offset=HEADER).reshape(count, FACE)
        return np.ascontiguousarray(faces[:, 12:48]).view("<f4").reshape(-1, 3).astype(float)
    return _rows(data, b"vertex") if data.lstrip().startswith(b"solid") else None


def _obj(data: bytes) -> Array | None:
    return _rows(data, b"v")


def _rows(data: bytes, word: bytes) -> Array | None:
    """The three numbers after a word, line by line."""
    rows = [line.split()[1:4] for line in BytesIO(data) if line.split(maxsplit=1)[:1] == [word]]
    return np.array(rows, dtype=float).reshape(-1, 3) if rows else None
