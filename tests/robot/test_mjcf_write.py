"""MJCF written, read again and loaded in MuJoCo."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

mujoco = pytest.importorskip("mujoco")

from minertia.io.errors import DescriptionError, MinertiaError  # noqa: E402
from minertia.io.files import FileError  # noqa: E402
from minertia.robot.formats.mjcf.values import quaternion  # noqa: E402
from minertia.robot.formats.mjcf.write import to_mjcf, write_mjcf  # noqa: E402
from minertia.robot.formats.snap import quaternion_to_matrix  # noqa: E402
from minertia.robot.inertia import from_com, from_pseudo_inertia  # noqa: E402
from minertia.robot.joint import Follows, Joint, Limits  # noqa: E402
from minertia.robot.robot import Robot  # noqa: E402
from tests.robot.mjcf_helpers import FILES, compare, read, read_file, same_robot  # noqa: E402
from tests.robot.test_mjcf import FEATURES, PIECES, arm  # noqa: E402

needs_files = pytest.mark.skipif(not FILES, reason="the folder shared/robots is absent")


def random_ten(rng):
    """Ten parameters of a body that can exist."""
    A = rng.normal(size=(4, 4)) * rng.uniform(0.1, 1)
    return from_pseudo_inertia(A @ A.T + 1e-3 * np.eye(4))


def random_rotation(rng):
    """A right angle or any rotation."""
    return quaternion_to_matrix(*(rng.normal(size=4) if rng.random() < 0.5 else (1, 1, 0, 0)))


def random_robot(seed, n=6, base="fixed"):
    rng = np.random.default_rng(seed)
    joints, effects = [], []
    for j in range(n):
        parent = None if j == 0 else int(rng.integers(-1, j))
        R, p = random_rotation(rng), rng.normal(size=3)
        joints.append(
            Joint(
                name=f"q{j}",
                kind=("revolute", "prismatic")[int(rng.integers(2))],
                parent=None if parent in (None, -1) else parent,
                R=tuple(tuple(float(v) for v in row) for row in R),
                p=tuple(float(v) for v in p),
                link=f"link{j}",
                limits=Limits(-1.0, 2.0, effort=5.0) if j % 2 else Limits(),
            )
        )
        effects.append({"IA": 0.1 * j, "FV": 0.3, "FC": 0.2, "OFF": 0.1 * (j % 3)})
    links = tuple(random_ten(rng) for _ in range(n))
    base_link = random_ten(rng) if base == "floating" else None
    gravity = tuple(float(v) for v in rng.normal(size=3))
    return Robot("random", tuple(joints), gravity, base, links, base_link, tuple(effects))


def changed(robot, seed=5):
    """The robot with other parameters in every link and joint."""
    rng = np.random.default_rng(seed)
    return replace(
        robot,
        links=tuple(random_ten(rng) for _ in robot.links),
        base_link=random_ten(rng) if robot.is_floating else robot.base_link,
        effects=tuple({"IA": 0.3, "FV": 1.25, "FC": 0.5, "OFF": 0.01 * j} for j in range(robot.n_joints)),
    )


# ------------------------------------------------------------------ new files


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 12))])
def test_random_robots_round_trip_and_agree_with_mujoco(seed, base):
    robot = random_robot(seed, 1 + seed % 8, base)
    text = to_mjcf(robot)
    again = read(text)
    same_robot(robot, again)
    compare(mujoco, text, again)
    assert again.name == "random"
    assert [joint.limits.upper for joint in again.joints] == [joint.limits.upper for joint in robot.joints]
    assert [joint.limits.effort for joint in again.joints] == [joint.limits.effort for joint in robot.joints]


@needs_files
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_files_written_anew_are_the_same_robot(path, tmp_path):
    robot = read_file(path, snap=2e-3, letters=True)
    write_mjcf(robot, tmp_path / "new.xml")
    again = read_file(tmp_path / "new.xml", snap=2e-3, letters=True)
    same_robot(robot, again)
    assert dict(again.symbols).keys() == dict(robot.symbols).keys()
    assert set(robot.frames) <= set(again.frames)


@pytest.mark.parametrize("name", FEATURES)
def test_features_written_anew_are_the_same_robot(name):
    robot = read(FEATURES[name])
    same_robot(robot, read(to_mjcf(robot)))


def test_header_names_and_escapes(tmp_path):
    robot = random_robot(3, 3)
    odd = ['a"<&>', "tab\tnull\0", "snow\u2603"]
    joints = tuple(replace(j, name=name, link=name) for j, name in zip(robot.joints, odd, strict=True))
    robot = replace(robot, joints=joints, name="--> <x>")
    write_mjcf(robot, tmp_path / "odd.xml")
    text = (tmp_path / "odd.xml").read_text(encoding="utf-8")
    assert text.startswith("<!-- minertia mjcf format 1 -->\n<mujoco ")
    again = read(text)
    assert [joint.name for joint in again.joints] == ['a"<&>', "tab_null_", "snow\u2603"]
    assert again.name == "--> <x>"
    assert [p.name for p in tmp_path.iterdir()] == ["odd.xml"]


def test_same_names_are_made_different():
    robot = random_robot(4, 3)
    robot = replace(robot, joints=tuple(replace(joint, link="world", name="") for joint in robot.joints))
    assert len({joint.link for joint in read(to_mjcf(robot)).joints}) == 3


def test_followers_round_trip():
    robot = random_robot(6, 4)
    joints = list(robot.joints)
    joints[2] = replace(joints[2], follows=Follows((0,), (-2.5,), 0.3))
    same_robot(replace(robot, joints=tuple(joints)), read(to_mjcf(replace(robot, joints=tuple(joints)))))


def degenerate(ten):
    robot = random_robot(7, 4)
    return replace(robot, links=(ten, *robot.links[1:-1], ten))


BODIES = {
    "no parameters": None,
    "nothing": (0.0,) * 10,
    "point": from_com(2.0, (0.3, 0.4, -0.5), np.zeros((3, 3))),
    "point at the origin": from_com(2.0, (0, 0, 0), np.zeros((3, 3))),
    "rod": from_com(1.0, (0.1, 0.2, 0.3), np.diag([0.0, 0.1, 0.1])),
    "plate": from_com(1.0, (0.1, 0.2, 0.3), np.diag([0.1, 0.2, 0.1 + 0.2])),
    "oblique plate": from_com(
        1.0,
        (0.1, 0.2, 0.3),
        quaternion_to_matrix(1, 2, 3, 4) @ np.diag([0.1, 0.25, 0.35]) @ quaternion_to_matrix(1, 2, 3, 4).T,
    ),
    "speck": from_com(1e-9, (0.1, 0, 0), np.eye(3) * 1e-14),
}


@pytest.mark.parametrize("name", BODIES)
def test_every_possible_body_loads(name, tmp_path):
    robot = degenerate(BODIES[name])
    notes = write_mjcf(robot, tmp_path / "r.xml")
    again = read_file(tmp_path / "r.xml")
    same_robot(replace(robot, links=tuple(x if x is None or x[9] else None for x in robot.links)), again)
    assert not any(note.level == "warning" for note in notes)
    assert any("no mass" in note.text for note in notes) == (name in ("no parameters", "nothing"))


def test_impossible_bodies_are_written_with_a_warning(tmp_path):
    robot = degenerate(from_com(1.0, (0, 0, 0), np.diag([0.1, 0.1, 0.5])))
    notes = write_mjcf(robot, tmp_path / "r.xml")
    assert sum(note.level == "warning" and "triangle" in note.text for note in notes) == 2
    with pytest.raises(DescriptionError, match="triangle"):
        read_file(tmp_path / "r.xml")
    with pytest.raises(MinertiaError, match="not a finite number"):
        to_mjcf(degenerate((math.nan, *(1.0,) * 9)))


def test_an_impossible_ground_does_not_matter(tmp_path):
    robot = replace(random_robot(2), base_link=from_com(-1.0, (0, 0, 0), np.diag([0.1, 0.1, 0.5])))
    notes = write_mjcf(robot, tmp_path / "r.xml")
    assert [(note.level, note.where) for note in notes] == [("info", "the base")]
    same_robot(robot, read_file(tmp_path / "r.xml"))


def test_what_mjcf_cannot_hold_is_said(tmp_path):
    robot = random_robot(8, 3)
    joints = (replace(robot.joints[0], limits=Limits(2.0, -1.0, velocity=3.0)), *robot.joints[1:])
    robot = replace(robot, joints=joints, coupling=((1.0, 0, 0), (1.0, 1.0, 0), (0, 0, 1.0)))
    notes = write_mjcf(robot, tmp_path / "r.xml")
    assert [note.where for note in notes] == ["drives", "joint 'q0'", "joint 'q0'"]
    assert read_file(tmp_path / "r.xml").joints[0].limits.lower is None


def test_failed_writing_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "r.xml"
    path.write_text("old")
    monkeypatch.setattr("os.replace", lambda *a: (_ for _ in ()).throw(OSError("disk")))
    with pytest.raises(FileError, match="disk"):
        write_mjcf(random_robot(1), path, force=True)
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.floats(-1, 1), min_size=4, max_size=4).filter(lambda q: np.linalg.norm(q) > 1e-3))
def test_quaternions_keep_all_digits(q):
    R = quaternion_to_matrix(*q)
    np.testing.assert_allclose(quaternion_to_matrix(*quaternion(R)), R, atol=2e-15)


# ------------------------------------------------------------------ the user's file


@needs_files
@pytest.mark.parametrize("snap", [pytest.param(0.0, marks=pytest.mark.slow), 2e-3])
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_nothing_changed_is_the_same_bytes(path, snap, tmp_path):
    write_mjcf(read_file(path, snap=snap, letters=True), tmp_path / "out.xml", template=path)
    assert (tmp_path / "out.xml").read_bytes() == path.read_bytes()


@needs_files
@pytest.mark.parametrize("snap", [pytest.param(0.0, marks=pytest.mark.slow), 2e-3])
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_files_with_other_parameters(path, snap, tmp_path):
    robot = changed(read_file(path, snap=snap))
    notes = write_mjcf(robot, tmp_path / "out.xml", template=path)
    assert not any(note.level == "warning" for note in notes)
    again = read_file(tmp_path / "out.xml", snap=snap)
    same_robot(robot, again)
    if snap == 0:
        compare(mujoco, (tmp_path / "out.xml").read_text(), again)


@pytest.mark.parametrize("name", [n for n in FEATURES if n not in ("replicate", "two joints on one body")])
def test_features_with_other_parameters(name, tmp_path):
    robot = read(FEATURES[name])
    new = changed(robot)
    if name == "actuators":
        new = replace(new, effects=({"IA": 2.5, "FV": 1.5}, {"FC": 1.0}))
    notes = write_mjcf(new, tmp_path / "out.xml", template=FEATURES[name])
    assert not any(note.level == "warning" for note in notes), notes
    text = (tmp_path / "out.xml").read_text()
    same_robot(new, read(text))
    compare(mujoco, text, read(text))


def test_only_what_changed_is_touched(tmp_path):
    text = (
        arm('damping="1" armature="0.2"')
        .replace("\n", "\r\n")
        .replace("<worldbody>", "<!-- kept \u2603 --><worldbody>")
    )
    (tmp_path / "in.xml").write_bytes(b"\xef\xbb\xbf" + text.encode())
    robot = read(text).with_parameters({"FV1": 2.5})
    write_mjcf(robot, tmp_path / "out.xml", template=tmp_path / "in.xml")
    expected = b"\xef\xbb\xbf" + text.encode().replace(b'damping="1"', b'damping="2.5"')
    assert (tmp_path / "out.xml").read_bytes() == expected
    write_mjcf(read(text).with_parameters({"OFF2": 0.5}), tmp_path / "off.xml", template=str(tmp_path / "in.xml"))
    assert b'<numeric name="minertia_offset" data="0.0 0.5"/>' in (tmp_path / "off.xml").read_bytes()
    again = read_file(tmp_path / "off.xml")
    assert again.effects[1]["OFF"] == 0.5
    write_mjcf(again.with_parameters({"OFF2": 0.75}), tmp_path / "more.xml", template=tmp_path / "off.xml")
    assert b'data="0.0 0.75"' in (tmp_path / "more.xml").read_bytes()
    for name, offset in (("off", 0.5), ("more", 0.75)):  # MuJoCo itself has it, too
        assert passive_efforts(tmp_path / f"{name}.xml")[1] == pytest.approx(-offset)
    write_mjcf(again.with_parameters({"OFF2": 0.0}), tmp_path / "none.xml", template=tmp_path / "off.xml")
    assert passive_efforts(tmp_path / "none.xml")[1] == 0 and "OFF" not in read_file(tmp_path / "none.xml").effects[1]


def test_an_offset_at_a_joint_with_a_spring_shifts_its_rest_position(tmp_path):
    """KS (q - rest) + OFF in MuJoCo, of a new file and of an edited one; both are read back apart."""
    (tmp_path / "in.xml").write_text(arm('stiffness="3" springref="20"'))
    robot = read_file(tmp_path / "in.xml").with_parameters({"OFF1": 0.5, "OFF2": 0.25})
    assert not any("offset" in note.text for note in write_mjcf(robot, tmp_path / "new.xml"))
    write_mjcf(robot, tmp_path / "edited.xml", template=tmp_path / "in.xml")
    for name in ("new", "edited"):
        again = read_file(tmp_path / f"{name}.xml")
        assert passive_efforts(tmp_path / f"{name}.xml") == pytest.approx([-3 * (0.3 - np.radians(20)) - 0.5, -0.25])
        assert (again.effects[0]["KS"], again.effects[0]["OFF"]) == (3, 0.5)
        assert again.effect_constants(0, "KS")["rest"] == pytest.approx(np.radians(20), rel=1e-14)
    none = read_file(tmp_path / "edited.xml").with_parameters({"OFF1": 0.0})
    write_mjcf(none, tmp_path / "none.xml", template=tmp_path / "edited.xml")
    assert passive_efforts(tmp_path / "none.xml")[0] == pytest.approx(-3 * (0.3 - np.radians(20)))


def passive_efforts(path):
    """What springs do at a posture, in MuJoCo."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    data.qpos[:] = 0.3
    mujoco.mj_forward(model, data)
    return data.qfrc_passive.copy()


def test_values_of_a_class_are_set_on_the_joint(tmp_path):
    text = FEATURES["defaults"]
    write_mjcf(read(text).with_parameters({"IA1": 0.7}), tmp_path / "out.xml", template=text)
    out = (tmp_path / "out.xml").read_text()
    assert 'armature="0.4"' in out and '<joint name="j1" armature="0.7"' in out.replace("  ", " ")


def test_impossible_inertia_in_a_template_is_warned_of(tmp_path):
    text = FEATURES["plain"]
    robot = read(text)
    robot = replace(robot, links=(robot.links[0], from_com(1.0, (0, 0, 0), np.diag([0.1, 0.1, 0.5]))))
    notes = write_mjcf(robot, tmp_path / "out.xml", template=text)
    assert [note.where for note in notes if note.level == "warning"] == ["body 'b'", "MuJoCo"]
    assert "diaginertia" in (tmp_path / "out.xml").read_text()


def test_templates_that_do_not_fit(tmp_path):
    robot = read(FEATURES["plain"])
    for text, said in [
        (FEATURES["frames"], "other joints"),
        (FEATURES["plain"].replace("0.3 0.1 0", "0.3 0.4 0"), "placed differently"),
    ]:
        with pytest.raises(MinertiaError, match=said):
            write_mjcf(robot, tmp_path / "out.xml", template=text)
    with pytest.raises(MinertiaError, match="cannot be read"):
        write_mjcf(robot, tmp_path / "out.xml", template=tmp_path / "none.xml")
    for name in ("replicate", "two joints on one body"):
        with pytest.raises(MinertiaError, match="not appear literally"):
            write_mjcf(changed(read(FEATURES[name])), tmp_path / "out.xml", template=FEATURES[name])
    assert not list(tmp_path.iterdir())


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_mutated_templates_raise_only_our_errors(data, tmp_path_factory):
    text = FEATURES["fixed bodies"]
    robot = changed(read(text))
    a = data.draw(st.integers(0, len(text)))
    b = min(len(text), a + data.draw(st.integers(0, 12)))
    text = text[:a] + data.draw(st.sampled_from(PIECES)) + text[b:]
    path = tmp_path_factory.mktemp("mutated") / "out.xml"
    try:
        write_mjcf(robot, path, template=text if "<" in text else "<")
    except MinertiaError as err:
        assert "\n" not in str(err)
        assert not path.exists()
