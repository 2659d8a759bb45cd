"""`minertia excite`: files, JSON, limits, and clear sentences."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from minertia.dynamics.model import inverse_dynamics
from minertia.excitation.trajectory import Trajectory
from minertia.robot.files import read_robot
from minertia.robot.variants import held
from tests.arm import ARM
from tests.conftest import Run
from tests.pages import page_data
from tests.shared import SHARED, needs_shared

QUICK = ("--harmonics", 2, "--starts", 1, "--samples", 60, "--duration", 4, "--no-friction", "--no-rotors")


def test_motion_for_the_controller(run: Run, tmp_path: Path) -> None:
    limits = ("--limits", "position=1", "--limits", "velocity=0.8,0.7", "--limits", "acceleration=3")
    code, out, err = run("excite", "planar2r", *QUICK, *limits, "--out", tmp_path / "new", "--json")
    assert code == 0, err
    data = json.loads(out)
    assert data["robot"] == "planar 2R" and data["format"] == 1 and data["condition"] > 1
    assert all(p["deviation"] > 0 for p in data["parameters"].values())
    motion = Trajectory.load(tmp_path / "new" / "excitation.csv")
    assert np.abs(motion.q).max() <= 1 and np.all(np.abs(motion.qd).max(axis=0) <= [0.8, 0.7])
    assert np.abs(motion.qd[[0, -1]]).max() < 1e-9
    assert "start 1 of 1" in err and "excitation.html" in err
    assert "minertia-page" in (tmp_path / "new" / "excitation.html").read_text(encoding="utf-8")


def test_limits_from_a_file_and_a_start(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "limits.toml"
    file.write_text("position = [[-1.0, 0.5], [-0.5, 1.0]]\nvelocity = 1.0\nacceleration = [3.0, 4.0]\n")
    code, out, err = run("excite", "planar2r", *QUICK, "--limits", file, "--start", "0.1,0.2", "--out", tmp_path)
    assert code == 0 and "condition number" in out, err
    assert Trajectory.load(tmp_path / "excitation.csv").q[0] == pytest.approx([0.1, 0.2])


RATES = "'velocity' must be a number above 0 and at most 1e+12 [rad/s or m/s], or a list of them"


@pytest.mark.parametrize(
    "args, sentence",
    [
        (("planar2r", "--duration", 0), "--duration must be a number from 0.01 to 100000 [s]"),
        (
            ("planar2r", "--limits", "velocity=0"),
            f"{RATES}, not 0",
        ),
        (
            ("planar2r", "--limits", "velocity=a"),
            f"{RATES}, not 'a'",
        ),
        (("planar2r", "--limits", "velocity=1,2,3"), "one finite number or 2"),
        (("planar2r", "--limits", "speed=1"), "no limit called 'speed'"),
        (
            ("planar2r", "--limits", "velocity=nan"),
            f"{RATES}, not nan",
        ),
        (
            ("planar2r", "--limits", "velocity=inf"),
            f"{RATES}, not inf",
        ),
        (("planar2r", "--duration", "nan"), "--duration must be a number from 0.01 to 100000 [s]"),
        (("planar2r", "--family", "bezier"), '--family must be "fourier" or "spline", not'),
        (
            ("planar2r", "--family", "spline", "--duration", 0),
            "--duration must be a number from 0.01 to 100000 [s]",
        ),
        (("planar2r", "--family", "spline", "--pieces", 0), "--pieces must be an integer from 1"),
        (("planar2r", "--start", "nan,0"), "--start must be a number [rad or m], or a list of them"),
        (("planar2r", "--sweeps", "--harmonics", 1), "at least two harmonics"),
        (("planar2r", "--sweeps", "--after-motion", "a.csv"), "cannot be combined with --after"),
        (("planar2r", "--after-motion", "nowhere.csv"), "cannot be read"),
        (("planar2r", "--after", "nowhere.csv"), "nowhere.csv"),
        (("planar2r", "--columns", "map.toml"), "but none are given"),
        (("planar2r", *QUICK, "--limits", "acceleration=1e-9"), "widen the limits"),
        (("planar2r", "--limits", "nowhere.toml"), "neither NAME=VALUES nor a file"),
        (("planar2r", "--limits", "effort=file"), "has none in the robot file"),
        (("planar2r", "--start", "0,x"), "--start must be a number [rad or m], or a list of them"),
        (("planar2r", "--start", "0,0,0"), "2"),
        (("planar2r", "--start", "9,9", "--limits", "position=1"), "its position limit"),
        (("planar2r", "--criterion", "best"), "criterion"),
        (("planar2r", "--floor", "low"), "'floor' must be true or false or a number from -1e+12"),
        (("planar2r", "--floor", "nan"), "'floor' must be true or false or a number from -1e+12"),
        (("planar2r", "--self-collision", "maybe"), "'self_collision' must be true or false, not 'maybe'"),
        (("planar2r", "--sweeps", "--start", "any"), "give it as numbers"),
        (("puma560_physical", "--floor", "2"), "'j2', 'j3', 'j4', 'j5' cannot rise above the floor at z = 2 m"),
        (("ur10e", "--floor", "0.3", "--limits", "position=0.2"), "'shoulder_lift_joint' is 0.0786 m below the floor"),
        (("puma560_physical", "--limits", "effort=1"), "effort"),
    ],
)
def test_sentences(run: Run, tmp_path: Path, args: tuple[object, ...], sentence: str) -> None:
    code, out, err = run("excite", *args, "--out", tmp_path / "never")
    assert code == 2 and out == "" and sentence in err and "Traceback" not in err, err
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("speed = 1", "line 1: the key 'speed' is unknown"),
        (
            "velocity = true",
            f"line 1: {RATES}, not True",
        ),
        (
            'velocity = "fast"',
            f"{RATES}, not 'fast'",
        ),
        (
            "velocity = nan",
            f"{RATES}, not nan",
        ),
        ("velocity = [1.0, 2.0, 3.0]", "one finite number or 2"),
        (
            "velocity = []",
            f"{RATES}, not []",
        ),
        ("position = [[-1, 1], 2]", "or a list of them, or a list of rows of 2 numbers, not [[-1, 1], 2]"),
        ("position = [[-1, 1, 2], [0, 1, 2]]", "or a list of rows of 2 numbers, not"),
        ("position = [[1, 1], [0, 1]]", "cannot move: its lower limit 1"),
        ("effort_margin = [0.1, 0.2]", "'effort_margin' must be a number from 0 to 0.999, not"),
        ("effort_margin = 1.5", "line 1: 'effort_margin' must be a number from 0 to 0.999, not 1.5"),
        ("box = 3", "own heading [[box]]"),
        ("[[box]]\nframe = 'j2'\nlower = [0, 0, 0]", "line 1: box 1: this table also needs 'upper'"),
        ("[[box]]\nframe = 'j2'\nlower = [0, 0]\nupper = [1, 1, 1]", "'lower' must be a list of 3 numbers"),
        (
            "[[box]]\nframe = 'j2'\nlower = [0, 0, 0]\nupper = [1, 1, nan]",
            "line 4: box 1: 'upper' must be a list of 3 numbers",
        ),
        ("[[box]]\nframe = 'j2'\nlower = [1, 1, 1]\nupper = [0, 0, 0]", "is empty"),
        ("[[box]]\nframe = 'hand'\nlower = [0, 0, 0]\nupper = [1, 1, 1]", "no frame called 'hand'"),
        (
            "[[box]]\nframe = []\nlower = [0, 0, 0]\nupper = [1, 1, 1]",
            "'frame' must be a list of strings",
        ),
        ("[[box]]\nframe = 'j2'\nlower = [5, 5, 5]\nupper = [6, 6, 6]", "outside its box"),
        ("[[obstacle]]\ncentre = [0, 0, 0]", "obstacle 1: this table also needs 'size'"),
        (
            "[[obstacle]]\ncentre = [0, 0, 0]\nsize = [1, 1, 0]",
            "line 3: obstacle 1: 'size' must be a list of 3",
        ),
        (
            "[[obstacle]]\ncentre = [0, 0, 0]\nsize = [1, 1, 1]\ncolour = 1",
            "line 4: obstacle 1: the key 'colour' is",
        ),
        ("table = 0.0", "'table' must be a table"),
        ("[table]\nheight = inf", "table: 'height' must be a number"),
        ("self_collision = 1", "true or false"),
        ('floor = "low"', "line 1: 'floor' must be true or false or a number"),
        ("floor = true", "its height in the base frame"),
        ("floor = 0.0\n[table]\nheight = 0.0", "give one of them"),
        (f"self_collision = true\nmargin = 1{400 * '0'}", "more than 64 bits"),
        ("margin = -0.1\nself_collision = true", "line 1: 'margin' must be a number above 0"),
        ("velocity = ", "not valid TOML"),
    ],
)
def test_sentences_about_files(run: Run, tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "limits.toml"
    file.write_text(text + "\n")
    code, out, err = run("excite", "planar2r", *QUICK, "--limits", file, "--out", tmp_path / "never")
    assert code == 2 and out == "" and sentence in err and "Traceback" not in err, err
    assert len(err.strip().splitlines()) == 1 and not (tmp_path / "never").exists()


CELL = """
velocity = 1.5
acceleration = 4.0
effort = true
self_collision = true
margin = 0.02
radius = 0.06
[table]
height = -0.7
[[obstacle]]
name = "post"
centre = [0.6, 0.6, 0.0]
size = [0.2, 0.2, 1.4]
[[box]]
frame = ["j5", "j6"]
lower = [-1.2, -1.2, -0.6]
upper = [1.2, 1.2, 1.2]
"""


@pytest.mark.slow
def test_a_cell_with_obstacles(run: Run, tmp_path: Path) -> None:
    """The motion written keeps away from what the file names, whatever path it is checked by."""
    pytest.importorskip("mujoco")
    from minertia import read_robot
    from minertia.cli.limits import read_limits
    from minertia.excitation.model import PointModel

    file = tmp_path / "cell.toml"
    file.write_text(CELL)
    args = ("--starts", 1, "--samples", 60, "--harmonics", 3, "--limits", file, "--out", tmp_path / "new", "--json")
    code, out, err = run("excite", "puma560_physical", *args)
    assert code == 0, err
    data = json.loads(out)
    robot = read_robot("puma560_physical")
    q = Trajectory.load(tmp_path / "new" / "excitation.csv").q
    clearance = read_limits(robot, [str(file)]).clearance
    assert clearance is not None and clearance.distances(q).min() >= 0.02
    assert data["margins"]["clearance"] >= 0.02 and set(data["margins"]["boxes"]) == {"j5", "j6"}
    p = PointModel(robot, ["j6"]).value(q)
    assert np.all(p > [-1.2, -1.2, -0.6]) and np.all(p < [1.2, 1.2, 1.2])
    assert any("too close in nearly every posture" in phrase for phrase in data["not_checked"])
    assert "obstacles 'post'" in data["checked"] and "floor (z = -0.7 m of the base frame)" in data["checked"]
    assert data["margins"]["floor"] >= 0.02
    inside = "0,0,0,0,0,0"
    text = CELL.replace("[0.6, 0.6, 0.0]", "[0.4, 0.1, 0.0]").replace("-1.2, -1.2, -0.6", "-9, -9, -9")
    file.write_text(text.replace("1.2, 1.2, 1.2", "9, 9, 9").replace("[0.2, 0.2, 1.4]", "[0.6, 0.6, 1.4]"))
    code, _, err = run("excite", "puma560_physical", *args, "--start", inside)
    assert code == 2 and "start posture violates a limit" in err and "'post'" in err


def test_without_self_collision_only_obstacles_count(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    from minertia import read_robot
    from minertia.excitation.limits_file import LimitsTable, limits_from_tables

    robot = read_robot("puma560_physical")
    table = {"obstacle": [{"name": "post", "centre": [0.6, 0.6, 0.0], "size": [0.2, 0.2, 1.4]}], "floor": False}
    limits = limits_from_tables(robot, [LimitsTable({**table, "self_collision": False})])
    assert limits.clearance is not None and all("'post'" in name for name in limits.clearance.names())
    both = limits_from_tables(robot, [LimitsTable(table)])
    assert both.clearance is not None and len(both.clearance.names()) > len(limits.clearance.names())
    assert limits_from_tables(robot, [LimitsTable({"self_collision": False, "floor": False})]).clearance is None


@pytest.mark.slow
def test_the_headline_says_what_was_checked(run: Run, tmp_path: Path) -> None:
    """The base plane is the floor unless another is given or none; nothing is claimed that was not asked."""
    quick = ("--starts", 1, "--samples", 60, "--harmonics", 3, "--no-friction", "--no-rotors", "--limits", "velocity=1")
    asked = {"plain": (), "low": ("--floor", -0.5), "none": ("--floor", "none", "--self-collision", "none")}
    told = {}
    for name, more in asked.items():
        code, out, err = run("excite", "puma560_physical", *quick, *more, "--out", tmp_path / name)
        assert code == 0, err
        told[name] = " ".join(out.split())
        page = (tmp_path / name / "excitation.html").read_text(encoding="utf-8")
        assert "Not checked: " in page and ("Respects limits of position, velocity" in page)
        assert "respects every limit" not in page
    assert "floor (base plane); self collision (capsules along frames" in told["plain"]
    assert "floor (z = -0.5 m of the base frame)" in told["low"]
    assert "floor (switched off); self collision (switched off)" in told["none"] and "floor (base" not in told["none"]
    assert "obstacles (none given)" in told["plain"]
    low = {name: Trajectory.load(tmp_path / name / "excitation.csv").q for name in told}
    from minertia import read_robot
    from minertia.excitation.model import PointModel

    points = PointModel(read_robot("puma560_physical"), ["j4", "j6"])
    heights = {name: points.value(q).reshape(len(q), -1, 3)[:, :, 2].min() for name, q in low.items()}
    assert heights["plain"] > 0 and heights["low"] > -0.5
    assert low["plain"][0] == pytest.approx(low["plain"][-1])


def test_a_rehearsal_takes_a_floor(run: Run, tmp_path: Path) -> None:
    code, _, err = run("rehearse", "puma560_physical", "--floor", 9, "--out", tmp_path)
    assert code == 2 and "cannot rise above the floor" in err and "--floor" in err


def test_splines(run: Run, tmp_path: Path) -> None:
    args = (*QUICK, "--family", "spline", "--pieces", 6, "--limits", "velocity=1", "--limits", "acceleration=3")
    code, out, err = run("excite", "planar2r", *args, "--out", tmp_path, "--json")
    assert code == 0 and json.loads(out)["condition"] > 1, err
    motion = Trajectory.load(tmp_path / "excitation.csv")
    assert np.abs(motion.qd[[0, -1]]).max() < 1e-9 and np.abs(motion.qdd[[0, -1]]).max() < 1e-9
    assert np.abs(motion.qd).max() <= 1.0


def test_sweeps(run: Run, tmp_path: Path) -> None:
    args = ("--sweeps", "--duration", 4, "--limits", "velocity=1", "--limits", "acceleration=4", "--start", "0.1,0.2")
    code, out, err = run("excite", "planar2r", *args, "--out", tmp_path / "new", "--json")
    assert code == 0, err
    data = json.loads(out)
    assert [s["file"] for s in data["sweeps"]] == ["sweep-2.csv", "sweep-1.csv"]
    for k, other in ((1, 0.2), (2, 0.1)):
        q = Trajectory.load(tmp_path / "new" / f"sweep-{k}.csv").q
        assert np.ptp(q[:, k - 1]) > 0.3 and q[:, 2 - k] == pytest.approx(other)
    assert data["shown"] and {*data["shown"], *data["hidden"]} >= {"ZZR1", "FC1"}
    page = (tmp_path / "new" / "sweeps.html").read_text(encoding="utf-8")
    view = page_data(page)["view"]
    charts = [block for part in view["parts"] for block in part["blocks"] if "chart" in block]
    assert len(charts) == 2 and 'content="sweeps"' in page and len(view["played"]["postures"]["q"]) == 120
    assert run("excite", "planar2r", *args, "--out", tmp_path / "text")[0] == 0


def test_a_motion_that_adds_to_what_is_recorded(run: Run, tmp_path: Path) -> None:
    """Given motions that moved the second joint only, what is said before is worse than after; logs count as well."""
    still = np.zeros(401)
    t = np.linspace(0, 4, 401)
    q2 = 0.5 * np.sin(2 * np.pi * t / 4)
    w = 2 * np.pi / 4
    qd2, qdd2 = 0.5 * w * np.cos(w * t), -0.5 * w**2 * np.sin(w * t)
    columns = [np.column_stack([still, x]) for x in (q2, qd2, qdd2)]
    Trajectory(t, *columns).save(tmp_path / "first.csv")
    rows = ["t,q1,q2,tau1,tau2", *(f"{a:.6f},0,{b:.9f},{9 * b:.6f},{5 * b:.6f}" for a, b in zip(t, q2, strict=True))]
    (tmp_path / "log.csv").write_text("\n".join(rows) + "\n")
    args = (*QUICK, "--limits", "velocity=1", "--limits", "acceleration=3", "--out", tmp_path / "new", "--json")
    told = {}
    for option, file in (("--after-motion", "first.csv"), ("--after", "log.csv")):
        code, out, err = run("excite", "planar2r", *args, option, tmp_path / file)
        assert code == 0, err
        told[option] = json.loads(out)["parameters"]
        for p in told[option].values():
            assert p["before"] is None or p["deviation"] < p["before"]
        assert any(p["before"] is None for p in told[option].values())  # never shown
        assert any(p["before"] is not None for p in told[option].values())
    for name, p in told["--after-motion"].items():
        other = told["--after"][name]["before"]
        assert (p["before"] is None) == (other is None)
        assert other is None or other == pytest.approx(p["before"], rel=0.2)  # a log loses its ends to the filter
    Trajectory(t, *(x[:, :1] for x in columns)).save(tmp_path / "one.csv")
    code, _, err = run("excite", "planar2r", *args, "--after-motion", tmp_path / "one.csv")
    assert code == 2 and "has 1 joints" in err


def test_the_limits_of_the_manual(tmp_path: Path) -> None:
    """The example of docs/excitation.md can be read as it stands."""
    pytest.importorskip("mujoco")
    from minertia import read_robot
    from minertia.cli.limits import read_limits

    text = (Path(__file__).parent.parent / "docs" / "excitation.md").read_text(encoding="utf-8")
    block = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert block is not None
    file = tmp_path / "cell.toml"
    file.write_text(block[1], encoding="utf-8")
    limits = read_limits(read_robot("puma560_physical"), [str(file)])
    assert limits.effort is not None and limits.clearance is not None and len(limits.boxes) == 1


def test_floating_base(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "free.toml"
    file.write_text('base = "floating"\n[[joint]]\nkind = "revolute"\n')
    code, _, err = run("excite", file, "--out", tmp_path, "--sweeps")
    assert code == 2 and "floating base has no motors" in err


# ---------------------------------------------------------------------- joints that are held

FINGERS = """<link name="finger"><inertial><mass value="0.1"/>
    <inertia ixx="1e-5" ixy="0" ixz="0" iyy="1e-5" iyz="0" izz="1e-5"/></inertial></link>
  <joint name="finger_joint" type="prismatic"><parent link="lower"/><child link="finger"/><origin xyz="0.3 0 0"/>
    <axis xyz="1 0 0"/><limit lower="0.01" upper="0.05" velocity="0.1" effort="5"/></joint>
</robot>"""


@pytest.fixture
def gripper(tmp_path: Path) -> Path:
    path = tmp_path / "gripper.urdf"
    path.write_text(ARM.format(name="arm").replace("</robot>", FINGERS))
    return path


def test_held_joints_are_no_part_of_the_motion(run: Run, gripper: Path, tmp_path: Path) -> None:
    """The files for controllers have the arm's joints alone, and what is held weighs where it stands."""
    out = tmp_path / "out"
    bounds = ("--limits", "acceleration=5", "--self-collision", "none", "--export", "ros2", "--export", "csv")
    code, _, err = run("excite", gripper, *QUICK, *bounds, "--hold", "finger_joint=0.03", "--out", out)
    assert code == 0, err
    assert Trajectory.load(out / "excitation.csv").q.shape[1] == 2
    for file in out.iterdir():
        if file.suffix in (".csv", ".yaml", ".json", ".py"):
            assert "finger" not in file.read_text(), file
    whole, arm = read_robot(gripper, letters=False), held(read_robot(gripper), {"finger_joint": 0.03})
    q = np.array([[0.3, -0.8]])
    there = np.hstack([q, [[0.03]]])
    zero = np.zeros((1, 3))
    np.testing.assert_allclose(
        inverse_dynamics(arm, q, zero[:, :2], zero[:, :2]), inverse_dynamics(whole, there, zero, zero)[:, :2], atol=1e-9
    )


@pytest.mark.parametrize(
    ("hold", "sentence"),
    [
        ("nothing", "there is no joint called 'nothing'"),
        ("finger_joint=wide", "finite number, not 'finger_joint=wide'"),
        ("finger_joint=nan", "finite number, not 'finger_joint=nan'"),
        ("finger_joint=0.2", "its range is 0.01 to 0.05"),
        ("finger_joint,finger_joint=0.02", "twice"),
        ("shoulder,elbow,finger_joint", "every joint is locked"),
    ],
)
def test_sentences_about_held_joints(run: Run, gripper: Path, tmp_path: Path, hold: str, sentence: str) -> None:
    code, out, err = run("excite", gripper, *QUICK, "--hold", hold, "--out", tmp_path / "never")
    assert code == 2 and out == "" and sentence in err and err.count("\n") == 1, err


def test_a_held_joint_without_a_value_stands_near_zero(gripper: Path) -> None:
    robot = held(read_robot(gripper, letters=False), {"finger_joint": None})
    other = held(read_robot(gripper, letters=False), {"finger_joint": 0.01})
    assert robot.n == 2 and robot.links == other.links


@pytest.mark.slow
@needs_shared
def test_the_fingers_of_a_panda_are_held(run: Run, tmp_path: Path) -> None:
    fingers = "panda_finger_joint1,panda_finger_joint2=0.01"
    robot, out = SHARED / "robots" / "panda.urdf", tmp_path / "out"
    bounds = ("--limits", "acceleration=3", "--export", "franka")
    assert run("excite", robot, *QUICK, *bounds, "--out", out)[0] == 2
    code, _, err = run("excite", robot, *QUICK, *bounds, "--hold", fingers, "--out", out)
    assert code == 0, err
    assert Trajectory.load(out / "franka_motion.csv").q.shape[1] == 7
