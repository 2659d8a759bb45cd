"""Checked access to the tables of a TOML file: whatever is wrong becomes one sentence with file, line and field."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from minertia.errors import DescriptionError, did_you_mean
from minertia.robot.expression import LARGEST

LONGEST = 500  # characters of a line that are looked at
_HEAD = re.compile(r"\s*\[\[\s*joint\s*\]\]")


class Lines:
    """Where the keys of each [[joint]] stand in the text; only for messages, so not finding one is no error."""

    def __init__(self, text: str) -> None:
        self.lines = [line[:LONGEST] for line in text.splitlines()]
        self.heads = [k for k, line in enumerate(self.lines) if _HEAD.match(line)]

    def find(self, row: int | None, key: str | None) -> int | None:
        """Line (from 1) of a key in the table of joint `row` (from 1, None: the top level), or of its heading."""
        if row is None:
            first, last = 0, self.heads[0] if self.heads else len(self.lines)
        elif row <= len(self.heads):
            first, last = self.heads[row - 1], (*self.heads, len(self.lines))[row]
        else:
            return None
        if key is not None:
            pattern = re.compile(rf"(?:[^#]*[\s{{,.])?[\"']?{re.escape(key)}[\"']?\s*[=.\]]")
            for k in range(first, last):
                if pattern.match(self.lines[k]):
                    return k + 1
        return None if row is None else first + 1


@dataclass(frozen=True, slots=True)
class DescriptionTable:
    """One table of a file; `where` names it in messages ("" for the top level), `row` is the number of its joint."""

    entries: Mapping[str, Any]
    where: str
    source: str
    lines: Lines
    row: int | None = None

    def __contains__(self, key: str) -> bool:
        return key in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def get(self, key: str, default: object = None) -> Any:
        """The entry as it stands in the file."""
        return self.entries.get(key, default)

    def fail(self, message: str, key: str | None = None) -> NoReturn:
        """Refuse the file."""
        where = f"{self.where}: " if self.where else ""
        raise DescriptionError(where + message, file=self.source, line=self.line(key))

    def line(self, key: str | None = None) -> int | None:
        """Line of a key, or of the table."""
        return self.lines.find(self.row, key)

    def only(self, known: Iterable[str]) -> None:
        """Refuse keys that are not known."""
        names = list(known)
        for key in self.entries:
            if key not in names:
                self.fail(f"the key '{key}' is not known; {did_you_mean(key, names)}", key)

    def text(self, key: str, default: str) -> str:
        """A string that is not empty."""
        value = self.entries.get(key, default)
        if not isinstance(value, str) or not value:
            self.fail(f"'{key}' must be a text in quotes", key)
        return value

    def choice(self, key: str, options: Iterable[str], default: str | None = None) -> str:
        """One of a few words."""
        names = list(options)
        if key not in self.entries and default is None:
            self.fail(f"'{key}' is missing; it is one of: {', '.join(names)}")
        value = self.entries.get(key, default)
        if value not in names:
            self.fail(f"'{key}' is {shown(value)}; it must be one of: {', '.join(names)}", key)
        return str(value)

    def number(self, key: str, default: float = 0.0, *, at_least: float = -math.inf) -> float:
        """A finite number."""
        return self._checked(key, self.entries.get(key, default), at_least)

    def optional(self, key: str) -> float | None:
        """A finite number, None where there is none."""
        return self.number(key) if key in self.entries else None

    def numbers(self, key: str, count: int) -> tuple[float, ...]:
        """A list of so many finite numbers."""
        return tuple(self._checked(key, item) for item in self.items(key, count, "numbers"))

    def items(self, key: str, count: int, what: str) -> list[Any]:
        """A list of so many entries, not checked further; what: what they should be, in the message."""
        value = self.entries[key]
        if not isinstance(value, list) or len(value) != count:
            self.fail(f"'{key}' must be a list of {count} {what}", key)
        return value

    def matrix(self, key: str, size: int) -> tuple[tuple[float, ...], ...]:
        """A square matrix of finite numbers, as a list of rows."""
        return tuple(tuple(self._checked(key, item) for item in row) for row in self.square(key, size, "numbers"))

    def square(self, key: str, size: int, what: str) -> list[list[Any]]:
        """A list of so many rows of so many entries, not checked further."""
        rows: list[list[Any]] = self.entries[key]
        is_list = isinstance(rows, list) and len(rows) == size
        if not is_list or not all(isinstance(row, list) and len(row) == size for row in rows):
            self.fail(f"'{key}' must be a matrix of {size} rows of {size} {what}", key)
        return rows

    def table(self, key: str) -> DescriptionTable | None:
        """A table inside this one."""
        if key not in self.entries:
            return None
        value = self.entries[key]
        if not isinstance(value, dict):
            self.fail(f"'{key}' must be a table", key)
        return DescriptionTable(value, f"{self.where}, {key}" if self.where else key, self.source, self.lines, self.row)

    def _checked(self, key: str, value: object, at_least: float = -math.inf) -> float:
        number = finite(value)
        if number is None:
            self.fail(f"'{key}' must be a finite number, not {shown(value)}", key)
        if abs(number) > LARGEST:
            self.fail(f"'{key}' is too large; at most {LARGEST:g}", key)
        if number < at_least:
            self.fail(f"'{key}' is {number:g}; it must not be less than {at_least:g}", key)
        return number


def finite(value: object) -> float | None:
    """The value as a float if it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def shown(value: object) -> str:
    """A value in a message, cut short."""
    if isinstance(value, int) and abs(value) >= 10**40:
        return "a whole number of more than 40 digits"
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
