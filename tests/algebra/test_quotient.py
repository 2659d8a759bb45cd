"""Quotients of polynomials: values, what cancels, and what is printed."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from minertia.algebra.linear import Linear
from minertia.algebra.polynomial import Poly, letter, turn
from minertia.algebra.quotient import Quotient, divisors, length, number_of, quotient
from minertia.algebra.show import latex, text

LETTERS = {"D3": 0.4, "R4": -1.3, "a": 0.7, "b": -0.3}
FUNCTIONS = {"cos": math.cos, "sin": math.sin, "tan": math.tan}
(COS, SIN), (COS_B, SIN_B), D = turn(letter("a")), turn(letter("b")), letter("D3")
ATOMS = [(letter("D3"), 0.4), (letter("R4"), -1.3), (COS, math.cos(0.7)), (SIN, math.sin(0.7)), (SIN_B, math.sin(-0.3))]
NUMBERS = [(2, 2), (-1, -1), (0.5, 0.5), (3, 3)]


def value_of(written: str) -> float:
    return eval(written, dict(FUNCTIONS), dict(LETTERS))


@st.composite
def coefficients(draw, atoms=tuple(ATOMS), operations="+-*/"):
    """A coefficient with its value, built by the same sums, products and divisions."""
    value, number = draw(st.sampled_from([*atoms, *NUMBERS]))
    for _ in range(draw(st.integers(0, 5))):
        other, x = draw(st.sampled_from([*atoms, *NUMBERS]))
        match draw(st.sampled_from(operations)):
            case "+":
                value, number = value + other, number + x
            case "-":
                value, number = value - other, number - x
            case "*":
                value, number = value * other, number * x
            case _:
                value, number = quotient(value, other), number / x
    return value, number


@given(coefficients())
def test_value_and_text_agree(pair):
    value, number = pair
    assert number_of(value, LETTERS) == pytest.approx(number, rel=1e-9, abs=1e-9)
    assert value_of(text(value)) == pytest.approx(number, rel=1e-9, abs=1e-9)
    form = eval(text(Linear({"XX1": 1, "M2": value})), dict(FUNCTIONS), LETTERS | {"XX1": 5.0, "M2": 2.0})
    assert form == pytest.approx(5 + 2 * number, rel=1e-9, abs=1e-9)


@given(coefficients(), coefficients())
def test_arithmetic(a, b):
    (x, m), (y, n) = a, b
    assume(y != 0 and abs(n) > 1e-3)
    for found, expected in ((x + y, m + n), (x - y, m - n), (x * y, m * n), (quotient(x, y), m / n)):
        assert number_of(found, LETTERS) == pytest.approx(expected, rel=1e-7, abs=1e-7)


@given(coefficients())
def test_what_cancels_is_gone(pair):
    value, _ = pair
    assert value - value == 0


def test_common_factors_go_where_it_is_cheap():
    assert quotient(D * COS, COS) == D
    assert quotient(6 * D, 4) == 1.5 * D
    assert quotient(2 * D + 2 * COS, D + COS) == 2
    assert isinstance(quotient(SIN, COS) * COS, Poly)
    assert quotient(D * D * SIN, D * COS) == quotient(D * SIN, COS)
    assert quotient(SIN, COS) + quotient(D, COS) == quotient(SIN + D, COS)
    assert quotient(D - D * COS * COS, SIN) == D * SIN


@pytest.mark.parametrize(
    ("value", "written", "typeset"),
    [
        (quotient(SIN * SIN_B, COS), "sin(b)*tan(a)", r"\sin(b)\,\tan(a)"),
        (quotient(SIN * SIN, COS), "sin(a)*tan(a)", r"\sin(a)\,\tan(a)"),
        (2 * D * COS * COS - 2 * D, "-2*D3*sin(a)**2", r"-2\,D_{3}\,\sin(a)^{2}"),
        ((1 - COS * COS) * (1 - COS_B * COS_B), "sin(a)**2*sin(b)**2", r"\sin(a)^{2}\,\sin(b)^{2}"),
        (quotient(COS, SIN), "cos(a)/sin(a)", r"\frac{\cos(a)}{\sin(a)}"),
        (quotient(1, D), "1/D3", r"\frac{1}{D_{3}}"),
        (quotient(D, 2 * COS), "D3/(2*cos(a))", r"\frac{D_{3}}{2\,\cos(a)}"),
        (-quotient(D + 1, D - 1), "-(D3 + 1)/(D3 - 1)", r"-\frac{D_{3} + 1}{D_{3} - 1}"),
    ],
)
def test_what_is_printed(value, written, typeset):
    assert text(value) == written
    assert latex(value) == typeset


def test_forms_hold_quotients():
    t = quotient(SIN * SIN_B, COS)
    form = Linear({"MX2": 1, "MZ2": -t, "MZ3": -t})
    assert text(form) == "MX2 - sin(b)*tan(a)*(MZ2 + MZ3)"
    assert text(Linear({"MX2": D, "M3": D * D}) / D) == "MX2 + D3*M3"
    assert text(Linear({"MX2": 1, "M3": D}) / D) == "1/D3*MX2 + M3"


def test_what_must_not_vanish_is_named():
    assert [text(d) for d in divisors(quotient(SIN, D * COS * (D + COS_B)))] == ["D3", "cos(a)", "D3 + cos(b)"]
    assert not list(divisors(D)) and not list(divisors(2))


def test_equal_quotients_have_one_hash():
    assert len({quotient(SIN, COS), quotient(2 * SIN, 2 * COS), quotient(-SIN, -COS)}) == 1
    assert isinstance(quotient(SIN, COS), Quotient)


def test_a_factor_of_one_less_a_squared_cosine_is_cancelled():
    assert quotient(COS * COS - 1, COS + 1) == COS - 1
    assert quotient(COS + 1, COS * COS - 1) == quotient(1, COS - 1)


@given(coefficients(ATOMS[:3], "+-*"), coefficients(ATOMS[:3], "+-*"))
def test_a_polynomial_that_divides_another_is_cancelled(a, b):
    """Without sines, whose squares are written by cosines."""
    (x, m), (y, n) = a, b
    assume(min(abs(m), abs(n)) > 1e-3 and isinstance(x, Poly) and isinstance(y, Poly))
    other = letter("R4")
    pairs = [(quotient(x * y, y), x), (quotient(y, x * y), quotient(1, x)), (quotient((D - other) * x, other - D), -x)]
    for found, expected in pairs:
        assert length(found) == length(expected)
        assert number_of(found, LETTERS) == pytest.approx(number_of(expected, LETTERS), rel=1e-9)
