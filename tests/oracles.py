"""Independent physics engines as oracles: the same robot built for Pinocchio and for MuJoCo."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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


def _quaternion(R: Any) -> Any:
    mujoco = pytest.importorskip("mujoco")
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, np.array(R, float).ravel())
    return quat
