"""Reverse mode on the graph: gradients of what a program computes, as a program.

The result takes one weight per output entry and returns the gradient of the weighted sum of the outputs (a
vector-Jacobian product), so any scalar made from the outputs costs one sweep whatever the number of inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from minertia.algebra.derivative import reverse
from minertia.codegen.program import Port, Program
from minertia.io.errors import MinertiaError, UnknownName

STATE = ("q", "qd", "qdd")


def gradient(program: Program, wrt: Sequence[str] | None = None, *, thorough: bool | None = False) -> Program:
    """Gradient of sum(weights * outputs) with respect to some inputs (by default those of q, qd, qdd it has).

    Inputs: those of the program, then `w_` + name for each output port.  Outputs: `d_` + name for each input asked for.
    """
    if program.tail is not None:
        raise MinertiaError(f"the program '{program.name}' ends in loops and has no gradient")
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
