"""Files for controllers, each read by a program that is not ours where there is one, else by a fake controller."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from minertia import read_robot
from minertia.excitation.exports.motion import ControllerMotion
from minertia.excitation.exports.ros2 import quoted
from minertia.excitation.exports.table import EXPORTS, export
from minertia.excitation.route import Route
from minertia.excitation.trajectory import Trajectory
from minertia.excitation.transfer import Transfer
from minertia.io.errors import Infeasible, UnknownName
from minertia.robot.files import write_robot
from minertia.robot.robot import Robot
from tests.conftest import Run
from tests.excitation.fake_controllers import FRANKA_EXCEPTION, FRANKA_ROBOT, Halted, Kuka, UniversalRobot
from tests.shared import SHARED

ODD = 'j"1\\ \t\u00e9 {x}: # \U0001f916'
QUICK = ("--harmonics", 2, "--starts", 1, "--samples", 60, "--duration", 4, "--no-friction", "--no-rotors")


def way(n: int, seconds: float = 0.73, size: float = 0.5) -> Route:
    """There, on, and back, in times that are no multiples of a period."""
    a, b = np.zeros(n), size * np.linspace(-1, 1, n) + 0.1
    c = 0.3 * b[::-1] - 0.2
    legs = [("approach", a, b), ("excitation", b, c), ("return", c, a)]
    return Route(tuple((name, Transfer(np.array([x, y]), np.array([0, seconds]))) for name, x, y in legs))


def test_all_files_have_the_names_that_are_promised():
    for form, row in EXPORTS.items():
        robot = _seven() if form == "franka" else read_robot("puma560")
        assert tuple(export(robot, way(robot.n, 3.0, 0.1), form)) == row.files
    with pytest.raises(UnknownName, match="ros2"):
        export(read_robot("puma560"), way(6), "rapid")


def test_parts_begin_at_samples_and_at_rest():
    motion = ControllerMotion.of(read_robot("puma560"), way(6), 100.0)
    assert motion.begins == (0, 73, 146) and len(motion.path.t) == 220
    uneven = ControllerMotion.of(read_robot("puma560"), way(6, 0.735), 100.0)
    for k in (*uneven.begins, -1):
        assert np.abs(uneven.path.qd[k]).max() == 0
    np.testing.assert_allclose(np.diff(uneven.path.t), 0.01)


def test_ros2_reads_its_message():
    """YAML by PyYAML, the message by rosbags: serialised as on the wire and read again."""
    yaml = pytest.importorskip("yaml")
    typesys = pytest.importorskip("rosbags.typesys")
    store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    kind = "trajectory_msgs/msg/JointTrajectory"
    types = store.types
    robot = _renamed(read_robot("puma560"), ODD)
    (text,) = export(robot, way(6), "ros2", 50.0).values()
    data = yaml.safe_load(text)
    points = [
        types["trajectory_msgs/msg/JointTrajectoryPoint"](
            **{
                name: np.array(point[name], np.float64)
                for name in ("positions", "velocities", "accelerations", "effort")
            },
            time_from_start=types["builtin_interfaces/msg/Duration"](**point["time_from_start"]),
        )
        for point in data["points"]
    ]
    stamp = types["builtin_interfaces/msg/Time"](**data["header"]["stamp"])
    header = types["std_msgs/msg/Header"](stamp=stamp, frame_id=data["header"]["frame_id"])
    message = types[kind](header=header, joint_names=data["joint_names"], points=points)
    read = store.deserialize_cdr(store.serialize_cdr(message, kind), kind)
    assert read.joint_names == [ODD, "j2", "j3", "j4", "j5", "j6"]
    expected = ControllerMotion.of(robot, way(6), 50.0).path
    times = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in read.points]
    np.testing.assert_allclose(times, expected.t, atol=1e-9)
    assert np.all(np.diff(times) > 0)
    for name, values in (("positions", expected.q), ("velocities", expected.qd), ("accelerations", expected.qdd)):
        np.testing.assert_allclose([getattr(p, name) for p in read.points], values, atol=1e-10)


@pytest.mark.parametrize(
    "text", ["a", "", ODD, "'", '"', "\n- x", "\x00\x1f\x7f", "\u2028", "{[&*!|>%@`", "\U0001f916"]
)
def test_names_stay_what_they_are_in_yaml(text):
    yaml = pytest.importorskip("yaml")
    assert quoted(text).isascii() and "\n" not in quoted(text)
    assert yaml.safe_load(f"[{quoted(text)}]") == [text]


def _renamed(robot: Robot, name: str) -> Robot:
    from dataclasses import replace

    joints = (replace(robot.joints[0], name=name), *robot.joints[1:])
    return replace(robot, joints=joints, name=f"{name}\nhalt\n*/ --> end")


def test_a_universal_robot_runs_its_program():
    robot = _renamed(read_robot("puma560"), ODD)
    (text,) = export(robot, way(6), "urscript", 125.0).values()
    expected = ControllerMotion.of(robot, way(6), 125.0).path
    fake = UniversalRobot(here=[0.004] * 6)
    fake.run(text)
    np.testing.assert_allclose(fake.postures, expected.q, atol=1e-7)
    assert set(fake.periods) == {0.008} and not fake.popups
    away = UniversalRobot(here=[0.0, 0.0, 0.02, 0.0, 0.0, 0.0])
    with pytest.raises(Halted):
        away.run(text)
    assert away.popups and not away.postures


def test_a_kuka_runs_its_program():
    robot = _renamed(read_robot("puma560"), ODD)
    files = export(robot, way(6), "krl", 20.0)
    expected = ControllerMotion.of(robot, way(6), 20.0).path
    fake = Kuka()
    fake.load(files["excitation.dat"], "EXCITATION")
    fake.run(files["excitation.src"], "EXCITATION")
    assert all(text.isascii() for text in files.values())
    np.testing.assert_allclose(np.radians([fake.points[p] for p in (fake.first, *fake.visited)]), expected.q, atol=1e-6)
    np.testing.assert_allclose(fake.times, expected.t[1:], atol=1e-6)


def test_axes_that_slide_are_in_millimetres():
    robot = read_robot("scara")
    slides = [k for k, j in enumerate(robot.independent) if robot.joints[j].kind == "prismatic"]
    assert slides
    fake = Kuka()
    fake.load(export(robot, way(robot.n), "krl", 20.0)["excitation.dat"], "EXCITATION")
    expected = ControllerMotion.of(robot, way(robot.n), 20.0).path.q
    values = np.array(list(fake.points.values()))
    np.testing.assert_allclose(values[:, slides] / 1000, expected[:, slides], atol=1e-6)


def test_a_franka_runs_its_program(tmp_path):
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    robot = _seven()
    files = export(robot, way(7, 2.0, 0.4), "franka")
    (tmp_path / "franka").mkdir()
    for name, text in {**files, "franka/robot.h": FRANKA_ROBOT, "franka/exception.h": FRANKA_EXCEPTION}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    build = [compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-I.", "franka_motion.cpp", "-o", "run"]
    subprocess.run(build, cwd=tmp_path, check=True)
    expected = ControllerMotion.of(robot, way(7, 2.0, 0.4), 1000.0).path.q

    def ran(*here: float, samples: str = "franka_motion.csv") -> subprocess.CompletedProcess[str]:
        command = ["./run", ":".join(map(str, here)), samples]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = ran(*expected[0])
    assert done.returncode == 0, done.stderr
    commanded = np.array([[float(v) for v in line.split()] for line in done.stdout.splitlines()])
    np.testing.assert_allclose(commanded, expected, atol=1e-12)
    shifted = ran(*(expected[0] + 0.005))
    commanded = np.array([[float(v) for v in line.split()] for line in shifted.stdout.splitlines()])
    assert np.abs(commanded[0] - expected[0] - 0.005).max() < 1e-12, "no step at the start"
    np.testing.assert_allclose(commanded[1000:], expected[1000:], atol=1e-12)
    assert np.abs(np.diff(commanded, 3, axis=0)).max() / 1e-9 < 3750
    assert ran(*(expected[0] + 0.02)).returncode == 2
    (tmp_path / "short.csv").write_text("\n".join(files["franka_motion.csv"].splitlines()[:100]))
    assert ran(*expected[0], samples="short.csv").returncode == 2


def _seven() -> Robot:
    from tests.random_robots import random_robot

    for seed in range(60):
        robot = random_robot(seed, n=7)
        if robot.n == 7 and all(joint.kind == "revolute" for joint in robot.joints):
            return robot
    raise AssertionError("no chain of seven turning joints was drawn")


def test_what_a_franka_would_end_by_itself_is_refused():
    with pytest.raises(Infeasible, match=r"reaches a (velocity|acceleration|jerk) of .* but a Franka arm stops"):
        export(_seven(), way(7, 0.3, 1.0), "franka")
    with pytest.raises(Infeasible, match="1000 set points per second"):
        export(_seven(), way(7, 2.0, 0.2), "franka", 500.0)


@pytest.mark.parametrize("form, said", [("urscript", "6 revolute joints"), ("franka", "7 revolute joints")])
def test_other_arms_are_refused(form, said):
    with pytest.raises(Infeasible, match=said):
        export(read_robot("scara"), way(read_robot("scara").n), form)


def test_mujoco_reads_its_key_frames(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    robot = read_robot("ur10e")
    (text,) = export(robot, way(6), "mujoco", 20.0).values()
    write_robot(robot, tmp_path / "arm.mjcf")
    (tmp_path / "keyframes.xml").write_text(text, encoding="utf-8")
    including = (
        (tmp_path / "arm.mjcf")
        .read_text(encoding="utf-8")
        .replace("</mujoco>", "<include file='keyframes.xml'/></mujoco>")
    )
    (tmp_path / "with.xml").write_text(including, encoding="utf-8")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "with.xml"))
    expected = ControllerMotion.of(robot, way(6), 20.0).path
    np.testing.assert_allclose(model.key_qpos, expected.q, atol=1e-10)
    np.testing.assert_allclose(model.key_qvel, expected.qd, atol=1e-10)
    np.testing.assert_allclose(model.key_time, expected.t, atol=1e-8)


def test_key_frames_hold_joints_that_follow_and_odd_names():
    from xml.etree import ElementTree

    robot = _renamed(read_robot("puma560"), "a--b" + ODD.replace("\t", ""))
    (text,) = export(robot, way(6), "mujoco", 20.0).values()
    keys = ElementTree.fromstring(text).findall("keyframe/key")
    assert len({key.get("name") for key in keys}) == len(keys) == len(ControllerMotion.of(robot, way(6), 20.0).path.t)


def test_a_plain_file_at_a_rate(tmp_path):
    (tmp_path / "m.csv").write_text(export(read_robot("puma560"), way(6), "csv", 250.0)["route.csv"])
    read = Trajectory.load(tmp_path / "m.csv")
    np.testing.assert_allclose(np.diff(read.t), 0.004)
    assert read.n == 6


def test_too_many_points_for_a_kuka():
    with pytest.raises(Infeasible, match="use a lower --export-rate"):
        export(read_robot("puma560"), way(6, 3.0), "krl", 500.0)


# ---------------------------------------------------------------------- the command


def test_excite_writes_what_is_asked_for(run: Run, tmp_path: Path) -> None:
    limits = ("--limits", "jerk=60", "--limits", "velocity=1")
    ask = ("--from", "0.3,-0.2", "--export-rate", 100, "--export", "ros2", "--export", "csv", "--export", "mujoco")
    code, out, err = run("excite", "planar2r", *QUICK, *limits, *ask, "--out", tmp_path / "new", "--json")
    assert code == 0, err
    data = json.loads(out)
    names = {Path(name).name for name in data["files"]}
    assert names == {path.name for path in (tmp_path / "new").iterdir()}
    assert {"approach.csv", "return.csv", "joint_trajectory.yaml", "route.csv", "keyframes.xml"} <= names
    assert "send_trajectory.py" in names
    assert (
        data["rate"] == 100
        and data["from"] == [0.3, -0.2]
        and set(data["parts"]) == {"approach", "excitation", "return"}
    )
    motion, to, back = (Trajectory.load(tmp_path / "new" / f"{n}.csv") for n in ("excitation", "approach", "return"))
    assert motion.period == pytest.approx(0.01) and to.q[0] == pytest.approx([0.3, -0.2])
    np.testing.assert_allclose([to.q[-1], back.q[0], back.q[-1]], [motion.q[0], motion.q[-1], [0.3, -0.2]], atol=1e-9)
    again, _, err = run("excite", "planar2r", *QUICK, *limits, *ask, "--out", tmp_path / "new")
    assert again == 0, err


@pytest.mark.parametrize(
    "args, sentence",
    [
        (("--from", "1"), "--from needs 2 numbers"),
        (("--from", "a,b"), "--from must be a list of numbers"),
        (("--export-rate", 0), "Hz"),
        (("--export-rate", "nan"), "Hz"),
        (("--export", "rapid"), '--export must be a list of "ros2", "urscript"'),
        (("--export", "urscript"), "6 revolute joints"),
        (("--sweeps", "--from", "0,0"), "cannot be combined with --from or --export"),
    ],
)
def test_sentences(run: Run, tmp_path: Path, args: tuple[object, ...], sentence: str) -> None:
    code, out, err = run("excite", "planar2r", *QUICK, *args, "--out", tmp_path / "never")
    assert code == 2 and out == "" and sentence in err and "Traceback" not in err, err
    assert not (tmp_path / "never").exists()


def test_shared_arms_of_seven_joints_can_be_exported():
    file = SHARED / "robots" / "kuka_lwr4.urdf"
    if not file.is_file():
        pytest.skip("no shared robots")
    robot = read_robot(str(file))
    assert export(robot, way(robot.n, 3.0, 0.2), "ros2", 10.0)
