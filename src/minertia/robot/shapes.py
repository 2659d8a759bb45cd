"""Link geometry of URDF and MJCF files: primitive shapes, mesh vertices, and bounding boxes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minertia.io.arrays import Array
from minertia.io.errors import DescriptionError, MissingExtra, UnknownName
from minertia.io.extras import load
from minertia.robot.formats.mesh import mesh_points
from minertia.robot.formats.mjcf.compile import to_text
from minertia.robot.formats.mjcf.lean import Lean, lean_document, mesh_path
from minertia.robot.formats.reading import read_text
from minertia.robot.formats.urdf.pose import written_origin
from minertia.robot.formats.xml import Element, number, numbers, parse_xml
from minertia.robot.robot import Robot, find_frame

KINDS = ("sphere", "capsule", "cylinder", "box")
UNREAD = "unread"  # kind of a piece whose form is not known: a mesh that is not there, or no numbers
LARGEST = 1e3  # m: a piece larger than this is in other units, or none at all
MESH = "mesh"


@dataclass(frozen=True)
class Piece:
    """One shape of a link's geometry, in the link frame.

    link: name of the link, "" for the world of an MJCF file.  drawn: whether it is visual only, not a
    collision shape.  kind: one of `KINDS`, MESH or UNREAD.  size: as in `Shape`.  points (N, 3) [m]: vertices
    of a mesh.
    """

    link: str
    drawn: bool
    kind: str
    size: tuple[float, ...] = ()
    R: Array | None = None
    p: Array | None = None
    points: Array | None = None

    @property
    def is_sound(self) -> bool:
        """Whether all dimensions are plausible for a robot."""
        extents = [np.array(self.size), *(x for x in (self.p, self.points) if x is not None)]
        return all(bool((np.abs(x) <= LARGEST).all()) for x in extents) and all(v > 0 for v in self.size)


def file_pieces(robot: Robot) -> list[Piece]:
    """Link geometry in the robot file: collision shapes of each link, or visual ones if it has none."""
    if robot.source is None or not Path(robot.source).is_file():
        return []
    try:
        text = read_text(Path(robot.source))
        if "<mujoco" in text[:100_000]:
            found = list(_mjcf_pieces(robot, text))
        else:
            found = list(_urdf_pieces(robot, text)) if "<robot" in text else []
    except (DescriptionError, MissingExtra):  # the robot was read before; its frames are known without
        return []
    found = [piece if piece.is_sound else Piece(piece.link, piece.drawn, UNREAD) for piece in found]
    solid = {piece.link for piece in found if not piece.drawn}
    return [piece for piece in found if not piece.drawn or piece.link not in solid]


# ---------------------------------------------------------------------- URDF


def _urdf_pieces(robot: Robot, text: str) -> Iterator[Piece]:
    for link in parse_xml(text, robot.source or "").all("link"):
        name = link.attributes.get("name", "")
        for tag in ("collision", "visual"):
            for element in link.all(tag):
                yield _urdf_piece(name, tag == "visual", element, Path(robot.source or ""))


def _urdf_piece(link: str, drawn: bool, element: Element, source: Path) -> Piece:
    geometry = element.first("geometry")
    try:
        R, xyz = written_origin(element, f"link '{link}'")
        p = np.array(xyz, float)
        for form in [] if geometry is None else geometry.children:
            if form.tag in ("sphere", "cylinder", "capsule", "box"):
                return Piece(link, drawn, form.tag, _urdf_size(form), R, p)
            if form.tag == "mesh":
                return _mesh(link, drawn, _urdf_mesh(form, source), R, p)
    except DescriptionError:  # numbers that are none; nothing of it moves the robot
        pass
    return Piece(link, drawn, UNREAD)


def _urdf_size(form: Element) -> tuple[float, ...]:
    if form.tag == "box":
        return tuple(0.5 * v for v in numbers(form, "size", "box", 3))
    radius = number(form, "radius", form.tag)
    return (radius,) if form.tag == "sphere" else (radius, 0.5 * number(form, "length", form.tag))


def _urdf_mesh(form: Element, source: Path) -> Array | None:
    scale = np.array(numbers(form, "scale", "mesh", 3, (1.0, 1.0, 1.0)))
    for path in _mesh_places(form.attributes.get("filename", ""), source):
        points = mesh_points(path)
        if points is not None:
            return np.asarray(points * scale)
    return None


def _mesh_places(name: str, source: Path) -> Iterator[Path]:
    """Possible locations of a mesh: beside the file, or in a package in one of the folders above it."""
    if not name or "\0" in name:
        return
    scheme, sign, rest = name.partition("://")
    if not sign or scheme == "file":
        yield source.parent / (rest if sign else name)
    elif scheme in ("package", "model"):
        package, _, inside = rest.partition("/")
        for folder in source.resolve().parents:
            yield folder / package / inside
            if folder.name == package:
                yield folder / inside


# ---------------------------------------------------------------------- MJCF


def _mjcf_pieces(robot: Robot, text: str) -> Iterator[Piece]:
    """Link geometry of an MJCF text, with poses computed by MuJoCo; masses are ignored.

    MuJoCo does not load the meshes; it computes only their poses.
    """
    mujoco: Any = load("mujoco", "sim")
    lean = lean_document(text, robot.source)
    types = {int(getattr(mujoco.mjtGeom, f"mjGEOM_{kind.upper()}")): kind for kind in KINDS}
    mesh = int(mujoco.mjtGeom.mjGEOM_MESH)
    try:
        spec = mujoco.MjSpec.from_string(to_text(lean.root))
        meshes: dict[str, str] = {}
        for k, geom in enumerate(list(spec.geoms)):
            geom.name = f"g{k}"
            if int(geom.type) == mesh:
                meshes[geom.name] = geom.meshname
                geom.type, geom.meshname, geom.size = mujoco.mjtGeom.mjGEOM_SPHERE, "", np.ones(3)
            elif int(geom.type) not in types:
                spec.delete(geom)
        scales = {item.name: np.array(item.scale, float) for item in spec.meshes}
        for item in list(spec.meshes):
            spec.delete(item)
        for body in spec.bodies:
            body.mass, body.inertia, body.explicitinertial = 1.0, (1.0, 1.0, 1.0), True
        model = spec.compile()
    except (ValueError, TypeError, RuntimeError, mujoco.FatalError, mujoco.UnexpectedError):
        return
    for g in range(model.ngeom):
        drawn = not model.geom_contype[g] and not model.geom_conaffinity[g]
        body = str(model.body(int(model.geom_bodyid[g])).name)
        link = "" if body == "world" else body
        turn = np.empty(9)
        mujoco.mju_quat2Mat(turn, model.geom_quat[g])
        R, p = turn.reshape(3, 3), np.array(model.geom_pos[g])
        name = meshes.get(str(model.geom(g).name))
        if name is None:
            kind = types[int(model.geom_type[g])]
            size = tuple(float(v) for v in model.geom_size[g][: {"sphere": 1, "box": 3}.get(kind, 2)])
            yield Piece(link, drawn, kind, size, R, p)
        else:
            yield _mesh(link, drawn, _mjcf_mesh(name, lean, scales), R, p)


def _mjcf_mesh(name: str, lean: Lean, scales: dict[str, Array]) -> Array | None:
    path = mesh_path(name, lean) if name in lean.files else None
    points = None if path is None else mesh_points(path)
    return None if points is None else points * scales.get(name, np.ones(3))


def _mesh(link: str, drawn: bool, points: Array | None, R: Array, p: Array) -> Piece:
    if points is None:
        return Piece(link, drawn, UNREAD)
    return Piece(link, drawn, MESH, points=points @ R.T + p)


# ---------------------------------------------------------------------------------------------- boxes that hold links


WIDER = 0.1  # of a box's diagonal on every side: shapes are drawn coarsely


@dataclass(frozen=True)
class Extent:
    """Bounding box of a link, along the axes of its joint's frame: lower and upper corner (3,) [m]."""

    lower: Array
    upper: Array

    def outside(self, p: Array) -> float:
        """Distance of a point from the box [m]; 0 inside."""
        return float(np.linalg.norm(np.maximum(np.maximum(self.lower - p, p - self.upper), 0.0)))


def link_extents(robot: Robot) -> dict[int, Extent]:
    """Bounding box of each joint's link, fixed bodies included; no box where a shape could not be read.

    The box is enlarged by a fraction, and contains the centre of mass given in the file.
    """
    robot = robot.numeric
    corners: dict[int, list[Array]] = {}
    unread: set[int] = set()
    for piece in file_pieces(robot):
        try:
            frame = find_frame(robot, piece.link)
        except UnknownName:
            continue
        if frame.joint is None:
            continue
        if piece.kind == UNREAD:
            unread.add(frame.joint)
        else:
            R, p = np.array(frame.pose[0], float), np.array(frame.pose[1], float)
            corners.setdefault(frame.joint, []).extend(_corners(piece, R, p))
    return {j: _widened(robot, j, np.array(own)) for j, own in corners.items() if j not in unread}


def _corners(piece: Piece, R: Array, p: Array) -> list[Array]:
    """Lower and upper corner of a shape in the joint's frame, in which its link has the pose R, p."""
    if piece.points is not None:
        points = piece.points @ R.T + p
        return [points.min(axis=0), points.max(axis=0)]
    assert piece.R is not None and piece.p is not None
    turn, centre = R @ piece.R, p + R @ piece.p
    if piece.kind == "box":
        half = np.abs(turn) @ np.array(piece.size)
    elif piece.kind == "sphere":
        half = np.full(3, piece.size[0])
    else:
        radius, length, along = piece.size[0], piece.size[1], np.abs(turn[:, 2])
        round_part = radius if piece.kind == "capsule" else radius * np.sqrt(np.maximum(1 - along**2, 0.0))
        half = along * length + round_part
    return [centre - half, centre + half]


def _widened(robot: Robot, j: int, corners: Array) -> Extent:
    lower, upper = corners.min(axis=0), corners.max(axis=0)
    room = WIDER * float(np.linalg.norm(upper - lower))
    ten = robot.links[j]
    if ten is not None and ten[9] > 0:
        com = np.array(ten[6:9], float) / ten[9]
        lower, upper = np.minimum(lower, com), np.maximum(upper, com)
    return Extent(lower - room, upper + room)


def link_reach(robot: Robot, j: int) -> float:
    """Largest distance [m] from a joint's origin to the joints and frames on its link and to its parent joint.

    The frame of a link may be at either end of the link.
    """
    ends = [robot.joints[j].p, *(joint.p for joint in robot.joints if joint.parent == j)]
    ends += [frame.pose[1] for frame in robot.frames.values() if frame.joint == j]
    return max((float(np.linalg.norm(np.array(p, float))) for p in ends), default=0.0)
