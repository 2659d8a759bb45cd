"""A campaign through the studio: one value is changed, and all else stays, comments included."""

from __future__ import annotations

import re
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minertia.io.documents import toml_document
from minertia.io.errors import InputError
from minertia.studio.project import Project
from minertia.studio.toml_edit import edited, merged, same
from tests.amount import examples

BY_HAND = """\
# measured on the day of the storm
format = 1
name = "arm"
robot = "planar2r"  # in the lab
base = "plate"
gravity = [0, -9.81, 0]  # hangs on the wall
hold = { finger = 0.02 }

[logs]
train = [
  { file = "a.csv", from = 1.0, load = { mass = 0.5 } },  # with the tool
  "b.csv",
]
validate = ["c.csv"]
stamps = false

[columns]
t = "time"
q = "pos{j}"
effort = "cur{j}"
effort_unit = "A"
decimal = ","

[command]  # of the servos
kp = "?"
kd = [8.0, 4]

[elastic]
encoder = "motor"
joints = ["elbow"]

[floor]
touches = ["foot"]

[model]
links = "physical"
effects = ["viscous", { kind = "stribeck", velocity = 0.1, width = 2.0 }, "coulomb"]
fix.M1 = 3.0

[mine]  # a table of a later version
when = 2026-11-17
"""


def by_hand(folder: Path, text: str = BY_HAND) -> Project:
    for name in "abc":
        (folder / f"{name}.csv").write_text("time,pos1,pos2,cur1,cur2\n")
    (folder / "campaign.toml").write_bytes(text.encode())
    return Project(folder)


CHANGES: list[tuple[dict[str, Any], str, str]] = [
    ({"filter": {"cutoff_hz": 8}}, "", "[filter]\ncutoff_hz = 8\n"),
    ({"columns": {"effort_unit": "Nm"}}, 'effort_unit = "A"', 'effort_unit = "Nm"'),
    ({"columns": {"decimal": None}}, 'decimal = ","\n', ""),
    ({"model": {"effects": ["viscous", {"kind": "stribeck", "velocity": 0.2, "width": 2}, "coulomb"]}}, "0.1", "0.2"),
    ({"model": {"effects": None}}, re.search(r"effects.*\n", BY_HAND)[0], ""),  # type: ignore[index]
    ({"model": {"parameters": "mlc"}}, "fix.M1 = 3.0\n", 'fix.M1 = 3.0\nparameters = "mlc"\n'),
]


@pytest.mark.parametrize(("change", "old", "new"), CHANGES)
def test_one_value_is_changed_and_no_other_byte(tmp_path, change, old, new):
    by_hand(tmp_path).write_campaign(change)
    text = (tmp_path / "campaign.toml").read_text()
    wanted = BY_HAND.replace(old, new) if old else f"{BY_HAND}\n{new}"
    assert text == wanted
    assert (tmp_path / "campaign.before.toml").read_text() == BY_HAND


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_logs_move_with_their_parts_and_loads(tmp_path, ends):
    project = by_hand(tmp_path, BY_HAND.replace("\n", ends))
    keys = {file.title: file.key for file in project.files()}
    project.write_campaign({"train": [keys["b.csv"]], "validate": [keys["c.csv"], keys["a.csv"]]})
    logs = toml_document((tmp_path / "campaign.toml").read_text())["logs"]
    assert logs["train"] == ["b.csv"] and logs["stamps"] is False
    assert logs["validate"] == ["c.csv", {"file": "a.csv", "from": 1.0, "load": {"mass": 0.5}}]
    text = (tmp_path / "campaign.toml").read_bytes().decode()
    assert "# measured on the day of the storm" in text and "[command]  # of the servos" in text
    assert text.count("\r\n") >= 30 if ends == "\r\n" else "\r" not in text


def test_two_parts_of_one_log_keep_their_uses(tmp_path):
    parts = 'train = [{file = "a.csv", to = 5.0}]\nvalidate = [{file = "a.csv", from = 5.0}]\n'
    project = by_hand(tmp_path, f'format = 1\nrobot = "planar2r"\n[logs]\n{parts}')
    found = project.campaign()
    assert found is not None
    project.write_campaign({"train": found["logs"]["train"], "validate": found["logs"]["validate"]})
    assert parts in (tmp_path / "campaign.toml").read_text()


def test_another_robot_and_back_is_the_same_file(tmp_path):
    project = by_hand(tmp_path)
    project.choose_robot(bundled="puma560")
    assert toml_document((tmp_path / "campaign.toml").read_text())["robot"] == "puma560"
    assert project.robot is not None and project.robot["title"] == "PUMA 560"
    project.choose_robot(bundled="planar2r")
    assert (tmp_path / "campaign.toml").read_text() == BY_HAND


def test_what_json_cannot_hold_is_shown_as_text(tmp_path):
    text = 'format = 1\nrobot = "planar2r"\nx = inf\ny = nan\n[d]\nat = 07:30:00\n'
    found = by_hand(tmp_path, text).campaign()
    assert found is not None and (found["x"], found["y"], found["d"]["at"]) == ("inf", "nan", "07:30:00")


def test_a_campaign_that_is_no_toml_is_left_alone(tmp_path):
    project = by_hand(tmp_path, "format = \n")
    with pytest.raises(InputError, match="campaign.toml cannot be read, line 1"):
        project.write_campaign({"filter": {"cutoff_hz": 8.0}})
    assert (tmp_path / "campaign.toml").read_text() == "format = \n"
    project.choose_robot(bundled="puma560")  # which the campaign cannot name now
    assert (tmp_path / "campaign.toml").read_text() == "format = \n"


# ---------------------------------------------------------------------- any campaign


NAMES = st.sampled_from(
    ["logs", "columns", "filter", "model", "command", "elastic", "floor", "fix", "cutoff_hz", "kp", "effects", "train",
     "a", "b-c", "d e", "ä", "robot"]
)  # fmt: skip
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=8)
SCALARS = st.one_of(
    st.booleans(), st.integers(-(2**40), 2**40), st.floats(width=32), WORDS,
    st.dates(date(1990, 1, 1), date(2040, 1, 1)), st.times().map(lambda t: t.replace(microsecond=0)),
    st.datetimes(datetime(1990, 1, 1), datetime(2040, 1, 1)).map(lambda t: t.replace(microsecond=0)),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
DOCUMENTS = st.dictionaries(NAMES, st.dictionaries(NAMES, VALUES, max_size=4) | VALUES, max_size=6)


class _Writer:
    """TOML in any of its styles, with comments; which ones, is drawn."""

    def __init__(self, data: st.DataObject) -> None:
        self.data, self.comments, self.lines = data, 0, []

    def flip(self) -> bool:
        return bool(self.data.draw(st.booleans()))

    def comment(self) -> str:
        if not self.flip():
            return ""
        self.comments += 1
        return f"  # note {self.comments};"

    def document(self, document: dict[str, Any]) -> str:
        self.table((), document)
        return "\n".join(self.lines) + "\n"

    def table(self, path: tuple[str, ...], table: dict[str, Any]) -> None:
        later = {}
        for key, value in table.items():
            headed = isinstance(value, dict) or (
                isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)
            )
            if headed and self.flip():
                later[key] = value
            elif isinstance(value, dict) and value and self.flip():
                for name, inner in value.items():
                    self.lines.append(f"{quoted(key)}.{quoted(name)} = {inline(inner)}{self.comment()}")
            else:
                self.lines.append(f"{quoted(key)} = {inline(value)}{self.comment()}")
        for key, value in later.items():
            name = ".".join(map(quoted, (*path, key)))
            for one in value if isinstance(value, list) else [value]:
                self.lines.append(
                    f"\n[[{name}]]{self.comment()}" if isinstance(value, list) else f"\n[{name}]{self.comment()}"
                )
                self.table((*path, key), one)


def quoted(key: str) -> str:
    return key if re.fullmatch("[A-Za-z0-9_-]+", key) else inline(key)


def inline(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(k)} = {inline(v)}" for k, v in value.items()) + "}"
    return value.isoformat() if isinstance(value, date | time) else repr(value)


@settings(max_examples=examples(400), deadline=None)
@given(st.data(), DOCUMENTS)
def test_any_toml_survives_a_change_of_one_value(data, document):
    """Everything else holds the same values, and no comment on another line is lost."""
    writer = _Writer(data)
    text = writer.document(document)
    before = toml_document(text)
    table, key = data.draw(NAMES), data.draw(NAMES)
    is_table = isinstance(before.get(table, {}), dict)
    value = data.draw(st.none() | st.floats(0.1, 100.0) | WORDS | st.lists(st.integers(0, 9), max_size=3))
    change = {table: {key: value}} if is_table else {table: value}
    found = edited(text, change)
    after = toml_document(found)
    assert same(after, merged(before, change))
    kept = {k: v for k, v in after.items() if k != table}
    assert same(kept, {k: v for k, v in before.items() if k != table})
    gone = before.get(table, {}).get(key) if is_table else before[table]
    if isinstance(gone, dict | list):
        return  # its own lines go with it
    touched = [line for line in text.splitlines() if key in line or table in line]
    lost = {f"note {k + 1};" for k in range(writer.comments) if f"note {k + 1};" not in found}
    assert all(any(note in line for line in touched) for note in lost), found
