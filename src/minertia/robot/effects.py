"""Table of joint effects: all that acts at a joint besides the inertia of its links.

A row defines an effect completely, and its shape function is written once, for any scalar type: the linear problem of
the identification, `inverse_dynamics`, every generated program, the simulated robot, files and excitation use it.
Constants of a shape (a rest position, a width) belong to a joint: `Robot.constants`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from minertia.algebra.scalar import Scalar, absolute, add, cos, div, exp, mul, neg, sign, sin, sqrt, sub, tanh


class JointState(NamedTuple):
    """Inputs of an effect.

    q, qd, qdd: motion of the joint [rad or m].  load: rigid-body and rotor effort, friction excluded [N m or N].
    temperature: of the joint [degC]; None if unknown: the effect's reference temperature is used.  sliding:
    direction of motion (1, -1, 0) that dry friction opposes; None: that of qd.  A simulation evaluates 1 and -1
    for the bounds of static friction at standstill.
    """

    q: Scalar
    qd: Scalar
    qdd: Scalar
    load: Scalar = 0
    temperature: Scalar | None = None
    sliding: Scalar | None = None

    @property
    def direction(self) -> Scalar:
        """Direction of motion, 0 at standstill: used by dry-friction shapes in place of sign(qd)."""
        return sign(self.qd) if self.sliding is None else self.sliding


INPUTS = ("q", "qd", "qdd", "load", "temperature")  # what shapes may read


Constants: TypeAlias = Mapping[str, Scalar]  # numbers, or inputs of a simulation
Shape: TypeAlias = Callable[[JointState, Constants], Scalar]


@dataclass(frozen=True, slots=True)
class Effect:
    """One row: effort = parameter * shape(state, constants).

    word: its name in campaign files; one word may stand for several rows.  unit, sliding_unit: of the parameter at a
    revolute and at a prismatic joint.  formula: the shape in print.  inputs: the parts of a `JointState` that the shape
    uses.  constants: names and default values of the constants of the shape, None where one must be given; signed:
    those that need not be positive; scan: values that are tried for the one that is not given.  is_standard: whether
    every robot has a column for it.  has_twin: whether a motor coupled to several joints can have it as well.
    acts_alone: whether each joint specifies its own.  is_bounded: whether |shape| is at most 1, so that effort limits
    can account for it.  is_dry: dry friction, discontinuous in the direction of motion (shape = 0 at direction 0),
    which holds a joint at standstill: simulations use its shapes at the directions 1 and -1 as bounds; all other rows
    are smooth.  fleet: "day" or "robot" where records of fleets have a column for it that is free on each day or for
    each robot, else "".  is_modelled: whether models can have it; fleets also use the other rows to assess days.

    A shape that depends on the load is proportional to it: shape(k load) = k shape(load) for k > 0.  One that depends
    on the acceleration depends on nothing else and is proportional to it.
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
    is_dry: bool = False
    fleet: str = ""
    is_modelled: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "constants", MappingProxyType(dict(self.constants)))

    @property
    def is_at_link(self) -> bool:
        """Whether it acts on the link side of an elastic joint: true for effects of the position only."""
        return self.inputs == ("q",)

    @property
    def is_viscous(self) -> bool:
        """Whether it is proportional to the velocity."""
        if self.is_dry or "qd" not in self.inputs:
            return False
        constants, _ = self.filled({})
        at = [float(self.shape(JointState(0.3, qd, 0.0, 0.7, 40.0), constants)) for qd in (0.5, 1.0, -0.5)]
        return at[0] != 0 and math.isclose(at[1], 2 * at[0]) and math.isclose(at[2], -at[0])

    def filled(self, given: Constants) -> tuple[dict[str, float], list[str]]:
        """All constants, with defaults where none is given, and the names of missing ones."""
        values = {name: given.get(name, usual) for name, usual in self.constants.items()}
        return {k: v for k, v in values.items() if v is not None}, [k for k, v in values.items() if v is None]

    def wrong_constant(self, given: Constants) -> str | None:
        """Name of a constant that is not finite, or not positive although it must be; None if all are valid."""
        for name, value in given.items():
            if not math.isfinite(value) or (value <= 0 and name not in self.signed):
                return name
        return None


def _half(a: Scalar) -> Scalar:
    return mul(0.5, a)


def _forwards(s: JointState, c: Constants) -> Scalar:
    return _half(mul(s.direction, add(s.direction, 1)))


def _backwards(s: JointState, c: Constants) -> Scalar:
    return _half(mul(s.direction, sub(1, s.direction)))


def _driving(s: JointState, c: Constants) -> Scalar:
    """|load| against the motion while the motor drives the load, 0 while the load drives the motor."""
    return _half(mul(s.direction, add(absolute(s.load), mul(s.load, s.direction))))


def _driven(s: JointState, c: Constants) -> Scalar:
    return _half(mul(s.direction, sub(absolute(s.load), mul(s.load, s.direction))))


def _stribeck(s: JointState, c: Constants) -> Scalar:
    slow = div(s.qd, c["velocity"])
    return mul(s.direction, exp(neg(mul(slow, slow))))


def _warmer(s: JointState, c: Constants) -> Scalar:
    """Temperature above the reference [K]; a structural 0 if the temperature is unknown."""
    return 0 if s.temperature is None else sub(s.temperature, c["reference"])


def _gas_spring(s: JointState, c: Constants) -> Scalar:
    """Lever arm times force of a gas cylinder between a pin on the parent and a pin on the link.

    The pins are at the distances outer and inner from the axis; the gas (n R T = energy) fills volume - area * stroke.
    """
    angle, both = add(s.q, c["angle"]), mul(c["outer"], c["inner"])
    squares = add(mul(c["outer"], c["outer"]), mul(c["inner"], c["inner"]))
    length = sqrt(sub(squares, mul(mul(2, both), cos(angle))))
    lever = div(mul(both, sin(angle)), length)
    volume = sub(c["volume"], mul(sub(length, c["closed"]), c["area"]))
    return mul(lever, div(mul(c["energy"], c["area"]), volume))


COULOMB, VISCOUS = ("N m", "N"), ("N m s/rad", "N s/m")
TABLE = (
    Effect("IA", "rotor", "kg m2", "kg", "rotor inertia reflected to the joint side", "IA qdd", lambda s, c: s.qdd,
           ("qdd",), is_standard=True, has_twin=True),
    Effect("FV", "viscous", *VISCOUS, "viscous friction", "FV qd", lambda s, c: s.qd,
           is_standard=True, has_twin=True, fleet="day"),
    Effect("FC", "coulomb", *COULOMB, "Coulomb friction, zero at standstill", "FC sign(qd)", lambda s, c: s.direction,
           is_standard=True, has_twin=True, is_bounded=True, is_dry=True, fleet="day"),
    Effect("OFF", "offset", *COULOMB, "constant offset", "OFF", lambda s, c: 1,
           (), is_nonnegative=False, is_standard=True, has_twin=True, fleet="day"),
    Effect("FCP", "two_sided_coulomb", *COULOMB, "Coulomb friction in the positive direction",
           "FCP where qd > 0", _forwards,
           has_twin=True, is_bounded=True, is_dry=True),
    Effect("FCN", "two_sided_coulomb", *COULOMB, "Coulomb friction in the negative direction",
           "-FCN where qd < 0", _backwards,
           has_twin=True, is_bounded=True, is_dry=True),
    Effect("FCT", "smooth_coulomb", *COULOMB, "Coulomb friction, smooth through standstill", "FCT tanh(qd / width)",
           lambda s, c: tanh(div(s.qd, c["width"])), constants={"width": 0.02}, has_twin=True, is_bounded=True),
    Effect("FVA", "uneven_viscous", *VISCOUS, "viscous friction that depends on the direction of motion", "FVA |qd|",
           lambda s, c: absolute(s.qd), is_nonnegative=False, fleet="robot", is_modelled=False),
    Effect("FVQ", "quadratic", "N m s2/rad2", "N s2/m2", "quadratic friction", "FVQ qd |qd|",
           lambda s, c: mul(s.qd, absolute(s.qd)), is_nonnegative=False, fleet="robot", is_modelled=False),
    Effect("FS", "stribeck", *COULOMB, "Stribeck friction: excess over Coulomb friction at low speed",
           "FS exp(-(qd / velocity)^2) sign(qd)", _stribeck, constants={"velocity": None},
           scan=(0.01, 0.02, 0.04, 0.08, 0.15, 0.3), has_twin=True, is_bounded=True, is_dry=True, fleet="robot"),
    Effect("FCL", "load_coulomb", "1", "1", "Coulomb friction proportional to the joint load", "FCL |load| sign(qd)",
           lambda s, c: mul(absolute(s.load), s.direction), ("qd", "load"), is_dry=True, fleet="robot"),
    Effect("FCQ", "position_coulomb", "N m/rad", "N/m", "linear change of Coulomb friction with position",
           "FCQ (q - middle) sign(qd)", lambda s, c: mul(sub(s.q, c["middle"]), s.direction), ("q", "qd"),
           is_nonnegative=False, constants={"middle": 0.0}, signed=("middle",), is_dry=True),
    Effect("FLD", "load_quadrants", "1", "1", "Coulomb friction proportional to the joint load while the motor "
"drives the load",
           "FLD |load| sign(qd) where load qd > 0", _driving, ("qd", "load"), is_dry=True),
    Effect("FLB", "load_quadrants", "1", "1", "Coulomb friction proportional to the joint load while the load "
"drives the motor",
           "FLB |load| sign(qd) where load qd < 0", _driven, ("qd", "load"), is_dry=True),
    Effect("FVC", "cubic", "N m s3/rad3", "N s3/m3", "cubic friction", "FVC qd^3",
           lambda s, c: mul(s.qd, mul(s.qd, s.qd)), is_nonnegative=False, has_twin=True),
    Effect("FVT", "thermal_viscous", *VISCOUS, "viscous friction that decreases with temperature; value at the "
"reference temperature",
           "FVT qd exp(-(T - reference) / scale)",
           lambda s, c: mul(s.qd, exp(neg(div(_warmer(s, c), c["scale"])))), ("qd", "temperature"),
           constants={"reference": 25.0, "scale": 20.0}, signed=("reference",)),
    Effect("FVK", "warm_viscous", "N m s/(rad K)", "N s/(m K)", "linear change of viscous friction with "
"temperature",
           "FVK (T - reference) qd", lambda s, c: mul(_warmer(s, c), s.qd), ("qd", "temperature"),
           is_nonnegative=False, constants={"reference": 25.0}, signed=("reference",), fleet="robot",
           is_modelled=False),
    Effect("FCK", "thermal_coulomb", "N m/K", "N/K", "linear change of Coulomb friction with temperature",
           "FCK (T - reference) sign(qd)", lambda s, c: mul(_warmer(s, c), s.direction), ("qd", "temperature"),
           is_nonnegative=False, constants={"reference": 25.0}, signed=("reference",), is_dry=True, fleet="robot"),
    Effect("FVKK", "warm_viscous", "N m s/(rad K2)", "N s/(m K2)", "quadratic change of viscous friction with "
"temperature",
           "FVKK (T - reference)^2 qd", lambda s, c: mul(mul(_warmer(s, c), _warmer(s, c)), s.qd),
           ("qd", "temperature"), is_nonnegative=False, constants={"reference": 25.0}, signed=("reference",),
           fleet="robot", is_modelled=False),
    Effect("KS", "spring", "N m/rad", "N/m",
           "stiffness of a joint spring; with an offset its rest position need not be known", "KS (q - rest)",
           lambda s, c: sub(s.q, c["rest"]), ("q",), constants={"rest": 0.0}, signed=("rest",), fleet="robot"),
    Effect("GAS", "gas_spring", "1", "1", "gas-spring counterbalance with given geometry and filling",
           "GAS h p area with GAS near 1: a piston between two pins at the distances outer and inner [m] from the "
           "joint's axis, at the angle delta = q + angle; length l = sqrt(outer^2 + inner^2 - 2 outer inner "
           "cos(delta)), lever h = outer inner sin(delta) / l, pressure p = energy / (volume - (l - closed) area)",
           _gas_spring, ("q",),
           constants={"outer": None, "inner": None, "angle": 0.0, "closed": None, "volume": None, "area": None,
                      "energy": None}, signed=("angle", "closed"), acts_alone=True),
)  # fmt: skip
EFFECTS = tuple(effect for effect in TABLE if effect.is_modelled)
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
