"""`minertia rehearse` and the rehearsal at the end of `minertia demo`: files, JSON, page, and clear sentences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minertia.cli import demo
from minertia.codegen.kernels import build
from minertia.io.errors import MissingExtra
from minertia.report import pdf
from minertia.simulation import rehearsal
from tests.conftest import Run
from tests.pages import page_data, page_text
from tests.test_cli import ARM


def test_rehearse_a_small_arm(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mujoco")
    monkeypatch.setattr(pdf, "require_browser", lambda: None)
    monkeypatch.setattr(pdf, "as_pdf", lambda page: b"%PDF- of " + page.encode())
    args = ("--rate", 250, "--duration", 4, "--harmonics", 3, "--limits", "position=1.5", "--limits", "velocity=1.5")
    args += ("--resolution", 1e-6)  # a light arm without gravity: what coarse encoders stir up would be felt
    arm = tmp_path / "arm.urdf"
    arm.write_text(ARM.format(name="&lt;b&gt;arm", mass=1.0))
    code, out, err = run("rehearse", arm, *args, "--out", tmp_path / "new", "--json", "--pdf", tmp_path / "a.pdf")
    assert code == 0, err
    data = json.loads(out)
    assert data["within_three_deviations"] >= 0.9 and data["held_out_over_floor"] < 1.1
    assert "identify:" in err and "rehearsal.html" in err
    page = (tmp_path / "new" / "rehearsal.html").read_text(encoding="utf-8")
    text, view = page_text(page), page_data(page)["view"]
    assert b"Parameters that came back" in (tmp_path / "a.pdf").read_bytes() and "<b>arm" not in page
    blocks = [block for part in view["parts"] for block in part["blocks"]]
    links = [to for block in blocks for _, to in block.get("links", [])]
    assert "identified.toml" in links and all((tmp_path / "new" / link).exists() for link in links)
    for word in ("Parameters that came back", "Control with feedback", "computed torque", "every 20"):
        assert word in text


@pytest.mark.slow
def test_coarse_encoders_are_named_on_the_page(run: Run, tmp_path: Path) -> None:
    """The heavy slide: fine encoders leave the noise alone, coarse ones stir up what the page then explains."""
    pytest.importorskip("mujoco")
    args = ("--limits", "position=0.2", "--limits", "velocity=0.2", "--limits", "acceleration=1", "--rate", 500)
    args += ("--duration", 4, "--harmonics", 3, "--load", 5, "--json")
    told = {}
    for name, more in (("fine", ()), ("coarse", ("--resolution", 1e-5))):
        code, out, err = run("rehearse", "emps", *args, *more, "--out", tmp_path / name)
        assert code == 0, err
        told[name] = json.loads(out)
    assert told["fine"]["held_out_over_floor"] < 1.1 < told["coarse"]["held_out_over_floor"]
    coarse = told["coarse"]
    explained = (coarse["noise_floor"][0] ** 2 + coarse["stirred_up"][0] ** 2) ** 0.5
    assert coarse["held_out"][0] == pytest.approx(explained, rel=0.2) and coarse["payload"]["load"] == 5
    pages = {name: page_text((tmp_path / name / "rehearsal.html").read_text(encoding="utf-8")) for name in told}
    assert "the encoders explain most of it" in pages["coarse"]
    assert "explain" not in pages["fine"].replace("no filtered motion can explain", "")
    for word in ("Error against k", "Largest error of any joint", "30 deg/s"):
        assert word in pages["fine"]
    view = page_data((tmp_path / "fine" / "rehearsal.html").read_text(encoding="utf-8"))["view"]
    charts = [block["chart"] for part in view["parts"] for block in part["blocks"] if "chart" in block]
    assert len(charts) >= 5 and any(chart["log"] for chart in charts)


def test_demo_ends_with_the_rehearsal(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without MuJoCo and without a compiler the rest is done and both are said."""

    def missing(*_: object, **__: object) -> None:
        raise MissingExtra("mujoco", "sim")

    monkeypatch.setattr(rehearsal, "Plant", missing)
    monkeypatch.setattr(build, "find_compiler", lambda: None)
    monkeypatch.setattr(demo, "RATE", 500.0)
    monkeypatch.setattr(demo, "DURATION", 4.0)
    code, out, err = run("demo", "--out", tmp_path)
    assert code == 0 and "rehearsal.html" in out and "minertia[sim]" in err and "no C compiler" in err
    assert (tmp_path / "rehearsal" / "code" / "puma_560_physical.c").exists()
    page = page_text((tmp_path / "rehearsal" / "rehearsal.html").read_text(encoding="utf-8"))
    assert "Left out: recording" in page and "minertia[sim]" in page


@pytest.mark.parametrize(
    "args, sentence",
    [
        (("puma560_physical", "--noise", 0), "--noise must be a number above 0"),
        (("puma560_physical", "--duration", 0), "--duration must be a number from 0.01"),
        (("puma560_physical", "--rate", 10), "at least 500"),
        (("puma560_physical", "--delay", -1), "delay"),
        (("puma560_physical", "--stribeck", "nan"), "stribeck"),
        (("puma560_physical", "--resolution", -1), "resolution"),
        (("puma560_physical", "--load", 0), "--load must be a number above 0 [kg]"),
        (("puma560_physical", "--cutoff", 900), "needs a rate above"),
        (("panda",), "no inertial parameters"),
        (("puma560_physical", "--limits", "velocity=0"), "'velocity' must be a number above 0"),
    ],
)
def test_sentences(run: Run, tmp_path: Path, args: tuple[object, ...], sentence: str) -> None:
    code, out, err = run("rehearse", *args, "--out", tmp_path / "never")
    assert code == 2 and out == "" and sentence in err and "Traceback" not in err, err
    assert not (tmp_path / "never").exists()
