"""Coulomb friction made smooth through standstill."""

from __future__ import annotations

import math

from minertia.io.errors import InputError
from minertia.robot.given import RobotLike, as_robot
from minertia.robot.robot import Robot


def smooth_friction(robot: RobotLike, width: float = 0.02) -> Robot:
    """The robot with FC tanh(qd / width) for FC sign(qd), at its joints and motors; width in rad/s or m/s.

    Where a joint already has both kinds they cannot be told apart afterwards, which is an InputError.
    """
    robot = as_robot(robot)
    if not (math.isfinite(width) and width > 0):
        raise InputError(f"the width of smooth friction is a velocity above 0 [rad/s or m/s], not {width:g}")
    values, constants = dict[str, float](), dict[str, dict[str, float]]()
    for name, value in robot.effect_values.items():
        symbol, link = name.rstrip("0123456789"), name[len(name.rstrip("0123456789")) :]
        if symbol not in ("FC", "FCM"):
            continue
        smooth = f"FCT{symbol[2:]}{link}"
        if smooth in robot.effect_values:
            raise InputError(f"joint {link} of '{robot.name}' has {name} and {smooth}; leave one of them out first")
        values |= {name: 0.0, smooth: value}
        constants[smooth] = {"width": width}
    return robot.with_parameters(values, constants)
