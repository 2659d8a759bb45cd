"""Collision shapes on links and around the robot: given by the user, or read from the robot file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError, UnknownName
from minertia.robot.robot import Robot, find_frame
from minertia.robot.shapes import KINDS

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
    """Box with its centre and full side lengths [m] in a named frame of the robot, by default the base frame."""
    half = tuple(0.5 * float(v) for v in np.asarray(sides, float))
    if len(half) != 3 or min(half) <= 0:
        raise MinertiaError(f"the box '{name}' needs three positive side lengths")
    return placed(name, "box", half, np.eye(3), np.asarray(center, float), robot, frame)


def capsule(name: str, a: ArrayLike, b: ArrayLike, radius: float, *, robot: Robot, frame: str) -> Shape:
    """Capsule: points within `radius` of the segment from a to b [m] in a named frame of the robot."""
    if radius <= 0:
        raise MinertiaError("a radius must be positive")
    first, last = np.asarray(a, float), np.asarray(b, float)
    length = float(np.linalg.norm(last - first))
    middle = 0.5 * (first + last)
    if length < SHORTEST:
        return placed(name, "sphere", (radius,), np.eye(3), middle, robot, frame)
    R = _along((last - first) / length)
    return placed(name, "capsule", (radius, 0.5 * length), R, middle, robot, frame)


def _along(z: Array) -> Array:
    """A rotation whose third column is this direction."""
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def placed(name: str, kind: str, size: tuple[float, ...], R: Array, p: Array, robot: Robot | None, frame: str) -> Shape:
    """Transform a shape from a named frame to the frame of its joint."""
    if not frame:
        return Shape(name, None, kind, size, R, p)
    if robot is None:
        raise MinertiaError(f"the shape '{name}' is fixed to the frame '{frame}', so the robot must be given as well")
    found = find_frame(robot.numeric, frame)
    R_jf, p_jf = np.array(found.pose[0], float), np.array(found.pose[1], float)
    return Shape(name, found.joint, kind, size, R_jf @ R, p_jf + R_jf @ p)


def check_shapes(shapes: Sequence[Shape]) -> None:
    """Raise an error for shapes without extent."""
    for shape in shapes:
        if shape.kind not in KINDS:
            raise UnknownName("kind of shape", shape.kind, KINDS)
        if not all(np.isfinite(shape.size)) or min(shape.size) <= 0:
            raise MinertiaError(f"the shape '{shape.name}' needs positive sizes")
