"""Conversion of polynomials to SymPy expressions.  Only this module imports SymPy (extra `symbolic`).

A product of sines and cosines is written as a sum of sines and cosines of sums of angles where that is shorter:
cos q1 cos q2 - sin q1 sin q2 as cos(q1 + q2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from minertia.algebra.linear import Linear
from minertia.algebra.polynomial import NEGLIGIBLE, Monomial, Number, Poly, split_atom
from minertia.algebra.quotient import Coefficient, Quotient
from minertia.algebra.show import latex_name
from minertia.io.extras import load

EXTRA = "symbolic"
FEW = 12  # terms of a sum that is factorised within milliseconds
Angles: TypeAlias = Mapping[Monomial, Number]  # a polynomial in sines and cosines
Turns: TypeAlias = tuple[tuple[str, int], ...]  # (angle, how often), sorted by angle
Wave: TypeAlias = tuple[str, Turns]  # "cos" or "sin" of a sum of angles


def symbol(name: str) -> Any:
    """Real SymPy symbol of a name; the same object for the same name."""
    return _sympy().Symbol(name, real=True)


def expression(value: Coefficient) -> Any:
    """A polynomial, or a quotient of two, as a SymPy expression."""
    if isinstance(value, Quotient):
        return expression(value.upper) / expression(value.lower)
    parts: dict[Monomial, dict[Monomial, Number]] = {}
    for monomial, number in (value.terms if isinstance(value, Poly) else {(): value}).items():
        outer = tuple((atom, power) for atom, power in monomial if not split_atom(atom)[0])
        turns = tuple((atom, power) for atom, power in monomial if split_atom(atom)[0])
        parts.setdefault(outer, {})[turns] = number
    return _sympy().Add(*(_product(outer) * _shorter(angles) for outer, angles in parts.items()))


def linear_form(form: Linear) -> Any:
    """A linear form in parameters as a SymPy expression."""
    return sum((expression(c) * symbol(str(name)) for name, c in form.terms.items()), expression(0))


def matrix(rows: Sequence[Sequence[Poly | Number]]) -> Any:
    """Rows of polynomials as an immutable SymPy matrix."""
    return _sympy().ImmutableDenseMatrix([[expression(value) for value in row] for row in rows])


def factored(value: Any) -> Any:
    """Matrix with entries factored where they have common factors; in long sums only single symbols are tried."""
    sympy = _sympy()

    def product(entry: Any) -> Any:
        return sympy.factor(entry) if len(sympy.Add.make_args(entry)) <= FEW else sympy.factor_terms(entry)

    return value.applyfunc(product)


def matrix_of(rows: Sequence[Sequence[Any]]) -> Any:
    """Rows of SymPy expressions as an immutable matrix."""
    return _sympy().ImmutableDenseMatrix([list(row) for row in rows])


def latex_of(value: Any, names: Iterable[str], dotted: Mapping[str, str]) -> str:
    """LaTeX of an expression or a matrix; dotted: LaTeX of the symbols that are not parameter names."""
    written = {symbol(name): dotted.get(name) or latex_name(name) for name in names}
    return str(_sympy().latex(value, symbol_names=written, mat_delim="[", mul_symbol=r"\,"))


def _sympy() -> Any:
    return load("sympy", EXTRA)


def _product(monomial: Monomial) -> Any:
    result: Any = _sympy().Integer(1)
    for atom, power in monomial:
        function, name = split_atom(atom)
        own = symbol(name)
        result *= (getattr(_sympy(), function)(own) if function else own) ** power
    return result


def _shorter(angles: Angles) -> Any:
    return _shortest(tuple(angles.items()))


@cache
def _shortest(terms: tuple[tuple[Monomial, Number], ...]) -> Any:
    """Sum of products of sines and cosines, or its Fourier series if that has fewer terms."""
    waves = _waves(terms) if len(terms) > 1 else {}
    if not 0 < len(waves) < len(terms):
        return _sympy().Add(*(_sympy().sympify(number) * _product(monomial) for monomial, number in terms))
    is_exact = all(isinstance(number, int) for _, number in terms)
    return _sympy().Add(*(_number(size, is_exact) * _wave(wave) for wave, size in waves.items()))


def _waves(terms: tuple[tuple[Monomial, Number], ...]) -> dict[Wave, float]:
    """Fourier series of a polynomial in sines and cosines; it is unique, so terms that cancel disappear."""
    total: dict[Turns, complex] = {}
    for monomial, number in terms:
        for turns, factor in _exponentials(monomial).items():
            total[turns] = total.get(turns, 0) + number * factor
    largest = max(abs(number) for _, number in terms)
    found: dict[Wave, float] = {}
    for turns, factor in total.items():
        if turns and turns[0][1] < 0:
            continue  # the other half of a wave that is real
        double = 2 if turns else 1
        for function, size in (("cos", double * factor.real), ("sin", -double * factor.imag)):
            if abs(size) > NEGLIGIBLE * largest:
                found[function, turns] = size
    return found


def _exponentials(monomial: Monomial) -> dict[Turns, complex]:
    """A product of sines and cosines as a sum of exp(i (k1 q1 + k2 q2 ...))."""
    result: dict[Turns, complex] = {(): 1}
    for atom, power in monomial:
        function, name = split_atom(atom)
        up, down = (0.5, 0.5) if function == "cos" else (-0.5j, 0.5j)
        for _ in range(power):
            more: dict[Turns, complex] = {}
            for turns, factor in result.items():
                for step, part in ((1, up), (-1, down)):
                    own = dict(turns)
                    own[name] = own.get(name, 0) + step
                    key = tuple(sorted((n, k) for n, k in own.items() if k))
                    more[key] = more.get(key, 0) + factor * part
            result = more
    return result


def _wave(wave: Wave) -> Any:
    function, turns = wave
    angle = _sympy().Add(*(k * symbol(name) for name, k in turns))
    return getattr(_sympy(), function)(angle)


def _number(value: float, is_exact: bool) -> Any:
    """Convert a coefficient to a SymPy number: an exact fraction if `is_exact`, otherwise a float."""
    return _sympy().Rational(value) if is_exact else _sympy().Float(value)
