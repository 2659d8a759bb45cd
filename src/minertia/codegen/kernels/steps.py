"""Steps of a schedule, their operation codes in the interpreter, and propagation of signs at no cost.

Every value of a schedule may be stored with the opposite sign.  Vector units differ in their fused
operations: all have c + a b and c - a b, but not all have a b - c.  A negated value costs nothing,
because the steps that read it use the operation with the opposite sign; only the outputs of a program
must have their true sign.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
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
    """One operation; `results` and `operands` are value indices in the order d (and c for sincos), a, b, c.

    A load has (input, entry) as operands; `constant` is k.
    """

    operation: str
    results: tuple[int, ...]
    operands: tuple[int, ...]
    constant: float = 0.0

    @property
    def reads(self) -> tuple[int, ...]:
        """Values that the step reads."""
        return () if self.operation == "load" else self.operands


# -------------------------------------------------------------------------------------------------------------- signs


# signs of (product, other term) -> operation
_FUSED = {(1, 1): "fma", (-1, 1): "fnma", (1, -1): "fms", (-1, -1): "fnms"}
_SETTLED = frozenset(("add", "sub", "mul", "fma", "fnma", "fmak", "addk", "subk", "mulk", "divk", "div", "sincos"))
_SIGNS = {operation: signs for signs, operation in _FUSED.items()}


def absorb(steps: Iterable[KernelStep], given: Collection[int], fresh: Callable[[], int]) -> Iterator[KernelStep]:
    """Move signs from each step to its users.

    given: values that must keep their sign.  fresh: returns the index of a new value.
    """
    signs = _Signs(given, fresh)
    for step in steps:
        yield from signs.rewritten(step)


class _Signs:
    """Values that are stored negated, and values that are aliases of others."""

    def __init__(self, given: Collection[int], fresh: Callable[[], int]) -> None:
        self.given, self.fresh = given, fresh
        self.sign: dict[int, int] = {}  # of what is held: values without an entry are held as they are
        self.same: dict[int, int] = {}
        self.rules: dict[str, Callable[[KernelStep], list[KernelStep]]] = {
            **dict.fromkeys(_SIGNS, self._fused),
            **dict.fromkeys(("fmak", "fmsk"), self._fused_constant),
            **dict.fromkeys(("add", "nadd", "sub"), self._sum),
            **dict.fromkeys(("mul", "nmul"), self._product),
            **dict.fromkeys(("addk", "subk"), self._sum_with_constant),
            **dict.fromkeys(("mulk", "divk"), self._times_constant),
            **dict.fromkeys(("div", "sign", "tanh"), self._odd),
            "abs": lambda step: [step],
            "sincos": self._sincos,
            "neg": self._negated,
            "copy": self._copy,
        }

    def rewritten(self, step: KernelStep) -> list[KernelStep]:
        """Steps that replace a step, with the signs of its operands taken into account."""
        if step.operation in ("load", "const"):
            return [step]
        if step.operation in _SETTLED and self.sign.keys().isdisjoint(step.operands):
            return [step]  # most steps; what stands for another value has a sign, too
        steps = self.rules.get(step.operation, self._plain)(step)
        return [s._replace(operands=tuple(self.same.get(v, v) for v in s.operands)) for s in steps]

    def _held(self, value: int) -> int:
        return self.sign.get(value, 1)

    def _hold(self, step: KernelStep, sign: int) -> list[KernelStep]:
        """Give the result of a step this sign; values that must keep their own sign get a negation step."""
        (value,) = step.results
        if sign == 1:
            return [step]
        if value not in self.given:
            self.sign[value] = -1
            return [step]
        between = self.fresh()
        return [step._replace(results=(between,)), KernelStep("neg", (value,), (between,))]

    def _fused(self, step: KernelStep) -> list[KernelStep]:
        a, b, c = step.operands
        product, other = _SIGNS[step.operation]
        product, other = product * self._held(a) * self._held(b), other * self._held(c)
        if step.results[0] in self.given:
            return [step._replace(operation=_FUSED[product, other])]
        return self._hold(step._replace(operation=_FUSED[product * other, 1]), other)

    def _fused_constant(self, step: KernelStep) -> list[KernelStep]:
        b, c = step.operands
        other = self._held(c) * (1 if step.operation == "fmak" else -1)
        k = step.constant * self._held(b)
        if step.results[0] in self.given:
            return [step._replace(operation="fmak" if other == 1 else "fmsk", constant=k)]
        return self._hold(step._replace(operation="fmak", constant=k * other), other)

    def _sum(self, step: KernelStep) -> list[KernelStep]:
        a, b = step.operands
        x = self._held(a) * (-1 if step.operation == "nadd" else 1)
        y = self._held(b) * (1 if step.operation == "add" else -1)
        if x != y:
            return [step._replace(operation="sub", operands=(a, b) if x == 1 else (b, a))]
        if x == -1 and step.results[0] in self.given:
            return [step._replace(operation="nadd")]
        return self._hold(step._replace(operation="add"), x)

    def _product(self, step: KernelStep) -> list[KernelStep]:
        a, b = step.operands
        sign = self._held(a) * self._held(b) * (1 if step.operation == "mul" else -1)
        if sign == -1 and step.results[0] in self.given:
            return [step._replace(operation="nmul")]
        return self._hold(step._replace(operation="mul"), sign)

    def _sum_with_constant(self, step: KernelStep) -> list[KernelStep]:
        sign = self._held(step.operands[0]) * (1 if step.operation == "addk" else -1)
        return [step._replace(operation="addk" if sign == 1 else "subk")]

    def _times_constant(self, step: KernelStep) -> list[KernelStep]:
        return [step._replace(constant=step.constant * self._held(step.operands[0]))]

    def _odd(self, step: KernelStep) -> list[KernelStep]:
        sign = 1
        for v in step.operands:
            sign *= self._held(v)
        return self._hold(step, sign)

    def _sincos(self, step: KernelStep) -> list[KernelStep]:
        sine, cosine = step.results
        if self._held(step.operands[0]) == 1:
            return [step]
        if sine not in self.given:
            self.sign[sine] = -1
            return [step]
        between = self.fresh()
        return [step._replace(results=(between, cosine)), KernelStep("neg", (sine,), (between,))]

    def _negated(self, step: KernelStep) -> list[KernelStep]:
        (value,), (operand,) = step.results, step.operands
        if value not in self.given:  # no step at all: the operand under another name and sign
            self.same[value], self.sign[value] = self.same.get(operand, operand), -self._held(operand)
            return []
        return [step if self._held(operand) == 1 else step._replace(operation="copy")]

    def _copy(self, step: KernelStep) -> list[KernelStep]:
        return [step if self._held(step.operands[0]) == 1 else step._replace(operation="neg")]

    def _plain(self, step: KernelStep) -> list[KernelStep]:
        """Steps of an operation that needs operands with their true sign, with negation steps before it."""
        before = []
        operands = []
        for v in step.operands:
            if self._held(v) == -1:
                before.append(KernelStep("neg", (self.fresh(),), (v,)))
                v = before[-1].results[0]
            operands.append(v)
        return [*before, step._replace(operands=tuple(operands))]
