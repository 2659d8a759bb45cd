"""Placements as description tables write them: Denavit-Hartenberg rows in three conventions, or a plain pose.

khalil    T = Rot(z, gamma) Trans(z, b) Rot(x, alpha) Trans(x, d) Rot(z, theta) Trans(z, r)
craig     T = Rot(x, alpha) Trans(x, a) Rot(z, theta) Trans(z, d)
standard  T = Rot(z, theta) Trans(z, d) Trans(x, a) Rot(x, alpha); the joint moves before Trans(x, a) Rot(x, alpha)
placement T = (rotation, position)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from minertia.algebra.polynomial import Number, Poly, letter, split_atom, substitute, turn
from minertia.algebra.vec3 import HERE, Pose, compose, shift, turn_x, turn_z
from minertia.robot.parameters import is_parameter_name

Entry: TypeAlias = Poly | Number
Poses: TypeAlias = tuple[Pose, Pose]  # of the joint frame in the parent's link frame, of the link frame in the joint's


@dataclass(frozen=True, slots=True)
class Convention:
    """The keys of a convention: lengths [m] and angles [rad; with _deg in degrees]."""

    lengths: tuple[str, ...] = ()
    angles: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key a table may use."""
        return (*self.lengths, *self.angles, *(f"{angle}_deg" for angle in self.angles), *self.others)


CONVENTIONS = {
    "khalil": Convention(("d", "r", "b"), ("alpha", "theta", "gamma")),
    "craig": Convention(("a", "d"), ("alpha", "theta")),
    "standard": Convention(("a", "d"), ("alpha", "theta")),
    "placement": Convention(others=("rotation", "position")),
}


def khalil_pose(values: Mapping[str, Entry]) -> Pose:
    """Pose of a row gamma, b, alpha, d, theta, r (theory, eq. 2)."""
    return compose(
        turn_z(turn(values.get("gamma", 0))),
        shift(z=values.get("b", 0)),
        turn_x(turn(values.get("alpha", 0))),
        shift(x=values.get("d", 0)),
        turn_z(turn(values.get("theta", 0))),
        shift(z=values.get("r", 0)),
    )


def table_poses(convention: str, values: Mapping[str, Entry]) -> Poses:
    """Poses of a row of a Denavit-Hartenberg table."""
    if convention == "khalil":
        return khalil_pose(values), HERE
    a, d = values.get("a", 0), values.get("d", 0)
    if convention == "craig":
        return khalil_pose({**values, "d": a, "r": d}), HERE
    joint = compose(turn_z(turn(values.get("theta", 0))), shift(z=d))
    return joint, compose(shift(x=a), turn_x(turn(values.get("alpha", 0))))


class Letters:
    """The letters of a robot: those of its file and, if wanted, one for every length that is a plain number."""

    def __init__(self, symbols: Mapping[str, float | None], wanted: bool) -> None:
        self.values: dict[str, float | None] = dict(symbols)
        self.wanted = wanted

    @property
    def symbols(self) -> dict[str, float | None]:
        """What the robot keeps: all letters, or only those that have no value."""
        return {name: value for name, value in self.values.items() if self.wanted or value is None}

    def length(self, name: str, value: Entry) -> Entry:
        """A length as a letter, or with the letters that have values replaced; 0 is structure."""
        if isinstance(value, Poly):
            value = value if self.wanted else self.replaced(value)
        if isinstance(value, Poly):
            return value
        return 0 if value == 0 else self._automatic(name, float(value)) if self.wanted else float(value)

    def replaced(self, value: Entry) -> Entry:
        """A polynomial with the values of its letters put in."""
        known = {name: number for name, number in self.values.items() if number is not None}
        number: Entry = substitute(value, lambda atom: _atom(atom, known))
        return number

    def _automatic(self, name: str, value: float) -> Poly:
        while name in self.values or is_parameter_name(name):
            name += "_"
        self.values[name] = value
        return letter(name)


def _atom(atom: str, known: Mapping[str, float]) -> Entry:
    function, name = split_atom(atom)
    if name not in known:
        return letter(atom)
    if not function:
        return known[name]
    return turn(known[name])[0 if function == "cos" else 1]
