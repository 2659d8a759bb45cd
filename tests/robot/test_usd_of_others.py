"""USD stages as other exporters write them: the same robot, a warning, or a refusal with the reason."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from minertia.dynamics.model import inverse_dynamics
from minertia.io.errors import MinertiaError
from minertia.robot.files import read_robot, write_robot
from minertia.robot.robot import Robot
from minertia.simulation.proof import prove
from tests.robot.usd_helpers import ARM, FIXED, HEAD, MASS, PLACE, TWO, body, joint, stage

pytest.importorskip("pxr")
WELD = joint("weld", "lower", "tool", kind="PhysicsFixedJoint").replace('uniform token physics:axis = "Y"\n', "")
BOX = 'def Cube "box" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI"])\n{{\n{}\n}}\n'
FREEDOMS = ("transX", "transY", "transZ", "rotX", "rotZ")
LOCKS = "\n".join(f"float limit:{a}:physics:low = 1\nfloat limit:{a}:physics:high = -1" for a in FREEDOMS)


def read(text: str, folder: Path, **options) -> Robot:
    (folder / "arm.usda").write_text(text)
    return read_robot(folder / "arm.usda", **options)


def difference(robot: Robot, other: Robot) -> float:
    rng = np.random.default_rng(3)
    at = [rng.normal(size=(10, robot.n_velocity)) for _ in range(3)]
    wanted = np.asarray(inverse_dynamics(robot, *at))
    return float(np.abs(np.asarray(inverse_dynamics(other, *at)) - wanted).max() / np.abs(wanted).max())


def second(inside: str, kind: str = "PhysicsRevoluteJoint") -> str:
    """Stage of the small arm with further attributes at its second joint."""
    found = joint("j2", "upper", "lower", f"{PLACE}\n{inside}", kind)
    return stage(*ARM, found if kind != "PhysicsJoint" else found.replace('uniform token physics:axis = "Y"\n', ""))


def lower(inside: str) -> str:
    """Stage of the small arm with another content of its last link."""
    return stage(*TWO[:2], body("lower", inside), *TWO[3:])


def scene(inside: str) -> str:
    return stage(*TWO, scene=f'def PhysicsScene "scene"\n{{\n{inside}\n}}\n')


def warnings(robot: Robot) -> list[str]:
    return [note.text for note in robot.notes if note.level == "warning"]


# ------------------------------------------------------------------------------------------------ the same robot


@pytest.mark.parametrize("kind", ["Mesh", "Cube", "Camera"])
def test_a_joint_may_name_a_shape(kind: str, tmp_path: Path) -> None:
    op = 'double3 xformOp:translate = (0, 0, {})\nuniform token[] xformOpOrder = ["xformOp:translate"]'
    shape = f'{MASS}\ndef {kind} "shape"\n{{\n{op.format(0.2)}\ndef Xform "mount"\n{{\n{op.format(0.3)}\n}}\n}}'
    text = stage(TWO[0], body("upper", shape), *TWO[2:5], joint("j2", "upper/shape/mount", "lower"))
    assert difference(read(stage(*TWO), tmp_path), read(text, tmp_path)) < 1e-15
    shape = shape.replace("0, 0, 0.2", "0, 0, 0.5")
    near = stage(TWO[0], body("upper", shape), *TWO[2:5], joint("j2", "upper/shape", "lower"))
    assert difference(read(stage(*TWO), tmp_path), read(near, tmp_path)) < 1e-15


def test_one_time_sample_is_a_value(tmp_path: Path) -> None:
    sampled = second("").replace("localPos0 = (0, 0, 0.5)", "localPos0.timeSamples = {0: (0, 0, 0.5)}")
    sampled = sampled.replace("physics:mass = 2", "physics:mass.timeSamples = {3: 2}")
    assert difference(read(stage(*TWO), tmp_path), read(sampled, tmp_path)) == 0


def test_a_d6_joint_has_the_limits_and_friction_of_its_axis(tmp_path: Path) -> None:
    axis = (
        "float limit:rotY:physics:low = -90\nfloat limit:rotY:physics:high = 45\nfloat drive:rotY:physics:maxForce = 5"
    )
    axis += "\nfloat physxJointAxis:rotY:viscousFrictionCoefficient = 0.01\nfloat drive:rotY:physics:stiffness = 9"
    robot = read(second(f"{LOCKS}\n{axis}", "PhysicsJoint"), tmp_path)
    x = robot.joints[1].limits
    assert (x.lower, x.upper, x.effort) == (-math.pi / 2, math.pi / 4, 5.0)
    assert robot.effect_values["FV2"] == pytest.approx(0.01 * 180 / math.pi)
    below = read(second(f"{LOCKS}\nfloat limit:rotY:physics:low = 2", "PhysicsJoint"), tmp_path).joints[1].limits
    assert below.lower == pytest.approx(math.radians(2)) and below.upper is None
    applied = ", ".join(f'"PhysicsLimitAPI:{axis}"' for axis in FREEDOMS)
    plain = second(LOCKS, "PhysicsJoint")
    assert "since PhysicsLimitAPI is not applied" in warnings(read(plain, tmp_path))[0]
    plain = plain.replace('"j2"\n', f'"j2" (prepend apiSchemas = [{applied}])\n')
    assert warnings(read(plain, tmp_path)) == []
    still = LOCKS.replace("low = 1", "low = 0").replace("high = -1", "high = 0")
    assert read(second(still, "PhysicsJoint"), tmp_path).joints[1].kind == "revolute"


def test_a_joint_outside_the_articulation_that_closes_no_loop_is_one_of_the_tree(tmp_path: Path) -> None:
    tool = "bool physics:excludeFromArticulation = 1"
    plain = stage(*TWO, body("tool"), joint("j3", "lower", "tool"))
    robot = read(stage(*TWO, body("tool"), joint("j3", "lower", "tool", tool)), tmp_path)
    assert difference(read(plain, tmp_path), robot) == 0
    assert any("outside the articulation" in note.text for note in robot.notes)


def test_stacked_joints_of_newton_act_one_after_another(tmp_path: Path) -> None:
    """Where the articulation says so, joints between the same links have links without mass between them."""
    stacking = "bool newton:jointsAddMobility = 1\n"
    place = f"{PLACE}\npoint3f physics:localPos1 = (0, 0, 0.1)"
    turned = place.replace("0.5)", "0.6)").replace("0.1)", "0.2)")
    sides = [("j2", "", place), ("j3", "Z", turned)]
    stack = [joint(name, "upper", "lower", at).replace('"Y"', f'"{axis or "Y"}"') for name, axis, at in sides]
    robot = read(stage(stacking, *ARM, *stack), tmp_path)
    between = body("between", "float physics:mass = 1e-12\nfloat3 physics:diagonalInertia = (1e-18, 1e-18, 1e-18)")
    last = joint("j3", "between", "lower", turned.replace("0.6)", "0.2)")).replace('"Y"', '"Z"')
    chain = stage(*ARM[:3], between, *ARM[3:], joint("j2", "upper", "between", place), last)
    assert difference(read(chain, tmp_path), robot) < 1e-11
    heavier = robot.with_parameters({"M3": 2.5, "FV2": 0.5})
    (tmp_path / "stack.usda").write_text(stage(stacking, *ARM, *stack))
    write_robot(heavier, tmp_path / "over.usda", template=tmp_path / "stack.usda")
    assert difference(heavier, read_robot(tmp_path / "over.usda")) < 1e-12
    with pytest.raises(MinertiaError, match="'j2' shares its link with another joint"):
        write_robot(robot.with_parameters({"M2": 1.0}), tmp_path / "no.usda", template=tmp_path / "stack.usda")
    moved = stack[1].replace("0.6)", "0.7)")
    with pytest.raises(MinertiaError, match="'j2' and 'j3' between the same two links place them differently"):
        read(stage(stacking, *ARM, stack[0], moved), tmp_path)
    back = [part.replace("body0", "body").replace("body1", "body0").replace("body =", "body1 =") for part in stack]
    with pytest.raises(MinertiaError, match="has the outer link as body0; swap body0 and body1"):
        read(stage(stacking, *ARM, *back), tmp_path)


def test_a_prim_may_end_in_a_slash(tmp_path: Path) -> None:
    assert read(stage(*TWO), tmp_path, prim="/arm/").name == "arm"


def test_joints_of_a_chosen_robot_may_be_beside_its_prim(tmp_path: Path) -> None:
    """A joint to the world, or a scope of all joints; a joint to a link of another robot holds it in the world."""
    arm, leg = ("".join(TWO).replace("/arm/", f"/all/{name}/") for name in ("arm", "leg"))
    ground = FIXED.replace("/arm/", "/all/arm/").replace("rel", "rel physics:body0 = </all/floor>\nrel", 1)
    joints = "".join(TWO[3:]).replace("/arm/", "/all/arm/")
    grip = (
        joint("grip", "lower", "")
        .replace("rel", "rel physics:body1 = </all/leg/base>\nrel")
        .replace("/arm/", "/all/arm/")
    )
    for inside, outside in (
        (arm.replace(FIXED.replace("/arm/", "/all/arm/"), ""), ground),
        (arm.replace(joints, ""), f'def Scope "joints"\n{{\n{joints}}}\n'),
        (arm, grip),
    ):
        parts = [f'def Xform "{name}"\n{{\n{x}}}\n' for name, x in (("arm", inside), ("leg", leg), ("floor", ""))]
        text = f'{HEAD}def Xform "all"\n{{\n{"".join(parts)}{outside}}}\n'
        assert difference(read(stage(*TWO), tmp_path), read(text, tmp_path, prim="/all/arm")) == 0


def test_colliders_of_a_nested_link_are_not_those_of_its_parent(tmp_path: Path) -> None:
    inside = MASS.replace("point3f physics:centerOfMass = (0.1, 0, 0)\n", "")
    nested = "\n".join([inside, body("lower", "\n".join([MASS, BOX.format("")]))])
    ends = [FIXED, TWO[4], joint("j2", "upper", "upper/lower", PLACE)]
    flat = read(stage(TWO[0], body("upper", inside), body("lower"), *ends[:2], TWO[5]), tmp_path)
    assert difference(flat, read(stage(TWO[0], body("upper", nested), *ends), tmp_path)) == 0


def test_gravity_follows_the_rules_of_the_schema(tmp_path: Path) -> None:
    for size in ("-inf", "-3.4e38"):
        assert read(scene(f"float physics:gravityMagnitude = {size}"), tmp_path).gravity == (0.0, 0.0, -9.81)
    for name in ("newton:gravityEnabled", "mjc:flag:gravity"):
        robot = read(scene(f"bool {name} = 0"), tmp_path)
        assert robot.gravity == (0.0, 0.0, 0.0) and warnings(robot) == ["the physics scene disables gravity"]
    two = scene("float physics:gravityMagnitude = 1.5") + 'def PhysicsScene "other"\n{\n}\n'
    assert warnings(read(two, tmp_path)) == ["its physics scenes differ in gravity; the first one is read"]
    (said,) = warnings(read(stage(*TWO, head=HEAD.replace('upAxis = "Z"', "")), tmp_path))
    assert "does not give upAxis" in said
    for size, unit, strength in ((9.81, 0.01, "0.0981"), (981, 1, "981"), (981, 0.01, "")):
        text = scene(f"float physics:gravityMagnitude = {size}").replace("PerUnit = 1", f"PerUnit = {unit}")
        told = [f"gravity is {strength} m/s2" in said for said in warnings(read(text, tmp_path))]
        assert told == [True] * bool(strength)


# ------------------------------------------------------------------------------------------------ effects, mimic joints


def test_values_of_mujoco_count_where_no_others_are_given(tmp_path: Path) -> None:
    mujoco = "double mjc:armature = 0.1\ndouble mjc:frictionloss = 0.5\ndouble mjc:ref = 0.2\ndouble mjc:damping = 0"
    robot = read(second(mujoco), tmp_path)
    assert robot.effect_values == {"IA2": 0.1, "FC2": 0.5}
    assert warnings(robot) == ["mjc:ref not read: its unit differs between programs"]
    (said,) = warnings(read(lower(f"{MASS}\ncustom float mjc:body:gravcomp = 1"), tmp_path))
    assert "its simulator leaves out its weight" in said
    both = read(second(f"{mujoco}\nfloat newton:armature = 0.25"), tmp_path)
    assert both.effect_values["IA2"] == 0.25


def test_files_of_converters_have_their_units_and_errors(tmp_path: Path) -> None:
    """MuJoCo's writes damping and ratios of mimic joints per rad; some of URDF turned principal axes the wrong way."""
    creator = 'metersPerUnit = 1\n    customLayerData = {{\n        string creator = "{}"\n    }}'
    text = second("double mjc:damping = 2")
    assert "mjc:damping not read" in warnings(read(text, tmp_path))[0]
    mujoco = read(text.replace("metersPerUnit = 1", creator.format("MuJoCo USD Converter v0.3.0")), tmp_path)
    assert mujoco.effect_values == {"FV2": 2.0} and not warnings(mujoco)
    slide = second("rel newton:mimicJoint = </arm/j1>\nfloat newton:mimicCoef1 = 0.5", "PhysicsPrismaticJoint")
    mujoco = read(slide.replace("metersPerUnit = 1", creator.format("MuJoCo USD Converter v0.8.0")), tmp_path)
    assert mujoco.joints[1].follows is not None and mujoco.joints[1].follows.ratios == (0.5,)
    for version, count in (("0.1.0", 1), ("0.3.2", 0)):
        name = f"URDF USD Converter v{version}"
        said = warnings(read(stage(*TWO).replace("metersPerUnit = 1", creator.format(name)), tmp_path))
        assert [f"{name} wrote principalAxes" in text for text in said] == [True] * count
    loose = stage(*TWO[:4], joint("j1", "", "upper"), joint("j2", "", "lower"))
    with pytest.raises(MinertiaError, match="its 2 links are each joined to the world and to no other link"):
        read(loose, tmp_path)


def made_by(text: str, creator: str) -> str:
    data = f'metersPerUnit = 1\n    customLayerData = {{\n        string creator = "{creator}"\n    }}'
    return text.replace("metersPerUnit = 1", data)


def test_damping_that_a_converter_wrote_per_rad_is_read_so(tmp_path: Path) -> None:
    """MuJoCo's 0.4 wrote newton:damping as mjc:damping, 57 times too much; later versions write it per degree."""
    wrong = second("double mjc:damping = 2\nfloat newton:damping = 2")
    right = wrong.replace("newton:damping = 2", f"newton:damping = {math.radians(2)}")
    robot = read(made_by(wrong, "MuJoCo USD Converter v0.4.0"), tmp_path)
    assert robot.effect_values == {"FV2": 2.0}
    assert ["newton:damping is read per rad" in text for text in warnings(robot)] == [True]
    robot = read(made_by(right, "MuJoCo USD Converter v0.5.0"), tmp_path)
    assert robot.effect_values["FV2"] == pytest.approx(2.0, rel=1e-6) and not warnings(robot)
    slide = second("double mjc:damping = 2\nfloat newton:damping = 2", "PhysicsPrismaticJoint")
    assert not warnings(read(made_by(slide, "MuJoCo USD Converter v0.4.0"), tmp_path))


@pytest.mark.parametrize(("unit", "size"), [("degree", math.pi / 180), ("radian", 1.0), ("", 0.0)])
def test_springs_of_mujoco_are_read_where_their_unit_is_known(unit: str, size: float, tmp_path: Path) -> None:
    """Stiffness is per rad; springref and ref, the position at the zero of USD, are in the unit of the scene."""
    mujoco = pytest.importorskip("mujoco")
    spring = {"stiffness": 3.0, "springref": 20.0, "ref": 5.0}
    text = second("\n".join(f"double mjc:{name} = {value}" for name, value in spring.items()))
    given = f'uniform token mjc:compiler:angle = "{unit}"' if unit else ""
    text = made_by(text + f'def PhysicsScene "scene"\n{{\n{given}\n}}\n', "MuJoCo USD Converter v0.8.0")
    robot = read(text, tmp_path)
    assert ["mjc:stiffness" in said for said in warnings(robot)] == [not unit]
    if not unit:
        assert not robot.effect_values
        return
    joint = f'<joint axis="0 1 0" {" ".join(f"""{name}="{value}" """ for name, value in spring.items())}/>'
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    xml = f"""<mujoco><compiler angle="{unit}"/><option gravity="0 0 0"/>
        <worldbody><body>{joint}{inertial}</body></worldbody></mujoco>"""
    arm = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(arm)
    data.qpos[0] = 0.3 + spring["ref"] * size
    mujoco.mj_inverse(arm, data)
    effort = inverse_dynamics(robot, [[0.0, 0.3]], np.zeros((1, 2)), np.zeros((1, 2)))
    rigid = inverse_dynamics(robot.without_effects(["KS2"]), [[0.0, 0.3]], np.zeros((1, 2)), np.zeros((1, 2)))
    assert float((effort - rigid)[0, 1]) == pytest.approx(float(data.qfrc_inverse[0]), rel=1e-12)
    for stiffness in (5.0, 0.0):
        over, other = tmp_path / "over.usda", robot.with_parameters({"KS2": stiffness, "M2": 3.0})
        write_robot(other, over, template=tmp_path / "arm.usda", force=True)
        assert difference(other, read_robot(over)) < 1e-12 and prove(other, over).is_held


def test_an_overriding_layer_also_replaces_the_values_of_mujoco(tmp_path: Path) -> None:
    """Newton refuses a joint whose mjc:damping contradicts newton:damping."""
    from pxr import Usd

    given = {"armature": 0.2, "damping": 0.4, "frictionloss": 0.3}
    text = second("\n".join(f"uniform double mjc:{name} = {value}" for name, value in given.items()))
    robot = read(made_by(text, "MuJoCo USD Converter v0.3.0"), tmp_path)
    over = tmp_path / "over.usda"
    write_robot(robot.with_parameters({"IA2": 0.5, "FV2": 0.25}), over, template=tmp_path / "arm.usda")
    opened = Usd.Stage.Open(str(over))
    prim = opened.GetPrimAtPath("/arm/j2")
    found = {name: prim.GetAttribute(f"mjc:{name}").Get() for name in given}
    assert found == {"armature": 0.5, "damping": 0.25, "frictionloss": 0.3}
    assert read_robot(over).effect_values == {"IA2": 0.5, "FV2": 0.25, "FC2": 0.3}


@pytest.mark.parametrize(
    ("creator", "is_rad"),
    [
        ("MuJoCo USD Converter v0.4.0rc1", True),
        ("MuJoCo USD Converter v0.5.0", False),
        ("URDF USD Converter v0.3.1", True),
        ("URDF USD Converter v0.3.4", False),
        ("somebody", False),
    ],
)
def test_offsets_of_mimic_joints_that_a_converter_wrote_in_rad_are_read_so(
    creator: str, is_rad: bool, tmp_path: Path
) -> None:
    mimic = second("rel newton:mimicJoint = </arm/j1>\nfloat newton:mimicCoef0 = 0.5")
    robot = read(made_by(mimic, creator), tmp_path)
    assert robot.joints[1].follows is not None
    assert robot.joints[1].follows.offset == pytest.approx(0.5 if is_rad else math.radians(0.5))
    assert ["mimicCoef0 is read in rad" in text for text in warnings(robot)] == [True] * is_rad


def test_a_centre_of_mass_that_the_converter_of_urdf_omits_is_the_origin(tmp_path: Path) -> None:
    """It writes none where the URDF has no origin of the inertia; simulators take one from the colliders."""
    inside = MASS.replace("point3f physics:centerOfMass = (0.1, 0, 0)\n", "") + "\n" + BOX.format("")
    with pytest.raises(MinertiaError, match="'lower' has a mass but no physics:centerOfMass"):
        read(lower(inside), tmp_path)
    creator = 'metersPerUnit = 1\n    customLayerData = {\n        string creator = "URDF USD Converter v0.3.4"\n    }'
    robot = read(lower(inside).replace("metersPerUnit = 1", creator), tmp_path)
    assert ["read with (0, 0, 0), as in its URDF" in text for text in warnings(robot)] == [True]
    assert difference(read(lower(MASS.replace("(0.1, 0, 0)", "(0, 0, 0)")), tmp_path), robot) == 0


def test_a_drive_that_only_damps_is_told(tmp_path: Path) -> None:
    robot = read(second("float drive:angular:physics:damping = 0.1"), tmp_path)
    assert any("its drive is a controller" in note.text for note in robot.notes) and not robot.effect_values


def test_mimic_joints_of_physx(tmp_path: Path) -> None:
    """Position + gearing * leader + offset = 0, degrees at revolute joints; gearing is 1 where it is not given."""
    stem = "physxMimicJoint:rotY"
    leader = f"rel {stem}:referenceJoint = </arm/j1>\n"
    follows = read(second(leader), tmp_path).joints[1].follows
    assert follows is not None and follows.ratios == (-1.0,)
    slide = f"{leader}float {stem}:gearing = -0.01\nfloat {stem}:offset = 0.5"
    follows = read(second(slide, "PhysicsPrismaticJoint"), tmp_path).joints[1].follows
    assert follows is not None and follows.ratios[0] == pytest.approx(0.01 * 180 / math.pi) and follows.offset == -0.5


def test_armature_and_speed_of_an_axis(tmp_path: Path) -> None:
    """Newer versions of PhysX have them at the axis, where they stand over those of the joint."""
    axis = "float physxJointAxis:angular:armature = 0.5\nfloat physxJointAxis:angular:maxJointVelocity = 90\n"
    robot = read(second(f"{axis}float physxJoint:armature = 0.25\nfloat physxJoint:maxJointVelocity = 45"), tmp_path)
    assert robot.effect_values == {"IA2": 0.5}
    assert robot.joints[1].limits.velocity == pytest.approx(math.pi / 2)


def test_a_joint_without_stops_has_its_speed_and_effort(tmp_path: Path) -> None:
    limits = "float physxJoint:maxJointVelocity = 180\nfloat drive:angular:physics:maxForce = 7"
    x = read(second(limits), tmp_path).joints[1].limits
    assert (x.lower, x.upper, x.velocity, x.effort) == (None, None, pytest.approx(math.pi), 7.0)


def test_a_kinematic_base_is_fixed(tmp_path: Path) -> None:
    held = body("base", f"{MASS}\nbool physics:kinematicEnabled = 1")
    for ends in (TWO[1:], [part for part in TWO[1:] if part != FIXED]):
        assert difference(read(stage(*TWO), tmp_path), read(stage(held, *ends), tmp_path)) == 0


@pytest.mark.parametrize("taken", ["diagonalInertia", "centerOfMass"])
def test_a_fixed_base_needs_no_inertia(taken: str, tmp_path: Path) -> None:
    """It changes no effort; a base that moves, and links, do need one."""
    inside = "\n".join([*(line for line in MASS.splitlines() if taken not in line), BOX.format("")])
    robot = read(stage(body("base", inside), *TWO[1:]), tmp_path)
    assert difference(read(stage(*TWO), tmp_path), robot) == 0
    assert ["it does not move" in note.text for note in robot.notes] == [True]
    for parts in ((body("base", inside), *TWO[1:3], *TWO[4:]), (*TWO[:2], body("lower", inside), *TWO[3:])):
        with pytest.raises(MinertiaError, match=f"has a mass but no physics:{taken}"):
            read(stage(*parts), tmp_path)


# ------------------------------------------------------------------------------------------------ warnings


def test_what_simulators_take_otherwise_is_told(tmp_path: Path) -> None:
    light = read(lower(f"{MASS}\nbool physxRigidBody:disableGravity = 1"), tmp_path)
    assert "its simulator leaves out its weight" in warnings(light)[0]
    bare = stage(*TWO[:2], body("lower").replace(', "PhysicsMassAPI"', ""), *TWO[3:])
    assert "physics:mass without PhysicsMassAPI" in warnings(read(bare, tmp_path))[0]
    assert warnings(read(second("float newton:friction = -1"), tmp_path)) == [
        "its dry friction is negative, which no joint has"
    ]
    point = MASS.replace("(0.1, 0.2, 0.2)", "(0, 0, 0)")
    (said,) = warnings(read(lower(f"{point}\ndouble[] newton:inertia = [0, 0, 0, 0, 0, 0]"), tmp_path))
    assert "its inertia is 0, which is read here" in said
    (said,) = warnings(read(lower(f"{MASS}\nfloat physxRigidBody:angularDamping = 0.05"), tmp_path))
    assert "PhysX damps its motion in space" in said
    tendon = second("").replace('"j2"\n', '"j2" (prepend apiSchemas = ["PhysxTendonAxisRootAPI:t"])\n')
    for text, name in ((tendon, "j2"), (stage(*TWO, 'def MjcTendon "cable"\n{\n}\n'), "cable")):
        assert f"its tendons ({name}) are not read" in warnings(read(text, tmp_path))[0]
    tool = read(stage(*TWO, body("tool", BOX.format("")), WELD), tmp_path)
    assert "it has no physics:mass and is read without one" in warnings(tool)[0]


def test_a_joint_of_one_link_with_itself_is_told(tmp_path: Path) -> None:
    for extra, where in ((joint("j3", "lower", "lower"), "link 'lower'"), (joint("j3", "", ""), "no link")):
        (said,) = warnings(read(stage(*TWO, extra), tmp_path))
        assert f"both its ends are on {where}, so it moves nothing" in said
    assert not warnings(read(stage(*TWO, WELD.replace("/arm/tool", "/arm/lower")), tmp_path))


def test_a_lower_limit_above_the_upper_one_is_told(tmp_path: Path) -> None:
    """USD says that it locks an axis of a D6 joint, and nothing for other joints."""
    said = warnings(read(second("float physics:lowerLimit = 10\nfloat physics:upperLimit = -10"), tmp_path))
    assert ["USD defines for D6 joints only" in text for text in said] == [True]
    assert not warnings(read(second("float physics:lowerLimit = -10\nfloat physics:upperLimit = 10"), tmp_path))


def test_a_base_that_is_placed_otherwise_than_its_joint_holds_it_is_told(tmp_path: Path) -> None:
    op = 'float3 xformOp:rotateXYZ = (90, 0, 0)\nuniform token[] xformOpOrder = ["xformOp:rotateXYZ"]\n'
    text = stage(op, *TWO)
    (said,) = warnings(read(text, tmp_path))
    assert "turned by 90 degrees against this joint to the world" in said
    held = FIXED.replace(
        "rel physics:body1", "quatf physics:localRot0 = (0.70710677, 0.70710677, 0, 0)\nrel physics:body1"
    )
    robot = read(text.replace(FIXED, held), tmp_path)
    assert not warnings(robot) and robot.gravity == pytest.approx((0.0, -9.81, 0.0))


def layers(folder: Path, arm: str, arc: str) -> Path:
    (folder / "arm.usda").write_text(arm)
    head = '#usda 1.0\n(\n    metersPerUnit = 1\n    upAxis = "Z"\n)\n'
    (folder / "world.usda").write_text(f'{head}def Xform "world" (prepend references = {arc})\n{{\n}}\n')
    return folder / "world.usda"


def test_layers_in_other_units_are_told(tmp_path: Path) -> None:
    path = layers(tmp_path, stage(*TWO).replace("metersPerUnit = 1", "metersPerUnit = 0.01"), "@arm.usda@")
    (said,) = warnings(read_robot(path))
    assert "'arm.usda' has metersPerUnit = 0.01, not 1.0; USD converts no units" in said


def test_references_that_find_nothing_are_told(tmp_path: Path) -> None:
    with pytest.raises(MinertiaError, match="no rigid bodies; '/world' refers to 'arm.usda', which has no prim '/leg'"):
        read_robot(layers(tmp_path, stage(*TWO), "@arm.usda@</leg>"))
    with pytest.raises(
        MinertiaError, match="no rigid bodies; '/world' refers to 'arm.usda', which has no default prim"
    ):
        read_robot(layers(tmp_path, stage(*TWO, head=HEAD.replace('defaultPrim = "arm"', "")), "@arm.usda@"))
    lost = stage('def Xform "grip" (prepend references = </gone>)\n{\n}\n', *TWO)
    (said,) = warnings(read_robot(layers(tmp_path, lost, "@arm.usda@")))
    assert "1 references were not followed; '/world/grip' refers to 'arm.usda', which has no prim '/gone'" in said


@pytest.mark.parametrize("snap", [0.0, 2e-3])
def test_a_template_is_read_as_the_robot_was(snap: float, tmp_path: Path) -> None:
    """Angles near right angles, here of the frame of a link, may have been taken as exact or not."""
    text = second("quatf physics:localRot1 = (0.7074606, 0, 0, 0.7067527)")  # 89.9427 degrees
    robot = read(text, tmp_path, snap=snap)
    heavier = robot.with_parameters({"M2": 2.5})
    write_robot(heavier, tmp_path / "over.usda", template=tmp_path / "arm.usda")
    assert difference(heavier, read_robot(tmp_path / "over.usda", snap=snap)) < 1e-12


def test_a_d6_joint_is_overridden_at_its_axis(tmp_path: Path) -> None:
    damping = "physxJointAxis:rotY:viscousFrictionCoefficient"
    robot = read(second(f"{LOCKS}\nfloat {damping} = 0.01", "PhysicsJoint"), tmp_path)
    changed = robot.with_parameters({"FV2": 2.0})
    write_robot(changed, tmp_path / "over.usda", template=tmp_path / "arm.usda")
    text = (tmp_path / "over.usda").read_text()
    assert f"float {damping} = {np.float32(2 * math.pi / 180)!s}\n" in text and ":angular:" not in text
    assert '"PhysxJointAxisAPI:rotY"' in text
    assert difference(changed, read_robot(tmp_path / "over.usda")) < 1e-12


# ------------------------------------------------------------------------------------------------ refusals

SLASH = "rel newton:mimicJoint = </arm/j1>\n"
PAIR = "".join(part for part in TWO if part != FIXED)
FLOATING = (
    f'{HEAD}def Xform "all"\n{{\ndef Xform "arm"\n{{\n{PAIR}}}\ndef Xform "leg"\n{{\n{PAIR.replace("arm", "leg")}}}\n}}'
)
FLOATING = FLOATING.replace("</", "</all/")
VARIANTS = '(variants = {string Physics = "None"}\nprepend variantSets = "Physics")\n'
VARIANTS += '{\nvariantSet "Physics" = {\n"None" {\n}\n}\n}'
SPIN = "float3 xformOp:rotateXYZ.timeSamples = {0: (0, 0, 0), 9: (90, 0, 0)}\nuniform token[] xformOpOrder = "
SPIN += '["xformOp:rotateXYZ"]\n'
GROWN = 'float3 xformOp:scale = (1.00005, 1.00005, 1.00005)\nuniform token[] xformOpOrder = ["xformOp:scale"]\n'
REFUSED = {
    "negative gravity": (
        scene("float physics:gravityMagnitude = -1"),
        "gravityMagnitude is -1, which programs take for",
    ),
    "weight of a collider": (
        stage(*TWO, body("tool", BOX.format("float physics:mass = 3")), WELD),
        "'tool' moves and has",
    ),
    "density of a collider": (lower(BOX.format("float physics:density = 3")), "'lower' moves and has no physics:mass"),
    "two targets": (
        second("").replace("</arm/upper>\n", "[</arm/upper>, </arm/base>]\n"),
        "2 targets of physics:body1; name one",
    ),
    "polynomial": (second(f"{SLASH}double mjc:coef2 = 0.1"), "follows another by a polynomial .mjc:coef2"),
    "kinds": (second(SLASH, "PhysicsPrismaticJoint"), "joint 'j2' follows 'j1' of another kind"),
    "up": (stage(*TWO, head=HEAD.replace('"Z"', '"X"')), "upAxis is 'X', which is neither Y nor Z"),
    "scene": (scene("float physics:gravityMagnitude.timeSamples = {0: 1, 1: 2}"), "the physics scene has time samples"),
    "turning": (stage(SPIN, *TWO), "prim '/arm' has time samples .xformOp:rotateXYZ"),
    "sample beside a value": (
        lower(f"{MASS}\nfloat physics:mass.timeSamples = {{0: 1}}"),
        "has time samples .physics:mass",
    ),
    "gear": (
        stage(*TWO, 'def PhysxPhysicsGearJoint "gear"\n{\n}\n'),
        "'gear' is of type PhysxPhysicsGearJoint.*disable it",
    ),
    "frame": (second("custom bool minertia:frame = 1"), "joint 'j2': minertia:frame is not twelve numbers"),
    "limit": (second('custom string minertia:limit:lower = "x"'), "minertia:limit:lower is not a number"),
    "leader": (second("custom double minertia:follows:joints = 1"), "minertia:follows:joints is not a list of names"),
    "inertial": (lower(f"{MASS}\ncustom double minertia:inertial = 1"), "minertia:inertial is not a list of numbers"),
    "coupling": (stage("custom bool minertia:coupling = 1\n", *TWO), "minertia:coupling is not a list of numbers"),
    "new kind": (second("", "NewtonBallJoint"), "joint 'j2' is of type NewtonBallJoint, which is not supported"),
    "scaled endlessly": (stage(GROWN.replace("float3", "double3").replace("1.00005", "1e308"), *TWO), "is scaled"),
    "scaled a little": (stage(GROWN, *TWO), "link 'base' is scaled or mirrored"),
    "ball with limits": (second("float3 physics:lowerLimit = (0, 0, 0)", "PhysicsSphericalJoint"), "a spherical joint"),
    "stacked": (
        stage(*TWO, joint("j3", "lower", "upper", PLACE)),
        "joints 'j2' and 'j3' connect the same two links, which is not supported",
    ),
    "clips": (
        stage(*TWO).replace('"arm"\n{', '"arm" (clips = {dictionary a = {asset[] assetPaths = [@/etc/passwd@]}})\n{'),
        "prim '/arm' has value clips",
    ),
    "held twice": (
        stage(
            *(
                part.replace("float physics:mass", "bool physics:kinematicEnabled = 1\nfloat physics:mass")
                for part in ARM
            )
        ),
        "link 'upper' is kinematic beside other fixed bodies",
    ),
    "variant": (f'{HEAD}def Xform "arm" {VARIANTS}', "no rigid bodies with the variants Physics = None"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_in_one_sentence(name: str, tmp_path: Path, capfd) -> None:
    text, sentence = REFUSED[name]
    with pytest.raises(MinertiaError, match=sentence) as caught:
        read(text, tmp_path)
    assert "\n" not in str(caught.value) and capfd.readouterr().err == ""


def test_an_error_of_the_parser_names_its_line(tmp_path: Path) -> None:
    text = stage(*TWO)
    line = text[: text.index("physics:mass = 2")].count("\n") + 1
    with pytest.raises(MinertiaError, match=f"it is no USD layer: line {line}: Error parsing simple value"):
        read(text.replace("physics:mass = 2", "physics:mass = two", 1), tmp_path)
    with pytest.raises(MinertiaError, match=r"it is no USD layer: line \d+$"):
        read(text.replace("</arm/base>", "</arm/ base>"), tmp_path)


def test_two_floating_robots_are_not_one(tmp_path: Path) -> None:
    with pytest.raises(MinertiaError, match="has 2 robots \\('/all/arm', '/all/leg'\\)"):
        read(FLOATING, tmp_path, prim="/all")
    assert read(FLOATING, tmp_path, prim="/all/leg").is_floating


def test_robots_are_named_by_the_prims_that_select_them(tmp_path: Path) -> None:
    deep = stage(
        body("a", MASS + "\n" + body("b")), body("c"), body("d"), joint("k1", "a", "a/b"), joint("k2", "c", "d")
    )
    with pytest.raises(MinertiaError, match="has 2 robots .'/arm/a', '/arm'.; choose one by its prim"):
        read(deep, tmp_path)
    side = stage(*(body(name) for name in "abcd"), joint("k1", "a", "b"), joint("k2", "c", "d"))
    with pytest.raises(
        MinertiaError, match="2 robots below one prim, .* .with the links '/arm/a', '/arm/c'.; give each"
    ):
        read(side, tmp_path)


def test_layers_that_openusd_must_not_open_are_refused(tmp_path: Path) -> None:
    """OpenUSD's parser ends the process on them, in whatever layer they are."""
    deep = "#usda 1.0\n" + 'def "a" {\n' * 100_000 + "}" * 100_000
    with pytest.raises(MinertiaError, match="layer 'arm.usda': its prims are more than 500 deep"):
        read_robot(layers(tmp_path, deep, "@arm.usda@"))


@pytest.mark.parametrize("name", ["arm.usda:SDF_FORMAT_ARGS:a=b", '`"arm.usda"`', "arm.usdz[arm.usda]"])
def test_layers_that_would_be_opened_without_a_check_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(MinertiaError, match="names a layer by an expression, with arguments or in a package, '.*arm"):
        read_robot(layers(tmp_path, stage(*TWO), f"@{name}@"))


LEVELS = 18  # of prims that refer twice to the level below


def pair(target: str) -> str:
    return "".join(f'def Xform "{name}" (prepend references = <{target}>)\n{{\n}}\n' for name in "xy")


def test_references_that_multiply_in_variants_are_refused(tmp_path: Path) -> None:
    text = 'def Xform "a0"\n{\n}\n'
    for k in range(1, LEVELS):
        selected = '(variants = {string v = "o"}\nprepend variantSets = "v")\n{\nvariantSet "v" = {\n"o" {\n'
        text += f'def Xform "a{k}" {selected}{pair(f"/a{k - 1}")}}}\n}}\n}}\n'
    with pytest.raises(MinertiaError, match="its references expand to more than 200000 prims"):
        read(stage(*TWO) + text, tmp_path)


def test_references_that_multiply_below_references_are_refused(tmp_path: Path) -> None:
    """Their targets are composed, too, and stand in no layer."""
    text = 'def Xform "a0"\n{\ndef Xform "c"\n{\n}\n}\ndef Xform "w0" (prepend references = </a0>)\n{\n}\n'
    for k in range(1, LEVELS):
        text += f'def Xform "a{k}"\n{{\ndef Xform "c"\n{{\n{pair(f"/w{k - 1}/c")}}}\n}}\n'
        text += f'def Xform "w{k}" (prepend references = </a{k}>)\n{{\n}}\n'
    with pytest.raises(MinertiaError, match="its references expand to more than 200000 prims"):
        read(stage(*TWO) + text, tmp_path)


def test_references_that_multiply_over_sublayers_are_refused(tmp_path: Path) -> None:
    for k in range(LEVELS):
        inside = pair(f"/a{k - 1}") if k else ""
        (tmp_path / f"s{k}.usda").write_text(f'#usda 1.0\ndef Xform "a{k}"\n{{\n{inside}}}\n')
    names = ", ".join(f"@s{k}.usda@" for k in range(LEVELS))
    with pytest.raises(MinertiaError, match="its references expand to more than 200000 prims"):
        read(stage(*TWO).replace(")\n", f"    subLayers = [{names}]\n)\n", 1), tmp_path)


def test_packages_are_refused(tmp_path: Path) -> None:
    (tmp_path / "arm.usdz").write_bytes(b"PK\x03\x04" + bytes(40))
    with pytest.raises(MinertiaError, match="it is a zip archive; unpack it and give the USD layer inside"):
        read_robot(tmp_path / "arm.usdz")
    (tmp_path / "arm.usd").write_bytes(b"PK\x03\x04" + bytes(40))
    with pytest.raises(MinertiaError, match="it is a .usdz package; unpack it"):
        read_robot(tmp_path / "arm.usd")
