"""MuJoCo key frames: postures and velocities at equal times, for `<include>` in a model."""

from __future__ import annotations

from collections.abc import Sequence

from minertia.codegen.targets.names import printable
from minertia.excitation.exports.motion import ControllerMotion
from minertia.io.errors import Infeasible

FILE = "keyframes.xml"


def texts(motion: ControllerMotion) -> dict[str, str]:
    """File of the key frames, each named after its part of the route with a number."""
    robot, path = motion.robot.numeric, motion.path
    if robot.open_cuts:
        raise Infeasible(
            f"key frames contain all joints of '{robot.name}', but a trajectory does not contain the "
            "passive joints of its loops"
        )
    joints = range(len(robot.joints))
    names = [printable(robot.joints[j].name) for j in joints]
    title = printable(robot.name).replace("--", "- ").rstrip("-")
    lines = [
        "<mujoco>",
        f"  <!-- {title}; qpos of {', '.join(names).replace('--', '- ')} in this order. Written by minertia. -->",
        "  <keyframe>",
    ]
    starts = [*motion.begins, len(path.t)]
    for part, first, end in zip(motion.route.names, starts[:-1], starts[1:], strict=True):
        for k in range(first, end):
            q = [float(robot.joint_position(j, list(path.q[k]))) for j in joints]
            qd = [float(robot.joint_rate(j, list(path.qd[k]))) for j in joints]
            place = f'name="{part}-{k - first:05d}" time="{path.t[k]:.9g}"'
            lines.append(f'    <key {place} qpos="{_row(q)}" qvel="{_row(qd)}"/>')
    return {FILE: "\n".join([*lines, "  </keyframe>", "</mujoco>", ""])}


def _row(values: Sequence[float]) -> str:
    return " ".join(f"{v + 0.0:.12g}" for v in values)
