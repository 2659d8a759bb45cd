"""Polynomials in letters: lengths, and cosines and sines of angles that have no value yet.

They are kept in one canonical form, so equal relations print equally and what cancels is gone at once.
A result without letters is returned as a plain number, so structure (the ints 0, 1, -1) is never hidden.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

Number: TypeAlias = int | float
Monomial: TypeAlias = tuple[tuple[str, int], ...]  # (letter, power), sorted by letter
NEGLIGIBLE = 1e-12  # a sum smaller than this part of its terms is taken for a cancellation
_FUNCTIONS = {"cos": math.cos, "sin": math.sin}


class Poly:
    """Sum of number * product of letters, immutable."""

    __slots__ = ("terms",)
    __array_ufunc__ = None  # NumPy must leave products to us

    def __init__(self, terms: dict[Monomial, Number]) -> None:
        self.terms = terms

    def __add__(self, other: Poly | Number) -> Poly | Number:
        if not isinstance(other, (Poly, int, float)):
            return NotImplemented
        terms = dict(self.terms)
        for monomial, number in _terms(other).items():
            _accumulate(terms, monomial, number)
        return _tidy(terms)

    __radd__ = __add__

    def __neg__(self) -> Poly:
        return Poly({monomial: -number for monomial, number in self.terms.items()})

    def __sub__(self, other: Poly | Number) -> Poly | Number:
        return self + (-other)

    def __rsub__(self, other: Poly | Number) -> Poly | Number:
        return (-self) + other

    def __mul__(self, other: Poly | Number) -> Poly | Number:
        if not isinstance(other, (Poly, int, float)):
            return NotImplemented
        terms: dict[Monomial, Number] = {}
        factors = _terms(other).items()
        for m1, n1 in self.terms.items():
            for m2, n2 in factors:
                for monomial, number in _product(m1, m2):
                    _accumulate(terms, monomial, n1 * n2 * number)
        return _tidy(terms)

    __rmul__ = __mul__

    def __truediv__(self, other: Number) -> Poly | Number:
        if not isinstance(other, (int, float)):
            return NotImplemented
        return _tidy({m: _exact_quotient(n, other) for m, n in self.terms.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def cos(self) -> Poly | Number:
        """Cosine of an angle: a number plus or minus single letters."""
        return turn(self)[0]

    def sin(self) -> Poly | Number:
        """Sine of an angle: a number plus or minus single letters."""
        return turn(self)[1]

    def __repr__(self) -> str:
        return f"Poly({self.terms})"

    @property
    def letters(self) -> set[str]:
        """Letters that occur, cos(a) and sin(a) counted as a."""
        return {_argument(atom) for monomial in self.terms for atom, _ in monomial}


def letter(name: str) -> Poly:
    """The polynomial that is one letter."""
    return Poly({((name, 1),): 1})


def turn(angle: Poly | Number) -> tuple[Poly | Number, Poly | Number]:
    """(cos, sin) of a constant angle; exact ints at multiples of 90 degrees, letters stay letters."""
    if not isinstance(angle, Poly):
        return _exact(math.cos(angle)), _exact(math.sin(angle))
    c: Poly | Number = 1
    s: Poly | Number = 0
    for monomial, number in angle.terms.items():
        c1, s1 = _turn_of_term(monomial, number)
        c, s = _mul(c, c1) - _mul(s, s1), _mul(s, c1) + _mul(c, s1)
    return c, s


class Values(dict[str, float]):
    """Numbers of letters, and of their cosines and sines, which are computed once."""

    def __missing__(self, atom: str) -> float:
        function, name = split_atom(atom)
        if not function:
            raise KeyError(atom)
        value = self[atom] = _FUNCTIONS[function](self[name])
        return value


def evaluate(value: Poly | Number, values: Mapping[str, float]) -> Number:
    """Number of a polynomial once every letter has a value; `Values` where many are asked for."""
    if not isinstance(value, Poly):
        return value
    known = values if isinstance(values, Values) else Values(values)
    result: Number = substitute(value, known.__getitem__)
    return result


def substitute(value: Poly | Number, atom_value: Callable[[str], Any]) -> Any:
    """The polynomial with each atom (a letter, cos(letter), sin(letter)) replaced by another scalar."""
    if not isinstance(value, Poly):
        return value
    total: Any = 0
    for monomial, number in value.terms.items():
        term: Any = number
        for atom, power in monomial:
            for _ in range(power):
                term = term * atom_value(atom)
        total = total + term
    return total


def sorted_terms(value: Poly) -> list[tuple[Monomial, Number]]:
    """Terms in the order they are printed in: highest powers first, then by letters."""
    return sorted(value.terms.items(), key=lambda item: (-sum(power for _, power in item[0]), item[0]))


def leading(value: Poly | Number) -> Number:
    """The number of the term that is printed first."""
    return sorted_terms(value)[0][1] if isinstance(value, Poly) else value


def exactly_divided(value: Poly, divisor: Poly) -> Poly | Number | None:
    """The polynomial whose product with the divisor this is, None where there is none (long division)."""
    atoms = sorted({atom for part in (value, divisor) for monomial in part.terms for atom, _ in monomial})

    def order(monomial: Monomial) -> tuple[int, ...]:
        return tuple(dict(monomial).get(atom, 0) for atom in atoms)

    first = max(divisor.terms, key=order)
    found: Poly | Number = 0
    left: Poly | Number = value
    while isinstance(left, Poly):
        highest = max(left.terms, key=order)
        powers = [a - b for a, b in zip(order(highest), order(first), strict=True)]
        if min(powers) < 0:
            return None
        number = _exact_quotient(left.terms[highest], divisor.terms[first])
        term = _tidy({_monomial(dict(zip(atoms, powers, strict=True))): number})
        found, left = found + term, left - divisor * term
        if isinstance(left, Poly) and max(map(order, left.terms)) >= order(highest):
            return None  # a sine squared has turned into others
    return found if left == 0 else None


def split_atom(atom: str) -> tuple[str, str]:
    """('', 'D3') of a letter, ('cos', 'a2') of the cosine of one."""
    return (atom[:3], atom[4:-1]) if atom.endswith(")") else ("", atom)


def _argument(atom: str) -> str:
    return split_atom(atom)[1]


def _turn_of_term(monomial: Monomial, number: Number) -> tuple[Poly | Number, Poly | Number]:
    if monomial == ():
        return turn(number)
    single = len(monomial) == 1 and monomial[0][1] == 1 and split_atom(monomial[0][0])[0] == ""
    if not single or number not in (1, -1):
        raise ValueError("an angle must be a number plus or minus single letters")
    name = monomial[0][0]
    s = letter(f"sin({name})")
    return letter(f"cos({name})"), (s if number == 1 else -s)


def _terms(value: Poly | Number) -> Mapping[Monomial, Number]:
    return value.terms if isinstance(value, Poly) else {(): value} if value != 0 else {}


def _accumulate(terms: dict[Monomial, Number], monomial: Monomial, number: Number) -> None:
    old = terms.get(monomial, 0)
    new = old + number
    if abs(new) <= NEGLIGIBLE * (abs(old) + abs(number)):
        terms.pop(monomial, None)
    else:
        terms[monomial] = new


def _tidy(terms: dict[Monomial, Number]) -> Poly | Number:
    if not terms:
        return 0
    if len(terms) == 1 and () in terms:
        return terms[()]
    return Poly(terms)


@lru_cache(maxsize=20_000)  # the products of one robot come again and again
def _product(a: Monomial, b: Monomial) -> tuple[tuple[Monomial, Number], ...]:
    powers = dict(a)
    for atom, power in b:
        powers[atom] = powers.get(atom, 0) + power
    for atom, power in powers.items():
        if power >= 2 and atom.startswith("sin("):  # sin^2 = 1 - cos^2 keeps the form canonical
            rest = powers | {atom: power - 2}
            cosine = "cos" + atom[3:]
            more = rest | {cosine: rest.get(cosine, 0) + 2}
            return (
                *_product(_monomial(rest), ()),
                *((m, -n) for m, n in _product(_monomial(more), ())),
            )
    return ((_monomial(powers), 1),)


def _monomial(powers: Mapping[str, int]) -> Monomial:
    return tuple(sorted((atom, power) for atom, power in powers.items() if power))


def _mul(a: Poly | Number, b: Poly | Number) -> Poly | Number:
    return a * b


def _exact(value: float) -> Number:
    nearest = round(value)
    return nearest if abs(value - nearest) < 1e-15 else value


def _exact_quotient(a: Number, b: Number) -> Number:
    if isinstance(a, int) and isinstance(b, int) and a % b == 0:
        return a // b
    return a / b
