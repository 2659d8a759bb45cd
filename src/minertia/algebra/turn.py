"""Angles that are known by their cosine and sine alone, as closed loops give them."""

from __future__ import annotations

from minertia.algebra.scalar import Scalar, add, cos, mul, neg, sin, sub
from minertia.io.errors import InputError


class Turn:
    """An angle that is known by its cosine and sine alone; whatever needs no more takes it as any other scalar."""

    __slots__ = ("c", "s")
    __array_ufunc__ = None  # NumPy must leave sums to us

    def __init__(self, c: Scalar, s: Scalar) -> None:
        self.c, self.s = c, s

    def cos(self) -> Scalar:
        """Its cosine."""
        return self.c

    def sin(self) -> Scalar:
        """Its sine."""
        return self.s

    def __neg__(self) -> Turn:
        return Turn(self.c, neg(self.s))

    def __add__(self, other: Scalar) -> Turn:
        c, s = cos(other), sin(other)
        return Turn(sub(mul(self.c, c), mul(self.s, s)), add(mul(self.s, c), mul(self.c, s)))

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Turn:
        return Turn.__add__(self, -other)

    def __rsub__(self, other: Scalar) -> Turn:
        return Turn.__add__(-self, other)

    def __mul__(self, other: Scalar) -> Scalar:
        raise InputError(
            "an effect at a passive joint reads its position, of which a closed form has cosine and sine only; leave "
            "such effects to joints that are coordinates"
        )

    __rmul__ = __mul__
