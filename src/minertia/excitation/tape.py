"""Expression graphs run on batches, and their derivatives: one value per sample in every row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.expr import Expr, Graph

Array = NDArray[np.float64]


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


class Tape:
    """The schedule of some expressions on rows of samples, in stages that are run one after the other.

    Rows are kept between stages, so that a later stage (the derivatives) reads what an earlier one computed.
    """

    def __init__(self, stages: Sequence[Sequence[Expr]]) -> None:
        self.graph = next(e.graph for stage in stages for e in stage)
        self.stages: list[list[int]] = []
        done: set[int] = set()
        for stage in stages:
            nodes = [node for node in self.graph.needed(stage) if node not in done]
            done.update(nodes)
            self.stages.append(nodes)
        self.row = {node: k for k, node in enumerate(sorted(done))}
        self.samples = -1

    def allocate(self, samples: int) -> None:
        """Prepare rows for this number of samples."""
        if samples == self.samples:
            return
        self.samples = samples
        self.rows: Array = np.empty((len(self.row), samples))
        self.steps = [[step for node in nodes for step in self._step(node)] for nodes in self.stages]

    def rows_of(self, expressions: Sequence[Expr]) -> NDArray[np.intp]:
        """Where the values of expressions stand (without their sign)."""
        return np.array([self.row[e.id] for e in expressions], dtype=np.intp)

    def run(self, stage: int) -> None:
        """Compute the rows of a stage; those of its variables must be filled in."""
        for operation, arguments in self.steps[stage]:
            operation(*arguments)

    def _step(self, node: int) -> list[tuple[Any, tuple[Any, ...]]]:
        operation, *arguments = self.graph.nodes[node]
        target = self.rows[self.row[node]]
        if operation == "const":
            target[:] = arguments[0]
            return []
        if operation == "var":
            return []
        return [(_RUN[operation], (*(self.rows[self.row[a]] for a in arguments), target))]


_RUN: dict[str, Any] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "neg": np.negative,
    "sin": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
    "sign": np.sign,
}
