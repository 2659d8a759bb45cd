"""Draw faults, run them, and list what was not noticed.

python -m tools.mutants --count 300 --seed 0 --jobs 2 --out build/mutants.txt
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from tools.mutants.run import Run
from tools.mutants.sites import Fault, drawn, unchanged

LEFT_OUT = (
    *(".git", ".venv", "build", "dist", "wheels", "docs", "*.egg-info"),
    *("__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis"),
)


def main() -> None:
    """Take the options and do it, all in a copy of the tree."""
    given = _options()
    here = Path(__file__).resolve().parents[2]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the copy is removed then, too
    folder = Path(tempfile.mkdtemp(prefix="minertia-mutants-"))
    try:
        root = folder / "tree"
        shutil.copytree(here, root, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
        faults = unchanged(root) if given.control else drawn(root, given.count, given.seed)
        faults = _chosen(faults, given)
        Run(root, faults, given.jobs, given.minutes, given.out and given.out.resolve()).all()
    finally:
        shutil.rmtree(folder)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=300, help="faults to draw")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="of the faults drawn those of sources with this in their name")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--slice", default="1/1", metavar="K/N", help="of the faults drawn the K-th of N parts")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no fault after them")
    parser.add_argument("--control", action="store_true", help="put in nothing, once in a source: none may be noticed")
    parser.add_argument("--again", type=Path, help="an earlier list: only what was not noticed there is run")
    parser.add_argument("--out", type=Path, help="file for the list of faults; it is written as they are run")
    return parser.parse_args()


def _chosen(faults: list[Fault], given: argparse.Namespace) -> list[Fault]:
    """Those of the faults drawn that are to be run."""
    part, parts = (int(word) for word in given.slice.split("/"))
    faults = [fault for fault in faults if given.only in fault.file]
    if given.again is not None:
        lines = given.again.read_text("utf-8").splitlines()
        faults = [
            fault for fault in faults if any(line.endswith(f" {fault}") and " killed" not in line for line in lines)
        ]
    return faults[part - 1 :: parts]


if __name__ == "__main__":
    main()
