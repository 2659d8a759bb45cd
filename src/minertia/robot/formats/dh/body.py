"""Entries of a joint in a TOML description: its link, drive, limits, and the joints that it follows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from minertia.io.tables import CheckedTable
from minertia.robot.effects import BY_SYMBOL, EFFECT_SYMBOLS, MOTOR_SYMBOLS
from minertia.robot.inertia import Ten, from_six
from minertia.robot.joint import Elastic, Limits
from minertia.robot.parameters import LINK_SYMBOLS

BODY_KEYS = ("mass", "com", "inertia", "about")
DRIVE_KEYS = ("ratio", "rotor_inertia", "viscous", "coulomb", "offset")
ELASTIC_KEYS = ("stiffness", "damping")
LIMIT_KEYS = ("position", "velocity", "acceleration", "effort")


def read_link(table: CheckedTable) -> Ten | None:
    """Ten parameters of a link in the frame used by the file, None where the table gives none."""
    table.only(("name", *BODY_KEYS, *LINK_SYMBOLS))
    by_name = [key for key in table if key in LINK_SYMBOLS]
    by_centre = [key for key in table if key in BODY_KEYS]
    if by_name and by_centre:
        raise table.fail(
            f"'{by_centre[0]}' and '{by_name[0]}' cannot be given together; give mass, com and inertia, or the "
            "ten parameters, not both",
            by_name[0],
        )
    if by_name:
        return tuple(table.number(s, 0.0, at_least=0.0 if s == "M" else -math.inf) for s in LINK_SYMBOLS)
    return _about_centre(table) if by_centre else None


def _about_centre(table: CheckedTable) -> Ten:
    if "mass" not in table:
        raise table.fail("'mass' is missing")
    mass = table.number("mass", 0.0, at_least=0.0)
    com = table.numbers("com", 3, (0.0,) * 3)
    inertia = table.numbers("inertia", 6, (0.0,) * 6)
    about = table.choice("about", ("com", "frame"), "com")
    return from_six(mass, com, inertia, about)


def read_motor(table: CheckedTable) -> dict[str, float]:
    """Motor-side {IA, FV, FC, OFF} of a drive.

    Direction-dependent Coulomb friction is represented by its mean, plus half the difference in the offset.
    """
    table.only(DRIVE_KEYS)
    minus, plus = _coulomb(table)
    values = {
        "IA": table.number("rotor_inertia", 0.0, at_least=0.0),
        "FV": table.number("viscous", 0.0, at_least=0.0),
        "FC": 0.5 * (plus + minus),
        "OFF": table.number("offset", 0.0) + 0.5 * (plus - minus),
    }
    return {symbol: value for symbol, value in values.items() if value != 0}


def _coulomb(table: CheckedTable) -> tuple[float, float]:
    """Magnitudes of the friction torque for motion in the negative and in the positive direction of the motor."""
    if not isinstance(table.get("coulomb"), list):
        both = table.number("coulomb", 0.0, at_least=0.0)
        return both, both
    minus, plus = table.numbers("coulomb", 2, ())
    if plus < 0:
        raise table.fail("the second number of 'coulomb', for the positive direction, must not be negative", "coulomb")
    return abs(minus), plus


def read_ratio(table: CheckedTable) -> float:
    """Gear ratio: motor position per joint position."""
    ratio = table.number("ratio", 1.0)
    if ratio == 0:
        raise table.fail("'ratio' must not be 0", "ratio")
    return ratio


def joint_side(motor: Mapping[str, float], ratio: float) -> dict[str, float]:
    """Effects of a motor referred to its joint: tau = N tau_m, qd_m = N qd."""
    factor = {"IA": ratio * ratio, "FV": ratio * ratio, "FC": abs(ratio), "OFF": ratio}
    return {symbol: factor[symbol] * value for symbol, value in motor.items()}


def read_effects(table: CheckedTable, symbols: Iterable[str]) -> dict[str, float]:
    """Effects with these symbols in a table, at the joint (FV) or at the motor (FVM).

    An effect is a number, or a table of its value and its constants.
    """
    table.only((*EFFECT_SYMBOLS, *MOTOR_SYMBOLS))
    return {symbol: _value(table, symbol) for symbol in symbols if symbol in table}


def _value(table: CheckedTable, symbol: str) -> float:
    if not isinstance(table.get(symbol), dict):
        return table.number(symbol, 0.0)
    own = table.table(symbol)
    if "value" not in own:
        raise own.fail("'value' is missing", symbol)
    return own.number("value", 0.0)


def read_constants(table: CheckedTable) -> dict[str, dict[str, float]]:
    """Constants of the effects of a table."""
    found: dict[str, dict[str, float]] = {}
    for symbol in table:
        effect = BY_SYMBOL[symbol]
        own = table.table(symbol) if isinstance(table.get(symbol), dict) else None
        if own is not None:
            own.only(("value", *effect.constants))
            found[symbol] = {name: own.number(name, 0.0) for name in effect.constants if name in own}
            wrong = effect.wrong_constant(found[symbol])
            if wrong is not None:
                raise own.fail(f"'{wrong}' must be positive", symbol)
        missing = effect.filled(found.get(symbol, {}))[1]
        if missing:
            example = ", ".join(f"{name} = ..." for name in missing)
            raise table.fail(
                f"'{symbol}' needs {', '.join(missing)}: write {symbol} = {{ value = ..., {example} }}", symbol
            )
    return {symbol: numbers for symbol, numbers in found.items() if numbers}


def read_elastic(table: CheckedTable) -> Elastic:
    """Stiffness and damping between motor and link, each a number or a question mark."""
    table.only(ELASTIC_KEYS)
    stiffness, damping = (None if table.get(key, "?") == "?" else table.number(key, 0.0) for key in ELASTIC_KEYS)
    if stiffness is not None and not stiffness > 0:
        raise table.fail("'stiffness' must be positive, or \"?\" if it is to be identified", "stiffness")
    if damping is not None and damping < 0:
        raise table.fail("'damping' must not be negative; write \"?\" if it is to be identified", "damping")
    return Elastic(stiffness, damping)


def added(*effects: Mapping[str, float]) -> dict[str, float]:
    """Sum of the effects of several sources on one joint."""
    total: dict[str, float] = {}
    for values in effects:
        for symbol, value in values.items():
            total[symbol] = total.get(symbol, 0.0) + value
    return total


def read_limits(table: CheckedTable) -> Limits:
    """Limits of the joint's motion."""
    table.only(LIMIT_KEYS)
    lower, upper = table.numbers("position", 2) or (None, None)
    rates = (table.number(key) for key in ("velocity", "acceleration", "effort"))
    return Limits(lower, upper, *rates)
