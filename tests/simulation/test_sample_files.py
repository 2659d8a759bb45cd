"""Files of samples, read by the programs that they are for."""

from __future__ import annotations

import ast
import re
from functools import cache

import numpy as np
import pytest

import minertia as mi
from minertia.identification.samples import Samples, read_samples
from minertia.io.errors import InputError
from minertia.robot.formats.mjcf.write import to_mjcf
from minertia.simulation.sample_files import (
    FORMATS,
    check_samples,
    held_robot,
    held_values,
    isaac_text,
    mjx_arrays,
    write_samples,
)
from tests.identification.planted_posterior import planted


@cache
def samples() -> Samples:
    return next(planted("planar2r", 1)).samples(12)


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


def test_the_isaac_lab_event_reads_what_the_file_has(tmp_path):
    text = isaac_text(samples())
    ast.parse(text)
    keys = set(re.findall(r'SAMPLES\["(\w+)"\]|drawn\("(\w+)"', text))
    named = {key for pair in keys for key in pair if key} - {"kp", "kd"}  # these are of fits of commands
    assert named <= set(samples().arrays()) and {"mass", "com", "inertia", "armature"} <= named


def test_a_file_for_each_of_very_many_robots_is_refused(tmp_path):
    with pytest.raises(InputError, match="at most 1000"):
        check_samples(tmp_path / "out", ("urdf",), 1001)
    check_samples(tmp_path / "out", ("urdf",), 1001, force=True)
    with pytest.raises(InputError, match="at most 1000"):
        check_samples(tmp_path / "out", ("usd",), 1001)
    assert {name for name, row in FORMATS.items() if row.each} == {"urdf", "usd"}
