"""The committed pages of the quick papers are what the code writes, byte for byte."""

from __future__ import annotations

import importlib
import re

import pytest
from papers.page import FOLDER


@pytest.mark.parametrize("name", ["gautier_khalil1990", "khalil_bennis_gautier"])
def test_the_committed_page_is_the_one_that_is_computed(name, tmp_path):
    importlib.import_module(f"papers.{name}").page().save(tmp_path)
    assert (tmp_path / f"{name}.md").read_text() == (FOLDER / f"{name}.md").read_text()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.md")), ids=lambda p: p.stem)
def test_figures_are_there(path):
    for image in re.findall(r"\]\((images/[^)]+)\)", path.read_text(encoding="utf-8")):
        assert (FOLDER / image).is_file()
