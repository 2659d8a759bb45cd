"""`trajectory_msgs/msg/JointTrajectory` in YAML, and a program that sends it as a goal of FollowJointTrajectory.

The message of an ordinary trajectory exceeds the size limit of a command-line argument (128 kB on Linux), so
`ros2 topic pub` and `ros2 action send_goal` cannot take it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from minertia.codegen.targets.names import comment
from minertia.excitation.exports.motion import ControllerMotion

FILE = "joint_trajectory.yaml"
PROGRAM = "send_trajectory.py"
NANO = 1_000_000_000

SENDER = '''#!/usr/bin/env python3
"""Sends joint_trajectory.yaml to a joint_trajectory_controller of ros2_control and waits for its end.

    python3 send_trajectory.py
    python3 send_trajectory.py other.yaml --action /scaled_joint_trajectory_controller/follow_joint_trajectory

It refuses to begin unless the robot stands within --tolerance of the first posture; Ctrl-C cancels the motion.
Written by minertia.
"""

import argparse
import sys
import threading
from pathlib import Path

import rclpy
import yaml
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

BESIDE = Path(__file__).resolve().parent / "joint_trajectory.yaml"


def read(file):
    """The message of a file."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    data = yaml.load(Path(file).read_text(encoding="utf-8"), Loader=loader)
    message = JointTrajectory()
    message.joint_names = [str(name) for name in data["joint_names"]]
    for given in data["points"]:
        point = JointTrajectoryPoint()
        for field in ("positions", "velocities", "accelerations"):
            values = [float(value) for value in given[field]]
            if len(values) != len(message.joint_names):
                sys.exit(f"{file}: a point has {len(values)} {field} for {len(message.joint_names)} joints")
            setattr(point, field, values)
        time = given["time_from_start"]
        point.time_from_start = Duration(sec=int(time["sec"]), nanosec=int(time["nanosec"]))
        message.points.append(point)
    if not message.points:
        sys.exit(f"{file}: there are no points")
    return message


def posture(node, topic, names, seconds):
    """Positions of the joints now, in the order of the message."""
    known, complete = {}, threading.Event()

    def heard(state):
        known.update(zip(state.name, state.position))
        if all(name in known for name in names):
            complete.set()

    subscription = node.create_subscription(JointState, topic, heard, 10)
    left = seconds
    while not complete.is_set() and left > 0:
        rclpy.spin_once(node, timeout_sec=0.1)
        left -= 0.1
    node.destroy_subscription(subscription)
    lost = [name for name in names if name not in known]
    if lost:
        sys.exit(f"{topic} has not told where {', '.join(lost)} is; name the joints as the robot's driver does")
    return [known[name] for name in names]


def refuse_jump(message, here, tolerance):
    """End where the motion does not begin at the posture of the robot."""
    for name, now, first in zip(message.joint_names, here, message.points[0].positions):
        if not abs(now - first) <= tolerance:
            sys.exit(f"joint {name} is at {now:.4f}, and the motion begins at {first:.4f}: move it there first")


def send(node, action, message, seconds):
    """Send the goal and wait for its result; the exit code."""
    client = ActionClient(node, FollowJointTrajectory, action)
    if not client.wait_for_server(timeout_sec=seconds):
        sys.exit(f"no controller offers {action}; see: ros2 action list")
    goal = FollowJointTrajectory.Goal()
    goal.trajectory = message
    future = client.send_goal_async(goal)
    rclpy.spin_until_future_complete(node, future)
    handle = future.result()
    if not handle.accepted:
        sys.exit("the controller refuses the motion; its log says why")
    result = handle.get_result_async()
    try:
        rclpy.spin_until_future_complete(node, result)
    except KeyboardInterrupt:
        rclpy.spin_until_future_complete(node, handle.cancel_goal_async())
        sys.exit("cancelled")
    ended = result.result()
    if ended.status != GoalStatus.STATUS_SUCCEEDED or ended.result.error_code != 0:
        sys.exit(f"the motion did not end: {ended.result.error_string or ended.result.error_code or ended.status}")
    print("the motion has ended")
    return 0


def main():
    parser = argparse.ArgumentParser(description="Send a joint trajectory to a controller of ros2_control.")
    parser.add_argument("file", nargs="?", default=str(BESIDE), help="the message in YAML")
    parser.add_argument("--action", default="/joint_trajectory_controller/follow_joint_trajectory")
    parser.add_argument("--states", default="/joint_states", help="topic of the joint states")
    parser.add_argument("--tolerance", type=float, default=0.01, help="of the first posture [rad or m]")
    parser.add_argument("--wait", type=float, default=10.0, help="for states and controller [s]")
    args = parser.parse_args(sys.argv[1:])
    message = read(args.file)
    rclpy.init()
    node = rclpy.create_node("minertia_send_trajectory")
    try:
        refuse_jump(message, posture(node, args.states, message.joint_names, args.wait), args.tolerance)
        return send(node, args.action, message, args.wait)
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == "__main__":
    sys.exit(main())
'''


def texts(motion: ControllerMotion) -> dict[str, str]:
    """File of the message in YAML."""
    path, parts = motion.path, ", ".join(motion.route.names)
    lines = [
        f"# {comment(motion.robot.name)}: {parts}; {motion.rate:g} Hz. Written by minertia.",
        f"# python3 {PROGRAM} sends it to a joint_trajectory_controller.",
        "header: {stamp: {sec: 0, nanosec: 0}, frame_id: ''}",
        f"joint_names: [{', '.join(quoted(name) for name in motion.names)}]",
        "points:",
    ]
    for t, q, qd, qdd in zip(path.t, path.q, path.qd, path.qdd, strict=True):
        sec, nano = divmod(round(float(t) * NANO), NANO)
        lines += [
            f"- positions: {_row(q)}",
            f"  velocities: {_row(qd)}",
            f"  accelerations: {_row(qdd)}",
            "  effort: []",
            f"  time_from_start: {{sec: {sec}, nanosec: {nano}}}",
        ]
    return {FILE: "\n".join(lines) + "\n"}


def quoted(text: str) -> str:
    """ASCII YAML string in double quotes: JSON escapes, and YAML escapes for characters beyond 16 bits."""
    return '"' + "".join(c if ord(c) < 0x10000 else f"\\U{ord(c):08x}" for c in _escaped(text)) + '"'


def _escaped(text: str) -> str:
    parts = [c if ord(c) >= 0x10000 else json.dumps(c)[1:-1] for c in text]
    return "".join(parts)


def _row(values: Sequence[float]) -> str:
    """Numbers that YAML 1.1 reads as floats: with a decimal point, also before an exponent."""
    return "[" + ", ".join(_float(float(v) + 0.0) for v in values) + "]"


def _float(value: float) -> str:
    text = f"{value:.12g}"
    mantissa, e, exponent = text.partition("e")
    return (mantissa if "." in mantissa else f"{mantissa}.0") + e + exponent
