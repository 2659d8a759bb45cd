"""`minertia run`: the gate, the logs, the record, and clear sentences."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minertia import read_robot
from minertia.excitation.transfer import Transfer
from minertia.identification.logs.columns import ColumnMap
from minertia.identification.logs.readers import read_recording
from minertia.robot.robot import Robot
from minertia.running.ladder import RungLog
from minertia.running.record import log_csv, motion_digest, record_of
from minertia.running.route_files import read_route
from tests.conftest import Run

pytest.importorskip("mujoco")
ROBOT = "puma560_physical"
HERE = np.array([0.0, 1.4, -1.4, 0.0, 0.3, 0.0])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A motion with its ways, as `excite` writes them."""
    there = HERE + 0.2
    parts = {"approach": (HERE, there), "excitation": (there, there + 0.1, there), "return": (there, HERE)}
    (tmp_path / "motion").mkdir()
    for name, postures in parts.items():
        way = Transfer(np.array(postures), 0.5 * np.arange(len(postures)))
        way.at_rate(50.0).save(tmp_path / "motion" / f"{name}.csv")
    return tmp_path / "motion"


def test_the_ladder_on_the_simulated_robot(run: Run, folder: Path, tmp_path: Path) -> None:
    code, out, err = run("run", ROBOT, folder, "--speeds", "100", "--out", tmp_path / "out", "--json")
    assert code == 0, err
    data = json.loads(out)
    assert data["passed"] is True and data["speeds"] == [1.0] and data["driver"] == "sim"
    assert "efforts are watched" not in err
    assert {Path(name).name for name in data["files"]} == {"run-100.csv", "run.toml"}
    log = read_recording(tmp_path / "out" / "run-100.csv", read_robot(ROBOT))
    assert log.q.shape[1] == 6 and log.rate_hz == pytest.approx(125, rel=1e-3)
    header = (tmp_path / "out" / "run-100.csv").read_text().splitlines()[0].split(",")
    assert header[:2] == ["t", "q1"] and "q_cmd6" in header and "tau6" in header
    table = np.loadtxt(tmp_path / "out" / "run-100.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(table[1:, 1:7], table[:-1, 7:13], atol=0.02)

    # the record opens the gate, but for this motion and this robot only
    record = tmp_path / "out" / "run.toml"
    ask = ("--driver", "ros2", "--host", "ws://127.0.0.1:9", "--out", tmp_path / "real", "--rehearsed")
    code, _, err = run("run", ROBOT, folder, *ask, record)
    assert code == 2 and "cannot be reached" in err
    record.write_text(record.read_text().replace("passed = true", "passed = true "))
    code, _, err = run("run", ROBOT, folder, *ask, record)
    assert code == 2 and "it was changed since" in err


def test_a_fault_is_recorded(run: Run, folder: Path, tmp_path: Path) -> None:
    ask = ("run", ROBOT, folder, "--speeds", "100", "--effort", "3", "--out", tmp_path / "out")
    code, out, err = run(*ask)
    assert code == 1 and "needs an effort" in out, err
    record = tomllib.loads((tmp_path / "out" / "run.toml").read_text())
    assert record["passed"] is False and record["speeds"] == [] and "needs an effort" in record["aborted"]
    assert (tmp_path / "out" / "run-100.csv").is_file()
    code, _, err = run("run", ROBOT, folder, "--driver", "ros2", "--rehearsed", tmp_path / "out" / "run.toml")
    assert code == 2 and "was not passed" in err


@pytest.mark.parametrize(
    "args, sentence",
    [
        (("--driver", "abb"), "no driver called 'abb'"),
        (("--driver", "ur", "--host", "x"), "was not rehearsed"),
        (("--driver", "ros2"), "was not rehearsed"),
        (("--speeds", "0"), "parts of the motion's own"),
        (("--speeds", "fast"), "numbers separated by commas"),
        (("--speeds", "10,10.2"), "one speed twice"),
        (("--error", "-1"), "must be positive"),
        (("--error", "1,2"), "one finite number or 6"),
        (("--rate", "nan"), "commands a second"),
        (("--rate", "5"), "commands a second"),
    ],
)
def test_sentences(run: Run, folder: Path, tmp_path: Path, args: tuple[object, ...], sentence: str) -> None:
    code, out, err = run("run", ROBOT, folder, *args, "--out", tmp_path / "never")
    assert code == 2 and out == "" and sentence in err and "Traceback" not in err, err
    assert not (tmp_path / "never").exists()


def test_efforts_that_are_not_watched_are_named(run: Run, folder: Path) -> None:
    _, _, err = run("run", ROBOT, folder, "--driver", "ur", "--host", "x")  # whose efforts are currents
    assert "efforts are watched at no joint: give bounds with --effort" in err


def test_motions_that_cannot_be_run(run: Run, folder: Path, tmp_path: Path) -> None:
    for args, sentence in (
        (("planar2r", folder), "moves 6 joints"),
        ((ROBOT, tmp_path), "neither a motion nor a folder"),
        ((ROBOT, folder / "approach.csv"), "does not end where"),
    ):
        code, _, err = run("run", *args, "--out", tmp_path / "never")
        assert code == 2 and sentence in err, err
    far = np.array([HERE, HERE + [3.2, 0, 0, 0, 0, 0], HERE])
    (folder / "excitation.csv").unlink()
    Transfer(far, np.array([0.0, 9.0, 18.0])).at_rate(20.0).save(folder / "excitation.csv")
    code, _, err = run("run", ROBOT, folder / "excitation.csv", "--out", tmp_path / "never")
    assert code == 2 and "joint 'j1' beyond the limit of position" in err


def test_the_gate_knows_motion_robot_and_speed(run: Run, folder: Path, tmp_path: Path) -> None:
    from minertia.errors import MinertiaError
    from minertia.files import write_file
    from minertia.running.record import require_rehearsed

    robot = read_robot(ROBOT)
    way = read_route(folder, robot)
    log = RungLog(0.5, np.zeros(1), HERE[None], HERE[None], None)
    write_file(tmp_path / "run.toml", record_of(robot, way, "sim", [log]).to_toml())
    require_rehearsed(tmp_path / "run.toml", robot, way, 0.5)
    other = Transfer(np.array([HERE, HERE + 1e-4, HERE]), np.array([0.0, 1.0, 2.0]))
    for args, said in (
        ((robot, way, 1.0), "did not reach 100 %"),
        ((robot, other, 0.5), "another motion"),
        ((robot.with_payload(1.0, (0, 0, 0)), way, 0.5), "another robot"),
        ((_longer(robot), way, 0.5), "another robot"),
    ):
        with pytest.raises(MinertiaError, match=said):
            require_rehearsed(tmp_path / "run.toml", *args)
    write_file(tmp_path / "real.toml", record_of(robot, way, "ur", [log]).to_toml())
    with pytest.raises(MinertiaError, match="not run on a simulated robot"):
        require_rehearsed(tmp_path / "real.toml", robot, way, 0.5)


def _longer(robot: Robot) -> Robot:
    """The same robot with its third joint a centimetre farther out."""
    joints = list(robot.numeric.joints)
    x, y, z = joints[2].p
    joints[2] = replace(joints[2], p=(x + 0.01, y, z))
    return replace(robot.numeric, joints=tuple(joints))


def test_the_same_motion_at_another_rate_is_the_same() -> None:
    from minertia.excitation.sampled import SampledMotion

    way = Transfer(np.array([HERE, HERE + 0.4, HERE]), np.array([0.0, 1.0, 2.0]))
    paths = [SampledMotion(way.at_rate(rate)) for rate in (500.0, 1000.0)]
    for path in paths:
        t = np.linspace(0, 2, 777)
        np.testing.assert_allclose(path.at(t)[0], way.at(t)[0], atol=1e-9)
        np.testing.assert_allclose(path.at(t)[1], way.at(t)[1], atol=1e-7)
        np.testing.assert_allclose(path.at(t)[2], way.at(t)[2], atol=1e-4)
    assert motion_digest(way) != motion_digest(Transfer(way.postures, 1.001 * way.ends))


def test_a_log_of_currents_names_them(tmp_path: Path) -> None:
    log = RungLog(1.0, np.arange(30) / 10, np.zeros((30, 2)), np.ones((30, 2)), np.ones((30, 2)))
    text = log_csv(log, "i{j}")
    assert text.splitlines()[0] == "t,q1,q2,q_cmd1,q_cmd2,i1,i2"
    (tmp_path / "log.csv").write_text(text)
    assert read_recording(tmp_path / "log.csv", read_robot("planar2r"), ColumnMap(effort_unit="A")).q.shape == (30, 2)
