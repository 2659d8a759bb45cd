"""Kinematic chain between a root and a tip, its pose with corrected placements, and its Jacobian.

The pose of frame j is T_j = T_(j-1) P_j exp(xi_j) M_j(q_j): P_j is the constant placement of the file, xi_j = (DX,
DY, DZ, RX, RY, RZ) its correction in the frame's own axes [m, rad], and M_j the motion along or about z.  Frame 1
is the pose of the robot in the measurement frame, frame n + 1 the tool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.vec3 import HERE, Pose, compose, invert
from minertia.dynamics.frame import frame_named
from minertia.io.errors import InputError
from minertia.robot.corrections import described_joints
from minertia.robot.joint import Joint, numeric_pose
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
SYMBOLS = ("DX", "DY", "DZ", "RX", "RY", "RZ")
SERIES = 12  # terms: corrections are well below 1
SMALL = 1e-6  # rad, below which a rotation is its series
PARALLEL = 1e-9  # sine of the angle between axes that count as parallel
WIDE = -0.9  # cosine of an angle near pi


@dataclass(frozen=True)
class Chain:
    """Joints from root to tip.

    joints: indices in the robot.  placements: n + 1 symbolic poses: of each joint in the previous one (of the
    first in the root), and of the tip in the last joint.
    """

    robot: Robot
    joints: tuple[int, ...]
    placements: tuple[Pose, ...]
    tip: str

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joints)

    @cached_property
    def is_hinge(self) -> tuple[bool, ...]:
        """Whether each joint is revolute; the others are prismatic."""
        return tuple(self.robot.joints[j].kind == "revolute" for j in self.joints)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the joints."""
        return tuple(self.robot.joints[j].name for j in self.joints)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the correction columns, DX1 ... RZ(n + 1): six for each frame."""
        return tuple(f"{symbol}{j + 1}" for j in range(self.n + 1) for symbol in SYMBOLS)

    @cached_property
    def zeros(self) -> tuple[int, ...]:
        """Column of each joint's zero offset: RZ of a revolute joint, DZ of a prismatic one."""
        return tuple(6 * j + (5 if turns else 2) for j, turns in enumerate(self.is_hinge))

    @cached_property
    def coordinates(self) -> tuple[int, ...]:
        """Indices of the robot's coordinates that move the chain."""
        return tuple(sorted({c for j in self.joints for c, _ in self.robot.shares(j)}))

    @cached_property
    def nominal(self) -> Array:
        """Placements of the file as (n + 1, 4, 4), evaluated at the values of the symbols."""
        values = self.robot.symbol_values
        return np.stack([matrix_of(numeric_pose(pose, values)) for pose in self.placements])

    @cached_property
    def described(self) -> tuple[Joint, ...]:
        """Joint descriptions with symbols replaced by their values; the first joint is placed in the root."""
        joints = [self.robot.joints[j] for j in self.joints]
        return described_joints(joints, self.placements[0], self.robot.symbol_values)

    @cached_property
    def inverse(self) -> Array:
        """Inverses of `nominal`."""
        return np.asarray(np.linalg.inv(self.nominal))

    @cached_property
    def kept_directions(self) -> tuple[Array, Array]:
        """Directions that no joint rotates, in tip axes and in axes of frame 1, each (3, k).

        k = 1 if all revolute axes are parallel, 3 if there are no revolute joints, else 0.
        """
        at = moved(self.nominal, self.is_hinge, np.zeros((1, self.n)))
        axes = at.frames[0, :-1, :3, 2][list(self.is_hinge)]
        _, sizes, found = np.linalg.svd(np.concatenate([np.zeros((3, 3)), *skew(axes)]))
        kept = found[sizes < PARALLEL].T
        return at.tool[0, :3, :3].T @ kept, at.frames[0, 0, :3, :3].T @ kept

    @cached_property
    def kept_sets(self) -> dict[Any, Any]:
        """Cache of the columns that the rules retain for each set of measurements (`layout.kept_of`)."""
        return {}

    def positions(self, q: Array) -> Array:
        """Positions of the chain's joints (N, n) from the robot's coordinates (N, robot.n) [rad, m]."""
        columns = [q[:, c] for c in range(q.shape[1])]
        found = [np.broadcast_to(self.robot.joint_position(j, columns), len(q)) for j in self.joints]
        return np.stack(found, axis=1).astype(float)

    def rates(self) -> Array:
        """Derivatives of joint positions with respect to the coordinates (n, robot.n)."""
        found = np.zeros((self.n, self.robot.n))
        for row, j in enumerate(self.joints):
            for c, ratio in self.robot.shares(j):
                found[row, c] = float(ratio)
        return found


def chain_of(robot: Robot, tip: str | None = None, root: str | None = None) -> Chain:
    """Chain from `root` (default: ground) to `tip` (default: last link), each a link, frame or joint by name."""
    robot.require_tree("calibration")
    end = frame_named(robot, tip)
    if end.joint is None:
        raise InputError(f"'{tip}' does not move, so no joint can be calibrated there; name a tip after the joints")
    path = robot.ancestors(end.joint)
    start = invert(HERE)
    if root is not None:
        first = frame_named(robot, root)
        if first.joint is not None and first.joint not in path:
            raise InputError(
                f"'{root}' is not between the ground and '{tip or 'the last link'}'; name a root on that path"
            )
        path = path if first.joint is None else path[path.index(first.joint) + 1 :]
        start = invert(first.pose)
    if not path:
        raise InputError(
            f"there is no movable joint between '{root}' and '{tip}'; name a root and a tip with joints between them"
        )
    poses = [(robot.joints[j].R, robot.joints[j].p) for j in path]
    name = tip if tip is not None else robot.joints[robot.tip].link
    return Chain(robot, path, (compose(start, poses[0]), *poses[1:], end.pose), name)


def matrix_of(pose: Pose) -> Array:
    """Homogeneous 4x4 matrix of a pose."""
    R, p = pose
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.array(R, float), np.array(p, float)
    return T


class MovedChain(NamedTuple):
    """Frames of a chain at N postures: `frames` (N, n + 1, 4, 4) before each joint's motion, `tool` (N, 4, 4)."""

    frames: Array
    tool: Array

    def jacobian(self) -> Array:
        """Tool Jacobian (N, 6, 6 (n + 1)): velocity of the tool's origin, then angular velocity, in root axes."""
        N, frames = len(self.tool), self.frames.shape[1]
        J = np.zeros((N, 6, frames, 6))
        R = np.moveaxis(self.frames[:, :, :3, :3], 1, 2)  # (N, 3, frames, 3)
        lever = self.tool[:, None, :3, 3] - self.frames[:, :, :3, 3]  # (N, frames, 3)
        J[:, :3, :, :3] = J[:, 3:, :, 3:] = R
        J[:, :3, :, 3:] = np.moveaxis(np.cross(np.moveaxis(R, 1, 3), lever[:, :, None, :]), 3, 1)
        return J.reshape(N, 6, 6 * frames)


def moved(placements: Array, is_hinge: Sequence[bool], positions: Array) -> MovedChain:
    """Forward kinematics of all frames at N postures: placements (n + 1, 4, 4), joint positions (N, n)."""
    N, n = positions.shape
    frames = np.empty((N, n + 1, 4, 4))
    T = np.broadcast_to(np.eye(4), (N, 4, 4))
    for j in range(n):
        frames[:, j] = T @ placements[j]
        T = frames[:, j] @ _motion(is_hinge[j], positions[:, j])
    frames[:, n] = T @ placements[n]
    return MovedChain(frames, frames[:, n])


def _motion(turns: bool, q: Array) -> Array:
    M = np.zeros((len(q), 4, 4))
    M[:, [0, 1, 2, 3], [0, 1, 2, 3]] = 1
    if turns:
        c, s = np.cos(q), np.sin(q)
        M[:, 0, 0], M[:, 0, 1], M[:, 1, 0], M[:, 1, 1] = c, -s, s, c
    else:
        M[:, 2, 3] = q
    return M


def exponential(xi: Array) -> Array:
    """Exponential map of twists (..., 6), linear part first, to poses (..., 4, 4)."""
    v, w = xi[..., :3], xi[..., 3:]
    angle = np.linalg.norm(w, axis=-1)[..., None, None]
    safe = np.where(angle < SMALL, 1.0, angle)
    a = np.where(angle < SMALL, 1 - angle**2 / 6, np.sin(safe) / safe)
    b = np.where(angle < SMALL, 0.5 - angle**2 / 24, (1 - np.cos(safe)) / safe**2)
    c = np.where(angle < SMALL, 1 / 6 - angle**2 / 120, (safe - np.sin(safe)) / safe**3)
    W = skew(w)
    WW = W @ W
    T = np.zeros((*xi.shape[:-1], 4, 4))
    T[..., :3, :3] = np.eye(3) + a * W + b * WW
    T[..., :3, 3] = np.einsum("...ij,...j->...i", np.eye(3) + b * W + c * WW, v)
    T[..., 3, 3] = 1
    return T


def logarithm(T: Array) -> Array:
    """Logarithm map of poses to twists (..., 6)."""
    w = rotation_vector(T[..., :3, :3])
    angle = np.linalg.norm(w, axis=-1)[..., None, None]
    half = angle / 2
    safe = np.where(half < SMALL, 1.0, half)
    factor = np.where(half < SMALL, 1 / 12, (1 - safe / np.tan(safe)) / np.where(half < SMALL, 1.0, angle) ** 2)
    W = skew(w)
    V = np.eye(3) - 0.5 * W + factor * (W @ W)
    return np.concatenate([np.einsum("...ij,...j->...i", V, T[..., :3, 3]), w], axis=-1)


def rotation_vector(R: Array) -> Array:
    """Axis times angle (..., 3) of rotations [rad], angles up to pi."""
    sine = 0.5 * np.stack(
        [R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]], axis=-1
    )
    size, cosine = np.linalg.norm(sine, axis=-1), 0.5 * (np.trace(R, axis1=-2, axis2=-1) - 1)
    angle = np.arctan2(size, cosine)
    found = sine * np.where(size > 0, angle / np.where(size > 0, size, 1.0), 1.0)[..., None]
    if (wide := cosine < WIDE).any():  # the axis is lost in the sine
        from scipy.spatial.transform import Rotation

        found[wide] = Rotation.from_matrix(R[wide]).as_rotvec()
    return np.asarray(found)


def skew(v: Array) -> Array:
    """Skew-symmetric cross-product matrices (..., 3, 3)."""
    S = np.zeros((*v.shape[:-1], 3, 3))
    S[..., 0, 1], S[..., 0, 2], S[..., 1, 2] = -v[..., 2], v[..., 1], -v[..., 0]
    return S - np.swapaxes(S, -1, -2)


def right_jacobian(xi: Array) -> Array:
    """Right Jacobian J (..., 6, 6): exp(xi + d) = exp(xi) exp(J d) for small d; series of (1 - exp(-ad)) / ad."""
    ad = np.zeros((*xi.shape[:-1], 6, 6))
    ad[..., :3, :3] = ad[..., 3:, 3:] = skew(xi[..., 3:])
    ad[..., :3, 3:] = skew(xi[..., :3])
    term = total = np.broadcast_to(np.eye(6), ad.shape)
    for k in range(2, SERIES):
        term = -(term @ ad) / k
        total = total + term
    return total
