"""What is printed fits the terminal: no line is too long, no word or number is broken or cut short."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minertia.identification import identify as identification
from minertia.io.errors import MissingExtra
from minertia.report.layout import size, table_lines, wrapped
from minertia.report.tables import Table, joint_table
from minertia.robot.files import bundled_robots, read_robot
from minertia.simulation import rehearsal
from tests.arm import ARM, recorded_arm
from tests.conftest import Run
from tests.shared import SHARED

ROOT = Path(__file__).parents[1]
CAMPAIGNS = sorted((ROOT / "examples" / "logs").glob("*.toml"))
ROBOTS = sorted(p for p in (SHARED / "robots").glob("*") if p.suffix in (".urdf", ".par", ".xml"))
QUICK = ("--starts", 1, "--samples", 40, "--duration", 4, "--harmonics", 2, "--limits", "position=1",
         "--limits", "velocity=1", "--limits", "acceleration=4")  # fmt: skip
COMMANDS: dict[str, tuple[object, ...]] = {
    "doctor": ("doctor",),
    "show": ("show", "puma560_physical"),
    "show coupled drives": ("show", "tx40"),
    "show long names": ("show", "ARM/long.urdf"),
    "base": ("base", "rx90", "--rotors", "--friction"),
    "base numbers": ("base", "ur10e", "--numbers"),
    "base mlc": ("base", "stanford", "--method", "mlc"),
    "check": ("check", "ARM/long.urdf"),
    "check log": ("check", "ARM/a.csv", "--robot", "ARM/arm.urdf"),
    "count": ("count", "puma560", "--rotors", "--programs", "inverse_dynamics,base_regressor"),
    "generate": ("generate", "planar2r", "--parameters", "base", "--out", "OUT"),
    "identify": ("identify", "ARM/arm.urdf", "ARM/a.csv", "--validate", "ARM/b.csv", "ARM/c.csv"),
    "identify long names": ("identify", "ARM/long.urdf", "ARM/a.csv", "--validate", "ARM/a_log_with_a_long_name-1.csv"),
    "significance": ("significance", "ARM/arm.urdf", "ARM/a.csv", "--validate", "ARM/b.csv"),
    "payload": ("payload", "ARM/a.csv", "ARM/loaded.csv", "--robot", "ARM/arm.urdf"),
    "gains": ("payload", "ARM/a.csv", "ARM/loaded.csv", "--robot", "ARM/arm.urdf", "--mass", 0.75, "--com", 0.25, 0, 0),
    "excite": ("excite", "ARM/long.urdf", *QUICK, "--out", "OUT"),
    "excite --sweeps": ("excite", "ARM/long.urdf", "--sweeps", *QUICK[2:], "--out", "OUT"),
    "rehearse": ("rehearse", "ARM/arm.urdf", *QUICK[4:], "--out", "OUT"),
}
LONG = {"shoulder": "left_arm_shoulder_pitch_joint", "elbow": "left_arm_elbow_flexion_joint", "upper": "left_upper_arm"}


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = recorded_arm(tmp_path_factory.mktemp("arm"))
    text = ARM.format(name="arm")
    for name, longer in LONG.items():
        text = text.replace(f'"{name}"', f'"{longer}"')
    (folder / "long.urdf").write_text(text.replace('izz="0.02"', 'izz="0.2"'))
    (folder / "a_log_with_a_long_name-1.csv").write_bytes((folder / "b.csv").read_bytes())
    return folder


def words(text: str) -> set[str]:
    """All words and numbers of an output, without rules, times that pass, and the numbers of headers."""
    found = set(re.sub(r"[\u2500]+|\b\d+\.\d s\b", " ", text).split())
    return {word for word in found if not re.fullmatch(r"\d{1,2}(\.\d)?", word)}


def hold(run: Run, line: list[str], width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command prints the same words at this width as on a very wide screen, in lines that are not longer."""
    texts = {}
    for columns in (10_000, width):
        monkeypatch.setenv("COLUMNS", str(columns))
        code, texts[columns], err = run(*line)
        assert code in (0, 1), err
    too_long = [text for text in texts[width].splitlines() if size(text) > width and len(text.split()) > 1]
    assert not too_long, "\n".join(too_long)
    assert words(texts[width]) == words(texts[10_000])
    assert "\u2026" not in texts[width]


@pytest.fixture
def identified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second run of a command prints what the first one found: a width changes the print alone."""
    real, found = identification.identify, list[Any]()

    def identify(*args: Any, **options: Any) -> Any:
        found[:] = found or [real(*args, **options)]
        return found[0]

    monkeypatch.setattr(identification, "identify", identify)


@pytest.fixture
def rehearsed_once(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The same of a rehearsal, which says its steps and writes a folder."""
    real, found, steps, kept = rehearsal.rehearse, list[Any](), list[Any](), tmp_path_factory.mktemp("kept")

    def rehearse(*args: Any, out: Path, progress: Callable[..., None]) -> Any:
        if found:
            shutil.copytree(kept, out, dirs_exist_ok=True)
        else:
            found.append(real(*args, out=out, progress=lambda *said: steps.append(said)))
            shutil.copytree(out, kept, dirs_exist_ok=True)
        for said in steps:
            progress(*said)
        return found[0]

    monkeypatch.setattr(rehearsal, "rehearse", rehearse)


# what these print at the end of a long search or fit others print, too
LATE = ("identify", "rehearse", "gains", "significance", "excite")


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in LATE else ()) for n in COMMANDS])
def test_commands(run: Run, arm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def missing(*_: object, **__: object) -> None:
        raise MissingExtra("mujoco", "sim")

    monkeypatch.setattr(rehearsal, "Plant", missing)
    line = [str(word).replace("ARM", str(arm)).replace("OUT", str(tmp_path / "out")) for word in COMMANDS[name]]
    hold(run, line, 80, monkeypatch)


@pytest.mark.parametrize("width", [60, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["show", pytest.param("identify long names", marks=pytest.mark.slow), "base"])
def test_other_widths(run: Run, arm: Path, monkeypatch: pytest.MonkeyPatch, name: str, width: int) -> None:
    hold(run, [str(word).replace("ARM", str(arm)) for word in COMMANDS[name]], width, monkeypatch)


SHOWN = [*bundled_robots(), *(pytest.param(path, marks=pytest.mark.slow) for path in ROBOTS)]


@pytest.mark.parametrize("name", SHOWN, ids=lambda n: getattr(n, "name", n))
def test_robots_are_shown_in_80_columns(run: Run, monkeypatch: pytest.MonkeyPatch, name: str | Path) -> None:
    if str(name).endswith(".mjcf.xml"):
        pytest.importorskip("mujoco")
    hold(run, ["show", str(name)], 80, monkeypatch)


@pytest.mark.slow
@pytest.mark.usefixtures("rehearsed_once")
@pytest.mark.parametrize("command", ["robots", "demo"])
def test_long_lists(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.chdir(tmp_path)  # a long path is not broken
    hold(run, [command, *(("--out", "out") if command == "demo" else ())], 80, monkeypatch)


@pytest.mark.slow
@pytest.mark.usefixtures("identified_once")
@pytest.mark.parametrize("path", CAMPAIGNS, ids=lambda p: p.stem)
def test_real_campaigns(run: Run, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    data = SHARED / "data" / path.stem
    if not data.is_dir():
        pytest.skip("the shared logs are not there")
    hold(run, ["identify", "--campaign", str(path), "--data", str(data)], 80, monkeypatch)


@pytest.mark.parametrize("command", ["", "base", "show", "check", "convert", "identify", "payload", "excite",
                                     "rehearse", "generate", "campaign", "campaign new"])  # fmt: skip
def test_help(run: Run, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(*command.split(), "--help")
    assert code == 0 and max(map(len, out.splitlines())) <= 80
    assert "\u2026" not in out and not re.search(r"\w\.\.\.$", out, re.MULTILINE)
    assert command != "excite" or ("condition|scaled-condition|logdet|deviation" in out and "[rad or m]" in out)


# ---------------------------------------------------------------------- the layout itself


def test_a_name_longer_than_half_a_line_is_broken_at_its_joints() -> None:
    name = "left_arm_shoulder_pitch_actuator_output_link_frame_of_the_second_prototype"
    lines = table_lines(Table(("no", "joint", "kind"), (("1", name, "revolute"),), (0,), 2), 80)
    assert all(size(line) <= 80 for line in lines)
    assert "".join(line.split()[-2 if "revolute" in line else -1].removeprefix("1") for line in lines[2:]) == name
    assert all(part.endswith("_") for part in re.findall(r"left\S+", lines[2]))
    assert all(size(line) <= 60 for line in table_lines(Table(("a", "b"), (("x" * 200, "1"),)), 60))


def test_names_too_long_for_two_columns_are_broken_too() -> None:
    names = ("left_arm_shoulder_pitch_joint", "left_arm_elbow_flexion_joint")
    lines = table_lines(Table(("no", "joint", "on"), (("2", *names),), (0,), 2), 60)
    assert max(map(size, lines)) <= 60 and "left_arm_shoulder_" in lines[2] and "left_arm_elbow_" in lines[2]


def test_wide_tables_come_in_parts_that_begin_alike() -> None:
    table = Table(("joint", *(f"log{k}" for k in range(30))), (("elbow", *("12.3 %",) * 30),), tuple(range(1, 31)))
    lines = table_lines(table, 80)
    parts = [line for line in lines if line.startswith("joint")]
    assert len(parts) == 4 and " ".join(parts).split().count("joint") == 4
    assert [w for line in parts for w in line.split() if w != "joint"] == [f"log{k}" for k in range(30)]
    assert len(table_lines(table, 1000)) == 3


def test_long_headers_are_listed_above() -> None:
    names = [f"a_recording_with_a_long_name_{k}.csv.gz" for k in range(3)]
    lines = table_lines(Table(("joint", *names), (("elbow", "1 %", "2 %", "3 %"),), (1, 2, 3)), 80)
    assert [line.split() for line in lines[:3]] == [[str(k + 1), name] for k, name in enumerate(names)]
    assert lines[4].split() == ["joint", "1", "2", "3"]
    assert re.split("  +", lines[6]) == ["elbow", "1 %", "2 %", "3 %"]


def test_wide_characters_count_twice() -> None:
    lines = table_lines(Table(("\u540d\u524d", "b"), (("\u95a2\u7bc0", "1"), ("ab", "2")), (1,)), 80)
    assert size("\u540d\u524d") == 4 and len({size(line) for line in lines}) == 1


def test_sentences_break_between_words() -> None:
    text = "XXR2 = " + " + ".join(f"D{k}**2*M{k}" for k in range(12))
    lines = wrapped(text, 60)
    assert len(lines) > 1 and " ".join(line.strip() for line in lines) == text
    assert all(line.startswith(" " * 7) for line in lines[1:]) and all(len(line) <= 60 for line in lines)
    path = "wrote " + "/very/long/" * 12
    assert wrapped(path, 60)[1].strip() == path.split()[1]  # can be copied as it stands


def test_pages_keep_their_wide_table() -> None:
    assert {"limits", "drive"} < set(joint_table(read_robot("puma560_physical")).headers)


# ---------------------------------------------------------------------- a real terminal


def on_a_terminal(command: list[str], width: int) -> str:
    """What a command prints on a terminal of so many columns, stderr included."""
    main, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "MINERTIA_DEBUG")}
    child = subprocess.Popen(command, stdin=end, stdout=end, stderr=end, env={**environment, "TERM": "dumb"})
    os.close(end)
    said = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        said += part
    child.wait(timeout=60)
    os.close(main)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.decode()).replace("\r\n", "\n")


def test_a_terminal_of_80_columns(arm: Path, tmp_path: Path) -> None:
    """Nothing is longer there, remarks on stderr included; into a pipe a remark stays one line."""
    convert = [sys.executable, "-m", "minertia", "convert", "puma560_physical", str(tmp_path / "arm.urdf")]
    said = on_a_terminal(convert, 80)
    lines = said.splitlines()
    assert max(len(line) for line in lines if " " in line.strip()) <= 80 and "rotor inertia" in " ".join(said.split())
    piped = subprocess.run([*convert, "--force"], capture_output=True, text=True, timeout=60).stderr
    assert len(piped.splitlines()) < len(lines) and piped.split() == said.split()
    shown = on_a_terminal([sys.executable, "-m", "minertia", "show", str(arm / "long.urdf")], 80)
    assert max(map(len, shown.splitlines())) <= 80 and "left_arm_shoulder_pitch_joint" in shown
