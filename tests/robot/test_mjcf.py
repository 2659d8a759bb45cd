"""The MJCF reader against MuJoCo itself, and against bad input."""

import re
import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

mujoco = pytest.importorskip("mujoco")

from minertia.io.errors import DescriptionError, MinertiaError  # noqa: E402
from minertia.robot.formats.mjcf.lean import MAX_DEPTH  # noqa: E402
from tests.amount import examples  # noqa: E402
from tests.robot.mjcf_helpers import FILES, compare, read, read_file  # noqa: E402

BALL = '<inertial mass="1" pos="0.1 0 0" diaginertia="1 1.1 1.2"/>'
FULL = '<inertial mass="2" pos="0.1 -0.2 0.3" fullinertia="0.3 0.4 0.5 0.01 -0.02 0.03"/>'


def arm(first="", second="", extra="", head=""):
    """Two hinges; text goes inside the joints and beside the bodies."""
    if "axis" not in second:
        second += ' axis="0 1 0"'
    return f"""<mujoco model="arm">{head}
<worldbody>
  <body name="a" pos="0 0 0.5" quat="1 1 0 0">{FULL}<joint name="j1" {first}/>
    <body name="b" pos="0.3 0.1 0" euler="10 20 30">{BALL}<joint name="j2" {second}/></body>
  </body>
</worldbody>{extra}</mujoco>"""


# ------------------------------------------------------------------ the files


@pytest.mark.skipif(not FILES, reason="the folder shared/robots is absent")
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_files_agree_with_mujoco(path):
    robot = read_file(path)
    compare(mujoco, path.read_text(), robot)
    compare(mujoco, path.read_text(), read_file(path, base="fixed")) if not robot.is_floating else None


@pytest.mark.skipif(not FILES, reason="the folder shared/robots is absent")
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_files_snapped_keep_the_poses_within_the_tolerance(path):
    compare(mujoco, path.read_text(), read_file(path, snap=2e-3, letters=True), tolerance=1e-6)


@pytest.mark.skipif(not FILES, reason="the folder shared/robots is absent")
def test_go2_reads_as_a_floating_robot_or_a_welded_one():
    path = next(p for p in FILES if p.name.startswith("go2"))
    robot = read_file(path)
    assert robot.base == "floating" and robot.n == 12
    fixed = read_file(path, base="fixed")
    assert fixed.base == "fixed" and fixed.n == 12
    assert fixed.joints[0].p[2] == pytest.approx(0.445)


# ------------------------------------------------------------------ one feature each

FEATURES = {
    "plain": arm(),
    "full and diagonal inertias": arm().replace('pos="0.1 0 0"', 'pos="0 0 1" quat="1 2 3 4"'),
    "radians": arm(head='<compiler angle="radian"/>'),
    "euler sequence": arm(head='<compiler eulerseq="zyx"/>'),
    "joint position": arm('pos="0.1 0.2 0.3"', 'pos="-0.3 0.1 0.2"'),
    "oblique axes": arm('axis="1 2 3"', 'axis="-1 0.5 0"'),
    "slide": arm('type="slide" axis="0 1 1"'),
    "reference": arm('ref="30" pos="0.1 0 0"', 'type="slide" ref="0.4"'),
    "armature": arm('armature="0.3"', 'armature="0.1" damping="2" frictionloss="0.5"'),
    "defaults": arm(head='<default><joint armature="0.4" axis="1 0 0" damping="3"/></default>'),
    "two joints on one body": f"""<mujoco><worldbody><body name="a" quat="1 2 0 0">
        <joint name="x" type="slide" axis="1 0 0" pos="0 1 0"/><joint name="r" axis="0 1 1" pos="0.1 0.2 0.3" ref="20"/>
        <joint name="s" axis="1 0 0" pos="-0.1 0.2 0.3"/>{FULL}
        <body name="b" pos="1 0 0"><joint name="t"/>{BALL}</body></body></worldbody></mujoco>""",
    "fixed bodies": f"""<mujoco><worldbody><body name="base" pos="1 2 3" euler="0 0 45">{BALL}
        <body name="a" pos="0 0 1"><joint name="j"/>{FULL}<body name="tool" pos="0 0 0.2" euler="90 0 0">{BALL}
        <body name="tip" pos="1 0 0"/></body></body></body></worldbody></mujoco>""",
    "fused": f"""<mujoco><compiler fusestatic="true"/><worldbody><body name="base" pos="1 2 3">{BALL}
        <body name="a" pos="0 0 1"><joint name="j"/>{FULL}<body name="tool" pos="0 0 0.2" euler="90 0 0">{BALL}
        </body></body></body></worldbody></mujoco>""",
    "frames": f"""<mujoco><worldbody><frame pos="0 0 1" euler="0 90 0"><body name="a"><joint name="j"/>{FULL}
        <frame pos="1 0 0"><body name="b" pos="0 1 0">{BALL}<joint name="k"/></body></frame></body></frame>
        </worldbody></mujoco>""",
    "geoms": """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="a"><joint name="j"/>
        <geom size="0.1" pos="0.2 0 0"/><geom type="capsule" size="0.05" fromto="0 0 0 1 0 0" mass="2"/>
        <geom type="box" size="1 1 1" mass="0"/><geom type="box" size="1 1 1" group="5"/></body>
        </worldbody></mujoco>""",
    "inertia group": """<mujoco><compiler inertiagrouprange="0 2"/><worldbody><body name="a"><joint name="j"/>
        <geom size="0.1" pos="0.2 0 0"/><geom type="box" size="1 1 1" group="3"/></body></worldbody></mujoco>""",
    "inertia from geoms always": f"""<mujoco><compiler inertiafromgeom="true"/><worldbody><body name="a">
        <joint name="j"/>{FULL}<geom size="0.1" pos="0.2 0 0"/></body></worldbody></mujoco>""",
    "balanced": """<mujoco><compiler balanceinertia="true" boundmass="0.5" boundinertia="0.2"/><worldbody>
        <body name="a"><joint name="j"/><inertial mass="0.1" pos="1 0 0" diaginertia="1 1 5"/>
        <body name="b" pos="0 0 1">
        <joint name="k" axis="1 0 0"/><inertial mass="1" pos="1 0 0" diaginertia="0.1 0.1 0.1"/></body></body>
        </worldbody></mujoco>""",
    "gravity": arm(head='<option gravity="1 2 3"/>'),
    "disables gravity": arm(head='<option><flag gravity="disable"/></option>'),
    "free base": f"""<mujoco><worldbody><body name="floor"/><body name="trunk" pos="0 0 1" quat="1 1 0 0"><freejoint/>
        {FULL}<body name="bag" pos="0 0.1 0">{BALL}</body><body name="leg" pos="0.1 0 0"><joint name="j" axis="0 1 0"/>
        {BALL}</body></body></worldbody></mujoco>""",
    "replicate": f"""<mujoco><worldbody><replicate count="3" euler="0 0 120"><body name="leg" pos="1 0 0">
        <joint name="j" axis="0 1 0"/>{BALL}</body></replicate></worldbody></mujoco>""",
}  # fmt: skip
GEARED = arm(extra='<actuator><general joint="j1" gear="3" armature="0.2" damping="0.1"/></actuator>')
DRIVES = hasattr(mujoco.MjModel, "actuator_armature")
if DRIVES:
    FEATURES["actuators"] = GEARED


@pytest.mark.parametrize("name", FEATURES)
def test_features_agree_with_mujoco(name):
    # older MuJoCo fuses bodies wrongly, so the oracle gets them apart
    compare(mujoco, FEATURES[name].replace('fusestatic="true"', ""), read(FEATURES[name]))


def test_total_mass_is_applied(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    robot = read(FEATURES["plain"].replace("<worldbody>", '<compiler settotalmass="30"/><worldbody>', 1))
    assert sum(ten[9] for ten in robot.links) == pytest.approx(30)
    assert not list(tmp_path.iterdir())


def test_unnamed_parts_get_names():
    robot = read(f"<mujoco><worldbody><body><joint/>{BALL}<body><joint/>{BALL}</body></body></worldbody></mujoco>")
    assert [(j.name, j.link) for j in robot.joints] == [("joint1", "body1"), ("joint2", "body2")]
    taken = (
        f'<mujoco><worldbody><body name="body2"><joint/>{BALL}<body><joint/>{BALL}</body></body></worldbody></mujoco>'
    )
    assert [j.link for j in read(taken).joints] == ["body2", "body2_"]


def test_limits_and_effort():
    robot = read(arm('range="-90 90" actuatorfrcrange="-20 20"'))
    limits = robot.joints[0].limits
    assert (limits.lower, limits.upper) == pytest.approx((-np.pi / 2, np.pi / 2))
    assert limits.effort == 20
    assert robot.joints[1].limits.lower is None and robot.joints[1].limits.effort is None
    driven = arm(extra='<actuator><motor joint="j2" gear="-10" forcerange="-3 3"/></actuator>')
    assert read(driven).joints[1].limits.effort == pytest.approx(30)


def test_effects():
    robot = read(FEATURES["armature"])
    assert dict(robot.effects[0]) == {"IA": 0.3}
    assert dict(robot.effects[1]) == {"IA": 0.1, "FV": 2.0, "FC": 0.5}


@pytest.mark.skipif(not DRIVES, reason="this MuJoCo has no inertia in its actuators")
def test_effects_of_actuators_count_with_the_gear_squared():
    geared = read(GEARED).effects[0]
    assert geared["IA"] == pytest.approx(9 * 0.2) and geared["FV"] == pytest.approx(0.9)


def test_linear_equality_makes_a_follower():
    text = arm('ref="10"', 'ref="20"', '<equality><joint joint1="j2" joint2="j1" polycoef="0.1 -2 0 0 0"/></equality>')
    robot = read(text)
    follows = robot.joints[1].follows
    assert follows is not None and robot.n == 1
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:] = 0.7, robot.joint_position(1, [0.7])
    mujoco.mj_forward(model, data)
    assert abs(data.efc_pos[0]) < 1e-12


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ('<tendon><fixed name="wire"><joint joint="j1" coef="1"/></fixed></tendon>', "wire"),
        ('<option density="1.2"/>', "option"),
    ],
)
def test_what_is_left_out_is_said(extra, said):
    robot = read(arm(extra=extra))
    assert any(note.level == "warning" and said in note.where for note in robot.notes)
    assert robot.n == 2


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ('<joint joint1="j2" joint2="j1" polycoef="0 1 1 0 0"/>', "one linear relation"),
        ('<joint joint1="j2"/>', "one linear relation"),
        ('<connect name="pin" body1="world" body2="b" anchor="9 0 0"/>', "'pin' cannot move"),
        ('<weld name="glue" body1="a" body2="b"/>', "'glue' cannot move"),
        ('<weld name="glue" body1="a" body2="b" relpose="1 0 0 1 0 0 0"/>', "relpose"),
        ('<tendon tendon1="wire" tendon2="other"/>', "one fixed tendon"),
    ],
)
def test_what_would_leave_a_wrong_robot_is_refused(extra, said):
    with pytest.raises(DescriptionError, match=said):
        read(arm(extra=f"<equality>{extra}</equality>"))


def test_springs_are_read_and_gravity_compensation_is_said():
    robot = read(arm('stiffness="3" springref="0.1"').replace('name="b"', 'name="b" gravcomp="1"'))
    assert [note.where for note in robot.notes if note.level == "warning"] == ["body 'b'"]
    assert robot.effects[0]["KS"] == 3


def test_snapping_is_reported_and_lengths_are_letters():
    text = arm().replace('quat="1 1 0 0"', 'euler="1.5708 0 0"').replace('euler="10 20 30"', "")
    text = text.replace("<worldbody>", '<compiler angle="radian"/><worldbody>', 1)
    robot = read(text, snap=2e-3, letters=True)
    assert robot.joints[0].R[1][2] == -1 and type(robot.joints[0].R[1][2]) is int
    assert any("off by 3.7e-06 rad" in note.text and "'a'" in note.where for note in robot.notes)
    assert robot.has_letters and dict(robot.symbols) == {"z1": 0.5, "x2": 0.3, "y2": 0.1}
    assert not read(text).has_letters and isinstance(read(text).joints[0].R[1][2], float)


def test_a_fixed_file_may_float():
    text = FEATURES["fixed bodies"]
    robot = read(text, base="floating")
    assert robot.is_floating and robot.base_link[9] == 1
    free = text.replace('euler="0 0 45">', 'euler="0 0 45"><freejoint/>', 1)
    compare(mujoco, free, robot)


def test_inertia_keeps_all_digits():
    text = f'<mujoco><worldbody><body name="a"><joint name="j"/>{FULL}</body></worldbody></mujoco>'
    ten = read(text).links[0]
    m, c = 2.0, np.array([0.1, -0.2, 0.3])
    J = np.array([[0.3, 0.01, -0.02], [0.01, 0.4, 0.03], [-0.02, 0.03, 0.5]])
    J = J + m * (c @ c * np.eye(3) - np.outer(c, c))
    np.testing.assert_allclose(ten[:6], [J[0, 0], J[0, 1], J[0, 2], J[1, 1], J[1, 2], J[2, 2]], rtol=1e-15)


# ------------------------------------------------------------------ meshes and includes

MESHED = """<mujoco><compiler meshdir="assets"/><asset><texture file="t.png" type="2d" name="t"/>
<material name="m" texture="t"/><mesh file="part.stl" scale="0.1 0.1 0.1"/></asset>
<default><default class="visual"><geom type="mesh" material="m" contype="0"/></default></default>
<worldbody><light pos="0 0 1"/><body name="a"><joint name="j"/>{inertial}<geom class="visual" mesh="part"/>
<site name="s"/></body></worldbody><sensor><framepos objtype="site" objname="s"/></sensor>
<keyframe><key qpos="0"/></keyframe></mujoco>"""


def stl():
    corners = np.eye(4, 3, -1)
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *corners[list(f)].ravel(), 0) for f in faces)
    return b"\0" * 80 + struct.pack("<I", 4) + body


def test_missing_meshes_do_not_matter_where_inertias_are_written():
    robot = read(MESHED.format(inertial=BALL))
    assert robot.links[0][9] == 1


def test_missing_mesh_that_matters_names_the_body():
    with pytest.raises(DescriptionError, match=r"body 'a' has no <inertial>.*part\.stl.*cannot be found"):
        read(MESHED.format(inertial=""))


def test_massless_picture_needs_no_mesh():
    text = MESHED.format(inertial='<geom size="0.1"/>').replace('contype="0"', 'contype="0" mass="0"')
    assert read(text).links[0][9] > 0


def test_mesh_beside_the_file_gives_the_inertia(tmp_path):
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "part.stl").write_bytes(stl())
    path = tmp_path / "robot.xml"
    path.write_text(MESHED.format(inertial=""))
    robot = read_file(path)
    assert robot.links[0][9] == pytest.approx(1000 / 6 * 1e-3)


def test_include(tmp_path):
    (tmp_path / "leg.xml").write_text(
        f'<mujoco><worldbody><body name="a"><joint name="j"/>{FULL}</body></worldbody></mujoco>'
    )
    path = tmp_path / "scene.xml"
    path.write_text('<mujoco model="scene"><include file="leg.xml"/><worldbody><geom size="1"/></worldbody></mujoco>')
    robot = read_file(path)
    assert robot.n == 1 and robot.name == "scene"
    (tmp_path / "leg.xml").write_text('<mujoco>\n<worldbody>\n<body pos="0 nan 0"/></worldbody></mujoco>')
    with pytest.raises(DescriptionError, match="'pos' of <body>") as caught:
        read_file(path)
    assert (caught.value.file, caught.value.line) == ("leg.xml", 3)
    (tmp_path / "leg.xml").write_text('<mujoco><include file="leg.xml"/></mujoco>')
    with pytest.raises(DescriptionError, match="included twice"):
        read_file(path)
    path.write_text('<mujoco><include file="scene.xml"/></mujoco>')
    with pytest.raises(DescriptionError, match="included twice"):
        read_file(path)
    path.write_text('<mujoco><include file="nothing.xml"/></mujoco>')
    with pytest.raises(DescriptionError, match=r"'nothing\.xml' cannot be found"):
        read_file(path)


# ------------------------------------------------------------------ bad input


def one(inside, head=""):
    return f"<mujoco>{head}<worldbody>\n<body name='a'>\n<joint name='j'/>{inside}</body></worldbody></mujoco>"


BAD = {
    "not XML": ("hello", "malformed"),
    "empty": ("", "malformed"),
    "unclosed": ("<mujoco><worldbody>", "malformed"),
    "wrong root": ("<robot/>", "root element"),
    "document type": ('<!DOCTYPE m [<!ENTITY a "b">]><mujoco/>', "document types"),
    "too deep": ("<mujoco><worldbody>" + "<body>" * 300 + "</body>" * 300 + "</worldbody></mujoco>", "nested more"),
    "nothing moves": ("<mujoco><worldbody><body name='a'/></worldbody></mujoco>", "no movable joint"),
    "nan mass": (one(BALL.replace('"1"', '"nan"', 1)), "'mass' of <inertial> is not a finite number"),
    "inf": (one(BALL.replace("0.1 0 0", "0 -INF 0")), "'pos' of <inertial> is not a finite number"),
    "too large": (one(BALL.replace("0.1 0 0", "0 1e400 0")), "MuJoCo rejects"),
    "large": (one(BALL.replace("0.1 0 0", "0 1e200 0")), "larger than 1e+100"),
    "negative mass": (one(BALL.replace('"1"', '"-1"', 1)), "body 'a' moves"),
    "no mass": (one(""), "body 'a' moves"),
    "triangle": (one(BALL.replace("1.2", "9")), "triangle inequality"),
    "unknown attribute": (one(BALL).replace("<joint", "<joint foo='1'"), "foo"),
    "zero axis": (one(BALL).replace("<joint", "<joint axis='0 0 0'"), "axis"),
    "ball": (one(BALL).replace("<joint", "<joint type='ball'"), "'j' is a ball joint"),
    "two names": (arm().replace('name="b"', 'name="a"'), "repeated name"),
    "two free": (
        f"<mujoco><worldbody><body><freejoint/>{BALL}</body><body><freejoint/>{BALL}</body></worldbody></mujoco>",
        "2 free joints",
    ),
    "free beside fixed": (
        f"<mujoco><worldbody><body><freejoint/>{BALL}</body><body><joint/>{BALL}</body></worldbody></mujoco>",
        "moves relative to the world independently of it; remove one of them",
    ),
    "free below": (one(f"{BALL}<body><freejoint/>{BALL}</body>"), "top level"),
    "include": ("<mujoco><include file='x.xml'/></mujoco>", "'x.xml' cannot be found"),
    "attach": ("<mujoco><worldbody><attach model='m' body='b' prefix='p'/></worldbody></mujoco>", "<attach>"),
    "copies": ("<mujoco><worldbody><replicate count='2000000000'><body/></replicate></worldbody></mujoco>", "copies"),
    "copies of copies": (
        "<mujoco><worldbody>" + "<replicate count='99'>" * 9 + "<body/>" + "</replicate>" * 9 + "</worldbody></mujoco>",
        "copies",
    ),
    "circle": (
        arm(extra='<equality><joint joint1="j1" joint2="j2"/><joint joint1="j2" joint2="j1"/></equality>'),
        "break the cycle",
    ),
    "unknown joint": (arm(extra='<equality><joint joint1="j1" joint2="zz"/></equality>'), "zz"),
    "offsets": (arm(extra='<custom><numeric name="minertia_offset" data="1"/></custom>'), "one number per joint"),
    "order": (arm(extra='<custom><numeric name="minertia_order" data="1 1"/></custom>'), "not a permutation"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence(name):
    text, said = BAD[name]
    with pytest.raises(DescriptionError, match=re.escape(said)) as caught:
        read(text)
    assert "\n" not in str(caught.value)


def test_refusals_name_the_line():
    with pytest.raises(DescriptionError) as caught:
        read(one("\n\n" + BALL.replace("1.2", "9")))
    assert caught.value.line == 2
    with pytest.raises(DescriptionError) as caught:
        read(one("\n\n" + BALL.replace('"1"', '"nan"', 1)))
    assert caught.value.line == 5


def test_bases_that_cannot_float():
    with pytest.raises(DescriptionError, match="is connected to the world by joint 'j1'"):
        read(arm(), base="floating")
    with pytest.raises(DescriptionError, match="carry joints"):
        read(FEATURES["replicate"], base="floating")


def test_a_long_chain_is_read():
    n = MAX_DEPTH - 10
    text = "<mujoco><worldbody>" + f"<body pos='0 0 0.1'><joint/>{BALL}" * n + "</body>" * n + "</worldbody></mujoco>"
    assert read(text).n == n


# ------------------------------------------------------------------ mutated texts

PIECES = ["", " ", "0", "-1", "1e308", "1e-308", "nan", "inf", "9999999999"]
PIECES += ['"', "<", ">", "/>", "\0", "&", "\u2603", "body", "free", "ball", "mesh", "slide", "a", "j1"]
PIECES += ["<body>", "</body>", "<joint/>", '<geom size="1"/>']
SEEDS = [*FEATURES.values(), MESHED.format(inertial=BALL), arm(extra=BAD["circle"][0][-200:])]


@settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_mutated_texts_raise_only_our_errors(data):
    text = data.draw(st.sampled_from(SEEDS))
    for _ in range(data.draw(st.integers(1, 4))):
        a = data.draw(st.integers(0, len(text)))
        b = min(len(text), a + data.draw(st.integers(0, 12)))
        text = text[:a] + data.draw(st.sampled_from(PIECES)) + text[b:]
    try:
        robot = read(text, snap=2e-3)
    except MinertiaError as err:
        assert "\n" not in str(err)
    else:
        assert robot.n_joints > 0 or robot.is_floating


@settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_mutated_values_raise_only_our_errors(data):
    text = data.draw(st.sampled_from(SEEDS))
    values = list(re.finditer(r'="([^"]*)"', text))
    spot = data.draw(st.sampled_from(values))
    value = data.draw(st.sampled_from([*PIECES[:9], "1 2", "0 0 0", "1 2 3 4 5 6 7", "-1 -1 -1", "1e200 1 1"]))
    text = text[: spot.start(1)] + value.replace('"', "") + text[spot.end(1) :]
    try:
        read(text)
    except MinertiaError as err:
        assert "\n" not in str(err)
