"""Forward kinematics of position, velocity and acceleration: the forward recursion.

Each function takes one scalar per coordinate, so the same code serves floats, batches and expressions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from minertia.algebra.scalar import Scalar, add, cos, mul, neg, sin, sub
from minertia.algebra.vec3 import (
    HERE,
    ZERO,
    Mat,
    Pose,
    Vec,
    X,
    Y,
    Z,
    apply,
    cross,
    matmul,
    scale,
    transpose,
    turn_z,
    vadd,
)
from minertia.robot.joint import Joint
from minertia.robot.robot import Robot

Scalars = Sequence[Scalar]
# angular and linear part of a floating base's unit motions in its frame, in the order of its velocities
BASE_TWISTS: tuple[tuple[Vec, Vec], ...] = (*((ZERO, a) for a in (X, Y, Z)), *((a, ZERO) for a in (X, Y, Z)))


class Passage(NamedTuple):
    """Transform between a joint's frame and its parent's at one position: fixed placement, then a rotation about z."""

    R: Mat
    p: Vec
    turn: tuple[Scalar, Scalar]  # cos, sin

    def inward(self, v: Vec) -> Vec:
        """Express a vector of the parent's frame in the joint's frame."""
        x, y, z = apply(transpose(self.R), v)
        c, s = self.turn
        return add(mul(c, x), mul(s, y)), sub(mul(c, y), mul(s, x)), z

    def outward(self, v: Vec) -> Vec:
        """Express a vector of the joint's frame in the parent's frame."""
        c, s = self.turn
        x, y, z = v
        return apply(self.R, (sub(mul(c, x), mul(s, y)), add(mul(s, x), mul(c, y)), z))

    @property
    def pose(self) -> Pose:
        """Pose of the joint's frame in the parent's frame."""
        return matmul(self.R, turn_z(self.turn)[0]), self.p


class LinkMotion(NamedTuple):
    """Motion of a link in its own frame: w [rad/s], wd [rad/s2], vd [m/s2].

    vd: acceleration of the origin minus gravity.  U = [wd]x + [w]x[w]x; products = (wx wx, wy wy, wz wz, wx
    wy, wx wz, wy wz), used by U and by the moments.
    """

    w: Vec
    wd: Vec
    vd: Vec
    U: Mat
    products: tuple[Scalar, ...]


def motion(w: Vec, wd: Vec, vd: Vec) -> LinkMotion:
    """Motion of a link with the products that are used more than once."""
    xx, yy, zz = mul(w[0], w[0]), mul(w[1], w[1]), mul(w[2], w[2])
    xy, xz, yz = mul(w[0], w[1]), mul(w[0], w[2]), mul(w[1], w[2])
    U = (
        (neg(add(yy, zz)), sub(xy, wd[2]), add(xz, wd[1])),
        (add(xy, wd[2]), neg(add(xx, zz)), sub(yz, wd[0])),
        (sub(xz, wd[1]), add(yz, wd[0]), neg(add(xx, yy))),
    )
    return LinkMotion(w, wd, vd, U, (xx, yy, zz, xy, xz, yz))


class State(NamedTuple):
    """Position, velocity and acceleration of each coordinate; those of a floating base come first (see `Robot`)."""

    q: Scalars
    qd: Scalars
    qdd: Scalars


def passages(robot: Robot, q: Scalars) -> list[Passage]:
    """Transform of every joint at these coordinates."""
    return [_passage(joint, qj) for joint, qj in zip(robot.joints, joint_positions(robot, q), strict=True)]


def joint_positions(robot: Robot, q: Scalars) -> list[Scalar]:
    """Position of every moving joint, dependent ones included."""
    own = q[7 * robot.is_floating :]
    return [robot.joint_position(j, own) for j in range(robot.n_joints)]


def joint_rates(robot: Robot, qd: Scalars) -> list[Scalar]:
    """Velocity or acceleration of every moving joint, dependent ones included."""
    own = qd[6 * robot.is_floating :]
    return [robot.joint_rate(j, own) for j in range(robot.n_joints)]


def forward(robot: Robot, ways: Sequence[Passage], state: State, gravity: Vec) -> tuple[LinkMotion, list[LinkMotion]]:
    """Motion of the base and of every link, from the base to the tips.

    Gravity enters as an upward acceleration of the base.  Khalil & Dombre 2002, chapter 9.
    """
    base = base_motion(robot, state, gravity)
    motions: list[LinkMotion] = []
    rates = zip(joint_rates(robot, state.qd), joint_rates(robot, state.qdd), strict=True)
    for joint, way, (qd, qdd) in zip(robot.joints, ways, rates, strict=True):
        parent = base if joint.parent is None else motions[joint.parent]
        S_w, S_v = joint.twist
        w = way.inward(parent.w)
        slip = cross(w, scale(S_v, mul(2, qd)))
        vd = vadd(way.inward(vadd(parent.vd, apply(parent.U, way.p))), slip, scale(S_v, qdd))
        wd = vadd(way.inward(parent.wd), cross(w, scale(S_w, qd)), scale(S_w, qdd))
        motions.append(motion(vadd(w, scale(S_w, qd)), wd, vd))
    return base, motions


def base_motion(robot: Robot, state: State, gravity: Vec) -> LinkMotion:
    """Motion of the ground, or of a floating base (velocities and their rates in the base frame)."""
    up = (neg(gravity[0]), neg(gravity[1]), neg(gravity[2]))
    if not robot.is_floating:
        return motion(ZERO, ZERO, up)
    v, w = base_velocity(state.qd)
    a, wd = base_velocity(state.qdd)
    return motion(w, wd, vadd(a, cross(w, v), in_base(robot, state.q, up)))


def base_velocity(qd: Scalars) -> tuple[Vec, Vec]:
    """Linear and angular velocity of a floating base (or their rates), in its frame."""
    return _three(qd, 0), _three(qd, 3)


def in_base(robot: Robot, q: Scalars, v: Vec) -> Vec:
    """Express a vector of the world in the axes of the base."""
    return apply(transpose(quaternion_rotation(q[3:7])), v) if robot.is_floating else v


def quaternion_rotation(quaternion: Scalars) -> Mat:
    """Rotation matrix of a unit quaternion x y z w."""
    x, y, z, w = quaternion
    two = [[mul(2, mul(a, b)) for b in (x, y, z, w)] for a in (x, y, z)]
    (xx, xy, xz, xw), (_, yy, yz, yw), (_, _, zz, zw) = two
    return (
        (sub(sub(1, yy), zz), sub(xy, zw), add(xz, yw)),
        (add(xy, zw), sub(sub(1, xx), zz), sub(yz, xw)),
        (sub(xz, yw), add(yz, xw), sub(sub(1, xx), yy)),
    )


def base_pose(robot: Robot, q: Scalars) -> Pose:
    """Pose of the base in the world."""
    return (quaternion_rotation(q[3:7]), _three(q, 0)) if robot.is_floating else HERE


def structural_gravity(gravity: Sequence[float]) -> Vec:
    """Gravity vector with structural ints for its zero components."""
    x, y, z = (0 if component == 0 else component for component in gravity)
    return x, y, z


def velocity_of(parent_w: Vec, parent_v: Vec, way: Passage, joint: Joint, qd: Scalar) -> tuple[Vec, Vec]:
    """Angular and linear velocity of a link in its frame, from those of its parent."""
    S_w, S_v = joint.twist
    w = vadd(way.inward(parent_w), scale(S_w, qd))
    v = vadd(way.inward(vadd(parent_v, cross(parent_w, way.p))), scale(S_v, qd))
    return w, v


def _passage(joint: Joint, q: Scalar) -> Passage:
    (_, _, turning), (_, _, sliding) = joint.twist
    angle = mul(turning, q)
    along = scale(joint.axis, mul(sliding, q))
    return Passage(joint.R, vadd(joint.p, along), (cos(angle), sin(angle)))


def _three(v: Scalars, start: int) -> Vec:
    return v[start], v[start + 1], v[start + 2]
