"""`make papers`: every page of docs/papers/, or those named on the command line."""

from __future__ import annotations

import importlib
import sys
import time
from importlib import metadata
from pathlib import Path

PAPERS = ("gautier_khalil1990", "khalil_bennis_gautier", "lin1995", "khosla1987", "izaguirre1992")
NEEDED = ("docs/papers", "tests/codegen", "tests/golden", "src/minertia")  # beside this package


def missing(root: Path) -> str | None:
    """A sentence if the folders that the pages are made with are not there, as in an installed package."""
    absent = [name for name in NEEDED if not (root / name).is_dir()]
    if not absent:
        return None
    return (
        f"the papers' pages need a checkout of the repository: {root} has no {', '.join(absent)}; run them from there"
    )


def pinned() -> dict[str, str]:
    """Versions that the pages were written with, by package."""
    lines = (Path(__file__).parent / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if "==" in line)


def others() -> list[str]:
    """Packages of which another version is installed, or none, in words."""
    found = []
    for name, version in pinned().items():
        try:
            installed = metadata.version(name)
        except metadata.PackageNotFoundError:
            installed = "nothing"
        if installed != version:
            found.append(f"{name} {installed} instead of {version}")
    return found


def main() -> None:
    """Write the pages and say how long each took."""
    root = Path(__file__).parents[1]
    reason = missing(root)
    if reason is not None:
        sys.exit(reason)
    sys.path.insert(0, str(root))  # robots and counters of the tests
    unknown = [name for name in sys.argv[1:] if name not in PAPERS]
    if unknown:
        sys.exit(f"there is no page {', '.join(unknown)}; there are {', '.join(PAPERS)}")
    if differing := others():
        print(f"other versions than the pages were written with: {', '.join(differing)}; last digits may differ")
    from papers.page import FOLDER  # here: matplotlib, which the sentences above do not need

    for name in sys.argv[1:] or PAPERS:
        start, spent = time.perf_counter(), time.process_time()
        importlib.import_module(f"papers.{name}").page().save(FOLDER)
        taken, spent = time.perf_counter() - start, time.process_time() - spent
        print(f"docs/papers/{name}.md in {taken:.1f} s, {spent:.1f} s of processor time", flush=True)


if __name__ == "__main__":
    main()
