"""What a controller knows of the robot, as plain functions, so that generated C can stand in for any of them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.expr import Expr, Graph
from minertia.dynamics import model as dynamics
from minertia.dynamics.effects import effect_torques
from minertia.dynamics.kinematics import State
from minertia.dynamics.newton_euler import rigid_torques
from minertia.dynamics.projection import project
from minertia.robot.effects import ROTOR_SYMBOLS
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot
from minertia.validation.passive_joints import PassiveJoints, passive_joints

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ControlModel:
    """Efforts [N m or N] as functions of one state; each takes and returns arrays of shape (n,).

    rigid(q, qd, qdd): links and rotors.  friction(q, qd, qdd): all other effects (springs and offsets, too), at the
    reference temperature.  gravity(q): of the links.  mass_matrix(q): (n, n), rotors included.  velocity(q, qd):
    centrifugal and Coriolis.
    """

    n: int
    rigid: Callable[[Array, Array, Array], Array]
    friction: Callable[[Array, Array, Array], Array]
    gravity: Callable[[Array], Array]
    mass_matrix: Callable[[Array], Array]
    velocity: Callable[[Array, Array], Array]


def control_model(robot: Robot) -> ControlModel:
    """The functions of a robot with its own parameters, by its expression graphs."""
    robot = robot.numeric
    n, chi = robot.n, robot.parameters()
    still = [{s: v for s, v in x.items() if s in (*LINK_SYMBOLS, *ROTOR_SYMBOLS)} for x in chi]

    def rigid(q: list[Expr], qd: list[Expr], qdd: list[Expr]) -> list[Any]:
        return list(dynamics.inverse_dynamics(robot, q, qd, qdd, parameters=still))

    def friction(q: list[Expr], qd: list[Expr], qdd: list[Expr]) -> list[Any]:
        closed = project(robot, State(q, qd, qdd))
        loads = rigid_torques(closed.tree, chi, closed.state)
        return closed.efforts(effect_torques(closed.tree, chi, closed.state, loads, rotors=False))

    def gravity(q: list[Expr]) -> list[Any]:
        return list(dynamics.gravity_torques(robot, q))

    def matrix(q: list[Expr]) -> list[Any]:
        return [entry for row in dynamics.mass_matrix(robot, q) for entry in row]

    def velocity(q: list[Expr], qd: list[Expr]) -> list[Any]:
        return list(dynamics.velocity_torques(robot, q, qd))

    passive = passive_joints(robot)
    flat = ScalarFunction(n, 1, matrix, passive)
    return ControlModel(
        n=n,
        rigid=ScalarFunction(n, 3, rigid, passive),
        friction=ScalarFunction(n, 3, friction, passive),
        gravity=ScalarFunction(n, 1, gravity, passive),
        mass_matrix=lambda q: flat(q).reshape(n, n),
        velocity=ScalarFunction(n, 2, velocity, passive),
    )


class ScalarFunction:
    """A function of arrays of n numbers, run operation by operation on floats.

    passive: joints whose positions the function takes behind those of the coordinates, its first argument.
    """

    def __init__(
        self,
        n: int,
        arguments: int,
        function: Callable[..., Sequence[Any]],
        passive: PassiveJoints | None = None,
    ) -> None:
        graph, self.passive = Graph(), passive
        sizes = [n + (0 if passive is None else passive.count), *[n] * (arguments - 1)]
        inputs = [graph.variables(f"x{k}", size) for k, size in enumerate(sizes)]
        outputs = [e if isinstance(e, Expr) else graph.constant(e) for e in function(*inputs)]
        flat = [x for group in inputs for x in group]
        nodes = graph.needed([*flat, *outputs])
        row = {node: k for k, node in enumerate(nodes)}
        self.start = [graph.nodes[node][1] if graph.nodes[node][0] == "const" else 0.0 for node in nodes]
        self.inputs = [row[x.id] for x in flat]
        self.outputs = [row[e.id] for e in outputs]
        self.signs = np.array([-1.0 if e.negative else 1.0 for e in outputs])
        called = [node for node in nodes if graph.arguments[node]]
        self.steps = [
            (_RUN[graph.nodes[node][0]], row[node], row[graph.arguments[node][0]], row[graph.arguments[node][-1]])
            for node in called
        ]

    def __call__(self, *values: Array) -> Array:
        """The values of the outputs."""
        v = list(self.start)
        values = values if self.passive is None else (self.passive(values[0]), *values[1:])
        k = 0
        for group in values:
            for x in group.tolist():
                v[self.inputs[k]] = x
                k += 1
        for function, target, a, b in self.steps:
            v[target] = function(v[a], v[b])
        return np.asarray(self.signs * np.array([v[k] for k in self.outputs]))


_RUN: dict[str, Callable[[float, float], float]] = {  # functions of one number get it twice
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "neg": lambda x, _: -x,
    "sin": lambda x, _: math.sin(x),
    "cos": lambda x, _: math.cos(x),
    "sqrt": lambda x, _: math.sqrt(x) if x >= 0 else math.nan,  # a loop past its reach
    "exp": lambda x, _: math.exp(x),
    "tanh": lambda x, _: math.tanh(x),
    "abs": lambda x, _: abs(x),
    "sign": lambda x, _: (x > 0) - (x < 0),
}
