"""`Program`: named inputs and outputs over one expression graph, which every target renders; and its gradient.

A gradient takes one weight per output entry and returns the gradient of the weighted sum of the outputs (a
vector-Jacobian product), so the gradient of any scalar function of the outputs costs one sweep for any number
of inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from minertia.algebra.derivative import reverse
from minertia.algebra.expr import Expr, Graph, evaluate
from minertia.algebra.simplify import free_nodes, operations, simplified
from minertia.codegen.tail import RootUpdate
from minertia.io.errors import MinertiaError, ShapeError, UnknownName


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output array: name, shape (row-major), unit and meaning; inputs read as name[k] in the graph."""

    name: str
    shape: tuple[int, ...]
    meaning: str = ""

    @property
    def size(self) -> int:
        """Number of entries."""
        size = 1
        for n in self.shape:
            size *= n
        return size


def input_place(variable: str) -> tuple[str, int]:
    """Port and index of a graph variable named name[k]; a name without index is the first entry."""
    name, _, number = variable.partition("[")
    return name, int(number.removesuffix("]") or 0)


@dataclass(frozen=True)
class Program:
    """Function from input arrays to output arrays.

    outputs: one entry per element of each output port, in order; a plain number if an entry is constant.
    parameters: names of the inputs that change rarely (identified parameters, a payload): sums and products
    of these alone are not counted, since they can be computed once. pattern, shape: rows and columns of the
    listed entries, if the first port lists only the non-zero entries of a matrix of that shape. columns:
    names of the parameters of the columns of such a matrix (or of the entries of `theta`). tail: loops that
    compute the outputs of the first ports from a regressor Y; the graph then has Y as its output instead of
    these. joints: names of the coordinates, for comments.
    """

    name: str
    graph: Graph
    inputs: tuple[Port, ...]
    ports: tuple[Port, ...]
    outputs: tuple[Expr | float, ...]
    parameters: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    pattern: tuple[tuple[int, int], ...] = ()
    shape: tuple[int, int] = (0, 0)
    columns: tuple[str, ...] = ()
    tail: RootUpdate | None = None
    joints: tuple[str, ...] = ()

    @property
    def straight_ports(self) -> tuple[Port, ...]:
        """Output ports that the graph computes; with a tail, Y replaces the outputs of the tail."""
        if self.tail is None:
            return self.ports
        return Port("Y", (self.tail.rows * self.tail.columns,)), *self.ports[len(self.tail.outputs) :]

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The outputs that are not constant."""
        return tuple(output for output in self.outputs if isinstance(output, Expr))

    def sliced(self, values: Sequence[Any]) -> dict[str, Sequence[Any]]:
        """Split flat output values by port."""
        found, start = {}, 0
        for port in self.straight_ports:
            found[port.name] = values[start : start + port.size]
            start += port.size
        return found

    @cached_property
    def nodes(self) -> list[int]:
        """Nodes that the outputs depend on, in evaluation order."""
        return self.graph.needed(self.expressions)

    @cached_property
    def free(self) -> frozenset[int]:
        """Nodes that depend only on constants and the `parameters` inputs."""
        return frozenset(free_nodes(self.graph, self.nodes, self.parameters))

    @property
    def operations(self) -> tuple[int, int]:
        """Number of multiplications and additions per call."""
        return operations(self.outputs, self.parameters)

    def simplified(self, *, thorough: bool = True) -> Program:
        """Equivalent program with fewer operations."""
        outputs = simplified(self.outputs, self.parameters, thorough=thorough)
        graph = next((output.graph for output in outputs if isinstance(output, Expr)), self.graph)
        return replace(self, graph=graph, outputs=tuple(outputs))

    def evaluate(self, **inputs: Any) -> dict[str, Any]:
        """Evaluate on NumPy: arrays of shape (..., size) in, arrays of shape (..., *port shape) out."""
        values: dict[str, Any] = {}
        leading: tuple[int, ...] = ()
        for port in self.inputs:
            array = np.asarray(inputs[port.name], float)
            if array.shape[array.ndim - len(port.shape) :] != port.shape:
                raise ShapeError(f"{port.name} has shape {array.shape}; '{self.name}' needs (..., {port.shape})")
            flat = array.reshape(*array.shape[: array.ndim - len(port.shape)], port.size)
            leading = np.broadcast_shapes(leading, flat.shape[:-1])
            values |= {f"{port.name}[{k}]": flat[..., k] for k in range(port.size)}
        flat_outputs = evaluate(self.outputs, values)
        found = {
            port.name: _stacked(entries, (*leading, *port.shape), leading)
            for port, entries in zip(self.straight_ports, self.sliced(flat_outputs).values(), strict=True)
        }
        return found if self.tail is None else self.tail.run(found.pop("Y"), inputs) | found


def _stacked(entries: Sequence[Any], shape: tuple[int, ...], leading: tuple[int, ...]) -> Any:
    out = np.zeros((*leading, len(entries)))
    for k, entry in enumerate(entries):
        out[..., k] = entry
    return out.reshape(shape)


# ---------------------------------------------------------------------------------------------------------- gradients


STATE = ("q", "qd", "qdd")


def gradient(program: Program, wrt: Sequence[str] | None = None, *, thorough: bool | None = False) -> Program:
    """Gradient of sum(weights * outputs) with respect to some inputs (default: those of q, qd, qdd it has).

    Inputs: those of the program, then `w_` + name for each output port.  Outputs: `d_` + name for each requested
    input.
    """
    if program.tail is not None:
        raise MinertiaError(f"the program '{program.name}' computes outputs in loops, so it has no gradient")
    ports = {port.name: port for port in program.inputs}
    asked = tuple(name for name in STATE if name in ports) if wrt is None else tuple(wrt)
    for name in asked:
        if name not in ports:
            raise UnknownName("input", name, ports)
    weights = tuple(
        Port(f"w_{port.name}", port.shape, f"weight of each entry of {port.name}") for port in program.ports
    )
    graph = program.graph
    seeds = [w for port in weights for w in graph.variables(port.name, port.size)]
    adjoints = reverse(graph, program.outputs, seeds)
    outputs = [adjoints.get(graph.variable(f"{n}[{k}]").id, 0.0) for n in asked for k in range(ports[n].size)]
    swept = replace(
        program,
        name=f"{program.name}_gradient",
        inputs=(*program.inputs, *weights),
        ports=tuple(Port(f"d_{n}", ports[n].shape, f"gradient with respect to {n}") for n in asked),
        outputs=tuple(outputs),
        pattern=(),
    )
    return swept if thorough is None else swept.simplified(thorough=thorough)
