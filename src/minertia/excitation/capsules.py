"""Collision capsules of links: from the geometry of the robot file, or along its frames if it has none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minertia.excitation.distance import between_segments
from minertia.excitation.shapes import SHORTEST, Shape
from minertia.io.arrays import Array
from minertia.io.errors import UnknownName
from minertia.robot.robot import Robot, find_frame
from minertia.robot.shapes import UNREAD, Piece, file_pieces

SLENDER = 0.035  # radius of a link the file shows nothing of, as a part of the robot's length
USUAL = 0.05  # m: that radius where the robot has no length
MOST = 12  # capsules from the file on what one joint carries
STRIPS = 4  # capsules side by side in a flat box, at most


@dataclass(frozen=True)
class Point:
    """A point [m] fixed in the frame of a joint (None: the ground)."""

    joint: int | None
    p: tuple[float, float, float]


@dataclass(frozen=True)
class Capsule:
    """Points within `radius` [m] of the segment from a to b; on the link of `joint` (None: the base).

    The ends of a prismatic joint's capsule are fixed in different links.  by_frames: made along frames, not from
    geometry.
    """

    name: str
    joint: int | None
    a: Point
    b: Point
    radius: float
    by_frames: bool = False


@dataclass(frozen=True)
class Body:
    """Collision geometry of a robot: capsules of links, boxes of the base, radius [m] of capsules along frames."""

    capsules: tuple[Capsule, ...]
    boxes: tuple[Shape, ...]
    radius: float

    @property
    def sources(self) -> tuple[bool, bool]:
        """Whether moving links have capsules from the file's geometry, and whether some have them along frames."""
        kinds = {c.by_frames for c in self.capsules if c.joint is not None}
        return False in kinds, True in kinds


def robot_body(robot: Robot, radius: float | None = None) -> Body:
    """Capsules of every link; radius [m] of those along frames, by default a fraction of the robot's length."""
    robot = robot.numeric
    size = length(robot)
    radius = radius or (SLENDER * size if size > 0 else USUAL)
    capsules, boxes = _from_file(robot)
    for own in frame_capsules(robot, radius):
        if not _is_covered(own, [c for c in capsules if c.joint == own.joint and not c.by_frames], boxes):
            capsules.append(own)
    return Body(tuple(capsules), tuple(boxes), radius)


def length(robot: Robot) -> float:
    """Longest path from the base to a joint or a frame along the links [m], prismatic joints at zero."""
    robot = robot.numeric
    ways: list[float] = []
    for joint in robot.joints:
        before = 0.0 if joint.parent is None else ways[joint.parent]
        ways.append(before + float(np.linalg.norm(np.array(joint.p, float))))
    ends = [way + float(np.linalg.norm(tip)) for j, way in enumerate(ways) for tip in _tips(robot, j)]
    return max([*ways, *ends], default=0.0) or max((_to_mass(robot, j) for j in range(len(ways))), default=0.0)


# ---------------------------------------------------------------------- along frames


def frame_capsules(robot: Robot, radius: float) -> list[Capsule]:
    """Capsules from each joint to its child joints and from the base to the first, and along prismatic travel."""
    robot, found = robot.numeric, []
    longest = length(robot)
    for j, joint in enumerate(robot.joints):
        foot = Point(joint.parent, _three(joint.p))
        if joint.parent is None:
            found.append(Capsule(robot.base_name, None, Point(None, (0.0, 0.0, 0.0)), foot, radius, True))
        name, centre = joint.link or joint.name, Point(j, (0.0, 0.0, 0.0))
        if joint.kind == "prismatic":
            found.append(Capsule(name, j, foot, centre, radius, True))
        tips = _tips(robot, j) or [np.zeros(3) if _ends_here(robot, j) else _beyond_mass(robot, j, longest)]
        found += [Capsule(name, j, centre, Point(j, _three(tip)), radius, True) for tip in tips]
    return found


def _tips(robot: Robot, j: int) -> list[Array]:
    """Ends of link j in its joint's frame: at its child joints, else at the frames fixed to it."""
    tips = [np.array(child.p, float) for child in robot.joints if child.parent == j]
    if tips:
        return tips
    tips = [np.array(frame.pose[1], float) for frame in robot.frames.values() if frame.joint == j]
    return _distinct([p for p in tips if np.linalg.norm(p) > SHORTEST])


def _ends_here(robot: Robot, j: int) -> bool:
    """Whether another frame of link j, such as a flange, is at its origin: the link then lies behind it."""
    own = {robot.joints[j].name, robot.joints[j].link}
    return any(frame.joint == j and name not in own for name, frame in robot.frames.items())


def _beyond_mass(robot: Robot, j: int, longest: float) -> Array:
    """Point twice as far from the joint as the centre of mass of link j, used if no frame gives its end."""
    ten, reach = robot.links[j], _to_mass(robot, j)
    if ten is None or not 0 < reach < np.inf:
        return np.zeros(3)
    return np.asarray(np.array(ten[6:9], float) / ten[9] * min(2.0, longest / reach))


def _to_mass(robot: Robot, j: int) -> float:
    ten = robot.links[j]
    return 0.0 if ten is None or ten[9] <= 0 else float(np.linalg.norm(np.array(ten[6:9], float)) / ten[9])


def _distinct(tips: list[Array]) -> list[Array]:
    """Remove points that lie on the segment to one further out."""
    kept: list[Array] = []
    for tip in sorted(tips, key=lambda p: -float(np.linalg.norm(p))):
        on_way = [abs(np.linalg.norm(far - tip) + np.linalg.norm(tip) - np.linalg.norm(far)) < SHORTEST for far in kept]
        if not any(on_way):
            kept.append(tip)
    return kept


def _is_covered(own: Capsule, shapes: Sequence[Capsule], boxes: Sequence[Shape]) -> bool:
    """Whether shapes of the same link are near both ends, so that the file's geometry covers the link."""
    if own.joint is None and boxes:
        return True
    return all(any(_off(shape, end) <= own.radius for shape in shapes) for end in (own.a, own.b))


def _off(shape: Capsule, end: Point) -> float:
    """Distance of a point from a capsule; infinite if it is fixed in another link."""
    if end.joint != shape.a.joint or end.joint != shape.b.joint:
        return np.inf
    ends = [np.array([p]) for p in (shape.a.p, shape.b.p, end.p, end.p)]
    return float(between_segments(*ends).distance[0]) - shape.radius


# ---------------------------------------------------------------------- of shapes


def _from_file(robot: Robot) -> tuple[list[Capsule], list[Shape]]:
    capsules: list[Capsule] = []
    boxes: list[Shape] = []
    for piece in file_pieces(robot):
        frame = _frame(robot, piece)
        if frame is None or piece.kind == UNREAD:
            continue
        joint, R, p = frame
        if piece.kind == "box" and joint is None:
            assert piece.R is not None and piece.p is not None
            boxes.append(Shape(piece.link, None, "box", piece.size, R @ piece.R, p + R @ piece.p))
        else:
            capsules += [_capsule(piece.link, joint, R, p, *ends) for ends in enclosing(piece)]
    return _few(capsules), boxes


def _few(capsules: list[Capsule]) -> list[Capsule]:
    """Replace the capsules of a joint that has too many by one around all of them."""
    found: list[Capsule] = []
    for joint in dict.fromkeys(c.joint for c in capsules):
        own = [c for c in capsules if c.joint == joint]
        if len(own) > MOST:
            a, b, radius = fitted(np.array([end.p for c in own for end in (c.a, c.b)]))
            radius += max(c.radius for c in own)
            own = [Capsule(own[0].name, joint, Point(joint, _three(a)), Point(joint, _three(b)), radius)]
        found += own
    return found


def _frame(robot: Robot, piece: Piece) -> tuple[int | None, Array, Array] | None:
    """Joint of a piece of geometry and the pose of its link there; None if the link is not part of the robot."""
    if not piece.link:
        return None, np.eye(3), np.zeros(3)
    try:
        frame = find_frame(robot, piece.link)
    except UnknownName:
        return None
    return frame.joint, np.array(frame.pose[0], float), np.array(frame.pose[1], float)


def _capsule(name: str, joint: int | None, R: Array, p: Array, a: Array, b: Array, radius: float) -> Capsule:
    return Capsule(name, joint, Point(joint, _three(p + R @ a)), Point(joint, _three(p + R @ b)), radius)


def shape_capsules(shape: Shape) -> list[Capsule]:
    """Capsules that enclose a shape."""
    piece = Piece(shape.name, False, shape.kind, shape.size, shape.R, shape.p)
    return [_capsule(shape.name, shape.joint, np.eye(3), np.zeros(3), *ends) for ends in enclosing(piece)]


def enclosing(piece: Piece) -> list[tuple[Array, Array, float]]:
    """Ends and radii of capsules that enclose a piece of geometry, in its link's frame."""
    if piece.points is not None:
        return [fitted(piece.points)]
    assert piece.R is not None and piece.p is not None
    R, p = piece.R, piece.p
    if piece.kind == "box":
        return [(p + R @ a, p + R @ b, radius) for a, b, radius in _box(np.array(piece.size))]
    radius, half = piece.size[0], piece.size[1] if len(piece.size) > 1 else 0.0
    if piece.kind == "cylinder" and half < 0.5 * radius:  # a disc: a ball around it takes less room
        radius, half = float(np.hypot(radius, half)), 0.0
    z = half * R[:, 2]
    return [(p - z, p + z, radius)]


def _box(half: Array) -> list[tuple[Array, Array, float]]:
    """Capsules along the longest side, several side by side for a flat box."""
    thin, wide, along = np.argsort(half, kind="stable")
    count = int(np.clip(round(half[wide] / half[thin]), 1, STRIPS))
    part = half[wide] / count
    radius = float(np.hypot(part, half[thin]))
    found = []
    for k in range(count):
        a, b = np.zeros(3), np.zeros(3)
        a[wide] = b[wide] = (2 * k + 1 - count) * part
        a[along], b[along] = -half[along], half[along]
        found.append((a, b, radius))
    return found


def fitted(points: Array) -> tuple[Array, Array, float]:
    """Ends and radius of the smallest capsule around points (N, 3), along an axis of their bounding box."""
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    found = [_along(points - middle, axis) for axis in np.eye(3)]
    a, b, radius = min(found, key=lambda f: np.pi * f[2] ** 2 * (float(np.linalg.norm(f[1] - f[0])) + 4 / 3 * f[2]))
    return middle + a, middle + b, radius


def _along(points: Array, axis: Array) -> tuple[Array, Array, float]:
    z = points @ axis
    off = np.linalg.norm(points - z[:, None] * axis, axis=1)
    radius = max(float(off.max()), 1e-6)
    cap = np.sqrt(np.maximum(radius**2 - off**2, 0.0))
    low, high = float((z + cap).min()), float((z - cap).max())
    if low > high:  # a ball holds them all
        low = high = 0.5 * (low + high)
    return low * axis, high * axis, radius


def _three(p: Any) -> tuple[float, float, float]:
    x, y, z = (float(v) for v in p)
    return x, y, z
