"""Closed loops in SYMORO, URDF and MJCF files, and in a TOML beside them; written and read back."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import minertia as mi
from minertia.io.errors import DescriptionError
from minertia.robot.joint import Follows
from minertia.robot.loops.closure import CLOSED, residual
from minertia.robot.robot import Robot

# ---------------------------------------------------------------------- SYMORO


def par(**changes: str) -> str:
    """A five-bar with ground edge 0 and links d: a rhombus where it does not fold."""
    lists = {
        "NL": "4", "NJ": "5", "NF": "6", "Type": "2",
        "ant": "{0,1,0,3,4,2}", "sigma": "{0,0,0,0,0,2}", "b": "{0,0,0,0,0,0}", "d": "{0,a,0,c,a,c}",
        "r": "{0,0,0,0,0,0}", "gamma": "{0,0,0,0,0,0}", "alpha": "{0,0,0,0,0,0}", "mu": "{1,0,1,0,0,0}",
        "theta": "{th1,th2,th3,th4,th5,0}", "G": "{0,-9.81,0}",
    }  # fmt: skip
    return "\n".join(f"{key} = {value}" for key, value in (lists | changes).items())


def read(tmp_path: Path, name: str, text: str, beside: str = "", **options: object) -> Robot:
    (tmp_path / name).write_text(text)
    if beside:
        (tmp_path / f"{Path(name).stem}.loops.toml").write_text(beside)
    return mi.read_robot(tmp_path / name, **options)  # type: ignore[arg-type]


def notes(robot: Robot) -> str:
    return " | ".join(f"{note.where}: {note.text}" for note in robot.notes)


def test_symoro_parallelogram_in_letters(tmp_path: Path) -> None:
    robot = read(tmp_path, "arms.par", par())
    assert robot.coordinate_names == ("j1", "j3") and set(robot.symbols) == {"a", "c"}
    assert robot.joints[1].follows == Follows((0, 2), (-1.0, 1.0))
    assert robot.joints[3].follows == Follows((0, 2), (1.0, -1.0))
    assert "(parallelogram branch)" in notes(robot)
    assert mi.base_parameters(robot).count == mi.base_parameters(robot, rotors=True).count


def test_a_seed_beside_the_file_chooses_the_branch(tmp_path: Path) -> None:
    folded = '[[loop]]\nname = "j5"\n[loop.seed]\nj1 = 0.2\nj2 = 3.14159\nj3 = 1.2\nj4 = 3.14159\n'
    robot = read(tmp_path, "arms.par", par(d="{0,a,0,a,a,a}"), folded)
    assert robot.open_cuts and robot.passive == (1, 3)
    np.testing.assert_allclose(robot.seed, (0.2, math.pi, 1.2, math.pi), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"NF": "5"}, "NF must be"),
        ({"NJ": "3"}, "NJ must be at least NL"),
        ({"sigma": "{0,0,0,0,0,0}", "theta": "{th1,th2,th3,th4,th5,th6}"}, "sigma must be 2"),
        ({"ant": "{0,1,0,3,4,5}"}, "names the cut joint 5"),
        ({"ant": "{0,1,5,3,4,2}"}, "form a cycle"),
        ({"ant": "{0,1,6,3,4,2}"}, "which is not a link"),
        ({"mu": "{2,0,1,0,0,0}"}, "'mu' must contain 0"),
        ({"mu": "{1,1,1,0,0,0}"}, "3 joints of the loop 'j5' are active (j1, j2, j3), but they span only 2"),
        ({"mu": "{1,0,0,0,0,0}"}, "has mobility 2, but its number of active joints is 1 (j1)"),
    ],
)
def test_symoro_loops_that_make_no_sense(tmp_path: Path, changes: dict[str, str], said: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        read(tmp_path, "arms.par", par(**changes))
    assert said in str(caught.value) and "\n" not in str(caught.value)


# ---------------------------------------------------------------------- URDF

LINK = '<link name="{}"><inertial><mass value="1"/><origin xyz="0.1 0.02 0"/><inertia {}/></inertial></link>'
SIX = 'ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"'
LOOP = (
    '<loop name="pin" type="revolute"><predecessor link="coupler"><origin xyz="{b} 0 0"/></predecessor>'
    '<successor link="rocker"><origin xyz="{c} 0 0"/></successor><axis xyz="0 0 1"/></loop>'
)
CONSTRAINT = (
    '<constraint name="pin" type="revolute"><parent link="coupler"/><parent_origin xyz="{b} 0 0"/>'
    '<parent_axis xyz="0 0 1"/><child link="rocker"/><child_origin xyz="{c} 0 0"/><child_axis xyz="0 0 1"/>'
    "</constraint>"
)
BESIDE = (
    'passive = ["coupler_joint", "rocker_joint"]\n[[loop]]\nname = "pin"\nkind = "revolute"\nfirst = "coupler_joint"\n'
    'first_position = [{b}, 0, 0]\nsecond = "rocker"\nsecond_position = [{c}, 0, 0]\n'
)


def urdf(loop: str = "", marks: tuple[str, str, str] = ("true", "false", "false"), more: str = "") -> str:
    """Crank 0.2 and ground 0.45; coupler and rocker as long as the loop says."""
    ends = {"crank": ("ground", 0), "coupler": ("crank", 0.2), "rocker": ("ground", 0.45)}
    text = '<robot name="bars"><link name="ground"/>'
    for mark, (name, (parent, x)) in zip(marks, ends.items(), strict=True):
        said = f' independent="{mark}"' if mark else ""
        text += LINK.format(name, SIX) + f'<joint name="{name}_joint" type="continuous"{said}><parent link="{parent}"/>'
        text += f'<child link="{name}"/><origin xyz="{x} 0 0"/><axis xyz="0 0 1"/></joint>'
    return text + loop + more + "</robot>"


@pytest.mark.parametrize("loop", [LOOP, CONSTRAINT])
def test_urdf_loops(tmp_path: Path, loop: str) -> None:
    robot = read(tmp_path, "bars.urdf", urdf(loop.format(b=0.5, c=0.4)))
    assert robot.coordinate_names == ("crank_joint",) and robot.passive == (1, 2)
    assert [(cut.name, cut.kind, cut.form) for cut in robot.cuts] == [("pin", "revolute", "")]
    assert np.abs(residual(robot, robot.seed)).max() < CLOSED
    parallel = read(tmp_path, "bars.urdf", urdf(loop.format(b=0.45, c=0.2)))
    assert [j.follows for j in parallel.joints] == [None, Follows((0,), (-1.0,)), Follows((0,), (1.0,))]
    assert mi.base_parameters(parallel.with_gravity((0, -9.81, 0))).count == 3


def test_a_loop_beside_a_plain_urdf_is_the_same(tmp_path: Path) -> None:
    inside = read(tmp_path, "bars.urdf", urdf(LOOP.format(b=0.5, c=0.4)))
    (tmp_path / "other").mkdir()
    beside = read(tmp_path / "other", "bars.urdf", urdf(marks=("", "", "")), BESIDE.format(b=0.5, c=0.4))
    assert beside.cuts == inside.cuts and beside.joints == inside.joints
    np.testing.assert_allclose(beside.seed, inside.seed, rtol=0, atol=1e-12)


def test_couplings_of_urdf_plus_are_followers(tmp_path: Path) -> None:
    ends = '<predecessor link="crank"/><successor link="rocker"/>'
    coupling = f'<coupling name="belt">{ends}<ratio value="-2"/></coupling>'
    robot = read(tmp_path, "bars.urdf", urdf(marks=("", "", "false"), more=coupling))
    assert robot.joints[2].follows == Follows((0,), (-2.0,))
    with pytest.raises(DescriptionError, match="independent"):
        read(tmp_path, "bars.urdf", urdf(marks=("", "", ""), more=coupling))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (urdf(LOOP.format(b=0.5, c=0.4).replace("revolute", "screw")), "type 'screw'"),
        (urdf(LOOP.format(b=0.5, c=0.4).replace('link="rocker"', 'link="roker"')), "'roker', which does not exist"),
        (urdf(LOOP.format(b=0.5, c=0.4).replace("successor", "follower")), "has no <successor>"),
        (urdf(CONSTRAINT.format(b=0.5, c=0.4).replace('<child link="rocker"/>', "")), "has no <child>"),
        (urdf(LOOP.format(b=0.5, c=0.4), ("true", "true", "false")), "2 joints of the loop 'pin' are active"),
        (urdf(LOOP.format(b=0.5, c=0.4), ("true", "maybe", "false")), "must be true or false"),
        (urdf(LOOP.format(b=0.5, c=9.0)), "cannot close from any initial"),
    ],
)
def test_bad_loops_in_urdf(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        read(tmp_path, "bars.urdf", text)
    assert said in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        ('passive = ["wheel"]', "'wheel', which does not move"),
        (BESIDE.format(b=0.5, c=0.4).replace('"rocker"', '"roker"'), "'roker', which is not a link or joint"),
        ('[[loop]]\nname = "pin"\nkind = "revolute"\n', "has this loop"),
        ("[[joint]]\n", "joint"),
    ],
)
def test_bad_files_beside(tmp_path: Path, beside: str, said: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        read(tmp_path, "bars.urdf", urdf(LOOP.format(b=0.5, c=0.4) if "this loop" in said else ""), beside)
    assert said in str(caught.value) and "bars.loops.toml" in str(caught.value)


# ---------------------------------------------------------------------- MJCF


def mjcf(
    lengths: tuple[float, float] = (0.45, 0.2), equality: str = "", actuator: str = '<motor joint="crank"/>'
) -> str:
    """Crank 0.2 and ground 0.45, horizontal axes; at the angles drawn a parallelogram of coupler 0.45, rocker 0.2."""
    b, c = lengths
    own = '<inertial pos="0.1 0.01 0" mass="1" diaginertia="0.01 0.02 0.02"/>'
    up, down = 'axisangle="0 0 1 1"', 'axisangle="0 0 1 -1"'
    equality = equality or '<connect name="pin" site1="p" site2="q"/>'
    return (
        '<mujoco><compiler angle="radian"/><option gravity="0 -9.81 0"/><worldbody>'
        f'<body name="crank" {up}>{own}<joint name="crank"/>'
        f'<body name="coupler" pos="0.2 0 0" {down}>{own}<joint name="coupler"/><site name="p" pos="{b} 0 0"/></body>'
        f'</body><body name="rocker" pos="0.45 0 0" {up}>{own}<joint name="rocker"/><site name="q" pos="{c} 0 0"/>'
        f"</body></worldbody><equality>{equality}</equality><actuator>{actuator}</actuator></mujoco>"
    )


def test_mjcf_connect_by_sites_and_by_bodies(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    sites = read(tmp_path, "bars.xml", mjcf())
    assert [j.follows for j in sites.joints] == [None, Follows((0,), (-1.0,)), Follows((0,), (1.0,))]
    assert mi.base_parameters(sites).count == 3 and sites.seed == (0.0, 0.0, 0.0)
    by_bodies = mjcf(equality='<connect name="pin" body1="coupler" body2="rocker" anchor="0.45 0 0"/>')
    bodies = read(tmp_path, "bars.xml", by_bodies)
    assert [j.follows for j in bodies.joints] == [j.follows for j in sites.joints]
    np.testing.assert_allclose(np.array(bodies.cuts[0].second_pose[1], float), (0.2, 0, 0), rtol=0, atol=1e-12)


def test_mjcf_without_actuators_takes_the_order_of_the_file(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    robot = read(tmp_path, "bars.xml", mjcf(actuator=""))
    assert robot.coordinate_names == ("crank",)
    assert "does not mark active joints; taken in file order: crank" in notes(robot)


def test_mjcf_general_loop_and_its_mass_of_nothing(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    connect = '<connect name="pin" body1="coupler" body2="rocker" anchor="0.6 0.1 0"/>'
    robot = read(tmp_path, "bars.xml", mjcf(equality=connect))
    assert robot.passive == (1, 2) and robot.open_cuts
    assert mi.base_parameters(robot).count == 8


@pytest.mark.parametrize("suffix", ["toml", "urdf", "xml"])
@pytest.mark.parametrize("equality", ["", '<connect name="pin" body1="coupler" body2="rocker" anchor="0.6 0.1 0"/>'])
def test_loops_are_written_and_read_back(tmp_path: Path, suffix: str, equality: str) -> None:
    pytest.importorskip("mujoco")
    robot = read(tmp_path, "bars.xml", mjcf(equality=equality)).with_gravity((0, 0, -9.81))
    mi.write_robot(robot, tmp_path / f"again.{suffix}")
    again = mi.read_robot(tmp_path / f"again.{suffix}")
    assert [j.follows for j in again.joints] == [j.follows for j in robot.joints]
    assert [j.is_passive for j in again.joints] == [j.is_passive for j in robot.joints]
    assert [(c.name, c.kind, c.form) for c in again.cuts] == [(c.name, c.kind, c.form) for c in robot.cuts]
    np.testing.assert_allclose(again.seed, robot.seed, rtol=0, atol=1e-10)
    rng = np.random.default_rng(0)
    q = np.array(robot.seed)[list(robot.independent)] + 0.05 * rng.normal(size=(3, robot.n))
    motion = (q, *rng.normal(size=(2, 3, robot.n)))
    np.testing.assert_allclose(
        mi.inverse_dynamics(again, *motion), mi.inverse_dynamics(robot, *motion), rtol=0, atol=1e-8
    )


def test_hinges_and_followers_of_several_joints_in_mjcf(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    robot = read(tmp_path, "arms.par", par(d="{0,0.4,0,0.3,0.4,0.3}"))
    mi.write_robot(robot, tmp_path / "arms.xml")
    again = mi.read_robot(tmp_path / "arms.xml")
    assert [j.follows for j in again.joints] == [j.follows for j in robot.joints]
    assert [(c.name, c.kind, c.form) for c in again.cuts] == [("j5", "revolute", "parallelogram")]


def test_mujoco_agrees_with_the_followers(tmp_path: Path) -> None:
    """Where the passive joints are as we say, MuJoCo's own constraint is closed."""
    mujoco = pytest.importorskip("mujoco")
    text = mjcf()
    robot = read(tmp_path, "bars.xml", text)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    for angle in (-0.8, 0.4, 1.7):
        data.qpos[:] = [robot.joint_position(j, [angle]) for j in range(3)]
        mujoco.mj_forward(model, data)
        assert np.abs(data.efc_pos).max() < 1e-12


RAM = """
convention = "placement"
[[joint]]
name = "lever"
kind = "revolute"
[[joint]]
name = "rod"
kind = "revolute"
position = [0.2, 0, 0]
passive = true
[[joint]]
name = "foot"
kind = "revolute"
parent = 0
position = [0.5, 0, 0]
passive = true
[[loop]]
name = "ram"
kind = "prismatic"
first = "rod"
first_rotation = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
second = "foot"
second_rotation = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
[loop.seed]
lever = 1.0
rod = 1.74
foot = 2.74
"""


def test_a_cut_slider_has_no_place_in_mjcf(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    robot = read(tmp_path, "ram.toml", RAM)
    assert robot.passive == (1, 2) and np.abs(residual(robot, robot.seed)).max() < CLOSED
    said = mi.write_robot(robot, tmp_path / "ram.xml")
    assert any("no constraint for a cut joint of kind prismatic" in note.text for note in said)
    mi.write_robot(robot, tmp_path / "ram.urdf")
    assert mi.read_robot(tmp_path / "ram.urdf").cuts == robot.cuts
