"""Distances between links, and to obstacles, by MuJoCo (extra `sim`), with exact derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.errors import Infeasible
from minertia.excitation.shapes import Shape, check_shapes
from minertia.extras import load
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
REACH = 0.3  # m: distances beyond this are given as this
NEAR = 0.1  # m: how far from the margin a search begins to care
PROBES = 200
ALWAYS = 0.95  # a pair that touches in more than this part of random postures is one that cannot come apart


class CollisionModel:
    """Shapes on a robot and on the ground; pairs on one link or on neighbours are left out, as are those that touch in
    nearly every posture (`ignored` names them).  margin [m]: distance to keep.  among_links: whether links are kept
    apart from one another, too.
    """

    def __init__(
        self,
        robot: Robot,
        shapes: Sequence[Shape],
        obstacles: Sequence[Shape] = (),
        *,
        margin: float = 0.01,
        among_links: bool = True,
    ) -> None:
        check_shapes([*shapes, *obstacles])
        if not any(shape.joint is not None for shape in shapes):
            raise Infeasible(
                f"'{robot.name}' has no shapes to keep apart from anything; give capsules or boxes for its links"
            )
        self.mujoco: Any = load("mujoco", "sim")
        self.robot, self.margin = robot.numeric, float(margin)
        self.shapes = (*shapes, *obstacles)
        self.first_obstacle, self.among_links = len(shapes), among_links
        self._build()
        self.ignored: tuple[str, ...] = ()
        self.pairs = self._candidates()
        self._drop_inseparable()

    def _build(self) -> None:
        mujoco, spec, robot = self.mujoco, self.mujoco.MjSpec(), self.robot
        spec.compiler.degree = False
        bodies: list[Any] = []
        for j, joint in enumerate(robot.joints):
            parent = spec.worldbody if joint.parent is None else bodies[joint.parent]
            body = parent.add_body(name=f"b{j}", pos=np.array(joint.p, float), quat=self._quaternion(joint.R))
            body.mass, body.inertia, body.explicitinertial = 1.0, (1.0, 1.0, 1.0), True
            kind = mujoco.mjtJoint.mjJNT_HINGE if joint.kind == "revolute" else mujoco.mjtJoint.mjJNT_SLIDE
            body.add_joint(name=f"j{j}", type=kind, axis=(0, 0, 1))
            bodies.append(body)
        for k, shape in enumerate(self.shapes):
            owner = spec.worldbody if shape.joint is None else bodies[shape.joint]
            size = np.zeros(3)
            size[: len(shape.size)] = shape.size
            kind = getattr(mujoco.mjtGeom, f"mjGEOM_{shape.kind.upper()}")
            owner.add_geom(name=f"g{k}", type=kind, size=size, pos=shape.p, quat=self._quaternion(shape.R))
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.geom = np.array([self.model.geom(f"g{k}").id for k in range(len(self.shapes))])
        self.dof = np.array([self.model.joint(f"j{j}").dofadr[0] for j in range(len(robot.joints))])
        self.to_coordinates = np.zeros((self.model.nv, robot.n))  # how the joints move with the coordinates
        self.shift = np.zeros(self.model.nv)
        for j, joint in enumerate(robot.joints):
            self.to_coordinates[self.dof[j], robot.coordinate_of(j)] = float(joint.rate(1.0))
            self.shift[self.dof[j]] = float(joint.position(0.0))

    def _quaternion(self, R: Any) -> Array:
        quat = np.zeros(4)
        self.mujoco.mju_mat2Quat(quat, np.array(R, float).ravel())
        return quat

    def _candidates(self) -> NDArray[np.intp]:
        pairs = []
        for a, first in enumerate(self.shapes):
            for b in range(a + 1 if self.among_links else max(a + 1, self.first_obstacle), len(self.shapes)):
                second = self.shapes[b]
                if first.joint != second.joint and not self._neighbours(first.joint, second.joint):
                    pairs.append((a, b))
        return np.array(pairs, dtype=np.intp).reshape(-1, 2)

    def _neighbours(self, a: int | None, b: int | None) -> bool:
        if a is None or b is None:
            return False
        return self.robot.joints[a].parent == b or self.robot.joints[b].parent == a

    def _drop_inseparable(self) -> None:
        rng = np.random.default_rng(0)
        q = np.column_stack([rng.uniform(*self._range(j), PROBES) for j in self.robot.independent])
        touching = (self.distances(q) <= 0).mean(axis=0)
        names = self.pair_names()
        self.ignored = tuple(name for name, part in zip(names, touching, strict=True) if part > ALWAYS)
        self.pairs = self.pairs[touching <= ALWAYS]

    def _range(self, j: int) -> tuple[float, float]:
        limits, turning = self.robot.joints[j].limits, self.robot.joints[j].kind == "revolute"
        reach = np.pi if turning else 0.5
        lower = -reach if limits.lower is None else limits.lower
        upper = reach if limits.upper is None else limits.upper
        return min(lower, upper), max(lower, upper)

    def pair_names(self) -> list[str]:
        """What each pair is, for messages."""
        return [f"'{self.shapes[a].name}' and '{self.shapes[b].name}'" for a, b in self.pairs]

    def distances(self, q: ArrayLike) -> Array:
        """Smallest distances [m] at postures (N, n), shape (N, pairs), at most `REACH`; negative inside one another."""
        postures = np.atleast_2d(np.asarray(q, float))
        found = np.full((len(postures), len(self.pairs)), REACH)
        points = np.zeros(6)
        for k, posture in enumerate(postures):
            for p in self._near(posture, REACH):
                a, b = self.geom[self.pairs[p]]
                found[k, p] = self.mujoco.mj_geomDistance(self.model, self.data, a, b, REACH, points)
        return found

    def distances_and_slopes(self, q: Array) -> tuple[Array, Array]:
        """The same up to `NEAR` beyond the margin, and derivatives (N, pairs, n): nearest points move with links."""
        reach = self.margin + NEAR
        found = np.full((len(q), len(self.pairs)), reach)
        slopes = np.zeros((len(q), len(self.pairs), self.robot.n))
        points = np.zeros(6)
        for k, posture in enumerate(q):
            for p in self._near(posture, reach):
                a, b = self.geom[self.pairs[p]]
                d = self.mujoco.mj_geomDistance(self.model, self.data, a, b, reach, points)
                found[k, p] = d
                if 0 < d < reach:
                    away = (points[3:] - points[:3]) / d
                    moving = away @ (self._jacobian(points[3:], b) - self._jacobian(points[:3], a))
                    slopes[k, p] = moving @ self.to_coordinates
        return found, slopes

    def _near(self, posture: Array, reach: float) -> NDArray[np.intp]:
        """Move the links; the pairs whose bounding spheres are within reach."""
        d, m = self.data, self.model
        d.qpos[:] = self.to_coordinates @ posture + self.shift  # hinges and slides: one number each
        self.mujoco.mj_kinematics(m, d)
        self.mujoco.mj_comPos(m, d)
        centres = d.geom_xpos[self.geom]
        between = centres[self.pairs[:, 0]] - centres[self.pairs[:, 1]]
        bound = m.geom_rbound[self.geom]
        within = bound[self.pairs[:, 0]] + bound[self.pairs[:, 1]] + reach
        return np.flatnonzero((between * between).sum(axis=1) < within**2)

    def _jacobian(self, point: Array, geom: int) -> Array:
        J = np.zeros((3, self.model.nv))
        self.mujoco.mj_jac(self.model, self.data, J, None, point, int(self.model.geom_bodyid[geom]))
        return J
