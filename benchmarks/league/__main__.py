"""`make league`: every part in one run, into results.json and docs/benchmarks-league.md.

`python -m benchmarks.league PART ...` measures some of the parts again; `page` writes the page only.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import time

from benchmarks.league import page, rows
from benchmarks.league.environments import ROOT, Unavailable
from benchmarks.league.parts import PARTS


def main() -> int:
    """Run parts, each in a process of its own, one after the other; the exit code says whether one failed."""
    wanted = sys.argv[1:] or [*PARTS, "page"]
    if len(wanted) > 1:
        codes = [
            subprocess.run([sys.executable, "-m", "benchmarks.league", name], cwd=ROOT).returncode for name in wanted
        ]
        return max(codes)
    if wanted != ["page"]:
        measure(wanted[0])
    page.main()
    return 0


def measure(name: str) -> None:
    """Measure one part and store its rows."""
    found, skipped, start = [], [], time.monotonic()
    for entry in importlib.import_module(f"benchmarks.league.{name}").rows():
        if isinstance(entry, Unavailable):
            skipped.append(str(entry))
            print(f"{name}: skipped: {entry}", flush=True)
            continue
        found.append(entry)
        figures = ", ".join(f"{key} {page.number(value)}" for key, value in entry.figures.items())
        print(f"{name}: {entry.subject}, {entry.who}, {entry.set}: {figures}; {entry.note}", flush=True)
    rows.save(name, found, skipped, time.monotonic() - start, tuple(PARTS))


if __name__ == "__main__":
    sys.exit(main())
