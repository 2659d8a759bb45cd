"""What a user does by mistake: one sentence that says so, exit code 2, and nothing written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from minertia.identification.logs.columns import filled
from tests.arm import recorded_arm


@pytest.fixture(scope="module")
def arm(tmp_path_factory) -> Path:
    """A folder with a robot, three logs of it and one with a load."""
    return recorded_arm(tmp_path_factory.mktemp("arm"))


@pytest.fixture
def refused(run, tmp_path):
    """The one sentence that a command line ends with; nothing may be written."""

    def sentence(*args: object) -> str:
        before = sorted(tmp_path.rglob("*"))
        code, out, err = run(*args)
        assert code == 2 and out == "" and err.count("\n") == 1 and sorted(tmp_path.rglob("*")) == before, err
        return err

    return sentence


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


# ---------------------------------------------------------------------- logs


def test_a_log_counts_once(refused, arm, tmp_path):
    robot, a, out = arm / "arm.urdf", arm / "a.csv", ("--out", tmp_path / "out")
    assert "named twice" in refused("identify", robot, a, arm / "b.csv", a, *out)
    assert "named twice" in refused("identify", robot, a, arm / ".." / arm.name / "a.csv", *out)
    assert "cannot validate the fit" in refused("identify", robot, a, "--validate", a, *out)
    copy = shutil.copy(a, tmp_path / "copy.csv")
    assert "contains the same samples as a.csv" in refused("identify", robot, a, copy, *out)
    assert "it was used for fitting" in refused("identify", robot, a, "--validate", copy, *out)


def test_a_model_that_is_not_there(refused, arm, tmp_path):
    missing = tmp_path / "result" / "model.toml"
    assert "model.toml: there is no such file" in refused("validate", missing, arm / "a.csv")
    assert "model.toml: there is no such file" in refused("payload", missing, arm / "a.csv")


def test_a_campaign_is_no_robot_and_a_robot_no_model(run, refused, arm, tmp_path):
    campaign = tmp_path / "campaign.toml"
    run("campaign", "new", arm / "arm.urdf", arm / "a.csv", "--out", campaign)
    assert f"this is a campaign file, which names robot and logs; give it with --campaign {campaign}" in refused(
        "identify", campaign
    )
    assert "--campaign" in refused("identify", campaign, arm / "a.csv")
    for command in ("base", "show", "check"):
        assert "this is a campaign file, not a robot file; give the robot file that the campaign names" in refused(
            command, campaign
        )
    for command in ("validate", "watch"):
        assert "arm.urdf: this is not an identified model" in refused(command, arm / "arm.urdf", arm / "a.csv")


@pytest.mark.parametrize("out", [("--out", ""), ("--out=",)])
def test_an_empty_name_is_not_the_folder_one_stands_in(refused, arm, tmp_path, monkeypatch, out):
    monkeypatch.chdir(tmp_path)
    said = refused("generate", arm / "arm.urdf", *out, "--programs", "inverse_dynamics")
    assert "the value of --out is empty; check that the shell variable is set" in said


def test_an_unknown_unit_is_not_called_newton_metres(run, arm, tmp_path):
    log = tmp_path / "a.csv"
    log.write_text((arm / "a.csv").read_text().replace("tau", "effort"))
    out = run("check", log, "--robot", arm / "arm.urdf")[1]
    assert "effort in an unknown unit" in out and "in Nm" not in out


def test_parts_of_a_log_that_do_not_overlap_are_two_logs(run, arm, tmp_path):
    for stop, code in ((4.0, 0), (5.0, 2)):
        parts = f'{{file = "a.csv", to = {stop}}}, {{file = "a.csv", from = 4.0}}'
        (arm / "parts.toml").write_text(f'format = 1\nrobot = "arm.urdf"\n[logs]\ntrain = [{parts}]\n')
        assert run("identify", "--campaign", arm / "parts.toml")[0] == code
    (arm / "parts.toml").unlink()


def test_a_log_without_motion_gives_no_model(refused, arm, tmp_path):
    head, *rows = lines(arm / "a.csv")
    names, rng = head.split(","), np.random.default_rng(0)
    cells = np.array([row.split(",") for row in rows], dtype=object)
    for k, name in enumerate(names):
        if name != "t" and not name.startswith("tau"):
            cells[:, k] = [repr(0.3 + 1e-5 * rng.normal()) for _ in rows]  # the flicker of an encoder
    path = tmp_path / "still.csv"
    path.write_text("\n".join([head, *(",".join(row) for row in cells)]) + "\n")
    sentence = refused("identify", arm / "arm.urdf", path, "--out", tmp_path / "out")
    assert "no joint moves" in sentence and "still.csv" in sentence


def test_a_map_beside_a_log_is_said_and_another_file_is_none(run, arm, tmp_path):
    shutil.copy(arm / "arm.urdf", tmp_path)
    shutil.copy(arm / "a.csv", tmp_path / "run.csv")
    beside = tmp_path / "run.toml"
    beside.write_text('name = "a robot, or anything"\n')
    code, _, err = run("significance", tmp_path / "arm.urdf", tmp_path / "run.csv")
    assert code == 0 and "run.toml" not in err
    beside.write_text("[columns]\n[drive]\nsigns = [1, 1]\n")
    for command in ("identify", "significance"):
        code, _, err = run(command, tmp_path / "arm.urdf", tmp_path / "run.csv")
        assert code == 0 and f"columns and drives are taken from '{beside}'" in err
    assert "run.toml" in run("check", tmp_path / "run.csv")[1]


def test_a_folder_is_no_file(refused, arm, tmp_path):
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    assert "this is a folder" in refused("check", folder)
    assert "this is a folder" in refused("identify", arm / "arm.urdf", folder)
    assert "this is a folder" in refused("show", tmp_path)


@pytest.mark.parametrize(
    "part, said",
    [("from = 500", "there are no samples from 500 s;"), ("to = -3", "there are no samples to -3 s;"),
     ("from = 500, to = 600", "there are no samples from 500 s to 600 s; the log runs from")],
)  # fmt: skip
def test_a_part_outside_the_log(refused, arm, tmp_path, part, said):
    text = f'format = 1\nrobot = "arm.urdf"\n[logs]\ntrain = [{{file = "a.csv", {part}}}]\n'
    (tmp_path / "c.toml").write_text(text)
    for name in ("arm.urdf", "a.csv"):
        shutil.copy(arm / name, tmp_path)
    assert said in refused("identify", "--campaign", tmp_path / "c.toml")


@pytest.mark.parametrize("table", ["filter", "evaluation"])
def test_negative_trim(refused, arm, tmp_path, table):
    text = 'format = 1\nrobot = "arm.urdf"\n[logs]\ntrain = "a.csv"\n'
    (tmp_path / "c.toml").write_text(f"{text}[{table}]\ncutoff_hz = 5\nrate_hz = 20\ntrim_s = -1\n")
    for name in ("arm.urdf", "a.csv"):
        shutil.copy(arm / name, tmp_path)
    sentence = refused("identify", "--campaign", tmp_path / "c.toml")
    assert f"line 8, '{table}.trim_s': this must be a number of at least 0 [s], not -1" in sentence


def test_an_archive_that_is_none(refused, tmp_path):
    for content, said in ((b"garbage", "not a NumPy archive"), (b"PK\x05\x06" + bytes(18), "no arrays")):
        (tmp_path / "log.npz").write_bytes(content)
        sentence = refused("check", tmp_path / "log.npz")
        assert said in sentence and "pickle" not in sentence


def test_the_first_name_of_validate_is_a_model(refused, arm):
    assert "the first argument must be a model.toml" in refused("validate", arm / "a.csv", arm / "b.csv")


@pytest.mark.parametrize("mass, said", [("nan", "give finite numbers"), ("-1", "not negative"), ("inf", "finite")])
def test_odd_masses(refused, arm, mass, said):
    args = ("payload", arm / "a.csv", arm / "b.csv", "--robot", arm / "arm.urdf", f"--mass={mass}")
    assert said in refused(*args)


@pytest.mark.parametrize(
    "args, said",
    [
        (("sample", "model.toml", "--n", "1e9"), "--n must be an integer from 1 to 1e+06, not 1"),
        (("sample", "model.toml", "--n", "many"), "--n must be an integer from 1 to 1e+06, not 'many'"),
        (("excite", "planar2r", "--seed", "1,2"), "--seed must be an integer from 0 to 9.22337e+18, not '1,2'"),
        (("excite", "planar2r", "--harmonics", "2.5"), "--harmonics must be an integer from 1 to 1e+06, not 2.5"),
        (("excite", "planar2r", "--duration", "long"), "--duration must be a number from 0.01 to 100000 [s], not"),
        (("identify", "planar2r", "log.csv", "--cutoff", "x"), "--cutoff must be a number from 0.001 to 1e+07 [Hz]"),
        (("calibrate", "planar2r", "--plan", "1.5"), "'--plan': give an integer, not '1.5'"),
    ],
)
def test_a_number_that_an_option_does_not_take_is_answered_with_those_that_it_takes(refused, args, said):
    assert said in refused(*args)


# ---------------------------------------------------------------------- columns and campaigns


def test_templates_hold_numbers_and_names_only():
    assert filled("a{{{j}}}_{j0}_{joint}", j=1, j0=0, joint="elbow") == "a{1}_0_elbow"
    for template in ("{j.__class__}", "{joint[0]}", "{j!r}", "{j:9}", "{}", "{0}", "{x}", "}"):
        with pytest.raises(ValueError, match="not a field"):
            filled(template, j=1, j0=0, joint="elbow")


def test_template_that_asks_for_more(refused, arm, tmp_path):
    (tmp_path / "map.toml").write_text('[columns]\nq = "{j.__class__}"\n')
    sentence = refused("identify", arm / "arm.urdf", arm / "a.csv", "--columns", tmp_path / "map.toml")
    assert "is not a template" in sentence


def test_a_rate_that_nobody_logged_is_left_out(run, arm, tmp_path):
    head, *rows = lines(arm / "a.csv")
    extended = [f"{head},ddq1,ddq2", *(f"{row},0,0" for row in rows)]
    (tmp_path / "a.csv").write_text("\n".join(extended) + "\n")
    code, out, _ = run("campaign", "new", arm / "arm.urdf", tmp_path / "a.csv")
    assert code == 0 and 'qdd = ""  # not used: ddq1, ddq2 do not change' in out
    assert 'qdd = "ddq{j}"' not in out


# ---------------------------------------------------------------------- robots and code


def test_a_robot_is_not_written_over_itself(run, arm, tmp_path):
    own = shutil.copy(arm / "arm.urdf", tmp_path / "own.urdf")
    before = Path(own).read_bytes()
    for more in ((), ("--force",), ("--template", own), ("--template", own, "--force")):
        code, _, err = run("convert", own, own, *more)
        assert code == 2 and "choose another name" in err and Path(own).read_bytes() == before


@pytest.mark.parametrize("target", ["numpy", "matlab"])
def test_single_precision_is_for_c(refused, tmp_path, target):
    sentence = refused("generate", "planar2r", "--target", target, "--float", "--out", tmp_path / "code")
    assert "double precision only" in sentence


def test_code_into_a_file(refused, tmp_path):
    (tmp_path / "taken").write_text("")
    assert "this is a file" in refused("generate", "puma560_physical", "--out", tmp_path / "taken")


def test_doctor_names_the_compiler_of_the_kernels(run, monkeypatch):
    from minertia.codegen.kernels import build

    found = build.find_compiler()
    data = json.loads(run("doctor", "--json")[1])
    assert data["compiler"] is None if found is None else data["compiler"].startswith(" ".join(found.command))
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    assert json.loads(run("doctor", "--json")[1])["compiler"] is None


@pytest.mark.parametrize(
    "command",
    [
        ("identify", "puma560_physical", "NAME.csv"),
        ("validate", "NAME.toml", "log.csv"),
        ("excite", "puma560_physical", "--after", "NAME.csv"),
    ],
)
def test_a_name_that_no_file_can_have(refused, command):
    long = 300 * "x"
    assert "xxx." in refused(*(word.replace("NAME", long) for word in command))


def test_too_little_memory_is_no_fault_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    from minertia.cli.guard import WRONG_INPUT, explain

    assert explain(MemoryError("Unable to allocate 9 GiB")) == WRONG_INPUT
    assert "not enough memory" in capsys.readouterr().err
