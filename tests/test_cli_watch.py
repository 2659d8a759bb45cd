"""`minertia watch`: what it prints, writes and ends with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minertia.cli import main
from minertia.identification.online.levels import read_levels
from tests.arm import LOAD, recorded_arm
from tests.conftest import Run


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = recorded_arm(tmp_path_factory.mktemp("arm"))
    assert main(["identify", str(folder / "arm.urdf"), str(folder / "a.csv"), "--out", str(folder / "result")]) == 0
    return folder


def test_a_load_is_named_and_ends_with_1(arm: Path, run: Run) -> None:
    model = arm / "result" / "model.toml"
    normal = ("--normal", arm / "b.csv", arm / "c.csv")
    code, out, _ = run("watch", model, arm / "a.csv", *normal, "--out", arm / "levels")
    assert code == 0 and "a.csv: no change was detected in 12.0 s" in out and "and were evaluated in" in out
    code, out, _ = run("watch", model, arm / "loaded.csv", "--levels", arm / "levels" / "levels.toml", "--json")
    (seen,) = json.loads(out)["watched"]
    (alarm,) = seen["alarms"]
    assert code == 1 and alarm["what"] == "load" and alarm["raised"] < 3.0
    assert alarm["mass"] == pytest.approx(LOAD, abs=4 * alarm["deviation"]) and alarm["deviation"] < 0.1
    assert seen["false_alarms_per_hour"] == 0.1 and 0.5 < seen["judged"] <= 1
    code, out, _ = run("watch", model, arm / "loaded.csv", *normal)
    assert code == 1 and "loaded.csv: payload changed: 0 -> 0.7" in out
    assert "loaded.csv: caution: these logs do not determine" in out  # a planar arm shows one moment of inertia
    levels = read_levels(arm / "levels" / "levels.toml")
    assert "arm_watch_levels arm_levels = {" in (arm / "levels" / "watch_levels.h").read_text()
    assert levels.joints == ("shoulder", "elbow") and levels.rate == pytest.approx(200.0)


def test_a_robot_that_stands_is_not_said_to_be_unchanged(arm: Path, run: Run) -> None:
    head, *rows = (arm / "loaded.csv").read_text().splitlines()
    columns = head.split(",")
    first = rows[0].split(",")
    still = [
        ",".join(
            r if name.startswith(("t", "tau")) else f for name, r, f in zip(columns, row.split(","), first, strict=True)
        )
        for row in rows
    ]
    (arm / "still.csv").write_text("\n".join([head, *still]) + "\n")
    normal = ("--normal", arm / "b.csv", arm / "c.csv")
    code, out, err = run("watch", arm / "result" / "model.toml", arm / "still.csv", *normal)
    assert code == 0 and "joints moved and were evaluated in 0 % of the time)" in out, out + err


def test_wrong_input_is_one_sentence(arm: Path, run: Run) -> None:
    model = arm / "result" / "model.toml"
    short = (arm / "a.csv").read_text().splitlines()[:5]
    (arm / "short.csv").write_text("\n".join(short) + "\n")
    for args, sentence in (
        ((model, arm / "a.csv"), "--normal LOG"),
        ((model, arm / "a.csv", "--levels", model), "kind = 'levels of a watch'"),
        ((model, arm / "a.csv", "--levels", arm / "none.toml"), "--out DIR"),
        ((model, arm / "a.csv", "--normal", arm / "b.csv", "--velocities"), "no velocities"),
        ((model, arm / "a.csv", "--normal", arm / "b.csv", "--per-hour", 0), "per_hour of WatchOptions must be"),
        ((model, arm / "short.csv", "--normal", arm / "b.csv", arm / "c.csv"), "a time block of the monitor"),
    ):
        code, _, err = run("watch", *args)
        assert code == 2 and sentence in err and len(err.splitlines()) <= 4
