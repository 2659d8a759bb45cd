"""`python -m benchmarks.page`: docs/benchmarks.md, docs/benchmarks-all.md and their pictures, from all results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.bars import Group, bars
from benchmarks.measure import Row

SUBJECTS = {
    "batches": "Many samples",
    "single_sample": "One sample at a time, in C",
    "one_call": "One call from Python",
    "fits": "Least squares",
    "excitation": "Exciting motions",
    "long_log": "A long log",
    "fleet_scale": "A fleet",
    "building": "Waiting times",
    "studio": "The studio",
}
# the rows of the first page, one for each question a user has: subject, row, peer, what it is called there
HEADLINES = (
    ("batches", "inverse dynamics, batch, panda, compiled (clang)", "Pinocchio C++ (clang++)",
     "inverse dynamics of many samples, Panda"),
    ("batches", "base regressor in cache, panda, compiled (clang)", "Pinocchio C++ (clang++)",
     "regressor of many samples, Panda"),
    ("single_sample", "inverse dynamics, C to C, panda, clang, own sines", "Pinocchio C++ (clang++)",
     "inverse dynamics of one sample in C, own sines, Panda"),
    ("single_sample", "inverse dynamics, C to C, panda, gcc, own sines", "CasADi C (gcc)",
     "the same against code of CasADi"),
    ("one_call", "one call from Python, new array, panda, compiled (clang)", "pin.rnea", "one call from Python, Panda"),
    ("fits", "least squares, any condition: with a triangle, panda, compiled (clang)", "Pinocchio matrix + numpy lstsq",
     "least squares of a Panda"),
    ("excitation", "excitation, search with 1 start(s), panda",
     "SLSQP with finite differences over a loop of Pinocchio", "search of an excitation trajectory, Panda"),
    ("long_log", "1e+07 samples of puma560, Parquet: filter and fit", "Pinocchio matrix + numpy lstsq",
     "ten million samples filtered and fitted, PUMA 560"),
)  # fmt: skip
FIRST = """*Evidence.* For those who choose a tool by its speed.

How many times as fast as its peer minertia is, in processor time of one thread; 1 is equally fast.  Each result is
first compared with Pinocchio's (torques to 1e-12 of the largest).  [All benchmarks](benchmarks-all.md) has every row,
with times, quartiles, machines and versions, and rows in which minertia is slower."""
TEXT = """*Evidence.* For those who want every measurement behind the [headline figures](benchmarks.md).

Written by `make bench` on each machine in turn.  Minertia and its peer run in one process, in turns of equal length
unless noted (up to 20 ms: a processor takes some 0.2 ms to settle on the clock of wide vectors, which the rows "after
other code" show; turns before 2026-11-17 were one batch or loop each).  Figures are medians of the processor time of
one thread; brackets hold the quartiles of the ratio.  Our regressor has the base columns, Pinocchio's all 10 n; "in
cache" means computed, not written to memory.  Of peers in C and C++ the build of the faster compiler counts.  Goals are
for machines with AVX-512 (8 lanes); half of those for batches where there is only AVX2 (4 lanes).  NEON has 2 lanes.
The pictures show the rows that have a goal.  RobCoGen (pip install robcogen2) is not compared: its code needs the Lua
module template-text and the C++ headers iit-rbd, which PyPI does not have."""
ROOT = Path(__file__).parents[1]
FIRST_PAGE, PAGE = ROOT / "docs" / "benchmarks.md", ROOT / "docs" / "benchmarks-all.md"
PICTURES = PAGE.parent / "images" / "benchmarks"
DEVICES = {"h200": "NVIDIA H200"}
Sets = Mapping[str, dict[str, Any]]
Key = tuple[str, str]


def main() -> None:
    """Write the page and its pictures."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")


def files() -> dict[Path, str]:
    """Everything that is made of the results, with its text."""
    sets = {name: found for name in results.SETS if (found := results.read(name))}
    lines = ["# All benchmarks", "", *TEXT.splitlines(), "", *_machines(sets)]
    made = _headlines(sets)
    for subject, title in SUBJECTS.items():
        table = _table(sets, subject)
        if not table:
            continue
        lines += [f"## {title}", ""]
        groups = [group for key, rows in table.items() if (group := _group(key, rows)) is not None]
        if groups:
            made[PICTURES / f"{subject}.svg"] = bars(title, groups, results.SETS)
            lines += [f"![{title}: ratios to the peers as bars](images/benchmarks/{subject}.svg)", ""]
        lines += [*_rows(table, [name for name in sets if subject in sets[name]["subjects"]]), ""]
    for name, title in DEVICES.items():
        device = results.read(name)
        if device:
            lines += [f"## On a GPU: {title}", "", *_device(device), ""]
    return {PAGE: "\n".join(lines), **made}


def _headlines(sets: Sets) -> dict[Path, str]:
    """The first page with its one picture."""
    tables = {subject: _table(sets, subject) for subject in SUBJECTS}
    rows = [(title, tables[subject].get((what, peer))) for subject, what, peer, title in HEADLINES]
    found = [(title, row) for title, row in rows if row]  # some sets of results hold a few subjects only
    if not found:
        return {}
    peers = {title: peer.partition(" (")[0] for _, _, peer, title in HEADLINES}
    groups = [Group(title, {name: row.ratio for name, row in rows.items() if row.ratio}, None) for title, rows in found]
    table = [
        f"| what | peer | {' | '.join(results.SETS[name] for name in sets)} |",
        "| --- | --- |" + " --- |" * len(sets),
    ]
    for group in groups:
        cells = [f"{group.ratios[name]:.3g}" if name in group.ratios else "" for name in sets]
        table.append(f"| {group.label} | {peers[group.label]} | {' | '.join(cells)} |")
    picture = "![Ratios to the peers as bars](images/benchmarks/headlines.svg)"
    page = ["# Benchmarks", "", *FIRST.splitlines(), "", *table, "", picture, ""]
    return {
        FIRST_PAGE: "\n".join(page),
        PICTURES / "headlines.svg": bars("Ratios to the peers", groups, results.SETS, has_goals=False),
    }


def _machines(sets: Sets) -> Iterator[str]:
    for name, found in sets.items():
        dates = sorted({part["date"] for part in found["subjects"].values()})
        when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
        about = "; ".join([found["machine"], when, ", ".join(found["versions"]), found["compilers"]])
        yield f"- **{results.SETS[name]}**: {about}."
        if found.get("missing"):
            yield f"  Not compared there: {'; '.join(found['missing'])}."
    yield ""


def _table(sets: Sets, subject: str) -> dict[Key, dict[str, Row]]:
    """(what, peer) -> the row of each set, in the order of the first set that has it."""
    table: dict[Key, dict[str, Row]] = {}
    for name, found in sets.items():
        for entry in found["subjects"].get(subject, {"rows": []})["rows"]:
            row = results.from_json(entry)
            table.setdefault((row.subject, row.peer_name), {})[name] = row
    return table


def _goal(rows: Mapping[str, Row]) -> float | None:
    return next((row.goal for row in rows.values() if row.goal is not None), None)


def _group(key: Key, rows: Mapping[str, Row]) -> Group | None:
    """The bars of a row that has a goal."""
    ratios = {name: row.ratio for name, row in rows.items() if row.ratio is not None}
    goal = _goal(rows)
    if goal is None or not ratios:
        return None
    what, peer = key
    return Group(f"{what} / {_short(peer)}", ratios, goal)


def _short(peer: str) -> str:
    """The name of a peer for a picture."""
    if peer.startswith("pin."):
        return "pin"
    known = {"SLSQP with": "SLSQP", "Pinocchio matrix": "lstsq", "finite differences": "Pinocchio"}
    return next((word for start, word in known.items() if peer.startswith(start)), peer.partition(" (")[0])


def _rows(table: Mapping[Key, Mapping[str, Row]], names: Sequence[str]) -> Iterator[str]:
    titles = [results.SETS[name] for name in names]
    yield f"| what | peer | {' | '.join(titles)} | goal |"
    yield "| --- | --- |" + " --- |" * (len(names) + 1)
    for (what, peer), rows in table.items():
        cells = [_cell(rows[name]) if name in rows else "" for name in names]
        yield f"| {what} | {peer} | {' | '.join(cells)} | {_goal(rows) or ''} |"


def _cell(row: Row) -> str:
    note = f" ({row.note})" if row.note else ""
    if row.ratio is None or row.peer is None:
        return f"{time_text(row.ours)}{note}"
    spread = f" ({row.spread[0]:.1f} to {row.spread[1]:.1f})" if row.spread else ""
    return f"**{row.ratio:.1f}**{spread}: {time_text(row.ours)}, peer {time_text(row.peer)}{note}"


def _device(found: dict[str, Any]) -> Iterator[str]:
    """One line for each program; precisions side by side."""
    yield f"{found['about']}; {found['date']}; {', '.join(found['versions'])}.  Rates are samples in a second."
    yield ""
    yield "| program | arrays | double | single |"
    yield "| --- | --- | --- | --- |"
    table: dict[Key, dict[str, str]] = {}
    for row in found["rows"]:
        table.setdefault((row["program"], row["arrays"]), {})[row["precision"]] = _rate(row)
    for (program, arrays), cells in table.items():
        yield f"| {program} | {arrays} | {cells.get('double', '')} | {cells.get('float', '')} |"


def _rate(row: dict[str, Any]) -> str:
    if "seconds" in row:
        return time_text(row["seconds"])
    rate = row["rate"]
    text = f"{rate / 1e9:.3g} G/s" if rate >= 4e8 else f"{rate / 1e6:.3g} M/s"
    return text + (f", {100 * row['share']:.0f} % of a copy" if "share" in row else "")


def time_text(s: float) -> str:
    """A time with its unit."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if s * factor >= 1:
            return f"{s * factor:.3g} {unit}"
    return f"{s * 1e9:.3g} ns"


if __name__ == "__main__":
    main()
