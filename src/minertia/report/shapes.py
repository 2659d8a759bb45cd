"""A robot as the page draws it: bodies of its links, centres of mass, named frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.excitation.capsules import robot_body
from minertia.excitation.poses import link_poses
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError, UnknownName
from minertia.robot.robot import Robot, find_frame
from minertia.robot.shapes import UNREAD, Piece, file_pieces

HULL = 400  # points of a mesh that are drawn, as their convex hull


def drawn_robot(robot: Robot) -> dict[str, Any]:
    """Bodies in the frames of joints (joint: from 0, None for the ground), masses and frames; lengths in m."""
    robot = robot.numeric
    return {
        "bodies": _bodies(robot),
        "capsules": _capsules(robot),
        "masses": [_mass(ten) for ten in robot.links],
        "frames": [
            {
                "name": name,
                "joint": f.joint,
                "position": _listed(f.pose[1]),
                "rotation": [_listed(r) for r in f.pose[0]],
            }
            for name, f in robot.frames.items()
        ],
        "has_loops": bool(robot.cuts),
        "start": _start(robot),
    }


def frames_at(robot: Robot, q: list[float]) -> list[dict[str, Any]]:
    """Pose of every joint's frame in the base frame at a posture; loops are closed."""
    poses = link_poses(robot, np.array([q], float))
    return [{"R": np.round(pose.R[0], 6).tolist(), "p": np.round(pose.p[0], 6).tolist()} for pose in poses]


def _start(robot: Robot) -> list[float]:
    """A posture to begin with: the closed one of a robot with loops, else zero, or the nearest within the limits."""
    found = []
    for j in robot.independent:
        limits = robot.joints[j].limits
        value = 0.0 if robot.seed is None else float(robot.seed[j])
        lower, upper = limits.lower, limits.upper
        value = value if lower is None else max(value, lower)
        found.append(round(value if upper is None else min(value, upper), 6))
    return found


def _bodies(robot: Robot) -> list[dict[str, Any]]:
    found = []
    for piece in file_pieces(robot):
        try:
            frame = find_frame(robot, piece.link)
        except UnknownName:
            continue
        if piece.kind != UNREAD:
            R, p = np.array(frame.pose[0], float), np.array(frame.pose[1], float)
            found.append({"joint": frame.joint, **_placed(piece, R, p)})
    return found


def _placed(piece: Piece, R: Array, p: Array) -> dict[str, Any]:
    """A piece in the frame of the joint that carries it."""
    if piece.points is not None:
        points = piece.points @ R.T + p
        chosen = np.unique(np.linspace(0, len(points) - 1, HULL).astype(int))
        chosen = np.union1d(chosen, _extremes(points))
        return {"kind": "hull", "points": np.round(points[chosen], 5).tolist()}
    assert piece.R is not None and piece.p is not None
    turn, centre = R @ piece.R, p + R @ piece.p
    return {"kind": piece.kind, "size": list(piece.size), "R": turn.round(6).tolist(), "p": centre.round(6).tolist()}


def _extremes(points: Array) -> NDArray[np.intp]:
    """The outermost points along the axes and the diagonals."""
    steps = (-1.0, 0.0, 1.0)
    ways = np.array([(x, y, z) for x in steps for y in steps for z in steps if (x, y, z) != (0, 0, 0)])
    return np.unique((points @ ways.T).argmax(axis=0))


def _capsules(robot: Robot) -> list[dict[str, Any]]:
    """The capsules that are kept apart in motions, and drawn where the file shows no shapes."""
    try:
        body = robot_body(robot)
    except MinertiaError:
        return []
    return [
        {
            "joint": c.joint,
            "a": {"joint": c.a.joint, "p": _listed(c.a.p)},
            "b": {"joint": c.b.joint, "p": _listed(c.b.p)},
            "radius": round(c.radius, 5),
            "by_frames": c.by_frames,
        }
        for c in body.capsules
    ]


def _mass(ten: Any) -> dict[str, Any] | None:
    if ten is None or not ten[9] > 0:
        return None
    return {"mass": float(ten[9]), "centre": [round(float(v) / float(ten[9]), 5) for v in ten[6:9]]}


def _listed(v: Any) -> list[float]:
    return [round(float(x), 6) for x in v]
