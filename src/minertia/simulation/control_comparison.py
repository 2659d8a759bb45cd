"""The experiments that end an identification: open loop, closed loop, and a model that is updated now and then."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minertia.excitation.limits import MotionLimits
from minertia.excitation.trajectory import Trajectory
from minertia.robot.robot import Robot
from minertia.simulation.control_model import ControlModel
from minertia.simulation.plant import Plant
from minertia.simulation.tracking import TrackingTable, compare_feedback, compare_update_rates, open_loop_moves

Array = NDArray[np.float64]
PERIOD = 2e-3
SUBSTEPS = 2
OPEN = 2  # periods in one of the moves without feedback: nothing is corrected in between, so they may be longer
FAST, SLOW = np.pi, np.pi / 6  # rad/s
QUARTER = np.pi / 2
EVERY = (1, 5, 20, 80)
SHARE = 0.45  # of a joint's range that a move takes at most


def control_tests(
    robot: Robot, model: ControlModel, limits: MotionLimits, trajectory: Trajectory
) -> tuple[TrackingTable, ...]:
    """All tables: moves in open loop fast and slow (no loops to close), feedback laws and update rates on a trajectory.

    robot: the true one, in MuJoCo without imperfections.  model: what the controller knows.
    """
    plant = Plant(robot, period=PERIOD, substeps=SUBSTEPS)
    moves = () if robot.open_cuts else _open_loop(robot, model, limits)
    return (*moves, compare_feedback(plant, model, trajectory), compare_update_rates(plant, model, trajectory, EVERY))


def _open_loop(robot: Robot, model: ControlModel, limits: MotionLimits) -> list[TrackingTable]:
    """Moves without feedback; where loops have to close nothing would keep them from postures in which they open."""
    loose = Plant(robot, period=OPEN * PERIOD, substeps=OPEN * SUBSTEPS)
    posture, angle, groups = open_loop_setting(limits)
    given = (loose, model, posture, groups)
    return [table for speed in (FAST, SLOW) for table in open_loop_moves(*given, angle=angle, speed=speed)]


def open_loop_setting(limits: MotionLimits) -> tuple[Array, float, list[list[int]]]:
    """A posture from which the first joints can turn by 90 degrees (or what their ranges allow), and which to turn."""
    moved = list(range(min(3, len(limits.names))))
    angle = float(min(QUARTER, (2 * SHARE * limits.half[moved]).min()))
    posture = limits.middle.copy()
    posture[moved] -= 0.5 * angle
    groups = [[j] for j in moved] + ([moved] if len(moved) > 1 else [])
    return posture, angle, groups
