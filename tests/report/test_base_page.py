"""The page: whole, self-contained, escaped, and telling the same as the result."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from minertia.base.derive import base_parameters
from minertia.base.grouping import FORMAT, BaseParameters
from minertia.report.base_page import base_page
from minertia.report.html import escape, number, parameter_name, relation
from minertia.report.tables import direction, joint_table, kinds_text, symbol_table, unit_of
from minertia.report.words import certificate_sentences
from minertia.robot.read import read_robot
from minertia.version import __version__
from tests.random_robots import random_robot

VOID = {"meta", "br"}


class Checker(HTMLParser):
    """Every element closed in order; collects text, tags and attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def puma() -> BaseParameters:
    return base_parameters(read_robot("puma560"), rotors=True)


def test_page_is_whole_and_self_contained(puma: BaseParameters) -> None:
    page = base_page(puma)
    checker = Checker(page)
    assert page.startswith("<!DOCTYPE html>") and page.endswith("</html>\n")
    names = {tag for tag, _ in checker.tags}
    assert not names & {"script", "img", "link", "iframe", "object", "form", "a"}
    assert not re.search(r"url\(|@import|https?:", page)
    meta = {attrs.get("name"): attrs.get("content") for tag, attrs in checker.tags if tag == "meta"}
    assert meta["minertia-format"] == str(FORMAT) and __version__ in str(meta["generator"])
    assert "prefers-color-scheme:dark" in page and "@media print" in page


def test_page_tells_what_the_result_holds(puma: BaseParameters) -> None:
    text = Checker(base_page(puma)).text
    for sentence in certificate_sentences(puma):
        assert sentence.partition(": ")[2] in text
    for kind in ("alone", "combination", "none"):
        assert f"XX1 {kind}" in text or f"XX2 {kind}" in text or f"XY2 {kind}" in text
    assert all(f"{name} {kind}" in text for name, kind in puma.classes().items())
    assert "D3" in text and "0.4318" in text and "puma560.toml" in text


def test_every_base_parameter_has_a_row(puma: BaseParameters) -> None:
    page = base_page(puma)
    for name in puma.names:
        assert f"<tr><td>{parameter_name(name)}</td>" in page


@pytest.mark.parametrize("method", ["closed-form", "mlc", "numeric"])
def test_all_kinds_of_robots_have_a_page(method: str) -> None:
    for seed in range(6):
        robot = random_robot(seed, tree=True, floating=seed % 2 == 0, mimic=seed % 3 == 0)
        base = base_parameters(robot, method, rotors=True, friction=True)
        for frames in ("joint", "file"):
            Checker(base_page(base, frames))


def test_coupled_drives_missing_masses_and_letters_without_value() -> None:
    for name in ("tx40", "cmu_dd_arm2", "scara", "emps"):
        base = base_parameters(read_robot(name), rotors=True, friction=True)
        checker = Checker(base_page(base))
        assert ("no masses" in checker.text) is not base.robot.has_parameters
    assert "none (" in str(symbol_table(read_robot("cmu_dd_arm2")).rows)


def test_nothing_from_outside_is_markup() -> None:
    robot = random_robot(3, n=2)
    evil = '"><script>alert(1)</script><b onload=x>\x1b[0m'
    joints = tuple(replace(joint, name=evil + str(k), link=evil) for k, joint in enumerate(robot.joints))
    page = base_page(base_parameters(replace(robot, name=evil, joints=joints, source=evil)))
    checker = Checker(page)
    assert not {tag for tag, _ in checker.tags} & {"script"} and "\x1b" not in page
    assert not any("onload" in attrs for _, attrs in checker.tags)


def test_relations_are_typeset() -> None:
    assert relation("XX3 - 2*D4**2*(M4 + M5)") == (
        "<i>XX</i><sub>3</sub> \u2212 2\u2009\u00d7\u2009<i>D</i><sub>4</sub><sup>2</sup>\u2009\u00d7\u2009"
        "(<i>M</i><sub>4</sub> + <i>M</i><sub>5</sub>)"
    )
    assert relation("cos(a2)*MX2") == "cos(<i>a</i><sub>2</sub>)\u2009\u00d7\u2009<i>MX</i><sub>2</sub>"
    assert relation("1.5e-07*M1").startswith("1.5\u00d710<sup>\u22127</sup>")
    assert parameter_name("XXR3") == "<i>XX</i><sub>R3</sub>"
    assert parameter_name("U11mU22_3") == "<i>U11\u2212U22</i><sub>3</sub>"
    assert number(-2.5) == "\u22122.5" and escape("a<\x00") == "a&lt;\\x00"


def test_units_follow_the_joint() -> None:
    robot = read_robot("stanford")
    assert unit_of(robot, "IA3") == "kg" and unit_of(robot, "IA4") == "kg m2"
    assert unit_of(robot, "FV3") == "N s/m" and unit_of(robot, "MXR2") == "kg m"
    assert unit_of(robot, "FS3@0.05") == "N"  # with the constant of its shape
    assert unit_of(robot, "U33_2") == "kg m2" and unit_of(robot, "K1_2") == "kg m" and unit_of(robot, "MH_3") == "kg"


def test_tables_of_joints() -> None:
    robot = read_robot("puma560")
    table = joint_table(robot)
    row = dict(zip(table.headers, table.rows[2], strict=True))
    assert row["position [m]"] == "(D3, 0, R3)" and row["z axis"] == "+z" and row["on"] == "j2"
    assert "follows" not in table.headers and kinds_text(robot) == "RRRRRR"
    assert direction((0, -1, 0)) == "-y" and direction((0.6, 0, 0.8)) == "(0.6, 0, 0.8)"
