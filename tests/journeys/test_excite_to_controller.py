"""From `excite` to the files of controllers and back: each runs the motion that `run` would, at the same times."""

from __future__ import annotations

import csv
import math
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest

from minertia.excitation.sampled import SampledMotion
from minertia.excitation.trajectory import Trajectory
from tests.conftest import Run
from tests.excitation.fake_controllers import FRANKA_EXCEPTION, FRANKA_ROBOT, Kuka, UniversalRobot

QUICK = ("--harmonics", 2, "--starts", 1, "--samples", 60, "--duration", 3, "--no-friction", "--no-rotors")
PARTS = ("approach", "excitation", "return")
HERE = (0.1, -1.2, 1.1, 0.2, 0.3, -0.4)
RATE = 40.0  # Hz, which divides none of the durations


class Commands(NamedTuple):
    """What a controller does with its file: times (N,), positions (N, n), velocities where the file tells them."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray | None = None


def promised(folder: Path, rate: float) -> Commands:
    """The parts that `excite` left as CSV files, one after the other, each from the next whole period on."""
    found, begin = [], 0
    for name in PARTS:
        way = SampledMotion(Trajectory.load(folder / f"{name}.csv"))
        count = math.ceil(way.duration * rate - 1e-6)
        steps = np.arange(count + (name == PARTS[-1]))
        q, qd, _ = way.at(np.minimum(steps / rate, way.duration))
        found.append(((begin + steps) / rate, q, qd))
        begin += count
    t, q, qd = (np.concatenate(columns) for columns in zip(*found, strict=True))
    return Commands(t, q, qd)


def universal(folder: Path) -> Commands:
    robot = UniversalRobot(here=list(HERE))
    robot.run((folder / "excitation.script").read_text(encoding="utf-8"))
    assert not robot.popups
    return Commands(np.cumsum([0.0, *robot.periods[:-1]]), np.array(robot.postures))


def kuka(folder: Path) -> Commands:
    robot = Kuka()
    robot.load((folder / "excitation.dat").read_text(encoding="utf-8"), "EXCITATION")
    robot.run((folder / "excitation.src").read_text(encoding="utf-8"), "EXCITATION")
    points = [robot.points[name] for name in (robot.first, *robot.visited)]
    return Commands(np.array([0.0, *robot.times]), np.radians(points))


def ros2(folder: Path) -> Commands:
    """YAML, of which JSON is a part."""
    yaml = pytest.importorskip("yaml")
    points = yaml.safe_load((folder / "joint_trajectory.yaml").read_text(encoding="utf-8"))["points"]
    stamps = [point["time_from_start"] for point in points]
    t = np.array([stamp["sec"] + 1e-9 * stamp["nanosec"] for stamp in stamps])
    return Commands(t, *(np.array([point[key] for point in points]) for key in ("positions", "velocities")))


def mujoco(folder: Path) -> Commands:
    keys = ElementTree.parse(folder / "keyframes.xml").getroot().findall("keyframe/key")
    rows = [[[float(v) for v in key.attrib[name].split()] for key in keys] for name in ("time", "qpos", "qvel")]
    t, q, qd = map(np.array, rows)
    return Commands(t[:, 0], q, qd)


def plain(folder: Path, name: str = "route.csv") -> Commands:
    lines = (folder / name).read_text(encoding="utf-8").splitlines()
    rows = [*csv.DictReader(line for line in lines if not line.startswith("#"))]
    n = sum(key.startswith("q") and key[1:].isdigit() for key in rows[0])
    columns = [np.array([[float(row[f"{s}{j + 1}"]) for j in range(n)] for row in rows]) for s in ("q", "qd")]
    return Commands(np.array([float(row["t"]) for row in rows]), *columns)


READERS: dict[str, tuple[Callable[[Path], Commands], float]] = {
    "urscript": (universal, 1e-7),  # with the digits of its positions [rad]
    "krl": (kuka, 1e-7 + np.radians(1e-5)),
    "ros2": (ros2, 1e-9),
    "mujoco": (mujoco, 1e-9),
    "csv": (plain, 1e-9),
}


def test_every_controller_of_six_joints_runs_the_motion(run: Run, tmp_path: Path) -> None:
    exports = [part for form in READERS for part in ("--export", form)]
    place = ("--from", ",".join(map(str, HERE)), "--export-rate", RATE, "--out", tmp_path)
    code, _, err = run("excite", "ur10e", *QUICK, *place, *exports)
    assert code == 0, err
    expected = promised(tmp_path, RATE)
    np.testing.assert_allclose(expected.q[[0, -1]], [HERE, HERE], atol=1e-9)
    assert expected.qd is not None and np.abs(expected.qd).max() > 0.2
    for form, (read, digits) in READERS.items():
        told = read(tmp_path)
        assert told.q.shape == expected.q.shape, form
        np.testing.assert_allclose(told.t, expected.t, atol=1e-6, err_msg=form)
        np.testing.assert_allclose(told.q, expected.q, atol=digits, err_msg=form)
        if told.qd is not None:
            np.testing.assert_allclose(told.qd, expected.qd, atol=digits, err_msg=form)


@pytest.mark.slow
def test_a_franka_runs_the_motion(run: Run, tmp_path: Path) -> None:
    """Its program, compiled, with a library that calls it every millisecond and writes down what it commands."""
    here = np.array([0.1, -0.4, 0.2, -1.8, 0.1, 1.7, 0.3])
    limits = [part for limit in ("acceleration=7", "jerk=3000") for part in ("--limits", limit)]
    place = ("--from", ",".join(map(str, here)), "--export-rate", 1000, "--out", tmp_path)
    code, _, err = run("excite", "panda", *QUICK, *limits, *place, "--export", "franka")
    assert code == 0, err
    expected = promised(tmp_path, 1000.0)
    told = plain(tmp_path, "franka_motion.csv")
    np.testing.assert_allclose(told.t, expected.t, atol=1e-9)
    np.testing.assert_allclose(told.q, expected.q, atol=1e-9)
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    (tmp_path / "franka").mkdir()
    (tmp_path / "franka" / "robot.h").write_text(FRANKA_ROBOT, encoding="utf-8")
    (tmp_path / "franka" / "exception.h").write_text(FRANKA_EXCEPTION, encoding="utf-8")
    subprocess.run([compiler, "-std=c++17", "-I.", "franka_motion.cpp", "-o", "go"], cwd=tmp_path, check=True)
    start = ":".join(map(str, told.q[0]))
    done = subprocess.run(
        ["./go", start, "franka_motion.csv"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    commanded = np.array([[float(v) for v in line.split()] for line in done.stdout.splitlines()])
    np.testing.assert_allclose(commanded, expected.q, atol=1e-9)
