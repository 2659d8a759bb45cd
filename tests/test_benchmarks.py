"""The page of the benchmarks is what the results of all machines give; measuring on one leaves the others alone."""

from __future__ import annotations

import json
from itertools import repeat
from xml.etree import ElementTree

import pytest
from benchmarks import page, results
from benchmarks.bars import LEFT, Group, bars
from benchmarks.measure import Row, compare

ROWS = [
    Row("work, compiled (gcc)", 1e-8, 4e-7, "peer", 44.0, (39.0, 41.0)),
    Row("waiting", 0.25, note="wall time"),
]
ABOUT = {"machine": "a machine", "versions": ["Python 3"], "compilers": "gcc", "missing": ["peer (pip install peer)"]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    return tmp_path


def test_the_page_is_that_of_the_results():
    """Whoever changes results or page.py runs `python -m benchmarks.page`."""
    for path, text in page.files().items():
        assert path.read_text(encoding="utf-8") == text, path
    pictures = {path for path in page.files() if path.suffix == ".svg"}
    assert pictures == set(page.PICTURES.glob("*.svg"))


def test_words_beside_the_bars_fit():
    """At some 6.2 units a character nothing is cut off at the left."""
    for path in page.PICTURES.glob("*.svg"):
        labels = ElementTree.parse(path).findall(".//{*}text[@text-anchor='end']")
        assert labels and max(len(label.text) for label in labels) * 6.2 < LEFT, path


def test_every_set_of_the_repository_can_be_read():
    names = {path.stem for path in results.FOLDER.glob("*.json")}
    assert {"avx512_fp16", "avx512", "neon", "h200"} <= names <= {*results.SETS, *page.DEVICES}


@pytest.mark.parametrize(
    ("flags", "name"),
    [("sse2 avx2 avx512f avx512_fp16", "avx512_fp16"), ("avx512f avx2", "avx512"), ("avx2", "avx2"), ("sse2", "sse2")],
)
def test_machines_are_told_apart_by_their_widest_vectors(monkeypatch, flags, name):
    monkeypatch.setattr(results.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(results, "_cpuinfo", lambda key: flags)
    assert results.instruction_set() == name


def test_rows_come_back(folder):
    results.save("batches", ROWS, ABOUT)
    found = results.read(results.instruction_set())
    assert [results.from_json(row) for row in found["subjects"]["batches"]["rows"]] == ROWS


def test_a_run_keeps_other_sets_and_other_subjects(folder, monkeypatch):
    for name, subject in (("neon", "batches"), ("avx2", "batches"), ("avx2", "fits")):
        monkeypatch.setattr(results, "instruction_set", lambda name=name: name)
        results.save(subject, ROWS, ABOUT)
    before = (folder / "neon.json").read_text(encoding="utf-8")
    results.save("fits", ROWS[:1], ABOUT)
    assert (folder / "neon.json").read_text(encoding="utf-8") == before
    subjects = json.loads((folder / "avx2.json").read_text(encoding="utf-8"))["subjects"]
    assert {key: len(part["rows"]) for key, part in subjects.items()} == {"batches": 2, "fits": 1}


def test_a_run_on_a_device_keeps_other_programs(folder):
    row = {"arrays": "joint-major", "precision": "double", "rate": 1.2199912e9}
    about = {"about": "a robot", "versions": ["CuPy 1"]}
    results.save_device("h200", [row | {"program": "a"}, row | {"program": "b"}], about)
    results.save_device("h200", [row | {"program": "b", "rate": 2e9}], about)
    rates = {row["program"]: row["rate"] for row in results.read("h200")["rows"]}
    assert rates == {"a": 1.22e9, "b": 2e9}
    assert "| a | joint-major | 1.22 G/s |  |" in page.files()[page.PAGE].splitlines()


class _Clock:
    """Time that passes only in what is timed."""

    def __init__(self, monkeypatch):
        self.now, self.calls = 0.0, []
        monkeypatch.setattr("benchmarks.measure.seconds", self.seconds)

    def seconds(self, do):
        start = self.now
        do()
        return self.now - start

    def work(self, name, lengths):
        def do():
            self.calls.append(name)
            self.now += next(lengths)

        return do, 1.0


def test_the_ratio_is_that_of_the_rounds(monkeypatch):
    """A slow spell of the machine that hits ours and the peer of one round leaves the ratio as it is."""
    clock = _Clock(monkeypatch)
    ours = clock.work("ours", iter([1.0, 1.0, 9.0, 1.0]))
    peer = clock.work("peer", iter([10.0, 10.0, 90.0, 10.0]))
    row = compare("work", ours, peer, "peer", rounds=3, is_lone=True)
    assert row.ratio == 10.0 and row.spread == (10.0, 10.0)
    assert clock.calls[-6:] == ["ours", "peer"] * 3


def test_turns_are_of_equal_length(monkeypatch):
    """The shorter one is done again until it lasts as long as the other, or 20 ms."""
    for length, times in ((0.004, 4), (0.5, 20)):
        clock = _Clock(monkeypatch)
        row = compare("work", clock.work("ours", repeat(0.001)), clock.work("peer", repeat(length)), "peer", rounds=2)
        assert clock.calls[-2 * times - 2 :] == [*["ours"] * times, "peer"] * 2
        assert row.ratio == pytest.approx(length / 0.001)


def test_sets_stand_side_by_side(folder, monkeypatch):
    for name, factor in (("avx2", 1), ("neon", 2)):
        monkeypatch.setattr(results, "instruction_set", lambda name=name: name)
        slow = Row("work, compiled (gcc)", factor * 1e-8, 4e-7, "peer", 44.0 if name == "avx2" else None)
        results.save("batches", [slow], ABOUT)
    text = page.files()[page.PAGE]
    assert "| what | peer | AVX2 | NEON | goal |" in text
    line = "| work, compiled (gcc) | peer | **40.0**: 10 ns, peer 400 ns | **20.0**: 20 ns, peer 400 ns | 44.0 |"
    assert line in text.splitlines()
    assert "Not compared there: peer (pip install peer)." in text


def test_bars_are_as_long_as_the_ratios():
    names = {"avx512": "AVX-512", "neon": "NEON"}
    root = ElementTree.fromstring(bars("a < b", [Group("a & b", {"avx512": 40.0, "neon": 10.0}, 44.0)], names))
    wide, narrow = [float(r.get("width")) for r in root.findall(".//{*}rect") if float(r.get("height")) > 10]
    assert wide == pytest.approx(4 * narrow, abs=0.2)
    texts = [t.text for t in root.findall(".//{*}text")]
    assert "a & b" in texts and "40" in texts and "10" in texts
