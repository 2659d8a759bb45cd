"""Exciting motions as tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minertia.excitation.result import percent
from minertia.report.tables import Table

if TYPE_CHECKING:
    from minertia.excitation.result import Excitation
    from minertia.excitation.sweep import Sweeps

USE = "part of each limit that is used"
PREDICTED = "what a log of this motion is predicted to show"


def use_table(found: Excitation) -> Table:
    """One row per joint: how much of each of its limits the motion uses."""
    m = found.margins
    effort = ["-"] * len(found.limits.names) if m.effort is None else [f"{x:.3f}" for x in m.effort]
    rows = tuple(
        (name, f"{m.position[j]:.3f}", f"{m.velocity[j]:.3f}", f"{m.acceleration[j]:.3f}", effort[j])
        for j, name in enumerate(found.limits.names)
    )
    return Table(("joint", "position", "velocity", "acceleration", "effort"), rows, right=(1, 2, 3, 4))


def deviation_table(found: Excitation) -> Table:
    """One row per base parameter: the deviation it can be expected to come out with."""
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
    head = ("parameter", "deviation", "relative", "before this motion")
    return Table(head, rows, right=(1, 2, 3)).without_empty_columns()


def sweep_table(found: Sweeps) -> Table:
    """One row per joint: how far it goes, and what it uses of its limits."""
    rows = tuple((s.name, f"{s.range[0]:.3f}", f"{s.range[1]:.3f}", f"{s.margins.worst:.3f}") for s in found.sweeps)
    return Table(("joint", "from", "to", "largest use of a limit"), rows, right=(1, 2, 3))
