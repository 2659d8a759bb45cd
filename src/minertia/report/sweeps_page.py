"""The page of sweeps of single joints: played, with a plot and the use of the limits of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minertia.excitation.check import Margins
from minertia.excitation.result import FORMAT
from minertia.excitation.sweep import Sweep, Sweeps
from minertia.report.blocks import Block, BlockPage, CellTable, Chart, Listed, Part, Words
from minertia.report.motion_views import played_view

FRAMES = 60  # of each sweep when it is played
LEAD = "One joint moves at a time, from the last to the first, so that parameters are found link by link."


def sweeps_page(found: Sweeps) -> BlockPage:
    """All sweeps, one after the other."""
    facts = {
        "sweeps": len(found),
        "each": f"{found.sweeps[0].motion.duration:g} s",
        "parameters told apart": f"{len(found.shown)} of {found.base.count}",
    }
    parts = [
        Part("What was checked", [Listed(found.claims.sentences)]),
        *(Part(f"Sweep of {sweep.name}", _sweep(found, sweep)) for sweep in found),
        Part("Parameters", _parameters(found)),
        *([Part("Notes", [Listed(found.limits.notes)])] if found.limits.notes else []),
    ]
    title = f"Sweeps of {found.base.robot.name}, joint by joint"
    return BlockPage(title, "sweeps", FORMAT, LEAD, facts, parts, played=_played(found))


def _played(found: Sweeps) -> dict[str, Any]:
    times, postures, begin = [], [], 0.0
    for sweep in found:
        t = np.linspace(0.0, sweep.motion.duration, FRAMES)
        times.append(begin + t)
        postures.append(sweep.motion.at(t)[0])
        begin += sweep.motion.duration
    return played_view(found.base.robot, found.limits, np.concatenate(times), np.concatenate(postures))


def _sweep(found: Sweeps, sweep: Sweep) -> list[Block]:
    trajectory, j = sweep.trajectory, sweep.joint
    slides = found.base.robot.joints[found.base.robot.independent[j]].kind == "prismatic"
    unit = "m" if slides else "rad"
    lines = {
        f"position [{unit}]": trajectory.q[:, j],
        f"velocity [{unit}/s]": trajectory.qd[:, j],
        f"acceleration [{unit}/s\u00b2]": trajectory.qdd[:, j],
    }
    about = f"File {sweep.file}. It begins with the other joints where the posture has them and ends as it began."
    chart = Chart(f"Motion of {sweep.name}", "units in the key", trajectory.t, lines)
    return [Words(about), chart, *_limits(sweep.margins, found.limits.names)]


def _limits(margins: Margins, names: Sequence[str]) -> list[Block]:
    """How much of each limit is used, and the smallest distances."""
    columns = [(what, used) for what, used in margins.uses() if used is not None]
    rows = [[name, *(f"{100 * values[j]:.1f} %" for _, values in columns)] for j, name in enumerate(names)]
    right = tuple(range(1, 1 + len(columns)))
    table = CellTable(["joint", *(name for name, _ in columns)], rows, right)
    return [table, *(Words(line) for line in margins.sentences)]


def _parameters(found: Sweeps) -> list[Block]:
    parts: list[Block] = [Words("Base parameters that these sweeps tell apart:"), Words(", ".join(found.shown))]
    if found.hidden:
        parts += [Words("Several joints must move at once for these:"), Words(", ".join(found.hidden))]
    return parts
