"""Which effects besides the links' inertia a model has: the words of a campaign's `effects` list."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from minertia.errors import UnknownName
from minertia.identification.logs.campaign_table import CampaignTable
from minertia.robot.effects import BY_SYMBOL, STANDARD_SYMBOLS, WORDS
from minertia.robot.robot import Robot

POSITIVE, SIGNED = (1e-12, 1e12), (-1e12, 1e12)
# smallest and largest constant that can be meant, in SI units, where that is known closer
NUMBERS = {
    "width": (1e-6, 1e3),
    "velocity": (1e-6, 1e3),
    "rest": (-1e6, 1e6),
    "angle": (-1e3, 1e3),
    **dict.fromkeys(("outer", "inner", "closed"), (1e-6, 1e3)),
    **dict.fromkeys(("volume", "area"), (1e-12, 1e3)),
    "energy": (1e-6, 1e12),
    "reference": (-300.0, 1e4),
    "scale": (1e-3, 1e4),
}
DEFAULT_EFFECTS = tuple(word for word in WORDS if BY_SYMBOL[WORDS[word][0]].is_standard)


@dataclass(frozen=True, slots=True)
class EffectSpec:
    """One effect of a model: its kind, the coordinates (from 0) that have it, and its stated numbers.

    options: those of its constants that are stated.  known: the effect has no parameter to fit; its scale is 1.
    """

    kind: str
    joints: tuple[int, ...]
    options: Mapping[str, float] = field(default_factory=dict)
    known: bool = False


def parse_effects(table: CampaignTable, key: str, robot: Robot) -> tuple[EffectSpec, ...]:
    """The effects of a list of words and tables; the usual four where the key is missing."""
    value = table.get(key)
    if value is None:
        value = list(DEFAULT_EFFECTS)
    if not isinstance(value, list):
        raise table.fail("this must be a list of effects", key)
    return tuple(_effect(table, key, item, robot) for item in value)


def _effect(table: CampaignTable, key: str, item: Any, robot: Robot) -> EffectSpec:
    options = replace(table, entries={"kind": item} if isinstance(item, str) else item, where=key)
    if not isinstance(item, (str, dict)):
        raise table.fail("an effect is a word or a table", key)
    word = options.text("kind") or ""
    word = BY_SYMBOL[word].word if word in STANDARD_SYMBOLS else word
    if word not in WORDS:
        raise UnknownName("effect", word, WORDS)
    effect = BY_SYMBOL[WORDS[word][0]]
    degrees = ("angle_deg",) if "angle" in effect.constants else ()
    options.only(("kind", "joints", "known", *effect.constants, *degrees))
    numbers = {name: value for name in effect.constants if (value := _number(options, name)) is not None}
    if effect.scan:
        numbers = {name: value for name, value in numbers.items() if value != 0}  # 0 asks for the scan, too
    for name, value in numbers.items():
        low, high = NUMBERS.get(name, SIGNED if name in effect.signed else POSITIVE)
        if not low <= value <= high:
            raise options.fail(f"this is {value:g}; for '{word}' it must lie between {low:g} and {high:g}", name)
    missing = effect.filled(numbers)[1]
    if missing and not (effect.scan and len(missing) == 1):
        raise options.fail(f"the effect '{word}' needs this number", missing[0])
    joints = joint_list(options, "joints", robot)
    if effect.acts_alone and len(joints) != 1:
        raise options.fail(f"the effect '{word}' acts on one joint; name it with joints", "joints")
    return EffectSpec(word, joints, MappingProxyType(numbers), options.flag("known", False))


def _number(options: CampaignTable, name: str) -> float | None:
    if name == "angle" and "angle_deg" in options:
        return math.radians(options.number("angle_deg") or 0.0)
    return options.number(name)


def joint_list(table: CampaignTable, key: str, robot: Robot) -> tuple[int, ...]:
    """Coordinates (from 0) of a list of names, or of numbers from 1; all of them where the key is missing."""
    value = table.get(key)
    if value is None:
        return tuple(range(robot.n))
    items = value if isinstance(value, list) else [value]
    found: list[int] = []
    for item in items:
        if isinstance(item, int) and not isinstance(item, bool) and 1 <= item <= robot.n:
            found.append(item - 1)
        elif isinstance(item, str) and item in robot.coordinate_names:
            found.append(robot.coordinate_names.index(item))
        else:
            raise UnknownName("coordinate of the robot", item, (*robot.coordinate_names,))
    if not found or len(set(found)) != len(found):
        raise table.fail("this must name joints, each one once", key)
    return tuple(sorted(found))
