"""Inertial parameters of rigid bodies: change of frame, centre-of-mass form, physical consistency.

Ten parameters in the order of `parameters.LINK`: inertia matrix about the frame origin, first moments, mass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.algebra.scalar import Scalar
from minertia.algebra.vec3 import Mat, Pose, Vec, apply, madd, matmul, mscale, scale, skew, transpose, vadd
from minertia.robot.parameters import LINK_SYMBOLS

Ten = tuple[Scalar, ...]


def inertia_matrix(x: Mapping[str, Scalar]) -> Mat:
    """Inertia matrix about the frame origin [kg m2]."""
    return (
        (x["XX"], x["XY"], x["XZ"]),
        (x["XY"], x["YY"], x["YZ"]),
        (x["XZ"], x["YZ"], x["ZZ"]),
    )


def first_moment(x: Mapping[str, Scalar]) -> Vec:
    """Mass times centre of mass [kg m]."""
    return x["MX"], x["MY"], x["MZ"]


def from_parts(J: Mat, ms: Vec, m: Scalar) -> dict[str, Scalar]:
    """{symbol: scalar} of an inertia matrix, first moments and a mass."""
    ten = (J[0][0], J[0][1], J[0][2], J[1][1], J[1][2], J[2][2], *ms, m)
    return dict(zip(LINK_SYMBOLS, ten, strict=True))


def transport(x: Mapping[str, Scalar], pose: Pose) -> dict[str, Scalar]:
    """Transform a body's parameters from the body frame to another frame, in which the body frame has this pose.

    m' = m, ms' = R ms + m p, J' = R J R' - [p]x[R ms]x - [R ms]x[p]x - m [p]x[p]x  (theory, eq. 5).
    """
    R, p = pose
    s, P = apply(R, first_moment(x)), skew(p)
    S = skew(s)
    J = matmul(matmul(R, inertia_matrix(x)), transpose(R))
    PS, SP, PP = matmul(P, S), matmul(S, P), mscale(matmul(P, P), x["M"])
    J = madd(J, mscale(PS, -1), mscale(SP, -1), mscale(PP, -1))
    return from_parts(J, vadd(s, scale(p, x["M"])), x["M"])


def transport_ten(ten: Sequence[Scalar], pose: Pose) -> Ten:
    """`transport` on the ten parameters in order."""
    return tuple(transport(dict(zip(LINK_SYMBOLS, ten, strict=True)), pose).values())


def add_ten(a: Sequence[Scalar], b: Sequence[Scalar]) -> Ten:
    """Sum of the parameters of two bodies, both in the same frame."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def from_com(mass: float, com: Sequence[float], inertia: ArrayLike) -> Ten:
    """Ten parameters from mass [kg], centre of mass [m] and inertia matrix about it [kg m2] (theory, eq. 3)."""
    c = np.asarray(com, float)
    J = np.asarray(inertia, float) + mass * (c @ c * np.eye(3) - np.outer(c, c))
    return (*(float(J[i, j]) for i, j in _ENTRIES), *(float(v) for v in mass * c), float(mass))


def from_six(mass: float, com: Sequence[float], six: Sequence[float], about: str) -> Ten:
    """`from_com` with the inertia as XX XY XZ YY YZ ZZ, about the centre ("com") or about the frame's origin."""
    ten = from_com(mass, com, symmetric(six))
    return ten if about == "com" else (*(float(v) for v in six), *ten[6:])


def to_com(ten: Sequence[float]) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Mass [kg], centre of mass [m] (the origin if massless) and inertia matrix about it [kg m2]."""
    mass = float(ten[9])
    ms = np.array(ten[6:9], float)
    com = ms / mass if mass != 0 else np.zeros(3)
    J = symmetric(ten[:6])
    return mass, com, J - mass * (com @ com * np.eye(3) - np.outer(com, com))


def symmetric(six: Sequence[float]) -> NDArray[np.float64]:
    """Symmetric matrix from XX XY XZ YY YZ ZZ."""
    xx, xy, xz, yy, yz, zz = (float(v) for v in six)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def pseudo_inertia(ten: Sequence[float]) -> NDArray[np.float64]:
    """4x4 pseudo-inertia, positive definite if and only if the body is physically consistent (theory, eq. 4).

    Wensing, Kim, Slotine 2018.
    """
    J = symmetric(ten[:6])
    sigma = 0.5 * np.trace(J) * np.eye(3) - J
    ms = np.array(ten[6:9], float)
    return np.block([[sigma, ms[:, None]], [ms[None, :], np.array([[float(ten[9])]])]])


def from_pseudo_inertia(P: NDArray[np.float64]) -> Ten:
    """Ten frame parameters of a pseudo-inertia matrix."""
    J = np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]
    return (*(float(J[i, j]) for i, j in _ENTRIES), *(float(v) for v in P[:3, 3]), float(P[3, 3]))


def impossible(ten: Sequence[float], tolerance: float = 1e-9) -> str | None:
    """Reason why parameters are not physically consistent, in a few words; None if they are."""
    mass, _, inertia = to_com(ten)
    if mass < 0:
        return f"its mass is negative ({mass:g} kg)"
    if mass == 0:
        return "it has inertia or first moments but no mass" if np.any(np.asarray(ten[:9]) != 0) else None
    a, b, c = np.linalg.eigvalsh(inertia)
    far = np.abs(np.asarray(ten[:6])).max()  # moving to the centre of mass leaves rounding of this size
    slack = max(tolerance * abs(c), 1e-12 * far, 1e-21)
    if a < -slack:
        return f"its inertia about the centre of mass has a negative principal moment ({a:.4g} kg m2)"
    if a + b < c - slack:
        return f"its principal moments violate the triangle inequality ({a:.4g} + {b:.4g} is less than {c:.4g} kg m2)"
    return None


def nearest_possible(ten: Sequence[float], share: float = 1e-3) -> Ten:
    """Parameters with the nearest physically consistent inertia for this mass (positive) and centre of mass.

    No principal second moment of mass about the centre is below `share` of their sum.
    """
    mass, com, inertia = to_com(ten)
    values, axes = np.linalg.eigh(0.5 * np.trace(inertia) * np.eye(3) - inertia)
    least = share * max(float(np.abs(values).sum()), 1e-9 * mass)
    second = axes @ np.diag(np.maximum(values, least)) @ axes.T
    return from_com(mass, com.tolist(), np.trace(second) * np.eye(3) - second)


_ENTRIES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
