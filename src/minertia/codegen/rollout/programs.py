"""Programs of one group of joints: mass matrix and bias, and derivatives of its efforts."""

from __future__ import annotations

from collections.abc import Sequence

from minertia.algebra.expr import Expr, Graph
from minertia.algebra.scalar import Scalar
from minertia.codegen.program import Port, Program
from minertia.dynamics.compound import mass_matrix
from minertia.dynamics.derivatives import slopes
from minertia.dynamics.kinematics import State
from minertia.dynamics.newton_euler import rigid_torques
from minertia.dynamics.regressor import link_entries
from minertia.robot.parameters import LINK_SYMBOLS, split_name
from minertia.robot.robot import Robot


class _GroupProgram:
    """The expressions of one program: inputs of a group of joints, parameters as inputs or as numbers."""

    def __init__(self, robot: Robot, joints: Sequence[int], links: Sequence[str], motors: int = 0) -> None:
        self.motors = motors
        self.robot, self.joints, self.links, self.graph = robot.numeric, tuple(joints), tuple(links), Graph()
        self.ports: list[Port] = []

    def vector(self, name: str) -> list[Scalar]:
        """An input of the group's joints, among zeros of the others; motors behind them do not move links."""
        own = self.read(name, self.size)[: len(self.joints)]
        values: list[Scalar] = [0] * self.robot.n_velocity
        for j, value in zip(self.joints, own, strict=True):
            values[j] = value
        return values

    @property
    def size(self) -> int:
        """Coordinates of the group: joints, then motors of elastic ones."""
        return len(self.joints) + self.motors

    def read(self, name: str, size: int) -> list[Expr]:
        self.ports.append(Port(name, (size,)))
        return self.graph.variables(name, size)

    def chi(self) -> list[dict[str, Scalar]]:
        """The links' parameters: those named are inputs and the others zero; the robot's own where none is named."""
        if not self.links:
            return [{s: _structural(float(x[s])) for s in LINK_SYMBOLS} for x in self.robot.parameters()]  # type: ignore[arg-type]
        chi: list[dict[str, Scalar]] = [dict.fromkeys(LINK_SYMBOLS, 0) for _ in self.robot.joints]
        for name, value in zip(self.links, self.read("x", len(self.links)), strict=True):
            symbol, link = split_name(name)
            chi[link - 1][symbol] = value
        return chi

    def square(self, name: str) -> Port:
        return Port(name, (self.size, self.size))

    def rows(self, matrix: Sequence[Sequence[Scalar]]) -> list[Scalar]:
        """The group's entries of a matrix, row by row."""
        own: list[Scalar] = []
        for i in self.joints:
            own += [*(matrix[i][j] for j in self.joints), *[0] * self.motors]
        return own + [0] * (self.motors * self.size)

    def program(self, name: str, ports: Sequence[Port], outputs: Sequence[Scalar]) -> Program:
        flat = tuple(o if isinstance(o, Expr) else float(o) for o in outputs)  # type: ignore[arg-type]
        made = Program(name, self.graph, tuple(self.ports), tuple(ports), flat)
        return made.simplified(thorough=False)


def terms_program(robot: Robot, joints: Sequence[int], links: Sequence[str] = (), motors: int = 0) -> Program:
    """D (n, n) and bias b (n,) of a group, from q, qd and the links' parameters x where any are inputs.

    motors: coordinates behind the joints that are motors of elastic ones; their rows are zero.
    """
    g = _GroupProgram(robot, joints, links, motors)
    q, qd = g.vector("q"), g.vector("qd")
    chi = g.chi()
    D = mass_matrix(g.robot, chi, q)
    bias = rigid_torques(g.robot, chi, State(q, qd, [0] * g.robot.n_velocity))
    ports = [g.square("D"), Port("b", (g.size,))]
    return g.program("loop_terms", ports, [*g.rows(D), *(bias[j] for j in joints), *[0] * motors])


def slopes_program(robot: Robot, joints: Sequence[int], links: Sequence[str] = (), motors: int = 0) -> Program:
    """Derivatives of a group's efforts by q and by qd, (n, n) each, and by the links' parameters, Y (n, links)."""
    g = _GroupProgram(robot, joints, links, motors)
    q, qd, qdd = g.vector("q"), g.vector("qd"), g.vector("qdd")
    chi, state = g.chi(), State(q, qd, qdd)
    found = slopes(g.robot, chi, state)
    by_rate = [[_twice(entry) for entry in row] for row in found.coriolis]
    entries = link_entries(g.robot, state, frozenset(links)) if links else {}
    Y = [entries.get((i, name), 0) for i in joints for name in links] + [0] * (motors * len(links))
    ports = [g.square("dq"), g.square("dqd"), *([Port("Y", (g.size, len(links)))] if links else [])]
    return g.program("loop_slopes", ports, [*g.rows(found.position), *g.rows(by_rate), *Y])


def _twice(entry: Scalar) -> Scalar:
    return entry + entry if entry != 0 else 0  # type: ignore[operator]


def _structural(value: float) -> Scalar:
    return int(value) if value in (0, 1, -1) else value
