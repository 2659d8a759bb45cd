"""Report pages: the options --html and --pdf, and writing of the files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from minertia.cli.terminal import diagnose
from minertia.io.errors import InputError

Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write a report page (HTML).", show_default=False)
]
Pdf = Annotated[
    Path | None,
    typer.Option("--pdf", metavar="FILE", help="Write the report as PDF (extra 'pdf').", show_default=False),
]


def check_pages(html: Path | None, pdf: Path | None, *, force: bool) -> None:
    """Raise an error before the computation if a page cannot be written."""
    from minertia.io.files import check_file
    from minertia.report.bundle import require_bundle
    from minertia.report.pdf import require_browser

    for path in (html, pdf):
        if path is not None:
            check_file(path, force=force)
    if html is not None and pdf is not None and html.resolve() == pdf.resolve():
        raise InputError(f"{html}: two pages would have this name; give each its own name")
    if html or pdf:
        require_bundle()
    if pdf is not None:
        require_browser()


def write_pages(page: str, html: Path | None, pdf: Path | None, *, force: bool) -> None:
    """Write the requested pages, as HTML and as PDF."""
    from minertia.io.files import write_file
    from minertia.report.pdf import as_pdf

    if html is not None:
        write_file(html, page, force=force)
        diagnose(f"wrote {html}")
    if pdf is not None:
        write_file(pdf, as_pdf(page), force=force)
        diagnose(f"wrote {pdf}")


def print_page(page: Path, pdf: Path | None, *, force: bool) -> None:
    """Convert a written page to PDF, if requested; some results have no page."""
    if pdf is None:
        return
    if not page.is_file():
        raise InputError(f"this result has no page '{page.name}' to print")
    write_pages(page.read_text(encoding="utf-8"), None, pdf, force=force)
