"""The page in a browser: a whole campaign from an empty folder, and what goes wrong on the way."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

from minertia.codegen.kernels import build
from minertia.dynamics.model import inverse_dynamics
from minertia.robot.read import read_robot
from minertia.version import __version__
from tests.identification.logs import table, write_csv
from tests.studio.browser import Visit, browser, need_browser
from tests.studio.running import running


@pytest.fixture(scope="module")
def chromium():
    need_browser()
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Two logs of a PUMA 560 whose forearm is heavier than its file says."""
    folder, robot = tmp_path_factory.mktemp("logs"), read_robot("puma560_physical")
    truth = robot.with_payload(1.5, com=(0.0, 0.0, 0.1))
    rng = np.random.default_rng(0)
    for name, seed in (("fit.csv", 1), ("unseen.csv", 2)):
        phases = np.random.default_rng(seed)
        t = np.arange(2000) / 200
        q = qd = qdd = np.zeros((len(t), 6))
        for k in range(1, 6):
            w, a, b = 2 * np.pi * 0.1 * k, *phases.normal(size=(2, 6)) * 0.45 / k
            q = q + a * np.sin(w * t)[:, None] + b * np.cos(w * t)[:, None]
            qd = qd + w * (a * np.cos(w * t)[:, None] - b * np.sin(w * t)[:, None])
            qdd = qdd - w**2 * (a * np.sin(w * t)[:, None] + b * np.cos(w * t)[:, None])
        tau = np.asarray(inverse_dynamics(truth, q, qd, qdd))
        tau = tau + 0.01 * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
        write_csv(folder / name, table({"t": t, "q": q, "tau": tau}, q="q", tau="tau"))
    return folder


def test_a_campaign_of_the_puma_from_an_empty_folder_to_c(chromium, logs, tmp_path):
    with running(tmp_path / "project") as at:
        visit = Visit(chromium, at.address)
        page = visit.page
        visit.go("robot")
        page.get_by_role("combobox", name="Robot", exact=True).select_option("b:puma560_physical")
        page.get_by_role("heading", name="40 base parameters").wait_for()
        assert page.locator("canvas.scene").is_visible()
        page.locator("table.parameters tbody tr").first.hover()
        assert page.locator("table.grid td.alone").count() > 10
        page.locator("#q1").fill("1")  # a slider
        assert visit.serious() == []

        page.get_by_role("link", name="Data").click()
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Open logs").click()
        chooser.value.set_files([logs / "fit.csv", logs / "unseen.csv"])
        page.get_by_role("heading", name="Columns", exact=True).wait_for()
        uses = page.get_by_role("group", name="Use of unseen.csv")
        uses.get_by_role("button", name="predict").click()
        page.get_by_role("group", name="Use of fit.csv").get_by_role("button", name="fit").click()
        page.get_by_label("unit of efforts").select_option("Nm")
        page.get_by_text("in campaign.toml").wait_for()
        page.get_by_role("button", name="Check", exact=True).click()
        page.get_by_text("The campaign can run").wait_for()
        assert page.locator(".plot canvas").count() == 2
        assert visit.serious() == []

        page.get_by_role("link", name="Identify").click()
        run = page.get_by_role("button", name="Run", exact=True)
        assert run.is_enabled()
        page.get_by_label("low-pass").fill("12")  # any change voids the check
        page.get_by_text("not checked as it stands now").wait_for()
        assert run.is_disabled()
        page.get_by_label("choose the effects").uncheck()
        page.get_by_text("in campaign.toml").or_(page.get_by_text("not checked as it stands now")).wait_for()
        page.get_by_role("button", name="Check", exact=True).click()
        page.get_by_text("checked: nothing stands against it").wait_for()
        assert visit.serious() == []
        run.click()
        page.get_by_role("status", name="Identification").wait_for()
        page.reload()  # in the middle
        page.get_by_role("button", name="Look at it").click()

        page.get_by_role("heading", name="Residual over effort").wait_for()
        assert page.url.endswith("-identify") and page.locator(".stamp").inner_text() in ("Good", "Not good")
        page.locator(".plot canvas").nth(5).wait_for()
        for look, title in (("against speed", "Residual"), ("friction curve", "Friction"), ("spectrum", "Residual")):
            page.get_by_role("button", name=look).click()
            page.get_by_role("heading", name=title, exact=True).wait_for()
        cost = page.locator(".facts", has_text="multiplications").locator("dd").nth(2)
        all_of_it = cost.inner_text()
        page.get_by_role("slider", name="Number of values").fill("5")
        assert cost.inner_text() != all_of_it
        page.get_by_role("heading", name="Correlations").wait_for()
        assert page.get_by_text("nominal", exact=True).count() >= 2
        assert visit.serious() == []

        page.get_by_role("link", name="Code").click()
        page.get_by_role("button", name="Generate").click()
        page.get_by_role("link", name="Download zip").wait_for()
        with page.expect_download() as download:
            page.get_by_role("link", name="Download zip").click()
        archive = tmp_path / "code.zip"
        download.value.save_as(archive)
        page.get_by_role("button", name="selftest.c").click()
        page.locator("pre").wait_for()
        assert visit.serious() == []
        page.get_by_role("link", name="Runs").click()
        page.get_by_role("heading", name="All runs").wait_for()
        assert visit.serious() == []
        assert visit.faults == []
    compiled(archive, tmp_path)


def compiled(archive: Path, place: Path) -> None:
    """The archive's own self-test, compiled and run."""
    zipfile.ZipFile(archive).extractall(place / "code")
    compiler = build.find_compiler()
    (test,) = (place / "code").glob("*/selftest.c")
    assert f"minertia {__version__}" in "".join(p.read_text() for p in test.parent.glob("*.h")) or test.is_file()
    if compiler is None:
        pytest.skip("no C compiler to try the archive with")
    sources = [str(p) for p in test.parent.glob("*.c")]
    subprocess.run([*compiler.command, "-std=c99", "-o", str(place / "test"), *sources, "-lm"], check=True)
    subprocess.run([str(place / "test")], check=True, capture_output=True)


def test_a_motion_is_cancelled_and_survives_restarts(chromium, tmp_path):
    """Cancel, a wrong file, a server that stops in the middle: a message each, and the page goes on."""
    project = tmp_path / "project"
    wrong = tmp_path / "arm.urdf"
    wrong.write_text("<robot name='a'><link name='b'/>")
    with running(project) as at:
        visit = Visit(chromium, at.address, width=390)
        page = visit.page
        visit.go("robot")
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Open a file").click()
        chooser.value.set_files(wrong)
        page.get_by_text("Reading the robot failed").wait_for()
        page.get_by_role("combobox", name="Robot", exact=True).select_option("b:planar2r")
        page.get_by_role("heading", name="planar 2R").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert visit.serious() == []
        page.get_by_role("combobox", name="Robot", exact=True).select_option("b:puma560_physical")
        page.get_by_role("link", name="Excite").click()
        page.get_by_label("searches").fill("20")
        page.get_by_role("button", name="Find a motion").click()
        page.get_by_role("button", name="Cancel").click()
        page.get_by_text("Search for a motion was cancelled").wait_for()
        assert visit.serious() == []
        page.get_by_role("button", name="Find a motion").click()
        page.get_by_role("status", name="Search for a motion").wait_for()
        assert visit.faults == []
        visit.context.close()
    with running(project) as at:
        visit = Visit(chromium, at.address)
        visit.go("excite")
        visit.page.get_by_text("Search for a motion was interrupted").wait_for()
        visit.go("robot")
        visit.page.get_by_role("heading", name="PUMA 560, physical").wait_for()
        assert visit.faults == []


def test_hostile_names_are_text(chromium, tmp_path):
    """Names of robots, links and logs never become markup."""
    name = "<img src=x onerror=alert(1)>"
    escaped = name.replace("<", "&lt;").replace(">", "&gt;")
    text = f"<robot name='{escaped}'><link name='g'/><link name='{escaped}'/><joint name='{escaped}' type='continuous'>"
    text += f"<parent link='g'/><child link='{escaped}'/><axis xyz='0 0 1'/></joint></robot>"
    (tmp_path / "arm.urdf").write_text(text)
    with running(tmp_path) as at:
        visit = Visit(chromium, at.address)
        visit.go("robot")
        key = visit.page.get_by_role("combobox", name="Robot", exact=True).locator(
            "optgroup[label='In the folder'] option"
        )
        visit.page.get_by_role("combobox", name="Robot", exact=True).select_option(key.first.get_attribute("value"))
        visit.page.get_by_role("heading", name=name).wait_for()
        assert visit.page.locator("img").count() == 0 and visit.faults == []
