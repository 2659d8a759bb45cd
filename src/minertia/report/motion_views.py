"""Motions as plain data for the page."""

from __future__ import annotations

from typing import Any

import numpy as np

from minertia.excitation.result import Excitation
from minertia.report.excite_page import preview_data
from minertia.report.numbers import finite, rounded, thinned
from minertia.report.robot_data import robot_data
from minertia.report.shapes import drawn_robot

FRAMES = 240  # pictures of a motion


def motion_view(found: Excitation) -> dict[str, Any]:
    """A motion: what it promises, its curves, and the robot's postures to play."""
    robot, t = found.base.robot, np.linspace(0.0, found.motion.duration, FRAMES + 1)
    q = found.motion.at(t)[0]
    path, limits = found.trajectory, found.limits
    keep = thinned(path.t, path.q)
    surroundings = preview_data(robot, limits, t[:1], q[:1])
    return {
        "result": found.to_dict(),
        "headline": found.headline,
        "sentences": [*found.claim_lines(), *found.space_lines(), *found.notes],
        "joints": list(limits.names),
        "t": rounded(path.t[keep], 4),
        "curves": {
            key: [rounded(values[keep, j]) for j in range(values.shape[1])]
            for key, values in (("q", path.q), ("qd", path.qd), ("qdd", path.qdd))
        },
        "limits": {
            "lower": [finite(v) for v in limits.lower],
            "upper": [finite(v) for v in limits.upper],
            "velocity": [finite(v) for v in limits.velocity],
            "acceleration": [finite(v) for v in limits.acceleration],
        },
        "postures": {"t": rounded(t, 4), "q": np.round(q, 5).tolist()},
        "drawing": drawn_robot(robot),
        "robot": robot_data(robot),
        "floor": surroundings["floor"],
        "boxes": surroundings["boxes"],
        "rooms": surroundings["rooms"],
    }
