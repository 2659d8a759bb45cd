"""`python -m benchmarks.league page`: docs/benchmarks-league.md and its pictures, from results.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.league import rows
from benchmarks.league.parts import ABOUT, PARTS, PICTURED, SMALLEST
from benchmarks.league.picture import Bar, bars
from benchmarks.league.rows import OURS, Part, Row

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "benchmarks-league.md"
PICTURES = ROOT / "docs" / "images" / "league"
TEXT = """*Evidence.* For those who compare minertia with other programs before they choose one.

`make league` writes this page and `benchmarks/league/results.json`, which has every figure of it.  `python -m
benchmarks.league PART` repeats one part.  Rivals run at pinned versions in environments of their own under
`build/league`; one that cannot be had is skipped in a sentence, and its figures are then marked *stated*.  Every
prediction of efforts, ours included, is evaluated by `minertia score`.  Times are processor seconds of one thread.
Public logs and robot files are not part of this repository: without them a part runs on planted data alone.  Each
part says how its choices were made."""


def main() -> None:
    """Write the page and its pictures."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")


def files() -> dict[Path, str]:
    """Everything that is made of the results, with its text."""
    lines, made = ["# The league", "", *TEXT.splitlines(), ""], dict[Path, str]()
    for name, part in rows.read().items():
        lines += [f"## {PARTS[name]}", "", *ABOUT[name].splitlines(), ""]
        drawn = bars(PARTS[name], _bars(part, PICTURED[name]), PICTURED[name]) if name in PICTURED else None
        if drawn:
            made[PICTURES / f"{name}.svg"] = drawn
            lines += [f"![{PARTS[name]}: {PICTURED[name]} of each entry as bars](images/league/{name}.svg)", ""]
        if name in SMALLEST:
            lines += [_best(part, PICTURED[name]), ""]
        lines += [*_tables(part), ""]
        lines += [f"Skipped: {sentence}." for sentence in part.skipped]
        command = f"`python -m benchmarks.league {name}`"
        lines += [f"Made on {part.date} in {part.seconds:.0f} s by {command}.", ""]
    return {PAGE: "\n".join(lines), **made}


def _best(part: Part, measure: str) -> str:
    """Sentence on the entries with the smallest figure, of the subjects that several have one of."""
    found: dict[str, list[tuple[float, str]]] = {}
    for row in part.rows:
        value = row.figures.get(measure)
        if isinstance(value, int | float):
            found.setdefault(row.subject, []).append((float(value), row.who))
    best = [min(entries, key=lambda entry: entry[0])[1] for entries in found.values() if len(entries) > 1]
    told = ", ".join(f"{who} on {count} of {len(best)}" for who, count in Counter(best).most_common())
    return f"Smallest {measure}: {told}."


def _bars(part: Part, measure: str) -> list[Bar]:
    found = []
    for row in part.rows:
        value = row.figures.get(measure)
        if isinstance(value, int | float):
            found.append(Bar(_short(row), float(value), row.who.startswith(OURS), row.stated))
    return found


def _short(row: Row) -> str:
    """Label of a bar."""
    subject = row.subject if row.set in (row.subject, "") else f"{row.subject}, {row.set}"
    return f"{subject}: {row.who}" if len(subject) < 65 else f"{row.subject}: {row.who}"


def _tables(part: Part) -> Iterator[str]:
    """A table for each run of rows with the same figures."""
    keys: tuple[str, ...] | None = None
    for row in part.rows:
        own = _columns(part, row)
        if own != keys:
            if keys is not None:
                yield ""
            keys = own
            yield f"| subject | entry | data | {' | '.join(keys)}{' | ' if keys else ''}note |"
            yield "| --- | --- | --- |" + " --- |" * (len(keys) + 1)
        cells = [number(row.figures.get(key)) for key in keys]
        mark = " (stated)" if row.stated else ""
        note = row.note.replace("|", "/")
        yield f"| {' | '.join([row.subject, row.who + mark, row.set, *cells, note])} |"


def _columns(part: Part, row: Row) -> tuple[str, ...]:
    """Names of all figures of the rows that share the first figure of this one, so that they stand in one table."""
    first = next(iter(row.figures), None)
    alike = [r for r in part.rows if next(iter(r.figures), None) == first]
    return tuple(dict.fromkeys(key for r in alike for key in r.figures))


def number(value: object) -> str:
    """A figure as text."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
