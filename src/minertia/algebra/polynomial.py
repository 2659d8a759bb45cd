"""Polynomials in symbolic constants: lengths, and cosines and sines of constant angles.

The form is canonical, so equal relations print equally and terms that cancel disappear at once.  A result without
symbols is returned as a plain number, so structural values (the ints 0, 1, -1) stay recognisable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, TypeAlias, TypeVar

Number: TypeAlias = int | float
Monomial: TypeAlias = tuple[tuple[str, int], ...]  # (letter, power), sorted by letter
Key = TypeVar("Key", Monomial, int)  # a monomial, as it is or packed
NEGLIGIBLE = 1e-12  # a sum smaller than this part of its terms is taken for a cancellation
MANY = 100  # products of terms from which on packing them pays
MOST_KNOWN = 100_000  # monomials kept of a packing
_FUNCTIONS = {"cos": math.cos, "sin": math.sin}


class Poly:
    """Immutable polynomial: sum of number * product of symbols."""

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
        factors = _terms(other)
        if len(self.terms) * len(factors) >= MANY:
            return _tidy(Packing.of(self.terms, factors).product(self.terms, factors))
        terms: dict[Monomial, Number] = {}
        for m1, n1 in self.terms.items():
            for m2, n2 in factors.items():
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
        """Cosine of an angle that is a number plus or minus single symbols."""
        return turn(self)[0]

    def sin(self) -> Poly | Number:
        """Sine of an angle that is a number plus or minus single symbols."""
        return turn(self)[1]

    def __repr__(self) -> str:
        return f"Poly({self.terms})"

    @property
    def letters(self) -> set[str]:
        """Symbols that occur; cos(a) and sin(a) count as a."""
        return {_argument(atom) for monomial in self.terms for atom, _ in monomial}


def letter(name: str) -> Poly:
    """Return the polynomial that consists of one symbol."""
    return Poly({((name, 1),): 1})


def turn(angle: Poly | Number) -> tuple[Poly | Number, Poly | Number]:
    """(cos, sin) of a constant angle; exact ints at multiples of 90 degrees, symbolic angles stay symbolic."""
    if not isinstance(angle, Poly):
        return _exact(math.cos(angle)), _exact(math.sin(angle))
    c: Poly | Number = 1
    s: Poly | Number = 0
    for monomial, number in angle.terms.items():
        c1, s1 = _turn_of_term(monomial, number)
        c, s = _mul(c, c1) - _mul(s, s1), _mul(s, c1) + _mul(c, s1)
    return c, s


class Values(dict[str, float]):
    """Values of the symbols, with their cosines and sines cached."""

    def __missing__(self, atom: str) -> float:
        function, name = split_atom(atom)
        if not function:
            raise KeyError(atom)
        value = self[atom] = _FUNCTIONS[function](self[name])
        return value


def evaluate(value: Poly | Number, values: Mapping[str, float]) -> Number:
    """Evaluate a polynomial at values of its symbols; pass `Values` for many evaluations."""
    if not isinstance(value, Poly):
        return value
    known = values if isinstance(values, Values) else Values(values)
    result: Number = substitute(value, known.__getitem__)
    return result


def substitute(value: Poly | Number, atom_value: Callable[[str], Any]) -> Any:
    """Replace each symbol, cos(symbol) and sin(symbol) of a polynomial by another scalar.

    atom_value: function from the name of such a factor, for example D3 or cos(a2), to the scalar.
    """
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
    """Terms in printing order: highest powers first, then by symbol names."""
    return sorted(value.terms.items(), key=lambda item: (-sum(power for _, power in item[0]), item[0]))


def leading(value: Poly | Number) -> Number:
    """Coefficient of the term that is printed first."""
    return sorted_terms(value)[0][1] if isinstance(value, Poly) else value


def exactly_divided(value: Poly, divisor: Poly) -> Poly | Number | None:
    """Exact quotient of two polynomials by long division; None if the divisor does not divide the polynomial."""
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
    """Split the name of a factor into function and symbol: ('', 'D3') for D3, ('cos', 'a2') for cos(a2)."""
    return (atom[:3], atom[4:-1]) if atom.endswith(")") else ("", atom)


def _argument(atom: str) -> str:
    return split_atom(atom)[1]


def _turn_of_term(monomial: Monomial, number: Number) -> tuple[Poly | Number, Poly | Number]:
    if monomial == ():
        return turn(number)
    single = len(monomial) == 1 and monomial[0][1] == 1 and split_atom(monomial[0][0])[0] == ""
    if not single or number not in (1, -1):
        raise ValueError("an angle must be a number plus or minus symbols, each with coefficient 1 or -1")
    name = monomial[0][0]
    s = letter(f"sin({name})")
    return letter(f"cos({name})"), (s if number == 1 else -s)


def _terms(value: Poly | Number) -> Mapping[Monomial, Number]:
    return value.terms if isinstance(value, Poly) else {(): value} if value != 0 else {}


def _accumulate(terms: dict[Key, Number], monomial: Key, number: Number) -> None:
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
            cosine = _cosine(atom)
            more = rest | {cosine: rest.get(cosine, 0) + 2}
            return (
                *_product(_monomial(rest), ()),
                *((m, -n) for m, n in _product(_monomial(more), ())),
            )
    return ((_monomial(powers), 1),)


class Packing:
    """Monomials packed into integers, one bit field per exponent, for fast products of polynomials.

    The product of monomials is then a sum of integers.  Terms have the order and the coefficients of `_product`.
    """

    def __init__(self, atoms: Iterable[str], width: int) -> None:
        self.atoms, self.width = sorted(atoms), width
        self.one = {atom: 1 << width * k for k, atom in enumerate(self.atoms)}
        self.sines = [(self.one[a], self.one[_cosine(a)]) for a in self.atoms if a.startswith("sin(")]
        self.mask = sum(sine for sine, _ in self.sines)
        self.reduced: dict[int, list[tuple[int, int]]] = {}
        self.known: dict[int, Monomial] = {}  # the products of one robot come again and again

    @staticmethod
    def of(*factors: Iterable[Monomial]) -> Packing:
        """Return a packing whose fields hold every exponent of the product of the factors."""
        found = [set(chain.from_iterable(factor)) for factor in factors]
        largest = sum(max((power for _, power in own), default=0) for own in found)
        atoms = {atom for own in found for atom, _ in own}
        atoms |= {_cosine(atom) for atom in atoms if atom.startswith("sin(")}  # what its square turns into
        return _packing(frozenset(atoms), 8 * (1 + (largest + 2).bit_length() // 8))

    def packed(self, monomial: Monomial) -> int:
        """Integer code of a monomial."""
        return sum([power * self.one[atom] for atom, power in monomial])

    def unpacked(self, keys: Iterable[int]) -> Iterator[Monomial]:
        """Decode the monomials of these integers."""
        for key in keys:
            monomial = self.known.get(key)
            if monomial is None:
                monomial = self.known[key] = self._unpacked(key)
            yield monomial
        if len(self.known) > MOST_KNOWN:
            self.known.clear()

    def _unpacked(self, key: int) -> Monomial:
        field, powers = (1 << self.width) - 1, []
        for atom in self.atoms:
            if key & field:
                powers.append((atom, key & field))
            key >>= self.width
        return tuple(powers)

    def product(self, a: Mapping[Monomial, Number], b: Mapping[Monomial, Number]) -> dict[Monomial, Number]:
        """Terms of the product of two polynomials."""
        left = [(self.packed(monomial), number) for monomial, number in a.items()]
        right = [(self.packed(monomial), number) for monomial, number in b.items()]
        terms: dict[int, Number] = {}
        for k1, n1 in left:
            sines = k1 & self.mask  # a sine stands there once at most
            for k2, n2 in right:
                key, number, twice = k1 + k2, n1 * n2, sines & k2
                if not twice:
                    _accumulate(terms, key, number)
                    continue
                for change, sign in self.reduced.get(twice) or self._reduction(twice):
                    _accumulate(terms, key + change, sign * number)
        return dict(zip(self.unpacked(terms), terms.values(), strict=True))

    def _reduction(self, twice: int) -> list[tuple[int, int]]:
        """Expand these squared sines by sin^2 = 1 - cos^2; return each term as (change of code, sign)."""
        changes = [(0, 1)]
        for sine, cosine in self.sines:
            if twice & sine:
                changes = [
                    (change - 2 * sine + more, sign * own)
                    for change, sign in changes
                    for more, own in ((0, 1), (2 * cosine, -1))
                ]
        self.reduced[twice] = changes
        return changes


@lru_cache(maxsize=64)
def _packing(atoms: frozenset[str], width: int) -> Packing:
    return Packing(atoms, width)


def _cosine(sine: str) -> str:
    return "cos" + sine[3:]


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
