"""Derivatives on the expression graph: reverse mode, and a sign that has a slope."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minertia.algebra.expr import Expr, Graph


class SmoothGraph(Graph):
    """A graph in which sign(x) is x / sqrt(x^2 + width^2), so that friction has derivatives."""

    def __init__(self, width: float) -> None:
        super().__init__()
        self.width = width

    def function(self, name: str, x: Expr) -> Expr:
        """Sine, cosine, square root, and the smooth sign."""
        if name != "sign":
            return super().function(name, x)
        return x / (x * x + self.width**2).sqrt()


def pull_back(outputs: Sequence[Expr], seeds: Sequence[Expr], wrt: Sequence[Expr]) -> list[Expr]:
    """d(sum of seeds * outputs) / d wrt as expressions of the same graph (reverse mode; the sign has slope 0)."""
    graph = outputs[0].graph
    adjoint: dict[int, Expr] = {}

    def collect(node: int, value: Expr) -> None:
        adjoint[node] = adjoint[node] + value if node in adjoint else value

    for output, seed in zip(outputs, seeds, strict=True):
        collect(output.id, -seed if output.negative else seed)
    for node in reversed(graph.needed(outputs)):
        if node in adjoint:
            for argument, slope in _slopes(graph, node, adjoint[node]):
                collect(argument, slope)
    return [adjoint.get(x.id, graph.constant(0)) for x in wrt]


def _slopes(graph: Graph, node: int, g: Expr) -> list[tuple[int, Expr]]:
    """What an operation passes to its arguments of the adjoint g of its result."""
    operation, *arguments = graph.nodes[node]
    if operation in ("const", "var", "sign"):
        return []
    own = Expr(graph, node, False)
    values = [Expr(graph, a, False) for a in arguments]
    a, b = values[0], values[-1]
    rules: dict[str, Any] = {
        "+": lambda: (g, g),
        "-": lambda: (g, -g),
        "*": lambda: (g * b, g * a),
        "/": lambda: (g / b, -(g * own / b)),
        "neg": lambda: (-g,),
        "sin": lambda: (g * a.cos(),),
        "cos": lambda: (-(g * a.sin()),),
        "sqrt": lambda: (g * 0.5 / own,),
    }
    return list(zip(arguments, rules[operation](), strict=True))
