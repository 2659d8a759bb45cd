"""Robots with force/torque sensors, which divide links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from minertia.algebra.vec3 import HERE
from minertia.io.errors import InputError
from minertia.robot.parameters import LINK_SYMBOLS, full_name, split_name
from minertia.robot.robot import Robot, find_frame
from minertia.robot.sensor import Sensor

PLATE = "plate"
Value = TypeVar("Value", float, np.ndarray)


def with_sensor(robot: Robot, place: str, name: str = "") -> Robot:
    """Robot with one more force/torque sensor.

    place: "plate" for a force plate under the base; the name of a joint for a sensor just before that joint, in its
    parent link; else the name of a link or frame, whose far part carries all joints after that link.  name: default:
    `place`.
    """
    if robot.cuts:
        raise InputError(f"'{robot.name}' has closed loops, which a force/torque sensor cannot divide; leave it out")
    if place == PLATE and PLATE not in (*robot.frames, *(joint.name for joint in robot.joints)):
        if robot.is_floating:
            raise InputError(f"'{robot.name}' has a floating base; a force plate needs a fixed one (--base fixed)")
        found = Sensor(name or PLATE, None, HERE, _children(robot, None))
    elif place in [joint.name for joint in robot.joints]:
        j = robot.joint_index(place)
        joint = robot.joints[j]
        found = Sensor(name or place, joint.parent, (joint.R, joint.p), (j,))
    else:
        frame = find_frame(robot, place)
        found = Sensor(name or place, frame.joint, frame.pose, _children(robot, frame.joint))
    return replace(robot, sensors=_together((*robot.sensors, found)))


def with_sensors(robot: Robot, places: Sequence[str]) -> Robot:
    """Robot with force/torque sensors at these places (see `with_sensor`)."""
    for place in places:
        robot = with_sensor(robot, place)
    return robot


def whole_links(robot: Robot, values: Mapping[str, Value]) -> dict[str, Value]:
    """Standard parameters of links without sensors: near and far parts added, biases of sensors left out.

    A sensor with several loads counts once, with the first load.
    """
    # names of effects may have a tag, such as FS1@0.3
    found = {name: v for name, v in values.items() if split_name(name.partition("@")[0])[1] <= robot.n_joints}
    for k in robot.first_loads:
        joint = robot.sensors[k].joint
        for symbol in LINK_SYMBOLS:
            near, far = (
                full_name(symbol, number) for number in (0 if joint is None else joint + 1, robot.n_joints + k + 1)
            )
            if near in found and far in values:
                found[near] = found[near] + values[far]
    return found


def _children(robot: Robot, parent: int | None) -> tuple[int, ...]:
    return tuple(j for j, joint in enumerate(robot.joints) if joint.parent == parent)


def _together(sensors: tuple[Sensor, ...]) -> tuple[Sensor, ...]:
    """Sensors of one robot; a joint is beyond at most one sensor of its parent link."""
    *others, last = sensors
    for one in others:
        if one.name == last.name:
            raise InputError(f"two sensors have the name '{last.name}'; give each its own name")
        if set(one.beyond) & set(last.beyond):
            raise InputError(
                f"the sensors '{one.name}' and '{last.name}' divide the same link; name the joint that each one carries"
            )
    return sensors
