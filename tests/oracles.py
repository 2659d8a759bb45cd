"""Independent physics engines as oracles: the same robot built for Pinocchio and for MuJoCo."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from minertia.dynamics.loops.closing import closing_of
from minertia.robot.inertia import to_com
from minertia.robot.robot import Robot


class PinocchioOracle:
    """Pinocchio's rnea, crba, regressor and energies in our order of coordinates (no dependent joints)."""

    def __init__(self, robot: Robot) -> None:
        self.pin: Any = pytest.importorskip("pinocchio")
        self.robot = robot = robot.numeric
        pin, model = self.pin, self.pin.Model()
        root = 0
        if robot.is_floating:
            root = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
            model.appendBodyToJoint(root, self._inertia(robot.base_link), pin.SE3.Identity())
        self.ids: list[int] = []
        for joint, ten in zip(robot.joints, robot.links, strict=True):
            parent = root if joint.parent is None else self.ids[joint.parent]
            kind = pin.JointModelRZ() if joint.kind == "revolute" else pin.JointModelPZ()
            placement = pin.SE3(np.array(joint.R, float), np.array(joint.p, float))
            self.ids.append(model.addJoint(parent, kind, placement, joint.name))
            model.appendBodyToJoint(self.ids[-1], self._inertia(ten), pin.SE3.Identity())
        model.gravity.linear = np.array(robot.gravity)
        self.model, self.data = model, model.createData()

    def _inertia(self, ten: Any) -> Any:
        if ten is None:
            return self.pin.Inertia.Zero()
        mass, com, inertia = to_com(ten)
        return self.pin.Inertia(mass, com, inertia)

    def inverse_dynamics(self, q: Any, qd: Any, qdd: Any) -> Any:
        return self.pin.rnea(self.model, self.data, q, qd, qdd).copy()

    def mass_matrix(self, q: Any) -> Any:
        """By columns of rnea: crba needs the joints of a subtree numbered without gaps."""
        zero, n = np.zeros(self.model.nv), self.model.nv
        bias = self.inverse_dynamics(q, zero, zero)
        return np.column_stack([self.inverse_dynamics(q, zero, e) - bias for e in np.eye(n)])

    def regressor(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Links' columns in our order (XX XY XZ YY YZ ZZ MX MY MZ M); theirs is m, mc, Ixx Ixy Iyy Ixz Iyz Izz."""
        Y = self.pin.computeJointTorqueRegressor(self.model, self.data, q, qd, qdd).reshape(self.model.nv, -1)
        order = [4, 5, 7, 6, 8, 9, 1, 2, 3, 0]
        return np.hstack([Y[:, 10 * k : 10 * k + 10][:, order] for k in range(Y.shape[1] // 10)])

    def energies(self, q: Any, qd: Any) -> tuple[float, float]:
        kinetic = self.pin.computeKineticEnergy(self.model, self.data, q, qd)
        return kinetic, self.pin.computePotentialEnergy(self.model, self.data, q)


class MujocoOracle:
    """MuJoCo's inverse dynamics and mass matrix (fixed base, no dependent joints)."""

    def __init__(self, robot: Robot) -> None:
        self.mujoco: Any = pytest.importorskip("mujoco")
        robot = robot.numeric
        spec = self.mujoco.MjSpec()
        spec.option.gravity = robot.gravity
        spec.compiler.boundmass = spec.compiler.boundinertia = 0
        bodies: list[Any] = []
        for joint, ten in zip(robot.joints, robot.links, strict=True):
            parent = spec.worldbody if joint.parent is None else bodies[joint.parent]
            body = parent.add_body(name=joint.name, pos=np.array(joint.p, float), quat=_quaternion(joint.R))
            mass, com, inertia = to_com(ten)
            body.mass, body.ipos, body.explicitinertial = mass, com, True
            body.fullinertia = [inertia[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
            hinge, slide = self.mujoco.mjtJoint.mjJNT_HINGE, self.mujoco.mjtJoint.mjJNT_SLIDE
            body.add_joint(name=joint.name, type=hinge if joint.kind == "revolute" else slide, axis=[0, 0, 1])
            bodies.append(body)
        self.model = spec.compile()
        self.data = self.mujoco.MjData(self.model)
        self.where = [self.model.joint(joint.name).dofadr[0] for joint in robot.joints]

    def inverse_dynamics(self, q: Any, qd: Any, qdd: Any) -> Any:
        d = self.data
        d.qpos[self.where], d.qvel[self.where], d.qacc[self.where] = q, qd, qdd
        self.mujoco.mj_inverse(self.model, d)
        return d.qfrc_inverse[self.where].copy()

    def inverse_dynamics_rows(self, q: Any, qd: Any, qdd: Any) -> Any:
        """The same for many samples (N, n), in a third of the time: the arrays of MuJoCo are asked for once."""
        d, model, inverse = self.data, self.model, self.mujoco.mj_inverse
        to, effort = (d.qpos, d.qvel, d.qacc), d.qfrc_inverse
        state = np.empty((3, len(q), model.nv))
        state[:, :, self.where] = q, qd, qdd
        found = np.empty((len(q), model.nv))
        for k in range(len(q)):
            to[0][:], to[1][:], to[2][:] = state[:, k]
            inverse(model, d)
            found[k] = effort
        return found[:, self.where]


def _quaternion(R: Any) -> Any:
    mujoco = pytest.importorskip("mujoco")
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, np.array(R, float).ravel())
    return quat


def _cut_open(robot: Robot) -> Robot:
    """The robot whose parallelograms are loops like others: passive joints that follow no other, cuts to be closed."""
    joints = tuple(
        replace(joint, follows=None, is_passive=joint.is_passive or joint.follows is not None) for joint in robot.joints
    )
    return replace(robot, joints=joints, cuts=tuple(replace(cut, form="") for cut in robot.cuts))


class ConstrainedOracle:
    """Pinocchio's constrained dynamics of a robot with loops; hinges are held at two points of their axis.

    Joints are added depth first: in any other order its mass matrix is silently wrong.
    """

    def __init__(self, robot: Robot) -> None:
        self.pin: Any = pytest.importorskip("pinocchio")
        self.robot = _cut_open(robot.numeric)
        self.closing = closing_of(self.robot)
        self.model = self.pin.Model()
        self.model.gravity.linear = np.array(robot.gravity)
        self.ids: dict[int | None, int] = {None: 0}
        self._add(None)
        order = [j for j in self.ids if j is not None]
        self.places = [self.closing.tree.independent.index(j) for j in order]

    def _add(self, parent: int | None) -> None:
        pin = self.pin
        for j, (joint, ten) in enumerate(zip(self.robot.joints, self.robot.links, strict=True)):
            if joint.parent == parent:
                kind = pin.JointModelRZ() if joint.kind == "revolute" else pin.JointModelPZ()
                self.ids[j] = self.model.addJoint(self.ids[parent], kind, self._pose(joint.R, joint.p), joint.name)
                inertia = pin.Inertia.Zero() if ten is None or not any(ten) else pin.Inertia(*to_com(ten))
                self.model.appendBodyToJoint(self.ids[j], inertia, pin.SE3.Identity())
                self._add(j)

    def _pose(self, R: Any, p: Any) -> Any:
        return self.pin.SE3(np.array(R, float), np.array(p, float))

    def _constraints(self) -> Any:
        pin, found = self.pin, self.pin.StdVec_RigidConstraintModel()
        for cut in self.closing.cuts:
            for height in {"spherical": (0.0,), "revolute": (0.0, 1.0)}[cut.kind]:
                up = self._pose(np.eye(3), (0.0, 0.0, height))
                first, second = (self._pose(*pose) * up for pose in (cut.first_pose, cut.second_pose))
                given = (self.ids[cut.first], first, self.ids[cut.second], second)
                kind, axes = pin.ContactType.CONTACT_3D, pin.ReferenceFrame.LOCAL
                found.append(pin.RigidConstraintModel(kind, self.model, *given, axes))
        return found

    def forward_dynamics(self, q: Any, qd: Any, tau: Any) -> Any:
        """Accelerations of the coordinates."""
        closing, pin = self.closing, self.pin
        positions = closing.close(np.asarray(q)[None])
        rates, efforts = closing.rates(positions)[0] @ qd, np.zeros(closing.tree.n)
        efforts[closing.active] = tau
        models, datas, data = self._constraints(), pin.StdVec_RigidConstraintData(), self.model.createData()
        for model in models:
            datas.append(model.createData())
        pin.initConstraintDynamics(self.model, data, models, datas)
        state = (x[self.places] for x in (positions[0], rates, efforts))
        settings = pin.ProximalSettings(1e-14, 1e-10, 200)
        found = np.empty(closing.tree.n)
        found[self.places] = pin.constraintDynamics(self.model, data, *state, models, datas, settings)
        return found[closing.active]
