"""`minertia generate` and `minertia count` as a user runs them."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from minertia.cli import main
from minertia.robot.formats.dh.write import toml_text
from tests.loop_robots import ram

KEYS = {"multiplications", "additions", "trigonometric", "functions", "inputs", "outputs", "lines"}


def test_counts_as_json(capsys):
    assert main(["count", "scara", "--programs", "inverse_dynamics,gravity", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert set(data["programs"]) == {"inverse_dynamics", "gravity"}
    assert all(set(count) == KEYS for count in data["programs"].values())


def test_the_formulation_of_composite_bodies_is_counted_in_its_own_parameters(capsys):
    """Without naming parameters, of which this formulation takes minimal linear combinations alone."""
    said = []
    for more in ([], ["--parameters", "mlc"]):
        assert main(["count", "stanford", "--formulation", "mlc", "--programs", "inverse_dynamics", *more]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert main(["count", "stanford", "--formulation", "mlc", "--parameters", "base"]) == 2
    assert "choose the parameters mlc" in capsys.readouterr().err


def test_steps_that_close_loops_are_chosen(tmp_path, capsys):
    """A slide between two hinges, which has no closed form; each step costs operations."""
    path = tmp_path / "ram.toml"
    path.write_text(toml_text(ram("slider")), encoding="utf-8")
    found = []
    for more in ([], ["--closing-steps", "3"], ["--closing-steps", "1"]):
        assert main(["count", str(path), "--programs", "gravity", "--json", *more]) == 0
        found.append(json.loads(capsys.readouterr().out)["programs"]["gravity"]["multiplications"])
    assert found[0] == found[1] > found[2]
    assert main(["count", str(path), "--closing-steps", "0"]) == 2
    assert "--closing-steps must be an integer from 1 to 20, not 0" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_written_folder_builds_and_passes_its_own_test(tmp_path, capsys):
    out = tmp_path / "code"
    args = ["generate", "stanford", "--rotors", "--gravity", "0", "0", "-9.81", "--out", str(out), "--json"]
    assert main(args) == 0
    data = json.loads(capsys.readouterr().out)
    assert {"inverse_dynamics", "background", "synchronous"} == set(data["programs"])
    done = subprocess.run(["make", "-C", str(out)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok" in done.stdout


@pytest.mark.parametrize(("target", "file"), [("fmu", "stanford_arm.fmu"), ("ros2", "package.xml")])
def test_other_targets(target, file, tmp_path, capsys):
    assert main(["generate", "stanford", "--target", target, "--payload", "--out", str(tmp_path / "x"), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert file in data["files"]
    assert all((tmp_path / "x" / name).is_file() for name in data["files"])


def test_an_fmu_without_a_compiler_says_so(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert main(["generate", "stanford", "--target", "fmu", "--out", str(tmp_path)]) == 0
    assert "no C compiler" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (["--programs", "inverse_dynamic"], "inverse_dynamics"),
        (["--target", "cobol"], "target"),
        (["--target", "fmu", "--float"], "double"),
        (["--target", "fmu", "--programs", "gravity,mass_matrix"], "one program"),
        (["--parameters", "magic"], "magic"),
        (["--programs", "jacobian", "--frame", "tool0"], "its frames are base, j1, j2, j3, j4, j5, j6"),
        (["--programs", "jacobian", "--axes", "body"], '--axes must be "world" or "link"'),
    ],
)
def test_wrong_choices_get_a_sentence(args, word, tmp_path, capsys):
    assert main(["generate", "stanford", "--out", str(tmp_path / "x"), *args]) == 2
    err = capsys.readouterr().err
    assert word in err
    assert "Traceback" not in err
    assert not (tmp_path / "x").exists()


def test_a_robot_without_parameters_cannot_be_baked(tmp_path, capsys):
    assert main(["generate", "planar2r", "--out", str(tmp_path / "x")]) == 2
    assert "no inertial parameters" in capsys.readouterr().err


@pytest.mark.parametrize(("names", "said"), [("", "the value of --programs is empty"), (" , ", "names no program")])
def test_a_list_without_a_program_is_refused_and_nothing_written(names, said, tmp_path, capsys):
    assert main(["generate", "planar2r", "--programs", names, "--out", str(tmp_path / "code")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "code").exists()


def test_a_frame_and_smooth_friction(tmp_path, capsys):
    args = ["generate", "puma560", "--programs", "inverse_dynamics_wrench,jacobian", "--frame", "j5", "--axes", "link"]
    assert main([*args, "--smooth-friction", "0.05", "--out", str(tmp_path / "x"), "--json"]) == 0
    header, source = ((tmp_path / "x" / f"puma_560.{end}").read_text() for end in ("h", "c"))
    assert "frame j5, its own axes" in header and "tanh(" in source and "_sign(" not in source
    capsys.readouterr()
    assert main([*args, "--smooth-friction", "-1", "--out", str(tmp_path / "y")]) == 2
    assert "width of smooth friction" in capsys.readouterr().err
