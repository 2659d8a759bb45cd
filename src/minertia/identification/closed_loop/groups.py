"""Inertially coupled joints: each such group has its own scale, and moves independently of the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minertia.base import numeric
from minertia.base.derive import base_parameters
from minertia.io.errors import MinertiaError
from minertia.robot.robot import Robot

STATES = 24
NEGLIGIBLE = 1e-9  # of the largest entry of a column


def require_simple(robot: Robot) -> None:
    """Raise an error for robots whose position servos the simulation does not support."""
    if robot.is_floating:
        raise MinertiaError(
            f"'{robot.name}' has a floating base, which joint logs do not determine; read it with a fixed base"
        )
    if robot.open_cuts:
        names = ", ".join(f"'{cut.name}'" for cut in robot.open_cuts)
        raise MinertiaError(
            f"'{robot.name}' has closed loops ({names}), which fits of commands do not simulate; also log its "
            "motors' efforts or currents, and identify it from these"
        )
    if robot.n != robot.n_joints or robot.coupling is not None:
        raise MinertiaError(
            f"'{robot.name}' has dependent joints (as in a parallelogram) or motors coupled to several joints, "
            "for which commands cannot be fitted; also log its motors' efforts or currents, and identify it from "
            "these"
        )


def tied_groups(robot: Robot) -> tuple[tuple[int, ...], ...]:
    """Coordinates (from 0) in groups that share base parameters of the links."""
    base = base_parameters(robot, "closed-form", rotors=False, friction=False)
    label = list(range(robot.n))
    for column in shown_at(robot, base.kept).T:
        rows = np.flatnonzero(column)
        if len(rows) > 1:
            joined = {label[r] for r in rows}
            label = [min(joined) if own in joined else own for own in label]
    return tuple(tuple(j for j, own in enumerate(label) if own == first) for first in sorted(set(label)))


def shown_at(robot: Robot, names: Sequence[str]) -> NDArray[np.bool_]:
    """Mask (n, names) of the joints at which link parameters (full names) have an effect."""
    q, qd, qdd = (np.asarray(a) for a in numeric.random_states(robot, STATES, 0))
    Y = numeric.regressor_at(robot, names, q, qd, qdd).reshape(STATES, robot.n, -1)
    size = np.abs(Y).max(axis=0)
    return np.asarray(size > NEGLIGIBLE * np.maximum(size.max(axis=0), 1e-300))
