"""Table of joint effects: all that acts at a joint besides the inertia of its links.

A row defines an effect completely, and its shape function is written once, for any scalar type: the linear problem of
the identification, `inverse_dynamics`, every generated program, the simulated robot, files and excitation use it.
Constants of a shape (a rest position, a width) belong to a joint: `Robot.constants`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from minertia.algebra.scalar import Scalar, absolute, add, cos, div, exp, mul, neg, sin, sqrt, sub, tanh
from minertia.robot.effect import Constants, Effect, JointState, added_effects


def _half(a: Scalar) -> Scalar:
    return mul(0.5, a)


def _forwards(s: JointState, c: Constants) -> Scalar:
    return _half(mul(s.direction, add(s.direction, 1)))


def _backwards(s: JointState, c: Constants) -> Scalar:
    return _half(mul(s.direction, sub(1, s.direction)))


def _driving(s: JointState, c: Constants) -> Scalar:
    """|load| with the sign of the motion while the motor drives the load, 0 while the load drives the motor."""
    return _half(mul(s.direction, add(absolute(s.load), mul(s.load, s.direction))))


def _driven(s: JointState, c: Constants) -> Scalar:
    return _half(mul(s.direction, sub(absolute(s.load), mul(s.load, s.direction))))


def _slowly(s: JointState, c: Constants) -> Scalar:
    slow = div(s.qd, c["velocity"])
    return exp(neg(mul(slow, slow)))


def _stribeck(s: JointState, c: Constants) -> Scalar:
    return mul(s.direction, _slowly(s, c))


def _loaded_stribeck(s: JointState, c: Constants) -> Scalar:
    return mul(s.direction, mul(absolute(s.load), _slowly(s, c)))


def _warmer(s: JointState, c: Constants) -> Scalar:
    """Temperature above the reference [K]; a structural 0 if the temperature is unknown."""
    return 0 if s.temperature is None else sub(s.temperature, c["reference"])


def _thinning(s: JointState, c: Constants) -> Scalar:
    """Carreau's law with exponent 1/2: in proportion to the speed when slow, to its root when fast."""
    fast = div(s.qd, c["velocity"])
    return div(s.qd, sqrt(sqrt(add(1, mul(fast, fast)))))


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
BUILT_IN = (
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
    Effect("FP", "presliding", *COULOMB, "Coulomb friction that is reached after an elastic displacement: element of a "
"Maxwell-slip model",
           "FP z / displacement with dz = dq and |z| <= displacement", lambda s, c: s.slid, ("qd", "presliding"),
           constants={"displacement": None}, scan=(0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03), is_bounded=True,
           is_dry=True),
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
    Effect("FSL", "load_stribeck", "1", "1", "Stribeck friction proportional to the joint load",
           "FSL |load| exp(-(qd / velocity)^2) sign(qd)", _loaded_stribeck, ("qd", "load"),
           constants={"velocity": None}, is_dry=True),
    Effect("FVC", "cubic", "N m s3/rad3", "N s3/m3", "cubic friction", "FVC qd^3",
           lambda s, c: mul(s.qd, mul(s.qd, s.qd)), is_nonnegative=False, has_twin=True),
    Effect("FVS", "shear_thinning", *VISCOUS, "viscous friction that grows ever slower with speed, as of a "
"lubricant that thins by shear; value at rest",
           "FVS qd / (1 + (qd / velocity)^2)^(1/4)", _thinning, constants={"velocity": None},
           scan=(0.03, 0.1, 0.3, 1.0), has_twin=True),
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
TABLE = (*BUILT_IN, *added_effects(BUILT_IN))
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
