"""Pages in tests: what they hold, with the studio's build or, without it, with templates that draw nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from minertia.report import bundle

BUILT = bundle.is_built()
TEMPLATE = f'<!DOCTYPE html>\n<html lang="en">\n<head>{bundle.HEAD}</head>\n<body>{bundle.DATA}</body>\n</html>\n'


def need_build() -> None:
    """Skip what needs the script of the studio."""
    if not BUILT:
        pytest.skip(f"pages are not built: {bundle.NOT_BUILT}")


def write_templates(folder: Path) -> None:
    """Templates without a script."""
    for name in (bundle.PLAIN, bundle.SCENE):
        (folder / name).write_text(TEMPLATE, encoding="utf-8")


def page_data(page: str) -> Any:
    """What a page has its script draw: kind, title, version, view."""
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert len(found) == 1
    return json.loads(found[0])


def page_text(page: str) -> str:
    """Every text that a page shows, one below the other, in order."""
    return "\n".join(_texts(page_data(page)))


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for v in value.values() for text in _texts(v)]
    if isinstance(value, list):
        return [text for v in value for text in _texts(v)]
    return [value] if isinstance(value, str) else []
