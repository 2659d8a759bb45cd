"""Whose result it is: robot, campaign and files of every result; changes over others' changes; a killed server."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import httpx
import numpy as np
import pytest

from minertia.identification.campaigns.read import read_campaign
from minertia.identification.logs.readers import FORMATS
from minertia.io.errors import InputError
from minertia.studio.bindings import ProjectNow, refuse_changed
from minertia.studio.jobs import INTERRUPTED, RECORD, began, end_orphan
from minertia.studio.project import Project
from minertia.studio.serve import STATIC
from tests.arm import recorded_arm
from tests.identification.test_commands import ARM, GAINS, recorded
from tests.studio.running import client, done, followed, running

CAMPAIGN = """\
# by hand
format = 1
robot = "arm.urdf"

[logs]
train = ["a.csv"]
validate = ["b.csv"]

[columns]
effort_unit = "Nm"  # as the drives say

[model]
effects = ["viscous"]
"""


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    return recorded_arm(tmp_path_factory.mktemp("arm"))


@pytest.fixture
def by_hand(tmp_path, arm):
    """A folder of the command line."""
    for name in ("arm.urdf", "a.csv", "b.csv"):
        (tmp_path / name).write_bytes((arm / name).read_bytes())
    (tmp_path / "campaign.toml").write_text(CAMPAIGN)
    return tmp_path


def stale(c: httpx.Client, name: str) -> list[str]:
    jobs = {job["name"]: job for job in c.get("/api/project").json()["jobs"]}
    assert c.get(f"/api/jobs/{name}").json()["stale"] == jobs[name]["stale"]
    return jobs[name]["stale"]


def test_a_motion_and_code_are_of_the_robot_that_was_chosen(tmp_path):
    """Another robot makes them another's, and their archives are refused; going back makes them current again."""
    with running(tmp_path) as at, client(at) as c:
        c.put("/api/robot", json={"bundled": "five_bar"}).raise_for_status()
        motion = done(c, "excite", duration=2.0, harmonics=2, patience=0.1)["name"]
        made = done(c, "generate", target="numpy", programs=["gravity"])
        assert made["state"] == "done", made
        code = made["name"]
        assert stale(c, motion) == stale(c, code) == []
        c.put("/api/robot", json={"bundled": "cmu_dd_arm2"}).raise_for_status()
        assert stale(c, motion) == stale(c, code) == ["computed for the robot five-bar"]
        refused = c.get(f"/api/jobs/{motion}/zip")
        assert refused.status_code == 409 and "computed for the robot five-bar" in refused.json()["error"]
        told = c.get(f"/api/jobs/{code}/zip", params={"old": True})
        assert "not-current" in told.headers["content-disposition"]
        archive = zipfile.ZipFile(io.BytesIO(told.content))
        assert "computed for the robot five-bar" in archive.read(f"{code}-not-current/NOT-CURRENT.txt").decode()
    with running(tmp_path) as at, client(at) as c:  # what a server knows is on the disk
        assert stale(c, motion) == ["computed for the robot five-bar"]
        c.put("/api/robot", json={"bundled": "five_bar"}).raise_for_status()
        assert stale(c, motion) == stale(c, code) == []
        names = zipfile.ZipFile(io.BytesIO(c.get(f"/api/jobs/{motion}/zip").content)).namelist()
        assert names and not any("NOT-CURRENT" in name for name in names)


def test_a_fit_is_of_its_campaign_robot_and_logs(by_hand):
    """Each of them changed, and put back; code that was made of the fit goes with it."""
    with running(by_hand) as at, client(at) as c:
        check = done(c, "check")["name"]
        fit = done(c, "identify")
        assert fit["state"] == "done", fit
        model = next(f for f in c.get("/api/project").json()["files"] if f["title"] == f"runs/{fit['name']}/model.toml")
        assert model["robot"] == "arm"
        code = done(c, "generate", model=model["key"], target="numpy", programs=["gravity"])["name"]

        def reasons() -> list[str]:
            found = stale(c, fit["name"])
            assert stale(c, check) == found and bool(stale(c, code)) == bool(found)
            assert (c.get("/api/project").json()["check"] == check) == (not found)
            return found

        assert reasons() == []
        c.put("/api/campaign", json={"filter": {"cutoff_hz": 8.0}}).raise_for_status()
        assert reasons() == ["computed before the campaign changed"]
        assert stale(c, code) == [f"computed from the model of {fit['name']}, computed before the campaign changed"]
        c.put("/api/campaign", json={"filter": {"cutoff_hz": None}}).raise_for_status()
        assert reasons() == []
        for name in ("campaign.toml", "a.csv", "arm.urdf"):
            content = (by_hand / name).read_bytes()
            more = {"campaign.toml": b"# a thought\n", "a.csv": content[-40:], "arm.urdf": b"\n"}[name]
            (by_hand / name).write_bytes(content + more)
            assert reasons() == ([] if name == "campaign.toml" else [f"computed before {name} changed"])
            if name == "a.csv":  # of the same size and time, and yet another
                old = (by_hand / name).stat()
                (by_hand / name).write_bytes(content.replace(b"1", b"2", 1))
                os.utime(by_hand / name, ns=(old.st_atime_ns, old.st_mtime_ns))
                assert reasons() == ["computed before a.csv changed"]
            (by_hand / name).write_bytes(content)
            assert reasons() == []
        (by_hand / "b.csv").rename(by_hand / "away.csv")
        assert any("b.csv, which no longer exists" in why for why in stale(c, fit["name"]))


def test_a_job_is_of_the_robot_that_it_was_asked_for(tmp_path):
    """Even where another one is chosen before its process begins; a campaign that changes before it is refused."""
    with running(tmp_path) as at, client(at) as c:
        c.put("/api/robot", json={"bundled": "planar2r"}).raise_for_status()
        job = c.post("/api/jobs", json={"kind": "robot"}).json()["name"]
        c.put("/api/robot", json={"bundled": "emps"}).raise_for_status()
        assert followed(c, job)[-1]["sentence"].startswith("planar 2R")
        assert stale(c, job) == ["computed for the robot planar 2R"]
        c.put("/api/robot", json={"bundled": "planar2r"}).raise_for_status()
        assert stale(c, job) == []
    project = Project(tmp_path)
    made_of = ProjectNow(project).made_of("check")
    refuse_changed(project, made_of)
    (tmp_path / "campaign.toml").write_text('robot = "planar2r"\n')
    with pytest.raises(InputError, match="the campaign was changed before this job began"):
        refuse_changed(project, made_of)


def test_what_an_older_version_wrote_is_not_current(tmp_path):
    record = tmp_path / "runs" / "0001-excite" / RECORD
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({"kind": "excite", "settings": {}, "state": "done", "started": 0.0, "ended": 1.0}))
    with running(tmp_path) as at, client(at) as c:
        assert "did not record its robot" in stale(c, "0001-excite")[0]


# ---------------------------------------------------------------------- several writers


def test_a_change_on_an_older_revision_is_refused(by_hand):
    """Of two tabs the second is told, and so is whoever has an editor open; nothing is written over."""
    with running(by_hand) as at, client(at) as c:
        first = c.get("/api/project").json()
        mine = c.put("/api/campaign", json={"filter": {"cutoff_hz": 8.0}, "revision": first["revision"]})
        assert mine.status_code == 200 and mine.json()["revision"] != first["revision"]
        for write in (
            lambda r: c.put("/api/campaign", json={"filter": {"cutoff_hz": 9.0}, "revision": r}),
            lambda r: c.put("/api/robot", json={"bundled": "planar2r", "revision": r}),
        ):
            answer = write(first["revision"])
            assert answer.status_code == 409 and answer.json()["revision"] == mine.json()["revision"]
            assert "changed elsewhere" in answer.json()["error"]
        text = (by_hand / "campaign.toml").read_text()
        assert "cutoff_hz = 8.0" in text and 'robot = "arm.urdf"' in text
        before = c.get("/api/project").json()
        (by_hand / "campaign.toml").write_text(text.replace("8.0", "7.0"))  # by an editor
        after = c.get("/api/project").json()
        assert after["pulse"] != before["pulse"] == c.get("/api/project").json()["pulse"] or after["pulse"]
        assert c.get("/api/pulse").json()["pulse"] == after["pulse"] != before["pulse"]
        assert after["campaign"]["filter"]["cutoff_hz"] == 7.0
        answer = c.put("/api/campaign", json={"filter": {"order": 4}, "revision": before["revision"]})
        assert answer.status_code == 409
        kept = c.put("/api/campaign", json={"filter": {"order": 4}, "revision": answer.json()["revision"]})
        assert kept.status_code == 200
        assert "cutoff_hz = 7.0" in (by_hand / "campaign.toml").read_text()  # with theirs


# ---------------------------------------------------------------------- a server that is killed


def served(folder: Path, port: int = 0) -> tuple[subprocess.Popen[str], str]:
    """`minertia studio` in a process of its own, and the address that it printed."""
    command = [sys.executable, "-m", "minertia.cli", "studio", str(folder), "--no-open", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"http://\S+", line):
            until_it_listens(found[0])
            return process, found[0]
    raise AssertionError("it printed no address")


def until_it_listens(address: str) -> None:
    for _ in range(400):
        try:
            httpx.get(address, trust_env=False, verify=False)
            return
        except httpx.ConnectError:
            time.sleep(0.05)
    raise AssertionError("it never listened")


@pytest.mark.skipif(sys.platform != "linux", reason="processes are told apart by /proc")
@pytest.mark.skipif(not (STATIC / "index.html").is_file(), reason="the page is not built; run `make studio`")
def test_a_job_of_a_killed_server_is_interrupted_and_its_process_ends(tmp_path):
    process, address = served(tmp_path)
    try:
        with httpx.Client(timeout=60, trust_env=False, verify=False) as c:
            c.get(address)
            base = address.partition("?")[0]
            for robot in ("planar2r", "puma560"):  # written twice
                c.put(f"{base}api/robot", json={"bundled": robot}).raise_for_status()
            asked = {"kind": "excite", "settings": {"starts": 20, "patience": 10}}
            job = c.post(f"{base}api/jobs", json=asked).json()
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    record = json.loads((tmp_path / "runs" / job["name"] / RECORD).read_text())
    assert record["state"] == "running" and record["process"]["began"]
    with running(tmp_path) as at, client(at) as c:
        (again,) = c.get("/api/project").json()["jobs"]
        assert again["state"] == INTERRUPTED and again["settings"] == record["settings"]
    deadline = time.monotonic() + 20
    while began(record["process"]["pid"]) == record["process"]["began"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are told apart by /proc")
def test_only_the_very_process_of_a_job_is_ended():
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        end_orphan({"pid": sleeper.pid, "began": "1"})  # another one of the same number
        end_orphan({})
        assert sleeper.poll() is None
        end_orphan({"pid": sleeper.pid, "began": began(sleeper.pid)})
        assert sleeper.wait(20) == -signal.SIGKILL
    finally:
        sleeper.kill()


# ---------------------------------------------------------------------- logs


def test_every_log_that_a_command_reads_is_listed(tmp_path):
    for ending in FORMATS:
        (tmp_path / f"run{ending}").write_bytes(b"\0")
    (tmp_path / "bag").mkdir()
    (tmp_path / "bag" / "metadata.yaml").write_text("rosbag2_bagfile_information:\n")
    (tmp_path / "bag" / "bag_0.db3").write_bytes(b"\0")
    found = {file.title for file in Project(tmp_path).files() if file.kind == "log"}
    assert found == {*(f"run{ending}" for ending in FORMATS), "bag"}


def test_a_campaign_may_name_logs_and_a_robot_elsewhere(tmp_path, arm):
    """The command line reads them where they are, and so does the studio."""
    (tmp_path / "project").mkdir()
    text = CAMPAIGN
    for name in ("arm.urdf", "a.csv", "b.csv"):
        text = text.replace(name, os.path.relpath(arm / name, tmp_path / "project"))
    (tmp_path / "project" / "campaign.toml").write_text(text)
    with running(tmp_path / "project") as at, client(at) as c:
        project = c.get("/api/project").json()
        assert project["robot"]["title"].endswith("arm.urdf")
        assert len([file for file in project["files"] if file["kind"] == "log"]) == 2
        assert done(c, "check")["state"] == "done"
        c.put("/api/campaign", json={"filter": {"cutoff_hz": 8}}).raise_for_status()
    assert (tmp_path / "project" / "campaign.toml").read_text() == f"{text}\n[filter]\ncutoff_hz = 8\n"


def test_a_decimal_comma_is_proposed_and_read(tmp_path, arm):
    """Semicolons and commas as a German spreadsheet writes them; one log that is none stops nothing."""
    (tmp_path / "arm.urdf").write_bytes((arm / "arm.urdf").read_bytes())
    for name in ("a.csv", "b.csv"):
        text = (arm / name).read_text()
        (tmp_path / name).write_text(text.replace(",", ";").replace(".", ","))
    (tmp_path / "policy.pt").write_bytes(b"no log at all")
    with running(tmp_path) as at, client(at) as c:
        key = next(file["key"] for file in c.get("/api/project").json()["files"] if file["kind"] == "robot")
        c.put("/api/robot", json={"file": key}).raise_for_status()
        job = done(c, "propose")
        assert job["state"] == "done", job
        view = c.get(f"/api/jobs/{job['name']}/view").json()
        assert view["campaign"]["columns"]["decimal"] == "," and "policy.pt" in view["unread"][0]
        c.post("/api/campaign/of", json={"job": job["name"]}).raise_for_status()
        c.put("/api/campaign", json={"columns": {"effort_unit": "Nm"}}).raise_for_status()
        assert 'every "?" must be replaced' in (tmp_path / "campaign.toml").read_text()  # its comments stay
        checked = done(c, "check")
        assert checked["state"] == "done" and "0 errors" in checked["sentence"], checked
        plain, comma = (read_campaign(place / "campaign.toml") for place in (with_points(tmp_path, arm), tmp_path))
        one, other = plain.as_logged(plain.train[0]), comma.as_logged(comma.train[0])
        np.testing.assert_array_equal(one.q, other.q)


def with_points(folder: Path, arm: Path) -> Path:
    """The same campaign on the logs as they were."""
    place = folder / "deep" / "er" / "than" / "looked"
    place.mkdir(parents=True)
    for name in ("arm.urdf", "a.csv", "b.csv"):
        (place / name).write_bytes((arm / name).read_bytes())
    (place / "campaign.toml").write_text((folder / "campaign.toml").read_text().replace('decimal = ","\n', ""))
    return place


def test_a_proposal_keeps_what_is_stated(by_hand):
    """Logs and columns come anew; effects, comments and how files are read stay."""
    (by_hand / "campaign.toml").write_text(CAMPAIGN.replace("[columns]", '[columns]\ndelimiter = ","\nqd = "none{j}"'))
    with running(by_hand) as at, client(at) as c:
        c.post("/api/campaign/of", json={"job": done(c, "propose")["name"]}).raise_for_status()
    text = (by_hand / "campaign.toml").read_text()
    assert text.startswith("# by hand") and 'effort_unit = "Nm"  # as the drives say' in text
    found = read_campaign(by_hand / "campaign.toml")
    assert found.map.delimiter == "," and found.map.qd != "none{j}"
    assert [effect.kind for effect in found.effects] == ["viscous"]


# ---------------------------------------------------------------------- commands


def test_a_campaign_of_commands_is_checked_and_identified(tmp_path):
    """As the command line does, with the tables that the studio does not show."""
    from minertia.identification.campaigns.campaign import Campaign
    from minertia.identification.campaigns.options import Command

    for seed, name in enumerate(("run.csv", "other.csv")):
        log = recorded(Campaign(ARM, command=Command(**GAINS), links="physical"), seed=seed)
        table = np.column_stack([log.t, log.q, log.channels["command"]])
        np.savetxt(tmp_path / name, table, delimiter=",", header="t,q1,q2,q_ref1,q_ref2", comments="")
    text = 'format = 1\nrobot = "planar2r"\ngravity = [0, -9.81, 0]\n[logs]\ntrain = ["run.csv"]\n'
    text += (
        'validate = ["other.csv"]\n[command]\nkp = [150, 80]\nkd = [8, 4]\ndelay = "?"\n[model]\nlinks = "physical"\n'
    )
    (tmp_path / "campaign.toml").write_text(text)
    with running(tmp_path) as at, client(at) as c:
        checked = done(c, "check")
        assert checked["state"] == "done", checked
        view = c.get(f"/api/jobs/{checked['name']}/view").json()
        assert set(view["logs"][0]["signals"]) == {"q", "command"}
        fit = done(c, "identify")
        assert fit["state"] == "done" and "% of the lag" in fit["sentence"], fit
        view = c.get(f"/api/jobs/{fit['name']}/view").json()
    values = {p["name"]: p for p in view["parameters"]}
    assert values["MX2"]["value"] == pytest.approx(0.5, rel=0.02) and values["delay"]["unit"] == "s"
    assert [log["is_fitted"] for log in view["logs"]] == [True, False]
    assert len(view["logs"][0]["curves"]["predicted"]) == 2 and view["logs"][1]["residual"]["relative"] < 0.05
    assert (tmp_path / "campaign.toml").read_text() == text
