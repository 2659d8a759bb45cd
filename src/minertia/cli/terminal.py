"""Terminal output: tables and JSON on stdout, diagnostics on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO

from minertia.io.errors import visible

if TYPE_CHECKING:
    from minertia.report.tables import Table
    from minertia.robot.robot import Note, Robot

USUAL_WIDTH = 80  # columns of a table that is not read on a terminal
PARTS = ("joint", "link")  # of a robot; several of them can share a note
PROBLEMS = ("warning", "error")  # levels of notes and findings that count as such
_COLOURS = {"error": "bold red", "warning": "yellow", "info": "cyan"}


def clean(text: object) -> str:
    """Text as one terminal line, with control characters made visible."""
    return visible(str(text))


def say(text: object = "", *, wrap: bool = True) -> None:
    """Print a result to stdout; wraps at word boundaries on a terminal, unless wrap is False."""
    from minertia.report.layout import wrapped

    width = width_of(sys.stdout) if wrap else None
    for line in map(clean, str(text).split("\n")):
        print(line if width is None else "\n".join(wrapped(line, width)))


def width_of(file: TextIO) -> int | None:
    """Terminal width of a stream in characters, or COLUMNS if set; None for a file or a pipe."""
    told = os.environ.get("COLUMNS", "")
    if told.isascii() and told.isdigit() and int(told) > 0:
        return int(told)
    try:
        return os.get_terminal_size(file.fileno()).columns or None if file.isatty() else None
    except (OSError, ValueError):  # streams that are no files
        return None


def diagnose(text: object) -> None:
    """Print a diagnostic line to stderr; wraps at word boundaries on a terminal."""
    line = clean(str(text).replace("\n", " "))
    width = width_of(sys.stderr) if sys.stderr.isatty() else None
    if width is not None:
        from minertia.report.layout import wrapped

        line = "\n".join(wrapped(line, width))
    print(line, file=sys.stderr)


def say_json(data: Any) -> None:
    """Print the result as ASCII JSON to stdout."""
    print(json.dumps(data, indent=1, allow_nan=False))


def say_table(table: Table, title: str = "", *, last: bool = True) -> None:
    """Print a table that fits the terminal, or 80 columns, between empty lines; last: no other table follows."""
    from rich.text import Text

    from minertia.report.layout import table_lines

    rows = tuple(tuple(map(clean, row)) for row in table.rows)
    cleaned = replace(table, headers=tuple(map(clean, table.headers)), rows=rows)
    rule = "\u2500" if (sys.stdout.encoding or "").lower().replace("-", "") == "utf8" else "-"
    console, width = _console(sys.stdout), width_of(sys.stdout) or USUAL_WIDTH
    lines = ["", *([clean(title)] if title else []), *table_lines(cleaned, width, rule), *([""] if last else [])]
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        console.print(Text(line, style="bold" if after.startswith(rule) else ""), soft_wrap=True)


def say_notes(notes: Iterable[Note], file: TextIO | None = None) -> None:
    """Print notes of a reader, a check or a writer, one line each; notes shared by several joints appear once."""
    from rich.text import Text

    from minertia.report.layout import wrapped

    groups: dict[tuple[str, str, int | None, str], list[str]] = {}
    for note in notes:
        kind, _, name = note.where.partition(" ")
        key, place = (kind, name) if kind in PARTS else (note.where, "")
        groups.setdefault((note.level, note.text, note.line, key), []).append(place)
    stream = file or sys.stdout
    console = _console(stream)
    width = width_of(stream) if stream is sys.stdout or stream.isatty() else None
    for (level, said, line, key), places in groups.items():
        names = ", ".join(dict.fromkeys(places))
        where = f"{key}{'s' * (len(places) > 1)} {names}" if names else key
        where += "" if line is None else f" (line {line})"
        text = clean(f"{level}: {where}: {said}")
        for part in [text] if width is None else wrapped(text, width):
            start = f"{level}: " if part.startswith(f"{level}: ") else ""
            console.print(Text.assemble((start, _COLOURS[level]), part.removeprefix(start)), soft_wrap=True)


def say_changed_geometry(robot: Robot, option: str = "") -> None:
    """Report joint placements that were snapped to exact values, as they change the number of parameters.

    option: command-line option that switches the snapping off.
    """
    changed = [note for note in robot.notes if note.is_geometry]
    if changed:
        places = ", ".join(dict.fromkeys(note.where for note in changed))
        diagnose(
            (f"minertia: rounded in the file and snapped to exact values: {places}; 'minertia check' lists each change")
            + (f", '{option}' keeps the written values" if option else "")
        )


def problem_count(problems: int) -> str:
    """Number of problems found by a check, in words."""
    return {0: "nothing wrong was found", 1: "1 problem"}.get(problems, f"{problems} problems")


def note_data(notes: Iterable[Note]) -> list[dict[str, Any]]:
    """Convert notes to plain data."""
    return [{"level": n.level, "where": n.where, "text": n.text, "line": n.line} for n in notes]


def forgiving_streams() -> None:
    """Make the streams write unsupported characters as escapes instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def drop_stdout() -> None:
    """Discard buffered stdout after its reader has closed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _console(file: TextIO) -> Any:
    import rich.console

    return rich.console.Console(file=file, width=width_of(file) or USUAL_WIDTH, highlight=False)
