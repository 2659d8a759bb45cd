"""The commands as a user meets them: exit codes, one sentence per mistake, JSON that parses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from minertia.cli import app, demo, root
from minertia.cli.former_options import FORMER, with_current_names
from minertia.dynamics.model import inverse_dynamics
from minertia.io.errors import MissingExtra
from minertia.io.files import FileError, edit_file
from minertia.robot.files import read_robot
from minertia.version import __version__
from tests.conftest import Run

HOSTILE = "<script>alert(1)</script>\x1b[31m[red]"
KEYS = {"robot", "method", "count", "names", "relations", "columns", "K", "classes", "certificate"}

ARM = """<?xml version="1.0"?>
<robot name="{name}">
  <link name="ground"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.1 0 0"/><mass value="{mass}"/>
    <inertia ixx="0.005" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="ground"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" velocity="3" effort="50"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0.4 0 0"/>
    <axis xyz="0 0 1"/><limit lower="-2" upper="2" velocity="3" effort="20"/></joint>
</robot>
"""


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.format(name="arm", mass=1.0))
    return path


def shell(*args: object, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "minertia", *map(str, args)], capture_output=True, **options)  # type: ignore[call-overload,no-any-return]


# ---------------------------------------------------------------------- results


def test_base_prints_relations_and_certificate(run: Run, arm: Path) -> None:
    code, out, err = run("base", arm)
    assert code == 0 and err == ""
    assert "4 base parameters" in out and "ZZR1" in out and "rank 4" in out


def test_base_json_has_the_promised_keys(run: Run, arm: Path) -> None:
    code, out, err = run("base", arm, "--json", "--rotors")
    data = json.loads(out)
    assert code == 0 and err == "" and data.keys() >= KEYS
    assert data["count"] == 5 == len(data["names"]) == data["certificate"]["rank"]
    assert np.shape(data["K"]) == (5, len(data["columns"])) and data["classes"].keys() == set(data["columns"])
    assert data["relations"].keys() == set(data["names"]) and {"gap", "error"} <= data["certificate"].keys()
    assert data["columns"][:10] == ["XX1", "XY1", "XZ1", "YY1", "YZ1", "ZZ1", "MX1", "MY1", "MZ1", "M1"]


@pytest.mark.parametrize(("gravity", "count"), [((0, 0, 0), 4), ((0, 0, -9.81), 4), ((0, -9.81, 0), 6)])
def test_gravity_takes_three_numbers_also_negative(
    run: Run, arm: Path, gravity: tuple[float, float, float], count: int
) -> None:
    code, out, _ = run("base", arm, "--gravity", *gravity, "--json")
    assert code == 0 and json.loads(out)["count"] == count
    assert json.loads(out)["gravity"] == list(gravity)


@pytest.mark.parametrize("method", ["closed-form", "mlc", "numeric"])
def test_methods_friction_keep_and_numbers(run: Run, arm: Path, method: str) -> None:
    options = ("--method", method, "--rotors", "--friction", "--keep", "IA1,IA2", "--numbers", "--json")
    data = json.loads(run("base", arm, *options)[1])
    assert data["count"] == 11 and data["symbols"] == {}


def test_floating_base(run: Run, arm: Path) -> None:
    assert json.loads(run("base", arm, "--base", "floating", "--json")[1])["columns"][0] == "XX0"


def test_classes_in_the_frames_of_the_file(run: Run, arm: Path) -> None:
    data = json.loads(run("base", arm, "--frames", "file", "--json")[1])
    assert data["frames"] == "file" and set(data["classes"].values()) <= {"alone", "combination", "none"}


def test_latex(run: Run, arm: Path) -> None:
    assert r"\begin{align*}" in run("base", arm, "--latex")[1]


def test_page_beside_json(run: Run, arm: Path, tmp_path: Path) -> None:
    code, out, err = run("base", arm, "--json", "--html", tmp_path / "page.html")
    assert code == 0 and json.loads(out) and "page.html" in err
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_show(run: Run, arm: Path) -> None:
    code, out, _ = run("show", arm)
    assert code == 0 and "shoulder" in out and "elbow" in out and "moving mass 3 kg" in out
    data = json.loads(run("show", arm, "--json")[1])
    assert [joint["name"] for joint in data["joints"]] == ["shoulder", "elbow"]
    assert data["joints"][1]["parent"] == 1 and data["moving_mass"] == 3.0
    assert data["joints"][1]["position_value"] == [0.4, 0.0, 0.0]


def test_check_says_fine(run: Run, arm: Path) -> None:
    code, out, _ = run("check", arm)
    assert code == 0 and "nothing wrong" in out
    assert json.loads(run("check", arm, "--json")[1])["ok"] is True


def test_check_says_what_is_wrong(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "thin.urdf"
    path.write_text(ARM.format(name="thin", mass=1.0).replace('iyy="0.01"', 'iyy="0.5"'))
    code, out, _ = run("check", path)
    assert code == 1 and "lower" in out and "triangle" in out
    code, out, _ = run("check", path, "--json")
    data = json.loads(out)
    assert code == 1 and not data["ok"] and data["problems"] >= 1 and data["notes"][0]["level"] == "warning"


def test_convert_keeps_the_torques(run: Run, arm: Path, tmp_path: Path) -> None:
    code, out, err = run("convert", arm, tmp_path / "copy.urdf")
    assert code == 0 and out == "" and "copy.urdf" in err
    pages = [json.loads(run("show", path, "--json")[1]) for path in (arm, tmp_path / "copy.urdf")]
    assert pages[0]["joints"][1]["parameters"] == pytest.approx(pages[1]["joints"][1]["parameters"], rel=1e-12)


@pytest.mark.parametrize("suffix", [".toml", ".urdf", ".mjcf", ".xml"])
def test_convert_to_every_format(run: Run, tmp_path: Path, suffix: str) -> None:
    if suffix in (".mjcf", ".xml"):
        pytest.importorskip("mujoco")
    path = tmp_path / f"puma{suffix}"
    code, out, _ = run("convert", "puma560_physical", path, "--json")
    assert code == 0 and json.loads(out)["file"] == str(path)
    before, after = read_robot("puma560_physical"), read_robot(path)
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 5, 6))
    tau, again = (inverse_dynamics(robot, q, qd, qdd) for robot in (before, after))
    assert np.abs(tau - again).max() < 1e-12 * np.abs(tau).max()


def test_doctor_and_version(run: Run) -> None:
    assert run("--version")[1].startswith(f"minertia {__version__}")
    data = json.loads(run("doctor", "--json")[1])
    assert data["python"] and data["libraries"]["numpy"] and "sim" in data["extras"]
    assert "python" in run("doctor")[1]


def test_without_a_command_help_is_shown(run: Run) -> None:
    code, out, _ = run()
    assert code == 0 and "Usage" in out


# ---------------------------------------------------------------------- bundled robots


def test_robots(run: Run) -> None:
    data = json.loads(run("robots", "--json")[1])
    found = {robot["name"]: robot for robot in data["robots"]}
    assert found["puma560"]["base_parameters"] == 36 and found["puma560"]["kinds"] == "RRRRRR"


@pytest.mark.slow
def test_robots_in_words(run: Run) -> None:
    assert "puma560" in run("robots")[1]


def test_demo_writes_whole_files(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(demo.STEPS, "the rehearsal")  # has a test of its own
    code, out, _ = run("demo", "--out", tmp_path / "new" / "folder")
    assert code == 0 and "36 base parameters" in out and "beyond doubt" in out
    written = sorted(path.name for path in (tmp_path / "new" / "folder").iterdir())
    assert written == ["base-puma560.html", "base-puma560.json"]
    assert json.loads((tmp_path / "new" / "folder" / "base-puma560.json").read_text())["count"] == 36


def test_demo_skips_what_needs_a_missing_extra(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> Path:
        raise MissingExtra("mujoco", "sim")

    monkeypatch.delitem(demo.STEPS, "the rehearsal")
    monkeypatch.setitem(demo.STEPS, "the simulation", missing)
    code, out, err = run("demo", "--out", tmp_path)
    assert code == 0 and "wrote" in out and "skipped the simulation" in err and "minertia[sim]" in err


# ---------------------------------------------------------------------- mistakes


def bad_files() -> dict[str, str]:
    arm = ARM.format(name="arm", mass=1.0)
    return {
        "empty.urdf": "",
        "text.urdf": "hello",
        "cut.urdf": arm[:400],
        "nan.urdf": arm.replace('mass value="2"', 'mass value="nan"'),
        "negative.urdf": arm.replace('mass value="2"', 'mass value="-2"'),
        "loop.urdf": arm.replace('<child link="lower"/>', '<child link="upper"/>'),
        "kind.urdf": arm.replace('name="elbow" type="revolute"', 'name="elbow" type="screw"'),
        "bomb.urdf": '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><robot name="&b;"/>',
        "robot.step": "ISO-10303-21;",
        "symbol.toml": '[[joint]]\nkind = "revolute"\nd = "L9"\n',
        "kind.toml": '[[joint]]\nkind = "ball"\n',
        "inf.toml": '[[joint]]\nkind = "revolute"\nd = inf\n',
        "key.toml": '[[joint]]\nkind = "revolute"\na = 1\n',
        "odd.par": "(* nothing *)",
        "bomb.xml": '<!DOCTYPE r [<!ENTITY a "aaaa">]><mujoco model="&a;"/>',
    }


@pytest.mark.parametrize("name", bad_files())
def test_a_bad_file_gives_one_sentence(run: Run, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(bad_files()[name])
    for command in ("base", "show", "check"):
        code, out, err = run(command, path, "--json")
        assert code == 2 and out == "" and err.startswith("minertia: ") and err.count("\n") == 1, err
        assert "Traceback" not in err and name in err


def test_a_huge_file_is_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "huge.urdf"
    with path.open("wb") as file:
        file.truncate(50_000_000)
    code, _, err = run("base", path)
    assert code == 2 and "50 MB" in err


@pytest.mark.parametrize(
    "args",
    [
        ("base", "no-such-robot"),
        ("base", "no/such/file.urdf"),
        ("base", "{arm}", "--method", "magic"),
        ("base", "{arm}", "--keep", "XX9"),
        ("base", "{arm}", "--gravity", "0", "nan", "0"),
        ("base", "{arm}", "--gravity", "0", "0"),
        ("base", "{arm}", "--frames", "world"),
        ("base", "{arm}", "--snap", "-1"),
        ("base", "{arm}", "--html", "no/such/folder/page.html"),
        ("base", "{arm}", "--html", "."),
        ("convert", "{arm}", "out.step"),
        ("convert", "{arm}", "no/such/folder/out.urdf"),
        ("convert", "{arm}", "out.toml", "--template", "{arm}"),
        ("convert", "{arm}", "out.urdf", "--template", "missing.urdf"),
        ("base",),
        ("bse", "x"),
        ("base", "{arm}", "--rotor"),
    ],
)
def test_a_wrong_command_gives_one_sentence(
    run: Run, arm: Path, args: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*(arg.format(arm=arm) for arg in args))
    assert code == 2 and out == "" and err.startswith("minertia: ") and err.count("\n") == 1, err
    assert [path.name for path in tmp_path.iterdir()] == ["arm.urdf"]


def test_debug_shows_the_traceback(run: Run) -> None:
    code, _, err = run("base", "no-such-robot", "--debug")
    assert code == 2 and "Traceback" in err and "minertia: " in err
    assert "Traceback" not in run("base", "no-such-robot")[2]


def test_a_fault_of_ours_asks_for_a_report(run: Run, arm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("minertia.base.derive.base_parameters", broken)
    code, out, err = run("base", arm)
    assert code == 3 and out == "" and "--debug" in err and "Traceback" not in err


def test_an_interrupt_is_said_in_one_line(run: Run, arm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("minertia.base.derive.base_parameters", interrupted)
    assert run("base", arm) == (130, "", "minertia: stopped\n")
    monkeypatch.setattr(root, "_run", interrupted)
    assert run("base", arm) == (130, "", "minertia: stopped\n")


# ---------------------------------------------------------------------- the terminal


def hostile_arm(tmp_path: Path) -> Path:
    name = HOSTILE.replace("&", "&amp;").replace("<", "&lt;").replace("\x1b", "\u202e")
    path = tmp_path / "hostile.urdf"
    path.write_text(ARM.format(name=name, mass=1.0).replace('"upper"', '"[bold]&lt;b&gt;\u03a9"'), encoding="utf-8")
    return path


def test_hostile_names_do_no_harm(run: Run, tmp_path: Path) -> None:
    path = hostile_arm(tmp_path)
    code, out, _ = run("show", path)
    assert code == 0 and "[red]" in out and "\u202e" not in out
    assert run("base", path, "--html", tmp_path / "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page and "&lt;script&gt;" in page and "<b>\u03a9" not in page


def test_terminals_without_unicode(tmp_path: Path) -> None:
    path = hostile_arm(tmp_path)
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C", "TERM": "dumb"}
    for args in (("show", path), ("base", path), ("--help",)):
        done = shell(*args, env=environment)
        assert done.returncode == 0 and b"Traceback" not in done.stderr, done.stderr
        done.stdout.decode("ascii")


def test_a_reader_that_goes_away(arm: Path) -> None:
    command = [sys.executable, "-m", "minertia", "base", str(arm), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


def test_the_typer_app_alone(arm: Path) -> None:
    runner = CliRunner()
    assert runner.invoke(app, ["base", str(arm)]).exit_code == 0
    assert runner.invoke(app, ["base", "no-such-robot"]).exit_code == 2
    assert runner.invoke(app, ["base", str(arm), "--method"]).exit_code == 2


def test_exit_code_of_the_process(arm: Path) -> None:
    done = shell("check", arm)
    assert done.returncode == 0 and b"nothing wrong" in done.stdout
    done = shell("base", "no-such-robot")
    assert done.returncode == 2 and done.stderr.startswith(b"minertia: ")


# ---------------------------------------------------------------------- files


def test_files_appear_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "page.html"
    edit_file(path, "old")

    def fails(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(RuntimeError):
        edit_file(path, "new")
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"] and path.read_text() == "old"


def test_places_where_no_file_can_be_written(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "page.html", f"{tmp_path}/a\0b", tmp_path / ("x" * 300)):
        with pytest.raises(FileError) as caught:
            edit_file(path, "new")
        assert "\n" not in str(caught.value) and "\0" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="permissions and links of POSIX")
def test_permissions_and_links_are_kept(tmp_path: Path) -> None:
    path, link = tmp_path / "page.html", tmp_path / "link.html"
    mask = os.umask(0o027)
    try:
        edit_file(path, "new")
    finally:
        os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o640
    path.chmod(0o604)
    link.symlink_to(path.name)
    edit_file(link, "newer")
    assert link.is_symlink() and path.read_text() == "newer" and path.stat().st_mode & 0o777 == 0o604


def test_what_holds_for_several_joints_is_said_once(run: Run, tmp_path: Path) -> None:
    code, _, err = run("convert", "puma560_physical", str(tmp_path / "arm.urdf"))
    lines = [line for line in err.splitlines() if "rotor inertia" in line]
    assert code == 0 and len(lines) == 1
    assert lines[0].startswith("warning: joints 'j1', 'j2', 'j3', 'j4', 'j5', 'j6': ")


@pytest.mark.parametrize(("command", "former"), sorted(FORMER))
def test_former_names_of_options_are_accepted_with_a_warning(run: Run, command: str, former: str, capsys) -> None:
    today = FORMER[command, former]
    given = ["arm.urdf", f"{former}=1", "--", former]
    assert with_current_names(command, given) == ["arm.urdf", f"{today}=1", "--", former]
    assert f"{former} of minertia {command} is now {today}" in capsys.readouterr().err
    _, told, _ = run(command, "--help")
    assert f"  {today} " in told and f"  {former} " not in told
