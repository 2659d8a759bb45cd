"""Small files that stand for gigabytes: refused with a sentence, before they are in memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from minertia.io.errors import InputError
from minertia.io.resources import allowed, room
from tests.fuzz import bombs
from tests.fuzz.seeds import csv_text

ROOM = 10  # MB of numbers that may be held, in these tests
TAKEN = 170  # MB that reading may take: what is held twice over, blocks of a file, and what a package loads
NAMES = tuple(bombs.bombs(Path()))
# other ways to fill a format that the quick tests have once
MORE = ("cells.csv.gz", "word.csv.gz", "columns.npz", "head.npz", "bytes.mat", "lz4.mcap")
needs_usage = pytest.mark.skipif(sys.platform != "linux", reason="no way to ask for the memory taken")


class Read:
    """What is said of each bomb, and the memory that it took: of one of each kind, or of the others, when asked for."""

    def __init__(self, folders: pytest.TempPathFactory) -> None:
        self.folders = folders
        self.said: dict[bool, dict[str, dict]] = {}

    def __getitem__(self, name: str) -> dict:
        further = name in MORE
        if further not in self.said:
            names = [other for other in NAMES if (other in MORE) == further]
            self.said[further] = read_in_a_process(self.folders.mktemp("bombs"), names)
        return self.said[further][name]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Read:
    for package in ("pyarrow", "h5py", "rosbags"):
        pytest.importorskip(package)
    return Read(tmp_path_factory)


def each(names: Sequence[str]) -> Any:
    marked = [pytest.param(name, marks=pytest.mark.slow if name in MORE else ()) for name in names]
    return pytest.mark.parametrize("name", marked)


def read_in_a_process(folder: Path, names: Sequence[str]) -> dict[str, dict]:
    for name in names:
        (folder / name).write_bytes(bombs.bombs(folder)[name]())
        assert (folder / name).stat().st_size < 25 * bombs.MB
    (folder / "small-rows.csv.gz").write_bytes(bombs.gzipped([csv_text().encode()]))
    env = os.environ | {"MINERTIA_MEMORY": f"{4 * ROOM} MB"}
    command = [sys.executable, "-m", "tests.fuzz.bombs", str(folder)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, env=env, cwd=root, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-2000:]
    return {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}


@needs_usage
@each(NAMES)
def test_bombs_are_refused_before_they_are_in_memory(found: Read, name: str) -> None:
    said, taken = found[name]["said"], found[name]["taken"]
    assert taken < TAKEN, said
    assert not said.startswith("read ") and 20 < len(said) < 600 and said.isprintable(), said


SIZED = ("rows.csv.gz", "zeros.npz", "columns.npz", "zeros.parquet", "zeros.mat", "hdf5.mat")


@needs_usage
@each(SIZED)
def test_the_sentence_names_the_size_and_the_way_out(found: Read, name: str) -> None:
    assert "MB" in found[name]["said"] and "MINERTIA_MEMORY=8GB" in found[name]["said"]


@pytest.mark.parametrize(
    ("said", "bytes_"), [("", 2e9), ("8GB", 8e9), ("1.5 g", 1.5e9), ("500 MB", 5e8), ("4GiB", 4e9), ("3000000", 3e6)]
)
def test_amounts_of_memory(monkeypatch: pytest.MonkeyPatch, said: str, bytes_: float) -> None:
    monkeypatch.setenv("MINERTIA_MEMORY", said)
    assert allowed() == bytes_ and room() == bytes_ // 4


@pytest.mark.parametrize("said", ["much", "-1GB", "1", "1 kB", "nan", "1e9", "8 GB please"])
def test_amounts_that_are_none(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("MINERTIA_MEMORY", said)
    with pytest.raises(InputError, match="MINERTIA_MEMORY is '.*'; it must be an amount of memory"):
        allowed()
