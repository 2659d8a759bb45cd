"""Closed loops in MuJoCo as a second, coarse look: off in proportion to their softness, and right where rigid."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import minertia as mi
from minertia.excitation.trajectory import Trajectory
from minertia.robot.robot import Robot
from minertia.simulation import soft_loops as module
from minertia.simulation.soft_loops import soft_loops
from tests.loop_robots import four_bar

pytest.importorskip("mujoco")


def swing(robot: Robot) -> Trajectory:
    assert robot.seed is not None
    t, w = np.linspace(0, 5, 200)[:, None], 1 + 0.3 * np.arange(robot.n)
    start = np.array(robot.seed)[list(robot.independent)]
    q, qd, qdd = (0.2 * x for x in (np.sin(w * t), w * np.cos(w * t), -(w**2) * np.sin(w * t)))
    return Trajectory(t[:, 0], start + q, qd, qdd)


@pytest.mark.parametrize("robot", ["palletiser", "five_bar", four_bar()], ids=str)
def test_what_mujoco_is_off_by_falls_with_its_softness(robot: Robot | str) -> None:
    robot = (mi.read_robot(robot) if isinstance(robot, str) else robot).numeric
    found = soft_loops(robot, swing(robot))
    assert 8 < found.errors[0] / found.errors[1] < 12
    assert found.rigid < 0.02 * found.errors[1]
    assert "at impedance 0.9999" in found.sentence()


def test_a_wrong_mass_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = mi.read_robot("palletiser").numeric
    ours = module.inverse_dynamics
    heavy = replace(robot, links=(*robot.links[:-1], tuple(1.5 * v for v in robot.links[-1] or ())))
    monkeypatch.setattr(module, "inverse_dynamics", lambda given, *motion: ours(heavy, *motion))
    assert soft_loops(robot, swing(robot)).rigid > 1e-3
