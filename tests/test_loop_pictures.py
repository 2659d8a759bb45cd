"""The pictures of the page on closed loops are those of the bundled robots as they are."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
NUMBER = re.compile(r"-?\d+\.\d+")


def drawing():
    spec = importlib.util.spec_from_file_location("loop_pictures", ROOT / "tools" / "loop_pictures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["palletiser", "parallelogram_arm", "five_bar", "delta"])
def test_the_picture_is_that_of_the_robot(name):
    tool = drawing()
    there = (tool.IMAGES / f"loops-{name.replace('_', '-')}.svg").read_text(encoding="utf-8")
    drawn = tool.picture(name)
    assert NUMBER.sub("0", there) == NUMBER.sub("0", drawn)
    # a tenth of a pixel may be rounded either way
    np.testing.assert_allclose(*([float(v) for v in NUMBER.findall(text)] for text in (there, drawn)), atol=0.11)
    assert set(tool.VIEWS) == {"palletiser", "parallelogram_arm", "five_bar", "delta"}
