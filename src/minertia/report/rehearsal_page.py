"""Page of a rehearsal: the procedure, the identified parameters and their errors, and control performance."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import numpy as np

from minertia.report.blocks import (
    Block,
    BlockPage,
    Cell,
    CellTable,
    Chart,
    Links,
    NameCell,
    OffsetCell,
    Part,
    Words,
    figures,
    raised,
)
from minertia.report.tables import unit_of
from minertia.simulation.adaptation import Adaptation
from minertia.simulation.contact import SOON, Detection
from minertia.simulation.guiding import Guiding
from minertia.simulation.rehearsed import DEVIATIONS, FORMAT, Rehearsal
from minertia.simulation.tracking import FEEDBACK, UPDATES, TrackingTable

ROUNDING = 1e-12
MUCH = 1.1  # residual over noise from which a reason is given
MOST = 0.6  # part of the square beyond the noise that must be stirred up to call it the reason
LEAD = (
    "The whole campaign on a robot whose parameters are known: MuJoCo moves it, the rest sees only positions and "
    "efforts as a log would hold them."
)


def rehearsal_page(rehearsal: Rehearsal, folder: str | Path | None = None) -> BlockPage:
    """Page of a rehearsal; folder: its location, for links to the files beside it."""
    left_out = [Words(f"Left out: {text}") for text in rehearsal.skipped]
    parts = [Part("Steps", [_steps(rehearsal), *left_out, *map(Words, rehearsal.notes)])]
    if rehearsal.returned:
        parts.append(Part("Parameters that came back", _parameters(rehearsal)))
        parts.append(Part("Residual on a motion not used", _residuals(rehearsal)))
    if rehearsal.control:
        parts += _control(rehearsal)
    if rehearsal.weighed is not None:
        parts.append(Part("A load weighed on the way", _payload(rehearsal)))
    parts += shown_parts(rehearsal)
    if rehearsal.training is not None:
        parts.append(Part("Training motion", [_motion(rehearsal)]))
    if rehearsal.files:
        parts.append(Part("Files", [_files(rehearsal, folder)]))
    return BlockPage(f"Rehearsal of {rehearsal.robot.name}", "rehearsal", FORMAT, LEAD, _facts(rehearsal), parts)


def _facts(r: Rehearsal) -> dict[str, object]:
    s = r.options
    pairs: dict[str, object] = {}
    if r.returned:
        inside = sum(abs(x.off) <= DEVIATIONS for x in r.returned)
        pairs[f"within {DEVIATIONS:g} deviations"] = f"{inside} of {len(r.returned)}"
        pairs["held-out residual / noise"] = f"{r.over_floor:.3f}"
    if r.model is not None:
        pairs["physical"] = "yes" if r.model.is_physical else "no"
    return pairs | {
        "torque noise": f"{100 * s.noise:g} % of rms",
        "encoders": ", ".join(f"{v:g}" for v in sorted(set(s.resolutions(r.robot)))) + " rad or m",
        "rate": f"{s.rate:g} Hz",
        "motions": f"2 of {s.duration:g} s",
        **({"delay": f"{1e3 * s.delay:g} ms"} if s.delay else {}),
        **({"Stribeck friction": f"{100 * s.stribeck:g} % of Coulomb"} if s.stribeck else {}),
        "seed": s.seed,
        "time": f"{r.seconds:.1f} s",
    }


def _steps(r: Rehearsal) -> CellTable:
    rows = [[step.name, f"{step.seconds:.1f}", step.text] for step in r.steps]
    return CellTable(["step", "time [s]", "what came of it"], rows, right=(1,))


# ------------------------------------------------------------------ identification


def _parameters(r: Rehearsal) -> list[Block]:
    essential = set(r.significance.essential) if r.significance is not None else set[str]()
    rows: list[list[Cell]] = [
        [
            NameCell(x.name),
            raised(unit_of(r.robot, x.name)),
            figures(x.true if abs(x.true) > ROUNDING else 0.0, 4),
            figures(x.value, 4),
            figures(x.deviation, 2),
            f"{x.off:.2f}".replace("-", "\u2212"),
            OffsetCell(x.off, abs(x.off) > DEVIATIONS),
            "\u25cf" if x.name in essential else "",
        ]
        for x in r.returned
    ]
    headers = ["parameter", "unit", "planted", "estimated", "deviation", "off by", "in deviations, \u22124 to 4"]
    about = (
        "Base parameters: planted in the simulation, estimated from the log, the deviation that the estimate states, "
        "and the error in units of it. A dot marks those that a model of fewer parameters needs to predict as well."
    )
    return [Words(about), CellTable([*headers, "needed"], rows, right=(2, 3, 4, 5))]


def _residuals(r: Rehearsal) -> list[Block]:
    rows = [
        [name, *(figures(float(v), 3) for v in (floor, stirred, found)), f"{found / floor:.3f}"]
        for name, floor, stirred, found in zip(r.robot.coordinate_names, r.floor, r.stirred, r.held_out, strict=True)
    ]
    about = (
        "Root mean square of measured less predicted effort, beside that of the noise that was added [N m or N]. "
        "Stirred up: efforts faster than the filter on positions, which the controller makes of the steps of the "
        "encoders and no filtered motion can explain."
    )
    table = CellTable(["joint", "noise", "stirred up", "residual", "ratio"], rows, right=(1, 2, 3, 4))
    return [Words(about), table, *map(Words, _residual_remarks(r))]


def _residual_remarks(r: Rehearsal) -> list[str]:
    """Messages on residuals well above the noise: whether encoder quantisation explains them."""
    beyond = r.held_out**2 - r.floor**2
    remarks = []
    for j, name in enumerate(r.robot.coordinate_names):
        if r.held_out[j] > MUCH * r.floor[j]:
            by_encoders = r.stirred[j] ** 2 > MOST * beyond[j]
            remarks.append(
                f"{name}: the encoders explain most of it; finer ones, or a slower filter on velocities, lower it."
                if by_encoders
                else f"{name}: noise and encoders do not explain the residual; a delay, friction that the model does "
                "not have, or a motion that leaves parameters unknown can."
            )
    return remarks


# ------------------------------------------------------------------ control


def _control(r: Rehearsal) -> list[Part]:
    by = "the compiled C code" if r.is_compiled else "the expression graphs, as no code was compiled"
    loops = [t for t in r.control if t.kind == FEEDBACK]
    updates = [t for t in r.control if t.kind == UPDATES]
    moves = [t for t in r.control if t not in loops and t not in updates]
    parts = [
        Part(
            "Control without feedback",
            [
                Words(
                    f"Efforts of {by} with the identified parameters, no correction of any error: largest error of any "
                    "joint that moves. On-line gravity takes the measured posture instead of the one asked for."
                ),
                _moves(moves),
                *map(_move_chart, moves),
            ],
        )
    ]
    if loops:
        about = (
            "Root mean square error [mrad or mm] along the beginning of the motion not used, all with the same gains. "
            "Computed torque knows inertia, velocity, gravity and friction; the others know what their name says."
        )
        parts.append(Part("Control with feedback", [Words(about), _errors(loops[0], r), _loop_chart(loops[0])]))
    if updates:
        about = (
            "Computed torque with mass matrix, velocity and gravity efforts held for k periods of 2 ms, accelerations "
            "and friction taken every period: root mean square error [mrad or mm]."
        )
        blocks: list[Block] = [Words(about), _errors(updates[0], r), _update_chart(updates[0], r)]
        parts.append(Part("A slow background task", blocks))
    return parts


def _moves(tables: list[TrackingTable]) -> CellTable:
    rows = []
    for table in tables:
        row = [table.title.removeprefix("open loop, ")]
        for run in table.rows:
            moved = [j for j, span in enumerate(run.span) if span > 0]
            worst = max(moved, key=lambda j, run=run: run.relative[j])  # type: ignore[misc]
            row += [figures(1e3 * run.largest[worst], 3), f"{100 * run.relative[worst]:.2f} %"]
        rows.append(row)
    headers = ["move", "computed [mrad]", "of the move", "gravity on line [mrad]", "of the move"]
    return CellTable(headers, rows, right=(1, 2, 3, 4))


def _move_chart(table: TrackingTable) -> Chart:
    """Largest tracking error of the moving joints over time, with and without on-line gravity compensation."""
    moved = [j for j, span in enumerate(table.rows[0].span) if span > 0]
    lines = {run.name: 1e3 * np.abs(run.error[:, moved]).max(axis=1) for run in table.rows}
    return Chart(table.title.removeprefix("open loop, "), "mrad or mm", table.rows[0].t, lines)


def _loop_chart(table: TrackingTable) -> Chart:
    lines = {run.name: 1e3 * np.abs(run.error).max(axis=1) for run in table.rows}
    return Chart("Largest error of any joint", "mrad or mm, logarithmic", table.rows[0].t, lines, decades=4)


def _update_chart(table: TrackingTable, r: Rehearsal) -> Chart:
    """Tracking error of each joint against the number of periods between updates."""
    k = np.array([float(run.name.rpartition(" ")[2]) for run in table.rows])
    lines = {
        name: np.array([1e3 * run.rms[j] for run in table.rows]) for j, name in enumerate(r.robot.coordinate_names)
    }
    title, unit = "Error against k, periods between updates", "mrad or mm, logarithmic"
    return Chart(title, unit, k, lines, over="k", decades=5)


def _errors(table: TrackingTable, r: Rehearsal) -> CellTable:
    rows = [[run.title, *(figures(1e3 * v, 3) for v in run.rms)] for run in table.rows]
    return CellTable(["", *r.robot.coordinate_names], rows, right=tuple(range(1, 1 + r.robot.n)))


def _payload(r: Rehearsal) -> list[Block]:
    assert r.weighed is not None
    w, end = r.weighed, float(r.weighed.t[-1])
    sure = w.mass_deviation < 0.25 * r.load  # just after a change nothing is known yet
    t, mass, deviation = w.t[sure], w.mass[sure], w.mass_deviation[sure]
    again = ", ".join(f"{x:.2f}" for x in w.changes) or "no time"
    about = (
        f"The hand takes up {r.load:.3g} kg at a third of the run and puts it down at two thirds. The estimator next "
        f"to the controller knows neither; it noticed changes at {again} s."
    )
    rows = []
    for at in np.linspace(end / 12, end, 12):
        values, deviations = w.at(float(at))
        mass_now = f"{values[-1]:.3f}".replace("-", "\u2212")
        rows.append([f"{at:.2f}", mass_now, figures(float(deviations[-1]), 2)])
    lines = {"estimate": mass, "with its deviation": mass + deviation, "less its deviation": mass - deviation}
    chart = [Chart("Mass of the load", "kg", t, lines)] if len(t) > 2 else []
    return [Words(about), *chart, CellTable(["time [s]", "mass [kg]", "deviation [kg]"], rows, right=(0, 1, 2))]


# ------------------------------------------------------------------ motion and files


def _motion(r: Rehearsal) -> Chart:
    assert r.training is not None
    t, q = r.training.trajectory.t, r.training.trajectory.q
    series: Mapping[str, np.ndarray] = {name: q[:, j] for j, name in enumerate(r.robot.coordinate_names)}
    return Chart("Positions", "rad or m", t, series)


def _files(r: Rehearsal, folder: str | Path | None) -> Links:
    items = []
    for path in r.files:
        try:
            name = path.relative_to(folder).as_posix() if folder is not None else path.name
        except ValueError:
            name = path.name
        items.append((name, quote(name)))
    return Links(items)


# -------------------------------------------------------------------------------------- generated controllers at work


HIGHEST = 6.0  # outputs over their thresholds beyond which a chart shows no more


def shown_parts(r: Rehearsal) -> list[Part]:
    """Section for each controller that was tested."""
    parts = []
    for found in r.shown.values():
        if isinstance(found, Adaptation):
            parts.append(Part("Adaptive control takes up a load", _adaptation(found)))
        elif isinstance(found, Detection):
            parts.append(Part("Collisions felt by the momentum observer", _detection(found, r)))
        else:
            parts.append(Part("Guided by hand", _guiding(found, r)))
    return parts


def _adaptation(a: Adaptation) -> list[Block]:
    about = (
        f"The motion not used, to and fro; at {a.picked:.3g} s the hand takes up {a.load:.3g} kg. The generated "
        "adaptive law learns the last link; the same controller without adaptation is beside it. Root mean square "
        "error of all joints in each pass [mrad or mm]."
    )
    rows = [
        [f"{k * a.passing:.3g}", *(figures(1e3 * e, 3) for e in pair), "with the load" if later else ""]
        for k, pair in enumerate(zip(a.adapting, a.fixed, strict=True))
        for later in [(k + 0.5) * a.passing > a.picked]
    ]
    table = CellTable(["pass from [s]", "adapting", "not adapting", ""], rows, right=(0, 1, 2))
    lines = {"adapting": 1e3 * a.adapting_error, "not adapting": 1e3 * a.fixed_error}
    chart = Chart("Error over the last half second", "mrad or mm, logarithmic", a.t, lines, decades=3)
    masses = {"estimated": a.mass, "true": np.where(a.t < a.picked, a.true_mass - a.load, a.true_mass)}
    remark = (
        "Every link was a body that can exist at every step"
        if a.least > 0
        else "Some link was not a body that can exist at some step"
    )
    more = f"{remark}: the smallest eigenvalue of a pseudo-inertia of unit diagonal was {a.least:.2g}."
    return [Words(about), table, chart, Chart("Mass of the last link", "kg", a.t, masses), Words(more)]


def _detection(d: Detection, r: Rehearsal) -> list[Block]:
    about = (
        f"Thresholds of the generated momentum observer, from what it gives in free motion, for at most "
        f"{d.per_hour:g} false alarm{'s' * (d.per_hour != 1)} an hour of all joints together; {d.alarms} in "
        f"{d.seconds:.0f} s of other motion. "
        f"{d.soon} of {len(d.delays)} collisions of {d.force:.2g} N against the motion of the hand were felt within "
        f"{1e3 * SOON:.0f} ms, the last one after {1e3 * d.latest:.3g} ms."
    )
    rows = [
        [name, figures(a, 3), figures(b, 3)]
        for name, a, b in zip(r.robot.coordinate_names, d.sliding, d.standing, strict=True)
    ]
    headers = ["joint", "threshold where it slides [N m or N]", "where it may stick [N m or N]"]
    table = CellTable(headers, rows, right=(1, 2))
    begin = int(np.searchsorted(d.t, d.begun[0] - 0.5))
    shown = slice(begin, int(np.searchsorted(d.t, d.begun[min(2, len(d.begun) - 1)] + 0.5)))
    lines = {"largest output": np.minimum(d.largest, HIGHEST)[shown], "threshold": np.ones(len(d.t))[shown]}
    chart = Chart("Largest output of a joint over its threshold, first collisions", "1", d.t[shown], lines)
    return [Words(about), table, chart]


def _guiding(g: Guiding, r: Rehearsal) -> list[Block]:
    about = (
        f"The generated gravity function holds the arm; a hand pulls it along with at most {g.force:.3g} N by "
        f"{1e3 * g.travelled:.3g} mm and lets go at {g.released:g} s. In the {g.free:g} s after, the gripped point "
        f"drifts by {1e3 * g.drift:.2g} mm, at last with {1e3 * g.creep:.2g} mm/s; without gravity compensation by "
        f"{1e3 * g.fallen:.0f} mm."
    )
    drifts = [[name, figures(1e3 * v, 2)] for name, v in zip(r.robot.coordinate_names, g.drifts, strict=True)]
    table = CellTable(["joint", "drift [mrad or mm]"], drifts, right=(1,))
    way = Chart("Way of the gripped point", "mm", g.t, {"way": 1e3 * g.way})
    return [Words(about), way, Chart("Force of the hand", "N", g.t, {"force": g.pulled}), table]
