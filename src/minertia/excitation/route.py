"""`Route`: sequence of motions that a robot runs, from its current posture and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.excitation.check import Checker
from minertia.excitation.effort import EffortModel
from minertia.excitation.result import Excitation
from minertia.excitation.trajectory import ContinuousMotion
from minertia.excitation.transfer import Transfer, transfer, transfer_back
from minertia.io.arrays import Array
from minertia.io.errors import Infeasible

AT_REST = 1e-6  # rad/s or m/s, and per s2
SAME = 1e-9  # rad or m between the ends of a motion that ends where it began


@dataclass(frozen=True, repr=False)
class Route(ContinuousMotion):
    """Sequence of motions, each at rest at both ends: (name, motion), such as approach, excitation, return."""

    parts: tuple[tuple[str, ContinuousMotion], ...]

    @property
    def duration(self) -> float:  # type: ignore[override]
        """Total time [s]."""
        return float(self.begins[-1])

    @property
    def begins(self) -> Array:
        """Start time of each part, and end time of the last one (parts + 1,) [s]."""
        return np.concatenate([[0.0], np.cumsum([motion.duration for _, motion in self.parts])])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parts."""
        return tuple(name for name, _ in self.parts)

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """q, qd, qdd at times (N,), each of shape (N, n); at rest before it and after it."""
        times = np.atleast_1d(np.asarray(t, float))
        n = self.parts[0][1].at(0.0)[0].shape[1]
        found = np.empty((3, len(times), n))
        for inside, motion, own in self._shared(times):
            found[:, inside] = motion.at(own)
        found[1:, (times < 0) | (times > self.duration)] = 0.0
        return found[0], found[1], found[2]

    def jerk(self, t: ArrayLike) -> Array:
        """Third derivatives at times (N,), shape (N, n)."""
        times = np.atleast_1d(np.asarray(t, float))
        found = np.empty((len(times), self.parts[0][1].at(0.0)[0].shape[1]))
        for inside, motion, own in self._shared(times):
            found[inside] = motion.jerk(own)
        return found

    def _shared(self, times: Array) -> list[tuple[NDArray[np.bool_], ContinuousMotion, Array]]:
        """Time mask, motion and local times of each part."""
        begins = self.begins
        part = np.clip(np.searchsorted(begins, times, side="right") - 1, 0, len(self.parts) - 1)
        return [
            (part == k, motion, np.clip(times[part == k] - begins[k], 0.0, motion.duration))
            for k, (_, motion) in enumerate(self.parts)
        ]


def route(found: Excitation, posture: ArrayLike | None = None, *, seed: int = 0) -> Route:
    """Excitation trajectory with the approach from the robot's posture (n,) and the return to it.

    Approach and return keep every limit of the trajectory, including jerk, effort and distances; None: no approach.
    """
    motion = ("excitation", found.motion)
    if posture is None:
        return Route((motion,))
    q, qd, qdd = found.motion.at([0.0, found.motion.duration])
    if max(np.abs(qd).max(), np.abs(qdd).max()) > AT_REST:
        raise Infeasible(
            "a trajectory that does not start and end at rest cannot be joined to approach and return trajectories"
        )
    effort = EffortModel(found.base) if found.base.robot.has_parameters else None
    checker = Checker(found.limits, found.base, effort)
    to = transfer(checker, posture, q[0], seed=seed)
    is_closed = bool(np.abs(q[1] - q[0]).max() <= SAME)
    back: Transfer = transfer_back(checker, to) if is_closed else transfer(checker, q[1], to.postures[0], seed=seed)
    return Route((("approach", to), motion, ("return", back)))
