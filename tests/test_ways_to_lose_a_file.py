"""Ways to lose a file, command by command: whatever is named for the output, what is read stays as it was."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import inside
from tests.arm import recorded_arm
from tests.conftest import Run
from tests.test_files import largest_file, tree

FLEET = """format = 1
[types.arm]
robot = "arm.urdf"
filter = { cutoff_hz = 20.0 }
[[robots]]
id = "A?"
"""
Setup = Callable[[Path], object]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A robot, logs, a model, a fleet and its store."""
    folder = recorded_arm(tmp_path_factory.mktemp("project"))
    logs = folder / "logs" / "robot=A1"
    logs.mkdir(parents=True)
    shutil.copy(folder / "a.csv", logs / "2026-03-02.csv")
    (folder / "FLEET.toml").write_text(FLEET)
    for line in (
        ["identify", "arm.urdf", "a.csv", "--out", "result"],
        ["fleet", "add", "logs", "--fleet", "FLEET.toml", "--store", "store", "--workers", "0"],
    ):
        done = inside.command(line, folder)
        assert done.returncode == 0, done.stderr
    return folder


def soft(name: str, to: str) -> Setup:
    def make(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to(folder / to)

    return make


def hard(name: str, to: str) -> Setup:
    def make(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        os.link(folder / to, folder / name)

    return make


def mine(*names: str) -> Setup:
    def make(folder: Path) -> None:
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text("mine")

    return make


def both(*setups: Setup) -> Setup:
    return lambda folder: [setup(folder) for setup in setups]


def nothing(folder: Path) -> None:
    """As it is."""


IDENTIFY, PAYLOAD = "identify arm.urdf a.csv b.csv", "payload result/model.toml b.csv"
WAYS: dict[str, tuple[Setup, str]] = {
    "slash": (nothing, "validate result/model.toml b.csv --html b.csv/ --force"),
    "two slashes": (nothing, "convert arm.urdf .//arm.urdf --force"),
    "dots": (nothing, "significance arm.urdf a.csv --html result/../a.csv --force"),
    "a file as a folder": (nothing, f"{IDENTIFY} --out a.csv --force"),
    "below a file": (nothing, f"{IDENTIFY} --out a.csv/x --force"),
    "a link in the folder": (soft("o/model.toml", "a.csv"), f"{IDENTIFY} --out o --force"),
    "a hard link in the folder": (hard("o/result.json", "b.csv"), f"{IDENTIFY} --out o --force"),
    "a link to the folder": (both(soft("o", "."), soft("model.toml", "a.csv")), f"{IDENTIFY} --out o --force"),
    "a link to a link": (both(soft("x.html", "y"), soft("y", "b.csv")), f"{PAYLOAD} --html x.html --force"),
    "the robot's own name": (hard("robot.urdf", "arm.urdf"), "identify robot.urdf a.csv --out . --force"),
    "somebody else's file": (mine("report.html"), f"{IDENTIFY} --out ."),
    "a link to somebody else's file": (both(mine("z"), soft("x.html", "z")), f"{PAYLOAD} --html x.html"),
    "nowhere": (soft("x.html", "none/there"), f"{PAYLOAD} --html x.html --force"),
    "a folder": (nothing, f"{PAYLOAD} --html result --force"),
    "the model itself": (nothing, "compare result/model.toml result/model.toml --html result/model.toml --force"),
    "the map of columns": (mine("map.toml"), f"{PAYLOAD} --columns map.toml --html map.toml --force"),
    "a prior": (hard("o/model.toml", "result/model.toml"),
                f"{IDENTIFY} --physical --prior result/model.toml --out o --force"),
    "the last log of a campaign": (nothing, "campaign new arm.urdf a.csv b.csv --out b.csv --force"),
    "the robot of a campaign": (nothing, "campaign new arm.urdf a.csv --out arm.urdf --force"),
    "code": (mine("README.md"), "generate arm.urdf --out ."),
    "levels": (nothing, "watch result/model.toml b.csv --normal a.csv --out a.csv --force"),
    "a store in logs": (nothing, "fleet add logs --fleet FLEET.toml --store logs --workers 0"),
    "a store in a project": (nothing, "fleet add logs --fleet FLEET.toml --store . --workers 0"),
    "a store that is a file": (nothing, "fleet add logs --fleet FLEET.toml --store FLEET.toml --workers 0"),
    "a store of somebody else": (mine("s/store.toml"), "fleet add logs --fleet FLEET.toml --store s --workers 0"),
    "what a store says": (nothing, "fleet drift --store store --html store/store.toml --force"),
    "a page over the store": (nothing, "fleet report --store store --out store/store.toml --force"),
    "no store": (nothing, "fleet compact --store logs"),
    "a demo over a campaign": (mine("campaign.toml"), "demo --out ."),
    "other letters": (nothing, "convert ARM.URDF arm.urdf --force"),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_lost(run: Run, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    folder = Path(shutil.copytree(project, tmp_path / "project"))
    setup, line = WAYS[way]
    setup(folder)
    monkeypatch.chdir(folder)
    before = tree(folder)
    code, _, err = run(*line.split())
    assert code == 2 and "Traceback" not in err, err
    assert tree(folder) == before, "nothing changed at all"


@pytest.mark.parametrize("size", [1, 3000, 20_000])
def test_a_disk_that_is_full_leaves_the_older_result(
    run: Run, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """No file may be longer than so many bytes; the older result stays whole."""
    folder = Path(shutil.copytree(project, tmp_path / "project"))
    monkeypatch.chdir(folder)
    before = tree(folder)
    with largest_file(size):
        code, _, err = run("identify", "arm.urdf", "b.csv", "--out", "result")
    assert code in (2, 3) and tree(folder) == before, err


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for this user")
def test_a_folder_that_is_read_only(run: Run, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(shutil.copytree(project, tmp_path / "project"))
    monkeypatch.chdir(folder)
    before = tree(folder)
    (folder / "result").chmod(0o555)
    try:
        code, _, err = run("identify", "arm.urdf", "b.csv", "--out", "result", "--force")
        assert code == 2 and tree(folder) == before, err
    finally:
        (folder / "result").chmod(0o755)
