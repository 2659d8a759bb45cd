"""3-vectors and 3x3 matrices as tuples of scalars (a batch is an array in each slot)."""

from __future__ import annotations

from functools import reduce
from typing import TypeAlias

from minertia.algebra.scalar import Scalar, add, mul, neg, sub

Vec: TypeAlias = tuple[Scalar, Scalar, Scalar]
Mat: TypeAlias = tuple[Vec, Vec, Vec]
Pose: TypeAlias = tuple[Mat, Vec]  # (R, p): x_parent = R x + p

ZERO: Vec = (0, 0, 0)
X: Vec = (1, 0, 0)
Y: Vec = (0, 1, 0)
Z: Vec = (0, 0, 1)
IDENTITY: Mat = (X, Y, Z)
HERE: Pose = (IDENTITY, ZERO)


def vadd(*vectors: Vec) -> Vec:
    """Sum of vectors."""
    x, y, z = vectors[0]
    for a, b, c in vectors[1:]:
        x, y, z = add(x, a), add(y, b), add(z, c)
    return x, y, z


def vsub(a: Vec, b: Vec) -> Vec:
    """a - b."""
    return sub(a[0], b[0]), sub(a[1], b[1]), sub(a[2], b[2])


def scale(v: Vec, s: Scalar) -> Vec:
    """s v."""
    return mul(v[0], s), mul(v[1], s), mul(v[2], s)


def dot(a: Vec, b: Vec) -> Scalar:
    """Scalar product."""
    return add(add(mul(a[0], b[0]), mul(a[1], b[1])), mul(a[2], b[2]))


def cross(a: Vec, b: Vec) -> Vec:
    """Vector product."""
    return (
        sub(mul(a[1], b[2]), mul(a[2], b[1])),
        sub(mul(a[2], b[0]), mul(a[0], b[2])),
        sub(mul(a[0], b[1]), mul(a[1], b[0])),
    )


def apply(A: Mat, v: Vec) -> Vec:
    """A v."""
    return dot(A[0], v), dot(A[1], v), dot(A[2], v)


def transpose(A: Mat) -> Mat:
    """A'."""
    (a, b, c), (d, e, f), (g, h, i) = A
    return (a, d, g), (b, e, h), (c, f, i)


def column(A: Mat, k: int) -> Vec:
    """Column k of A."""
    return A[0][k], A[1][k], A[2][k]


def matmul(A: Mat, B: Mat) -> Mat:
    """A B."""
    Bt = transpose(B)
    return transpose((apply(A, Bt[0]), apply(A, Bt[1]), apply(A, Bt[2])))


def madd(*matrices: Mat) -> Mat:
    """Sum of matrices."""
    return tuple(vadd(*rows) for rows in zip(*matrices, strict=True))  # type: ignore[return-value]


def mscale(A: Mat, s: Scalar) -> Mat:
    """s A."""
    return scale(A[0], s), scale(A[1], s), scale(A[2], s)


def skew(v: Vec) -> Mat:
    """[v]x, so that apply(skew(v), u) = v x u."""
    return (0, neg(v[2]), v[1]), (v[2], 0, neg(v[0])), (neg(v[1]), v[0], 0)


def compose(*poses: Pose) -> Pose:
    """Compose poses: the pose of the last frame relative to the reference frame of the first."""
    return reduce(_compose2, poses, HERE)


def _compose2(a: Pose, b: Pose) -> Pose:
    return matmul(a[0], b[0]), vadd(a[1], apply(a[0], b[1]))


def invert(pose: Pose) -> Pose:
    """Inverse of a pose."""
    R = transpose(pose[0])
    x, y, z = apply(R, pose[1])
    return R, (neg(x), neg(y), neg(z))


def shift(x: Scalar = 0, y: Scalar = 0, z: Scalar = 0) -> Pose:
    """Pure translation."""
    return IDENTITY, (x, y, z)


def turn_x(turn: tuple[Scalar, Scalar]) -> Pose:
    """Rotation about x by an angle given as (cos, sin)."""
    c, s = turn
    return ((1, 0, 0), (0, c, neg(s)), (0, s, c)), ZERO


def turn_y(turn: tuple[Scalar, Scalar]) -> Pose:
    """Rotation about y by an angle given as (cos, sin)."""
    c, s = turn
    return ((c, 0, s), (0, 1, 0), (neg(s), 0, c)), ZERO


def turn_z(turn: tuple[Scalar, Scalar]) -> Pose:
    """Rotation about z by an angle given as (cos, sin)."""
    c, s = turn
    return ((c, neg(s), 0), (s, c, 0), (0, 0, 1)), ZERO
