"""Number of base parameters as most scripts find it: rank of Pinocchio's regressor at random states."""

from __future__ import annotations

import numpy as np
from tests.oracles import PinocchioOracle

from minertia.robot.robot import Robot

ROWS = 1200  # of the regressor, at least, from 60 states at least: six times as many as parameters
ROUNDING = 1e-10  # of the length of a column, relative to the longest
TOLERANCE = 1e-8  # of singular values, columns scaled to length 1


def rank(robot: Robot) -> int | None:
    """Numeric rank; None for loops, dependent joints and floating bases."""
    arm = robot.numeric
    plain = all(joint.follows is None and joint.kind in ("revolute", "prismatic") for joint in arm.joints)
    if not plain or arm.is_floating or arm.cuts:
        return None
    peer, rng = PinocchioOracle(arm), np.random.default_rng(0)
    states = rng.uniform(-2, 2, (max(60, ROWS // arm.n), 3, arm.n))
    pin, model, d = peer.pin, peer.model, peer.data
    Y = np.concatenate([pin.computeJointTorqueRegressor(model, d, *state) for state in states])
    size = np.linalg.norm(Y, axis=0)
    own = size > ROUNDING * size.max()
    s = np.linalg.svd(Y[:, own] / size[own], compute_uv=False)
    return int(np.sum(s > TOLERANCE * s[0]))
