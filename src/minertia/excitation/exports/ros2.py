"""`trajectory_msgs/msg/JointTrajectory` in the YAML that `ros2 topic pub` and `ros2 action send_goal` take."""

from __future__ import annotations

import json
from collections.abc import Sequence

from minertia.codegen.targets.names import comment
from minertia.excitation.exports.motion import ControllerMotion

FILE = "joint_trajectory.yaml"
NANO = 1_000_000_000


def texts(motion: ControllerMotion) -> dict[str, str]:
    """The message as one YAML file."""
    path, parts = motion.path, ", ".join(motion.route.names)
    lines = [
        f"# {comment(motion.robot.name)}: {parts}; {motion.rate:g} Hz. Written by minertia.",
        "# ros2 topic pub --once /joint_trajectory_controller/joint_trajectory trajectory_msgs/msg/JointTrajectory \\",
        f'#   "$(cat {FILE})"',
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
    """A YAML string in double quotes, all of it ASCII: escapes of JSON, those beyond 16 bits as YAML has them."""
    return '"' + "".join(c if ord(c) < 0x10000 else f"\\U{ord(c):08x}" for c in _escaped(text)) + '"'


def _escaped(text: str) -> str:
    parts = [c if ord(c) >= 0x10000 else json.dumps(c)[1:-1] for c in text]
    return "".join(parts)


def _row(values: Sequence[float]) -> str:
    """Numbers that YAML 1.1 takes for floats: a point in each, also before an exponent."""
    return "[" + ", ".join(_float(float(v) + 0.0) for v in values) + "]"


def _float(value: float) -> str:
    text = f"{value:.12g}"
    mantissa, e, exponent = text.partition("e")
    return (mantissa if "." in mantissa else f"{mantissa}.0") + e + exponent
