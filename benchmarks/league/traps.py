"""Wrong set-ups: what minertia says of them, and what its rivals say."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tests.identification.planted_wrench import PlantedTool, write_poses

import minertia as mi
from benchmarks.league import arms
from benchmarks.league.environments import Unavailable
from benchmarks.league.rows import OURS, Row
from minertia.options import WrenchOptions

Log = dict[str, np.ndarray]
LONGEST = 260  # characters of a sentence on the page
LAG = 0.06  # s by which joints follow their commands
SMALLER = 0.8  # lengths of the sister robot over those of the file


def rows() -> Iterator[Row | Unavailable]:
    """Each trap: ours and FIGAROH."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for title, make in TRAPS.items():
            arm = make(folder)
            found = mi.identify(arm.problem.campaign)
            left = _left(found.evidence.unseen[0].relative)
            yield _row(title, OURS, found.verdict.grade != "good", f"{_said(found)}; {left}")
            for entry in arms.rivals(arm, folder, without=(arms.PHYSICAL, arms.PLAIN)):
                if isinstance(entry, Unavailable):
                    yield entry
                else:
                    who, _, told, scored = entry
                    yield _row(title, who, False, f"{told['said']}; {_left(scored.validation[0].relative)}")
        yield _wrench_in_base_axes(folder)


def _said(found: mi.Identification) -> str:
    """Grade with what decides it: the first fault or limitation, else the first reason."""
    verdict, e = found.verdict, found.evidence
    first = next(iter((*(s.sentence for s in e.suspicions), *e.faults, *(v.sentence for v in verdict.limits))), None)
    return f"{verdict.word}: {first or verdict.reasons[0]}"


def _left(relative: float) -> str:
    return f"relative residual of the judged part {100 * relative:.2g} %"


def _row(title: str, who: str, warns: bool, said: str) -> Row:
    short = said if len(said) <= LONGEST else said[: LONGEST - 4].rsplit(" ", 1)[0] + " ..."
    return Row(title, who, "planted", {"warns": "yes" if warns else "no"}, short)


def _changed(folder: Path, name: str, change: Callable[[Log, Any], Log]) -> arms.Arm:
    """The planted arm with another log."""
    arm = arms.planted(folder, 0)
    log = change(dict(np.load(arm.log)), arm.truth)
    path = folder / f"{name}.npz"
    np.savez(path, **log)
    campaign = arms._campaign(arm.urdf, path, arm.fit_to)
    return replace(arm, name=name, log=path, problem=mi.build_problem(campaign), truth=None)


def right(folder: Path) -> arms.Arm:
    """No trap."""
    return _changed(folder, "right", lambda log, truth: log)


def commanded(folder: Path) -> arms.Arm:
    """Commanded positions in place of measured ones: they lead by the tracking delay."""

    def change(log: Log, truth: Any) -> Log:
        q = np.column_stack([np.interp(log["t"] + LAG, log["t"], column) for column in log["q"].T])
        return log | {"q": q}

    return _changed(folder, "commanded", change)


def simulated_part(folder: Path) -> arms.Arm:
    """The second half of the fitted part comes from a simulation of the robot file, without friction and noise."""

    def change(log: Log, truth: Any) -> Log:
        t, q = log["t"], log["q"]
        robot = mi.read_robot(folder / "puma.urdf")
        qd = np.gradient(q, t, axis=0)
        tau = np.asarray(mi.inverse_dynamics(robot, q, qd, np.gradient(qd, t, axis=0)))
        part = (t > t[-1] / 3) & (t < 2 * t[-1] / 3)
        return log | {"tau": np.where(part[:, None], tau, log["tau"])}

    return _changed(folder, "simulated", change)


def idle(folder: Path) -> arms.Arm:
    """Joints 4 to 6 stand still in the fitted part and move in the judged one."""

    def change(log: Log, truth: Any) -> Log:
        t, q = log["t"], log["q"].copy()
        moves = 1 / (1 + np.exp(-(t - 2 * t[-1] / 3 - 2.0) / 0.3))
        q[:, 3:] *= np.where(moves > 1e-2, moves, 0.0)[:, None]
        return log | {"q": q, "tau": _efforts(truth, t, q)}

    return _changed(folder, "idle", change)


def sister(folder: Path) -> arms.Arm:
    """A smaller robot of the same family, read with the file of the larger one."""

    def change(log: Log, truth: Any) -> Log:
        joints = tuple(replace(j, p=tuple(SMALLER * v for v in j.p)) for j in truth.numeric.joints)
        return log | {"tau": _efforts(replace(truth.numeric, joints=joints), log["t"], log["q"])}

    return _changed(folder, "sister", change)


def _efforts(truth: Any, t: np.ndarray, q: np.ndarray) -> np.ndarray:
    from scipy.signal import butter, filtfilt

    smooth = filtfilt(*butter(4, 20 / 100), q, axis=0)
    qd = np.gradient(smooth, t, axis=0)
    tau = np.asarray(mi.inverse_dynamics(truth, smooth, qd, np.gradient(qd, t, axis=0)))
    return tau + arms.NOISE * tau.std(axis=0) * np.random.default_rng(1).normal(size=tau.shape)


def _wrench_in_base_axes(folder: Path) -> Row:
    """A force/torque log in the axes of the base, as some controllers give it."""
    rng = np.random.default_rng(3)
    file = write_poses(folder / "poses.csv", PlantedTool.drawn(rng).poses(rng, 24), axes="base")
    found = mi.identify(mi.Campaign("puma560", file, wrench=WrenchOptions(bias="constant")))
    axes = found.to_dict().get("axes")
    said = f"{found.verdict.word}, axes found: {axes}; {found.verdict.reasons[0]}"
    return _row("a wrench in base axes", OURS, axes != "sensor" or found.verdict.grade != "good", said)


TRAPS = {
    "no trap": right,
    "commanded joints as measured ones": commanded,
    "a simulated part in a real log": simulated_part,
    "idle joints": idle,
    "another robot of the family": sister,
}
