"""Safe parsing of untrusted TOML and JSON: checked first, so that no small file takes minutes or gigabytes.

The parser of the standard library takes time and memory quadratic in the number of parts of a dotted key,
recurses into nested values, and uses about a kilobyte for each table.  One pass over the text, which
distinguishes only strings, comments and keys, rejects what no supported file needs.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

MAX_BYTES = 10_000_000  # of one file; ten times the largest model of a robot of thirty joints
MAX_DEPTH = 32  # of tables and lists inside one another, and parts of a dotted key
MAX_ENTRIES = 100_000  # keys, tables and lists
MAX_WORD = 100_000  # characters without a space or a mark between them
LARGEST = 2**63  # whole numbers are smaller, as the format has it

_WORDS = re.compile(rf"(?:[^\s,=#\[\]{{}}]{{0,{MAX_WORD}}}+[\s,=#\[\]{{}}])*+[^\s,=#\[\]{{}}]{{0,{MAX_WORD}}}+")
_STRINGS = r"""\"{3}|'{3}|"(?:\\.|[^"\\\n])*+"?|'[^'\n]*+'?|\#[^\n]*+"""
_TOKEN = re.compile(_STRINGS + r"|[\[\]{}=,.\n]")
_IN_LIST = re.compile(_STRINGS + r"|[\[\]{}]")  # numbers in lists are most of a file, and need no look
_END = {'"""': re.compile(r'(?:[^"\\]|\\.|"(?!""))*+"""', re.DOTALL), "'''": re.compile(r"(?:[^']|'(?!''))*+'''")}
_LINE = re.compile(r"\(at line (\d+), column \d+\)")


class DocumentError(ValueError):
    """Text that is not a valid document, or exceeds the limits; line from 1, None where it is not known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        self.line = line
        super().__init__(message)


def toml_document(text: str) -> dict[str, Any]:
    """Top-level table of a TOML text."""
    if len(text) > MAX_BYTES:
        raise DocumentError(
            f"the file is {len(text) / 1000000.0:.0f} MB in size; the limit is {MAX_BYTES // 1000000} MB"
        )
    if not _WORDS.fullmatch(text):
        raise DocumentError(f"a word or number has more than {MAX_WORD} characters")
    _Scan(text).run()
    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise DocumentError("the file is nested too deeply") from None
    except ValueError as err:
        match = _LINE.search(str(err))
        reason = str(err).split(" (at ")[0][:160]
        raise DocumentError(f"this is not valid TOML: {reason}", None if match is None else int(match[1])) from None
    _refuse_long_numbers(document)
    return document


def json_document(text: str) -> Any:
    """Value of a JSON text."""
    if len(text) > MAX_BYTES:
        raise DocumentError(
            f"the file is {len(text) / 1000000.0:.0f} MB in size; the limit is {MAX_BYTES // 1000000} MB"
        )
    try:
        return json.loads(text)
    except RecursionError:
        raise DocumentError("the file is nested too deeply") from None
    except ValueError as err:
        raise DocumentError(f"this is not valid JSON: {str(err)[:160]}") from None


def _refuse_long_numbers(document: dict[str, Any]) -> None:
    """Raise an error for integers beyond the range of the format; Python would accept but not print them."""
    left: list[tuple[str, Any]] = [("", document)]
    while left:
        name, value = left.pop()
        if isinstance(value, dict):
            left.extend((f"{name}.{key}" if name else key, inner) for key, inner in value.items())
        elif isinstance(value, list):
            left.extend((name, inner) for inner in value if not isinstance(inner, float | str))
        elif isinstance(value, int) and not -LARGEST <= value < LARGEST:
            raise DocumentError(f"'{name}' is an integer of more than 64 bits, which is too large")


class _Scan:
    """Scan of a text for its nesting depth and number of entries."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.open: list[str] = []
        self.is_key = True  # where a key or a heading may stand
        self.parts = self.entries = 0

    def run(self) -> None:
        at = 0
        while True:
            in_list = not self.is_key and bool(self.open) and self.open[-1] == "["
            match = (_IN_LIST if in_list else _TOKEN).search(self.text, at)
            if match is None:
                return
            at = match.end()
            if match[0] in _END:
                closed = _END[match[0]].match(self.text, at)
                if closed is None:
                    return  # the parser says where
                at = closed.end()
            elif match[0] in "[]{}=,.\n":
                self._see(match[0], at)

    def _see(self, mark: str, at: int) -> None:
        if mark in "[{":
            self._enter(mark, at)
        elif mark in "]}":
            del self.open[-1:]
            self.is_key = self.is_key and mark == "]"  # of a heading
        elif mark == ".":
            self._dot(at)
        elif mark == "=":
            self._entry(at)
            self.is_key = False
        elif mark == "," or not self.open:
            self.is_key, self.parts = mark == "\n" or self.open[-1:] == ["{"], 0

    def _enter(self, mark: str, at: int) -> None:
        self._entry(at)
        self.open.append(mark)
        self.is_key, self.parts = self.is_key or mark == "{", 0
        if len(self.open) > MAX_DEPTH:
            self._refuse(f"tables or lists are nested more than {MAX_DEPTH} deep", at)

    def _dot(self, at: int) -> None:
        if not self.is_key:
            return
        self._entry(at)
        self.parts += 1
        if self.parts >= MAX_DEPTH:
            self._refuse(f"a dotted key has more than {MAX_DEPTH} components", at)

    def _entry(self, at: int) -> None:
        self.entries += 1
        if self.entries > MAX_ENTRIES:
            self._refuse(f"the file has more than {MAX_ENTRIES} keys, tables and lists", at)

    def _refuse(self, message: str, at: int) -> None:
        raise DocumentError(
            f"{message}, which exceeds the limit for files of this kind", self.text.count("\n", 0, at) + 1
        )
