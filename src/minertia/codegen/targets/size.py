"""How much flash and time a program takes on a small controller, estimated from its count.

Measured with Clang 14 for a Cortex-M4F at -O2 on all programs of a six-joint arm: 6 to 9 bytes of flash for each line
of generated C, and 2 to 3.5 instructions for each operation.  The stack is the compiler's own affair and not estimated:
generated Makefiles have it measured (`make stack`).
"""

from __future__ import annotations

from minertia.codegen.count import Count

BYTES_A_LINE = 8
INSTRUCTIONS_AN_OPERATION = 2.5


def flash(count: Count) -> int:
    """Bytes of code on a Cortex-M4F in single precision, about."""
    return BYTES_A_LINE * count.lines


def instructions(count: Count) -> float:
    """Of one call on a Cortex-M4F in single precision, about."""
    return INSTRUCTIONS_AN_OPERATION * (count.multiplications + count.additions + 10 * count.trigonometric)


def about(value: float) -> str:
    """Two digits: estimates have no more."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}"
