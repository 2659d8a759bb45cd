"""The page of sweeps of single joints: a 3-D preview, a plot and the use of the limits of each."""

from __future__ import annotations

import numpy as np

from minertia.excitation.result import FORMAT
from minertia.excitation.sweep import Sweep, Sweeps
from minertia.report.excite_page import PAGE_STYLE, limits_table, preview
from minertia.report.html import escape, facts, page, paragraph, parameter_name, section
from minertia.report.line_chart import line_chart
from minertia.report.preview import SCRIPT

FRAMES = 60  # of each sweep in the preview


def sweeps_page(found: Sweeps) -> str:
    """One self-contained HTML page."""
    title = f"Sweeps of {found.base.robot.name}, joint by joint"
    body = "".join(
        (
            _head(found, title),
            section("Preview", paragraph("All sweeps, one after the other."), _preview(found)),
            *(section(f"Sweep of {sweep.name}", _sweep(found, sweep)) for sweep in found),
            section("Parameters", _parameters(found)),
            section("Notes", *map(paragraph, found.limits.notes)) if found.limits.notes else "",
        )
    )
    return page(title, body, kind="sweeps", format_version=FORMAT, style=PAGE_STYLE, script=SCRIPT)


def _head(found: Sweeps, title: str) -> str:
    pairs: dict[str, object] = {
        "sweeps": len(found),
        "each": f"{found.sweeps[0].motion.duration:g} s",
        "parameters told apart": f"{len(found.shown)} of {found.base.count}",
    }
    lead = "One joint moves at a time, from the last to the first, so that parameters are found link by link."
    lines = "".join(f'<p class="lead">{escape(sentence)}</p>\n' for sentence in (lead, *found.claims.sentences))
    return f"<header>\n<h1>{escape(title)}</h1>\n{lines}{facts(pairs)}</header>\n"


def _preview(found: Sweeps) -> str:
    times, postures, begin = [], [], 0.0
    for sweep in found:
        t = np.linspace(0.0, sweep.motion.duration, FRAMES)
        times.append(begin + t)
        postures.append(sweep.motion.at(t)[0])
        begin += sweep.motion.duration
    return preview(found.base.robot, found.limits, np.concatenate(times), np.concatenate(postures))


def _sweep(found: Sweeps, sweep: Sweep) -> str:
    trajectory, j = sweep.trajectory, sweep.joint
    slides = found.base.robot.joints[found.base.robot.independent[j]].kind == "prismatic"
    unit = "m" if slides else "rad"
    lines = {
        f"position [{unit}]": trajectory.q[:, j],
        f"velocity [{unit}/s]": trajectory.qd[:, j],
        f"acceleration [{unit}/s\u00b2]": trajectory.qdd[:, j],
    }
    about = f"File {sweep.file}. It begins with the other joints where the posture has them and ends as it began."
    chart = line_chart(f"Motion of {sweep.name}", "units in the key", trajectory.t, lines)
    return paragraph(about) + chart + limits_table(sweep.margins, found.limits.names)


def _parameters(found: Sweeps) -> str:
    def listed(names: tuple[str, ...]) -> str:
        return "<p>" + ", ".join(map(parameter_name, names)) + "</p>\n"

    parts = paragraph("Base parameters that these sweeps tell apart:") + listed(found.shown)
    if found.hidden:
        parts += paragraph("Several joints must move at once for these:") + listed(found.hidden)
    return parts
