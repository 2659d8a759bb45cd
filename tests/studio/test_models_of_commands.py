"""Models that the command line wrote into a folder: the studio says whether they are those of the files there now."""

from __future__ import annotations

import os
import shutil
import tomllib
from pathlib import Path

import pytest

from minertia.cli import main
from minertia.identification.model_file import read_model, write_model
from minertia.studio.bindings import ProjectNow, files_read, reasons
from minertia.studio.project import Project
from tests.arm import recorded_arm


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    arm = tmp_path / "made"
    arm.mkdir()
    recorded_arm(arm)
    assert main(["identify", str(arm / "arm.urdf"), str(arm / "a.csv"), "--out", str(arm / "result")]) == 0
    return arm


def stale(folder: Path) -> list[str]:
    (model,) = (file.to_dict() for file in Project(folder).files() if file.kind == "model")
    assert all(why in model["title"] for why in model["stale"][:1])
    return list(model["stale"])


def test_a_model_names_what_it_was_made_of(folder: Path) -> None:
    document = tomllib.loads((folder / "result" / "model.toml").read_text())
    named = {file["name"]: file for file in document["made_of"]}
    assert {"../arm.urdf", "../a.csv"} <= named.keys() and "../b.csv" not in named
    assert all(len(file["sha256"]) == 64 and file["size"] > 0 for file in named.values())
    again = read_model(folder / "result" / "model.toml")
    assert [dict(file) for file in again.made_of] == document["made_of"]
    write_model(again, folder / "copy.toml")
    assert tomllib.loads((folder / "copy.toml").read_text())["made_of"] == document["made_of"]


def test_a_model_is_current_until_a_file_changes(folder: Path) -> None:
    assert stale(folder) == []
    (folder / "b.csv").write_text("another log")  # which it was not made of
    os.utime(folder / "a.csv")  # the same bytes, touched
    assert stale(folder) == []
    text = (folder / "a.csv").read_text()
    (folder / "a.csv").write_text(text[:-2] + ("1" if text[-2] != "1" else "2") + text[-1])  # of the same size
    assert stale(folder) == ["computed before a.csv changed"]
    (folder / "a.csv").write_text(text)
    assert stale(folder) == [], "the same again"
    (folder / "arm.urdf").write_text((folder / "arm.urdf").read_text() + "\n")
    assert stale(folder) == ["computed before arm.urdf changed"]
    (folder / "a.csv").unlink()
    assert stale(folder) == ["computed before arm.urdf changed", "computed from a.csv, which no longer exists"]


def test_a_folder_that_was_moved_or_copied_is_the_same(folder: Path, tmp_path: Path) -> None:
    moved = Path(shutil.copytree(folder, tmp_path / "moved"))
    assert stale(moved) == []
    (moved / "a.csv").write_text("t,q1\n")
    assert stale(moved) == ["computed before a.csv changed"] and stale(folder) == []


def test_a_result_of_such_a_model_says_so(folder: Path) -> None:
    """What was made with a model is as old as the model."""
    project = Project(folder)
    read = [str(folder / "result" / "model.toml")]
    made_of = {"files": files_read(read, folder, folder / "runs" / "1")}
    assert reasons(ProjectNow(project), "validate", made_of, lambda name: []) == []
    (folder / "a.csv").write_text("t,q1\n")
    (why,) = reasons(ProjectNow(project), "validate", made_of, lambda name: [])
    assert why == "computed from the model result/model.toml, computed before a.csv changed"


def test_models_that_say_nothing_or_nonsense_are_shown(folder: Path) -> None:
    model = folder / "result" / "model.toml"
    text = model.read_text()
    for change in ("made_of = 5", 'made_of = ["a"]', 'made_of = [{ name = 5, size = "x" }]', ""):
        start, _, rest = text.partition("[[made_of]]")
        model.write_text(
            start.replace("physical =", f"{change}\nphysical =", 1) + "[frames]" + rest.partition("[frames]")[2]
        )
        assert stale(folder) == []
