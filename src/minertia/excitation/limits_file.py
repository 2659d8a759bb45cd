"""Limits as plain tables: from TOML files, commands and requests; `excitation-limits.toml` beside a trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tomli_w

from minertia.excitation.limits import MotionLimits, motion_limits
from minertia.excitation.options import FORMAT, JOINT_LIMITS, Box, LimitOptions, Obstacle, Workspace
from minertia.excitation.shapes import Shape, box
from minertia.io.errors import Infeasible
from minertia.io.schema import options, plain, read
from minertia.io.tables import CheckedTable
from minertia.robot.robot import Robot

FILE = "excitation-limits.toml"
HEAD = "# Limits that the trajectory in this folder respects.  `minertia run` checks them again before a robot moves.\n"
SPACE = ("self_collision", "margin", "radius", "transmission_deg")  # as a workspace calls them


@dataclass(frozen=True)
class LimitsTable(CheckedTable):
    """Limits of one file, or of one option of a command (without a source)."""

    def fail(self, message: str, key: str | None = None) -> Infeasible:
        """Return an error of this table, to be raised."""
        line = self.line(key)
        parts = [str(part) for part in (self.source, None if line is None else f"line {line}") if part is not None]
        told = [", ".join(parts)] if parts else []
        return Infeasible(": ".join([*told, *([self.where] if self.where else []), message]))


def limits_from_tables(robot: Robot, tables: Sequence[LimitsTable]) -> MotionLimits:
    """Limits of the robot file, changed by tables (see docs/excitation.md for their fields).

    Boxes, obstacles and feet of all tables accumulate; for any other field the last table takes precedence.
    """
    found: dict[str, Any] = {}
    for table in tables:
        given = read(table, LimitOptions)
        stated = {one.name: getattr(given, one.name) for one in options(LimitOptions) if one.key in table}
        for name in ("box", "obstacle", "foot"):
            stated[name] = (*found.get(name, ()), *getattr(given, name))
        if given.table is not None:
            stated["floor"] = given.table.height
        found |= stated
    found.pop("table", None)
    return limits_of(robot, LimitOptions(**found))


def limits_of(robot: Robot, given: LimitOptions) -> MotionLimits:
    """Motion limits of a robot from limit options."""
    boxes = [Box(frame, one.lower, one.upper) for one in given.box for frame in one.frame]
    obstacles = [box(one.name or f"obstacle {k}", one.centre, one.size) for k, one in enumerate(given.obstacle, 1)]
    floor = None if given.floor is False else given.floor
    space = Workspace(floor, obstacles=obstacles, boxes=boxes, **{name: getattr(given, name) for name in SPACE})
    joints = {name: getattr(given, name) for name in JOINT_LIMITS if name != "jerk"}
    limits = replace(motion_limits(robot, workspace=space, **joints), feet=given.foot,
                     contact_margin=given.contact_margin)  # fmt: skip
    return limits if given.jerk is None else limits.with_jerk(given.jerk)


# ---------------------------------------------------------------------- writing


def limits_toml(robot: Robot, limits: MotionLimits) -> str:
    """Text of the limits file; obstacles other than axis-aligned boxes are written as their bounding boxes."""
    return HEAD + tomli_w.dumps(limits_dict(robot, limits))


def limits_dict(robot: Robot, limits: MotionLimits) -> dict[str, Any]:
    """Plain data of joint limits, surroundings, and the robot that they apply to."""
    space = limits.workspace
    off = limits.missing.get("effort") == "switched off"
    found: dict[str, Any] = {
        "format": FORMAT,
        "position": np.column_stack([limits.lower, limits.upper]).tolist(),
        "velocity": limits.velocity.tolist(),
        "acceleration": limits.acceleration.tolist(),
        "jerk": None if limits.jerk is None else limits.jerk.tolist(),
        "effort": (False if off else None) if limits.effort is None else limits.effort.tolist(),
        "effort_margin": limits.effort_margin,
        "floor": False if space.floor is None else space.floor,
        **{name: getattr(space, name) for name in SPACE},
        "made_for": {"robot": robot.name, "joints": list(limits.names), "gravity": list(map(float, robot.gravity))},
        "box": [{"frame": b.frame, "lower": list(b.lower), "upper": list(b.upper)} for b in space.boxes],
        "obstacle": [plain(_obstacle(shape)) for shape in space.obstacles],
        **(
            {"foot": [plain(foot) for foot in limits.feet], "contact_margin": limits.contact_margin}
            if limits.feet
            else {}
        ),
    }
    return {name: value for name, value in found.items() if value is not None}


def _obstacle(shape: Shape) -> Obstacle:
    """Axis-aligned bounding box of a shape on the ground."""
    size = np.array(shape.size)
    half = {"sphere": size[[0, 0, 0]]} if len(size) == 1 else {"box": size}
    corner = half.get(shape.kind)
    if corner is None:  # capsules and cylinders: a radius, and half a length along z
        corner = np.array([size[0], size[0], size[-1] + (size[0] if shape.kind == "capsule" else 0.0)])
    sides = 2 * np.abs(np.asarray(shape.R, float)) @ corner
    return Obstacle(np.asarray(shape.p, float).tolist(), sides.tolist(), shape.name)
