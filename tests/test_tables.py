"""Checked tables of TOML files: one set of checks, whose sentences say file, line and key."""

from __future__ import annotations

import pytest

from minertia.excitation.limits_file import LimitsTable
from minertia.identification.logs.columns_file import CampaignTable
from minertia.io.errors import CampaignError, DescriptionError, MinertiaError
from minertia.io.tables import CheckedTable, KeyLines, load_toml, parse_table

TEXT = """top = 1  # name = 3
"quoted" = 2
dotted.inner = 3

[logs]
train = [
  "a.csv",
]
[logs.more]
deep = { rate = 5 }

[[joint]]
name = "a"
[joint.link]
mass = 1
[[joint]]
link = { mass = 2, com = [0, 0, 0] }
"""


@pytest.mark.parametrize(
    ("root", "row", "key", "line"),
    [
        (None, None, "top", 1),
        (None, None, "quoted", 2),
        ("dotted", None, "inner", 3),
        (None, None, "name", None),  # a comment is no key
        ("logs", None, "train", 6),
        ("logs", None, "rate", 10),
        ("logs", None, "gone", 5),  # the heading, where there is no such key
        ("joint", 1, "mass", 15),
        ("joint", 2, "mass", 17),
        ("joint", 2, "com", 17),
        ("joint", 2, "kind", 16),
        ("joint", 3, "kind", None),
        ("nowhere", None, "x", None),
    ],
)
def test_lines_of_keys(root: str | None, row: int | None, key: str, line: int | None) -> None:
    assert KeyLines(TEXT).find(root, row, key) == line


BAD = """
[part]
text = 3
words = ["a", 1]
flag = 1
number = "x"
huge = 1e299
negative = -1.0
whole = 1.5
numbers = [1.0, nan]
short = [1.0]
matrix = [[1.0, 2.0], [3.0]]
inside = 3
rows = [1]
"""
ASKED = {
    "text": (lambda t: t.text("text"), "must be a string in quotes, not 3"),
    "words": (lambda t: t.texts("words"), "must be a list of strings in quotes"),
    "flag": (lambda t: t.flag("flag", True), "must be true or false, not 1"),
    "number": (lambda t: t.number("number"), "must be a finite number, not 'x'"),
    "negative": (lambda t: t.positive("negative"), "is -1; it must be greater than 0"),
    "whole": (lambda t: t.whole("whole"), "must be an integer of at least 1, not 1.5"),
    "numbers": (lambda t: t.numbers("numbers"), "must contain finite numbers, not nan"),
    "short": (lambda t: t.numbers("short", 2), "must be a list of 2 numbers"),
    "matrix": (lambda t: t.matrix("matrix"), "must be a square matrix, a list of rows"),
    "inside": (lambda t: t.table("inside"), "must be a table"),
    "rows": (lambda t: t.tables("rows"), r"must be a list of tables, each under its own heading \[\[rows\]\]"),
}


@pytest.mark.parametrize("key", ASKED)
@pytest.mark.parametrize(
    ("kind", "begins"),
    [
        (CheckedTable, "f.toml, line {line}: part: '{key}' "),
        (LimitsTable, "f.toml, line {line}: part: '{key}' "),
        (CampaignTable, "f.toml, line {line}, 'part.{key}': this "),
    ],
)
def test_sentences(key: str, kind: type[CheckedTable], begins: str) -> None:
    asked, said = ASKED[key]
    line = next(k for k, text in enumerate(BAD.splitlines(), start=1) if text.startswith(f"{key} ="))
    with pytest.raises(MinertiaError, match="^" + begins.format(line=line, key=key) + said):
        asked(parse_table(BAD, "f.toml", kind).table("part"))


def test_keys_and_choices() -> None:
    table = parse_table(BAD, "f.toml", CheckedTable).table("part")
    with pytest.raises(DescriptionError, match="line 3: part: the key 'text' is unknown; did you mean 'texts'?"):
        table.only(("texts",))
    with pytest.raises(DescriptionError, match="line 2: part: this table also needs 'mass' and 'com'"):
        table.needs(("text", "mass", "com"))
    with pytest.raises(DescriptionError, match="'kind' is missing; it must be one of: a, b"):
        table.choice("kind", ("a", "b"))
    with pytest.raises(DescriptionError, match="line 3: part: 'text' is 3; it must be one of: a, b"):
        table.choice("text", ("a", "b"))
    with pytest.raises(DescriptionError, match=r"line 7: part: 'huge' is too large; it must be at most 1e\+60"):
        table.number("huge")
    assert table.number("gone", 2.0) == 2.0 and table.number("gone") is None and not table.table("gone").entries


def test_text_that_is_no_toml(tmp_path) -> None:
    file = tmp_path / "f.toml"
    file.write_text("a = 1\nb = \n")
    with pytest.raises(DescriptionError, match="f.toml, line 2: this is not valid TOML"):
        load_toml(file, CheckedTable)
    with pytest.raises(CampaignError, match="f.toml, line 2: this is not valid TOML"):
        load_toml(file, CampaignTable)
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CampaignError, match="the file is not UTF-8 text"):
        load_toml(file, CampaignTable)
