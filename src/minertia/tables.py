"""Checked access to the tables of a TOML file: whatever is wrong becomes one sentence with file and field."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minertia.documents import DocumentError, toml_document
from minertia.errors import CampaignError, did_you_mean
from minertia.files import reading

MAX_BYTES = 2_000_000
UNANSWERED = "?"  # what the writer of a campaign could not know


@dataclass(frozen=True, slots=True)
class CheckedTable:
    """One table of a file; `where` is its dotted name, "" at the top."""

    entries: Mapping[str, Any]
    source: str
    where: str = ""

    def __contains__(self, key: str) -> bool:
        return key in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def fail(self, message: str, key: str | None = None) -> CampaignError:
        """An error of this table, to be raised."""
        field = ".".join(part for part in (self.where, key) if part) or None
        return CampaignError(message, file=self.source, field=field)

    def only(self, known: Iterable[str]) -> None:
        """Refuse keys that are not known."""
        names = list(known)
        for key in self.entries:
            if key not in names:
                raise self.fail(f"this key is not known; {did_you_mean(key, names)}", key)

    def get(self, key: str) -> Any:
        """The entry as it stands, None where there is none; a question mark left by the writer is refused."""
        value = self.entries.get(key)
        if value == UNANSWERED or (isinstance(value, list) and UNANSWERED in value):
            raise self.fail('this is still "?": fill in what the log does not tell', key)
        return value

    def text(self, key: str) -> str | None:
        """A text, None where there is none."""
        value = self.get(key)
        if value is not None and not isinstance(value, str):
            raise self.fail(f"this must be a text in quotes, not {shown(value)}", key)
        return value

    def choice(self, key: str, known: Sequence[str], default: str) -> str:
        """One of a few words."""
        value = self.text(key) or default
        if value not in known:
            raise self.fail(f"'{value}' is not one of: {', '.join(known)}", key)
        return value

    def texts(self, key: str) -> tuple[str, ...] | None:
        """A list of texts; one text stands for a list of one."""
        value = self.get(key)
        if isinstance(value, str):
            return (value,)
        if value is not None and not (isinstance(value, list) and all(isinstance(v, str) for v in value)):
            raise self.fail("this must be a list of texts in quotes", key)
        return None if value is None else tuple(value)

    def names(self, key: str) -> str | tuple[str, ...] | None:
        """A template, or a list of names."""
        value = self.get(key)
        return value if isinstance(value, str) else self.texts(key)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.fail(f"this must be true or false, not {shown(value)}", key)
        return default if value is None else value

    def number(self, key: str) -> float | None:
        """A finite number, None where there is none."""
        value = self.get(key)
        return None if value is None else self._finite(value, key)

    def positive(self, key: str) -> float | None:
        """A number above 0, None where there is none."""
        value = self.number(key)
        if value is not None and value <= 0:
            raise self.fail(f"this is {value:g}; it must be greater than 0", key)
        return value

    def whole(self, key: str, at_least: int = 1) -> int | None:
        """A whole number, None where there is none."""
        value = self.get(key)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < at_least):
            raise self.fail(f"this must be a whole number from {at_least}, not {shown(value)}", key)
        return value

    def numbers(self, key: str, count: int | None = None) -> tuple[float, ...] | None:
        """A list of finite numbers, None where there is none."""
        value = self.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or (count is not None and len(value) != count):
            raise self.fail(f"this must be a list of {count or ''} numbers".replace("  ", " "), key)
        return tuple(self._finite(item, key) for item in value)

    def matrix(self, key: str) -> tuple[tuple[float, ...], ...] | None:
        """A square matrix as a list of rows, None where there is none."""
        value = self.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or any(not isinstance(row, list) or len(row) != len(value) for row in value):
            raise self.fail("this must be a square matrix, a list of rows", key)
        return tuple(tuple(self._finite(item, key) for item in row) for row in value)

    def table(self, key: str) -> CheckedTable:
        """A table inside this one, empty where there is none."""
        value = self.get(key)
        if value is not None and not isinstance(value, dict):
            raise self.fail("this must be a table", key)
        return CheckedTable(value or {}, self.source, f"{self.where}.{key}" if self.where else key)

    def _finite(self, value: Any, key: str) -> float:
        good = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300
        if not good or not math.isfinite(value):
            raise self.fail(f"this must hold finite numbers, not {shown(value)}", key)
        return float(value)


def load_toml(path: str | Path) -> CheckedTable:
    """The top table of a TOML file."""
    file = Path(path)
    reading(file)
    try:
        with open(file, "rb") as opened:
            data = opened.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise CampaignError(f"the file is larger than {MAX_BYTES // 1_000_000} MB", file=path)
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise CampaignError("the file is not text", file=path) from None
    except OSError as err:
        raise CampaignError(f"the file cannot be read ({err.strerror or err})", file=path) from None
    return parse_options(text, str(path))


def parse_options(text: str, source: str) -> CheckedTable:
    """The top table of TOML text."""
    try:
        return CheckedTable(toml_document(text), source)
    except DocumentError as err:
        where = "" if err.line is None else f" (line {err.line})"
        raise CampaignError(f"{err}{where}", file=source) from None


def shown(value: object) -> str:
    """A value in a message, cut short."""
    text = repr(value)[:200]
    return text if len(text) <= 40 else text[:37] + "..."
