"""Table of controller exports: name -> purpose, default rate, writer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from minertia.excitation.exports import franka, keyframes, krl, ros2, urscript
from minertia.excitation.exports.motion import ControllerMotion
from minertia.excitation.route import Route
from minertia.io.errors import UnknownName
from minertia.robot.robot import Robot


@dataclass(frozen=True)
class Export:
    """Export format: its purpose, default rate [Hz], its files, and {file name: text}.

    programs: {name: text} of files that do not depend on the motion.
    """

    what: str
    rate: float
    files: tuple[str, ...]
    texts: Callable[[ControllerMotion], dict[str, str]]
    programs: Mapping[str, str] = field(default_factory=dict)


def _csv(motion: ControllerMotion) -> dict[str, str]:
    return {"route.csv": motion.path.to_csv()}


EXPORTS: Mapping[str, Export] = MappingProxyType(
    {
        "ros2": Export(
            "a `trajectory_msgs/msg/JointTrajectory`, 100 Hz by default, and a program that sends it "
            "([below](#a-joint-trajectory-for-ros-2))",
            100.0,
            (ros2.FILE,),
            ros2.texts,
            {ros2.PROGRAM: ros2.SENDER},
        ),
        "urscript": Export(
            "`servoj` at up to 500 Hz; six joints. Stops if the robot is not within 0.01 rad of the first posture",
            500.0,
            (urscript.FILE,),
            urscript.texts,
        ),
        "krl": Export(
            "a `PTP_SPLINE` per part with a `TIME_BLOCK` (KSS 8.3 and later); 20 points per second by "
            "default, 2000 at most; degrees and mm",
            20.0,
            krl.FILES,
            krl.texts,
        ),
        "franka": Export(
            "a libfranka program at 1 kHz for seven joints; an error beyond the limits of Panda or FR3",
            1000.0,
            (franka.PROGRAM, franka.SAMPLES),
            franka.texts,
        ),
        "mujoco": Export(
            "key frames with times, positions and velocities; 20 per second by default",
            20.0,
            (keyframes.FILE,),
            keyframes.texts,
        ),
        "csv": Export("`t`, `q1..`, `qd1..`, `qdd1..`; 500 Hz by default", 500.0, ("route.csv",), _csv),
    }
)


def export(robot: Robot, route: Route, form: str, rate: float | None = None) -> dict[str, str]:
    """{file name: text} of a route for a kind of controller; rate [Hz]: by default the rate of the format."""
    if form not in EXPORTS:
        raise UnknownName("file for a controller", form, tuple(EXPORTS))
    found = EXPORTS[form]
    return found.texts(ControllerMotion.of(robot, route, found.rate if rate is None else rate))
