"""Control experiments after an identification: open loop, feedback control, and low model update rates."""

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
    """All tables: open-loop moves, fast and slow (without closed chains), feedback laws and model update rates.

    robot: the true robot, simulated without imperfections.  model: the controller's model.
    """
    plant = Plant(robot, period=PERIOD, substeps=SUBSTEPS)
    moves = () if robot.open_cuts else _open_loop(robot, model, limits)
    return (*moves, compare_feedback(plant, model, trajectory), compare_update_rates(plant, model, trajectory, EVERY))


def _open_loop(robot: Robot, model: ControlModel, limits: MotionLimits) -> list[TrackingTable]:
    """Moves without feedback; not for closed chains, which could reach postures where they cannot be closed."""
    loose = Plant(robot, period=OPEN * PERIOD, substeps=OPEN * SUBSTEPS)
    posture, angle, groups = open_loop_setting(limits)
    given = (loose, model, posture, groups)
    return [table for speed in (FAST, SLOW) for table in open_loop_moves(*given, angle=angle, speed=speed)]


def open_loop_setting(limits: MotionLimits) -> tuple[Array, float, list[list[int]]]:
    """Start posture, angle and groups of joints for open-loop moves by 90 degrees, or less if ranges require."""
    moved = list(range(min(3, len(limits.names))))
    angle = float(min(QUARTER, (2 * SHARE * limits.half[moved]).min()))
    posture = limits.middle.copy()
    posture[moved] -= 0.5 * angle
    groups = [[j] for j in moved] + ([moved] if len(moved) > 1 else [])
    return posture, angle, groups
