"""Checked access to the tables of a TOML file: every error is one sentence with file, line and key."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar, overload

from minertia.io.documents import DocumentError, toml_document
from minertia.io.errors import DescriptionError, MinertiaError, did_you_mean
from minertia.io.files import reading

MAX_BYTES = 2_000_000
LARGEST = 1e60  # numbers in files; products of larger ones would overflow
LONGEST = 500  # characters of a line that are looked at
_HEADING = re.compile(r"\s*(\[\[?)\s*[\"']?([^\s.\"'\]]+)[\"']?\s*([^\]]*)\]")


class KeyLines:
    """Line numbers of the keys of each table; used only in messages, so an unknown line is not an error."""

    def __init__(self, text: str) -> None:
        self.lines = [line[:LONGEST] for line in text.splitlines()]
        found = [(k, _HEADING.match(line)) for k, line in enumerate(self.lines)]
        self.headings = [(k, m[2], m[1] == "[[" and not m[3]) for k, m in found if m is not None]

    def find(self, root: str | None, row: int | None, key: str | None) -> int | None:
        """Line (from 1) of a key, or else of its table's heading.

        root: the top-level table that contains it, None for the top level itself.  row: which of the tables
        [[root]] (from 1).
        """
        region = self._region(root, row)
        if key is not None:
            pattern = re.compile(rf"(?:[^#]*[\s{{,.])?[\"']?{re.escape(key)}[\"']?\s*[=.\]]")
            for k in region:
                if pattern.match(self.lines[k]):
                    return k + 1
        return None if root is None or not region or (row is None and region[0] == 0) else region[0] + 1

    def _region(self, root: str | None, row: int | None) -> list[int]:
        """Indices (from 0) of the lines that may contain the keys of a table."""
        end = len(self.lines)
        if row is not None:
            heads = [k for k, name, is_row in self.headings if is_row and name == root]
            return list(range(heads[row - 1], (*heads, end)[row])) if row <= len(heads) else []
        starts = [*(k for k, _, _ in self.headings), end]
        parts = [range(starts[i], starts[i + 1]) for i, (_, name, _) in enumerate(self.headings) if name == root]
        return [k for part in parts for k in part] or list(range(starts[0]))


NOWHERE = KeyLines("")


@dataclass(frozen=True)
class CheckedTable:
    """One table of a file, or a table of options that is not from a file (source None).

    where: name of the table in messages, "" at the top level.  root: top-level table that contains it; row:
    index of that table in an array of tables.  Both serve to find line numbers.
    """

    entries: Mapping[str, Any]
    source: str | None = None
    where: str = ""
    lines: KeyLines = NOWHERE
    root: str | None = None
    row: int | None = None
    largest: ClassVar[float] = LARGEST

    def __contains__(self, key: str) -> bool:
        return key in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    # ------------------------------------------------------------------ sentences

    def fail(self, message: str, key: str | None = None) -> MinertiaError:
        """Return an error of this table, to be raised."""
        where = f"{self.where}: " if self.where else ""
        return DescriptionError(where + message, file=self.source, line=self.line(key))

    def line(self, key: str | None = None) -> int | None:
        """Line of a key, or of the table."""
        return self.lines.find(self.root, self.row, key)

    def it(self, key: str, what: str = "") -> str:
        """Subject of a message: the quoted key, after the description `what` if given."""
        return f"the {what} '{key}'" if what else f"'{key}'"

    def inner_name(self, key: str) -> str:
        """Name in messages of a table inside this one."""
        return f"{self.where}, {key}" if self.where else key

    # ------------------------------------------------------------------ keys

    def only(self, known: Iterable[str]) -> None:
        """Raise an error for unknown keys."""
        names = list(known)
        for key in self.entries:
            if key not in names:
                raise self.fail(f"{self.it(key, 'key')} is unknown; {did_you_mean(key, names)}", key)

    def needs(self, keys: Iterable[str]) -> None:
        """Raise an error for missing keys."""
        missing = [f"'{key}'" for key in keys if key not in self.entries]
        if missing:
            raise self.fail(f"this table also needs {' and '.join(missing)}")

    def get(self, key: str, default: object = None) -> Any:
        """Raw entry of the file, or the default."""
        return self.entries.get(key, default)

    # ------------------------------------------------------------------ words

    @overload
    def text(self, key: str) -> str | None: ...
    @overload
    def text(self, key: str, default: str) -> str: ...
    def text(self, key: str, default: str | None = None) -> str | None:
        """Text, or the default if the key is missing; with a default, the text must not be empty."""
        value = self.get(key)
        if value is None:
            return default
        if not isinstance(value, str) or (default is not None and not value):
            raise self.fail(f"{self.it(key)} must be a string in quotes, not {shown(value)}", key)
        return value

    def choice(self, key: str, options: Iterable[str], default: str | None = None) -> str:
        """Text, one of the given options."""
        names = list(options)
        if key not in self.entries and default is None:
            raise self.fail(f"'{key}' is missing; it must be one of: {', '.join(names)}")
        value = self.get(key, default)
        if value not in names:
            raise self.fail(f"{self.it(key)} is {shown(value)}; it must be one of: {', '.join(names)}", key)
        return str(value)

    def texts(self, key: str) -> tuple[str, ...] | None:
        """List of texts, None if the key is missing; a single text is a list of one."""
        value = self.get(key)
        if isinstance(value, str):
            return (value,)
        if value is not None and not (isinstance(value, list) and all(isinstance(v, str) for v in value)):
            raise self.fail(f"{self.it(key)} must be a list of strings in quotes", key)
        return None if value is None else tuple(value)

    def names(self, key: str) -> str | tuple[str, ...] | None:
        """Name template, or a list of names."""
        value = self.get(key)
        return value if isinstance(value, str) else self.texts(key)

    def flag(self, key: str, default: bool) -> bool:
        """Boolean entry."""
        value = self.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.fail(f"{self.it(key)} must be true or false, not {shown(value)}", key)
        return default if value is None else value

    # ------------------------------------------------------------------ numbers

    @overload
    def number(self, key: str, default: None = None, *, at_least: float = -math.inf) -> float | None: ...
    @overload
    def number(self, key: str, default: float, *, at_least: float = -math.inf) -> float: ...
    def number(self, key: str, default: float | None = None, *, at_least: float = -math.inf) -> float | None:
        """Finite number, or the default if the key is missing."""
        value = self.get(key)
        if value is None:
            return default
        number = self._checked(key, value)
        if number < at_least:
            raise self.fail(f"{self.it(key)} is {number:g}; it must not be less than {at_least:g}", key)
        return number

    def positive(self, key: str) -> float | None:
        """Positive number, None if the key is missing."""
        value = self.number(key)
        if value is not None and value <= 0:
            raise self.fail(f"{self.it(key)} is {value:g}; it must be greater than 0", key)
        return value

    def whole(self, key: str, at_least: int = 1) -> int | None:
        """Integer of at least `at_least`, None if the key is missing."""
        value = self.get(key)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < at_least):
            raise self.fail(f"{self.it(key)} must be an integer of at least {at_least}, not {shown(value)}", key)
        return value

    @overload
    def numbers(self, key: str, count: int | None = None) -> tuple[float, ...] | None: ...
    @overload
    def numbers(self, key: str, count: int | None, default: tuple[float, ...]) -> tuple[float, ...]: ...
    def numbers(
        self, key: str, count: int | None = None, default: tuple[float, ...] | None = None
    ) -> tuple[float, ...] | None:
        """List of finite numbers, of length `count` if given; the default if the key is missing."""
        value = self.get(key)
        return default if value is None else self._row(key, self.items(key, count, "numbers"))

    def items(self, key: str, count: int | None, what: str) -> list[Any]:
        """List of `count` entries, not checked further; what: expected content, for the message."""
        value = self.get(key)
        if not isinstance(value, list) or (count is not None and len(value) != count):
            raise self.fail(f"{self.it(key)} must be a list of {'' if count is None else f'{count} '}{what}", key)
        return value

    def matrix(self, key: str, size: int | None = None) -> tuple[tuple[float, ...], ...] | None:
        """Square matrix of finite numbers as a list of rows, None if the key is missing."""
        if self.get(key) is None:
            return None
        return tuple(self._row(key, row) for row in self.square(key, size, "numbers"))

    def square(self, key: str, size: int | None, what: str) -> list[list[Any]]:
        """Square list of rows, entries not checked further."""
        rows: list[list[Any]] = self.get(key)
        n = len(rows) if size is None and isinstance(rows, list) else size
        is_list = isinstance(rows, list) and len(rows) == n
        if not is_list or not all(isinstance(row, list) and len(row) == n for row in rows):
            told = "square matrix, a list of rows" if size is None else f"matrix of {size} rows of {size} {what}"
            raise self.fail(f"{self.it(key)} must be a {told}", key)
        return rows

    def _row(self, key: str, values: Iterable[object]) -> tuple[float, ...]:
        return tuple(self._checked(key, value, "contain finite numbers") for value in values)

    def _checked(self, key: str, value: object, must: str = "be a finite number") -> float:
        number = finite(value)
        if number is None:
            raise self.fail(f"{self.it(key)} must {must}, not {shown(value)}", key)
        if abs(number) > self.largest:
            raise self.fail(f"{self.it(key)} is too large; it must be at most {self.largest:g}", key)
        return number

    # ------------------------------------------------------------------ tables inside

    def table(self, key: str) -> Self:
        """Nested table, empty if the key is missing."""
        value = self.get(key)
        if value is not None and not isinstance(value, dict):
            raise self.fail(f"{self.it(key)} must be a table", key)
        return replace(self, entries=value or {}, where=self.inner_name(key), root=self.root or key)

    def tables(self, key: str) -> list[Self]:
        """Tables of an array of tables, empty where it is missing."""
        found = self.get(key, [])
        if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
            raise self.fail(f"{self.it(key)} must be a list of tables, each under its own heading [[{key}]]", key)
        return [
            replace(self, entries=entry, where=f"{key} {k}", root=key, row=k) for k, entry in enumerate(found, start=1)
        ]


Checked = TypeVar("Checked", bound=CheckedTable)


def load_toml(path: str | Path, kind: type[Checked]) -> Checked:
    """Top-level table of a TOML file; kind: table class, which sets the error type."""
    file, empty = Path(path), kind({}, str(path))
    reading(file)
    try:
        with open(file, "rb") as opened:
            data = opened.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise empty.fail(f"the file is larger than the limit of {MAX_BYTES // 1000000} MB")
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise empty.fail("the file is not UTF-8 text") from None
    except OSError as err:
        raise empty.fail(f"the file cannot be read ({err.strerror or err})") from None
    return parse_table(text, str(path), kind)


def parse_table(text: str, source: str, kind: type[Checked]) -> Checked:
    """Top-level table of TOML text."""
    try:
        return kind(toml_document(text), source, lines=KeyLines(text))
    except DocumentError as err:
        raise kind({}, source, lines=_OneLine(err.line)).fail(str(err)) from None


class _OneLine(KeyLines):
    """Line lookup for a text that is not TOML: one known line for every key."""

    def __init__(self, line: int | None) -> None:
        super().__init__("")
        self.known = line

    def find(self, root: str | None, row: int | None, key: str | None) -> int | None:
        """Return the known line."""
        return self.known


def finite(value: object) -> float | None:
    """Value as a float if it is a finite number, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def shown(value: object) -> str:
    """Value as text for a message, shortened."""
    if isinstance(value, int) and abs(value) >= 10**40:
        return "an integer of more than 40 digits"
    text = repr(value)[:200]
    return text if len(text) <= 40 else text[:37] + "..."
