"""Loop closure of samples of a gradually changing trajectory, warm-started from the previous solution."""

from __future__ import annotations

import numpy as np

from minertia.dynamics.loops.closing import Closing, closing_of
from minertia.io.arrays import Array
from minertia.robot.robot import Robot


class ClosedSamples:
    """Loop-closure solutions of samples, cached as initial values for the next call with as many samples."""

    def __init__(self, closing: Closing) -> None:
        self.closing = closing
        self._kept: dict[
            int, tuple[Array, Array]
        ] = {}  # by the number of samples: positions asked for, and closed ones

    def iterated(self, q: Array) -> Array:
        """Positions (N, iterated) of passive joints without a closed form; NaN where loops do not close."""
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
    """Shared closed samples of a robot without symbols; None if all its loops have closed forms."""
    if not robot.open_cuts or not closing_of(robot).iterated:
        return None
    kept = vars(robot)
    if "_closed_samples" not in kept:
        kept["_closed_samples"] = ClosedSamples(closing_of(robot))
    found: ClosedSamples = kept["_closed_samples"]
    return found
