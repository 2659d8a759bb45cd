"""Expression graph with common-subexpression elimination: equal operations share one node.

Arguments precede their users, so the node numbers are an evaluation order.  Signs are stored in the references and
cost nothing: -(a - b) and b - a are the same node.  Sums and products have a canonical order, so equal subexpressions
are computed once.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from minertia.algebra.scalar import Turn

ODD = frozenset({"sin", "sign", "tanh"})  # f(-x) = -f(x)
EVEN = frozenset({"cos", "abs"})  # f(-x) = f(x)
IDEMPOTENT = frozenset({"sign", "abs"})  # f(f(x)) = f(x)


class Graph:
    """Expression graph; nodes are ("const", value), ("var", name) or (operation, argument, argument)."""

    def __init__(self) -> None:
        self.nodes: list[tuple[Any, ...]] = []
        self.arguments: list[tuple[int, ...]] = []  # of each node: the nodes it reads
        self._index: dict[tuple[Any, ...], int] = {}

    def variable(self, name: str) -> Expr:
        """Return the expression of a named input."""
        return Expr(self, self._node(("var", name)), False)

    def variables(self, name: str, count: int) -> list[Expr]:
        """Return the entries of an input array."""
        return [self.variable(f"{name}[{k}]") for k in range(count)]

    def constant(self, value: float) -> Expr:
        """Return a constant expression."""
        value = float(value)
        return Expr(self, self._node(("const", abs(value))), value < 0)

    def function(self, name: str, x: Expr) -> Expr:
        """Apply one of `_FUNCTIONS` to an expression."""
        value = x.value
        if value is not None:
            return self.constant(_FUNCTIONS[name](value))
        if name in IDEMPOTENT and self.nodes[x.id][0] == name:
            return Expr(self, x.id, name == "sign" and x.negative)
        if name in ODD or name in EVEN:
            return Expr(self, self._node((name, x.id)), name in ODD and x.negative)
        return Expr(self, self._node((name, self._positive(x))), False)

    def add(self, x: Expr, y: Expr) -> Expr:
        """x + y."""
        cx, cy = x.value, y.value
        if cx is not None and cy is not None:
            return self.constant(cx + cy)
        if cx == 0:
            return y
        if cy == 0:
            return x
        if x.id == y.id:
            return self.constant(0) if x.negative != y.negative else self.multiply(self.constant(2), x)
        if x.id > y.id:
            x, y = y, x
        operation = "+" if x.negative == y.negative else "-"
        return Expr(self, self._node((operation, x.id, y.id)), x.negative)

    def multiply(self, x: Expr, y: Expr) -> Expr:
        """x * y, with constant factors collected in front."""
        cx, cy = x.value, y.value
        if cx is not None and cy is not None:
            return self.constant(cx * cy)
        if cy is not None:
            x, y, cx = y, x, cy
        if cx is not None:
            return self._scaled(cx, y)
        a, b = sorted((x.id, y.id))
        return Expr(self, self._node(("*", a, b)), x.negative != y.negative)

    def divide(self, x: Expr, y: Expr) -> Expr:
        """x / y."""
        if y.value is not None:
            return self.multiply(self.constant(1 / y.value), x)
        if x.value == 0:
            return self.constant(0)
        return Expr(self, self._node(("/", x.id, y.id)), x.negative != y.negative)

    def _scaled(self, factor: float, y: Expr) -> Expr:
        if factor in (0, 1, -1):
            return self.constant(0) if factor == 0 else y if factor == 1 else -y
        operation, *arguments = self.nodes[y.id]
        if operation == "*" and self.nodes[arguments[0]][0] == "const":
            factor, y = factor * self.nodes[arguments[0]][1], Expr(self, arguments[1], y.negative)
        c = self.constant(factor)
        return Expr(self, self._node(("*", c.id, y.id)), c.negative != y.negative)

    def _positive(self, x: Expr) -> int:
        return self._node(("neg", x.id)) if x.negative else x.id

    def _node(self, key: tuple[Any, ...]) -> int:
        found = self._index.get(key)
        if found is None:
            found = self._index[key] = len(self.nodes)
            self.nodes.append(key)
            self.arguments.append(() if key[0] in ("const", "var") else key[1:])
        return found

    def needed(self, outputs: Iterable[Expr]) -> list[int]:
        """Return the nodes that the outputs depend on, in evaluation order."""
        seen: set[int] = set()
        stack = [output.id for output in outputs]
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                stack.extend(self.arguments[node])
        return sorted(seen)


class Expr:
    """Expression: a node of a graph and a sign."""

    __slots__ = ("graph", "id", "negative")
    __array_ufunc__ = None  # NumPy must leave products to us

    def __init__(self, graph: Graph, node: int, negative: bool) -> None:
        self.graph, self.id, self.negative = graph, node, negative

    @property
    def value(self) -> float | None:
        """Value of a constant expression; None otherwise."""
        node = self.graph.nodes[self.id]
        return (-node[1] if self.negative else node[1]) if node[0] == "const" else None

    def __add__(self, other: Any) -> Expr:
        if isinstance(other, Turn):  # an angle without a number of its own
            return NotImplemented
        return self.graph.add(self, self._lift(other))

    __radd__ = __add__

    def __neg__(self) -> Expr:
        return Expr(self.graph, self.id, not self.negative)

    def __sub__(self, other: Any) -> Expr:
        if isinstance(other, Turn):
            return NotImplemented
        return self.graph.add(self, -self._lift(other))

    def __rsub__(self, other: Any) -> Expr:
        return self.graph.add(self._lift(other), -self)

    def __mul__(self, other: Any) -> Expr:
        if not isinstance(other, (Expr, int, float)):
            return NotImplemented
        return self.graph.multiply(self, self._lift(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Expr:
        return self.graph.divide(self, self._lift(other))

    def __rtruediv__(self, other: Any) -> Expr:
        return self.graph.divide(self._lift(other), self)

    def sin(self) -> Expr:
        """Sine."""
        return self.graph.function("sin", self)

    def cos(self) -> Expr:
        """Cosine."""
        return self.graph.function("cos", self)

    def sign(self) -> Expr:
        """Sign function (-1, 0 or 1)."""
        return self.graph.function("sign", self)

    def absolute(self) -> Expr:
        """Absolute value."""
        return self.graph.function("abs", self)

    def exp(self) -> Expr:
        """Exponential."""
        return self.graph.function("exp", self)

    def tanh(self) -> Expr:
        """Hyperbolic tangent."""
        return self.graph.function("tanh", self)

    def sqrt(self) -> Expr:
        """Square root."""
        return self.graph.function("sqrt", self)

    def _lift(self, other: Any) -> Expr:
        return other if isinstance(other, Expr) else self.graph.constant(other)

    def __repr__(self) -> str:
        return f"Expr({'-' if self.negative else ''}{self.graph.nodes[self.id]})"


def count_operations(outputs: Sequence[Expr]) -> Counter[str]:
    """Count the operations of each kind in the graph of the outputs."""
    if not outputs:
        return Counter()
    graph = outputs[0].graph
    return Counter(
        graph.nodes[node][0] for node in graph.needed(outputs) if graph.nodes[node][0] not in ("const", "var")
    )


class Tape:
    """Operations of some outputs in evaluation order, to evaluate them at many values of the inputs.

    Outputs that are constants stay plain numbers.  operations: {name: function} that replaces the default
    functions. number: conversion of the graph's floats, for another arithmetic.
    """

    def __init__(
        self,
        outputs: Sequence[Any],
        operations: Mapping[str, Callable[..., Any]] | None = None,
        number: Callable[[float], Any] = float,
    ) -> None:
        run = _RUN if operations is None else {**_RUN, **operations}
        self.outputs = tuple(outputs)
        self.inputs: list[tuple[int, str]] = []
        self.steps: list[tuple[Callable[..., Any], int, int, int | None]] = []  # operation, node, its arguments
        expressions = [output for output in outputs if isinstance(output, Expr)]
        graph = expressions[0].graph if expressions else Graph()
        self.start: list[Any] = [None] * len(graph.nodes)  # results of all nodes: those that are numbers
        for node in graph.needed(expressions):
            operation, *rest = graph.nodes[node]
            if operation == "const":
                self.start[node] = number(rest[0])
            elif operation == "var":
                self.inputs.append((node, rest[0]))
            else:
                self.steps.append((run[operation], node, rest[0], rest[1] if len(rest) > 1 else None))

    def run(self, values: Mapping[str, Any]) -> list[Any]:
        """Evaluate the outputs at floats or arrays."""
        results = list(self.start)
        for node, name in self.inputs:
            results[node] = values[name]
        for run, node, a, b in self.steps:
            results[node] = run(results[a]) if b is None else run(results[a], results[b])
        return [_signed(o, results[o.id]) if isinstance(o, Expr) else o for o in self.outputs]


def evaluate(outputs: Sequence[Any], values: Mapping[str, Any]) -> list[Any]:
    """Evaluate outputs at floats or arrays; outputs that are constants stay plain numbers."""
    return Tape(outputs).run(values)


def _signed(output: Expr, value: Any) -> Any:
    return -value if output.negative else value


_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sin": math.sin,
    "cos": math.cos,
    "sqrt": math.sqrt,
    "exp": lambda v: math.exp(v) if v < 709.0 else math.inf,
    "tanh": math.tanh,
    "abs": abs,
    "sign": lambda v: float((v > 0) - (v < 0)),
}
_RUN: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "neg": operator.neg,
    "sin": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "tanh": np.tanh,
    "abs": np.abs,
    "sign": np.sign,
}
