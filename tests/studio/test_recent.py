"""Recent projects: remembered by `minertia studio`, offered on the start page, opened in a studio of their own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import httpx
import pytest

from minertia.io.errors import InputError
from minertia.studio.entrance import announced, running_entrance
from minertia.studio.project import Project
from minertia.studio.recent import OpenedStudios, recent_file, recent_projects, remember
from minertia.studio.safety import new_token
from minertia.studio.serve import STATIC
from tests.studio.running import client, running


@pytest.fixture(autouse=True)
def of_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    """A project with a robot, remembered."""
    folder = tmp_path / "arm"
    Project(folder).choose_robot(bundled="planar2r")
    remember(folder)
    return folder


def test_projects_that_exist_are_listed_the_newest_first(tmp_path: Path, arm: Path) -> None:
    for name in ("other", "gone", "here"):
        Project(tmp_path / name)
        remember(tmp_path / name)
    remember(arm)
    (tmp_path / "gone" / "runs").rmdir()
    (tmp_path / "empty").mkdir()
    remember(tmp_path / "empty")  # no project any more
    with running(tmp_path / "here") as at, client(at) as c:
        found = c.get("/api/recent").json()["projects"]
        assert [(row["name"], row["robot"], row["runs"]) for row in found] == [
            ("arm", "planar 2R", 0),
            ("other", None, 0),
        ]
        assert c.post("/api/recent/0123456789ab").status_code == 400
    recent_file().write_text("[1, {")
    assert recent_projects(tmp_path) == []
    remember(arm)
    assert json.loads(recent_file().read_text()) == [str(arm)]


def test_a_studio_that_runs_is_taken(arm: Path) -> None:
    (row,) = recent_projects(arm.parent)
    token = new_token()
    with announced(arm, "http://127.0.0.1:8765/", token):
        assert OpenedStudios().open(row["key"]) == f"http://127.0.0.1:8765/?token={token}"
    with announced(arm, "http://elsewhere.example/", token):
        assert running_entrance(arm) is None
    kept = arm / ".studio" / "address.json"
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "pid": 2**22 + 1}))  # more than there can be
    assert running_entrance(arm) is None
    os.rename(arm, arm.with_name("moved"))
    with pytest.raises(InputError, match="no longer exists"):
        OpenedStudios().open(row["key"])


@pytest.mark.slow
@pytest.mark.skipif(not (STATIC / "index.html").is_file(), reason="the page is not built; run `make studio`")
def test_a_studio_is_started_on_another_project_and_ends_with_this_one(arm: Path) -> None:
    (row,) = recent_projects(arm.parent)
    others = OpenedStudios()
    address = others.open(row["key"])
    with httpx.Client(follow_redirects=True, trust_env=False) as c:
        assert c.get(address).status_code == 200
        assert c.get(address.partition("?")[0] + "api/project").json()["folder"] == str(arm)
    assert others.open(row["key"]) == address
    others.close()
    assert running_entrance(arm) is None
