"""`identify_servo`: model of one servo from runs with known loads, and loads from runs of a known servo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from minertia.identification.campaigns.prepare import Tell, silent
from minertia.identification.closed_loop.carrying import turned
from minertia.identification.closed_loop.fit import moved, output_error
from minertia.identification.closed_loop.found import LoopFit
from minertia.identification.closed_loop.logs import LoopLog
from minertia.identification.closed_loop.problem import CommandProblem
from minertia.identification.closed_loop.servo_models import FIRST_STEPS, STEP, steps_of
from minertia.identification.closed_loop.servo_problem import ServoProblem, chosen, servo_campaign
from minertia.identification.identify import judge
from minertia.identification.logs.options import ColumnMap
from minertia.identification.result import Identification
from minertia.identification.servo_options import ServoOptions
from minertia.identification.servo_runs import Run, read_runs
from minertia.io.errors import InputError

FACTORS = (0.5, 1.0, 2.0)  # of a stated load, at which the search of a hidden one starts


def identify_servo(
    folder: str | Path,
    validate: str | Path | None = None,
    options: ServoOptions | None = None,
    *,
    columns: ColumnMap | None = None,
    drop_torn: bool = False,
    tell: Tell = silent,
) -> Identification:
    """Model of a servo from the runs of a folder; validate: folder of runs that are predicted, not fitted.

    A folder has `index.csv` with a row for each log: file, inertia and gravity_moment of the load (or mass and
    length of a point), kp (the register of the firmware), optional motion and volts.  columns: columns of the logs,
    by default recognised.  drop_torn: drop malformed rows.
    """
    own, others = read_runs(folder), [] if validate is None else read_runs(validate)
    _refuse_alike(own)
    problem = ServoProblem.of(own, others, options or ServoOptions(), tell, columns, drop_torn=drop_torn)
    estimate = problem.solve(None, tell)
    tell("judging")
    return judge(problem, estimate, tell=tell)


def _refuse_alike(runs: Sequence[Run]) -> None:
    """Raise an error for runs of one load: friction that depends on it, and the scale, would not show."""
    if len({(run.inertia, run.moment) for run in runs}) < 2:
        raise InputError("all runs have the same load; give runs with at least two, which tell load and friction apart")


def load_factor(fit: LoopFit, logs: Sequence[LoopLog]) -> tuple[float, float]:
    """Factor on the stated load of runs that a known servo moves, and its standard deviation.

    The direction in which the load is mounted is found, too: a pendulum that rests askew is not a heavier one.
    The motor weighs the load: the deviation of its effort of a volt, KP, adds to that of the runs.
    """
    model, unit = fit.model, logs[0].carried
    assert unit is not None  # every run has a load
    links = model.places["link"]
    G = np.zeros((len(model.atoms), 2))
    G[links] = np.column_stack([unit, turned(model.links, unit)])
    free = replace(
        model, names=("LOAD", "TURN"), constant=model.atom_values(fit.theta), G=G, lower=np.array([0.0, -np.inf]),
        groups=tuple(replace(group, atoms=tuple(links)) for group in model.groups),
    )  # fmt: skip
    empty = [replace(log, carried=None) for log in logs]
    starts = [moved(free, empty, np.array([x, 0.0]), steps_of(logs, STEP), FIRST_STEPS) for x in FACTORS]
    best = min(starts, key=lambda point: point.cost)
    found = output_error(free, empty, best.theta[:2], steps=steps_of(logs, STEP), halve=True)
    k, factor = model.names.index("KP1"), float(found.theta[0])
    scale = factor * fit.deviation[k] / fit.theta[k]
    return factor, float(np.hypot(found.deviation[0], scale))


def identify_loads(result: Identification, folder: str | Path) -> list[dict[str, float]]:
    """Loads of the runs of a folder, moved by an identified servo: factors on those that its index states.

    Runs of one stated load are fitted together.
    """
    runs = read_runs(folder)
    fit = chosen(result.estimate).servo
    command = fit.model.command
    assert command.error_gain is not None  # of every servo
    options = ServoOptions(error_gain=command.error_gain, duty_limit=command.duty_limit)
    problem = CommandProblem.build(servo_campaign(runs, [], options, result.problem.campaign.map), silent)
    found = []
    for key in dict.fromkeys((run.inertia, run.moment) for run in runs):
        own = [k for k, run in enumerate(runs) if (run.inertia, run.moment) == key]
        factor, deviation = load_factor(fit, [problem.logs[k] for k in own])
        found.append(
            {
                "inertia": factor * key[0],
                "gravity_moment": factor * key[1],
                "factor": factor,
                "deviation": deviation,
                "runs": len(own),
            }
        )
    return found
