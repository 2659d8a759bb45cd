"""Evaluation of a fleet: robots to inspect and why, every robot and day at a glance, and one robot over its days."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.fleet.alarms import FleetAlarm, JudgedStream
from minertia.fleet.calendar import day_name
from minertia.fleet.drift import FleetDrift
from minertia.fleet.fleet import Fleet
from minertia.fleet.levels import LOAD
from minertia.io.files import folder_at_once, write_file
from minertia.report.bundle import rounded, write_page
from minertia.report.fleet_page import fleet_page, streams_by_robot, strip_view
from minertia.report.fleet_tables import chance_text, change_text, not_judged_table, ranked_robots, since_text
from minertia.studio.job_work import JobWork
from minertia.studio.options import FleetJob

Array = NDArray[np.float64]
MOST_POINTS = 400_000  # of all streams in one view; robots with alarms come first


def fleet(work: JobWork, asked: FleetJob) -> tuple[dict[str, Any], str]:
    """Evaluate the records of a store, and write the same page as the command."""
    store = work.project.store(asked.store)
    own = Fleet.open(store.url or store.path)
    work.tell("assessing every robot and day", 0.1)
    found = own.drift(options=asked.drift)
    work.tell("writing the report", 0.8)
    conflicts = [str(fault) for fault in own.conflicts()]
    faults = [*conflicts, *map(str, (*found.faults, *found.no_longer, *found.left_out))]
    arithmetic = sorted({row.arithmetic for row in own.rows()})
    data = found.to_json(store.title, [], arithmetic)
    with folder_at_once(work.out) as draft:
        page = fleet_page(found, store=store.title, faults=conflicts, arithmetic=arithmetic)
        write_page(draft / "fleet.html", page.written)
        write_file(draft / "drift.json", json.dumps(data, indent=1, allow_nan=False) + "\n")
    return {"store": store.title, "faults": faults, **fleet_view(found)}, found.statement


def fleet_view(drift: FleetDrift) -> dict[str, Any]:
    """Evaluated fleet as plain data."""
    names, _ = ranked_robots(drift)
    streams: dict[str, list[dict[str, Any]]] = {}
    points, by_robot = 0, streams_by_robot(drift)
    for name in names:
        own = by_robot.get(name, [])
        points += sum(len(s.stream.days) for s in own)
        if points <= MOST_POINTS:
            streams[name] = [_stream(drift, s) for s in own]
    return {
        "statement": drift.statement,
        **strip_view(drift, names),
        "findings": [own.to_json() for own in drift.findings],
        "alarms": [_alarm(a) for a in drift.alarms],
        "lives": [own.to_json() for own in drift.lives if own.is_living],
        "watch": [_alarm(a) for a in drift.watch],
        "not_judged": [list(row) for row in not_judged_table(drift).rows],
        "streams": streams,
        "notes": list(drift.notes),
    }


def _alarm(a: FleetAlarm) -> dict[str, Any]:
    texts = {"by": change_text(a), "began": since_text(a), "chance": chance_text(a)}
    return {"robot": a.robot, "joint": a.joint, "what": a.what, "suggestion": a.suggestion, "cost": a.cost, **texts}


def _stream(drift: FleetDrift, judged: JudgedStream) -> dict[str, Any]:
    """Levels of a joint, or of the payload, by day with 95 % bands, in per cent of the learned levels."""
    stream = judged.stream
    effects = drift.calibration[judged.type].get(stream.joint or LOAD)
    omega = np.zeros(stream.y.shape[1]) if effects is None else np.asarray(effects.omega, float)
    half = 1.96 * np.sqrt(np.einsum("dkk->dk", stream.V) + omega**2)
    levels = [
        {"name": name, "y": rounded(100 * stream.y[:, k], figures=4), "half": rounded(100 * half[:, k], figures=4)}
        for k, name in enumerate(stream.parts)
    ]
    return {
        "joint": stream.joint,
        "is_alarm": judged.is_alarm,
        "days": [int(d) for d in stream.days],
        "dates": [day_name(int(d)) for d in stream.days],
        "levels": levels,
        "evidence": {"days": judged.process.days.tolist(), "e": rounded(judged.process.e, figures=3)},
        "events": [{"day": int(e.day), "date": day_name(int(e.day)), "kind": e.kind} for e in judged.events],
    }
