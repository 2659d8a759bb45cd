"""Parser of small expressions in description files: numbers, symbols, pi, + - * / and cos, sin, as polynomials.

Nothing is ever evaluated as code; anything outside the grammar below is an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NoReturn

from minertia.algebra.polynomial import Number, Poly, letter, turn
from minertia.io.tables import LARGEST

MAX_LENGTH = 4000
MAX_DEPTH = 30
MAX_TERMS = 200
RESERVED = ("pi", "cos", "sin", "tan")  # not to be taken for letters in a printed relation

_TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|([-+*/()]))", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class ExpressionError(ValueError):
    """Invalid expression; the reader adds file and field."""


def parse_expression(text: str) -> Poly | Number:
    """Polynomial of an expression, for instance "-D3", "th2 + pi/2" or "D3*cos(a2)"."""
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"the expression has {len(text)} characters; the limit is {MAX_LENGTH}")
    try:
        return _Parser(text).whole()
    except OverflowError:
        raise ExpressionError("the expression has a number that is too large") from None


def is_letter_name(name: str) -> bool:
    """Whether a name is valid for a symbol."""
    return _NAME.fullmatch(name) is not None and name not in RESERVED


def expression_text(value: Poly | Number) -> str:
    """Text that `parse_expression` converts to the same polynomial, exactly."""
    if not isinstance(value, Poly):
        return repr(value)
    text = ""
    for monomial, number in value.terms.items():
        atoms = [atom for atom, power in monomial for _ in range(power)]
        factors = "*".join(atoms if abs(number) == 1 and atoms else [repr(abs(number)), *atoms])
        text += f" {'-' if number < 0 else '+'} {factors}"
    return text[3:] if text.startswith(" + ") else "-" + text[3:]


class _Parser:
    """Recursive-descent parser: sums, products, signs, and operands (numbers, symbols, functions, parentheses)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self._tokens()
        self.next = 0
        self.depth = 0

    def whole(self) -> Poly | Number:
        value = self._sum()
        if self.next < len(self.tokens):
            self._fail(f"'{self.tokens[self.next]}' is unexpected here")
        numbers = value.terms.values() if isinstance(value, Poly) else [value]
        if not all(math.isfinite(number) for number in numbers):
            self._fail("it contains a number that is not finite")
        if any(abs(number) > LARGEST for number in numbers):
            self._fail(f"it contains a number that is too large; at most {LARGEST:g}")
        return value

    def _tokens(self) -> list[str]:
        tokens: list[str] = []
        end, text = 0, self.text.rstrip()
        while end < len(text):
            match = _TOKEN.match(text, end)
            if match is None:
                self._fail(f"'{text[end:].strip()[:10]}' is not understood")
            tokens.append(match[match.lastindex or 0])
            end = match.end()
        return tokens

    def _sum(self) -> Poly | Number:
        value = self._product()
        while (sign := self._take("+", "-")) is not None:
            other = self._product()
            value = value + other if sign == "+" else value - other
        return value

    def _product(self) -> Poly | Number:
        value = self._signed()
        while (operator := self._take("*", "/")) is not None:
            other = self._signed()
            value = self._times(value, other) if operator == "*" else self._over(value, other)
        return value

    def _times(self, a: Poly | Number, b: Poly | Number) -> Poly | Number:
        product = a * b
        if isinstance(product, Poly) and len(product.terms) > MAX_TERMS:
            self._fail(f"it has more than {MAX_TERMS} terms")
        return product

    def _over(self, a: Poly | Number, b: Poly | Number) -> Poly | Number:
        if isinstance(b, Poly):
            self._fail("it divides by a symbol")
        if b == 0:
            self._fail("it divides by 0")
        return a / b

    def _signed(self) -> Poly | Number:
        negative = False
        while (sign := self._take("+", "-")) is not None:
            negative ^= sign == "-"
        value = self._atom()
        return -value if negative else value

    def _atom(self) -> Poly | Number:
        if self._take("(") is not None:
            return self._bracketed()
        if self.next == len(self.tokens):
            self._fail("it ends too early")
        token = self.tokens[self.next]
        self.next += 1
        if token[0].isdigit() or token[0] == ".":
            return _number(token)
        if not _NAME.fullmatch(token):
            self._fail(f"'{token}' is unexpected here")
        return math.pi if token == "pi" else self._named(token)

    def _named(self, name: str) -> Poly | Number:
        function = _FUNCTIONS.get(name)
        if function is None:
            return letter(name)
        if self._take("(") is None:
            self._fail(f"'{name}' needs an angle in parentheses")
        try:
            return function(self._bracketed())
        except ExpressionError:
            raise
        except ValueError as err:
            self._fail(str(err))

    def _bracketed(self) -> Poly | Number:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self._fail(f"its parentheses are nested deeper than {MAX_DEPTH}")
        value = self._sum()
        if self._take(")") is None:
            self._fail("a parenthesis is not closed")
        self.depth -= 1
        return value

    def _take(self, *wanted: str) -> str | None:
        if self.next < len(self.tokens) and self.tokens[self.next] in wanted:
            self.next += 1
            return self.tokens[self.next - 1]
        return None

    def _fail(self, reason: str) -> NoReturn:
        shown = self.text if len(self.text) <= 40 else self.text[:37] + "..."
        raise ExpressionError(f"the expression '{shown}' cannot be read: {reason}")


def _number(token: str) -> Number:
    return int(token) if token.isdigit() and len(token) < 7 else float(token)


_FUNCTIONS: dict[str, Callable[[Poly | Number], Poly | Number]] = {
    "cos": lambda angle: turn(angle)[0],
    "sin": lambda angle: turn(angle)[1],
}
