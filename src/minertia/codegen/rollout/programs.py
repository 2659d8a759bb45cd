"""Programs of one group of joints: mass matrix and bias, and derivatives of its efforts."""

from __future__ import annotations

from collections.abc import Sequence

from minertia.algebra.expr import Expr, Graph
from minertia.algebra.matrix import matrix_sum
from minertia.algebra.scalar import Scalar, structural, sub
from minertia.codegen.program import Port, Program
from minertia.codegen.rollout.floor import FloorUnder, floor_efforts, floor_slopes
from minertia.dynamics.compound import mass_matrix
from minertia.dynamics.derivatives import slopes
from minertia.dynamics.kinematics import State
from minertia.dynamics.newton_euler import rigid_torques
from minertia.dynamics.regressor import link_entries
from minertia.robot.parameters import LINK_SYMBOLS, split_name
from minertia.robot.robot import Robot


class _GroupProgram:
    """Expressions of one program of a group of joints, with parameters as inputs or constants."""

    def __init__(
        self,
        robot: Robot,
        joints: Sequence[int],
        links: Sequence[str],
        motors: int = 0,
        floor: FloorUnder | None = None,
    ) -> None:
        self.motors, self.floor = motors, floor
        self.robot, self.joints, self.links, self.graph = robot.numeric, tuple(joints), tuple(links), Graph()
        self.ports: list[Port] = []
        self.below: list[Expr] = []  # what is known of the floor

    def vector(self, name: str) -> list[Scalar]:
        """Input of the group's joints, padded with zeros for the others; motors after them do not move links."""
        own = self.read(name, self.size)[: len(self.joints)]
        values: list[Scalar] = [0] * self.robot.n_velocity
        for j, value in zip(self.joints, own, strict=True):
            values[j] = value
        return values

    @property
    def size(self) -> int:
        """Number of coordinates of the group: joints, then motors of elastic ones."""
        return len(self.joints) + self.motors

    def read(self, name: str, size: int) -> list[Expr]:
        self.ports.append(Port(name, (size,)))
        return self.graph.variables(name, size)

    def chi(self) -> list[dict[str, Scalar]]:
        """Link parameters: those in `links` are inputs and the others zero; nominal values if `links` is empty.

        The ground contact values follow them in the same input.
        """
        size = len(self.links) + (self.floor.inputs() if self.floor else 0)
        x = self.read("x", size) if size else []
        self.below = x[len(self.links) :]
        if not self.links:
            return [{s: structural(float(x[s])) for s in LINK_SYMBOLS} for x in self.robot.parameters()]  # type: ignore[arg-type]
        chi: list[dict[str, Scalar]] = [dict.fromkeys(LINK_SYMBOLS, 0) for _ in self.robot.joints]
        for name, value in zip(self.links, x, strict=False):
            symbol, link = split_name(name)
            chi[link - 1][symbol] = value
        return chi

    def square(self, name: str) -> Port:
        return Port(name, (self.size, self.size))

    def rows(self, matrix: Sequence[Sequence[Scalar]]) -> list[Scalar]:
        """Entries of a matrix that belong to the group, row by row, with zeros for its motors."""
        own: list[Scalar] = []
        for i in self.joints:
            own += [*(matrix[i][j] for j in self.joints), *[0] * self.motors]
        return own + [0] * (self.motors * self.size)

    def program(self, name: str, ports: Sequence[Port], outputs: Sequence[Scalar]) -> Program:
        flat = tuple(o if isinstance(o, Expr) else float(o) for o in outputs)  # type: ignore[arg-type]
        made = Program(name, self.graph, tuple(self.ports), tuple(ports), flat)
        return made.simplified(thorough=False)


def terms_program(
    robot: Robot, joints: Sequence[int], links: Sequence[str] = (), motors: int = 0, floor: FloorUnder | None = None
) -> Program:
    """Program of D (n, n) and bias b (n,) of a group, from q, qd and the link parameters x that are inputs.

    motors: coordinates after the joints that are motors of elastic ones; their rows are zero.  floor: ground contact.
    """
    g = _GroupProgram(robot, joints, links, motors, floor)
    q, qd = g.vector("q"), g.vector("qd")
    chi = g.chi()
    D = mass_matrix(g.robot, chi, q)
    bias = rigid_torques(g.robot, chi, State(q, qd, [0] * g.robot.n_velocity))
    if floor is not None:
        pushed = floor_efforts(g.robot, floor, q, qd, g.below)
        D = matrix_sum(D, pushed.M)
        bias = [sub(a, b) for a, b in zip(bias, pushed.tau, strict=True)]
    ports = [g.square("D"), Port("b", (g.size,))]
    return g.program("loop_terms", ports, [*g.rows(D), *(bias[j] for j in joints), *[0] * motors])


def slopes_program(
    robot: Robot, joints: Sequence[int], links: Sequence[str] = (), motors: int = 0, floor: FloorUnder | None = None
) -> Program:
    """Program of the derivatives of a group's efforts with respect to q, qd and the link parameters x.

    The outputs for q and qd are (n, n) each, the output Y for all of x is (n, inputs).
    """
    g = _GroupProgram(robot, joints, links, motors, floor)
    q, qd, qdd = g.vector("q"), g.vector("qd"), g.vector("qdd")
    chi, state = g.chi(), State(q, qd, qdd)
    found = slopes(g.robot, chi, state)
    by_place, by_rate = found.position, [[_twice(entry) for entry in row] for row in found.coriolis]
    entries = link_entries(g.robot, state, frozenset(links)) if links else {}
    Y: list[list[Scalar]] = [[entries.get((i, name), 0) for name in links] for i in range(g.robot.n_velocity)]
    if floor is not None:
        pushed = floor_efforts(g.robot, floor, q, qd, g.below)
        own = floor_slopes(g.graph, pushed, qdd, (q, qd, g.below))
        by_place, by_rate = (matrix_sum(a, b) for a, b in ((by_place, own[0]), (by_rate, own[1])))
        Y = [[*row, *more] for row, more in zip(Y, own[2], strict=True)]
    width = len(links) + len(g.below)
    flat = [entry for i in joints for entry in Y[i]] + [0] * (motors * width)
    ports = [g.square("dq"), g.square("dqd"), *([Port("Y", (g.size, width))] if width else [])]
    return g.program("loop_slopes", ports, [*g.rows(by_place), *g.rows(by_rate), *flat])


def _twice(entry: Scalar) -> Scalar:
    return entry + entry if entry != 0 else 0  # type: ignore[operator]
