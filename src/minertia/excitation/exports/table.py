"""The table of files for controllers: name -> what it is for, its usual rate, what writes it."""

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
    """One format: whom it is for, the rate [Hz] unless told otherwise, its files, and {name of a file: its text}.

    programs: {name: text} of what stands beside these files whatever the motion is.
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
            "a ROS 2 JointTrajectory message in YAML, and a program that sends it",
            100.0,
            (ros2.FILE,),
            ros2.texts,
            {ros2.PROGRAM: ros2.SENDER},
        ),
        "urscript": Export("a program for Universal Robots", 500.0, (urscript.FILE,), urscript.texts),
        "krl": Export("a program for KUKA robots (.src, .dat)", 20.0, krl.FILES, krl.texts),
        "franka": Export("a libfranka program and its samples", 1000.0, (franka.PROGRAM, franka.SAMPLES), franka.texts),
        "mujoco": Export("key frames for MuJoCo models", 20.0, (keyframes.FILE,), keyframes.texts),
        "csv": Export("all samples in one CSV file", 500.0, ("route.csv",), _csv),
    }
)


def export(robot: Robot, route: Route, form: str, rate: float | None = None) -> dict[str, str]:
    """{name of a file: its text} of a route for a kind of controller, at `rate` [Hz] (the usual one unless told)."""
    if form not in EXPORTS:
        raise UnknownName("file for a controller", form, tuple(EXPORTS))
    found = EXPORTS[form]
    return found.texts(ControllerMotion.of(robot, route, found.rate if rate is None else rate))
