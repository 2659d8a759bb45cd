"""Detection of a payload change from innovations: a test with a given false-alarm rate, robust to outliers.

A payload change has a lasting effect; a jump of the effort (a joint that sticks, the controller's friction term at a
reversal of the reference) disturbs the accelerations of one window of samples only.  So innovations are clipped and
summed over several windows, and the sum is compared with its distribution under no change, given the autocorrelation
of the innovations.
"""

from __future__ import annotations

from collections import deque
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
FALSE_ALARMS = 0.01  # probability of one in an hour, over all joints
HOUR = 3600.0  # s
CLIP = 3.0  # deviations: what is further off counts as this
WINDOWS = 3  # windows in a sum: one that is spoiled must not be enough
AFTER_A_JUMP = 3.0  # deviations by chance on top of a spoiled window: those are rare
FORGETTING = 0.98  # of the autocorrelation, per update
MOST_ALIKE = 0.9


def clipped_weights(e: Array) -> Array:
    """Row factors for normalised innovations e that limit outliers: square roots of Huber weights."""
    return np.asarray(np.sqrt(CLIP / np.maximum(np.abs(e), CLIP)))


class ChangeDetector:
    """Change detector on the normalised innovations of n joints, update by update.

    window: number of updates that one jump can disturb.  period [s]: from one update to the next.
    """

    def __init__(self, n: int, window: int, period: float) -> None:
        spoiled = window + 1
        self.span = WINDOWS * spoiled
        self.by_jumps = CLIP * spoiled + AFTER_A_JUMP * float(np.sqrt(self.span - spoiled))
        tests = 2 * n * HOUR / period
        self.threshold = NormalDist().inv_cdf(1 - FALSE_ALARMS / tests)
        self.recent: list[deque[float]] = [deque(maxlen=self.span) for _ in range(n)]
        self.square, self.product = np.ones(n), np.zeros(n)  # of old innovations, and of neighbours among them

    def forget(self) -> None:
        """Restart after a change; the estimated autocorrelation is kept."""
        for recent in self.recent:
            recent.clear()

    def is_change(self, e: Array, is_valid: NDArray[np.bool_]) -> bool:
        """Whether the last innovations of a joint are significantly one-sided; invalid joints are ignored."""
        found = False
        for j in np.flatnonzero(is_valid).tolist():
            recent = self.recent[j]
            if len(recent) == self.span:
                self._learn(j, recent[0], recent[1])
            recent.append(float(np.clip(e[j], -CLIP, CLIP)))
            found |= len(recent) == self.span and abs(sum(recent)) > self._most(j)
        return found

    def _learn(self, j: int, oldest: float, after: float) -> None:
        """Update the autocorrelation with the value that leaves the sum; newer values may already contain a change."""
        self.square[j] = FORGETTING * self.square[j] + (1 - FORGETTING) * oldest * oldest
        self.product[j] = FORGETTING * self.product[j] + (1 - FORGETTING) * oldest * after

    def _most(self, j: int) -> float:
        """Threshold of the sum of innovations, for autocorrelated noise and for one disturbed window."""
        alike = min(max(self.product[j] / max(self.square[j], 1e-12), 0.0), MOST_ALIKE)
        deviation = float(np.sqrt(self.span * max(self.square[j], 1.0) * (1 + alike) / (1 - alike)))
        return max(self.threshold * deviation, self.by_jumps)
