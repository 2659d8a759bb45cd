"""The studio in a browser: first picture, moving 6 and 60 joints, a million samples, fifty readers; wall time."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.studio.browser import Visit, browser, missing
from tests.studio.many_joints import sixty_joints
from tests.studio.running import client, done, running, uploaded

from benchmarks.long_log import ARM, write_log
from benchmarks.measure import Row
from benchmarks.studio_load import loaded
from minertia.studio.serve import STATIC

SAMPLES = 1_000_000
FIRST, INTERACTION, BYTES, FREEZE = 3.0, 0.1, 1.5e6, 0.1  # goals: s, s, bytes, s
ROUNDS = 15
# one change of a slider until the picture after it is on the screen
MOVED = """async (k) => {
  const slider = document.querySelector("#q1");
  const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
  const begun = performance.now();
  set.call(slider, String(0.02 * k));
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - begun;
}"""
# the longest time without a picture while something is done
WATCH = """() => {
  window.longest = 0;
  let last = performance.now();
  const look = (now) => {
    window.longest = Math.max(window.longest, now - last);
    last = now;
    requestAnimationFrame(look);
  };
  requestAnimationFrame((now) => { last = now; look(now); });
}"""


def rows() -> Iterator[Row]:
    """Times in the browser; none where there is no browser or no page."""
    why = missing()
    if why is not None:
        print(f"studio: not measured, {why}")
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with running(folder / "project") as at, client(at) as c, browser() as chromium:
            c.put("/api/robot", json={"bundled": ARM}).raise_for_status()
            done(c, "robot")
            yield from _robot(chromium, at.entrance)
            write_log(folder / "log.parquet", SAMPLES)
            yield from _log(chromium, at.entrance, c, folder / "log.parquet")
        (folder / "many").mkdir()
        (folder / "many" / "sixty.urdf").write_text(sixty_joints())
        with running(folder / "many") as at, browser() as chromium:
            yield _many(chromium, at.entrance)
    yield loaded()


def _robot(chromium: Any, address: str) -> Iterator[Row]:
    firsts = [_first_picture(chromium, address) for _ in range(5)]
    size = sum(path.stat().st_size for path in STATIC.rglob("*") if path.is_file())
    note = f"goal below {FIRST:g} s; page of {size / 1e6:.2f} MB in all, goal below {BYTES / 1e6:g} MB"
    yield Row(f"{ARM}: empty cache to the robot in 3-D", statistics.median(firsts), note=note)
    visit = Visit(chromium, address)
    visit.go("robot")
    yield _moved(visit, ARM)


def _many(chromium: Any, address: str) -> Row:
    """A robot of 60 joints; its first job takes most of the time."""
    visit = Visit(chromium, address)
    visit.page.set_default_timeout(300_000)
    visit.go("robot")
    visit.page.get_by_role("combobox", name="Robot", exact=True).select_option(label="sixty.urdf")
    visit.page.locator("table.parameters tbody tr").first.wait_for()
    return _moved(visit, "60 joints")


def _moved(visit: Visit, robot: str) -> Row:
    """A joint is moved by its slider."""
    visit.page.locator("#q1").wait_for()
    visit.page.wait_for_timeout(500)
    moves = [visit.page.evaluate(MOVED, k) / 1e3 for k in range(ROUNDS)]
    visit.context.close()
    note = f"goal below {1e3 * INTERACTION:g} ms; largest of {ROUNDS}: {1e3 * max(moves):.0f} ms; 3-D in software"
    return Row(f"{robot}: slider to the next picture", statistics.median(moves), note=note)


def _first_picture(chromium: Any, address: str) -> float:
    visit = Visit(chromium, address)
    begun = time.perf_counter()
    visit.go("robot")
    visit.page.locator("canvas.scene").wait_for()
    visit.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    seconds = time.perf_counter() - begun
    visit.context.close()
    return seconds


def _log(chromium: Any, address: str, c: Any, log: Path) -> Iterator[Row]:
    """A log is dropped, checked, plotted and zoomed into."""
    key = uploaded(c, "log", log).json()["key"]
    columns = {"t": "t", "q": "q{j}", "effort": "tau{j}", "effort_unit": "Nm"}
    c.put("/api/campaign", json={"train": [key], "columns": columns}).raise_for_status()
    begun = time.perf_counter()
    job = done(c, "check")
    assert job["state"] == "done", job
    yield Row(f"{SAMPLES:.0e} samples: check", time.perf_counter() - begun, note="read, audited, filtered, kept")
    visit = Visit(chromium, address)
    visit.go("data")
    plot = visit.page.locator(".plot .u-over").first
    begun = time.perf_counter()
    plot.wait_for()
    seconds = time.perf_counter() - begun
    visit.page.evaluate(WATCH)
    zooms = [_zoomed(visit.page, plot, k) for k in range(5)]
    longest = visit.page.evaluate("window.longest") / 1e3
    visit.context.close()
    yield Row(f"{SAMPLES:.0e} samples: address to the plot", seconds)
    note = (
        f"every sample of the part; longest time without a picture {1e3 * longest:.0f} ms, goal below {1e3 * FREEZE:g}"
    )
    yield Row(f"{SAMPLES:.0e} samples: zoom to all points of the part", statistics.median(zooms), note=note)


def _zoomed(page: Any, plot: Any, k: int) -> float:
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    x, y = box["x"] + (0.2 + 0.1 * k) * box["width"], box["y"] + 40
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 30, y + 20, steps=4)
    begun = time.perf_counter()
    with page.expect_response(lambda answer: "/curves/" in answer.url):
        page.mouse.up()
    seconds = time.perf_counter() - begun
    page.wait_for_timeout(200)
    plot.dblclick()
    page.wait_for_timeout(300)
    return seconds
