"""Centres of mass of physical fits: in the shapes of the file, or remarked upon."""

from __future__ import annotations

import numpy as np
import pytest

from minertia.robot.files import read_robot
from minertia.robot.inertia import from_com
from minertia.robot.shapes import link_extents
from tests.identification.fits import fitted
from tests.identification.motions import fourier_motion, noisy

FILE = """<robot name="arm"><link name="ground"/>
  <link name="upper">{upper}</link><link name="lower">{lower}</link>
  <joint name="shoulder" type="revolute"><parent link="ground"/><child link="upper"/><axis xyz="0 1 0"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0.4 0 0"/>
    <axis xyz="0 1 0"/></joint></robot>"""
BOX = '<collision><origin xyz="{x} 0 0"/><geometry><box size="{x2} 0.1 0.1"/></geometry></collision>'
SHAPES = {"upper": BOX.format(x=0.2, x2=0.4), "lower": BOX.format(x=0.15, x2=0.3)}
BODY = (
    '<inertial><origin xyz="{x} 0 0"/><mass value="{m}"/>'
    '<inertia ixx="0.02" ixy="0" ixz="0" iyy="3" iyz="0" izz="3"/></inertial>'
)
NOMINAL = {"upper": BODY.format(x=0.28, m=30), "lower": BODY.format(x=0.15, m=1)}  # as a file may guess
HEAVY = {"upper": (20.0, 0.2), "lower": (12.0, 0.15)}  # kg, m


def arm(tmp_path, shapes):
    path = tmp_path / "arm.urdf"
    path.write_text(FILE.format(**{link: NOMINAL[link] + shapes.get(link, "") for link in NOMINAL}))
    return read_robot(path)


def log_of(robot, bodies, seed=1):
    """A noisy motion of the arm with these masses and centres along it, and rotors that the fit takes for link inertia.

    So much inertia goes with light bodies far out as well as with heavy ones in their place.
    """
    J = np.diag([0.02, 3.0, 3.0])
    values = {}
    for j, joint in enumerate(robot.joints, start=1):
        mass, x = bodies[joint.link]
        R, p = (np.array(v, float) for v in joint.file_frame)
        ten = from_com(mass, R @ [x, 0, 0] + p, R @ J @ R.T)
        values |= {
            f"{s}{j}": v for s, v in zip(("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M"), ten, strict=True)
        }
    truth = robot.with_parameters(values)
    return noisy(fourier_motion(truth, 600, seed), np.random.default_rng(seed), 0.01)


def centres(result):
    """In the frames of the links of the file."""
    standard = result.estimate.standard
    found = {}
    for j, joint in enumerate(result.robot.joints, start=1):
        R, p = (np.array(v, float) for v in joint.file_frame)
        mass = np.array([standard[f"M{s}{j}"] for s in "XYZ"]) / standard[f"M{j}"]
        found[joint.link] = R.T @ (mass - p)
    return found


def test_extents_hold_boxes_and_what_is_fixed_to_them(tmp_path):
    robot = arm(tmp_path, SHAPES)
    found = link_extents(robot)
    assert set(found) == {0, 1}
    R, p = (np.array(v, float) for v in robot.joints[1].file_frame)
    assert found[1].outside(R @ [0.29, 0.04, 0.04] + p) == 0
    assert found[1].outside(R @ [0.8, 0, 0] + p) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    "shape", ["sphere radius='0.1'", "cylinder radius='0.1' length='0.3'", "mesh filename='no.stl'"]
)
def test_other_shapes(tmp_path, shape):
    robot = arm(tmp_path, SHAPES | {"lower": f"<collision><geometry><{shape}/></geometry></collision>"})
    found = link_extents(robot)
    assert (1 in found) == ("mesh" not in shape)  # a mesh that is not there says nothing, and makes nothing up
    if 1 in found:
        half = (found[1].upper - found[1].lower) / 2
        assert 0.1 < half.min() < 0.2 and half.max() < 0.3


def test_centres_of_mass_stay_in_their_links(tmp_path):
    robot = arm(tmp_path, SHAPES)
    result = fitted(robot, [log_of(robot, HEAVY)], estimator="physical", effects=[])
    for link, length in (("upper", 0.4), ("lower", 0.3)):
        assert -0.1 < centres(result)[link][0] < length + 0.1
    bare = arm(tmp_path, {})
    free = fitted(bare, [log_of(bare, HEAVY)], estimator="physical", effects=[])
    assert max(c[0] for c in centres(free).values()) > 0.9  # what the boxes prevent
    assert any("has no shapes" in note for note in free.estimate.notes)
    assert result.training.relative == pytest.approx(free.training.relative, rel=0.01)


def test_a_tool_that_the_file_does_not_show_is_not_pressed_into_the_link(tmp_path):
    """The data say where it is, against the shapes; a remark asks what it carries."""
    robot = arm(tmp_path, SHAPES)
    long_tool = HEAVY | {"lower": (1.0, 2.5)}
    known = {"M2": 1.0}
    result = fitted(robot, [log_of(robot, long_tool)], estimator="physical", effects=[], fix=known)
    assert centres(result)["lower"][0] == pytest.approx(2.5, abs=0.1)
