"""Selection of the effects to identify (`robot.effects`): by words, symbols, full names or tables."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from minertia.identification.logs.columns_file import CampaignTable
from minertia.io.errors import MinertiaError, UnknownName
from minertia.io.schema import Option, OptionKind
from minertia.io.tables import shown
from minertia.robot.effect import Effect
from minertia.robot.effects import BY_SYMBOL, EFFECT_SYMBOLS, MOTOR_SYMBOLS, STANDARD_SYMBOLS, STANDARD_TWINS, WORDS
from minertia.robot.robot import Robot

Settings = Mapping[str, float]
DEFAULT_EFFECTS = STANDARD_SYMBOLS
STANDARD = (*STANDARD_SYMBOLS, *STANDARD_TWINS)
KNOWN = (*EFFECT_SYMBOLS, *MOTOR_SYMBOLS)
_FULL_NAME = re.compile(rf"({'|'.join(sorted(KNOWN, key=len, reverse=True))})(\d{{1,6}})")
_NONE: Settings = MappingProxyType({})
ONE_NUMBER = OptionKind(frozenset({"number"}), frozenset({0}))
POSITIVE, SIGNED = (1e-12, 1e12), (-1e12, 1e12)
# smallest and largest constant that can be meant, in SI units, where that is known closer
NUMBERS = {
    "width": (1e-6, 1e3),
    "velocity": (1e-6, 1e3),
    "displacement": (1e-9, 1e3),
    "rest": (-1e6, 1e6),
    "angle": (-1e3, 1e3),
    **dict.fromkeys(("outer", "inner", "closed"), (1e-6, 1e3)),
    **dict.fromkeys(("volume", "area"), (1e-12, 1e3)),
    "energy": (1e-6, 1e12),
    "reference": (-300.0, 1e4),
    "scale": (1e-3, 1e4),
}


@dataclass(frozen=True, slots=True)
class EffectSpec:
    """One effect of a model: a word or symbol, the names of its joints, and its given constants.

    known: the effect has no parameter to fit; its coefficient is 1.  tag: distinguishes candidates of a scanned
    constant.
    """

    kind: str
    joints: tuple[str, ...]
    options: Mapping[str, float] = field(default_factory=dict)
    known: bool = False
    tag: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", MappingProxyType({k: float(v) for k, v in self.options.items()}))


Wanted: TypeAlias = str | Mapping[str, object] | EffectSpec


@dataclass(frozen=True)
class Term:
    """One extra regressor column: an effect on one joint (index from 0), with its constants.

    tag: distinguishes candidates of a scanned constant.  is_known: its coefficient is 1 and is not identified.
    """

    symbol: str
    joint: int
    settings: Settings = field(default_factory=dict)
    tag: str = ""
    is_known: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))

    @property
    def effect(self) -> Effect:
        """Row of the effect table."""
        return BY_SYMBOL[self.symbol]

    @property
    def name(self) -> str:
        """Full name, joints counted from 1."""
        return f"{self.symbol}{self.joint + 1}{self.tag}"


@dataclass(frozen=True)
class EffectChoice:
    """Requested effects: standard effects of the robot by full name (`own`), and extra terms."""

    own: tuple[str, ...]
    terms: tuple[Term, ...]

    @property
    def fixed(self) -> dict[str, float]:
        """Coefficients, all 1, of the terms that are not identified, by full name."""
        return {t.name: 1.0 for t in self.terms if t.is_known}

    @property
    def needs_load(self) -> bool:
        """Whether a column depends on the rigid-body torque of a joint."""
        return self.needs("load")

    def needs(self, name: str) -> bool:
        """Whether a column depends on an input other than positions and their derivatives, such as load."""
        return any(name in t.effect.inputs for t in self.terms)

    @property
    def remembering(self) -> tuple[Term, ...]:
        """Terms that depend on the path of their joint."""
        return tuple(t for t in self.terms if "presliding" in t.effect.inputs)


def chosen_effects(robot: Robot, wanted: Sequence[Wanted] = DEFAULT_EFFECTS) -> EffectChoice:
    """Choice of effect columns; a word or symbol alone applies to every joint that is not passive.

    Other forms are those of `read_effect`.  If a motor drives several joints, its motor-side effects IAM,
    FVM, FCM, OFFM are included with IA, FV, FC, OFF; other motor-side effects must be requested.
    """
    own: list[str] = []
    terms: list[Term] = []
    for item in wanted:
        is_plain = isinstance(item, str) and item in (*WORDS, *KNOWN)
        spec = everywhere(robot, item) if is_plain else read_effect(robot, item)
        joints = [_names(robot).index(name) for name in spec.joints]
        for symbol in WORDS.get(spec.kind, (spec.kind,)):
            if symbol not in STANDARD:
                terms += [t for j in joints for t in _terms(symbol, j, spec.options, spec.known, spec.tag)]
                continue
            for j in joints:
                twin = f"{symbol}M" if symbol in STANDARD_SYMBOLS and j in robot.coupled_motors else None
                own += [f"{s}{j + 1}" for s in (symbol, twin) if s is not None]
    _refuse_repeats([*own, *(t.name for t in terms)])
    return EffectChoice(tuple(own), tuple(terms))


def everywhere(robot: Robot, kind: Any) -> EffectSpec:
    """Effect on every joint that is not passive; a motor-side effect on every motor coupled to several joints."""
    return at_joints(robot, kind, sorted(robot.coupled_motors) if kind in MOTOR_SYMBOLS else robot.driven)


def at_joints(robot: Robot, kind: str, joints: Iterable[int], options: Settings = _NONE, tag: str = "") -> EffectSpec:
    """Effect on joints by index (from 0)."""
    return EffectSpec(kind, tuple(robot.joints[j].name for j in joints), options, tag=tag)


# ---------------------------------------------------------------------- reading, from Python and from files alike


def read_effect(robot: Robot, item: Wanted, table: CampaignTable | None = None) -> EffectSpec:
    """Parse an effect, from Python or a file: "coulomb" or "FC" on all coordinates, "FC4" on one joint.

    A table selects joints, by name or by the number of a coordinate (from 1), and gives constants: {kind =
    "gas_spring", joints = [2], outer = 0.8, ...}; known = true where its coefficient is 1.  table: the enclosing
    table of the file, for messages.
    """
    if isinstance(item, EffectSpec):
        return item
    at = CampaignTable({}) if table is None else table
    if isinstance(item, str):
        return _from_text(robot, item, at)
    if not isinstance(item, Mapping):
        raise at.fail(f"an effect must be a word or a table, not {shown(item)}", "effects")
    entries = {key: list(value) if isinstance(value, tuple) else value for key, value in item.items()}
    return _from_table(robot, replace(at, entries=entries, where="effects"))


def read_joints(robot: Robot, given: Any, at: CampaignTable | None = None) -> tuple[str, ...]:
    """Names of joints given by name or by coordinate number (from 1), in the robot's order."""
    names, found = _names(robot), set()
    items = list(given) if isinstance(given, list | tuple) else [given]
    for item in items:
        if isinstance(item, int) and not isinstance(item, bool) and 1 <= item <= robot.n:
            found.add(robot.independent[item - 1])
        elif isinstance(item, str) and item in names:
            found.add(names.index(item))
        else:
            raise UnknownName("joint", item, names)
    if len(found) < len(items) or not items:
        table = CampaignTable({}) if at is None else at
        raise table.fail("this must name joints, each once", "joints")
    return tuple(names[j] for j in sorted(found))


def _names(robot: Robot) -> list[str]:
    return [joint.name for joint in robot.joints]


def _from_text(robot: Robot, item: str, table: CampaignTable) -> EffectSpec:
    match = _FULL_NAME.fullmatch(item)
    if match is not None:
        number = int(match[2])
        if not 1 <= number <= robot.n_joints:
            raise MinertiaError(
                f"the effect '{item}' names joint {number}; '{robot.name}' has joints 1 to {robot.n_joints}"
            )
        return at_joints(robot, _word(match[1]), [number - 1])
    return _from_table(robot, replace(table, entries={"kind": item}, where="effects"))


def _from_table(robot: Robot, table: CampaignTable) -> EffectSpec:
    word = _word(table.text("kind") or "")
    if word not in (*WORDS, *KNOWN):
        raise UnknownName("effect", word, (*WORDS, *KNOWN))
    effect = BY_SYMBOL[WORDS.get(word, (word,))[0]]
    constants = [_constant(effect, name) for name in effect.constants]
    table.only(("kind", "joints", "known", *(key for one in constants for key in one.keys)))
    numbers = {one.name: float(one.read(table)) for one in constants if any(key in table for key in one.keys)}
    numbers = {name: value for name, value in numbers.items() if value or not effect.scan}  # 0 asks for the scan, too
    missing = effect.filled(numbers)[1]
    if missing and not (effect.scan and len(missing) == 1):
        raise table.fail(f"the effect '{word}' needs {', '.join(missing)}", missing[0])
    every = sorted(robot.coupled_motors) if word in MOTOR_SYMBOLS else robot.independent
    joints = tuple(robot.joints[j].name for j in every)
    if "joints" in table:
        joints = read_joints(robot, table.get("joints"), table)
    if effect.acts_alone and len(joints) != 1:
        raise table.fail(f"the effect '{word}' acts on one joint; name it with joints", "joints")
    return EffectSpec(word, joints, numbers, table.flag("known", False))


def _word(kind: str) -> str:
    """Word for a symbol if the word denotes that symbol only, else the symbol."""
    word = BY_SYMBOL[kind].word if kind in EFFECT_SYMBOLS else kind
    return word if WORDS.get(word) == (kind,) else kind


def _constant(effect: Effect, name: str) -> Option:
    """Constant of an effect as an option."""
    low, high = NUMBERS.get(name, SIGNED if name in effect.signed else POSITIVE)
    degrees = {"angle_deg": math.pi / 180} if name == "angle" else {}
    zero = bool(effect.scan)
    return Option("", low=low, high=high, zero=zero, name=name, key=name, also=degrees, kind=ONE_NUMBER)


def _terms(symbol: str, joint: int, given: Settings, is_known: bool, tag: str) -> list[Term]:
    effect = BY_SYMBOL[symbol]
    for name in given:
        if name not in effect.constants:
            raise UnknownName(f"constant of the effect {symbol}", name, effect.constants)
    wrong = effect.wrong_constant(given)
    if wrong is not None:
        raise MinertiaError(f"{wrong} of the effect {symbol} on joint {joint + 1} must be a positive number")
    values, missing = effect.filled(given)
    if len(missing) == 1 and effect.scan:
        return [Term(symbol, joint, {**values, missing[0]: v}, f"@{v:g}") for v in effect.scan]
    if missing:
        raise MinertiaError(f"the effect {symbol} on joint {joint + 1} needs {', '.join(missing)}")
    return [Term(symbol, joint, values, tag, is_known)]


def robot_effects(robot: Robot) -> list[EffectSpec]:
    """Effects of a robot with their constants: the standard ones on every joint, and all others that it has."""
    found = [everywhere(robot, symbol) for symbol in DEFAULT_EFFECTS]
    for name in robot.other_effects:
        symbol, joint = re.sub(r"\d+$", "", name), int(re.sub(r"^\D+", "", name))
        found.append(at_joints(robot, symbol, [joint - 1], robot.effect_constants(joint - 1, symbol)))
    return found


def _refuse_repeats(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise MinertiaError(f"the effect '{name}' is given twice")
