"""`minertia excite`: files, JSON, limits, and clear sentences."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minertia.cli import main
from minertia.excitation.trajectory import Trajectory

Run = Callable[..., tuple[int, str, str]]
QUICK = ("--harmonics", 2, "--starts", 1, "--samples", 60, "--duration", 4, "--no-friction", "--no-rotors")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*args: object) -> tuple[int, str, str]:
        code = main([str(a) for a in args])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call


def test_motion_for_the_controller(run: Run, tmp_path: Path) -> None:
    limits = ("--limits", "position=1", "--limits", "velocity=0.8,0.7", "--limits", "acceleration=3")
    code, out, err = run("excite", "planar2r", *QUICK, *limits, "--out", tmp_path / "new", "--json")
    assert code == 0, err
    data = json.loads(out)
    assert data["robot"] == "planar 2R" and data["format"] == 1 and data["condition"] > 1
    assert all(p["deviation"] > 0 for p in data["parameters"].values())
    motion = Trajectory.load(tmp_path / "new" / "excitation.csv")
    assert np.abs(motion.q).max() <= 1 and np.all(np.abs(motion.qd).max(axis=0) <= [0.8, 0.7])
    assert np.abs(motion.qd[[0, -1]]).max() < 1e-9
    assert "start 1 of 1" in err and "excitation.html" in err
    assert "minertia-page" in (tmp_path / "new" / "excitation.html").read_text(encoding="utf-8")


def test_limits_from_a_file_and_a_start(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "limits.toml"
    file.write_text("position = [[-1.0, 0.5], [-0.5, 1.0]]\nvelocity = 1.0\nacceleration = [3.0, 4.0]\n")
    code, out, err = run("excite", "planar2r", *QUICK, "--limits", file, "--start", "0.1,0.2", "--out", tmp_path)
    assert code == 0 and "condition number" in out, err
    assert Trajectory.load(tmp_path / "excitation.csv").q[0] == pytest.approx([0.1, 0.2])


@pytest.mark.parametrize(
    "args, sentence",
    [
        (("planar2r", "--duration", 0), "positive duration"),
        (("planar2r", "--limits", "velocity=0"), "cannot move: its limit of velocity is 0"),
        (("planar2r", "--limits", "velocity=a"), "numbers separated by commas"),
        (("planar2r", "--limits", "velocity=1,2,3"), "one finite number or 2"),
        (("planar2r", "--limits", "speed=1"), "'speed' is no limit"),
        (("planar2r", "--limits", "nowhere.toml"), "neither NAME=VALUES nor a file"),
        (("planar2r", "--limits", "effort=file"), "has none in its file"),
        (("planar2r", "--start", "0,x"), "numbers separated by commas"),
        (("planar2r", "--start", "0,0,0"), "2"),
        (("planar2r", "--start", "9,9", "--limits", "position=1"), "limit of position"),
        (("planar2r", "--criterion", "best"), "criterion"),
        (("puma560_physical", "--limits", "effort=1"), "effort"),
    ],
)
def test_sentences(run: Run, tmp_path: Path, args: tuple[object, ...], sentence: str) -> None:
    code, out, err = run("excite", *args, "--out", tmp_path / "never")
    assert code == 2 and out == "" and sentence in err and "Traceback" not in err, err
    assert not (tmp_path / "never").exists()


def test_floating_base(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "free.toml"
    file.write_text('base = "floating"\n[[joint]]\nkind = "revolute"\n')
    code, _, err = run("excite", file, "--out", tmp_path)
    assert code == 2 and "floating base has no motors" in err
