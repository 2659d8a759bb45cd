"""Text layout for a terminal: tables and sentences that fit its width and break neither words nor numbers.

A table that is too wide has its cells wrapped between words, or becomes several tables that each begin with the same
columns, whichever takes fewer lines.  Headers of long words, such as names of files, are numbered and listed above.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

if TYPE_CHECKING:  # tables know robots, which takes half a second to import
    from minertia.report.tables import Table

GAP = "  "
LONG_HEADER = 16  # characters of a word in a header that may be numbered instead
SPLIT = 6  # lines that one more table must save
SHARES = (2, 3, 4, 6)  # a name longer than a half of a line, a third ... may be broken, the first that helps
LEAST = 40  # columns below which nothing is laid out narrower
_PARTS = re.compile(r"[^_\-/.:\\]*[_\-/.:\\]+|[^_\-/.:\\]+")


def table_lines(table: Table, width: int, rule: str = "-") -> list[str]:
    """Lines of a table; no line exceeds the width unless a single word does."""
    width = max(width, LEAST)
    legend: list[str] = []
    if _natural(table) > width and _has_long_headers(table):
        table, legend = _numbered(table)
    parts = min(_splits(table, width), key=lambda parts: sum(_height(p, width) + SPLIT for p in parts))
    blocks = [_drawn(part, width, rule) for part in parts]
    lines = [line for block in blocks for line in ("", *block)][1:]
    return [*(line for text in legend for line in wrapped(text, width, "     ")), *lines]


def wrapped(text: str, width: int, indent: str | None = None) -> list[str]:
    """Sentence wrapped to lines; continuation lines of a list or relation (`A = ...`) are indented to its text."""
    width = max(width, LEAST)
    if size(text) <= width:
        return [text]
    begin = re.match(r" *(?:\S+ +=|-|\d+) +|(?= *)", text)
    hang = indent if indent is not None else " " * min(begin.end() if begin and begin.end() else 2, width // 3)
    lines = [""]
    for gap, word in re.findall(r"( *)([^ ]+)", text):
        if lines[-1].strip() and size(lines[-1] + gap + word) > width:
            lines.append(hang + word)
        else:
            lines[-1] += gap + word
    return lines


def size(text: str) -> int:
    """Display width of a text on a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


# ---------------------------------------------------------------------- headers


def _has_long_headers(table: Table) -> bool:
    return any(len(word) > LONG_HEADER for header in table.headers[table.keys :] for word in header.split())


def _numbered(table: Table) -> tuple[Table, list[str]]:
    """Table with numbered headers, and their legend."""
    named = table.headers[table.keys :]
    headers = (*table.headers[: table.keys], *(str(k + 1) for k in range(len(named))))
    return replace(table, headers=headers), [*(f"{k:>3}  {header}" for k, header in enumerate(named, 1)), ""]


# ---------------------------------------------------------------------- columns


def _cells(table: Table, column: int) -> Iterator[str]:
    yield table.headers[column]
    for row in table.rows:
        yield row[column]


def _widest(table: Table, column: int) -> int:
    return max(map(size, _cells(table, column)), default=0)


def _narrowest(table: Table, column: int, limit: int) -> int:
    """Length of the longest word of a column; a name longer than the limit counts as its longest part.

    A number is not separated from its unit.
    """
    cells = iter(_cells(table, column))
    words = next(cells).split(" ")
    for cell in cells:
        words += [cell] if column in table.right else cell.split(" ")
    return max((size(piece) for word in words for piece in _pieces(word, limit)), default=0)


def _natural(table: Table) -> int:
    return _together([_widest(table, c) for c in range(len(table.headers))])


def _widths(table: Table, width: int) -> list[int]:
    """Width of each column: its natural width, with the widest ones reduced to fit."""
    columns = range(len(table.headers))
    if _natural(table) <= width:
        return [_widest(table, c) for c in columns]
    tried = [_least(table, width // share) for share in SHARES]
    least = next((found for found in tried if _together(found) <= width), tried[-1])
    wish = [max(least[c], *(size(row[c]) for row in table.rows), 0) for c in columns]  # headers may have several lines
    left = width - len(GAP) * (len(columns) - 1) - sum(least)
    widths = list(least)
    for c in sorted(columns, key=lambda c: wish[c] - least[c]):
        widths[c] += max(0, min(wish[c] - least[c], left))
        left -= widths[c] - least[c]
    return widths


def _least(table: Table, limit: int) -> list[int]:
    return [_narrowest(table, c, limit) for c in range(len(table.headers))]


def _together(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _fits(table: Table, width: int) -> bool:
    return _together(_least(table, width // SHARES[0])) <= width


def _part(table: Table, columns: Sequence[int]) -> Table:
    """Some columns of a table."""
    rows = tuple(tuple(row[c] for c in columns) for row in table.rows)
    right = tuple(k for k, c in enumerate(columns) if c in table.right)
    return replace(table, headers=tuple(table.headers[c] for c in columns), rows=rows, right=right)


def _splits(table: Table, width: int) -> Iterator[list[Table]]:
    """Yield splits of a table into one, two, three ... tables with similar numbers of columns.

    Splits that exceed the width are skipped, except the last one, which has one column per table (besides the
    key columns).
    """
    keys, others = list(range(table.keys)), list(range(table.keys, len(table.headers)))
    for count in range(1, len(others) + 1):
        sizes = [len(others) // count + (k < len(others) % count) for k in range(count)]
        starts = [sum(sizes[:k]) for k in range(count)]
        parts = [_part(table, [*keys, *others[s : s + n]]) for s, n in zip(starts, sizes, strict=True)]
        if count == len(others) or all(_fits(part, width) for part in parts):
            yield parts
    if not others:
        yield [table]


# ---------------------------------------------------------------------- lines


def _rows(table: Table, widths: Sequence[int]) -> Iterator[list[list[str]]]:
    """Wrapped lines of every cell of the header and of each row."""
    for row in (table.headers, *table.rows):
        yield [_wrapped_cell(cell, width) for cell, width in zip(row, widths, strict=True)]


def _height(table: Table, width: int) -> int:
    return sum(max(map(len, row), default=1) for row in _rows(table, _widths(table, width)))


def _drawn(table: Table, width: int, rule: str) -> list[str]:
    widths = _widths(table, width)
    lines: list[str] = []
    for number, row in enumerate(_rows(table, widths)):
        height = max(map(len, row), default=1)
        top = height if number == 0 else 0  # headers stand on the rule, cells begin at the top
        for k in range(height):
            cells = []
            for c, (cell, wide) in enumerate(zip(row, widths, strict=True)):
                place = k - (top - len(cell) if top else 0)
                text = cell[place] if 0 <= place < len(cell) else ""
                space = " " * (wide - size(text))
                cells.append(space + text if c in table.right else text + space)
            lines.append(GAP.join(cells).rstrip())
        if number == 0:
            lines.append(rule * _together(widths))
    return lines


@lru_cache(maxsize=4096)
def _wrapped_cell(cell: str, width: int) -> list[str]:
    if size(cell) <= width:
        return [cell]
    lines = [""]
    for word in cell.split(" "):
        for k, piece in enumerate(_pieces(word, width)):
            space = " " if k == 0 and lines[-1] else ""
            if lines[-1] and size(lines[-1] + space + piece) > width:
                lines.append(piece)
            else:
                lines[-1] += space + piece
    return lines


def _pieces(word: str, limit: int) -> list[str]:
    """Pieces of a word, none longer than the limit, broken after _ - / . : where possible."""
    if size(word) <= limit:
        return [word]
    pieces: list[str] = []
    for part in _PARTS.findall(word):
        for start in range(0, len(part), limit):
            piece = part[start : start + limit]
            if pieces and size(pieces[-1] + piece) <= limit:
                pieces[-1] += piece
            else:
                pieces.append(piece)
    return pieces
