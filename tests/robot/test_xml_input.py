from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minertia.io.errors import DescriptionError, MinertiaError
from minertia.robot.files import read_robot
from minertia.robot.formats.xml import (
    MAX_DEPTH,
    MAX_ELEMENTS,
    Element,
    number,
    numbers,
    parse_xml,
    shown,
    start_tag_end,
)

BOMB = (
    '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;">]><robot name="&c;"/>'
)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_every_element_knows_its_line_and_its_place(newline: str, mark: str) -> None:
    text = newline.join(
        [
            '<?xml version="1.0" encoding="latin-1"?>',
            "<!-- é 𝄞 <b> -->",
            '<robot a="é𝄞>" b=\'"\'><link name="x"/><x:y>',
            "<a/><![CDATA[<no/>]]></x:y ></robot>",
        ]
    )
    found = {e.tag: e for e in parse_xml(mark + text, "f").walk()}
    assert {tag: e.line for tag, e in found.items()} == {"robot": 3, "link": 3, "x:y": 3, "a": 4}
    assert text[found["link"].start : found["link"].end] == '<link name="x"/>'
    assert text[found["x:y"].start : found["x:y"].end] == f"<x:y>{newline}<a/><![CDATA[<no/>]]></x:y >"
    assert text[found["robot"].start : found["robot"].end] == text[text.index("<robot") :]
    assert text[: start_tag_end(text, found["robot"])].endswith("b='\"'>")
    assert found["robot"].attributes == {"a": "é𝄞>", "b": '"'}


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", 1, "malformed"),
        ("hello", 1, "malformed"),
        ("<robot>\n<link>\n", 3, "malformed"),
        ("<robot>\n<link></robot>", 2, "mismatched"),
        ('<robot a="1" a="2"/>', 1, "duplicate"),
        ("<robot>&nothing;</robot>", 1, "undefined entity"),
        ("<robot>\0</robot>", 1, "malformed"),
        ("<robot/><robot/>", 1, "junk"),
        (BOMB, 1, "DOCTYPE"),
        ('<!DOCTYPE r SYSTEM "file:///etc/passwd">\n<r/>', 1, "DOCTYPE"),
        ('\n<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><r>&x;</r>', 2, "DOCTYPE"),
        ("<a>" * (MAX_DEPTH + 1) + "</a>" * (MAX_DEPTH + 1), 1, "nested"),
        ("<a>" + "<b/>" * MAX_ELEMENTS + "</a>", 1, "more than"),
    ],
)
def test_bad_xml_is_one_sentence_with_file_and_line(text: str, line: int, says: str) -> None:
    with pytest.raises(DescriptionError, match=says) as caught:
        parse_xml(text, "f.urdf")
    assert (caught.value.file, caught.value.line) == ("f.urdf", line)
    assert str(caught.value).startswith(f"f.urdf, line {line}: ")


def test_text_that_is_not_unicode() -> None:
    with pytest.raises(DescriptionError, match="Unicode"):
        parse_xml("<a b='\ud800'/>", "f")


def test_depth_up_to_the_limit_is_read() -> None:
    for deepest in (1, MAX_DEPTH, 3 * MAX_DEPTH):
        text = "<a>" * deepest + "</a>" * deepest
        assert len(list(parse_xml(text, "f", deepest).walk())) == deepest
        with pytest.raises(DescriptionError, match=f"more than {deepest} deep"):
            parse_xml(f"<a>{text}</a>", "f", deepest)


@pytest.mark.parametrize("text", ["1", " 1.5 ", "-2.", ".5e-3", "+1E+2", "\n3\t"])
def test_numbers_are_read(text: str) -> None:
    element = Element("mass", {"value": text}, "f", 3, 0)
    assert number(element, "value", "link 'a'") == float(text)


@pytest.mark.parametrize(
    "text", ["nan", "inf", "-inf", "1e999", "1e300", "1,0", "", " ", "abc", "1_0", "0x10", "٣", "1 2", "${m}", "1e"]
)
def test_what_is_no_finite_number_names_owner_attribute_and_line(text: str) -> None:
    element = Element("mass", {"value": text}, "f", 3, 0)
    with pytest.raises(DescriptionError, match="link 'a'.*value") as caught:
        number(element, "value", "link 'a'")
    assert caught.value.line == 3


def test_hints() -> None:
    with pytest.raises(DescriptionError, match="decimal point"):
        number(Element("mass", {"value": "1,0"}, "f", 3, 0), "value", "x")
    with pytest.raises(DescriptionError, match="expand the xacro"):
        number(Element("mass", {"value": "${m}"}, "f", 3, 0), "value", "x")


def test_defaults_and_missing_attributes() -> None:
    element = Element("origin", {"xyz": "1 2 3", "rpy": "1 2"}, "f", 1, 0)
    assert numbers(element, "xyz", "x", 3) == numbers(element, "xyz", "x") == (1, 2, 3)
    assert numbers(element, "quat", "x", 4, (0, 0, 0, 1)) == (0, 0, 0, 1)
    assert number(element, "mass", "x", 7.0) == 7
    with pytest.raises(DescriptionError, match="3 numbers"):
        numbers(element, "rpy", "x", 3)
    with pytest.raises(DescriptionError, match="needs the attribute 'mass'"):
        number(element, "mass", "x")


def test_names_are_shown_on_one_line() -> None:
    assert shown("a\nb\x1b[31m") == "a?b?[31m"
    assert shown("x" * 100) == "x" * 60 + "..."


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.sampled_from("<>/ab=\"'&;!-[]?\r\n é\ud800\0"), max_size=60))
def test_any_text_parses_or_is_refused(text: str) -> None:
    try:
        root = parse_xml(text, "f")
    except MinertiaError:
        return
    text = text.removeprefix("\ufeff")
    for element in root.walk():
        assert text[element.start] == "<" and text[element.end - 1] == ">"


def test_a_number_that_is_only_too_large_is_called_that(tmp_path, capsys):
    from minertia.cli import main

    file = tmp_path / "far.urdf"
    file.write_text(
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute"><parent link="a"/>'
        '<child link="b"/><origin xyz="1e300 0 0"/></joint></robot>'
    )
    assert main(["show", str(file)]) == 2
    assert "is too large" in capsys.readouterr().err


def test_attributes_without_end_are_refused():
    with pytest.raises(DescriptionError, match="more than 1000 attributes"):
        parse_xml("<a " + " ".join(f'x{k}="1"' for k in range(2000)) + "/>", "r.urdf")


def test_too_many_joints_are_refused_before_any_is_read(tmp_path):
    """The first joint is broken, and nobody gets that far."""
    pytest.importorskip("mujoco")
    many = {"urdf": ("<robot name='r'>", "<joint/>", "</robot>")}
    many["mjcf"] = ("<mujoco><worldbody>", "<body pos='broken'/>", "</worldbody></mujoco>")
    for suffix, (start, one, end) in many.items():
        path = tmp_path / f"r.{suffix}"
        path.write_text(start + one * 2001 + end)
        with pytest.raises(DescriptionError, match="2001 (joints|bodies); the limit is 2000"):
            read_robot(path)
