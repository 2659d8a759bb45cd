"""Sections of the rehearsal's page about generated controllers at work."""

from __future__ import annotations

import numpy as np

from minertia.report.blocks import Block, CellTable, Chart, Part, Words, figures
from minertia.simulation.adaptation import Adaptation
from minertia.simulation.contact import SOON, Detection
from minertia.simulation.guiding import Guiding
from minertia.simulation.rehearsed import Rehearsal

MOST = 6.0  # outputs over their thresholds beyond which a chart shows no more


def shown_parts(r: Rehearsal) -> list[Part]:
    """A part for each controller that was tried."""
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
    lines = {"largest output": np.minimum(d.largest, MOST)[shown], "threshold": np.ones(len(d.t))[shown]}
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
