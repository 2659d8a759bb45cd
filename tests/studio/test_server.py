"""The studio's server: a project of plain files, jobs in processes, and who may talk to it."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import httpx
import pytest

from minertia.codegen.kernels import build
from minertia.identification.campaigns.read import read_campaign
from minertia.identification.model_file import read_model
from minertia.report.robot_views import drawn_robot
from minertia.robot.files import read_robot
from minertia.studio.child import JobLimits
from minertia.studio.entrance import kept_token
from minertia.studio.jobs import INTERRUPTED, RECORD, Jobs
from minertia.studio.project import Project
from minertia.studio.safety import NO_TOKEN
from minertia.studio.serve import STATIC
from tests.arm import recorded_arm
from tests.studio.running import client, done, followed, running, stranger, uploaded


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    return recorded_arm(tmp_path_factory.mktemp("arm"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="module")
def at(folder):
    with running(folder, largest=3_000_000) as found:
        yield found


@pytest.fixture
def c(at):
    with client(at) as found:
        yield found


def keys(c: httpx.Client, kind: str) -> dict[str, str]:
    return {file["title"]: file["key"] for file in c.get("/api/project").json()["files"] if file["kind"] == kind}


@pytest.mark.slow
def test_a_campaign_from_an_empty_folder_to_a_model_and_code(c, folder, arm):
    """Every step over HTTP; what it leaves is what the command line reads."""
    key = uploaded(c, "robot", arm / "arm.urdf").json()["key"]
    c.put("/api/robot", json={"file": key}).raise_for_status()
    job = done(c, "robot")
    assert job["state"] == "done" and "base parameters" in job["sentence"]
    view = c.get(f"/api/jobs/{job['name']}/view").json()
    assert view["base"]["count"] == len(view["base"]["parameters"]) > 3
    assert [j["name"] for j in view["robot"]["joints"]] == ["shoulder", "elbow"]

    for name in ("a.csv", "b.csv"):
        assert uploaded(c, "log", arm / name).status_code == 200
    proposed = c.get(f"/api/jobs/{done(c, 'propose')['name']}/view").json()["campaign"]
    assert sorted(len(proposed["logs"][use]) for use in ("train", "validate")) == [1, 1]
    assert c.post("/api/jobs", json={"kind": "identify"}).status_code == 409  # nothing was checked
    asked = {**proposed["logs"], "columns": {**proposed["columns"], "effort_unit": "Nm"}, "drive": {}}
    c.put("/api/campaign", json=asked).raise_for_status()
    assert read_campaign(folder / "campaign.toml").robot.n == 2

    checked = done(c, "check")
    assert checked["state"] == "done", checked
    assert c.get("/api/project").json()["check"] == checked["name"]
    log = c.get(f"/api/jobs/{checked['name']}/view").json()["logs"][0]
    assert log["log"] == "a.csv" and log["samples"] == 2400 and len(log["signals"]["effort"]) == 2

    steps = followed(c, c.post("/api/jobs", json={"kind": "identify"}).json()["name"])
    assert steps[-1]["state"] == "done" and len({s["step"] for s in steps}) > 1
    name = steps[-1]["name"]
    assert {"model.toml", "result.json", "report.html", "robot.urdf", "view.json", RECORD} <= {
        p.name for p in (folder / "runs" / name).iterdir()
    }
    fit = c.get(f"/api/jobs/{name}/view").json()
    assert set(fit["logs"][0]["curves"]) == {"measured", "predicted", "nominal"}
    unseen = next(log for log in fit["logs"] if not log["is_fitted"])
    assert unseen["residual"]["relative"] < 0.1 < unseen["nominal_residual"]["relative"]
    assert read_model(folder / "runs" / name / "model.toml").robot.name == "arm"
    page = c.get(f"/api/jobs/{name}/pages/report")
    assert page.status_code == 200 and "sandbox" in page.headers["content-security-policy"]

    c.put("/api/campaign", json={**asked, "filter": {"cutoff_hz": 8.0}}).raise_for_status()
    assert c.get("/api/project").json()["check"] is None  # any change voids the check
    assert c.post("/api/jobs", json={"kind": "identify"}).status_code == 409

    models = keys(c, "model")
    made = done(c, "generate", model=models[f"runs/{name}/model.toml"])
    assert made["state"] == "done", made
    archive = zipfile.ZipFile(io.BytesIO(c.get(f"/api/jobs/{made['name']}/zip").content))
    assert {Path(n).name for n in archive.namelist()} >= {"arm.c", "arm.h", "selftest.c", "Makefile"}
    if build.find_compiler() is not None:
        assert "self-test passed" in made["sentence"]
    validated = done(c, "validate", model=models[f"runs/{name}/model.toml"], logs=[keys(c, "log")["b.csv"]])
    assert c.get(f"/api/jobs/{validated['name']}/view").json()["validation"][0]["relative"] < 0.1


def test_wrong_files_get_a_sentence_and_leave_nothing(c, folder, arm):
    before = sorted(p.name for p in folder.rglob("*"))
    wrong = [
        ("robot", "arm.exe", b"MZ", "extension"),
        ("robot", "arm.urdf", b"<robot xmlns:xacro='x'><xacro:include filename='/etc/passwd'/></robot>", "xacro"),
        ("robot", "arm.xml", b"<mujoco><include file='other.xml'/></mujoco>", "include"),
        ("robot", "arm.urdf", b"<robot><mesh filename='/etc/passwd'/></robot>", "outside"),
        ("robot", "arm.urdf", b"<robot><mesh filename='package://a/../../b.stl'/></robot>", "outside"),
        ("robot", "arm.urdf", b"<robot><mesh filename='&#47;etc&#x2F;passwd'/></robot>", "outside"),
        ("robot", "arm.urdf", b'<robot><mesh filename="\'/../../etc"/></robot>', "outside"),
        ("log", "run.pkl", b"\x80\x04.", "extension"),
    ]
    for kind, title, content, word in wrong:
        answer = c.post("/api/uploads", params={"kind": kind, "title": title}, content=content)
        assert answer.status_code == 400 and word in answer.json()["error"], (title, answer.text)
    answer = c.post("/api/uploads", params={"kind": "log", "title": "big.csv"}, content=b"0" * 3_000_001)
    assert answer.status_code == 413 and "MB" in answer.json()["error"]

    def endless():
        for _ in range(40):
            yield b"0" * 100_000

    answer = c.post("/api/uploads", params={"kind": "log", "title": "big.csv"}, content=endless())
    assert answer.status_code == 413
    assert sorted(p.name for p in folder.rglob("*") if p.name != "uploads") == [n for n in before if n != "uploads"]


def test_a_file_that_is_not_what_it_says_fails_its_job_alone(tmp_path):
    with running(tmp_path) as at, client(at) as c:
        fake = c.post("/api/uploads", params={"kind": "robot", "title": "../../x/fake.urdf"}, content=b"PK\x03\x04")
        assert fake.json()["title"] == "fake.urdf"
        c.put("/api/robot", json={"file": fake.json()["key"]})
        job = done(c, "robot")
        assert job["state"] == "failed" and "uploads/robot-" in job["sentence"] and str(tmp_path) not in job["sentence"]
        assert c.get("/api/project").status_code == 200


def test_uploads_have_names_that_nobody_chose(c, folder, arm):
    uploaded(c, "log", arm / "c.csv", "../../.ssh/authorized_keys.csv")
    names = [p.name for p in (folder / "uploads").iterdir()]
    assert all(n.startswith(("log-", "robot-")) and "ssh" not in n for n in names)
    assert "authorized_keys.csv" in keys(c, "log")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({}, 200),
    ],
)
def test_only_its_own_page_may_ask(c, headers, status):
    assert c.get("/api/project", headers=headers).status_code == status
    assert c.put("/api/robot", json={"bundled": "planar2r"}, headers=headers).status_code == status


def test_answers_allow_nothing_but_the_page_itself(c):
    for path in ("/api/project", "/api/nothing"):
        headers = c.get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store"


def test_requests_name_no_paths(c):
    for path in (
        "/api/jobs/..%2f..%2fetc/view",
        "/api/jobs/0001-robot/files/..%2f..%2fjob.json",
        "/api/jobs/0001-robot/pages/..%2fjob.json",
        "/assets/..%2f..%2fserver.py",
        "/assets/%2e%2e/server.py",
    ):
        assert c.get(path).status_code in (404, 422), path
    assert c.put("/api/robot", json={"file": "../../etc/passwd"}).status_code == 422
    assert c.put("/api/robot", json={"bundled": "../../etc/passwd"}).status_code == 400
    assert c.put("/api/campaign", json={"train": ["/etc/passwd"]}).status_code == 422
    assert c.put("/api/campaign", json={"model": {"prior": "/etc/passwd"}}).status_code == 422


@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "DELETE", "HEAD", "OPTIONS", "PATCH"])
def test_another_user_of_the_machine_reads_and_writes_nothing(at, c, folder, method):
    job = "/api/jobs/0001-robot"
    paths = ("/", "/robot", "/assets/", "/nothing", job, f"{job}/events", f"{job}/view", f"{job}/zip", "/api/jobs")
    paths += tuple(f"/api/{name}" for name in ("project", "robot", "campaign", "uploads", "openapi.json"))
    before = sorted(folder.rglob("*"))
    given = [{}, {"Authorization": "Bearer x"}, {"Cookie": "minertia_studio=; a=b"}]
    with stranger(at) as other:
        for path in paths:
            for headers in given:
                answer = other.request(method, path, headers=headers)
                assert answer.status_code == 401, (method, path, headers)
        assert other.get("/api/project", params={"token": "x"}).json() == {"error": NO_TOKEN}
        page = other.get("/robot", headers={"Accept": "text/html"})
        assert page.status_code == 401 and page.text.startswith("<!doctype html>") and NO_TOKEN in page.text
    assert sorted(folder.rglob("*")) == before


def test_answers_are_sent_at_once(at):
    """asyncio switches Nagle's algorithm off only for sockets that name their protocol."""
    assert at.listener.proto == socket.IPPROTO_TCP


def test_the_token_becomes_a_cookie_of_this_studio_alone(tmp_path):
    with running(tmp_path, token="secret-token") as at, stranger(at) as c:
        assert c.get("/api/project").status_code == 401
        assert c.get("/api/project", headers={"Authorization": "Bearer wrong"}).status_code == 401
        assert c.get("/api/project", headers={"Authorization": "Bearer secret-token"}).status_code == 200
        visit = c.get("/robot", params={"token": "secret-token"})
        assert visit.status_code == 303 and visit.headers["location"] == "/robot"
        set_cookie = visit.headers["set-cookie"]
        assert "HttpOnly" in set_cookie and "SameSite=strict" in set_cookie
        assert f"_{at.listener.getsockname()[1]}=" in set_cookie
        assert c.get("/api/project").status_code == 200  # with its cookie
        for path in ("//evil.example/", "/%2fevil.example/"):  # no way out of the studio
            there = c.get(f"{at.address.rstrip('/')}{path}", params={"token": "secret-token"}).headers["location"]
            assert there.startswith("/") and not there.startswith("//")


@pytest.mark.skipif(not (STATIC / "index.html").is_file(), reason="the page is not built; run `make studio`")
def test_the_command_prints_an_address_with_a_token_and_keeps_it_for_its_user(tmp_path):
    folder = tmp_path / "project"
    tokens = [_started(folder) for _ in range(2)]
    assert tokens[0] == tokens[1]  # tabs that are open go on after a restart
    place = folder / ".studio"
    kept = place / "address.json"
    assert [oct(p.stat().st_mode & 0o777) for p in (place, kept)] == ["0o700", "0o600"]
    assert json.loads(kept.read_text())["token"] == tokens[0] and not (place / "open.html").exists()
    for spoil in (lambda: kept.chmod(0o644), lambda: place.chmod(0o755), lambda: kept.write_text("[" * 9999)):
        kept.chmod(0o600)
        place.chmod(0o700)
        spoil()  # somebody else may have read it, or written it
        assert kept_token(folder) is None
    shutil.rmtree(place)
    place.symlink_to(tmp_path)
    assert kept_token(folder) is None
    assert _started(folder) != tokens[0] and not (tmp_path / "address.json").exists()


def _started(folder: Path) -> str:
    """The token of `minertia studio`, which another user's request without it gets nothing from."""
    command = [sys.executable, "-m", "minertia", "studio", str(folder), "--no-open", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = process.stdout.readline()
            entrance = said.split()[-1]
            address, _, token = entrance.partition("?token=")
            deadline = time.monotonic() + 60
            while True:
                try:
                    assert httpx.get(f"{address}api/project", trust_env=False).status_code == 401
                    break
                except httpx.ConnectError:
                    assert time.monotonic() < deadline
                    time.sleep(0.05)
            own = {"Authorization": f"Bearer {token}"}
            assert httpx.get(f"{address}api/project", headers=own, trust_env=False).status_code == 200
            assert len(token) >= 32
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)
    return token


def test_cancel_leaves_only_the_record(tmp_path):
    with running(tmp_path) as at, client(at) as c:
        c.put("/api/robot", json={"bundled": "puma560"})
        asked = {"kind": "excite", "settings": {"starts": 20, "patience": 10}}
        job = c.post("/api/jobs", json=asked).json()
        assert c.post("/api/jobs", json=asked).json()["name"] == job["name"]  # of two tabs
        ended = c.delete(f"/api/jobs/{job['name']}").json()
        assert ended["state"] == "cancelled"
        assert followed(c, job["name"])[-1]["state"] == "cancelled"
        deadline = time.monotonic() + 20
        while [p.name for p in (tmp_path / "runs" / job["name"]).iterdir()] != [RECORD]:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert c.get(f"/api/jobs/{job['name']}/view").status_code == 404


def test_too_many_jobs_are_refused_with_a_sentence(tmp_path):
    with running(tmp_path) as at, client(at) as c:
        c.put("/api/robot", json={"bundled": "puma560"})
        answers = [
            c.post("/api/jobs", json={"kind": "excite", "settings": {"starts": 20, "patience": 10, "seed": k}})
            for k in range(3)
        ]
        assert [a.status_code for a in answers] == [202, 202, 409] and "wait" in answers[2].json()["error"]


def test_jobs_survive_a_restart_as_interrupted(tmp_path):
    with running(tmp_path) as at, client(at) as c:
        c.put("/api/robot", json={"bundled": "planar2r"})
        good = done(c, "robot")
        c.post("/api/jobs", json={"kind": "excite", "settings": {"starts": 20, "patience": 10}})
    with running(tmp_path) as at, client(at) as c:
        states = {job["kind"]: job for job in c.get("/api/project").json()["jobs"]}
        assert states["robot"]["state"] == "done" and states["excite"]["state"] == INTERRUPTED
        assert c.get(f"/api/jobs/{good['name']}/view").json()["base"]["count"] > 0
    record = tmp_path / "runs" / "0009-identify" / RECORD  # of a server that was killed
    record.parent.mkdir()
    old = {"kind": "identify", "settings": {}, "state": "running", "started": 0.0}
    record.write_text(json.dumps(old))
    assert Jobs(Project(tmp_path)).get("0009-identify").state == INTERRUPTED
    assert json.loads(record.read_text())["state"] == INTERRUPTED


LIMITED = """
import numpy as np
from scipy.linalg import lapack
from minertia.studio.child import JobLimits, _restrict, _warm
_warm()
_restrict(JobLimits(memory=300_000_000))
print(np.zeros(10_000_000).sum(), lapack.dgeqrf(np.eye(600))[0][0, 0] != 0)
try:
    np.zeros(100_000_000)
except MemoryError:
    print("refused", np.linalg.qr(np.eye(600))[1].shape, lapack.dgeqrf(np.eye(600))[3])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="no limit of addresses elsewhere")
def test_memory_of_jobs_is_limited_and_linear_algebra_goes_on_at_the_limit():
    told = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=120, check=True)
    assert told.stdout.splitlines() == ["0.0 True", "refused (600, 600) 0"]


def test_jobs_have_limits(tmp_path):
    with running(tmp_path, limits=JobLimits(seconds=1)) as at, client(at) as c:
        c.put("/api/robot", json={"bundled": "puma560"})
        job = done(c, "excite", starts=20, patience=10)
        assert job["state"] == "failed"


def test_a_folder_that_vanishes_gets_a_message(tmp_path):
    folder = tmp_path / "project"
    with running(folder) as at, client(at) as c:
        shutil.rmtree(folder)
        answer = c.post("/api/jobs", json={"kind": "robot"})
        assert answer.status_code in (400, 409) and answer.json()["error"]
        c.put("/api/robot", json={"bundled": "planar2r"})
        assert c.get("/api/project").status_code in (200, 409)


def test_a_folder_of_the_command_line_is_a_project(tmp_path, arm):
    """What commands wrote is found: robot, logs, campaign."""
    for name in ("arm.urdf", "a.csv", "b.csv"):
        (tmp_path / name).write_bytes((arm / name).read_bytes())
    text = (
        '# mine\nformat = 1\nrobot = "arm.urdf"\n[logs]\ntrain = [{file = "a.csv", from = 1.0}]\nvalidate = ["b.csv"]\n'
    )
    text += '[columns]\neffort_unit = "Nm"\n'
    (tmp_path / "campaign.toml").write_text(text)
    project = Project(tmp_path)
    assert project.robot is not None and project.robot["title"] == "arm.urdf"
    found = project.campaign()
    assert found is not None and len(found["logs"]["train"]) == 1
    project.write_campaign({"train": found["logs"]["train"], "validate": [], "columns": found["columns"]})
    again = read_campaign(tmp_path / "campaign.toml")
    assert again.train[0].start == 1.0 and not again.validate
    assert (tmp_path / "campaign.before.toml").read_text() == text


def test_a_robot_file_that_changes_is_read_anew(tmp_path, arm):
    (tmp_path / "arm.urdf").write_bytes((arm / "arm.urdf").read_bytes())
    project = Project(tmp_path)
    (file,) = project.files()
    before = project.choose_robot(file=file.key)["version"]
    (tmp_path / "arm.urdf").write_bytes((arm / "arm.urdf").read_bytes() + b"\n")
    assert project.robot is not None and project.robot["version"] != before


def test_postures_of_closed_loops(tmp_path):
    with running(tmp_path) as at, client(at) as c:
        c.put("/api/robot", json={"bundled": "five_bar"})
        start = drawn_robot(read_robot("five_bar"))["start"]
        frames = c.post("/api/robot/frames", json={"q": start})
        assert frames.status_code == 200 and len(frames.json()["frames"]) == read_robot("five_bar").n_joints
        assert c.post("/api/robot/frames", json={"q": [0.1]}).status_code == 400
        fake = c.post("/api/uploads", params={"kind": "robot", "title": "fake.xml"}, content=b"<mujoco/>").json()
        c.put("/api/robot", json={"file": fake["key"]})
        early = c.post("/api/robot/frames", json={"q": start})  # files of others are read in processes of their own
        assert early.status_code == 409 and "has not been read yet" in early.json()["error"]


@pytest.mark.slow
def test_no_request_breaks_the_server(tmp_path):
    """Whatever fits the description of the interface, or does not, is answered without a fault of ours."""
    tool = shutil.which("schemathesis", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if tool is None:
        pytest.skip("schemathesis is not installed (pip install schemathesis)")
    with running(tmp_path) as at, client(at) as c:
        c.put("/api/robot", json={"bundled": "planar2r"})
        command = [tool, "run", f"{at.address}api/openapi.json", "--max-examples", "20", "--seed", "1"]
        command += ["--header", f"Authorization: Bearer {at.door.token}"]
        command += ["--checks", "not_a_server_error", "--phases", "coverage,fuzzing", "--exclude-path-regex", "events"]
        tried = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert tried.returncode == 0, tried.stdout[-3000:]
        assert c.get("/api/project").status_code == 200


def test_the_command_says_what_is_missing(tmp_path, monkeypatch, capsys):
    from minertia.cli import main
    from minertia.studio import serve

    monkeypatch.setattr(serve, "STATIC", tmp_path)
    assert main(["studio", str(tmp_path), "--no-open"]) == 2
    said = capsys.readouterr().err
    assert "make studio" in said and "Node.js" in said and said.count("\n") == 1
