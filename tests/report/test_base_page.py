"""The page of base parameters: whole, escaped, and telling the same as the result."""

from __future__ import annotations

from dataclasses import replace

import pytest

from minertia.base.derive import base_parameters
from minertia.base.grouping import FORMAT, BaseParameters
from minertia.report.pages import base_page
from minertia.report.tables import certificate_sentences, direction, joint_table, kinds_text, symbol_table, unit_of
from minertia.robot.files import read_robot
from minertia.version import __version__
from tests.pages import page_data, page_text
from tests.random_robots import random_robot


@pytest.fixture(scope="module")
def puma() -> BaseParameters:
    return base_parameters(read_robot("puma560"), rotors=True)


def test_page_is_whole_and_says_what_it_is(puma: BaseParameters) -> None:
    page = base_page(puma)
    assert page.startswith("<!DOCTYPE html>") and page.endswith("</html>\n")
    assert f'name="minertia-format" content="{FORMAT}"' in page and f'content="minertia {__version__}"' in page


def test_page_tells_what_the_result_holds(puma: BaseParameters) -> None:
    page = base_page(puma)
    view, text = page_data(page)["view"], page_text(page)
    assert all(sentence in text for sentence in certificate_sentences(puma))
    assert view["base"]["classes"] == puma.classes()
    assert "D3" in view["robot"]["symbols"] and "puma560.toml" in text


def test_every_base_parameter_has_a_row(puma: BaseParameters) -> None:
    rows = page_data(base_page(puma))["view"]["base"]["parameters"]
    assert {row["name"]: row["text"] for row in rows} == puma.relation_texts()
    assert [row["nominal"] for row in rows] == pytest.approx(puma.values())


@pytest.mark.parametrize("method", ["closed-form", "mlc", "numeric"])
def test_all_kinds_of_robots_have_a_page(method: str) -> None:
    for seed in range(6):
        robot = random_robot(seed, tree=True, floating=seed % 2 == 0, mimic=seed % 3 == 0)
        base = base_parameters(robot, method, rotors=True, friction=True)
        for frames in ("joint", "file"):
            view = page_data(base_page(base, frames))["view"]
            assert view["frames"] == frames and view["base"]["classes"] == base.classes(frames)


def test_coupled_drives_missing_masses_and_letters_without_value() -> None:
    for name in ("tx40", "cmu_dd_arm2", "scara", "emps"):
        base = base_parameters(read_robot(name), rotors=True, friction=True)
        rows = page_data(base_page(base))["view"]["base"]["parameters"]
        assert all((row["nominal"] is None) is not base.robot.has_parameters for row in rows)
    assert "none (" in str(symbol_table(read_robot("cmu_dd_arm2")).rows)


def test_nothing_from_outside_is_markup() -> None:
    robot = random_robot(3, n=2)
    evil = '"><script>alert(1)</script><b onload=x>\x1b[0m'
    joints = tuple(replace(joint, name=evil + str(k), link=evil) for k, joint in enumerate(robot.joints))
    page = base_page(base_parameters(replace(robot, name=evil, joints=joints, source=evil)))
    assert "<b onload" not in page and "alert(1)</script>" not in page and "\x1b" not in page
    assert evil in page_text(page)


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
