from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minertia import read_robot
from minertia.algebra.vec3 import invert
from minertia.io.errors import DescriptionError, MinertiaError
from minertia.robot.inertia import from_com, symmetric, to_com, transport_ten
from minertia.robot.joint import Follows
from minertia.robot.robot import Note
from tests.amount import examples
from tests.robot.urdf_helpers import INERTIAL, URDFS, approx, frame_poses, joint, link, numeric, parse, two_joints, urdf

DIGITS = 1e-15


def rotation(roll: float, pitch: float, yaw: float) -> np.ndarray:
    (cr, sr), (cp, sp), (cy, sy) = ((np.cos(a), np.sin(a)) for a in (roll, pitch, yaw))
    X = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    Y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    Z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    return Z @ Y @ X


def infos(notes: tuple[Note, ...], where: str) -> list[Note]:
    return [note for note in notes if note.level == "info" and note.where == where]


# ---------------------------------------------------------------------- joints


@pytest.mark.parametrize(
    ("kind", "ours"), [("revolute", "revolute"), ("continuous", "revolute"), ("prismatic", "prismatic")]
)
def test_kinds_of_joint(kind: str, ours: str) -> None:
    robot = parse(urdf(link("base", ""), link("a"), joint("j", "base", "a", kind)))
    (only,) = robot.joints
    assert (only.name, only.kind, only.link, only.parent) == ("j", ours, "a", None)
    assert (robot.name, robot.base, robot.source) == ("r", "fixed", "r.urdf")


def test_placement_and_axis_as_written() -> None:
    text = two_joints('<axis xyz="1 -2 0.5"/>', 'xyz="0.1 -0.2 0.3" rpy="0.4 -0.5 0.6"')
    second = parse(text, snap=0).joints[1]
    axis = np.array([1, -2, 0.5]) / np.linalg.norm([1, -2, 0.5])
    R = rotation(0.4, -0.5, 0.6)
    assert np.array(second.R, float)[:, 2] == approx(R @ axis, DIGITS)
    assert approx(axis, DIGITS) == numeric(second.file_frame)[:3, :3].T @ [0, 0, 1]
    assert np.array(second.R, float) @ np.array(second.file_frame[0], float) == approx(R, DIGITS)
    assert second.p == (0.1, -0.2, 0.3)
    assert second.file_frame[1] == (0, 0, 0)


@pytest.mark.parametrize("axis", ["1 0 0", "0 1 0", "0 0 1", "-1 0 0", "0 -2 0", "0 0 -1", "1e-200 0 0"])
def test_coordinate_axes_keep_their_structure(axis: str) -> None:
    for snap in (0.0, 2e-3):
        second = parse(two_joints(f'<axis xyz="{axis}"/>'), snap=snap).joints[1]
        assert all(type(s) is int for row in second.R for s in row)
        direction = np.sign([float(v) for v in axis.split()])
        assert [row[2] for row in second.R] == direction.tolist()


def test_the_default_axis_is_x() -> None:
    assert [row[2] for row in parse(two_joints("")).joints[1].R] == [1, 0, 0]
    assert [row[2] for row in parse(two_joints("<axis/>")).joints[1].R] == [1, 0, 0]


def test_quaternions_of_version_1_1() -> None:
    half = np.sqrt(0.5)
    text = two_joints(origin=f'xyz="1 0 0" quat_xyzw="{2 * half} 0 0 {2 * half}"').replace(
        "<robot", "<robot version='1.1'"
    )
    for snap in (0.0, 2e-3):
        assert parse(text, snap=snap).joints[1].R == ((1, 0, 0), (0, 0, -1), (0, 1, 0))
    odd = parse(two_joints(origin='quat_xyzw="0.1 0.2 0.3 0.9"'), snap=0).joints[1]
    x, y, z, w = np.array([0.1, 0.2, 0.3, 0.9]) / np.linalg.norm([0.1, 0.2, 0.3, 0.9])
    assert odd.R[0][0] == pytest.approx(1 - 2 * (y * y + z * z), abs=DIGITS)
    assert odd.R[1][0] == pytest.approx(2 * (x * y + w * z), abs=DIGITS)


def test_a_revolute_joint_without_limits_is_told() -> None:
    robots = [parse(urdf(link("b"), link("a"), joint("j", "b", "a", kind))) for kind in ("revolute", "continuous")]
    told, free = ([note.text for note in robot.notes if "<limit>" in note.text] for robot in robots)
    assert len(told) == 1 and "read without limits, as a continuous joint" in told[0] and not free
    for attributes, missing in (("", "lower and upper"), ('lower="-1"', "upper"), ('lower="-1" upper="1"', "")):
        limit = f'<limit effort="9" velocity="2" {attributes}/>'
        robot = parse(urdf(link("b"), link("a"), joint("j", "b", "a", "revolute", limit)))
        told = [note.text for note in robot.notes if note.level == "warning"]
        assert [f"its <limit> lacks {missing}: no limit here" in text for text in told] == [True] * bool(missing)


def test_limits() -> None:
    inside = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'
    limits = parse(two_joints(inside)).joints[1].limits
    assert (limits.lower, limits.upper, limits.velocity, limits.effort, limits.acceleration) == (-1, 2, 3, 4, None)
    newer = '<limit lower="-1" upper="2" velocity="3" effort="4" acceleration="7" deceleration="5" jerk="9"/>'
    assert parse(two_joints(newer)).joints[1].limits.acceleration == 5
    assert parse(two_joints('<limit effort="1e16" velocity="1e9"/>')).joints[1].limits.effort is None
    free = parse(urdf(link("b"), link("a"), joint("j", "b", "a", "continuous", inside))).joints[0].limits
    assert (free.lower, free.upper, free.velocity) == (None, None, 3)


def test_friction_and_our_own_element() -> None:
    inside = '<dynamics damping="0.3" friction="0.4" other="5"/><minertia rotor_inertia="0.01" offset="-0.2"/>'
    robot = parse(two_joints(inside))
    assert dict(robot.effects[1]) == {"FV": 0.3, "FC": 0.4, "IA": 0.01, "OFF": -0.2}
    assert dict(robot.effects[0]) == {}
    assert dict(parse(two_joints("<dynamics/>")).effects[1]) == {}


def test_mimic_joints() -> None:
    robot = parse(two_joints('<mimic joint="j1" multiplier="-2" offset="0.5"/>'))
    follows = robot.joints[1].follows
    assert follows == Follows((0,), (-2,), 0.5)
    assert robot.coordinate_names == ("j1",)
    plain = parse(two_joints('<mimic joint="j1"/>')).joints[1].follows
    assert plain == Follows((0,), (1,), 0)


# ---------------------------------------------------------------------- links


def test_inertial_with_its_own_rotation() -> None:
    robot = parse(urdf(link("base", ""), link("a"), joint("j", "base", "a", inside='<axis xyz="0 0 1"/>')))
    R = rotation(0.4, 0.5, 0.6)
    J = R @ symmetric((0.02, 0.001, 0.002, 0.03, 0.003, 0.04)) @ R.T
    assert np.array(robot.links[0], float) == approx(from_com(2, (0.1, 0.2, 0.3), J), DIGITS)
    assert robot.base_link is None


def test_inertial_rotations_are_never_snapped() -> None:
    rounded = INERTIAL.replace("0.4 0.5 0.6", "1.5708 0 0")
    exact = INERTIAL.replace("0.4 0.5 0.6", "1.5707963267948966 0 0")
    a, b = (
        np.array(parse(urdf(link("b"), link("a", x), joint("j", "b", "a"))).links[0], float) for x in (rounded, exact)
    )
    assert 1e-9 < np.abs(a - b).max() < 1e-6


def test_parameters_turn_with_the_axis() -> None:
    along_z, along_x = (parse(two_joints(f'<axis xyz="{axis}"/>')) for axis in ("0 0 1", "1 0 0"))
    back = transport_ten(along_x.links[1] or (), invert(along_x.joints[1].file_frame))
    assert np.array(back, float) == approx(along_z.links[1], DIGITS)


def test_bodies_behind_fixed_joints_keep_their_mass() -> None:
    text = urdf(
        link("base", ""),
        link("a"),
        link("tool"),
        joint("j", "base", "a"),
        joint("f", "a", "tool", "fixed", '<axis xyz="0 0 0"/>', origin='xyz="0 0 1"'),
    )
    robot = parse(text)
    mass, com, _ = to_com(robot.links[0] or ())
    assert mass == 4
    assert com == approx((0.1, 0.2, 0.8), 1e-14)
    assert numeric(robot.frames["tool"].pose)[:3, 3].tolist() == [0, 0, 1]


def test_empty_and_missing_inertials() -> None:
    zero = '<inertial><mass value="0"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial>'
    for nothing in (zero, ""):
        robot = parse(two_joints(second=nothing))
        assert robot.links[1] is None and robot.missing_links == ("b",)
        (note,) = [note for note in robot.notes if "no mass" in note.text]
        assert (note.level, note.where) == ("warning", "link 'b'")
    carried = urdf(
        link("base", ""),
        link("a", ""),
        link("tool"),
        joint("j", "base", "a"),
        joint("f", "a", "tool", "fixed", ""),
    )
    assert not parse(carried).notes


def test_impossible_bodies_are_reported_with_their_line() -> None:
    bad = INERTIAL.replace('izz="0.04"', 'izz="0.9"')
    (note,) = parse(two_joints(second=bad)).notes
    assert (note.level, note.where, note.line) == ("warning", "link 'b'", 4)
    assert "triangle inequality" in note.text
    massless = INERTIAL.replace('value="2"', 'value="0"')
    robot = parse(two_joints(second=massless))
    assert robot.links[1] is not None and "no mass" in robot.notes[0].text


# ---------------------------------------------------------------------- the whole


def test_floating_base() -> None:
    text = urdf(
        link("world", ""),
        link("trunk"),
        link("leg"),
        joint("free", "world", "trunk", "floating", ""),
        joint("hip", "trunk", "leg"),
    )
    robot = parse(text)
    assert (robot.base, robot.coordinate_names) == ("floating", ("hip",))
    assert robot.base_link is not None and robot.base_link[9] == 2
    assert set(robot.frames) == {"trunk", "leg"}
    assert parse(text, base="fixed").base == "fixed"


def test_base_option_overrides() -> None:
    robot = parse(two_joints().replace('<link name="base"></link>', link("base")), base="floating")
    assert robot.is_floating and robot.base_link is not None


def test_letters_keep_their_values() -> None:
    robot = parse(two_joints(origin='xyz="0.5 0 0.25"'), letters=True)
    assert dict(robot.symbols) == {"x2": 0.5, "z2": 0.25}
    assert robot.numeric.joints[1].p == (0.5, 0, 0.25)


def test_undeclared_prefixes_and_foreign_elements_do_not_matter() -> None:
    text = two_joints().replace("</robot>", '<drake:plant a:b="1"/><gazebo><joint name="j1"/></gazebo></robot>')
    assert parse(text).n_joints == 2


def test_repeated_parts_are_reported() -> None:
    (note,) = parse(two_joints('<axis xyz="0 1 0"/><axis xyz="0 0 1"/>')).notes
    assert (note.level, note.where) == ("warning", "joint 'j2'") and "<axis>" in note.text


def test_hostile_names_are_only_names() -> None:
    names = ['j*/ system("id"); /*', "../../etc/passwd", "a\nb", "{0.__class__}", "π"]
    quoted = [n.replace('"', "&quot;").replace("\n", "&#10;") for n in names]
    parts = [link("base", "")] + [link(f"L{q}") for q in quoted]
    parents = ["base", *(f"L{q}" for q in quoted)]
    parts += [joint(q, parent, f"L{q}") for q, parent in zip(quoted, parents, strict=False)]
    assert [j.name for j in parse(urdf(*parts)).joints] == names


# ---------------------------------------------------------------------- geometry as meant


@pytest.mark.parametrize(("written", "off"), [("1.5708", 3.7e-6), ("3.14", 1.6e-3), ("1.570796325", 1.8e-9)])
def test_rounded_angles_become_exact_and_are_reported(written: str, off: float) -> None:
    text = two_joints(origin=f'xyz="1 0 0" rpy="0 {written} 0"')
    robot = parse(text)
    assert all(type(s) is int for row in robot.joints[1].R for s in row)
    (note,) = infos(robot.notes, "joint 'j2'")
    assert written in note.text and "snap=0" in note.text and f"off by {off:.2g}" in note.text
    assert note.line == 7
    assert np.array(parse(text, snap=0).joints[1].R, float) == approx(rotation(0, float(written), 0), DIGITS)
    assert not parse(text, snap=0).notes


def test_rounded_axes_and_lengths_are_reported() -> None:
    axis = parse(two_joints('<axis xyz="0 0.0001 1"/>'))
    assert [row[2] for row in axis.joints[1].R] == [0, 0, 1]
    assert "axis" in infos(axis.notes, "joint 'j2'")[0].text
    length = parse(two_joints(origin='xyz="1 1e-7 0"'))
    assert length.joints[1].p == (1, 0, 0)
    assert "off by 1e-07 m" in infos(length.notes, "joint 'j2'")[0].text
    assert parse(two_joints(origin='xyz="1 1e-7 0"'), snap=0).joints[1].p == (1, 1e-7, 0)


def test_what_computers_round_is_not_reported() -> None:
    assert not parse(two_joints(origin='rpy="1.5707963267948966 0 -1.57079632679" xyz="1 1e-16 0"')).notes


def test_as_written_means_as_written() -> None:
    tiny = parse(two_joints('<axis xyz="1e-9 0 1"/>', 'xyz="1e-13 0 0" rpy="1e-9 2e-13 0"'), snap=0).joints[1]
    R = rotation(1e-9, 2e-13, 0)
    assert np.array(tiny.R, float)[:, 2] == approx(R @ [1e-9, 0, 1], DIGITS)
    assert np.array(tiny.R, float) @ np.array(tiny.file_frame[0], float) == approx(R, DIGITS)
    assert tiny.p == (1e-13, 0, 0)


def test_parallel_axes_that_are_tilted_stay_parallel() -> None:
    tilted = '<axis xyz="0 0.7071 0.7071"/>'
    text = urdf(
        link("base", ""),
        link("a"),
        link("b"),
        joint("j1", "base", "a", inside=tilted),
        joint("j2", "a", "b", inside=tilted, origin='xyz="0 0.5 0.5"'),
    )
    second = parse(text).joints[1]
    assert second.R == ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    assert second.p[:2] == (0, 0)


# ---------------------------------------------------------------------- bad files

NAN_MASS = INERTIAL.replace('value="2"', 'value="nan"')
NEGATIVE = INERTIAL.replace('value="2"', 'value="-2"')
NO_MASS = INERTIAL.replace('<mass value="2"/>', "")
NO_INERTIA = '<inertial><mass value="2"/></inertial>'
LOOP = urdf(link("a"), link("b"), joint("j1", "a", "b"), joint("j2", "b", "a"))
TWICE = urdf(link("a"), link("b"), link("c"), joint("j1", "a", "b"), joint("j2", "a", "c"), joint("j3", "b", "c"))
APART = urdf(
    link("o"), link("p"), link("a"), link("b"), joint("j", "o", "p"), joint("k", "a", "b"), joint("l", "b", "a")
)
FLOATING = urdf(link("w"), link("a"), link("b"), joint("j", "w", "a", "floating", ""), joint("k", "a", "b"))


@pytest.mark.parametrize(
    ("text", "says", "line"),
    [
        ("<mujoco/>", "has the root element <robot>", 1),
        ('<robot name="r"/>', "no <link>", None),
        (urdf(link("a")), "has no movable joint", None),
        ('<robot name="r">\n<xacro:macro name="x"/></robot>', "expand the file first", 2),
        (urdf(link("a"), attributes='version="2.0"'), "URDF 2.0 is not supported", 1),
        (two_joints(second=NAN_MASS), "link 'b'.*value=\"nan\"", 4),
        (two_joints(second=NEGATIVE), "link 'b'.*negative", 4),
        (two_joints(second=NO_MASS), "link 'b'.*no <mass>", 4),
        (two_joints(second=NO_INERTIA), "link 'b'.*no <inertia>", 4),
        (two_joints(second=INERTIAL.replace('ixy="0.001"', "")), "link 'b'.*'ixy'", 4),
        (two_joints(second=INERTIAL.replace('ixx="0.02"', 'ixx="inf"')), "ixx", 4),
        (two_joints(second=INERTIAL.replace("0.1 0.2 0.3", "0.1 0.2")), "3 numbers", 4),
        (two_joints('<axis xyz="0 0 0"/>'), "joint 'j2'.*axis is 0 0 0", 7),
        (two_joints(origin='xyz="1,0 0 0"'), "joint 'j2'.*1,0", 7),
        (two_joints(origin='xyz="" rpy="0 0 0"'), "3 numbers", 7),
        (two_joints(origin='rpy="0 0 0" quat_xyzw="0 0 0 1"'), "both", 7),
        (two_joints(origin='quat_xyzw="0 0 0 0"'), "not a rotation", 7),
        (two_joints('<limit lower="x"/>'), "joint 'j2'.*lower", 7),
        (two_joints('<limit jerk="x"/>'), "joint 'j2'.*jerk", 7),
        (two_joints('<dynamics damping="nan"/>'), "damping", 7),
        (two_joints('<mimic joint="nobody"/>'), "'j2' follows 'nobody'", 7),
        (two_joints('<mimic joint="j2"/>'), "break the cycle", 7),
        (two_joints("<mimic/>"), "'joint'", 7),
        (urdf(link("b"), link("a"), joint("j", "b", "a", "planar")), "planar.*not supported", 4),
        (urdf(link("b"), link("a"), joint("j", "b", "a", "ball")), "'ball'.*not supported", 4),
        (urdf(link("b"), link("a"), joint("j", "b", "a", "")), "'type'", 4),
        (urdf(link("b"), link("a"), joint("", "b", "a")), "'name'", 4),
        (urdf(link(""), link("a"), joint("j", "b", "a")), "'name'", 2),
        (urdf(link("b"), link("a"), '<joint name="j" type="fixed"><child link="a"/></joint>'), "no <parent>", 4),
        (urdf(link("base"), link("arm"), joint("j", "base", "arn")), "'arn'.*did you mean 'arm'", 4),
        (urdf(link("base"), link("arm"), joint("j", "nobody", "arm")), "parent link 'nobody'", 4),
        (urdf(link("a"), link("a"), link("b"), joint("j", "a", "b")), "two links called 'a'", 3),
        (urdf(link("a"), link("b"), link("c"), joint("j", "a", "b"), joint("j", "a", "c")), "two joints called 'j'", 7),
        (urdf(link("a"), link("b"), link("c"), joint("j", "a", "b")), "'a', 'c'", None),
        (LOOP, "loop", None),
        (TWICE, "'c' is the child of two joints", 9),
        (APART, "do not form one tree", 8),
        (FLOATING, "'j' is floating", 5),
        (two_joints()[:-60], "malformed", 7),
    ],
)
def test_bad_files_are_refused_in_one_sentence(text: str, says: str, line: int | None) -> None:
    with pytest.raises(DescriptionError, match=says) as caught:
        parse(text)
    assert caught.value.file == "r.urdf"
    assert caught.value.line == line
    assert "\n" not in str(caught.value)


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "large.urdf"
    with open(path, "wb") as file:
        file.truncate(50_000_000)
    with pytest.raises(DescriptionError, match="50 MB"):
        read_robot(path)


def test_an_odd_version_is_read_with_a_warning() -> None:
    (note,) = parse(two_joints().replace("<robot", '<robot version="mine"')).notes
    assert note.level == "warning" and "mine" in note.text


SEED = two_joints('<axis xyz="0 1 0"/><limit lower="-1" upper="1"/><mimic joint="j1"/><dynamics damping="1"/>')
WORDS = [
    "nan",
    "-1",
    "1e308",
    "1e60",
    "-1e-60",
    "",
    "0 0 0",
    "base",
    "j1",
    "<",
    ">",
    '"',
    "&",
    "planar",
    "fixed",
    "\0",
    "é",
]


@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(
            st.integers(0, len(SEED)), st.integers(0, 12), st.one_of(st.sampled_from(WORDS), st.text(max_size=4))
        ),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from([0.0, 2e-3]),
)
def test_mutated_files_raise_nothing_unexpected(cuts: list[tuple[int, int, str]], snap: float) -> None:
    text = SEED
    for start, length, word in cuts:
        text = text[:start] + word + text[start + length :]
    with contextlib.suppress(MinertiaError):
        parse(text, snap=snap)


NUMBERS = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.sampled_from([0.0, 1e59, -1e59, 1e-300, 1.5708]))


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(NUMBERS, min_size=12, max_size=12), st.sampled_from([0.0, 2e-3]))
def test_any_numbers_give_a_finite_robot_or_an_error(x: list[float], snap: float) -> None:
    inertial = INERTIAL.replace('"2"', f'"{x[0]!r}"').replace("0.1 0.2 0.3", f"{x[1]!r} {x[2]!r} {x[3]!r}")
    text = two_joints(
        f'<axis xyz="{x[4]!r} {x[5]!r} {x[6]!r}"/>',
        f'xyz="{x[7]!r} {x[8]!r} 0" rpy="{x[9]!r} {x[10]!r} {x[11]!r}"',
        inertial,
    )
    try:
        robot = parse(text, snap=snap)
    except MinertiaError:
        return
    assert np.all(np.isfinite(np.array(robot.links[1] or (), float)))
    R = np.array(robot.joints[1].R, float)
    assert approx(np.eye(3), 1e-12) == R @ R.T


# ---------------------------------------------------------------------- real files, against Pinocchio

real_files = pytest.mark.parametrize("path", URDFS or [None], ids=lambda p: p.stem if p else "none")


@real_files
def test_agrees_with_pinocchio(path: Path | None) -> None:
    pin = pytest.importorskip("pinocchio")
    if path is None:
        pytest.skip("the shared robots are not there")
    robot = read_robot(path, snap=0)
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    rng = np.random.default_rng(1)
    for _ in range(3):
        q = rng.uniform(-1, 1, robot.n)
        theirs = pin.neutral(model)
        for j, ours in enumerate(robot.joints):
            position = float(robot.joint_position(j, q))
            there = model.joints[model.getJointId(ours.name)]
            pair = (np.cos(position), np.sin(position)) if there.nq == 2 else position
            theirs[there.idx_q : there.idx_q + there.nq] = pair
        pin.framesForwardKinematics(model, data, theirs)
        for name, pose in frame_poses(robot, q).items():
            assert pose == approx(data.oMf[model.getFrameId(name, pin.BODY)].homogeneous, 1e-14)
    for joint_, ten in zip(robot.joints, robot.links, strict=True):
        there = model.inertias[model.getJointId(joint_.name)]
        ours_in_file_frame = transport_ten(ten or (0.0,) * 10, invert(joint_.file_frame))
        assert np.array(ours_in_file_frame, float) == approx(from_com(there.mass, there.lever, there.inertia), 1e-14)


@real_files
def test_snapping_moves_little_and_every_change_is_reported(path: Path | None) -> None:
    if path is None:
        pytest.skip("the shared robots are not there")
    exact, meant = read_robot(path, snap=0), read_robot(path)
    reported = {note.where for note in meant.notes if note.level == "info"}
    q = np.random.default_rng(2).uniform(-1, 1, exact.n)
    shift = max(
        np.abs(a - b).max() for a, b in zip(frame_poses(exact, q).values(), frame_poses(meant, q).values(), strict=True)
    )
    assert shift < 5e-3
    assert (shift > 2e-10) == bool(reported)
