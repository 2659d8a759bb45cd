"""`make papers`: every page of docs/papers/, or those named on the command line."""

from __future__ import annotations

import importlib
import sys
import time

from papers.page import FOLDER, Page

PAPERS = ("gautier_khalil1990", "khalil_bennis_gautier", "lin1995", "khosla1987", "izaguirre1992")


def main() -> None:
    """Write the pages and say how long each took."""
    for name in sys.argv[1:] or PAPERS:
        start = time.perf_counter()
        page: Page = importlib.import_module(f"papers.{name}").page()
        page.save(FOLDER)
        print(f"docs/papers/{name}.md in {time.perf_counter() - start:.1f} s", flush=True)


main()
