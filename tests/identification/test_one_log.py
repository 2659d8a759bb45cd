"""A log has one class for each stage of its way, and a block of it one: no twins for long logs or commands."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from minertia.identification.kinds import KINDS
from minertia.identification.logs.readers import FORMATS

ROOT = Path(__file__).parents[2] / "src" / "minertia" / "identification"
LOGS = {
    "Log": "what a campaign names",
    "LogFile": "file",
    "ArrayLog": "file: of formats that are read at once",
    "SageLog": "file: a folder",
    "Recording": "recording: a block",
    "RecordedLog": "recording",
    "PreparedLog": "prepared",
    "Motion": "prepared: a block",
    "MotionLike": "what users may give for one",
    "LogTriangles": "rows",
    "PredictedLog": "as values predict it",
    "LogBands": "as samples of a model predict it",
    "LogReading": "options of reading",
}
DERIVED = ("PreparedLog", "PredictedLog")  # one class for each kind of problem


@cache
def classes() -> list[tuple[ast.ClassDef, list[str]]]:
    """All classes of the room with the names of their bases."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py"))]
    found = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return [(node, [ast.unparse(base).split("[")[0] for base in node.bases]) for node in found]


def test_one_class_for_each_stage() -> None:
    formats = {place.split(":")[1] for place in FORMATS.values()}
    derived = {node.name for node, bases in classes() if set(bases) & set(DERIVED)}
    found = {n.name for n, _ in classes() if any(word in n.name for word in ("Log", "Motion", "Recording", "Recorded"))}
    assert found - formats - derived == set(LOGS)


def test_one_derived_class_for_each_kind_of_problem() -> None:
    for base in DERIVED:
        own = [node.name for node, bases in classes() if base in bases]
        assert 2 <= len(own) <= len(KINDS), own


def test_samples_are_held_by_one_class() -> None:
    """Whatever has times, positions and efforts is a `Recording`, with velocities and accelerations a `Motion`."""

    def fields(node: ast.ClassDef) -> set[str]:
        stated = {n.target.id for n in node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
        return stated | {n.name for n in node.body if isinstance(n, ast.FunctionDef)}

    found = {node.name for node, _ in classes() if fields(node) >= {"t", "q", "tau"}}
    assert found == {"Recording", "Motion", "MotionLike"}
