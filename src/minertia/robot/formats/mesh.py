"""Vertices of mesh files (STL, OBJ, COLLADA), for the extent of links."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import numpy as np

from minertia.io.arrays import Array
from minertia.io.errors import DescriptionError
from minertia.io.files import reading
from minertia.robot.formats.xml import Element, parse_xml

LARGEST = 50_000_000  # bytes of a file
HEADER, FACE = 84, 50  # bytes of a binary STL file before its faces, and of each


def mesh_points(path: Path) -> Array | None:
    """Vertices (N, 3) in the unit of the file; those of COLLADA files in metres.

    None where the file does not exist or its format is not supported.
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
    """Rows of three numbers after a keyword, one per line of the file."""
    rows = [line.split()[1:4] for line in BytesIO(data) if line.split(maxsplit=1)[:1] == [word]]
    return np.array(rows, dtype=float).reshape(-1, 3) if rows else None


# ------------------------------------------------------------------------------------------------------------ COLLADA


DEEPEST = 64  # nodes within nodes, also through references
MOST = 20_000_000  # points of all copies of all meshes
NODES = 50_000  # of a scene, each as often as it is shown: a few that show one another twice would be without end
_TAGS = re.compile(r"<[^>]*>")


def collada_points(data: bytes) -> Array | None:
    """Vertices (N, 3) [m] of a COLLADA file; None if it has none.

    As in ROS, the unit is applied and the up axis is not.  Raises ValueError for an invalid file.
    """
    text = data.decode("utf-8", errors="replace")
    try:
        root = parse_xml(text, None)
    except DescriptionError as err:
        raise ValueError(str(err)) from None
    if root.tag != "COLLADA":
        raise ValueError("not a COLLADA file")
    found = list(_Scene(root, text).points())
    return _unit(root) * np.vstack(found) if found else None


def _unit(root: Element) -> float:
    """Length unit of the file in metres."""
    for element in root.walk():
        if element.tag == "unit":
            return float(element.attributes.get("meter", 1.0))
    return 1.0


class _Scene:
    """Elements of a file by their identifiers."""

    def __init__(self, root: Element, text: str) -> None:
        self.root, self.text = root, text.removeprefix("\ufeff")
        self.named = {e.attributes["id"]: e for e in root.walk() if "id" in e.attributes}
        self.meshes: dict[int, Array] = {}
        self.points_left, self.nodes_left = MOST, NODES

    def points(self) -> Iterator[Array]:
        """Points of every mesh instance in the scene; of all meshes, untransformed, if there is no scene."""
        named = (self._meant(e) for e in self.root.walk() if e.tag == "instance_visual_scene")
        scenes = [e for e in named if e is not None] or [e for e in self.root.walk() if e.tag == "visual_scene"][:1]
        if not scenes:
            yield from (self._mesh(e) for e in self.root.walk() if e.tag == "geometry")
        for scene in scenes:
            for node in scene.all("node"):
                yield from self._shown(node, np.eye(4), 0)

    def _shown(self, node: Element, pose: Array, depth: int) -> Iterator[Array]:
        self.nodes_left -= 1
        if depth > DEEPEST or self.nodes_left < 0:
            raise ValueError("too many nodes, or nodes nested too deeply")
        pose = pose @ self._own_pose(node)
        for child in node.children:
            meant = self._meant(child)
            if child.tag == "node":
                yield from self._shown(child, pose, depth + 1)
            elif meant is not None and child.tag == "instance_node":
                yield from self._shown(meant, pose, depth + 1)
            elif meant is not None and child.tag == "instance_geometry":
                points = self._mesh(meant)
                self.points_left -= len(points)
                if self.points_left < 0:
                    raise ValueError("too many points")
                yield points @ pose[:3, :3].T + pose[:3, 3]

    def _own_pose(self, node: Element) -> Array:
        """Composed transformation of a node, in the order of the file."""
        found = np.eye(4)
        for child in node.children:
            if child.tag in _POSES:
                size, pose = _POSES[child.tag]
                found = found @ pose(self._numbers(child, size))
        return found

    def _mesh(self, geometry: Element) -> Array:
        """Points of a geometry's mesh in its own frame, cached."""
        if id(geometry) not in self.meshes:
            inputs = [e for e in geometry.walk() if e.tag == "input" and e.attributes.get("semantic") == "POSITION"]
            sources = [source for e in inputs if (source := self._meant(e)) is not None]
            self.meshes[id(geometry)] = np.vstack([np.empty((0, 3)), *(self._source(e) for e in sources)])
        return self.meshes[id(geometry)]

    def _source(self, source: Element) -> Array:
        values = next((e for e in source.walk() if e.tag == "float_array"), None)
        accessor = next((e for e in source.walk() if e.tag == "accessor"), None)
        if values is None:
            return np.empty((0, 3))
        stride = int(accessor.attributes.get("stride", 3)) if accessor is not None else 3
        found = self._numbers(values)
        if stride < 3 or len(found) % stride:
            raise ValueError("positions are not triples")
        return found.reshape(-1, stride)[:, :3]

    def _meant(self, element: Element) -> Element | None:
        """Element of the file to which a reference points; None if there is none."""
        name = element.attributes.get("url", element.attributes.get("source", ""))
        return self.named.get(name.removeprefix("#"))

    def _numbers(self, element: Element, size: int | None = None) -> Array:
        found = np.array(_TAGS.sub(" ", self.text[element.start : element.end]).split(), float)
        if size is not None and len(found) != size:
            raise ValueError(f"<{element.tag}> needs {size} numbers")
        return found


def _moved(v: Array) -> Array:
    found = np.eye(4)
    found[:3, 3] = v
    return found


def _turned(v: Array) -> Array:
    """Homogeneous rotation matrix (4, 4) about the axis v[:3] by the angle v[3] [deg]."""
    found, length = np.eye(4), float(np.linalg.norm(v[:3]))
    if length > 0:
        x, y, z = v[:3] / length
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        angle = np.radians(v[3])
        found[:3, :3] += np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    return found


_POSES: dict[str, tuple[int, Callable[[Array], Array]]] = {
    "matrix": (16, lambda v: v.reshape(4, 4)),
    "translate": (3, _moved),
    "rotate": (4, _turned),
    "scale": (3, lambda v: np.diag([*v, 1.0])),
}
