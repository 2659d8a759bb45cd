"""Servo models: BAM's published values and its own fit beside ours, loads and gains left out in turn."""

from __future__ import annotations

import csv
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.league.environments import Unavailable, data, python_of, run
from benchmarks.league.rows import OURS, Row
from minertia.identification.audits.values import without_misread
from minertia.identification.campaigns.prepare import silent
from minertia.identification.closed_loop.servo_problem import ServoProblem, chosen, servo_campaign
from minertia.identification.servo_options import ServoOptions
from minertia.identification.servo_runs import read_runs

Figures = dict[str, float | int | str | None]
PERIOD = 0.005  # s: BAM resamples to 200 Hz
TRIALS = 1000  # of BAM's own fit for each group left out; its authors used 5000 for the published values
MODEL = "m6"  # the model of BAM's own fit: its authors' last
PUBLISHED = Path(__file__).parent / "rivals" / "bam_published.json"
WAYS = {"loads": "inertia", "gains": "register"}
OFF = "lift_and_drop"  # motion in which the motor is switched off


def rows() -> Iterator[Row | Unavailable]:
    """Mean absolute position error of runs whose load, or gain, was not fitted."""
    try:
        folder = data("data") / "sts3215_kscale"
    except Unavailable as err:
        yield err
        return
    groups = {way: _groups(folder, way) for way in WAYS}
    for way, parts in groups.items():
        yield _ours(folder, way, parts)
    with tempfile.TemporaryDirectory() as name:
        try:
            yield from _theirs(folder, groups, Path(name))
        except Unavailable as err:
            yield err


def _groups(folder: Path, way: str) -> list[list[int]]:
    """Runs of each load, or of each gain."""
    keys = [getattr(one, WAYS[way]) for one in read_runs(folder)]
    return [[k for k, key in enumerate(keys) if key == one] for one in sorted(set(keys))]


def _ours(folder: Path, way: str, groups: Sequence[Sequence[int]]) -> Row:
    """Each group predicted by a fit of the others."""
    errors: dict[int, float] = {}
    models, start = [], time.process_time()
    with tempfile.TemporaryDirectory() as name:
        for group in groups:
            own, others = Path(name) / "own", Path(name) / "others"
            _part(folder, own, set(range(len(read_runs(folder)))) - {*group})
            _part(folder, others, {*group})
            problem = ServoProblem.of(read_runs(own), read_runs(others), ServoOptions(), silent)
            found = chosen(problem.solve(None, silent))
            errors |= {k: one.error for k, one in zip(group, found.validated, strict=True)}
            models.append(found.best.name)
    seconds = (time.process_time() - start) / len(groups)
    return Row(
        f"{way} left out", OURS, "STS3215", _figures(folder, groups, errors) | {"seconds": seconds},
        f"fitted without them; models chosen by runs left out: {', '.join(models)}",
    )  # fmt: skip


def _part(folder: Path, target: Path, chosen: set[int]) -> None:
    """Folder with some of the runs of another one."""
    target.mkdir(exist_ok=True)
    with open(folder / "index.csv", encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        names, table = reader.fieldnames or [], [row for k, row in enumerate(reader) if k in chosen]
    with open(target / "index.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(row | {"file": str(folder / row["file"])} for row in table)


def _figures(folder: Path, groups: Sequence[Sequence[int]], errors: Mapping[int, float]) -> Figures:
    """Mean over all runs and over those without a drop, and the largest mean of a group [mrad]."""
    motions = [one.motion for one in read_runs(folder)]
    return {
        "unseen error [mrad]": 1e3 * float(np.mean([*errors.values()])),
        "without drops [mrad]": 1e3 * float(np.mean([error for k, error in errors.items() if motions[k] != OFF])),
        "largest of a group [mrad]": 1e3 * max(float(np.mean([errors[k] for k in group])) for group in groups),
    }


def _theirs(folder: Path, groups: dict[str, list[list[int]]], scratch: Path) -> Iterator[Row]:
    """Published values on all runs, and BAM's own fits of the same parts as ours."""
    published: dict[str, dict[str, dict[str, float]]] = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    count = len(read_runs(folder))
    tasks: list[dict[str, Any]] = [
        {
            "name": f"{fit} {name}",
            "model": name,
            "values": values,
            "measured": fit == "id009",
            "judged": [*range(count)],
        }
        for fit, values_of in published.items()
        for name, values in values_of.items()
    ]
    for way, parts in groups.items():
        tasks += [
            {"name": f"{way} {k}", "model": MODEL, "trials": TRIALS, "judged": part,
             "fitted": [j for j in range(count) if j not in part]}
            for k, part in enumerate(parts)
        ]  # fmt: skip
    _write_runs(folder, scratch / "runs.npz")
    options = ServoOptions()
    settings = {"runs": str(scratch / "runs.npz"), "dt": PERIOD, "tasks": tasks}
    settings |= {"error_gain": options.error_gain, "duty_limit": options.duty_limit}
    (scratch / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    found = run(python_of("bam"), ["benchmarks/league/rivals/bam_servo.py", str(scratch / "settings.json")], limit=3600)
    for way, parts in groups.items():
        own = [found[f"{way} {k}"] for k in range(len(parts))]
        seconds = float(np.mean([one["seconds"] for one in own]))
        errors = {k: e for part, one in zip(parts, own, strict=True) for k, e in zip(part, one["errors"], strict=True)}
        yield Row(
            f"{way} left out", f"BAM 1.0.2, {MODEL.upper()} fitted", "STS3215",
            _figures(folder, parts, errors) | {"seconds": seconds},
            f"its sampler (CMA-ES, bipop, {TRIALS} trials), its bounds, 12.1 V",
        )  # fmt: skip
    for fit, values_of in published.items():
        for name in values_of:
            errors = dict(enumerate(found[f"{fit} {name}"]["errors"]))
            yield Row(
                "loads left out", f"BAM, {name.upper()} published ({fit})", "STS3215",
                _figures(folder, groups["loads"], errors),
                "values of its users, who fitted all loads and gains, trimmed",
            )  # fmt: skip


def _write_runs(folder: Path, path: Path) -> None:
    """Runs at BAM's period, as long as the shortest; without misread rows."""
    table = read_runs(folder)
    campaign = servo_campaign(table, [], ServoOptions())
    good = [without_misread(campaign.as_logged(one.log, effort=False)) for one in table]
    times = np.arange(int(min(one.t[-1] - one.t[0] for one in good) / PERIOD)) * PERIOD

    def resampled(values: Sequence[Any]) -> Any:
        return np.column_stack([np.interp(times, one.t - one.t[0], v) for one, v in zip(good, values, strict=True)])

    np.savez(
        path,
        goal=resampled([one.channels["command"][:, 0] for one in good]),
        position=resampled([one.q[:, 0] for one in good]),
        enabled=resampled([one.channels["enabled"][:, 0] for one in good]) > 0.5,
        inertia=[one.inertia for one in table],
        moment=[one.moment for one in table],
        kp=[one.register for one in table],
    )
