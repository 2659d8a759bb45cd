"""Simplification passes on expression graphs that reduce the number of operations.

The passes remove dead code, collect free operands, factor common terms and share partial sums.  A node is *free* if it
depends only on constants and parameters: such values are computed once, not at every call, and count as free of
charge. Passes return new expressions in a new graph and never increase the operation count.
"""

from __future__ import annotations

import abc
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import Any

from minertia.algebra.expr import Expr, Graph

ROUNDS = 30
LONG = 40  # terms of a sum: in longer ones nothing is looked for
Term = tuple[int, bool]  # a node and whether it is subtracted
Pair = tuple[Term, Term]


def free_nodes(graph: Graph, nodes: Iterable[int], parameters: Collection[str]) -> set[int]:
    """Select the nodes (in evaluation order) that depend only on constants and the named input arrays."""
    free: set[int] = set()
    for node in nodes:
        if graph.nodes[node][0] == "var":
            if graph.nodes[node][1].split("[")[0] in parameters:
                free.add(node)
        elif free.issuperset(graph.arguments[node]):  # a number has none
            free.add(node)
    return free


@dataclass(frozen=True)
class _Needs:
    """Nodes that outputs depend on, in evaluation order, and the free ones among them."""

    graph: Graph
    nodes: list[int]
    free: set[int]

    @property
    def operations(self) -> tuple[int, int]:
        """Number of multiplications (including divisions) and of additions of all nodes that are not free."""
        found = Counter(self.graph.nodes[node][0] for node in self.nodes if node not in self.free)
        return found["*"] + found["/"], found["+"] + found["-"]


def _needs(outputs: Sequence[Any], parameters: Collection[str]) -> _Needs:
    expressions = [output for output in outputs if isinstance(output, Expr)]
    graph = expressions[0].graph if expressions else Graph()
    nodes = graph.needed(expressions)
    return _Needs(graph, nodes, free_nodes(graph, nodes, parameters))


def operations(outputs: Sequence[Any], parameters: Collection[str] = ()) -> tuple[int, int]:
    """Number of multiplications (including divisions) and of additions of all nodes that are not free."""
    return _needs(outputs, parameters).operations


def simplified(outputs: Sequence[Any], parameters: Collection[str] = (), *, thorough: bool = True) -> list[Any]:
    """Return the same outputs with fewer operations; thorough: also share partial sums."""
    best, needs = list(outputs), _needs(outputs, parameters)
    cost = sum(needs.operations)
    passes = (_Factoring, _Sharing) if thorough else (_Factoring,)
    for _ in range(ROUNDS):
        start = cost
        for make in passes:
            tried = make(best, needs).run()
            tried_needs = _needs(tried, parameters)
            tried_cost = sum(tried_needs.operations)
            if tried_cost < cost or (tried_cost == cost and start == cost):
                best, needs, cost = tried, tried_needs, tried_cost
        if cost == start:
            break
    return best


class _Pass(abc.ABC):
    """Rebuild the graph of the outputs; subclasses define how sums are rebuilt."""

    def __init__(self, outputs: Sequence[Any], needs: _Needs) -> None:
        self.outputs = outputs
        self.old, self.nodes, self.free = needs.graph, needs.nodes, needs.free
        self.uses: Counter[int] = Counter(output.id for output in outputs if isinstance(output, Expr))
        users: dict[int, str] = {}
        for node in self.nodes:
            for a in self.old.arguments[node]:
                self.uses[a] += 1
                users[a] = self.old.nodes[node][0]
        self.inner = {node for node, user in users.items() if self._melts(node, user)}
        self.new = Graph()
        self.made: dict[int, Expr] = {}

    def _melts(self, node: int, user: str) -> bool:
        """Whether a node is only an intermediate result of one longer sum or product."""
        if self.uses[node] != 1 or node in self.free:
            return False
        operation = self.old.nodes[node][0]
        return (operation in "+-" and user in "+-") or (operation == "*" and user == "*")

    def run(self) -> list[Any]:
        for node in self.nodes:
            if node not in self.inner:
                self.made[node] = self._rebuilt(node)
        return [self._output(output) for output in self.outputs]

    def _output(self, output: Any) -> Any:
        if not isinstance(output, Expr):
            return output
        made = self.made[output.id]
        return -made if output.negative else made

    def _rebuilt(self, node: int) -> Expr:
        operation, *rest = self.old.nodes[node]
        if operation == "const":
            return self.new.constant(rest[0])
        if operation == "var":
            return self.new.variable(rest[0])
        if operation in "+-":
            return self.sum_of(node)
        if operation == "*":
            return self._product(self.factors(node))
        if operation == "/":
            return self.new.divide(self.made[rest[0]], self.made[rest[1]])
        if operation == "neg":
            return -self.made[rest[0]]
        return self.new.function(operation, self.made[rest[0]])

    def _product(self, factors: list[int]) -> Expr:
        """Rebuild a product with its free factors multiplied first, so that only one product with them remains."""
        ordered = sorted(factors, key=lambda f: f not in self.free)
        product = self.made[ordered[0]]
        for factor in ordered[1:]:
            product = self.new.multiply(product, self.made[factor])
        return product

    def factors(self, node: int) -> list[int]:
        """Factors of a product; products with no other user are expanded."""
        found: list[int] = []
        stack = list(reversed(self.old.arguments[node]))
        while stack:
            a = stack.pop()
            if a in self.inner and self.old.nodes[a][0] == "*":
                stack.extend(reversed(self.old.arguments[a]))
            else:
                found.append(a)
        return found

    def terms(self, node: int) -> list[Term]:
        """Terms of a sum; sums with no other user are expanded."""
        found: list[Term] = []
        stack: list[Term] = [(node, False)]
        while stack:
            a, negative = stack.pop()
            operation, *rest = self.old.nodes[a]
            if operation in "+-" and (a == node or a in self.inner):
                stack.append((rest[1], negative != (operation == "-")))
                stack.append((rest[0], negative))
            else:
                found.append((a, negative))
        return found

    def total(self, terms: Iterable[Expr], start: Expr | None = None) -> Expr:
        """Sum of expressions of the new graph."""
        result = self.new.constant(0) if start is None else start
        for term in terms:
            result = self.new.add(result, term)
        return result

    def term(self, term: Term) -> Expr:
        """Translate a term of the old graph into the new graph."""
        node, negative = term
        made = self.made[node]
        return -made if negative else made

    @abc.abstractmethod
    def sum_of(self, node: int) -> Expr:
        """Rebuild a sum."""


class _Factoring(_Pass):
    """Greedy factoring of a b + a c into a (b + c), for products with one user; free terms are added first."""

    def sum_of(self, node: int) -> Expr:
        terms = self.terms(node)
        result = self.total(self.term(t) for t in terms if t[0] in self.free)
        left = [t for t in terms if t[0] not in self.free]
        while True:
            factor, group = self._best(left)
            if len(group) < 2:
                break
            left = [t for t in left if t not in group]
            result = self._grouped(result, factor, group)
        return self.total((self.term(t) for t in left), result)

    def _best(self, terms: list[Term]) -> tuple[int, list[Term]]:
        groups: dict[int, list[Term]] = {}
        for t in terms:
            for factor in self._candidates(t):
                groups.setdefault(factor, []).append(t)
        if not groups:
            return -1, []
        return max(groups.items(), key=lambda item: (self._gain(*item), -item[0]))

    def _candidates(self, t: Term) -> set[int]:
        node = t[0]
        own = {node}
        if self.old.nodes[node][0] == "*" and self.uses[node] == 1:
            own |= set(self.factors(node))
        return own

    def _gain(self, factor: int, group: list[Term]) -> int:
        """Operations saved by factoring this factor out of these terms."""
        if len(group) < 2:
            return -1
        rests = [self._cofactors(factor, t) for t in group]
        free = sum(all(f in self.free for f in rest) for rest in rests)
        products = sum(bool(rest) for rest in rests)
        return max(free - 1, 0) + products - 1 - (free == len(group) and products == 0)

    def _cofactors(self, factor: int, t: Term) -> list[int]:
        if t[0] == factor:
            return []
        rest = self.factors(t[0])
        rest.remove(factor)
        return rest

    def _grouped(self, result: Expr, factor: int, group: list[Term]) -> Expr:
        inner = self.new.constant(0)
        for t in sorted(group, key=lambda t: not all(f in self.free for f in self._cofactors(factor, t))):
            rest = self._cofactors(factor, t)
            cofactor = self._product(rest) if rest else self.new.constant(1)
            inner = self.new.add(inner, -cofactor if t[1] else cofactor)
        return self.new.add(result, self.new.multiply(self.made[factor], inner))


class _Sharing(_Pass):
    """Greedy sharing of pairs of terms that occur in several sums, most frequent first."""

    def run(self) -> list[Any]:
        self._find_pairs()
        return super().run()

    def _find_pairs(self) -> None:
        sums = [n for n in self.nodes if self.old.nodes[n][0] in "+-" and n not in self.inner and n not in self.free]
        self.sums = {node: self.terms(node) for node in sums}
        self.pairs: dict[int, Pair] = {}
        found = _TermPairs(self.sums)
        while (pair := found.most_frequent()) is not None:
            fresh = -1 - len(self.pairs)
            self.pairs[fresh] = pair
            found.replace(pair, fresh)

    def sum_of(self, node: int) -> Expr:
        if node in self.free:
            return self.total(self.term(t) for t in self.terms(node))
        return self.total(self._made(t) for t in self.sums[node])

    def _made(self, t: Term) -> Expr:
        if t[0] >= 0:
            return self.term(t)
        a, b = self.pairs[t[0]]
        made = self.new.add(self._made(a), self._made(b))
        return -made if t[1] else made


class _TermPairs:
    """Index of the pairs of terms of all sums; replacing a pair updates only the sums that contain it."""

    def __init__(self, sums: dict[int, list[Term]]) -> None:
        self.sums = sums
        self.own: dict[int, set[Pair]] = {node: set() for node in sums}
        self.where: dict[Pair, set[int]] = {}
        for node in sums:
            self._see(node)
        self.ranks = [_rank(pair, len(nodes)) for pair, nodes in self.where.items() if len(nodes) > 1]
        heapify(self.ranks)

    def most_frequent(self) -> Pair | None:
        """Return the pair that occurs in the most sums, if in more than one; the last of equally frequent pairs."""
        while self.ranks:
            times, a, b, is_alike = self.ranks[0]
            pair = ((-a, False), (-b, not is_alike))
            if len(self.where[pair]) == -times:
                return pair
            heappop(self.ranks)  # from before a replacement
        return None

    def replace(self, pair: Pair, fresh: int) -> None:
        """Replace a pair by a new term in every sum."""
        long = [node for node, terms in self.sums.items() if len(terms) > LONG]
        touched: set[Pair] = set()
        for node in (*self.where[pair], *long):
            self.sums[node] = _replaced(self.sums[node], pair, fresh)
            touched |= self._see(node)
        for other in touched:
            if len(self.where[other]) > 1:
                heappush(self.ranks, _rank(other, len(self.where[other])))

    def _see(self, node: int) -> set[Pair]:
        """Update the count of the pairs of a sum; return the pairs that were added or removed."""
        terms, before = self.sums[node], self.own[node]
        now = {_normal(a, b) for a, b in combinations(terms, 2)} if len(terms) <= LONG else set()
        self.own[node] = now
        for pair in before - now:
            self.where[pair].remove(node)
        for pair in now - before:
            self.where.setdefault(pair, set()).add(node)
        return before ^ now


def _rank(pair: Pair, times: int) -> tuple[int, int, int, bool]:
    """Sort key of a pair: most frequent first, ties broken by its terms, last first."""
    (a, _), (b, is_opposite) = pair
    return -times, -a, -b, not is_opposite


def _normal(a: Term, b: Term) -> Pair:
    """Canonical form of a pair of terms, up to order and common sign."""
    if a[0] > b[0]:
        a, b = b, a
    return ((a[0], False), (b[0], a[1] != b[1]))


def _replaced(terms: list[Term], pair: Pair, fresh: int) -> list[Term]:
    for a, b in combinations(terms, 2):
        if _normal(a, b) == pair:
            left = [t for t in terms if t is not a and t is not b]
            first = a if a[0] == pair[0][0] else b
            return [*left, (fresh, first[1])]
    return terms
