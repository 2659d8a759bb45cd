"""The program that sends a joint trajectory: run as users run it, with small stand-ins for the modules of ROS 2.

ROS 2 is on no package index; the stand-ins have the calls that the program makes, and write down what reached them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minertia import read_robot
from minertia.excitation.exports.motion import ControllerMotion
from minertia.excitation.exports.ros2 import FILE, PROGRAM, SENDER
from minertia.excitation.exports.table import export
from tests.excitation.test_exports import ODD, _renamed, way

pytest.importorskip("yaml")

STAND_INS = {
    "builtin_interfaces/msg.py": """
class Duration:
    def __init__(self, sec, nanosec):
        self.sec, self.nanosec = sec, nanosec
""",
    "trajectory_msgs/msg.py": """
class JointTrajectory:
    def __init__(self):
        self.joint_names, self.points = [], []
class JointTrajectoryPoint:
    pass
""",
    "sensor_msgs/msg.py": "class JointState:\n    pass\n",
    "action_msgs/msg.py": "class GoalStatus:\n    STATUS_SUCCEEDED = 4\n",
    "control_msgs/action.py": """
class FollowJointTrajectory:
    class Goal:
        pass
""",
    "rclpy/action.py": """
import json, os
from types import SimpleNamespace
WORLD = json.loads(os.environ["WORLD"])
class Future:
    def __init__(self, value):
        self.value = value
    def result(self):
        return self.value
class ActionClient:
    def __init__(self, node, kind, name):
        self.name = name
    def wait_for_server(self, timeout_sec):
        return self.name == WORLD["action"]
    def send_goal_async(self, goal):
        points = [[p.positions, p.velocities, p.accelerations, p.time_from_start.sec, p.time_from_start.nanosec]
                  for p in goal.trajectory.points]
        with open(WORLD["sent"], "w") as file:
            json.dump([goal.trajectory.joint_names, points], file)
        outcome = SimpleNamespace(error_code=WORLD["error"], error_string="path tolerance violated")
        ended = SimpleNamespace(status=4 if WORLD["error"] == 0 else 6, result=outcome)
        return Future(SimpleNamespace(accepted=WORLD["accepts"], get_result_async=lambda: Future(ended)))
""",
    "rclpy/__init__.py": """
from types import SimpleNamespace
from rclpy.action import WORLD
heard = []
class Node:
    def create_subscription(self, kind, topic, callback, depth):
        if topic == "/joint_states":
            heard.append(callback)
    def destroy_subscription(self, subscription):
        heard.clear()
    def destroy_node(self):
        pass
def init():
    pass
def try_shutdown():
    pass
def create_node(name):
    return Node()
def spin_once(node, timeout_sec):
    for callback in heard:
        for name, position in WORLD["here"].items():  # one joint a message, as several drivers tell theirs
            callback(SimpleNamespace(name=[name], position=[position]))
def spin_until_future_complete(node, future):
    pass
""",
}


@pytest.fixture
def robot():
    return _renamed(read_robot("puma560"), ODD)


@pytest.fixture
def folder(tmp_path: Path, robot) -> Path:
    """A folder with the files of an export, and one with the stand-ins."""
    for name, text in STAND_INS.items():
        path = tmp_path / "ros" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / PROGRAM).write_text(SENDER, encoding="utf-8")
    (tmp_path / FILE).write_text(export(robot, way(6), "ros2", 10.0)[FILE], encoding="utf-8")
    return tmp_path


def sent(folder: Path, robot, *args: str, off: float = 0.0, **world: object) -> subprocess.CompletedProcess[str]:
    names = robot.coordinate_names
    first = way(6).parts[0][1].postures[0] + off
    told = {"here": dict(zip(names, first.tolist(), strict=True)), "error": 0, "accepts": True}
    told |= {
        "action": "/joint_trajectory_controller/follow_joint_trajectory",
        "sent": str(folder / "sent.json"),
        **world,
    }
    env = {**os.environ, "PYTHONPATH": str(folder / "ros"), "WORLD": json.dumps(told)}
    command = [sys.executable, str(folder / PROGRAM), *args]
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd="/", timeout=120, check=False)


def test_every_point_reaches_the_controller(folder: Path, robot) -> None:
    """A file larger than any argument of a command: all of it is sent, equal to the motion."""
    (folder / FILE).write_text(export(robot, way(6, 2.0), "ros2")[FILE], encoding="utf-8")
    assert (folder / FILE).stat().st_size > 131072
    assert "ros2 topic pub" not in (folder / FILE).read_text(encoding="utf-8") and PROGRAM in (folder / FILE).read_text(
        encoding="utf-8"
    )
    done = sent(folder, robot)
    assert done.returncode == 0 and "the motion has ended" in done.stdout, done.stderr
    names, points = json.loads((folder / "sent.json").read_text())
    path = ControllerMotion.of(robot, way(6, 2.0), 100.0).path
    assert names == list(robot.coordinate_names) and len(points) == len(path.t)
    for k, values in enumerate((path.q, path.qd, path.qdd)):
        np.testing.assert_allclose([point[k] for point in points], values, atol=1e-10)
    np.testing.assert_allclose([sec + 1e-9 * nano for *_, sec, nano in points], path.t, atol=1e-9)


@pytest.mark.parametrize(
    ("world", "args", "sentence", "is_sent"),
    [
        ({"off": 0.02}, (), "and the motion begins at", False),
        ({"off": float("nan")}, (), "and the motion begins at", False),
        ({"here": {"j2": 0.0}}, ("--wait", "0.3"), "has not told where", False),
        ({"action": "/other"}, (), "no controller offers", False),
        ({"accepts": False}, (), "the controller refuses", True),
        ({"error": -4}, (), "path tolerance violated", True),
    ],
)
def test_what_ends_it_with_a_sentence(folder: Path, robot, world, args, sentence: str, is_sent: bool) -> None:
    done = sent(folder, robot, *args, **world)
    assert done.returncode == 1 and sentence in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert (folder / "sent.json").exists() == is_sent
