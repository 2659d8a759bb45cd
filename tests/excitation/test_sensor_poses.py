"""Planned poses of a force/torque sensor: inside limits, free of collision, better than random ones."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from minertia.cli.root import app
from minertia.dynamics.model import forward_kinematics
from minertia.excitation.limits_file import limits_from_tables
from minertia.excitation.sensor_poses import _candidates, _columns, _information, plan_sensor_poses
from minertia.io.errors import InputError, MinertiaError
from minertia.robot.files import read_robot


def test_planned_poses_are_clear_and_better_than_random_ones():
    robot = read_robot("ur10e", letters=False)
    limits = limits_from_tables(robot, [])
    plan = plan_sensor_poses(robot, "tool0", 7, limits)
    assert plan.q.shape == (7, 6)
    assert np.all(plan.q >= limits.lower) and np.all(plan.q <= limits.upper)
    assert limits.clearance is not None and limits.clearance.room(plan.q).min() > 0

    def volume(q):
        R = np.asarray(forward_kinematics(robot, q, "tool0")[0])
        J = _columns(np.einsum("nji,j->ni", R, -np.array(robot.gravity)))
        return np.linalg.slogdet(_information(J, list(range(len(q)))))[1]

    q = _candidates(limits, 7, robot.name)
    drawn = [volume(q[k : k + 7]) for k in range(0, 700, 7)]
    assert volume(plan.q) > max(drawn)


def test_command_writes_them(tmp_path):
    given = ["excite", "ur10e", "--sensor", "tool0", "--poses", "5", "--out", str(tmp_path), "--json"]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    assert len(json.loads(done.stdout)["poses"]) == 5
    assert (tmp_path / "poses.csv").read_text().startswith("shoulder_pan_joint,")


def test_wrong_requests_are_one_sentence():
    robot = read_robot("ur10e", letters=False)
    limits = limits_from_tables(robot, [])
    with pytest.raises(InputError, match="at least 3 poses"):
        plan_sensor_poses(robot, "tool0", 2, limits)
    with pytest.raises(MinertiaError, match="no frame called 'hand'"):
        plan_sensor_poses(robot, "hand", 5, limits)
    with pytest.raises(InputError, match="no gravity"):
        plan_sensor_poses(robot.with_gravity((0, 0, 0)), "tool0", 5, limits)
