"""The rank of columns of a robot with loops in sixty digits, where sixteen decide nothing.

The states are closed in sixty digits, from where sixteen close them, on the same rows and branch of each loop.
Lengths and axes are taken as their floats are, so that what is smaller than their own rounding is not told apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from minertia.algebra.expr import Graph
from minertia.algebra.wide import Wide, digits, pivot_sizes, solve, stacked, wide, wide_tape
from minertia.base.numeric import random_states
from minertia.dynamics.closing import Closing, closing_of
from minertia.dynamics.kinematics import State
from minertia.dynamics.loop_equations import MOTION, columns_by_name
from minertia.dynamics.regressor import regressor_entries
from minertia.robot.robot import Robot

TALL = 2  # rows for each column
MORE_STATES = 4
STEPS = 3  # of Newton's method: 16, 32, 64 digits
NOISE = 1e-45  # what is left of a column that depends on others


class WideRank(NamedTuple):
    """Rank, smallest part of a column that counts over the largest that does not, and that smallest one."""

    rank: int
    gap: float
    smallest: float


def wide_rank(robot: Robot, columns: Sequence[str], seed: int) -> WideRank:
    """Of some columns of a robot with loops on a fixed base, at random closed states."""
    robot = robot.numeric
    count = -(-TALL * len(columns) // robot.n) + MORE_STATES
    q, qd, qdd = (np.asarray(part) for part in random_states(robot, count, seed))
    closing = closing_of(robot)
    with digits():
        states = _ClosedStates(closing, wide(closing.close(q)), wide(qd), wide(qdd))
        sizes = pivot_sizes(_regressor(closing.robot.opened, states, columns))
    rank = sum(size > NOISE for size in sizes)
    dropped = max([*sizes[rank:], NOISE * 1e-5])
    return WideRank(rank, sizes[rank - 1] / dropped if rank else float("inf"), sizes[rank - 1] if rank else 1.0)


class _ClosedStates:
    """Positions, velocities and accelerations (N, tree) of the tree in sixty digits, and G (N, tree, n)."""

    def __init__(self, closing: Closing, q: Wide, qd: Wide, qdd: Wide) -> None:
        self.closing, self.count = closing, len(q)
        self._tape = wide_tape(closing.recorded.outputs)
        rows, solved, active = closing.rows, closing.solved, closing.active
        for _ in range(STEPS):
            off, A = self._equations(q)
            q[:, solved] = q[:, solved] - solve(A[:, rows][:, :, solved], off[:, rows, None])[:, :, 0]
        A = self._equations(q)[1][:, rows]
        self.G = np.full((self.count, closing.tree.n, len(active)), Decimal(0), object)
        self.G[:, active] = wide(np.eye(len(active)))
        self.G[:, solved] = -solve(A[:, :, solved], A[:, :, active])
        rates, accelerations = ((self.G * part[:, None]).sum(axis=2) for part in (qd, qdd))
        bias = stacked(wide_tape(closing.recorded_bias.outputs).run(columns_by_name(q=q, qd=rates)), self.count)[
            :, rows, None
        ]
        accelerations[:, solved] = accelerations[:, solved] - solve(A[:, :, solved], bias)[:, :, 0]
        self.inputs = columns_by_name(q=q, qd=rates, qdd=accelerations)

    def _equations(self, q: Wide) -> tuple[Wide, Wide]:
        """Residual (N, equations) and its derivatives (N, equations, tree)."""
        values = stacked(self._tape.run(columns_by_name(q=q)), self.count)
        first = len(self.closing.units)
        A = np.full((self.count, first, q.shape[1]), Decimal(0), object)
        A[:, self.closing.recorded_places[0], self.closing.recorded_places[1]] = values[:, first:]
        return values[:, :first], A


def _regressor(tree: Robot, states: _ClosedStates, columns: Sequence[str]) -> Wide:
    """G' Y of some columns, states and coordinates one under the other."""
    graph = Graph()
    motion = State(*(graph.variables(name, tree.n) for name in MOTION))
    entries = regressor_entries(tree, motion, frozenset(columns))
    values = stacked(wide_tape(list(entries.values())).run(states.inputs), states.count)
    Y = np.full((states.count, tree.n, len(columns)), Decimal(0), object)
    where = {name: c for c, name in enumerate(columns)}
    for k, (row, name) in enumerate(entries):
        Y[:, row, where[name]] = values[:, k]
    found = [(states.G[:, :, k, None] * Y).sum(axis=1) for k in range(states.G.shape[2])]
    return np.concatenate(found)
