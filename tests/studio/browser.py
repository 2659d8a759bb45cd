"""Headless Chromium for tests of the page: started once, or a sentence why not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from minertia.studio.serve import STATIC

ROOT = Path(__file__).parents[2]
AXE = ROOT / "studio" / "node_modules" / "axe-core" / "axe.min.js"
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# no sandbox: tests often run as root; the rest keeps the browser from asking anything of anybody
ARGUMENTS = (
    *("--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
    *("--disable-gpu-compositing", "--disable-gpu-rasterization", "--mute-audio"),  # software does 3-D alone: less work
)


def missing() -> str | None:
    """Why pages cannot be tested here."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "the package 'playwright' is not installed"
    if executable() is None:
        return f"no browser was found ({', '.join(NAMES)}); install chromium"
    if not (STATIC / "index.html").is_file():
        return "the page is not built; run `make studio`"
    return None


def executable() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def need_browser() -> None:
    """Skip with a sentence; where the browser is demanded (in continuous integration), fail with it."""
    why = missing()
    if why is None:
        return
    if os.environ.get("MINERTIA_NEEDS_BROWSER"):
        pytest.fail(f"tests of the page must run here: {why}")
    pytest.skip(f"tests of the page need a browser: {why}")


@contextmanager
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=executable(), args=list(ARGUMENTS))
        try:
            yield found
        finally:
            found.close()


class Visit:
    """A page of the studio that notes every error and every request to elsewhere.  entrance: address with token."""

    def __init__(self, chromium: Any, entrance: str, width: int = 1440) -> None:
        self.address, self.faults = entrance.partition("?")[0], []
        self.context = chromium.new_context(
            viewport={"width": width, "height": 900}, accept_downloads=True, reduced_motion="reduce"
        )
        if "?token=" in entrance:
            assert self.context.request.get(entrance).ok  # its cookie
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("request", self._request)

    def _console(self, message: Any) -> None:
        refused = "the server responded with a status of 4" in message.text  # of what the test does wrong on purpose
        if message.type == "error" and not refused:
            self.faults.append(f"console: {message.text}")

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.faults.append(f"request to elsewhere: {request.url}")

    def go(self, path: str) -> None:
        self.page.goto(self.address + path)

    def serious(self) -> list[str]:
        """What axe finds serious in the page as it stands."""
        assert AXE.is_file(), "make studio installs axe-core"
        # through the debugger, since the page's own policy allows no foreign script
        if not self.page.evaluate("typeof axe !== 'undefined'"):
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{v['id']}: {v['nodes'][0]['target']} {v['nodes'][0]['failureSummary']}"
            for v in found["violations"]
            if v["impact"] in ("serious", "critical")
        ]
