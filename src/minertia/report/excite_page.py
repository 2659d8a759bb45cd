"""The page of an exciting motion: a 3-D preview, plots, use of the limits, predicted deviations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.dynamics.kinematics import State, passages
from minertia.dynamics.projection import project
from minertia.excitation.check import Margins
from minertia.excitation.limits import MotionLimits
from minertia.excitation.result import FORMAT, NO_SIZE, Excitation, percent
from minertia.report.html import escape, facts, markup_table, page, paragraph, parameter_name, section
from minertia.report.line_chart import line_chart
from minertia.report.preview import SCRIPT
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
FRAMES = 200


def excite_page(excitation: Excitation) -> str:
    """One self-contained HTML page."""
    robot = excitation.base.robot
    title = f"Exciting motion of {robot.name}"
    body = "".join(
        (
            _head(excitation, title),
            section("Preview", _preview(excitation)),
            section("Motion", _plots(excitation)),
            section("Use of the limits", _limits(excitation)),
            section("Predicted deviations", _deviations(excitation)),
            section("Notes", *(paragraph(note) for note in excitation.notes)) if excitation.notes else "",
        )
    )
    return page(title, body, kind="excite", format_version=FORMAT, style=PAGE_STYLE, script=SCRIPT)


def _head(e: Excitation, title: str) -> str:
    pairs: dict[str, object] = {
        "condition number": f"{e.condition:.4g}",
        "with columns scaled": f"{e.scaled_condition:.4g}",
        "base parameters": e.base.count,
        "duration": f"{e.motion.duration:g} s",
        "samples": e.n_samples,
        "criterion": e.criterion,
        "seeds": f"{e.found.seeds[0]} to {e.found.seeds[-1]}",
    }
    lead = "".join(f'<p class="lead">{escape(sentence)}</p>\n' for sentence in e.claims.sentences)
    return f"<header>\n<h1>{escape(title)}</h1>\n{lead}{facts(pairs)}</header>\n"


# ------------------------------------------------------------------ preview


def _preview(e: Excitation) -> str:
    t = np.linspace(0.0, e.motion.duration, FRAMES + 1)
    return preview(e.base.robot, e.limits, t, e.motion.at(t)[0])


def preview(robot: Robot, limits: MotionLimits, t: Array, q: Array) -> str:
    """The robot at times t and postures q (N, n), to be turned and played, with what stands around it."""
    data = json.dumps(preview_data(robot, limits, t, q), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return (
        '<canvas id="view" width="900" height="480" role="img" '
        'aria-label="The links of the robot at the chosen time; drag to turn the view"></canvas>\n'
        '<p class="controls"><button id="play" type="button">Play</button> '
        '<label for="time">time</label> <input id="time" type="range" min="0" value="0"> '
        '<output id="now">0.00 s</output></p>\n'
        + "".join(paragraph(line) for line in _key(limits))
        + f'<script type="application/json" id="motion">{data}</script>\n'
        "<noscript><p>The preview needs JavaScript; the plots below do not.</p></noscript>\n"
    )


def _key(limits: MotionLimits) -> list[str]:
    """What the preview shows beside the links."""
    space = limits.clearance
    if space is None:
        return []
    floor = "" if space.floor is None else " Shaded: the floor."
    return [f"Wide: the capsules whose distances were checked.{floor}"]


def preview_data(robot: Robot, limits: MotionLimits, t: Array, q: Array) -> dict[str, Any]:
    """Times, points of the links at each of them, which points a line joins, and what stands around.

    boxes: to keep away from; rooms: not to leave.  floor: its height, None for none.  ends, capsules: points of the
    capsules that are kept apart at each time, and which two of them each has, with its radius.
    """
    points, lines = link_points(robot, q)
    space = limits.clearance
    return {
        "t": np.round(t, 4).tolist(),
        "points": np.round(points, 4).tolist(),
        "lines": lines,
        "boxes": [] if space is None else [_edges(shape.p, shape.R, shape.size) for shape in space.boxes],
        "floor": None if space is None else space.floor,
        "ends": [] if space is None else np.round(space.placed(q), 3).tolist(),
        "capsules": []
        if space is None
        else [[int(a), int(b), round(float(r), 4)] for (a, b), r in zip(space.ends, space.radius, strict=True)],
        "rooms": [
            _edges(0.5 * np.add(b.lower, b.upper), np.eye(3), 0.5 * np.subtract(b.upper, b.lower)) for b in limits.boxes
        ],
    }


def link_points(robot: Robot, q: Array) -> tuple[Array, list[tuple[int, int]]]:
    """Positions (N, points, 3) of the ground, of every joint and of the last links' ends; the lines between them."""
    robot = robot.numeric
    still = [0] * robot.n
    closed = project(robot, State(list(q.T), still, still))
    ways = passages(closed.tree, closed.state.q)
    zero = np.zeros(len(q))

    def world(j: int | None, p: Any) -> Array:
        while j is not None:
            p = tuple(a + b for a, b in zip(ways[j].outward(p), ways[j].p, strict=True))
            j = robot.joints[j].parent
        return np.column_stack([zero + c for c in p])

    found, lines = [np.zeros((len(q), 3))], []
    for j, joint in enumerate(robot.joints):
        found.append(world(j, (0.0, 0.0, 0.0)))
        lines.append((0 if joint.parent is None else joint.parent + 1, j + 1))
    for frame in robot.frames.values():
        if frame.joint is not None and any(abs(float(v)) > 1e-6 for v in frame.pose[1]):
            found.append(world(frame.joint, tuple(float(v) for v in frame.pose[1])))
            lines.append((frame.joint + 1, len(found) - 1))
    return np.stack(found, axis=1), lines


def _edges(centre: Array, R: Array, half: ArrayLike) -> list[list[list[float]]]:
    """The twelve edges of a box with these half sides as pairs of points."""
    corners = [np.array([x, y, z]) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    places = [np.round(centre + R @ (corner * np.asarray(half)), 4).tolist() for corner in corners]
    pairs = [(a, b) for a in range(8) for b in range(a + 1, 8) if np.abs(corners[a] - corners[b]).sum() == 2]
    return [[places[a], places[b]] for a, b in pairs]


# ------------------------------------------------------------------ plots and tables


def _plots(e: Excitation) -> str:
    t, names = e.trajectory.t, e.limits.names
    prismatic = [e.base.robot.joints[j].kind == "prismatic" for j in e.base.robot.independent]
    length = "rad or m" if any(prismatic) and not all(prismatic) else "m" if all(prismatic) else "rad"
    parts = (
        ("Positions", length, e.trajectory.q),
        ("Velocities", f"{length}/s", e.trajectory.qd),
        ("Accelerations", f"{length}/s\u00b2", e.trajectory.qdd),
    )
    return "".join(
        line_chart(title, unit, t, {name: values[:, j] for j, name in enumerate(names)})
        for title, unit, values in parts
    )


def _limits(e: Excitation) -> str:
    return limits_table(e.margins, e.limits.names)


def limits_table(m: Margins, names: Sequence[str]) -> str:
    """How much of each limit is used, and the smallest distances."""
    columns = [(what, used) for what, used in m.uses() if used is not None]
    rows = [[escape(name), *(f"{100 * values[j]:.1f} %" for _, values in columns)] for j, name in enumerate(names)]
    table = markup_table(["joint", *(name for name, _ in columns)], rows, right=tuple(range(1, 1 + len(columns))))
    return table + "".join(paragraph(line) for line in m.sentences)


def _deviations(e: Excitation) -> str:
    relative, before = e.relative_deviations, e.deviations_before
    rows = []
    for k, name in enumerate(e.base.names):
        row = [parameter_name(name)] + ([] if before is None else [_deviation(before[k])])
        row.append(_deviation(e.deviations[k]))
        rows.append(row if relative is None else [*row, percent(float(relative[k])), _bar(float(relative[k]))])
    headers = ["parameter", *([] if before is None else ["before this motion"]), "deviation"]
    headers += ["of its size", ""] if relative is not None else []
    below = paragraph(NO_SIZE) if relative is not None and np.isnan(relative).any() else ""
    return paragraph(e.noise_sentence) + markup_table(headers, rows, right=(1, 2, 3)) + below


def _deviation(value: float) -> str:
    return f"{value:.3g}" if np.isfinite(value) else "not shown"


def _bar(part: float) -> str:
    width = 100 * min(part, 1.0)
    kind = "good" if part <= 0.1 else "poor"
    return f'<span class="bar {kind}" style="width:{width:.1f}px"></span>' if np.isfinite(part) else ""


PAGE_STYLE = """
canvas{width:100%;max-width:900px;border:1px solid var(--line);border-radius:.4rem;touch-action:none;cursor:grab}
.controls{display:flex;gap:.6rem;align-items:center}.controls input{flex:1;max-width:40rem}
figure{margin:1rem 0}figcaption{color:var(--soft);font-size:.9rem}
svg{width:100%;max-width:56rem}svg text{font-size:11px;fill:var(--soft)}.grid{stroke:var(--line);stroke-width:.6}
.key span{margin-left:.8rem;white-space:nowrap}
.key i{display:inline-block;width:1.1rem;height:.2rem;margin-right:.25rem;vertical-align:middle}
.bar{display:inline-block;height:.6rem;min-width:1px;background:var(--alone)}.bar.poor{background:var(--combination)}
"""
