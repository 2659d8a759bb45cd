"""What a search needs of the robot, with exact derivatives: the base regressor, and points of its links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.expr import Expr, Graph
from minertia.algebra.vec3 import Vec, vadd
from minertia.dynamics.kinematics import State, passages
from minertia.dynamics.regressor import regressor_entries
from minertia.errors import UnknownName
from minertia.excitation.tape import SmoothGraph, Tape, pull_back
from minertia.robot.robot import Frame, Robot

Array = NDArray[np.float64]
Weigh = Callable[[Array], Array | None]


class Regressor(Protocol):
    """A stacked regressor with its vector-Jacobian product; compiled code may stand in for `RegressorModel`."""

    def value(self, q: Array, qd: Array, qdd: Array) -> Array:
        """W, shape (n N, p): all samples of the first joint, then of the second ..."""
        ...

    def value_and_vjp(self, q: Array, qd: Array, qdd: Array, weigh: Weigh) -> tuple[Array, Array, Array] | None:
        """Derivatives, each (N, n), of sum(weigh(W) * W) at fixed weights; None if weigh returns None."""
        ...


class RegressorModel:
    """The regressor of chosen columns on NumPy rows, all samples at once.

    mixing: W_base = W_columns mixing, the identity by default.  smooth: width [rad/s] of the sign in Coulomb columns, 0
    for the sign itself.
    """

    def __init__(self, robot: Robot, columns: Sequence[str], mixing: Array | None = None, smooth: float = 0.0) -> None:
        self.n, self.columns = robot.n, tuple(columns)
        self.mixing = None if mixing is None or np.array_equal(mixing, np.eye(len(columns))) else mixing
        graph = SmoothGraph(smooth) if smooth > 0 else Graph()
        inputs = [graph.variables(name, robot.n) for name in ("q", "qd", "qdd")]
        entries = regressor_entries(robot.numeric, State(*inputs), frozenset(columns))
        where = {name: c for c, name in enumerate(columns)}
        outputs = [e if isinstance(e, Expr) else graph.constant(e) for e in entries.values()]
        seeds = graph.variables("w", len(outputs))
        flat = [x for group in inputs for x in group]
        slopes = pull_back(outputs, seeds, flat)
        self.tape = Tape(([*flat, *outputs], [*seeds, *slopes]))
        self.cells = np.array([where[name] * robot.n + row for row, name in entries], dtype=np.intp)
        self._rows = [self.tape.rows_of(part) for part in (flat, outputs, seeds, slopes)]
        self._signs = [np.array([[-1.0 if e.negative else 1.0] for e in part]) for part in (outputs, slopes)]

    def value(self, q: Array, qd: Array, qdd: Array) -> Array:
        """W, shape (n N, p): all samples of the first joint, then of the second ..."""
        tape, samples = self.tape, len(q)
        tape.allocate(samples)
        tape.rows[self._rows[0]] = np.hstack([q, qd, qdd]).T
        tape.run(0)
        table = np.zeros((len(self.columns) * self.n, samples))
        table[self.cells] = tape.rows[self._rows[1]] * self._signs[0]
        W: Array = table.reshape(len(self.columns), self.n * samples).T
        return W if self.mixing is None else np.asarray(W @ self.mixing)

    def value_and_vjp(self, q: Array, qd: Array, qdd: Array, weigh: Weigh) -> tuple[Array, Array, Array] | None:
        """Derivatives, each (N, n), of sum(weigh(W) * W) at fixed weights; None if weigh returns None."""
        weights = weigh(self.value(q, qd, qdd))
        if weights is None:
            return None
        weights = weights if self.mixing is None else weights @ self.mixing.T
        tape = self.tape
        tape.rows[self._rows[2]] = weights.T.reshape(-1, tape.samples)[self.cells]
        tape.run(1)
        slopes = (tape.rows[self._rows[3]] * self._signs[1]).T
        return slopes[:, : self.n], slopes[:, self.n : 2 * self.n], slopes[:, 2 * self.n :]


class PointModel:
    """Positions [m] in the base frame of the origins of named frames, with derivatives."""

    def __init__(self, robot: Robot, names: Sequence[str]) -> None:
        robot = robot.numeric
        graph = Graph()
        q = graph.variables("q", robot.n)
        poses = [find_frame(robot, name) for name in names]
        outputs = [s if isinstance(s, Expr) else graph.constant(s) for frame in poses for s in _origin(robot, q, frame)]
        seeds = graph.variables("w", len(outputs))
        slopes = pull_back(outputs, seeds, q)
        self.tape = Tape(([*q, *outputs], [*seeds, *slopes]))
        self._rows = [self.tape.rows_of(part) for part in (q, outputs, seeds, slopes)]
        self._signs = [np.array([[-1.0 if e.negative else 1.0] for e in part]) for part in (outputs, slopes)]

    def value(self, q: Array) -> Array:
        """Positions, shape (N, 3 frames)."""
        self.tape.allocate(len(q))
        self.tape.rows[self._rows[0]] = q.T
        self.tape.run(0)
        return np.asarray((self.tape.rows[self._rows[1]] * self._signs[0]).T)

    def vjp(self, weights: Array) -> Array:
        """Derivatives (N, n) of sum(weights * positions) at the positions computed last."""
        self.tape.rows[self._rows[2]] = weights.T
        self.tape.run(1)
        return np.asarray((self.tape.rows[self._rows[3]] * self._signs[1]).T)


def find_frame(robot: Robot, name: str) -> Frame:
    """A frame of the file, or the frame of a joint or link, by name."""
    if name in robot.frames:
        return robot.frames[name]
    names = [*robot.frames, *(joint.link for joint in robot.joints if joint.link), *(j.name for j in robot.joints)]
    if name not in names:
        raise UnknownName("frame", name, names)
    j = robot.joint_index(name)
    return Frame(j, robot.joints[j].file_frame)


def _origin(robot: Robot, q: Sequence[Expr], frame: Frame) -> Vec:
    """Position of a frame's origin in the base frame."""
    _, point = frame.pose
    ways = passages(robot, q)
    j = frame.joint
    while j is not None:
        point = vadd(ways[j].outward(point), ways[j].p)
        j = robot.joints[j].parent
    return point
