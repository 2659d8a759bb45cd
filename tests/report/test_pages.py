"""Pages of the studio's components: filled, escaped, and drawn in a browser without a word of complaint."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minertia as mi
from minertia.excitation.options import MotionShape
from minertia.excitation.sweep import sweeps
from minertia.identification.comparison import compare_models
from minertia.io.errors import InputError, MinertiaError, MissingExtra
from minertia.report import bundle, pages, pdf
from minertia.report.blocks import BlockPage, CellTable, Chart, Links, NameCell, OffsetCell, Part, Words, figures
from minertia.report.fit_views import correlations, fit_view, titled
from minertia.report.folders import write_identification
from minertia.report.motions import sweeps_page
from minertia.robot.files import read_robot
from tests.arm import recorded_arm
from tests.identification.logs import table, write_csv
from tests.notebooks import shown
from tests.pages import need_build, page_data, page_text
from tests.studio.browser import Visit, need_browser
from tests.test_notebook import without

EVIL = '"></script><img src=x onerror=alert(1)>\u2028\u0007<!--'
NAMES = {"document": "rehearsal", "played": "sweeps"}  # of pages that are made of blocks
CODE = 600_000  # bytes of script and style in a page without the 3-D view


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """Results of the arm."""
    folder = recorded_arm(tmp_path_factory.mktemp("arm"))
    robot = replace(read_robot(folder / "arm.urdf"), name=EVIL)
    campaign = mi.Campaign(robot, folder / "a.csv", folder / "b.csv", effects=("viscous", "coulomb"))
    problem = mi.build_problem(campaign)
    result = mi.judge(problem, mi.solve(problem))
    other = mi.judge(problem, mi.solve(replace(problem, campaign=replace(campaign, estimator="robust"))))
    return SimpleNamespace(
        folder=folder, robot=robot, problem=problem, result=result, model=result.model(), other=other
    )


def comparison(found: SimpleNamespace) -> str:
    """Page of two models, with a log that both predict."""
    from minertia.identification.validate import predict_logs

    models = (found.model, found.other.model())
    predicted = [predict_logs(own, [found.folder / "c.csv"]) for own in models]
    return pages.comparison_page(compare_models(*models, (EVIL, "other")), predicted)


@pytest.fixture(scope="module")
def written(found: SimpleNamespace) -> dict[str, str]:
    """One page of each kind."""
    from minertia.identification.validate import predict_logs

    need_build()
    model, folder = found.model, found.folder
    logs = predict_logs(model, [folder / "c.csv"])
    limits = mi.motion_limits(found.robot, acceleration=20)
    motion = mi.excite(
        found.robot, mi.excitation.Fourier(4, 3), limits=limits, search=mi.options.MotionSearch(starts=1, n_samples=40)
    )
    load = mi.identify_payload(model, folder / "loaded.csv")
    return {
        "fit": pages.fit_page(found.result, model),
        "validation": pages.validation_page(model, EVIL, logs),
        "payload": pages.payload_page(load, EVIL),
        "significance": pages.significance_page(mi.significance(found.problem), found.problem),
        "comparison": comparison(found),
        "base": pages.base_page(mi.base_parameters(found.robot, rotors=True)),
        "motion": pages.motion_page(motion),
        "document": blocks().written(),
        "played": sweeps_page(sweeps(found.robot, MotionShape(duration=4, harmonics=3), limits=limits)).written(),
    }


def test_a_page_is_one_file_that_allows_its_own_script_alone(written: dict[str, str]) -> None:
    for kind, page in written.items():
        scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
        assert len(scripts) == 1, kind
        digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
        assert f"script-src 'sha256-{digest}'" in page and "default-src 'none'" in page
        assert f'name="minertia-page" content="{NAMES.get(kind, kind)}"' in page
        rest = page.replace(scripts[0], "")
        assert page_data(page)["kind"] == kind and not re.search(
            r"@import|<link|src=|url\(|https?:", rest.replace("src=x", "")
        )


def test_no_name_becomes_markup(written: dict[str, str]) -> None:
    for kind, page in written.items():
        assert "<img" not in page and "\u2028" not in page and "\u0007" not in page, kind
        assert page.count("</script>") == 2 and EVIL[:4] not in page.partition("<style>")[0]
        assert EVIL in page_data(page)["title"]  # and yet all of it is there


def test_data_end_no_script() -> None:
    text = bundle.as_data({EVIL: [1.5, None, "é"]})
    assert text.isascii() and not set("<>&") & set(text) and json.loads(text) == {EVIL: [1.5, None, "é"]}
    assert bundle.as_data({"a": [float("nan"), np.inf, 1.0]}) == '{"a":[null,null,1.0]}'  # which every browser reads


def test_code_in_a_page_is_small() -> None:
    need_build()
    assert (bundle.STATIC / bundle.PLAIN).stat().st_size < CODE
    assert (bundle.STATIC / bundle.SCENE).stat().st_size < 1_000_000


def test_without_the_templates_a_sentence_says_where_the_page_is(
    found: SimpleNamespace, tmp_path: Path, no_pages: None
) -> None:
    for result in (found.result, compare_models(found.model, found.model)):
        with pytest.raises(MinertiaError, match="install Node.js 20 or newer and run `make studio`, or install a wh"):
            mi.show(result)
    (note, *_) = write_identification(tmp_path / "out", found.result)
    assert note.where == "report.html" and note.text == bundle.NOT_WRITTEN
    assert {"model.toml", "result.json"} <= {p.name for p in (tmp_path / "out").iterdir()}
    assert not (tmp_path / "out" / "report.html").exists()


# ---------------------------------------------------------------------- what the views hold


def test_uploads_are_called_by_their_titles(found: SimpleNamespace) -> None:
    view = titled(fit_view(found.result, {}), {"a.csv": "the first run", "b.csv": EVIL})
    told = json.dumps(view)
    assert "the first run" in told and "a.csv" not in told and "b.csv" not in told
    assert view["logs"][0]["t"] == fit_view(found.result, {})["logs"][0]["t"]


def test_a_fit_without_some_values_has_a_view(found: SimpleNamespace, tmp_path: Path) -> None:
    """With the elbow held still some values are not excited; the others keep their nominal ones."""
    robot = read_robot(found.folder / "arm.urdf")
    t = np.arange(1600) / 200
    q = np.column_stack([np.sin(1.7 * t) + 0.4 * np.sin(3.1 * t), np.zeros_like(t)])
    qd = np.column_stack([1.7 * np.cos(1.7 * t) + 1.24 * np.cos(3.1 * t), np.zeros_like(t)])
    qdd = np.column_stack([-2.89 * np.sin(1.7 * t) - 3.844 * np.sin(3.1 * t), np.zeros_like(t)])
    tau = np.asarray(mi.inverse_dynamics(robot, q, qd, qdd))
    tau = tau + 0.01 * np.random.default_rng(0).normal(size=tau.shape)
    write_csv(tmp_path / "still.csv", table({"t": t, "q": q, "tau": tau}, q="q", tau="tau"))
    result = mi.identify(mi.Campaign(robot, tmp_path / "still.csv", effects=("viscous", "coulomb")))
    assert result.estimate.not_excited
    view = fit_view(result, {})
    nominal = dict(zip(result.linear.names, result.linear.nominal(), strict=True))
    assert [p["name"] for p in view["parameters"]] == [p.name for p in result.parameters]
    assert all(p["nominal"] == pytest.approx(nominal[p["name"]]) for p in view["parameters"])


def test_friction_as_measured_is_what_the_rest_leaves(found: SimpleNamespace) -> None:
    """The arm has 0.6 qd + 0.4 sign(qd) at its shoulder; the points lie about that curve."""
    log = next(log for log in fit_view(found.result, {})["logs"] if not log["is_fitted"])
    samples = log["samples"]
    qd, measured = np.array(samples["qd"][0]), np.array(samples["friction"][0])
    fast = np.abs(qd) > 0.5  # beside the jump, which the evaluation filter rounds off
    off = measured[fast] - (0.6 * qd + 0.4 * np.sign(qd))[fast]
    assert np.abs(off).max() < 0.1 and fast.sum() > 100
    left = np.array(samples["residual"][0]) - (measured - np.array(samples["model"][0]))
    assert np.abs(left).max() < 1e-3  # the same residual, seen twice


def test_spectrum_finds_the_motion(found: SimpleNamespace) -> None:
    """Most of the effort is at the frequencies of the motion, below 1 Hz; the residual is far below it there."""
    spectrum = fit_view(found.result, {})["logs"][0]["spectrum"]
    hz, effort, left = (np.array(x) for x in (spectrum["hz"], spectrum["effort"][0], spectrum["residual"][0]))
    assert hz[effort.argmax()] < 1.2 and (left < effort)[hz < 5].all()


def test_correlations() -> None:
    covariance = np.array([[4.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    found = correlations(("a", "b", "fixed"), covariance)
    assert found == {"names": ["a", "b"], "values": [[1.0, 0.5], [0.5, 1.0]]}


def test_models_are_compared_in_deviations(found: SimpleNamespace) -> None:
    model = found.model
    same = compare_models(model, model)
    assert not same.apart and not same.settings and {v.apart for v in same.values} == {0.0}
    first = {**model.parameters[0], "value": model.parameters[0]["value"] + 10 * model.parameters[0]["deviation"]}
    moved = compare_models(model, replace(model, parameters=(first, *model.parameters[2:])))
    assert [v.name for v in moved.apart] == [first["name"], model.parameters[1]["name"]]
    assert moved.apart[0].apart == pytest.approx(10 / np.sqrt(2)) and moved.apart[1].second is None
    assert "differ" in repr(moved) and len(repr(moved)) <= 200
    with pytest.raises(InputError, match="different robots"):
        compare_models(model, replace(model, linear=replace(model.linear, robot=read_robot("puma560"))))


# ---------------------------------------------------------------------- in a browser


# widths of all lines that plots draw
STROKES = """window.widths = [];
const stroke = CanvasRenderingContext2D.prototype.stroke;
CanvasRenderingContext2D.prototype.stroke = function (...path) {
  if (path.length) window.widths.push(this.lineWidth);
  return stroke.apply(this, path);
};"""
LOOKS = {"fit": (1440, "light"), "significance": (390, "dark")}


def test_pages_in_a_browser(chromium: Any, written: dict[str, str], tmp_path: Path) -> None:
    """Some pages, wide and narrow, light and dark."""
    for kind, (width, theme) in LOOKS.items():
        looked_at(chromium, kind, written[kind], tmp_path, width, theme)


def test_a_load_has_one_measure_of_uncertainty_and_names_the_flange(
    chromium: Any, found: SimpleNamespace, written: dict[str, str], tmp_path: Path
) -> None:
    """One figure above and in the table, said to be of a 95 % interval; fields in a frame that is named, or none."""
    load = mi.identify_payload(found.model, found.folder / "loaded.csv", flange=(0.1, 0.0, 0.0))
    for name, page in (("known", pages.payload_page(load, "arm")), ("unknown", written["payload"])):
        (tmp_path / f"{name}.html").write_text(page, encoding="utf-8")
    text = seen(chromium, tmp_path / "known.html")
    half = float(f"{1.96 * load.mass_deviation:.1e}")
    above = re.search(r"([\d.]+) ± ([\d.]+) kg \(95 % interval\)", text)
    row = re.search(r"^mass\s+([\d.]+)\s+([\d.]+)\s+kg", text, re.MULTILINE)
    assert above is not None and row is not None and above.groups() == row.groups()
    assert float(row[2]) == pytest.approx(half) and "± for 95 %" in text and "deviation" not in text
    assert "set_target_payload, in (0.1, 0, 0) from 'lower'" in text
    assert f"cog = [{load.com[0] - 0.1:.5g}".rstrip("0") in text
    text = seen(chromium, tmp_path / "unknown.html")
    assert "no flange frame on 'lower'" in text and "set_target_payload" not in text


def seen(chromium: Any, file: Path) -> str:
    """The text of a page once it has been drawn."""
    visit = Visit(chromium, file.as_uri())
    visit.go("")
    visit.page.get_by_role("heading", level=1).wait_for()
    text = str(visit.page.inner_text("body"))
    visit.context.close()
    return text


@pytest.mark.slow
def test_every_page_in_every_look(chromium: Any, written: dict[str, str], tmp_path: Path) -> None:
    for kind, page in written.items():
        for width in (1440, 390):
            for theme in ("light", "dark"):
                looked_at(chromium, kind, page, tmp_path, width, theme)


def looked_at(chromium: Any, kind: str, page: str, folder: Path, width: int, theme: str) -> None:
    """Nothing serious for axe, no error, no request to anywhere, nothing too wide, no link to nowhere."""
    file = folder / f"{kind}.html"
    file.write_text(page, encoding="utf-8")
    visit = Visit(chromium, file.as_uri(), width)
    visit.page.emulate_media(color_scheme=theme)
    visit.page.add_init_script(STROKES)
    visit.go("")
    visit.page.get_by_role("heading", level=1).wait_for()
    for link in visit.page.get_by_role("navigation", name="Contents").get_by_role("link").all():
        assert visit.page.locator(str(link.get_attribute("href"))).count() == 1
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width, kind
    assert visit.serious() == [] and visit.faults == [], kind
    if kind == "fit":
        _set_and_drawn(visit.page)
        _zoomed_by_keys(visit.page)
    if kind == "significance":
        _slid(visit.page)
    visit.context.close()


def test_a_notebook_shows_robots_and_results_in_frames(chromium: Any, found: SimpleNamespace, tmp_path: Path) -> None:
    """As Jupyter puts them into its page: the frame draws itself, and its contents list stays inside."""
    robot, load = (
        mi.show(mi.read_robot("planar2r")),
        mi.show(mi.identify_payload(found.model, found.folder / "loaded.csv")),
    )
    cells = "".join(f"<div>{shown(page)}</div>" for page in (robot, load))
    file = tmp_path / "notebook.html"
    file.write_text(
        f"<!DOCTYPE html><html lang='en'><title>notebook</title><body>{cells}</body></html>", encoding="utf-8"
    )
    visit = Visit(chromium, file.as_uri())
    visit.go("")
    first, second = visit.page.frame_locator("iframe").first, visit.page.frame_locator("iframe").last
    first.locator("canvas.scene").wait_for()
    first.get_by_label("q2").or_(first.locator("#q1")).first.fill("1")
    second.get_by_role("link", name="In the fields of controllers").click()
    second.get_by_role("heading", name="In the fields of controllers").wait_for()
    assert visit.faults == []
    visit.context.close()


def test_what_has_no_page_is_named() -> None:
    with pytest.raises(InputError, match="no page for 'int'.*Robot"):
        mi.show(3)


def test_a_page_shown_can_be_saved(found: SimpleNamespace, tmp_path: Path) -> None:
    page = mi.show(found.result)
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith(page.text.rstrip())
    assert len(repr(page)) <= 200 and "<iframe sandbox" in page._repr_html_()


def test_a_pdf_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "playwright")
    with pytest.raises(MissingExtra, match=r"pip install 'minertia\[pdf\]'"):
        pdf.require_browser()


@pytest.mark.slow
def test_a_pdf_is_printed_or_refused_in_a_sentence(written: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    need_browser()
    made = pdf.as_pdf(pages.robot_page(read_robot("planar2r")))
    assert made.startswith(b"%PDF-") and len(made) > 10_000
    monkeypatch.setattr(pdf, "BROWSERS", ("no such browser",))
    with pytest.raises(MinertiaError, match="Chromium"):
        pdf.require_browser()


def _set_and_drawn(page: Any) -> None:
    """Relations are set as mathematics; lines of many points are of one pixel, which software draws quickly."""
    letters = page.locator("#values math msub").first
    assert letters.locator("mi").text_content() == "ZZ" and letters.locator("mn").text_content() == "1"
    assert page.locator("#values math").nth(1).bounding_box()["width"] > 10
    assert page.evaluate("window.widths.filter((width) => width === 1).length") >= 6  # of two joints three curves each


def _zoomed_by_keys(page: Any) -> None:
    """A plot is reached and read with the keyboard: values at the cursor, and half of the curve after a plus."""
    plot = page.locator("#efforts .plot [tabindex='0']").first
    plot.focus()
    plot.press("ArrowRight")
    value = plot.locator(".u-legend .u-series:first-child .u-value")
    assert value.inner_text().endswith(" s")
    for _ in range(6):
        plot.press("+")
    at = value.inner_text()
    plot.press("ArrowRight")
    step = float(value.inner_text().split()[0]) - float(at.split()[0])
    assert 0 < step < 0.05  # steps get finer as the plot is zoomed


def _slid(page: Any) -> None:
    """The slider tells what fewer values cost."""
    slider = page.locator("#count")
    errors = page.locator("#curve .facts dd").first
    before = errors.inner_text()
    slider.fill("2")
    assert errors.inner_text() != before and "Removed" in page.locator(".dropped-line").inner_text()


# ---------------------------------------------------------------------- pages of blocks


def blocks() -> BlockPage:
    t = np.linspace(0.0, 1.0, 5000)
    lines = {EVIL: np.sin(30 * t), "other": np.cos(30 * t)}
    rows = [
        [NameCell("XXR3"), figures(-2345.6, 3), OffsetCell(-7.0, True)],
        ["<b>", figures(1.5e-7, 2), OffsetCell(0.5, False)],
    ]
    parts = [
        Part("Table", [Words(EVIL), CellTable(["parameter", "value", "off"], rows, right=(1,))]),
        Part("Charts", [Chart("a", "N m", t, lines), Chart("b", "1", t, lines, over="k", decades=3), Words("between")]),
        Part("Files", [Links([("a b.toml", "a%20b.toml")])]),
    ]
    return BlockPage(f"Title {EVIL}", "rehearsal", 1, "What it is.", {"count": 3}, parts)


def test_blocks_are_written_as_data() -> None:
    page = blocks().written()
    view = page_data(page)["view"]
    assert 'name="minertia-page" content="rehearsal"' in page and "<img" not in page
    assert "\u22122350" in page_text(page) and "a%20b.toml" in page_text(page)
    chart = view["parts"][1]["blocks"][1]["chart"]
    values = np.array(chart["lines"][0][1])
    assert chart["log"] and len(values) <= 1000 and values.min() == pytest.approx(1e-3, rel=1e-3)
    assert view["parts"][0]["blocks"][1]["table"]["rows"][0][2] == {"offset": -4.0, "far": True}
