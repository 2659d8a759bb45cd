"""Newton-Euler recursion, and D and g from compound links, in selectable formulations, for generated code.

Where consecutive axes are parallel, a vector that is passed from link to link may be rotated once by
the sum of the angles instead of once per joint.  Which choice is cheaper depends on which terms are
zero, so it is an option of each joint, decided by operation counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from minertia.algebra.scalar import Scalar, add, cos, is_zero, mul, neg, sin, sub
from minertia.algebra.vec3 import ZERO, Mat, Vec, apply, cross, dot, matmul, scale, transpose, vadd
from minertia.dynamics.compound import Matrix, compound_links, drive_inertia, enter_pair, mass_matrix, wrench
from minertia.dynamics.frame import AppliedWrench
from minertia.dynamics.kinematics import (
    LinkMotion,
    Passage,
    Scalars,
    State,
    base_motion,
    in_base,
    joint_positions,
    joint_rates,
    motion,
    passages,
)
from minertia.dynamics.newton_euler import Parameters, body_wrench, to_coordinates, with_base
from minertia.robot.inertia import first_moment
from minertia.robot.robot import Robot


@dataclass(frozen=True, slots=True)
class Formulation:
    """Joints (from 0) whose angular motion, moments and forces bypass the preceding parallel joint.

    unit: joint whose link mass, if it is a number, is the unit of all forces: it then costs no operation there, and is
    included in constant lever arms.
    """

    turns: frozenset[int] = field(default_factory=frozenset)
    moments: frozenset[int] = field(default_factory=frozenset)
    forces: frozenset[int] = field(default_factory=frozenset)
    unit: int | None = None


PLAIN = Formulation()


class Straight(NamedTuple):
    """Transform of a joint that bypasses the preceding parallel joints.

    hub: first joint of the parallel sequence.  way: one rotation by the sum of their angles.  rate: sum of
    their rates.
    """

    hub: int
    way: Passage
    rate: Scalar


def parallel_joints(robot: Robot) -> tuple[int, ...]:
    """Revolute joints parallel to their revolute parent, with frames rotated by multiples of 90 degrees about it."""
    found = []
    for j, joint in enumerate(robot.joints):
        p = joint.parent
        if p is None or joint.kind != "revolute" or robot.joints[p].kind != "revolute":
            continue
        if all(type(s) is int for row in joint.R for s in row) and joint.R[2][2] in (1, -1):
            found.append(j)
    return tuple(found)


def straight_ways(robot: Robot, q: Sequence[Scalar], qd: Sequence[Scalar]) -> dict[int, Straight]:
    """Bypass transform of every joint that is parallel to its parent."""
    angles, rates = joint_positions(robot, q), joint_rates(robot, qd)
    sums: dict[int, tuple[int, Mat, Scalar, Scalar]] = {}
    for j in parallel_joints(robot):
        p = robot.joints[j].parent
        assert p is not None
        hub, R, angle, rate = sums.get(p, (p, robot.joints[p].R, angles[p], rates[p]))
        own = robot.joints[j].R
        sense = own[2][2]  # Rot(z, a) R = R Rot(z, sense a)
        sums[j] = hub, matmul(R, own), add(mul(sense, angle), angles[j]), add(mul(sense, rate), rates[j])
    return {
        j: Straight(hub, Passage(R, ZERO, (cos(angle), sin(angle))), rate) for j, (hub, R, angle, rate) in sums.items()
    }


def torques(
    robot: Robot,
    chi: Parameters,
    state: State,
    gravity: Vec,
    formulation: Formulation,
    outside: AppliedWrench | None = None,
) -> list[Scalar]:
    """`rigid_torques` in a chosen formulation."""
    ways = passages(robot, state.q)
    straight = straight_ways(robot, state.q, state.qd)
    base, motions = forward(robot, ways, state, gravity, straight, formulation)
    wrench, efforts = _Backward(robot, ways, straight, formulation).run(base, motions, chi, outside)
    return [*(component for v in wrench for component in v)] * robot.is_floating + to_coordinates(robot, efforts)


def forward(
    robot: Robot,
    ways: Sequence[Passage],
    state: State,
    gravity: Vec,
    straight: dict[int, Straight],
    formulation: Formulation,
) -> tuple[LinkMotion, list[LinkMotion]]:
    """LinkMotion of the base and of every link; see `kinematics.forward`."""
    base = base_motion(robot, state, gravity)
    motions: list[LinkMotion] = []
    rates = list(zip(joint_rates(robot, state.qd), joint_rates(robot, state.qdd), strict=True))
    angles = joint_positions(robot, state.q)
    for j, (joint, way) in enumerate(zip(robot.joints, ways, strict=True)):
        parent = base if joint.parent is None else motions[joint.parent]
        (S_w, S_v), (qd, qdd) = joint.twist, rates[j]
        if j in formulation.turns:
            w, wd = _turned_once(robot, j, straight[j], base, motions)
        else:
            w = way.inward(parent.w)
            wd = vadd(way.inward(parent.wd), cross(w, scale(S_w, qd)))
        wd = vadd(wd, scale(S_w, qdd))
        slip = cross(w, scale(S_v, mul(2, qd)))
        if joint.parent is None and not robot.is_floating:
            vd = vadd(_from_ground(way, parent.vd, angles[j] if joint.kind == "revolute" else 0), scale(S_v, qdd))
        else:
            vd = vadd(way.inward(vadd(parent.vd, apply(parent.U, way.p))), slip, scale(S_v, qdd))
        motions.append(motion(vadd(w, scale(S_w, qd)), wd, vd))
    return base, motions


def plain_forward(
    robot: Robot, ways: Sequence[Passage], state: State, gravity: Vec
) -> tuple[LinkMotion, list[LinkMotion]]:
    """`forward` without bypasses: one rotation per joint."""
    return forward(robot, ways, state, gravity, {}, PLAIN)


def _from_ground(way: Passage, up: Vec, angle: Scalar) -> Vec:
    """Gravity as base acceleration, in the frame of a joint on the ground.

    If gravity has two components perpendicular to the axis, the joint angle is measured from their direction, so
    that only one component remains.
    """
    x, y, z = apply(transpose(way.R), up)
    if not all(isinstance(v, float) for v in (x, y)) or is_zero(angle):
        return way.inward(up)
    size, off = math.hypot(x, y), sub(angle, math.atan2(y, x))
    return mul(size, cos(off)), neg(mul(size, sin(off))), z


def _turned_once(
    robot: Robot, j: int, straight: Straight, base: LinkMotion, motions: Sequence[LinkMotion]
) -> tuple[Vec, Vec]:
    """w and wd without this joint's rate and acceleration, computed from the link before the parallel joints."""
    above, near = robot.joints[straight.hub].parent, robot.joints[j].parent
    assert near is not None
    start, parent, sense = base if above is None else motions[above], motions[near], robot.joints[j].R[2][2]
    x, y, _ = straight.way.inward(start.w)
    a, b, _ = straight.way.inward(start.wd)
    wd = vadd((a, b, mul(sense, parent.wd[2])), cross((x, y, 0), (0, 0, straight.rate)))
    return (x, y, mul(sense, parent.w[2])), wd


def _unit_of_force(chi: Parameters, link: int | None) -> Scalar:
    """Mass used as unit of force; 1 if that mass is not a numeric constant."""
    mass = 1 if link is None else chi[link]["M"]
    return mass if isinstance(mass, float) and mass != 0 else 1


def _in_units(x: Mapping[str, Scalar], unit: float) -> dict[str, Scalar]:
    """Mass and first moments in the unit of force; the unit mass itself is the structural 1."""
    own = {s: v / unit if isinstance(v, float) else mul(1 / unit, v) for s, v in x.items() if s[0] == "M"}
    return {**x, **own, "M": 1 if own["M"] == 1.0 else own["M"]}


class _Backward:
    """Backward recursion of wrenches from the tips to the base."""

    def __init__(
        self, robot: Robot, ways: Sequence[Passage], straight: dict[int, Straight], formulation: Formulation
    ) -> None:
        self.robot, self.ways, self.straight, self.formulation = robot, ways, straight, formulation
        n = len(robot.joints)
        self.forces: list[Vec] = [ZERO] * n  # what children add, those that skip a joint apart
        self.moments: list[Vec] = [ZERO] * n
        self.ground: tuple[Vec, Vec] = (ZERO, ZERO)
        self.unit: Scalar = 1

    def run(
        self, base: LinkMotion, motions: Sequence[LinkMotion], chi: Parameters, outside: AppliedWrench | None
    ) -> tuple[tuple[Vec, Vec], list[Scalar]]:
        first = int(self.robot.is_floating)
        if first:
            self.ground = body_wrench(chi[0], base)
        else:
            self.unit = _unit_of_force(chi, self.formulation.unit)
        if outside is not None:
            self._add(
                outside.joint, scale(outside.force, -1 if self.unit == 1 else -1 / self.unit), scale(outside.moment, -1)
            )
        efforts: list[Scalar] = [0] * len(self.robot.joints)
        for j in reversed(range(len(self.robot.joints))):
            force, moment = body_wrench(chi[first + j], motions[j])
            if self.unit != 1:
                force, _ = body_wrench(_in_units(chi[j], self.unit), motions[j])
            f, m = vadd(force, self.forces[j]), vadd(moment, self.moments[j])
            S_w, S_v = self.robot.joints[j].twist
            efforts[j] = add(dot(S_w, m), mul(self.unit, dot(S_v, f)))
            if self.robot.joints[j].parent is not None or first:
                self._hand_on(j, f, m)
        return self.ground, efforts

    def _hand_on(self, j: int, f: Vec, m: Vec) -> None:
        """Add the wrench of joint j to its parent, and its bypassed components further inwards."""
        way, parent = self.ways[j], self.robot.joints[j].parent
        sense = way.R[2][2]
        f_p = way.outward(f)
        lever = cross(scale(way.p, self.unit), f_p)
        if j in self.formulation.forces:
            self._past(j, (f[0], f[1], 0), ZERO)
            f_p = (0, 0, mul(sense, f[2]))
        if j in self.formulation.moments:
            self._past(j, ZERO, (m[0], m[1], 0))
            m_p: Vec = (0, 0, mul(sense, m[2]))
        else:
            m_p = way.outward(m)
        self._add(parent, f_p, vadd(m_p, lever))

    def _past(self, j: int, f: Vec, m: Vec) -> None:
        hub, way, _ = self.straight[j]
        above = self.robot.joints[hub].parent
        if above is None and not self.robot.is_floating:
            return
        f_p = ZERO if all(map(is_zero, f)) else way.outward(f)
        # the lever of the hub's own placement acts on forces that pass it
        lever = cross(scale(self.ways[hub].p, self.unit), f_p)
        self._add(above, f_p, vadd(way.outward(m) if not all(map(is_zero, m)) else ZERO, lever))

    def _add(self, parent: int | None, f: Vec, m: Vec) -> None:
        if parent is None:
            self.ground = vadd(self.ground[0], f), vadd(self.ground[1], m)
        else:
            self.forces[parent] = vadd(self.forces[parent], f)
            self.moments[parent] = vadd(self.moments[parent], m)


# -------------------------------------------------------------------------------------------- mass matrix and gravity
# Izaguirre, Hashimoto, Paul, Hayward 1992.


class Coefficients:
    """Compound links of a robot at q, and the dynamic coefficients computed from them."""

    def __init__(self, robot: Robot, chi: Parameters, q: Scalars, formulation: Formulation) -> None:
        self.robot, self.chi, self.q, self.formulation = robot, chi, q, formulation
        self.ways: Sequence[Passage] = passages(robot, q)
        self.straight: dict[int, Straight] = straight_ways(robot, q, [0] * robot.n_velocity)
        self.compounds, self.whole = compound_links(robot, chi, self.ways)

    def mass(self, rotors: bool) -> Matrix:
        """Mass matrix D(q), with the rotor inertias if requested."""
        if self.robot.is_floating:
            D = mass_matrix(self.robot, self.chi, self.q)
        else:
            size = self.robot.n_velocity
            D = [[0] * size for _ in range(size)]
            for j in range(self.robot.n_joints):
                self._carry_down(D, j)
        if not rotors:
            return D
        return [
            [add(a, b) for a, b in zip(*rows, strict=True)]
            for rows in zip(D, drive_inertia(self.robot, self.chi), strict=True)
        ]

    def _carry_down(self, D: Matrix, j: int) -> None:
        """Project the wrench of compound link j at unit acceleration of its joint on this and all inner joints."""
        robot = self.robot
        joint = robot.joints[j]
        for row, ratio in robot.shares(j):
            f, m = (scale(v, ratio) for v in wrench(self.compounds[j], *joint.twist))
            self._carry_row_down(D, j, row, f, m)

    def _carry_row_down(self, D: Matrix, j: int, row: int, f: Vec, m: Vec) -> None:
        """Project the wrench (f, m) on joint j and all inner joints, for one coordinate that moves joint j."""
        robot, waiting = self.robot, dict[int, Vec]()  # moments that skip a joint
        i: int | None = j
        while i is not None:
            joint = robot.joints[i]
            S_w, S_v = joint.twist
            m = vadd(m, waiting.pop(i, ZERO))
            enter_pair(D, robot, (i, j), row, add(dot(S_w, m), dot(S_v, f)))
            if joint.parent is not None:
                f, m = self._handed_on(i, f, m, waiting)
            i = joint.parent

    def _handed_on(self, i: int, f: Vec, m: Vec, waiting: dict[int, Vec]) -> tuple[Vec, Vec]:
        way = self.ways[i]
        f_p = way.outward(f)
        if i in self.formulation.moments:
            hub, straight, _ = self.straight[i]
            above = self.robot.joints[hub].parent
            if above is not None:
                waiting[above] = vadd(waiting.get(above, ZERO), straight.outward((m[0], m[1], 0)))
            m = way.outward((0, 0, m[2]))
        else:
            m = way.outward(m)
        return f_p, vadd(m, cross(way.p, f_p))

    def gravity(self, gravity: Vec) -> list[Scalar]:
        """g(q): gravity effort of each joint on its compound link; force and moment on a floating base first."""
        up: list[Vec] = []
        efforts: list[Scalar] = []
        ground = in_base(self.robot, self.q, scale(gravity, -1))
        for j, joint in enumerate(self.robot.joints):
            above, way = joint.parent, self.ways[j]
            if j in self.straight:
                hub, way, _ = self.straight[j]
                above = self.robot.joints[hub].parent
            up.append(way.inward(ground if above is None else up[above]))
            S_w, S_v = joint.twist
            force, moment = _weight(self.compounds[j], up[j])
            efforts.append(add(dot(S_w, moment), dot(S_v, force)))
        wrench = _weight(self.whole, ground) if self.robot.is_floating else (ZERO, ZERO)
        return with_base(self.robot, wrench, efforts)


def _weight(x: Mapping[str, Scalar], up: Vec) -> tuple[Vec, Vec]:
    """Force and moment that balance a body's weight; up: gravity reversed."""
    return scale(up, x["M"]), cross(first_moment(x), up)
