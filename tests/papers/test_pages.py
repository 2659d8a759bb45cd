"""The committed pages are what the code writes, on whatever processor: the quick ones byte for byte."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest
from papers.page import FOLDER

from minertia.codegen.kernels.build import native
from minertia.excitation.limits import motion_limits
from papers import __main__ as command
from papers import lin_identification, page

NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


@pytest.mark.parametrize("name", ["gautier_khalil1990", pytest.param("khalil_bennis_gautier", marks=pytest.mark.slow)])
def test_the_committed_page_is_the_one_that_is_computed(name, tmp_path):
    importlib.import_module(f"papers.{name}").page().save(tmp_path)
    assert (tmp_path / f"{name}.md").read_text() == (FOLDER / f"{name}.md").read_text()


def unit(word: str) -> float:
    """One of the last place of a number as it is written."""
    mantissa, _, power = word.partition("e")
    return 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))


def assert_same_page(found: str, committed: str) -> None:
    """The same sentences, and numbers that agree to one unit of their last place, as another MuJoCo may want."""
    assert NUMBER.sub("0", found) == NUMBER.sub("0", committed)
    for ours, theirs in zip(NUMBER.findall(found), NUMBER.findall(committed), strict=True):
        assert abs(float(ours) - float(theirs)) <= 1.01 * max(unit(ours), unit(theirs)), (ours, theirs)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lin1995", "khosla1987", "izaguirre1992"])
def test_the_committed_page_of_a_long_paper(name, tmp_path):
    pytest.importorskip("mujoco")
    importlib.import_module(f"papers.{name}").page().save(tmp_path)
    assert_same_page((tmp_path / f"{name}.md").read_text(), (FOLDER / f"{name}.md").read_text())


def test_another_number_or_sentence_is_seen():
    assert_same_page("at most 0.3 % and -0.00 %", "at most 0.4 % and 0.00 %")
    for wrong in ("at most 0.5 %", "at least 0.3 %", "at most 0.3 % or so"):
        with pytest.raises(AssertionError):
            assert_same_page("at most 0.3 %", wrong)


def test_figures_do_not_show_the_last_bits():
    text = '<path id="m0123456789" d="M 10.123456 -0.000001 L 1.5 2"/><use href="#m{}" x="{}"/>'
    one, other = (page.stable_svg(text.format(*ends)) for ends in (("0123456789", 7.000001), ("0123456789", 6.999999)))
    assert one == other == '<path id="m0" d="M 10.12 0 L 1.5 2"/><use href="#m0" x="7"/>'
    assert page.stable_svg(text.replace("0123456789", "abcdef0123").format("abcdef0123", 7.0)) != text


def test_numbers_are_shown_to_their_digits():
    assert [page.shown(v) for v in (19.862564, 3.1158651, -0.000891234, 0.0, 123456.7)] == [
        "19.863", "3.1159", "-0.000891", "0.0000", "123457"]  # fmt: skip


@pytest.mark.parametrize("criterion", lin_identification.SEARCHED)
def test_a_replayed_search_is_one_that_could_have_been_made_here(criterion, monkeypatch):
    """Inside the limits, and not much worse than what a search finds now."""
    if native() is not None:
        monkeypatch.setenv("MINERTIA_KERNELS", "interpreter")  # too short a search for compiled code to pay
    kept, limits = lin_identification.replayed(criterion), motion_limits(lin_identification.arm())
    q, qd, qdd = kept.at(lin_identification._times())
    assert (q >= limits.lower - 1e-3).all() and (q <= limits.upper + 1e-3).all()
    assert (abs(qd) <= limits.velocity + 1e-3).all() and (abs(qdd) <= limits.acceleration + 1e-3).all()
    worst = [
        max(lin_identification.conditions(lin_identification.recorded(motion)))
        for motion in (kept, lin_identification.search(criterion))
    ]
    assert worst[0] < 2 * worst[1]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.md")), ids=lambda p: p.stem)
def test_figures_are_there(path):
    for image in re.findall(r"\]\((images/[^)]+)\)", path.read_text(encoding="utf-8")):
        assert (FOLDER / image).is_file()


# ---------------------------------------------------------------------- the claims

ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+) \|$", re.M)
STATES = ("shown", "partly", "missing", "lost")


def claims() -> list[tuple[str, ...]]:
    return ROW.findall((FOLDER / "index.md").read_text(encoding="utf-8"))


def anchors(path: Path) -> set[str]:
    """Names of the headings of a page, as those who render it make them."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_claim_has_a_row_with_its_state():
    assert [int(number) for number, *_ in claims()] == list(range(1, 95))
    states = [re.split(r"[:;]", state)[0] for _, _, state, _ in claims()]
    assert set(states) <= set(STATES)
    text = (FOLDER / "index.md").read_text(encoding="utf-8")
    counted = re.search(r"(\d+) are shown, (\d+) partly, (\d+) are lost", text)
    assert counted and [int(n) for n in counted.groups()] == [states.count(s) for s in ("shown", "partly", "lost")]


def test_claims_lead_to_a_section_that_is_there():
    for number, _, _, where in claims():
        links = re.findall(r"\]\(([^)#]+)(?:#([^)]+))?\)", where)
        assert links, number
        for file, anchor in links:
            path = (FOLDER / file).resolve()
            assert path.is_file(), (number, file)
            assert not anchor or anchor in anchors(path), (number, anchor)


def test_versions_of_what_the_pages_use_are_pinned(monkeypatch):
    """Every package that the pages import, and what differs is said."""
    imported = {
        found
        for path in Path(page.__file__).parent.glob("*.py")
        for found in re.findall(r"^(?:from|import) (\w+)", path.read_text(encoding="utf-8"), flags=re.M)
    }
    outside = imported - set(sys.stdlib_module_names) - {"minertia", "papers", "tests", "__future__"}
    assert outside == {"numpy", "scipy", "matplotlib"}
    assert outside | {"mujoco"} <= set(command.pinned())  # MuJoCo through minertia.simulation
    monkeypatch.setattr(command, "pinned", lambda: {"numpy": "0.1", "none-such": "1"})
    assert [text.split()[0] for text in command.others()] == ["numpy", "none-such"]


def test_an_installed_package_is_told_that_pages_need_the_checkout(tmp_path):
    assert command.missing(FOLDER.parents[1]) is None
    assert "need a checkout" in str(command.missing(tmp_path))
