"""XML of robot files, read safely: no document types or entities, limited size, every element with its place."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl, Locator

from defusedxml import DefusedXmlException
from defusedxml.sax import make_parser

from minertia.errors import DescriptionError

MAX_DEPTH = 64
MAX_ELEMENTS = 200_000
LARGEST = 1e60  # larger numbers are refused: their products would overflow

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_START_TAG = re.compile(r"""<(?:[^"'>]++|"[^"]*+"|'[^']*+')*+>""")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")


@dataclass(slots=True)
class Element:
    """One XML element; a prefix is part of its tag.

    start, end: offsets in the text (without a byte-order mark) of its first character and of the one after its last.
    """

    tag: str
    attributes: dict[str, str]
    source: str
    line: int
    start: int
    end: int = -1
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """The children of this tag."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> Element | None:
        """The first child of this tag, None if there is none."""
        return next((child for child in self.children if child.tag == tag), None)

    def required(self, attribute: str, owner: str) -> str:
        """The text of an attribute that must be there and not be empty."""
        value = self.attributes.get(attribute, "")
        if not value.strip():
            raise self.error(f"{owner}: <{self.tag}> needs the attribute '{attribute}'")
        return value

    def error(self, message: str) -> DescriptionError:
        """An error at this element, to be raised."""
        return DescriptionError(message, file=self.source, line=self.line)


def parse_xml(text: str, source: str) -> Element:
    """The root element of an XML text."""
    parser = make_parser()
    parser.forbid_dtd = True
    text = text.removeprefix("\ufeff")
    builder = _Builder(text, source, parser)
    parser.setContentHandler(builder)
    try:
        parser.feed(text)
        parser.close()
    except SAXParseException as err:
        message = f"the XML is malformed ({err.getMessage()}); check whether the file is complete"
        raise DescriptionError(message, file=source, line=err.getLineNumber()) from None
    except DefusedXmlException:
        message = "document types and entities are refused; remove the <!DOCTYPE ...> part"
        raise DescriptionError(message, file=source, line=parser.getLineNumber()) from None
    except UnicodeEncodeError:
        raise DescriptionError("the text holds characters that are not Unicode", file=source) from None
    if builder.root is None:  # pragma: no cover - expat reports an empty document itself
        raise DescriptionError("the file holds no XML element", file=source)
    return builder.root


class _Builder(ContentHandler):
    """Makes the tree of elements while the parser runs."""

    def __init__(self, text: str, source: str, locator: Locator) -> None:
        super().__init__()
        self.text, self.source, self.locator = text, source, locator
        self.root: Element | None = None
        self.open: list[Element] = []
        self.count = 0
        lengths = (len(line) for line in _LINE.findall(text))
        self.line_starts = [0, *accumulate(lengths)]

    def startElement(self, name: str, attrs: AttributesImpl) -> None:
        self.count += 1
        element = Element(name, dict(attrs.items()), self.source, self._line(), self._offset())
        if self.count > MAX_ELEMENTS:
            raise element.error(f"the file has more than {MAX_ELEMENTS} elements, which no robot description needs")
        if len(self.open) >= MAX_DEPTH:
            raise element.error(f"elements are nested more than {MAX_DEPTH} deep, which no robot description needs")
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
    """A name from a file as it may stand in a sentence: printable, on one line, not endless."""
    printable = "".join(c if c.isprintable() else "?" for c in name[:longest])
    return printable + "..." * (len(name) > longest)


def number(element: Element, attribute: str, owner: str, default: float | None = None) -> float:
    """A finite number of an attribute; without a default the attribute is required.

    owner: who the element belongs to, for the error, such as "link 'arm'".
    """
    if attribute not in element.attributes and default is not None:
        return default
    (value,) = numbers(element, attribute, owner, 1)
    return value


def numbers(
    element: Element, attribute: str, owner: str, count: int | None = None, default: Sequence[float] | None = None
) -> tuple[float, ...]:
    """Finite numbers of an attribute, separated by spaces; count: how many there must be, None for any."""
    text = element.attributes.get(attribute)
    if text is None:
        if default is not None:
            return tuple(default)
        raise element.error(f"{owner}: <{element.tag}> needs the attribute '{attribute}'")
    words = text.split()
    if count is not None and len(words) != count or not words:
        wanted = "a number" if count in (1, None) else f"{count} numbers"
        raise element.error(f'{owner}: {attribute}="{shown(text)}" in <{element.tag}> must be {wanted}{_hint(text)}')
    return tuple(_finite(word, element, attribute, owner) for word in words)


def _finite(word: str, element: Element, attribute: str, owner: str) -> float:
    value = float(word) if _NUMBER.fullmatch(word) else math.nan
    if not abs(value) <= LARGEST:
        raise element.error(
            f'{owner}: {attribute}="{shown(word)}" in <{element.tag}> is not a finite number{_hint(word)}'
        )
    return value


def _hint(text: str) -> str:
    if "${" in text:
        return "; expand the xacro file first (xacro robot.xacro > robot.urdf)"
    return "; use a point for decimals and spaces between numbers" if "," in text else ""
