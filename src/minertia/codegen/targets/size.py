"""How much flash and stack a program takes on a small controller, estimated from its schedule.

Measured with Clang 14 for a Cortex-M4F at -O2 on all programs of a six-joint arm: 6 to 9 bytes of flash for each line
of generated C, and 2 to 3.5 instructions for each operation.  The stack is that of the values which live at one time.
"""

from __future__ import annotations

from collections.abc import Sequence

from minertia.algebra.expr import Graph
from minertia.codegen.count import Count
from minertia.codegen.program import Program
from minertia.codegen.targets.c import schedule

BYTES_A_LINE = 8
INSTRUCTIONS_AN_OPERATION = 2.5
BYTES = {"double": 8, "float": 4}


def flash(count: Count) -> int:
    """Bytes of code on a Cortex-M4F in single precision, about."""
    return BYTES_A_LINE * count.lines


def instructions(count: Count) -> float:
    """Of one call on a Cortex-M4F in single precision, about."""
    return INSTRUCTIONS_AN_OPERATION * (count.multiplications + count.additions + 10 * count.trigonometric)


def stack(program: Program, precision: str) -> int:
    """Bytes of the values that live at one time, if none of them is in a register."""
    alive = _most_alive(program.graph, schedule(program.graph, program.expressions), program)
    loops = 0 if program.tail is None else (program.tail.rows + 1) * program.tail.columns
    return BYTES[precision] * (alive + loops)


def _most_alive(graph: Graph, order: Sequence[int], program: Program) -> int:
    ends = {output.id: len(order) for output in program.expressions}
    if program.tail is not None:
        ends = {}  # outputs go to an array of their own
    for k, node in enumerate(order):
        for a in graph.arguments[node]:
            ends[a] = max(ends.get(a, 0), k)
    alive = most = 0
    dying: dict[int, int] = {}
    for k, node in enumerate(order):
        if graph.nodes[node][0] not in ("const", "var") and node not in program.free:
            alive += 1
            end = ends.get(node, k)
            dying[end] = dying.get(end, 0) + 1
        most = max(most, alive)
        alive -= dying.pop(k, 0)
    return most


def about(value: float) -> str:
    """Two digits: estimates have no more."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}"
