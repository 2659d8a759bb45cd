"""Parallel, perpendicular and coincident joint axes: the geometric conditions of the regrouping rules.

Up to the first revolute axis that is not parallel to the first one (r2), the relative directions of axes do not depend
on the posture, so they are evaluated at the zero position.  Symbols are evaluated at random values, so that the
conditions hold for generic values; the directions themselves stay symbolic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minertia.algebra.polynomial import Poly, evaluate
from minertia.algebra.scalar import Scalar
from minertia.algebra.vec3 import Vec, Z, apply, transpose
from minertia.io.arrays import Array
from minertia.robot.robot import Robot

TOLERANCE = 1e-9  # on unit vectors, and on lengths in m
FINEST = 1e-12  # what is closer is one direction in the arithmetic of the computer
NEARLY = 1e-2  # rad: an axis this close to another one is more often rounded than meant
DRAW = 0  # of the letters, to see which axes are aligned


@dataclass(frozen=True)
class Axis:
    """Geometry of a joint axis relative to the axes on its path from the ground.

    r1: the first revolute joint up to and including this one, None if there is none. beyond: whether this
    axis, or a preceding revolute axis, is not parallel to the axis of r1 (always true on a floating base).
    is_r2: whether this is the first revolute joint not parallel to r1. perpendicular, parallel: whether
    this axis is perpendicular or parallel to the axis of r1. u: the axis of r1 in this joint's frame,
    symbolic; None if `beyond`, where it depends on the posture.
    """

    r1: int | None
    beyond: bool
    is_r2: bool
    perpendicular: bool
    parallel: bool
    u: Vec | None


class Axes:
    """Joint axes of a robot at the zero position; tolerance: see `TOLERANCE`."""

    def __init__(self, robot: Robot, tolerance: float = TOLERANCE) -> None:
        self.letters, self.values, self.tolerance = robot, robot.other_values(DRAW), tolerance
        self.robot = robot.at(self.values)
        self.R, self.p = _world_poses(self.robot)
        self.axis = [self._axis(j) for j in range(robot.n_joints)]

    def _axis(self, j: int) -> Axis:
        path = self.robot.ancestors(j)
        turning = [k for k in path if self._turns(k)]
        if self.robot.is_floating or not turning:
            return Axis(None, self.robot.is_floating, False, False, False, None)
        r1 = turning[0]
        oblique = [k for k in turning if not self.are_parallel(r1, k)]
        cosine = abs(float(self.z(r1) @ self.z(j)))
        return Axis(
            r1=r1,
            beyond=bool(oblique),
            is_r2=bool(oblique) and oblique[0] == j,
            perpendicular=cosine < self.tolerance,
            parallel=self.are_parallel(r1, j),
            u=None if oblique else self._direction(r1, path),
        )

    def _direction(self, r1: int, path: tuple[int, ...]) -> Vec:
        """Symbolic axis of r1 in the frame of the last joint of a path, with 0, 1 and -1 as structural ints."""
        u: Vec = Z
        for k in path[path.index(r1) + 1 :]:
            u = apply(transpose(self.letters.joints[k].R), u)
        return tuple(self._structural(s) for s in u)  # type: ignore[return-value]

    def _structural(self, s: Scalar) -> Scalar:
        value = float(evaluate(s, self.values))
        nearest = round(value)
        if abs(value - nearest) < self.tolerance:
            return nearest
        if not isinstance(s, Poly):
            return float(s)
        return Poly({monomial: n for monomial, n in s.terms.items() if abs(n) > FINEST})  # the rest is rounding

    def z(self, j: int) -> Array:
        """Direction of joint j's axis in the ground frame."""
        return self.R[j][:, 2]

    def first_moments_vanish(self, j: int) -> bool:
        """Rule 5: whether MX and MY of revolute joint j, r1 <= j < r2, have no effect."""
        a = self.axis[j]
        assert a.r1 is not None
        if not self.is_upright(a.r1):
            return False
        before = self.robot.ancestors(j)[:-1]
        return all(self.are_parallel(a.r1, k) for k in before) and all(
            self.on_one_line(k, j) for k in before if self._turns(k)
        )

    def is_upright(self, j: int) -> bool:
        """Whether joint j's axis is parallel to gravity at the zero position, or gravity is zero."""
        g = np.array(self.robot.gravity)
        across = float(np.linalg.norm(np.cross(self.z(j), g)))
        return across <= self.tolerance * max(1.0, float(np.linalg.norm(g)))

    def is_first(self, j: int) -> bool:
        """Whether joint j is attached to the ground."""
        return self.robot.joints[j].parent is None and not self.robot.is_floating

    def gravity_along(self, j: int) -> bool:
        """Whether gravity has a component along joint j's axis at the zero position."""
        g = np.array(self.robot.gravity)
        return abs(float(self.z(j) @ g)) > self.tolerance * max(1.0, float(np.linalg.norm(g)))

    def _turns(self, j: int) -> bool:
        return self.robot.joints[j].kind == "revolute"

    def are_parallel(self, i: int, j: int) -> bool:
        """Whether two axes are parallel at the zero position."""
        return float(np.linalg.norm(np.cross(self.z(i), self.z(j)))) < self.tolerance

    def on_one_line(self, i: int, j: int) -> bool:
        """Whether the origin of joint j is on the axis of joint i at the zero position."""
        return float(np.linalg.norm(np.cross(self.z(i), self.p[j] - self.p[i]))) < self.tolerance


def nearly_aligned(robot: Robot) -> list[str]:
    """Names of joints whose frame is almost, but not exactly, aligned with an axis of their parent's frame."""
    found = []
    for joint in robot.numeric.joints:
        entries = (abs(float(s)) for row in joint.R for s in row)
        if any(0 < e < NEARLY for e in entries):
            found.append(f"joint '{joint.name}'")
    return found


def _world_poses(robot: Robot) -> tuple[list[Array], list[Array]]:
    R: list[Array] = []
    p: list[Array] = []
    for joint in robot.joints:
        A, b = np.array(joint.R, float), np.array(joint.p, float)
        if joint.parent is not None:
            A, b = R[joint.parent] @ A, p[joint.parent] + R[joint.parent] @ b
        R.append(A)
        p.append(b)
    return R, p
