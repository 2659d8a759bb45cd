"""USD: read back to 1e-12 by us and to 1e-7 by a plain 32-bit reader; broken stages are refused with the reason."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minertia.dynamics.model import inverse_dynamics
from minertia.identification.efforts.files import robot_files
from minertia.io.errors import MinertiaError, MissingExtra
from minertia.robot.files import bundled_robots, read_robot, write_robot
from minertia.robot.formats.usd import stage as usd_stage
from minertia.robot.formats.usd.attributes import HELD
from minertia.robot.formats.usd.text import plain_name
from minertia.robot.parameters import split_name
from minertia.robot.robot import Robot
from minertia.simulation.proof import prove
from tests.robot.usd_helpers import ARM, FIXED, HEAD, MASS, PLACE, TWO, PlainReader, body, joint, stage
from tests.shared import SHARED, needs_shared

pytest.importorskip("pxr")
OURS, SINGLE = 1e-12, 1e-7
ROBOTS = SHARED / "robots"
FILES = sorted(path.name for path in ROBOTS.glob("*.*") if path.suffix in (".urdf", ".xml", ".par"))
QUICK = ("puma560_physical", "emps", "panda.urdf", "go2.mjcf.xml", "airbot_play.urdf")


def states(robot: Robot, count: int = 10) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    q = rng.normal(size=(count, robot.n_position))
    if robot.is_floating:
        q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1)[:, None]
    return q, rng.normal(size=(count, robot.n_velocity)), rng.normal(size=(count, robot.n_velocity))


def apart(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def difference(robot: Robot, other: Robot) -> float:
    at = states(robot)
    return apart(np.asarray(inverse_dynamics(other, *at)), np.asarray(inverse_dynamics(robot, *at)))


def held(robot: Robot) -> Robot:
    return robot.without_effects([name for name in robot.effect_values if split_name(name)[0] not in HELD])


def source_of(name: str) -> str | Path:
    return name if name in bundled_robots() else ROBOTS / name


def there_and_back(name: str, folder: Path) -> None:
    """Read back to 1e-12 by us, to 1e-7 by a plain reader; or refused for what no USD file holds."""
    robot = read_robot(source_of(name))
    why = None
    if any(value is None for value in robot.symbols.values()):
        why = "symbols without a value"
    elif robot.cuts:
        why = "has closed loops"
    elif not robot.has_parameters:
        why = "has no masses"
    path = folder / "robot.usda"
    if why is not None:
        with pytest.raises(MinertiaError, match=why):
            write_robot(robot, path)
        return
    write_robot(robot, path)
    again = read_robot(path)
    assert difference(robot, again) <= OURS
    assert [j.limits for j in again.joints] == [j.limits for j in robot.joints]
    assert (again.name, again.gravity, {*again.frames}) == (robot.name, robot.gravity, {*robot.frames})
    assert again.effect_values == robot.effect_values
    pytest.importorskip("pinocchio")
    names = {plain_name(n): n for n in robot.coordinate_names}
    at = states(robot)
    found = PlainReader(path).efforts(names, *at)
    assert apart(found, np.asarray(inverse_dynamics(held(robot), *at))) <= SINGLE


@pytest.mark.parametrize("name", QUICK)
def test_robots_are_read_back(name: str, tmp_path: Path) -> None:
    if not Path(source_of(name)).is_file() and name not in bundled_robots():
        pytest.skip("the shared test material is not here")
    there_and_back(name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", (*bundled_robots(), *FILES))
def test_every_robot_is_read_back_or_refused(name: str, tmp_path: Path) -> None:
    there_and_back(name, tmp_path)


@pytest.mark.parametrize("name", ["rx90", "five_bar", "cmu_dd_arm2"])
def test_what_no_usd_file_holds_is_refused(name: str, tmp_path: Path) -> None:
    there_and_back(name, tmp_path)


@pytest.mark.parametrize("suffix", [".usdc", ".usd"])
def test_binary_layers_are_the_same(suffix: str, tmp_path: Path) -> None:
    robot = read_robot("puma560_physical")
    write_robot(robot, tmp_path / f"arm{suffix}")
    assert (tmp_path / f"arm{suffix}").read_bytes().startswith(b"PXR-USDC")
    assert difference(robot, read_robot(tmp_path / f"arm{suffix}")) <= OURS
    write_robot(robot, tmp_path / f"arm{suffix}")  # it is ours, so it may be replaced


def test_units_are_those_of_the_schemas(tmp_path: Path) -> None:
    """Degrees at hinges, metres at slides; Newton and PhysX alike."""
    (tmp_path / "arm.urdf").write_text(URDF)
    write_robot(read_robot(tmp_path / "arm.urdf"), tmp_path / "arm.usda")
    text = (tmp_path / "arm.usda").read_text()
    per_degree = str(np.float32(0.5 * math.pi / 180))
    for line in (
        f"newton:damping = {per_degree}",
        f"physxJointAxis:angular:viscousFrictionCoefficient = {per_degree}",
        "newton:friction = 0.25",
        "physxJointAxis:angular:dynamicFrictionEffort = 0.25",
        "newton:damping = 3.0",
        "physxJointAxis:linear:viscousFrictionCoefficient = 3.0",
        f"physics:upperLimit = {np.float32(math.degrees(1.0))!s}",
        "physics:upperLimit = 0.2",
        f"newton:velocityLimit = {np.float32(math.degrees(2.0))!s}",
        "custom double minertia:effect:FV = 0.5",
    ):
        assert f"{line}\n" in text, line


URDF = """<robot name="two"><link name="base"/>
<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="turn" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" velocity="2" effort="5"/><dynamics damping="0.5" friction="0.25"/></joint>
<joint name="slide" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-0.1" upper="0.2" velocity="2" effort="5"/><dynamics damping="3"/></joint></robot>"""


# ------------------------------------------------------------------------------------------------ stages of others


def read(text: str, folder: Path, **options) -> Robot:
    (folder / "arm.usda").write_text(text)
    return read_robot(folder / "arm.usda", **options)


def test_a_small_arm_of_others(tmp_path: Path) -> None:
    robot = read(stage(*TWO), tmp_path)
    assert [j.name for j in robot.joints] == ["j1", "j2"]
    assert robot.links[1][9] == 2.0 and robot.gravity == (0.0, 0.0, -9.81) and not robot.is_floating
    assert read(stage(*(part for part in TWO if part != FIXED)), tmp_path).is_floating


def test_a_joint_may_name_a_prim_that_is_no_body(tmp_path: Path) -> None:
    """The nearest body above it is meant, else the world, with the prim's place there."""
    robot = read(stage(*TWO), tmp_path)
    ground = FIXED.replace("rel physics:body1", "rel physics:body0 = </arm>\nrel physics:body1")
    op = 'double3 xformOp:translate = (0, 0, 0.5)\nuniform token[] xformOpOrder = ["xformOp:translate"]'
    upper = body("upper", f'{MASS}\ndef Xform "mount" {{\n{op}\n}}')
    other = read(stage(TWO[0], upper, *TWO[2:3], ground, TWO[4], joint("j2", "upper/mount", "lower")), tmp_path)
    assert not other.is_floating and difference(robot, other) < 1e-15
    assert robot_files(other) == ("robot.usda",)


def test_a_joint_may_name_its_bodies_the_other_way_round(tmp_path: Path) -> None:
    robot = read(stage(*TWO), tmp_path)
    swapped = joint("j2", "lower", "upper", PLACE.replace("localPos0", "localPos1"))
    other = read(stage(*ARM, swapped), tmp_path)
    q, qd, qdd = states(robot)
    turned = np.array([1.0, -1.0])  # the first body moves against the second
    found = np.asarray(inverse_dynamics(other, q * turned, qd * turned, qdd * turned)) * turned
    assert apart(found, np.asarray(inverse_dynamics(robot, q, qd, qdd))) < 1e-12


def test_centimetres_grams_and_y_up_mean_the_same_robot(tmp_path: Path) -> None:
    friction = "float newton:damping = {}\nfloat newton:friction = {}\nfloat newton:armature = {}"
    plain = (*ARM, joint("j2", "upper", "lower", f"{PLACE}\n{friction.format(0.01, 0.5, 0.02)}"))
    small = MASS.replace("= 2", "= 2000").replace("(0.1, 0, 0)", "(10, 0, 0)")
    small = small.replace("(0.1, 0.2, 0.2)", "(1000000, 2000000, 2000000)")
    scaled = friction.format(0.01 * 1e7, 0.5 * 1e7, 0.02 * 1e7)
    parts = [part.replace(MASS, small).replace("0.5)", "50)") for part in ARM]
    parts.append(joint("j2", "upper", "lower", f"{PLACE.replace('0.5)', '50)')}\n{scaled}"))
    head = HEAD.replace("metersPerUnit = 1", "metersPerUnit = 0.01\n    kilogramsPerUnit = 0.001")
    assert difference(read(stage(*plain), tmp_path), read(stage(*parts, head=head), tmp_path)) < 1e-7
    y_up = read(stage(*plain, head=HEAD.replace('"Z"', '"Y"')), tmp_path)
    assert y_up.gravity == (0.0, -9.81, 0.0)
    said = " ".join(n.text for n in read(stage(*plain, head=HEAD.replace("metersPerUnit = 1", "")), tmp_path).notes)
    assert "does not give metersPerUnit" in said


def test_newtons_inertia_counts_unless_it_is_another(tmp_path: Path) -> None:
    six = "\ndouble[] newton:inertia = [0.1, 0.2, {}, 0, 0, 0]"
    parts = (*(p.replace(MASS, MASS + six.format(0.20000000001)) for p in TWO),)
    J = read(stage(*parts), tmp_path).links[1]
    assert J[0] + J[3] + J[5] == pytest.approx(0.50000000001 + 2 * 2 * 0.1**2, abs=1e-13)
    with pytest.raises(MinertiaError, match="newton:inertia and physics:diagonalInertia.*differ by 5 %.*delete the"):
        read(stage(*(p.replace(MASS, MASS + six.format(0.21)) for p in TWO)), tmp_path)


def test_a_d6_joint_with_one_free_axis_is_that_joint(tmp_path: Path) -> None:
    axes = ("transX", "transY", "transZ", "rotX", "rotZ")
    locks = "\n".join(f"float limit:{a}:physics:low = 1\nfloat limit:{a}:physics:high = -1" for a in axes)
    d6 = joint("j2", "upper", "lower", f"{PLACE}\n{locks}", "PhysicsJoint")
    assert difference(read(stage(*TWO), tmp_path), read(stage(*ARM, d6), tmp_path)) < 1e-15


def test_one_robot_of_several_is_chosen_by_its_prim(tmp_path: Path) -> None:
    one = stage(*TWO)
    both = one + one.replace(HEAD, "").replace("arm", "leg").replace("= 2\n", "= 3\n")
    with pytest.raises(MinertiaError, match="has 2 robots \\('/arm', '/leg'\\); choose one by its prim"):
        read(both, tmp_path)
    assert read(both, tmp_path, prim="/leg").links[0][9] == 3.0
    with pytest.raises(MinertiaError, match="no prim '/foot'; there are /arm"):
        read(both, tmp_path, prim="/foot")
    with pytest.raises(MinertiaError, match="a prim applies to USD stages only"):
        read_robot("ur10e", prim="/arm")


SPHERE = joint("j2", "upper", "lower", kind="PhysicsSphericalJoint").replace('uniform token physics:axis = "Y"\n', "")
D6 = joint("j2", "upper", "lower", kind="PhysicsJoint").replace('uniform token physics:axis = "Y"\n', "")
SCALE = 'float3 xformOp:scale = (2, 2, 2)\nuniform token[] xformOpOrder = ["xformOp:scale"]'
TWICE = "".join(f'def Xform "{name}" (prepend references = </a{{}}>)\n{{{{\n}}}}\n' for name in ("x", "y"))
BOMB = 'def Xform "a0"\n{\n}\n' + "".join(
    f'def Xform "a{k}"\n{{\n{TWICE.format(k - 1, k - 1)}}}\n' for k in range(1, 40)
)
BROKEN = {
    "no bodies": ('#usda 1.0\ndef Xform "arm" {}\n', "no rigid bodies; it may hold shapes only"),
    "spherical": (stage(*ARM, SPHERE), "joint 'j2' is a spherical joint, which is not supported"),
    "d6": (stage(*ARM, D6), "joint 'j2' is a D6 joint with 6 free axes"),
    "end in the world": (
        stage(*TWO, body("tool"), joint("j3", "lower", "tool"), joint("j4", "tool", "")),
        "closes a loop by the joints 'fixed' and 'j4' to the world.*where one of these joins two links",
    ),
    "loop": (stage(*TWO, joint("j3", "base", "lower")), "joint 'j.' closes a loop"),
    "excluded": (
        stage(*TWO, joint("j3", "base", "lower", "bool physics:excludeFromArticulation = 1")),
        "joint 'j3' closes a loop .excludeFromArticulation",
    ),
    "scaled": (stage(*TWO[:2], body("lower", f"{MASS}\n{SCALE}"), *TWO[3:]), "link 'lower' is scaled or mirrored"),
    "no mass": (stage(*TWO[:2], body("lower", ""), *TWO[3:]), "link 'lower' moves and has no physics:mass"),
    "negative mass": (stage(*TWO[:2], body("lower", "float physics:mass = -1"), *TWO[3:]), "its mass is -1"),
    "no inertia": (stage(*TWO[:2], body("lower", "float physics:mass = 1"), *TWO[3:]), "no physics:diagonalInertia"),
    "time": (
        stage(*TWO[:2], body("lower", f"{MASS}\nfloat physics:mass.timeSamples = {{0: 1, 1: 2}}"), *TWO[3:]),
        "link 'lower' has time samples .physics:mass",
    ),
    "no body": (stage(*ARM, joint("j2", "upper", "gone")), "joint 'j2' names the body '/arm/gone', which does not"),
    "still": (stage(body("base"), FIXED), "no joint of this stage can move"),
    "http": (stage(*TWO).replace(")\n", "    subLayers = [@https://example.org/a.usd@]\n)\n", 1), "from the network"),
    "absolute": (stage(*TWO).replace(")\n", "    subLayers = [@/etc/passwd@]\n)\n", 1), "by an absolute path"),
    "not usd": ("<robot/>", "it is no USD layer"),
    "empty": ("", "it is no USD layer"),
    "deep": ("#usda 1.0\n" + 'def "a" {\n' * 100_000 + "}" * 100_000, "its prims are more than 500 deep"),
    "many": (stage(*TWO) + BOMB, "its references expand to more than 200000 prims"),
    "itself": (stage(*TWO).replace("uniform token", "rel a = </arm.a>\nuniform token") + '"', "it is no USD layer"),
    "pointer": ("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "a Git LFS pointer"),
    "unit": (stage(*TWO).replace("metersPerUnit = 1", "metersPerUnit = 0"), "metersPerUnit is 0"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_stages_are_refused_in_one_sentence(name: str, tmp_path: Path, capfd) -> None:
    text, sentence = BROKEN[name]
    with pytest.raises(MinertiaError, match=sentence) as caught:
        read(text, tmp_path)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""  # OpenUSD's own warnings


def test_layers_that_do_not_open_are_told_once(tmp_path: Path, capfd) -> None:
    """References of shapes may be missing; bodies may not."""
    mesh = 'def Xform "shape" (prepend references = @./mesh.usd@) {}'
    robot = read(stage(*TWO[:2], body("lower", f"{MASS}\n{mesh}"), *TWO[3:]), tmp_path)
    told = [note.text for note in robot.notes if note.level == "warning"]
    assert len(told) == 1 and "'mesh.usd' (there is no such file)" in told[0]
    (tmp_path / "base.usda").write_text("version https://git-lfs.github.com/spec/v1\n")
    over = stage(*TWO).replace("def Xform", "over").replace(")\n", "    subLayers = [@base.usda@]\n)\n", 1)
    with pytest.raises(MinertiaError, match="no rigid bodies .*nowhere defined.*'base.usda' .it is a Git LFS pointer"):
        read(over, tmp_path)
    assert capfd.readouterr().err == ""


# ------------------------------------------------------------------------------------------------ edited files of ours


@pytest.mark.parametrize(
    ("key", "found"), [("physics:mass", lambda r: r.links[1][9]), ("newton:friction", lambda r: r.effects[1]["FC"])]
)
def test_what_somebody_edits_counts_and_is_said(key: str, found, tmp_path: Path) -> None:
    robot = read_robot("puma560_physical")
    write_robot(robot, tmp_path / "arm.usda")
    old, text = f"{key} = {np.float32(found(robot))!s}\n", (tmp_path / "arm.usda").read_text()
    assert text.count(old) == 1
    edited = read(text.replace(old, f"{key} = 20.0\n"), tmp_path)
    assert found(edited) == 20.0
    (note,) = [n for n in edited.notes if "were changed since minertia wrote them" in n.text]
    assert note.level == "warning"


def test_a_joint_that_somebody_moves_is_moved(tmp_path: Path) -> None:
    robot = read_robot("puma560_physical")
    write_robot(robot, tmp_path / "arm.usda")
    text = (tmp_path / "arm.usda").read_text()
    place = f"physics:localPos0 = ({', '.join(str(np.float32(float(v))) for v in robot.numeric.joints[2].p)})"
    assert place in text
    moved = read(text.replace(place, "physics:localPos0 = (0.5, 0.0, 0.25)"), tmp_path).numeric
    assert [float(v) for v in moved.joints[2].p] == [0.5, 0.0, 0.25]


# ------------------------------------------------------------------------------------------------ overs, commands


def test_a_template_is_overridden_in_a_layer_of_ours(tmp_path: Path) -> None:
    (tmp_path / "arm.usda").write_text(stage(*TWO))
    before = (tmp_path / "arm.usda").read_bytes()
    robot = read_robot(tmp_path / "arm.usda")
    changed = robot.with_parameters({"M2": 2.5, "FV1": 0.3, "IA2": 0.01, "KS1": 2.0})
    (tmp_path / "new").mkdir()
    write_robot(changed, tmp_path / "new" / "arm_identified.usda", template=tmp_path / "arm.usda")
    text = (tmp_path / "new" / "arm_identified.usda").read_text()
    assert "@../arm.usda@" in text and "def " not in text and 'over "upper"' not in text
    assert (tmp_path / "arm.usda").read_bytes() == before
    again = read_robot(tmp_path / "new" / "arm_identified.usda")
    assert difference(changed, again) < 1e-12
    with pytest.raises(MinertiaError, match="it has other joints than the robot.*stage of the same robot"):
        write_robot(read_robot("puma560_physical"), tmp_path / "other.usda", template=tmp_path / "arm.usda")
    with pytest.raises(MinertiaError, match="this file is an input of this command"):
        write_robot(changed, tmp_path / "arm.usda", template=tmp_path / "arm.usda", force=True)


def test_offsets_of_a_template_are_those_of_its_actuators(run, tmp_path: Path) -> None:
    """A layer over a stage with Newton's actuators overrides their constant efforts; else the old ones act on."""
    servo = 'def NewtonActuator "servo{0}"\n{{\nrel newton:targets = </arm/j{0}>\nfloat newton:constEffort = 0.5\n}}\n'
    (tmp_path / "arm.usda").write_text(stage(*TWO, servo.format(1), servo.format(2)))
    robot = read_robot(tmp_path / "arm.usda")
    assert robot.effect_values == {"OFF1": -0.5, "OFF2": -0.5}
    other = robot.without_effects(["OFF1"]).with_parameters({"OFF2": 0.25, "M2": 2.5})
    over = tmp_path / "over.usda"
    notes = write_robot(other, over, template=tmp_path / "arm.usda")
    assert read_robot(over).effect_values == {"OFF2": 0.25} and difference(other, read_robot(over)) < 1e-12
    assert prove(other, over).is_held and not any("USD has no place" in note.text for note in notes)
    write_robot(other, tmp_path / "other.toml")
    code, _, err = run("convert", tmp_path / "other.toml", tmp_path / "more.usda", "--template", tmp_path / "arm.usda")
    assert code == 0 and "no place" not in err


def test_convert_prints_the_proof(run, tmp_path: Path) -> None:
    code, out, _ = run("convert", "puma560_physical", tmp_path / "arm.usda", "--json")
    proof = json.loads(out)["proof"]
    assert code == 0 and proof["read_back"] <= OURS and proof["single"] <= SINGLE
    assert proof["not_held"] == [f"OFF{k}" for k in range(1, 7)] or proof["not_held"] == []
    code, _, err = run("convert", tmp_path / "arm.usda", tmp_path / "arm.urdf")
    assert code == 0 and "wrote" in err
    code, _, err = run("show", tmp_path / "arm.usda", "--prim", "/nowhere")
    assert code == 2 and "there is no prim '/nowhere'" in err
    code, _, err = run("show", tmp_path / "arm.usda", "--prim", "nope")
    assert code == 2 and re.search("there is no prim 'nope'; there are /[^,]+, /", err)
    code, _, err = run("convert", "puma560_physical", tmp_path / "again.usda")
    assert code == 0 and re.search(r"differ from the robot's by [\d.e-]+ of the largest effort", err)


def test_names_that_no_prim_has_are_no_difference(run, tmp_path: Path) -> None:
    """Other programs read the joint under another name, and the same efforts."""
    arm = read_robot("puma560_physical")
    named = replace(arm, joints=tuple(replace(j, name=f"joint_{k}.0") for k, j in enumerate(arm.joints)))
    write_robot(named, tmp_path / "arm.toml")
    code, out, _ = run("convert", tmp_path / "arm.toml", tmp_path / "arm.usda", "--json")
    assert code == 0 and json.loads(out)["proof"]["single"] <= SINGLE
    assert read_robot(tmp_path / "arm.usda").coordinate_names == named.coordinate_names


def test_control_characters_of_names_are_read_back(run, tmp_path: Path) -> None:
    """A joint of another name in the file would be another joint: its efforts could not be compared."""
    arm = read_robot("puma560_physical")
    named = replace(arm, joints=tuple(replace(j, name=f'{k}\n"\\n\t\x7f') for k, j in enumerate(arm.joints)))
    write_robot(named, tmp_path / "arm.usda")
    assert "\x7f" not in (tmp_path / "arm.usda").read_text("utf-8")
    assert read_robot(tmp_path / "arm.usda").coordinate_names == named.coordinate_names


def test_text_is_written_without_the_extra(tmp_path: Path, monkeypatch) -> None:
    def missing(package: str, extra: str) -> None:
        raise MissingExtra("pxr", extra)

    monkeypatch.setattr(usd_stage, "load", missing)
    write_robot(read_robot("puma560_physical"), tmp_path / "arm.usda")
    with pytest.raises(MissingExtra, match=r"pip install 'minertia\[usd\]'"):
        read_robot(tmp_path / "arm.usda")
    with pytest.raises(MissingExtra):
        write_robot(read_robot("puma560_physical"), tmp_path / "arm.usdc")


# ------------------------------------------------------------------------------------------------ files of converters


@needs_shared
@pytest.mark.parametrize("snap", [0.0, 2e-3])
@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("ur10e_urdf_converter", "ur10e.urdf"),
        ("panda_urdf_converter", "panda.urdf"),
        ("panda_nohand_mujoco_converter", "panda_nohand.mjcf.xml"),
        ("go2_mujoco_converter", "go2.mjcf.xml"),
    ],
)
def test_files_of_converters(file: str, source: str, snap: float) -> None:
    robot = read_robot(ROBOTS / source, snap=snap)
    again = read_robot(ROBOTS / "usd" / f"{file}.usdc", snap=snap)
    assert again.coordinate_names == robot.coordinate_names and again.base == robot.base
    assert difference(robot, again) < SINGLE


@needs_shared
def test_a_stage_whose_bodies_are_in_a_pointer(capfd) -> None:
    with pytest.raises(MinertiaError, match="no rigid bodies .91 bodies.*realman_WR75S_base.usd. .it is a Git LFS"):
        read_robot(ROBOTS / "usd" / "unresolved_realman" / "realman_WR75S.usd")
    assert capfd.readouterr().err == ""


def test_a_prim_names_a_robot_of_a_stage_that_is_read_or_overridden(run, tmp_path: Path) -> None:
    """The proof of a file without a template reads its only robot; without a stage, nothing is written."""
    write_robot("puma560_physical", tmp_path / "one.usda")
    write_robot("puma560_physical", tmp_path / "one.urdf")
    text = (tmp_path / "one.usda").read_text()
    name = text.partition('defaultPrim = "')[2].partition('"')[0]
    moved = text.replace(f'Xform "{name}"', 'Xform "first"').replace(f'defaultPrim = "{name}"', 'defaultPrim = "first"')
    (tmp_path / "world.usda").write_text(moved.replace(f"</{name}", "</first"))
    code, _, err = run("convert", tmp_path / "world.usda", tmp_path / "two.usda", "--prim", "/first")
    assert code == 0 and "differ from the robot's by" in err
    code, _, err = run("convert", tmp_path / "one.urdf", tmp_path / "no.usda", "--prim", "/World/nope")
    assert code == 2 and "--prim applies to USD stages only" in err and not (tmp_path / "no.usda").exists()
    code, _, err = run("convert", tmp_path / "one.usda", tmp_path / "no.usda", "--prim", "/World/nope")
    assert code == 2 and not (tmp_path / "no.usda").exists()
