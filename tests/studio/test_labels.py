"""Names and tags of runs and logs, and being rid of them."""

from __future__ import annotations

import math

from minertia.io.documents import toml_document
from minertia.robot.files import bundled_robots
from minertia.studio.jobs import DONE, Job, Jobs
from minertia.studio.project import Project
from minertia.studio.server import bundled_view
from tests.studio.running import client, running


def recorded(folder) -> str:
    """Name of a run that is done."""
    jobs = Jobs(Project(folder))
    name = jobs._begun(Job("0001-robot", "robot", {}, state=DONE)).name
    jobs.close()
    return name


def test_a_run_is_named_tagged_and_deleted(tmp_path):
    name = recorded(tmp_path)
    with running(tmp_path) as at, client(at) as c:
        before = c.get("/api/pulse").json()
        assert c.put(f"/api/jobs/{name}/label", json={"title": "first", "tags": ["good", "cold"]}).is_success
        assert c.get("/api/pulse").json() != before  # other tabs see it
        (known,) = c.get("/api/project").json()["jobs"]
        assert (known["title"], known["tags"]) == ("first", ["good", "cold"])
        assert c.delete(f"/api/jobs/{name}").json()["state"] == "done"  # nothing to cancel: it stays
        assert (tmp_path / "runs" / name).is_dir()
        assert c.delete(f"/api/jobs/{name}", params={"files": True}).is_success
        assert c.get("/api/project").json()["jobs"] == [] and not (tmp_path / "runs" / name).exists()
        assert c.get(f"/api/jobs/{name}").status_code == 404


def test_names_of_runs_survive_a_restart_and_are_not_given_twice(tmp_path):
    name = recorded(tmp_path)
    jobs = Jobs(Project(tmp_path))
    jobs.label(name, "mine", ["a"])
    jobs.close()
    jobs = Jobs(Project(tmp_path))
    (known,) = jobs.all()
    assert (known.title, known.tags) == ("mine", ["a"])
    jobs.delete(name)
    assert jobs._free_name("robot") != name  # a page that remembers the first one shows no other in its place


def test_logs_are_renamed_tagged_and_removed(tmp_path):
    """An uploaded log is deleted; one that lies in the folder is only hidden, and can be shown again."""
    (tmp_path / "own.csv").write_text("t,q1\n0,0\n")
    project = Project(tmp_path)
    upload = project.upload("log", "dropped.csv")
    with upload.open() as file:
        file.write(b"t,q1\n0,0\n")
    key = upload.close().key
    project.choose_robot(bundled="planar2r")
    own = next(file for file in project.files() if file.key != key)
    project.write_campaign({"train": [key, own.key], "validate": []})
    assert project.label(key, "cold start", ["cold"]).title == "cold start"
    assert project.label(own.key, "", ["warm"]).tags == ("warm",)
    project.remove(key)
    assert not upload.path.exists()
    project.remove(own.key)
    assert project.files() == [] and (tmp_path / "own.csv").is_file() and project.hidden == 1
    assert toml_document((tmp_path / "campaign.toml").read_text())["logs"]["train"] == []
    project.show_hidden()
    assert [file.tags for file in project.files()] == [("warm",)]


def test_bundled_robots_have_pictures():
    """Finite strokes within the reach of each robot; the server has them for the start page."""
    for name in bundled_robots():
        view = bundled_view(name)
        assert view["title"] and view["joints"] >= 1
        assert all(len(stroke) == 5 and all(math.isfinite(v) for v in stroke) for stroke in view["strokes"]), name
        assert len(view["strokes"]) >= view["joints"] - 1 > -1, name
