from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from minertia.algebra import scalar
from minertia.algebra.expr import Graph, evaluate
from minertia.algebra.matrix import square_root_update
from minertia.algebra.simplify import operations, simplified

NAMES = [f"x[{k}]" for k in range(4)] + [f"p[{k}]" for k in range(2)]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("+-*2sabet"), st.integers(0, 60), st.integers(0, 60)), min_size=3, max_size=50)
)
def test_passes_keep_values_and_never_cost(steps):
    graph = Graph()
    values = [graph.variable(name) for name in NAMES]
    for operation, i, j in steps:
        a, b = values[i % len(values)], values[j % len(values)]
        made = {"+": a + b, "-": a - b, "*": a * b, "2": 0.5 * a, "s": a.sin(), "a": a.absolute(), "b": a.sign() * b}
        made |= {"e": (-(a * a)).exp(), "t": a.tanh()}
        values.append(made[operation])
    outputs = values[-6:]
    at = dict(zip(NAMES, np.random.default_rng(0).uniform(-1.2, 1.2, len(NAMES)), strict=True))
    for thorough in (False, True):
        found = simplified(outputs, ("p",), thorough=thorough)
        assert sum(operations(found, ("p",))) <= sum(operations(outputs, ("p",)))
        a, b = np.array(evaluate(outputs, at), float), np.array(evaluate(found, at), float)
        scale = max(float(np.abs(a).max()), 1.0)
        assert np.abs(a - b).max() < 1e-9 * scale or not np.isfinite(scale)


def test_common_factors_shared_sums_and_free_operands():
    graph = Graph()
    a, b, c, d = (graph.variable(f"x[{k}]") for k in range(4))
    p, r = graph.variable("p[0]"), graph.variable("p[1]")
    assert operations(simplified([a * b + a * c])) == (1, 1)
    assert operations(simplified([(a + b) + c, (a + d) + b])) == (0, 3)
    assert operations(simplified([p * a + r * a], ("p",)), ("p",)) == (1, 0)
    assert operations(simplified([p * a + a], ("p",)), ("p",)) == (1, 0)
    assert operations(simplified([(p * a) * r + (p + a) + r], ("p",)), ("p",))[0] == 1


def test_square_root_update_is_recursive_least_squares():
    rng = np.random.default_rng(1)
    p, forgetting = 4, 0.95
    S, theta = (1e3 * np.eye(p)).tolist(), [0.0] * p
    rows, values = rng.normal(size=(40, p)), rng.normal(size=40)
    for row, value in zip(rows, values, strict=True):
        S, theta = square_root_update(S, theta, row.tolist(), float(value), forgetting)
    weights = forgetting ** np.arange(39, -1, -1)
    information = rows.T * weights @ rows + forgetting**40 * 1e-6 * np.eye(p)
    assert np.allclose(theta, np.linalg.solve(information, rows.T * weights @ values), rtol=1e-10)
    assert np.allclose(np.array(S) @ np.array(S).T, np.linalg.inv(information), rtol=1e-9)


def test_functions_on_every_kind_of_number():
    """Structure stays structure, numbers are computed at once, and what is known of signs is used."""
    for function, at_zero in ((scalar.absolute, 0), (scalar.exp, 1), (scalar.tanh, 0), (scalar.sqrt, 0)):
        assert type(function(0)) is int and function(0) == at_zero
        graph = Graph()
        x = graph.variable("x")
        array = np.array([0.3, 1.7])
        (found,) = evaluate([function(x)], {"x": array})
        np.testing.assert_allclose(found, function(array), rtol=1e-15)
        assert function(graph.constant(0.3)).value == float(function(0.3))
    assert scalar.sqrt(1) == 1 and scalar.absolute(-3) == 3
    x = Graph().variable("x")
    assert (-x).absolute().id == x.absolute().id and not (-x).absolute().negative
    assert (-x).tanh().id == x.tanh().id and (-x).tanh().negative
    assert (-x.absolute()).absolute().id == x.absolute().id
    assert x.sign().sign().id == x.sign().id
    assert x.graph.constant(1e4).exp().value == np.inf
