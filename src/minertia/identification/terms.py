"""Effects beyond rotor inertia, viscous and Coulomb friction and offsets: the rows of one table.

The four of `robot.parameters.EFFECTS` (and their motor-side twins) belong to the robot and its base parameters; the
rows here are more columns of the linear problem, one per joint, each an effort for a unit parameter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minertia.errors import MinertiaError, UnknownName
from minertia.robot.parameters import EFFECT_SYMBOLS, MOTOR_SYMBOLS
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
Settings = Mapping[str, float]
DEFAULT_EFFECTS = ("IA", "FV", "FC", "OFF")


@dataclass(frozen=True, slots=True)
class JointState:
    """Motion of one joint over N samples [rad or m]; load: effort its links ask of it [N m or N], friction left out."""

    q: Array
    qd: Array
    qdd: Array
    load: Array


@dataclass(frozen=True, slots=True)
class ExtraEffect:
    """One row of the table: effort = parameter * shape(state, settings).

    settings: names and usual values of the constants the shape needs (None: must be stated).
    """

    symbol: str
    unit: str
    meaning: str
    shape: Callable[[JointState, Settings], Array]
    is_nonnegative: bool = False
    settings: Mapping[str, float | None] = field(default_factory=dict)


def _gas_spring(s: JointState, c: Settings) -> Array:
    """Lever arm times force of a gas cylinder between a pin on the parent and a pin on the link.

    The pins stand at the distances outer and inner from the axis; the gas (n R T = energy) fills volume - area *
    stroke.
    """
    angle = s.q + c["angle"]
    length = np.sqrt(c["outer"] ** 2 + c["inner"] ** 2 - 2 * c["outer"] * c["inner"] * np.cos(angle))
    lever = c["outer"] * c["inner"] * np.sin(angle) / length
    pressure = c["energy"] / (c["volume"] - (length - c["closed"]) * c["area"])
    return np.asarray(lever * pressure * c["area"])


EXTRA_EFFECTS = {
    e.symbol: e
    for e in (
        ExtraEffect("FCP", "N m", "Coulomb friction forwards", lambda s, c: (s.qd > 0).astype(float), True),
        ExtraEffect("FCN", "N m", "Coulomb friction backwards", lambda s, c: -(s.qd < 0).astype(float), True),
        ExtraEffect(
            "FCT",
            "N m",
            "Coulomb friction, smooth through standstill",
            lambda s, c: np.tanh(s.qd / c["width"]),
            True,
            {"width": 0.02},
        ),
        ExtraEffect(
            "FS",
            "N m",
            "Stribeck friction: what Coulomb friction is more near standstill",
            lambda s, c: np.sign(s.qd) * np.exp(-((s.qd / c["velocity"]) ** 2)),
            True,
            {"velocity": None},
        ),
        ExtraEffect(
            "FCL", "1", "Coulomb friction per effort carried", lambda s, c: np.abs(s.load) * np.sign(s.qd), True
        ),
        ExtraEffect("FVC", "N m s3/rad3", "cubic friction", lambda s, c: s.qd**3),
        ExtraEffect(
            "KS",
            "N m/rad",
            "stiffness of a spring; with an offset its rest position need not be known",
            lambda s, c: s.q - c["rest"],
            True,
            {"rest": 0.0},
        ),
        ExtraEffect(
            "GAS",
            "1",
            "gas-spring counterbalance with stated geometry and filling",
            _gas_spring,
            True,
            dict.fromkeys(("outer", "inner", "angle", "closed", "volume", "area", "energy")),
        ),
    )
}
SCANNED = {"FS": "velocity"}  # constants that are scanned when they are not stated
WORDS = {  # the words of campaign files
    "rotor": ("IA",),
    "viscous": ("FV",),
    "coulomb": ("FC",),
    "offset": ("OFF",),
    "two_sided_coulomb": ("FCP", "FCN"),
    "smooth_coulomb": ("FCT",),
    "stribeck": ("FS",),
    "load_coulomb": ("FCL",),
    "cubic": ("FVC",),
    "spring": ("KS",),
    "gas_spring": ("GAS",),
}
STRIBECK_SPEEDS = (0.01, 0.02, 0.04, 0.08, 0.15, 0.3)  # rad/s


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
    def effect(self) -> ExtraEffect:
        """The row of the table."""
        return EXTRA_EFFECTS[self.symbol]

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
    def pinned(self) -> dict[str, float]:
        """Values of terms whose parameter is known to be 1."""
        return {t.name: 1.0 for t in self.terms if t.is_known}

    @property
    def needs_load(self) -> bool:
        """Whether a column depends on the effort the links ask of a joint."""
        return any(t.symbol == "FCL" for t in self.terms)


def chosen_effects(robot: Robot, wanted: Sequence[Wanted] = DEFAULT_EFFECTS) -> EffectChoice:
    """Effects by name: "FC" or "coulomb" on every joint, "KS2" on joint 2, or a table.

    A table: {kind = "gas_spring", joints = [2], outer = 0.8, ...}, known = true where its scale is 1.  Where a motor
    turns with several joints, its own IAM, FVM, FCM, OFFM come with IA, FV, FC, OFF.
    """
    own: list[str] = []
    terms: list[Term] = []
    for item in wanted:
        for symbol, joints, settings, is_known, tag in _parsed(robot, item):
            if symbol in EXTRA_EFFECTS:
                terms += [t for j in joints for t in _terms(symbol, j, settings, is_known, tag)]
                continue
            for j in joints:
                twin = f"{symbol}M" if symbol in EFFECT_SYMBOLS and j in robot.coupled_motors else None
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
    given = {k: float(v) for k, v in item.options.items() if (item.kind, k, v) != ("stribeck", "velocity", 0.0)}
    return [(s, joints, given if s in EXTRA_EFFECTS else {}, item.known, "") for s in WORDS[item.kind]]


def _from_text(robot: Robot, item: str) -> list[_Part]:
    every = list(range(robot.n_joints))
    if item in WORDS:
        return [(symbol, every, {}, False, "") for symbol in WORDS[item]]
    known = (*EFFECT_SYMBOLS, *MOTOR_SYMBOLS, *EXTRA_EFFECTS)
    if item in known:
        return [(item, sorted(robot.coupled_motors) if item in MOTOR_SYMBOLS else every, {}, False, "")]
    match = re.fullmatch(rf"({'|'.join(sorted(known, key=len, reverse=True))})(\d+)", item)
    if match is None:
        raise UnknownName("effect", item, (*known, *WORDS))
    return [(match[1], [_joint(robot, int(match[2]), item)], {}, False, "")]


def _from_table(robot: Robot, table: dict[str, object]) -> list[_Part]:
    kind = str(table.pop("kind", ""))
    symbols = WORDS.get(kind, (kind,))
    if not all(s in (*EFFECT_SYMBOLS, *EXTRA_EFFECTS) for s in symbols):
        raise UnknownName("effect", kind, (*WORDS, *EXTRA_EFFECTS))
    numbers = table.pop("joints", None)
    listed = numbers if isinstance(numbers, Sequence) else [numbers]
    joints = list(range(robot.n_joints)) if numbers is None else [_joint(robot, int(str(n)), kind) for n in listed]
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
    effect = EXTRA_EFFECTS[symbol]
    for name in given:
        if name not in effect.settings:
            raise UnknownName(f"constant of the effect {symbol}", name, effect.settings)
    values = {k: given.get(k, v) for k, v in effect.settings.items()}
    missing = [k for k, v in values.items() if v is None]
    if missing == [SCANNED.get(symbol)]:
        return [Term(symbol, joint, {missing[0]: v}, f"@{v:g}") for v in STRIBECK_SPEEDS]
    if missing:
        raise MinertiaError(f"the effect {symbol} on joint {joint + 1} needs {', '.join(missing)}")
    return [Term(symbol, joint, {k: v for k, v in values.items() if v is not None}, tag, is_known)]


def _refuse_repeats(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise MinertiaError(f"the effect '{name}' is asked for twice")
