"""Layers of OpenUSD as text (.usda)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

INDENT = "    "
_UNFIT = re.compile(r"[^A-Za-z0-9_]")
_CONTROL = re.compile("[\x00-\x1f\x7f]")


@dataclass(slots=True)
class Node:
    """A prim to be written: `def` with a kind, else `over`.

    attributes: (type, name, value) of each.  targets: {relationship: path}.  schemas: applied API schemas.
    """

    name: str
    kind: str | None = None
    schemas: Sequence[str] = ()
    attributes: list[tuple[str, str, Any]] = field(default_factory=list)
    targets: Mapping[str, str] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)

    def child(self, name: str) -> Node:
        """Child prim with this name; created as an `over` if it does not exist."""
        for node in self.children:
            if node.name == name:
                return node
        self.children.append(Node(name))
        return self.children[-1]


def layer_text(metadata: Iterable[str], nodes: Iterable[Node]) -> str:
    """Text of a layer."""
    lines = ["#usda 1.0", "(", *(INDENT + line for line in metadata), ")"]
    for node in nodes:
        lines += ["", *_lines(node)]
    return "\n".join(lines) + "\n"


def _lines(node: Node) -> Iterator[str]:
    head = f'over "{node.name}"' if node.kind is None else f"def {node.kind} ".rstrip() + f' "{node.name}"'
    if node.schemas:
        listed = ", ".join(quoted(name) for name in node.schemas)
        yield f"{head} ("
        yield f"{INDENT}prepend apiSchemas = [{listed}]"
        yield ")"
    else:
        yield head
    yield "{"
    for kind, name, value in node.attributes:
        yield f"{INDENT}{kind} {name} = {_value(kind, value)}"
    for name, path in node.targets.items():
        yield f"{INDENT}rel {name} = <{path}>"
    for number, child in enumerate(node.children):
        if number or node.attributes or node.targets:
            yield ""
        yield from (INDENT + line if line else "" for line in _lines(child))
    yield "}"


def _value(kind: str, value: Any) -> str:
    word = kind.split()[-1]
    one = _single if word.removesuffix("[]") in ("float", "float3", "point3f", "vector3f", "quatf") else _double
    if word == "bool":
        return "true" if value else "false"
    if word == "int":
        return str(int(value))
    if isinstance(value, str):
        return quoted(value)
    if word.endswith("[]"):
        return "[" + ", ".join(quoted(v) if isinstance(v, str) else one(v) for v in value) + "]"
    return one(value) if np.ndim(value) == 0 else "(" + ", ".join(one(v) for v in value) + ")"


def _single(value: float) -> str:
    return str(np.float32(value) + np.float32(0.0))


def _double(value: float) -> str:
    return repr(float(value) + 0.0)


def quoted(text: str) -> str:
    """A string in quotation marks, with control characters as escapes."""
    clean = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", clean) + '"'


class PrimNames:
    """Generator of unique, valid prim names."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)

    def new(self, wish: str) -> str:
        """Unique, valid prim name derived from the requested one."""
        name = plain_name(wish)
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name


def plain_name(wish: str) -> str:
    """Name with underscores for characters that are not valid in the name of a prim."""
    name = _UNFIT.sub("_", wish) or "_"
    return f"_{name}" if name[0].isdigit() else name
