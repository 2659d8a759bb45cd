"""A second counter of operations in emitted C, which shares nothing with `minertia.codegen.count`.

A statement of a program without loops is an arithmetic expression that Python reads as well, so Python's own parser
tells which signs stand between two operands.
"""

from __future__ import annotations

import ast
import re

COUNTED = {ast.Mult: 0, ast.Div: 0, ast.Add: 1, ast.Sub: 1}


def operations(code: str, program: str) -> tuple[int, int, int]:
    """Multiplications, additions, and sines and cosines of the function whose name ends so."""
    start = re.search(rf"^void \w+_{program}\(", code, re.M)
    assert start is not None, program
    body = code[code.index("{", start.end()) + 1 : code.index("\n}", start.end())]
    assert "for (" not in body
    found = [0, 0, 0]
    for statement in re.sub(r"/\*.*?\*/", "", body, flags=re.S).split(";"):
        _, equals, right = statement.partition(" = ")
        if equals:
            _add(ast.parse(right.strip().replace("->", "."), mode="eval"), found)
    return found[0], found[1], found[2]


def _add(tree: ast.AST, found: list[int]) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp):
            found[COUNTED[type(node.op)]] += 1
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found[2] += node.func.id in ("sin", "cos")
