"""Kinetic and potential energy of the links: an independent road to the same model (theory, eq. 12)."""

from __future__ import annotations

from minertia.algebra.scalar import Scalar, add, mul, neg
from minertia.algebra.vec3 import ZERO, Pose, Vec, apply, compose, cross, dot, scale, vadd
from minertia.dynamics.compound import drive_inertia
from minertia.dynamics.kinematics import (
    Scalars,
    base_pose,
    joint_rates,
    passages,
    structural_gravity,
    velocity_of,
)
from minertia.dynamics.newton_euler import Parameters
from minertia.robot.inertia import first_moment, inertia_matrix
from minertia.robot.robot import Robot


def kinetic_energy(robot: Robot, chi: Parameters, q: Scalars, qd: Scalars, *, rotors: bool = True) -> Scalar:
    """Kinetic energy qd' D qd / 2 [J] of the links and, unless told otherwise, of the rotors."""
    links = _of_links(robot, chi, q, qd)
    return add(links, rotor_energy(robot, chi, qd)) if rotors else links


def rotor_energy(robot: Robot, chi: Parameters, qd: Scalars) -> Scalar:
    """Kinetic energy [J] of the rotors about their own axes, as the mass matrix counts them (`drive_inertia`)."""
    total: Scalar = 0
    for rate, row in zip(qd, drive_inertia(robot, chi), strict=True):
        for other, entry in zip(qd, row, strict=True):
            total = add(total, mul(mul(0.5, entry), mul(rate, other)))
    return total


def _of_links(robot: Robot, chi: Parameters, q: Scalars, qd: Scalars) -> Scalar:
    base: tuple[Vec, Vec] = (ZERO, ZERO)
    total: Scalar = 0
    if robot.is_floating:
        base = (qd[3], qd[4], qd[5]), (qd[0], qd[1], qd[2])
        total = _kinetic(chi[0], *base)
    velocities: list[tuple[Vec, Vec]] = []
    links = zip(robot.joints, passages(robot, q), joint_rates(robot, qd), chi[int(robot.is_floating) :], strict=True)
    for joint, way, rate, x in links:
        parent = base if joint.parent is None else velocities[joint.parent]
        velocities.append(velocity_of(*parent, way, joint, rate))
        total = add(total, _kinetic(x, *velocities[-1]))
    return total


def potential_energy(robot: Robot, chi: Parameters, q: Scalars, gravity: Vec | None = None) -> Scalar:
    """Potential energy of the links [J]; zero with all masses at the world's origin."""
    g = structural_gravity(robot.gravity) if gravity is None else gravity
    total = _potential(chi[0], base_pose(robot, q), g) if robot.is_floating else 0
    for pose, x in zip(link_poses(robot, q), chi[int(robot.is_floating) :], strict=True):
        total = add(total, _potential(x, pose, g))
    return total


def link_poses(robot: Robot, q: Scalars) -> list[Pose]:
    """Pose of every joint frame in the world."""
    base = base_pose(robot, q)
    poses: list[Pose] = []
    for joint, way in zip(robot.joints, passages(robot, q), strict=True):
        poses.append(compose(base if joint.parent is None else poses[joint.parent], way.pose))
    return poses


def _kinetic(x, w: Vec, v: Vec) -> Scalar:  # type: ignore[no-untyped-def]
    spin = dot(w, apply(inertia_matrix(x), w))
    mixed = mul(2, dot(first_moment(x), cross(v, w)))
    return mul(0.5, add(add(spin, mixed), mul(x["M"], dot(v, v))))


def _potential(x, pose: Pose, gravity: Vec) -> Scalar:  # type: ignore[no-untyped-def]
    R, p = pose
    return neg(dot(gravity, vadd(scale(p, x["M"]), apply(R, first_moment(x)))))
