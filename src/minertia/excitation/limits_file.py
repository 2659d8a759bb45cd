"""`excitation-limits.toml`: what a motion was held against, beside its files, as `--limits FILE` takes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import tomli_w

from minertia.excitation.limits import MotionLimits
from minertia.excitation.shapes import Shape
from minertia.robot.robot import Robot

FORMAT = 1
FILE = "excitation-limits.toml"
HEAD = "# What the motion in this folder keeps.  `minertia run` holds it against this again, before a robot moves.\n"


def limits_toml(robot: Robot, limits: MotionLimits) -> str:
    """The file of limits; obstacles that are no boxes along the axes are written as the boxes around them."""
    return HEAD + tomli_w.dumps(limits_dict(robot, limits))


def limits_dict(robot: Robot, limits: MotionLimits) -> dict[str, Any]:
    """Plain data: limits of the joints, surroundings, and which robot they are for."""
    space = limits.workspace
    found: dict[str, Any] = {
        "format": FORMAT,
        "position": np.column_stack([limits.lower, limits.upper]).tolist(),
        "velocity": limits.velocity.tolist(),
        "acceleration": limits.acceleration.tolist(),
        "effort_margin": limits.effort_margin,
        "floor": False if space.floor is None else space.floor,
        "self_collision": space.self_collision,
        "transmission_deg": space.transmission_deg,
    }
    found |= {name: getattr(space, name) for name in ("margin", "radius") if getattr(space, name) is not None}
    found |= {} if limits.jerk is None else {"jerk": limits.jerk.tolist()}
    if limits.effort is not None or limits.missing.get("effort") == "switched off":
        found["effort"] = False if limits.effort is None else limits.effort.tolist()
    found["made_for"] = {"robot": robot.name, "joints": list(limits.names), "gravity": list(map(float, robot.gravity))}
    found["box"] = [{"frame": b.frame, "lower": list(b.lower), "upper": list(b.upper)} for b in space.boxes]
    found["obstacle"] = [_obstacle(shape) for shape in space.obstacles]
    return found


def _obstacle(shape: Shape) -> dict[str, Any]:
    """The box along the axes around a shape on the ground."""
    size = np.array(shape.size)
    half = {"sphere": size[[0, 0, 0]]} if len(size) == 1 else {"box": size}
    corner = half.get(shape.kind)
    if corner is None:  # capsules and cylinders: a radius, and half a length along z
        corner = np.array([size[0], size[0], size[-1] + (size[0] if shape.kind == "capsule" else 0.0)])
    sides = 2 * np.abs(np.asarray(shape.R, float)) @ corner
    return {"name": shape.name, "centre": np.asarray(shape.p, float).tolist(), "size": sides.tolist()}
