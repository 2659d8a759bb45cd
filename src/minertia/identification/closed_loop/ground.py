"""Ground contact of a robot under position commands: coupled joints, and initial values of its fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minertia.codegen.rollout.floor import FLOOR, SOFT, against_gravity
from minertia.dynamics.frame import frame_named, frame_pose
from minertia.identification.campaigns.options import Floor
from minertia.identification.closed_loop.logs import LoopLog
from minertia.identification.closed_loop.model import ServoModel, floor_name
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
BEGIN = {"stiffness": 1e4, "friction": 0.3}  # of a fit, where they are not known
BELOW = 0.02  # of the range of heights in the logs: deeper ground touches no simulated motion, and would stay there


def tied_by_floor(robot: Robot, floor: Floor, groups: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """Groups of joints, merged if they move a common frame that touches the ground."""
    found = [set(group) for group in groups]
    for name in floor.touches:
        frame = frame_named(robot, name)
        movers = set() if frame.joint is None else set(robot.ancestors(frame.joint))
        touched = [group for group in found if group & movers]
        found = [group for group in found if not group & movers] + ([set().union(*touched)] if touched else [])
    return tuple(sorted(tuple(sorted(group)) for group in found))


def heights(robot: Robot, floor: Floor, q: Array) -> Array:
    """Heights of the frames that may touch the ground [m], (N, frames)."""
    up, numeric = against_gravity(robot), robot.numeric
    columns = [q[:, j] for j in range(robot.n)]
    found = []
    for name in floor.touches:
        place = frame_pose(numeric, columns, frame_named(numeric, name))[1]
        found.append(sum(np.broadcast_to(np.asarray(p, float) * u, len(q)) for p, u in zip(place, up, strict=True)))
    return np.stack(found, axis=1)


def deepest_floor(model: ServoModel, logs: Sequence[LoopLog], theta: Array) -> float:
    """Height of the ground [m] below which no simulated motion would touch it."""
    every = _heights_of_logs(model, logs, theta)
    return float(every.min() - BELOW * np.ptp(every))


def _heights_of_logs(model: ServoModel, logs: Sequence[LoopLog], theta: Array) -> Array:
    """Heights of the frames that may touch the ground [m], (rows of all logs, frames)."""
    zeros = model.of_kind("zero", model.atom_values(theta))
    return np.concatenate([heights(model.robot, model.floor, log.q[:, : model.robot.n] + zeros) for log in logs])


def with_floor(model: ServoModel, logs: Sequence[LoopLog], theta: Array) -> Array:
    """Parameter values with initial values of unknown ground parameters; the ground at the robot's lowest point."""
    found = theta.copy()
    if not model.floor.touches:
        return found
    lowest = float(_heights_of_logs(model, logs, theta).min())
    for what, value in {"height": lowest, **BEGIN}.items():
        if floor_name(what) in model.names:
            found[model.names.index(floor_name(what))] = value
    return found


def touching_rows(model: ServoModel, theta: Array, q: Array) -> NDArray[np.bool_] | None:
    """Rows (N,) of simulated positions in which a frame touches the ground; None without a ground."""
    if not model.floor.touches:
        return None
    values = model.atom_values(theta)
    height = model.of_kind("floor", values)[FLOOR.index("height")]
    simulated = q[:, : model.robot.n] + model.of_kind("zero", values)
    return np.asarray((heights(model.robot, model.floor, simulated) < height + SOFT).any(axis=1))
