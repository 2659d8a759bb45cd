"""Files of samples, read by the programs that they are for."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import minertia as mi
from minertia.identification.campaigns.options import Command, ElasticJoints
from minertia.identification.samples import Samples, read_samples
from minertia.io.errors import InputError
from minertia.robot.formats.mjcf.write import to_mjcf
from minertia.robot.robot import Frame
from minertia.simulation.sample_events import event_arrays, event_text
from minertia.simulation.sample_files import FORMATS, check_samples, write_samples
from minertia.simulation.sample_mjx import DERIVED, NOT_IN_MJX, mjx_arrays
from minertia.simulation.sample_values import held_robot, held_values
from tests.identification.planted_posterior import planted
from tests.identification.test_commands import recorded
from tests.identification.test_sample_commands import PLANTED
from tests.simulation.isaac_stub import Actuator, ImplicitActuator, Lab2, Lab3, View, event_of
from tests.simulation.test_commanded_plant import GAINS, SPRUNG, WOUND, sprung_log


@cache
def samples() -> Samples:
    return next(planted("planar2r", 1)).samples(12)


@cache
def commanded() -> Samples:
    """Robots with position servos."""
    campaign = replace(PLANTED, command=Command(kp="?", kd="?", delay="?"), train=[recorded(PLANTED, seed=0)])
    return mi.identify(campaign).sample(20)


@cache
def sprung() -> Samples:
    """Robots with an elastic joint and position servos."""
    springs = ElasticJoints(joints=(2,), stiffness=600.0, damping=1.0, encoder="both")
    campaign = replace(SPRUNG, elastic=springs, command=Command(**GAINS, delay=0.0, step=5e-4))
    return mi.identify(replace(campaign, train=(sprung_log(campaign, WOUND, seconds=2.0, seed=0),))).sample(8)


def coupled() -> Samples:
    """Robots with a motor that moves both joints, offsets, and a spring at the first joint."""
    file = replace(samples().model.nominal, coupling=((1.0, 0.0), (0.5, 1.0)), motor_effects=({}, {"IAM": 0.1}))
    terms = ["rotor", "viscous", "coulomb", "offset", {"kind": "spring", "joints": [1], "rest": 0.3}]
    motion = next(planted("planar2r", 1)).log(0)
    return mi.identify(mi.Campaign(file, [motion], effects=terms)).sample(12)


def efforts(model, q, qd, qdd):
    mujoco = pytest.importorskip("mujoco")
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
    mujoco.mj_inverse(model, data)
    return data.qfrc_inverse.copy()


def test_mjx_arrays_are_the_robots_of_the_samples():
    """The model with a row of the arrays moves as the MJCF of that robot, and as our own dynamics say."""
    mujoco = pytest.importorskip("mujoco")
    text, arrays = mjx_arrays(samples())
    held = held_values(samples(), "mjcf")
    rng = np.random.default_rng(0)
    for k in (0, 5):
        model = mujoco.MjModel.from_xml_string(text)
        for name, values in arrays.items():
            getattr(model, name)[:] = values[k]
        mujoco.mj_setConst(model, mujoco.MjData(model))
        robot = held_robot(samples(), k, held)
        alone = mujoco.MjModel.from_xml_string(to_mjcf(robot))
        q, qd, qdd = rng.normal(size=(3, 2))
        assert np.allclose(efforts(model, q, qd, qdd), efforts(alone, q, qd, qdd), rtol=1e-9, atol=1e-9)
        bare = robot.without_effects(["FC1", "FC2"])  # MuJoCo's dry friction is regularised
        assert np.allclose(arrays["dof_frictionloss"][k], samples().at_joints("FC")[k])
        model.dof_frictionloss[:] = 0.0
        assert np.allclose(efforts(model, q, qd, qdd), mi.inverse_dynamics(bare, q, qd, qdd), atol=1e-8)


def test_offsets_springs_and_motors_of_mjx_are_those_of_each_robot():
    """Coupled motors as tendons, constant efforts and joint springs as springs, as in our own dynamics."""
    mujoco = pytest.importorskip("mujoco")
    found = coupled()
    text, arrays = mjx_arrays(found)
    held, model = held_values(found, "mjcf"), mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS
    rng, friction = np.random.default_rng(0), ("FC1", "FC2", "FCM2")
    assert {"jnt_stiffness", "qpos_spring", "tendon_armature", "tendon_damping"} <= set(arrays)
    for k in (0, 7):
        for name, values in arrays.items():
            getattr(model, name)[:] = values[k]
        robot = held_robot(found, k, held)
        assert all(robot.effect_values[name] != 0 for name in ("OFF1", "OFFM2", "KS1", "IAM2", *friction))
        q, qd, qdd = rng.normal(size=(3, 2))
        ours = mi.inverse_dynamics(robot.without_effects(list(friction)), q, qd, qdd)
        assert np.allclose(efforts(model, q, qd, qdd), ours, atol=1e-6)
        assert np.allclose(arrays["tendon_frictionloss"][k], robot.effect_values["FCM2"])


@pytest.mark.parametrize("robots", [samples, coupled, commanded])
def test_mjx_arrays_have_what_mujoco_derives_from_them(robots):
    """MJX does not derive it: the softness of dry friction was that of the most probable robot, 28 % off."""
    mujoco = pytest.importorskip("mujoco")
    text, arrays = mjx_arrays(robots())
    model = mujoco.MjModel.from_xml_string(text)
    for k in (0, 5):
        for name, values in arrays.items():
            getattr(model, name)[:] = values[k]
        mujoco.mj_setConst(model, mujoco.MjData(model))
        for name in DERIVED:
            own = getattr(model, name)
            assert not own.size or np.allclose(own, arrays[name][k], rtol=1e-9)
    assert np.ptp(arrays["dof_invweight0"], axis=0).max() > 1e-6


def test_a_joint_name_that_mjcf_cannot_hold_is_refused(tmp_path):
    found = samples()
    model = found.model
    joints = [replace(joint, name=f"a\n{k}") for k, joint in enumerate(model.robot.joints)]
    linear = replace(model.linear, robot=replace(model.robot, joints=tuple(joints)))
    with pytest.raises(InputError, match=r"MJCF cannot hold the joint name 'a\\n0'; rename the joint"):
        mjx_arrays(replace(found, model=replace(model, linear=linear)))


def test_mjx_has_dry_friction_where_only_the_best_robot_has_none():
    """MJX leaves out the friction of joints that have none in the file."""
    mujoco = pytest.importorskip("mujoco")
    own = samples()
    found = replace(own, best=own.best.copy())
    found.best[own.names.index("FC1")] = 0.0
    text, arrays = mjx_arrays(found)
    assert np.all(mujoco.MjModel.from_xml_string(text).dof_frictionloss > 0)
    assert np.array_equal(arrays["dof_frictionloss"][:, 0], own.values("FC1"))


def test_cubic_friction_is_replaced_for_mjx(tmp_path):
    """MJX accepts `dof_dampingpoly` and steps without it."""
    case = next(planted("planar2r", 1))
    log = case.log(0)
    tau = log.tau + 0.3 * np.gradient(log.q, log.t, axis=0) ** 3
    effects = ["rotor", "viscous", "coulomb", "cubic"]
    found = mi.identify(mi.Campaign(case.file, [replace(log, tau=tau)], effects=effects)).sample(20)
    assert found.values("FVC1").mean() > 0.1
    text, arrays = mjx_arrays(found)
    instead = held_values(found, "mjcf", NOT_IN_MJX)
    assert "dof_dampingpoly" not in arrays and 'damping="0 ' not in text
    assert np.array_equal(arrays["dof_damping"][:, 0], instead["FV1"]) and not any("FVC" in name for name in instead)
    speed = found.model.evidence["reach"]["speed"][0] / 2
    own = found.values("FC1") + found.values("FV1") * speed + found.values("FVC1") * speed**3
    assert instead["FC1"] + instead["FV1"] * speed == pytest.approx(own, rel=1e-6)
    notes = [note.text for note in write_samples(tmp_path / "out", found, ("mjx",))]
    assert any("MJX has no place for FVC1, FVC2: FV and FC stand in" in text for text in notes)


def test_mjx_has_motors_and_springs_of_elastic_joints_of_each_robot():
    """Effects of an elastic joint act on its motor; its spring is a tendon."""
    mujoco, found = pytest.importorskip("mujoco"), sprung()
    text, arrays = mjx_arrays(found)
    model = mujoco.MjModel.from_xml_string(text)
    link, motor = (int(model.jnt(name).dofadr[0]) for name in ("j2", "j2_motor"))
    for field, symbol in (("dof_armature", "IA"), ("dof_damping", "FV"), ("dof_frictionloss", "FC")):
        assert np.array_equal(arrays[field][:, motor], found.values(f"{symbol}2")) and not arrays[field][:, link].any()
    held = -arrays["jnt_stiffness"] * arrays["qpos_spring"]
    assert np.allclose(held[:, motor], found.values("OFF2")) and not held[:, link].any()
    assert np.allclose(1 / arrays["tendon_stiffness"][:, 0], found.values("CJ2"))
    assert np.array_equal(arrays["tendon_damping"][:, 0], found.values("DJ2"))


def test_a_row_of_mjx_is_a_robot_where_the_centre_of_mass_is_in_the_joint_frame(tmp_path):
    """MuJoCo leaves out the place and axes of an inertia whose frame is that of the body when it is compiled."""
    mujoco = pytest.importorskip("mujoco")
    joint = '<joint name="j" type="slide" axis="0 0 1" armature="0.1" damping="0.5"/>'
    body = f'<body name="a">{joint}<inertial pos="0 0 0" mass="1.5" diaginertia="0.01 0.02 0.03"/></body>'
    (tmp_path / "cart.xml").write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    file = mi.read_robot(tmp_path / "cart.xml")
    t = np.arange(0.0, 10.0, 0.01)
    q, qd, qdd = (np.sin(3 * t + k * np.pi / 2)[:, None] * 3.0**k for k in range(3))
    tau = mi.inverse_dynamics(file, q, qd, qdd) + 0.1 * np.random.default_rng(0).normal(size=q.shape)
    found = mi.identify(mi.Campaign(file, [mi.Recording(t=t, q=q, tau=tau)], effects=["rotor", "viscous"])).sample(5)
    text, arrays = mjx_arrays(found)
    model = mujoco.MjModel.from_xml_string(text)
    assert not model.body_sameframe[-1] and not model.body_simple[-1]
    for name, values in arrays.items():
        getattr(model, name)[:] = values[3]
    mujoco.mj_setConst(model, mujoco.MjData(model))
    robot = held_robot(found, 3, held_values(found, "mjcf"))
    assert np.allclose(efforts(model, [0.1], [0.2], [3.0]), mi.inverse_dynamics(robot, [0.1], [0.2], [3.0]), atol=1e-9)


def test_arrays_are_in_the_frames_of_the_robot_file(tmp_path):
    """Masses, centres and inertia of the NPZ are those that a URDF of the robot states."""
    found = samples()
    write_samples(tmp_path / "out", found, ("urdf", "isaac-lab", "mjx"))
    again = read_samples(tmp_path / "out")
    mass, com, _ = again.bodies
    assert np.allclose(mass, again.tens[:, :, 9]) and np.all(np.isfinite(com))
    files = sorted((tmp_path / "out" / "urdf").iterdir())
    assert len(files) == len(found)
    robot = mi.read_robot(files[3])
    held = held_robot(found, 3, held_values(found, "urdf"))
    q, qd, qdd = np.random.default_rng(1).normal(size=(3, 4, 2))
    ours, theirs = mi.inverse_dynamics(held, q, qd, qdd), mi.inverse_dynamics(robot, q, qd, qdd)
    assert np.allclose(ours, theirs, atol=1e-7 * np.abs(ours).max())


def test_stages_are_the_robots_of_the_samples(tmp_path):
    """Every USD file is read back with the masses and the efforts of its row, joint effects included."""
    pytest.importorskip("pxr")
    found = samples()
    write_samples(tmp_path / "out", found, ("usd",))
    files = sorted((tmp_path / "out" / "usd").iterdir())
    assert [file.name for file in files[:2]] == ["robot_00.usda", "robot_01.usda"] and len(files) == len(found)
    held = held_values(found, "usd")
    for k in (0, 7, 11):
        robot = mi.read_robot(files[k])
        assert np.allclose([ten[9] for ten in robot.links], found.bodies[0][k], rtol=1e-12)
        values = [np.array([own[s] for own in robot.effects], float) for s in ("IA", "FV", "FC")]
        drawn = [found.at_joints(symbol)[k] for symbol in ("IA", "FV", "FC")]
        assert np.allclose(values, drawn, rtol=1e-6)
        q, qd, qdd = np.random.default_rng(k).normal(size=(3, 4, 2))
        ours = mi.inverse_dynamics(held_robot(found, k, held), q, qd, qdd)
        assert np.allclose(ours, mi.inverse_dynamics(robot, q, qd, qdd), atol=1e-6 * np.abs(ours).max())


@cache
def smooth() -> Samples:
    """Robots with smooth Coulomb friction, which no simulator's file holds."""
    case = next(planted("planar2r", 1))
    campaign = mi.Campaign(case.file, [case.log(0)], effects=["rotor", "viscous", "smooth_coulomb", "offset"])
    return mi.identify(campaign).sample(200)


@pytest.mark.parametrize("target", ["mjcf", "usd", "urdf", "isaac-lab"])
def test_stand_in_friction_scatters_as_the_friction_that_it_replaces(target):
    found, held = smooth(), held_values(smooth(), target)
    for j, speed in enumerate(found.model.evidence["reach"]["speed"], 1):
        own = found.values(f"FCT{j}") + found.values(f"FV{j}") * speed / 2
        instead = held[f"FC{j}"] + held[f"FV{j}"] * speed / 2
        assert instead.mean() == pytest.approx(own.mean(), rel=0.1)
        assert instead.std() / instead.mean() == pytest.approx(own.std() / own.mean(), rel=0.02)
        assert np.corrcoef(own, instead)[0, 1] > 0.99 and np.all(held[f"FC{j}"] >= 0)
        assert held[f"FV{j}"].std() == pytest.approx(found.values(f"FV{j}").std(), rel=0.3)


VERSIONS = pytest.mark.parametrize("version", [Lab2, Lab3])


@VERSIONS
def test_the_isaac_lab_event_sets_the_robots_of_the_samples(tmp_path, version):
    """Environment k gets row k: masses, rotor inertia and the friction that stands in for smooth Coulomb friction."""
    found = smooth()
    write_samples(tmp_path / "out", found, ("isaac-lab",))
    links = event_arrays(found)["links"].tolist()
    asset = version(["base", *links[::-1]], ["j2", "j1"], environments=300)
    base = asset.view.get_inertias()[:, 0]
    event_of(tmp_path / "out")(asset)
    rows, held = np.arange(300) % 200, held_values(found, "isaac-lab")
    mass, com, six = (own[rows] for own in found.bodies)
    for k, link in enumerate(links):
        body = asset.body_names.index(link)
        assert np.allclose(asset.view.mass[:, body], mass[:, k])
        assert np.allclose(asset.view.position[:, body], com[:, k], atol=1e-6)
        full = asset.view.get_inertias()[:, body]
        assert np.allclose(full, six[:, k][:, [0, 1, 2, 1, 3, 4, 2, 4, 5]], atol=1e-6 * np.abs(six).max())
    assert np.allclose(asset.view.get_inertias()[:, 0], base, atol=1e-6)
    joints = [joint.name for joint in found.model.nominal.joints]
    for j, joint in enumerate(joints, 1):
        at = asset.joint_names.index(joint)
        assert np.allclose(asset.sim["armature"][:, at], found.values(f"IA{j}")[rows])
        friction = np.stack([held[f"{symbol}{j}"][rows] for symbol in ("FC", "FC", "FV")], axis=1)
        assert np.allclose(asset.friction[:, at], friction) and held[f"FC{j}"].min() > 0
    assert "offsets are not set here: subtract them from efforts" in event_text(found)


@VERSIONS
def test_the_event_sets_only_the_environments_that_it_is_asked_for(tmp_path, version):
    found = smooth()
    write_samples(tmp_path / "out", found, ("isaac-lab",))
    links = event_arrays(found)["links"].tolist()
    asset = version(links, ["j1", "j2"], environments=5)
    before = asset.view.mass.copy()
    event_of(tmp_path / "out")(asset, [1, 4])
    assert np.allclose(asset.view.mass[[1, 4]], found.bodies[0][[1, 4]]) and np.all(asset.sim["armature"][0] == 0)
    assert np.array_equal(asset.view.mass[[0, 2, 3]], before[[0, 2, 3]])


@VERSIONS
def test_a_mass_that_would_count_twice_is_refused(tmp_path, version):
    """The samples' link contains the bodies that are fixed or held there, which an importer may leave as they are."""
    found = smooth()
    joints = found.model.nominal.joints
    link = joints[-1].link or joints[-1].name
    here = (tuple(map(tuple, np.eye(3).tolist())), (0.0, 0.0, 0.1))
    frames = {"hand": Frame(1, here), "foot": Frame(None, here), link: Frame(1, here)}
    nominal = replace(found.model.nominal, frames=frames)
    linear = replace(found.model.linear, robot=nominal)
    found = replace(found, model=replace(found.model, linear=linear))
    write_samples(tmp_path / "out", found, ("isaac-lab",))
    asset = version([link, "hand", "foot"], ["j1", "j2"], environments=3)
    with pytest.raises(ValueError, match="'hand' has mass, and .* contains it: merge them on import"):
        event_of(tmp_path / "out")(asset)
    asset.view.mass[:, 1] = 1e-3
    event_of(tmp_path / "out")(asset)


def test_simulators_with_another_friction_are_refused(tmp_path, monkeypatch):
    write_samples(tmp_path / "out", smooth(), ("isaac-lab",))
    asset = Lab3([], ["j1", "j2"], environments=3)
    monkeypatch.setattr(Lab3, "__backend_name__", "newton")
    with pytest.raises(NotImplementedError, match="for PhysX: friction of joints is another one in newton"):
        event_of(tmp_path / "out")(asset)
    monkeypatch.delattr(View, "get_dof_friction_properties")
    with pytest.raises(NotImplementedError, match=r"from Isaac Sim 5\.0 on"):
        event_of(tmp_path / "out")(Lab2([], ["j1", "j2"], environments=3))


@VERSIONS
@pytest.mark.parametrize("kind", [Actuator, ImplicitActuator])
def test_gains_of_explicit_actuators_are_not_those_of_the_simulator(tmp_path, kind, version):
    """Isaac Lab computes the efforts of a DelayedPDActuator: gains in the simulator would act a second time."""
    found = commanded()
    write_samples(tmp_path / "out", found, ("isaac-lab",))
    joints = [joint.name for joint in found.model.nominal.joints]
    asset = version([], ["other", *joints], environments=4)
    asset.actuators["joints"] = kind(joints[::-1], 4)
    asset.actuators["others"] = ImplicitActuator(["other"], 4)
    event_of(tmp_path / "out")(asset)
    kp, kd = (found.servos()[key][:4] for key in ("kp", "kd"))
    own = asset.actuators["joints"]
    assert np.allclose(own.stiffness, kp[:, ::-1]) and np.allclose(own.damping, kd[:, ::-1])
    is_implicit = kind is ImplicitActuator
    assert np.allclose(asset.sim["stiffness"][:, 1:], kp if is_implicit else 0.0)
    assert np.allclose(asset.sim["damping"][:, 1:], kd if is_implicit else 0.0)
    assert not asset.sim["stiffness"][:, 0].any() and not asset.actuators["others"].stiffness.any()
    assert "the delay is not set here" in event_text(found)


def test_links_without_mass_are_not_in_the_event():
    """As of a servo, whose load is not part of its model."""
    found = replace(smooth(), x=smooth().x.copy())
    for name in found.names:
        if name.startswith(("XX", "XY", "XZ", "YY", "YZ", "ZZ", "M")) and name.endswith("2"):
            found.x[:, found.names.index(name)] = 0.0
    arrays = event_arrays(found)
    assert arrays["mass"].shape == (200, 1) and arrays["links"].tolist() == [found.arrays()["links"][0]]
    assert np.all(mjx_arrays(found)[1]["body_mass"][:, -2:] > 0)


def test_a_file_for_each_of_very_many_robots_is_refused(tmp_path):
    with pytest.raises(InputError, match="at most 1000"):
        check_samples(tmp_path / "out", ("urdf",), 1001)
    check_samples(tmp_path / "out", ("urdf",), 1001, force=True)
    with pytest.raises(InputError, match="at most 1000"):
        check_samples(tmp_path / "out", ("usd",), 1001)
    assert {name for name, row in FORMATS.items() if row.each} == {"urdf", "usd"}
