"""D and g from compound links, in a chosen formulation, for generated code.

Izaguirre, Hashimoto, Paul, Hayward 1992.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minertia.algebra.scalar import Scalar, add
from minertia.algebra.vec3 import ZERO, Vec, cross, dot, scale, vadd
from minertia.codegen.formulation import Formulation, Straight, straight_ways
from minertia.dynamics.compound import Matrix, compound_links, drive_inertia, enter_pair, mass_matrix, wrench
from minertia.dynamics.kinematics import Passage, Scalars, in_base, passages
from minertia.dynamics.newton_euler import Parameters, with_base
from minertia.robot.inertia import first_moment
from minertia.robot.robot import Robot


class Coefficients:
    """The compound links of a robot at q, and what follows from them."""

    def __init__(self, robot: Robot, chi: Parameters, q: Scalars, formulation: Formulation) -> None:
        self.robot, self.chi, self.q, self.formulation = robot, chi, q, formulation
        self.ways: Sequence[Passage] = passages(robot, q)
        self.straight: dict[int, Straight] = straight_ways(robot, q, [0] * robot.n_velocity)
        self.compounds, self.whole = compound_links(robot, chi, self.ways)

    def mass(self, rotors: bool) -> Matrix:
        """D(q), with the rotor inertias where asked."""
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
        """Project the wrench of compound j, under a unit acceleration of its joint, on this and every joint before."""
        robot = self.robot
        joint = robot.joints[j]
        for row, ratio in robot.shares(j):
            f, m = (scale(v, ratio) for v in wrench(self.compounds[j], *joint.twist))
            self._carry_row_down(D, j, row, f, m)

    def _carry_row_down(self, D: Matrix, j: int, row: int, f: Vec, m: Vec) -> None:
        """The same of one coordinate that moves joint j."""
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
        """g(q): the effort of each joint that holds its compound link; force and moment on a floating base first."""
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
    """Force and moment that hold a body; up: gravity reversed."""
    return scale(up, x["M"]), cross(first_moment(x), up)
