"""Model-based control of a simulated arm: tracking, animated; adaptation and hand guiding by generated code."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.excitation.limits import MotionLimits, motion_limits
from minertia.excitation.sampled import SampledMotion
from minertia.excitation.trajectory import Trajectory
from minertia.io.arrays import thinned
from minertia.io.errors import MinertiaError
from minertia.report.bundle import rounded
from minertia.report.robot_views import drawn_robot, robot_data
from minertia.robot.robot import Robot
from minertia.simulation.adaptation import Adaptation
from minertia.simulation.control_model import ControlModel, control_model
from minertia.simulation.guiding import Guiding
from minertia.simulation.moves import random_moves
from minertia.simulation.options import LOAD
from minertia.simulation.plant import Controller, Imperfections, Plant
from minertia.simulation.rig import Rig
from minertia.simulation.shows import SHOWS, shown_code, shown_robot
from minertia.simulation.tracking import Gains, TrackingError, computed_torque, pd_alone, pd_gravity
from minertia.studio.job_work import JobWork
from minertia.studio.options import ControlJob

Array = NDArray[np.float64]
PERIOD, SUBSTEPS = 2e-3, 2
SHOWN_RATE, SHOWN_SECONDS = 1000.0, 1.5  # Hz of the generated controllers, s of the way that adaptation goes to and fro
FRAMES = 240  # pictures of a run
WORDS = {"adaptive": "adaptive control", "guiding": "hand guiding"}


def control(work: JobWork, asked: ControlJob) -> tuple[dict[str, Any], str]:
    """Simulate an arm that tracks a trajectory under several controllers, each with the given model."""
    arm, known = work.robot(asked.arm).numeric, work.robot(asked.known).numeric
    arm.parameters(), known.parameters()  # says what is missing
    limits = motion_limits(arm)
    work.tell("preparing the controllers", 0.02)
    trajectory = random_moves(limits, asked.seconds, PERIOD, asked.seed)
    runs = list(_followed(work, arm, control_model(known), trajectory))
    shown, skipped = _shows(work, asked.shows, arm, known, limits)
    view = {
        "arm": work.robot_title(asked.arm),
        "known": work.robot_title(asked.known),
        "joints": list(arm.coordinate_names),
        "robot": robot_data(arm),
        "drawing": drawn_robot(arm),
        "runs": [*runs, *shown],
        "skipped": skipped,
    }
    return view, f"{runs[0]['name']}: {runs[0]['sentence']}"


def _followed(work: JobWork, arm: Robot, model: ControlModel, trajectory: Trajectory) -> Iterator[dict[str, Any]]:
    gains, posture, unit = Gains(), trajectory.q[0], _error_unit(arm)
    controllers: dict[str, Callable[[], Controller]] = {
        "computed torque": lambda: computed_torque(model, gains),
        "PD with gravity": lambda: pd_gravity(model, gains, posture),
        "PD alone": lambda: pd_alone(model, gains, posture),
    }
    for k, (name, make) in enumerate(controllers.items()):
        work.tell(f"following with {name}", 0.1 + 0.15 * k)
        log = Plant(arm, period=PERIOD, substeps=SUBSTEPS).run(make(), trajectory)
        error = TrackingError.of(name, log)
        yield {
            "name": name,
            "kind": "tracking",
            "sentence": _sentence(error, unit),
            "rms": [1e3 * e for e in error.rms],
            "largest": [1e3 * e for e in error.largest],
            **_played(log.t, log.true_q, log.reference),
            "curves": [_curves(log.t, 1e3 * log.error, "tracking error", unit, arm.coordinate_names)],
        }


def _error_unit(robot: Robot) -> str:
    """Unit of tracking errors: of joints that turn, that slide, or of both."""
    slides = {robot.joints[j].kind == "prismatic" for j in robot.independent}
    return "mrad or mm" if len(slides) > 1 else "mm" if True in slides else "mrad"


def _sentence(error: TrackingError, unit: str) -> str:
    if error.ran_away is not None:
        return f"the arm became unstable at {error.ran_away:.2g} s"
    whole = 1e3 * float(np.sqrt(np.mean(np.square(error.rms))))
    return (
        f"error {whole:.3g} {unit} (root mean square over all joints), at most {1000.0 * max(error.largest):.3g} {unit}"
    )


def _played(t: Array, q: Array, reference: Array | None = None) -> dict[str, Any]:
    """Postures of a run, and the reference, decimated for display."""
    keep = np.unique(np.linspace(0, len(t) - 1, min(FRAMES, len(t))).astype(int))
    asked = {} if reference is None else {"reference": np.round(reference[keep], 4).tolist()}
    return {"t": rounded(t[keep], 4), "q": np.round(q[keep], 4).tolist(), **asked}


def _curves(t: Array, rows: Array, title: str, unit: str, labels: Sequence[str]) -> dict[str, Any]:
    keep = thinned(t, rows, 1500)
    values = [rounded(rows[keep, j], figures=4) for j in range(rows.shape[1])]
    return {"title": title, "unit": unit, "t": rounded(t[keep], 4), "labels": list(labels), "values": values}


# ---------------------------------------------------------------------- generated controllers


def _shows(
    work: JobWork, wanted: Sequence[str], arm: Robot, known: Robot, limits: MotionLimits
) -> tuple[list[dict[str, Any]], list[str]]:
    """Results of the generated controllers, and a message for each that cannot be shown."""
    asked = [name for name in WORDS if name in wanted]
    if not asked:
        return [], []
    work.tell("generating and compiling the controllers", 0.55)
    try:
        rig = _rig(arm, known, limits)
    except MinertiaError as err:
        return [], [f"{', '.join(WORDS[name] for name in asked)}: {err}"]
    found, skipped = [], []
    for k, name in enumerate(asked):
        work.tell(WORDS[name], 0.65 + 0.15 * k)
        try:
            shown = SHOWS[name](rig, 0.0)
            found.append(_adaptive(shown, _error_unit(arm)) if isinstance(shown, Adaptation) else _guided(shown))  # type: ignore[arg-type]
        except MinertiaError as err:
            skipped.append(f"{WORDS[name]}: {err}")
    return found, skipped


def _rig(arm: Robot, known: Robot, limits: MotionLimits) -> Rig:
    smooth = shown_robot(known)
    with tempfile.TemporaryDirectory() as place:
        code = shown_code(smooth, Path(place))
    way = random_moves(limits, SHOWN_SECONDS, 1 / SHOWN_RATE, 1)
    load = LOAD * sum(ten[9] for ten in arm.links if ten is not None)
    flaws = Imperfections(is_dithered=True)
    return Rig(arm, smooth, code, SampledMotion(way), limits, flaws, 1 / SHOWN_RATE, load)


def _adaptive(shown: Adaptation, unit: str) -> dict[str, Any]:
    errors = 1e3 * np.column_stack([shown.adapting_error, shown.fixed_error])
    mass = np.column_stack([shown.mass, np.where(shown.t < shown.picked, np.nan, shown.true_mass)])
    return {
        "name": WORDS["adaptive"],
        "kind": "adaptive",
        "sentence": shown.sentence(),
        **_played(shown.t, shown.q),
        "curves": [
            _curves(shown.t, errors, "error, averaged over half a second", unit, ("adapting", "without adaptation")),
            _curves(shown.t, mass, "mass of the last link", "kg", ("estimated", "true, with the load")),
        ],
    }


def _guided(shown: Guiding) -> dict[str, Any]:
    return {
        "name": WORDS["guiding"],
        "kind": "guiding",
        "sentence": shown.sentence(),
        **_played(shown.t, shown.q),
        "curves": [
            _curves(shown.t, shown.pulled[:, None], "force of the hand", "N", ("force",)),
            _curves(shown.t, 1e3 * shown.way[:, None], "displacement of the gripped point", "mm", ("way",)),
        ],
    }
