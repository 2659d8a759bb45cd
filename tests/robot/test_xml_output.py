from __future__ import annotations

import pytest

from minertia.robot.formats.writing import XmlEdit
from minertia.robot.formats.xml import (
    MAX_INDENTS,
    all_written,
    element_lines,
    new_element,
    parse_xml,
    quoted,
    start_tag,
    written,
)


@pytest.mark.parametrize("value", [0.1 + 0.2, -1e-300, 1.0, 123456789.123456789])
def test_numbers_keep_all_digits(value: float) -> None:
    assert float(written(value)) == value


def test_no_minus_zero() -> None:
    assert all_written([-0.0, 1, 2.5]) == "0.0 1.0 2.5"


@pytest.mark.parametrize("value", ["", "a\n\t\r b", "<&>\"'", "snow\u2603\U0001d11e", "\x7f"])
def test_attributes_are_read_back_as_they_were(value: str) -> None:
    assert parse_xml(start_tag("a", {"b": value}, empty=True), "f").attributes == {"b": value}


def test_what_xml_cannot_hold_becomes_underscores() -> None:
    assert quoted("a\0b\ud800c\uffff") == '"a_b_c_"'


def test_elements_are_indented_but_not_without_end() -> None:
    root = new_element("a", {"x": "1"}, [new_element("b"), new_element("c", {}, [new_element("d")])])
    assert element_lines(root) == ['<a x="1">', "  <b/>", "  <c>", "    <d/>", "  </c>", "</a>"]
    for _ in range(3 * MAX_INDENTS):
        root = new_element("a", children=[root])
    assert max(map(len, element_lines(root))) < 2 * MAX_INDENTS + 20


def test_edits_are_made_together() -> None:
    text = "<a><b/><c x='1'  y=\"2\"/><d/></a>"
    b, c, d = parse_xml(text, "f").children
    edit = XmlEdit(text)
    edit.replace(d, new_element("e"))
    edit.attributes(c, {"z": "3", "x": None})
    edit.remove(b)
    edit.put(b.start, "+")
    assert edit.result() == '<a>+<c  y="2" z="3"/><e/></a>'
