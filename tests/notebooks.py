"""Notebooks without Jupyter: their cells run in order, and what a cell ends with is shown as Jupyter would show it."""

from __future__ import annotations

import ast
import base64
import html
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def cells(path: Path) -> Iterator[tuple[str, str]]:
    """(kind, text) of each cell."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        yield cell["cell_type"], "".join(cell["source"])


def run(path: Path) -> Iterator[tuple[str, Any]]:
    """(text, what its last line gives) of each cell of code, run one after the other."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for kind, text in cells(path):
        if kind != "code":
            continue
        tree = ast.parse(text)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, str(path), "exec"), names)
        yield text, None if last is None else eval(compile(ast.Expression(last.value), str(path), "eval"), names)


def shown(value: Any) -> str:
    """A value as HTML: the richest of what it offers."""
    for method, wrap in (
        ("_repr_html_", str),
        ("_repr_latex_", str),
        ("_repr_png_", lambda data: f'<img src="data:image/png;base64,{base64.b64encode(data).decode()}">'),
    ):
        found = getattr(value, method, None)
        written = found() if found is not None else None
        if written is not None:
            return wrap(written)
    return f"<pre>{html.escape(repr(value))}</pre>"


def page(path: Path) -> str:
    """The notebook as a page to look at."""
    results = iter(run(path))
    parts = []
    for kind, text in cells(path):
        parts.append(f"<pre style='background:#eee'>{html.escape(text)}</pre>" if kind == "code" else f"<p>{text}</p>")
        if kind == "code":
            value = next(results)[1]
            parts.append("" if value is None else shown(value))
    return "<!DOCTYPE html><meta charset='utf-8'>" + "\n".join(parts)


if __name__ == "__main__":  # python -m tests.notebooks examples/identification.ipynb page.html
    Path(sys.argv[2]).write_text(page(Path(sys.argv[1])), encoding="utf-8")
