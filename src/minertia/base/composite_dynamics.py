"""Newton-Euler in the minimal linear combinations of composite bodies (Lin 1995, equations 57 to 93).

Composite body i is link i with all links beyond it.  Its mass MH, the constant part k of its first
moment and the constant part U of its inertia about the frame's origin (theory, eqs. 18 to 20) are the
only parameters; links have no parameters of their own.  Let a be the acceleration of a frame's origin
minus gravity, W = [wd]x + [w]x[w]x, and for a prismatic joint h = W d + 2 w x u qd + u qdd.  Two sums
from the tips to the base give the wrench of the bodies beyond joint i,

    P_i = rho_i + sum of P over children          rho: W (k1, k2, 0) of a revolute joint, MH h of a prismatic one
    N_i = zeta_i + sum of (N + s x P) over children
    zeta: E(D) + (k1, k2, 0) x a of a revolute joint, k x (h - W d) + MH d x (a - h) of a prismatic one

with E(D) = D wd + w x D w, and efforts tau = u . N at a revolute joint, tau = u . (MH a + W k + P of
the children) at a prismatic one.  Before the second direction of revolute joints the direction of w is
constant, and two values per prismatic joint suffice for k (theory, eq. 20).  The available copy of the
paper lacks equations 60 to 70 and 82 to 90 except for fragments; they are derived anew here and carry
Lin's numbers where the surrounding text identifies them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from minertia.algebra.scalar import Scalar, add, mul, neg, sub
from minertia.algebra.vec3 import (
    IDENTITY,
    ZERO,
    Mat,
    Vec,
    apply,
    cross,
    dot,
    madd,
    matmul,
    mscale,
    scale,
    transpose,
    vadd,
)
from minertia.base.geometry import Axes
from minertia.dynamics.kinematics import (
    LinkMotion,
    Passage,
    State,
    forward,
    joint_positions,
    joint_rates,
    passages,
    structural_gravity,
)
from minertia.dynamics.newton_euler import body_wrench, to_coordinates
from minertia.dynamics.reference_motion import expect_fixed_base
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot

Combinations = Mapping[str, Scalar]  # by name: "U33_1", "K1_2", "MH_3", ...
Forward = Callable[[Robot, Sequence[Passage], State, Vec], tuple[LinkMotion, list[LinkMotion]]]
FORMULATION = "the formulation in minimal linear combinations"
NO_INERTIA: Mat = ((0, 0, 0), (0, 0, 0), (0, 0, 0))


class BodyWrench(NamedTuple):
    """Contribution of composite body j to the two sums, in its frame, with the quantities of Lin's equations.

    h: acceleration relative to the parent's frame at this point, for prismatic joints (equations 69 to 71).
    rho, zeta: force and moment terms (equations 64 and 65).  D: inertia in the moment of a revolute joint
    (equations 38 and 91). P, N: the sums of forces and of moments (equations 66 and 67).
    """

    motion: LinkMotion
    h: Vec
    D: Mat
    rho: Vec
    zeta: Vec
    P: Vec
    N: Vec


def composite_torques(
    robot: Robot,
    values: Combinations,
    state: State,
    gravity: Vec | None = None,
    axes: Axes | None = None,
    recursion: Forward = forward,
) -> list[Scalar]:
    """Rigid-body joint efforts [N m or N] from minimal linear combinations; omitted combinations are zero."""
    return to_coordinates(robot, CompositeBodies(robot, values, state, gravity, axes, recursion).efforts)


class CompositeBodies:
    """One evaluation of the recursion: `bodies` holds all intermediate quantities, `efforts` one entry per joint.

    recursion: implementation of the forward recursion (Lin's equations 57 to 62); generated code passes an
    equivalent form.
    """

    def __init__(
        self,
        robot: Robot,
        values: Combinations,
        state: State,
        gravity: Vec | None = None,
        axes: Axes | None = None,
        recursion: Forward = forward,
    ) -> None:
        robot.require_tree(FORMULATION)
        expect_fixed_base(robot, FORMULATION)
        self.robot, self.values = robot, values
        self.axes = Axes(robot) if axes is None else axes
        self.q, self.qd = joint_positions(robot, state.q), joint_rates(robot, state.qd)
        self.qdd = joint_rates(robot, state.qdd)
        self.ways = passages(robot, state.q)
        g = structural_gravity(robot.gravity) if gravity is None else gravity
        self.ground, self.motions = recursion(robot, self.ways, state, g)
        self.children: list[list[int]] = [[] for _ in robot.joints]
        for j, joint in enumerate(robot.joints):
            if joint.parent is not None:
                self.children[joint.parent].append(j)
        self.turning = [joint.kind == "revolute" for joint in robot.joints]
        self.U = self._inertias()
        self.bodies, self.efforts = self._backward()

    def _of(self, name: str, j: int) -> Scalar:
        return self.values.get(f"{name}_{j + 1}", 0)

    def _moment(self, j: int) -> Vec:
        return self._of("K1", j), self._of("K2", j), self._of("K3", j)

    # ------------------------------------------------------------------ constant inertias, (39) to (43)

    def _inertias(self) -> list[Mat]:
        """U' minus diag(U'22, U'22, 0) of every revolute joint, from the tips to the base (Lin's equation 42).

        U' = U + G, where G (equation 43) is the contribution of the next revolute joints.
        """
        found: list[Mat] = [NO_INERTIA] * self.robot.n_joints
        raised: list[Scalar] = [0] * self.robot.n_joints  # (U' - U)22
        for j in reversed(range(self.robot.n_joints)):
            if not self.turning[j]:
                continue
            G = self._seen_beyond(j, raised)
            raised[j] = G[1][1]
            own = self._own_inertia(j)
            found[j] = madd(own, G, _diagonal(neg(G[1][1]), neg(G[1][1]), 0))
        return found

    def _own_inertia(self, j: int) -> Mat:
        """U minus diag(U22, U22, 0) of joint j."""
        a, b, c, d, e = (self._of(name, j) for name in ("U11mU22", "U12", "U13", "U23", "U33"))
        return ((a, b, c), (b, 0, d), (c, d, e))

    def _seen_beyond(self, j: int, raised: Sequence[Scalar]) -> Mat:
        """Sum of G over the next revolute joints beyond j, in the frame of j (Lin's equation 40).

        Prismatic joints between them are skipped.
        """
        total = NO_INERTIA
        for child in self.children[j]:
            if self.turning[child]:
                G = _diagonal(raised[child], raised[child], neg(self._of("U33", child)))
            else:
                G = self._seen_beyond(child, raised)
            total = madd(total, _turned(self.robot.joints[child].R, G))
        return total

    def _inertia(self, j: int) -> Mat:
        """Inertia D of a revolute joint (Lin's equation 91).

        Prismatic joints up to the next revolute joint add terms proportional to their positions.
        """
        total = self.U[j]
        for k, R in self._slides(j, IDENTITY):
            if self.axes.axis[k].beyond:
                W = _turned(R, _slide_inertia(self._moment(k)))
                total = madd(total, mscale(W, self.q[k]))
            else:  # (93): about the one direction there is
                more = mul(mul(2, self._of("KA", k)), self.q[k])
                total = madd(total, _diagonal(0, 0, more))
        return total

    def _slides(self, j: int, R: Mat) -> list[tuple[int, Mat]]:
        """Prismatic joints between j and the next revolute joint, with their orientation in the frame of j."""
        found = []
        for child in self.children[j]:
            if not self.turning[child]:
                there = matmul(R, self.robot.joints[child].R)
                found += [(child, there), *self._slides(child, there)]
        return found

    # ------------------------------------------------------------------ backward recursion, (63) to (68)

    def _backward(self) -> tuple[list[BodyWrench], list[Scalar]]:
        n = self.robot.n_joints
        bodies: list[BodyWrench | None] = [None] * n
        efforts: list[Scalar] = [0] * n
        for j in reversed(range(n)):
            P, N = ZERO, ZERO
            for child in self.children[j]:
                body = bodies[child]
                assert body is not None
                way = self.ways[child]
                there = way.outward(body.P)
                P, N = vadd(P, there), vadd(N, way.outward(body.N), cross(way.p, there))
            h, D, rho, zeta = self._turning_terms(j) if self.turning[j] else self._sliding_terms(j)
            bodies[j] = BodyWrench(self.motions[j], h, D, rho, zeta, vadd(rho, P), vadd(zeta, N))
            efforts[j] = add(zeta[2], N[2]) if self.turning[j] else add(self._force(j), P[2])
        return [body for body in bodies if body is not None], efforts

    def _turning_terms(self, j: int) -> tuple[Vec, Mat, Vec, Vec]:
        motion, D = self.motions[j], self._inertia(j)
        across: Vec = (self._of("K1", j), self._of("K2", j), 0)
        force, moment = body_wrench(_as_link(D, across), motion)
        return ZERO, D, force, moment

    def _sliding_terms(self, j: int) -> tuple[Vec, Mat, Vec, Vec]:
        """Terms h (Lin's equations 70 and 71), D, rho and zeta of a prismatic joint.

        Before the second direction of revolute joints, k has only two values (equations 86 and 87).
        """
        motion, mass, along = self.motions[j], self._of("MH", j), (0, 0, self.q[j])
        slip = vadd(cross(motion.w, (0, 0, mul(2, self.qd[j]))), (0, 0, self.qdd[j]))
        h = vadd(apply(motion.U, along), slip)
        lever = cross(scale(along, mass), self._before(j))
        axis = self.axes.axis[j]
        if axis.beyond:
            return h, NO_INERTIA, scale(h, mass), vadd(cross(self._moment(j), slip), lever)
        if axis.r1 is None:  # (78), (79): nothing turns yet
            return h, NO_INERTIA, scale(h, mass), ZERO
        w = self._rate(j)[0]
        about = add(mul(self._of("KB", j), self.qdd[j]), mul(mul(2, self._of("KA", j)), mul(w, self.qd[j])))
        assert axis.u is not None
        return h, NO_INERTIA, scale(h, mass), vadd(scale(axis.u, about), lever)

    def _before(self, j: int) -> Vec:
        """Acceleration minus gravity of the parent's point at a prismatic joint's zero (Lin's equation 69).

        It is expressed in the frame of the joint.
        """
        joint = self.robot.joints[j]
        way = Passage(joint.R, joint.p, (1, 0))
        parent = self.ground if joint.parent is None else self.motions[joint.parent]
        return way.inward(vadd(parent.vd, apply(parent.U, joint.p)))

    def _force(self, j: int) -> Scalar:
        """Force MH a + W k along a prismatic joint (Lin's equations 63 and 68).

        If all preceding revolute joints are parallel, two parameters (KA, KB) replace k (equation 86).
        """
        motion, axis = self.motions[j], self.axes.axis[j]
        force = mul(self._of("MH", j), motion.vd[2])
        if axis.beyond:
            return add(force, dot(motion.U[2], self._moment(j)))
        if axis.r1 is None:
            return force
        w, wd = self._rate(j)
        turned = sub(mul(self._of("KB", j), wd), mul(self._of("KA", j), mul(w, w)))
        return add(force, turned)

    def _rate(self, j: int) -> tuple[Scalar, Scalar]:
        """Rate and acceleration about the common axis of the revolute joints up to j (Lin's equations 80, 81)."""
        w: Scalar = 0
        wd: Scalar = 0
        for k in self.robot.ancestors(j):
            u = self.axes.axis[k].u
            if self.turning[k] and u is not None:
                w, wd = add(w, mul(u[2], self.qd[k])), add(wd, mul(u[2], self.qdd[k]))
        return w, wd


def _slide_inertia(k: Vec) -> Mat:
    """-[u]x[k]x - [k]x[u]x: inertia per unit displacement of a prismatic joint (Lin's equation 92)."""
    x, y, z = k
    twice = mul(2, z)
    return ((twice, 0, neg(x)), (0, twice, neg(y)), (neg(x), neg(y), 0))


def _as_link(D: Mat, k: Vec) -> dict[str, Scalar]:
    """Parameters of a massless link with inertia D and first moment k: its moment is E(D) + k x a, its force W k."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = D
    return dict(zip(LINK_SYMBOLS, (xx, xy, xz, yy, yz, zz, *k, 0), strict=True))


def _turned(R: Mat, D: Mat) -> Mat:
    return matmul(matmul(R, D), transpose(R))


def _diagonal(a: Scalar, b: Scalar, c: Scalar) -> Mat:
    return ((a, 0, 0), (0, b, 0), (0, 0, c))
