"""First derivatives of efforts and accelerations, and the Coriolis matrix, from compound links in motion.

A particle at x beyond joint j moves with dx/dq = S_w x r + S_v, r from the joint's origin, so its
acceleration a has the derivatives da/dq = (dx/dq)'' and da/dqd = 2 (dx/dq)'.  Summed over a compound
link these need, besides its mass, first moment ms and inertia J, only l = sum m r' and K = sum m r' r^T
(r' the velocity relative to the origin).  The recursion itself is not differentiated, so a pair of
joints costs some dot products.  C is the sum of m (dx/dq_i) . (dx/dq_j)', so that D' - 2 C is
skew-symmetric; for joints it is half of d tau/d qd and equals the matrix of the Christoffel symbols
(theory, eqs. 31 to 33).

A floating base has six more axes, fixed in its frame.  Its velocities are not rates of coordinates:
motions along two axes do not commute, and their Lie bracket is subtracted from 2 C in d tau/d qd.
Derivatives with respect to its pose are for translations along and rotations about these axes; only the
direction of gravity in its frame changes.
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
from minertia.dynamics.kinematics import (
    BASE_TWISTS,
    LinkMotion,
    Passage,
    State,
    base_velocity,
    forward,
    in_base,
    joint_rates,
    passages,
    structural_gravity,
)
from minertia.dynamics.newton_euler import Parameters, body_wrench
from minertia.robot.inertia import first_moment, inertia_matrix
from minertia.robot.robot import Robot


@dataclass(frozen=True, slots=True)
class Slopes:
    """d tau/dq, d tau/dqd and the Coriolis matrix C, of the links, n x n.

    Derivatives with respect to the pose of a floating base are for motions along and about its own axes.
    """

    position: Matrix
    velocity: Matrix
    coriolis: Matrix


Shares = Sequence[tuple[int, Scalar]]  # velocities that move along an axis, and how much each


class _MovingCompound(NamedTuple):
    """Compound link in motion, in its joint's frame; force, moment: wrench that moves it.

    mass, ms, J: mass, first moment and inertia.  l, K: sums of m r' and of m r' r^T.
    """

    mass: Scalar
    ms: Vec
    J: Mat
    l: Vec  # noqa: E741 - the letter of linear momentum
    K: Mat
    force: Vec
    moment: Vec

    def with_body(self, x: Mapping[str, Scalar]) -> _MovingCompound:
        """Copy with the mass, first moment and inertia of a compound link."""
        return self._replace(mass=x["M"], ms=first_moment(x), J=inertia_matrix(x))

    def spun(self, z: Vec) -> Vec:
        """Sum of m r x (z x r')."""
        return vadd(scale(z, _trace(self.K)), scale(apply(self.K, z), -1))

    def spun_back(self, z: Vec) -> Vec:
        """Sum of m r' x (z x r)."""
        return vadd(scale(z, _trace(self.K)), scale(apply(transpose(self.K), z), -1))


class _MovingAxis(NamedTuple):
    """Twist of a joint with its first and second derivative, in the joint's frame."""

    w: Vec
    v: Vec
    w1: Vec
    v1: Vec
    w2: Vec
    v2: Vec  # less S_w x acceleration of the origin


class _Direction(NamedTuple):
    """Axis of a joint or of the floating base, and its velocity coordinates with their ratios."""

    shares: Shares
    axis: _MovingAxis


class _PassedOn(NamedTuple):
    """Quantities passed from joint j to an inner joint, for the entries of row j and column j.

    fv, mv: force and moment of column j of C.  fq, mq: derivatives of force and moment with respect to the
    position of joint j.  alpha, beta, gamma: coefficients of the effort of joint j as a linear function of an
    inner joint's motion.
    """

    fv: Vec
    mv: Vec
    fq: Vec
    mq: Vec
    alpha: Vec
    beta: Vec
    gamma: Vec


def slopes(robot: Robot, chi: Parameters, state: State, *, positions: bool = True) -> Slopes:
    """Derivatives of the rigid-body efforts; positions: compute those with respect to q and qd (else 0)."""
    return _Pairs(robot, chi, state, positions).run()


def coriolis_matrix(robot: Robot, chi: Parameters, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Matrix:
    """C(q, qd) with C qd the velocity efforts and D' - 2 C skew-symmetric."""
    return slopes(robot, chi, State(q, qd, [0] * robot.n_velocity), positions=False).coriolis


class _Pairs:
    """Recursion over all pairs of joints on a common path to the base; a floating base is paired with every joint."""

    def __init__(self, robot: Robot, chi: Parameters, state: State, positions: bool) -> None:
        self.robot, self.positions, self.state = robot, positions, state
        self.ways = passages(robot, state.q)
        gravity = structural_gravity(robot.gravity)
        self.base, self.motions = forward(robot, self.ways, state, gravity)
        self.up = in_base(robot, state.q, scale(gravity, -1))
        self.leaps = self._leaps(state)
        self.moving, self.whole = self._compounds(chi)
        first = 6 * robot.is_floating
        self.joints = [
            _Direction([(first + c, ratio) for c, ratio in robot.shares(j)], _axis(joint.twist, self.motions[j]))
            for j, joint in enumerate(robot.joints)
        ]
        self.base_axes = [_Direction([(k, 1)], _axis(t, self.base)) for k, t in enumerate(BASE_TWISTS[:first])]
        n = robot.n_velocity
        self.Q: Matrix = [[0] * n for _ in range(n)]
        self.C: Matrix = [[0] * n for _ in range(n)]
        self.bracket: Matrix = [[0] * first for _ in range(n)]  # 2 C less d tau/dqd, by a floating base's velocities

    def run(self) -> Slopes:
        for j in range(self.robot.n_joints):
            self._column(j)
        if self.whole is not None:
            for direction in self.base_axes:
                self._enter_base(direction, self._start(self.whole, direction.axis))
        return Slopes(self.Q, self._by_velocities(), self.C)

    def _by_velocities(self) -> Matrix:
        if not self.positions:
            return self.Q
        twice = [[mul(2, entry) for entry in row] for row in self.C]
        for row, less in zip(twice, self.bracket, strict=True):
            row[: len(less)] = [sub(a, b) for a, b in zip(row, less, strict=False)]
        return twice

    def _leaps(self, state: State) -> list[Vec]:
        """Velocity of each joint's origin relative to the parent's origin, in the parent's frame."""
        found = []
        for joint, way, rate in zip(self.robot.joints, self.ways, joint_rates(self.robot, state.qd), strict=True):
            parent = self.base if joint.parent is None else self.motions[joint.parent]
            sliding = scale(way.outward(joint.twist[1]), rate)
            found.append(vadd(cross(parent.w, way.p), sliding))
        return found

    def _compounds(self, chi: Parameters) -> tuple[list[_MovingCompound], _MovingCompound | None]:
        """Compound links of all joints, and the whole robot for a floating base."""
        compounds, ground = compound_links(self.robot, chi, self.ways)
        links = chi[int(self.robot.is_floating) :]
        own = [_own(x, motion, self.positions) for x, motion in zip(links, self.motions, strict=True)]
        whole = _own(chi[0], self.base, self.positions) if self.robot.is_floating else None
        for j in reversed(range(self.robot.n_joints)):
            own[j] = own[j].with_body(compounds[j])
            p = self.robot.joints[j].parent
            if p is not None:
                own[p] = self._added(own[p], own[j], self.ways[j], self.leaps[j])
            elif whole is not None:
                whole = self._added(whole, own[j], self.ways[j], self.leaps[j])
        return own, None if whole is None else whole.with_body(ground)

    def _added(self, parent: _MovingCompound, child: _MovingCompound, way: Passage, leap: Vec) -> _MovingCompound:
        """Add the l, K, force and moment of a child to those of its parent."""
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

    def _column(self, j: int) -> None:
        """Compute the entries of joint j with itself, every inner joint and a floating base."""
        own = self.joints[j]
        here = self._start(self.moving[j], own.axis)
        self._enter_row(own, own, here)
        i, parent = j, self.robot.joints[j].parent
        while parent is not None:
            here = self._handed_on(i, here)
            self._enter_row(own, self.joints[parent], here)
            self._enter_column(self.joints[parent], own, here)
            i, parent = parent, self.robot.joints[parent].parent
        if self.robot.is_floating:
            here = self._handed_on(i, here)
            self._enter_base(own, here)
            for direction in self.base_axes:
                self._enter_column(direction, own, here)

    def _start(self, body: _MovingCompound, a: _MovingAxis) -> _PassedOn:
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
        """Transform the quantities to the parent of joint i."""
        way, leap = self.ways[i], self.leaps[i]
        fv, mv, fq, mq, alpha, beta, gamma = (way.outward(v) for v in c)
        beta, gamma = vadd(beta, cross(way.p, alpha)), vadd(gamma, cross(leap, alpha))
        return _PassedOn(fv, vadd(mv, cross(way.p, fv)), fq, vadd(mq, cross(way.p, fq)), alpha, beta, gamma)

    def _enter_base(self, row: _Direction, c: _PassedOn) -> None:
        """Add the effect of a floating base's motion on the effort along an axis, expressed at the base."""
        v, w = base_velocity(self.state.qd)
        for column in self.base_axes:
            a = column.axis
            self._put(self.C, row, column, total(dot(c.beta, a.w1), dot(c.gamma, a.w), dot(c.alpha, a.v1)))
            if self.positions:
                turn, slide = cross(w, a.w), vadd(cross(w, a.v), cross(v, a.w))
                self._put(self.bracket, row, column, add(dot(c.beta, turn), dot(c.alpha, slide)))
                self._put(self.Q, row, column, dot(c.alpha, cross(self.up, a.w)))

    def _enter_row(self, row: _Direction, column: _Direction, c: _PassedOn) -> None:
        """Add the effect of the motion of an inner joint, or of the joint itself, on the effort of a joint."""
        a = column.axis
        self._put(self.C, row, column, total(dot(c.beta, a.w1), dot(c.gamma, a.w), dot(c.alpha, a.v1)))
        if self.positions:
            entry = total(dot(c.beta, a.w2), mul(2, dot(c.gamma, a.w1)), dot(c.alpha, a.v2))
            self._put(self.Q, row, column, entry)

    def _enter_column(self, row: _Direction, column: _Direction, c: _PassedOn) -> None:
        """Add the effect of a joint's motion on the effort of an inner joint, or on the base."""
        a = row.axis
        self._put(self.C, row, column, add(dot(a.w, c.mv), dot(a.v, c.fv)))
        if self.positions:
            self._put(self.Q, row, column, add(dot(a.w, c.mq), dot(a.v, c.fq)))

    def _put(self, matrix: Matrix, row: _Direction, column: _Direction, entry: Scalar) -> None:
        """Add an entry between two axes to the entries of their velocity coordinates."""
        if is_zero(entry):
            return
        for (i, ratio), (j, other) in product(row.shares, column.shares):
            matrix[i][j] = add(matrix[i][j], mul(ratio, mul(other, entry)))


def _axis(twist: tuple[Vec, Vec], motion: LinkMotion) -> _MovingAxis:
    """Axis fixed in a moving link."""
    S_w, S_v = twist
    w, _, vd, U, _ = motion
    second = vadd(apply(U, S_v), cross(vd, S_w))
    return _MovingAxis(S_w, S_v, cross(w, S_w), cross(w, S_v), apply(U, S_w), second)


def _own(x: Mapping[str, Scalar], motion: LinkMotion, positions: bool) -> _MovingCompound:
    """Moving compound of a single link: r' = w x r."""
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
    """Rotate K to the axes of the parent."""
    half = transpose((way.outward(K[0]), way.outward(K[1]), way.outward(K[2])))
    return transpose((way.outward(half[0]), way.outward(half[1]), way.outward(half[2])))


def _outer(a: Vec, b: Vec) -> Mat:
    return scale(b, a[0]), scale(b, a[1]), scale(b, a[2])


def _trace(K: Mat) -> Scalar:
    return total(K[0][0], K[1][1], K[2][2])
