"""Definition of the link parameters (those of effects are in `effects`), their order and full names.

Order, link by link: the ten parameters of a link, then the effects of its joint, then those of its motor
where drives are coupled.  Full names count moving joints from 1 (`XX3`); link 0 is a floating base.
The far parts of links that force/torque sensors divide have the numbers after the last joint.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from minertia.robot.effects import EFFECT_SYMBOLS, MOTOR_SYMBOLS


@dataclass(frozen=True, slots=True)
class Symbol:
    """One inertial parameter of a link."""

    name: str
    unit: str
    meaning: str


LINK = (
    Symbol("XX", "kg m2", "inertia about x, at the frame origin"),
    Symbol("XY", "kg m2", "entry xy of the inertia matrix at the frame origin"),
    Symbol("XZ", "kg m2", "entry xz of the inertia matrix at the frame origin"),
    Symbol("YY", "kg m2", "inertia about y, at the frame origin"),
    Symbol("YZ", "kg m2", "entry yz of the inertia matrix at the frame origin"),
    Symbol("ZZ", "kg m2", "inertia about z (the joint axis), at the frame origin"),
    Symbol("MX", "kg m", "first moment along x"),
    Symbol("MY", "kg m", "first moment along y"),
    Symbol("MZ", "kg m", "first moment along z"),
    Symbol("M", "kg", "mass"),
)
LINK_SYMBOLS = tuple(symbol.name for symbol in LINK)
BIAS = tuple(  # of a force/torque sensor, whose far link has the number
    Symbol(f"B{letter}{axis}", unit, f"bias of the {word} along {axis.lower()}")
    for letter, unit, word in (("F", "N", "force"), ("M", "N m", "moment"))
    for axis in "XYZ"
)
BIAS_SYMBOLS = tuple(symbol.name for symbol in BIAS)

_NAME = re.compile(rf"({'|'.join((*LINK_SYMBOLS, *BIAS_SYMBOLS, *MOTOR_SYMBOLS, *EFFECT_SYMBOLS))})R?(\d+)")


def full_name(symbol: str, link: int) -> str:
    """Name of a standard parameter, for instance XX3."""
    return f"{symbol}{link}"


def regrouped_name(symbol: str, link: int) -> str:
    """Name of a regrouped parameter, for instance XXR3."""
    return f"{symbol}R{link}"


def is_parameter_name(name: str) -> bool:
    """Whether a symbol could be mistaken for a parameter in a printed relation."""
    return _NAME.fullmatch(name) is not None


def split_name(name: str) -> tuple[str, int]:
    """Symbol and link number of a name: ('XX', 3) of 'XX3' or 'XXR3'."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"'{name}' is not the name of a parameter")
    return match[1], int(match[2])
