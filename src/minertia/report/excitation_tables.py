"""Exciting motions as tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
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
    uses = dict(m.uses())
    rows = tuple((name, *(_part(use, j) for use in uses.values())) for j, name in enumerate(found.limits.names))
    return Table(("joint", *uses), rows, right=tuple(range(1, len(uses) + 1)))


def _part(use: Sequence[float] | None, j: int) -> str:
    return "-" if use is None else f"{use[j]:.3f}"


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
