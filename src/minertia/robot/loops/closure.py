"""Closure of kinematic loops: the equations of cut joints, and Newton's method for a closed configuration.

All quantities are relative to the last link common to both sides of a cut (its carrier), so that joints
before it do not enter, and equations chosen at one configuration of the loop hold for any motion of the
carrier (theory, eqs. 36 to 38).  Positions and velocities are those of every joint of the tree, one scalar
each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from minertia.algebra.scalar import Scalar, add, mul
from minertia.algebra.vec3 import HERE, ZERO, Pose, Vec, column, compose, cross, dot, scale, vadd, vsub
from minertia.io.arrays import Array
from minertia.robot.joint import CUT_KINDS, Cut
from minertia.robot.robot import Robot

# ------------------------------------------------------------------------------------------------------ on any scalar


Row = dict[int, Scalar]  # {joint, or coordinate of the tree: entry}, structural zeros left out


class PassedJoint(NamedTuple):
    """Joint between the carrier and a cut: its axis and origin in the carrier's axes."""

    joint: int
    axis: Vec
    origin: Vec


class CutSide(NamedTuple):
    """One side of a cut: pose of its frame in the carrier's frame, and the joints in between."""

    pose: Pose
    hinges: tuple[PassedJoint, ...]


class _EndMotion(NamedTuple):
    """Motion of a cut's frame in the carrier's axes: angular and linear velocity, and their rates at qdd = 0."""

    w: Vec
    v: Vec
    wd: Vec
    a: Vec


def cut_chains(robot: Robot, cut: Cut) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Joints from the carrier to the first and to the second frame of a cut."""
    paths = [() if j is None else robot.ancestors(j) for j in (cut.first, cut.second)]
    common = 0
    for a, b in zip(*paths, strict=False):
        if a != b:
            break
        common += 1
    return paths[0][common:], paths[1][common:]


def cut_joints(robot: Robot, cut: Cut) -> set[int]:
    """Joints between the two links of a cut."""
    return {j for chain in cut_chains(robot, cut) for j in chain}


def loop_joints(robot: Robot) -> list[int]:
    """Joints on closed kinematic chains, without dependent joints."""
    return sorted({j for cut in robot.cuts for j in cut_joints(robot, cut)})


def position_rows(cut: Cut) -> int:
    """Number of position equations of a cut; they come first, the others are cosines."""
    return 2 if cut.kind == "prismatic" else 3


def equation_count(cut: Cut) -> int:
    """Number of closure equations of a cut."""
    return position_rows(cut) + len(CUT_KINDS[cut.kind])


def cut_equations(robot: Robot, cut: Cut, q: Sequence[Scalar]) -> tuple[list[Scalar], list[Row]]:
    """Closure residuals of a cut (positions [m], then cosines), and their partial derivatives.

    The derivatives are with respect to the position of each joint.
    """
    first, second = cut_sides(robot, cut, q)
    a, b = first.pose, second.pose
    d = vsub(a[1], b[1])
    values = [dot(e, d) for e in _slides(b)] if cut.kind == "prismatic" else list(d)
    values += [dot(column(a[0], i), column(b[0], k)) for i, k in CUT_KINDS[cut.kind]]
    gradients = _gradients(cut, a, b)
    rows: list[Row] = [{} for _ in gradients]
    for side, sign in ((first, 1), (second, -1)):
        for hinge in side.hinges:
            linear, angular = _moves(robot, hinge, side.pose[1])
            for row, (along, about_first, about_second) in zip(rows, gradients, strict=True):
                about = about_first if sign == 1 else about_second
                row[hinge.joint] = mul(sign, add(dot(along, linear), dot(about, angular)))
    return values, rows


def on_coordinates(tree: Robot, row: Row) -> Row:
    """Convert a Jacobian row with respect to all joints to one with respect to the tree's coordinates.

    Dependent joints are replaced by their leaders.
    """
    found: Row = {}
    for j, entry in row.items():
        for c, ratio in tree.shares(j):
            found[c] = add(found.get(c, 0), mul(ratio, entry))
    return found


def cut_bias(robot: Robot, cut: Cut, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
    """Second time derivative of the closure residuals at zero joint accelerations."""
    sides = cut_sides(robot, cut, q)
    (a, b), (m, n) = (side.pose for side in sides), (_motion(robot, side, qd) for side in sides)
    d, v, acceleration = vsub(a[1], b[1]), vsub(m.v, n.v), vsub(m.a, n.a)
    places = list(acceleration)
    if cut.kind == "prismatic":
        places = [_slide_bias(e, n, d, v, acceleration) for e in _slides(b)]
    return places + [_cosine_bias(column(a[0], i), column(b[0], k), m, n) for i, k in CUT_KINDS[cut.kind]]


def _gradients(cut: Cut, a: Pose, b: Pose) -> list[tuple[Vec, Vec, Vec]]:
    """Coefficients of v_a - v_b, w_a and -w_b in the rate of each closure residual."""
    d = vsub(a[1], b[1])
    if cut.kind == "prismatic":
        found = [(e, ZERO, cross(d, e)) for e in _slides(b)]
    else:
        found = [((1, 0, 0), ZERO, ZERO), ((0, 1, 0), ZERO, ZERO), ((0, 0, 1), ZERO, ZERO)]
    for i, k in CUT_KINDS[cut.kind]:
        normal = cross(column(a[0], i), column(b[0], k))
        found.append((ZERO, normal, normal))
    return found


def _slide_bias(e: Vec, n: _EndMotion, d: Vec, v: Vec, a: Vec) -> Scalar:
    """Second time derivative of e . d at zero joint accelerations: e . a + 2 e' . v + e'' . d.

    e: direction fixed in the second frame, e' and e'': its time derivatives.  d, v, a: relative position of
    the frames, its velocity and its acceleration.
    """
    rate = cross(n.w, e)
    second = vadd(cross(n.wd, e), cross(n.w, rate))
    return add(add(dot(e, a), mul(2, dot(rate, v))), dot(second, d))


def _cosine_bias(u: Vec, e: Vec, m: _EndMotion, n: _EndMotion) -> Scalar:
    """Second time derivative of u . e, with u fixed in the first frame and e in the second."""
    turning = vadd(cross(cross(m.w, u), e), cross(u, cross(n.w, e)))
    return add(dot(cross(u, e), vsub(m.wd, n.wd)), dot(vsub(m.w, n.w), turning))


def cut_sides(robot: Robot, cut: Cut, q: Sequence[Scalar]) -> tuple[CutSide, CutSide]:
    """Both sides of a cut at positions of all joints."""
    first, second = cut_chains(robot, cut)
    return _side(robot, q, first, cut.first_pose), _side(robot, q, second, cut.second_pose)


def _side(robot: Robot, q: Sequence[Scalar], chain: Sequence[int], end: Pose) -> CutSide:
    pose, hinges = HERE, []
    for j in chain:
        pose = compose(pose, robot.joints[j].pose(q[j]))
        hinges.append(PassedJoint(j, column(pose[0], 2), pose[1]))
    return CutSide(compose(pose, end), tuple(hinges))


def _moves(robot: Robot, hinge: PassedJoint, end: Vec) -> tuple[Vec, Vec]:
    """Linear and angular velocity of a side's end for unit velocity of a joint."""
    (_, _, turning), (_, _, sliding) = robot.joints[hinge.joint].twist
    angular = scale(hinge.axis, turning)
    return vadd(scale(hinge.axis, sliding), cross(angular, vsub(end, hinge.origin))), angular


def _motion(robot: Robot, side: CutSide, rates: Sequence[Scalar]) -> _EndMotion:
    """Motion of a side's end, joint by joint from the carrier, which is taken as fixed."""
    w, v, wd, a, origin = ZERO, ZERO, ZERO, ZERO, ZERO
    for hinge in side.hinges:
        (_, _, turning), (_, _, sliding) = robot.joints[hinge.joint].twist
        v, a = _carried(w, v, wd, a, vsub(hinge.origin, origin))
        spin, slide = (scale(hinge.axis, mul(s, rates[hinge.joint])) for s in (turning, sliding))
        a = vadd(a, scale(cross(w, slide), 2))
        v, wd, w, origin = vadd(v, slide), vadd(wd, cross(w, spin)), vadd(w, spin), hinge.origin
    v, a = _carried(w, v, wd, a, vsub(side.pose[1], origin))
    return _EndMotion(w, v, wd, a)


def _carried(w: Vec, v: Vec, wd: Vec, a: Vec, lever: Vec) -> tuple[Vec, Vec]:
    """Velocity and acceleration of another point of a rigid body, at `lever` from the first."""
    swing = cross(w, lever)
    return vadd(v, swing), vadd(a, cross(wd, lever), cross(w, swing))


def _slides(b: Pose) -> tuple[Vec, Vec]:
    return column(b[0], 0), column(b[0], 1)


# --------------------------------------------------------------------------------------------------------- on numbers
# Positions have the shape (..., n_joints), so that one call serves a batch.


STEPS = 60
LARGEST_STEP = 0.5  # rad or m: of one step of Newton
CLOSED = 1e-10  # what is left of the equations [m or rad] where a loop counts as closed
CUTOFF = 1e-9  # singular values below this part of the largest are none


def residual(robot: Robot, q: ArrayLike, cuts: Sequence[Cut] | None = None) -> Array:
    """Residual of the closure equations of the cuts (by default the open ones), (..., equations) [m and cosines]."""
    return equations(robot, q, cuts)[0]


def jacobian(robot: Robot, q: ArrayLike, cuts: Sequence[Cut] | None = None) -> Array:
    """Derivative of `residual` with respect to the position of every joint, (..., equations, n_joints).

    Dependent joints are treated as free.
    """
    return equations(robot, q, cuts)[1]


def equations(robot: Robot, q: ArrayLike, cuts: Sequence[Cut] | None = None) -> tuple[Array, Array]:
    """`residual` and `jacobian`; q: position of every joint, shape (..., n_joints) [rad or m]."""
    given, numeric = np.asarray(q, float), robot.numeric
    chosen = [cut.at(robot.symbol_values) for cut in (robot.open_cuts if cuts is None else cuts)]
    scalars = [given[..., j] for j in range(numeric.n_joints)]
    found = [cut_equations(numeric, cut, scalars) for cut in chosen]
    values = [value for own, _ in found for value in own]
    rows = [row for _, own in found for row in own]
    left = np.zeros((*given.shape[:-1], len(values)))
    A = np.zeros((*left.shape, numeric.n_joints))
    for k, (value, row) in enumerate(zip(values, rows, strict=True)):
        left[..., k] = value
        for j, entry in row.items():
            A[..., k, j] = entry
    return left, A


def follower_map(robot: Robot) -> tuple[Array, Array]:
    """Matrix S and vector c with joint positions = S u + c; u: independent joints, passive ones included."""
    tree = robot.opened
    S, c = np.zeros((tree.n_joints, tree.n)), np.zeros(tree.n_joints)
    for j, joint in enumerate(tree.joints):
        for k, ratio in tree.shares(j):
            S[j, k] += float(ratio)  # type: ignore[arg-type]
        c[j] = 0.0 if joint.follows is None else joint.follows.offset
    return S, c


def close(
    robot: Robot, start: ArrayLike, held: Sequence[int] = (), cuts: Sequence[Cut] | None = None
) -> tuple[Array, float]:
    """Joint positions near `start` that satisfy loop closure, and the largest closure error.

    held: joints with fixed position.  Minimum-norm Newton steps are taken until they no longer reduce the error.
    """
    q, left = close_many(robot, np.asarray(start, float)[None], held, cuts)
    return q[0], float(left[0])


def close_many(
    robot: Robot, starts: Array, held: Sequence[int] = (), cuts: Sequence[Cut] | None = None
) -> tuple[Array, Array]:
    """`close` from each of the starts, (starts, n_joints): closed positions, and the largest closure error of each."""
    S, c = follower_map(robot)
    free = list(robot.opened.independent)
    moving = [k for k, j in enumerate(free) if j not in held]
    u = starts[:, free]
    best, left = u @ S.T + c, np.full(len(u), np.inf)
    going = np.arange(len(u))
    for _ in range(STEPS):
        q = u[going] @ S.T + c
        r, slopes = equations(robot, q, cuts)
        now = np.abs(r).max(axis=-1, initial=0.0)
        better = now < left[going]  # what is not a number is none
        best[going[better]], left[going[better]] = q[better], now[better]
        going = going[better]
        if not len(going):
            break
        A = slopes[better] @ S[:, moving]
        step = -np.einsum("sij,sj->si", np.linalg.pinv(A, rcond=CUTOFF), r[better])
        step *= np.minimum(1.0, LARGEST_STEP / np.maximum(np.abs(step).max(axis=1, initial=0.0), 1e-300))[:, None]
        u[np.ix_(going, moving)] += step
    return best, left


def motions_left(A: Array, cutoff: float) -> Array:
    """Null space of equations A, one motion per column; cutoff: relative to the largest singular value."""
    _, values, V = np.linalg.svd(A)
    rank = int(np.sum(values > cutoff * max(float(values.max(initial=0.0)), 1e-300)))
    return np.asarray(V[rank:].T)
