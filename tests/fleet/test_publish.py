"""What leaves the store: metrics, a webhook, e-mail, tables for databases; and robots that fall silent."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from minertia.fleet.calendar import day_name
from minertia.fleet.fleet import Fleet
from minertia.fleet.publish import Unsent, post
from tests.conftest import Run
from tests.fleet.test_watch import LEARNT, START, made, shown, store  # noqa: F401

MAILER = "#!/bin/sh\ncat > {file}\n"


class _Receiver(BaseHTTPRequestHandler):
    received: list[Any] = []
    answers: list[int] = []

    def do_POST(self) -> None:
        self.received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.answers.pop(0) if self.answers else 200)
        self.end_headers()

    def log_message(self, *said: Any) -> None:
        pass


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A server that notes what it receives."""
    monkeypatch.setattr("minertia.fleet.publish.PAUSE", 0.01)
    _Receiver.received, _Receiver.answers = [], []
    server = HTTPServer(("127.0.0.1", 0), _Receiver)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/alarms"
    server.shutdown()
    server.server_close()


def test_new_alarms_are_sent_once_and_tables_are_read_by_a_database(
    store: Path,  # noqa: F811
    url: str,
    run: Run,
    tmp_path: Path,
) -> None:
    duckdb = pytest.importorskip("duckdb")
    mailer = tmp_path / "mailer"
    mailer.write_text(MAILER.format(file=tmp_path / "mail"), "utf-8")
    mailer.chmod(0o755)
    text, tables = tmp_path / "fleet.prom", tmp_path / "tables"
    to = (
        "--prometheus",
        text,
        "--tables",
        tables,
        "--webhook",
        url,
        "--mail",
        "shift@plant.example",
        "--mailer",
        mailer,
    )
    command = ("fleet", "publish", "--store", store, "--learning", LEARNT, *to)
    _Receiver.answers += [503]  # the first attempt fails
    shown(store, 14)
    code, out, err = run(*command)
    assert code == 1 and "1 new alarm" in out, err
    assert len(_Receiver.received) == 2 and _Receiver.received[-1]["alarms"][0]["robot"] == "r000"
    mail = (tmp_path / "mail").read_text("utf-8")
    assert "To: shift@plant.example" in mail and "r000/j2" in mail and "Subject: Fleet on" in mail
    said = text.read_text("utf-8").splitlines()
    assert 'minertia_fleet_alarm{robot="r000",joint="j2",what="dry friction",state="new"} 1.0' in said
    assert all(line.startswith("#") or len(line.rsplit(" ", 1)) == 2 for line in said)
    rows = duckdb.sql(f"select robot, joint, status from '{tables}/alarms.parquet'").fetchall()
    assert rows == [("r000", "j2", "raised")]
    (count, robots), = duckdb.sql(
        f"select count(*), count(distinct robot) from '{tables}/levels.parquet' where level = 'dry friction'"
    ).fetchall()  # fmt: skip
    assert (count, robots) == (3 * 6 * 15, 3)
    shown(store, 15)
    code, _, err = run(*command)
    assert code == 1, err
    assert len(_Receiver.received) == 2  # the alarm is known


def test_a_silent_robot_is_an_alarm_until_it_has_logs_again(store: Path, run: Run) -> None:  # noqa: F811
    fleet = Fleet.open(store)
    every = fleet.store.index()
    fleet.store.write_index([row for row in every if row.robot != "r001" or row.day < day_name(START + 11)])
    assert run("fleet", "drift", "--store", store, "--learning", LEARNT)[0] == 1
    lives = {life.row.joint: life for life in fleet.alarms() if life.row.robot == "r001"}
    assert lives["silent"].state == "new" and lives["silent"].row.since_first == day_name(START + 10)
    for life in fleet.alarms():
        fleet.act(life.row.alarm, "acknowledge", "Ann")
    assert run("fleet", "drift", "--store", store, "--learning", LEARNT)[0] == 0  # somebody knows of it
    fleet.store.write_index(every)
    run("fleet", "drift", "--store", store, "--learning", LEARNT)
    assert [life.state for life in fleet.alarms() if life.row.joint == "silent"] != ["open"]


def test_what_cannot_be_sent_is_said(url: str) -> None:
    _Receiver.answers += [404]
    with pytest.raises(Unsent, match="refused the report"):
        post(url, {})
    with pytest.raises(Unsent, match="does not answer"):
        post("http://127.0.0.1:9/alarms", {})
