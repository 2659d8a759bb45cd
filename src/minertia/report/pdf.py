"""Pages as PDF, printed by a local browser: the one module that imports Playwright (extra `pdf`)."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from minertia.io.errors import MinertiaError
from minertia.io.extras import load

EXTRA = "pdf"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
# our own page, which asks nothing of anybody; the sandbox of the browser does not start for root
ARGUMENTS = (
    *("--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--use-angle=swiftshader", "--enable-unsafe-swiftshader"),  # 3-D in software, where nothing else draws it
)
MARGIN = "14mm"
DRAWN = 'id="data"'  # in pages that a script draws
READY = "html[data-ready='yes']"  # a condition in words of script would need what the page's own policy forbids


def require_browser() -> str:
    """Path of a browser for printing; if there is none, the error says what to install."""
    load("playwright.sync_api", EXTRA)
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        raise MinertiaError(
            "a PDF is printed by Chromium or Chrome, and none was found on the path; install one, or write the page "
            "with --html and print it"
        )
    return found


def as_pdf(page: str) -> bytes:
    """PDF of a report page, A4, in light colours."""
    with ThreadPoolExecutor(1) as thread:  # notebooks have a loop of events in their own, which Playwright refuses
        return thread.submit(_printed, page).result()


def _printed(page: str) -> bytes:
    playwright: Any = load("playwright.sync_api", EXTRA)
    path = require_browser()
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        try:
            # as wide as the paper, so that plots are drawn in the width in which they are printed
            tab = browser.new_page(color_scheme="light", viewport={"width": 800, "height": 1100}, device_scale_factor=2)
            tab.emulate_media(media="print")  # before anything is drawn, in the sizes of paper
            tab.set_content(page)
            if DRAWN in page:
                tab.wait_for_selector(READY, state="attached")
            margins = dict.fromkeys(("top", "right", "bottom", "left"), MARGIN)
            return bytes(tab.pdf(format="A4", print_background=True, margin=margins))
        finally:
            browser.close()
