"""Pictures of the studio for the documentation: python -m tools.studio_pictures FOLDER, a folder with runs in it.

With --all also every step, and every page (*.html) below the folder, in light and dark, wide and narrow, to look at,
into build/studio; --only NAME takes those whose name holds NAME.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tests.studio.browser import browser
from tests.studio.running import running

IMAGES = Path(__file__).parents[1] / "docs" / "images"
OUT = Path("build/studio")
STEPS = ("robot", "excite", "data", "identify", "validate", "control", "code", "fleet", "runs")


def visit(page: Any, address: str) -> None:
    """Load a step and wait until nothing of it is on its way."""
    page.goto(address)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(700)


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    with running(asked.folder) as at, browser() as chromium:
        for name in () if asked.only else ("robot", "validate"):
            page = chromium.new_context(viewport={"width": 1440, "height": 900}).new_page()
            page.goto(at.entrance)
            visit(page, at.address + name)
            if name == "robot":
                page.locator("table.parameters tbody tr").nth(5).hover()
                page.wait_for_timeout(500)
            page.screenshot(path=str(IMAGES / f"studio-{name}.png"))
        if asked.all:
            steps = {name: at.address + name for name in STEPS}
            pages = {"_".join(path.parts[-2:])[:-5]: path.as_uri() for path in asked.folder.resolve().rglob("*.html")}
            _looked_at(chromium, at.entrance, {n: address for n, address in (steps | pages).items() if asked.only in n})


def _looked_at(chromium: Any, entrance: str, addresses: dict[str, str]) -> None:
    """Pictures of whole pages in every width and theme."""
    OUT.mkdir(parents=True, exist_ok=True)
    for width in (1440, 390):
        for theme in ("light", "dark"):
            page = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=theme).new_page()
            page.goto(entrance)
            for name, address in addresses.items():
                visit(page, address)
                page.screenshot(path=str(OUT / f"{name}-{width}-{theme}.png"), full_page=True)


if __name__ == "__main__":
    main()
