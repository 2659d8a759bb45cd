"""Pictures of the studio for the documentation: python -m tools.studio_pictures FOLDER, a folder with runs in it.

With --all also every step in light and dark, wide and narrow, to look at, into build/studio.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tests.studio.browser import browser
from tests.studio.running import running

IMAGES = Path(__file__).parents[1] / "docs" / "images"
STEPS = ("robot", "excite", "data", "identify", "validate", "control", "code", "fleet", "runs")


def visit(page: Any, address: str) -> None:
    """Load a step and wait until nothing of it is on its way."""
    page.goto(address)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(1500)


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--all", action="store_true")
    asked = parser.parse_args()
    with running(asked.folder) as at, browser() as chromium:
        for name in ("robot", "validate"):
            page = chromium.new_context(viewport={"width": 1440, "height": 900}).new_page()
            visit(page, at.address + name)
            if name == "robot":
                page.locator("table.parameters tbody tr").nth(5).hover()
                page.wait_for_timeout(500)
            page.screenshot(path=str(IMAGES / f"studio-{name}.png"))
        for width, theme in [(w, t) for w in (1440, 390) for t in ("light", "dark")] if asked.all else []:
            out = Path("build/studio")
            out.mkdir(parents=True, exist_ok=True)
            page = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=theme).new_page()
            for name in STEPS:
                visit(page, at.address + name)
                page.screenshot(path=str(out / f"{name}-{width}-{theme}.png"), full_page=True)


if __name__ == "__main__":
    main()
