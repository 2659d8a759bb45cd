"""Bags with commands: each state gets the command that came last, whatever kind of message told it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minertia import read_robot
from minertia.identification.logs.options import ColumnMap
from minertia.identification.logs.readers import column_names, open_log, read_recording
from minertia.io.errors import RecordingError

bags = pytest.importorskip("rosbags.rosbag2")
typesys = pytest.importorskip("rosbags.typesys")
T = np.arange(60) / 100
Q = np.column_stack([np.sin(T), np.cos(T)])
START = 1_700_000_000 * 10**9
NAMES = ("elbow", "shoulder")  # in the order of the messages
TOLD = 10  # the first command comes between the states before and at this one; then one for every third
MOTORS = """float32 q
float32 dq
float32 tau_est
"""


def store():
    found = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    for name, text in {
        "unitree_go/msg/MotorState": MOTORS,
        "unitree_go/msg/MotorCmd": "float32 q\nfloat32 kp\n",
        "unitree_go/msg/LowState": "unitree_go/MotorState[2] motor_state\n",
        "unitree_go/msg/LowCmd": "unitree_go/MotorCmd[2] motor_cmd\n",
        "control_msgs/msg/ControllerState": "string[] joint_names\ntrajectory_msgs/JointTrajectoryPoint reference\n",
    }.items():
        found.register(typesys.get_types_from_msg(text, name))
    return found


STORE = store()
TYPES: Any = STORE.types


def state(k: int) -> Any:
    stamp = START + round(1e9 * T[k])
    time = TYPES["builtin_interfaces/msg/Time"](sec=stamp // 10**9, nanosec=stamp % 10**9)
    header = TYPES["std_msgs/msg/Header"](stamp=time, frame_id="")
    return TYPES["sensor_msgs/msg/JointState"](header, list(NAMES), Q[k, ::-1].copy(), np.zeros(0), np.zeros(0))


def motors(k: int) -> Any:
    kind = TYPES["unitree_go/msg/MotorState"]
    return TYPES["unitree_go/msg/LowState"]([kind(*map(float, (q, -q, 2 * q))) for q in Q[k]])


def point(q: Any) -> Any:
    duration = TYPES["builtin_interfaces/msg/Duration"](0, 0)
    return TYPES["trajectory_msgs/msg/JointTrajectoryPoint"](q, np.zeros(0), np.zeros(0), np.zeros(0), duration)


def told(kind: str, k: int) -> Any:
    """The command of a kind in force from a state on: ten times its number, and that negative."""
    q = np.array([-10.0 * k, 10.0 * k])  # elbow, shoulder
    layout = TYPES["std_msgs/msg/MultiArrayLayout"]([], 0)
    header = state(k).header
    made = {
        "sensor_msgs/msg/JointState": lambda: TYPES[kind](header, list(NAMES), q, np.zeros(0), np.zeros(0)),
        "std_msgs/msg/Float64MultiArray": lambda: TYPES[kind](layout, q[::-1].copy()),
        "trajectory_msgs/msg/JointTrajectory": lambda: TYPES[kind](header, list(NAMES), [point(q)]),
        "control_msgs/msg/ControllerState": lambda: TYPES[kind](list(NAMES), point(q)),
        "unitree_go/msg/LowCmd": lambda: TYPES[kind](
            [TYPES["unitree_go/msg/MotorCmd"](float(v), 20.0) for v in q[::-1]]
        ),
    }
    return made[kind]()


def bag(path: Path, kind: str, make_state: Any = state, state_kind: str = "sensor_msgs/msg/JointState") -> Path:
    with bags.Writer(path, version=9, storage_plugin=bags.StoragePlugin.MCAP) as writer:
        states = writer.add_connection("/states", state_kind, typestore=STORE)
        commands = writer.add_connection("/told", kind, typestore=STORE)
        for k in range(len(T)):
            at = START + round(1e9 * T[k])
            if k >= TOLD and (k - TOLD) % 3 == 0:
                writer.write(commands, at - 1000, STORE.serialize_cdr(told(kind, k), kind))
            writer.write(states, at, STORE.serialize_cdr(make_state(k), state_kind))
    return path


def robot():
    plain = read_robot("planar2r")
    joints = tuple(replace(j, name=name) for j, name in zip(plain.joints, ("shoulder", "elbow"), strict=True))
    return replace(plain, joints=joints)


def table(path: Path, columns: ColumnMap) -> dict[str, np.ndarray]:
    log = open_log(path, columns)
    blocks = list(log.blocks(frozenset(log.names()), 7))
    return {name: np.concatenate([b.columns[name] for b in blocks]) for name in log.names()}


@pytest.mark.parametrize(
    "kind, names",
    [
        ("sensor_msgs/msg/JointState", ("command_shoulder", "command_elbow")),
        ("std_msgs/msg/Float64MultiArray", ("q_cmd1", "q_cmd2")),
        ("trajectory_msgs/msg/JointTrajectory", ("command_shoulder", "command_elbow")),
        ("control_msgs/msg/ControllerState", ("command_shoulder", "command_elbow")),
    ],
)
def test_each_state_has_the_command_in_force(tmp_path, kind, names):
    found = table(bag(tmp_path / "bag", kind), ColumnMap(command_topic="/told"))
    in_force = 10.0 * (np.arange(TOLD, len(T)) - (np.arange(TOLD, len(T)) - TOLD) % 3)
    np.testing.assert_array_equal(found[names[0]], in_force)
    np.testing.assert_array_equal(found[names[1]], -in_force)
    np.testing.assert_allclose(found["position_shoulder"], Q[TOLD:, 0])
    np.testing.assert_allclose(found["t"], T[TOLD:] - T[TOLD], atol=1e-9)


def test_without_a_topic_of_commands_all_states_are_read(tmp_path):
    path = bag(tmp_path / "bag", "std_msgs/msg/Float64MultiArray")
    assert len(read_recording(path, robot(), effort=False)) == len(T)
    assert not any("cmd" in name for name in column_names(path))


def test_motors_of_unitree(tmp_path):
    path = bag(tmp_path / "bag", "unitree_go/msg/LowCmd", motors, "unitree_go/msg/LowState")
    columns = ColumnMap(q="motor{j0}_q", effort="motor{j0}_tau", effort_unit="Nm", command_topic="/told")
    log = read_recording(path, robot(), columns)
    np.testing.assert_allclose(log.q, Q[TOLD:], atol=1e-6)
    np.testing.assert_allclose(log.tau, 2 * Q[TOLD:], atol=1e-6)
    found = table(path, columns)
    assert found["motor0_q_cmd"][0] == 10 * TOLD and found["motor1_q_cmd"][-1] == -found["motor0_q_cmd"][-1]


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda q: [point(q), point(q)], "contains 2 points"),
        (lambda q: [], "contains 0 points"),
        (lambda q: [point(q[:1])], "1 positions for 2 joints"),
    ],
)
def test_commands_that_cannot_be_read_are_sentences(tmp_path, change, said, monkeypatch):
    kind = "trajectory_msgs/msg/JointTrajectory"
    make = lambda kind, k: TYPES[kind](state(k).header, list(NAMES), change(np.zeros(2)))  # noqa: E731
    monkeypatch.setattr("tests.identification.test_command_topics.told", make)
    with pytest.raises(RecordingError, match=said):
        column_names(bag(tmp_path / "bag", kind), ColumnMap(command_topic="/told"))


def test_a_topic_that_is_not_there(tmp_path):
    path = bag(tmp_path / "bag", "std_msgs/msg/Float64MultiArray")
    with pytest.raises(RecordingError, match=r"no topic '/other' for commands; the bag has: /states .*, /told"):
        column_names(path, ColumnMap(command_topic="/other"))
    with pytest.raises(RecordingError, match="no messages of type"):
        column_names(path, ColumnMap(command_topic="/states"))
