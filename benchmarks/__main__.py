"""`make bench`: every comparison in one run, into results/<instruction set>.json, and the page of all machines.

`python -m benchmarks SUBJECT ...` measures some of the subjects again.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from benchmarks import page, peers, results
from benchmarks.measure import Row
from minertia.codegen.kernels import build


def main() -> None:
    for subject in sys.argv[1:] or page.SUBJECTS:
        rows = []
        for row in importlib.import_module(f"benchmarks.{subject}").rows():
            rows.append(row)
            print(_line(row), flush=True)
        results.save(subject, rows, about())
        page.main()


def about() -> dict[str, Any]:
    """The machine, and what takes part."""
    native = build.native()
    width = f", interpreter built for {native.WIDTH}" if native else ""
    return {
        "machine": results.machine() + width,
        "versions": results.versions(),
        "compilers": _compilers(),
        "missing": peers.missing(),
    }


def _compilers() -> str:
    ours = [compiler.version for compiler in peers.c_compilers().values()]
    theirs = ", ".join(peers.cpp_libraries()[0]) or "none"
    return f"C compilers for ours: {', '.join(ours) or 'none'}; C++ compilers for the peers: {theirs}"


def _line(row: Row) -> str:
    ratio = "" if row.ratio is None else f"{row.ratio:.1f}"
    spread = f" ({row.spread[0]:.1f} to {row.spread[1]:.1f})" if row.spread else ""
    peer = "" if row.peer is None else f"{row.peer_name}: {page.time_text(row.peer)}"
    goal = f", goal {row.goal}" if row.goal else ""
    return f"{row.subject}: {page.time_text(row.ours)} | {peer} | {ratio}{spread}{goal} {row.note}"


if __name__ == "__main__":
    main()
