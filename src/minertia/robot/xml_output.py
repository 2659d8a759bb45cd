"""XML of robot files, written: numbers with all digits, escaped attributes, indented elements, edits of a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from xml.sax.saxutils import quoteattr

from minertia.robot.xml_input import Element

INDENT = "  "
MAX_INDENTS = 40  # deeper elements are indented no further, so that long chains do not make huge files
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # characters XML cannot hold


def written(value: float) -> str:
    """A number with all its digits."""
    return repr(float(value) + 0.0)


def all_written(values: Iterable[float]) -> str:
    """Numbers with all their digits, separated by spaces."""
    return " ".join(written(v) for v in values)


def xml_text(text: str) -> str:
    """A text with underscores for the characters that XML cannot hold."""
    return _NOT_XML.sub("_", text)


def quoted(value: str) -> str:
    """A value as a quoted XML attribute."""
    return quoteattr(xml_text(value))


def attributes_text(attributes: Mapping[str, str]) -> str:
    """Attributes as they stand in a start tag, a space before each."""
    return "".join(f" {name}={quoted(value)}" for name, value in attributes.items())


def start_tag(tag: str, attributes: Mapping[str, str], *, empty: bool) -> str:
    """The start tag of an element; empty: it is the whole element."""
    return f"<{tag}{attributes_text(attributes)}{'/' * empty}>"


def new_element(tag: str, attributes: Mapping[str, str] | None = None, children: Iterable[Element] = ()) -> Element:
    """An element that stands in no file yet."""
    return Element(tag, dict(attributes or {}), children=list(children))


def element_lines(root: Element) -> list[str]:
    """Lines of an element and all below it, one each, indented."""
    lines: list[str] = []
    stack: list[tuple[Element | str, int]] = [(root, 0)]
    while stack:
        element, depth = stack.pop()
        space = INDENT * min(depth, MAX_INDENTS)
        if isinstance(element, str):
            lines.append(space + element)
            continue
        lines.append(space + start_tag(element.tag, element.attributes, empty=not element.children))
        if element.children:
            stack.append((f"</{element.tag}>", depth))
            stack.extend((child, depth + 1) for child in reversed(element.children))
    return lines


def edited(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """The text with spans (start, end, new text) replaced, which must not overlap."""
    pieces, last = [], 0
    for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
        pieces += [text[last:start], new]
        last = end
    return "".join([*pieces, text[last:]])
