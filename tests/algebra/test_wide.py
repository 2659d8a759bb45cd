"""Sixty digits: sines, solutions and ranks beyond what floats hold."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from minertia.algebra.expr import Graph
from minertia.algebra.wide import digits, pivot_sizes, solve, stacked, wide, wide_tape

TINY = Decimal(10) ** -57


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.7, -3.1, 40.0])
def test_sines_and_cosines_have_sixty_digits(angle: float) -> None:
    graph = Graph()
    x = graph.variable("x[0]")
    tape = wide_tape([x.sin(), x.cos(), (x + x + x).cos(), -(x * x + 2).sqrt(), x.sign()])
    with digits():
        sine, cosine, triple, root, sign = (v[0] for v in tape.run({"x[0]": wide([angle])}))
        assert abs(sine * sine + cosine * cosine - 1) < TINY
        assert abs(4 * cosine**3 - 3 * cosine - triple) < 20 * TINY
        assert abs(root * root - Decimal(angle) ** 2 - 2) < 2000 * TINY and root < 0
    assert float(sine) == pytest.approx(np.sin(angle), abs=1e-15) and float(cosine) == pytest.approx(np.cos(angle))
    assert sign == np.sign(angle)


def test_solutions_have_sixty_digits() -> None:
    rng = np.random.default_rng(0)
    with digits():
        A, b = wide(rng.normal(size=(3, 5, 5))), wide(rng.normal(size=(3, 5, 2)))
        A[:, 0, 0] = Decimal(0)  # needs a pivot
        x = solve(A, b)
        left = (A[:, :, :, None] * x[:, None]).sum(axis=2) - b
        assert max(abs(v) for v in left.ravel()) < Decimal(10) ** -54


def test_ranks_are_told_where_floats_see_none() -> None:
    rng = np.random.default_rng(1)
    with digits():
        W = wide(rng.normal(size=(12, 5)))
        W[:, 3] = W[:, 0] + W[:, 1] * Decimal(10) ** -25 + W[:, 2] * Decimal(10) ** -25
        W[:, 4] = W[:, 0] - 2 * W[:, 2]
        sizes = pivot_sizes(W)
    assert sizes[3] < 1e-55 or sizes[4] < 1e-55
    assert sum(size > 1e-45 for size in sizes) == 3 and sorted(sizes, reverse=True) == sizes


def test_numbers_of_a_tape_stand_beside_arrays() -> None:
    with digits():
        found = stacked([0.5, wide([1.0, 2.0])], 2)
    assert found.tolist() == [[Decimal("0.5"), Decimal(1)], [Decimal("0.5"), Decimal(2)]]
