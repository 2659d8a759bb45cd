"""The step Wrench in a browser: the tool on a force/torque sensor from dropped poses, without a robot."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.identification.planted_wrench import PlantedTool, write_poses
from tests.studio.browser import Visit
from tests.studio.running import running


def test_a_tool_is_identified_from_dropped_poses(chromium, tmp_path):
    tool = PlantedTool.drawn(np.random.default_rng(5))
    poses = tool.poses(np.random.default_rng(6), 24)
    write_poses(tmp_path / "fit.csv", poses.take(np.arange(16)))
    write_poses(tmp_path / "later.csv", poses.take(np.arange(16, 24)))
    with running(tmp_path / "project") as at:
        visit = Visit(chromium, at.entrance)
        page = visit.page
        visit.go("wrench")
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Open measurements").click()
        chooser.value.set_files([tmp_path / "fit.csv", tmp_path / "later.csv"])
        page.get_by_role("group", name="Use of later.csv").get_by_role("button", name="predict").click()
        page.get_by_role("group", name="Use of fit.csv").get_by_role("button", name="fit").click()
        page.get_by_role("combobox", name="bias of the sensor").select_option("constant")
        assert "rigid tool" in page.get_by_role("combobox", name="axes of the wrench").inner_text()
        page.get_by_role("button", name="Identify the tool").click()
        page.get_by_role("heading", name="Residual over").wait_for()
        page.get_by_role("link", name="Runs").click()
        page.get_by_role("cell", name="tool on a sensor").wait_for()
        assert visit.serious() == [] and visit.faults == []
    (out,) = (tmp_path / "project" / "runs").glob("*-wrench")
    found = json.loads((out / "result.json").read_text())
    assert found["verdict"]["good"]
    assert found["load"][0]["value"] == pytest.approx(tool.load[0], abs=0.02)
