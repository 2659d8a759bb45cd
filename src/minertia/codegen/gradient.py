"""Reverse mode on the graph: gradients of what a program computes, as a program.

The result takes one weight per output entry and returns the gradient of the weighted sum of the outputs (a
vector-Jacobian product), so any scalar made from the outputs costs one sweep whatever the number of inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from minertia.algebra.expr import Expr, Graph
from minertia.codegen.program import Port, Program
from minertia.errors import UnknownName

STATE = ("q", "qd", "qdd")


def gradient(program: Program, wrt: Sequence[str] | None = None, *, thorough: bool | None = False) -> Program:
    """Gradient of sum(weights * outputs) with respect to some inputs (by default those of q, qd, qdd it has).

    Inputs: those of the program, then `w_` + name for each output port.  Outputs: `d_` + name for each input asked for.
    """
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


def reverse(graph: Graph, outputs: Sequence[Expr | float], seeds: Sequence[Expr]) -> dict[int, Expr]:
    """Derivative of sum(seed * output) with respect to every node the outputs need."""
    adjoints: dict[int, Expr] = {}

    def gather(node: int, value: Expr) -> None:
        adjoints[node] = adjoints[node] + value if node in adjoints else value

    expressions = [(o, s) for o, s in zip(outputs, seeds, strict=True) if isinstance(o, Expr)]
    for output, seed in expressions:
        gather(output.id, -seed if output.negative else seed)
    for node in reversed(graph.needed([output for output, _ in expressions])):
        operation, *rest = graph.nodes[node]
        if node in adjoints and operation in _RULES:
            arguments = [Expr(graph, a, False) for a in rest]
            parts = _RULES[operation](adjoints[node], Expr(graph, node, False), *arguments)
            for a, part in zip(rest, parts, strict=True):
                gather(a, part)
    return adjoints


# operation -> adjoints of its arguments from (own adjoint, own value, arguments); a sign has no slope
_RULES: dict[str, Callable[..., tuple[Expr, ...]]] = {
    "+": lambda g, v, a, b: (g, g),
    "-": lambda g, v, a, b: (g, -g),
    "*": lambda g, v, a, b: (g * b, g * a),
    "/": lambda g, v, a, b: (g / b, -(g / b) * v),
    "neg": lambda g, v, a: (-g,),
    "sin": lambda g, v, a: (g * a.cos(),),
    "cos": lambda g, v, a: (-g * a.sin(),),
    "sqrt": lambda g, v, a: (g * 0.5 / v,),
    "exp": lambda g, v, a: (g * v,),
    "tanh": lambda g, v, a: (g * (1 - v * v),),
    "abs": lambda g, v, a: (g * a.sign(),),
}
