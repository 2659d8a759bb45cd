"""Physical consistency of fitted links: each step passes through the semidefinite program of the physical fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.physical.consistency import GAPS_ONLY, feasibility, physical_space
from minertia.identification.physical.fit import physical_fit
from minertia.identification.problem.triangles import triangle
from minertia.io.errors import SolverFailed

Array = NDArray[np.float64]
CLEAR = 1e-6  # slack from which values are those of bodies beyond the solver's tolerance


class Bodies:
    """Unknowns that a servo model shares with the linear model, and their physically consistent set."""

    def __init__(self, model: ServoModel, names: Sequence[str]) -> None:
        self.model, self.linear = model, model.linear
        self.own = [k for k, name in enumerate(names) if name in self.linear.names]
        self.others = [k for k, name in enumerate(names) if name not in self.linear.names]
        fixed = {name: 0.0 for name in self.linear.names if name not in model.names}
        rotors = [f"IA{j + 1}" for j in model.layout.elastic]  # behind springs: no part of what moves with the links
        fixed |= {name: 0.0 for name in rotors if name in self.linear.standard and name not in self.linear.names}
        self.space = physical_space(self.linear, None, fixed, np.ones(model.robot.n))

    def beta(self, theta: Array) -> Array:
        """Values of the linear model's unknowns."""
        beta = np.zeros(self.linear.count)
        beta[[self.linear.index(self.model.names[k]) for k in self.own]] = theta[self.own]
        return beta

    def held(self, theta: Array, R: Array, rows: int) -> Array:
        """The values if physically consistent, else the consistent ones that fit [S | e + S theta] best."""
        try:
            if feasibility(self.space, self.beta(theta)).slack > CLEAR:
                return theta
        except SolverFailed:
            pass
        turned = triangle(R[:, [*self.others, *self.own, R.shape[1] - 1]])
        count = len(self.others)
        below = turned[count:, count:]
        whole = np.zeros((len(below), self.linear.count + 1))
        places = [self.linear.index(self.model.names[k]) for k in self.own]
        whole[:, places], whole[:, -1] = below[:, :-1], below[:, -1]
        try:
            found = physical_fit(self.space.free(), triangle(whole), rows, weight=GAPS_ONLY)
        except SolverFailed:
            return theta
        result = theta.copy()
        result[self.own] = found.beta[places]
        if count:
            top = turned[:count]
            right = top[:, -1] - top[:, count:-1] @ result[self.own]
            result[self.others] = np.linalg.lstsq(top[:, :count], right, rcond=1e-12)[0]
        result[: self.model.count] = np.maximum(result[: self.model.count], self.model.lower)
        return result
