"""Theorem 2 of Lin 1995 on numbers, from his recursion over composite bodies alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minertia.base.grouping import BaseParameters
from minertia.robot.inertia import symmetric
from minertia.robot.joint import Joint
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
Body = tuple[float, Array, Array]  # mass, first moment, inertia about the frame origin


def theorem_2(robot: Robot) -> list[str]:
    """Names of the set of theorem 2 for a robot whose second joint is rotational and not parallel to the first.

    The first joint is rotational and upright, so of its link only U33 shows (the theorem's delta is 0).
    """
    turning = ("U11mU22", "U12", "U13", "U23", "U33", "K1", "K2")
    names = ["U33_1"]
    for j, joint in enumerate(robot.joints[1:], 2):
        symbols = turning if joint.kind == "revolute" else ("MH", "K1", "K2", "K3")
        names += [f"{symbol}_{j}" for symbol in symbols]
    return names


def composite_values(robot: Robot, chi: Array) -> dict[str, float]:
    """Every inertia constant of composite bodies n to 1 by equations (10), (12) and (14), named as ours."""
    found: dict[str, float] = {}
    mass, k, U = 0.0, np.zeros(3), np.zeros((3, 3))
    joints = robot.numeric.joints
    for j in reversed(range(robot.n)):
        ten = chi[10 * j : 10 * j + 10]
        J, ms, own = symmetric(ten[:6].tolist()), ten[6:9], float(ten[9])
        if j + 1 < robot.n:
            mass, k, U = _joined(joints[j + 1], (mass, k, U), (own, ms, J))
        else:
            mass, k, U = own, ms, J
        found |= _named(j + 1, mass, k, U)
    return found


def _joined(joint: Joint, outer: Body, own: Body) -> Body:
    """Composite body i from link i and composite body i + 1 behind the joint."""
    (mass, k, U), (m, ms, J) = outer, own
    A, p = np.array(joint.R, float), np.array(joint.p, float)
    if joint.kind == "revolute":
        kk, D = A[:, 2] * k[2], np.diag([U[1, 1], U[1, 1], U[2, 2]])
    else:
        kk, D = A @ k, U
    P, S = _cross(p), _cross(kk)
    return m + mass, ms + mass * p + kk, J - mass * P @ P - P @ S - S @ P + A @ D @ A.T


def _named(j: int, mass: float, k: Array, U: Array) -> dict[str, float]:
    entries = {f"U{a + 1}{b + 1}_{j}": float(U[a, b]) for a in range(3) for b in range(a, 3)}
    moments = {f"K{a + 1}_{j}": float(k[a]) for a in range(3)}
    return entries | moments | {f"U11mU22_{j}": float(U[0, 0] - U[1, 1]), f"MH_{j}": mass}


def _cross(v: Array) -> Array:
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def recursion_error(found: BaseParameters, draws: int = 20) -> float:
    """Largest difference between our combinations and the recursion, over random parameters of order 1."""
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(draws):
        chi = rng.normal(size=len(found.columns))
        theirs = composite_values(found.robot, chi)
        gap = found.values(chi) - np.array([theirs[name] for name in found.names])
        worst = max(worst, float(np.abs(gap).max()))
    return worst


def converted(closed: BaseParameters, lin: BaseParameters) -> dict[str, str]:
    """{combination: the same in regrouped parameters}, numbers to six digits."""
    T = closed.conversion_to(lin)
    return {
        name: " ".join(
            _term(float(T[i, k]), closed.names[k], first=k == np.flatnonzero(T[i])[0]) for k in np.flatnonzero(T[i])
        )
        for i, name in enumerate(lin.names)
    }


def _term(factor: float, name: str, first: bool) -> str:
    sign = "-" if factor < 0 else "" if first else "+"
    size = abs(factor)
    body = name if size == 1 else f"{size:.6g}*{name}"
    return f"{sign}{body}" if first else f"{sign} {body}"
