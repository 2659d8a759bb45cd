"""The page of an exciting motion."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from minertia import read_robot
from minertia.excitation.excite import excite
from minertia.excitation.limits import motion_limits
from minertia.excitation.options import MotionSearch
from minertia.report.charts import ticks
from minertia.report.excite_page import excite_page, link_points
from minertia.report.line_chart import line_chart


@pytest.fixture(scope="module")
def result():
    robot = read_robot("planar2r")
    joints = tuple(replace(joint, name=f"</script><b>{k}") for k, joint in enumerate(robot.joints))
    robot = replace(robot, joints=joints, name="<img>")
    return excite(
        robot, limits=motion_limits(robot, velocity=1.0, acceleration=3.0), search=MotionSearch(starts=1, patience=0.1)
    )


def test_page_is_self_contained_and_escaped(result):
    text = excite_page(result)
    assert "<img" not in text and "</script><b>" not in text
    assert not re.search(r"(src|href)\s*=|https?://|@import|url\(", text)
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert text.count("<script") == 2 and text.count("<svg") == 3


def test_preview_data_are_the_motion(result):
    text = excite_page(result)
    data = json.loads(re.search(r'id="motion">(.*?)</script>', text, re.DOTALL)[1])
    assert len(data["t"]) == len(data["points"]) == 201
    assert data["t"][-1] == result.motion.duration
    assert data["lines"][0] == [0, 1]


def test_link_points_keep_their_lengths():
    robot = read_robot("puma560")
    q = np.random.default_rng(0).normal(size=(20, 6))
    points, lines = link_points(robot, q)
    for a, b in lines:
        lengths = np.linalg.norm(points[:, a] - points[:, b], axis=1)
        np.testing.assert_allclose(lengths, lengths[0], atol=1e-12)


def test_charts():
    assert ticks(-1.03, 1.03, 6) == pytest.approx([-1, -0.5, 0, 0.5, 1])
    t = np.linspace(0, 1, 50)
    flat = line_chart("still", "rad", t, {"<j>": np.zeros(50)})
    assert "&lt;j&gt;" in flat and "nan" not in flat
