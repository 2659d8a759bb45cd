"""Order of straight-line code: independent operations are interleaved.

A processor looks ahead over some hundred operations, fewer if two threads share a core.  In depth-first order
of the outputs (`schedule.py`) most operations wait for the one before them.  Here the operation with the
longest path to an output comes first, as long as the values that are needed later fit into the registers.
`in_turns` does the same for C statements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from heapq import heappop, heappush
from typing import Any

from minertia.algebra.expr import Graph
from minertia.codegen.kernels.steps import KernelStep

LATENCY, LOAD_LATENCY = 4, 8  # cycles from operands to result
AT_ONCE = 2  # operations that start in one cycle
REGISTERS = 24  # for values that are needed later; the others hold constants and what is loaded


def interleaved(steps: Sequence[KernelStep]) -> list[KernelStep]:
    """Reorder the steps for more instruction-level parallelism, unless more values would spill to memory."""
    order = _Order(steps).run(max(REGISTERS, most_alive(steps)))
    return list(steps) if order is None else order


def most_alive(steps: Sequence[KernelStep]) -> int:
    """Largest number of live values."""
    last = {v: k for k, step in enumerate(steps) for v in step.reads}
    alive: set[int] = set()
    most = 0
    for k, step in enumerate(steps):
        alive.update(v for v in step.results if v in last)
        alive.difference_update(v for v in step.reads if last[v] == k)
        most = max(most, len(alive))
    return most


class _Order:
    """List scheduler for a processor that starts `AT_ONCE` operations per cycle."""

    def __init__(self, steps: Sequence[KernelStep]) -> None:
        self.steps = steps
        self.latency = [LOAD_LATENCY if step.operation == "load" else LATENCY for step in steps]
        made = {v: k for k, step in enumerate(steps) for v in step.results}
        self.inside = [{v for v in step.reads if v in made} for step in steps]  # values read that are made here
        self.readers: dict[int, list[int]] = {v: [] for v in made}
        for k, values in enumerate(self.inside):
            for v in values:
                self.readers[v].append(k)
        self.uses = {v: len(readers) for v, readers in self.readers.items()}  # still to come
        self.waiting = [len({made[v] for v in values}) for values in self.inside]
        self.after = [self._readers(step) for step in steps]
        self.height = [0] * len(steps)  # cycles from the start of a step to the last result that needs it
        for k in reversed(range(len(steps))):
            self.height[k] = self.latency[k] + max((self.height[j] for j in self.after[k]), default=0)
        self.frees = [  # registers that are free after a step, less the one it takes
            sum(self.uses[v] == 1 for v in values) - bool(after)
            for values, after in zip(self.inside, self.after, strict=True)
        ]
        self.start = [0] * len(steps)  # cycle in which a step has its operands
        self.taken = [False] * len(steps)
        # steps whose operands are being made, by cycle; those that can start, by what they are chosen for
        self.later = [(0, k) for k, count in enumerate(self.waiting) if not count]
        self.by_height: list[tuple[int, int]] = []
        self.by_frees: list[tuple[int, int, int]] = []
        self.is_open = [False] * len(steps)
        self.alive: set[int] = set()
        self.cycle = self.started = 0

    def run(self, most: int) -> list[KernelStep] | None:
        """Schedule the steps; None if more than `most` values would be live."""
        order: list[KernelStep] = []
        while len(order) < len(self.steps):
            chosen = self._choose()
            self._take(chosen)
            order.append(self.steps[chosen])
            if len(self.alive) > most:
                return None
        return order

    def _readers(self, step: KernelStep) -> Collection[int]:
        """Steps that read the results of a step."""
        if len(step.results) == 1:
            return self.readers[step.results[0]]
        return {k for v in step.results for k in self.readers[v]}

    def _choose(self) -> int:
        """Step with the longest path to an output; if registers run out, the one that frees most of them."""
        self._open()
        heap: list[Any] = self.by_height if len(self.alive) < REGISTERS else self.by_frees
        while self.taken[heap[0][-1]]:  # by the other heap, or under what it freed before
            heappop(heap)
        return int(heap[0][-1])

    def _open(self) -> None:
        """Make steps with available operands ready; if there are none, advance to the next cycle that has some."""
        while self.by_height and self.taken[self.by_height[0][-1]]:
            heappop(self.by_height)
        if not self.by_height and self.later[0][0] > self.cycle:
            self.cycle, self.started = self.later[0][0], 0
        while self.later and self.later[0][0] <= self.cycle:
            _, k = heappop(self.later)
            self.is_open[k] = True
            heappush(self.by_height, (-self.height[k], k))
            heappush(self.by_frees, (-self.frees[k], -self.height[k], k))

    def _take(self, k: int) -> None:
        self.taken[k] = True
        if self.steps[k].operation != "load":
            self.started += 1
            if self.started == AT_ONCE:
                self.cycle, self.started = self.cycle + 1, 0
        for v in self.inside[k]:
            self._read(v)
        self.alive.update(v for v in self.steps[k].results if self.uses[v])
        for j in self.after[k]:
            self.waiting[j] -= 1
            self.start[j] = max(self.start[j], self.cycle + self.latency[k])
            if not self.waiting[j]:
                heappush(self.later, (self.start[j], j))

    def _read(self, v: int) -> None:
        """Count a use of a value; its last use frees its register."""
        self.uses[v] -= 1
        if not self.uses[v]:
            self.alive.discard(v)
        elif self.uses[v] == 1:
            (last,) = (k for k in self.readers[v] if not self.taken[k])
            self.frees[last] += 1
            if self.is_open[last]:
                heappush(self.by_frees, (-self.frees[last], -self.height[last], last))


# ---------------------------------------------------------------------------------------------------- statements of C


MOST = 4000  # statements: of more of them too many values would be alive


def in_turns(graph: Graph, order: Sequence[int], outputs: Collection[int]) -> list[int]:
    """Reorder the nodes so that independent operations are interleaved.

    Sines and cosines are computed together, so they and their arguments come first.  A product used by only one sum
    stays in front of it, because compilers fuse the two.  The number of live values does not increase.
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
    """Constants, inputs, sines and cosines, and the nodes that these depend on."""
    first: set[int] = set()
    for node in reversed(order):
        if graph.nodes[node][0] in ("const", "var", "sin", "cos"):
            first.add(node)
        if node in first:
            first.update(graph.arguments[node])
    return first


def _fused(graph: Graph, node: int, uses: Counter[int], inside: Collection[int]) -> int | None:
    """Product that is fused with a sum; if both terms are products, the second one."""
    if graph.nodes[node][0] not in ("+", "-"):
        return None
    products = (a for a in graph.arguments[node] if a in inside and graph.nodes[a][0] == "*" and uses[a] == 1)
    return max(products, default=None, key=graph.arguments[node].index)
