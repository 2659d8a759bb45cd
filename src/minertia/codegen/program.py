"""`Program`: named inputs and outputs over one expression graph, what every target renders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minertia.algebra.expr import Expr, Graph


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


@dataclass(frozen=True)
class Program:
    """A function from input arrays to output arrays.

    outputs: one entry per element of each output port, in order; a plain number where an entry is constant.
    parameters: names of the inputs that change rarely (identified parameters, a payload): sums and products of these
    alone are not counted, since they can be computed once.
    """

    name: str
    graph: Graph
    inputs: tuple[Port, ...]
    ports: tuple[Port, ...]
    outputs: tuple[Expr | float, ...]
    parameters: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The outputs that are not constant."""
        return tuple(output for output in self.outputs if isinstance(output, Expr))

    def sliced(self, values: Sequence[Any]) -> dict[str, Sequence[Any]]:
        """Flat output values by port."""
        found, start = {}, 0
        for port in self.ports:
            found[port.name] = values[start : start + port.size]
            start += port.size
        return found
