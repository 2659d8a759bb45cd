"""The room a motion has by default: above the base plane, links apart from one another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from minertia.excitation.capsules import robot_body
from minertia.excitation.collision import CollisionModel
from minertia.excitation.loops import USUAL_DEG
from minertia.excitation.shapes import Shape
from minertia.io.errors import Infeasible, UnknownName, expect_kinds, expect_list
from minertia.robot.robot import Robot

BASE = "base"  # the floor unless another is given: the plane z = 0 of the base frame
MOST = 4  # links named in a sentence
STANDS = 0.05  # part of random postures above the base plane below which that is not what the robot stands on


@dataclass(frozen=True)
class Box:
    """A box [m] of the base frame that the origin of a named frame must not leave."""

    frame: str
    lower: tuple[float, float, float]
    upper: tuple[float, float, float]

    def __post_init__(self) -> None:
        if not all(a < b for a, b in zip(self.lower, self.upper, strict=True)):
            raise Infeasible(f"the box of frame '{self.frame}' is empty: its lower corner must be below its upper one")


@dataclass(frozen=True)
class Workspace:
    """Where the robot may be, and what stands around it, in the base frame.

    floor: its height [m], None for none, "base" for the base plane where the robot stands on it.  self_collision:
    whether links keep apart.  obstacles: `excitation.shapes` that links keep from.  boxes: for origins of named frames.
    margin [m] from everything; radius [m] of links the file shows nothing of.  transmission_deg: what the angles
    between the links of closed loops keep from 0 and 180 degrees, where branches meet.
    """

    floor: float | str | None = BASE
    self_collision: bool = True
    obstacles: Sequence[Shape] = ()
    boxes: Sequence[Box] = ()
    margin: float | None = None
    radius: float | None = None
    transmission_deg: float = USUAL_DEG

    def __post_init__(self) -> None:
        expect_kinds(self)
        for name, kind in (("obstacles", Shape), ("boxes", Box)):
            expect_list(getattr(self, name), (kind,), f"{name} of Workspace")
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if isinstance(self.floor, str) and self.floor != BASE:
            raise UnknownName("floor", self.floor, (BASE,))
        if not isinstance(self.floor, str | None) and not math.isfinite(self.floor):
            raise Infeasible(f"the floor is at a finite height in the base frame [m], not {self.floor:g}")
        for name in ("margin", "radius"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise Infeasible(f"the {name} of a workspace is a positive number [m], not {value:g}")


USUAL = Workspace()


@dataclass(frozen=True)
class Room:
    """What keeps the links where they may be, None for nothing; why not: {"floor" or "self collision": reason}."""

    model: CollisionModel | None
    missing: Mapping[str, str] = field(default_factory=dict)


def room(robot: Robot, space: Workspace = USUAL) -> Room:
    """Distances to keep."""
    floor = space.floor
    missing = {} if space.self_collision else {"self collision": "switched off"}
    missing |= {"floor": "switched off"} if floor is None else {}
    unknown = [name for name, value in robot.symbols.items() if value is None]
    if unknown:
        if space.obstacles or not (floor is None or floor == BASE):
            raise Infeasible(f"distances need the lengths of '{robot.name}': give values for {', '.join(unknown)}")
        why = f"no value is known for {', '.join(unknown)}"
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
            f"{', '.join(found.below[:MOST])} cannot rise above the floor at z = {height:g} m of the base frame in any "
            "posture; give a lower one with --floor, or none"
        )
    if floor == BASE and height is not None and found.standing < STANDS:
        missing["floor"] = f"'{robot.name}' is hardly ever above its base plane"
        found = model(None)
    return Room(found if found.counts else None, missing)


def _height(robot: Robot, floor: float | str | None) -> tuple[float | None, str]:
    """Height of the floor, and why there is none."""
    if floor is None:
        return None, ""
    if not isinstance(floor, str):
        return float(floor), ""
    return (0.0, "") if any(robot.gravity) else (None, "gravity is zero, so no side is below")
