"""Sentences that say what to do: what they say is done word by word, and then the command works."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from minertia.dynamics.model import inverse_dynamics
from minertia.robot.files import read_robot
from minertia.robot.variants import locked
from tests.arm import recorded_arm
from tests.identification.logs import write_csv


@pytest.fixture
def arm(tmp_path) -> Path:
    """A folder with a robot and logs of it."""
    return recorded_arm(tmp_path)


def written_beside(err: str) -> tuple[Path, str]:
    """The file that a sentence names, and the line it says to write there."""
    found = re.search(r"write (columns\..*?) into '(.*?)' \(", err)
    assert found is not None, err
    return Path(found[2]), found[1] + "\n"


@pytest.mark.parametrize("command", ["check", "identify", "campaign new", "payload"])
@pytest.mark.parametrize("taken", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_log_without_a_header(run, arm, command, taken):
    head, *rows = (arm / "a.csv").read_text().splitlines()
    log, robot = arm / "run.csv", arm / "arm.urdf"
    log.write_text("\n".join(rows))
    if taken:
        (arm / "run.toml").write_text('name = "something else"\n')
    args = {
        "check": ("check", log),
        "identify": ("identify", robot, log),
        "campaign new": ("campaign", "new", robot, log),
        "payload": ("payload", log, arm / "loaded.csv", "--robot", robot),
    }[command]
    code, _, err = run(*args)
    assert code == 2 and "the first line contains numbers" in err
    file, line = written_beside(err)
    assert file.name == ("columns.toml" if taken else "run.toml")
    for k, name in enumerate(head.split(",")):
        line = line.replace(f'"c{k + 1}"', f'"{name}"')
    file.write_text(line)
    code, out, err = run(*args) if command != "payload" else run("payload", log, log, "--robot", robot)
    if command == "payload":
        assert "named twice" in err  # both are read, and one log cannot be with and without the load
        return
    assert code == 0, err
    if command == "campaign new":
        (arm / "c.toml").write_text(out)
        assert run("identify", "--campaign", arm / "c.toml")[0] == 0


def test_a_matlab_file_without_time(run, arm):
    from scipy.io import savemat

    names, rows = (arm / "a.csv").read_text().split("\n", 1)
    values = np.array([row.split(",") for row in rows.split()], float)
    columns = dict(zip(names.split(","), values.T, strict=True))
    log, robot = arm / "run.mat", arm / "arm.urdf"
    savemat(
        log, {"q": np.column_stack([columns["q1"], columns["q2"]]), "tau1": columns["tau1"], "tau2": columns["tau2"]}
    )
    for args in (("check", log), ("identify", robot, log)):
        (arm / "run.toml").unlink(missing_ok=True)
        code, _, err = run(*args)
        assert code == 2 and "there is no time column" in err
        file, line = written_beside(err)
        file.write_text(line.replace("1000", "200"))
        assert run(*args)[0] == 0
    code, out, _ = run("campaign", "new", robot, log)
    (arm / "c.toml").write_text(out)
    assert code == 0 and "rate_hz = 200" in out and run("identify", "--campaign", arm / "c.toml")[0] == 0


@pytest.mark.parametrize(
    "command", ["identify", *(pytest.param(c, marks=pytest.mark.slow) for c in ("payload", "validate", "significance"))]
)
def test_a_log_with_a_gap(run, arm, command):
    robot, log = arm / "arm.urdf", arm / "with a gap.csv"
    source = arm / ("loaded.csv" if command == "payload" else "a.csv")
    head, *rows = source.read_text().splitlines()
    log.write_text("\n".join([head, *rows[:1300], *rows[1400:]]))
    if command == "validate":
        assert run("identify", robot, arm / "b.csv", "--out", arm / "out")[0] == 0
    before, after = {
        "identify": (["identify", robot], []),
        "payload": (["payload", arm / "b.csv"], ["--robot", robot]),
        "validate": (["validate", arm / "out" / "model.toml"], []),
        "significance": (["significance", robot], []),
    }[command]
    code, _, err = run(*before, log, *after)
    assert code == 2 and "a gap of 0.505 s follows" in err
    found = re.search(r"as two logs: (.*) and (.*) on the command line, to = (\S+) and from = (\S+) in", err)
    parts = shlex.split(f"{found[1]} {found[2]}")
    code, out, err = run(*before, *parts, *after)
    assert code == 0 and out, err
    if command == "identify":
        entries = f'[{{ file = "{log.name}", to = {found[3]} }}, {{ file = "{log.name}", from = {found[4]} }}]'
        (arm / "c.toml").write_text(f'format = 1\nrobot = "arm.urdf"\n[logs]\ntrain = {entries}\n')
        assert run("identify", "--campaign", arm / "c.toml")[1] == out


def test_parts_of_logs_by_name(run, arm):
    robot, log = arm / "arm.urdf", arm / "a.csv"
    assert run("identify", robot, f"{log}[1:6]", f"{log} [6:]")[0] == 0
    assert "named twice" in run("identify", robot, f"{log}[1:6]", f"{log}[5:]")[2]
    for part, said in (
        ("[1:2:3]", "no such file"),
        ("[a:b]", "be given by two times"),
        ("[50:]", "there are no samples"),
    ):
        code, _, err = run("identify", robot, f"{log}{part}")
        assert code == 2 and said in err, err
    odd = arm / "b[1:2].csv"
    odd.write_bytes((arm / "b.csv").read_bytes())
    assert run("identify", robot, odd)[0] == 0


def test_stamps_that_identify_repairs_are_no_problem(run, arm):
    head, *rows = (arm / "a.csv").read_text().splitlines()
    cells = [row.split(",") for row in rows]
    for k, row in enumerate(cells):
        row[0] = repr(float(row[0]) + 0.001 * (k % 2))
    (arm / "uneven.csv").write_text("\n".join([head, *map(",".join, cells)]))
    code, out, _ = run("check", arm / "uneven.csv")
    assert code == 0 and "non-uniformly sampled" in out and "identify resamples it" in out
    assert run("identify", arm / "arm.urdf", arm / "uneven.csv")[0] == 0


def test_stamps_that_may_not_be_repaired(run, arm):
    head, *rows = (arm / "a.csv").read_text().splitlines()
    cells = [row.split(",") for row in rows]
    for k, row in enumerate(cells):
        row[0] = repr(float(row[0]) + 0.001 * (k % 2))
    (arm / "uneven.csv").write_text("\n".join([head, *map(",".join, cells)]))
    text = 'format = 1\nrobot = "arm.urdf"\n[logs]\ntrain = "uneven.csv"\nresample = false\n'
    (arm / "c.toml").write_text(text)
    code, _, err = run("identify", "--campaign", arm / "c.toml")
    assert code == 2 and "resample and stamps = true in [logs]" in err
    (arm / "c.toml").write_text(text.replace("resample = false", "resample = true"))
    assert run("identify", "--campaign", arm / "c.toml")[0] == 0


def test_held_joints_are_written_back(run, arm):
    """The file the robot was read from has joints that the log does not have."""
    robot, log = arm / "arm.urdf", arm / "shoulder.csv"
    held = locked(read_robot(robot), {"elbow": 0.5})
    t = np.arange(2400) / 200
    angle = np.outer(t, [1.7, 3.1]) + [0.0, 1.0]
    q, qd, qdd = (0.5 * np.sum(x, axis=1, keepdims=True) for x in (
        np.sin(angle), np.cos(angle) * [1.7, 3.1], -np.sin(angle) * np.square([1.7, 3.1])))  # fmt: skip
    tau = 1.02 * inverse_dynamics(held, q, qd, qdd) + 0.02 * np.random.default_rng(0).normal(size=q.shape)
    write_csv(log, {"t": t, "q1": q[:, 0], "tau1": tau[:, 0]})
    code, text, _ = run("campaign", "new", robot, log)
    assert code == 0 and 'hold = "?"' in text
    answered = text.replace('hold = "?"', "hold = { elbow = 0.5 }").replace('name = "auto"', 'name = "physical"')
    (arm / "c.toml").write_text(answered)
    code, _, err = run("identify", "--campaign", arm / "c.toml", "--out", arm / "out")
    assert code == 0 and "not written" not in err, err
    before, after = (re.findall(r"<mass value=.*?>", path.read_text()) for path in (robot, arm / "out" / "robot.urdf"))
    assert len(before) == 2 and after[0] != before[0] and after[1] == before[1]
    assert run("show", arm / "out" / "robot.urdf")[0] == 0
