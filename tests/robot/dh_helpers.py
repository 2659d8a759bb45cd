"""What the tests of the table formats share: independent kinematics, and Pinocchio models of robots."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from minertia.algebra.polynomial import evaluate
from minertia.robot.formats.dh.read import parse_toml
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.inertia import to_com

SHARED = Path(__file__).resolve().parents[3] / "shared"
FACTS = SHARED / "facts" / "published_models.json"


def read(text, **options):
    return parse_toml(text, "robot.toml", ReadOptions(**options))


def rot(axis, angle):
    """4x4 rotation about x or z, written out."""
    c, s = np.cos(angle), np.sin(angle)
    T = np.eye(4)
    i, j = {"x": (1, 2), "z": (0, 1)}[axis]
    T[i, i], T[i, j], T[j, i], T[j, j] = c, -s, s, c
    return T


def trans(axis, length):
    T = np.eye(4)
    T["xyz".index(axis), 3] = length
    return T


def product(*matrices):
    T = np.eye(4)
    for matrix in matrices:
        T = T @ matrix
    return T


def matrix(pose, values=None):
    """4x4 matrix of a pose with its letters replaced."""
    T = np.eye(4)
    R, p = pose
    T[:3, :3] = [[evaluate(s, values or {}) for s in row] for row in R]
    T[:3, 3] = [evaluate(s, values or {}) for s in p]
    return T


def link_frames(robot, q):
    """4x4 pose of each joint's file frame in the ground, q over all joints."""
    frames, joints = [], []
    for j, joint in enumerate(robot.numeric.joints):
        parent = np.eye(4) if joint.parent is None else joints[joint.parent]
        joints.append(parent @ matrix(joint.pose(float(q[j]))))
        frames.append(joints[-1] @ matrix(joint.file_frame))
    return frames


def pinocchio_model(robot):
    """The same robot in Pinocchio (links without parameters are massless), built from its placements alone."""
    import pinocchio as pin

    model = pin.Model()
    model.gravity.linear = np.array(robot.gravity)
    for joint, ten in zip(robot.numeric.joints, robot.links, strict=True):
        parent = 0 if joint.parent is None else joint.parent + 1
        T = matrix((joint.R, joint.p))
        kind = pin.JointModelRZ() if joint.kind == "revolute" else pin.JointModelPZ()
        index = model.addJoint(parent, kind, pin.SE3(T[:3, :3], T[:3, 3]), joint.name)
        if ten is not None:
            model.appendBodyToJoint(index, pin_inertia(ten), pin.SE3.Identity())
    return model


def pin_inertia(ten):
    import pinocchio as pin

    mass, com, inertia = to_com(ten)
    if mass == 0:  # Pinocchio keeps no first moment without a mass
        assert not np.any(ten[6:9])
    return pin.Inertia(mass, com, inertia)


def regressor(model, n_states=60, seed=0):
    """Stacked torque regressor at random states, drive inertias not included."""
    import pinocchio as pin

    rng = np.random.default_rng(seed)
    data = model.createData()
    rows = [pin.computeJointTorqueRegressor(model, data, *rng.uniform(-2, 2, (3, model.nv))) for _ in range(n_states)]
    return np.vstack(rows)


def rotor_columns(n, n_states=60, seed=0):
    """Columns of the drive inertias at the states of `regressor`."""
    rng = np.random.default_rng(seed)
    return np.vstack([np.diag(rng.uniform(-2, 2, (3, n))[2]) for _ in range(n_states)])


def rank(W):
    s = np.linalg.svd(W, compute_uv=False)
    return int(np.sum(s > 1e-9 * s[0]))


def published(name):
    """Links of a published model in classic Denavit-Hartenberg frames."""
    return json.loads(FACTS.read_text())[name]


def classic_model(links, gravity=(0, 0, -9.81)):
    """A published model in Pinocchio, straight from its classic table."""
    import pinocchio as pin

    model = pin.Model()
    model.gravity.linear = np.array(gravity, float)
    before = np.eye(4)  # from the joint frame of the parent to its link frame
    for k, link in enumerate(links):
        T = before @ (rot("z", link["theta"]) if link["sigma"] else trans("z", link["d"]))
        kind = pin.JointModelPZ() if link["sigma"] else pin.JointModelRZ()
        index = model.addJoint(k, kind, pin.SE3(T[:3, :3], T[:3, 3]), f"j{k + 1}")
        before = product(trans("x", link["a"]), rot("x", link["alpha"]))
        body = pin.Inertia(link["m"], np.array(link["r"], float), np.array(link["I"], float))
        model.appendBodyToJoint(index, body, pin.SE3(before[:3, :3], before[:3, 3]))
    return model
