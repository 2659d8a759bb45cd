"""Differentiable robot model for the search: the base regressor, and points of its links."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from minertia.algebra.derivative import reverse
from minertia.algebra.expr import Expr, Graph
from minertia.algebra.scalar import Scalar
from minertia.algebra.vec3 import Vec, vadd
from minertia.codegen.draft import PASSIVE
from minertia.codegen.kernels.kernel import BatchKernel
from minertia.codegen.program import Port, Program
from minertia.dynamics.effects import free_torques
from minertia.dynamics.kinematics import Passage, State, passages
from minertia.dynamics.loops.projection import project
from minertia.dynamics.loops.samples import closed_samples_of
from minertia.dynamics.loops.scalar import NewtonStart
from minertia.dynamics.regressor import regressor_entries
from minertia.excitation.smooth import SmoothGraph
from minertia.io.arrays import Array
from minertia.robot.robot import Frame, Robot, find_frame

Blocks = list[Array]
Weigh = Callable[[Array, Blocks, Blocks], bool]
STATE = ("q", "qd", "qdd")


class StateGraph:
    """Graph whose inputs are a robot's positions (and rates), with the motion of its tree as expressions.

    Loops without a closed form are closed numerically: `passive` holds their solution at given positions,
    and one Newton step from there, which changes nothing, provides its derivatives. names: names of the
    inputs, in the order of `STATE`.
    """

    def __init__(self, robot: Robot, names: Sequence[str], graph: Graph | None = None) -> None:
        robot = robot.numeric
        self.n, self.names, self.graph = robot.n, tuple(names), Graph() if graph is None else graph
        self.samples = closed_samples_of(robot)
        iterated = 0 if self.samples is None else len(self.samples.closing.iterated)
        start = NewtonStart(self.graph.variables(PASSIVE, iterated), 1) if iterated else None
        state = [self.graph.variables(name, robot.n) for name in names]
        rest: list[list[Scalar]] = [[0] * robot.n for _ in STATE[len(names) :]]
        self.closed = project(robot, State(*state, *rest), start)
        own = tuple(Port(name, (robot.n,)) for name in names)
        self.ports = (*own, Port(PASSIVE, (iterated,))) if iterated else own

    def passive(self, q: Array) -> list[Array]:
        """Kernel inputs after the state: none, or the positions of iterated passive joints, (N, iterated)."""
        return [] if self.samples is None else [self.samples.iterated(q)]

    def forward(self, name: str, outputs: Sequence[Any], shape: tuple[int, ...]) -> BatchKernel:
        """Kernel that computes outputs of shape (N, *shape)."""
        return BatchKernel(Program(name, self.graph, self.ports, (Port("y", shape),), tuple(outputs)))

    def backward(self, name: str, outputs: Sequence[Any]) -> BatchKernel:
        """Kernel of the derivatives (N, n) of the weighted sum of outputs with respect to each input.

        The weights (N, count) are the last input of the kernel.
        """
        graph = self.graph
        adjoints = reverse(graph, outputs, graph.variables("w", len(outputs)))
        slopes = [adjoints.get(x.id, 0.0) for port in self.names for x in graph.variables(port, self.n)]
        results = tuple(Port(f"d_{x}", (self.n,)) for x in self.names)
        inputs = (*self.ports, Port("w", (len(outputs),)))
        return BatchKernel(Program(f"{name}_slopes", graph, inputs, results, tuple(slopes)))


class RegressorModel:
    """Regressor of chosen columns with its vector-Jacobian product, compiled if there is a compiler.

    The rows of each joint are a block (N, those of `columns` that are not always zero): a joint does not depend on the
    parameters of links that it does not carry.  mixing: W_base = W mixing, None for the identity.  smooth: width
    [rad/s] of the sign in Coulomb columns, 0 for the sign itself.
    """

    def __init__(self, robot: Robot, columns: Sequence[str], mixing: Array | None = None, smooth: float = 0.0) -> None:
        self.n, self.p = robot.n, len(columns)
        self.mixing = None if mixing is None or np.array_equal(mixing, np.eye(self.p)) else mixing
        self.graph = StateGraph(robot, STATE, SmoothGraph(smooth) if smooth > 0 else None)
        closed = self.graph.closed
        entries = closed.entries(regressor_entries(closed.tree, closed.state, frozenset(columns)))
        where = {name: c for c, name in enumerate(columns)}
        outputs: list[Any] = [0.0] * (self.n * self.p)
        for (row, name), entry in entries.items():
            outputs[row * self.p + where[name]] = entry
        self.forward = self.graph.forward("regressor", outputs, (self.n, self.p))
        pattern = self.forward.pattern
        self.backward = self.graph.backward("regressor", [outputs[k] for k in pattern.positions])
        self.parts = [slice(a, b) for a, b in pairwise(pattern.row_start.tolist())]
        self.columns = [pattern.column[part] for part in self.parts]
        self._bench: _Bench | None = None

    def value(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Regressor W, shape (N n, p), in the order of samples, then joints."""
        W = np.asarray(self.forward(q, qd, qdd, *self.graph.passive(q))).reshape(-1, self.p)
        return W if self.mixing is None else np.asarray(W @ self.mixing)

    def state(self, samples: int) -> Array:
        """Input array (3, samples, n) of q, qd and qdd for `vjp`, filled in place without copying."""
        if self._bench is None or self._bench.state.shape[1] != samples:
            self._bench = _Bench(self, samples)
        return self._bench.state

    def vjp(self, weigh: Weigh, scale: Array) -> Array | None:
        """Derivatives (3, N, n) with respect to `state` of the sum of weights times regressor entries.

        weigh(G, blocks, weights) receives G = W' W, the rows of each joint multiplied by its scale (n,), before
        any mixing, and fills in the weights of the blocks, which count as constants in the derivatives; None if
        it returns False.  All arrays, including the result, are reused by the next call, as new memory would
        cost more than filling it.
        """
        bench = self._bench
        assert bench is not None, "the state comes first"
        bench.scale[:] = scale
        for own, closed in zip(bench.passive, self.graph.passive(bench.state[0]), strict=True):
            own[:] = closed
        if not weigh(bench.forward(), bench.blocks, bench.own):
            return None
        bench.backward()
        return bench.slopes


class _Bench:
    """Preallocated arrays, the slice of each joint, and the two kernels bound to them."""

    def __init__(self, model: RegressorModel, samples: int) -> None:
        n, size = model.n, len(model.forward.pattern.positions)
        self.state, self.slopes, self.scale = np.empty((3, samples, n)), np.empty((3, samples, n)), np.ones(n)
        self.passive = [np.empty((samples, *port.shape)) for port in model.graph.ports[len(STATE) :]]
        self.entries, self.weights = np.empty((samples, size)), np.empty((samples, size))
        self.blocks = [self.entries[:, part] for part in model.parts]
        self.own = [self.weights[:, part] for part in model.parts]
        inputs = [*self.state, *self.passive]
        self.forward = model.forward.bound_with_gram(inputs, self.entries, self.scale)
        self.backward = partial(model.backward, *inputs, self.weights, out=tuple(self.slopes))


class SlopedModel:
    """Efforts of differentiable effects of positions and velocities (springs, cubic friction)."""

    def __init__(self, robot: Robot, chi: Sequence[Mapping[str, float]]) -> None:
        self.graph = StateGraph(robot, ("q", "qd"))
        closed = self.graph.closed
        efforts = closed.efforts(free_torques(closed.tree, chi, closed.state))
        outputs = [e if isinstance(e, Expr) else float(e) for e in efforts]
        self.forward = self.graph.forward("effects", outputs, (robot.n,))
        self.backward = self.graph.backward("effects", outputs)

    def value(self, q: Array, qd: Array) -> Array:
        """Efforts (N, n) [N m or N] of these effects."""
        return np.asarray(self.forward(q, qd, *self.graph.passive(q)))

    def vjp(self, q: Array, qd: Array, weights: Array) -> tuple[Array, Array]:
        """Derivatives (N, n) of sum(weights * efforts) with respect to q and to qd."""
        by_q, by_qd = self.backward(q, qd, *self.graph.passive(q), weights)
        return np.asarray(by_q), np.asarray(by_qd)


class PointModel:
    """Positions [m] in the base frame of the origins of frames (names or objects), with derivatives."""

    def __init__(self, robot: Robot, frames: Sequence[str | Frame]) -> None:
        robot = robot.numeric
        self.graph = StateGraph(robot, ("q",))
        closed = self.graph.closed
        ways = passages(closed.tree, closed.state.q)
        found = [find_frame(robot, frame) if isinstance(frame, str) else frame for frame in frames]
        points = [s for frame in found for s in frame_origin(robot, ways, frame)]
        outputs = [s if isinstance(s, Expr) else float(s) for s in points]
        self.forward = self.graph.forward("points", outputs, (len(outputs),))
        self.backward = self.graph.backward("points", outputs)

    def value(self, q: Array) -> Array:
        """Positions, shape (N, 3 frames)."""
        return np.asarray(self.forward(q, *self.graph.passive(q)))

    def vjp(self, q: Array, weights: Array) -> Array:
        """Derivatives (N, n) of sum(weights * positions)."""
        return np.asarray(self.backward(q, *self.graph.passive(q), weights))


def frame_origin(robot: Robot, ways: Sequence[Passage], frame: Frame) -> Vec:
    """Position of a frame's origin in the base frame."""
    _, point = frame.pose
    j = frame.joint
    while j is not None:
        point = vadd(ways[j].outward(point), ways[j].p)
        j = robot.joints[j].parent
    return point
