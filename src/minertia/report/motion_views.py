"""Motions as plain data for the page."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from minertia.excitation.limits import MotionLimits
from minertia.excitation.result import Excitation
from minertia.io.arrays import Array
from minertia.report.numbers import finite, rounded, thinned
from minertia.report.robot_data import robot_data
from minertia.report.shapes import drawn_robot
from minertia.robot.robot import Robot

FRAMES = 240  # pictures of a motion


def motion_view(found: Excitation) -> dict[str, Any]:
    """A motion: what it promises, its curves, and the robot's postures to play."""
    robot, t = found.base.robot, np.linspace(0.0, found.motion.duration, FRAMES + 1)
    q = found.motion.at(t)[0]
    path, limits = found.trajectory, found.limits
    keep = thinned(path.t, path.q)
    return {
        "result": found.to_dict(),
        "headline": found.headline,
        "sentences": [*found.claim_lines(), *found.space_lines(), *found.notes],
        "t": rounded(path.t[keep], 4),
        "curves": {
            key: [rounded(values[keep, j]) for j in range(values.shape[1])]
            for key, values in (("q", path.q), ("qd", path.qd), ("qdd", path.qdd))
        },
        **played_view(robot, limits, t, q),
    }


def played_view(robot: Robot, limits: MotionLimits, t: Array, q: Array) -> dict[str, Any]:
    """The robot at times t [s] and postures q (N, n), to be played, with what stands around it.

    boxes: to keep away from; rooms: not to leave.  floor: its height, None for none.
    """
    space = limits.clearance
    return {
        "joints": list(limits.names),
        "limits": {
            "lower": [finite(v) for v in limits.lower],
            "upper": [finite(v) for v in limits.upper],
            "velocity": [finite(v) for v in limits.velocity],
            "acceleration": [finite(v) for v in limits.acceleration],
        },
        "postures": {"t": rounded(t, 4), "q": np.round(q, 5).tolist()},
        "drawing": drawn_robot(robot),
        "robot": robot_data(robot),
        "floor": None if space is None else space.floor,
        "boxes": [] if space is None else [_edges(shape.p, shape.R, shape.size) for shape in space.boxes],
        "rooms": [
            _edges(0.5 * np.add(b.lower, b.upper), np.eye(3), 0.5 * np.subtract(b.upper, b.lower)) for b in limits.boxes
        ],
    }


def _edges(centre: Array, R: Array, half: ArrayLike) -> list[list[list[float]]]:
    """The twelve edges of a box with these half sides as pairs of points."""
    corners = [np.array([x, y, z]) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    places = [np.round(centre + R @ (corner * np.asarray(half)), 4).tolist() for corner in corners]
    pairs = [(a, b) for a in range(8) for b in range(a + 1, 8) if np.abs(corners[a] - corners[b]).sum() == 2]
    return [[places[a], places[b]] for a, b in pairs]
