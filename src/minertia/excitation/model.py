"""What a search needs of the robot, with exact derivatives: the base regressor, and points of its links."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.derivative import reverse
from minertia.algebra.expr import Expr, Graph
from minertia.algebra.vec3 import Vec, vadd
from minertia.codegen.kernels.kernel import BatchKernel
from minertia.codegen.program import Port, Program
from minertia.dynamics.effects import free_torques
from minertia.dynamics.kinematics import Passage, State, passages
from minertia.dynamics.projection import project
from minertia.dynamics.regressor import regressor_entries
from minertia.excitation.smooth import SmoothGraph
from minertia.robot.robot import Frame, Robot, find_frame

Array = NDArray[np.float64]
Blocks = list[Array]
Weigh = Callable[[Array, Blocks, Blocks], bool]
STATE = ("q", "qd", "qdd")


class RegressorModel:
    """The regressor of chosen columns with its vector-Jacobian product, compiled where there is a compiler.

    The rows of each joint are a block (N, those of `columns` that are not always zero): a joint does not feel what it
    does not carry.  mixing: W_base = W mixing, None for the identity.  smooth: width [rad/s] of the sign in Coulomb
    columns, 0 for the sign itself.
    """

    def __init__(self, robot: Robot, columns: Sequence[str], mixing: Array | None = None, smooth: float = 0.0) -> None:
        self.n, self.p = robot.n, len(columns)
        self.mixing = None if mixing is None or np.array_equal(mixing, np.eye(self.p)) else mixing
        graph = SmoothGraph(smooth) if smooth > 0 else Graph()
        state = [graph.variables(name, robot.n) for name in STATE]
        closed = project(robot.numeric, State(*state))
        entries = closed.entries(regressor_entries(closed.tree, closed.state, frozenset(columns)))
        where = {name: c for c, name in enumerate(columns)}
        outputs: list[Any] = [0.0] * (self.n * self.p)
        for (row, name), entry in entries.items():
            outputs[row * self.p + where[name]] = entry
        self.forward = forward_kernel("regressor", graph, STATE, self.n, outputs, (self.n, self.p))
        pattern = self.forward.pattern
        self.backward = backward_kernel("regressor", graph, STATE, self.n, [outputs[k] for k in pattern.positions])
        self.parts = [slice(a, b) for a, b in pairwise(pattern.row_start.tolist())]
        self.columns = [pattern.column[part] for part in self.parts]
        self._bench: _Bench | None = None

    def value(self, q: Array, qd: Array, qdd: Array) -> Array:
        """W, shape (N n, p): all joints of the first sample, then of the second ..."""
        W = np.asarray(self.forward(q, qd, qdd)).reshape(-1, self.p)
        return W if self.mixing is None else np.asarray(W @ self.mixing)

    def state(self, samples: int) -> Array:
        """The array (3, samples, n) that `vjp` reads q, qd and qdd from: filled in place, nothing is copied."""
        if self._bench is None or self._bench.state.shape[1] != samples:
            self._bench = _Bench(self, samples)
        return self._bench.state

    def vjp(self, weigh: Weigh, scale: Array) -> Array | None:
        """Derivatives (3, N, n) with respect to `state` of the sum of weights times entries at fixed weights.

        weigh(G, blocks, weights) gets G = W' W with the rows of each joint times its scale (n,), before any mixing, and
        fills in the weights of the blocks; None if it returns False.  The arrays, the result among them, are used again
        by the next call: fresh memory would cost more than filling it.
        """
        bench = self._bench
        assert bench is not None, "the state comes first"
        bench.scale[:] = scale
        if not weigh(bench.forward(), bench.blocks, bench.own):
            return None
        bench.backward()
        return bench.slopes


class _Bench:
    """Arrays that stay where they are, what each joint has in them, and the two kernels bound to them."""

    def __init__(self, model: RegressorModel, samples: int) -> None:
        n, size = model.n, len(model.forward.pattern.positions)
        self.state, self.slopes, self.scale = np.empty((3, samples, n)), np.empty((3, samples, n)), np.ones(n)
        self.entries, self.weights = np.empty((samples, size)), np.empty((samples, size))
        self.blocks = [self.entries[:, part] for part in model.parts]
        self.own = [self.weights[:, part] for part in model.parts]
        self.forward = model.forward.bound_with_gram([*self.state], self.entries, self.scale)
        self.backward = model.backward.bound([*self.state, self.weights], [*self.slopes])


class SlopedModel:
    """Efforts of effects that depend on positions and velocities and have slopes (springs, cubic friction)."""

    def __init__(self, robot: Robot, chi: Sequence[Mapping[str, float]]) -> None:
        graph, names = Graph(), ("q", "qd")
        q, qd = (graph.variables(name, robot.n) for name in names)
        closed = project(robot, State(q, qd, [0] * robot.n))
        efforts = closed.efforts(free_torques(closed.tree, chi, closed.state))
        outputs = [e if isinstance(e, Expr) else float(e) for e in efforts]
        self.forward = forward_kernel("effects", graph, names, robot.n, outputs, (robot.n,))
        self.backward = backward_kernel("effects", graph, names, robot.n, outputs)

    def value(self, q: Array, qd: Array) -> Array:
        """Efforts (N, n)."""
        return np.asarray(self.forward(q, qd))

    def vjp(self, q: Array, qd: Array, weights: Array) -> tuple[Array, Array]:
        """Derivatives (N, n) of sum(weights * efforts) by q and by qd."""
        by_q, by_qd = self.backward(q, qd, weights)
        return np.asarray(by_q), np.asarray(by_qd)


class PointModel:
    """Positions [m] in the base frame of the origins of frames, given by name or as such, with derivatives."""

    def __init__(self, robot: Robot, frames: Sequence[str | Frame]) -> None:
        robot = robot.numeric
        graph = Graph()
        q = graph.variables("q", robot.n)
        closed = project(robot, State(q, [0] * robot.n, [0] * robot.n))
        ways = passages(closed.tree, closed.state.q)
        found = [find_frame(robot, frame) if isinstance(frame, str) else frame for frame in frames]
        points = [s for frame in found for s in _origin(robot, ways, frame)]
        outputs = [s if isinstance(s, Expr) else float(s) for s in points]
        self.forward = forward_kernel("points", graph, ("q",), robot.n, outputs, (len(outputs),))
        self.backward = backward_kernel("points", graph, ("q",), robot.n, outputs)

    def value(self, q: Array) -> Array:
        """Positions, shape (N, 3 frames)."""
        return np.asarray(self.forward(q))

    def vjp(self, q: Array, weights: Array) -> Array:
        """Derivatives (N, n) of sum(weights * positions)."""
        return np.asarray(self.backward(q, weights))


def forward_kernel(
    name: str, graph: Graph, names: Sequence[str], n: int, outputs: Sequence[Any], shape: tuple[int, ...]
) -> BatchKernel:
    """Outputs (N, *shape)."""
    return BatchKernel(Program(name, graph, _ports(names, n), (Port("y", shape),), tuple(outputs)))


def backward_kernel(name: str, graph: Graph, names: Sequence[str], n: int, outputs: Sequence[Any]) -> BatchKernel:
    """Derivatives (N, n) by each input of the sum of outputs with weights (N, count)."""
    adjoints = reverse(graph, outputs, graph.variables("w", len(outputs)))
    slopes = [adjoints.get(x.id, 0.0) for port in names for x in graph.variables(port, n)]
    inputs = (*_ports(names, n), Port("w", (len(outputs),)))
    results = tuple(Port(f"d_{x}", (n,)) for x in names)
    return BatchKernel(Program(f"{name}_slopes", graph, inputs, results, tuple(slopes)))


def _ports(names: Sequence[str], n: int) -> tuple[Port, ...]:
    return tuple(Port(x, (n,)) for x in names)


def _origin(robot: Robot, ways: Sequence[Passage], frame: Frame) -> Vec:
    """Position of a frame's origin in the base frame."""
    _, point = frame.pose
    j = frame.joint
    while j is not None:
        point = vadd(ways[j].outward(point), ways[j].p)
        j = robot.joints[j].parent
    return point
