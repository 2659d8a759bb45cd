"""Errors and units of the converters that wrote a stage, told by the creator that they leave in its layers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from minertia.robot.robot import Note

MUJOCO = "MuJoCo USD Converter"  # writes mjc:damping in N m s/rad
URDF = "URDF USD Converter"  # writes no centerOfMass where the URDF has none, which means the origin of the link
TURNED_BEFORE = (0, 3, 0)  # of URDF USD Converter: principalAxes are the inverse rotation (its issue 118)
# first versions that write newton:mimicCoef0 of revolute joints in degrees, as its schema says, not in rad (issues 107
# of MuJoCo's and 133 of URDF's converter)
DEGREES_FROM = {MUJOCO: (0, 5, 0), URDF: (0, 3, 2)}


def old_converter(creators: Iterable[str]) -> list[Note]:
    """A warning for a version of a converter that turned inertias the wrong way."""
    for creator in creators:
        if _is_before(creator, URDF, TURNED_BEFORE):
            text = f"{creator[:40]} wrote principalAxes that turn inertias the wrong way; convert the robot again by a "
            return [Note("warning", "stage", f"{text}version from 0.3.2 on")]
    return []


def offset_in_rad(creators: Iterable[str]) -> str:
    """Name of the converter that wrote the offsets of mimic joints in rad; "" where they are in degrees."""
    found = (c for c in creators for name, first in DEGREES_FROM.items() if _is_before(c, name, first))
    return next(found, "")[:40]


def _is_before(creator: str, name: str, version: tuple[int, ...]) -> bool:
    match = re.match(rf"{name} v(\d+)\.(\d+)\.(\d+)", creator)
    return match is not None and tuple(int(part) for part in match.groups()) < version
