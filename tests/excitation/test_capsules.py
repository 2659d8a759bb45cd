"""Capsules from shapes, meshes and frames: they enclose what they stand for, and odd files do no harm."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest

from minertia import read_robot
from minertia.excitation.capsules import Capsule, enclosing, fitted, frame_capsules, robot_body
from minertia.excitation.distance import between_segments
from minertia.robot.formats.mesh import mesh_points
from minertia.robot.shapes import UNREAD, Piece, file_pieces
from tests.shared import SHARED, needs_shared

ARM = """<robot name="arm">
<link name="base">{base}</link><link name="upper">{upper}</link><link name="lower">{lower}</link><link name="tool"/>
<joint name="a" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" velocity="1" effort="1"/></joint>
<joint name="b" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0 0 0.5"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" velocity="1" effort="1"/></joint>
<joint name="t" type="fixed"><parent link="lower"/><child link="tool"/><origin xyz="0 0 0.4"/></joint></robot>"""
CYLINDER = '<{0}><origin xyz="0 0 0.25"/><geometry><cylinder radius="0.04" length="0.5"/></geometry></{0}>'


def arm(tmp_path, **parts):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.format(**({"base": "", "upper": "", "lower": ""} | parts)))
    return read_robot(path)


def is_inside(points, capsules):
    """Whether each point is in one of the capsules (ends and radius)."""
    off = []
    for a, b, radius in capsules:
        ends = [np.broadcast_to(x, points.shape) for x in (a, b)]
        off.append(between_segments(points, points, *ends).distance - radius)
    return np.min(off, axis=0) <= 1e-9


def surface(kind, size, rng):
    """Points on a shape about the origin."""
    if kind == "box":
        p = rng.uniform(-1, 1, (400, 3))
        p[np.arange(400), rng.integers(3, size=400)] = rng.choice([-1, 1], 400)
        return np.vstack([p, np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T]) * size
    p = rng.normal(size=(400, 3))
    if kind == "sphere":
        return size[0] * p / np.linalg.norm(p, axis=1)[:, None]
    ring = size[0] * p[:, :2] / np.linalg.norm(p[:, :2], axis=1)[:, None]
    return np.column_stack([ring, size[1] * rng.choice([-1, 1], 400)])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["sphere", "cylinder", "box"])
def test_capsules_enclose_shapes(kind, seed):
    rng = np.random.default_rng(seed)
    size = tuple(rng.uniform(0.01, 0.4, {"sphere": 1, "cylinder": 2, "box": 3}[kind]))
    R, p = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.normal(size=3)
    capsules = enclosing(Piece("x", False, kind, size, R, p))
    points = surface(kind, size, rng)
    assert is_inside(points @ R.T + p, capsules).all()
    room = max(radius for _, _, radius in capsules)
    assert room <= 1.5 * np.linalg.norm(size)  # and not much more


@pytest.mark.parametrize("seed", range(4))
def test_capsules_enclose_points(seed):
    points = np.random.default_rng(seed).normal(size=(200, 3)) * [0.1, 0.5, 0.05] + [1, 2, 3]
    ends = fitted(points)
    assert is_inside(points, [ends]).all()
    assert ends[2] < np.linalg.norm(points - points.mean(axis=0), axis=1).max()


def test_a_bare_file_gets_capsules_along_its_frames(tmp_path):
    body = robot_body(arm(tmp_path))
    assert body.sources == (False, True)
    ends = {c.name: (c.joint, np.array(c.a.p), np.array(c.b.p)) for c in body.capsules}
    assert set(ends) == {"base", "upper", "lower"}
    assert np.linalg.norm(ends["upper"][2]) == pytest.approx(0.5)
    assert np.linalg.norm(ends["lower"][2]) == pytest.approx(0.4)  # to the tool
    assert body.radius == pytest.approx(0.035 * 1.2)
    assert robot_body(arm(tmp_path), 0.1).radius == 0.1


def test_last_link_without_a_frame_reaches_beyond_its_centre_of_mass():
    last = robot_body(read_robot("puma560_physical")).capsules[-1]
    robot = replace(read_robot("planar2r").numeric, links=((0.0,) * 10, (*(0.0,) * 6, 0.6, 0.0, 0.0, 2.0)), frames={})
    capsule = frame_capsules(robot, 0.02)[-1]
    assert capsule.b.p == pytest.approx((0.5, 0.0, 0.0))  # twice 0.3 m, but no more than the robot's own length
    assert isinstance(last, Capsule) and last.joint == 5


def test_a_slide_has_a_capsule_that_grows():
    robot = read_robot("stanford").numeric
    slide = next(c for c in frame_capsules(robot, 0.02) if c.joint == 2 and c.a.joint == 1)
    assert slide.b.joint == 2 and slide.b.p == (0.0, 0.0, 0.0)


def test_shapes_of_the_file_come_first_and_drawn_ones_if_there_are_no_others(tmp_path):
    for tag in ("collision", "visual"):
        body = robot_body(arm(tmp_path, upper=CYLINDER.format(tag)))
        (own,) = [c for c in body.capsules if c.joint == 0]
        assert not own.by_frames and own.radius == 0.04
        assert [c.by_frames for c in body.capsules if c.joint == 1] == [True]
    both = arm(tmp_path, upper=CYLINDER.format("collision") + CYLINDER.format("visual").replace("0.04", "0.3"))
    assert {c.radius for c in robot_body(both).capsules if c.joint == 0} == {0.04}


def test_a_shape_that_shows_little_of_a_link_does_not_stand_for_it(tmp_path):
    small = '<collision><geometry><sphere radius="0.01"/></geometry></collision>'
    own = [c for c in robot_body(arm(tmp_path, upper=small)).capsules if c.joint == 0]
    assert sorted(c.by_frames for c in own) == [False, True]


@pytest.mark.parametrize(
    "form",
    [
        '<sphere radius="big"/>', '<sphere/>', '<box size="1 2"/>', '<box size="0 1 1"/>', '<cone radius="1"/>',
        '<mesh filename="package://nowhere/link.stl"/>', '<mesh/>', '<capsule name="x"/>', "",
    ],
)  # fmt: skip
def test_odd_geometry_does_no_harm(tmp_path, form):
    robot = arm(tmp_path, upper=f"<collision><geometry>{form}</geometry></collision>")
    assert [piece.kind for piece in file_pieces(robot)] == [UNREAD]
    assert all(c.by_frames for c in robot_body(robot).capsules)


CORNERS = np.array([[x, y, z] for x in (-0.03, 0.03) for y in (-0.02, 0.02) for z in (0.0, 0.5)])


def stl(corners):
    faces = [corners[[k, (k + 1) % 8, (k + 2) % 8]] for k in range(8)]
    parts = [b" " * 80, struct.pack("<I", len(faces))]
    parts += [struct.pack("<12fH", 0, 0, 1, *face.ravel(), 0) for face in faces]
    return b"".join(parts)


def stl_text(corners):
    lines = ["solid x", "facet normal 0 0 1", "outer loop"]
    lines += [f"vertex {x} {y} {z}" for x, y, z in corners]
    return "\n".join([*lines, "endloop", "endfacet", "endsolid x"]).encode()


def obj(corners):
    return "\n".join(["# x", *(f"v {x} {y} {z}" for x, y, z in corners), "vn 9 9 9", "f 1 2 3"]).encode()


MESHES = {"link.stl": stl, "text.STL": stl_text, "link.obj": obj}


@pytest.mark.parametrize("name", MESHES)
def test_extent_of_a_mesh_that_is_there(tmp_path, name):
    folder = tmp_path / "my_robot" / "meshes"
    folder.mkdir(parents=True)
    (folder / name).write_bytes(MESHES[name](CORNERS * 1000))
    for place in (f"package://my_robot/meshes/{name}", f"my_robot/meshes/{name}"):
        form = f'<mesh filename="{place}" scale="0.001 0.001 0.001"/>'
        robot = arm(tmp_path, upper=f"<visual><geometry>{form}</geometry></visual>")
        (own,) = [c for c in robot_body(robot).capsules if c.joint == 0]
        assert not own.by_frames and own.radius == pytest.approx(np.hypot(0.03, 0.02), rel=1e-5)


@pytest.mark.parametrize("data", [b"", b"solid", b"v 1 2", b"v a b c", bytes(84) + b"x", b"\xff" * 200, b"v nan 1 1"])
def test_broken_meshes(tmp_path, data):
    for name in ("a.stl", "a.obj", "a.dae"):
        (tmp_path / name).write_bytes(data)
        assert mesh_points(tmp_path / name) is None
    assert mesh_points(tmp_path / "none.stl") is None


def test_shapes_of_an_mjcf(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "link.stl").write_bytes(stl(CORNERS))
    path = tmp_path / "one.xml"
    path.write_text(
        "<mujoco><asset><mesh name='m' file='link.stl'/><mesh name='n' file='none.stl'/></asset><worldbody>"
        "<geom type='box' size='0.1 0.1 0.1' pos='0 0 -1'/><geom type='plane' size='1 1 1'/>"
        "<body name='b'><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/><joint name='h'/>"
        "<geom type='capsule' fromto='0 0 0 1 0 0' size='0.1'/>"
        "<geom type='sphere' size='0.2' contype='0' conaffinity='0'/>"
        "<body name='c' pos='1 0 0'><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/><joint name='i'/>"
        "<geom type='mesh' mesh='m'/><geom type='mesh' mesh='n'/></body></body></worldbody></mujoco>"
    )
    body = robot_body(read_robot(path))
    (shape,) = [c for c in body.capsules if c.joint == 0]
    assert shape.radius == 0.1 and np.linalg.norm(np.subtract(shape.a.p, shape.b.p)) == pytest.approx(1.0)
    (mesh,) = [c for c in body.capsules if c.joint == 1]
    assert not mesh.by_frames and mesh.radius == pytest.approx(np.hypot(0.03, 0.02), rel=1e-5)
    (ground,) = body.boxes
    assert ground.size == (0.1, 0.1, 0.1) and ground.p == pytest.approx([0, 0, -1])


@needs_shared
def test_every_shared_file_has_a_body():
    for path in sorted((SHARED / "robots").glob("*.*")):
        if path.suffix in (".urdf", ".xml", ".par"):
            robot = read_robot(path)
            moving = {c.joint for c in robot_body(robot).capsules}
            assert moving >= set(range(robot.n_joints)), path.name
