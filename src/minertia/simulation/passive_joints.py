"""Passive joints of closed chains without a closed-form solution, tracked along a simulated motion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.expr import Graph
from minertia.codegen.kernels.kernel import compile_function
from minertia.codegen.program import Port, Program
from minertia.dynamics.loops.closing import CLOSED, Closing, closing_of
from minertia.dynamics.loops.scalar import LoopsOnScalars, NewtonStart
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
STEPS = 3  # of Newton's method, from one posture to the next
NEXT = 0.05  # rad, or part of the loop's size: what is farther is reached from the seed, on its branch


class PassiveJoints:
    """Passive joint positions by Newton's method, for a robot without symbols."""

    def __init__(self, robot: Robot) -> None:
        self.closing = closing_of(robot)
        self.count = len(self.closing.iterated)
        self.sets = sum(dyad is None for dyad in self.closing.dyads)  # of loops that are closed together
        self.newton = compile_function(_program(self.closing))
        self.q: Array = self.closing.seed[self.closing.active]
        self.passive: Array = self.closing.seed[self.closing.iterated]

    def __call__(self, q: Array) -> Array:
        """Positions of the coordinates, then of the passive joints; NaN if the loops cannot be closed."""
        if not np.array_equal(q, self.q):
            found = self._carried_on(q) if self.is_near(q, self.q) else self._reached(q)
            if not np.all(np.isfinite(found)):
                return np.concatenate([q, found])
            self.q, self.passive = np.array(q), found
        return np.concatenate([self.q, self.passive])

    def is_near(self, q: Array, other: Array) -> bool:
        """Whether Newton's method stays on the same branch from one posture to another."""
        return bool(np.abs((q - other) / self.closing.sizes[self.closing.active]).max() < NEXT)

    def _carried_on(self, q: Array) -> Array:
        passive, residual, branch = self.newton(q, self.passive)
        return np.asarray(passive) if residual[0] <= CLOSED and branch.min() > 0 else self._reached(q)

    def _reached(self, q: Array) -> Array:
        found, done = self.closing.found(np.array(q, float)[None])
        return np.asarray(found[0, self.closing.iterated] if done[0] else np.full(self.count, np.nan))


def passive_joints(robot: Robot) -> PassiveJoints | None:
    """Solver for the passive joints of a robot without symbols that have no closed form; None if it has none."""
    return PassiveJoints(robot) if robot.open_cuts and closing_of(robot).iterated else None


def _program(closing: Closing) -> Program:
    """Program from (q, passive) to passive positions after some Newton steps, closure error, and branch."""
    graph, n, k = Graph(), len(closing.active), len(closing.iterated)
    loops = LoopsOnScalars(closing, graph.variables("q", n), NewtonStart(graph.variables("passive", k), STEPS))
    outputs = (*(loops.q[c] for c in closing.iterated), loops.residual, *loops.branch)
    ports = (Port("passive_next", (k,)), Port("residual", (1,)), Port("branch", (len(loops.branch),)))
    return Program("passive_joints", graph, (Port("q", (n,)), Port("passive", (k,))), ports, outputs)
