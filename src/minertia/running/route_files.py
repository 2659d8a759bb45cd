"""The motion of a folder that `excite` wrote, or of one of its CSV files, held against what the robot's file allows."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from minertia.errors import Infeasible, MinertiaError, ShapeError
from minertia.excitation.route import AT_REST, Route
from minertia.excitation.sampled import SampledMotion
from minertia.excitation.trajectory import Trajectory
from minertia.files import is_file
from minertia.robot.robot import Robot

PARTS = ("approach", "excitation", "return")
JOINED = 1e-6  # rad or m between the end of a part and the beginning of the next one
ALMOST = 1e-9  # rad or m, or per s, beyond a limit that rounding explains


def read_route(path: str | Path, robot: Robot) -> Route:
    """A closed route: from rest to rest, from a posture back to it, within the ranges of the robot's file."""
    folder = Path(path)
    if is_file(folder):
        found = [(folder.stem, Trajectory.load(folder))]
    else:
        files = [(name, folder / f"{name}.csv") for name in PARTS]
        found = [(name, Trajectory.load(file)) for name, file in files if is_file(file)]
        if "excitation" not in dict(found):
            raise MinertiaError(f"'{path}' is neither a motion nor a folder that `minertia excite` wrote")
    for name, part in found:
        _check(name, part, robot)
    for (first, a), (second, b) in zip(found, [*found[1:], found[0]], strict=True):
        if np.abs(a.q[-1] - b.q[0]).max() > JOINED:
            raise Infeasible(f"'{first}' does not end where '{second}' begins; write both in one go, with --from")
    return Route(tuple((name, SampledMotion(part)) for name, part in found))


def _check(name: str, part: Trajectory, robot: Robot) -> None:
    if part.n != robot.n:
        raise ShapeError(f"'{name}' moves {part.n} joints and '{robot.name}' has {robot.n}")
    ends = [0, -1]
    if max(np.abs(part.qd[ends]).max(), np.abs(part.qdd[ends]).max()) > AT_REST:
        raise Infeasible(f"'{name}' does not begin and end at rest")
    for c, j in enumerate(robot.independent):
        limits, q, qd = robot.joints[j].limits, part.q[:, c], np.abs(part.qd[:, c])
        low = -np.inf if limits.lower is None else limits.lower
        high = np.inf if limits.upper is None else limits.upper
        fastest = np.inf if limits.velocity is None else limits.velocity
        for what, is_beyond in (
            ("position", bool(q.min() < low - ALMOST or q.max() > high + ALMOST)),
            ("velocity", bool(qd.max() > fastest + ALMOST)),
        ):
            if is_beyond:
                raise Infeasible(
                    f"'{name}' takes joint '{robot.coordinate_names[c]}' beyond the limit of {what} of its file"
                )
