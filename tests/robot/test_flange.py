"""Which frame of a robot's file is its flange."""

from __future__ import annotations

import numpy as np
import pytest

from minertia.io.errors import InputError
from minertia.robot.files import read_robot, write_robot
from minertia.robot.flange import NoFlange, find_flange, load_frame

ARM = """<robot name="arm"><link name="ground"/><link name="link_1"/><link name="link_2"/>
<joint name="a" type="continuous"><parent link="ground"/><child link="link_1"/><axis xyz="0 0 1"/></joint>
<joint name="b" type="continuous"><parent link="link_1"/><child link="link_2"/><origin xyz="0 0 0.3"/>
<axis xyz="0 1 0"/></joint>{frames}</robot>"""
FRAME = """<link name="{name}"/><joint name="to_{name}" type="fixed"><parent link="{parent}"/><child link="{name}"/>
<origin xyz="0 {y} 0" rpy="{rpy}"/></joint>"""
OUT, ACROSS = "-1.5707963 0 0", "0 0 1.5707963"  # z, or x, along the last joint's axis


def arm(tmp_path, *frames):
    """A robot with frames (name, distance, angles, link)."""
    texts = [FRAME.format(name=n, y=y, rpy=rpy, parent=p) for n, y, rpy, p in frames]
    (tmp_path / "arm.urdf").write_text(ARM.format(frames="".join(texts)))
    return read_robot(tmp_path / "arm.urdf")


@pytest.mark.parametrize(
    "name", ["tool0", "left_tool0", "ur/tool0", "flange", "my_flange_link", "link_3", "iiwa_link_ee"]
)
def test_names(tmp_path, name):
    found = find_flange(arm(tmp_path, (name, 0.1, OUT, "link_2"), ("camera", 0.2, OUT, "link_2")), None)
    assert found.name == name and np.allclose(found.pose[1], [0, 0.1, 0])
    assert np.allclose(found.centre([0, 0.14, 0]), [0, 0, 0.04], atol=1e-6)


def test_the_controllers_own_frame_comes_first_and_turned_ones_are_none(tmp_path):
    """Where both are there, ROS-Industrial's `flange` has x along the last axis; alone it is not the controller's."""
    both = arm(tmp_path, ("flange", 0.1, ACROSS, "link_2"), ("tool0", 0.1, OUT, "link_2"))
    assert find_flange(both, None).name == "tool0"
    with pytest.raises(NoFlange, match=r"'ee_link' has its z axis perpendicular.*--flange NAME"):
        find_flange(arm(tmp_path, ("ee_link", 0.1, ACROSS, "link_2")), None)


@pytest.mark.parametrize("name", ["camera", "link_4", "fr3_link3", "link_2", "flange_camera", "tool01", "end"])
def test_names_of_other_things(tmp_path, name):
    frames = [] if name == "link_2" else [(name, 0.1, OUT, "link_2")]
    with pytest.raises(NoFlange, match="no flange frame on 'link_2'"):
        find_flange(arm(tmp_path, *frames), None)


def test_two_arms_and_a_hand_with_fingers(tmp_path):
    """A flange before the last link carries the load; of two flanges on other links neither is guessed."""
    hand = arm(tmp_path, ("tool0", 0.1, OUT, "link_1"))
    assert load_frame(hand, None) == "tool0" and load_frame(hand, "link_2") == "link_2"
    with pytest.raises(NoFlange, match="'link_2'"):
        find_flange(hand, "link_2")
    two = arm(tmp_path, ("left_tool0", 0.1, OUT, "link_2"), ("right_tool0", 0.2, OUT, "link_2"))
    with pytest.raises(NoFlange, match="the file has several candidates for the flange"):
        find_flange(two, None)
    assert find_flange(two, None, "right_tool0").pose[1][1] == pytest.approx(0.2)
    with pytest.raises(InputError, match="on another link"):
        find_flange(hand, "link_2", "tool0")


@pytest.mark.parametrize("given", [(1, 2), (1, 2, 3, 4), (1, 2, np.nan), (1e9, 0, 0), ("x", 1, 2), ()])
def test_offsets_that_are_none(tmp_path, given):
    with pytest.raises(InputError, match="3 or 6 numbers"):
        find_flange(arm(tmp_path), None, given)


def test_an_offset_turns_as_urdf_does(tmp_path):
    rpy = (0.3, -0.4, 1.1)
    told = arm(tmp_path, ("tool0", 0.1, " ".join(map(str, rpy)), "link_2"))
    own, given = find_flange(told, None), find_flange(told, None, (0, 0.1, 0, *rpy))
    assert np.allclose(np.array(own.pose[0], float), np.array(given.pose[0], float), atol=1e-6)


def test_a_site_of_mjcf_is_a_flange_and_stays_where_it_is(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "arm.xml").write_text(
        '<mujoco><worldbody><body name="one"><joint name="a" axis="0 1 0"/><inertial pos="0 0 0" mass="1" '
        'diaginertia="1 1 1"/><site name="attachment_site" pos="0 0.1 0" quat="-1 1 0 0"/><site name="imu"/></body>'
        "</worldbody></mujoco>"
    )
    robot = read_robot(tmp_path / "arm.xml")
    assert set(robot.frames) == {"world", "one", "attachment_site"}
    assert find_flange(robot, None).pose[1] == pytest.approx((0, 0.1, 0))
    heavier = robot.with_payload(1.0, at="attachment_site")
    for path in ("new.xml", "new.urdf", "changed.xml"):
        write_robot(heavier, tmp_path / path, **({"template": tmp_path / "arm.xml"} if path == "changed.xml" else {}))
        again = read_robot(tmp_path / path)
        assert find_flange(again, None).name == "attachment_site"
        assert again.frames["attachment_site"].pose[1] == pytest.approx((0, 0, 0.1))  # in the joint's frame
        assert again.links[0][9] == pytest.approx(2.0)
