"""Flat schedule of a program: one list of steps that C, the interpreter and NumPy all run.

A step computes one value for a whole block of samples.  A product that is used only once, in a sum, is
fused with that sum.  Signs are moved into the last step, so that the varying outputs (the *entries*)
are written in place without a copy.  Outputs that are constant 0 are not entries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.expr import Expr, Graph
from minertia.codegen.kernels.steps import CODES, KernelStep, absorb
from minertia.codegen.program import Port, Program, input_place

# operation -> operation with the opposite sign, operands as they are; with a constant its sign changes too
_NEGATED = {
    "add": "nadd",
    "nadd": "add",
    "mul": "nmul",
    "nmul": "mul",
    "fma": "fnms",
    "fnms": "fma",
    "fnma": "fms",
    "fms": "fnma",
    "const": "const",
    "addk": "subk",
    "subk": "addk",
    "mulk": "mulk",
    "divk": "divk",
    "fmak": "fmsk",
    "fmsk": "fmak",
}


@dataclass(frozen=True)
class Entry:
    """Varying output: its port, its position in the port, and the value that holds it."""

    port: int
    position: int
    value: int


@dataclass(frozen=True)
class Schedule:
    """Steps of a program in evaluation order.

    common: which inputs are the same for all samples (the program's parameters).
    """

    inputs: tuple[Port, ...]
    common: tuple[bool, ...]
    ports: tuple[Port, ...]
    steps: tuple[KernelStep, ...]
    entries: tuple[Entry, ...]

    def positions(self, port: int) -> NDArray[np.int32]:
        """Positions of a port's entries in its flat array, in the order of the entries."""
        return np.array([e.position for e in self.entries if e.port == port], np.int32)

    def entry_numbers(self, port: int) -> NDArray[np.int32]:
        """Indices of the entries that belong to a port."""
        return np.array([k for k, e in enumerate(self.entries) if e.port == port], np.int32)

    @cached_property
    def slots(self) -> Slots:
        """Allocate the values to slots that are reused after their last use."""
        return _allocate(self)

    def stages(self) -> Iterator[tuple[list[KernelStep], list[KernelStep]]]:
        """Stages in order: (plain steps, sines and cosines that depend only on these and earlier stages)."""
        left = list(self.steps)
        while left:
            waiting: set[int] = set()  # values behind a sine that is not yet taken
            needed: set[int] = set()
            trig = []
            for step in left:
                behind = not waiting.isdisjoint(step.reads)
                if step.operation == "sincos" and not behind:
                    trig.append(step)
                    needed.update(step.reads)
                if behind or step.operation == "sincos":
                    waiting.update(step.results)
            if not trig:
                yield left, []
                return
            plain = []
            for step in reversed(left):
                if step.operation != "sincos" and step.results[0] in needed:
                    plain.append(step)
                    needed.update(step.reads)
            plain.reverse()
            yield plain, trig
            done = {id(step) for step in (*plain, *trig)}
            left = [step for step in left if id(step) not in done]


@dataclass(frozen=True)
class Slots:
    """Schedule for a register machine with numbered slots; slot k < n_entries holds entry k at the end.

    code: rows (operation, d, a, b, c) of int32, where a is an index into `constants` if the operation has one.
    """

    code: NDArray[np.int32]
    constants: NDArray[np.float64]
    count: int


def schedule(program: Program) -> Schedule:
    """Build the schedule of a program."""
    return _Scheduler(program).run()


class _Scheduler:
    """Scheduler of a program's graph; values have the indices of their nodes, additional values higher ones."""

    def __init__(self, program: Program) -> None:
        self.program = program
        expressions = [e for e in program.outputs if isinstance(e, Expr) and e.value is None]
        self.graph: Graph = program.graph
        self.nodes = self.graph.nodes
        self.needed = self.graph.needed(expressions)
        self.uses = Counter(a for node in self.needed for a in self.graph.arguments[node])
        self.uses.update(e.id for e in expressions)
        self.wanted = Counter(e.id for e in expressions)
        self.ports = {port.name: k for k, port in enumerate(program.inputs)}
        self.next_value = len(self.nodes)
        self.trig: dict[int, KernelStep] = {}
        self.steps: list[KernelStep] = []

    def run(self) -> Schedule:
        made: dict[int, KernelStep] = {}
        for node in self.needed:
            step = self._step(node)
            if step is not None:
                made.update(dict.fromkeys(step.results, step))
        entries = []
        for k, output in enumerate(self.program.outputs):
            port, position = self._place(k)
            value = output.value if isinstance(output, Expr) else float(output)
            if value == 0:
                continue
            if value is None:
                assert isinstance(output, Expr)
                step = self._signed(made, output)
            else:
                step = KernelStep("const", (self._fresh(),), (), value)
            made.update(dict.fromkeys(step.results, step))
            result = output.id if isinstance(output, Expr) and output.id in step.results else step.results[0]
            entries.append(Entry(port, position, result))
        wanted = [e.value for e in entries]
        return Schedule(
            inputs=self.program.inputs,
            common=tuple(port.name in self.program.parameters for port in self.program.inputs),
            ports=self.program.ports,
            steps=tuple(absorb(_depth_first(made, wanted), frozenset(wanted), self._fresh)),
            entries=tuple(entries),
        )

    def _place(self, k: int) -> tuple[int, int]:
        for p, port in enumerate(self.program.ports):
            if k < port.size:
                return p, k
            k -= port.size
        raise ValueError(f"the program '{self.program.name}' has more output values than its output ports")

    def _fresh(self) -> int:
        self.next_value += 1
        return self.next_value - 1

    def _signed(self, made: dict[int, KernelStep], output: Expr) -> KernelStep:
        """Step that writes an output: the step of its node if no other step uses its value, else a copy."""
        step = made[output.id]
        first = self.wanted[output.id] > 0
        self.wanted[output.id] = 0  # a second output of the same node gets a copy
        if not output.negative:
            return step if first else KernelStep("copy", (self._fresh(),), (output.id,))
        if self.uses[output.id] > 1 or step.operation not in (*_NEGATED, "sub"):
            return KernelStep("neg", (self._fresh(),), (output.id,))
        if step.operation == "sub":
            return KernelStep("sub", step.results, step.operands[::-1])
        return KernelStep(_NEGATED[step.operation], step.results, step.operands, -step.constant)

    def _step(self, node: int) -> KernelStep | None:
        operation, *arguments = self.nodes[node]
        if operation == "const" or (operation == "*" and self._is_fused(node)):
            return None
        if operation == "var":
            return KernelStep("load", (node,), self._input(arguments[0]))
        if operation in ("sin", "cos"):
            return self._sincos(node, operation, arguments[0])
        if operation in ("neg", "sqrt", "sign", "abs", "exp", "tanh"):
            return KernelStep(operation, (node,), tuple(arguments))
        return self._binary(node, operation, *arguments)

    def _input(self, name: str) -> tuple[int, int]:
        port, entry = input_place(name)
        return self.ports[port], entry

    def _sincos(self, node: int, operation: str, argument: int) -> KernelStep:
        old = self.trig.get(argument)
        mine = 0 if operation == "sin" else 1
        both = list(old.results) if old else [self._fresh(), self._fresh()]
        both[mine] = node
        self.trig[argument] = step = KernelStep("sincos", tuple(both), (argument,))
        return step

    def _constant(self, node: int) -> float | None:
        operation, *arguments = self.nodes[node]
        return arguments[0] if operation == "const" else None

    def _is_fused(self, node: int) -> bool:
        """Whether a product is fused into the sum that uses it; decided by `_binary` of that sum."""
        return node in self.fused

    @cached_property
    def fused(self) -> frozenset[int]:
        """Products used only once, by a sum without constant terms; if both terms are such products, the second."""
        found = set()
        for node in self.needed:
            operation, *arguments = self.nodes[node]
            if operation not in "+-" or any(self._constant(a) is not None for a in arguments):
                continue
            for a in reversed(arguments):
                if self.nodes[a][0] == "*" and self.uses[a] == 1:
                    found.add(a)
                    break
        return frozenset(found)

    def _binary(self, node: int, operation: str, x: int, y: int) -> KernelStep:
        kx, ky = self._constant(x), self._constant(y)
        if kx is not None or ky is not None:
            return self._with_constant(node, operation, x, y, kx, ky)
        if operation in "+-":
            if y in self.fused:
                return self._fused_step(node, "fma" if operation == "+" else "fnma", y, x)
            if x in self.fused:
                return self._fused_step(node, "fma" if operation == "+" else "fms", x, y)
        return KernelStep({"+": "add", "-": "sub", "*": "mul", "/": "div"}[operation], (node,), (x, y))

    def _fused_step(self, node: int, operation: str, product: int, other: int) -> KernelStep:
        _, a, b = self.nodes[product]
        k = self._constant(a)
        if k is None:
            return KernelStep(operation, (node,), (a, b, other))
        if operation == "fms":
            return KernelStep("fmsk", (node,), (b, other), k)
        return KernelStep("fmak", (node,), (b, other), k if operation == "fma" else -k)

    def _with_constant(
        self, node: int, operation: str, x: int, y: int, kx: float | None, ky: float | None
    ) -> KernelStep:
        if kx is not None:
            return KernelStep({"+": "addk", "-": "subk", "*": "mulk", "/": "divk"}[operation], (node,), (y,), kx)
        assert ky is not None
        if operation == "/":
            return KernelStep("mulk", (node,), (x,), 1 / ky)
        if operation == "*":
            return KernelStep("mulk", (node,), (x,), ky)
        return KernelStep("addk", (node,), (x,), ky if operation == "+" else -ky)


def _depth_first(made: dict[int, KernelStep], outputs: Sequence[int]) -> Iterator[KernelStep]:
    """Steps in depth-first order of the outputs, so that values are used soon after they are computed."""
    seen: set[int] = set()
    for output in outputs:
        stack = [(output, False)]
        while stack:
            value, is_ready = stack.pop()
            if is_ready:
                yield made[value]
            elif value not in seen:
                step = made[value]
                seen.update(step.results)
                stack.append((value, True))
                stack.extend((v, False) for v in reversed(step.reads))


def _allocate(s: Schedule) -> Slots:
    """Allocate slots by the last use of each value; a result may overwrite an operand, which is read first."""
    last = {v: k for k, step in enumerate(s.steps) for v in step.reads}
    slot = {entry.value: k for k, entry in enumerate(s.entries)}
    kept = set(slot)
    free: list[int] = []
    count = len(s.entries)
    constants: dict[str, int] = {}
    rows = []

    def place(value: int) -> int:
        nonlocal count
        if value not in slot:
            if not free:
                free.append(count)
                count += 1
            slot[value] = free.pop()
        return slot[value]

    for k, step in enumerate(s.steps):
        operands = list(step.operands) if step.operation == "load" else [slot[v] for v in step.operands]
        if step.operation != "sincos":  # sincos writes its first result before the second is computed
            free.extend(slot[v] for v in set(step.reads) if last[v] == k and v not in kept)
        results = [place(v) for v in step.results]
        if step.operation == "sincos":
            free.extend(slot[v] for v in set(step.reads) if last[v] == k and v not in kept)
        if step.operation == "const" or step.operation.endswith("k"):
            operands = [constants.setdefault(_key(step.constant), len(constants)), *operands]
        a, b, c = (*operands, 0, 0, 0)[:3]
        rows.append((CODES[step.operation], results[0], a, b, results[1] if len(results) > 1 else c))
        free.extend(slot[v] for v in step.results if v not in last and v not in kept)
    values = np.array([float.fromhex(h) for h in constants] or [0.0])
    return Slots(np.array(rows, np.int32).reshape(-1, 5), values, max(count, 1))


def _key(value: float) -> str:
    return value.hex()  # tells -0.0 from 0.0 and finds NaN again
