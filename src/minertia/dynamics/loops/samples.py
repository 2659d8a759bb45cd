"""Samples of a motion that is changed little by little, with their loops closed: each time from where they were."""

from __future__ import annotations

import numpy as np

from minertia.dynamics.loops.closing import Closing, closing_of
from minertia.io.arrays import Array
from minertia.robot.robot import Robot


class ClosedSamples:
    """Closed positions of samples, kept for the next samples of the same number, which are mostly near them."""

    def __init__(self, closing: Closing) -> None:
        self.closing = closing
        self._kept: dict[
            int, tuple[Array, Array]
        ] = {}  # by the number of samples: positions asked for, and closed ones

    def iterated(self, q: Array) -> Array:
        """Positions (N, iterated) of passive joints without a closed form; no numbers where loops do not close."""
        return np.ascontiguousarray(self._closed(q)[:, self.closing.iterated])

    def _closed(self, q: Array) -> Array:
        last = self._kept.get(len(q))
        if last is not None and np.array_equal(last[0], q):
            return last[1]
        found, done = self.closing.found(q, None if last is None else last[1])
        if last is not None and not done.all():
            found, done = self.closing.found(q)
        found[~done] = np.nan
        if done.all():
            self._kept[len(q)] = q.copy(), found
        return found


def closed_samples_of(robot: Robot) -> ClosedSamples | None:
    """Those of a robot without letters, one for all who ask; None where all its loops have closed forms."""
    if not robot.open_cuts or not closing_of(robot).iterated:
        return None
    kept = vars(robot)
    if "_closed_samples" not in kept:
        kept["_closed_samples"] = ClosedSamples(closing_of(robot))
    found: ClosedSamples = kept["_closed_samples"]
    return found
