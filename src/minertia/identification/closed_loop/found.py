"""`LoopFit`: the values of a fit of commands with the linear problem that tells their deviations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from minertia.identification.closed_loop.contact import Mask, told_times
from minertia.identification.closed_loop.logs import LoopLog
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.evidence.intervals import Spread
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import inverse

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LoopFit:
    """Values of all unknowns of a model.

    part: the linear problem of the last iteration, for the unknowns that the logs tell apart; kept: their indices,
    beyond the model's those of the starts.
    hidden: the others, with a sentence each.  sigma: of the positions [rad or m]; steps: between rows of each log.
    pushed: positions of each log (N, n) that were left out, because something else pushed the robot there.
    """

    model: ServoModel
    theta: Array
    sigma: Array
    part: Observation = field(repr=False)
    kept: tuple[int, ...]
    hidden: dict[str, str]
    steps: tuple[int, ...]
    iterations: int
    widths: Spread | None
    notes: tuple[str, ...] = ()
    pushed: tuple[Mask, ...] = field(default=(), repr=False)

    @property
    def covariance(self) -> Array:
        """Covariance of all unknowns under correlated residuals; hidden ones have none."""
        R = self.part.triangle(self.sigma)
        inv = inverse(R[:-1, :-1])
        own = inv @ inv.T if self.widths is None else self.widths.stated
        size = max((self.model.count, *(k + 1 for k in self.kept)))
        full = np.zeros((size, size))
        full[np.ix_(self.kept, self.kept)] = own
        return full[: self.model.count, : self.model.count]

    @property
    def deviation(self) -> Array:
        """Deviation of each unknown; of hidden ones infinite."""
        found = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        found[[k for k in range(self.model.count) if k not in self.kept]] = np.inf
        return found


def contact_notes(logs: Sequence[LoopLog], masks: Sequence[Mask]) -> list[str]:
    """A sentence where stretches were left out."""
    told = [f"{told_times(log, rows)} of {log.name}" for log, rows in zip(logs, masks, strict=True) if rows.any()]
    if not told:
        return []
    return [
        f"left out of the fit: {'; '.join(told)}; far more is left there than elsewhere, as where a robot touches "
        "something or is pushed (leave_out_contact = false keeps such stretches)"
    ]
