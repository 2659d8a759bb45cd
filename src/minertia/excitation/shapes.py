"""Simple shapes for distances: given by the user, read from the robot's file, or capsules along its links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.errors import MinertiaError, UnknownName
from minertia.excitation.model import find_frame
from minertia.extras import load
from minertia.robot.mjcf.compile import to_text
from minertia.robot.mjcf.lean import lean_document
from minertia.robot.read import read_text
from minertia.robot.robot import Robot
from minertia.robot.urdf.pose import written_origin
from minertia.robot.xml_input import Element, number, numbers, parse_xml

Array = NDArray[np.float64]
KINDS = ("sphere", "capsule", "cylinder", "box")
SHORTEST = 1e-3  # m: a capsule shorter than this is a sphere


@dataclass(frozen=True)
class Shape:
    """A sphere, capsule, cylinder or box fixed in the frame of a joint (None: the ground).

    size: radius; radius and half length (along z); or half sides [m].  R, p: pose in the joint's frame.
    """

    name: str
    joint: int | None
    kind: str
    size: tuple[float, ...]
    R: Array
    p: Array


def box(name: str, center: ArrayLike, sides: ArrayLike, *, robot: Robot | None = None, frame: str = "") -> Shape:
    """A box with its centre and whole sides [m] in a named frame of the robot, by default in the base frame."""
    half = tuple(0.5 * float(v) for v in np.asarray(sides, float))
    if len(half) != 3 or min(half) <= 0:
        raise MinertiaError(f"the box '{name}' needs three positive sides")
    return _placed(name, "box", half, np.eye(3), np.asarray(center, float), robot, frame)


def capsule(name: str, a: ArrayLike, b: ArrayLike, radius: float, *, robot: Robot, frame: str) -> Shape:
    """All points within `radius` of the line from a to b [m] in a named frame of the robot."""
    ends = np.asarray(a, float), np.asarray(b, float)
    kind, size, R, p = _between(*ends, radius)
    return _placed(name, kind, size, R, p, robot, frame)


def link_capsules(robot: Robot, radius: float) -> tuple[Shape, ...]:
    """A capsule along each link, from its joint to the next ones; a sphere at the last."""
    robot = robot.numeric
    shapes = []
    for j, joint in enumerate(robot.joints):
        tips = [np.array(child.p, float) for child in robot.joints if child.parent == j]
        tips += [] if tips else [np.array(joint.file_frame[1], float)]
        for tip in tips:
            kind, size, R, p = _between(np.zeros(3), tip, radius)
            shapes.append(Shape(joint.link or joint.name, j, kind, size, R, p))
    return tuple(shapes)


def link_shapes(robot: Robot, radius: float) -> tuple[Shape, ...]:
    """The shapes of the robot's file; a capsule of this radius [m] for each link that has none there."""
    found = file_shapes(robot)
    known = {shape.joint for shape in found}
    return (*found, *(shape for shape in link_capsules(robot, radius) if shape.joint not in known))


def file_shapes(robot: Robot) -> tuple[Shape, ...]:
    """The primitive collision shapes of the URDF or MJCF file the robot was read from (meshes are not among them)."""
    if robot.source is None or not Path(robot.source).is_file():
        return ()
    text = read_text(Path(robot.source))
    if "<mujoco" in text[:100_000]:
        return tuple(_mjcf_shapes(robot, text))
    return tuple(_urdf_shapes(robot, text)) if "<robot" in text else ()


def _placed(
    name: str, kind: str, size: tuple[float, ...], R: Array, p: Array, robot: Robot | None, frame: str
) -> Shape:
    """A shape from a named frame into the frame of the joint that carries it."""
    if not frame:
        return Shape(name, None, kind, size, R, p)
    if robot is None:
        raise MinertiaError(f"the shape '{name}' names the frame '{frame}', so it needs the robot too")
    found = find_frame(robot.numeric, frame)
    R_jf, p_jf = np.array(found.pose[0], float), np.array(found.pose[1], float)
    return Shape(name, found.joint, kind, size, R_jf @ R, p_jf + R_jf @ p)


def _between(a: Array, b: Array, radius: float) -> tuple[str, tuple[float, ...], Array, Array]:
    if radius <= 0:
        raise MinertiaError("a radius must be positive")
    length = float(np.linalg.norm(b - a))
    if length < SHORTEST:
        return "sphere", (radius,), np.eye(3), 0.5 * (a + b)
    z = (b - a) / length
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x /= np.linalg.norm(x)
    return "capsule", (radius, 0.5 * length), np.column_stack([x, np.cross(z, x), z]), 0.5 * (a + b)


def _urdf_shapes(robot: Robot, text: str) -> list[Shape]:
    shapes = []
    for link in parse_xml(text, robot.source or "").all("link"):
        name = link.attributes.get("name", "")
        for k, collision in enumerate(link.all("collision")):
            geometry = collision.first("geometry")
            found = None if geometry is None else _urdf_size(geometry)
            if found is not None:
                R, p = written_origin(collision, f"link '{name}'")
                shapes.append(_try_placed(f"{name}#{k + 1}", *found, R, np.array(p), robot, name))
    return [shape for shape in shapes if shape is not None]


def _urdf_size(geometry: Element) -> tuple[str, tuple[float, ...]] | None:
    for e in geometry.children:
        if e.tag == "sphere":
            return "sphere", (number(e, "radius", "sphere"),)
        if e.tag in ("cylinder", "capsule"):
            return e.tag, (number(e, "radius", e.tag), 0.5 * number(e, "length", e.tag))
        if e.tag == "box":
            x, y, z = numbers(e, "size", "box", 3)
            return "box", (0.5 * x, 0.5 * y, 0.5 * z)
    return None


def _mjcf_shapes(robot: Robot, text: str) -> list[Shape]:
    mujoco: Any = load("mujoco", "sim")
    spec = mujoco.MjSpec.from_string(to_text(lean_document(text, robot.source).root))
    types = {int(getattr(mujoco.mjtGeom, f"mjGEOM_{kind.upper()}")): kind for kind in KINDS}
    for geom in list(spec.geoms):
        if int(geom.type) not in types:
            spec.delete(geom)
    for mesh in list(spec.meshes):
        spec.delete(mesh)
    model = spec.compile()
    shapes = []
    for g in range(model.ngeom):
        kind, body = types[int(model.geom_type[g])], str(model.body(int(model.geom_bodyid[g])).name)
        if not model.geom_contype[g] and not model.geom_conaffinity[g]:
            continue  # drawn only
        R = np.empty(9)
        mujoco.mju_quat2Mat(R, model.geom_quat[g])
        size = tuple(float(v) for v in model.geom_size[g][: {"sphere": 1, "box": 3}.get(kind, 2)])
        where = "" if body == "world" else body
        shapes.append(
            _try_placed(f"{body}#{g}", kind, size, R.reshape(3, 3), np.array(model.geom_pos[g]), robot, where)
        )
    return [shape for shape in shapes if shape is not None]


def _try_placed(
    name: str, kind: str, size: tuple[float, ...], R: Array, p: Array, robot: Robot, frame: str
) -> Shape | None:
    """A shape of the file, None where its link is not part of the robot."""
    try:
        return _placed(name, kind, size, R, p, robot, frame)
    except UnknownName:
        return None


def check_shapes(shapes: Sequence[Shape]) -> None:
    """Refuse shapes that have no size."""
    for shape in shapes:
        if shape.kind not in KINDS:
            raise UnknownName("kind of shape", shape.kind, KINDS)
        if not all(np.isfinite(shape.size)) or min(shape.size) <= 0:
            raise MinertiaError(f"the shape '{shape.name}' needs positive sizes")
