"""Recursive parameter nullspace algorithm: number of identifiable inertial parameters of a tree.

P. M. Wensing, G. Niemeyer, J.-J. Slotine, "A geometric characterization of observability in inertial parameter
identification" (2024).  From base to tips it carries the span of attainable spatial velocities (that of the base is
gravity) and the span of detectable combinations of the ten parameters; nothing of it is shared with minertia.base.
"""

from __future__ import annotations

import numpy as np

from minertia.robot.inertia import transport_ten
from minertia.robot.robot import Robot

Array = np.ndarray
TOLERANCE = 1e-9  # of singular values, relative to the largest: geometry is exact after reading


def count(robot: Robot) -> int | None:
    """Number of identifiable inertial parameters; None for loops, dependent joints and floating bases."""
    arm = robot.numeric
    plain = all(joint.follows is None and joint.kind in ("revolute", "prismatic") for joint in arm.joints)
    if not plain or arm.is_floating or arm.cuts:
        return None
    gravity = np.concatenate([np.zeros(3), arm.gravity])[:, None]
    velocities: list[Array] = []
    detectable: list[Array] = []
    unidentifiable = 0
    for joint in arm.joints:
        R, p = np.array(joint.R, float), np.array(joint.p, float)
        V, C = (gravity, np.zeros((0, 10))) if joint.parent is None else (
            velocities[joint.parent], detectable[joint.parent])  # fmt: skip
        S = np.eye(6)[:, 2 if joint.kind == "revolute" else 5]
        V, C = _into(R, p) @ V, C @ _transport(R, p)
        rate = _parameter_rate(joint.kind)
        V = _span(np.column_stack([_closed(V, _cross(S)), S]))
        momentum = np.array([[S @ _inertia(unit) @ v for unit in np.eye(10)] for v in V.T])
        moving = _closed((C @ rate).T, rate.T).T  # what the motion of the joint changes among what is detectable
        unidentifiable += 10 - len(_rows(np.vstack([moving, momentum])))
        velocities.append(V)
        detectable.append(_rows(np.vstack([_closed(C.T, rate.T).T, momentum])))
    return 10 * len(arm.joints) - unidentifiable


def _into(R: Array, p: Array) -> Array:
    """Motion transform from the parent's frame to the joint's: angular part first."""
    return np.block([[R.T, np.zeros((3, 3))], [-R.T @ _skew(p), R.T]])


def _skew(p: Array) -> Array:
    return np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0.0]])


def _cross(S: Array) -> Array:
    w, v = _skew(S[:3]), _skew(S[3:])
    return np.block([[w, np.zeros((3, 3))], [v, w]])


def _transport(R: Array, p: Array) -> Array:
    """(10, 10): parameters in the joint's frame to the parent's."""
    pose = tuple(map(tuple, R)), tuple(p)
    return np.array([transport_ten(unit, pose) for unit in np.eye(10)], float).T


def _parameter_rate(kind: str) -> Array:
    """Derivative of the parameters seen from the parent along the joint's motion, exact by their known shape."""
    if kind == "prismatic":  # a polynomial of second degree
        first, last = (_transport(np.eye(3), np.array([0, 0, d])) for d in (-1.0, 1.0))
        return (last - first) / 2
    angles = 2 * np.pi * np.arange(5) / 5  # a trigonometric polynomial of second degree
    turned = [_transport(_turn(a), np.zeros(3)) for a in angles]
    return sum(k * 0.4 * sum(np.sin(k * a) * T for a, T in zip(angles, turned, strict=True)) for k in (1, 2))


def _turn(a: float) -> Array:
    return np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1.0]])


def _inertia(ten: Array) -> Array:
    xx, xy, xz, yy, yz, zz, mx, my, mz, m = ten
    first = _skew(np.array([mx, my, mz]))
    return np.block([[np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), first], [first.T, m * np.eye(3)]])


def _closed(columns: Array, A: Array) -> Array:
    """Smallest span that holds these columns and is closed under A."""
    found = _span(columns)
    while True:
        more = _span(np.column_stack([found, A @ found]))
        if more.shape[1] == found.shape[1]:
            return found
        found = more


def _span(columns: Array) -> Array:
    if columns.shape[1] == 0:
        return columns
    U, s, _ = np.linalg.svd(columns, full_matrices=False)
    return U[:, s > TOLERANCE * max(float(s[0]), 1e-300)] if s[0] > TOLERANCE else U[:, :0]


def _rows(matrix: Array) -> Array:
    return _span(matrix.T).T
