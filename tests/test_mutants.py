"""The tool that puts faults into the code: which it draws, which it leaves alone, and how it runs them."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

pytest.importorskip("tools.mutants", reason="the tool is part of the sources, not of the package")
from tools.mutants.places import PLACES
from tools.mutants.pool import BROKEN, Work, finished
from tools.mutants.sites import Sites, drawn

ROOT = Path(__file__).resolve().parents[1]
SOURCE = """
LIMIT = 0.5  # a constant
ROUNDS = 20

def decide(x, y):
    if x > LIMIT and not y:
        raise ValueError(f"{x} is {2 * 3}")
    for _ in range(30):
        x = max(1, x - y)
        if abs(x) < 1e-9:
            break
    return (x / 4).reshape(-1, 2), sqrt(maximum(y, 0.0)), zip(x, y, strict=True)
"""


def changes(text: str) -> list[tuple[str, str]]:
    return [(fault.old, fault.new) for fault in Sites("some.py", text, random.Random(0)).found]


def test_faults_of_every_kind_are_found():
    found = changes(SOURCE)
    assert ("x > LIMIT and not y", "not (x > LIMIT and not y)") in found
    assert {("and", "or"), ("not ", ""), ("/", "*"), ("-", "+"), ("max(1, x - y)", "(x - y)"), ("4", "5")} <= set(found)
    assert any(old == ">" for old, _ in found)
    assert {old: float(new) / float(old) for old, new in found if old == "0.5"}["0.5"] in (0.01, 0.25, 4.0)


def test_what_changes_no_result_is_left_alone():
    """Sentences, how often something is tried, what rounding leaves, and arguments that choose a way."""
    old = [pair[0] for pair in changes(SOURCE)]
    assert not {"20", "30", "1e-9", "3", "maximum(y, 0.0)", "True", "0.0", "<", "abs(x)"} & set(old)
    assert old.count("1") == 1 and old.count("2") == 1  # of the bound, not of -1; of the shape, not of the sentence


def test_every_fault_stands_where_it_says():
    for fault in drawn(ROOT, 60, 1):
        text = (ROOT / "src/minertia" / fault.file).read_text(encoding="utf-8")
        assert text[fault.start : fault.stop] == fault.old != fault.new
        compile(text[: fault.start] + fault.new + text[fault.stop :], fault.file, "exec")
    assert drawn(ROOT, 50, 2) == drawn(ROOT, 50, 2) != drawn(ROOT, 50, 3)


def test_places_have_tests():
    for source, tests in PLACES.items():
        assert (ROOT / "src/minertia" / source).is_file()
        assert tests
        for file, *single in (test.split("::") for test in tests):
            text = (ROOT / file).read_text(encoding="utf-8")
            assert all(f"def {name.split('[')[0]}(" in text for name in single)


def broken(folder: Path) -> int:
    raise ValueError(folder)


@pytest.mark.filterwarnings("ignore:os.fork")  # of packages that other tests loaded
def test_work_ends_with_its_status_or_with_its_time(tmp_path):
    works = [
        Work(lambda folder: len(list(folder.iterdir())), 30.0),
        Work(lambda folder: 7, 30.0),
        Work(broken, 30.0),
        Work(lambda folder: time.sleep(60) or 0, 0.3),
        Work(lambda folder: os.kill(os.getpid(), 9) or 0, 30.0),
    ]
    assert dict(finished(works, 3, tmp_path)) == {0: 0, 1: 7, 2: BROKEN, 3: None, 4: -9}
    assert list(tmp_path.iterdir()) == []
    assert list(finished(works, 1, tmp_path, until=time.monotonic())) == []
