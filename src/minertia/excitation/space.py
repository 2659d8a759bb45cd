"""Default workspace of a motion: above the base plane, without self-collision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from minertia.excitation.capsules import robot_body
from minertia.excitation.collision import CollisionModel
from minertia.excitation.options import BASE, USUAL, Workspace
from minertia.io.errors import Infeasible
from minertia.robot.robot import Robot

MOST = 4  # links named in a sentence
STANDS = 0.05  # part of random postures above the base plane below which that is not what the robot stands on


@dataclass(frozen=True)
class Room:
    """Collision model of a workspace; None if there is nothing to check.

    missing: {"floor" or "self collision": reason why it is not checked}.
    """

    model: CollisionModel | None
    missing: Mapping[str, str] = field(default_factory=dict)


def room(robot: Robot, space: Workspace = USUAL) -> Room:
    """Collision model of a robot in a workspace."""
    floor = space.floor
    missing = {} if space.self_collision else {"self collision": "switched off"}
    missing |= {"floor": "switched off"} if floor is None else {}
    unknown = [name for name, value in robot.symbols.items() if value is None]
    if unknown:
        if space.obstacles or not (floor is None or floor == BASE):
            raise Infeasible(f"distances depend on the lengths of '{robot.name}'; give values for {', '.join(unknown)}")
        why = f"{', '.join(unknown)} have no value"
        return Room(None, {"floor": why, "self collision": why} | missing)
    height, why = _height(robot, floor)
    if why:
        missing["floor"] = why
    if height is None and not space.self_collision and not space.obstacles:
        return Room(None, missing)

    def model(height: float | None) -> CollisionModel:
        body = robot_body(robot, space.radius)
        return CollisionModel(
            robot, body, space.obstacles, floor=height, margin=space.margin, among_links=space.self_collision
        )

    found = model(height)
    if floor != BASE and found.below:
        raise Infeasible(
            f"{', '.join(found.below[:MOST])} cannot rise above the floor at z = {height:g} m of the base frame "
            "in any posture; give a lower floor with --floor, or none"
        )
    if floor == BASE and height is not None and found.standing < STANDS:
        missing["floor"] = f"'{robot.name}' is below its base plane in nearly every posture"
        found = model(None)
    return Room(found if found.counts else None, missing)


def _height(robot: Robot, floor: float | str | None) -> tuple[float | None, str]:
    """Height of the floor, or the reason why there is none."""
    if floor is None:
        return None, ""
    if not isinstance(floor, str):
        return float(floor), ""
    return (0.0, "") if any(robot.gravity) else (None, "gravity is zero, so the vertical direction is undefined")
