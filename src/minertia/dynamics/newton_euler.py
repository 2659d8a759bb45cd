"""Inverse dynamics by the recursive Newton-Euler algorithm.

f = m a + U ms and n = J wd + w x J w + ms x a, written with the entries of U, are summed from the tips to the base and
projected on the joint axes (theory, eqs. 6 to 9).  No branch on joint kind, scalar type or parameter set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minertia.algebra.scalar import Scalar, add, mul, neg, sub, total
from minertia.algebra.vec3 import ZERO, Vec, apply, cross, dot, scale, vadd
from minertia.dynamics.effects import effect_torques
from minertia.dynamics.frame import AppliedWrench
from minertia.dynamics.kinematics import LinkMotion, Passage, Scalars, State, forward, passages, structural_gravity
from minertia.robot.inertia import first_moment
from minertia.robot.robot import Robot

Parameters = Sequence[Mapping[str, Scalar]]  # {symbol: scalar} per joint; a floating base's link first


def inverse_dynamics(
    robot: Robot,
    chi: Parameters,
    state: State,
    gravity: Vec | None = None,
    temperature: Scalars | None = None,
    outside: AppliedWrench | None = None,
) -> list[Scalar]:
    """Efforts of all coordinates: links, rotor inertia, friction, springs, offsets [N m or N]."""
    rigid = rigid_torques(robot, chi, state, gravity, outside)
    effects = effect_torques(robot, chi, state, rigid, temperature)
    return [add(a, b) for a, b in zip(rigid, effects, strict=True)]


def rigid_torques(
    robot: Robot,
    chi: Parameters,
    state: State,
    gravity: Vec | None = None,
    outside: AppliedWrench | None = None,
) -> list[Scalar]:
    """Rigid-body efforts; with a floating base its force and moment (base frame) come first.

    outside: external wrench on a link.
    """
    g = structural_gravity(robot.gravity) if gravity is None else gravity
    ways = passages(robot, state.q)
    base, motions = forward(robot, ways, state, g)
    return with_base(robot, *backward(robot, ways, base, motions, chi, outside))


def with_base(robot: Robot, wrench: tuple[Vec, Vec], efforts: Sequence[Scalar]) -> list[Scalar]:
    """Efforts of the coordinates from the result of `backward`, a floating base's force and moment first."""
    base: list[Scalar] = [*wrench[0], *wrench[1]] if robot.is_floating else []
    return base + to_coordinates(robot, efforts)


def backward(
    robot: Robot,
    ways: Sequence[Passage],
    base: LinkMotion,
    motions: Sequence[LinkMotion],
    chi: Parameters,
    outside: AppliedWrench | None = None,
) -> tuple[tuple[Vec, Vec], list[Scalar]]:
    """Backward recursion: wrench (force, moment) at the base and the effort along every joint."""
    n, first = len(robot.joints), int(robot.is_floating)
    forces: list[Vec] = [ZERO] * n
    moments: list[Vec] = [ZERO] * n
    efforts: list[Scalar] = [0] * n
    ground = body_wrench(chi[0], base) if first else (ZERO, ZERO)
    if outside is not None and outside.joint is not None:
        forces[outside.joint], moments[outside.joint] = scale(outside.force, -1), scale(outside.moment, -1)
    elif outside is not None:
        ground = vadd(ground[0], scale(outside.force, -1)), vadd(ground[1], scale(outside.moment, -1))
    for j in reversed(range(n)):
        force, moment = body_wrench(chi[first + j], motions[j])
        f, m = vadd(force, forces[j]), vadd(moment, moments[j])
        joint, way = robot.joints[j], ways[j]
        S_w, S_v = joint.twist
        efforts[j] = add(dot(S_w, m), dot(S_v, f))
        p = joint.parent
        if p is None and not first:
            continue
        f_p = way.outward(f)
        m_p = vadd(way.outward(m), cross(way.p, f_p))
        if p is None:
            ground = vadd(ground[0], f_p), vadd(ground[1], m_p)
        else:
            forces[p], moments[p] = vadd(forces[p], f_p), vadd(moments[p], m_p)
    return ground, efforts


def body_wrench(x: Mapping[str, Scalar], motion: LinkMotion) -> tuple[Vec, Vec]:
    """Force and moment that accelerate one link, at its frame origin (Newton and Euler equations)."""
    _, wd, vd, U, (xx, yy, zz, xy, xz, yz) = motion
    ms = first_moment(x)
    force = vadd(scale(vd, x["M"]), apply(U, ms))
    moment = (
        total(mul(x["XX"], wd[0]), mul(sub(x["ZZ"], x["YY"]), yz), neg(mul(x["XY"], U[2][0])),
             mul(x["XZ"], U[1][0]), mul(x["YZ"], sub(yy, zz))),
        total(mul(x["YY"], wd[1]), mul(sub(x["XX"], x["ZZ"]), xz), neg(mul(x["YZ"], U[0][1])),
             mul(x["XY"], U[2][1]), mul(x["XZ"], sub(zz, xx))),
        total(mul(x["ZZ"], wd[2]), mul(sub(x["YY"], x["XX"]), xy), neg(mul(x["XZ"], U[1][2])),
             mul(x["YZ"], U[0][2]), mul(x["XY"], sub(xx, yy))),
    )  # fmt: skip
    return force, vadd(moment, cross(ms, vd))


def to_coordinates(robot: Robot, efforts: Sequence[Scalar]) -> list[Scalar]:
    """Efforts of the coordinates from those of all joints; a mimic joint contributes with its ratios.

    See theory, eq. 11.
    """
    taus: list[Scalar] = [0] * robot.n
    for j, effort in enumerate(efforts):
        for c, ratio in robot.shares(j):
            taus[c] = add(taus[c], mul(ratio, effort))
    return taus


def gravity_torques(robot: Robot, chi: Parameters, q: Scalars, gravity: Vec | None = None) -> list[Scalar]:
    """Gravity efforts of the links; springs and offsets are effects and not included."""
    return rigid_torques(robot, chi, State(q, *_rest(robot)), gravity)


def velocity_torques(robot: Robot, chi: Parameters, q: Scalars, qd: Scalars) -> list[Scalar]:
    """Centrifugal and Coriolis efforts."""
    return rigid_torques(robot, chi, State(q, qd, [0] * robot.n_velocity), ZERO)


def _rest(robot: Robot) -> tuple[list[int], list[int]]:
    return [0] * robot.n_velocity, [0] * robot.n_velocity
