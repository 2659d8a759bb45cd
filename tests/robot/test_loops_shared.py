"""The loop robots of the shared material: what is found in them, and counts of those that are trees with followers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import minertia as mi
from minertia.robot.formats.dh.read import parse_toml
from minertia.robot.formats.dh.write import toml_text
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.loops.closure import CLOSED, residual
from minertia.robot.robot import Robot
from tests.shared import SHARED, needs_shared

LOOPS = SHARED / "robots" / "loops"
pytestmark = [needs_shared, pytest.mark.skipif(not LOOPS.is_dir(), reason="the loop robots are not here")]

# file: coordinates, cuts that are parallelograms, cuts that are not
FILES = {
    "parallelogram.xml": ("crank", 1, 0),
    "four_bar_crank_rocker.xml": ("crank", 0, 1),
    "five_bar.xml": ("left_arm right_arm", 0, 1),
    "palletiser.xml": ("waist arm flange crank", 3, 0),
    "delta.xml": ("arm1 arm2 arm3", 0, 5),
    "SR400.par": ("j1 j2 j4 j5 j6 j7", 1, 0),
    "AKR3000.par": ("j1 j5 j6 j8 j9 j10", 0, 2),
    "testLoop.par": ("j1 j3", 1, 0),
    "four_bar.urdf": ("joint1", 1, 0),
    "planar_leg_linkage.urdf": ("base_to_thigh thigh_to_driver", 1, 0),
    "cassie_left_leg.xml": ("left-hip-roll left-hip-yaw left-hip-pitch left-knee left-foot", 0, 2),
}


def read(name: str) -> Robot:
    if name.endswith(".xml"):
        pytest.importorskip("mujoco")
    return mi.read_robot(LOOPS / name)


@pytest.mark.parametrize("name", FILES)
def test_what_is_found(name: str) -> None:
    robot = read(name)
    coordinates, parallelograms, general = FILES[name]
    assert robot.coordinate_names == tuple(coordinates.split())
    assert [cut.form for cut in robot.cuts].count("parallelogram") == parallelograms
    assert len(robot.open_cuts) == general
    assert bool(robot.passive) == bool(general)
    assert np.abs(residual(robot, robot.seed, robot.cuts)).max() < CLOSED
    again = parse_toml(toml_text(robot), "again.toml", ReadOptions())
    assert again.coordinate_names == robot.coordinate_names
    assert [joint.follows for joint in again.joints] == [joint.follows for joint in robot.joints]
    assert [cut.form for cut in again.cuts] == [cut.form for cut in robot.cuts]
    np.testing.assert_allclose(again.seed, robot.seed, rtol=0, atol=1e-12)


# file: inertial, with rotors of the coordinates, with friction of all joints and offsets
COUNTS = {
    "parallelogram.xml": (3, 3, 5),
    "palletiser.xml": (25, 26, 36),
    "SR400.par": (39, 42, 56),
    "testLoop.par": (4, 4, 10),
    "four_bar.urdf": (3, 3, 5),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_of_parallelogram_robots(name: str) -> None:
    robot = read(name)
    if name == "four_bar.urdf":
        robot = robot.with_gravity((0, -9.81, 0))
    base = [
        mi.base_parameters(robot, rotors=rotors, friction=friction) for rotors, friction in ((0, 0), (1, 0), (1, 1))
    ]
    offsets = sum(column.startswith("OFF") for column in base[2].kept)
    assert (base[0].count, base[1].count, base[2].count - offsets) == COUNTS[name]


LEG = {"thigh_to_driver": 1.2, "driver_to_foot": 1.86, "thigh_to_support": 1.86}


@pytest.mark.parametrize(
    ("name", "crossed", "gravity", "counts"),
    [
        ("four_bar.urdf", {"joint1": 1.2, "joint2": -2.235, "joint3": -2.235}, (0, -9.81, 0), (8, 8)),
        ("planar_leg_linkage.urdf", LEG, (0, 0, -9.81), (9, 10)),
        ("planar_leg_linkage.urdf", LEG, (0, -9.81, 0), (11, 12)),
    ],
)
def test_a_file_beside_takes_the_crossed_branch(
    tmp_path: Path, name: str, crossed: dict[str, float], gravity: tuple[float, ...], counts: tuple[int, int]
) -> None:
    """Sides are equal in both files, and the count belongs to the branch."""
    text = (LOOPS / name).read_text()
    loop = re.search(r'<loop name="(\w+)"', text)
    assert loop is not None
    (tmp_path / "bars.urdf").write_text(text)
    seed = "".join(f"{joint} = {value}\n" for joint, value in crossed.items())
    (tmp_path / "bars.loops.toml").write_text(f'[[loop]]\nname = "{loop[1]}"\n[loop.seed]\n{seed}')
    robot = mi.read_robot(tmp_path / "bars.urdf", gravity=gravity)
    assert robot.open_cuts
    assert (mi.base_parameters(robot).count, mi.base_parameters(robot, rotors=True).count) == counts


VALUES = {"D3": 0.3, "D4": -0.4, "D7": 1.2, "RL8": 1, "D13": 0.5, "gam13": 2.5, "D14": 0.6, "gam14": 2}
SEED = {"j2": 0.28866024, "j3": -0.77747255, "j4": 3.12979119, "j5": 0.49974809, "j6": -0.45195898, "j7": 0.32380215}


def test_values_of_letters_need_a_seed_that_closes_with_them() -> None:
    text = toml_text(read("AKR3000.par"))
    for name, value in VALUES.items():
        text = text.replace(f'\n{name} = "unknown"', f"\n{name} = {value}")
    with pytest.raises(mi.MinertiaError, match="the seed is not a closed configuration"):
        parse_toml(text, "rams.toml", ReadOptions())
    head, tables = text.split("[[loop]]", 1)
    for name, value in SEED.items():
        tables = re.sub(rf"(?m)^{name} = [-0-9.e]+$", f"{name} = {value}", tables)
    robot = parse_toml(f"{head}[[loop]]{tables}", "rams.toml", ReadOptions())
    assert robot.seed is not None and np.abs(residual(robot, robot.seed)).max() < CLOSED
    np.testing.assert_allclose([robot.seed[j] for j in range(1, 7)], list(SEED.values()), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["parallelogram.xml", "palletiser.xml", "four_bar.urdf"])
def test_followers_move_as_the_closed_loops_do(name: str) -> None:
    """The same robot with its loops closed by solving, in place of followers."""
    robot = read(name)
    joints = tuple(replace(joint, follows=None) for joint in robot.joints)
    general = replace(robot, joints=joints, cuts=tuple(replace(cut, form="") for cut in robot.cuts))
    assert general.coordinate_names == robot.coordinate_names and general.passive
    rng = np.random.default_rng(3)
    q = np.array(robot.seed)[list(robot.independent)] + 0.1 * rng.uniform(-1, 1, (4, robot.n))
    motion = q, *rng.normal(size=(2, 4, robot.n))
    ours, closed = mi.inverse_dynamics(robot, *motion), mi.inverse_dynamics(general, *motion)
    np.testing.assert_allclose(ours, closed, rtol=0, atol=1e-9 * np.abs(ours).max())
    np.testing.assert_allclose(
        mi.dynamics.mass_matrix(robot, q), mi.dynamics.mass_matrix(general, q), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize(
    ("longer", "forms"), [(1e-9, {"parallelogram"}), (1e-6, {"parallelogram"}), (1e-3, {"", "parallelogram"})]
)
def test_a_rod_that_is_rounded_is_meant_to_be_as_long_as_the_arm(
    tmp_path: Path, longer: float, forms: set[str]
) -> None:
    pytest.importorskip("mujoco")
    text = (LOOPS / "palletiser.xml").read_text()
    (tmp_path / "arm.xml").write_text(
        text.replace('name="rod_forearm_a" pos="0.9', f'name="rod_forearm_a" pos="{0.9 + longer}')
    )
    robot = mi.read_robot(tmp_path / "arm.xml")
    assert {cut.form for cut in robot.cuts} == forms
    assert any("taken as an exact parallelogram" in note.text for note in robot.notes) == (longer == 1e-6)
    if forms == {"parallelogram"}:
        assert mi.base_parameters(robot).count == 25
    else:  # the parallelogram of the other rod is one as before, and its joints follow the arm
        assert [cut.name for cut in robot.cuts if cut.form] == ["lower_rod_triangle"]
        q = np.array(robot.seed)[list(robot.independent)]
        assert np.linalg.eigvalsh(mi.dynamics.mass_matrix(robot, q)).min() > 0
