"""Controller's model of the robot as plain functions, each of which can be replaced by generated C code."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.expr import Expr, Graph
from minertia.dynamics import model as dynamics
from minertia.dynamics.effects import effect_torques
from minertia.dynamics.kinematics import State
from minertia.dynamics.loops.projection import project
from minertia.dynamics.newton_euler import rigid_torques
from minertia.robot.effects import ROTOR_SYMBOLS
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot
from minertia.simulation.passive_joints import PassiveJoints, passive_joints

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ControlModel:
    """Efforts [N m or N] as functions of one state; each takes and returns arrays of shape (n,).

    rigid(q, qd, qdd): links and rotors.  friction(q, qd, qdd): all other effects (including springs and offsets),
    at the reference temperature.  gravity(q): gravity of the links.  mass_matrix(q): (n, n), rotors included.
    velocity(q, qd): centrifugal and Coriolis efforts.
    """

    n: int
    rigid: Callable[[Array, Array, Array], Array]
    friction: Callable[[Array, Array, Array], Array]
    gravity: Callable[[Array], Array]
    mass_matrix: Callable[[Array], Array]
    velocity: Callable[[Array, Array], Array]


def control_model(robot: Robot) -> ControlModel:
    """Functions for a controller from the robot and its parameters, evaluated by expression graphs."""
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
    """Function of arrays of n values, generated as a Python function on floats.

    passive: joints whose positions are appended to those of the coordinates in the first argument.
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
        numbers = [e.value for e in outputs]
        # an arm without friction is asked for none in every period
        is_constant = passive is None and None not in numbers
        self.constant: Array | None = np.array(numbers, float) if is_constant else None
        made = dict(_FUNCTIONS)
        exec(_text(graph, [x for group in inputs for x in group], outputs), made)
        self.run: Callable[..., list[float]] = made["run"]

    def __call__(self, *values: Array) -> Array:
        """Evaluate the outputs."""
        if self.constant is not None:
            return self.constant.copy()
        values = values if self.passive is None else (self.passive(values[0]), *values[1:])
        return np.array(self.run(*(x for group in values for x in group.tolist())), float)


def _text(graph: Graph, inputs: Sequence[Expr], outputs: Sequence[Expr]) -> str:
    """Source of a function `run` of numbers; no name in it comes from the robot."""
    names = {x.id: f"v{x.id}" for x in inputs}
    lines = [f"def run({', '.join(names.values())}):"]
    for node in graph.needed(outputs):
        operation, *rest = graph.nodes[node]
        if operation == "const":
            names[node] = repr(rest[0])
        elif operation != "var":
            names[node] = f"v{node}"
            lines.append(f" v{node} = {_TEXTS[operation].format(*(names[a] for a in rest))}")
    signed = [f"-{names[e.id]}" if e.negative else names[e.id] for e in outputs]
    return "\n".join([*lines, f" return [{', '.join(signed)}]"])


_TEXTS = {
    **{operation: f"{{}} {operation} {{}}" for operation in "+-*/"},
    "neg": "-{}",
    **{name: f"{name}({{}})" for name in ("sin", "cos", "sqrt", "exp", "tanh", "abs", "sign")},
}
_FUNCTIONS: dict[str, Any] = {
    "sin": math.sin,
    "cos": math.cos,
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else math.nan,  # a loop past its reach
    "exp": math.exp,
    "tanh": math.tanh,
    "abs": abs,
    "sign": lambda x: (x > 0) - (x < 0),
    "inf": math.inf,
    "nan": math.nan,
}
