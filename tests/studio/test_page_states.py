"""The page when things change around it: another robot, a server that is killed, another tab, an editor, commas."""

from __future__ import annotations

import math
import os
import re
import signal
import socket
from pathlib import Path

import pytest

from minertia.io.documents import toml_document
from tests.arm import recorded_arm
from tests.studio.browser import Visit
from tests.studio.many_joints import sixty_joints
from tests.studio.running import client, done, running
from tests.studio.test_bindings import CAMPAIGN, served


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder of the command line, with a fit, code and a motion of its robot."""
    folder = recorded_arm(tmp_path_factory.mktemp("arm"))
    (folder / "campaign.toml").write_text(CAMPAIGN)
    with running(folder) as at, client(at) as c:
        for kind in ("check", "identify"):
            assert done(c, kind)["state"] == "done"
        assert done(c, "excite", duration=2.0, harmonics=2, patience=0.1)["state"] == "done"
        assert done(c, "generate", target="numpy", programs=["gravity"])["state"] == "done"
    return folder


@pytest.mark.slow  # tests/studio/test_bindings.py has the rule behind it
def test_results_of_another_robot_are_shown_as_such(chromium, fitted):
    """No green, a sentence, a labelled archive; going back makes them current."""
    with running(fitted) as at:
        visit = Visit(chromium, at.entrance)
        page = visit.page
        visit.go("excite")
        page.get_by_role("link", name="Motion (zip)").wait_for()
        assert page.locator(".dot.done").count() >= 4 and page.get_by_text("Not current").count() == 0
        for robot, is_other in (("b:planar2r", True), (None, False)):
            page.get_by_role("link", name=re.compile("^Robot")).click()
            choice = page.get_by_role("combobox", name="Robot", exact=True)
            choice.select_option(robot) if robot else choice.select_option(label="arm.urdf")
            page.get_by_role("heading", name="planar 2R" if is_other else "arm", exact=False).first.wait_for()
            for step, archive in (
                ("Excite", "Motion (zip)"),
                ("Code", "Download zip"),
                ("Validate", "Model and report"),
            ):
                page.get_by_role("link", name=step, exact=False).first.click()
                link = page.get_by_role("link", name=archive)
                link.wait_for()
                told = page.locator(".message.warn", has_text="computed for the robot arm.urdf").first
                if is_other:
                    told.wait_for()
                    assert "computed for the robot arm.urdf" in link.inner_text()
                    assert link.get_attribute("href").endswith("?old=true")
                else:
                    assert page.get_by_text("Not current").count() == 0
                    assert not link.get_attribute("href").endswith("?old=true")
            assert page.locator(".steps .dot.stale").count() == (4 if is_other else 0)
            if is_other:
                assert visit.serious() == []
        assert visit.faults == []
    assert (fitted / "campaign.toml").read_text() == CAMPAIGN


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.mark.slow  # tests/studio/test_bindings.py has the rule behind it
def test_a_killed_server_is_told_and_forgotten_when_another_comes(chromium, tmp_path):
    """A step that was never opened has a sentence instead of nothing; a job is interrupted, and run again."""
    port = free_port()
    process, entrance = served(tmp_path, port)
    try:
        visit = Visit(chromium, entrance)
        page = visit.page
        visit.go("robot")
        page.get_by_role("combobox", name="Robot", exact=True).select_option("b:puma560")
        page.get_by_role("link", name="Excite").click()
        page.get_by_label("starts").fill("20")
        page.get_by_role("button", name="Find a motion").click()
        page.get_by_role("status", name="Search for a motion").wait_for()
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    page.get_by_role("alert").get_by_text("The studio does not answer").wait_for()
    page.get_by_text("whether this still runs is not known").wait_for()
    page.get_by_role("link", name="Code").click()  # its files were never asked for
    page.get_by_role("heading", name="Code", exact=True).wait_for()
    assert page.get_by_role("button", name="Try again").is_visible()
    process, _ = served(tmp_path, port)
    try:
        page.get_by_role("button", name="Generate").wait_for()  # by itself
        assert page.get_by_role("alert").count() == 0
        page.get_by_role("link", name="Excite").click()
        page.get_by_text("Search for a motion was interrupted").wait_for()
        page.get_by_role("button", name="Run again").click()
        page.get_by_role("status", name="Search for a motion").wait_for()
        page.get_by_role("button", name="Cancel").click()
        page.get_by_text("Search for a motion was cancelled").wait_for()
    finally:
        process.terminate()
        process.communicate()


def test_two_tabs_and_an_editor(chromium, fitted):
    """The second tab is told, and chooses; what an editor writes is shown without a reload."""
    campaign = fitted / "campaign.toml"
    with running(fitted) as at:
        visit = Visit(chromium, at.entrance)
        one, two = visit.page, visit.context.new_page()
        two.set_default_timeout(60_000)
        asked = requests_of(two)
        for page in (one, two):
            page.goto(f"{visit.address}identify")
            page.get_by_label("low-pass").wait_for()
        two.evaluate("Object.defineProperty(document, 'visibilityState', {get: () => 'hidden'})")  # it looks no more
        one.get_by_label("low-pass").fill("8,5")  # a comma
        until_written(one, campaign, "cutoff_hz", 8.5)
        two.get_by_label("low-pass").fill("12")
        two.get_by_text("was changed elsewhere").wait_for()
        assert cutoff(campaign) == 8.5
        two.get_by_role("button", name="Reload").click()
        until_value(two, "low-pass", "8.5")
        two.get_by_label("low-pass").fill("9")
        until_written(two, campaign, "cutoff_hz", 9.0)
        until_quiet(two, asked)  # what it has read by then, the editor changes below
        campaign.write_text(campaign.read_text().replace("cutoff_hz = 9", "cutoff_hz = 9\norder = 6"))
        two.get_by_label("rate of the fit").fill("100")
        two.get_by_role("button", name="Keep mine").click()
        until_written(two, campaign, "rate_hz", 100)
        found = toml_document(campaign.read_text())["filter"]
        assert found == {"cutoff_hz": 9, "order": 6, "rate_hz": 100}  # theirs, too
        until_value(one, "rate of the fit", "100")  # the first tab looks by itself
        one.get_by_label("low-pass").fill("1.234,5")
        one.get_by_text("write a number, such as 0.5 or 0,5").wait_for()
        assert cutoff(campaign) == 9
        assert visit.faults == []
    campaign.write_text(CAMPAIGN)


def cutoff(campaign: Path) -> float | None:
    return toml_document(campaign.read_text()).get("filter", {}).get("cutoff_hz")


def until_written(page, campaign: Path, key: str, value: float) -> None:
    for _ in range(1200):
        if toml_document(campaign.read_text()).get("filter", {}).get(key) == value:
            page.get_by_text("saving …", exact=True).wait_for(state="detached")
            return
        page.wait_for_timeout(50)
    raise AssertionError(campaign.read_text())


def requests_of(page) -> set:
    """Requests of a page that are not answered yet."""
    asked: set = set()
    page.on("request", lambda request: asked.add(request))
    for event in ("requestfinished", "requestfailed"):
        page.on(event, lambda request: asked.discard(request))
    return asked


def until_quiet(page, asked: set) -> None:
    """A page that looks no more has read all that it wants; after a write it may ask twice, once in vain."""
    quiet = 0
    for _ in range(1200):
        page.wait_for_timeout(50)
        quiet = 0 if asked else quiet + 1
        if quiet >= 20:
            return
    raise AssertionError(asked)


def until_value(page, label: str, value: str) -> None:
    for _ in range(1200):
        if page.get_by_label(label).input_value() == value:
            return
        page.wait_for_timeout(50)
    raise AssertionError(page.get_by_label(label).input_value())


@pytest.mark.slow
def test_a_decimal_comma_all_the_way(chromium, tmp_path):
    """Logs as a German spreadsheet writes them: dropped, proposed, checked."""
    arm = recorded_arm(tmp_path)
    for name in ("a.csv", "b.csv"):
        (arm / name).write_text((arm / name).read_text().replace(",", ";").replace(".", ","))
    project = tmp_path / "project"
    with running(project) as at:
        visit = Visit(chromium, at.entrance)
        page = visit.page
        visit.go("robot")
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Open a file").click()
        chooser.value.set_files(arm / "arm.urdf")
        page.get_by_role("heading", name="arm", exact=True).wait_for()
        page.get_by_role("link", name="Data").click()
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Open logs").click()
        chooser.value.set_files([arm / "a.csv", arm / "b.csv"])
        page.get_by_role("heading", name="Columns", exact=True).wait_for()
        assert page.get_by_label("decimal sign").input_value() == ","
        page.get_by_label("unit of efforts").select_option("Nm")
        page.get_by_text("saved", exact=True).wait_for()
        page.get_by_role("button", name="Check", exact=True).click()
        page.get_by_text("The campaign can run").wait_for()
        assert visit.serious() == []
        assert visit.faults == []
    assert os.listdir(project / "uploads")


@pytest.mark.slow
def test_a_newcomer_with_german_currents_comes_to_a_verdict(chromium, tmp_path):
    """A folder of logs as a spreadsheet writes them: a robot, a paste of gains, one button; then the verdict."""
    arm, project, gain = recorded_arm(tmp_path), tmp_path / "project", (3.0, 2.0)
    project.mkdir()
    for name in ("a.csv", "b.csv"):
        head, *rows = [line.split(",") for line in (arm / name).read_text().split()]
        units = {"t": "Zeit [s]", "q": "Achse {} Position [°]", "tau": "Achse {} Strom [A]"}
        titles = [units[column.rstrip("12")].format(column[-1]) for column in head]
        scale = [1 if c == "t" else 180 / math.pi if c[0] == "q" else 1 / gain[int(c[-1]) - 1] for c in head]
        lines = [";".join(f"{float(v) * k:.9g}" for v, k in zip(row, scale, strict=True)) for row in rows]
        text = ";".join(titles) + "\n" + "\n".join(lines).replace(".", ",") + "\n"
        (project / f"Messung_{name}").write_bytes(text.encode("windows-1252"))
    (project / "arm.urdf").write_bytes((arm / "arm.urdf").read_bytes())
    with running(project) as at:
        visit = Visit(chromium, at.entrance)
        page = visit.page
        visit.go("robot")
        page.get_by_role("combobox", name="Robot", exact=True).select_option(label="arm.urdf")
        page.get_by_role("heading", name="arm", exact=True).wait_for()
        page.get_by_role("link", name="Data").click()
        page.get_by_role("heading", name="First rows").wait_for()
        page.get_by_label("gains of").first.click()
        page.evaluate(PASTE, "\t".join(str(k).replace(".", ",") for k in gain))
        page.get_by_text("saved", exact=True).wait_for()
        page.get_by_role("button", name="Check and identify").click()
        page.get_by_role("term").get_by_text("Predicts efforts").wait_for()
        assert page.locator(".stamp").inner_text() == "Good"
        assert visit.serious() == []
        assert visit.faults == []


@pytest.mark.slow
def test_a_robot_of_60_joints_is_drawn_in_parts(chromium, tmp_path):
    """Rows that are not seen are not drawn; the Tab key comes to the table once, and arrows go through its rows."""
    (tmp_path / "sixty.urdf").write_text(sixty_joints())
    with running(tmp_path) as at:
        visit = Visit(chromium, at.entrance)
        page = visit.page
        visit.go("robot")
        page.get_by_role("combobox", name="Robot", exact=True).select_option(label="sixty.urdf")
        count = int(page.get_by_role("heading", name=re.compile(r"^\d+ base parameters")).inner_text().split()[0])
        rows = page.locator("table.parameters tbody tr[data-row]")
        rows.first.wait_for()
        assert page.locator("*").count() < 10_000 and rows.count() < 150
        assert page.locator("table.parameters [tabindex='0']").count() == 1
        rows.first.focus()
        page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.dataset.row") == "1"
        table, last = page.locator(".scroll.tall", has=page.locator("table.parameters")), f"tr[data-row='{count - 1}']"
        for _ in range(60):  # parts have their own heights once they are seen
            table.evaluate("(e) => (e.scrollTop = 1e6)")
            page.wait_for_timeout(100)
            if page.locator(last).count():
                break
        assert page.locator(last).is_visible() and rows.count() < 150
        assert visit.serious() == []
        assert visit.faults == []


PASTE = """(text) => {
  const data = new DataTransfer();
  data.setData("text", text);
  const paste = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
  document.activeElement.dispatchEvent(paste);
}"""
