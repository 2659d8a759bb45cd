"""Gravity of a stage, from its physics scene."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.io.errors import DescriptionError
from minertia.robot.formats.usd.attributes import Units, shortest
from minertia.robot.formats.usd.check import check_values
from minertia.robot.formats.usd.stage import UsdStage
from minertia.robot.robot import EARTH, Note

UP = {"Y": (0.0, -1.0, 0.0), "Z": (0.0, 0.0, -1.0), "": (0.0, -1.0, 0.0)}  # upward axis -> direction of gravity
OFF = ("newton:gravityEnabled", "mjc:flag:gravity")  # false: no gravity
LEAST = -0.5e38  # m/s2; below, by the parser of OpenUSD, the earth's gravity is meant
USUAL = (1.0, 30.0)  # m/s2; from the moon's gravity to Jupiter's, beyond which a unit is mistaken
SAME = 1e-6  # relative difference that is rounding of 32 bits
Array = NDArray[np.float64]


def read_gravity(stage: UsdStage, units: Units, own: bool) -> tuple[Array, list[Note]]:
    """Gravity [m/s2] in the world of a stage, and notes; own: whether minertia's doubles are used."""
    scenes = [prim for prim in stage.prims.values() if prim.kind == "PhysicsScene"]
    for scene in scenes:
        check_values(scene, "the physics scene", stage.source)
        size = scene.values.get("physics:gravityMagnitude", 0.0)
        if LEAST < size < 0:
            text = (
                f"physics:gravityMagnitude is {size:g}, which programs take for upwards or for the earth's; correct it"
            )
            raise DescriptionError(text, file=stage.source)
        if scene.changing:
            text = f"the physics scene has time samples ({scene.changing[0]}); give values that do not change"
            raise DescriptionError(text, file=stage.source)
    if stage.up not in UP:
        raise DescriptionError(f"upAxis is '{stage.up[:20]}', which is neither Y nor Z; correct it", file=stage.source)
    found = [_gravity(scene.values, stage.up, units, own) for scene in scenes] or [_gravity({}, stage.up, units, own)]
    return found[0], _notes(stage, [scene.values for scene in scenes], found)


def _gravity(values: Mapping[str, Any], up: str, units: Units, own: bool) -> Array:
    """Gravity of one scene: an endless negative magnitude means the earth's, a zero direction downwards."""
    if any(values.get(name) is False for name in OFF):
        return np.zeros(3)
    size = float(values.get("physics:gravityMagnitude", -math.inf))
    way = _way(values)
    strength = -EARTH[2] if size < 0 else shortest(size) * units.metres
    way = way if np.any(way) else np.array(UP[up])
    found: Array = strength * way / np.linalg.norm(way)
    ours = values.get("minertia:gravity") if own else None
    if ours is not None and len(ours) == 3 and np.abs(found - np.array(ours)).max() <= SAME * max(strength, SAME):
        return np.array(ours, float)
    return found


def _way(values: Mapping[str, Any]) -> Array:
    return np.array(values.get("physics:gravityDirection", (0.0, 0.0, 0.0)), float)


def _notes(stage: UsdStage, scenes: list[Mapping[str, Any]], found: list[Array]) -> list[Note]:
    notes = []
    if not stage.up and not any(np.any(_way(values)) for values in scenes[:1]):
        text = "the stage does not give upAxis, so gravity acts along -Y, by the rule of USD"
        notes.append(Note("warning", "stage", text))
    strength = float(np.linalg.norm(found[0]))
    if strength and not USUAL[0] <= strength <= USUAL[1]:
        text = f"gravity is {strength:.3g} m/s2, since gravityMagnitude is in units of length of the stage; "
        notes.append(Note("warning", "stage", f"{text}if the earth's is meant, correct it, or metersPerUnit"))
    if any(values.get(name) is False for values in scenes[:1] for name in OFF):
        notes.append(Note("warning", "stage", "the physics scene disables gravity"))
    if any(np.abs(other - found[0]).max() > SAME for other in found[1:]):
        notes.append(Note("warning", "stage", "its physics scenes differ in gravity; the first one is read"))
    return notes
