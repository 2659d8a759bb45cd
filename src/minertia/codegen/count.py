"""Operation counts parsed from generated C code, and estimates of code size and instructions from them.

Convention: sign changes, signs and absolute values are free, 2 x counts as one operation, a division as a
multiplication.  Sines and cosines, and other functions (exp, tanh, sqrt), are counted separately.  Values
that a `_prepare` function computes once from the parameters are not counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE)
_FUNCTION = re.compile(r"^(static\s+)?(?:inline\s+)?void\s+(\w+)\s*\(([^;{]*)\)\s*\{", re.MULTILINE)
_TOKEN = re.compile(r"\d+\.?\d*(?:[eE][-+]?\d+)?[fFlL]?|\.\d+|[A-Za-z_]\w*|->|[-+*/]=?|[()\[\]{},;=<>!?:&|.]+")
_BRACE = re.compile(r"[{}]")
_INDEX = re.compile(r"\[[^][]*\]")
_LOOP = re.compile(r"for \(int (\w+) = ([^;]+); \w+ (<=?) ([^;]+); \+\+\w+\)")
_TABLE = re.compile(r"static const int (\w+)\[\d+\] = \{([^}]*)\};")
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
            body = _body(clean, match.end())
            lines = sum(bool(line.strip()) for line in body.splitlines())
            tables = {m[1]: [int(v) for v in m[2].split(",")] for m in _TABLE.finditer(body)}
            found[name] = replace(_count_block(body, tables, {}), lines=lines)
    return found


def _count_block(text: str, tables: Mapping[str, Sequence[int]], values: Mapping[str, int]) -> Count:
    """Operations of a block, with loops multiplied out; values: values of the enclosing loop variables."""
    loop = _LOOP.search(text)
    if loop is None:
        return _count_body(text)
    inner, rest = _split(text, loop.end())
    start, end = (_bound(loop[k], tables, values) for k in (2, 4))
    runs = range(start, end + (loop[3] == "<="))
    if re.search(rf"= [^;]*\b{loop[1]}\b[^;]*; \w+ <|< ?=? {loop[1]}\b", inner):  # loops inside depend on it
        found = [_count_block(inner, tables, {**values, loop[1]: k}) for k in runs]
    else:
        one = _count_block(inner, tables, {**values, loop[1]: start})
        found = [Count(*(len(runs) * n for n in astuple(one)))]
    parts = [_count_body(text[: loop.start()]), *found, _count_block(rest, tables, values)]
    return Count(*(sum(column) for column in zip(*(astuple(part) for part in parts), strict=True)))


def _split(text: str, start: int) -> tuple[str, str]:
    """Split the text into the body of a loop and the text after it."""
    stripped = text[start:].lstrip()
    start = len(text) - len(stripped)
    if stripped.startswith("{"):
        inner = _body(text, start + 1)
        return inner, text[start + len(inner) + 2 :]
    end = text.index(";", start) + 1
    return text[start:end], text[end:]


def _bound(text: str, tables: Mapping[str, Sequence[int]], values: Mapping[str, int]) -> int:
    """Bound of a loop: a number, a loop variable, or an entry of a table."""
    entry = re.fullmatch(r"(\w+)\[(\w+)\]", text.strip())
    if entry is not None:
        return tables[entry[1]][_bound(entry[2], tables, values)]
    return int(text) if text.strip().isdigit() else values[text.strip()]


def _body(text: str, start: int) -> str:
    depth = 1
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return text[start : brace.start()]
    raise ValueError("a function of the generated code has no closing brace")


def _count_body(body: str) -> Count:
    tokens = _TOKEN.findall(_INDEX.sub("[0]", body))  # what is computed to find an entry is no arithmetic of numbers
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


# -------------------------------------------------------------------------------- size and time on a small controller
# Measured with Clang 14 for a Cortex-M4F at -O2 on all programs of a six-joint arm: 6 to 9 bytes of flash for each
# line of generated C, and 2 to 3.5 instructions for each operation. The stack is the compiler's own affair and not
# estimated: generated Makefiles have it measured (`make stack`).


BYTES_A_LINE = 8
INSTRUCTIONS_AN_OPERATION = 2.5


def flash(count: Count) -> int:
    """Approximate code size on a Cortex-M4F in single precision [bytes]."""
    return BYTES_A_LINE * count.lines


def instructions(count: Count) -> float:
    """Approximate number of instructions of one call on a Cortex-M4F in single precision."""
    return INSTRUCTIONS_AN_OPERATION * (count.multiplications + count.additions + 10 * count.trigonometric)


def about(value: float) -> str:
    """Format an estimate with two significant digits."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}"
