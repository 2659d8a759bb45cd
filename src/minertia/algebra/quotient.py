"""Quotients of polynomials, for the one regrouping rule that divides: sin(a)/cos(a), x/z.

Common factors are cancelled where that is cheap (numbers, single symbols, cosines and sines, and a polynomial that
divides the other).  Uncancelled factors do no harm: a quotient is zero exactly when its numerator is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from minertia.algebra.polynomial import Monomial, Number, Poly, evaluate, exactly_divided, leading, letter

Coefficient: TypeAlias = "Quotient | Poly | Number"


class Quotient:
    """Immutable quotient upper / lower; the denominator has symbols, the numerator is not zero.

    Use `quotient` to construct it.
    """

    __slots__ = ("lower", "upper")
    __array_ufunc__ = None  # NumPy must leave products to us

    def __init__(self, upper: Poly | Number, lower: Poly) -> None:
        self.upper, self.lower = upper, lower

    def __add__(self, other: Coefficient) -> Coefficient:
        if not isinstance(other, (Quotient, Poly, int, float)):
            return NotImplemented
        upper, lower = _parts(other)
        if lower == self.lower:
            return _reduced(self.upper + upper, lower)
        own, theirs = _missing(self.lower, lower)
        return _reduced(self.upper * own + upper * theirs, self.lower * own)

    __radd__ = __add__

    def __neg__(self) -> Quotient:
        return Quotient(-self.upper, self.lower)

    def __sub__(self, other: Coefficient) -> Coefficient:
        return self + (-other)

    def __rsub__(self, other: Coefficient) -> Coefficient:
        return (-self) + other

    def __mul__(self, other: Coefficient) -> Coefficient:
        if not isinstance(other, (Quotient, Poly, int, float)):
            return NotImplemented
        upper, lower = _parts(other)
        return _reduced(self.upper * upper, self.lower * lower)

    __rmul__ = __mul__

    def __truediv__(self, other: Coefficient) -> Coefficient:
        return quotient(self, other)

    def __rtruediv__(self, other: Poly | Number) -> Coefficient:
        return quotient(other, self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quotient) and self.upper == other.upper and self.lower == other.lower

    def __hash__(self) -> int:
        return hash((self.upper, self.lower))

    def __repr__(self) -> str:
        return f"Quotient({self.upper}, {self.lower})"


def quotient(a: Coefficient, b: Coefficient) -> Coefficient:
    """a / b, with b not zero."""
    (upper, lower), (under, over) = _parts(a), _parts(b)
    return _reduced(upper * over, lower * under)


def number_of(value: Coefficient, values: Mapping[str, float]) -> Number:
    """Evaluate a coefficient at values of its symbols."""
    upper, lower = _parts(value)
    number = evaluate(upper, values)
    return number if not isinstance(value, Quotient) else number / evaluate(lower, values)


def length(value: Coefficient) -> int:
    """Number of terms in the numerator and denominator of a coefficient."""
    return sum(len(part.terms) if isinstance(part, Poly) else 1 for part in _parts(value))


def divisors(value: Coefficient) -> Iterator[Poly]:
    """Factors of the denominator, which must not be zero: symbols, cosines, sines and sums of them."""
    if not isinstance(value, Quotient):
        return
    common = _common(value.lower)
    yield from (letter(atom) for atom, _ in common)
    rest = without(value.lower, common)
    if isinstance(rest, Poly):
        yield rest


def split(value: Poly | Number) -> tuple[Monomial, Poly | Number]:
    """Split a polynomial into the monomial common to all terms (1 - cos^2 as a squared sine) and the cofactor."""
    common = dict(_common(value))
    rest = without(value, tuple(common.items()))
    for name in sorted(rest.letters) if isinstance(rest, Poly) else ():
        while (lower := _without_sine(rest, f"cos({name})")) is not None:
            common[f"sin({name})"] = common.get(f"sin({name})", 0) + 2
            rest = lower
    return tuple(sorted(common.items())), rest


def _without_sine(value: Poly | Number, cosine: str) -> Poly | Number | None:
    """Divide a polynomial by 1 - cosine^2; None if the remainder is not zero."""
    if not isinstance(value, Poly):
        return None
    parts: dict[int, Poly | Number] = {}
    for monomial, number in value.terms.items():
        power = dict(monomial).get(cosine, 0)
        rest = lowered(monomial, [(cosine, power)])
        parts[power] = parts.get(power, 0) + (Poly({rest: number}) if rest else number)
    highest = max(parts)
    quotients: list[Poly | Number] = []
    for power in range(highest + 1):
        quotients.append(parts.get(power, 0) + (quotients[power - 2] if power >= 2 else 0))
    if highest < 2 or any(isinstance(q, Poly) or q != 0 for q in quotients[-2:]):
        return None
    total: Poly | Number = 0
    for power, part in enumerate(quotients[:-2]):
        total = total + _times(((cosine, power),), part)
    return total


def without(value: Poly | Number, common: Monomial) -> Poly | Number:
    """Divide a polynomial by a monomial that is common to all its terms."""
    if not isinstance(value, Poly) or not common:
        return value
    terms = {lowered(monomial, common): number for monomial, number in value.terms.items()}
    return terms[()] if terms.keys() == {()} else Poly(terms)


def lowered(monomial: Monomial, by: Iterable[tuple[str, int]]) -> Monomial:
    """Divide a monomial by powers of some of its symbols."""
    taken = dict(by)
    return tuple((atom, power - taken.get(atom, 0)) for atom, power in monomial if power > taken.get(atom, 0))


def _parts(value: Coefficient) -> tuple[Poly | Number, Poly | Number]:
    return (value.upper, value.lower) if isinstance(value, Quotient) else (value, 1)


def _reduced(upper: Poly | Number, lower: Poly | Number) -> Coefficient:
    """upper / lower with common symbols and numbers cancelled; a polynomial or number if the denominator is 1."""
    if not isinstance(upper, Poly) and upper == 0:
        return 0
    (above, rest), (below, left) = split(upper), split(lower)
    if above != _common(upper) or below != _common(lower):  # 1 - cos^2 is a sine squared there: look for factors first
        upper, lower = _divided_out(upper, lower)
        (above, rest), (below, left) = split(upper), split(lower)
    shared, (over, under) = _shared(above, below), _divided_out(rest, left)
    if shared or (over, under) != (rest, left):
        upper, lower = _times(lowered(above, shared), over), _times(lowered(below, shared), under)
    factor = _content(upper, lower)
    upper, lower = _divided(upper, factor), _divided(lower, factor)
    if not isinstance(lower, Poly):
        return _divided(upper, lower)
    ratio = _divided(leading(upper), leading(lower)) if isinstance(upper, Poly) else 0
    return ratio if ratio != 0 and upper == lower * ratio else Quotient(upper, lower)


def _divided_out(upper: Poly | Number, lower: Poly | Number) -> tuple[Poly | Number, Poly | Number]:
    """Divide numerator and denominator by one of the two if it divides the other exactly."""
    if not isinstance(upper, Poly) or not isinstance(lower, Poly):
        return upper, lower
    (above, one), (below, other) = _primitive(upper), _primitive(lower)
    if (ratio := exactly_divided(one, other)) is not None:
        return ratio * above, below
    return (upper, lower) if (ratio := exactly_divided(other, one)) is None else (above, ratio * below)


def _primitive(value: Poly) -> tuple[int, Poly]:
    """Split a polynomial into the greatest common divisor of its coefficients and the primitive part."""
    numbers = list(value.terms.values())
    factor = math.gcd(*(int(n) for n in numbers)) if all(isinstance(n, int) for n in numbers) else 1
    return factor, Poly({monomial: _divided(n, factor) for monomial, n in value.terms.items()})  # type: ignore[misc]


def _times(monomial: Monomial, value: Poly | Number) -> Poly | Number:
    for atom, power in monomial:
        for _ in range(power):
            value = value * letter(atom)
    return value


def _common(value: Poly | Number) -> Monomial:
    """Common monomial: each symbol with its lowest power over all terms."""
    if not isinstance(value, Poly):
        return ()
    first, *others = value.terms
    common = first
    for monomial in others:
        common = _shared(common, monomial)
    return common


def _shared(a: Monomial, b: Monomial) -> Monomial:
    powers = dict(b)
    return tuple((atom, min(power, powers[atom])) for atom, power in a if atom in powers)


def _missing(a: Poly | Number, b: Poly | Number) -> tuple[Poly | Number, Poly | Number]:
    """Return the cofactors (f, g) with a f = b g, after division by the monomial that a and b have in common."""
    shared = _shared(_common(a), _common(b))
    return without(b, shared), without(a, shared)


def _content(upper: Poly | Number, lower: Poly | Number) -> Number:
    """Common numeric factor of both, chosen so that the denominator starts with +1 or has the smallest integers."""
    numbers = [n for value in (upper, lower) for n in (value.terms.values() if isinstance(value, Poly) else (value,))]
    first = leading(lower)
    if all(isinstance(n, int) for n in numbers):
        return int(math.copysign(math.gcd(*(abs(int(n)) for n in numbers)), first))
    return first


def _divided(value: Poly | Number, number: Number) -> Poly | Number:
    if isinstance(value, Poly):
        return value / number
    exact = isinstance(value, int) and isinstance(number, int) and value % number == 0
    return value // number if exact else value / number
