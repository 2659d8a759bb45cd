"""XML of robot files.

Reading is safe: no document types or entities, limited size, and every element has its position in the file.
Writing keeps all digits of numbers, escapes attributes and indents elements; or a text is edited.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.saxutils import quoteattr
from xml.sax.xmlreader import AttributesImpl, Locator

from defusedxml import DefusedXmlException
from defusedxml.sax import make_parser

from minertia.io.errors import DescriptionError
from minertia.io.tables import LARGEST

MAX_DEPTH = 64  # of elements, unless a format needs more
MAX_ELEMENTS = 200_000
MAX_ATTRIBUTES = 1000  # of one element
MAX_NUMBERS = 10_000  # in one attribute

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_START_TAG = re.compile(r"""<(?:[^"'>]++|"[^"]*+"|'[^']*+')*+>""")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")


@dataclass(slots=True, eq=False)
class Element:
    """One XML element; a prefix is part of its tag.

    start, end: offsets in the text (without a byte-order mark) of its first character and of the one after its last.
    own: whether it is in the requested file, not in one it includes.
    """

    tag: str
    attributes: dict[str, str]
    source: str | None = None
    line: int = 0
    start: int = -1
    end: int = -1
    children: list[Element] = field(default_factory=list)
    own: bool = True

    def all(self, tag: str) -> list[Element]:
        """Children with this tag."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> Element | None:
        """First child with this tag, None if there is none."""
        return next((child for child in self.children if child.tag == tag), None)

    def walk(self) -> Iterator[Element]:
        """Iterate over the element and its descendants, in document order."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))

    def required(self, attribute: str, owner: str) -> str:
        """Text of a required, non-empty attribute."""
        value = self.attributes.get(attribute, "")
        if not value.strip():
            raise self.error(f"{owner}: <{self.tag}> needs the attribute '{attribute}'")
        return value

    def error(self, message: str) -> DescriptionError:
        """Return an error at this element, to be raised."""
        return DescriptionError(message, file=self.source, line=self.line)

    def check_depth(self, depth: int, deepest: int) -> None:
        """Raise an error for an element nested too deeply (the root: 1)."""
        if depth > deepest:
            raise self.error(
                f"elements are nested more than {deepest} deep, which exceeds the limit for robot descriptions"
            )


def parse_xml(text: str, source: str | None, deepest: int = MAX_DEPTH) -> Element:
    """Parse an XML text and return its root element; deepest: limit of the nesting depth."""
    parser = make_parser()
    parser.forbid_dtd = True
    text = text.removeprefix("\ufeff")
    builder = _Builder(text, source, parser, deepest)
    parser.setContentHandler(builder)
    try:
        parser.feed(text)
        parser.close()
    except SAXParseException as err:
        message = f"the XML is malformed ({err.getMessage()}); check whether the file is complete"
        raise DescriptionError(message, file=source, line=err.getLineNumber()) from None
    except DefusedXmlException:
        message = "document types and entities are not accepted; remove the <!DOCTYPE ...> part"
        raise DescriptionError(message, file=source, line=parser.getLineNumber()) from None
    except UnicodeEncodeError:
        raise DescriptionError("the text contains characters that are not Unicode", file=source) from None
    if builder.root is None:  # pragma: no cover - expat reports an empty document itself
        raise DescriptionError("the file contains no XML element", file=source)
    return builder.root


class _Builder(ContentHandler):
    """Builds the tree of elements during parsing."""

    def __init__(self, text: str, source: str | None, locator: Locator, deepest: int) -> None:
        super().__init__()
        self.text, self.source, self.locator, self.deepest = text, source, locator, deepest
        self.root: Element | None = None
        self.open: list[Element] = []
        self.count = 0
        lengths = (len(line) for line in _LINE.findall(text))
        self.line_starts = [0, *accumulate(lengths)]

    def startElement(self, name: str, attrs: AttributesImpl) -> None:
        self.count += 1
        if attrs.getLength() > MAX_ATTRIBUTES:
            message = (
                f"an element has more than {MAX_ATTRIBUTES} attributes, which exceeds the limit for robot descriptions"
            )
            raise DescriptionError(message, file=self.source, line=self._line())
        element = Element(name, dict(attrs.items()), self.source, self._line(), self._offset())
        if self.count > MAX_ELEMENTS:
            raise element.error(
                f"the file has more than {MAX_ELEMENTS} elements, which exceeds the limit for robot descriptions"
            )
        element.check_depth(len(self.open) + 1, self.deepest)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def endElement(self, name: str) -> None:
        element = self.open.pop()
        stop = start_tag_end(self.text, element)
        if self.text[stop - 2] != "/":  # the parser stands before the end tag
            stop = self.text.index(">", self._offset()) + 1
        element.end = stop

    def _line(self) -> int:
        return self.locator.getLineNumber() or 1

    def _offset(self) -> int:
        return self.line_starts[self._line() - 1] + (self.locator.getColumnNumber() or 0)


def start_tag_end(text: str, element: Element) -> int:
    """Offset just past the start tag of an element."""
    match = _START_TAG.match(text, element.start)
    if match is None:  # pragma: no cover - the parser has found a start tag here
        raise element.error(f"the element <{shown(element.tag)}> cannot be found in the text")
    return match.end()


def shown(name: str, longest: int = 60) -> str:
    """Name from a file, made printable, put on one line and shortened for a message."""
    printable = "".join(c if c.isprintable() else "?" for c in name[:longest])
    return printable + "..." * (len(name) > longest)


def number(element: Element, attribute: str, owner: str, default: float | None = None) -> float:
    """Finite number from an attribute; without a default the attribute is required.

    owner: description of what the element belongs to, for the error message, such as "link 'arm'".
    """
    if attribute not in element.attributes and default is not None:
        return default
    (value,) = numbers(element, attribute, owner, 1)
    return value


def numbers(
    element: Element, attribute: str, owner: str, count: int | None = None, default: Sequence[float] | None = None
) -> tuple[float, ...]:
    """Finite numbers from an attribute, separated by spaces; count: required number, None for any."""
    text = element.attributes.get(attribute)
    if text is None:
        if default is not None:
            return tuple(default)
        raise element.error(f"{owner}: <{element.tag}> needs the attribute '{attribute}'")
    words = text.split(maxsplit=MAX_NUMBERS if count is None else count)  # one more than wanted tells as well
    if count is not None and len(words) != count or not words:
        wanted = "a number" if count in (1, None) else f"{count} numbers"
        raise element.error(f'{owner}: {attribute}="{shown(text)}" in <{element.tag}> must be {wanted}{_hint(text)}')
    return tuple(_finite(word, element, attribute, owner) for word in words)


def _finite(word: str, element: Element, attribute: str, owner: str) -> float:
    value = float(word) if _NUMBER.fullmatch(word) else math.nan
    if not abs(value) <= LARGEST:
        raise element.error(f'{owner}: {attribute}="{shown(word)}" in <{element.tag}> is {_fault(value)}{_hint(word)}')
    return value


def _fault(value: float) -> str:
    return f"too large; at most {LARGEST:g}" if math.isfinite(value) else "not a finite number"


def _hint(text: str) -> str:
    if "${" in text:
        return "; expand the xacro file first (xacro robot.xacro > robot.urdf)"
    return "; use a decimal point, and spaces between numbers" if "," in text else ""


# ------------------------------------------------------------------------------------------------------------ writing


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
    """Text with underscores for characters that are invalid in XML."""
    return _NOT_XML.sub("_", text)


def quoted(value: str) -> str:
    """A value as a quoted XML attribute."""
    return quoteattr(xml_text(value))


def attributes_text(attributes: Mapping[str, str]) -> str:
    """Attributes as text of a start tag, a space before each."""
    return "".join(f" {name}={quoted(value)}" for name, value in attributes.items())


def start_tag(tag: str, attributes: Mapping[str, str], *, empty: bool) -> str:
    """Start tag of an element; empty: a self-closing tag."""
    return f"<{tag}{attributes_text(attributes)}{'/' * empty}>"


def new_element(tag: str, attributes: Mapping[str, str] | None = None, children: Iterable[Element] = ()) -> Element:
    """New element that belongs to no file."""
    return Element(tag, dict(attributes or {}), children=list(children))


def element_lines(root: Element) -> list[str]:
    """Lines of an element and its descendants, one each, indented."""
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
