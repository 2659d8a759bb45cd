"""Which effects of the one table (`robot.effects`) are identified: by words, symbols, full names or tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, TypeAlias

from minertia.errors import MinertiaError, UnknownName
from minertia.robot.effects import (
    BY_SYMBOL,
    EFFECT_SYMBOLS,
    MOTOR_SYMBOLS,
    STANDARD_SYMBOLS,
    STANDARD_TWINS,
    WORDS,
    Effect,
)
from minertia.robot.robot import Robot

Settings = Mapping[str, float]
DEFAULT_EFFECTS = STANDARD_SYMBOLS
STANDARD = (*STANDARD_SYMBOLS, *STANDARD_TWINS)


class EffectLike(Protocol):
    """One effect of a campaign: a word, the coordinates (from 0) that have it, its numbers; known: its scale is 1."""

    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def joints(self) -> tuple[int, ...]: ...  # noqa: D102
    @property
    def options(self) -> Mapping[str, float]: ...  # noqa: D102
    @property
    def known(self) -> bool: ...  # noqa: D102


Wanted: TypeAlias = str | Mapping[str, object] | EffectLike


@dataclass(frozen=True)
class Term:
    """One extra column: an effect on one joint (index from 0), with its constants; `tag` tells scanned ones apart.

    is_known: its parameter is 1 and not identified.
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
        """The row of the table."""
        return BY_SYMBOL[self.symbol]

    @property
    def name(self) -> str:
        """Full name, joints counted from 1."""
        return f"{self.symbol}{self.joint + 1}{self.tag}"


@dataclass(frozen=True)
class EffectChoice:
    """What a user asked for: the robot's own effects by full name, and extra terms."""

    own: tuple[str, ...]
    terms: tuple[Term, ...]

    @property
    def fixed(self) -> dict[str, float]:
        """Values of terms whose parameter is known to be 1."""
        return {t.name: 1.0 for t in self.terms if t.is_known}

    @property
    def needs_load(self) -> bool:
        """Whether a column depends on the effort the links ask of a joint."""
        return self.needs("load")

    def needs(self, name: str) -> bool:
        """Whether a column depends on a part of the state beside positions and their derivatives."""
        return any(name in t.effect.inputs for t in self.terms)


def chosen_effects(robot: Robot, wanted: Sequence[Wanted] = DEFAULT_EFFECTS) -> EffectChoice:
    """Effects by name: "FC" or "coulomb" on every joint but the passive ones of loops, "KS2" on joint 2, or a table.

    A table: {kind = "gas_spring", joints = [2], outer = 0.8, ...}, known = true where its scale is 1.  Where a motor
    turns with several joints, its own IAM, FVM, FCM, OFFM come with IA, FV, FC, OFF; other twins are asked for.
    """
    own: list[str] = []
    terms: list[Term] = []
    for item in wanted:
        for symbol, joints, settings, is_known, tag in _parsed(robot, item):
            if symbol not in STANDARD:
                terms += [t for j in joints for t in _terms(symbol, j, settings, is_known, tag)]
                continue
            for j in joints:
                twin = f"{symbol}M" if symbol in STANDARD_SYMBOLS and j in robot.coupled_motors else None
                own += [f"{s}{j + 1}" for s in (symbol, twin) if s is not None]
    _refuse_repeats([*own, *(t.name for t in terms)])
    return EffectChoice(tuple(own), tuple(terms))


_Part: TypeAlias = tuple[str, list[int], dict[str, float], bool, str]  # symbol, joints, constants, known, tag


def _parsed(robot: Robot, item: Wanted) -> list[_Part]:
    if isinstance(item, str):
        return _from_text(robot, item)
    if isinstance(item, Mapping):
        return _from_table(robot, dict(item))
    joints = [robot.independent[c] for c in item.joints]
    given = {k: float(v) for k, v in item.options.items()}
    return [(s, joints, given, item.known, "") for s in WORDS[item.kind]]


def _from_text(robot: Robot, item: str) -> list[_Part]:
    every = list(robot.driven)
    if item in WORDS:
        return [(symbol, every, {}, False, "") for symbol in WORDS[item]]
    known = (*EFFECT_SYMBOLS, *MOTOR_SYMBOLS)
    if item in known:
        return [(item, sorted(robot.coupled_motors) if item in MOTOR_SYMBOLS else every, {}, False, "")]
    match = re.fullmatch(rf"({'|'.join(sorted(known, key=len, reverse=True))})(\d+)", item)
    if match is None:
        raise UnknownName("effect", item, (*known, *WORDS))
    return [(match[1], [_joint(robot, int(match[2]), item)], {}, False, "")]


def _from_table(robot: Robot, table: dict[str, object]) -> list[_Part]:
    kind = str(table.pop("kind", ""))
    symbols = WORDS.get(kind, (kind,))
    if not all(s in BY_SYMBOL for s in symbols):
        raise UnknownName("effect", kind, (*WORDS, *EFFECT_SYMBOLS))
    numbers = table.pop("joints", None)
    listed = numbers if isinstance(numbers, Sequence) else [numbers]
    joints = list(robot.driven) if numbers is None else [_joint(robot, int(str(n)), kind) for n in listed]
    is_known, tag = bool(table.pop("known", False)), str(table.pop("tag", ""))
    given = {k: float(str(v)) for k, v in table.items()}
    return [(s, joints, given, is_known, tag) for s in symbols]


def _joint(robot: Robot, number: int, item: str) -> int:
    if not 1 <= number <= robot.n_joints:
        raise MinertiaError(
            f"the effect '{item}' names joint {number}; '{robot.name}' has joints 1 to {robot.n_joints}"
        )
    return number - 1


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


def robot_effects(robot: Robot) -> list[str | Mapping[str, object]]:
    """The standard effects of every joint and all others that a robot has, with its constants."""
    wanted: list[str | Mapping[str, object]] = list(DEFAULT_EFFECTS)
    for name in robot.other_effects:
        symbol, joint = re.sub(r"\d+$", "", name), int(re.sub(r"^\D+", "", name))
        wanted.append({"kind": symbol, "joints": [joint], **robot.effect_constants(joint - 1, symbol)})
    return wanted


def _refuse_repeats(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise MinertiaError(f"the effect '{name}' is asked for twice")
