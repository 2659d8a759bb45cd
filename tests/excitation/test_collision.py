"""Distances and obstacles (needs MuJoCo)."""

from __future__ import annotations

import numpy as np
import pytest

from minertia import read_robot
from minertia.errors import Infeasible, MinertiaError
from minertia.excitation.excite import excite
from minertia.excitation.limits import motion_limits
from minertia.excitation.shapes import box, capsule, file_shapes, link_capsules

pytest.importorskip("mujoco")
from minertia.excitation.collision import CollisionModel

URDF = """<robot name="two">
<link name="base"><collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
<link name="arm"><collision><origin xyz="0.25 0 0" rpy="0 1.5707963267948966 0"/><geometry>
<cylinder radius="0.05" length="0.5"/></geometry></collision></link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0 0.5"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" velocity="1" effort="1"/></joint></robot>"""


@pytest.fixture
def puma():
    return read_robot("puma560_physical")


@pytest.fixture
def cell(puma):
    obstacles = [box("table", (0, 0, -0.75), (3, 3, 0.1)), box("post", (0.6, 0.6, 0), (0.2, 0.2, 1.5))]
    return CollisionModel(puma, link_capsules(puma, 0.06), obstacles, margin=0.02)


def test_slopes(cell):
    q = np.random.default_rng(1).uniform(-3, 3, (100, 6))
    d, slopes = cell.distances_and_slopes(q)
    near = np.argwhere((d > 0.001) & (d < 0.11))
    assert len(near) > 3
    for k, p in near[:12]:
        for j in range(6):
            e = 1e-6 * np.eye(6)[j]
            numeric = (cell.distances(q[k] + e) - cell.distances(q[k] - e))[0, p] / 2e-6
            assert slopes[k, p, j] == pytest.approx(numeric, abs=1e-4)


def test_motion_keeps_its_distance(puma, cell):
    limits = motion_limits(puma, velocity=1.5, acceleration=4.0, effort=True, clearance=cell)
    result = excite(puma, limits=limits, starts=1, patience=0.1, n_samples=100)
    assert result.margins.is_feasible
    t = np.linspace(0, 10, 1001)
    assert cell.distances(result.motion.at(t)[0]).min() >= cell.margin
    assert "nearest approach" in str(result)


def test_start_in_collision(puma):
    around = box("crate", (0, 0, 0), (3, 3, 3))
    post = box("post", (0.6, 0.0, 0), (0.5, 0.5, 2.0))
    reach = np.array([0.0, np.pi, -np.pi / 2, 0, 0, 0])
    poses = [reach, reach * [1, 0, 1, 1, 1, 1]]
    cell = CollisionModel(puma, link_capsules(puma, 0.06), [post], margin=0.02)
    inside = min(poses, key=lambda q: float(cell.distances(q).min()))
    assert cell.distances(inside).min() < 0
    limits = motion_limits(puma, velocity=1.5, acceleration=4.0, clearance=cell)
    with pytest.raises(Infeasible, match=r"start posture.*'post'"):
        excite(puma, limits=limits, start=inside)
    assert CollisionModel(puma, link_capsules(puma, 0.06), [around]).ignored  # nothing can leave the crate


def test_shapes_of_a_urdf(tmp_path):
    path = tmp_path / "two.urdf"
    path.write_text(URDF)
    robot = read_robot(path)
    base, arm = file_shapes(robot)
    assert (base.joint, base.kind, base.size) == (None, "box", (0.1, 0.1, 0.1))
    assert (arm.joint, arm.kind, arm.size) == (0, "cylinder", (0.05, 0.25))
    np.testing.assert_allclose(np.abs(arm.R @ [0, 0, 1]), [1, 0, 0], atol=1e-12)
    wall = box("wall", (0, 0.5, 0.5), (1, 0.2, 1))
    d = CollisionModel(robot, [base, arm], [wall]).distances([[0.0], [np.pi / 2]])
    assert d[0].min() > 0.2 and d[1].min() < 0


def test_shapes_of_an_mjcf(tmp_path):
    path = tmp_path / "one.xml"
    path.write_text(
        "<mujoco><worldbody><body name='b'><joint name='h'/><geom type='capsule' fromto='0 0 0 1 0 0' size='0.1'/>"
        "<geom type='sphere' size='0.2' contype='0' conaffinity='0'/></body></worldbody></mujoco>"
    )
    (shape,) = file_shapes(read_robot(path))
    assert shape.kind == "capsule" and shape.size == pytest.approx((0.1, 0.5)) and shape.joint == 0


def test_bad_shapes(puma):
    with pytest.raises(MinertiaError, match="positive sides"):
        box("flat", (0, 0, 0), (1, 1, 0))
    with pytest.raises(MinertiaError, match="radius"):
        capsule("thin", (0, 0, 0), (1, 0, 0), 0.0, robot=puma, frame="j2")
    with pytest.raises(Infeasible, match="no shapes"):
        CollisionModel(puma, [], [box("table", (0, 0, -1), (1, 1, 0.1))])
    assert file_shapes(puma) == ()
