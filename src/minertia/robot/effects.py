"""The one table of effects: what acts at a joint besides the inertia of its links.

A row holds everything there is to know of an effect, and its shape is written once, on any scalar: the linear problem
of the identification, `inverse_dynamics`, every generated program, the simulated robot, files and excitation read it
here.  Constants of a shape (a rest position, a width) belong to a joint: `Robot.constants`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from minertia.algebra.scalar import Scalar, absolute, add, cos, div, exp, mul, neg, sign, sin, sqrt, sub, tanh


class JointState(NamedTuple):
    """What an effect can depend on.

    q, qd, qdd: motion of the joint [rad or m].  load: effort that moves its links and rotors, friction left out [N m or
    N].  temperature: of the joint [degC], None where it is not known: then it is the effect's reference temperature.
    """

    q: Scalar
    qd: Scalar
    qdd: Scalar
    load: Scalar = 0
    temperature: Scalar | None = None


Constants: TypeAlias = Mapping[str, float]
Shape: TypeAlias = Callable[[JointState, Constants], Scalar]


@dataclass(frozen=True, slots=True)
class Effect:
    """One row: effort = parameter * shape(state, constants).

    word: what campaign files call it; one word may stand for several rows.  unit, sliding_unit: of the parameter at a
    revolute and at a prismatic joint.  formula: the shape in print.  inputs: the parts of a `JointState` that the shape
    reads.  constants: names and usual values of the numbers in the shape, None where one must be stated; signed: those
    that need not be positive; scan: values that are tried for the one that is not stated.  is_standard: whether every
    robot has a column for it.  has_twin: whether a motor that turns with several joints can have it, too.  acts_alone:
    whether each joint states its own.  is_bounded: whether |shape| is at most 1, so that limits of effort can count
    with its size.

    A shape that reads the load grows with it in proportion: shape(k load) = k shape(load) for k > 0.
    """

    name: str
    word: str
    unit: str
    sliding_unit: str
    meaning: str
    formula: str
    shape: Shape
    inputs: tuple[str, ...] = ("qd",)
    is_nonnegative: bool = True
    constants: Mapping[str, float | None] = field(default_factory=dict)
    signed: tuple[str, ...] = ()
    scan: tuple[float, ...] = ()
    is_standard: bool = False
    has_twin: bool = False
    acts_alone: bool = False
    is_bounded: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "constants", MappingProxyType(dict(self.constants)))

    def filled(self, given: Constants) -> tuple[dict[str, float], list[str]]:
        """All constants, usual ones where none is given, and the names of those that are missing."""
        values = {name: given.get(name, usual) for name, usual in self.constants.items()}
        return {k: v for k, v in values.items() if v is not None}, [k for k, v in values.items() if v is None]

    def wrong_constant(self, given: Constants) -> str | None:
        """The name of a constant that is not finite or, where it must be, not positive; None if all are good."""
        for name, value in given.items():
            if not math.isfinite(value) or (value <= 0 and name not in self.signed):
                return name
        return None


def _half(a: Scalar) -> Scalar:
    return mul(0.5, a)


def _forwards(s: JointState, c: Constants) -> Scalar:
    return _half(mul(sign(s.qd), add(sign(s.qd), 1)))


def _backwards(s: JointState, c: Constants) -> Scalar:
    return _half(mul(sign(s.qd), sub(1, sign(s.qd))))


def _driving(s: JointState, c: Constants) -> Scalar:
    """|load| against the motion while the motor moves the load, 0 while the load moves the motor."""
    return _half(mul(sign(s.qd), add(absolute(s.load), mul(s.load, sign(s.qd)))))


def _driven(s: JointState, c: Constants) -> Scalar:
    return _half(mul(sign(s.qd), sub(absolute(s.load), mul(s.load, sign(s.qd)))))


def _stribeck(s: JointState, c: Constants) -> Scalar:
    slow = div(s.qd, c["velocity"])
    return mul(sign(s.qd), exp(neg(mul(slow, slow))))


def _warmer(s: JointState, c: Constants) -> Scalar:
    """Kelvin above the reference; the structural 0 where the temperature is not known."""
    return 0 if s.temperature is None else sub(s.temperature, c["reference"])


def _gas_spring(s: JointState, c: Constants) -> Scalar:
    """Lever arm times force of a gas cylinder between a pin on the parent and a pin on the link.

    The pins stand at the distances outer and inner from the axis; the gas (n R T = energy) fills volume - area *
    stroke.
    """
    angle, both = add(s.q, c["angle"]), c["outer"] * c["inner"]
    length = sqrt(sub(c["outer"] ** 2 + c["inner"] ** 2, mul(2 * both, cos(angle))))
    lever = div(mul(both, sin(angle)), length)
    volume = sub(c["volume"], mul(sub(length, c["closed"]), c["area"]))
    return mul(lever, div(c["energy"] * c["area"], volume))


COULOMB, VISCOUS = ("N m", "N"), ("N m s/rad", "N s/m")
EFFECTS = (
    Effect("IA", "rotor", "kg m2", "kg", "rotor inertia seen at the joint", "IA qdd", lambda s, c: s.qdd,
           ("qdd",), is_standard=True, has_twin=True),
    Effect("FV", "viscous", *VISCOUS, "viscous friction", "FV qd", lambda s, c: s.qd, is_standard=True, has_twin=True),
    Effect("FC", "coulomb", *COULOMB, "Coulomb friction, zero at standstill", "FC sign(qd)", lambda s, c: sign(s.qd),
           is_standard=True, has_twin=True, is_bounded=True),
    Effect("OFF", "offset", *COULOMB, "constant offset", "OFF", lambda s, c: 1,
           (), is_nonnegative=False, is_standard=True, has_twin=True),
    Effect("FCP", "two_sided_coulomb", *COULOMB, "Coulomb friction forwards", "FCP where qd > 0", _forwards,
           has_twin=True, is_bounded=True),
    Effect("FCN", "two_sided_coulomb", *COULOMB, "Coulomb friction backwards", "-FCN where qd < 0", _backwards,
           has_twin=True, is_bounded=True),
    Effect("FCT", "smooth_coulomb", *COULOMB, "Coulomb friction, smooth through standstill", "FCT tanh(qd / width)",
           lambda s, c: tanh(div(s.qd, c["width"])), constants={"width": 0.02}, has_twin=True, is_bounded=True),
    Effect("FS", "stribeck", *COULOMB, "Stribeck friction: what Coulomb friction is more near standstill",
           "FS exp(-(qd / velocity)^2) sign(qd)", _stribeck, constants={"velocity": None},
           scan=(0.01, 0.02, 0.04, 0.08, 0.15, 0.3), has_twin=True, is_bounded=True),
    Effect("FCL", "load_coulomb", "1", "1", "Coulomb friction per effort carried", "FCL |load| sign(qd)",
           lambda s, c: mul(absolute(s.load), sign(s.qd)), ("qd", "load")),
    Effect("FCQ", "position_coulomb", "N m/rad", "N/m", "change of Coulomb friction with the position",
           "FCQ (q - middle) sign(qd)", lambda s, c: mul(sub(s.q, c["middle"]), sign(s.qd)), ("q", "qd"),
           is_nonnegative=False, constants={"middle": 0.0}, signed=("middle",)),
    Effect("FLD", "load_quadrants", "1", "1", "Coulomb friction per effort carried while the motor drives the load",
           "FLD |load| sign(qd) where load qd > 0", _driving, ("qd", "load")),
    Effect("FLB", "load_quadrants", "1", "1", "Coulomb friction per effort carried while the load drives the motor",
           "FLB |load| sign(qd) where load qd < 0", _driven, ("qd", "load")),
    Effect("FVC", "cubic", "N m s3/rad3", "N s3/m3", "cubic friction", "FVC qd^3",
           lambda s, c: mul(s.qd, mul(s.qd, s.qd)), is_nonnegative=False, has_twin=True),
    Effect("FVT", "thermal_viscous", *VISCOUS, "viscous friction that falls with temperature, at the reference",
           "FVT qd exp(-(T - reference) / scale)",
           lambda s, c: mul(s.qd, exp(neg(div(_warmer(s, c), c["scale"])))), ("qd", "temperature"),
           constants={"reference": 25.0, "scale": 20.0}, signed=("reference",)),
    Effect("FCK", "thermal_coulomb", "N m/K", "N/K", "change of Coulomb friction with temperature",
           "FCK (T - reference) sign(qd)", lambda s, c: mul(_warmer(s, c), sign(s.qd)), ("qd", "temperature"),
           is_nonnegative=False, constants={"reference": 25.0}, signed=("reference",)),
    Effect("KS", "spring", "N m/rad", "N/m",
           "stiffness of a spring; with an offset its rest position need not be known", "KS (q - rest)",
           lambda s, c: sub(s.q, c["rest"]), ("q",), constants={"rest": 0.0}, signed=("rest",)),
    Effect("GAS", "gas_spring", "1", "1", "gas-spring counterbalance with stated geometry and filling",
           "GAS h p area with GAS near 1: a piston between two pins at the distances outer and inner [m] from the "
           "joint's axis, at the angle delta = q + angle; length l = sqrt(outer^2 + inner^2 - 2 outer inner "
           "cos(delta)), lever h = outer inner sin(delta) / l, pressure p = energy / (volume - (l - closed) area)",
           _gas_spring, ("q",),
           constants={"outer": None, "inner": None, "angle": 0.0, "closed": None, "volume": None, "area": None,
                      "energy": None}, signed=("angle", "closed"), acts_alone=True),
)  # fmt: skip
BY_SYMBOL: Mapping[str, Effect] = MappingProxyType(
    {e.name: e for e in EFFECTS} | {f"{e.name}M": e for e in EFFECTS if e.has_twin}
)
EFFECT_SYMBOLS = tuple(effect.name for effect in EFFECTS)
MOTOR_SYMBOLS = tuple(f"{effect.name}M" for effect in EFFECTS if effect.has_twin)
STANDARD_SYMBOLS = tuple(effect.name for effect in EFFECTS if effect.is_standard)
STANDARD_TWINS = tuple(f"{symbol}M" for symbol in STANDARD_SYMBOLS)
ROTOR_SYMBOLS = ("IA", "IAM")
WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {word: tuple(e.name for e in EFFECTS if e.word == word) for word in dict.fromkeys(e.word for e in EFFECTS)}
)
