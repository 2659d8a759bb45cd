"""Logs and places under hostile names, and beside others who write and tidy up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from minertia.fleet import places
from minertia.fleet.places import LocalPlace, RemotePlace
from minertia.fleet.sources import LogSource, find_logs, opened
from minertia.io.errors import MinertiaError


@pytest.mark.parametrize(
    ("url", "day"),
    [
        ("/logs/robot=A/day=2026-03-31/x.csv", "2026-03-31"),
        ("/logs/robot=A/run_2026-03-31.csv", "2026-03-31"),
        ("/logs/holiday=yes/run_2026-03-31.csv", "2026-03-31"),
        ("/logs/robot=A/day=2026-02-30/x.csv", None),
        ("/logs/robot=A/serial-12026-03-319.csv", None),
        ("/logs/day=2026-03-31.csv", "2026-03-31"),
        ("s3://logs/robot=A/day=31/x.csv", None),
    ],
)
def test_only_days_that_the_calendar_has_are_taken_from_paths(url: str, day: str | None) -> None:
    assert LogSource(url, 1, "").day == day


def test_a_link_to_nothing_is_left_to_whoever_opens_it(tmp_path: Path) -> None:
    """One bad entry must not keep all other logs from being found."""
    (tmp_path / "good.csv").write_text("t,q1\n", "utf-8")
    (tmp_path / "gone.csv").symlink_to(tmp_path / "nowhere.csv")
    gone, good = find_logs([tmp_path])
    assert (Path(good.url).name, Path(gone.url).name, gone.size) == ("good.csv", "gone.csv", 0)
    with pytest.raises(OSError), opened(gone):
        pass


def test_a_folder_that_cannot_be_listed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "good.csv").write_text("t,q1\n", "utf-8")
    listed = os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(MinertiaError, match=r"closed: the folder cannot be listed \(Permission denied\)"):
        find_logs([tmp_path])


def test_a_folder_that_is_tidied_away_meanwhile_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, write = LocalPlace(str(tmp_path)), places.write_whole

    def after_others(target: Path, data: bytes) -> None:
        monkeypatch.setattr(places, "write_whole", write)
        target.parent.rmdir()
        write(target, data)

    monkeypatch.setattr(places, "write_whole", after_others)
    place.write("a/b/record", b"1")
    assert place.read("a/b/record") == b"1"


def test_a_folder_that_fills_while_it_is_tidied_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = LocalPlace(str(tmp_path))
    place.write("a/b/first", b"1")
    remove = Path.rmdir

    def beside_others(folder: Path) -> None:
        (folder / "second").write_bytes(b"2")
        remove(folder)

    monkeypatch.setattr(Path, "rmdir", beside_others)
    place.remove("a/b/first")
    assert place.names() == ["a/b/second"]


def test_an_object_that_others_take_away_first_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")
    place = RemotePlace("memory://tidied")
    monkeypatch.setattr(place, "exists", lambda name: True)
    place.remove("gone")
