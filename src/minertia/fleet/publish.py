"""Publication of a drift report: Prometheus metrics, webhook, e-mail, and Parquet tables for databases."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Sequence
from email.message import EmailMessage
from typing import Any

import numpy as np

from minertia.fleet.alarm_life import NEW, AlarmLife, AlarmRow
from minertia.fleet.alarm_store import history_bytes
from minertia.fleet.calendar import day_name
from minertia.fleet.drift import FleetDrift
from minertia.fleet.levels import LOAD
from minertia.io.errors import InputError, MinertiaError
from minertia.io.extras import load

EPOCH = 719_163  # day number of 1970-01-01
TRIES, PAUSE, PATIENCE = 3, 1.0, 10.0  # attempts to reach a server, and s between and for each


class Unsent(MinertiaError):
    """A report could not be sent."""


def new_alarms(found: FleetDrift) -> list[AlarmLife]:
    """Alarms that this report raises for the first time."""
    day = day_name(found.days[1])
    return [life for life in found.lives if life.state == NEW and life.first == day]


def metrics(found: FleetDrift) -> str:
    """Metrics in Prometheus text format, for the textfile collector of its node exporter."""
    lines: list[str] = []

    def family(name: str, help: str, samples: Sequence[tuple[dict[str, str], float]]) -> None:
        lines.extend([f"# HELP minertia_fleet_{name} {help}", f"# TYPE minertia_fleet_{name} gauge"])
        lines.extend(f"minertia_fleet_{name}{_labels(labels)} {value!r}" for labels, value in samples)

    states = Counter(life.state for life in found.lives)
    judged = {s.stream.robot for s in found.streams}
    family("report_day_seconds", "Day of the report, in seconds since 1970.", [({}, (found.days[1] - EPOCH) * 86400.0)])
    family("robots_judged", "Robots that were assessed.", [({}, float(len(judged)))])
    family("robots_silent", "Robots without recent logs.", [({}, float(len(found.silent)))])
    family("alarms", "Alarms by state.", [({"state": state}, float(n)) for state, n in sorted(states.items())])
    family(
        "alarm",
        "Alarms that are not closed.",
        [({"robot": o.row.robot, "joint": o.row.joint, "what": o.row.what, "state": o.state}, 1.0)
         for o in found.lives if o.is_living],
    )  # fmt: skip
    places = [({"robot": s.stream.robot, "joint": s.stream.joint or LOAD}, s) for s in found.streams]
    family(
        "evidence_log10",
        "Decimal logarithm of the e-value of a stream.",
        [(labels, float(np.log10(max(s.process.last, 1e-300)))) for labels, s in places],
    )
    family(
        "level",
        "Level of the last day, relative to the training days.",
        [({**labels, "level": part}, float(s.stream.y[-1, k])) for labels, s in places
         for k, part in enumerate(s.stream.parts)],
    )  # fmt: skip
    return "\n".join(lines) + "\n"


def _labels(labels: dict[str, str]) -> str:
    cells = (f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{','.join(cells)}}}" if labels else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def message(found: FleetDrift, store: str) -> dict[str, Any]:
    """Content of a webhook: the statement, new alarms, and the robots with their causes."""
    fresh = new_alarms(found)
    robots = {life.row.robot for life in fresh}
    return {
        "store": store,
        "day": day_name(found.days[1]),
        "statement": found.statement,
        "alarms": [life.to_json() for life in fresh],
        "robots": [finding.to_json() for finding in found.findings if finding.robot in robots],
    }


def post(url: str, data: dict[str, Any]) -> None:
    """Send JSON to a URL by POST; tries several times if the server does not answer."""
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise InputError(f"a webhook is a URL that begins with http:// or https://, not {url[:80]!r}")
    body = json.dumps(data, allow_nan=False).encode()
    asked = urllib.request.Request(url, body, {"Content-Type": "application/json"}, method="POST")
    for left in range(TRIES - 1, -1, -1):
        try:
            with urllib.request.urlopen(asked, timeout=PATIENCE):
                return
        except urllib.error.HTTPError as err:
            if err.code < 500 or not left:
                raise Unsent(f"{url[:80]}: the webhook refused the report ({err.code}); check its address") from None
        except OSError as err:
            if not left:
                why = str(getattr(err, "reason", err))[:120]
                raise Unsent(f"{url[:80]}: the webhook does not answer ({why}); run the command again") from None
        time.sleep(PAUSE)


def send_mail(address: str, mailer: str, data: dict[str, Any]) -> None:
    """Send new alarms by the mail program of the system."""
    program = shutil.which(mailer)
    if program is None:
        raise InputError(f"there is no mail program '{mailer[:80]}'; install one, or name it with --mailer")
    if "\n" in address or "@" not in address:
        raise InputError(f"{address[:80]!r} is not an e-mail address")
    mail = EmailMessage()
    mail["To"], mail["Subject"] = address, f"Fleet on {data['day']}: {data['statement']}"[:200]
    lines = [f"{own['robot']}: {own['text']}; {own['suggestion']}" for own in data["robots"]]
    lines += [f"{own['alarm']}: {own['what']} since {own['since_first']}" for own in data["alarms"]]
    mail.set_content("\n".join([data["statement"], "", *lines, "", f"Store: {data['store']}"]))
    done = subprocess.run([program, "-t"], input=mail.as_bytes(), capture_output=True, check=False, timeout=60)
    if done.returncode:
        why = done.stderr.decode("utf-8", "replace").strip().splitlines()[:1]
        raise Unsent(f"the mail program {program} failed ({' '.join(why)[:120] or done.returncode}); check its set-up")


def level_bytes(found: FleetDrift) -> bytes:
    """Parquet bytes of the levels of all streams: a row for each robot, joint, level and day."""
    arrow, parquet = load("pyarrow", "logs"), load("pyarrow.parquet", "logs")
    names: dict[str, list[Any]] = {name: [] for name in ("robot", "joint", "level", "day")}
    numbers: dict[str, list[Any]] = {name: [] for name in ("value", "deviation", "e")}
    for judged in found.streams:
        stream, process = judged.stream, judged.process
        e = dict(zip(process.days.tolist(), process.e.tolist(), strict=True))
        days = stream.days.tolist()
        for k, part in enumerate(stream.parts):
            cells = zip(("robot", "joint", "level"), (stream.robot, stream.joint or LOAD, part), strict=True)
            for name, value in cells:
                names[name] += [value] * len(days)
            names["day"] += [day_name(d) for d in days]
            numbers["value"] += stream.y[:, k].tolist()
            numbers["deviation"] += np.sqrt(stream.V[:, k, k]).tolist()
            numbers["e"] += [e.get(d) for d in days]
    columns = {name: arrow.array(own, arrow.string()) for name, own in names.items()}
    columns |= {name: arrow.array(own, arrow.float64()) for name, own in numbers.items()}
    sink = io.BytesIO()
    parquet.write_table(arrow.table(columns), sink, compression="zstd")
    return sink.getvalue()


def tables(found: FleetDrift, history: Sequence[AlarmRow]) -> dict[str, bytes]:
    """Files for databases: the history of alarms, and the levels."""
    return {"alarms.parquet": history_bytes(history), "levels.parquet": level_bytes(found)}
