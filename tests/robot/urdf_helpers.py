"""Small URDFs and comparisons for the tests of the URDF reader and writer."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from minertia.algebra.vec3 import HERE, Pose, compose
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.formats.urdf.read import parse_urdf
from minertia.robot.robot import Robot

ROBOTS = Path(__file__).resolve().parents[3] / "shared" / "robots"
URDFS = sorted(ROBOTS.glob("*.urdf"))

INERTIAL = (
    '<inertial><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/><mass value="2"/>'
    '<inertia ixx="0.02" ixy="0.001" ixz="0.002" iyy="0.03" iyz="0.003" izz="0.04"/></inertial>'
)


def link(name: str, inside: str = INERTIAL) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(
    name: str, parent: str, child: str, kind: str | None = None, inside: str = '<axis xyz="0 0 1"/>', origin: str = ""
) -> str:
    """One joint, revolute by default, without limits continuous."""
    usual = "revolute" if "<limit" in inside else "continuous"
    kind = usual if kind is None else kind
    where = f"<origin {origin}/>" if origin else ""
    return (
        f'<joint name="{name}" type="{kind}">{where}<parent link="{parent}"/><child link="{child}"/>{inside}</joint>\n'
    )


def urdf(*parts: str, attributes: str = 'name="r"') -> str:
    return f"<robot {attributes}>\n" + "\n".join(parts) + "\n</robot>\n"


def two_joints(inside: str = '<axis xyz="0 0 1"/>', origin: str = 'xyz="1 0 0"', second: str = INERTIAL) -> str:
    """base - j1 - a - j2 - b, where the second joint and link are given."""
    return urdf(
        link("base", ""),
        link("a"),
        link("b", second),
        joint("j1", "base", "a"),
        joint("j2", "a", "b", inside=inside, origin=origin),
    )


def parse(text: str, *, base: str | None = None, snap: float = 2e-3, letters: bool = False) -> Robot:
    return parse_urdf(text, "r.urdf", ReadOptions(base, snap, letters))


def numeric(pose: Pose) -> np.ndarray:
    """4x4 matrix of a pose of numbers."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.array(pose[0], float), np.array(pose[1], float)
    return T


def joint_poses(robot: Robot, q: np.ndarray) -> list[Pose]:
    """Pose of each joint frame in the base frame; q of the independent joints."""
    poses: list[Pose] = []
    for j, joint in enumerate(robot.numeric.joints):
        before = HERE if joint.parent is None else poses[joint.parent]
        poses.append(compose(before, joint.pose(robot.joint_position(j, [float(v) for v in q]))))
    return poses


def frame_poses(robot: Robot, q: np.ndarray) -> dict[str, np.ndarray]:
    """4x4 pose of each named frame of the file in the base frame."""
    poses = joint_poses(robot, q)
    return {
        name: numeric(frame.pose if frame.joint is None else compose(poses[frame.joint], frame.pose))
        for name, frame in robot.frames.items()
    }


def assert_same_robot(a: Robot, b: Robot, tolerance: float = 1e-13) -> None:
    """Same joints in the same places with the same parameters (hence the same torques)."""
    a, b = a.numeric, b.numeric
    assert [j.name for j in a.joints] == [j.name for j in b.joints]
    assert (a.base, a.independent) == (b.base, b.independent)
    for one, two in zip(a.joints, b.joints, strict=True):
        assert (one.kind, one.parent, one.link, one.follows) == (two.kind, two.parent, two.link, two.follows)
        assert one.limits == two.limits
        assert np.array(one.R, float) == approx(two.R, tolerance)
        assert np.array(one.p, float) == approx(two.p, tolerance)
    for one_link, two_link in zip((*a.links, a.base_link), (*b.links, b.base_link), strict=True):
        x, y = (np.zeros(10) if t is None else np.array(t, float) for t in (one_link, two_link))
        assert x == approx(y, tolerance * max(1.0, np.abs(x).max()))
    for e, f in zip(a.effects, b.effects, strict=True):
        assert {s: v for s, v in e.items() if v} == {s: v for s, v in f.items() if v}


def approx(values: object, tolerance: float) -> object:
    import pytest

    return pytest.approx(np.array(values, float), abs=tolerance, rel=0)
