"""Rows of the league, one for each entry of a comparison, and their file `results.json`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "results.json"
DIGITS = 4  # of a figure: more is noise
OURS = "minertia"


@dataclass(frozen=True)
class Row:
    """One entry: who, on which subject and set of data, with its figures by name and unit.

    note: what the entry says or how it was set, in a few words.  stated: not measured in this run; the figures are
    those of an earlier run or of its authors, as the note says.
    """

    subject: str
    who: str
    set: str
    figures: dict[str, float | int | str | None] = field(default_factory=dict)
    note: str = ""
    stated: bool = False


@dataclass(frozen=True)
class Part:
    """Results of one part of the league.  skipped: a sentence for each rival that could not be had."""

    date: str
    seconds: float
    rows: tuple[Row, ...]
    skipped: tuple[str, ...] = ()


def read() -> dict[str, Part]:
    """All parts that have been measured, by name."""
    if not FILE.is_file():
        return {}
    found = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: Part(part["date"], part["seconds"], tuple(Row(**row) for row in part["rows"]), tuple(part["skipped"]))
        for name, part in found.items()
    }


def save(name: str, rows: Sequence[Row], skipped: Sequence[str], seconds: float, order: Sequence[str]) -> None:
    """Replace one part; entries of rivals that were skipped keep their former figures, marked as stated."""
    parts = read()
    now = {(row.subject, row.who, row.set) for row in rows}
    old = parts[name].rows if name in parts and skipped else ()
    kept = [
        Row(row.subject, row.who, row.set, row.figures, row.note, True)
        for row in old
        if row.who != OURS and (row.subject, row.who, row.set) not in now
    ]
    date = f"{datetime.now(UTC):%Y-%m-%d}"
    parts[name] = Part(date, round(seconds, 1), (*map(_rounded, rows), *kept), tuple(skipped))
    content = {key: _plain(parts[key]) for key in order if key in parts}
    lines = [f"{json.dumps(key)}: {_text(part)}" for key, part in content.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _rounded(row: Row) -> Row:
    figures = {k: float(f"{v:.{DIGITS}g}") if isinstance(v, float) else v for k, v in row.figures.items()}
    return Row(row.subject, row.who, row.set, figures, row.note, row.stated)


def _plain(part: Part) -> dict[str, Any]:
    return {
        "date": part.date,
        "seconds": part.seconds,
        "skipped": list(part.skipped),
        "rows": [*map(asdict, part.rows)],
    }


def _text(part: dict[str, Any]) -> str:
    """JSON with every row on one line, so that changes can be read."""
    rows = ",\n    ".join(json.dumps(row, ensure_ascii=False) for row in part["rows"])
    head = {key: part[key] for key in ("date", "seconds", "skipped")}
    return json.dumps(head, ensure_ascii=False)[:-1] + f', "rows": [\n    {rows}]}}'
