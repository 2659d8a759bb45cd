"""Logs as text: CSV with any common delimiter, also compressed with gzip.

pyarrow reads the file if it is installed; a file that it rejects is parsed again line by line, so that the
error message names the column and the row.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import importlib.util
import itertools
import math
import os
import zlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np

from minertia.identification.logs.columns import beside
from minertia.identification.logs.file import DROP, MOST_TORN, Block, LogFile, float_column, torn_rows
from minertia.identification.logs.options import DELIMITERS
from minertia.io.arrays import Array
from minertia.io.errors import RecordingError
from minertia.io.extras import load

if TYPE_CHECKING:
    from minertia.identification.logs.options import ColumnMap


EMPTY = ("", "nan", "NaN", "NAN", "NA", "N/A", "null", "None", "-nan", "nan(ind)", "-nan(ind)")
COMMENT = ("#", "%")  # start of a line before the header that says something else, or of the header itself
MOST_COMMENTS = 1000  # lines before the header
LOOKED_AT = 200  # rows that tell the decimal sign
MAX_LINE = 2_000_000  # characters; longer lines are not those of a table
CHUNK = 1_000_000  # characters read at once
MANY_CHARACTERS = 16_000_000  # of the lines of a block
DECIMAL = "decimal = ','"
BAD_FILE = (OSError, EOFError, zlib.error, UnicodeDecodeError)


class CsvLog(LogFile):
    """Text table with a header line, or with given column names."""

    def __init__(self, path: Path, columns: ColumnMap) -> None:
        super().__init__(path, columns)
        self.delimiter = columns.delimiter or ","
        self.decimal = columns.decimal
        self.has_header = not columns.header
        self._names: tuple[str, ...] | None = None
        self._skipped = 0  # lines before the first row

    def names(self) -> tuple[str, ...]:
        """Names of all columns, from the header line."""
        if self._names is None:
            self._names = self.unique(self._read_names())
        return self._names

    def blocks(self, wanted: Collection[str], rows: int) -> Iterator[Block]:
        """Iterate over the wanted columns in blocks of rows."""
        plain = self.delimiter != " " and not self.map.drop_torn  # what pyarrow can read
        if plain and importlib.util.find_spec("pyarrow") is not None:
            return self._with_arrow(wanted, rows)
        return self._with_numpy(wanted, rows)

    def weight(self) -> int:
        """Estimated size of all values in memory [bytes], from the length of the first row."""
        size = super().weight()
        if self.path.suffix == ".gz" and size > 4:
            with open(self.path, "rb") as file:
                file.seek(-4, os.SEEK_END)
                size = max(size, int.from_bytes(file.read(), "little"))  # as gzip has it at the end of a file
        columns = len(self.names())
        row = max(len(self._first_lines()[int(self.has_header)]) + 1, 2 * columns)
        return 8 * columns * (size // row)

    def decimal_sign(self) -> str:
        """Decimal sign with which the first rows parse as numbers; the given one if both or none do."""
        first, second = self._first_lines()
        delimiter = self.map.delimiter or _delimiter(first, second, ",")
        cells = [
            cell.strip()
            for line in next(self._lines(LOOKED_AT), [])
            for cell in (line.split() if delimiter == " " else line.split(delimiter))
            if cell.strip() not in EMPTY
        ]
        if delimiter == "," or not all(_number(cell, ",") is not None for cell in cells):
            return self.decimal
        return self.decimal if all(_number(cell, self.decimal) is not None for cell in cells) else ","

    def text_encoding(self) -> str:
        """Encoding in which the start of the file is printable text; the given one if there is none."""
        opener = gzip.open if self.path.suffix == ".gz" else open
        try:
            with opener(self.path, "rb") as file:
                head = file.read(CHUNK)
        except BAD_FILE as err:
            raise self._unreadable(err) from None
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        for encoding in (self.map.encoding, "windows-1252"):
            try:
                text = codecs.getincrementaldecoder(encoding)().decode(head)  # the last character may be cut
            except UnicodeDecodeError:
                continue
            if all(c.isprintable() or c.isspace() or c == "\ufeff" for c in text):
                return encoding
        return self.map.encoding

    def preview(self, rows: int) -> list[list[str]]:
        """Cells of the first rows as they are in the file."""
        names = self.names()
        return [self._cells(line.rstrip("\r"))[: len(names)] for line in next(self._lines(rows), [])]

    # ------------------------------------------------------------------ the header

    def _read_names(self) -> list[str]:
        first, second = self._first_lines()
        self.delimiter = self.map.delimiter or _delimiter(first, second, self.decimal)
        cells = self._cells(first)
        if self.map.header:
            if len(cells) != len(self.map.header):
                raise self.fail(
                    f"the first line has {len(cells)} values, but header names {len(self.map.header)} columns"
                )
            return list(self.map.header)
        if all(_number(cell, self.decimal) is not None for cell in cells):
            listed = ", ".join(f'"c{k + 1}"' for k in range(len(cells)))
            raise self.fail(
                f"the first line contains numbers, not names; {beside(self.path, f'header = [{listed}]')}, with "
                "the name of each column (such as t, q1, tau1) in place of c1 ..."
            )
        names = [cell.strip().strip("\ufeff") for cell in cells]
        if names[0][:1] in ("#", "%"):
            names[0] = names[0][1:].strip()
            names = names[1:] if not names[0] else names
        if len(names) == 1:
            raise self.fail(
                f"split at {self.delimiter!r} the header is one column, '{names[0][:60]}'; check the delimiter"
            )
        return names

    def _first_lines(self) -> tuple[str, str]:
        """Header line, or the first row if names are given, and the line after it."""
        try:
            with self._open() as file:
                lines = [file.readline(MAX_LINE), file.readline(MAX_LINE)]
                while _is_comment(lines[-2]) and len(lines) < MOST_COMMENTS:
                    lines.append(file.readline(MAX_LINE))
        except BAD_FILE as err:
            raise self._unreadable(err) from None
        start = self._start(lines)
        self._skipped = start + int(self.has_header)
        first, second = lines[start], (*lines, "")[start + 1]
        if not first.strip():
            raise self.fail("the file is empty")
        if len(first) >= MAX_LINE or "\0" in first or not first.rstrip("\r\n").isprintable() and "\t" not in first:
            raise self.fail("the file is not a text table")
        return first.rstrip("\r\n"), second.rstrip("\r\n")

    def _start(self, lines: Sequence[str]) -> int:
        """Index of the header line: the last comment if numbers follow it, else the first line after comments."""
        count = next((k for k, line in enumerate(lines) if not _is_comment(line)), 0)
        if not count or not self.has_header:
            return count
        cells = (
            lines[count].replace(";", " ").replace("\t", " ").replace(",", "." if self.decimal == "," else " ").split()
        )
        return count - all(_number(cell, self.decimal) is not None for cell in cells)

    def _cells(self, line: str) -> list[str]:
        if self.delimiter == " ":
            return line.split()
        try:
            return next(csv.reader([line], delimiter=self.delimiter), [""])
        except csv.Error:
            raise self.fail("the file is not a text table: a value is too long") from None

    def _open(self) -> IO[str]:
        opener = gzip.open if self.path.suffix == ".gz" else open
        errors = "replace" if self.map.drop_torn else "strict"  # bytes that are no text are part of a torn row
        encoding = "utf-8-sig" if self.map.encoding == "utf-8" else self.map.encoding
        return cast(IO[str], opener(self.path, "rt", encoding=encoding, errors=errors))

    def _unreadable(self, err: Exception) -> RecordingError:
        if isinstance(err, EOFError):
            return self.fail("the compressed file is truncated")
        if isinstance(err, UnicodeDecodeError):
            name = self.map.encoding.upper()
            return self.fail(f"the file is not a text table in {name}; save it as CSV in UTF-8")
        return self.fail(f"the file cannot be read ({getattr(err, 'strerror', None) or err})")

    # ------------------------------------------------------------------ the rows

    def _with_arrow(self, wanted: Collection[str], rows: int) -> Iterator[Block]:
        arrow, table_csv = load("pyarrow", "logs"), load("pyarrow.csv", "logs")
        names = self.names()
        chosen = [name for name in names if name in wanted]
        try:
            reader = table_csv.open_csv(
                str(self.path),
                read_options=table_csv.ReadOptions(
                    use_threads=False,
                    column_names=list(names),
                    skip_rows=self._skipped,
                    block_size=MAX_LINE,
                    encoding="utf8" if self.map.encoding == "utf-8" else self.map.encoding,
                ),
                parse_options=table_csv.ParseOptions(delimiter=self.delimiter),
                convert_options=table_csv.ConvertOptions(
                    column_types=dict.fromkeys(chosen, arrow.float64()),
                    include_columns=chosen,
                    null_values=list(EMPTY),
                    decimal_point=self.decimal,
                ),
            )
            row, waiting = 1, []
            for batch in reader:
                waiting.append(batch)
                if sum(b.num_rows for b in waiting) >= rows:
                    block = _block(arrow.Table.from_batches(waiting), row)
                    yield block
                    row, waiting = row + len(block.columns[chosen[0]]), []
            if waiting:
                yield _block(arrow.Table.from_batches(waiting), row)
        except (arrow.ArrowException, OSError, UnicodeDecodeError) as err:
            self._scan(chosen)
            reason = str(err).splitlines()[0][:200]
            raise self.fail(f"the file cannot be read as a table ({reason})") from None

    def _with_numpy(self, wanted: Collection[str], rows: int) -> Iterator[Block]:
        names = self.names()
        indices = [k for k, name in enumerate(names) if name in wanted]
        chosen = [names[k] for k in indices]
        row = 1
        for lines in self._lines(rows):
            values = self._loaded(lines, indices)
            if values is None:
                if not self.map.drop_torn:
                    self._scan(chosen)
                values = np.array([self._row_or_nan(line, row + k, indices) for k, line in enumerate(lines)])
            yield Block({name: np.ascontiguousarray(values[:, k]) for k, name in enumerate(chosen)}, row)
            row += len(lines)

    def _loaded(self, lines: Sequence[str], indices: Sequence[int]) -> Array | None:
        """Values of complete lines; None if a line is incomplete or contains anything but plain numbers."""
        split = None if self.delimiter == " " else self.delimiter
        if any(len(line.split(split)) != len(self.names()) for line in lines):
            return None
        text = [line.replace(",", ".") for line in lines] if self.decimal == "," else lines
        try:
            return np.loadtxt(text, delimiter=split, usecols=indices, ndmin=2, comments=None)
        except ValueError:
            return None

    def _lines(self, rows: int) -> Iterator[list[str]]:
        try:
            with self._open() as file:
                for _ in range(self._skipped):
                    file.readline(MAX_LINE)
                full = (line for line in self._split(file) if line.strip())
                while block := _some(full, rows):
                    yield block
        except BAD_FILE as err:
            raise self._unreadable(err) from None

    def _split(self, file: IO[str]) -> Iterator[str]:
        """Iterate over the lines of a file; raises an error for an overlong line."""
        rest = ""
        while chunk := file.read(CHUNK):
            first, *lines = chunk.split("\n")
            rest += first
            if len(rest) > MAX_LINE:
                raise self.fail(f"the file is not a text table: a line has more than {MAX_LINE} characters")
            if lines:
                yield rest
                rest = lines.pop()
                yield from lines
        yield rest

    def _row_or_nan(self, line: str, row: int, indices: Sequence[int]) -> list[float]:
        """Values of a line; all NaN if the line is malformed."""
        try:
            return self._row(line, row, indices)
        except RecordingError:
            return [math.nan] * len(indices)

    def _scan(self, wanted: Sequence[str]) -> None:
        """Locate the first malformed value for the error message, and count the malformed rows."""
        indices = [k for k, name in enumerate(self.names()) if name in wanted]
        first: RecordingError | None = None
        torn: list[int] = []
        row = 1
        for lines in self._lines(10_000):
            for k, line in enumerate(lines):
                try:
                    self._row(line, row + k, indices)
                except RecordingError as err:
                    first = first or err
                    torn.append(row + k)
            row += len(lines)
        if first is not None:
            advice = f"; {torn_rows(torn)}: {DROP}" if len(torn) <= MOST_TORN * (row - 1) else ""
            raise self.fail(first.message + advice, first.column, first.row)

    def _row(self, line: str, row: int, indices: Sequence[int]) -> list[float]:
        names = self.names()
        try:
            cells = self._cells(line)
        except csv.Error:
            raise self.fail("the line cannot be split into values", None, row) from None
        if len(cells) < len(names):
            raise self.fail(
                f"the line has {len(cells)} of {len(names)} values; check whether the log was truncated",
                names[max(len(cells) - 1, 0)],
                row,
            )
        if len(cells) > len(names):
            raise self.fail(f"the line has {len(cells)} values, but the header names {len(names)} columns", None, row)
        return [self._value(cells[k], names[k], row) for k in indices]

    def _value(self, cell: str, name: str, row: int) -> float:
        cell = cell.strip()
        value = math.nan if cell in EMPTY else _number(cell, self.decimal)
        if value is None:
            hint = "; this is a second header: check whether the file contains two logs" if cell in self.names() else ""
            if _number(cell, ",") is not None:
                hint = f"; if the decimal sign is a comma, {beside(self.path, DECIMAL)}"
            elif cell.count(":") > 1:
                hint = "; write times as numbers of seconds"
            raise self.fail(f"{cell[:40]!r} is not a number{hint}", name, row)
        return value


def _is_comment(line: str) -> bool:
    return line.lstrip('\ufeff \t"').startswith(COMMENT)


def _some(lines: Iterator[str], rows: int) -> list[str]:
    """Next lines, up to a number of rows or of characters."""
    block: list[str] = []
    left = MANY_CHARACTERS
    for line in itertools.islice(lines, rows):
        block.append(line)
        left -= len(line)
        if left < 0:
            break
    return block


def _block(table: Any, row: int) -> Block:
    columns = {name: float_column(table[name]) for name in table.column_names}
    return Block(columns, row)


def _number(cell: str, decimal: str) -> float | None:
    text = cell.strip()
    if decimal == ",":
        text = text.replace(",", ".")
    if "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def _delimiter(first: str, second: str, decimal: str) -> str:
    """Delimiter that splits the header into the most fields, and the next line into as many."""

    def parts(line: str, delimiter: str) -> int:
        return len(line.split()) if delimiter == " " else line.count(delimiter) + 1

    options = [d for d in DELIMITERS if not (d == "," and decimal == ",")]
    fitting = [d for d in options if parts(first, d) > 1 and (not second or parts(first, d) == parts(second, d))]
    return max(fitting or options, key=lambda d: (parts(first, d), -options.index(d)))


__all__ = ["CsvLog"]
