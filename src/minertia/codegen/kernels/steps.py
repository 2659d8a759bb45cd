"""One step of a schedule, and the numbers its operations have in the interpreter."""

from __future__ import annotations

from typing import NamedTuple

# Number of each operation in the interpreter (native/interpreter.h has the same list).  d: result, a b c: operands,
# k: a constant.
CODES = {
    name: code
    for code, name in enumerate(
        (
            "load",  # entry b of input a
            "const",  # k
            "copy",  # a
            "neg",  # -a
            "sqrt",
            "sign",
            "abs",
            "exp",
            "tanh",
            "sincos",  # d = sin a, c = cos a
            "add",  # a + b
            "sub",  # a - b
            "mul",  # a * b
            "div",  # a / b
            "nadd",  # -(a + b)
            "nmul",  # -(a * b)
            "fma",  # c + a * b
            "fnma",  # c - a * b
            "fms",  # a * b - c
            "fnms",  # -(a * b) - c
            "addk",  # k + b
            "subk",  # k - b
            "mulk",  # k * b
            "divk",  # k / b
            "fmak",  # c + k * b
            "fmsk",  # k * b - c
        )
    )
}


class KernelStep(NamedTuple):
    """One operation: `results` and `operands` are numbers of values, in the order d (and c for sincos), a, b, c.

    A load has (input, entry) as operands; `constant` is k.
    """

    operation: str
    results: tuple[int, ...]
    operands: tuple[int, ...]
    constant: float = 0.0

    @property
    def reads(self) -> tuple[int, ...]:
        """The values it needs."""
        return () if self.operation == "load" else self.operands
