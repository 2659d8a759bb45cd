"""Kinematics and mass matrices composed from a robot's joints, and the same from MuJoCo."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from minertia.robot.formats.mjcf.read import parse_mjcf
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.inertia import symmetric

SHARED = Path(__file__).resolve().parents[3] / "shared" / "robots"
FILES = sorted(SHARED.glob("*.mjcf.xml")) if SHARED.is_dir() else []
WORLD = (np.eye(3), np.zeros(3))


def read(text, base=None, snap=0.0, letters=False, source=None):
    return parse_mjcf(text, source, ReadOptions(base, snap, letters))


def read_file(path, base=None, snap=0.0, letters=False):
    return parse_mjcf(path.read_text(encoding="utf-8"), str(path), ReadOptions(base, snap, letters))


def _pose(R, p):
    return np.array(R, float), np.array(p, float)


def joint_poses(robot, positions, base=WORLD):
    """Pose of each joint frame in the world; `positions` of all joints, followers too."""
    poses = []
    for joint, q in zip(robot.numeric.joints, positions, strict=True):
        Rp, pp = base if joint.parent is None else poses[joint.parent]
        R, p = _pose(*joint.pose(float(q)))
        poses.append((Rp @ R, pp + Rp @ p))
    return poses


def frame_pose(robot, name, poses, base=WORLD):
    frame = robot.numeric.frames[name]
    R0, p0 = base if frame.joint is None else poses[frame.joint]
    R, p = _pose(*frame.pose)
    return R0 @ R, p0 + R0 @ p


def mass_matrix_and_gravity(robot, positions, base=WORLD):
    """Over base (linear, angular, in the base frame) and all joints; gravity torques too."""
    poses = joint_poses(robot, positions, base)
    first = 6 if robot.is_floating else 0
    size = first + robot.n_joints
    M, tau = np.zeros((size, size)), np.zeros(size)
    bodies = [(base, (), robot.base_link)] if robot.is_floating else []
    bodies += [(poses[j], robot.ancestors(j), robot.links[j]) for j in range(robot.n_joints)]
    for (R, p), path, ten in bodies:
        if ten is None:
            continue
        mass = float(ten[9])
        c = R @ (np.array(ten[6:9], float) / mass)
        inertia = R @ symmetric(ten[:6]) @ R.T - mass * (c @ c * np.eye(3) - np.outer(c, c))
        Jv, Jw = np.zeros((3, size)), np.zeros((3, size))
        if first:
            r = p + c - base[1]
            Jv[:, :3], Jw[:, 3:6] = base[0], base[0]
            Jv[:, 3:6] = np.cross(base[0].T, r).T
        for k in path:
            z, at = poses[k][0][:, 2], poses[k][1]
            if robot.joints[k].kind == "revolute":
                Jw[:, first + k] = z
                Jv[:, first + k] = np.cross(z, p + c - at)
            else:
                Jv[:, first + k] = z
        M += mass * Jv.T @ Jv + Jw.T @ inertia @ Jw
        tau -= mass * Jv.T @ np.array(robot.gravity)
    for k in range(robot.n_joints):
        M[first + k, first + k] += robot.effects[k].get("IA", 0.0)
    return M, tau


class Oracle:
    """MuJoCo on the file itself, in the order and conventions of a robot read from it."""

    def __init__(self, mujoco, text, robot):
        self.mujoco, self.robot = mujoco, robot
        self.model = mujoco.MjModel.from_xml_string(text)
        self.data = mujoco.MjData(self.model)
        names = [self.model.joint(j).name for j in range(self.model.njnt)]
        self.joints = [names.index(joint.name) for joint in robot.joints]
        self.free = self.model.njnt and self.model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE

    def at(self, rng, move_base=True):
        """Random state; the positions of the robot's joints and the base pose."""
        m, d = self.model, self.data
        d.qpos[:] = m.qpos0
        if self.free and move_base:
            d.qpos[:7] = rng.normal(size=7)
            d.qpos[3:7] /= np.linalg.norm(d.qpos[3:7])
        positions = rng.uniform(-1.5, 1.5, len(self.joints))
        for j, q in zip(self.joints, positions, strict=True):
            d.qpos[m.jnt_qposadr[j]] = q
        d.qvel[:] = 0
        self.mujoco.mj_forward(m, d)
        base = WORLD
        if self.robot.is_floating:
            b = next(k for k in range(1, m.nbody) if self.robot.frames.get(m.body(k).name, None) is not None)
            base = (d.xmat[b].reshape(3, 3).copy(), d.xpos[b].copy())
        return positions, base

    def mass_matrix_and_gravity(self):
        m, d = self.model, self.data
        full = np.zeros((m.nv, m.nv))
        try:
            self.mujoco.mj_fullM(m, d, full)
        except TypeError:
            self.mujoco.mj_fullM(m, full, d.qM)
        bias = d.qfrc_bias.copy()
        dofs = [int(m.jnt_dofadr[j]) for j in self.joints]
        if self.robot.is_floating:
            b = int(m.jnt_bodyid[0])
            T = np.eye(m.nv)
            T[:3, :3] = d.xmat[b].reshape(3, 3)
            full, bias = T.T @ full @ T, T.T @ bias
            dofs = [*range(6), *dofs]
        return full[np.ix_(dofs, dofs)], bias[dofs]


def compare(mujoco, text, robot, tolerance=None, states=3, seed=1):
    """Poses, mass matrix and gravity of the robot against MuJoCo on the text."""
    rng = np.random.default_rng(seed)
    if tolerance is None:  # older MuJoCo finds principal axes only to 1e-9
        tolerance = 1e-10 if int(mujoco.__version__.split(".")[0]) >= 4 else 1e-8
    oracle = Oracle(mujoco, text, robot)
    for _ in range(states):
        positions, base = oracle.at(rng, move_base=robot.is_floating)
        poses = joint_poses(robot, positions, base)
        for b in range(1, oracle.model.nbody):
            name = oracle.model.body(b).name
            if name in robot.frames:
                R, p = frame_pose(robot, name, poses, base)
                np.testing.assert_allclose(p, oracle.data.xpos[b], atol=tolerance)
                np.testing.assert_allclose(R, oracle.data.xmat[b].reshape(3, 3), atol=tolerance)
        M, tau = mass_matrix_and_gravity(robot, positions, base)
        M0, tau0 = oracle.mass_matrix_and_gravity()
        np.testing.assert_allclose(M, M0, atol=tolerance * np.abs(M0).max())
        np.testing.assert_allclose(tau, tau0, atol=tolerance * max(1.0, np.abs(tau0).max()))


def same_robot(a, b, rtol=1e-12, seed=2):
    """Two robots with the same joints give the same mass matrix, gravity torques and effects."""
    assert [j.name for j in a.joints] == [j.name for j in b.joints]
    assert [j.kind for j in a.joints] == [j.kind for j in b.joints]
    assert a.base == b.base
    np.testing.assert_allclose(a.gravity, b.gravity)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        q = rng.uniform(-2, 2, a.n_joints)
        M, tau = mass_matrix_and_gravity(a.numeric, q)
        M1, tau1 = mass_matrix_and_gravity(b.numeric, q)
        np.testing.assert_allclose(M1, M, atol=rtol * np.abs(M).max(), rtol=0)
        np.testing.assert_allclose(tau1, tau, atol=rtol * max(np.abs(tau).max(), np.abs(M).max()), rtol=0)
    for x, y in zip(a.effects, b.effects, strict=True):
        for symbol in ("IA", "FV", "FC", "OFF"):
            assert abs(x.get(symbol, 0.0) - y.get(symbol, 0.0)) <= 1e-12 * max(1.0, abs(x.get(symbol, 0.0)))
    for x, y in zip(a.joints, b.joints, strict=True):
        assert (x.follows is None) == (y.follows is None)
        if x.follows is not None:
            assert y.follows.joints == x.follows.joints
            np.testing.assert_allclose((*y.follows.ratios, y.follows.offset), (*x.follows.ratios, x.follows.offset))
