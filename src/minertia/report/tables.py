"""Tables and sentences about robots and base parameters, the same on the terminal and on pages."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from minertia.algebra.scalar import Scalar
from minertia.algebra.show import text
from minertia.algebra.vec3 import Vec, column
from minertia.base.certificate import DIGITS
from minertia.base.grouping import BaseParameters
from minertia.robot.effects import BY_SYMBOL
from minertia.robot.joint import Joint
from minertia.robot.parameters import BIAS, BIAS_SYMBOLS, LINK, LINK_SYMBOLS, split_name
from minertia.robot.robot import Robot

COMBINATION_UNITS = {"U": "kg m2", "K": "kg m", "M": "kg"}
# of what a servo and its spring add, where a joint turns and where it slides
SERVO_UNITS = {
    "KP": ("N m/rad", "N/m"),
    "KI": ("N m/(rad s)", "N/(m s)"),
    "KD": ("N m s/rad", "N s/m"),
    "KJ": ("N m/rad", "N/m"),
    "DJ": ("N m s/rad", "N s/m"),
    "RJ": ("rad", "m"),
    "ZERO": ("rad", "m"),
    "SPEED": ("rad/s", "m/s"),
    "START": ("1", "1"),
    "WARM": ("1/K", "1/K"),
    "SAG": ("V/(N m)", "V/N"),
    "LAPSE": ("1", "1"),
    "PLAY": ("rad", "m"),
    "SHARE": ("1", "1"),
    "CURVE": ("1/(N m)", "1/N"),
    "delay": ("s", "s"),
}


@dataclass(frozen=True, slots=True)
class Table:
    """Headers and rows of text; right: right-aligned numeric columns; keys: number of leading key columns."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    keys: int = 1

    def without_empty_columns(self) -> Table:
        """Table without its empty columns."""
        used = [c for c in range(len(self.headers)) if any(row[c] for row in self.rows)]
        rows = tuple(tuple(row[c] for c in used) for row in self.rows)
        right = tuple(used.index(c) for c in self.right if c in used)
        return Table(tuple(self.headers[c] for c in used), rows, right, sum(c < self.keys for c in used))


def joint_table(robot: Robot) -> Table:
    """One row per moving joint: placement, axis, limits, leading joint and drive."""
    headers = ("no", "joint", "kind", "on", "position [m]", "x axis", "z axis", "limits", "follows", "drive")
    rows = tuple(
        (
            str(j + 1),
            joint.name,
            joint.kind,
            parent_name(robot, joint),
            f"({', '.join(text(s) for s in map(_short, joint.p))})",
            direction(column(joint.R, 0)),
            direction(column(joint.R, 2)),
            limits_text(joint),
            follows_text(robot, joint),
            drive_text(robot, j),
        )
        for j, joint in enumerate(robot.joints)
    )
    return Table(headers, rows, right=(0,), keys=2).without_empty_columns()


def joint_tables(robot: Robot) -> dict[str, Table]:
    """Joint data as narrower tables for a terminal, by title: placement, limits, leading joints and drives."""
    whole = joint_table(robot)
    own = tuple(row[:2] for row in whole.rows)
    places = tuple(c for c, header in enumerate(whole.headers) if header not in ("limits", "follows", "drive"))
    limits = ("position", "velocity", "acceleration", "effort")
    follows = [(*key, follows_text(robot, joint)) for key, joint in zip(own, robot.joints, strict=True)]
    drives = [_drive(robot, j) for j in range(robot.n_joints)]
    symbols = tuple(dict.fromkeys(symbol for values in drives for symbol in values))
    tables = {
        "joints": Table(
            tuple(whole.headers[c] for c in places), tuple(tuple(row[c] for c in places) for row in whole.rows), (0,), 2
        ),
        "limits": Table(
            ("no", "joint", *limits),
            tuple((*key, *_limits(joint)) for key, joint in zip(own, robot.joints, strict=True) if any(_limits(joint))),
            (0, 2, 3, 4, 5),
            2,
        ),
        "follow another joint": Table(("no", "joint", "position"), tuple(row for row in follows if row[2]), (0,), 2),
        "rotor inertia, friction and offset": Table(
            ("no", "joint", *symbols),
            tuple(
                (*key, *(f"{v[s]:.4g}" if s in v else "" for s in symbols)) for key, v in zip(own, drives, strict=True)
            ),
            (0, *range(2, len(symbols) + 2)),
            2,
        ),
    }
    return {title: table.without_empty_columns() for title, table in tables.items() if table.headers[2:] and table.rows}


def parent_name(robot: Robot, joint: Joint) -> str:
    """Name of the parent of a joint."""
    if joint.parent is None:
        return "base" if robot.is_floating else "ground"
    return robot.joints[joint.parent].name


def direction(v: Vec) -> str:
    """Unit vector as text: +x, -y ... where it is an axis of the parent's frame, else its coordinates."""
    if all(type(s) is int for s in v) and sum(s != 0 for s in v) == 1:
        k = next(k for k, s in enumerate(v) if s != 0)
        return ("+" if v[k] > 0 else "-") + "xyz"[k]
    return f"({', '.join(text(_short(s)) for s in v)})"


def limits_text(joint: Joint) -> str:
    """Limits of a joint with units, as text."""
    return ", ".join(text for text in _limits(joint) if text)


def _limits(joint: Joint) -> tuple[str, ...]:
    """Limits of position, velocity, acceleration and effort; empty where there is none."""
    angle, effort = ("rad", "N m") if joint.kind == "revolute" else ("m", "N")
    limits = joint.limits
    lower, upper = ("" if v is None else f"{v:.4g}" for v in (limits.lower, limits.upper))
    rates = ((limits.velocity, f"{angle}/s"), (limits.acceleration, f"{angle}/s2"), (limits.effort, effort))
    position = f"{lower} to {upper} {angle}" if lower or upper else ""
    return position, *("" if value is None else f"{value:.4g} {unit}" for value, unit in rates)


def follows_text(robot: Robot, joint: Joint) -> str:
    """Leaders of a dependent (mimic) joint with ratios and offset, as text; also marks a passive joint."""
    if joint.follows is None:
        return f"passive, by its loop{', with a motor' * joint.has_motor}" if joint.is_passive else ""
    offset = f" {joint.follows.offset:+g}" if joint.follows.offset else ""
    terms = [f"{ratio:g} * {robot.joints[k].name}" for k, ratio in joint.follows.shares]
    return f"{' + '.join(terms)}{offset}"


def drive_text(robot: Robot, j: int) -> str:
    """Rotor inertia, friction and offset of a joint and of its motor, as text."""
    values = [f"{symbol}={value:.4g}" for symbol, value in _drive(robot, j).items()]
    elastic = robot.joints[j].elastic
    if elastic is not None:
        spring = {"KJ": elastic.stiffness, "DJ": elastic.damping}
        values += [f"{symbol}={'?' if value is None else f'{value:.4g}'}" for symbol, value in spring.items()]
    return " ".join(values)


def _drive(robot: Robot, j: int) -> dict[str, float]:
    values = dict(robot.effects[j])
    if j in robot.coupled_motors and robot.motor_effects:
        values |= robot.motor_effects[robot.coupled_motors[j]]
    return {symbol: value for symbol, value in values.items() if value}


def unit_of(robot: Robot, name: str) -> str:
    """Unit of a standard, regrouped or combined parameter, of an effect parameter or of a servo parameter.

    The name of an effect may include its constant (FS1@0.05).  An empty text where the unit is not known, as
    for ground-contact parameters.
    """
    name = name.partition("@")[0].partition("+")[0]  # sums are of one unit
    symbol, link = name.rstrip("0123456789"), int("0" + name[len(name.rstrip("0123456789")) :])
    if symbol in SERVO_UNITS:
        own = robot.independent if not link else (robot.independent[link - 1],)
        return SERVO_UNITS[symbol][all(robot.joints[j].kind == "prismatic" for j in own)]
    if "_" in name:
        return COMBINATION_UNITS.get(name[0], "")
    symbol, link = split_name(name)
    if symbol in LINK_SYMBOLS:
        return LINK[LINK_SYMBOLS.index(symbol)].unit
    if symbol in BIAS_SYMBOLS:
        return BIAS[BIAS_SYMBOLS.index(symbol)].unit
    effect = BY_SYMBOL[symbol]
    slides = robot.joints[link - 1].kind == "prismatic" and symbol == effect.name
    return effect.sliding_unit if slides else effect.unit


def symbol_table(robot: Robot) -> Table:
    """Table of symbols and their values."""
    rows = tuple(
        (name, f"{value:.6g}" if value is not None else f"none ({robot.symbol_values[name]:.6g} drawn for the checks)")
        for name, value in robot.symbols.items()
    )
    return Table(("letter", "value [m or rad]"), rows, right=(1,))


def moving_mass(robot: Robot) -> float | None:
    """Total mass of the moving links [kg], None when no link has parameters."""
    bodies = [x for x in (*robot.links, robot.base_link if robot.is_floating else None) if x is not None]
    return float(sum(x[9] for x in bodies)) if bodies else None


def class_counts(base: BaseParameters, frames: str = "joint") -> dict[str, int]:
    """Number of standard parameters per class: alone, in combination, or without effect."""
    counts = {"alone": 0, "combination": 0, "none": 0}
    for kind in base.classes(frames).values():
        counts[kind] += 1
    return counts


def _short(value: Scalar) -> Scalar:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def kinds_text(robot: Robot) -> str:
    """Joint type sequence: RRP for two revolute joints and a prismatic one; long runs are counted, as in 29R."""
    letters = "".join(joint.kind[0].upper() for joint in robot.joints)
    if len(letters) <= 12:
        return letters
    runs = [(letter, len(list(run))) for letter, run in groupby(letters)]
    return " ".join(f"{count}{letter}" if count > 1 else letter for letter, count in runs)


# ---------------------------------------------------------------------------------------------------------- sentences


CLASS_WORDS = {
    "alone": "can be found by itself",
    "combination": "shows only in sums with others",
    "none": "never shows in any joint effort",
}


def certificate_sentences(base: BaseParameters) -> tuple[str, ...]:
    """Messages on the checks of a certificate and their results."""
    c = base.certificate
    wide = f" {c.digits} digits decided it, where 16 left doubt." if c.digits != DIGITS else ""
    return (
        f"Rank: at {c.states} random states (seed {c.seed}) the regressor over all {len(base.columns)} standard "
        f"parameters has rank {c.rank} for {base.count} base parameters, so none is missing and none is superfluous.",
        f"Gap: the smallest singular value that counts is {c.gap:.1e} times the largest that does not, or its "
        f"rounding; the rank is beyond doubt.{wide}",
        "Reconstruction: efforts computed from the base parameters differ from those of all standard parameters "
        f"by at most {c.error:.1e} of the longest column of a kind, at these states and at others.",
        *_letters_sentence(base),
        _numeric_sentence(base),
        *_divisors_sentence(base),
    )


def _letters_sentence(base: BaseParameters) -> tuple[str, ...]:
    redrawn = base.certificate.redrawn
    if redrawn is None:
        return ()
    own = redrawn.count == base.count and not any(base.is_numeric)
    checked = "the relations" if own else f"the {redrawn.count} relations of the rules"
    sentence = (
        f"Letters: at a second draw of all {len(redrawn.values)} letters {checked} hold to {redrawn.error:.1e}, and "
        f"the rank there is {redrawn.rank}"
    )
    special = redrawn.rank != base.count
    return (sentence + ("; the robot's own numbers are special." if special else "."),)


def _divisors_sentence(base: BaseParameters) -> tuple[str, ...]:
    names = [text(divisor) for divisor in base.divisors]
    return (f"Divisors: the relations hold where {', '.join(names)} is not zero.",) if names else ()


def _numeric_sentence(base: BaseParameters) -> str:
    numeric = [name for name, flag in zip(base.names, base.is_numeric, strict=True) if flag]
    if not numeric:
        return "Relations: all of them follow from the rules; none had to be added numerically."
    names = ", ".join(numeric[:8]) + (f" and {len(numeric) - 8} more" if len(numeric) > 8 else "")
    drawn = ", ".join(f"{name} = {value:.6g}" for name, value in base.drawn.items())
    whose = f"for the values drawn for its letters only, {drawn}" if drawn else "for this robot's numbers only"
    return f"Relations: {len(numeric)} hold coefficients found numerically, {whose} ({names})."
