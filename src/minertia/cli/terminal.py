"""Printing: tables, JSON on stdout, everything that is not a result on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

from minertia.errors import visible

if TYPE_CHECKING:
    from minertia.report.tables import Table
    from minertia.robot.robot import Note, Robot

PIPED_WIDTH = 240  # columns of a table that is not read on a terminal
PARTS = ("joint", "link")  # of a robot; several of them can share a note
PROBLEMS = ("warning", "error")  # levels of notes and findings that count as such
_COLOURS = {"error": "bold red", "warning": "yellow", "info": "cyan"}


def clean(text: object) -> str:
    """One line for the terminal: control characters of names and files become visible."""
    return visible(str(text))


def say(text: object = "") -> None:
    """A result, line by line, on stdout."""
    for line in str(text).split("\n"):
        print(clean(line))


def diagnose(text: object) -> None:
    """One line about how things went, on stderr."""
    print(clean(str(text).replace("\n", " ")), file=sys.stderr)


def say_json(data: Any) -> None:
    """The result as JSON, plain ASCII, on stdout."""
    print(json.dumps(data, indent=1, allow_nan=False))


def say_table(table: Table, title: str = "") -> None:
    """A table; piped into a file it is not cut to the width of a screen."""
    import rich.box
    import rich.table
    from rich.text import Text

    shown = rich.table.Table(title=Text(clean(title)) if title else None, box=rich.box.SIMPLE, title_justify="left")
    for c, header in enumerate(table.headers):
        shown.add_column(Text(clean(header)), justify="right" if c in table.right else "left", overflow="fold")
    for row in table.rows:
        shown.add_row(*(Text(clean(cell)) for cell in row))
    _console(sys.stdout).print(shown)


def say_notes(notes: Iterable[Note], file: TextIO | None = None) -> None:
    """Notes of a reader, a check or a writer, one line each; what holds for several joints is said once."""
    from rich.text import Text

    groups: dict[tuple[str, str, int | None, str], list[str]] = {}
    for note in notes:
        kind, _, name = note.where.partition(" ")
        key, place = (kind, name) if kind in PARTS else (note.where, "")
        groups.setdefault((note.level, note.text, note.line, key), []).append(place)
    console = _console(file or sys.stdout)
    for (level, said, line, key), places in groups.items():
        names = ", ".join(dict.fromkeys(places))
        where = f"{key}{'s' * (len(places) > 1)} {names}" if names else key
        where += "" if line is None else f" (line {line})"
        console.print(Text.assemble((f"{level}: ", _COLOURS[level]), clean(f"{where}: {said}")), soft_wrap=True)


def say_changed_geometry(robot: Robot, option: str = "") -> None:
    """The count of parameters depends on which angles were taken for right angles, so it is never silent.

    option: of the command, that switches it off.
    """
    changed = [note for note in robot.notes if note.is_geometry]
    if changed:
        places = ", ".join(dict.fromkeys(note.where for note in changed))
        diagnose(
            f"minertia: rounded in the file and taken as meant: {places}; 'minertia check' lists each change"
            + (f", '{option}' keeps what is written" if option else "")
        )


def problem_count(problems: int) -> str:
    """How many problems a check found, in words."""
    return {0: "nothing wrong was found", 1: "1 problem"}.get(problems, f"{problems} problems")


def note_data(notes: Iterable[Note]) -> list[dict[str, Any]]:
    """Notes as plain data."""
    return [{"level": n.level, "where": n.where, "text": n.text, "line": n.line} for n in notes]


def forgiving_streams() -> None:
    """Characters that the terminal cannot show are written as escapes instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def drop_stdout() -> None:
    """Nobody reads any more: what is still in the buffer goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _console(file: TextIO) -> Any:
    import rich.console

    return rich.console.Console(file=file, width=None if file.isatty() else PIPED_WIDTH, highlight=False)
