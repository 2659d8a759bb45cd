"""Scalar arithmetic in which structural ints 0, 1 and -1 cost no operation, and angles given by cosine and sine.

A *scalar* is an int, a float, an array of shape (N,), a complex number, an `Expr`, a `Poly` or a `Linear`.
Ints come from geometry (an axis, a zero offset, cos 90 degrees) and are eliminated here; a float 0.0 is a
measured value and is never treated as structural.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minertia.io.errors import InputError

Scalar = Any


def is_zero(a: Scalar) -> bool:
    """Whether a is the structural zero."""
    return type(a) is int and a == 0


def add(a: Scalar, b: Scalar) -> Scalar:
    """a + b."""
    if type(a) is int and a == 0:
        return b
    if type(b) is int and b == 0:
        return a
    return a + b


def structural(value: Scalar) -> Scalar:
    """Convert a number that is exactly 0, 1 or -1 to a structural int; other scalars are returned unchanged."""
    return int(value) if isinstance(value, (int, float)) and value in (0, 1, -1) else value


def total(*terms: Scalar) -> Scalar:
    """Sum of any number of scalars."""
    result: Scalar = 0
    for term in terms:
        result = add(result, term)
    return result


def sub(a: Scalar, b: Scalar) -> Scalar:
    """a - b."""
    if type(b) is int and b == 0:
        return a
    if type(a) is int and a == 0:
        return -b
    return a - b


def mul(a: Scalar, b: Scalar) -> Scalar:
    """a * b."""
    if type(b) is int:
        a, b = b, a
    if type(a) is int:
        if a == 0:
            return 0
        if a == 1:
            return b
        if a == -1:
            return -b
    return a * b


def div(a: Scalar, b: Scalar) -> Scalar:
    """a / b, with b not zero."""
    if is_zero(a):
        return 0
    if type(b) is int and b in (1, -1):
        return a if b == 1 else -a
    return a / b


def neg(a: Scalar) -> Scalar:
    """-a."""
    return 0 if is_zero(a) else -a


def sin(a: Scalar) -> Scalar:
    """Sine; the sine of a structural 0 is the structural 0."""
    if is_zero(a):
        return 0
    return a.sin() if hasattr(a, "sin") else np.sin(a)


def cos(a: Scalar) -> Scalar:
    """Cosine; cos 0 is the structural 1."""
    if is_zero(a):
        return 1
    return a.cos() if hasattr(a, "cos") else np.cos(a)


def sign(a: Scalar) -> Scalar:
    """Sign function (-1, 0 or 1)."""
    if type(a) is int:
        return (a > 0) - (a < 0)
    return a.sign() if hasattr(a, "sign") else np.sign(a)


def absolute(a: Scalar) -> Scalar:
    """Absolute value; an int gives an int."""
    if type(a) is int:
        return abs(a)
    return a.absolute() if hasattr(a, "absolute") else np.abs(a)


def exp(a: Scalar) -> Scalar:
    """Exponential; exp 0 is the structural 1."""
    if is_zero(a):
        return 1
    return a.exp() if hasattr(a, "exp") else np.exp(a)


def tanh(a: Scalar) -> Scalar:
    """Hyperbolic tangent; tanh 0 is the structural 0."""
    if is_zero(a):
        return 0
    return a.tanh() if hasattr(a, "tanh") else np.tanh(a)


def sqrt(a: Scalar) -> Scalar:
    """Square root; the roots of the ints 0 and 1 are structural."""
    if type(a) is int and a in (0, 1):
        return a
    return a.sqrt() if hasattr(a, "sqrt") else np.sqrt(a)


# ------------------------------------------------------------------------------------ angles known by cosine and sine


class Turn:
    """Angle given only by its cosine and sine; a scalar for functions that need nothing but these two."""

    __slots__ = ("c", "s")
    __array_ufunc__ = None  # NumPy must leave sums to us

    def __init__(self, c: Scalar, s: Scalar) -> None:
        self.c, self.s = c, s

    def cos(self) -> Scalar:
        """Cosine of the angle."""
        return self.c

    def sin(self) -> Scalar:
        """Sine of the angle."""
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
            "an effect at a passive joint depends on its position, but the closed form gives only its cosine and "
            "sine; use such effects only at joints that are generalised coordinates"
        )

    __rmul__ = __mul__
