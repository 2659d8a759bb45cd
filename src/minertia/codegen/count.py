"""Operation counts read from generated C, so that nothing can hide between the graph and the text.

Convention: sign changes, signs and absolute values are free, 2 x counts as one, a division as a multiplication; sines
and cosines, and other functions (exp, tanh, sqrt) are counted apart, and what a `_prepare` function computes once from
the parameters is not counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE)
_FUNCTION = re.compile(r"^(static\s+)?(?:inline\s+)?void\s+(\w+)\s*\(([^;{]*)\)\s*\{", re.MULTILINE)
_TOKEN = re.compile(r"\d+\.?\d*(?:[eE][-+]?\d+)?[fFlL]?|\.\d+|[A-Za-z_]\w*|->|[-+*/]=?|[()\[\]{},;=<>!?:&|.]+")
_BRACE = re.compile(r"[{}]")
_TRIGONOMETRIC = frozenset({"sin", "cos", "sinf", "cosf"})
_FUNCTIONS = frozenset({"exp", "expf", "tanh", "tanhf", "sqrt", "sqrtf"})
_CASTS = frozenset({"double", "float", "int"})
_NOT_VALUES = frozenset({"return", "const"})


@dataclass(frozen=True, slots=True)
class Count:
    """Operations of one function."""

    multiplications: int
    additions: int
    trigonometric: int
    lines: int
    functions: int = 0


def count_c(text: str) -> dict[str, Count]:
    """{function: count} of every function with a body that is neither static nor a `_prepare`."""
    clean = _DIRECTIVE.sub("", _COMMENT.sub(" ", text))
    found = {}
    for match in _FUNCTION.finditer(clean):
        is_static, name = bool(match[1]), match[2]
        if not is_static and not name.endswith("_prepare"):
            found[name] = _count_body(_body(clean, match.end()))
    return found


def _body(text: str, start: int) -> str:
    depth = 1
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return text[start : brace.start()]
    raise ValueError("a function of the generated text does not end")


def _count_body(body: str) -> Count:
    tokens = _TOKEN.findall(body)
    multiplications = additions = trigonometric = functions = 0
    before = ";"
    for k, token in enumerate(tokens):
        is_operand = before[-1] in ")]" or (before[0].isalnum() or before[0] in "_.") and before not in _NOT_VALUES
        if token in ("*", "/", "*=", "/="):
            multiplications += is_operand and before not in _CASTS
        elif token in ("+", "-", "+=", "-="):
            additions += is_operand
        elif token in _TRIGONOMETRIC:
            trigonometric += 1
        elif token in _FUNCTIONS:
            functions += 1
        elif token.endswith("_sincos"):
            trigonometric += 2 * int(tokens[k + 2])  # its first argument is the number of angles
        before = token
    lines = sum(bool(line.strip()) for line in body.splitlines())
    return Count(multiplications, additions, trigonometric, lines, functions)
