"""The step Calibrate in a browser: measurements dropped, a calibration run, its errors drawn on the robot."""

from __future__ import annotations

import json

import numpy as np
import pytest

import minertia as mi
from minertia.identification.campaigns.options import CalibrationOptions
from minertia.identification.logs.options import ColumnMap
from minertia.report.pages import fit_page
from minertia.robot.files import read_robot
from tests.calibration.planted import arm, planted, write_csv
from tests.pages import need_build, page_data
from tests.studio.browser import Visit
from tests.studio.running import running

NAMES = tuple(f"q{j}" for j in range(1, 7))


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Folder with measurements of a UR10e with planted errors, fitted.csv and unseen.csv."""
    folder = tmp_path_factory.mktemp("measured")
    postures, _, _ = planted(arm("ur10e"), 40, 5)
    write_csv(folder / "fitted.csv", postures.take(np.arange(28)), NAMES)
    write_csv(folder / "unseen.csv", postures.take(np.arange(28, 40)), NAMES)
    return folder


def test_a_robot_is_calibrated_from_dropped_files(chromium, measured, tmp_path):
    project = tmp_path / "project"
    with running(project) as at:
        visit = Visit(chromium, at.entrance)
        page = visit.page
        visit.go("robot")
        page.get_by_role("combobox", name="Robot", exact=True).select_option("b:ur10e")
        page.get_by_role("link", name="Calibrate").click()
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Open measurements").click()
        chooser.value.set_files([measured / "fitted.csv", measured / "unseen.csv"])
        start = page.get_by_role("button", name="Calibrate", exact=True)
        page.get_by_role("group", name="Use of unseen.csv").get_by_role("button", name="predict").click()
        assert start.is_disabled()
        page.get_by_role("group", name="Use of fitted.csv").get_by_role("button", name="fit").click()
        page.get_by_role("combobox", name="unit of angles").select_option("rad")
        page.get_by_role("combobox", name="unit of lengths").select_option("m")
        for level in ("zeros", "geometry"):
            page.get_by_role("group", name="corrections").get_by_label(level).check()
        page.get_by_text("What was measured").click()
        page.get_by_role("button", name="Add a measurement").click()
        camera = page.get_by_role("textbox", name="camera intrinsics [pixels] (a, b, ...)")
        camera.fill("600,600.5 320,240")
        camera.blur()
        page.locator("input[value='600, 600.5, 320, 240']").wait_for()
        page.get_by_role("button", name="Remove measurement 1").click()
        start.click()
        page.get_by_role("heading", name="Errors on the robot").wait_for()
        page.get_by_text("after correction:").wait_for()
        assert page.locator("canvas.scene").is_visible()
        page.get_by_role("slider").fill("3")
        page.get_by_text("Posture 4:").wait_for()
        assert "posture" in page.locator(".plot .u-legend").first.inner_text()
        assert visit.serious() == [] and visit.faults == []
    (out,) = (project / "runs").glob("*-calibrate")
    found = json.loads((out / "result.json").read_text())
    assert found["verdict"]["good"] and found["levels"] == ["zeros", "geometry"]
    robots = (read_robot(out / "robot.toml"), read_robot("ur10e"))
    places = [np.array(robot.numeric.joints[2].p, float) for robot in robots]
    assert np.abs(places[0] - places[1]).max() > 1e-5


def test_arrows_end_where_the_targets_were_measured(measured):
    """Position and error of every arrow give the reading of the file, where the robot stands at its origin."""
    units = ColumnMap(angle="rad", length="m")
    options = CalibrationOptions(levels=("zeros", "geometry"))
    result = mi.calibrate("ur10e", measured / "fitted.csv", columns=units, options=options)
    (log,) = result.predictions()
    arrows = log.arrows()
    table = np.loadtxt(measured / "fitted.csv", delimiter=",", skiprows=1)
    readings = table[:, 6:].reshape(-1, 3, 3).transpose(1, 0, 2).reshape(-1, 3)
    base = np.array(result.to_dict()["base"])
    ends = (arrows.at + arrows.after) @ base[:3, :3].T + base[:3, 3]
    assert np.abs(ends - readings).max() < 1e-9
    sizes = [np.sqrt((x**2).sum(axis=1).mean()) for x in (arrows.before, arrows.after)]
    assert sizes[1] == pytest.approx(result.training.rms) and sizes[0] > 10 * sizes[1]
    need_build()
    view = page_data(fit_page(result, result.model()))["view"]
    assert view["logs"][0]["over"] == "posture" and len(view["logs"][0]["arrows"]["at"]) == len(readings)
    assert not view["physical"] and "filter of the fit" not in dict(view["made"])
    relative = {p["name"]: p["relative"] for p in view["parameters"]}
    assert relative == {p.name: pytest.approx(p.relative_deviation) for p in result.evidence.parameters}
