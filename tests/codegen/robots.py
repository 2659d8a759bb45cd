"""Robots of the published operation counts, from their modified DH tables."""

from __future__ import annotations

import math

import numpy as np

from minertia.algebra.polynomial import turn
from minertia.algebra.vec3 import compose, shift, turn_x, turn_z
from minertia.robot.inertia import from_com
from minertia.robot.joint import Joint
from minertia.robot.robot import Robot

H = math.pi / 2


def mdh(name, alpha, d, r, links, kinds=None) -> Robot:
    """A chain from alpha, d (along x), r (along z), one entry per joint."""
    joints = []
    for j, (a, x, z) in enumerate(zip(alpha, d, r, strict=True)):
        R, p = compose(turn_x(turn(a)), shift(x=_length(x)), turn_z(turn(0.0)), shift(z=_length(z)))
        kind = "revolute" if kinds is None or kinds[j] == "R" else "prismatic"
        joints.append(Joint(f"j{j + 1}", kind, j - 1 if j else None, R, p, f"link{j + 1}"))
    return Robot(name=name, joints=tuple(joints), links=tuple(links))


def _length(value):
    return 0 if value == 0 else float(value)


def dense(n: int, seed: int = 0):
    """Physically consistent links without a zero."""
    rng = np.random.default_rng(seed)
    links = []
    for j in range(n):
        s = 1.0 / (1 + j)
        A = rng.normal(size=(3, 3)) * 0.2 * s
        sigma = A @ A.T + 0.01 * s * np.eye(3)
        links.append(from_com(8 * s + 0.3, rng.normal(size=3) * 0.1, np.trace(sigma) * np.eye(3) - sigma))
    return links


def _diagonal(m, c, i):
    return from_com(m, c, np.diag(i))


def general(n: int) -> Robot:
    """nR with every constant there is after the free choices of the first and last frames."""
    rng = np.random.default_rng(3)
    alpha, d, r = rng.uniform(0.2, 1.3, n), rng.uniform(0.1, 0.5, n), rng.uniform(0.1, 0.4, n)
    alpha[0] = d[0] = r[0] = r[-1] = 0
    return mdh(f"general{n}", alpha, d, r, dense(n))


def puma560(full: bool = False) -> Robot:
    links = [
        _diagonal(1.0, [0, 0, 0], [0.35, 0.35, 0.35]),
        _diagonal(17.40, [0.068, 0.006, -0.016], [0.13, 0.524, 0.539]),
        _diagonal(4.80, [0, -0.070, 0.014], [0.066, 0.0125, 0.086]),
        _diagonal(0.82, [0, 0, -0.019], [1.8e-3, 1.8e-3, 1.3e-3]),
        _diagonal(0.34, [0, 0, 0], [0.3e-3, 0.3e-3, 0.4e-3]),
        _diagonal(0.09, [0, 0, 0.032], [0.15e-3, 0.15e-3, 0.04e-3]),
    ]
    alpha, d = [0, -H, 0, -H, H, -H], [0, 0, 0.4318, -0.0203, 0, 0]
    return mdh("puma560", alpha, d, [0, 0.2435, -0.0934, 0.4331, 0, 0], dense(6) if full else links)


def rx90(full: bool = True) -> Robot:
    return mdh("rx90", [0, H, 0, -H, H, -H], [0, 0, 0.45, 0, 0, 0], [0, 0, 0, 0.45, 0, 0], dense(6))


def stanford(links=None) -> Robot:
    """RRPRRR; links: None for all inertias."""
    return mdh("stanford", [0, -H, H, 0, -H, H], [0] * 6, [0, 0.154, 0, 0, 0, 0], links or dense(6), "RRPRRR")


def stanford_usual(seed: int = 0) -> Robot:
    """The zero pattern of the usual symmetric links, other numbers."""
    rng = np.random.default_rng(1000 + seed)
    centres = [(0, 1, 1), (0, 0, 1), (0, 0, 1), (0, 1, 1), (0, 1, 0), (0, 0, 1)]
    return stanford(
        [_diagonal(rng.uniform(0.5, 9), c * rng.uniform(-0.5, 0.5, 3), rng.uniform(0.1, 1, 3)) for c in centres]
    )


def panda() -> Robot:
    return mdh(
        "panda",
        [0, -H, H, H, -H, H, H],
        [0, 0, 0, 0.0825, -0.0825, 0, 0.088],
        [0.333, 0, 0.316, 0, 0.384, 0, 0],
        dense(7),
    )


def planar2r() -> Robot:
    links = [_diagonal(3.0, [0.2, 0, 0], [0.01, 0.05, 0.05]), _diagonal(2.0, [0.15, 0.0, 0], [0.01, 0.03, 0.03])]
    return mdh("planar 2R", [H, 0], [0, 0.4], [0, 0], links)
