"""What the pages say about the repository around them: files that are no pages, pages that are not there yet."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

OUTSIDE = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+)([^)]+)\)")
PAPERS = re.compile(r"```\{toctree\}\n(?::[^\n]*\n)*\n(?:papers/[^\n]*\n)+```\n")


def fit_to_repository(app: Sphinx, page: str, source: list[str]) -> None:
    """Links out of docs/ become names of files; the list of papers goes where `make papers` has not been run."""
    source[0] = OUTSIDE.sub(lambda found: _shown(found, depth=page.count("/") + 1), source[0])
    if not any(Path(app.srcdir, "papers").glob("*.md")):
        source[0] = PAPERS.sub("", source[0])


def _shown(found: re.Match[str], depth: int) -> str:
    """[text](../CHANGELOG.md) as text (`CHANGELOG.md`): the file is not among the pages."""
    text, ups, target = found.groups()
    if ups.count("../") < depth:
        return found.group(0)
    return text if text.strip("`") == target.rstrip("/") else f"{text} (`{target}`)"


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", fit_to_repository)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
