"""MJCF as text: a safe parser that remembers where each element stands, and the way back to text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import ParseError
from xml.sax.saxutils import quoteattr

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from minertia.errors import DescriptionError

MAX_DEPTH = 256  # MJCF nests one level per body, so a long chain is deep
MAX_ELEMENTS = 200_000
MAX_INDENT = 40
_CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


@dataclass(slots=True, eq=False)
class Node:
    """An XML element; start and end: byte offsets of its start tag and end tag in the UTF-8 text.

    own: whether it stands in the file that was asked for, not in one it includes.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    start: int = 0
    end: int = 0
    own: bool = True
    children: list[Node] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        """The element and all below it, in document order."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))


class _Builder:
    """Target of the parser: makes nodes, and stops at too many or too deep ones."""

    def __init__(self, source: str | None, own: bool) -> None:
        self.source, self.own = source, own
        self.expat: Any = None
        self.open: list[Node] = []
        self.root: Node | None = None
        self.count = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self.expat.CurrentLineNumber
        self.count += 1
        if self.count > MAX_ELEMENTS:
            raise DescriptionError(f"the file has more than {MAX_ELEMENTS} elements", file=self.source, line=line)
        if len(self.open) >= MAX_DEPTH:
            raise DescriptionError(
                f"the elements are nested deeper than {MAX_DEPTH} levels", file=self.source, line=line
            )
        node = Node(tag, dict(attributes), line, self.expat.CurrentByteIndex, own=self.own)
        if self.open:
            self.open[-1].children.append(node)
        else:
            self.root = node
        self.open.append(node)

    def end(self, tag: str) -> None:
        self.open.pop().end = self.expat.CurrentByteIndex

    def data(self, text: str) -> None:
        """Text between elements means nothing in MJCF."""

    def close(self) -> Node | None:
        return self.root


def parse_xml(text: str, source: str | None, own: bool = True) -> Node:
    """Root element of a document; document types, entities and malformed text are refused in one sentence."""
    builder = _Builder(source, own)
    parser = DefusedXMLParser(target=builder, encoding="utf-8", forbid_dtd=True)
    builder.expat = parser.parser
    try:
        parser.feed(text.encode("utf-8", "replace"))
        root: Node | None = parser.close()
    except DefusedXmlException:
        raise DescriptionError("document types and entities are not accepted in robot files", file=source) from None
    except ParseError as err:
        line = err.position[0] if getattr(err, "position", None) else None
        reason = str(err).split(":")[0]
        raise DescriptionError(f"the XML is not well formed ({reason})", file=source, line=line) from None
    if root is None:
        raise DescriptionError("the file is empty", file=source)
    return root


def xml_name(name: str) -> str:
    """A name without the characters that XML cannot hold."""
    return _CONTROL.sub("_", name)


def attribute(value: str) -> str:
    """A value as a quoted XML attribute; characters XML cannot hold become underscores."""
    return quoteattr(xml_name(value))


def to_text(root: Node) -> str:
    """XML text of a tree in which elements of the user's own file keep their line."""
    parts: list[str] = []
    line = 1
    stack: list[Node | str] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            parts.append(node)
            continue
        if node.own and node.line > line:
            parts.append("\n" * (node.line - line))
            line = node.line
        inside = "".join(f" {name}={attribute(value)}" for name, value in node.attributes.items())
        parts.append(f"<{node.tag}{inside}>" if node.children else f"<{node.tag}{inside}/>")
        if node.children:
            stack.append(f"</{node.tag}>")
            stack.extend(reversed(node.children))
    return "".join(parts)


def pretty(root: Node) -> str:
    """XML text of a tree, one element per line, indented."""
    lines: list[str] = []
    stack: list[tuple[Node | str, int]] = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        space = "  " * min(depth, MAX_INDENT)
        if isinstance(node, str):
            lines.append(f"{space}</{node}>")
            continue
        inside = "".join(f" {name}={attribute(value)}" for name, value in node.attributes.items())
        lines.append(f"{space}<{node.tag}{inside}>" if node.children else f"{space}<{node.tag}{inside}/>")
        if node.children:
            stack.append((node.tag, depth))
            stack.extend((child, depth + 1) for child in reversed(node.children))
    return "\n".join(lines) + "\n"
