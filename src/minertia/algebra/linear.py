"""Linear forms in the parameters: {column: coefficient}."""

from __future__ import annotations

from collections.abc import Hashable

from minertia.algebra.polynomial import NEGLIGIBLE
from minertia.algebra.quotient import quotient
from minertia.algebra.scalar import Scalar, add, is_zero, mul, neg


class Linear:
    """Linear form: sum of coefficient * column; coefficients that cancel are removed."""

    __slots__ = ("terms",)
    __array_ufunc__ = None

    def __init__(self, terms: dict[Hashable, Scalar]) -> None:
        self.terms = terms

    @staticmethod
    def unit(column: Hashable) -> Linear:
        """Return the linear form that consists of one column."""
        return Linear({column: 1})

    def __add__(self, other: Linear) -> Linear | int:
        if not isinstance(other, Linear):
            return NotImplemented
        terms = dict(self.terms)
        for column, coefficient in other.terms.items():
            old = terms.get(column, 0)
            total = add(old, coefficient)
            if is_zero(total) or _cancelled(old, coefficient, total):
                terms.pop(column, None)
            else:
                terms[column] = total
        return Linear(terms) if terms else 0

    def __neg__(self) -> Linear:
        return Linear({column: neg(c) for column, c in self.terms.items()})

    def __sub__(self, other: Linear) -> Linear | int:
        return self + (-other)

    def __mul__(self, factor: Scalar) -> Linear:
        return Linear({column: mul(c, factor) for column, c in self.terms.items()})

    __rmul__ = __mul__

    def __truediv__(self, divisor: Scalar) -> Linear:
        return Linear({column: quotient(c, divisor) for column, c in self.terms.items()})


def _cancelled(a: Scalar, b: Scalar, total: Scalar) -> bool:
    """Whether a sum of two numbers is zero up to rounding error."""
    if type(total) is not float or is_zero(a) or not all(isinstance(s, (int, float)) for s in (a, b)):
        return False
    return bool(abs(total) <= NEGLIGIBLE * (abs(a) + abs(b)))
