"""Effects beyond rotor inertia, viscous and Coulomb friction and offsets: the rows of one table.

The four of `robot.parameters.EFFECTS` (and their motor-side twins) belong to the robot and its base parameters; the rows
here are more columns of the linear problem, one per joint, each an effort for a unit parameter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

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
    value: of the parameter where it is known by definition, None where it is to be identified.
    """

    symbol: str
    unit: str
    meaning: str
    shape: Callable[[JointState, Settings], Array]
    is_nonnegative: bool = False
    settings: Mapping[str, float | None] = field(default_factory=dict)
    value: float | None = None


def _gas_spring(s: JointState, c: Settings) -> Array:
    """Lever arm times force of a gas cylinder between a pin on the parent and a pin on the link.

    The pins stand at distances a and b from the axis; the gas (n R T = energy) fills volume - area * stroke.
    """
    angle = s.q + c["angle"]
    length = np.sqrt(c["a"] ** 2 + c["b"] ** 2 - 2 * c["a"] * c["b"] * np.cos(angle))
    lever = c["a"] * c["b"] * np.sin(angle) / length
    pressure = c["energy"] / (c["volume"] - (length - c["rest"]) * c["area"])
    return np.asarray(-lever * pressure * c["area"])


EXTRA_EFFECTS = {
    e.symbol: e
    for e in (
        ExtraEffect("FCP", "N m", "Coulomb friction forwards", lambda s, c: (s.qd > 0).astype(float), True),
        ExtraEffect("FCN", "N m", "Coulomb friction backwards", lambda s, c: -(s.qd < 0).astype(float), True),
        ExtraEffect(
            "FCT",
            "N m",
            "Coulomb friction, smooth through standstill",
            lambda s, c: np.tanh(s.qd / c["speed"]),
            True,
            {"speed": 0.02},
        ),
        ExtraEffect(
            "FS",
            "N m",
            "Stribeck friction: what Coulomb friction is more near standstill",
            lambda s, c: np.sign(s.qd) * np.exp(-((s.qd / c["speed"]) ** 2)),
            True,
            {"speed": None},
        ),
        ExtraEffect("FCL", "1", "Coulomb friction per effort carried", lambda s, c: np.abs(s.load) * np.sign(s.qd), True),
        ExtraEffect("FVC", "N m s3/rad3", "cubic friction", lambda s, c: s.qd**3),
        ExtraEffect("KS", "N m/rad", "stiffness of a spring; its rest position is -offset / KS", lambda s, c: s.q, True),
        ExtraEffect(
            "GAS",
            "1",
            "gas-spring counterbalance with stated geometry and filling",
            _gas_spring,
            True,
            dict.fromkeys(("a", "b", "rest", "angle", "energy", "volume", "area")),
            value=1.0,
        ),
    )
}
SCANNED = {"FS": "speed"}  # constants that are scanned when they are not stated
STRIBECK_SPEEDS = (0.01, 0.02, 0.04, 0.08, 0.15, 0.3)  # rad/s


@dataclass(frozen=True)
class Term:
    """One extra column: an effect on one joint (index from 0), with its constants; `tag` tells scanned ones apart."""

    symbol: str
    joint: int
    settings: Settings = field(default_factory=dict)
    tag: str = ""

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
    """What a user asked for: symbols of the robot's own effects, and extra terms."""

    own: tuple[str, ...]  # full names, for instance FV3
    terms: tuple[Term, ...]

    @property
    def pinned(self) -> dict[str, float]:
        """Values of terms that are known by definition."""
        return {t.name: t.effect.value for t in self.terms if t.effect.value is not None}

    @property
    def needs_load(self) -> bool:
        """Whether a column depends on the effort the links ask of a joint."""
        return any(t.symbol == "FCL" for t in self.terms)


def chosen_effects(robot: Robot, wanted: Sequence[str | Mapping[str, object]] = DEFAULT_EFFECTS) -> EffectChoice:
    """Effects by name: "FC" on every joint, "KS2" on joint 2, or a table {effect = "GAS", joint = 2, a = 0.8, ...}.

    Where a motor turns with several joints, its own IAM, FVM, FCM, OFFM come with IA, FV, FC, OFF.
    """
    own: list[str] = []
    terms: list[Term] = []
    for item in wanted:
        symbol, joints, settings = _parsed(robot, item)
        if symbol in EXTRA_EFFECTS:
            terms += [t for j in joints for t in _terms(symbol, j, settings)]
            continue
        for j in joints:
            twin = f"{symbol}M" if symbol in EFFECT_SYMBOLS and j in robot.coupled_motors else None
            own += [f"{s}{j + 1}" for s in (symbol, twin) if s is not None]
    _refuse_repeats([*own, *(t.name for t in terms)])
    return EffectChoice(tuple(own), tuple(terms))


def _parsed(robot: Robot, item: str | Mapping[str, object]) -> tuple[str, list[int], dict[str, float]]:
    every = list(range(robot.n_joints))
    if isinstance(item, str):
        known = (*EFFECT_SYMBOLS, *MOTOR_SYMBOLS, *EXTRA_EFFECTS)
        if item in known:
            return item, sorted(robot.coupled_motors) if item in MOTOR_SYMBOLS else every, {}
        match = re.fullmatch(rf"({'|'.join(sorted(known, key=len, reverse=True))})(\d+)", item)
        if match is None:
            raise UnknownName("effect", item, known)
        return match[1], [_joint(robot, int(match[2]), item)], {}
    table = dict(item)
    symbol = str(table.pop("effect", ""))
    if symbol not in EXTRA_EFFECTS:
        raise UnknownName("effect", symbol, EXTRA_EFFECTS)
    number = table.pop("joint", None)
    joints = every if number is None else [_joint(robot, int(str(number)), symbol)]
    return symbol, joints, {k: float(str(v)) for k, v in table.items()}


def _joint(robot: Robot, number: int, item: str) -> int:
    if not 1 <= number <= robot.n_joints:
        raise MinertiaError(f"the effect '{item}' names joint {number}; '{robot.name}' has joints 1 to {robot.n_joints}")
    return number - 1


def _terms(symbol: str, joint: int, given: Settings) -> list[Term]:
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
    return [Term(symbol, joint, {k: v for k, v in values.items() if v is not None})]


def _refuse_repeats(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise MinertiaError(f"the effect '{name}' is asked for twice")
