"""Orientations and inertias as MJCF attributes that MuJoCo accepts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.io.errors import MinertiaError
from minertia.robot.effects import BY_SYMBOL
from minertia.robot.formats.xml import all_written, written
from minertia.robot.inertia import Ten, impossible, to_com

TINY = 2e-15  # kg and kg m2: MuJoCo refuses moving bodies with 1e-15 or less; the reader takes this for no mass
EFFECTS = {"IA": "armature", "FV": "damping", "FC": "frictionloss", "KS": "stiffness"}  # attributes of a joint
HELD = (*EFFECTS, "FVC", "OFF")  # what a file holds: FVC in a polynomial of damping, OFF in <custom> and a spring
AT_MOTOR = tuple(s for s in HELD if not BY_SYMBOL[s].is_at_link)  # of these, on the motor's side of an elastic joint
FAR = 1e9  # rad or m: a spring at rest there, so soft that it pulls with the offset, is constant on any motion
ROUNDING = 1e-12  # part of the inertia about the frame origin that may be lost about the centre of mass


def far_rest(offset: float) -> float:
    """Rest position of the spring that represents a constant effort [rad or m]; its stiffness is |offset| / FAR."""
    return math.copysign(FAR, -offset)


def spring_rest(rest: float, stiffness: float, offset: float) -> float:
    """Rest position of a spring that also represents a constant effort: KS (q - rest) + OFF = KS (q - this)."""
    return rest - offset / stiffness


def quaternion(R: ArrayLike) -> tuple[float, float, float, float]:
    """(w, x, y, z) of a rotation matrix, from the largest of the four for numerical accuracy."""
    A = np.array(R, dtype=float)
    trace = float(np.trace(A))
    squares = [trace, *(2 * float(A[k, k]) - trace for k in range(3))]  # 4 c^2 - 1 of each component c
    k = int(np.argmax(squares))
    size = 2 * math.sqrt(max(squares[k] + 1, 0.0))  # 4 |c|
    skew = [A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]]
    if k == 0:
        q = [size / 4, *(float(s) / size for s in skew)]
    else:
        i = k - 1
        q = [float(skew[i]) / size, *(float(A[i, j] + A[j, i]) / size for j in range(3))]
        q[k] = size / 4
    return q[0], q[1], q[2], q[3]


def is_massless(ten: Ten | None) -> bool:
    """Whether a link has no inertial parameters, or zeros only."""
    return ten is None or all(v == 0 for v in ten)


def inertial(ten: Ten | None, what: str) -> dict[str, str]:
    """Attributes of <inertial> for ten parameters in the body's frame; a massless body gets tiny values."""
    if ten is None or is_massless(ten):
        return {"pos": "0 0 0", "mass": written(TINY), "diaginertia": all_written([TINY] * 3)}
    if not all(math.isfinite(float(v)) for v in ten):
        raise MinertiaError(f"{what} has a parameter that is not a finite number")
    mass, com, J = to_com(ten)
    moments, axes = _principal(J)
    if unphysical(ten) is None:
        mass, moments = max(mass, TINY), _acceptable(moments)
    values = {"pos": all_written(com), "mass": written(mass), "diaginertia": all_written(moments)}
    return values if axes is None else values | {"quat": all_written(quaternion(axes))}


def unphysical(ten: Ten | None) -> str | None:
    """Reason why MuJoCo rejects these parameters; None if it accepts them, up to rounding."""
    if ten is None or is_massless(ten):
        return None
    reason = impossible(ten)
    if reason is None or float(ten[9]) <= 0:
        return reason
    a, b, c = np.linalg.eigvalsh(to_com(ten)[2])
    slack = ROUNDING * max(abs(float(v)) for v in ten[:6])
    return None if a >= -slack and a + b >= c - slack else reason


def _principal(J: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Principal moments and axes; no axes where the matrix is diagonal already.

    MuJoCo's own diagonalisation of a full matrix stops at 1e-12 kg m2, so it is done here.
    """
    if not np.any(J - np.diag(np.diag(J))):
        return np.diag(J).copy(), None
    moments, axes = np.linalg.eigh(J)
    if np.linalg.det(axes) < 0:
        axes[:, 2] *= -1
    return moments, axes


def _acceptable(moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Principal moments, changed only within rounding so that they pass MuJoCo's exact tests."""
    moments = np.maximum(moments, TINY)
    low, middle, high = np.argsort(moments)
    if moments[low] + moments[middle] < moments[high]:
        moments[low] = moments[high] - moments[middle]
        while moments[low] + moments[middle] < moments[high]:
            moments[low] = np.nextafter(moments[low], math.inf)
    return moments


def pose_attributes(R: Sequence[Sequence[float]], p: Sequence[float]) -> dict[str, str]:
    """`pos` and `quat` of a pose, omitted where they are zero and identity."""
    found = {}
    if any(float(v) != 0 for v in p):
        found["pos"] = all_written(p)
    if np.any(np.array(R, float) != np.eye(3)):
        found["quat"] = all_written(quaternion(R))
    return found
