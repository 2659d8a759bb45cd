"""`compare`, and --html and --pdf of the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minertia.cli import demo
from minertia.report import pdf
from tests.arm import recorded_arm
from tests.conftest import Run
from tests.pages import need_build
from tests.studio.browser import need_browser


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of the arm and two results."""
    from minertia.cli import main

    folder = recorded_arm(tmp_path_factory.mktemp("arm"))
    for name, more in (("one", ()), ("two", ("--estimator", "robust"))):
        line = ("identify", folder / "arm.urdf", folder / "a.csv", "--effects", "viscous,coulomb", *more, "--out")
        assert main([str(word) for word in (*line, folder / name)]) == 0
    return folder


def lines(arm: Path) -> dict[str, tuple[object, ...]]:
    return {
        "validate": ("validate", arm / "one" / "model.toml", arm / "c.csv"),
        "payload": ("payload", arm / "one" / "model.toml", arm / "loaded.csv"),
        "gains": ("payload", arm / "a.csv", arm / "loaded.csv", "--robot", arm / "arm.urdf", "--mass", 0.75),
        "significance": ("significance", arm / "arm.urdf", arm / "a.csv", "--effects", "viscous,coulomb"),
        "comparison": ("compare", arm / "one", arm / "two"),
    }


def test_pages_of_commands(run: Run, arm: Path, tmp_path: Path) -> None:
    """A page each, which is replaced until somebody edits it; --json stays JSON alone."""
    need_build()
    for kind, line in lines(arm).items():
        page = tmp_path / f"{kind}.html"
        code, out, err = run(*line, "--html", page, "--json")
        assert code == 0 and "wrote" in err, err
        json.loads(out)
        text = page.read_text(encoding="utf-8")
        assert f'"kind":"{kind.replace("validate", "validation")}"' in text
        page.write_text(text + " ")
        code, out, err = run(*line, "--html", page)
        assert code == 2 and out == "" and "--force" in err
    assert run(*line, "--html", page, "--force")[0] == 0


def test_without_the_templates_commands_say_what_to_do(run: Run, arm: Path, tmp_path: Path, no_pages: None) -> None:
    """Before any work, in one sentence; folders of results have all but the page, and a sentence."""
    for line in lines(arm).values():
        code, out, err = run(*line, "--html", tmp_path / "page.html")
        assert code == 2 and out == "" and "make studio" in err and "--json" in err
    quick = ("--harmonics", 2, "--duration", 4, "--samples", 60, "--starts", 1, "--no-friction", "--no-rotors")
    for more, numbers in (((), "excitation.json"), (("--sweeps",), "sweeps.json")):
        code, out, err = run("excite", "planar2r", *quick[:6], *(more or quick[6:]), "--out", tmp_path / numbers)
        assert code == 0 and out and err.count("not written: pages need") == 1 and "run `make studio`" in err, err
        assert (tmp_path / numbers / numbers).is_file() and not list((tmp_path / numbers).glob("*.html"))


def test_the_demo_without_the_templates(
    run: Run, tmp_path: Path, no_pages: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text, JSON, and one sentence on how to get the page."""
    monkeypatch.delitem(demo.STEPS, "the rehearsal")
    code, out, err = run("demo", "--out", tmp_path)
    assert code == 0 and "36 base parameters" in out and err.count("make studio") == 1 and " studio " not in out
    assert [p.name for p in tmp_path.iterdir()] == ["base-puma560.json"]


def test_a_repetition_in_a_simulator_has_no_page(run: Run, arm: Path, tmp_path: Path) -> None:
    need_build()
    line = ("validate", arm / "one" / "model.toml", arm / "c.csv", "--in", "mujoco")
    code, _, err = run(*line, "--html", tmp_path / "page.html")
    assert code == 2 and "omit --in" in err


def test_compare_in_words(run: Run, arm: Path) -> None:
    code, out, _ = run("compare", arm / "one", arm / "two" / "model.toml", "--all")
    assert code == 0 and "estimator.name" in out and "robust" in out and "FV1" in out
    assert "0 of " in out and "values differ by more than their standard deviations explain" in out
    found = json.loads(run("compare", arm / "one", arm / "two", "--json")[1])
    assert found["settings"] == {"estimator.name": ["auto", "robust"]}
    assert all(p["apart"] < 3 for p in found["parameters"])  # of the same log


def test_compare_what_is_no_model(run: Run, arm: Path, tmp_path: Path) -> None:
    for other in (tmp_path, arm / "arm.urdf", arm / "a.csv"):
        code, out, err = run("compare", arm / "one", other)
        assert code == 2 and out == "" and err.count("\n") == 1, err


def test_a_pdf_needs_the_page_it_prints(run: Run, arm: Path, tmp_path: Path) -> None:
    code, out, err = run("identify", arm / "arm.urdf", arm / "a.csv", "--pdf", tmp_path / "a.pdf")
    assert code == 2 and out == "" and "--out" in err


def test_a_pdf_of_base_parameters(run: Run, tmp_path: Path) -> None:
    need_browser()
    assert run("base", "planar2r", "--pdf", tmp_path / "base.pdf")[0] == 0
    assert (tmp_path / "base.pdf").read_bytes().startswith(b"%PDF-")


def test_motions_and_rehearsals_print_the_pages_that_they_write(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether they can be printed is asked before the search; what is printed is the page in the folder."""
    asked = []
    monkeypatch.setattr(pdf, "require_browser", lambda: asked.append("browser"))
    monkeypatch.setattr(pdf, "as_pdf", lambda page: b"%PDF- of " + page.encode())
    quick = ("--harmonics", 2, "--duration", 4, "--samples", 60)
    lines = {
        "excitation.html": ("excite", "planar2r", *quick, "--starts", 1, "--no-friction", "--no-rotors"),
        "sweeps.html": ("excite", "planar2r", *quick, "--sweeps"),
    }
    for page, line in lines.items():
        code, _, err = run(*line, "--out", tmp_path / page[:-5], "--pdf", tmp_path / f"{page}.pdf")
        assert code == 0 and f"wrote {tmp_path / page}.pdf" in err, err
        printed = (tmp_path / f"{page}.pdf").read_bytes().removeprefix(b"%PDF- of ")
        assert (tmp_path / page[:-5] / page).read_bytes().startswith(printed[:2000]) and len(asked) == 1
        asked.clear()
    for command in ("excite", "rehearse"):
        (tmp_path / "own.pdf").write_text("mine")
        code, out, err = run(command, "planar2r", "--out", tmp_path / "never", "--pdf", tmp_path / "own.pdf")
        assert code == 2 and out == "" and "own.pdf" in err and not (tmp_path / "never").exists()
