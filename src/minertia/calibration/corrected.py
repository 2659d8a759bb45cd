"""The corrected robot: placements of a fit in place of the file's, and zeros for the controller."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from minertia.algebra.vec3 import Mat, Pose
from minertia.calibration.chain import Array, Chain, exponential
from minertia.calibration.layout import GeometryState
from minertia.robot.robot import Frame, Robot

TOOL = "calibrated_tool"


@dataclass(frozen=True)
class CorrectedRobot:
    """The robot with corrected frames, where it stands in the frame of measurement, and points of the tool in tip
    axes.

    base (4, 4): pose of the root in the frame of measurement.  zeros: {joint: [rad, m]} to add to what the controller
    reads, empty where they are in the robot's frames.
    """

    robot: Robot
    base: Array
    points: dict[str, tuple[float, float, float]]
    zeros: dict[str, float]


def corrected(
    chain: Chain, state: GeometryState, points: dict[str, Array], *, zeros_in_file: bool = True
) -> CorrectedRobot:
    """Frames 2 to n + 1 of a fit as the robot's own; frame 1 is where the robot stands.

    zeros_in_file: whether joint zeros become part of the frames; else they are a table for the controller.
    """
    nominal, fitted = chain.nominal, state.placements.copy()
    zeros = {} if zeros_in_file else _taken_zeros(chain, fitted)
    robot = chain.robot.numeric
    joints = list(robot.joints)
    for k, j in enumerate(chain.joints):
        if k:
            joints[j] = replace(joints[j], R=_rows(fitted[k][:3, :3]), p=_three(fitted[k][:3, 3]))
    base = fitted[0] @ np.linalg.inv(nominal[0])
    frames = dict(robot.frames)
    if not np.allclose(fitted[-1], nominal[-1], atol=1e-15, rtol=0):
        frames[TOOL] = Frame(chain.joints[-1], _pose(fitted[-1]))
    named = {name: _three(np.asarray(p)) for name, p in points.items()}
    for name, p in named.items():
        pose = fitted[-1].copy()
        pose[:3, 3] += pose[:3, :3] @ np.array(p)
        frames[f"calibrated_point_{name}"] = Frame(chain.joints[-1], _pose(pose))
    moved = replace(robot, joints=tuple(joints), frames=frames)
    return CorrectedRobot(moved, base, named, zeros)


def _taken_zeros(chain: Chain, placements: Array) -> dict[str, float]:
    """Take the joint zeros out of corrected placements: the turn about (way along) z of each correction."""
    found = {}
    for k, name in enumerate(chain.names):
        if k == 0:
            continue
        change = np.linalg.inv(chain.nominal[k]) @ placements[k]
        zero = float(np.arctan2(change[1, 0] - change[0, 1], change[0, 0] + change[1, 1]))
        axis = np.zeros(6)
        if chain.is_hinge[k]:
            axis[5] = zero
        else:
            zero = float(change[2, 3])
            axis[2] = zero
        placements[k] = placements[k] @ exponential(-axis)
        found[name] = zero
    return found


def _rows(R: Array) -> Mat:
    return _three(R[0]), _three(R[1]), _three(R[2])


def _three(p: Array) -> tuple[float, float, float]:
    return float(p[0]), float(p[1]), float(p[2])


def _pose(T: Array) -> Pose:
    return _rows(T[:3, :3]), _three(T[:3, 3])
