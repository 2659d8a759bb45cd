"""Placements of TOML descriptions: Denavit-Hartenberg rows in three conventions or plain poses, entries checked.

khalil    T = Rot(z, gamma) Trans(z, b) Rot(x, alpha) Trans(x, d) Rot(z, theta) Trans(z, r)
craig     T = Rot(x, alpha) Trans(x, a) Rot(z, theta) Trans(z, d)
standard  T = Rot(z, theta) Trans(z, d) Trans(x, a) Rot(x, alpha); the joint moves before Trans(x, a) Rot(x, alpha)
placement T = (rotation, position)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from minertia.algebra.polynomial import Number, Poly, evaluate, letter, split_atom, substitute, turn
from minertia.algebra.vec3 import HERE, Mat, Pose, Vec, compose, shift, turn_x, turn_z
from minertia.io.tables import CheckedTable, finite, shown
from minertia.robot.formats.expression import ExpressionError, parse_expression
from minertia.robot.formats.snap import (
    EXACT,
    REPORTED,
    constant_part,
    is_beyond_a_turn,
    looks_like_degrees,
    looks_like_radians,
    rotation_angle,
    snap_angle,
    snap_rotation,
)
from minertia.robot.parameters import is_parameter_name
from minertia.robot.robot import Note

Entry: TypeAlias = Poly | Number
Poses: TypeAlias = tuple[Pose, Pose]  # of the joint frame in the parent's link frame, of the link frame in the joint's


@dataclass(frozen=True, slots=True)
class Convention:
    """Keys of a convention: lengths [m], angles [rad, or degrees with the suffix _deg], and other keys."""

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
    """Symbols of a robot: those of its file and, if wanted, one for every length that is a plain number."""

    def __init__(self, symbols: Mapping[str, float | None], wanted: bool) -> None:
        self.values: dict[str, float | None] = dict(symbols)
        self.wanted = wanted

    @property
    def symbols(self) -> dict[str, float | None]:
        """Symbols that the robot keeps: all, or only those without a value."""
        return {name: value for name, value in self.values.items() if self.wanted or value is None}

    def length(self, name: str, value: Entry) -> Entry:
        """Length as a symbol or a number, depending on whether symbols are requested; 0 is kept as an exact zero."""
        if isinstance(value, Poly):
            value = value if self.wanted else self.replaced(value)
        if isinstance(value, Poly):
            return value
        return 0 if value == 0 else self._automatic(name, float(value)) if self.wanted else float(value)

    def replaced(self, value: Entry) -> Entry:
        """Polynomial with its symbols replaced by their values."""
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


# ---------------------------------------------------------------------------------------------- rows of a description


JOINT_KEYS = (
    "name",
    "kind",
    "parent",
    "convention",
    "link",
    "drive",
    "effects",
    "elastic",
    "limits",
    "follows",
    "passive",
    "motor",
)


class Placements:
    """Reads the placement of each joint; `notes` lists the angles that were snapped."""

    def __init__(self, letters: Letters, convention: str, tolerance: float) -> None:
        self.letters, self.convention, self.tolerance = letters, convention, tolerance
        self.notes: list[Note] = []

    def poses(self, number: int, row: CheckedTable, *, is_lettered: bool = True) -> Poses:
        """Poses of the joint in row `number` (from 1); is_lettered: whether plain lengths become symbols."""
        name = row.choice("convention", CONVENTIONS, self.convention)
        convention = CONVENTIONS[name]
        for key in row:
            owners = [other for other, c in CONVENTIONS.items() if key in c.keys]
            if key not in convention.keys and owners:
                raise row.fail(f"the key '{key}' belongs to the convention {' or '.join(owners)}, not to {name}", key)
        row.only((*JOINT_KEYS, *convention.keys))
        if name == "placement":
            position = self._position(number, row) if is_lettered else self.plain_position(row, "position")
            return (self.rotation(row), position), HERE
        values = {
            key: self._length(row, key, f"{key}{number}", row.get(key, 0))
            if is_lettered
            else self._plain_length(row, key, row.get(key, 0))
            for key in convention.lengths
        }
        angles = {key: self._angle(row, key) for key in convention.angles}
        try:
            return table_poses(name, values | angles)
        except ValueError as err:
            raise row.fail(
                str(err), next((key for key, angle in angles.items() if isinstance(angle, Poly)), None)
            ) from None

    def _length(self, row: CheckedTable, key: str, letter: str, value: object) -> Entry:
        length = self.letters.length(letter, self._expression(row, key, value))
        for name in sorted(length.letters) if isinstance(length, Poly) else ():
            if self.letters.values[name] == 0:
                text = (
                    "the symbol stays in the relations although its value is 0; write 0 in the joint if the "
                    "length is exactly 0"
                )
                self.notes.append(Note("warning", f"symbol '{name}'", text))
        return length

    def _expression(self, row: CheckedTable, key: str, value: object) -> Entry:
        """A number, or an expression in the symbols of the file."""
        if not isinstance(value, str):
            number = finite(value)
            if number is None:
                raise row.fail(f"'{key}' must be a finite number or a symbol, not {shown(value)}", key)
            return value if isinstance(value, int) and value in (0, 1, -1) else number
        try:
            expression = parse_expression(value)
        except ExpressionError as err:
            raise row.fail(f"'{key}': {err}", key) from None
        for name in sorted(expression.letters) if isinstance(expression, Poly) else ():
            if name not in self.letters.values:
                known = ", ".join(self.letters.values) or "none"
                raise row.fail(
                    f"'{key}' names the symbol '{name}', which is not in [symbols]; known symbols: {known}", key
                )
        return expression

    def constant(self, row: CheckedTable, key: str) -> float:
        """Number, or an expression without symbols such as "-pi/2"; 0 if the key is missing."""
        value = self._expression(row, key, row.get(key, 0))
        if isinstance(value, Poly):
            raise row.fail(f"'{key}' must be a number without symbols, not {shown(row.get(key))}", key)
        return float(value)

    def _angle(self, row: CheckedTable, key: str) -> Entry:
        """Angle [rad], symbolic or snapped to the nearest multiple of 90 or 15 degrees within the tolerance."""
        in_degrees = f"{key}_deg"
        if key in row and in_degrees in row:
            raise row.fail(f"'{key}' and '{in_degrees}' cannot be given together; give one of them", in_degrees)
        if in_degrees in row:
            return self._snapped_angle(row, in_degrees, self._degrees(row, key))
        value = self._expression(row, key, row.get(key, 0))
        if isinstance(value, Poly) and not self.letters.wanted:
            value = self.letters.replaced(value)
        if isinstance(value, Poly):
            return self._lettered_angle(row, key, value)
        self._check_radians(row, key, float(value))
        return self._snapped_angle(row, key, float(value))

    def _degrees(self, row: CheckedTable, key: str) -> float:
        """Angle given in degrees, converted to rad, with a warning where it looks like radians."""
        degrees = row.number(f"{key}_deg", 0.0)
        if looks_like_radians(degrees):
            text = f"{key}_deg = {degrees:.6g} is a small angle; write {key} = {degrees:.6g} if it is meant in radians"
            self.notes.append(Note("warning", row.where, text, row.line(f"{key}_deg")))
        return float(np.deg2rad(degrees))

    def _check_radians(self, row: CheckedTable, key: str, angle: float) -> None:
        written = row.get(key)
        if is_beyond_a_turn(angle):
            raise row.fail(
                f"'{key}' is {angle:.6g} rad, more than a full turn; write {key}_deg = {angle:.6g} if it is meant in "
                "degrees",
                key,
            )
        if looks_like_degrees(angle):
            text = f"{key} = {written} is {np.rad2deg(angle):.4g} degrees; write {key}_deg if it is meant in degrees"
            self.notes.append(Note("warning", row.where, text, row.line(key)))

    def _lettered_angle(self, row: CheckedTable, key: str, value: Poly) -> Entry:
        """Symbolic angle; a number where the values of its symbols make it a multiple of 90 degrees."""
        known = {name: number for name, number in self.letters.values.items() if number is not None}
        whole = value.letters <= set(known)
        angle = float(evaluate(value, known)) if whole else constant_part(value)
        if is_beyond_a_turn(angle):
            raise row.fail(
                f"'{key}' = '{row.get(key)}' is {angle:.6g} rad, more than a full turn; write the symbols and "
                f"numbers of an angle in radians ({angle:.6g} degrees are {np.deg2rad(angle):.6g} rad)",
                key,
            )
        right = snap_angle(angle, self.tolerance)
        if not whole or abs(np.sin(2 * right)) > EXACT:
            return value
        text = (
            f"{key} = '{row.get(key)}' is {np.rad2deg(right):.10g} degrees, at which axes align, so it is "
            "taken as this number"
        )
        changed = abs(right - angle) > REPORTED
        self.notes.append(Note("info", row.where, text, row.line(key), is_geometry=changed))
        return right

    def _snapped_angle(self, row: CheckedTable, key: str, written: float) -> float:
        angle = snap_angle(written, self.tolerance)
        if abs(angle - written) > REPORTED:
            text = f"{key} = {row.get(key)} is snapped to {np.rad2deg(angle):.10g} degrees"
            self.notes.append(Note("info", row.where, text, row.line(key), is_geometry=True))
        return angle

    def rotation(self, row: CheckedTable, key: str = "rotation") -> Mat:
        """Rotation matrix, snapped to exact right angles; the identity if the key is missing."""
        if key not in row:
            return HERE[0]
        rows = row.square(key, 3, "entries")
        R: Mat = tuple(tuple(self._expression(row, key, s) for s in r) for r in rows)  # type: ignore[assignment]
        if not self.letters.wanted:
            R = tuple(tuple(self.letters.replaced(s) for s in r) for r in R)  # type: ignore[assignment]
        values = {name: 0.5 if v is None else v for name, v in self.letters.values.items()}
        A = np.array([[evaluate(s, values) for s in r] for r in R], float)
        if np.abs(A).max() > 2 or np.abs(A @ A.T - np.eye(3)).max() > 1e-6 or np.linalg.det(A) < 0:
            raise row.fail(f"'{key}' is not a rotation matrix; its rows must be orthonormal and its determinant 1", key)
        return R if any(isinstance(s, Poly) for r in R for s in r) else self._snapped(row, key, R)

    def _snapped(self, row: CheckedTable, key: str, R: Mat) -> Mat:
        if self.tolerance == 0:
            return R
        snapped = snap_rotation(R, self.tolerance)
        change = rotation_angle(R, snapped)
        if change > REPORTED:
            text = f"the rotation is snapped to exact right angles (change {change:.2g} rad)"
            self.notes.append(Note("info", row.where, text, row.line(key), is_geometry=True))
        return snapped

    def plain_position(self, row: CheckedTable, key: str) -> Vec:
        """Three lengths, of which plain numbers are not replaced by symbols."""
        if key not in row:
            return HERE[1]
        x, y, z = (self._plain_length(row, key, value) for value in row.items(key, 3, "lengths"))
        return x, y, z

    def _plain_length(self, row: CheckedTable, key: str, value: object) -> Entry:
        length = self._expression(row, key, value)
        if isinstance(length, Poly):
            return length if self.letters.wanted else self.letters.replaced(length)
        return 0 if length == 0 else float(length)

    def _position(self, number: int, row: CheckedTable) -> Vec:
        if "position" not in row:
            return HERE[1]
        value = row.items("position", 3, "lengths")
        x, y, z = (self._length(row, "position", f"{axis}{number}", s) for axis, s in zip("xyz", value, strict=True))
        return x, y, z
