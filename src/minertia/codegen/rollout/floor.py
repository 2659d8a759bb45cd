"""Ground contact of frames of the robot: a plane with a stiff spring and friction.

It enters the terms and derivatives of a group, so that the servo simulation treats it like any other part of the
robot. Its stiff part is integrated implicitly, as an addition to the mass matrix that depends on the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from minertia.algebra.derivative import reverse
from minertia.algebra.expr import Expr, Graph
from minertia.algebra.matrix import inner
from minertia.algebra.scalar import Scalar, add, div, mul, sqrt, sub
from minertia.dynamics.frame import frame_named, frame_pose, jacobian
from minertia.io.errors import InputError
from minertia.robot.robot import Robot

FLOOR = ("height", "stiffness", "friction")  # [m], [N/m], coefficient: what a floor has, in order of its inputs
SOFT = 5e-4  # m over which it begins to push
CREEP = 0.01  # m/s below which its friction fades
RELAXED = 5e-3  # s, damping over stiffness: what lands on it comes to rest and does not ring


@dataclass(frozen=True)
class FloorUnder:
    """Ground contact: names of the frames that may touch the ground, whose normal points against gravity."""

    touches: tuple[str, ...]

    def inputs(self) -> int:
        """Number of contact inputs of a program: those of `FLOOR`, and the step of the simulation [s]."""
        return len(FLOOR) + 1


class FloorEfforts(NamedTuple):
    """Contact efforts (n,), and additions to the mass matrix (n, n)."""

    tau: list[Scalar]
    M: list[list[Scalar]]


def against_gravity(robot: Robot) -> tuple[float, float, float]:
    """Upward direction in the base frame."""
    g = np.array([float(v) for v in robot.gravity])
    size = float(np.linalg.norm(g))
    if not size > 0:
        raise InputError(f"'{robot.name}' has no gravity, so the ground contact has no direction")
    x, y, z = (int(v) if v in (0, 1, -1) else v for v in (-g / size).tolist())
    return x, y, z


def floor_efforts(
    robot: Robot, floor: FloorUnder, q: Sequence[Scalar], qd: Sequence[Scalar], x: Sequence[Scalar]
) -> FloorEfforts:
    """Ground contact efforts at each coordinate; x: height, stiffness, friction and the step."""
    n, up = robot.n_velocity, against_gravity(robot)
    height, stiffness, friction, h = x
    tau: list[Scalar] = [0] * n
    M: list[list[Scalar]] = [[0] * n for _ in range(n)]
    for name in floor.touches:
        frame = frame_named(robot, name)
        J = jacobian(robot, q, frame, "world")
        normal = [inner(up, [J[r][j] for r in range(3)]) for j in range(n)]
        depth = sub(height, inner(up, frame_pose(robot, q, frame)[1]))
        root = sqrt(add(mul(depth, depth), SOFT * SOFT))
        push = mul(mul(stiffness, 0.5), add(depth, root))
        steep = mul(mul(stiffness, 0.5), add(1, div(depth, root)))
        slip = [inner([J[r][j] for j in range(n)], qd) for r in range(3)]
        away = inner(up, slip)
        carried = sub(push, mul(mul(RELAXED, steep), away))
        along = [sub(s, mul(u, away)) for s, u in zip(slip, up, strict=True)]
        drag = div(mul(friction, push), sqrt(add(inner(along, along), CREEP * CREEP)))
        stuck = mul(mul(h, 0.5), drag)
        spring = mul(add(mul(mul(h, h), 0.25), mul(mul(h, 0.5), RELAXED)), steep)
        for i in range(n):
            column = [J[r][i] for r in range(3)]
            tau[i] = add(tau[i], sub(mul(normal[i], carried), mul(drag, inner(column, along))))
            for j in range(n):
                both, normals = inner(column, [J[r][j] for r in range(3)]), mul(normal[i], normal[j])
                M[i][j] = add(M[i][j], add(mul(spring, normals), mul(stuck, sub(both, normals))))
    return FloorEfforts(tau, M)


def floor_slopes(
    graph: Graph, efforts: FloorEfforts, qdd: Sequence[Scalar], wanted: Sequence[Sequence[Scalar]]
) -> list[list[list[Scalar]]]:
    """Derivatives of the contact term M qdd - tau with respect to sets of inputs: [set][coordinate][input]."""
    asked = [sub(inner(row, qdd), tau) for row, tau in zip(efforts.M, efforts.tau, strict=True)]
    one = graph.constant(1.0)
    slopes = [reverse(graph, [a], [one]) if isinstance(a, Expr) else {} for a in asked]
    return [[[own.get(x.id, 0) if isinstance(x, Expr) else 0 for x in inputs] for own in slopes] for inputs in wanted]
