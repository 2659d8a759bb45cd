"""Alarms with a life: who did what, and one cause for the alarms of one robot."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minertia.fleet.alarm_life import AlarmAction, AlarmRow, alarm_lives
from minertia.fleet.alarms import FleetAlarm, JudgedStream
from minertia.fleet.calendar import day_name
from minertia.fleet.e_process import EProcess
from minertia.fleet.findings import robot_findings
from minertia.fleet.fleet import Fleet
from minertia.fleet.streams import LevelStream
from minertia.io.errors import InputError
from tests.conftest import Run
from tests.fleet.test_watch import LEARNT, START, made, shown, store  # noqa: F401

NAME = "r1/j2/2026-03-01"


def row(day: int, status: str = "raised") -> AlarmRow:
    when = f"2026-03-{day:02d}"
    return AlarmRow(when, NAME, "r1", "j2", "dry friction", status, 0.2, 0.01, "1", when, when, 1e5, f"{when}T06:00")


def action(day: int, verb: str, **more: str) -> AlarmAction:
    return AlarmAction(NAME, verb, "Ada", f"2026-03-{day:02d}T08:00", **more)


@pytest.mark.parametrize(
    ("rows", "actions", "state", "by"),
    [
        ([row(1)], [], "new", ""),
        ([row(1), row(2)], [], "open", "report"),
        ([row(1), row(2)], [action(1, "acknowledge")], "acknowledged", "Ada"),
        ([row(1), row(2, "quiet")], [action(1, "acknowledge")], "closed", "report"),
        ([row(1), row(2, "not judged"), row(3)], [action(2, "acknowledge")], "acknowledged", "Ada"),
        ([row(1), row(2)], [action(1, "mute", reason="shutdown", until="2026-03-02")], "muted", "Ada"),
        ([row(1), row(3)], [action(1, "mute", reason="shutdown", until="2026-03-02")], "open", "report"),
        ([row(1)], [action(1, "close", reason="new gear")], "closed", "Ada"),
        ([row(1)], [action(1, "acknowledge"), action(2, "open")], "open", "Ada"),
    ],
)
def test_states(rows: list[AlarmRow], actions: list[AlarmAction], state: str, by: str) -> None:
    (life,) = alarm_lives(rows, actions)
    assert (life.state, life.by) == (state, by)
    assert [step[0] for step in life.steps] == sorted(step[0] for step in life.steps) and life.first == "2026-03-01"
    assert alarm_lives(reversed(rows), reversed(actions)) == [life]


def test_actions_say_what_they_need() -> None:
    with pytest.raises(InputError, match="for a reason and until a day"):
        action(1, "mute")
    with pytest.raises(InputError, match="no action 'forget'"):
        action(1, "forget")
    with pytest.raises(InputError, match="name of the person"):
        AlarmAction(NAME, "close", " ", "")


def test_an_alarm_is_followed_from_new_to_closed(store: Path, run: Run) -> None:  # noqa: F811
    command = ("fleet", "drift", "--store", store, "--learning", LEARNT)
    shown(store, 14)
    assert run(*command)[0] == 1
    (life,) = Fleet.open(store).alarms()
    assert life.state == "new" and life.row.robot == "r000"
    shown(store, 15)
    assert run(*command)[0] == 1
    (life,) = Fleet.open(store).alarms()
    assert life.state == "open" and (life.first, life.last) == (day_name(START + 14), day_name(START + 15))
    code, out, _ = run("fleet", "alarm", "acknowledge", life.row.alarm, "--store", store, "--by", "Ada", "--json")
    assert code == 0 and json.loads(out)["alarms"][0]["state"] == "acknowledged"
    assert run(*command)[0] == 0  # somebody has dealt with it; the same report again changes nothing
    assert Fleet.open(store).alarms()[0].by == "Ada"
    code, _, err = run("fleet", "alarm", "close", "nobody", "--store", store)
    assert code == 2 and life.row.alarm in err
    told = ("--robot", "r000", "--day", day_name(START + 11), "--joint", "j2", "--note", "new gear")
    code, out, _ = run("fleet", "event", "add", "--store", store, *told)
    assert code == 0 and "new gear" in out
    assert run("fleet", "event", "add", "--store", store, "--robot", "r000", "--joint", "j9")[0] == 2
    assert run(*command)[0] == 0
    assert Fleet.open(store).alarms()[0].state == "closed"
    code, out, _ = run("fleet", "alarm", "list", "--store", store, "--all", "--json")
    assert code == 0 and json.loads(out)["alarms"][0]["reason"] == "its evidence is gone"
    assert run("fleet", "alarm", "list", "--store", store)[1].strip() == "no alarms"


# ---------------------------------------------------------------------- one cause for several alarms


def alarm(joint: str | None, since: tuple[int, int]) -> FleetAlarm:
    what = "load" if joint is None else "dry friction"
    return FleetAlarm("r1", joint, what, 0.2, 0.01, "1", since, 1e6, 1e-6, {}, False, "check the joint")


def judged(joint: str | None, change: tuple[float, ...]) -> JudgedStream:
    p = len(change)
    none = np.zeros(0)
    stream = LevelStream("r1", joint, np.arange(3), np.zeros((3, p)), np.zeros((3, p, p)), np.zeros(3),
                         np.zeros((3, p, 0)), np.zeros((0, 0)))  # fmt: skip
    process = EProcess(stream.days, none, none, 0, stream.days, none, none, np.array(change), np.full(p, 0.01), none)
    return JudgedStream("arm", stream, process, ())


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"j1": (0.2, -0.1), "j2": (0.05, 0.3), "j3": (-0.2, 0.1), "j4": (0.1, 0.0)}, "robot exchanged"),
        ({"j1": (0.2, 0.21), "j2": (0.2, 0.19), "j3": (0.21, 0.2), "j4": (0.2, 0.2)}, "gains"),
        ({"j1": (0.2, 0.0)}, "joint"),
        ({"j1": (0.2, 0.0), "j2": (0.0, 0.2)}, "joint"),
        ({None: (0.01,)}, "tool or payload"),
    ],
)
def test_alarms_of_one_day_have_one_cause(changes: dict[str | None, tuple[float, ...]], cause: str) -> None:
    alarms = [alarm(joint, (40, 41)) for joint in changes]
    every = {**{f"j{k}": (0.0, 0.0) for k in range(1, 7)}, None: (0.0,), **changes}
    (finding,) = robot_findings(alarms, [judged(joint, change) for joint, change in every.items()])
    assert finding.cause == cause and finding.alarms == len(alarms)
    assert finding.since == (40, 41)


def test_alarms_of_different_days_are_no_exchange() -> None:
    alarms = [alarm(f"j{k}", (40 + 5 * k, 41 + 5 * k)) for k in range(1, 5)]
    (finding,) = robot_findings(alarms, [judged(f"j{k}", (0.2, -0.1)) for k in range(1, 7)])
    assert finding.cause == "joint"
    two = [*alarms, replace(alarm("j1", (40, 41)), robot="r0", e=1e9)]
    assert [f.robot for f in robot_findings(two, [])] == ["r0", "r1"]
