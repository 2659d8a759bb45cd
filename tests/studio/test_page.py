"""The page in a browser: a whole campaign from an empty folder, and what goes wrong on the way."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.simulated_fleet import FleetChange, SimulatedFleet
from benchmarks.simulated_store import simulated_store

from minertia.codegen.kernels import build
from minertia.dynamics.model import inverse_dynamics
from minertia.robot.files import read_robot
from minertia.studio.entrance import announced
from minertia.version import __version__
from tests.identification.logs import table, write_csv
from tests.shared import SHARED, needs_shared
from tests.studio.browser import Visit
from tests.studio.running import running


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Two logs of a PUMA 560 whose forearm is heavier than its file says."""
    folder, robot = tmp_path_factory.mktemp("logs"), read_robot("puma560_physical")
    truth = robot.with_payload(1.5, com=(0.0, 0.0, 0.1))
    rng = np.random.default_rng(0)
    for name, seed in (("fit.csv", 1), ("unseen.csv", 2)):
        phases = np.random.default_rng(seed)
        t = np.arange(1000) / 100
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
    project = tmp_path / "project"
    with running(project) as at:
        visit = Visit(chromium, at.entrance)
        robot_step(visit)
        data_step(visit, logs)
        identify_step(visit)
        code_step(visit, tmp_path / "code.zip", project)
        control_step(visit)
        visit.page.get_by_role("link", name="Runs").click()
        visit.page.get_by_role("heading", name="All runs").wait_for()
        runs_step(visit.page)
        assert visit.serious() == []
        assert visit.faults == []
    compiled(tmp_path / "code.zip", tmp_path)


def robot_step(visit: Visit) -> None:
    page = visit.page
    visit.go("robot")
    page.get_by_role("combobox", name="Robot", exact=True).select_option("b:puma560_physical")
    page.get_by_role("heading", name="40 base parameters").wait_for()
    assert page.locator("canvas.scene").is_visible()
    page.locator("table.parameters tbody tr").first.hover()
    assert page.locator("table.grid td.alone").count() > 10
    page.locator("#q1").fill("1")  # a slider; axe looks at this step on the small robot below


def data_step(visit: Visit, logs: Path) -> None:
    page = visit.page
    page.get_by_role("link", name="Data").click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open logs").click()
    chooser.value.set_files([logs / "fit.csv", logs / "unseen.csv"])
    page.get_by_role("heading", name="Columns", exact=True).wait_for()
    uses = page.get_by_role("group", name="Use of unseen.csv")
    uses.get_by_role("button", name="predict").click()
    page.get_by_role("group", name="Use of fit.csv").get_by_role("button", name="fit").click()
    page.get_by_label("unit of efforts").select_option("Nm")
    page.get_by_text("saved", exact=True).wait_for()
    page.get_by_role("button", name="Check", exact=True).click()
    page.get_by_text("The campaign can run").wait_for()
    assert page.locator(".plot canvas").count() == 2
    page.get_by_label("through the low-pass").first.check()
    page.get_by_text("filtered", exact=False).first.wait_for()
    assert visit.serious() == []


def identify_step(visit: Visit) -> None:
    page = visit.page
    page.get_by_role("link", name="Identify").click()
    run = page.get_by_role("button", name="Check and run")
    page.get_by_label("low-pass").fill("12")  # any change voids the check
    page.get_by_text("not checked as it stands now").wait_for()
    page.get_by_label("choose the effects").uncheck()
    page.get_by_text("saved", exact=True).or_(page.get_by_text("not checked as it stands now")).wait_for()
    run.click()
    page.get_by_role("status", name="Identification").wait_for()
    page.reload()  # in the middle
    page.get_by_role("button", name="Show the result").click()
    page.get_by_role("heading", name="Residual over effort").wait_for()
    assert page.url.endswith("-identify") and page.locator(".stamp").inner_text() in ("Good", "Not good")
    page.locator(".plot canvas").nth(5).wait_for()
    for look, title in (("against speed", "Residual"), ("friction curve", "Friction"), ("spectrum", "Residual")):
        page.get_by_role("button", name=look).click()
        page.get_by_role("heading", name=title, exact=True).wait_for()
    one_time(page)
    tables = page.get_by_role("group", name="Tables")
    tables.get_by_role("button", name="essential").click()
    cost = page.locator(".facts", has_text="multiplications").locator("dd").nth(2)
    all_of_it = cost.inner_text()
    page.get_by_role("slider", name="Number of values").fill("5")
    assert cost.inner_text() != all_of_it
    tables.get_by_role("button", name="correlations").click()
    page.get_by_role("heading", name="Correlations").wait_for()
    tables.get_by_role("button", name="residuals").click()
    assert page.get_by_text("nominal", exact=True).count() >= 2
    assert visit.serious() == []


def asked(page: Any) -> str:
    """The time in the address [s]."""
    return page.evaluate("new URLSearchParams(location.search).get('t')") or "nan"


def one_time(page: Any) -> None:
    """The player, the plots and the robot show one time; a reload shows the same again."""
    page.get_by_role("group", name="Look at").get_by_role("button", name="over time").click()
    for question in ("Predicts efforts", "Parameter accuracy"):
        assert page.get_by_role("term").get_by_text(question).is_visible()
    page.get_by_role("slider", name="Time").fill("200")
    for name, key in (("Seen from", "top"), ("Links drawn as", "glass"), ("Paint", "of the log")):
        page.get_by_role("group", name=name).get_by_role("button", name=key).click()
    page.get_by_label("path of the flange").check()
    places = "[...document.querySelectorAll('.u-now')].map((line) => line.getBoundingClientRect().x)"
    middle = page.evaluate(places)
    plot = page.locator(".plot .u-over").first
    for x in (30, 20):
        plot.hover(position={"x": x, "y": 20})
    until(page, lambda: all(now < then for now, then in zip(page.evaluate(places), middle, strict=True)))
    time = page.locator(".player output").inner_text()
    until(page, lambda: "camera=top" in page.url and "path=on" in page.url and f"{float(asked(page)):.2f} s" == time)
    page.reload()
    until(page, lambda: page.locator(".player output").count() == 1)
    assert page.locator(".player output").inner_text() == time
    pressed = page.locator(".stage-tools [aria-pressed=true]").all_inner_texts()
    assert pressed == ["top", "glass", "of the log"]


def code_step(visit: Visit, archive: Path, project: Path) -> None:
    page = visit.page
    page.get_by_role("link", name="Code").click()
    page.get_by_role("button", name="Generate").click()
    page.get_by_role("link", name="Download zip").wait_for()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download zip").click()
    download.value.save_as(archive)
    page.get_by_role("button", name="selftest.c").click()
    page.locator("pre").wait_for()
    if shutil.which("clang") and shutil.which("wasm-ld"):
        live_model(page, project)
    else:
        page.get_by_text("apt install").or_(page.get_by_text("no C compiler")).wait_for()
    assert visit.serious() == []


def live_model(page: Any, project: Path) -> None:
    """What the page computes is what Python computes, at its own states and where the sliders stand."""
    page.get_by_text("agrees with Python at 12 random states").wait_for()
    (model,) = project.glob("runs/*-identify/model.toml")
    robot = read_robot(str(model), letters=False)
    state = np.zeros((3, 6))
    for k, value in ((1, 0.8), (8, 0.5), (14, 2.0)):
        page.locator(f"#live{k}").fill(str(value))
        state.flat[k] = float(page.locator(f"#live{k}").input_value())
    wanted = np.asarray(inverse_dynamics(robot, *state))
    efforts = "[...document.querySelectorAll('.effort')].map((e) => Number(e.dataset.effort))"
    until(page, lambda: np.allclose(page.evaluate(efforts), wanted, rtol=0, atol=1e-9 * np.abs(wanted).max()))


def until(page: Any, holds: Callable[[], bool], tries: int = 600) -> None:
    """Wait for a condition; not by `wait_for_function`, whose second look the policy of the page forbids."""
    for _ in range(tries):
        if holds():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it never came about")


def control_step(visit: Visit) -> None:
    page = visit.page
    page.get_by_role("link", name="Control tracking").click()
    page.get_by_label("duration").fill("0.5")
    page.get_by_role("button", name="Follow a motion").click()
    page.get_by_role("heading", name="Tracking errors").wait_for()
    page.get_by_role("slider", name="Time").fill("100")
    page.get_by_role("group", name="Controllers").get_by_role("button", name="PD alone").click()
    page.get_by_role("heading", name="PD alone").wait_for()
    row = page.get_by_role("region", name="Tracking errors").locator("tbody tr").nth(1).locator("td").all_inner_texts()
    assert float(row[0]) < 0.1 * float(row[2])  # computed torque beside PD alone
    assert visit.serious() == []


def runs_step(page: Any) -> None:
    """A run is named and tagged, found by its tag, and deleted after one more question."""
    row = page.get_by_role("row").filter(has_text="identification")
    assert row.get_by_role("cell", name="12 Hz").is_visible()
    row.get_by_role("button", name="Edit").click()
    page.get_by_label("name of 0").fill("heavy forearm")
    page.get_by_label("tags of 0").fill("cold, day 1")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="heavy forearm").wait_for()
    page.get_by_label("Filter runs").fill("day 1 heavy")
    page.get_by_role("heading", name="1 of").wait_for()
    page.get_by_label("Filter runs").fill("control")
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete with its files").click()
    page.get_by_role("heading", name="0 of").wait_for()
    page.get_by_label("Filter runs").fill("")


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


def test_the_page_for_the_browser_opens_the_studio_and_nothing_else_does(chromium, tmp_path):
    with running(tmp_path / "project") as at, announced(tmp_path / "project", at.address, at.door.token) as page:
        context = chromium.new_context()
        tab = context.new_page()
        assert tab.goto(at.address + "robot").status == 401
        tab.get_by_text("open the address that the studio printed").wait_for()
        tab.goto(page.as_uri())  # from a file: another site than the studio
        tab.wait_for_url(at.address)
        tab.get_by_role("heading").first.wait_for()
        assert tab.evaluate("document.cookie") == "" and at.door.token not in tab.url
        assert tab.evaluate("fetch('/api/project').then((answer) => answer.status)") == 200
        context.close()
    assert not page.exists()


@pytest.mark.slow
def test_a_motion_is_cancelled_and_survives_restarts(chromium, tmp_path):
    """Cancel, wrong files, two tabs, a server that stops in the middle: a message each, and the page goes on."""
    project = tmp_path / "project"
    wrong, huge = tmp_path / "arm.urdf", tmp_path / "huge.urdf"
    wrong.write_text("<robot name='a'><link name='b'/>")
    with open(huge, "wb") as file:
        file.truncate(2 * 10**9)
    with running(project) as at:
        visit = Visit(chromium, at.entrance, width=390)
        page = visit.page
        visit.go("robot")
        for chosen, said in ((huge, "too large to be sent (2000 MB"), (wrong, "Reading the robot failed")):
            with page.expect_file_chooser() as chooser:
                page.get_by_role("button", name="Open a file").click()
            chooser.value.set_files(chosen)
            page.get_by_text(said).wait_for()
        page.get_by_role("combobox", name="Robot", exact=True).select_option("b:planar2r")
        page.get_by_role("heading", name="planar 2R").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert visit.serious() == []
        page.get_by_role("combobox", name="Robot", exact=True).select_option("b:puma560_physical")
        page.get_by_role("link", name="Excite").click()
        page.get_by_label("starts").fill("20")
        page.get_by_role("button", name="Add a box").click()
        page.get_by_label("centre x").fill("5")
        page.get_by_role("button", name="Find a motion").click()
        page.get_by_role("button", name="Cancel").click()
        page.get_by_text("Search for a motion was cancelled").wait_for()
        assert visit.serious() == []
        page.get_by_role("button", name="Find a motion").click()
        page.get_by_role("status", name="Search for a motion").wait_for()
        other = visit.context.new_page()  # a second tab: it shows the job that runs, and cannot start another
        other.goto(at.address + "excite")
        other.get_by_role("status", name="Search for a motion").wait_for()
        assert other.get_by_role("button", name="Find a motion").is_disabled()
        assert visit.faults == []
        visit.context.close()
    with running(project) as at:
        visit = Visit(chromium, at.entrance)
        visit.go("excite")
        visit.page.get_by_text("Search for a motion was interrupted").wait_for()
        visit.go("robot")
        visit.page.get_by_role("heading", name="PUMA 560, physical").wait_for()
        assert visit.faults == []


@pytest.mark.slow
@needs_shared
def test_a_real_log(chromium, tmp_path):
    """EMPS, a ball-screw axis: the published values of its mass and friction, from the file as it is."""
    log = SHARED / "data" / "emps" / "emps_id.csv.gz"
    with running(tmp_path / "project") as at:
        visit = Visit(chromium, at.entrance)
        page = visit.page
        visit.go("robot")
        page.get_by_role("combobox", name="Robot", exact=True).select_option("b:emps")
        page.get_by_role("heading", name="1 base parameters").wait_for()
        page.get_by_role("link", name="Data").click()
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Open logs").click()
        chooser.value.set_files(log)
        page.get_by_role("group", name="Use of emps_id.csv.gz").get_by_role("button", name="fit").click()
        page.get_by_label("unit of efforts").select_option("V")
        page.get_by_label("position of").select_option("q1")
        page.get_by_label("effort of", exact=False).first.select_option("u1")
        page.get_by_label("gains of").fill("35.15065188")
        page.get_by_text("saved", exact=True).wait_for()
        page.get_by_role("button", name="Check", exact=True).click()
        page.get_by_text("The campaign can run").wait_for()
        zoomed(page)
        page.get_by_role("link", name="Identify").click()
        page.get_by_label("choose the effects").uncheck()
        checked_and_run(page)  # which shows the result
        page.get_by_role("heading", name="Residual over effort").wait_for()
        compared(page)
        assert visit.faults == []
    model = min((tmp_path / "project").glob("runs/*-identify/result.json"))
    values = {p["name"]: p["value"] for p in json.loads(model.read_text())["parameters"]}
    assert any(abs(value - 95.1) < 1.5 for value in values.values()), values  # kg, as published
    assert any(abs(value - 203.5) < 6 for value in values.values()), values  # N s/m


def checked_and_run(page: Any) -> None:
    """After a change of the campaign: the check of it, and the fit."""
    page.get_by_text("not checked as it stands now").wait_for()
    page.get_by_role("button", name="Check and run").click()


def compared(page: Any) -> None:
    """A second fit with another low-pass, and both beside one another: what they have in common, and their curves."""
    page.get_by_role("link", name="Identify").click()
    page.get_by_label("low-pass").fill("30")
    checked_and_run(page)
    page.wait_for_url("**/validate/*")
    page.get_by_role("link", name="Runs").click()
    page.get_by_role("heading", name="Efforts as both predict them").wait_for()
    labels = page.locator(".plot .u-legend .u-label").all_inner_texts()
    assert [label.rstrip(":").partition("-")[2] for label in labels[2:4]] == ["identify", "identify"], labels
    assert labels[2] != labels[3]


def zoomed(page: Any) -> None:
    """A part of a long log is fetched when the curve is zoomed into; a double click shows all of it again."""
    plot = page.locator(".plot .u-over").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    with page.expect_response(lambda answer: "/curves/0?" in answer.url) as answer:
        page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 40)
        page.mouse.down()
        page.mouse.move(box["x"] + 0.52 * box["width"], box["y"] + 60, steps=4)
        page.mouse.up()
    t = answer.value.json()["t"]
    assert 300 < len(t) < 800 and t[-1] - t[0] < 0.7  # every sample of the part
    plot.dblclick()


@pytest.mark.slow
def test_a_file_is_dropped_with_its_meshes(chromium, tmp_path):
    """A cube in STL, found by its name though it has another one here; without it the page says what is missing.

    Hostile names of robots, links and joints are text.
    """
    (tmp_path / "drop").mkdir()
    text = "<robot name='cube'><link name='g'/><link name='hand'>{}</link><joint name='j' type='continuous'>"
    text += "<parent link='g'/><child link='hand'/><axis xyz='0 0 1'/></joint></robot>"
    shape = "<visual><geometry><mesh filename='package://elsewhere/meshes/Cube.stl'/></geometry></visual>"
    (tmp_path / "drop" / "cube.urdf").write_text(text.format(shape))
    (tmp_path / "drop" / "cube.stl").write_text(stl_cube())
    name = "<img src=x onerror=alert(1)>"
    escaped = name.replace("<", "&lt;").replace(">", "&gt;")
    (tmp_path / "drop" / "odd.urdf").write_text(text.replace("cube", escaped).replace("hand", escaped).format(""))
    with running(tmp_path / "project") as at:
        visit = Visit(chromium, at.entrance)
        page = visit.page
        visit.go("robot")
        for names, count in ((["cube.urdf"], 1), (["cube.urdf", "cube.stl"], 0)):
            with page.expect_file_chooser() as chooser:
                page.get_by_role("button", name="Open a file").click()
            with page.expect_response(lambda answer: answer.url.endswith("/view")):
                chooser.value.set_files([tmp_path / "drop" / name for name in names])
            page.get_by_role("heading", name="cube", exact=True).wait_for()
            until(page, lambda wanted=count: page.locator(".message.warn").count() == wanted)
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Open a file").click()
        chooser.value.set_files(tmp_path / "drop" / "odd.urdf")
        page.get_by_role("heading", name=name).wait_for()  # names never become markup
        assert page.locator("img").count() == 0
        assert visit.faults == []
    names = {p.name for p in (tmp_path / "project" / "uploads").iterdir()}
    assert len(names) == 4 and all(name.startswith(("robot-", "mesh-")) for name in names)


def stl_cube() -> str:
    """Corners of a cube, as triangles."""
    corners = [f"vertex {x} {y} {z}" for x in (0, 0.1) for y in (0, 0.1) for z in (0, 0.1)]
    facets = [corners[k : k + 3] for k in range(6)]
    lines = "".join(f"facet normal 0 0 0\nouter loop\n{chr(10).join(f)}\nendloop\nendfacet\n" for f in facets)
    return f"solid cube\n{lines}endsolid cube\n"


@pytest.mark.slow
def test_a_fleet_at_a_glance_and_one_robot_over_its_days(chromium, tmp_path):
    """A store in the folder makes the step appear; the robot whose friction grew stands first."""
    changes = (FleetChange(0, "dry", 0.5, 11, 1),)
    simulated_store(str(tmp_path / "store"), SimulatedFleet(7, 18, 4, changes, programs=3))
    with running(tmp_path) as at:
        visit = Visit(chromium, at.entrance)
        page = visit.page
        visit.go("fleet")
        page.get_by_label("training days").fill("10")
        page.get_by_role("button", name="Judge").click()
        page.get_by_role("heading", name="1 of 7 robots needs an inspection").wait_for()
        assert page.get_by_role("region", name="Robots to inspect").get_by_text("1 joint changed").is_visible()
        assert page.get_by_role("heading", name="r000 over its days").is_visible()
        page.get_by_role("button", name="r003", exact=False).first.click()
        page.get_by_role("heading", name="r003 over its days").wait_for()
        assert page.url.endswith("/fleet/r003")
        assert page.locator(".plot canvas").count() >= 2
        assert visit.serious() == []
        assert visit.faults == []
