"""The TOML writer: what is written reads back as the same robot."""

import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minertia import list_robots, read_robot
from minertia.algebra.polynomial import Poly, letter
from minertia.io.errors import DescriptionError
from minertia.io.files import FileError
from minertia.robot.formats.dh.placement import khalil_pose
from minertia.robot.formats.dh.write import khalil_row, toml_text, write_toml
from minertia.robot.formats.snap import quaternion_to_matrix, snap_rotation
from minertia.robot.joint import Follows, Joint, Limits
from minertia.robot.robot import Robot
from tests.amount import examples
from tests.robot.dh_helpers import SHARED, matrix, product, read, rot, trans


def entries(joint):
    return [*(s for row in joint.R for s in row), *joint.p]


def assert_same(robot, other, tolerance=1e-15):
    """Same structure, letters, numbers."""
    assert (robot.name, robot.base, robot.gravity) == (other.name, other.base, other.gravity)
    assert dict(robot.symbols) == dict(other.symbols)
    assert robot.coupling == other.coupling
    assert [dict(e) for e in robot.effects] == [dict(e) for e in other.effects]
    assert robot.parameters() == other.parameters() if robot.has_parameters else not other.has_parameters
    assert robot.links == other.links and robot.base_link == other.base_link
    for a, b in zip(robot.joints, other.joints, strict=True):
        assert (a.name, a.kind, a.parent, a.link, a.limits, a.follows) == (
            *(b.name, b.kind, b.parent, b.link, b.limits, b.follows),
        )
        for s, t in zip(entries(a), entries(b), strict=True):
            assert type(s) is type(t)
            assert s == t or (not isinstance(s, Poly) and abs(s - t) <= tolerance)


def again(robot, tmp_path, **options):
    path = tmp_path / "robot.toml"
    write_toml(robot, path)
    return read_robot(path, **options)


@pytest.mark.parametrize("name", list_robots())
def test_bundled_robots(name, tmp_path):
    robot = read_robot(name)
    assert_same(robot, again(robot, tmp_path))
    plain = read_robot(name, letters=False)
    assert_same(plain, again(plain, tmp_path, letters=False))


@pytest.mark.parametrize("name", ["RX90", "Stanford"])
def test_symoro_files(name, tmp_path):
    path = SHARED / "robots" / f"{name}.par"
    if not path.is_file():
        pytest.skip("the shared robot files are not here")
    robot = read_robot(path)
    assert_same(robot, again(robot, tmp_path))


def test_rows_are_short_where_they_can_be():
    text = toml_text(read_robot("puma560"))
    assert text.startswith("format = 1\n")
    assert 'd = "D3"' in text and 'r = "R3"' in text and "placement" not in text
    assert "gamma" not in text


def test_everything_a_robot_can_have(tmp_path):
    text = """
name = "beast"
base = "floating"
gravity = [1, 2, 3]
drive_coupling = [[3, 1], [0, -2]]
[symbols]
L = "unknown"
H = 0.25
[base_link]
M = 5
XX = 0.1
[[joint]]
kind = "revolute"
d = "-L"
gamma = 0.3
[joint.link]
name = "thigh"
mass = 2
com = [0.1, 0.2, 0.3]
inertia = [0.3, 0.01, 0.02, 0.4, -0.03, 0.5]
[joint.drive]
rotor_inertia = 0.1
viscous = 0.2
coulomb = [0.1, 0.2]
[joint.limits]
position = [-1, 2]
effort = 7
[[joint]]
kind = "prismatic"
r = "H"
alpha = 0.123
[joint.drive]
viscous = 0.3
[[joint]]
kind = "revolute"
parent = 1
d = 0.3
theta = 0.4
alpha_deg = 180
[joint.follows]
joint = 1
ratio = -0.5
offset = 0.1
"""
    robot = read(text)
    other = again(robot, tmp_path)
    assert_same(robot, other)
    assert [dict(e) for e in robot.motor_effects] == [dict(e) for e in other.motor_effects]


def test_letters_in_other_shapes_become_expressions(tmp_path):
    c, s = letter("cos(a)"), letter("sin(a)")
    p = (letter("L") * letter("H") * 2.5 - 0.1, 0, letter("L") + letter("H"))
    first = Joint("j1", "revolute", None, ((1, 0, 0), (0, c, -s), (0, s, c)), p)
    turned = Joint("j2", "prismatic", 0, ((0.6, -0.8, 0), (0.8, 0.6, 0), (0, 0, 1)), (letter("L"), -letter("H"), 0))
    robot = Robot("odd", (first, turned), symbols={"a": 0.3, "L": 0.5, "H": None})
    text = toml_text(robot)
    assert text.count("placement") == 2 and '"cos(a)"' in text
    other = again(robot, tmp_path)
    for a, b in zip(robot.joints, other.joints, strict=True):
        assert (a.R, a.p) == (b.R, b.p)


@pytest.mark.parametrize(
    "lines",
    [
        'alpha = "A"\ntheta = "B"\nd = "L"\nr = "L"',
        'alpha = "-A"\ntheta_deg = 90',
        'alpha_deg = -90\ntheta = "B - 0.3"\nr = 0.4',
        'gamma = "B"\nalpha_deg = 90\ntheta = "-A"\nd = "L"',
        'alpha = "pi/2 + A"\nb = "L"',
    ],
)
def test_rows_with_letters_for_angles_are_written_back(tmp_path, lines):
    top = '[symbols]\nA = 0.4\nB = "unknown"\nL = 0.3\n'
    robot = read(f'{top}[[joint]]\nkind = "revolute"\n[[joint]]\nkind = "prismatic"\n{lines}\n')
    written = toml_text(robot)
    assert "placement" not in written
    write_toml(robot, tmp_path / "robot.toml")
    assert_same(robot, read_robot(tmp_path / "robot.toml"))


def test_sums_of_letters_are_written_as_rotation(tmp_path):
    top = '[symbols]\nA = 0.4\nB = "unknown"\n'
    robot = read(f'{top}[[joint]]\nkind = "revolute"\nalpha = "A + B"\n')
    assert 'convention = "placement"' in toml_text(robot)
    write_toml(robot, tmp_path / "robot.toml")
    assert_same(robot, read_robot(tmp_path / "robot.toml"))


def test_angles_taken_as_written_stay_so(tmp_path):
    robot = read('[[joint]]\nkind = "revolute"\nalpha = 1.5708\nd = 0.3\nr = 0.1\n', snap=0)
    other = again(robot, tmp_path)
    np.testing.assert_allclose(
        matrix((robot.joints[0].R, robot.numeric.joints[0].p)),
        matrix((other.joints[0].R, other.numeric.joints[0].p)),
        atol=1e-15,
    )


def test_rotation_replaced_without_letters(tmp_path):
    R = ((1, 0, 0), (0, letter("cos(a)"), -letter("sin(a)")), (0, letter("sin(a)"), letter("cos(a)")))
    robot = Robot("odd", (Joint("j1", "revolute", None, R, (0, 0, 0)),), symbols={"a": 0.3})
    other = again(robot, tmp_path, letters=False)
    np.testing.assert_allclose(np.array(other.joints[0].R, float), rot("x", 0.3)[:3, :3])


# ---------------------------------------------------------------------- any placement is a row

ANGLES = st.one_of(
    st.floats(-np.pi, np.pi),
    st.sampled_from([0.0, np.pi / 2, -np.pi / 2, np.pi, np.pi / 4, np.pi / 3]),
)
LENGTHS = st.one_of(st.just(0), st.floats(-2, 2), st.sampled_from([letter("L"), -letter("H")]))


@settings(max_examples=examples(300), deadline=None)
@given(ANGLES, LENGTHS, ANGLES, LENGTHS, ANGLES, LENGTHS)
def test_placements_read_back(gamma, b, alpha, d, theta, r):
    values = {"gamma": gamma, "b": b, "alpha": alpha, "d": d, "theta": theta, "r": r}
    pose = khalil_pose(values)
    joint = Joint("j1", "revolute", None, *pose)
    robot = Robot("any", (joint,), symbols={"L": 0.4, "H": 0.3})
    other = read(toml_text(robot), letters=True).numeric.joints[0]
    np.testing.assert_allclose(
        matrix((other.R, other.p)), matrix(pose, {"L": 0.4, "H": 0.3}), atol=1e-14
    )  # structure: 4e-15
    for s, t in zip((*sum(pose[0], ()), *pose[1]), entries(other), strict=True):
        assert not (type(s) is int and s == 0) or t == 0


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=4, max_size=4), st.lists(st.floats(-3, 3), min_size=3, max_size=3))
def test_rows_of_any_pose_agree_with_a_matrix_product(quaternion, position):
    if np.linalg.norm(quaternion) < 1e-3:
        return
    R = snap_rotation(quaternion_to_matrix(*quaternion), 0.0)
    p = tuple(float(x) for x in position)
    row = khalil_row((R, p))
    if row is None:
        return
    T = product(
        rot("z", row["gamma"]),
        trans("z", row["b"]),
        rot("x", row["alpha"]),
        trans("x", row["d"]),
        rot("z", row["theta"]),
        trans("z", row["r"]),
    )
    np.testing.assert_allclose(T, matrix((R, p)), atol=1e-14)


def test_most_poses_have_a_row():
    rng = np.random.default_rng(0)
    poses = [(quaternion_to_matrix(*rng.normal(size=4)), rng.normal(size=3)) for _ in range(200)]
    rows = [khalil_row((tuple(map(tuple, R.tolist())), tuple(p.tolist()))) for R, p in poses]
    assert sum(row is not None for row in rows) > 150


# ---------------------------------------------------------------------- the file


def test_file_is_replaced_whole(tmp_path):
    path = tmp_path / "robot.toml"
    path.write_text("old")
    os.chmod(path, 0o640)
    write_toml(read_robot("planar2r"), path, force=True)
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["robot.toml"]
    robot = read_robot("planar2r")
    broken = replace(robot, links=((0.0,) * 9 + (-1.0,), None))
    with pytest.raises(DescriptionError, match="negative mass"):
        write_toml(broken, path)
    assert read_robot(path).name == "planar 2R"


def test_folder_that_does_not_exist(tmp_path):
    with pytest.raises(FileError, match="cannot be written"):
        write_toml(read_robot("planar2r"), tmp_path / "no" / "robot.toml")


def test_limits_that_are_odd_or_partly_known(tmp_path):
    joint = Joint("j1", "revolute", None, *khalil_pose({}), limits=Limits(lower=0.45, upper=0.0, velocity=np.inf))
    follower = Joint("j2", "revolute", 0, *khalil_pose({}), limits=Limits(upper=1.0), follows=Follows((0,), (2.0,)))
    robot = again(Robot("odd", (joint, follower)), tmp_path)
    assert robot.joints[0].limits == Limits(lower=0.45, upper=0.0)
    assert robot.joints[1].limits == Limits() and robot.joints[1].follows == Follows((0,), (2.0,))
