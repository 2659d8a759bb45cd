"""The page of an exciting motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minertia import read_robot
from minertia.excitation.excite import excite
from minertia.excitation.limits import motion_limits
from minertia.excitation.options import MotionSearch
from minertia.report.motions import _edges, played_view
from minertia.report.pages import motion_page
from tests.pages import page_data


@pytest.fixture(scope="module")
def result():
    robot = read_robot("planar2r")
    joints = tuple(replace(joint, name=f"</script><b>{k}") for k, joint in enumerate(robot.joints))
    robot = replace(robot, joints=joints, name="<img>")
    return excite(
        robot, limits=motion_limits(robot, velocity=1.0, acceleration=3.0), search=MotionSearch(starts=1, patience=0.1)
    )


def test_page_is_escaped_and_played(result):
    page = motion_page(result)
    assert "<img" not in page and "</script><b>" not in page
    view = page_data(page)["view"]
    assert view["joints"] == list(result.limits.names) and "<img>" in view["headline"] + page_data(page)["title"]
    assert len(view["postures"]["t"]) == len(view["postures"]["q"]) == 241
    assert view["postures"]["t"][-1] == result.motion.duration
    end = result.motion.at(np.array([result.motion.duration]))[0][0]
    np.testing.assert_allclose(view["postures"]["q"][-1], end, atol=1e-5)


def test_what_stands_around_is_drawn():
    robot = read_robot("planar2r")
    view = played_view(robot, motion_limits(robot), np.zeros(1), np.zeros((1, 2)))
    assert view["boxes"] == [] and view["rooms"] == []
    edges = _edges(np.zeros(3), np.eye(3), (1.0, 2.0, 3.0))
    lengths = sorted(float(np.linalg.norm(np.subtract(a, b))) for a, b in edges)
    assert lengths == [2.0] * 4 + [4.0] * 4 + [6.0] * 4
