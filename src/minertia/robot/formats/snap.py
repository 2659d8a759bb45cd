"""Snapping of geometry: angles rounded in a file become exact, and degrees are distinguished from radians.

A file that says 1.5708, 3.14 or a nine-digit right angle describes axes that are parallel or perpendicular in
the machine.  If these are left as written, the number of base parameters is wrong.  Angles within a tolerance
of a multiple of 90 degrees (and, within a smaller one, of 15 degrees) become exact; every change is reported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.polynomial import Number, Poly, turn
from minertia.algebra.vec3 import IDENTITY, Mat, Pose, Vec, matmul, turn_x, turn_y, turn_z

ANGLE_TOLERANCE = 2e-3  # rad: 3.14 for pi is 1.6e-3 away
OTHER_ANGLES = 0.25  # part of the tolerance that multiples of 15 degrees get
LENGTH_TOLERANCE = 1e-6  # m: shorter offsets are noise of an export
EXACT = 1e-12  # differences below this are rounding of the computer, not of the file
REPORTED = 1e-10  # rad or m: smaller changes are not worth a line


def snap_angle(angle: float, tolerance: float = ANGLE_TOLERANCE) -> float:
    """Angle [rad] snapped to the nearest multiple of 90 or 15 degrees, if it is within the tolerance."""
    for step, reach in ((math.pi / 2, tolerance), (math.pi / 12, OTHER_ANGLES * tolerance)):
        nearest = round(angle / step) * step
        if abs(angle - nearest) <= max(reach, EXACT):
            return nearest
    return angle


def snap_length(length: float, tolerance: float = LENGTH_TOLERANCE) -> Number:
    """Structural 0 for a length below the tolerance, else the length."""
    return 0 if abs(length) <= max(tolerance, EXACT) else float(length)


def snap_vector(p: Sequence[float], tolerance: float = LENGTH_TOLERANCE) -> Vec:
    """`snap_length` on three coordinates."""
    return snap_length(p[0], tolerance), snap_length(p[1], tolerance), snap_length(p[2], tolerance)


def rotation_from_rpy(roll: float, pitch: float, yaw: float, tolerance: float = ANGLE_TOLERANCE) -> Mat:
    """Rot(z, yaw) Rot(y, pitch) Rot(x, roll), each angle snapped, right angles as exact ints."""
    r, p, y = (turn(snap_angle(angle, tolerance)) for angle in (roll, pitch, yaw))
    return snap_rotation(matmul(matmul(turn_z(y)[0], turn_y(p)[0]), turn_x(r)[0]), tolerance)


def snap_rotation(R: Mat | NDArray[np.float64], tolerance: float = ANGLE_TOLERANCE) -> Mat:
    """Rotation matrix snapped to its intended structure with ints 0, 1, -1.

    Tried in turn: a permutation of the axes; a rotation that keeps one axis on another; roll, pitch and yaw one by one.
    """
    A = np.array(R, dtype=float)
    cube = np.rint(A)
    if _angle_between(A, cube) <= max(tolerance, EXACT):
        return _ints(cube)
    kept = _kept_axis(A, max(tolerance, EXACT))
    if kept is not None:
        return _about_kept_axis(A, kept, tolerance)
    if all(type(s) is not int for row in R for s in row):
        return _by_euler_angles(A, tolerance)
    return tuple(tuple(s if type(s) is int else float(s) for s in row) for row in R)  # type: ignore[return-value]


def rotation_angle(A: NDArray[np.float64] | Mat, B: NDArray[np.float64] | Mat) -> float:
    """Angle of the rotation between two rotation matrices [rad]."""
    D = np.array(A, float).T @ np.array(B, float)
    skewed = 0.5 * np.array([D[2, 1] - D[1, 2], D[0, 2] - D[2, 0], D[1, 0] - D[0, 1]])
    return float(math.atan2(np.linalg.norm(skewed), 0.5 * (np.trace(D) - 1)))


def axis_to_z(axis: Sequence[float], tolerance: float = ANGLE_TOLERANCE) -> Mat:
    """Rotation whose third column is the (normalised) axis: the joint frame in the file's frame."""
    a = np.array(axis, float) / np.linalg.norm(axis)
    k = int(np.argmax(np.abs(a)))
    if np.linalg.norm(np.delete(a, k)) <= max(tolerance, EXACT):
        return _COORDINATE_AXES[k, int(np.sign(a[k]))]
    z = _snap_direction(a, tolerance)
    helper = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(helper, z)
    x /= np.linalg.norm(x)
    return snap_rotation(np.column_stack([x, np.cross(z, x), z]), tolerance)


def quaternion_to_matrix(w: float, x: float, y: float, z: float) -> NDArray[np.float64]:
    """Rotation matrix of a quaternion of any non-zero norm."""
    q = np.array([w, x, y, z]) / math.sqrt(w * w + x * x + y * y + z * z)
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def matrix_to_rpy(R: NDArray[np.float64] | Mat) -> tuple[float, float, float]:
    """Roll, pitch, yaw of a rotation matrix [rad]; at pitch +-90 degrees the roll is 0."""
    A = np.array(R, float)
    pitch = math.atan2(-A[2, 0], math.hypot(A[0, 0], A[1, 0]))
    if math.hypot(A[0, 0], A[1, 0]) < 1e-9:
        return 0.0, pitch, math.atan2(-A[0, 1], A[1, 1])
    return math.atan2(A[2, 1], A[2, 2]), pitch, math.atan2(A[1, 0], A[0, 0])


# z first: the file's frame itself; x and y by turning the axes round, so that entries stay 0 and 1
_COORDINATE_AXES: dict[tuple[int, int], Mat] = {
    (2, 1): IDENTITY,
    (2, -1): ((1, 0, 0), (0, -1, 0), (0, 0, -1)),
    (0, 1): ((0, 0, 1), (1, 0, 0), (0, 1, 0)),
    (0, -1): ((0, 0, -1), (1, 0, 0), (0, -1, 0)),
    (1, 1): ((0, 1, 0), (0, 0, 1), (1, 0, 0)),
    (1, -1): ((0, 1, 0), (0, 0, -1), (-1, 0, 0)),
}


def _angle_between(A: NDArray[np.float64], cube: NDArray[np.float64]) -> float:
    proper = np.all(np.abs(cube).sum(axis=0) == 1) and np.all(np.abs(cube).sum(axis=1) == 1)
    return rotation_angle(A, cube) if proper and np.linalg.det(cube) > 0 else math.inf


def _kept_axis(A: NDArray[np.float64], tolerance: float) -> tuple[int, int] | None:
    i, j = (int(k) for k in np.unravel_index(np.argmax(np.abs(A)), (3, 3)))
    off_axis = math.hypot(*(A[i, k] for k in range(3) if k != j))
    return (i, j) if off_axis <= tolerance else None


def _about_kept_axis(A: NDArray[np.float64], kept: tuple[int, int], tolerance: float) -> Mat:
    """Rotation that maps axis j exactly to +-axis i: an axis permutation times a snapped rotation about axis j."""
    i, j = kept
    cube = np.zeros((3, 3))
    s = float(np.sign(A[i, j]))
    cube[i, j] = s
    rows, columns = [k for k in range(3) if k != i], [k for k in range(3) if k != j]
    cube[rows[0], columns[0]] = 1.0
    cube[rows[1], columns[1]] = 1.0
    cube[rows[1], columns[1]] = np.linalg.det(cube)
    D = cube.T @ A  # a turn about axis j
    k, m = (j + 1) % 3, (j + 2) % 3
    angle = math.atan2(D[m, k] - D[k, m], D[k, k] + D[m, m])
    about = (turn_x, turn_y, turn_z)[j]
    return matmul(_ints(cube), about(turn(snap_angle(angle, tolerance)))[0])


def _by_euler_angles(A: NDArray[np.float64], tolerance: float) -> Mat:
    angles = matrix_to_rpy(A)
    snapped = [snap_angle(angle, tolerance) for angle in angles]
    if max(abs(a - b) for a, b in zip(angles, snapped, strict=True)) == 0:
        return tuple(tuple(float(s) for s in row) for row in A)  # type: ignore[return-value]
    r, p, y = (turn(angle) for angle in snapped)
    return matmul(matmul(turn_z(y)[0], turn_y(p)[0]), turn_x(r)[0])


def _snap_direction(a: NDArray[np.float64], tolerance: float) -> NDArray[np.float64]:
    """Direction in a coordinate plane, snapped to a multiple of 15 degrees."""
    small = np.abs(a) <= max(tolerance, EXACT)
    if small.sum() != 1:
        return a
    k = int(np.argmax(small))
    i, j = (k + 1) % 3, (k + 2) % 3
    angle = snap_angle(math.atan2(a[j], a[i]), tolerance)
    z = np.zeros(3)
    z[i], z[j] = math.cos(angle), math.sin(angle)
    return z


def _ints(A: NDArray[np.float64]) -> Mat:
    return tuple(tuple(int(s) for s in row) for row in A)  # type: ignore[return-value]


__all__ = [
    "ANGLE_TOLERANCE",
    "LENGTH_TOLERANCE",
    "axis_to_z",
    "matrix_to_rpy",
    "quaternion_to_matrix",
    "rotation_angle",
    "rotation_from_rpy",
    "snap_angle",
    "snap_length",
    "snap_rotation",
    "snap_vector",
]


def is_changed_by_snapping(pose: Pose) -> bool:
    """Whether the default snapping of a reader would change an exact pose."""
    R, p = pose
    rows = tuple(tuple(float(s) for s in row) for row in R)
    turned = rotation_angle(rows, snap_rotation(np.array(rows), ANGLE_TOLERANCE))  # type: ignore[arg-type]
    place = np.array([float(s) for s in p])
    return turned > EXACT or bool(np.abs(place - np.array(snap_vector(place.tolist()), float)).max() > EXACT)


# ------------------------------------------------------------------------------------------------- degrees or radians


FULL_TURN = 2 * math.pi * (1 + 1e-3)  # rad; 6.2832 and 6.29 are still a turn
NEAR = 2e-3  # rad, from the part of a turn that a rounded number stands for: 3.14 is 1.6e-3 from pi
STEP = math.pi / 12


def constant_part(angle: Poly | Number) -> float:
    """Constant part of an angle, without its symbols [rad]."""
    return float(angle.terms.get((), 0)) if isinstance(angle, Poly) else float(angle)


def is_beyond_a_turn(angle: float) -> bool:
    """Whether an angle exceeds a full turn, which is implausible in radians."""
    return abs(angle) > FULL_TURN


def looks_like_degrees(angle: float) -> bool:
    """Whether an angle in radians is an integer, or beyond half a turn and not a common fraction of a turn."""
    if angle == 0:
        return False
    return angle == round(angle) or (abs(angle) > math.pi + NEAR and not _is_part_of_a_turn(angle))


def looks_like_radians(degrees: float) -> bool:
    """Whether an angle in degrees is a fraction of pi and not an integer number of degrees."""
    return 0 < abs(degrees) <= FULL_TURN and degrees != round(degrees) and _is_part_of_a_turn(degrees)


def _is_part_of_a_turn(angle: float) -> bool:
    return abs(angle - round(angle / STEP) * STEP) < NEAR
