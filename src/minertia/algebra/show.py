"""Polynomials and linear forms as text (readable by Python) and as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from minertia.algebra.linear import Linear
from minertia.algebra.polynomial import Monomial, Number, Poly, split_atom
from minertia.algebra.scalar import Scalar


@dataclass(frozen=True, slots=True)
class Style:
    """How a factor, a power and a product are written."""

    atom: Callable[[str], str]
    name: Callable[[str], str]
    power: str
    times: str


def text(value: Poly | Number | Linear) -> str:
    """One line that Python can evaluate: D3**2*(M3 + M4) - 2*R3*MZ3."""
    return _form(value, _TEXT)


def latex(value: Poly | Number | Linear) -> str:
    """The same for a paper."""
    return _form(value, _LATEX)


def latex_name(name: str) -> str:
    """XX_{R3} of XXR3, D_{3} of D3, L of L."""
    if len(name) == 1:
        return name
    match = re.fullmatch(r"([A-Za-z]+?)(R?)_?(\d+)", name)
    if match is None:
        return r"\mathit{" + re.sub(r"([_#$%&{}])", r"\\\1", name) + "}"
    stem, regrouped, number = match.groups()
    letters = stem if len(stem) == 1 else rf"\mathit{{{stem}}}"
    return f"{letters}_{{{regrouped}{number}}}"


def _form(value: Poly | Number | Linear, style: Style) -> str:
    if isinstance(value, Linear):
        return _linear(value, style)
    return _polynomial(value, style)


def _linear(form: Linear, style: Style) -> str:
    """Columns with the same coefficient stand together in one bracket."""
    groups: dict[Scalar, list[tuple[str, str]]] = {}
    for name, coefficient in form.terms.items():
        sign, key = _split_sign(coefficient)
        groups.setdefault(key, []).append((sign, style.name(str(name))))
    parts = []
    for coefficient, members in groups.items():
        if coefficient == 1:
            parts += members
        elif len(members) == 1:
            parts.append((members[0][0], _factor(coefficient, style) + style.times + members[0][1]))
        else:
            first = members[0][0]
            inner = _joined([("+" if sign == first else "-", name) for sign, name in members])
            parts.append((first, f"{_factor(coefficient, style)}{style.times}({inner})"))
    return _joined(parts) if parts else "0"


def _polynomial(value: Poly | Number, style: Style) -> str:
    if not isinstance(value, Poly):
        return _number(value)
    parts = []
    for monomial, number in _sorted_terms(value):
        factors = [_power(atom, power, style) for atom, power in monomial]
        if abs(number) != 1 or not factors:
            factors.insert(0, _number(abs(number)))
        parts.append(("-" if number < 0 else "+", style.times.join(factors)))
    return _joined(parts)


def _factor(coefficient: Scalar, style: Style) -> str:
    written = _polynomial(coefficient, style)
    return f"({written})" if isinstance(coefficient, Poly) and len(coefficient.terms) > 1 else written


def _power(atom: str, power: int, style: Style) -> str:
    written = style.atom(atom)
    return written if power == 1 else written + style.power.format(power)


def _split_sign(coefficient: Scalar) -> tuple[str, Scalar]:
    leading = _sorted_terms(coefficient)[0][1] if isinstance(coefficient, Poly) else coefficient
    return ("-", -coefficient) if leading < 0 else ("+", coefficient)


def _sorted_terms(value: Poly) -> list[tuple[Monomial, Number]]:
    return sorted(value.terms.items(), key=lambda item: (-sum(power for _, power in item[0]), item[0]))


def _joined(parts: Sequence[tuple[str, str]]) -> str:
    (sign, first), *rest = parts
    return ("-" if sign == "-" else "") + first + "".join(f" {s} {term}" for s, term in rest)


def _number(value: Number) -> str:
    return str(value) if isinstance(value, int) else f"{value:.15g}"


def _latex_atom(atom: str) -> str:
    function, name = split_atom(atom)
    return latex_name(name) if not function else rf"\{function}({latex_name(name)})"


_TEXT = Style(atom=str, name=str, power="**{}", times="*")
_LATEX = Style(atom=_latex_atom, name=latex_name, power="^{{{}}}", times=r"\,")
