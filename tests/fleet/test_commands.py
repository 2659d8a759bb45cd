"""`minertia fleet add | compact | check`: what they print, and their exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minertia.cli import main
from tests.fleet.small import START, log_columns, small_fleet, small_logs, write_log


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    small_fleet(tmp_path)
    small_logs(tmp_path, robots=("A1",), seconds=5.0)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_logs_are_added_compacted_and_checked(folder: Path, capsys) -> None:
    add = ["fleet", "add", "logs", "--fleet", "FLEET.toml", "--store", "store", "--workers", "0"]
    assert main(add) == 0
    assert capsys.readouterr().out == "store: 2 logs added, 0 already known\n"
    assert main([*add, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert set(said) == {"format", "store", "new", "known", "early", "skipped", "logs", "faults", "arithmetics"}
    assert said["skipped"] == 2 and said["faults"] == []
    assert main(["fleet", "compact", "--store", "store", "--before", "2026-04", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == ["months/type=arm/month=2026-03/part-000.parquet"]
    assert main(["fleet", "check", "--store", "store", "--json"]) == 0
    checked = json.loads(capsys.readouterr().out)
    assert set(checked) == {"format", "store", "records", "robots", "faults", "missing", "arithmetics", "keys"}
    assert checked["records"] == 2 and main(["fleet", "check", "--store", "store"]) == 0
    assert "2 records of 1 robots: nothing wrong was found" in capsys.readouterr().out


def test_faults_end_with_1(folder: Path, capsys) -> None:
    write_log(folder / "logs" / "robot=A1" / "bad.csv", log_columns(folder, 3, START, 0.3))
    add = ["fleet", "add", "logs", "--fleet", "FLEET.toml", "--store", "store", "--workers", "0"]
    assert main(add) == 1
    out = capsys.readouterr().out
    assert "fault: logs/robot=A1/bad.csv: " in out and "2 logs added, 0 already known, 1 fault" in out
    assert main([*add, "--exit-zero", "--json"]) == 0
    assert [fault["source"] for fault in json.loads(capsys.readouterr().out)["faults"]] == ["logs/robot=A1/bad.csv"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["add", "logs", "--fleet", "FLEET.toml"], "the store is missing"),
        (["add", "nothing", "--fleet", "FLEET.toml", "--store", "s"], "no such file or folder"),
        (["add", "logs", "--store", "nowhere"], "no fleet store"),
        (["add", "logs", "--fleet", "FLEET.toml", "--store", "s", "--stretches", "all"], "stretches"),
        (
            ["add", "logs", "--fleet", "FLEET.toml", "--store", "s", "--scheduler", "a", "--workers", "1"],
            "give only one of",
        ),
        (["check", "--store", "nowhere"], "no fleet store"),
        (["compact", "--store", "nowhere"], "no fleet store"),
        (["compact", "--store", "s", "--before", "March"], "2026-03"),
    ],
)
def test_wrong_input_ends_with_2(folder: Path, capsys, args: list[str], said: str) -> None:
    if "s" in args and args[0] == "compact":
        assert main(["fleet", "add", "logs", "--fleet", "FLEET.toml", "--store", "s", "--workers", "0"]) == 0
    assert main(["fleet", *args]) == 2
    assert said in capsys.readouterr().err
