"""A robot as plain data, for JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from minertia.algebra.show import text
from minertia.algebra.vec3 import Pose
from minertia.report.tables import moving_mass, parent_name
from minertia.robot.closure import cut_joints
from minertia.robot.joint import Cut, Joint
from minertia.robot.loop_forms import loop_forms
from minertia.robot.robot import Robot

FORMAT = 1


def robot_data(robot: Robot) -> dict[str, Any]:
    """Structure, placements in letters and in numbers, limits, drives, letters and notes."""
    return {
        "format": FORMAT,
        "robot": robot.name,
        "source": robot.source,
        "base": robot.base,
        "gravity": list(robot.gravity),
        "coordinates": list(robot.coordinate_names),
        "moving_mass": moving_mass(robot),
        "missing_links": list(robot.missing_links),
        "joints": [_joint(robot, j) for j in range(robot.n_joints)],
        "loops": [_loop(robot, cut, form) for cut, form in zip(robot.cuts, loop_forms(robot), strict=True)],
        "drive_coupling": None if robot.coupling is None else [list(row) for row in robot.coupling],
        "symbols": dict(robot.symbols),
        "notes": [asdict(note) for note in robot.notes],
    }


def _joint(robot: Robot, j: int) -> dict[str, Any]:
    joint, numeric = robot.joints[j], robot.numeric.joints[j]
    link, motor = robot.links[j], robot.coupled_motors.get(j)
    return {
        "number": j + 1,
        "name": joint.name,
        "kind": joint.kind,
        "parent": None if joint.parent is None else joint.parent + 1,
        "carried_by": parent_name(robot, joint),
        "link": joint.link,
        **_placement((joint.R, joint.p), (numeric.R, numeric.p)),
        "limits": asdict(joint.limits),
        "follows": _follows(robot, joint),
        "passive": joint.is_passive,
        "motor": joint.has_motor or j in robot.independent,
        "elastic": None if joint.elastic is None else asdict(joint.elastic),
        "parameters": None if link is None else [float(v) for v in link],
        "effects": dict(robot.effects[j]),
        "motor_effects": dict(robot.motor_effects[motor]) if motor is not None and robot.motor_effects else {},
        "constants": {symbol: dict(numbers) for symbol, numbers in robot.constants[j].items()},
    }


def _loop(robot: Robot, cut: Cut, form: str) -> dict[str, Any]:
    """A loop as its file has it; a cut joint with effects is a joint of the tree as well, which `joint` names."""
    pin, seen = robot.pin(cut), robot.uncut(cut)
    numeric = seen.at(robot.symbol_values)
    inside = sorted(cut_joints(robot, cut))
    return {
        "name": cut.name,
        "kind": seen.kind,
        "form": form,
        "joint": None if pin is None else robot.joints[pin].name,
        "first": _end(robot, seen.first, seen.first_pose, numeric.first_pose),
        "second": _end(robot, seen.second, seen.second_pose, numeric.second_pose),
        "seed": {} if robot.seed is None else {robot.joints[j].name: robot.seed[j] for j in inside},
    }


def _end(robot: Robot, j: int | None, pose: Pose, numeric: Pose) -> dict[str, Any]:
    return {"joint": None if j is None else robot.joints[j].name, **_placement(pose, numeric)}


def _placement(pose: Pose, numeric: Pose) -> dict[str, Any]:
    """A pose in letters and in numbers."""
    return {
        "position": [text(s) for s in pose[1]],
        "rotation": [[text(s) for s in row] for row in pose[0]],
        "position_value": [float(s) for s in numeric[1]],
        "rotation_value": [[float(s) for s in row] for row in numeric[0]],
    }


def _follows(robot: Robot, joint: Joint) -> dict[str, Any] | None:
    if joint.follows is None:
        return None
    leaders = [robot.joints[k].name for k in joint.follows.joints]
    found = {"joints": leaders, "ratios": list(joint.follows.ratios), "offset": joint.follows.offset}
    return found | ({"joint": leaders[0], "ratio": joint.follows.ratios[0]} if len(leaders) == 1 else {})
