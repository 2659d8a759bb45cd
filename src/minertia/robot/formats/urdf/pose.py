"""Poses of a URDF: as written (angles, URDF 1.1 quaternions, axes), and with rounded angles snapped."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.polynomial import turn
from minertia.algebra.vec3 import HERE, ZERO, Mat, Pose, Vec, column, matmul, transpose, turn_x, turn_y, turn_z
from minertia.robot.formats.snap import (
    REPORTED,
    axis_to_z,
    matrix_to_rpy,
    quaternion_to_matrix,
    rotation_angle,
    rotation_from_rpy,
    snap_angle,
    snap_rotation,
    snap_vector,
)
from minertia.robot.formats.xml import Element, numbers, shown
from minertia.robot.robot import Note

ROUNDING = 1e-15  # entries of a rotation this near 0, 1 or -1 are rounding of the computer
DEFAULT_AXIS = (1.0, 0.0, 0.0)  # the URDF rule


def written_origin(element: Element, owner: str) -> tuple[NDArray[np.float64], tuple[float, ...]]:
    """Rotation matrix and position [m] of the <origin> in an element, not snapped."""
    origin = element.first("origin")
    R, xyz = _Origin(origin, owner).as_written()
    return np.array(R, float), xyz


class Placing:
    """Placement of one joint; `notes` lists snapped angles.  snap: tolerance on angles [rad], 0 for none."""

    def __init__(self, joint: Element, owner: str, snap: float) -> None:
        self.joint, self.owner, self.snap = joint, owner, snap
        self.notes: list[Note] = []

    def fixed(self) -> tuple[Pose, Pose]:
        """Placement of a joint without an axis, and of the child link in it."""
        return self._origin(), HERE

    def about_axis(self) -> tuple[Pose, Pose]:
        """Placement of the joint frame, whose z is the axis, and of the child link's own frame in it."""
        (R, p), A = self._origin(), self._axis()
        return (matmul(R, A), p), (transpose(A), ZERO)

    def _origin(self) -> Pose:
        element = self.joint.first("origin")
        origin = _Origin(element, self.owner)
        R, xyz = origin.as_written()
        if self.snap <= 0:
            return R, _structural_zeros(xyz)
        meant, p = origin.rotation_meant(self.snap), snap_vector(xyz)
        off = rotation_angle(R, meant)
        if off > REPORTED:
            degrees = " ".join(f"{math.degrees(angle) + 0.0:.6g}" for angle in origin.angles_meant(meant, self.snap))
            self._report(f"the angles {origin.rotation_text} are snapped to {degrees} degrees", off, element)
        short = max(abs(a - b) for a, b in zip(xyz, p, strict=True))
        if short > REPORTED:
            taken = " ".join(f"{v:g}" for v in p)
            text = (
                f'the position xyz="{shown(_attribute(element, "xyz"))}" is snapped to {taken} (off by {short:.2g} m)'
            )
            self._note(f"{text}; use snap=0 to keep the written values", element)
        return meant, p

    def _axis(self) -> Mat:
        element = self.joint.first("axis")
        axis = DEFAULT_AXIS if element is None else numbers(element, "xyz", self.owner, 3, DEFAULT_AXIS)
        largest = max(abs(v) for v in axis)
        if largest == 0:
            where = self.joint if element is None else element
            raise where.error(f"{self.owner}: its axis is 0 0 0; give the direction of its motion")
        direction = np.array(axis) / largest  # first, so that tiny numbers do not vanish when squared
        direction /= np.linalg.norm(direction)
        if self.snap <= 0:
            return _frame_about(direction)
        A = axis_to_z(direction.tolist(), self.snap)
        z = np.array(column(A, 2), float)
        off = float(math.atan2(np.linalg.norm(np.cross(direction, z)), direction @ z))
        if off > REPORTED:
            taken = " ".join(f"{v:.6g}" for v in z)
            self._report(f'the axis "{shown(_attribute(element, "xyz"))}" is snapped to {taken}', off, element)
        return A

    def _report(self, what: str, off: float, element: Element | None) -> None:
        self._note(
            f"{what} (off by {off:.2g} rad); tolerance {self.snap:g}; use snap=0 to keep the written values", element
        )

    def _note(self, text: str, element: Element | None) -> None:
        self.notes.append(Note("info", self.owner, text, (element or self.joint).line, is_geometry=True))


class _Origin:
    """One <origin>, or none (the identity)."""

    def __init__(self, element: Element | None, owner: str) -> None:
        self.quaternion: tuple[float, ...] | None = None
        self.rpy: tuple[float, ...] = (0.0, 0.0, 0.0)
        self.xyz: tuple[float, ...] = (0.0, 0.0, 0.0)
        self.rotation_text = ""
        if element is None:
            return
        self.xyz = numbers(element, "xyz", owner, 3, self.xyz)
        self.rpy = numbers(element, "rpy", owner, 3, self.rpy)
        if "quat_xyzw" in element.attributes:
            self._read_quaternion(element, owner)
        attribute = "rpy" if self.quaternion is None else "quat_xyzw"
        self.rotation_text = f'{attribute}="{shown(_attribute(element, attribute))}"'

    def _read_quaternion(self, element: Element, owner: str) -> None:
        if "rpy" in element.attributes:
            raise element.error(f"{owner}: its <origin> has both rpy and quat_xyzw; give only one of them")
        x, y, z, w = numbers(element, "quat_xyzw", owner, 4)
        largest = max(abs(v) for v in (x, y, z, w))
        if largest == 0:
            raise element.error(f"{owner}: the quaternion 0 0 0 0 is not a rotation; the identity is 0 0 0 1")
        self.quaternion = (w / largest, x / largest, y / largest, z / largest)

    def as_written(self) -> tuple[Mat, tuple[float, ...]]:
        if self.quaternion is not None:
            return _structural(quaternion_to_matrix(*self.quaternion)), self.xyz
        roll, pitch, yaw = (turn(angle) for angle in self.rpy)
        return matmul(matmul(turn_z(yaw)[0], turn_y(pitch)[0]), turn_x(roll)[0]), self.xyz

    def rotation_meant(self, snap: float) -> Mat:
        if self.quaternion is not None:
            return snap_rotation(quaternion_to_matrix(*self.quaternion), snap)
        roll, pitch, yaw = self.rpy
        return rotation_from_rpy(roll, pitch, yaw, snap)

    def angles_meant(self, meant: Mat, snap: float) -> tuple[float, ...]:
        """Roll, pitch, yaw of the snapped rotation; of the equivalent solutions, the one in the file if possible."""
        roll, pitch, yaw = (snap_angle(angle, snap) for angle in self.rpy)
        on_branch = self.quaternion is None and rotation_angle(rotation_from_rpy(roll, pitch, yaw, 0.0), meant) < 1e-12
        return (roll, pitch, yaw) if on_branch else matrix_to_rpy(meant)


def _frame_about(z: NDArray[np.float64]) -> Mat:
    """Rotation whose third column is the direction z, up to rounding."""
    if np.count_nonzero(z) == 1:
        return axis_to_z(z.tolist(), 0.0)
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return _structural(np.column_stack([x, np.cross(z, x), z]))


def _structural(R: NDArray[np.float64]) -> Mat:
    """Rotation with entries of 0, 1 or -1, up to rounding, as ints."""
    rows = [[int(round(s)) if abs(s - round(s)) <= ROUNDING else s for s in row] for row in R.tolist()]
    return tuple(tuple(row) for row in rows)  # type: ignore[return-value]


def _structural_zeros(p: Sequence[float]) -> Vec:
    x, y, z = (0 if v == 0 else v for v in p)
    return x, y, z


def _attribute(element: Element | None, name: str) -> str:
    return "" if element is None else element.attributes.get(name, "")
