"""Ctrl-C: one line that says so, exit code 130, and nothing half-written, whenever it comes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from minertia.codegen.kernels import kernel
from tests.arm import recorded_arm

QUICK = ("--starts", 1, "--samples", 40, "--duration", 4, "--harmonics", 2,
         "--limits", "position=1", "--limits", "velocity=1", "--limits", "acceleration=4")  # fmt: skip
COMMANDS: dict[str, tuple[object, ...]] = {
    "base": ("base", "puma560", "--html", "OUT"),
    "robots": ("robots",),
    "identify": ("identify", "ARM/arm.urdf", "ARM/a.csv", "--validate", "ARM/b.csv", "--out", "OUT"),
    "significance": ("significance", "ARM/arm.urdf", "ARM/a.csv"),
    "payload": ("payload", "ARM/a.csv", "ARM/loaded.csv", "--robot", "ARM/arm.urdf"),
    "campaign new": ("campaign", "new", "ARM/arm.urdf", "ARM/a.csv", "--out", "OUT"),
    "generate": ("generate", "scara", "--parameters", "base", "--out", "OUT"),
    "excite": ("excite", "ARM/arm.urdf", *QUICK, "--out", "OUT"),
    "rehearse": ("rehearse", "ARM/arm.urdf", "--duration", 4, "--rate", 250, *QUICK[6:], "--out", "OUT"),
}

# moments of commands that take seconds: most of one is the same computation, or it writes nothing
FEWER = {"rehearse": 8, "robots": 8, "significance": 16, "payload": 16, "identify": 24}

# Runs a command once to its end, then again and again with a signal at some call of a Python function.
INTERRUPT = """
import contextlib, io, json, random, shutil, signal, sys
from pathlib import Path
from minertia.cli import main

folder, line, moments, number = Path(sys.argv[1]), json.loads(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])

def calls(at):
    count = 0
    def profile(frame, event, arg):
        nonlocal count
        if event == "call":
            count += 1
            if count == at:
                sys.setprofile(None)
                signal.raise_signal(number)
    err = io.StringIO()
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()):
        sys.setprofile(profile)
        try:
            code = main(line)
        finally:
            sys.setprofile(None)
    return count, code, err.getvalue()

def written():
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))

with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
    assert main(line) == 0  # the second time without imports
count, code, err = calls(0)
assert code == 0, err
whole = written()
for at in sorted(random.Random(0).sample(range(1, round(0.95 * count)), moments)):
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    _, code, err = calls(at)
    where = f"call {at} of {count}: {code} {written()} {err}"
    assert code == 128 + number and err.splitlines()[-1:] == ["minertia: stopped"], where
    assert "Traceback" not in err and "should not have" not in err and "Exception ignored" not in err, where
    assert written() in ([], whole), where
"""


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded_arm(tmp_path_factory.mktemp("arm"))


def interrupted(name: str, arm: Path, out: Path, moments: int, number: int = signal.SIGINT) -> None:
    out.mkdir()
    line = [str(word).replace("ARM", str(arm)).replace("OUT", str(out / "new")) for word in COMMANDS[name]]
    command = [sys.executable, "-c", INTERRUPT, str(out), json.dumps(line), str(moments), str(int(number))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_at_many_moments(name: str, arm: Path, tmp_path: Path) -> None:
    if name == "rehearse":
        pytest.importorskip("mujoco")
    interrupted(name, arm, tmp_path / "out", FEWER.get(name, 40))


def test_a_plain_kill_is_clean_too(arm: Path, tmp_path: Path) -> None:
    interrupted("campaign new", arm, tmp_path / "out", 1, signal.SIGTERM)


IMPORTS = """
import sys, signal
left = int(sys.argv.pop(1))
def count(event, args):
    global left
    if event == "import" and "minertia.cli.stop" in sys.modules:
        left -= 1
        if left == 0:
            signal.raise_signal(signal.SIGINT)
sys.addaudithook(count)
import runpy
runpy.run_module("minertia", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(
    "moment", [10, pytest.param(100, marks=pytest.mark.slow), pytest.param(300, marks=pytest.mark.slow), 450]
)
def test_while_modules_are_imported(moment: int, tmp_path: Path) -> None:
    """The first does not yet have the parser, the last is within NumPy and SciPy."""
    command = [sys.executable, "-c", IMPORTS, str(moment), "base", "planar2r", "--html", str(tmp_path / "page.html")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "minertia: stopped\n")
    assert not list(tmp_path.iterdir())


def test_a_program_that_was_told_to_ignore_it(tmp_path: Path) -> None:
    """As in the background of a script: nobody there presses keys for it."""
    script = f"trap '' INT; exec {sys.executable} -c \"$0\" 1 base planar2r"
    done = subprocess.run(["sh", "-c", script, IMPORTS], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "base parameters" in done.stdout, done.stderr


def test_threads_do_not_work_on() -> None:
    """Parts of a batch that no thread has begun are dropped."""
    begun, ended = [], threading.Event()

    def part(first: int, count: int) -> None:
        begun.append(first)
        if len(begun) == 1:
            os.kill(os.getpid(), signal.SIGINT)
        ended.wait(0.005)

    parts = [(k, 1) for k in range(2000)]
    with pytest.raises(KeyboardInterrupt):
        kernel._shared(part, parts, 2)
    assert len(begun) < len(parts)


def has_ended(pid: int) -> bool:
    """Whether a process is gone, or dead and not yet collected by its parent."""
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
            os.kill(pid, 0)
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.1)
    return False


def test_the_compiler_is_stopped(tmp_path: Path) -> None:
    """A compiler that never ends, as a child of the command."""
    pid = tmp_path / "pid"
    (tmp_path / "cc").write_text(f"#!/bin/sh\necho $$ > {pid}\nkill -INT $PPID\nexec sleep 600\n")
    (tmp_path / "cc").chmod(0o755)
    command = [sys.executable, "-m", "minertia", "generate", "planar2r", "--parameters", "base", "--target", "fmu"]
    environment: dict[str, Any] = {**os.environ, "CC": str(tmp_path / "cc"), "HOME": str(tmp_path / "home")}
    done = subprocess.run([*command, "--out", str(tmp_path / "new")], capture_output=True, text=True, timeout=120,
                          env={**environment, "XDG_CACHE_HOME": str(tmp_path / "home")})  # fmt: skip
    assert (done.returncode, done.stderr) == (130, "minertia: stopped\n")
    assert not (tmp_path / "new").exists()
    assert has_ended(int(pid.read_text()))


def test_output_to_a_full_disk() -> None:
    if not Path("/dev/full").is_char_device():
        pytest.skip("no /dev/full here")
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "minertia", "base", "planar2r"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr == "minertia: the output cannot be written (No space left on device)\n"
