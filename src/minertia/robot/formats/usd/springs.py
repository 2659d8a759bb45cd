"""Springs of joints in stages of MuJoCo's converter."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from minertia.robot.formats.usd.stage import Prim

STIFFNESS, REST, ORIGIN, DAMPER = "mjc:stiffness", "mjc:springref", "mjc:ref", "mjc:springdamper"
ANGLE = "mjc:compiler:angle"  # of the physics scene: the unit of REST and ORIGIN at revolute joints
ANGLES = {"radian": 1.0, "degree": math.pi / 180}  # rad


def angle_unit(prims: Iterable[Prim]) -> float | None:
    """Unit [rad] of angles in MuJoCo's attributes; None where no physics scene specifies it."""
    found = (ANGLES.get(str(prim.values.get(ANGLE))) for prim in prims if prim.kind == "PhysicsScene")
    return next((unit for unit in found if unit is not None), None)


def read_spring(values: Mapping[str, Any], kind: str, angle: float | None) -> tuple[float, float] | None:
    """Stiffness [N m/rad or N/m] and rest position [rad or m] of a joint's spring; None where these are not known.

    angle: unit of angles, None if it is not known.  The position 0 of the joint is the position `ORIGIN` in MuJoCo.
    """
    stiffness, damper = float(values.get(STIFFNESS, 0.0)), values.get(DAMPER, ())
    if not stiffness or any(damper if isinstance(damper, tuple) else (damper,)):
        return None  # of a spring and damper, MuJoCo computes the stiffness from the inertia
    rest = float(values.get(REST, 0.0)) - float(values.get(ORIGIN, 0.0))
    unit = angle if kind == "revolute" else 1.0
    if rest and unit is None:
        return None
    return stiffness, rest * (unit or 1.0)


def spring_attributes(
    values: Mapping[str, Any], kind: str, angle: float | None, stiffness: float, rest: float
) -> Iterator[tuple[str, float]]:
    """Attributes of a spring in place of those in a file, whose values are given; as in `read_spring`."""
    yield STIFFNESS, stiffness
    unit = angle if kind == "revolute" else 1.0
    if stiffness and unit is not None:
        yield REST, rest / unit + float(values.get(ORIGIN, 0.0))
