"""Efforts along a reference that differs from the motion: D qddr + C(q, qd) qdr + g (Slotine and Li 1987).

C qdr is bilinear in qd and qdr, with C from the Christoffel symbols, so that D' - 2 C is
skew-symmetric: every product a b of two velocities in the recursion becomes (a br + ar b) / 2, where ar
and br are the reference velocities.  The axes of a floating base rotate with its velocity and not with
the reference velocity, which adds (w x wr) / 2 to its angular acceleration.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from minertia.algebra.scalar import Scalar, add, mul, neg, sub
from minertia.algebra.vec3 import ZERO, Vec, apply, cross, scale, vadd
from minertia.dynamics.kinematics import (
    LinkMotion,
    Passage,
    Scalars,
    base_velocity,
    in_base,
    joint_rates,
    motion,
    passages,
    structural_gravity,
)
from minertia.dynamics.newton_euler import Parameters, backward, with_base
from minertia.dynamics.regressor import Entries, entries_of_motions
from minertia.io.errors import InputError
from minertia.robot.robot import Robot


def expect_fixed_base(robot: Robot, what: str) -> None:
    """Raise an error for a floating base, whose velocities are not the rates of coordinates."""
    if robot.is_floating:
        raise InputError(
            f"{what} needs a fixed base, but '{robot.name}' has a floating base; read it with a fixed base"
        )


def reference_torques(
    robot: Robot, chi: Parameters, q: Scalars, qd: Scalars, qdr: Scalars, qddr: Scalars, gravity: Vec | None = None
) -> list[Scalar]:
    """Rigid-body efforts D(q) qddr + C(q, qd) qdr + g(q)."""
    ways = passages(robot, q)
    base, motions = _forward(robot, ways, q, (qd, qdr, qddr), gravity)
    return with_base(robot, *backward(robot, ways, base, motions, chi))


def reference_entries(
    robot: Robot,
    q: Scalars,
    qd: Scalars,
    qdr: Scalars,
    qddr: Scalars,
    wanted: Collection[str],
    gravity: Vec | None = None,
) -> Entries:
    """Entries of Y(q, qd, qdr, qddr) for the link parameters among the requested columns."""
    ways = passages(robot, q)
    return entries_of_motions(robot, ways, *_forward(robot, ways, q, (qd, qdr, qddr), gravity), wanted)


def reference_motions(
    robot: Robot, q: Scalars, qd: Scalars, qdr: Scalars, qddr: Scalars, gravity: Vec | None = None
) -> list[LinkMotion]:
    """Motion of every link that combines velocity and reference, for its wrench; a floating base comes first."""
    base, motions = _forward(robot, passages(robot, q), q, (qd, qdr, qddr), gravity)
    return [base] * robot.is_floating + motions


def _forward(
    robot: Robot, ways: Sequence[Passage], q: Scalars, rates_of: tuple[Scalars, Scalars, Scalars], gravity: Vec | None
) -> tuple[LinkMotion, list[LinkMotion]]:
    """Combined motions of base and links.

    rates_of: velocities, reference velocities and reference accelerations.
    """
    g = structural_gravity(robot.gravity) if gravity is None else gravity
    ground, base = _base(robot, q, rates_of, scale(g, -1))
    turns: list[tuple[Vec, Vec]] = []  # angular velocity of each link, and that of the reference
    motions: list[LinkMotion] = []
    rates = zip(*(joint_rates(robot, rate) for rate in rates_of), strict=True)
    for joint, way, (v, r, a) in zip(robot.joints, ways, rates, strict=True):
        parent = base if joint.parent is None else motions[joint.parent]
        S_w, S_v = joint.twist
        w, w_r = (way.inward(turn) for turn in (ground if joint.parent is None else turns[joint.parent]))
        mixed = vadd(cross(w, scale(S_w, mul(0.5, r))), cross(w_r, scale(S_w, mul(0.5, v))))
        slip = vadd(cross(w, scale(S_v, r)), cross(w_r, scale(S_v, v)))
        vd = vadd(way.inward(vadd(parent.vd, apply(parent.U, way.p))), slip, scale(S_v, a))
        wd = vadd(way.inward(parent.wd), mixed, scale(S_w, a))
        turns.append((vadd(w, scale(S_w, v)), vadd(w_r, scale(S_w, r))))
        motions.append(_mixed_motion(*turns[-1], wd, vd))
    return base, motions


def _base(
    robot: Robot, q: Scalars, rates_of: tuple[Scalars, Scalars, Scalars], up: Vec
) -> tuple[tuple[Vec, Vec], LinkMotion]:
    """Angular velocity and reference angular velocity of the base, and its motion with products of both."""
    if not robot.is_floating:
        return (ZERO, ZERO), motion(ZERO, ZERO, up)
    (_, w), (v_r, w_r), (a, wd) = (base_velocity(rate) for rate in rates_of)
    turned = vadd(wd, scale(cross(w, w_r), 0.5))
    return (w, w_r), _mixed_motion(w, w_r, turned, vadd(a, cross(w, v_r), in_base(robot, q, up)))


def _mixed_motion(w: Vec, r: Vec, wd: Vec, vd: Vec) -> LinkMotion:
    """`kinematics.motion` with (w r' + r w') / 2 for w w'."""
    half = scale(r, 0.5)
    xx, yy, zz = mul(w[0], r[0]), mul(w[1], r[1]), mul(w[2], r[2])
    xy, xz, yz = (add(mul(w[a], half[b]), mul(w[b], half[a])) for a, b in ((0, 1), (0, 2), (1, 2)))
    U = (
        (neg(add(yy, zz)), sub(xy, wd[2]), add(xz, wd[1])),
        (add(xy, wd[2]), neg(add(xx, zz)), sub(yz, wd[0])),
        (sub(xz, wd[1]), add(yz, wd[0]), neg(add(xx, yy))),
    )
    return LinkMotion(w, wd, vd, U, (xx, yy, zz, xy, xz, yz))
