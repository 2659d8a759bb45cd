"""Angles of Denavit-Hartenberg tables that look like degrees where radians are asked for, or the reverse."""

from __future__ import annotations

import math

from minertia.algebra.polynomial import Number, Poly

FULL_TURN = 2 * math.pi * (1 + 1e-3)  # rad; 6.2832 and 6.29 are still a turn
NEAR = 2e-3  # rad, from the part of a turn that a rounded number stands for: 3.14 is 1.6e-3 from pi
STEP = math.pi / 12


def constant_part(angle: Poly | Number) -> float:
    """What of an angle is a number, whatever its letters are [rad]."""
    return float(angle.terms.get((), 0)) if isinstance(angle, Poly) else float(angle)


def is_beyond_a_turn(angle: float) -> bool:
    """Whether no table would say so in radians."""
    return abs(angle) > FULL_TURN


def looks_like_degrees(angle: float) -> bool:
    """Whether an angle in radians is a whole number, or beyond half a turn and no part of one that has a name."""
    if angle == 0:
        return False
    return angle == round(angle) or (abs(angle) > math.pi + NEAR and not _is_part_of_a_turn(angle))


def looks_like_radians(degrees: float) -> bool:
    """Whether an angle in degrees is a part of pi, and no whole number of degrees."""
    return 0 < abs(degrees) <= FULL_TURN and degrees != round(degrees) and _is_part_of_a_turn(degrees)


def _is_part_of_a_turn(angle: float) -> bool:
    return abs(angle - round(angle / STEP) * STEP) < NEAR
