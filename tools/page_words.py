"""`python -m tools.page_words`: words of each page of docs/, by its kind.

A page says its kind and its readers in its first line: *How-to.* For ...  A word is anything between spaces that holds
a letter or a digit, code and tables included.  Pages that are written by programs (papers, benchmarks) and the history
of development are counted, but not bounded.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
KINDS = ("Tutorial", "How-to", "Reference", "Explanation", "Evidence")
BOUND = 50_000  # words that somebody can read and somebody keeps true
UNBOUNDED = ("papers", "history", "images")
# pages of capabilities that were added after the bound was set
NEWER = ("howto/calibrate.md", "howto/legs.md", "howto/sample.md", "howto/usd.md", "howto/wrench.md")
FIRST = re.compile(rf"\A# .+\n\n\*({'|'.join(KINDS)})\.\* For \w")


def pages() -> list[Path]:
    """The pages that count."""
    found = sorted(path for path in DOCS.rglob("*.md") if path.name != "index.md" or path.parent != DOCS)
    return [path for path in found if path.relative_to(DOCS).parts[0] not in UNBOUNDED]


def is_bounded(path: Path) -> bool:
    """Whether the page is written by hand, about what was there when the bound was set."""
    return not path.name.startswith("benchmarks") and path.relative_to(DOCS).as_posix() not in NEWER


def kind(path: Path) -> str | None:
    """What a page says it is, None where it does not say so and for whom."""
    found = FIRST.match(path.read_text(encoding="utf-8"))
    return found[1] if found else None


def words(path: Path) -> int:
    """Words of a page."""
    return sum(bool(re.search(r"\w", word)) for word in path.read_text(encoding="utf-8").split())


def total() -> int:
    """Words of all pages that are bounded, the page of contents included."""
    return sum(words(path) for path in (DOCS / "index.md", *filter(is_bounded, pages())))


def main() -> None:
    """Print the words of each page, of each kind and of all."""
    sums: Counter[str] = Counter()
    for path in pages():
        name = kind(path) or "no kind"
        sys.stdout.write(f"{words(path):7}  {name:12} {path.relative_to(DOCS)}\n")
        if is_bounded(path):
            sums[name] += words(path)
    for name, count in sums.items():
        sys.stdout.write(f"{count:7}  {name}\n")
    sys.stdout.write(f"{total():7}  of at most {BOUND}\n")


if __name__ == "__main__":
    main()
