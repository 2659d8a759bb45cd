"""Placements of the joints of a TOML description: checked entries, letters, and angles put where they are meant."""

from __future__ import annotations

import numpy as np

from minertia.algebra.polynomial import Poly
from minertia.algebra.vec3 import HERE, Mat, Vec
from minertia.robot.dh.placement import CONVENTIONS, Entry, Letters, Poses, table_poses
from minertia.robot.dh.table import Table, finite, shown
from minertia.robot.expression import ExpressionError, parse_expression
from minertia.robot.robot import Note
from minertia.robot.snap import REPORTED, rotation_angle, snap_angle, snap_rotation

JOINT_KEYS = ("name", "kind", "parent", "convention", "link", "drive", "effects", "limits", "follows")


class Placements:
    """Reads the placement of each joint; `notes` collects the angles that were changed."""

    def __init__(self, letters: Letters, convention: str, tolerance: float) -> None:
        self.letters, self.convention, self.tolerance = letters, convention, tolerance
        self.notes: list[Note] = []

    def poses(self, number: int, row: Table) -> Poses:
        """Poses of the joint in row `number` of the file (from 1)."""
        name = row.choice("convention", CONVENTIONS, self.convention)
        convention = CONVENTIONS[name]
        for key in row:
            owners = [other for other, c in CONVENTIONS.items() if key in c.keys]
            if key not in convention.keys and owners:
                row.fail(f"the key '{key}' is one of the convention {' or '.join(owners)}, not of {name}", key)
        row.only((*JOINT_KEYS, *convention.keys))
        if name == "placement":
            return (self._rotation(row), self._position(number, row)), HERE
        values = {key: self._length(row, key, f"{key}{number}", row.get(key, 0)) for key in convention.lengths}
        return table_poses(name, values | {key: self._angle(row, key) for key in convention.angles})

    def _length(self, row: Table, key: str, letter: str, value: object) -> Entry:
        return self.letters.length(letter, self._expression(row, key, value))

    def _expression(self, row: Table, key: str, value: object) -> Entry:
        """A number, or an expression in the symbols of the file."""
        if not isinstance(value, str):
            number = finite(value)
            if number is None:
                row.fail(f"'{key}' must be a finite number or a symbol, not {shown(value)}", key)
            return value if isinstance(value, int) and value in (0, 1, -1) else number
        try:
            expression = parse_expression(value)
        except ExpressionError as err:
            row.fail(f"'{key}': {err}", key)
        for name in sorted(expression.letters) if isinstance(expression, Poly) else ():
            if name not in self.letters.values:
                known = ", ".join(self.letters.values) or "none"
                row.fail(f"'{key}' names the symbol '{name}', which is not in [symbols]; there are: {known}", key)
        return expression

    def _angle(self, row: Table, key: str) -> float:
        """An angle [rad], put on the right angle it stands for."""
        in_degrees = f"{key}_deg"
        if key in row and in_degrees in row:
            row.fail(f"'{key}' and '{in_degrees}' stand side by side; give one of them", in_degrees)
        if in_degrees in row:
            written, key = float(np.deg2rad(row.number(in_degrees))), in_degrees
        else:
            value = self._expression(row, key, row.get(key, 0))
            if isinstance(value, Poly):
                row.fail(f"'{key}' must be a number or a part of pi, not a letter", key)
            written = float(value)
        angle = snap_angle(written, self.tolerance)
        if abs(angle - written) > REPORTED:
            text = f"{key} = {row.get(key)} is taken as {np.rad2deg(angle):.10g} degrees"
            self.notes.append(Note("info", row.where, text, row.line(key), is_geometry=True))
        return angle

    def _rotation(self, row: Table) -> Mat:
        if "rotation" not in row:
            return HERE[0]
        rows = row.square("rotation", 3, "entries")
        R: Mat = tuple(tuple(self._expression(row, "rotation", s) for s in r) for r in rows)  # type: ignore[assignment]
        if not self.letters.wanted:
            R = tuple(tuple(self.letters.replaced(s) for s in r) for r in R)  # type: ignore[assignment]
        if any(isinstance(s, Poly) for r in R for s in r):
            return R
        A = np.array(R, float)
        if np.abs(A @ A.T - np.eye(3)).max() > 1e-6 or np.linalg.det(A) < 0:
            row.fail("'rotation' is not a rotation matrix", "rotation")
        return self._snapped(row, R)

    def _snapped(self, row: Table, R: Mat) -> Mat:
        if self.tolerance == 0:
            return R
        snapped = snap_rotation(R, self.tolerance)
        change = rotation_angle(R, snapped)
        if change > REPORTED:
            text = f"the rotation is turned by {change:.2g} rad on the right angle it stands for"
            self.notes.append(Note("info", row.where, text, row.line("rotation"), is_geometry=True))
        return snapped

    def _position(self, number: int, row: Table) -> Vec:
        if "position" not in row:
            return HERE[1]
        value = row.items("position", 3, "lengths")
        x, y, z = (self._length(row, "position", f"{axis}{number}", s) for axis, s in zip("xyz", value, strict=True))
        return x, y, z
