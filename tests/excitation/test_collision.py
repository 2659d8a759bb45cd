"""Distances of whole robots: slopes, engines, what is left out, and the room there is by default."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minertia import read_robot
from minertia.excitation.capsules import robot_body
from minertia.excitation.collision import CollisionModel, probes
from minertia.excitation.excite import excite
from minertia.excitation.limits import motion_limits
from minertia.excitation.options import MotionSearch, Workspace
from minertia.excitation.shapes import Shape, box, capsule
from minertia.excitation.space import room
from minertia.io.errors import Infeasible, MinertiaError
from minertia.robot.joint import Limits
from tests.random_robots import random_robot
from tests.shared import SHARED, needs_shared

POST = box("post", (0.6, 0.6, 0), (0.2, 0.2, 1.5))


@pytest.fixture
def puma():
    return read_robot("puma560_physical")


@pytest.fixture
def cell(puma):
    return CollisionModel(puma, robot_body(puma, 0.06), [POST], floor=-0.7, margin=0.02)


def test_slopes():
    """Of the wall, at postures that the floor, the post and links of the robot all come near to."""
    cell = CollisionModel(read_robot("ur10e"), None, [POST], floor=-0.3)
    q = probes(cell.robot, 3000)
    d = cell.distances(q)
    feet = len(cell.feet)
    q = q[(d.min(axis=1) > 0.03) & (d.min(axis=1) < 0.1)]
    near = cell.distances(q) < 0.1
    seen = [name for name, is_near in zip(cell.names(), near.any(axis=0), strict=True) if is_near]
    assert near[:, :feet].any() and any("post" in name for name in seen)
    assert any("post" not in name for name in seen[near[:, :feet].any(axis=0).sum() :])
    value, slope = cell.wall(q)
    direction = np.random.default_rng(2).normal(size=q.shape)
    ahead, behind = (cell.wall(q + s * 1e-7 * direction)[0] for s in (1, -1))
    assert 0 < value < np.inf
    assert float((slope * direction).sum()) == pytest.approx((ahead - behind) / 2e-7, rel=1e-4)


def test_beyond_the_margin_there_is_no_value(cell):
    q = probes(cell.robot, 300)
    inside = q[cell.distances(q).min(axis=1) < 0]
    assert cell.wall(inside[:1])[0] == np.inf
    free = q[cell.distances(q).min(axis=1) > 0.15]
    value, slope = cell.wall(free[:3])
    assert value == 0 and not slope.any()


@pytest.mark.parametrize("seed", [1, *(pytest.param(s, marks=pytest.mark.slow) for s in (0, 2))])
def test_compiled_points_are_those_of_the_check(seed):
    robot = random_robot(seed, tree=True, mimic=seed == 1, n=5)
    model = CollisionModel(robot, floor=None)
    q = np.random.default_rng(seed).normal(size=(7, robot.n))
    np.testing.assert_allclose(model._model.value(q).reshape(7, -1, 3), model.placed(q), atol=1e-12)


@needs_shared
@pytest.mark.parametrize("name", ["kuka_lwr4.urdf", "ur10e.urdf"])
def test_capsules_as_mujoco_has_them(name):
    mujoco = pytest.importorskip("mujoco")
    robot = read_robot(SHARED / "robots" / name)
    model = CollisionModel(robot, floor=None)
    q = probes(model.robot, 20)
    ours, points = model.distances(q), model.placed(q)
    spec = mujoco.MjSpec()
    for c in range(len(model.capsules)):
        spec.worldbody.add_body(name=f"b{c}", mocap=True)
    for c, own in enumerate(spec.bodies[1:]):
        lengths = np.linalg.norm(np.diff(points[:, model.ends[c]], axis=1)[:, 0], axis=1)
        assert np.ptp(lengths) < 1e-9
        own.add_geom(type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=(model.radius[c], max(0.5 * lengths[0], 1e-6), 0))
    compiled = spec.compile()
    data = mujoco.MjData(compiled)
    for k in range(len(q)):
        for c, (a, b) in enumerate(points[k, model.ends]):
            quat, z = np.zeros(4), (b - a) / max(np.linalg.norm(b - a), 1e-12)
            mujoco.mju_quatZ2Vec(quat, z if z.any() else np.array([0, 0, 1.0]))
            data.mocap_pos[c], data.mocap_quat[c] = 0.5 * (a + b), quat
        mujoco.mj_kinematics(compiled, data)
        for p, (a, b) in enumerate(model.pairs):
            theirs = mujoco.mj_geomDistance(compiled, data, int(a), int(b), 0.3, np.zeros(6))
            assert max(ours[k, p], 0) == pytest.approx(max(theirs, 0), abs=1e-4)


@pytest.mark.slow
def test_motion_keeps_its_distance(puma):
    limits = motion_limits(
        puma, velocity=1.5, acceleration=4.0, workspace=Workspace(floor=-0.7, obstacles=[POST], margin=0.03)
    )
    result = excite(puma, limits=limits, search=MotionSearch(starts=1, n_samples=100, patience=0.1))
    assert result.margins.is_feasible
    q = result.motion.at(np.linspace(0, 10, 1001))[0]
    assert limits.clearance.distances(q).min() >= 0.03
    assert "Nearest approach" in str(result) and "obstacles 'post'" in str(result)


def test_start_in_collision(puma):
    post = box("post", (0.6, 0.0, 0), (0.5, 0.5, 2.0))
    reach = np.array([0.0, np.pi, -np.pi / 2, 0, 0, 0])
    limits = motion_limits(
        puma, velocity=1.5, acceleration=4.0, effort=False, workspace=Workspace(floor=None, obstacles=[post])
    )
    inside = min([reach, reach * [1, 0, 1, 1, 1, 1]], key=lambda q: float(limits.clearance.distances(q).min()))
    assert limits.clearance.distances(inside).min() < 0
    with pytest.raises(Infeasible, match=r"start posture.*'post'"):
        excite(puma, limits=limits, start=inside)


def test_neighbours_are_left_out_and_what_always_touches_is_named(puma):
    model = CollisionModel(puma)
    for a, b in model.pairs:
        first, second = (model.capsules[c].joint for c in (a, b))
        assert first != second and abs((-1 if first is None else first) - (-1 if second is None else second)) > 1
    assert "'j4' and 'j6'" in model.ignored  # a spherical wrist
    assert model.grounded == ("'j1'", "'j2'")  # the shoulder of this table lies in the base plane
    around = CollisionModel(puma, obstacles=[box("crate", (0, 0, 0), (3, 3, 3))])
    assert any("'crate'" in name for name in around.ignored)  # nothing can leave it


def test_the_elbow_of_a_link_whose_shoulder_lies_in_the_floor_still_keeps_above_it(puma):
    model = CollisionModel(puma)
    heights = model.distances(probes(model.robot, 200))[:, : len(model.feet)]
    assert "'j2'" in model.names()[: len(model.feet)] and heights.min() < -0.3


# ---------------------------------------------------------------------- the room by default


def test_the_base_plane_is_the_floor_wherever_the_base_is_fixed():
    robot = read_robot("ur10e")
    for gravity in ((0, 0, -9.81), (0, 0, 9.81), (9.81, 0, 0)):
        assert room(robot.with_gravity(gravity)).model.floor == 0.0


def test_no_floor_without_gravity_or_lengths():
    assert "gravity is zero" in room(read_robot("emps")).missing["floor"]
    arm = read_robot("cmu_dd_arm2")
    found = room(arm)
    assert found.model is None and "A1" in found.missing["floor"] and "A1" in found.missing["self collision"]
    with pytest.raises(Infeasible, match="give values for A1, A2"):
        room(arm, Workspace(floor=0.1))


@needs_shared
@pytest.mark.parametrize("name", ["solo12", "allegro_right_hand", "simple_humanoid"])
def test_legs_and_hands_do_not_stand_on_their_base_plane(name):
    robot = read_robot(SHARED / "robots" / f"{name}.urdf")
    found = room(robot)
    assert found.model.floor is None and "below its base plane" in found.missing["floor"]
    assert room(robot, Workspace(floor=-5.0)).model.floor == -5.0  # one that is asked for is kept


def test_switched_off(puma):
    assert room(puma, Workspace(floor=None, self_collision=False)).model is None
    only = room(puma, Workspace(floor=None, self_collision=False, obstacles=[POST])).model
    assert all("'post'" in name for name in only.names())


def test_a_small_robot_keeps_a_small_distance():
    robot = read_robot("puma560_physical").numeric
    small = replace(
        robot,
        joints=tuple(replace(j, p=tuple(0.1 * float(v) for v in j.p), limits=Limits()) for j in robot.joints),
        frames={},
    )
    large, little = CollisionModel(robot), CollisionModel(small)
    assert little.margin < 0.2 * large.margin and little.body.radius < 0.2 * large.body.radius


def test_bad_shapes(puma):
    with pytest.raises(MinertiaError, match="positive side lengths"):
        box("flat", (0, 0, 0), (1, 1, 0))
    with pytest.raises(MinertiaError, match="radius"):
        capsule("thin", (0, 0, 0), (1, 0, 0), 0.0, robot=puma, frame="j2")
    with pytest.raises(MinertiaError, match="positive sizes"):
        CollisionModel(puma, obstacles=[Shape("thin", None, "sphere", (-1.0,), np.eye(3), np.zeros(3))])
    pillar = capsule("pillar", (1, 0, 0), (1, 0, 1), 0.1, robot=puma, frame="")
    assert any("'pillar'" in name for name in CollisionModel(puma, obstacles=[pillar]).names())
