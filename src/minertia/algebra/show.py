"""Format polynomials, their quotients and linear forms as text (valid Python) or LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from minertia.algebra.linear import Linear
from minertia.algebra.polynomial import Monomial, Number, Poly, leading, sorted_terms, split_atom
from minertia.algebra.quotient import Coefficient, Quotient, lowered, split


@dataclass(frozen=True, slots=True)
class Style:
    """Notation of an output format: functions for factors, templates for powers, products and fractions."""

    atom: Callable[[str], str]
    name: Callable[[str], str]
    power: str
    times: str
    fraction: str
    bracketed: bool  # whether what stands alone above or below needs brackets


def text(value: Coefficient | Linear) -> str:
    """Format as one line that Python can evaluate: D3**2*(M3 + M4) - tan(a2)*MZ3."""
    return _form(value, _TEXT)


def latex(value: Coefficient | Linear) -> str:
    """Format as LaTeX."""
    return _form(value, _LATEX)


def latex_name(name: str) -> str:
    """LaTeX of a parameter name: XX_{R3} for XXR3, D_{3} for D3, L for L."""
    if len(name) == 1:
        return name
    match = re.fullmatch(r"([A-Za-z]+?)(R?)_?(\d+)", name)
    if match is None:
        return r"\mathit{" + re.sub(r"([_#$%&{}])", r"\\\1", name) + "}"
    stem, regrouped, number = match.groups()
    letters = stem if len(stem) == 1 else rf"\mathit{{{stem}}}"
    return f"{letters}_{{{regrouped}{number}}}"


def _form(value: Coefficient | Linear, style: Style) -> str:
    if isinstance(value, Linear):
        return _linear(value, style)
    if isinstance(value, Quotient) or _has_squared_sine(value):
        sign, size = _split_sign(value)
        return ("-" if sign == "-" else "") + _factor(size, style)
    return _polynomial(value, style)


def _linear(form: Linear, style: Style) -> str:
    """Format a linear form; columns with the same coefficient share one bracket."""
    groups: dict[Coefficient, list[tuple[str, str]]] = {}
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
    for monomial, number in sorted_terms(value):
        factors = [_power(atom, power, style) for atom, power in monomial]
        if abs(number) != 1 or not factors:
            factors.insert(0, _number(abs(number)))
        parts.append(("-" if number < 0 else "+", style.times.join(factors)))
    return _joined(parts)


def _quotient(value: Coefficient, style: Style) -> str:
    """Format a quotient with a leading plus; sine over cosine of the same angle is written as a tangent."""
    assert isinstance(value, Quotient)
    (common, upper), (below, lower) = split(value.upper), split(value.lower)
    tangents = _tangents(common, below)
    common = lowered(common, [(f"sin({name})", power) for name, power in tangents])
    below = lowered(below, [(f"cos({name})", power) for name, power in tangents])
    above = (*common, *((f"tan({name})", power) for name, power in tangents))
    if not below and not isinstance(lower, Poly):
        return _product(above, upper, style, alone=False)
    alone = not style.bracketed
    written, under = _product(above, upper, style, alone), _product(below, lower, style, alone)
    is_product = style.bracketed and len(below) + (lower != 1) > 1
    return style.fraction.format(written, f"({under})" if is_product else under)


def _product(monomial: Monomial, rest: Poly | Number, style: Style, alone: bool) -> str:
    """Format a monomial times a polynomial or number; alone: omit the brackets of a sum that is the only factor."""
    factors = [_power(atom, power, style) for atom, power in monomial]
    if isinstance(rest, Poly):
        written = _polynomial(rest, style)
        factors.append(written if alone and not factors else f"({written})")
    elif rest != 1 or not factors:
        factors.insert(0, _number(rest))
    return style.times.join(factors)


def _tangents(above: Monomial, below: Monomial) -> Monomial:
    """Angles with the sine in the numerator and the cosine in the denominator, and the power of the tangent."""
    powers = dict(below)
    sines = ((split_atom(atom)[1], power) for atom, power in above if split_atom(atom)[0] == "sin")
    return tuple((name, min(power, powers[f"cos({name})"])) for name, power in sines if f"cos({name})" in powers)


def _factor(coefficient: Coefficient, style: Style) -> str:
    if isinstance(coefficient, Quotient):
        return _quotient(coefficient, style)
    if _has_squared_sine(coefficient):
        return _product(*split(coefficient), style, alone=False)
    written = _polynomial(coefficient, style)
    return f"({written})" if isinstance(coefficient, Poly) and len(coefficient.terms) > 1 else written


def _power(atom: str, power: int, style: Style) -> str:
    written = style.atom(atom)
    return written if power == 1 else written + style.power.format(power)


def _split_sign(coefficient: Coefficient) -> tuple[str, Coefficient]:
    upper = coefficient.upper if isinstance(coefficient, Quotient) else coefficient
    shown = split(upper)[1] if isinstance(coefficient, Quotient) or _has_squared_sine(upper) else upper
    return ("-", -coefficient) if leading(shown) < 0 else ("+", coefficient)


def _has_squared_sine(value: Poly | Number) -> bool:
    """Whether a polynomial has a squared sine as a factor (1 - cos^2 in canonical form)."""
    return any(power > 1 and split_atom(atom)[0] == "sin" for atom, power in split(value)[0])


def _joined(parts: Sequence[tuple[str, str]]) -> str:
    (sign, first), *rest = parts
    return ("-" if sign == "-" else "") + first + "".join(f" {s} {term}" for s, term in rest)


def _number(value: Number) -> str:
    return str(value) if isinstance(value, int) else f"{value:.15g}"


def _latex_atom(atom: str) -> str:
    function, name = split_atom(atom)
    return latex_name(name) if not function else rf"\{function}({latex_name(name)})"


_TEXT = Style(atom=str, name=str, power="**{}", times="*", fraction="{}/{}", bracketed=True)
_LATEX = Style(
    atom=_latex_atom, name=latex_name, power="^{{{}}}", times=r"\,", fraction=r"\frac{{{}}}{{{}}}", bracketed=False
)
