"""Polynomials in letters: canonical form, evaluation and what is printed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minertia.algebra import polynomial
from minertia.algebra.linear import Linear
from minertia.algebra.polynomial import Poly, evaluate, letter, turn
from minertia.algebra.scalar import add, mul
from minertia.algebra.show import latex, text

LETTERS = {"D3": 0.4, "R4": -1.3, "a": 0.7}


@st.composite
def polynomials(draw):
    """A polynomial with its value, built by the same operations."""
    value, number = draw(st.sampled_from([(letter(n), v) for n, v in LETTERS.items()] + [(2, 2), (-1, -1)]))
    for _ in range(draw(st.integers(0, 5))):
        other, x = draw(st.sampled_from([(letter(n), v) for n, v in LETTERS.items()] + [(0.5, 0.5), (3, 3)]))
        if draw(st.booleans()):
            value, number = add(value, other), number + x
        else:
            value, number = mul(value, other), number * x
    return value, number


@given(polynomials())
def test_value_and_text_agree(pair):
    value, number = pair
    assert evaluate(value, LETTERS) == pytest.approx(number, rel=1e-12, abs=1e-12)
    assert eval(text(value), {}, dict(LETTERS)) == pytest.approx(number, rel=1e-12, abs=1e-12)


@given(polynomials(), polynomials())
def test_order_does_not_matter(a, b):
    assert add(a[0], b[0]) == add(b[0], a[0])
    assert mul(a[0], b[0]) == mul(b[0], a[0])


def long_sum(rng, count):
    """So many products of lengths, cosines and sines, added up."""
    atoms = [letter(name) for name in (*LETTERS, "cos(a)", "sin(a)", "cos(b)", "sin(b)", "sin(c)")]
    value = letter("D3")
    for _ in range(count):
        term = float(rng.choice([1, -1, 0.3, 2.5]))
        for k in rng.integers(len(atoms), size=rng.integers(5)):
            term = mul(atoms[k], term)
        value = add(value, term)
    return value


@pytest.mark.parametrize("seed", range(4))
def test_products_of_many_terms_are_those_of_few(seed, monkeypatch):
    """Packed or not, the same terms in the same order, sines squared turned into cosines."""
    rng = np.random.default_rng(seed)
    a, b = long_sum(rng, 40), long_sum(rng, 30)
    monkeypatch.setattr(polynomial, "MANY", math.inf)
    one_by_one = a * b
    monkeypatch.setattr(polynomial, "MANY", 0)
    for known in (1, polynomial.MOST_KNOWN):
        monkeypatch.setattr(polynomial, "MOST_KNOWN", known)
        assert list((a * b).terms.items()) == list(one_by_one.terms.items())


def test_cancellation_is_structural():
    x = letter("D3") * 0.1 + letter("D3") * 0.2 - letter("D3") * 0.3
    assert type(x) is int
    assert x == 0


def test_right_angles_are_exact_and_letters_stay():
    assert turn(math.pi / 2) == (0, 1)
    assert all(type(v) is int for v in turn(-math.pi))
    c, s = turn(letter("a"))
    assert c * c + s * s == 1
    c, s = turn(letter("a") + math.pi / 2)
    assert evaluate(c, LETTERS) == pytest.approx(math.cos(0.7 + math.pi / 2))
    assert evaluate(s, LETTERS) == pytest.approx(math.sin(0.7 + math.pi / 2))


def test_linear_forms_are_printed_with_common_factors():
    d, r = letter("D3"), letter("R3")
    form = Linear({"XX2": 1, "YY2": -1, "MZ3": 2 * r, "M3": d * d, "M4": d * d})
    assert text(form) == "XX2 - YY2 + 2*R3*MZ3 + D3**2*(M3 + M4)"
    assert latex(form) == (
        r"\mathit{XX}_{2} - \mathit{YY}_{2} + 2\,R_{3}\,\mathit{MZ}_{3} + D_{3}^{2}\,(M_{3} + M_{4})"
    )


def test_numpy_leaves_products_to_polynomials():
    assert isinstance(np.float64(2.0) * letter("D3"), Poly)
