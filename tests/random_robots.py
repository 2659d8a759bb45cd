"""Random chains and trees of every mix of joints and axes, with physically consistent links."""

from __future__ import annotations

import math

import numpy as np

from minertia.algebra.polynomial import turn
from minertia.algebra.vec3 import compose, shift, turn_x, turn_z
from minertia.robot.inertia import from_pseudo_inertia
from minertia.robot.joint import Follows, Joint
from minertia.robot.robot import Robot

GRAVITIES = ((0.0, 0.0, -9.81), (9.81, 0.0, 0.0), (3.0, -4.0, 8.0), (0.0, 0.0, 0.0))
TWISTS = (0.0, math.pi / 2, -math.pi / 2, math.pi, 0.4, -1.1)


def random_ten(rng: np.random.Generator) -> tuple[float, ...]:
    """Parameters of a body that can exist."""
    A = rng.normal(size=(4, 4)) * np.array([0.2, 0.2, 0.2, 1.5])[:, None]
    return from_pseudo_inertia(A @ A.T + 1e-3 * np.eye(4))


def random_robot(
    seed: int, *, tree: bool = False, floating: bool = False, mimic: bool = False, n: int | None = None
) -> Robot:
    """A robot whose axes are parallel, perpendicular, coincident or oblique with comparable odds."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7)) if n is None else n
    joints = []
    for j in range(n):
        parent = j - 1 if not tree or j < 2 else int(rng.integers(max(0, j - 3), j))
        length = lambda: 0 if rng.random() < 0.5 else float(rng.uniform(-0.6, 0.6))  # noqa: E731
        R, p = compose(
            turn_z(turn(float(rng.choice(TWISTS)) if tree else 0.0)),
            turn_x(turn(float(rng.choice(TWISTS)))),
            shift(x=length()),
            turn_z(turn(float(rng.choice(TWISTS)) if rng.random() < 0.4 else 0.0)),
            shift(z=length()),
        )
        kind = "revolute" if rng.random() < 0.65 else "prismatic"
        follows = Follows((0,), (-0.5,), 0.1) if mimic and j == n - 1 and n > 1 else None
        joints.append(Joint(f"j{j + 1}", kind, None if j == 0 else parent, R, p, f"link{j + 1}", follows=follows))
    return Robot(
        name=f"random{seed}",
        joints=tuple(joints),
        gravity=GRAVITIES[seed % 4],
        base="floating" if floating else "fixed",
        links=tuple(random_ten(rng) for _ in joints),
        base_link=random_ten(rng),
        effects=tuple({"IA": 0.1, "FV": 0.3, "FC": 0.2, "OFF": 0.05} for _ in joints),
    )
