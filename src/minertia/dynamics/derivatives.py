"""First derivatives of efforts and accelerations, and the Coriolis matrix, from compound links in motion.

A particle at x behind joint j moves with dx/dq = S_w x r + S_v, r from the joint's origin, so its acceleration has
d a/dq = (dx/dq)'' and d a/dqd = 2 (dx/dq)'.  Summed over a compound link these need, besides its mass, first moment ms
and inertia J, only l = sum m r' and K = sum m r' r^T (r' the velocity relative to the origin).  No derivative is taken
of the recursion itself, so that a pair of joints costs some dot products.  C is half of d tau/d qd: that of
Christoffel's symbols, with D' - 2 C skew (theory, eqs. 31 to 33).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from minertia.algebra.scalar import Scalar, add, is_zero, mul, neg, sub, total
from minertia.algebra.vec3 import (
    ZERO,
    Mat,
    Vec,
    apply,
    cross,
    dot,
    madd,
    matmul,
    scale,
    skew,
    transpose,
    vadd,
)
from minertia.dynamics.compound import Matrix, compound_links
from minertia.dynamics.kinematics import LinkMotion, Passage, State, forward, joint_rates, passages, structural_gravity
from minertia.dynamics.newton_euler import Parameters, body_wrench
from minertia.dynamics.reference_motion import expect_fixed_base
from minertia.robot.inertia import first_moment, inertia_matrix
from minertia.robot.robot import Robot


@dataclass(frozen=True, slots=True)
class Slopes:
    """d tau/dq and the Coriolis matrix C = 1/2 d tau/dqd, of the links, n x n."""

    position: Matrix
    coriolis: Matrix


class _MovingCompound(NamedTuple):
    """A compound link in motion, in its joint's frame; trace: of K; force, moment: what moves it."""

    mass: Scalar
    ms: Vec
    J: Mat
    l: Vec  # noqa: E741 - the letter of linear momentum
    K: Mat
    force: Vec
    moment: Vec

    def spun(self, z: Vec) -> Vec:
        """Sum of m r x (z x r')."""
        return vadd(scale(z, _trace(self.K)), scale(apply(self.K, z), -1))

    def spun_back(self, z: Vec) -> Vec:
        """Sum of m r' x (z x r)."""
        return vadd(scale(z, _trace(self.K)), scale(apply(transpose(self.K), z), -1))


class _MovingAxis(NamedTuple):
    """The twist of a joint with its first and second rate, in the joint's frame."""

    w: Vec
    v: Vec
    w1: Vec
    v1: Vec
    w2: Vec
    v2: Vec  # less S_w x acceleration of the origin


class _PassedOn(NamedTuple):
    """What joint j gives to a joint before it: wrenches of its columns, and the functional of its row."""

    fv: Vec
    mv: Vec
    fq: Vec
    mq: Vec
    alpha: Vec
    beta: Vec
    gamma: Vec


def slopes(robot: Robot, chi: Parameters, state: State, *, positions: bool = True) -> Slopes:
    """The derivatives of the links' efforts; positions: whether those by q are wanted (else they are 0)."""
    expect_fixed_base(robot, "a Coriolis matrix or derivative")
    return _Pairs(robot, chi, state, positions).run()


def coriolis_matrix(robot: Robot, chi: Parameters, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Matrix:
    """C(q, qd) with C qd the velocity efforts and D' - 2 C skew."""
    return slopes(robot, chi, State(q, qd, [0] * robot.n_velocity), positions=False).coriolis


class _Pairs:
    """One run over all pairs of joints on one way to the base."""

    def __init__(self, robot: Robot, chi: Parameters, state: State, positions: bool) -> None:
        self.robot, self.positions = robot, positions
        self.ways = passages(robot, state.q)
        base, self.motions = forward(robot, self.ways, state, structural_gravity(robot.gravity))
        self.leaps = self._leaps(base, state)
        self.moving = self._compounds(chi)
        self.axes = [self._axis(j) for j in range(robot.n_joints)]
        n = robot.n_velocity
        self.Q: Matrix = [[0] * n for _ in range(n)]
        self.C: Matrix = [[0] * n for _ in range(n)]

    def run(self) -> Slopes:
        for j in range(self.robot.n_joints):
            self._column(j)
        return Slopes(self.Q, self.C)

    def _leaps(self, base: LinkMotion, state: State) -> list[Vec]:
        """Velocity of each joint's origin relative to that of its parent, in the parent's frame."""
        found = []
        for joint, way, rate in zip(self.robot.joints, self.ways, joint_rates(self.robot, state.qd), strict=True):
            parent = base if joint.parent is None else self.motions[joint.parent]
            sliding = scale(way.outward(joint.twist[1]), rate)
            found.append(vadd(cross(parent.w, way.p), sliding))
        return found

    def _compounds(self, chi: Parameters) -> list[_MovingCompound]:
        compounds, _ = compound_links(self.robot, chi, self.ways)
        own = [_own(x, motion, self.positions) for x, motion in zip(chi, self.motions, strict=True)]
        for j in reversed(range(self.robot.n_joints)):
            x = compounds[j]
            own[j] = own[j]._replace(mass=x["M"], ms=first_moment(x), J=inertia_matrix(x))
            p = self.robot.joints[j].parent
            if p is not None:
                own[p] = self._added(own[p], own[j], self.ways[j], self.leaps[j])
        return own

    def _added(self, parent: _MovingCompound, child: _MovingCompound, way: Passage, leap: Vec) -> _MovingCompound:
        """The parent's l, K, force and moment with those of a child."""
        momentum = vadd(way.outward(child.l), scale(leap, child.mass))
        K = madd(_turned(child.K, way), _outer(leap, way.outward(child.ms)), _outer(momentum, way.p))
        force = way.outward(child.force)
        moment = vadd(way.outward(child.moment), cross(way.p, force))
        return parent._replace(
            l=vadd(parent.l, momentum),
            K=madd(parent.K, K),
            force=vadd(parent.force, force),
            moment=vadd(parent.moment, moment),
        )

    def _axis(self, j: int) -> _MovingAxis:
        S_w, S_v = self.robot.joints[j].twist
        w, _, vd, U, _ = self.motions[j]
        second = vadd(apply(U, S_v), cross(vd, S_w))
        return _MovingAxis(S_w, S_v, cross(w, S_w), cross(w, S_v), apply(U, S_w), second)

    def _column(self, j: int) -> None:
        """Entries of joint j with itself and every joint before it."""
        here = self._start(j)
        self._enter_row(j, j, here)
        i, parent = j, self.robot.joints[j].parent
        while parent is not None:
            here = self._handed_on(i, here)
            self._enter_row(j, parent, here)
            self._enter_column(parent, j, here)
            i, parent = parent, self.robot.joints[parent].parent

    def _start(self, j: int) -> _PassedOn:
        body, a = self.moving[j], self.axes[j]
        mass, ms, J = body.mass, body.ms, body.J
        fv = vadd(cross(a.w1, ms), cross(a.w, body.l), scale(a.v1, mass))
        mv = vadd(apply(J, a.w1), body.spun(a.w), cross(ms, a.v1))
        alpha = vadd(cross(a.w, ms), scale(a.v, mass))
        beta = vadd(apply(J, a.w), cross(ms, a.v))
        gamma = vadd(body.spun_back(a.w), cross(body.l, a.v))
        if not self.positions:
            return _PassedOn(fv, mv, ZERO, ZERO, alpha, beta, gamma)
        w1 = scale(a.w1, 2)
        fq = vadd(cross(a.w2, ms), cross(w1, body.l), scale(a.v2, mass), cross(a.w, body.force))
        mq = vadd(apply(J, a.w2), body.spun(w1), cross(ms, a.v2), cross(a.w, body.moment), cross(a.v, body.force))
        return _PassedOn(fv, mv, fq, mq, alpha, beta, gamma)

    def _handed_on(self, i: int, c: _PassedOn) -> _PassedOn:
        """The same seen from the parent of joint i."""
        way, leap = self.ways[i], self.leaps[i]
        fv, mv, fq, mq, alpha, beta, gamma = (way.outward(v) for v in c)
        beta, gamma = vadd(beta, cross(way.p, alpha)), vadd(gamma, cross(leap, alpha))
        return _PassedOn(fv, vadd(mv, cross(way.p, fv)), fq, vadd(mq, cross(way.p, fq)), alpha, beta, gamma)

    def _enter_row(self, row: int, column: int, c: _PassedOn) -> None:
        """What the motion of a joint before it (or its own) does to the effort of a joint."""
        a = self.axes[column]
        self._put(self.C, row, column, total(dot(c.beta, a.w1), dot(c.gamma, a.w), dot(c.alpha, a.v1)))
        if self.positions:
            entry = total(dot(c.beta, a.w2), mul(2, dot(c.gamma, a.w1)), dot(c.alpha, a.v2))
            self._put(self.Q, row, column, entry)

    def _enter_column(self, row: int, column: int, c: _PassedOn) -> None:
        """What the motion of a joint does to the effort of a joint before it."""
        a = self.axes[row]
        self._put(self.C, row, column, add(dot(a.w, c.mv), dot(a.v, c.fv)))
        if self.positions:
            self._put(self.Q, row, column, add(dot(a.w, c.mq), dot(a.v, c.fq)))

    def _put(self, matrix: Matrix, row: int, column: int, entry: Scalar) -> None:
        """Add an entry of two joints to that of their coordinates."""
        if is_zero(entry):
            return
        robot = self.robot
        for (i, ratio), (j, other) in product(robot.shares(row), robot.shares(column)):
            matrix[i][j] = add(matrix[i][j], mul(ratio, mul(other, entry)))


def _own(x: Mapping[str, Scalar], motion: LinkMotion, positions: bool) -> _MovingCompound:
    """One link alone: r' = w x r."""
    force, moment = body_wrench(x, motion) if positions else (ZERO, ZERO)
    ms = first_moment(x)
    return _MovingCompound(
        0, ZERO, (ZERO, ZERO, ZERO), cross(motion.w, ms), matmul(skew(motion.w), _spread(x)), force, moment
    )


def _spread(x: Mapping[str, Scalar]) -> Mat:
    """Sum of m r r^T, from the inertia."""
    xx, yy, zz = (mul(0.5, x[s]) for s in ("XX", "YY", "ZZ"))
    xy, xz, yz = (neg(x[s]) for s in ("XY", "XZ", "YZ"))
    return (sub(add(yy, zz), xx), xy, xz), (xy, sub(add(xx, zz), yy), yz), (xz, yz, sub(add(xx, yy), zz))


def _turned(K: Mat, way: Passage) -> Mat:
    """K in the axes of the parent."""
    half = transpose((way.outward(K[0]), way.outward(K[1]), way.outward(K[2])))
    return transpose((way.outward(half[0]), way.outward(half[1]), way.outward(half[2])))


def _outer(a: Vec, b: Vec) -> Mat:
    return scale(b, a[0]), scale(b, a[1]), scale(b, a[2])


def _trace(K: Mat) -> Scalar:
    return total(K[0][0], K[1][1], K[2][2])
