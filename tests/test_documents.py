"""TOML and JSON from strangers: what no file of ours needs is refused before the parser broods over it."""

from __future__ import annotations

import tomllib

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from minertia.identification.model_file import read_model
from minertia.io.documents import MAX_DEPTH, DocumentError, json_document, toml_document
from minertia.robot.files import bundled_robots, read_robot, write_robot
from tests.amount import examples
from tests.fuzz import seeds
from tests.fuzz.guard import peak_megabytes, time_limit

KEY = "a" + ".a" * 20_000
BOMBS = {
    "a dotted key": f"{KEY} = 1",
    "with spaces": f"a{' . a' * 20_000} = 1",
    "in quotes": "'a'" + '."a"' * 15_000 + " = 1",
    "of digits": "1" + ".1" * 20_000 + " = 1",
    "a heading": f"[{KEY}]",
    "a heading of a list": f"[[ {KEY} ]]",
    "in an inline table": f"x = {{ {KEY} = 1 }}",
    "in a table in a list": f"x = [1.5, {{ {KEY} = 1 }}]",
    "after a list": f"x = [1,\n 2 # ]\n, ']']\n{KEY} = 1",
    "after a heading": f"[x]\n{KEY} = 1",
    "after a long text": f'x = """\n[[[ a.b.c \\""" """\n{KEY} = 1',
    "after a text that ends in quotes": f'x = """a"""""\ny = \'\'\'b\'\'\'\'\n{KEY} = 1',
    "after a text of one line": f'x = "\\"" # "\ny = \'\\\'\n{KEY} = 1',
    "lists": "a = " + "[" * 50_000,
    "lists that end": "a = " + "[" * 50_000 + "]" * 50_000,
    "tables": "a = " + "{a = " * 50_000,
    "many headings": "".join(f"[a{k}]\n" for k in range(150_000)),
    "headings of many parts": "".join(f"[a.b.c{k}.d.e.f.g.h]\n" for k in range(20_000)),
    "many keys": "".join(f"a{k} = 1\n" for k in range(150_000)),
    "many tables in a list": "a = [" + "{b=1}," * 150_000 + "]",
    "a long number": "a = " + "1" * 3_000_000 + ".0",
    "a large file": "#" + "x\n#" * 4_000_000,
    "a whole number of many bits": "a = [1, 0x" + "f" * 9000 + "]",
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_no_file_needs_is_refused_soon(name: str) -> None:
    text, before = BOMBS[name], peak_megabytes()
    with time_limit(), pytest.raises(DocumentError) as caught:
        toml_document(text)
    assert peak_megabytes() - before < 50 and 20 < len(str(caught.value)) < 120


def test_the_line_of_what_is_refused() -> None:
    with pytest.raises(DocumentError, match="more than 32 components") as caught:
        toml_document(f"x = 1\n\n{KEY} = 1\n")
    assert caught.value.line == 3
    with pytest.raises(DocumentError, match="not valid TOML") as caught:
        toml_document("x = 1\ny = \n")
    assert caught.value.line == 2


def test_what_is_just_allowed() -> None:
    deep = "a = " + "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert toml_document(deep) == tomllib.loads(deep)
    key = "a" + ".a" * (MAX_DEPTH - 1) + " = '" + "a." * 1000 + "' # " + "b." * 1000
    assert toml_document(key) == tomllib.loads(key)
    text = 'a = """\n' + "a.b." * 1000 + '[[[[{{{{""" # ' + "[" * 100 + "\nb = [" + "1.5, " * 1000 + "]"
    assert toml_document(text) == tomllib.loads(text)


VALUES = st.recursive(
    st.none().map(lambda _: True) | st.floats(allow_nan=False) | st.text(max_size=12) | st.integers(-9, 9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


@settings(derandomize=True, deadline=None, database=None, max_examples=examples(100))
@given(st.dictionaries(st.text(max_size=6), VALUES, max_size=4))
def test_documents_are_what_the_parser_says(document: dict) -> None:
    text = tomli_w.dumps(document)
    assert toml_document(text) == document


def test_our_own_files_are_far_from_the_limits(tmp_path) -> None:
    for name in bundled_robots():
        write_robot(read_robot(name), tmp_path / "r.toml")
        toml_document((tmp_path / "r.toml").read_text(encoding="utf-8"))
    (tmp_path / "model.toml").write_text(seeds.model(), encoding="utf-8")
    read_model(tmp_path / "model.toml")


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, "[1,", "", "9" * 11_000_000, "[" + "9" * 5000 + "]"]
)
def test_json(text: str) -> None:
    with time_limit(), pytest.raises(DocumentError):
        json_document(text)
