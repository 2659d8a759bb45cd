"""Published relations in letters: read as text, compared with ours as polynomials."""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minertia.algebra.linear import Linear
from minertia.algebra.polynomial import Number, Poly, evaluate, letter, turn
from minertia.algebra.vec3 import Pose, compose, shift, turn_x, turn_z
from minertia.robot.joint import Joint
from minertia.robot.robot import EARTH, Robot

Value = Poly | Number
Entry = str | float  # of a table of lengths and angles: a number, or an expression in letters

_OPERATORS: dict[type[ast.operator], Any] = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def read(text: str, known: Mapping[str, Value] | None = None) -> Value:
    """The polynomial of an expression such as "D3**2*(M3 + M4) - 2*sin(a)*MZ3"; `known` replaces names."""
    return _read(ast.parse(text, mode="eval").body, known or {})


def _read(node: ast.expr, known: Mapping[str, Value]) -> Value:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            return known.get(name, letter(name))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_read(operand, known)
        case ast.Call(func=ast.Name(id="cos" | "sin" as function), args=[ast.Name(id=angle)]):
            return letter(f"{function}({angle})")
        case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=int() as power)):
            result: Value = 1
            for _ in range(power):
                result = result * _read(base, known)
            return result
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            combined: Value = _OPERATORS[type(op)](_read(left, known), _read(right, known))
            return combined
    raise ValueError(f"not an expression in letters: {ast.unparse(node)}")


def polynomial(form: Linear | Value) -> Value:
    """A linear form with its columns as letters, so that it can be compared with a published relation."""
    if not isinstance(form, Linear):
        return form
    total: Value = 0
    for column, coefficient in form.terms.items():
        total = total + letter(str(column)) * coefficient
    return total


def row(alpha: Entry = 0, d: Entry = 0, theta: Entry = 0, r: Entry = 0) -> Pose:
    """Placement of a joint from its modified Denavit-Hartenberg row; angles in degrees, or letters."""
    return compose(turn_x(turn(_angle(alpha))), shift(x=_length(d)), turn_z(turn(_angle(theta))), shift(z=_length(r)))


def _angle(value: Entry) -> Value:
    return read(value) if isinstance(value, str) else float(np.radians(value))


def _length(value: Entry) -> Value:
    return read(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Chain:
    """A serial robot as a paper gives it: kinds ("R", "T"), rows (alpha, d, theta, r), letters with values to check."""

    name: str
    kinds: str
    rows: Sequence[tuple[Entry, Entry, Entry, Entry]]
    gravity: tuple[float, float, float] = EARTH

    def robot(self, values: Mapping[str, float]) -> Robot:
        """The robot, its letters with these values where a number is needed."""
        joints = []
        for j, (kind, cells) in enumerate(zip(self.kinds, self.rows, strict=True)):
            R, p = row(*cells)
            name = "revolute" if kind == "R" else "prismatic"
            joints.append(Joint(f"j{j + 1}", name, j - 1 if j else None, R, p, f"link{j + 1}"))
        used = {name for j in joints for s in (*sum(j.R, ()), *j.p) if isinstance(s, Poly) for name in s.letters}
        symbols = {name: values[name] for name in sorted(used)}
        return Robot(
            name=self.name,
            joints=tuple(joints),
            links=(None,) * len(joints),
            gravity=self.gravity,
            symbols=symbols,
        )

    def numbers(self, values: Mapping[str, float]) -> list[dict[str, float]]:
        """The rows as numbers: a, d, t, r (angles in rad) of each joint."""
        found = []
        for alpha, d, theta, r in self.rows:
            cells = {"a": _angle(alpha), "d": _length(d), "t": _angle(theta), "r": _length(r)}
            found.append({key: float(evaluate(value, values)) for key, value in cells.items()})
        return found
