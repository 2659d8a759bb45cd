"""Statements of a SYMORO+ .par file, without comments: names, entries and their lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from minertia.algebra.polynomial import Number, Poly
from minertia.io.errors import DescriptionError
from minertia.robot.formats.expression import ExpressionError, parse_expression
from minertia.robot.parameters import LINK_SYMBOLS

GEOMETRY = ("gamma", "b", "alpha", "d", "theta", "r")
DRIVES = ("IA", "FV", "FS")
LOADS = ("FX", "FY", "FZ", "CX", "CY", "CZ")
BASE_MOTION = ("W0", "WP0", "V0", "VP0")
IGNORED = ("mu", "QP", "QDP", "GAM", "Z", "k")
SCALARS = ("NL", "NJ", "NF", "Type", "is_mobile", "is_floating")
LISTS = ("ant", "sigma", "eta", *GEOMETRY, *LINK_SYMBOLS, *DRIVES, *LOADS, *BASE_MOTION, *IGNORED, "G")

MAX_LENGTH = 1_000_000
_ROBOT_NAME = re.compile(r"\(\*\s*Robotname\s*=\s*'?([^'*\n]+?)'?\s*\*\)", re.IGNORECASE)
_STATEMENT = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(?:\{([^{}=]*)\}|([^\s{}]+))[ \t]*(?:;|$)?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ParFile:
    """Texts of the entries by name, and the line each statement starts in."""

    source: str
    name: str | None
    scalars: Mapping[str, str]
    lists: Mapping[str, tuple[str, ...]]
    lines: Mapping[str, int]

    def fail(self, message: str, name: str | None = None) -> NoReturn:
        """Raise an error for the file."""
        raise DescriptionError(message, file=self.source, line=self.lines.get(name or ""))

    def whole_number(self, name: str, default: int | None = None) -> int:
        """Integer entry, such as a number of links."""
        if name not in self.scalars:
            if default is None:
                self.fail(f"'{name}' is missing")
            return default
        text = self.scalars[name]
        if not re.fullmatch(r"[0-9]{1,6}", text):
            self.fail(f"'{name}' must be an integer, not '{text[:40]}'", name)
        return int(text)

    def entries(self, name: str, count: int, default: str = "0") -> list[Poly | Number]:
        """List of `count` expressions; all equal to the default if the file does not have the entry."""
        texts = self.lists.get(name, (default,) * count)
        if len(texts) != count:
            self.fail(f"the list '{name}' has {len(texts)} entries; it needs {count}", name)
        try:
            return [parse_expression(text) for text in texts]
        except ExpressionError as err:
            self.fail(f"the list '{name}': {err}", name)


def split_par(text: str, source: str) -> ParFile:
    """Split a file into statements."""
    if len(text) > MAX_LENGTH:
        raise DescriptionError(f"a SYMORO description has at most {MAX_LENGTH} characters", file=source)
    found = _ROBOT_NAME.search(text[:10_000])
    bare = _without_comments(text, source)
    scalars: dict[str, str] = {}
    lists: dict[str, tuple[str, ...]] = {}
    lines: dict[str, int] = {}
    file = ParFile(source, found[1].strip() if found else None, scalars, lists, lines)
    end, line = 0, 1
    while bare[end:].strip():
        start = end + len(bare[end:]) - len(bare[end:].lstrip())
        line += bare.count("\n", end, start)
        match = _STATEMENT.match(bare, start)
        if match is None:
            _refuse(bare[start:], source, line)
        name = match[1]
        if name in lines:
            raise DescriptionError(f"'{name}' is given twice", file=source, line=line)
        lines[name] = line
        _store(file, name, match)
        line += bare.count("\n", start, match.end())
        end = match.end()
    return file


def _without_comments(text: str, source: str) -> str:
    """Text without comments (* ... *); their line breaks are kept."""
    parts: list[str] = []
    end = 0
    while (start := text.find("(*", end)) >= 0:
        parts.append(text[end:start])
        close = text.find("*)", start)
        if close < 0:
            raise DescriptionError("a comment is not closed", file=source, line=text.count("\n", 0, start) + 1)
        end = close + 2
        parts.append(" " + "\n" * text.count("\n", start, end))
    return "".join(parts) + text[end:]


def _store(file: ParFile, name: str, match: re.Match[str]) -> None:
    is_list = match[2] is not None
    if name not in (LISTS if is_list else SCALARS):
        what = "list" if is_list else "number"
        file.fail(f"the {what} '{name}' is not part of a SYMORO description", name)
    if not is_list:
        file.scalars[name] = match[3].strip(";")  # type: ignore[index]
    else:
        entries = tuple(entry.strip() for entry in match[2].split(","))
        file.lists[name] = entries if entries != ("",) else ()  # type: ignore[index]


def _refuse(rest: str, source: str, line: int) -> NoReturn:
    shown = rest.split("\n")[0].strip()[:40]
    raise DescriptionError(f"'{shown}' is not a statement NAME = {{...}} or NAME = number", file=source, line=line)
