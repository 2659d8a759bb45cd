"""`LoopFit`: estimates of a fit to commands, with the linear problem that gives their standard deviations."""

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
from minertia.identification.problem.triangles import triangle

Array = NDArray[np.float64]
EARLY = (
    'no servo acts on commands that were not sent yet: set command_when in [columns] to "after" if positions were '
    'read after the command of their row was sent, else to "before", with which a delay is not negative'
)


@dataclass(frozen=True)
class LoopFit:
    """Estimates of all unknowns of a model.

    part: the linear problem of the last iteration, for the identifiable unknowns; kept: their indices, where
    those beyond the model's unknowns are initial states, and angles of loads.  hidden: unidentifiable unknowns, with a
    message each.  sigma: noise of the positions [rad or m].  steps: simulation steps between rows of each log.
    pushed: mask of each log (N, n) of positions excluded because of external contact.  memory: rows that count as one
    beside prior knowledge.  known: this knowledge, by default that of the model.
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
    memory: float = 1.0
    known: tuple[tuple[int, float, float], ...] | None = None

    @property
    def prior(self) -> Array:
        """Weighted equations of prior knowledge of the identifiable unknowns, the right-hand side last."""
        known = self.model.known if self.known is None else self.known
        found = np.zeros((len(known), len(self.kept) + 1))
        for row, (k, mean, deviation) in zip(found, known, strict=True):
            if k in self.kept:
                row[self.kept.index(k)], row[-1] = np.sqrt(self.memory) * np.array([1.0, mean]) / deviation
        return found

    @property
    def R(self) -> Array:
        """Triangle of the weighted linear problem with the prior knowledge, for white residuals."""
        return triangle(np.concatenate([self.part.triangle(self.sigma), self.prior]))

    @property
    def covariance(self) -> Array:
        """Covariance of all unknowns under correlated residuals; zero for unidentifiable ones."""
        inv = inverse(self.R[:-1, :-1])
        own = inv @ inv.T if self.widths is None else self.widths.joint
        size = max((self.model.count, *(k + 1 for k in self.kept)))
        full, places = np.zeros((size, size)), self.kept[: len(own)]
        full[np.ix_(places, places)] = own
        return full[: self.model.count, : self.model.count]

    @property
    def deviation(self) -> Array:
        """Standard deviation of each unknown; infinite for unidentifiable ones."""
        found = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        found[[k for k in range(self.model.count) if k not in self.kept]] = np.inf
        return found


def contact_notes(logs: Sequence[LoopLog], masks: Sequence[Mask]) -> list[str]:
    """Messages on segments excluded because of external contact."""
    told = [f"{told_times(log, rows)} of {log.name}" for log, rows in zip(logs, masks, strict=True) if rows.any()]
    if not told:
        return []
    return [
        f"excluded from the fit: {'; '.join(told)}; the residual there is far larger than elsewhere, as in "
        "external contact (leave_out_contact = false keeps such segments)"
    ]
