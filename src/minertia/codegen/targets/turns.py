"""The order of C statements for processors that start several operations at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from minertia.algebra.expr import Graph
from minertia.codegen.kernels.order import interleaved
from minertia.codegen.kernels.steps import KernelStep

MOST = 4000  # statements: of more of them too many values would be alive


def in_turns(graph: Graph, order: Sequence[int], outputs: Collection[int]) -> list[int]:
    """The nodes in an order in which operations that do not wait for one another take turns.

    Sines and cosines are taken together, so that they and all they need come first.  A product that only one sum needs
    stays in front of it, because compilers make one operation of the two.  No more values are alive than before.
    """
    first = _before_sines(graph, order)
    rest = [node for node in order if node not in first]
    if len(rest) > MOST:
        return list(order)
    inside = set(rest)
    uses = Counter(a for node in rest for a in graph.arguments[node])
    uses.update(outputs)
    fused = {node: product for node in rest if (product := _fused(graph, node, uses, inside)) is not None}
    gone = set(fused.values())
    known = inside - gone
    steps = []
    for node in rest:
        if node not in gone:
            reads = [*graph.arguments[node], *(graph.arguments[fused[node]] if node in fused else ())]
            steps.append(KernelStep(graph.nodes[node][0], (node,), tuple(a for a in reads if a in known)))
    made = [step.results[0] for step in interleaved(steps)]
    return [*(n for n in order if n in first), *(n for node in made for n in _with(fused.get(node), node))]


def _with(product: int | None, node: int) -> tuple[int, ...]:
    return (node,) if product is None else (product, node)


def _before_sines(graph: Graph, order: Sequence[int]) -> set[int]:
    """Numbers, inputs, sines and cosines, and what these are taken of."""
    first: set[int] = set()
    for node in reversed(order):
        if graph.nodes[node][0] in ("const", "var", "sin", "cos"):
            first.add(node)
        if node in first:
            first.update(graph.arguments[node])
    return first


def _fused(graph: Graph, node: int, uses: Counter[int], inside: Collection[int]) -> int | None:
    """The product that is computed together with a sum, the second of two."""
    if graph.nodes[node][0] not in ("+", "-"):
        return None
    products = (a for a in graph.arguments[node] if a in inside and graph.nodes[a][0] == "*" and uses[a] == 1)
    return max(products, default=None, key=graph.arguments[node].index)
