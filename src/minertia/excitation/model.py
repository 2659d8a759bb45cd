"""What a search needs of the robot, with exact derivatives: the base regressor, and points of its links."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.expr import Expr, Graph
from minertia.algebra.vec3 import Vec, vadd
from minertia.codegen.gradient import reverse
from minertia.codegen.kernels import BatchKernel
from minertia.codegen.program import Port, Program
from minertia.dynamics.kinematics import State, passages
from minertia.dynamics.regressor import regressor_entries
from minertia.errors import UnknownName
from minertia.excitation.smooth import SmoothGraph
from minertia.robot.robot import Frame, Robot

Array = NDArray[np.float64]
Blocks = list[Array]
Weigh = Callable[[Blocks, Blocks], bool]
STATE = ("q", "qd", "qdd")


class RegressorModel:
    """The regressor of chosen columns with its vector-Jacobian product, compiled where there is a compiler.

    The rows of each joint are a block (N, columns from `first` of that joint on): what comes before is zero, since a
    joint does not feel what it does not carry.  mixing: W_base = W_columns mixing, the identity by default.  smooth:
    width [rad/s] of the sign in Coulomb columns, 0 for the sign itself.
    """

    def __init__(self, robot: Robot, columns: Sequence[str], mixing: Array | None = None, smooth: float = 0.0) -> None:
        self.n, self.p = robot.n, len(columns)
        self.mixing = None if mixing is None or np.array_equal(mixing, np.eye(self.p)) else mixing
        graph = SmoothGraph(smooth) if smooth > 0 else Graph()
        state = [graph.variables(name, robot.n) for name in STATE]
        entries = regressor_entries(robot.numeric, State(*state), frozenset(columns))
        where = {name: c for c, name in enumerate(columns)}
        rows = [{where[name]: entry for (row, name), entry in entries.items() if row == j} for j in range(self.n)]
        starts = [min(row, default=self.p) for row in rows]
        outputs = [row.get(c, 0.0) for row, start in zip(rows, starts, strict=True) for c in range(start, self.p)]
        self.forward, self.backward = _kernels("regressor", graph, STATE, self.n, outputs)
        ends = np.cumsum([self.p - start for start in starts]).tolist()
        self._slices = [slice(end - (self.p - start), end) for start, end in zip(starts, ends, strict=True)]
        self._starts = starts
        self.first = starts if self.mixing is None else [0] * self.n
        self._bench: _Bench | None = None

    def value(self, q: Array, qd: Array, qdd: Array) -> Array:
        """W, shape (N n, p): all joints of the first sample, then of the second ..."""
        W = np.zeros((len(q), self.n, self.p))
        for j, block in enumerate(self._blocks(self.forward(q, qd, qdd))):
            W[:, j, self.first[j] :] = block
        return W.reshape(-1, self.p)

    def state(self, samples: int) -> Array:
        """The array (3, samples, n) that `vjp` reads q, qd and qdd from: filled in place, nothing is copied."""
        if self._bench is None or self._bench.state.shape[1] != samples:
            self._bench = _Bench(self, samples)
        return self._bench.state

    def vjp(self, weigh: Weigh) -> Array | None:
        """Derivatives (3, N, n) with respect to `state` of the sum of weights times entries at fixed weights.

        weigh(blocks, weights) fills in the weights of the blocks; None if it returns False.  The arrays, the result
        among them, are used again by the next call: fresh memory would cost more than filling it.
        """
        bench = self._bench
        assert bench is not None, "the state comes first"
        bench.forward()
        blocks = bench.blocks if self.mixing is None else self._blocks(bench.entries)
        if not weigh(blocks, bench.weights_of):
            return None
        if self.mixing is not None:
            for j, target in enumerate(bench.own):
                np.matmul(bench.weights_of[j], self.mixing[self._starts[j] :].T, out=target)
        bench.backward()
        return bench.slopes

    def value_and_vjp(self, q: Array, qd: Array, qdd: Array, weigh: Weigh) -> Array | None:
        """`vjp` at a state given as three arrays (N, n)."""
        state = self.state(len(q))
        state[0], state[1], state[2] = q, qd, qdd
        return self.vjp(weigh)

    def _blocks(self, entries: Array) -> Blocks:
        blocks = [entries[:, part] for part in self._slices]
        if self.mixing is None:
            return blocks
        return [block @ self.mixing[start:] for block, start in zip(blocks, self._starts, strict=True)]


class _Bench:
    """Arrays that stay where they are, what each joint has in them, and the two kernels bound to them."""

    def __init__(self, model: RegressorModel, samples: int) -> None:
        n, size = model.n, model.forward.program.ports[0].size
        self.state, self.slopes = np.empty((3, samples, n)), np.empty((3, samples, n))
        self.entries, self.weights = np.empty((samples, size)), np.empty((samples, size))
        self.blocks = [self.entries[:, part] for part in model._slices]
        self.own = [self.weights[:, part] for part in model._slices]
        self.weights_of = self.own if model.mixing is None else [np.empty((samples, model.p)) for _ in self.own]
        self.forward = model.forward.bound([*self.state], [self.entries])
        self.backward = model.backward.bound([*self.state, self.weights], [*self.slopes])


class PointModel:
    """Positions [m] in the base frame of the origins of named frames, with derivatives."""

    def __init__(self, robot: Robot, names: Sequence[str]) -> None:
        robot = robot.numeric
        graph = Graph()
        q = graph.variables("q", robot.n)
        points = [s for name in names for s in _origin(robot, q, find_frame(robot, name))]
        outputs = [s if isinstance(s, Expr) else float(s) for s in points]
        self.forward, self.backward = _kernels("points", graph, ("q",), robot.n, outputs)

    def value(self, q: Array) -> Array:
        """Positions, shape (N, 3 frames)."""
        return np.asarray(self.forward(q))

    def vjp(self, q: Array, weights: Array) -> Array:
        """Derivatives (N, n) of sum(weights * positions)."""
        return np.asarray(self.backward(q, weights))


def _kernels(
    name: str, graph: Graph, names: Sequence[str], n: int, outputs: Sequence[Expr | float]
) -> tuple[BatchKernel, BatchKernel]:
    """Outputs (N, count), and the derivatives (N, n) by each input of their sum with weights (N, count)."""
    inputs = tuple(Port(x, (n,)) for x in names)
    adjoints = reverse(graph, outputs, graph.variables("w", len(outputs)))
    slopes = [adjoints.get(x.id, 0.0) for port in names for x in graph.variables(port, n)]
    forward = Program(name, graph, inputs, (Port("y", (len(outputs),)),), tuple(outputs))
    weights, results = Port("w", (len(outputs),)), tuple(Port(f"d_{x}", (n,)) for x in names)
    backward = Program(f"{name}_slopes", graph, (*inputs, weights), results, tuple(slopes))
    return BatchKernel(forward), BatchKernel(backward)


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
