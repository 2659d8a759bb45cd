"""What the renderers of one-statement-per-operation languages share."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from minertia.codegen.program import Program
from minertia.codegen.targets.c import schedule


def statements(
    program: Program, operators: Mapping[str, str], read: Callable[[str, int], str], assign: str = "{} = {}"
) -> tuple[list[str], list[str]]:
    """Lines that compute a program, and the text of each output.

    operators: operation -> format of its arguments; read: text of entry k of an input.
    """
    graph, names, lines = program.graph, dict[int, str](), list[str]()
    for node in schedule(graph, program.expressions):
        operation, *rest = graph.nodes[node]
        if operation == "const":
            names[node] = repr(rest[0])
        elif operation == "var":
            name, index = rest[0].rstrip("]").split("[")
            names[node] = read(name, int(index))
        else:
            text = operators[operation].format(*(names[r] for r in rest))
            names[node] = f"t{len(lines)}"
            lines.append(assign.format(names[node], text))
    outputs = [
        repr(float(o)) if isinstance(o, (int, float)) else f"-{names[o.id]}" if o.negative else names[o.id]
        for o in program.outputs
    ]
    return lines, outputs
