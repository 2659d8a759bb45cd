"""What the commands do to the user's files: nothing without being told, and nothing at all to what they read."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minertia.excitation.trajectory import Trajectory
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.identify import identify
from minertia.io import files
from minertia.io.errors import MissingExtra
from minertia.report.folders import write_identification
from minertia.robot.files import read_robot, write_robot
from minertia.robot.robot import Note
from minertia.simulation import export_files, rehearsal
from tests import amount, inside
from tests.arm import recorded_arm
from tests.conftest import Run
from tests.test_files import largest_file, tree

QUICK = ("--starts", 1, "--samples", 40, "--duration", 4, "--harmonics", 2, "--no-friction", "--no-rotors",
         "--limits", "position=1", "--limits", "velocity=1", "--limits", "acceleration=4")  # fmt: skip
# command -> its words, those of another run into the same place, and the files it writes into OUT
WRITES: dict[str, tuple[tuple[object, ...], tuple[object, ...], tuple[str, ...]]] = {
    "base": (("base", "planar2r", "--html", "OUT/page.html"), ("--rotors",), ("page.html",)),
    "convert": (("convert", "ARM/arm.urdf", "OUT/new.toml"), ("--base", "floating"), ("new.toml",)),
    "convert to URDF": (("convert", "ARM/arm.urdf", "OUT/new.urdf"), ("--base", "floating"), ("new.urdf",)),
    "convert to MJCF": (("convert", "ARM/arm.urdf", "OUT/new.xml"), ("--base", "floating"), ("new.xml",)),
    "campaign new": (("campaign", "new", "ARM/arm.urdf", "ARM/a.csv", "--out", "OUT/new.toml"), ("ARM/b.csv",),
                     ("new.toml",)),
    "generate": (("generate", "planar2r", "--parameters", "base", "--out", "OUT"), ("--friction",),
                 ("planar_2r.h", "planar_2r.c", "selftest.c", "Makefile", "README.md", "representatives.json")),
    "generate for ROS 2": (("generate", "planar2r", "--parameters", "base", "--target", "ros2", "--out", "OUT"),
                           ("--friction",), ("README.md", "src/planar_2r.c", "package.xml")),
    "identify": (("identify", "ARM/arm.urdf", "ARM/a.csv", "--out", "OUT"), ("--physical",),
                 ("model.toml", "report.html", "result.json", "robot.mjcf", "robot.urdf")),
    "excite": (("excite", "planar2r", *QUICK, "--out", "OUT"), ("--seed", 3),
               ("excitation.csv", "excitation.html", "excitation.json", "excitation-limits.toml")),
    "excite --sweeps": (("excite", "planar2r", "--sweeps", *QUICK[2:], "--out", "OUT"), ("--seed", 3),
                        ("sweeps.html", "sweeps.json", "excitation-limits.toml")),
    "rehearse": (("rehearse", "ARM/arm.urdf", "--duration", 4, "--harmonics", 2, *QUICK[-6:], "--out", "OUT"), 
                 ("--seed", 3), ("rehearsal.html", "rehearsal.json", "training-motion.csv", "code/README.md")),
}  # fmt: skip


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded_arm(tmp_path_factory.mktemp("arm"))


@pytest.fixture
def arm(recorded: Path, tmp_path: Path) -> Path:
    """A folder with a robot and its logs, which a test may spoil."""
    return Path(shutil.copytree(recorded, tmp_path / "arm"))


@pytest.fixture(autouse=True)
def without_mujoco(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rehearsal then writes all the same, and in a second."""

    def missing(*_: object, **__: object) -> None:
        raise MissingExtra("mujoco", "sim")

    monkeypatch.setattr(rehearsal, "Plant", missing)


def words(command: tuple[object, ...], arm: Path, out: Path) -> list[str]:
    return [str(word).replace("ARM", str(arm)).replace("OUT", str(out)) for word in command]


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n == "rehearse" else ()) for n in WRITES])
def test_what_minertia_wrote_is_replaced_until_it_is_edited(run: Run, arm: Path, tmp_path: Path, name: str) -> None:
    """Also where the file system has no attributes; --force replaces what was edited."""
    command, more, written = WRITES[name]
    out = tmp_path / "out"
    out.mkdir()
    own = {"notes.txt": b"mine"}
    (out / "notes.txt").write_text("mine")
    first = words(command, arm, out)
    again = [*first, *words(more, arm, out)]
    for line in (first, again, first):
        code, _, err = run(*line)
        assert code == 0, err
    before = tree(out)
    assert {*written, *own} <= set(before) and own.items() <= before.items()
    for edited in written:
        (out / edited).write_bytes(before[edited] + b"\n")
        spoiled = tree(out)
        code, said, err = run(*again)
        last = err.splitlines()[-1]
        assert code == 2 and said == "" and edited in last and "--force" in last, err
        assert tree(out) == spoiled
        (out / edited).write_bytes(before[edited])
    for edited in written:
        (out / edited).write_bytes(b"edited")
    assert run(*first, "--force")[0] == 0
    assert set(tree(out)) == set(before) and b"edited" not in tree(out).values()
    assert not list(tmp_path.rglob(".minertia-*"))


@pytest.mark.parametrize("name", WRITES)
def test_what_the_user_wrote_is_not_replaced(run: Run, arm: Path, tmp_path: Path, name: str) -> None:
    command, _, written = WRITES[name]
    line, out = words(command, arm, tmp_path / "out"), tmp_path / "out"
    for taken in written[:2]:
        (out / taken).parent.mkdir(parents=True, exist_ok=True)
        (out / taken).write_text("mine")
        before = tree(tmp_path)
        code, said, err = run(*line)
        assert code == 2 and said == "" and taken in err and "--force" in err, err
        assert err.count("\n") == 1 and tree(tmp_path) == before
        (out / taken).unlink()


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n == "rehearse" else ()) for n in WRITES])
def test_a_disk_that_is_full(run: Run, arm: Path, tmp_path: Path, name: str) -> None:
    command, more, written = WRITES[name]
    out = tmp_path / "out"
    out.mkdir()
    assert run(*words(command, arm, out))[0] == 0
    before = tree(tmp_path)
    for place in (out, tmp_path / "new"):
        line = words((*command, *more), arm, place)
        if place != out and "OUT/" in str(command):
            place.mkdir()
        with largest_file(min(len(before[f"out/{name}"]) for name in written) // 2):
            code, said, err = run(*line)
        last = err.splitlines()[-1]
        assert code == 2 and said == "" and "cannot be written (File too large)" in last and ".minertia" not in last, (
            err
        )
        assert tree(tmp_path) == before and ("OUT/" in str(command) or not (tmp_path / "new").exists())


# ---------------------------------------------------------------------- what is read


def refused(run: Run, folder: Path, *line: object) -> None:
    """Every one of these is refused, with --force too, and changes nothing."""
    before = tree(folder)
    for force in ((), ("--force",)):
        code, said, err = run(*line, *force)
        assert code == 2 and said == "" and "an input is never overwritten" in err, err
        assert err.count("\n") == 1 and tree(folder) == before, err


def test_a_robot_is_never_replaced(run: Run, arm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(arm)
    (arm / "soft.urdf").symlink_to("arm.urdf")
    (arm / "hard.urdf").hardlink_to(arm / "arm.urdf")
    shutil.copy(arm / "arm.urdf", arm / "copy.urdf")
    for name in ("arm.urdf", "./arm.urdf", "../arm/arm.urdf", arm / "arm.urdf", "soft.urdf", "hard.urdf"):
        refused(run, tmp_path, "base", "arm.urdf", "--html", name)
        refused(run, tmp_path, "convert", "arm.urdf", name)
        refused(run, tmp_path, "convert", "arm.urdf", name, "--template", "arm.urdf")
        refused(run, tmp_path, "convert", "copy.urdf", name, "--template", arm / "arm.urdf")
    refused(run, tmp_path, "campaign", "new", "arm.urdf", "a.csv", "--out", "hard.urdf")


def test_a_robot_of_ours_is_an_input_too(run: Run, arm: Path, tmp_path: Path) -> None:
    assert run("convert", arm / "arm.urdf", arm / "arm.toml")[0] == 0
    refused(run, tmp_path, "campaign", "new", arm / "arm.toml", arm / "a.csv", "--out", arm / "arm.toml")
    refused(run, tmp_path, "convert", arm / "arm.toml", arm / "arm.toml")


def test_identify_into_the_folder_of_the_robot(
    run: Run, arm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (arm / "arm.urdf").rename(arm / "robot.urdf")
    monkeypatch.chdir(arm)
    for out in (".", arm, "../arm"):
        refused(run, tmp_path, "identify", "robot.urdf", "a.csv", "--out", out)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "robot.urdf").symlink_to(arm / "robot.urdf")
    refused(run, tmp_path, "identify", "robot.urdf", "a.csv", "--out", tmp_path / "out")


def test_logs_campaigns_and_models_are_never_replaced(run: Run, arm: Path, tmp_path: Path) -> None:
    robot, log, campaign = arm / "arm.urdf", arm / "a.csv", arm / "model.toml"
    refused(run, tmp_path, "campaign", "new", robot, log, "--out", log)
    (arm / "columns.toml").write_text('[columns]\nt = "t"\nq = "q{j}"\neffort = "tau{j}"\n')
    refused(run, tmp_path, "campaign", "new", robot, log, "--out", arm / "columns.toml")
    assert run("campaign", "new", robot, log, "--out", campaign)[0] == 0
    refused(run, tmp_path, "identify", "--campaign", campaign, "--out", arm)
    (tmp_path / "out").mkdir()
    for name, target in (("report.html", log), ("result.json", campaign), ("model.toml", arm / "columns.toml")):
        (tmp_path / "out" / name).hardlink_to(target)
        more = ("--columns", arm / "columns.toml") if name == "model.toml" else ()
        refused(run, tmp_path, "identify", "--campaign", campaign, *more, "--out", tmp_path / "out")
        (tmp_path / "out" / name).unlink()
    assert run("identify", robot, log, "--out", tmp_path / "out")[0] == 0
    again = ("identify", robot, arm / "b.csv", "--physical", "--prior", tmp_path / "out" / "model.toml")
    refused(run, tmp_path, *again, "--out", tmp_path / "out")


def test_a_motion_and_its_limits_are_never_replaced(run: Run, tmp_path: Path) -> None:
    out, limits = tmp_path / "out", tmp_path / "limits.toml"
    assert run("excite", "planar2r", *QUICK, "--out", out)[0] == 0
    refused(run, tmp_path, "excite", "planar2r", *QUICK, "--after-motion", out / "excitation.csv", "--out", out)
    limits.write_text("position = 1.0\n")
    (out / "excitation.html").unlink()
    (out / "excitation.html").hardlink_to(limits)
    refused(run, tmp_path, "excite", "planar2r", *QUICK, "--limits", limits, "--out", out)


def test_meshes_and_included_files_are_never_replaced(run: Run, arm: Path, tmp_path: Path) -> None:
    package = tmp_path / "arm_description"
    for name in ("urdf", "meshes/visual"):
        (package / name).mkdir(parents=True)
    meshes = [package / "meshes" / "visual" / "a b.stl", package / "meshes" / "c.stl", package / "urdf" / "d.stl"]
    for mesh in meshes:
        mesh.write_text("mesh")
    uses = "package://arm_description/meshes/visual/a%20b.stl", "../meshes/c.stl", f"file://{meshes[2]}"
    visuals = "".join(f'<visual><geometry><mesh filename="{use}"/></geometry></visual>' for use in uses)
    robot = package / "urdf" / "arm.urdf"
    robot.write_text(
        (arm / "arm.urdf").read_text().replace('<link name="ground"/>', f'<link name="ground">{visuals}</link>')
    )
    for mesh in meshes:
        refused(run, tmp_path, "base", robot, "--html", mesh)


def test_parts_of_an_mjcf_are_never_replaced(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "a.stl").write_text("mesh")
    (tmp_path / "part.xml").write_text('<mujoco><asset><mesh name="m" file="a.stl"/></asset></mujoco>')
    (tmp_path / "arm.xml").write_text(
        '<mujoco><compiler meshdir="meshes"/><include file="part.xml"/><worldbody><body><joint type="hinge"/>'
        '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody></mujoco>'
    )
    for name in ("arm.xml", "part.xml", "meshes/a.stl"):
        refused(run, tmp_path, "base", tmp_path / "arm.xml", "--html", tmp_path / name)


def test_code_is_made_again_from_its_own_choices(run: Run, tmp_path: Path) -> None:
    """What comes out as it was is not replaced; what would change is refused."""
    out = tmp_path / "code"
    command = ("generate", "planar2r", "--parameters", "base", "--replay", out, "--out", out)
    assert run(*command[:4], "--out", out)[0] == 0
    assert run(*command)[0] == 0
    refused(run, tmp_path, *command, "--gravity", 0, 0, 1)


# command -> its words, what it reads (in ARM), and where it writes: behind an option, or as a name in a folder
READS: dict[str, tuple[tuple[object, ...], tuple[str, ...], tuple[str, ...]]] = {
    "base": (("base", "arm.urdf"), ("arm.urdf",), ("--html", "--pdf")),
    "convert": (("convert", "arm.urdf"), ("arm.urdf",), ("",)),
    "convert a model": (("convert", "prior.toml"), ("prior.toml",), ("",)),
    "convert with template": (("convert", "prior.toml", "--template", "arm.urdf"), ("arm.urdf",), ("",)),
    "campaign new": (("campaign", "new", "arm.urdf", "a.csv", "b.csv", "c.csv"),
                     ("arm.urdf", "a.csv", "b.csv", "c.csv"), ("--out",)),
    "identify": (("identify", "arm.urdf", "a.csv", "b.csv", "--validate", "c.csv", "d.csv", "--columns", "map.toml"),
                 ("arm.urdf", "a.csv", "b.csv", "c.csv", "d.csv", "map.toml"),
                 ("--out model.toml", "--out result.json", "--out report.html", "--out robot.urdf")),
    "identify to PDF": (("identify", "arm.urdf", "a.csv", "--validate", "c.csv", "--out", "fresh"),
                        ("arm.urdf", "a.csv", "c.csv"), ("--pdf",)),
    "identify a campaign": (("identify", "--campaign", "both.toml", "--physical", "--prior", "prior.toml"),
                            ("both.toml", "arm.urdf", "a.csv", "b.csv", "prior.toml"),
                            ("--out model.toml", "--out result.json")),
    "identify elsewhere": (("identify", "--campaign", "away/away.toml", "--data", "."),
                           ("away/away.toml", "a.csv", "b.csv"), ("--out model.toml",)),
    "validate": (("validate", "prior.toml", "a.csv", "b.csv", "--columns", "map.toml"),
                 ("prior.toml", "a.csv", "b.csv", "map.toml"), ("--html", "--pdf")),
    "compare": (("compare", "prior.toml", "other.toml"), ("prior.toml", "other.toml"), ("--html", "--pdf")),
    "payload": (("payload", "prior.toml", "a.csv", "b.csv"), ("prior.toml", "a.csv", "b.csv"), ("--html", "--pdf")),
    "payload of two logs": (("payload", "a.csv", "b.csv", "--robot", "arm.urdf", "--columns", "map.toml"),
                            ("arm.urdf", "a.csv", "b.csv", "map.toml"), ("--html",)),
    "watch": (("watch", "prior.toml", "b.csv", "--normal", "a.csv", "c.csv", "--columns", "map.toml"),
              ("prior.toml", "a.csv", "b.csv", "c.csv", "map.toml"), ("--out levels.toml",)),
    "significance": (("significance", "arm.urdf", "a.csv", "--validate", "b.csv"), ("arm.urdf", "a.csv", "b.csv"),
                     ("--html", "--pdf")),
    "excite": (("excite", "arm.urdf", *QUICK, "--limits", "limits.toml", "--after", "a.csv",
                "--after-motion", "motion.csv"), ("arm.urdf", "limits.toml", "a.csv", "motion.csv"),
               ("--out excitation.csv", "--out excitation.html", "--out excitation.json", "--pdf")),
    "rehearse": (("rehearse", "arm.urdf", "--limits", "limits.toml"), ("arm.urdf", "limits.toml"),
                 ("--out rehearsal.html", "--out training-motion.csv", "--pdf")),
    "run": (("run", "arm.urdf", "motion.csv", "--rehearsed", "other.toml", "--levels", "prior.toml"),
            ("arm.urdf", "motion.csv", "other.toml", "prior.toml"), ("--out run.toml", "--out run-100.csv")),
    "generate": (("generate", "arm.urdf"), ("arm.urdf",), ("--out README.md", "--out Makefile")),
    "fleet drift": (("fleet", "drift", "--store", "store"), ("store/fleet.toml", "store/records/r1.parquet"),
                    ("--html",)),
}  # fmt: skip
NAMED = ("soft", "hard", "absolute", "dots", "via")  # links, and other ways of writing the same name


@pytest.mark.parametrize("name", READS)
def test_what_a_command_is_given_is_never_replaced(
    run: Run, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Whatever is forced, by whatever name the file goes, read already or not; nothing changes at all."""
    command, inputs, places = READS[name]
    arm = Path(shutil.copytree(results, tmp_path / "arm"))
    monkeypatch.chdir(arm)
    trials = [(given, place, kind) for given, place in itertools.product(inputs, places)
              for kind in (NAMED[:2] if " " in place else NAMED)]  # fmt: skip
    for given, place, kind in trials if amount.is_whole else trials[::3]:  # every input, place and way
        option, _, file = place.partition(" ")
        out = named(arm / given, file or Path(given).name, kind, tmp_path / "out")
        before = tree(tmp_path)
        line = (*command, *((option,) if option else ()), out.parent if file else out, "--force")
        code, said, err = run(*line)
        assert code == 2 and said == "", (given, place, kind, err)
        assert tree(tmp_path) == before, (given, place, kind)
        assert "an input is never overwritten" in err or name == "run", (given, place, kind, err)
        shutil.rmtree(tmp_path / "out")


def named(path: Path, file: str, kind: str, folder: Path) -> Path:
    """Another name of a file, with a folder of its own where it needs one."""
    folder.mkdir()
    if kind == "soft":
        (folder / file).symlink_to(path)
    elif kind == "hard":
        (folder / file).hardlink_to(path)
    else:
        (folder / "way").symlink_to(path.parent)
        dots = Path("..") / "arm" / os.path.relpath(path)
        return {"absolute": path, "dots": dots, "via": folder / "way" / path.name}[kind]
    return folder / file


def test_a_log_that_is_kept_back_stays(run: Run, arm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last log is not looked into: the campaign was written over it."""
    monkeypatch.chdir(arm)
    refused(run, tmp_path, "campaign", "new", "arm.urdf", "a.csv", "b.csv", "--out", "b.csv")
    (arm / "bag").mkdir()
    (arm / "bag" / "metadata.yaml").write_text("mine")
    (arm / "bag" / "bag_0.mcap").write_text("mine")
    for name in ("metadata.yaml", "bag_0.mcap"):
        refused(run, tmp_path, "campaign", "new", "arm.urdf", "a.csv", "bag", "--out", f"bag/{name}")


def test_two_results_of_one_name(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    code, _, err = run("base", "planar2r", "--html", out, "--pdf", out)
    assert code == 2 and "its own name" in err and not out.exists()
    with pytest.raises(files.FileError, match="its own name"), files.inputs_protected(once=True):
        for text in ("first", "second"):
            files.write_file(out, text, force=True)
    assert "first" in out.read_text()


def test_two_results_may_have_the_same_file(tmp_path: Path) -> None:
    """As the actuators of a fit of commands, which `--export isaac-lab` writes as well."""
    out = tmp_path / "isaac_lab.py"
    with files.inputs_protected(once=True):
        files.write_file(out, "same")
        files.write_file(out, "same")
        with pytest.raises(files.FileError, match="its own name"):
            files.write_file(out, "other")


def test_an_export_that_is_not_written_is_named_without_its_temporary_folder(tmp_path: Path, monkeypatch) -> None:
    def refuse(model: Any, file: Path, force: bool) -> tuple[()]:
        raise files.FileError(file.parent / "isaac_lab.py", "no space is left")

    monkeypatch.setitem(export_files.WRITERS, "isaac-lab", refuse)
    monkeypatch.setattr(export_files, "with_efforts", lambda model, what: model)
    (note,) = export_files.write_exports(None, tmp_path, ["isaac-lab"])  # type: ignore[arg-type]
    assert note.text == "not written: isaac_lab.py: no space is left"


def test_notes_on_exports_name_their_files(tmp_path: Path, monkeypatch) -> None:
    """The stage for Newton holds offsets, in actuators, and that for Isaac Lab does not: both are of one result."""
    lost = Note("warning", "joint 'a'", "USD has no place for OFF1 = 0.1")
    monkeypatch.setattr(export_files, "with_efforts", lambda model, what: model)
    for name, notes in (("newton", (Note("info", "newton.usda", "of it"),)), ("isaac-lab", (lost,))):
        monkeypatch.setitem(export_files.WRITERS, name, lambda model, file, force, notes=notes: notes)
    found = export_files.write_exports(None, tmp_path, ["newton", "isaac-lab"])  # type: ignore[arg-type]
    assert [note.where for note in found] == ["newton.usda", "isaac_lab.usda, joint 'a'"]


opened: list[str] | None = None


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if opened is not None and event == "open" and isinstance(args[0], str) and "w" not in str(args[1]):
        opened.append(args[0])


@pytest.fixture(scope="module")
def results(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the robot, its logs, and files of every kind that commands read."""
    arm, out = (
        Path(shutil.copytree(recorded, tmp_path_factory.mktemp("results") / "arm")),
        tmp_path_factory.mktemp("out"),
    )
    for line in (
        ("campaign", "new", "arm.urdf", "a.csv", "--out", "new.toml"),
        ("identify", "arm.urdf", "b.csv", "--out", str(out / "result")),
        ("generate", "arm.urdf", "--out", "code"),
    ):
        done = inside.command([*line], arm)
        assert done.returncode == 0, done.stderr
    for name in ("prior.toml", "other.toml"):
        shutil.copy(out / "result" / "model.toml", arm / name)
    shutil.copy(arm / "c.csv", arm / "d.csv")
    campaign = (arm / "new.toml").read_text().replace('train = ["a.csv"]', 'train = ["a.csv"]\nvalidate = ["b.csv"]')
    (arm / "both.toml").write_text(campaign)
    (arm / "away").mkdir()
    (arm / "away" / "away.toml").write_text(campaign.replace('"arm.urdf"', f'"{arm / "arm.urdf"}"'))
    (arm / "store" / "records").mkdir(parents=True)
    for name in ("store.toml", "fleet.toml", "records/r1.parquet"):
        (arm / "store" / name).write_text("format = 1\n")
    (arm / "map.toml").write_text('[columns]\nt = "t"\nq = "q{j}"\neffort = "tau{j}"\n')
    (arm / "limits.toml").write_text("position = 1.0\n")
    motion = [[0.0, 0.0], [0.1, 0.2], [0.2, 0.1]]
    Trajectory([0.0, 0.1, 0.2], motion, motion, motion).save(arm / "motion.csv")
    return arm


@pytest.mark.parametrize(
    "command",
    [
        ("identify", "--campaign", "ARM/new.toml", "--physical", "--prior", "ARM/prior.toml", "--validate",
         "ARM/c.csv"),
        ("identify", "ARM/arm.urdf", "ARM/a.csv", "--columns", "ARM/map.toml"),
        ("campaign", "new", "ARM/arm.urdf", "ARM/a.csv", "ARM/b.csv"),
        ("convert", "ARM/arm.urdf", "OUT/new.urdf", "--template", "ARM/arm.urdf"),
        pytest.param(
            ("excite", "ARM/arm.urdf", *QUICK, "--limits", "ARM/limits.toml", "--after-motion", "ARM/motion.csv",
             "--out", "OUT/motion"),
            marks=pytest.mark.slow,
        ),
        ("excite", "ARM/arm.urdf", *QUICK, "--after", "ARM/a.csv", "--out", "OUT/motion"),
        ("generate", "ARM/arm.urdf", "--replay", "ARM/code", "--out", "OUT/code"),
        ("base", "ARM/prior.toml"),
    ],
)  # fmt: skip
def test_whatever_is_read_is_known_as_an_input(
    run: Run, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[object, ...]
) -> None:
    """Every file of the user that Python opens for a command is one that it would refuse to replace."""
    global opened
    arm = Path(shutil.copytree(results, tmp_path / "arm"))
    known: list[files._Inputs] = []
    add = files._Inputs.add
    monkeypatch.setattr(files._Inputs, "add", lambda self, path: (known.append(self), add(self, path))[1])
    sys.addaudithook(_watch)
    opened = []
    try:
        code, _, err = run(*words(command, arm, tmp_path))
    finally:
        found, opened = opened, None
    assert code == 0, err
    read = {str(Path(name).resolve()) for name in found if str(arm) in name and "/.minertia-" not in name}
    assert read and read <= {name for inputs in known for name in inputs.names}


# ---------------------------------------------------------------------- killed


def killed_at(moment: int, out: Path, write: Callable[[], object]) -> bool:
    """Whether a process of its own was killed in the moment before a file or folder changes for the so manieth time."""
    child = os.fork()
    if child:
        status = os.waitpid(child, 0)[1]
        assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL)
        return os.WIFSIGNALED(status)
    try:
        left = moment

        def dying(real: Callable[..., Any]) -> Callable[..., Any]:
            def run(*args: object, **options: object) -> Any:
                nonlocal left
                left -= any(str(out.parent) in str(arg) for arg in args)
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*args, **options)

            return run

        for name in ("replace", "rename", "link", "unlink", "mkdir", "rmdir", "open"):
            setattr(os, name, dying(getattr(os, name)))
        write()
        os._exit(0)
    finally:
        os._exit(1)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="folders are replaced at once on Linux")
def test_a_result_that_is_killed_is_of_one_run(arm: Path, tmp_path: Path) -> None:
    """Over an older result, at every moment at which a file or folder changes: all of the old run, or of the new."""
    robot = read_robot(arm / "arm.urdf")
    found = [identify(Campaign(robot, [arm / f"{name}.csv"])) for name in "ab"]
    trees = []
    for one, name in zip(found, ("old", "new"), strict=True):
        write_identification(tmp_path / name, one)
        trees.append(tree(tmp_path / name))
    assert set(trees[0]) == set(trees[1]) and all(trees[0][name] != trees[1][name] for name in trees[0])
    out, seen = tmp_path / "results" / "out", []
    for moment in range(1, 1000):
        shutil.rmtree(out.parent, ignore_errors=True)
        shutil.copytree(tmp_path / "old", out)
        is_killed = killed_at(moment, out, lambda: write_identification(out, found[1]))
        now = {name: data for name, data in tree(out).items() if not name.startswith(".minertia-")}
        assert now in trees, (moment, {name: now.get(name) == data for name, data in trees[1].items()})
        seen.append(trees.index(now))
        if not is_killed:
            break
    assert seen == sorted(seen) and seen.count(0) > 10 and seen.count(1) > 1


# ---------------------------------------------------------------------- Python


def test_python_replaces_nothing_either(tmp_path: Path) -> None:
    robot, path = read_robot("planar2r"), tmp_path / "robot.toml"
    write_robot(robot, path)
    write_robot(robot.with_gravity((0, 0, 1)), path)
    path.write_text("mine")
    with pytest.raises(files.FileError, match="force=True"):
        write_robot(robot, path)
    write_robot(robot, path, force=True)
    assert read_robot(path).n == 2
    write_robot(robot, tmp_path / "robot.urdf")
    with pytest.raises(files.FileError, match="never overwritten"):
        write_robot(robot, tmp_path / "robot.urdf", template=tmp_path / "robot.urdf", force=True)
