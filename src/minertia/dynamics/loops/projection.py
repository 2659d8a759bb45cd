"""Dynamics of robots with loops from those of their trees: tau_a = G' tau, D_a = G' D G, Y_a = G' Y.

See theory, eq. 39.  Only this module converts efforts of the spanning tree to efforts of a robot's
coordinates.  The recursion itself handles no loops: it runs on the tree with a closed motion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from minertia.algebra.expr import Expr
from minertia.algebra.matrix import inner
from minertia.algebra.scalar import Scalar, add, is_zero, mul, sub
from minertia.dynamics.compound import mass_matrix
from minertia.dynamics.kinematics import Scalars, State
from minertia.dynamics.loops.closing import Closing, closing_of
from minertia.dynamics.loops.scalar import LoopsOnScalars, NewtonStart
from minertia.dynamics.newton_euler import Parameters
from minertia.io.arrays import Array
from minertia.robot.robot import Robot

Matrix = list[list[Scalar]]
Entries = dict[tuple[int, str], Scalar]


@dataclass(frozen=True)
class Projection:
    """Motion of a robot projected on its spanning tree, and the map back.

    robot, tree: the same if there are no loops to close.  state: state of the tree.  G: velocities of the
    tree = G qd, None if the robot is the tree.  closed: loop closures at these positions.
    """

    robot: Robot
    tree: Robot
    state: State
    G: Matrix | None = None
    closed: _ClosedLoops | LoopsOnScalars | None = None

    def of_active(self, values: Scalars | None) -> list[Scalar] | None:
        """Values of the robot's coordinates in the order of the tree's coordinates, None for passive ones.

        A floating base is not included.
        """
        if values is None or self.closed is None:
            return None if values is None else list(values)
        active = self.closed.closing.active
        return [values[active.index(c)] if c in active else None for c in range(self.tree.n)]

    def rates(self, values: Scalars) -> list[Scalar]:
        """G v: velocities of the tree for velocities of the robot."""
        return list(values) if self.G is None else [inner(row, values) for row in self.G]

    def bend(self, u: Scalars, v: Scalars) -> list[Scalar]:
        """(dG/dt) v while the robot moves with velocities u; symmetric in u and v."""
        if self.closed is None:
            return [0] * len(u)
        plus, minus = ([f(a, b) for a, b in zip(u, v, strict=True)] for f in (add, sub))
        pairs = zip(*(self.closed.drift(self.rates(w)) for w in (plus, minus)), strict=True)
        return [mul(0.25, sub(a, b)) for a, b in pairs]

    def along_reference(self, qd: Scalars, qdr: Scalars) -> tuple[State, list[Scalar]]:
        """State with the reference accelerations G qddr + (dG/dt) qdr, and the reference velocities G qdr.

        The state was projected with the reference's accelerations; qd, qdr: velocities of the robot and the
        reference.
        """
        if self.G is None:
            return self.state, list(qdr)
        parts = zip(self.state.qdd, self.bend(qd, qd), self.bend(qd, qdr), strict=True)
        qdd = [add(sub(a, own), bent) for a, own, bent in parts]
        return State(self.state.q, self.state.qd, qdd), self.rates(qdr)

    def accelerated(self, qdd: Scalars) -> Projection:
        """Return the motion with accelerations qdd of the robot added."""
        more = zip(self.state.qdd, self.rates(qdd), strict=True)
        return replace(self, state=State(self.state.q, self.state.qd, [add(a, b) for a, b in more]))

    def efforts(self, values: Scalars) -> list[Scalar]:
        """Efforts G' tau of the robot's coordinates from efforts tau of the tree."""
        return list(values) if self.G is None else [inner(column, values) for column in zip(*self.G, strict=True)]

    def rows(self, B: Sequence[Sequence[Scalar]]) -> Matrix:
        """G' B for a matrix with rows of the tree's velocities."""
        if self.G is None:
            return [list(row) for row in B]
        found = [self.efforts(column) for column in zip(*B, strict=True)]
        return [list(row) for row in zip(*found, strict=True)]

    def columns(self, J: Sequence[Sequence[Scalar]]) -> Matrix:
        """J G for a matrix with columns of the tree's velocities."""
        return [self.efforts(row) for row in J]  # (J G)' = G' J'

    def square(self, D: Sequence[Sequence[Scalar]]) -> Matrix:
        """Projection G' D G of a matrix of the tree."""
        return self.rows(self.columns(D))

    def entries(self, entries: Mapping[tuple[int, str], Scalar], rows: Matrix | None = None) -> Entries:
        """G' Y, entry by entry; rows: another matrix of G's shape instead of G."""
        G = self.G if rows is None else rows
        if G is None:
            return dict(entries)
        found: Entries = {}
        for (row, name), entry in entries.items():
            for k, share in enumerate(G[row]):
                if not is_zero(share):
                    found[k, name] = add(found.get((k, name), 0), mul(share, entry))
        return found

    def bent(self, qd: Scalars) -> Matrix:
        """Rate dG/dt, in the shape of G, while the robot moves with velocities qd."""
        units = [[int(i == k) for i in range(len(qd))] for k in range(len(qd))]
        return [list(row) for row in zip(*(self.bend(qd, unit) for unit in units), strict=True)]


def projected_coriolis(closed: Projection, chi: Parameters, C: Matrix, qd: Scalars) -> Matrix:
    """Coriolis matrix C_a = G' (C G + D dG/dt) of the links: dD_a/dt - 2 C_a stays skew-symmetric."""
    if closed.G is None:
        return C
    D = mass_matrix(closed.tree, chi, closed.state.q)
    turned = [list(column) for column in zip(*closed.bent(qd), strict=True)]
    more = [[inner(row, column) for column in turned] for row in D]
    pairs = zip(closed.columns(C), more, strict=True)
    return closed.rows([[add(a, b) for a, b in zip(*rows, strict=True)] for rows in pairs])


def projected_momentum(closed: Projection, momenta: Entries, rates: Entries, qd: Scalars) -> tuple[Entries, Entries]:
    """Projected momentum regressors: G' Yp, and G' Yc - (dG/dt)' Yp."""
    if closed.G is None:
        return momenta, rates
    found = closed.entries(rates)
    for key, entry in closed.entries(momenta, closed.bent(qd)).items():
        found[key] = sub(found.get(key, 0), entry)
    return closed.entries(momenta), found


def project(robot: Robot, state: State, start: NewtonStart | None = None) -> Projection:
    """Project the motion of a robot (without symbols) on its spanning tree.

    start: initial values for the loops without a closed form, if the state consists of expressions; not
    needed if the closed positions of their passive joints (`Closing.iterated`) follow in state.q.
    """
    if not robot.open_cuts:
        return Projection(robot, robot, state)
    first_q, first_v = 7 * robot.is_floating, 6 * robot.is_floating
    is_symbolic = any(isinstance(v, Expr) for v in state.q)
    closing, q = closing_of(robot), list(state.q[first_q:])
    if is_symbolic and len(q) > robot.n:
        q, start = q[: robot.n], NewtonStart(q[robot.n :], 0)
    closed = LoopsOnScalars(closing, q, start) if is_symbolic else _ClosedLoops(closing, q)
    G = _with_base(closed.G, first_v)
    found = Projection(robot, robot.opened, State([*state.q[:first_q], *closed.q], [], []), G, closed)
    qd, qdd = found.rates(state.qd), found.rates(state.qdd)
    if not all(is_zero(v) for v in state.qd):
        qdd = [add(a, b) for a, b in zip(qdd, closed.drift(qd), strict=True)]
    return replace(found, state=State(found.state.q, qd, qdd))


class _ClosedLoops:
    """The loops of a robot at one position of its coordinates, or at many (arrays in place of scalars)."""

    def __init__(self, closing: Closing, q: Scalars) -> None:
        self.closing, self.first = closing, 6 * closing.robot.is_floating
        arrays = np.broadcast_arrays(*(np.asarray(v) for v in q))
        self.shape = arrays[0].shape
        self.positions = closing.close(np.stack([v.reshape(-1) for v in arrays], axis=1))
        self.q = self._scalars(self.positions)
        rates = closing.rates(self.positions)
        self.G = [self._share(c, rates[:, c]) for c in range(closing.tree.n)]

    def drift(self, qd: Scalars) -> list[Scalar]:
        """Accelerations of the tree at its velocities qd and zero accelerations of the robot's coordinates."""
        own = self._stacked(qd[self.first :])
        return self._settled(self.closing.drift(self.positions, own))

    def settled(self, bias: Sequence[Scalar]) -> list[Scalar]:
        """Values x of the tree's coordinates with A x = -bias in all loop closures; zero for active coordinates."""
        return self._settled(self.closing.settled(self.positions, self._stacked(bias) / self.closing.units))

    def _stacked(self, values: Sequence[Scalar]) -> Array:
        return np.stack([np.broadcast_to(v, self.shape).reshape(-1) for v in values], axis=1)

    def _settled(self, found: Array) -> list[Scalar]:
        passive = set(self.closing.passive)
        scalars = [value if c in passive else 0 for c, value in enumerate(self._scalars(found))]
        return [0] * self.first + scalars

    def _share(self, c: int, row: Array) -> list[Scalar]:
        """Row of G: structural for an active coordinate, numeric for a passive one where its loops depend on it."""
        if c in self.closing.active:
            return [int(c == a) for a in self.closing.active]
        moving = self.closing.moving[c]
        return [value if a in moving else 0 for a, value in zip(self.closing.active, self._scalars(row), strict=True)]

    def _scalars(self, values: Array) -> list[Scalar]:
        return [column.reshape(self.shape)[()] for column in values.T]


def _with_base(G: Matrix, first: int) -> Matrix:
    """G with the velocities of a floating base, which loops do not change."""
    base = [[int(i == k) for i in range(first + len(G[0]))] for k in range(first)]
    return base + [[0] * first + row for row in G]
