"""Boxes that hold the links of a robot, from the shapes of its file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minertia.io.arrays import Array
from minertia.io.errors import UnknownName
from minertia.robot.file_shapes import UNREAD, Piece, file_pieces
from minertia.robot.robot import Robot, find_frame

WIDER = 0.1  # of a box's diagonal on every side: shapes are drawn coarsely


@dataclass(frozen=True)
class Extent:
    """A box around a link, along the axes of its joint's frame: lower and upper corner (3,) [m]."""

    lower: Array
    upper: Array

    def outside(self, p: Array) -> float:
        """Distance of a point from the box [m]; 0 inside."""
        return float(np.linalg.norm(np.maximum(np.maximum(self.lower - p, p - self.upper), 0.0)))


def link_extents(robot: Robot) -> dict[int, Extent]:
    """The box of each joint's link, bodies fixed to it included; none where the file does not show all its shapes.

    The box is wider than the shapes by a part, and holds the centre of mass that the file states.
    """
    robot = robot.numeric
    corners: dict[int, list[Array]] = {}
    unread: set[int] = set()
    for piece in file_pieces(robot):
        try:
            frame = find_frame(robot, piece.link)
        except UnknownName:
            continue
        if frame.joint is None:
            continue
        if piece.kind == UNREAD:
            unread.add(frame.joint)
        else:
            R, p = np.array(frame.pose[0], float), np.array(frame.pose[1], float)
            corners.setdefault(frame.joint, []).extend(_corners(piece, R, p))
    return {j: _widened(robot, j, np.array(own)) for j, own in corners.items() if j not in unread}


def _corners(piece: Piece, R: Array, p: Array) -> list[Array]:
    """Lower and upper corner of a piece in the joint's frame, in which its link has the pose R, p."""
    if piece.points is not None:
        points = piece.points @ R.T + p
        return [points.min(axis=0), points.max(axis=0)]
    assert piece.R is not None and piece.p is not None
    turn, centre = R @ piece.R, p + R @ piece.p
    if piece.kind == "box":
        half = np.abs(turn) @ np.array(piece.size)
    elif piece.kind == "sphere":
        half = np.full(3, piece.size[0])
    else:
        radius, length, along = piece.size[0], piece.size[1], np.abs(turn[:, 2])
        round_part = radius if piece.kind == "capsule" else radius * np.sqrt(np.maximum(1 - along**2, 0.0))
        half = along * length + round_part
    return [centre - half, centre + half]


def _widened(robot: Robot, j: int, corners: Array) -> Extent:
    lower, upper = corners.min(axis=0), corners.max(axis=0)
    room = WIDER * float(np.linalg.norm(upper - lower))
    ten = robot.links[j]
    if ten is not None and ten[9] > 0:
        com = np.array(ten[6:9], float) / ten[9]
        lower, upper = np.minimum(lower, com), np.maximum(upper, com)
    return Extent(lower - room, upper + room)


def link_reach(robot: Robot, j: int) -> float:
    """Distance from a joint to the farthest joint or frame on its link [m], or to the joint before it.

    Frames of a description may stand at either end of a link.
    """
    ends = [robot.joints[j].p, *(joint.p for joint in robot.joints if joint.parent == j)]
    ends += [frame.pose[1] for frame in robot.frames.values() if frame.joint == j]
    return max((float(np.linalg.norm(np.array(p, float))) for p in ends), default=0.0)
