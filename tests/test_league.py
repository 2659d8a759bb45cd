"""The page of the league is what its results say, and its own algorithms are right."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from benchmarks.league import page, rows
from benchmarks.league.environments import PACKAGES, user_lines
from benchmarks.league.parts import ABOUT, PARTS, PICTURED, SMALLEST
from benchmarks.league.picture import Bar, bars
from benchmarks.league.rivals.pinocchio_rank import rank
from benchmarks.league.rivals.rpna import count
from benchmarks.league.rows import Row

import minertia as mi
from tests.random_robots import random_robot


def test_the_page_is_that_of_the_results() -> None:
    """Whoever changes results or page.py runs `python -m benchmarks.league page`."""
    for path, text in page.files().items():
        assert path.read_text(encoding="utf-8") == text, path
    assert {path for path in page.files() if path.suffix == ".svg"} == set(page.PICTURES.glob("*.svg"))


RIVALS = {"base_parameters": "RPNA", "arms": "FIGAROH", "without_effort": "mujoco.sysid", "calibration": "FIGAROH",
          "servos": "BAM", "friction": "NNFM", "speed": "CasADi", "gpu": "GRiD", "traps": "FIGAROH",
          "coverage": "white-noise"}  # fmt: skip


def test_measured_parts_have_their_rivals() -> None:
    """Rivals that a part is there for have a row, measured or stated."""
    found = rows.read()
    assert list(found) == [name for name in PARTS if name in found] and set(PARTS) == set(ABOUT) == set(RIVALS)
    assert {"base_parameters", "without_effort", "friction", "speed"} <= set(found)
    for name, part in found.items():
        assert any(RIVALS[name] in row.who for row in part.rows), name
        assert name not in PICTURED or any(PICTURED[name] in row.figures for row in part.rows), name
    values = [v for part in found.values() for row in part.rows for v in row.figures.values() if isinstance(v, float)]
    assert values and all(math.isfinite(v) for v in values)


def test_every_part_can_be_run_alone() -> None:
    for name in PARTS:
        assert "\ndef rows()" in (page.ROOT / "benchmarks" / "league" / f"{name}.py").read_text(encoding="utf-8")
    assert set(SMALLEST) <= set(PICTURED) <= set(PARTS) and all("==" in names[0] for names in PACKAGES.values())


def test_a_skipped_rival_keeps_its_figures_as_stated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "FILE", tmp_path / "results.json")
    ours, theirs = (Row("arm", who, "log", {"left": 1.23456789}) for who in ("minertia", "rival 1.0"))
    rows.save("arms", [ours, theirs], [], 1.0, tuple(PARTS))
    rows.save("arms", [Row("arm", "minertia", "log", {"left": 2.0})], ["rival 1.0 cannot be had"], 1.0, tuple(PARTS))
    first, second = rows.read()["arms"].rows
    assert (first.figures["left"], first.stated) == (2.0, False)
    assert (second.who, second.figures["left"], second.stated) == ("rival 1.0", 1.235, True)
    rows.save("arms", [ours], [], 1.0, tuple(PARTS))
    assert len(rows.read()["arms"].rows) == 1


@pytest.mark.parametrize("robot", ["planar2r", "puma560", "panda", "stanford", "gantry"])
def test_rpna_counts_base_parameters(robot: str) -> None:
    arm = mi.read_robot(robot)
    assert count(arm) == rank(arm) == mi.base_parameters(arm).count


@pytest.mark.parametrize("seed", range(4))
def test_rpna_counts_those_of_random_trees(seed: int) -> None:
    arm = random_robot(seed, tree=True, n=4)
    assert count(arm) == mi.base_parameters(arm).count


def test_bars_can_be_read() -> None:
    text = bars("a < b", [Bar("a & b", 40.0, True), Bar("c", 1e9, False), Bar("d", np.inf, False, True)], "left [%]")
    assert text is not None
    texts = [element.text for element in ElementTree.fromstring(text).findall(".//{*}text")]
    assert "a & b" in texts and "40" in texts and "1e+09" in texts and "d" not in texts
    assert bars("nothing", [], "left [%]") is None


def test_lines_of_a_users_script(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('"""One\n\ntwo.\n"""\n\n# three\nimport os\n\nprint(os)\n')
    assert user_lines(tmp_path / "a.py") == 2
