"""What the page is made of: locked packages, and few bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minertia.studio.serve import STATIC

ROOT = Path(__file__).parents[2]
LARGEST = 1_500_000  # bytes of all files together, fonts included


def test_the_lock_file_names_no_host():
    """Whoever builds the page takes the packages from the registry that is set up there, each with its checksum."""
    packages = json.loads((ROOT / "studio" / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert len(packages) > 5
    assert not [name for name, entry in packages.items() if "resolved" in entry]
    assert all("integrity" in entry for name, entry in packages.items() if name)


def test_the_page_is_small():
    if not (STATIC / "index.html").is_file():
        pytest.skip("the page is not built; run `make studio`")
    assert sum(path.stat().st_size for path in STATIC.rglob("*") if path.is_file()) < LARGEST
