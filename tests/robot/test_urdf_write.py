from __future__ import annotations

import codecs
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minertia import read_robot
from minertia.algebra.polynomial import letter
from minertia.algebra.vec3 import HERE
from minertia.io.errors import DescriptionError, MinertiaError
from minertia.io.files import FileError
from minertia.robot.formats.urdf.new import exact_rpy
from minertia.robot.formats.urdf.pose import written_origin
from minertia.robot.formats.urdf.write import write_urdf
from minertia.robot.formats.xml import parse_xml
from minertia.robot.joint import Follows, Joint, Limits
from minertia.robot.robot import Frame, Robot
from minertia.robot.variants import locked
from tests.amount import examples
from tests.robot.urdf_helpers import INERTIAL, URDFS, assert_same_robot, joint, link, numeric, parse, two_joints, urdf

TOOL = urdf(
    link("base", ""),
    "<!-- kept -->",
    "  <link name='a'>\n    <visual/>\n    " + INERTIAL + "\n  </link>",
    '  <link name="tool">\n    ' + INERTIAL + "\n    <visual/>\n  </link>",
    '  <link name="empty"/>',
    '  <joint name="j" type="revolute">\n    <parent link="base"/>\n    <child link="a"/>\n    <axis xyz="0 1 0"/>\n'
    "    <dynamics  damping='0.5'   D=\"7\"/>\n  </joint>",
    joint("f", "a", "tool", "fixed", origin='xyz="0 0 1" rpy="0 1.5708 0"'),
    joint("k", "tool", "empty", "prismatic", origin='xyz="0.2 0 0"'),
)


def written(robot: Robot, tmp_path: Path, template: str | Path | None = None) -> str:
    write_urdf(robot, tmp_path / "out.urdf", template, force=True)
    return (tmp_path / "out.urdf").read_bytes().decode()


def changed(robot: Robot, seed: int = 0) -> Robot:
    """The robot with every parameter moved, masses kept positive."""
    rng = np.random.default_rng(seed)
    names = robot.columns(True, True)
    now = robot.parameter_vector(True, True) if robot.has_parameters else np.zeros(len(names))
    return robot.with_parameters(dict(zip(names, (now + rng.uniform(0.1, 1, len(names))).tolist(), strict=True)))


# ---------------------------------------------------------------------- the user's own file


def test_held_joints_keep_their_own_parameters(tmp_path: Path) -> None:
    text = TOOL.replace('<link name="empty"/>', link("empty", INERTIAL))
    (tmp_path / "in.urdf").write_text(text)
    held = locked(read_robot(tmp_path / "in.urdf"), {"k": 0.3})
    assert written(held, tmp_path, tmp_path / "in.urdf") == text
    heavier = held.with_parameters(dict(zip(held.columns(), 2 * np.array(held.parameter_vector()), strict=True)))
    notes = write_urdf(heavier, tmp_path / "out.urdf", tmp_path / "in.urdf")
    assert [note.where for note in notes] == ["link 'tool'"]
    again = read_robot(tmp_path / "out.urdf")
    assert again.links[1] == read_robot(tmp_path / "in.urdf").links[1]
    assert np.allclose(locked(again, {"k": 0.3}).parameter_vector(), heavier.parameter_vector(), rtol=1e-12, atol=1e-14)
    lighter = held.with_parameters(dict(zip(held.columns(), 0.1 * np.array(held.parameter_vector()), strict=True)))
    notes = write_urdf(lighter, tmp_path / "out.urdf", tmp_path / "in.urdf")  # less than what is held weighs itself
    assert [note.where for note in notes] == ["link 'tool'", "link 'empty'"]
    again = locked(read_robot(tmp_path / "out.urdf"), {"k": 0.3})
    assert np.allclose(again.parameter_vector(), lighter.parameter_vector(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_an_unchanged_robot_changes_no_byte(tmp_path: Path, newline: str) -> None:
    for mark in (b"", codecs.BOM_UTF8):
        template = tmp_path / "in.urdf"
        template.write_bytes(mark + TOOL.replace("\n", newline).encode())
        notes = write_urdf(read_robot(template), tmp_path / "out.urdf", template, force=True)
        assert (tmp_path / "out.urdf").read_bytes() == template.read_bytes()
        assert notes == ()


def test_only_the_changed_inertial_is_replaced(tmp_path: Path) -> None:
    text = two_joints().replace("\n", "\r\n")
    robot = parse(text).with_parameters({"M2": 3.0})
    new = written(robot, tmp_path, text)
    start, end = text.rindex("<inertial>"), text.rindex("</inertial>")
    assert new.startswith(text[:start]) and new.endswith(text[end:])
    assert_same_robot(parse(new), robot)


def test_only_changed_attributes_of_dynamics_change(tmp_path: Path) -> None:
    robot = parse(TOOL).with_parameters({"FC1": 0.25})
    new = written(robot, tmp_path, TOOL)
    old = "<dynamics  damping='0.5'   D=\"7\"/>"
    assert new == TOOL.replace(old, '<dynamics  damping=\'0.5\'   D="7" friction="0.25"/>')
    assert dict(parse(new).effects[0]) == {"FV": 0.5, "FC": 0.25}


def test_bodies_fixed_to_a_changed_link_give_it_their_mass(tmp_path: Path) -> None:
    robot = parse(TOOL).with_parameters({"M1": 9.0})
    notes = write_urdf(robot, tmp_path / "out.urdf", TOOL)
    new = (tmp_path / "out.urdf").read_text()
    assert new.count("<inertial>") == 1
    assert [note.where for note in notes] == ["link 'tool'"]
    tool_line = '  <link name="tool">\n    <visual/>\n  </link>'
    assert tool_line in new and "<!-- kept -->" in new
    assert_same_robot(parse(new), robot)


def test_elements_that_are_missing_are_added(tmp_path: Path) -> None:
    robot = parse(TOOL).with_parameters(dict.fromkeys(("XX2", "YY2", "ZZ2", "M2", "FV2", "IA2", "OFF2"), 0.5))
    notes = write_urdf(robot, tmp_path / "out.urdf", TOOL)
    new = (tmp_path / "out.urdf").read_text()
    assert '\n  <link name="empty">\n    <inertial>\n      <origin' in new
    assert "    </inertial>\n  </link>" in new
    assert '<dynamics damping="0.5" friction="0.0"/><minertia rotor_inertia="0.5" offset="0.5"/></joint>' in new
    assert any("<minertia>" in note.text and note.where == "joint 'k'" for note in notes)
    assert_same_robot(parse(new), robot)
    again = written(parse(new), tmp_path, new)
    assert again == new


def test_removing_all_parameters_removes_the_inertial(tmp_path: Path) -> None:
    robot = replace(parse(two_joints()), links=(None, None))
    new = written(robot, tmp_path, two_joints())
    assert "<inertial>" not in new
    assert parse(new).links == (None, None)


def test_encodings_are_kept(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="iso-8859-1"?>\n' + two_joints().replace("<link", "<!-- é -->\n<link", 1)
    robot = parse(text).with_parameters({"M2": 3.0})
    for mark, encoding in ((b"", "iso-8859-1"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF8, "utf-8")):
        (tmp_path / "in.urdf").write_bytes(mark + text.encode(encoding))
        write_urdf(robot, tmp_path / "out.urdf", tmp_path / "in.urdf", force=True)
        data = (tmp_path / "out.urdf").read_bytes()
        assert data.startswith(mark)
        assert_same_robot(parse(data[len(mark) :].decode(encoding)), robot)


def test_templates_that_do_not_fit(tmp_path: Path) -> None:
    robot = parse(two_joints())
    for other in (TOOL, two_joints().replace('"j2"', '"j3"')):
        with pytest.raises(DescriptionError, match="differs between the robot"):
            write_urdf(robot, tmp_path / "out.urdf", other)
    more = two_joints().replace("</robot>", link("c") + joint("f", "b", "c", "fixed") + "</robot>")
    with pytest.raises(DescriptionError, match="has no link 'c'"):
        write_urdf(robot, tmp_path / "out.urdf", more)
    with pytest.raises(DescriptionError, match="cannot be read"):
        write_urdf(robot, tmp_path / "out.urdf", tmp_path / "nothing.urdf")
    (tmp_path / "bytes.urdf").write_bytes(b"\xff\xff\x00<robot")
    with pytest.raises(DescriptionError, match="as text"):
        write_urdf(robot, tmp_path / "out.urdf", tmp_path / "bytes.urdf")
    assert not (tmp_path / "out.urdf").exists()


def test_floating_base_in_a_template(tmp_path: Path) -> None:
    text = urdf(link("w", ""), link("t"), link("l"), joint("f", "w", "t", "floating", ""), joint("h", "t", "l"))
    robot = changed(parse(text))
    assert_same_robot(parse(written(robot, tmp_path, text)), robot, 1e-12)


# ---------------------------------------------------------------------- new files


def test_a_new_file_is_the_same_robot(tmp_path: Path) -> None:
    inside = (
        '<axis xyz="1 2 3"/><limit lower="-1" upper="2" velocity="3" effort="4" acceleration="5"/>'
        '<mimic joint="j1" multiplier="-2" offset="0.3"/><dynamics damping="0.1" friction="0.2"/>'
    )
    robot = parse(two_joints(inside, 'xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"'), snap=0)
    new = written(robot, tmp_path)
    assert new.splitlines()[:2] == ['<?xml version="1.0"?>', "<!-- minertia urdf format 1 -->"]
    assert_same_robot(parse(new, snap=0), robot)
    assert all(j.file_frame == HERE for j in parse(new).joints)


def test_frames_behind_fixed_joints_stay(tmp_path: Path) -> None:
    robot = parse(TOOL)
    again = parse(written(robot, tmp_path))
    assert set(again.frames) == set(robot.frames)
    assert numeric(again.frames["tool"].pose) == pytest.approx(numeric(robot.frames["tool"].pose), abs=1e-15)
    assert_same_robot(again, robot)


def test_floating_base_in_a_new_file(tmp_path: Path) -> None:
    text = two_joints().replace('<link name="base"></link>', link("world")).replace('"base"', '"world"')
    robot = parse(text, base="floating")
    again = parse(written(robot, tmp_path))
    assert again.is_floating
    assert_same_robot(again, robot)


def test_unknown_limits_come_back_unknown(tmp_path: Path) -> None:
    joints = (
        Joint("a", "prismatic", None, HERE[0], HERE[1], "la", Limits(upper=1.0)),
        Joint("b", "revolute", 0, HERE[0], (0.1, 0, 0), "lb", Limits(velocity=2.0), Follows((0,), (-1.5,), 0.25)),
        Joint("c", "revolute", 1, HERE[0], (0.1, 0, 0), "lc"),
    )
    robot = Robot("x", joints)
    notes = write_urdf(robot, tmp_path / "out.urdf")
    assert {note.where for note in notes} == {"joint 'a'", "joint 'b'"}
    assert_same_robot(read_robot(tmp_path / "out.urdf"), robot)


def test_what_a_urdf_cannot_hold_is_said(tmp_path: Path) -> None:
    joints = (
        Joint("a", "revolute", None, HERE[0], (letter("L"), letter("D"), 0), "la"),
        Joint("b", "revolute", 0, *HERE, "lb"),
    )
    robot = Robot(
        "x",
        joints,
        gravity=(0.0, 9.81, 0.0),
        effects=({"IA": 0.1}, {"OFF": 0.1}),
        coupling=((1.0, 0.0), (1.0, 1.0)),
        motor_effects=({}, {"FVM": 1.0}),
        symbols={"L": 0.5, "D": None},
    )
    text = " ".join(note.text for note in write_urdf(robot, tmp_path / "out.urdf"))
    for said in ("rotor inertia", "offset", "coupled drives", "gravity", "D had no value"):
        assert said in text
    again = read_robot(tmp_path / "out.urdf")
    assert again.numeric.joints[0].p[0] == 0.5
    assert [dict(e) for e in again.effects] == [{"IA": 0.1, "OFF": 0.0}, {"IA": 0.0, "OFF": 0.1}]


def test_unphysical_links(tmp_path: Path) -> None:
    robot = parse(two_joints())
    only_inertia = robot.with_parameters({s + "2": 0.0 for s in ("MX", "MY", "MZ", "M")})
    assert write_urdf(only_inertia, tmp_path / "out.urdf") == (write_urdf(robot, tmp_path / "o2.urdf"))
    assert_same_robot(read_robot(tmp_path / "out.urdf"), only_inertia)
    notes = write_urdf(robot.with_parameters({"M2": 0.0}), tmp_path / "out.urdf")
    assert [n.where for n in notes if n.level == "warning"] == ["link 'b'"]
    with pytest.raises(MinertiaError, match="link 'b' has a negative mass"):
        write_urdf(robot.with_parameters({"M2": -1.0}), tmp_path / "out.urdf")


HOSTILE = ['"/><evil a="', "<!--", "a\nb\t\r", "\x00\x1b", "&amp;", "]]>", "ünï", "\ud800", "../../x", " "]


def test_hostile_names_come_back(tmp_path: Path) -> None:
    joints = tuple(
        Joint(name, "revolute", None if j == 0 else j - 1, *HERE, f"L{name}") for j, name in enumerate(HOSTILE)
    )
    frames = {"tool": Frame(0, ((HERE[0]), (0.0, 0.0, 0.1))), "tool\x00": Frame(1, HERE)}
    notes = write_urdf(Robot("r<&>", joints, frames=frames), tmp_path / "out.urdf")
    again = read_robot(tmp_path / "out.urdf")
    legal = [j for j, name in enumerate(HOSTILE) if name.isprintable() and name.strip() or name == "a\nb\t\r"]
    assert [again.joints[j].name for j in legal] == [HOSTILE[j] for j in legal]
    assert again.n_joints == len(HOSTILE) and again.name == "r<&>"
    assert all("is called" in note.text for note in notes if note.level == "info" and "limit" not in note.text)
    assert list(tmp_path.iterdir()) == [tmp_path / "out.urdf"]


def test_equal_names_are_told_apart(tmp_path: Path) -> None:
    robot = Robot("r", (Joint("a\0", "revolute", None, *HERE), Joint("a_", "revolute", 0, *HERE)))
    notes = write_urdf(robot, tmp_path / "out.urdf")
    assert [joint.name for joint in read_robot(tmp_path / "out.urdf").joints] == ["a_", "a__2"]
    assert len(notes) == 2


def test_writing_is_all_or_nothing(tmp_path: Path) -> None:
    robot = parse(two_joints())
    with pytest.raises(FileError, match="cannot be written"):
        write_urdf(robot, tmp_path / "no" / "such" / "folder.urdf")
    path = tmp_path / "out.urdf"
    path.write_text("old")
    path.chmod(0o640)
    with pytest.raises(MinertiaError):
        write_urdf(robot.with_parameters({"M1": -1.0}), path)
    assert path.read_text() == "old"
    write_urdf(robot, path, force=True)
    assert os.name != "posix" or path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


ANGLES = st.one_of(st.floats(-7, 7), st.sampled_from([0.0, np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9, 1.5707963, np.pi]))


@settings(max_examples=examples(300), deadline=None)
@given(ANGLES, ANGLES, ANGLES)
def test_roll_pitch_yaw_give_the_rotation_back(roll: float, pitch: float, yaw: float) -> None:
    def matrix(rpy: tuple[float, ...]) -> np.ndarray:
        text = " ".join(repr(float(a)) for a in rpy)
        return written_origin(parse_xml(f'<a><origin rpy="{text}"/></a>', "f"), "x")[0]

    R = matrix((roll, pitch, yaw))
    assert np.abs(matrix(exact_rpy(tuple(map(tuple, R.tolist())))) - R).max() < 2e-15


# ---------------------------------------------------------------------- real files

real_files = pytest.mark.parametrize("path", URDFS or [None], ids=lambda p: p.stem if p else "none")


@real_files
@pytest.mark.parametrize(
    ("base", "snap"),
    [
        ("fixed", 2e-3),
        *(
            pytest.param(*more, marks=pytest.mark.slow)
            for more in (("floating", 0.0), ("fixed", 0.0), ("floating", 2e-3))
        ),
    ],
)
def test_real_files_come_back(path: Path | None, tmp_path: Path, base: str, snap: float) -> None:
    if path is None:
        pytest.skip("the shared robots are not there")
    out = tmp_path / "out.urdf"
    robot = read_robot(path, base=base, snap=snap)
    write_urdf(robot, out, path)
    assert out.read_bytes() == path.read_bytes()
    write_urdf(robot, out, force=True)
    assert_same_robot(read_robot(out, snap=snap), robot)
    other = changed(robot)
    write_urdf(other, out, path, force=True)
    assert_same_robot(read_robot(out, base=base, snap=snap), other, 1e-12)
    write_urdf(other, out, force=True)
    assert_same_robot(read_robot(out, snap=snap), other, 1e-12)


@real_files
def test_pinocchio_finds_the_same_torques_in_a_new_file(path: Path | None, tmp_path: Path) -> None:
    pin = pytest.importorskip("pinocchio")
    if path is None:
        pytest.skip("the shared robots are not there")
    robot = read_robot(path, snap=0)
    write_urdf(robot, tmp_path / "new.urdf")
    torques = []
    for file in (path, tmp_path / "new.urdf"):
        model = pin.buildModelFromUrdf(str(file))
        rng = np.random.default_rng(3)
        motion = {joint_.name: rng.uniform(-1, 1, 3) for joint_ in robot.joints}
        q, v, a = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
        where = {name: model.joints[model.getJointId(name)] for name in motion}
        for name, j in where.items():
            x, v[j.idx_v], a[j.idx_v] = motion[name]
            q[j.idx_q : j.idx_q + j.nq] = (np.cos(x), np.sin(x)) if j.nq == 2 else x
        tau = pin.rnea(model, model.createData(), q, v, a)
        torques.append([tau[j.idx_v] for j in where.values()])
    # a wrist joint's torque is a difference of terms as large as those of the whole arm
    assert torques[0] == pytest.approx(torques[1], abs=1e-12 * max(1.0, np.abs(torques[1]).max()), rel=1e-12)


@pytest.mark.parametrize("kind", ["revolute", "continuous"])
def test_a_joint_that_changes_its_type_is_noted(kind: str, tmp_path: Path) -> None:
    robot = parse(urdf(link("b"), link("a"), joint("j", "b", "a", kind)))
    notes = [note.text for note in write_urdf(robot, tmp_path / "out.urdf") if "written as continuous" in note.text]
    assert 'type="continuous"' in (tmp_path / "out.urdf").read_text("utf-8") and len(notes) == (kind == "revolute")
