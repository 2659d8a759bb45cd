"""`Constraint`: base class of constraints of your own on excitation trajectories."""

from __future__ import annotations

import abc

import numpy as np

from minertia.io.arrays import Array
from minertia.io.errors import ShapeError

STEP = 1e-5  # rad or m, per s, per s2: of the difference quotients


class Constraint(abc.ABC):
    """Constraint on the states of a trajectory; derive a class with `margins`, and `slopes` where these are known.

    A state is allowed where all margins are positive.  They are smooth, and about 1 far from the limit.
    """

    @property
    def name(self) -> str:
        """Name in reports and messages."""
        return type(self).__name__

    @abc.abstractmethod
    def margins(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Margins (N,) or (N, m) of states (N, n) [rad or m, per s, per s2]; each depends on its own state only."""

    def slopes(self, q: Array, qd: Array, qdd: Array, weights: Array) -> tuple[Array, Array, Array]:
        """Derivatives (N, n) of sum(weights * margins) by q, qd and qdd; default: central differences."""
        state = np.array([q, qd, qdd], float)
        found = np.zeros_like(state)
        for k in range(3):
            for j in range(q.shape[1]):
                ends = []
                for sign in (1.0, -1.0):
                    moved = state.copy()
                    moved[k, :, j] += sign * STEP
                    ends.append(checked_margins(self, *moved))
                found[k, :, j] = np.sum(weights * (ends[0] - ends[1]), axis=1) / (2 * STEP)
        return found[0], found[1], found[2]


def checked_margins(constraint: Constraint, q: Array, qd: Array, qdd: Array) -> Array:
    """Margins (N, m) of a constraint; raises an error for another shape."""
    found = np.asarray(constraint.margins(q, qd, qdd), float)
    if found.ndim not in (1, 2) or len(found) != len(q):
        raise ShapeError(
            f"the margins of '{constraint.name}' have shape {found.shape}; ({len(q)},) or ({len(q)}, m) is needed"
        )
    return found.reshape(len(q), -1)
