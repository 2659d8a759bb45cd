"""Programs on NumPy, one row of samples per operation: the same calls as a compiled kernel's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.expr import Expr
from minertia.codegen.program import Program

Array = NDArray[np.float64]


class RowKernel:
    """A program with one output over N samples: arrays (N, size of the port) in and out."""

    path = "numpy"

    def __init__(self, program: Program) -> None:
        self.program, graph = program, program.graph
        names = [f"{port.name}[{k}]" for port in program.inputs for k in range(port.size)]
        expressions = [(k, e) for k, e in enumerate(program.outputs) if isinstance(e, Expr)]
        self.nodes = graph.needed([e for _, e in expressions])
        row = {node: k for k, node in enumerate(self.nodes)}
        self.row = row
        used = [(c, graph.variable(name).id) for c, name in enumerate(names)]
        self.loads = np.array([(c, row[node]) for c, node in used if node in row], dtype=np.intp).reshape(-1, 2)
        self.stores = np.array([(k, row[e.id]) for k, e in expressions], dtype=np.intp).reshape(-1, 2)
        self.signs = np.array([-1.0 if e.negative else 1.0 for _, e in expressions])[:, None]
        self.constants = [0.0 if isinstance(e, Expr) else float(e) for e in program.outputs]
        self.rows: Array = np.empty((len(self.nodes), 0))
        self.steps: list[tuple[Any, tuple[Array, ...]]] = []

    def __call__(self, *inputs: Array) -> Array:
        """The output (N, size)."""
        out = np.empty((len(inputs[0]), len(self.constants)))
        self.bound(inputs, [out])()
        return out

    def bound(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Callable[[], None]:
        """A call on these very arrays, to be made again and again."""

        def call() -> None:
            self._allocate(len(inputs[0]))
            self.rows[self.loads[:, 1]] = np.hstack(inputs).T[self.loads[:, 0]]
            for function, arguments in self.steps:
                function(*arguments)
            outputs[0][:] = self.constants
            outputs[0][:, self.stores[:, 0]] = (self.rows[self.stores[:, 1]] * self.signs).T

        return call

    def _allocate(self, samples: int) -> None:
        if self.rows.shape[1] == samples:
            return
        self.rows = np.empty((len(self.nodes), samples))
        self.steps = []
        for k, node in enumerate(self.nodes):
            operation, *arguments = self.program.graph.nodes[node]
            if operation == "const":
                self.rows[k] = arguments[0]
            elif operation != "var":
                self.steps.append((_RUN[operation], (*(self.rows[self.row[a]] for a in arguments), self.rows[k])))


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
