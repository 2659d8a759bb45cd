"""Rows without accelerations: momentum of every joint, or energy of all, differentiated before the parallel filter.

The derivative and the filter are linear and change places: what is filtered is the rate of a momentum or an energy, and
neither was divided by a time twice.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from minertia.identification.problem.linear import LinearModel, combined_columns
from minertia.identification.problem.regressor import momentum_columns, power_columns
from minertia.identification.signals.filtering import Motion, rate_of_change
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError

State = tuple[Array, Array, Array]
TORQUE, MOMENTUM, POWER = "torque", "momentum", "power"


def equations_of(block: Motion) -> str:
    """What the rows of a block state; a motion without a filter has only efforts."""
    return TORQUE if block.filter is None else block.filter.equations


def in_torques(block: Motion) -> Motion:
    """The same block with efforts for rows, as it is judged."""
    if block.filter is None or block.filter.equations == TORQUE:
        return block
    return replace(block, filter=replace(block.filter, equations=TORQUE))


def row_count(model: LinearModel, block: Motion) -> int:
    """Rows of a sample."""
    return 1 if equations_of(block) == POWER else len(model.rows)


def other_columns(
    model: LinearModel,
    motion: Motion,
    state: State,
    load: Array | None,
    temperature: Array | None,
    samples: int | None = None,
) -> Array:
    """Y (N, rows, unknowns) of momentum or power; load, temperature, samples: as `LinearModel.columns` takes them."""
    q, qd, _ = state
    is_power = equations_of(motion) == POWER

    def links(names: list[str]) -> Array:
        stored, rest = (power_columns if is_power else momentum_columns)(model.robot, names, q, qd, samples)
        Y = np.asarray(rate_of_change(np.asarray(stored), motion.rate_hz) + rest)
        return Y[:, None, :] if is_power else Y[:, list(model.rows)]

    if not is_power:
        return combined_columns(model, state, load, temperature, links)
    return combined_columns(model, state, load, temperature, links, weights=qd)


def other_efforts(model: LinearModel, motion: Motion, state: State, tau: Array) -> Array:
    """The other side of the equation (N, rows): efforts, or their power."""
    if equations_of(motion) != POWER:
        return tau[:, list(model.rows)]
    if len(model.rows) < model.robot.n_velocity:
        raise MinertiaError("equations of power need the efforts of all joints; take momentum or torque for some")
    return np.asarray(np.sum(state[1] * tau, axis=1, keepdims=True))
