"""`identify_servo`: model of one servo from runs with known loads, chosen by runs left out."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.identification.audits.values import without_misread
from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.campaigns.options import Command
from minertia.identification.campaigns.prepare import Tell, silent
from minertia.identification.closed_loop.fit import moved, output_error
from minertia.identification.closed_loop.found import LoopFit
from minertia.identification.closed_loop.logs import LoopLog
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.closed_loop.problem import CommandProblem
from minertia.identification.closed_loop.record import loop_record
from minertia.identification.closed_loop.servo_models import (
    FIRST_STEPS,
    MODELS,
    STEP,
    ServoFit,
    ServoRuns,
    chosen_model,
    finished,
    fit_models,
    steps_of,
)
from minertia.identification.closed_loop.simulate import simulated
from minertia.identification.evidence.intervals import NORMAL
from minertia.identification.loads.load import Load
from minertia.identification.logs.recording import Recording
from minertia.identification.servo_options import ServoOptions
from minertia.io.arrays import Array
from minertia.io.errors import InputError, RecordingError
from minertia.io.schema import UNKNOWN
from minertia.robot.joint import Joint
from minertia.robot.robot import EARTH, Robot

INDEX = "index.csv"
SLENDER = 1.0001  # least inertia about the axis over that of a point with the same moment
FACTORS = (0.5, 1.0, 2.0)  # of a stated load, at which the search of a hidden one starts
STATED = 0.05  # part of the voltage by which a stated one may differ from the logged one
PENDULUM = Robot(
    "servo",
    (Joint("servo", "revolute", None, ((0, -1, 0), (0, 0, 1), (-1, 0, 0)), (0, 0, 0), link="arm"),),
    links=((0.0,) * 10,),
)  # zero hanging down, without a load
TOO_NARROW = "the 95 % intervals are somewhat narrow: they held 91 % of the true values of fourteen simulated servos"


@dataclass(frozen=True)
class Run:
    """Row of an index: log, load [kg m2, N m], register, motion, and the voltage that is stated, if any."""

    log: Log
    inertia: float
    moment: float
    register: float
    motion: str
    volts: float | None


@dataclass(frozen=True)
class PredictedRun:
    """Positions of a run at the rows of its log: measured, simulated, and whether they were read rightly."""

    run: Run
    t: Array
    q: Array
    simulated: Array
    counted: NDArray[np.bool_]

    @property
    def error(self) -> float:
        """Mean absolute error [rad], without misread rows."""
        return float(np.mean(np.abs(self.q - self.simulated)[self.counted]))


@dataclass(frozen=True)
class ServoResult:
    """Model of a servo.  name: of its friction model.  compared: all fits.  fitted, validated: runs simulated."""

    name: str
    fit: LoopFit
    velocity: float
    compared: tuple[ServoFit, ...]
    fitted: tuple[PredictedRun, ...]
    validated: tuple[PredictedRun, ...]
    notes: tuple[str, ...]
    seconds: float

    @property
    def values(self) -> dict[str, dict[str, float]]:
        """Value and 95 % interval of each unknown that the runs show."""
        rows = zip(self.fit.model.names, self.fit.theta.tolist(), self.fit.deviation.tolist(), strict=True)
        return {
            name: {"value": value, "low": value - NORMAL * s, "high": value + NORMAL * s}
            for name, value, s in rows
            if np.isfinite(s)
        }

    @property
    def loop(self) -> dict[str, Any]:
        """Record of the position servo."""
        return loop_record(self.fit.model, self.fit.theta)

    @property
    def error_gain(self) -> float:
        """Duty cycle of a position error of 1 rad for a register of 1."""
        return float(self.fit.model.command.error_gain or 0.0)

    def of(self, name: str) -> ServoFit:
        """Fit of one of the models that were compared."""
        return next(fit for fit in self.compared if fit.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Plain data of the result."""
        scored = self.validated or self.fitted
        motions = dict.fromkeys(one.run.motion for one in scored)
        score = {"fitted": _score(self.fitted)} | ({"validation": _score(self.validated)} if self.validated else {})
        return {
            "score": score,
            "by_motion": {m: _score([one for one in scored if one.run.motion == m]) for m in motions if m},
            "model": self.name,
            "left_out": {fit.name: float(np.mean(fit.left_out)) for fit in self.compared},
            "values": self.values,
            "stribeck_velocity": self.velocity if "stribeck" in MODELS[self.name].words else None,
            "notes": list(self.notes),
            "seconds": self.seconds,
        }


def _score(runs: Sequence[PredictedRun]) -> float:
    return float(np.mean([one.error for one in runs]))


def identify_servo(
    folder: str | Path,
    validate: str | Path | None = None,
    options: ServoOptions | None = None,
    *,
    tell: Tell = silent,
) -> ServoResult:
    """Model of a servo from the runs of a folder; validate: folder of runs that are predicted, not fitted.

    A folder has `index.csv` with a row for each log: file, inertia and gravity_moment of the load (or mass and
    length of a point), kp (the register of the firmware), optional motion and volts.
    """
    started, options = process_time(), options or ServoOptions()
    own, others = read_runs(folder), [] if validate is None else read_runs(validate)
    _refuse_alike(own)
    campaign = servo_campaign(own, others, options)
    problem = CommandProblem.build(campaign, tell)
    runs = ServoRuns(problem.campaign, problem.logs, _folds(own))
    compared = tuple(fit_models(runs, options.models, tell))
    best = chosen_model([fit for fit in compared if fit.name in options.models] or compared)
    fit = finished(runs, best, tell)
    fitted, validated = (
        tuple(_predicted(fit.model, fit.theta, problem.campaign, run, log) for run, log in zip(rows, logs, strict=True))
        for rows, logs in ((own, problem.logs), (others, problem.unseen))
    )
    notes = (*_notes(own, problem.logs, (*fitted, *validated)), *_choice(compared, best), *fit.hidden.values())
    return ServoResult(best.name, fit, best.velocity, compared, fitted, validated, notes, process_time() - started)


def servo_campaign(own: Sequence[Run], others: Sequence[Run], options: ServoOptions) -> Campaign:
    """Campaign of the runs of a servo."""
    command = Command(
        law="servo", error_gain=options.error_gain, duty_limit=options.duty_limit, target_speed=UNKNOWN,
        startup_duty=UNKNOWN, zeros=UNKNOWN, loss="huber", leave_out_contact=False,
    )  # fmt: skip
    effects = ("rotor", "viscous", "coulomb")
    logs = [run.log for run in own]
    return Campaign(PENDULUM, logs, [run.log for run in others], effects=effects, links="robot", command=command)


def read_runs(folder: str | Path) -> list[Run]:
    """Runs of a folder's index."""
    path = Path(folder) / INDEX
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as err:
        raise InputError(f"'{path}' cannot be read: {err}; a folder of runs has an index.csv") from None
    if not rows:
        raise InputError(f"'{path}' names no runs")
    return [_run(path, number, row) for number, row in enumerate(rows, 2)]


def _run(path: Path, number: int, row: Mapping[str, str | None]) -> Run:
    def value(*names: str) -> float | None:
        text = next((row[name] for name in names if row.get(name)), None)
        try:
            return None if text is None else float(text)
        except ValueError:
            raise RecordingError(f"'{text}' is not a number", file=path, row=number, column=names[0]) from None

    file, register, volts = row.get("file"), value("kp", "register"), value("volts", "vin")
    mass, length = value("mass"), value("length")
    inertia, moment = value("inertia"), value("gravity_moment")
    if mass is not None and length is not None:
        inertia = mass * length**2 if inertia is None else inertia
        moment = -EARTH[2] * mass * length if moment is None else moment
    if (
        not file
        or register is None
        or inertia is None
        or moment is None
        or not all(0 < number < math.inf for number in (register, inertia, moment))
    ):
        raise RecordingError(
            "a run needs a file, kp, and its load: inertia and gravity_moment, or mass and length, finite and above 0",
            file=path,
            row=number,
        )
    log = Log(path.parent / file, load=load_of(inertia, moment, mass), register=register, volts=volts)
    return Run(log, inertia, moment, register, row.get("motion") or "", volts)


def load_of(inertia: float, moment: float, mass: float | None = None) -> Load:
    """Body with this inertia about the axis [kg m2] and gravity moment [N m]; as heavy as given, if that can be."""
    first = -moment / EARTH[2]
    weight = max(mass or 0.0, SLENDER * first**2 / inertia)
    rest = inertia - first**2 / weight
    return Load(weight, (first / weight, 0.0, 0.0), (rest / 2, 0.0, 0.0, rest / 2, 0.0, rest))


def _refuse_alike(runs: Sequence[Run]) -> None:
    """Raise an error for runs of one load: friction that depends on it, and the scale, would not show."""
    if len({(run.inertia, run.moment) for run in runs}) < 2:
        raise InputError("all runs have the same load; give runs with at least two, which tell load and friction apart")


def _folds(runs: Sequence[Run]) -> tuple[tuple[int, ...], ...]:
    """Runs that are left out together: those of each load, then of each gain; else those of each pair of both.

    Of two loads one alone would be left, which does not tell what depends on the load.
    """
    loads: list[Any] = [(run.inertia, run.moment) for run in runs]
    gains: list[Any] = [run.register for run in runs]
    ways = [keys for keys in (loads, gains) if len(set(keys)) > 2] or [list(zip(loads, gains, strict=True))]
    return tuple(tuple(k for k, own in enumerate(keys) if own == key) for keys in ways for key in dict.fromkeys(keys))


def _predicted(model: ServoModel, theta: Array, campaign: Campaign, run: Run, log: LoopLog) -> PredictedRun:
    """Simulated run, from its first row on, at the rows of its log."""
    raw: Recording = campaign.as_logged(run.log, effort=False)
    motion = simulated(model, theta, log, steps_of([log], STEP)[0], slopes=False)
    t = log.recording.t[0] + log.period * np.arange(len(log.q))
    found = np.full(len(raw), np.inf) if motion is None else np.interp(raw.t, t, motion.q[:, 0])
    counted = np.isin(raw.t, without_misread(raw).t)
    return PredictedRun(run, np.asarray(raw.t), np.asarray(raw.q[:, 0]), found, counted)


def _notes(runs: Sequence[Run], logs: Sequence[LoopLog], predicted: Sequence[PredictedRun]) -> list[str]:
    """Messages on misread rows, and on stated voltages that differ from the logged ones."""
    bad = sum(int(np.sum(~one.counted)) for one in predicted)
    found = [f"{bad} rows jump farther than a joint can and back: left out"] if bad else []
    for run, log in zip(runs, logs, strict=True):
        logged = log.recording.channels.get("volts")
        if run.volts is not None and logged is not None:
            usual = float(np.median(logged))
            if abs(usual - run.volts) > STATED * usual:
                found.append(f"{run.volts:g} V is stated, the log says {usual:.3g} V: the log is used")
    return list(dict.fromkeys(found))


def _choice(compared: Sequence[ServoFit], best: ServoFit) -> list[str]:
    """Messages on the choice of the model, and on the speed of the target."""
    told = ", ".join(f"{fit.name} {1e3 * np.mean(fit.left_out):.3g}" for fit in compared)
    found = [f"mean error of runs left out, by load and by gain [mrad]: {told}; {best.name} was chosen", TOO_NARROW]
    if "SPEED1" in best.values:
        found.append(f"the target follows the command at {best.values['SPEED1']:.3g} rad/s at most")
    return found


def load_factor(fit: LoopFit, logs: Sequence[LoopLog]) -> tuple[float, float]:
    """Factor on the stated load of runs that a known servo moves, and its standard deviation."""
    model, unit = fit.model, logs[0].carried
    assert unit is not None  # every run has a load
    links = model.places["link"]
    G = np.zeros((len(model.atoms), 1))
    G[links, 0] = unit
    free = replace(
        model, names=("LOAD",), constant=model.atom_values(fit.theta), G=G, lower=np.zeros(1),
        groups=tuple(replace(group, atoms=tuple(links)) for group in model.groups),
    )  # fmt: skip
    empty = [replace(log, carried=None) for log in logs]
    starts = [moved(free, empty, np.array([x]), steps_of(logs, STEP), FIRST_STEPS) for x in FACTORS]
    best = min(starts, key=lambda point: point.cost)
    found = output_error(free, empty, best.theta[:1], steps=steps_of(logs, STEP), halve=True)
    return float(found.theta[0]), float(found.deviation[0])


def identify_loads(result: ServoResult, folder: str | Path) -> list[dict[str, float]]:
    """Loads of the runs of a folder, moved by an identified servo: factors on those that its index states.

    Runs of one stated load are fitted together.
    """
    runs = read_runs(folder)
    options = ServoOptions(error_gain=result.error_gain, duty_limit=result.fit.model.command.duty_limit)
    problem = CommandProblem.build(servo_campaign(runs, [], options), silent)
    found = []
    for key in dict.fromkeys((run.inertia, run.moment) for run in runs):
        own = [k for k, run in enumerate(runs) if (run.inertia, run.moment) == key]
        factor, deviation = load_factor(result.fit, [problem.logs[k] for k in own])
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
