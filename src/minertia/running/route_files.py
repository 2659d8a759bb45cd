"""The motion of a folder that `excite` wrote, or of one of its CSV files, held against every limit of its robot."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from minertia.excitation.limits import MotionLimits
from minertia.excitation.options import SECONDS
from minertia.excitation.route import AT_REST, Route
from minertia.excitation.sampled import SampledMotion
from minertia.excitation.trajectory import Trajectory
from minertia.io.errors import Infeasible, MinertiaError, ShapeError
from minertia.io.files import is_file
from minertia.robot.robot import Robot
from minertia.running.gate import Gate, check_columns
from minertia.running.gate_limits import gate_limits, within_file

PARTS = ("approach", "excitation", "return")
JOINED = 1e-6  # rad or m between the end of a part and the beginning of the next one


def read_route(path: str | Path, robot: Robot, limits: MotionLimits | None = None) -> Route:
    """A closed route: from rest to rest, from a posture back to it, within every limit at every time.

    limits: by default those of the robot's file and of the folder of the motion, as `gate_limits` has them;
    none that is given is wider than that of the robot's file.
    """
    found = _files(Path(path))
    for name, part in found:
        _check_samples(name, part, robot)
    for (first, a), (second, b) in zip(found, [*found[1:], found[0]], strict=True):
        if np.abs(a.q[-1] - b.q[0]).max() > JOINED:
            raise Infeasible(f"'{first}' does not end where '{second}' begins; write both in one go, with --from")
    gate = Gate(robot, gate_limits(path, robot).limits if limits is None else within_file(robot, limits))
    parts = tuple((name, SampledMotion(part)) for name, part in found)
    for name, motion in parts:
        gate.check(name, motion)
    for name, part in found:
        check_columns(name, part, robot.coordinate_names)
    return Route(parts)


def _files(path: Path) -> list[tuple[str, Trajectory]]:
    """(name, samples) of a file, or of the parts in a folder."""
    if is_file(path):
        return [(path.stem, Trajectory.load(path))]
    files = [(name, path / f"{name}.csv") for name in PARTS]
    found = [(name, Trajectory.load(file)) for name, file in files if is_file(file)]
    if "excitation" not in dict(found):
        raise MinertiaError(f"'{path}' is neither a motion nor a folder that `minertia excite` wrote")
    return found


def _check_samples(name: str, part: Trajectory, robot: Robot) -> None:
    """Refuse other joints, times that do not go on, and ends that are not at rest."""
    if part.n != robot.n:
        raise ShapeError(f"'{name}' moves {part.n} joints and '{robot.name}' has {robot.n}")
    back = np.flatnonzero(np.diff(part.t) <= 0)
    if len(back) or len(part.t) < 2:
        where = f"t = {part.t[back[0] + 1]:.6g} s does not come after the row before" if len(back) else "it has one row"
        raise Infeasible(f"'{name}' is no motion: {where}")
    seconds = float(part.t[-1] - part.t[0])
    if not SECONDS[0] <= seconds <= SECONDS[1]:
        raise Infeasible(f"'{name}' lasts {seconds:g} s, and motions last from {SECONDS[0]:g} to {SECONDS[1]:g} s")
    ends = [0, -1]
    if max(np.abs(part.qd[ends]).max(), np.abs(part.qdd[ends]).max()) > AT_REST:
        raise Infeasible(f"'{name}' does not begin and end at rest")
