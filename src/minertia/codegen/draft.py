"""`Draft`: a program under construction, and helpers shared by all builders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minertia.algebra.expr import Expr, Graph
from minertia.algebra.matrix import summed
from minertia.algebra.scalar import Scalar, add, mul, sub
from minertia.base.composite_dynamics import composite_torques
from minertia.codegen import formulation as nf
from minertia.codegen.formulation import Coefficients
from minertia.codegen.frames import cleared_length, shifted
from minertia.codegen.program import Port
from minertia.codegen.setting import Representative, Setting
from minertia.dynamics.effects import effect_torques
from minertia.dynamics.forward import moving_efforts, solve_symmetric, velocity_names
from minertia.dynamics.frame import AppliedWrench, frame_named
from minertia.dynamics.kinematics import State, structural_gravity
from minertia.dynamics.loops.closing import closing_of
from minertia.dynamics.loops.projection import Projection, project
from minertia.dynamics.loops.scalar import LoopsOnScalars, NewtonStart
from minertia.robot.robot import Frame, Robot

Built = tuple[list[Port], list[Port], list[Scalar]]  # inputs, output ports, flat outputs
POSITION, RATE, ACCELERATION = "joint positions [rad, m]", "joint velocities [rad/s, m/s]", "accelerations"
EFFORT = "joint efforts [N m, N]"
PASSIVE = "passive"  # the input that starts Newton's steps
RESIDUAL = (
    "what is left of the loops' equations [rad, parts of their size]: above 1e-6 (1e-4 in single precision) they are "
    "not closed and the other outputs are wrong"
)
BRANCH = (
    "determinant of the loops' equations over that at the seed, of each set of loops solved together: at 0 they are "
    "singular, and below 0 the passive joints have left the branch of the seed"
)
HOLDING = "efforts that hold the links [N m, N]"


class Draft:
    """Program under construction: the graph, its parameters, and the state as input variables."""

    def __init__(self, setting: Setting, representative: Representative | None) -> None:
        self.setting, self.representative = setting, representative
        shifts = () if representative is None else representative.shifts
        self.robot: Robot = shifted(setting.robot.numeric, shifts)
        self.graph = Graph()
        self.formulation = nf.PLAIN if representative is None else representative.formulation
        n = self.robot.n_velocity
        self.rest: list[Scalar] = [0] * n
        self.q_port = Port("q", (self.robot.n_position,), POSITION)
        self.qd_port = Port("qd", (n,), RATE)
        self.qdd_port = Port("qdd", (n,), ACCELERATION)
        text = (
            f"positions [rad, m] of {self._iterated_names} that the last call gave; at the seed: {self._iterated_seed}"
        )
        self.passive_port = Port(PASSIVE, (len(self._iterated),), text)
        self.warmth_port = Port("temperature", (self.robot.n,), "joint temperatures [degC]")

    def chi(self) -> list[dict[str, Scalar]]:
        """Parameters of all links, as constants or as expressions of the program's parameter inputs."""
        return self.setting.enter(self.graph, self.representative)

    def read(self, port: Port) -> list[Expr]:
        """Graph variables of the entries of an input."""
        return self.graph.variables(port.name, port.size)

    def torques(
        self,
        chi: Any,
        qd: Sequence[Scalar],
        qdd: Sequence[Scalar],
        gravity: Any = None,
        outside: AppliedWrench | None = None,
    ) -> list[Scalar]:
        """Rigid-body efforts in the chosen formulation; outside: applied wrench besides gravity."""
        g = structural_gravity(self.robot.gravity) if gravity is None else gravity
        closed = self.closed(qd, qdd)
        return closed.efforts(nf.torques(closed.tree, chi, closed.state, g, self.formulation, outside))

    def composite_torques(self, combinations: Any, qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> list[Scalar]:
        """Rigid-body efforts from minimal linear combinations of composite bodies."""
        state = State(self.read(self.q_port), qd, qdd)
        return composite_torques(self.robot, combinations, state, recursion=nf.plain_forward)

    def closed(self, qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> Projection:
        """Motion projected on the robot's spanning tree; unchanged for a robot without loops."""
        start = NewtonStart(self.read(self.passive_port), self.setting.closing_steps) if self._iterated else None
        return project(self.robot, State(self.read(self.q_port), qd, qdd), start)

    @property
    def _iterated(self) -> list[int]:
        """Coordinates of the tree that Newton iteration solves for."""
        return closing_of(self.robot).iterated if self.robot.open_cuts else []

    @property
    def _iterated_names(self) -> str:
        return ", ".join(closing_of(self.robot).iterated_names) if self.robot.open_cuts else ""

    @property
    def _iterated_seed(self) -> str:
        return ", ".join(f"{closing_of(self.robot).seed[c] + 0.0:.6g}" for c in self._iterated)

    def closing_outputs(self) -> tuple[list[Port], list[Scalar]]:
        """Extra outputs of a program with Newton iteration: its solution, closure residual and branch indicator."""
        loops = self.closed(self.rest, self.rest).closed
        assert isinstance(loops, LoopsOnScalars)
        ports = [
            Port("passive_next", self.passive_port.shape, f"{self._iterated_names} [rad, m], for the next call"),
            Port("residual", (1,), RESIDUAL),
            Port("branch", (len(branch := loops.branch),), BRANCH),
        ]
        return ports, [*(loops.q[c] for c in self._iterated), loops.residual, *branch]

    def mass(self, chi: Any) -> list[list[Scalar]]:
        """Mass matrix, with rotor inertias if requested."""
        closed = self.closed(self.rest, self.rest)
        found = Coefficients(closed.tree, chi, closed.state.q, self.formulation)
        return closed.square(found.mass(self.setting.rotors))

    def tree_mass(self, chi: Any) -> list[list[Scalar]]:
        """Rigid-body mass matrix of the spanning tree."""
        closed = self.closed(self.rest, self.rest)
        return Coefficients(closed.tree, chi, closed.state.q, self.formulation).mass(False)

    @property
    def frame(self) -> Frame:
        """The chosen frame, expressed in the joint frames of this program."""
        frame = frame_named(self.setting.robot.numeric, self.setting.frame.name)
        if frame.joint is None or self.representative is None or not any(self.representative.shifts):
            return frame
        R, (x, y, z) = frame.pose
        return Frame(frame.joint, (R, (x, y, cleared_length(sub(z, self.representative.shifts[frame.joint])))))

    def coefficients(self, chi: Any) -> Coefficients:
        """Compound links, from which the mass matrix D and the gravity efforts g are computed."""
        return Coefficients(self.robot, chi, self.read(self.q_port), self.formulation)

    def effects(
        self, chi: Any, qd: Sequence[Scalar], qdd: Sequence[Scalar], rigid: Sequence[Scalar], *, rotors: bool = True
    ) -> list[Scalar]:
        """Efforts of rotors, friction and springs; rigid: rigid-body efforts."""
        closed = self.closed(qd, qdd)
        warmth = closed.of_active(self.warmth)
        return closed.efforts(effect_torques(closed.tree, chi, closed.state, rigid, warmth, rotors=rotors))

    def accelerations(
        self, chi: Any, qd: Sequence[Scalar], tau: Sequence[Scalar], rigid: Sequence[Scalar]
    ) -> list[Scalar]:
        """qdd under efforts tau; rigid: rigid-body efforts at zero accelerations."""
        if self.robot.open_cuts:
            effects = self.effects(chi, qd, self.rest, rigid)
            left = [sub(t, b) for t, b in zip(tau, summed(rigid, effects), strict=True)]
        else:
            state = State(self.read(self.q_port), qd, self.rest)
            left = moving_efforts(self.robot, chi, state, rigid, tau, self.warmth)
        return solve_symmetric(self.mass(chi), left, velocity_names(self.robot))

    @property
    def warmth(self) -> list[Expr] | None:
        """Temperature inputs, if the program has them."""
        return self.read(self.warmth_port) if self.warmth_ports else None

    @property
    def warmth_ports(self) -> list[Port]:
        """Temperature input, if an effect needs it."""
        return [self.warmth_port] if self.setting.takes("temperature") else []

    @property
    def place_ports(self) -> list[Port]:
        """Position input, if an effect needs it."""
        return [self.q_port] if self.setting.takes("q") else []

    def at_motors(self, tau: list[Scalar]) -> list[Scalar]:
        """Convert joint efforts to motor efforts if requested; the first six of a floating base are unchanged."""
        if not self.setting.motors:
            return tau
        first = 6 * self.robot.is_floating
        return tau[:first] + [combined(tau[first:], row) for row in self.setting.to_motors]


def combined(entries: Sequence[Scalar], weights: Any) -> Scalar:
    """Weighted sum of entries with constant weights."""
    total: Scalar = 0
    for entry, w in zip(entries, weights, strict=True):
        if abs(w) > 1e-14:
            total = add(total, mul(int(w) if w in (1, -1) else float(w), entry))
    return total


def flat(rows: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    """Entries in row-major order."""
    return [entry for row in rows for entry in row]
