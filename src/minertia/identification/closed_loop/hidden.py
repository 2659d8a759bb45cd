"""Structurally unidentifiable directions of a fit to commands and positions.

With unknown gains, all efforts of a group of inertially coupled joints can be scaled by a common factor.
Servo damping and viscous friction act on the same velocity.  An offset is equivalent to a shift of the
encoder zero.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from minertia.base import numeric
from minertia.base.derive import base_parameters
from minertia.robot.robot import Robot

Array = NDArray[np.float64]


def hidden_directions(robot: Robot, *, friction: bool = True, known: Collection[int] = (), seed: int = 0) -> int:
    """Number of directions of [links with IA | FV FC OFF | KP | KD] that no motion can identify.

    friction: whether viscous friction is among the unknowns.  known: coordinates (from 0) whose kp is known.
    """
    base = base_parameters(robot, "closed-form", rotors=True, friction=False)
    n, rng = robot.n, np.random.default_rng(seed)
    symbols = ("FV", "FC", "OFF") if friction else ("FC", "OFF")
    names = (*base.kept, *(f"{symbol}{j + 1}" for symbol in symbols for j in robot.independent))
    states = numeric.enough_states(robot, 2 * (len(names) + 2 * n))
    q, qd, qdd = (np.asarray(a) for a in numeric.random_states(robot, states, seed))
    Y = numeric.regressor_at(robot, names, q, qd, qdd).reshape(states, n, -1)
    beta, kp, kd = rng.uniform(0.5, 1.5, len(names)), rng.uniform(5.0, 20.0, n), rng.uniform(0.5, 2.0, n)
    error = (Y @ beta + kd * qd) / kp  # u - q of a robot that obeys its law
    diagonal = np.eye(n)
    gains = [-error[:, :, None] * diagonal, qd[:, :, None] * diagonal]
    unknown = [j for j in range(n) if j not in known]
    W = np.concatenate([Y, gains[0][:, :, unknown], gains[1]], axis=2).reshape(states * n, -1)
    rank, _ = numeric.rank_and_gap(numeric.triangle(np.ascontiguousarray(W)))
    return int(W.shape[1] - rank)
