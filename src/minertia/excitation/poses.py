"""Link poses at many postures, as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minertia.dynamics.kinematics import State, joint_positions
from minertia.dynamics.loops.projection import project
from minertia.io.arrays import Array
from minertia.robot.robot import Robot


@dataclass(frozen=True)
class LinkPose:
    """Poses of a joint's frame in the base frame: R (N, 3, 3), p (N, 3) [m]."""

    R: Array
    p: Array

    def place(self, point: Array) -> Array:
        """Position (N, 3) in the base frame of a point (3,) of the frame."""
        return np.asarray(self.p + self.R @ point)


def link_poses(robot: Robot, q: Array) -> list[LinkPose]:
    """The pose of every joint's frame at postures (N, n)."""
    robot = robot.numeric
    found: list[LinkPose] = []
    base = LinkPose(np.broadcast_to(np.eye(3), (len(q), 3, 3)), np.zeros((len(q), 3)))
    still = [0] * robot.n
    closed = project(robot, State(list(q.T), still, still))
    for joint, position in zip(robot.joints, joint_positions(closed.tree, closed.state.q), strict=True):
        parent = base if joint.parent is None else found[joint.parent]
        turn, slide = (position, 0.0 * position) if joint.kind == "revolute" else (0.0 * position, position)
        R = parent.R @ np.array(joint.R, float)
        c, s = np.cos(turn)[:, None], np.sin(turn)[:, None]
        x, y, z = R[:, :, 0], R[:, :, 1], R[:, :, 2]
        p = parent.place(np.array(joint.p, float)) + slide[:, None] * z
        found.append(LinkPose(np.stack([c * x + s * y, c * y - s * x, z], axis=2), p))
    return found
