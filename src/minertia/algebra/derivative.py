"""Reverse-mode differentiation of expression graphs, and evaluation of graphs on any scalar type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minertia.algebra.expr import Expr, Graph
from minertia.algebra.scalar import Scalar, absolute, add, cos, div, exp, mul, neg, sign, sin, sqrt, sub, tanh


def reverse(graph: Graph, outputs: Sequence[Expr | float], seeds: Sequence[Expr]) -> dict[int, Expr]:
    """Return the derivatives of sum(seed * output) with respect to every node that the outputs depend on."""
    adjoints: dict[int, Expr] = {}

    def gather(node: int, value: Expr) -> None:
        adjoints[node] = adjoints[node] + value if node in adjoints else value

    expressions = [(o, s) for o, s in zip(outputs, seeds, strict=True) if isinstance(o, Expr)]
    for output, seed in expressions:
        gather(output.id, -seed if output.negative else seed)
    for node in reversed(graph.needed([output for output, _ in expressions])):
        operation, *rest = graph.nodes[node]
        if node in adjoints and operation in _RULES:
            arguments = [Expr(graph, a, False) for a in rest]
            parts = _RULES[operation](adjoints[node], Expr(graph, node, False), *arguments)
            for a, part in zip(rest, parts, strict=True):
                gather(a, part)
    return adjoints


# operation -> adjoints of its arguments from (own adjoint, own value, arguments); a sign has no slope
_RULES: dict[str, Callable[..., tuple[Expr, ...]]] = {
    "+": lambda g, v, a, b: (g, g),
    "-": lambda g, v, a, b: (g, -g),
    "*": lambda g, v, a, b: (g * b, g * a),
    "/": lambda g, v, a, b: (g / b, -(g / b) * v),
    "neg": lambda g, v, a: (-g,),
    "sin": lambda g, v, a: (g * a.cos(),),
    "cos": lambda g, v, a: (-g * a.sin(),),
    "sqrt": lambda g, v, a: (g * 0.5 / v,),
    "exp": lambda g, v, a: (g * v,),
    "tanh": lambda g, v, a: (g * (1 - v * v),),
    "abs": lambda g, v, a: (g * a.sign(),),
}


def replayed(outputs: Sequence[Scalar], values: Mapping[str, Scalar]) -> list[Scalar]:
    """Re-evaluate the outputs of a graph with its inputs replaced by new values.

    The new inputs may be floats, arrays or expressions of another graph.
    """
    expressions = [output for output in outputs if isinstance(output, Expr)]
    results: dict[int, Scalar] = {}
    graph = expressions[0].graph if expressions else Graph()
    for node in graph.needed(expressions):
        operation, *rest = graph.nodes[node]
        if operation == "const":
            results[node] = int(rest[0]) if rest[0] in (0, 1) else rest[0]
        elif operation == "var":
            results[node] = values[rest[0]]
        else:
            results[node] = _RUN[operation](*(results[a] for a in rest))
    return [_signed(o, results) if isinstance(o, Expr) else o for o in outputs]


def _signed(output: Expr, results: Mapping[int, Scalar]) -> Scalar:
    return neg(results[output.id]) if output.negative else results[output.id]


_RUN: dict[str, Callable[..., Any]] = {
    "+": add,
    "-": sub,
    "*": mul,
    "/": div,
    "neg": neg,
    "sin": sin,
    "cos": cos,
    "sqrt": sqrt,
    "exp": exp,
    "tanh": tanh,
    "abs": absolute,
    "sign": sign,
}
