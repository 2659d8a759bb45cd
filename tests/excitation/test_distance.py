"""Distances of segments and boxes against a dense search and against MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest

from minertia.excitation.distance import between_segments, to_boxes

FINE = np.linspace(0.0, 1.0, 401)


def dense(a0, a1, b0, b1):
    """Smallest distance of points along two segments, and how coarse that is."""
    p, r = (x + FINE[:, None] * (y - x) for x, y in ((a0, a1), (b0, b1)))
    return np.linalg.norm(p[:, None] - r[None], axis=2).min()


def special(rng):
    """Points, parallel segments, segments that share an end or cross, and those on one line."""
    o, x, y = np.zeros(3), np.array([1.0, 0, 0]), np.array([0, 1.0, 0])
    yield o, o, x, x
    yield o, o, x - y, x + y
    yield o, x, y, x + y
    yield o, x, y, y - x
    yield o, x, 2 * x + y, 4 * x + y
    yield o, x, o, y
    yield -x, x, -y, y
    yield o, x, 1.5 * x, 2 * x
    yield o, x, o, o
    a = rng.normal(size=3)
    yield o, a, o + 1e-9 * y, a + 1e-9 * x


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2))])
def test_segments(seed):
    rng = np.random.default_rng(seed)
    cases = [*special(rng), *(rng.normal(size=(4, 3)) * rng.choice([0.01, 1.0], size=(4, 1)) for _ in range(40))]
    ends = [np.array(x) for x in zip(*cases, strict=True)]
    found = between_segments(*ends)
    for k, case in enumerate(cases):
        assert found.distance[k] == pytest.approx(dense(*case), abs=5e-3), case
        assert found.distance[k] <= dense(*case) + 1e-9
    p = ends[0] + found.on_first[:, None] * (ends[1] - ends[0])
    r = ends[2] + found.on_second[:, None] * (ends[3] - ends[2])
    np.testing.assert_allclose(np.linalg.norm(p - r, axis=1), found.distance, atol=1e-12)
    np.testing.assert_allclose(found.distance[:, None] * found.away, p - r, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_boxes(seed):
    rng = np.random.default_rng(seed)
    a0, a1 = rng.normal(size=(2, 60, 3)) * 1.5
    a1[:10, :2] = a0[:10, :2]  # along an axis
    half = rng.uniform(0.05, 0.8, (60, 3))
    found = to_boxes(a0, a1, half)
    points = a0[:, None] + FINE[None, :, None] * (a1 - a0)[:, None]
    off = np.linalg.norm(points - np.clip(points, -half[:, None], half[:, None]), axis=2).min(axis=1)
    assert np.all(found.distance <= off + 1e-12)
    np.testing.assert_allclose(found.distance, off, atol=1e-2)
    assert (found.distance == 0).any() and (found.distance > 0.1).any()


def test_boxes_as_mujoco_has_them():
    mujoco = pytest.importorskip("mujoco")
    rng = np.random.default_rng(0)
    half, radius, length = (0.3, 0.2, 0.5), 0.1, 0.4
    spec = mujoco.MjSpec()
    spec.worldbody.add_geom(name="box", type=mujoco.mjtGeom.mjGEOM_BOX, size=half)
    body = spec.worldbody.add_body(name="b", mocap=True)
    body.add_geom(name="capsule", type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=(radius, length, 0))
    model = spec.compile()
    data = mujoco.MjData(model)
    for _ in range(20):
        quat = rng.normal(size=4)
        data.mocap_pos[0], data.mocap_quat[0] = 1.2 * rng.normal(size=3), quat / np.linalg.norm(quat)
        mujoco.mj_kinematics(model, data)
        z = length * data.xmat[1].reshape(3, 3)[:, 2]
        ours = to_boxes((data.xpos[1] - z)[None], (data.xpos[1] + z)[None], np.array([half])).distance[0] - radius
        theirs = mujoco.mj_geomDistance(model, data, 0, 1, 9.0, np.zeros(6))
        assert max(ours, 0) == pytest.approx(max(theirs, 0), abs=2e-3)  # theirs is a search with a tolerance
