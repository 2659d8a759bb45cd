"""Which effects besides the links' inertia a model has: the words of a campaign's `effects` list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from minertia.errors import UnknownName
from minertia.identification.campaigns.options import Options
from minertia.robot.robot import Robot


@dataclass(frozen=True, slots=True)
class EffectKind:
    """A row of the table: what it is, and the options it takes with their defaults (None: must be given)."""

    meaning: str
    options: Mapping[str, float | None] = field(default_factory=dict)
    one_joint: bool = False


EFFECT_KINDS: dict[str, EffectKind] = {
    "rotor": EffectKind("IA qdd: rotor inertia seen at the joint"),
    "viscous": EffectKind("FV qd: viscous friction"),
    "coulomb": EffectKind("FC sign(qd): Coulomb friction"),
    "offset": EffectKind("OFF: constant offset"),
    "two_sided_coulomb": EffectKind("one Coulomb level for each direction, instead of coulomb and offset"),
    "smooth_coulomb": EffectKind("FCT tanh(qd / width)", {"width": None}),
    "stribeck": EffectKind("FS exp(-(qd / velocity)^2) sign(qd)", {"velocity": 0.0}),
    "load_coulomb": EffectKind("FCL |load torque| sign(qd): Coulomb friction that grows with the load"),
    "cubic": EffectKind("FVC qd^3: friction that grows faster than speed"),
    "spring": EffectKind("KS (q - rest)", {"rest": 0.0}),
    "gas_spring": EffectKind(
        "a piston between two pins at the distances outer and inner [m] from the joint's axis, at the angle "
        "delta = q + angle; length l = sqrt(outer^2 + inner^2 - 2 outer inner cos(delta)), lever "
        "h = outer inner sin(delta) / l, pressure p = energy / (volume - (l - closed) area); torque GAS h p area "
        "with GAS near 1",
        {"outer": None, "inner": None, "angle": 0.0, "closed": None, "volume": None, "area": None, "energy": None},
        one_joint=True,
    ),
}
# smallest and largest number of each option that can be meant, in SI units
NUMBERS = {
    "width": (1e-6, 1e3),
    "velocity": (1e-6, 1e3),
    "rest": (-1e6, 1e6),
    "angle": (-1e3, 1e3),
    **dict.fromkeys(("outer", "inner", "closed"), (1e-6, 1e3)),
    **dict.fromkeys(("volume", "area"), (1e-12, 1e3)),
    "energy": (1e-6, 1e12),
}
SYMBOLS = {"IA": "rotor", "FV": "viscous", "FC": "coulomb", "OFF": "offset"}
DEFAULT_EFFECTS = ("rotor", "viscous", "coulomb", "offset")


@dataclass(frozen=True, slots=True)
class EffectSpec:
    """One effect of a model: its kind, the coordinates (from 0) that have it, and its stated numbers.

    known: the effect has no parameter to fit; its scale is 1.
    """

    kind: str
    joints: tuple[int, ...]
    options: Mapping[str, float] = field(default_factory=dict)
    known: bool = False


def parse_effects(table: Options, key: str, robot: Robot) -> tuple[EffectSpec, ...]:
    """The effects of a list of words and tables; the usual four where the key is missing."""
    value = table.get(key)
    if value is None:
        value = list(DEFAULT_EFFECTS)
    if not isinstance(value, list):
        raise table.fail("this must be a list of effects", key)
    return tuple(_effect(table, key, item, robot) for item in value)


def _effect(table: Options, key: str, item: Any, robot: Robot) -> EffectSpec:
    options = Options({"kind": item} if isinstance(item, str) else item, table.source, key)
    if not isinstance(item, (str, dict)):
        raise table.fail("an effect is a word or a table", key)
    word = options.text("kind")
    word = SYMBOLS.get(word or "", word or "")
    if word not in EFFECT_KINDS:
        raise UnknownName("effect", word, EFFECT_KINDS)
    kind = EFFECT_KINDS[word]
    degrees = ("angle_deg",) if "angle" in kind.options else ()
    options.only(("kind", "joints", "known", *kind.options, *degrees))
    numbers: dict[str, float] = {}
    for name, default in kind.options.items():
        given = options.number(name)
        if name == "angle" and "angle_deg" in options:
            given = (options.number("angle_deg") or 0.0) * 0.017453292519943295
        given = default if given is None else given
        if given is None:
            raise options.fail(f"the effect '{word}' needs this number", name)
        if not NUMBERS[name][0] <= given <= NUMBERS[name][1] and not (name == "velocity" and given == 0):
            low, high = NUMBERS[name]
            raise options.fail(f"this is {given:g}; for '{word}' it must lie between {low:g} and {high:g}", name)
        numbers[name] = given
    joints = joint_list(options, "joints", robot)
    if kind.one_joint and len(joints) != 1:
        raise options.fail(f"the effect '{word}' acts on one joint; name it with joints", "joints")
    return EffectSpec(word, joints, MappingProxyType(numbers), options.flag("known", False))


def joint_list(table: Options, key: str, robot: Robot) -> tuple[int, ...]:
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
