"""Errors and units of the converters that wrote a stage, told by the creator that they leave in its layers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from minertia.robot.robot import Note

MUJOCO = "MuJoCo USD Converter"  # writes mjc:damping in N m s/rad
URDF = "URDF USD Converter"  # writes no centerOfMass where the URDF has none, which means the origin of the link
TURNED_BEFORE = (0, 3, 0)  # of URDF USD Converter: principalAxes are the inverse rotation (its issue 118)


def old_converter(creators: Iterable[str]) -> list[Note]:
    """A warning for a version of a converter that turned inertias the wrong way."""
    for creator in creators:
        match = re.match(r"URDF USD Converter v(\d+)\.(\d+)\.(\d+)", creator)
        if match is not None and tuple(int(part) for part in match.groups()) < TURNED_BEFORE:
            text = f"{creator[:40]} wrote principalAxes that turn inertias the wrong way; convert the robot again by a "
            return [Note("warning", "stage", f"{text}version from 0.3.2 on")]
    return []
