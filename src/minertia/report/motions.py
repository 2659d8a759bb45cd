"""Excitation trajectories for display: tables, plain data for pages, and the page of single-joint sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from minertia.excitation.result import percent
from minertia.report.tables import Table, unit_of

if TYPE_CHECKING:
    from minertia.excitation.result import Excitation
    from minertia.excitation.sweep import Sweeps
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from minertia.excitation.check import Margins
from minertia.excitation.limits import MotionLimits
from minertia.excitation.result import FORMAT, Excitation
from minertia.excitation.sweep import Sweep, Sweeps
from minertia.io.arrays import Array, thinned
from minertia.report.blocks import Block, BlockPage, CellTable, Chart, Listed, Part, Words
from minertia.report.bundle import finite, rounded
from minertia.report.robot_views import drawn_robot, robot_data
from minertia.robot.robot import Robot

# ------------------------------------------------------------------------------------------------------------- tables


USE = "part of each limit that is used"
PREDICTED = "what a log of this motion is predicted to show"


def use_table(found: Excitation) -> Table:
    """One row per joint: utilisation of each of its limits by the trajectory."""
    m = found.margins
    uses = dict(m.uses())
    rows = tuple((name, *(_part(use, j) for use in uses.values())) for j, name in enumerate(found.limits.names))
    return Table(("joint", *uses), rows, right=tuple(range(1, len(uses) + 1)))


def _part(use: Sequence[float] | None, j: int) -> str:
    return "-" if use is None else f"{use[j]:.3f}"


def deviation_table(found: Excitation) -> Table:
    """One row per base parameter: its predicted standard deviation."""
    relative, before = found.relative_deviations, found.deviations_before
    rows = tuple(
        (
            name,
            f"{found.deviations[k]:.3g}",
            "" if relative is None else percent(float(relative[k])),
            "" if before is None else f"{before[k]:.3g}",
        )
        for k, name in enumerate(found.base.names)
    )
    head = ("parameter", "standard deviation", "of typical size", "before this motion")
    return Table(head, rows, right=(1, 2, 3)).without_empty_columns()


def sweep_table(found: Sweeps) -> Table:
    """One row per joint: its range of motion, and the utilisation of its limits."""
    rows = tuple((s.name, f"{s.range[0]:.3f}", f"{s.range[1]:.3f}", f"{s.margins.worst:.3f}") for s in found.sweeps)
    return Table(("joint", "from", "to", "largest use of a limit"), rows, right=(1, 2, 3))


# --------------------------------------------------------------------------------------------------------- plain data


FRAMES = 240  # pictures of a motion


def motion_view(found: Excitation) -> dict[str, Any]:
    """Trajectory as plain data: predicted accuracy, curves, and the robot's postures to animate."""
    robot, t = found.base.robot, np.linspace(0.0, found.motion.duration, FRAMES + 1)
    q = found.motion.at(t)[0]
    path, limits = found.trajectory, found.limits
    keep = thinned(path.t, path.q)
    return {
        "result": found.to_dict(),
        "headline": found.headline,
        "sentences": [*found.claim_lines(checked_only=True), *found.space_lines(), *found.notes],
        "units": {name: unit_of(robot, name) for name in found.base.names},
        "t": rounded(path.t[keep], 4),
        "curves": {
            key: [rounded(values[keep, j]) for j in range(values.shape[1])]
            for key, values in (("q", path.q), ("qd", path.qd), ("qdd", path.qdd))
        },
        **played_view(robot, limits, t, q),
    }


def played_view(robot: Robot, limits: MotionLimits, t: Array, q: Array) -> dict[str, Any]:
    """Animation data of the robot at times t [s] and postures q (N, n), with its environment.

    boxes: edges of obstacles; rooms: edges of permitted volumes.  floor: height of the floor, None without
    one.
    """
    space = limits.clearance
    return {
        "joints": list(limits.names),
        "limits": {
            "lower": [finite(v) for v in limits.lower],
            "upper": [finite(v) for v in limits.upper],
            "velocity": [finite(v) for v in limits.velocity],
            "acceleration": [finite(v) for v in limits.acceleration],
        },
        "postures": {"t": rounded(t, 4), "q": np.round(q, 5).tolist()},
        "drawing": drawn_robot(robot),
        "robot": robot_data(robot),
        "floor": None if space is None else space.floor,
        "boxes": [] if space is None else [_edges(shape.p, shape.R, shape.size) for shape in space.boxes],
        "rooms": [
            _edges(0.5 * np.add(b.lower, b.upper), np.eye(3), 0.5 * np.subtract(b.upper, b.lower)) for b in limits.boxes
        ],
    }


def _edges(centre: Array, R: Array, half: ArrayLike) -> list[list[list[float]]]:
    """The twelve edges of a box with these half lengths as pairs of points."""
    corners = [np.array([x, y, z]) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    places = [np.round(centre + R @ (corner * np.asarray(half)), 4).tolist() for corner in corners]
    pairs = [(a, b) for a in range(8) for b in range(a + 1, 8) if np.abs(corners[a] - corners[b]).sum() == 2]
    return [[places[a], places[b]] for a, b in pairs]


# ------------------------------------------------------------------------------------------------- the page of sweeps


SWEEP_FRAMES = 60  # of each sweep when it is played
LEAD = "One joint moves at a time, from the last to the first, so that parameters are found link by link."


def sweeps_page(found: Sweeps) -> BlockPage:
    """Page of all sweeps, in sequence."""
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
        t = np.linspace(0.0, sweep.motion.duration, SWEEP_FRAMES)
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
    """Utilisation of each limit, and the smallest distances."""
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
