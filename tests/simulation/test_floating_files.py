"""Files of a robot with a floating base, read by the programs that they are for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import minertia as mi
from minertia.base.numeric import random_states
from minertia.dynamics.model import inverse_dynamics
from minertia.robot.robot import Robot
from minertia.robot.targets import target_of
from minertia.simulation.file_engines import READERS
from minertia.simulation.proof import held_by
from tests.identification.planted_legs import quadruped


def largest_difference(robot: Robot, engine: str, path: Path) -> float:
    q, qd, qdd = (np.asarray(a) for a in random_states(robot, 10, 0))
    own = np.asarray(inverse_dynamics(robot, q, qd, qdd))
    return float(np.abs(READERS[engine](path, robot)(q, qd, qdd) - own).max() / np.abs(own).max())


@pytest.mark.parametrize(
    "file, package, engine, bound",
    [
        ("legs.mjcf", "mujoco", "MuJoCo", 1e-11),
        ("legs.urdf", "pinocchio", "Pinocchio", 1e-11),
        ("legs.usda", "pxr", "UsdPhysics", 1e-6),
    ],
)
def test_efforts_of_base_and_joints(file: str, package: str, engine: str, bound: float, tmp_path: Path) -> None:
    """Six efforts of the base, in its axes, and those of the joints, with friction, at any attitude and velocity."""
    pytest.importorskip(package)
    robot = quadruped().with_parameters({f"{symbol}{j}": 0.1 * j for symbol in ("FV", "FC") for j in (1, 2, 5)})
    mi.write_robot(robot, tmp_path / file)
    target = target_of(tmp_path / file)
    assert target is not None and robot.is_floating
    assert largest_difference(held_by(robot, target).numeric, engine, tmp_path / file) < bound
