"""Loop-closure equations of all open cuts in the tree's coordinates, and the order in which loops are solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.linalg import qr

from minertia.algebra.derivative import replayed, reverse
from minertia.algebra.expr import Graph, Tape
from minertia.algebra.scalar import Scalar, add, mul, total
from minertia.dynamics.kinematics import Scalars, joint_positions, joint_rates
from minertia.io.arrays import Array
from minertia.io.errors import InputError
from minertia.robot.joint import Cut
from minertia.robot.loops.closure import (
    Row,
    cut_bias,
    cut_chains,
    cut_equations,
    equation_count,
    on_coordinates,
    position_rows,
)
from minertia.robot.robot import Robot

MOTION = ("q", "qd", "qdd")


class LoopEquations:
    """Loop-closure equations of a robot without symbols.

    active, passive: coordinates of the tree that are coordinates of the robot, and those that follow from loop
    closure. start: positions of the tree's coordinates at the robot's seed.  units: scale of each equation.  sizes:
    scale of each coordinate, 1 rad or the size of the largest loop.
    """

    def __init__(self, robot: Robot) -> None:
        self.robot, self.cuts = robot, robot.open_cuts
        self.tree = replace(robot.opened, base="fixed")  # loops do not see where a floating base is
        self.active = [self.tree.independent.index(j) for j in robot.independent]
        self.passive = [c for c in range(self.tree.n) if c not in self.active]
        self.turns = np.array([self.tree.joints[j].kind == "revolute" for j in self.tree.independent])
        given = (0.0,) * self.tree.n_joints if robot.seed is None else robot.seed
        self.start = np.array([float(given[j]) for j in self.tree.independent])
        self.units = np.concatenate([self._units(cut) for cut in self.cuts])
        self.sizes = np.where(self.turns, 1.0, self.units.max())

    def cut_equations(self, cut: Cut, q: Scalars) -> tuple[list[Scalar], list[Row]]:
        """Equations of a cut on any scalar, and their derivatives with respect to the tree's coordinates.

        The equations are in m for positions and dimensionless for cosines.
        """
        values, rows = cut_equations(self.tree, cut, joint_positions(self.tree, q))
        return values, [on_coordinates(self.tree, row) for row in rows]

    def cut_bias(self, q: Scalars, qd: Scalars) -> list[Scalar]:
        """Second time derivatives of the equations of all cuts on any scalar, at zero accelerations."""
        positions, rates = joint_positions(self.tree, q), joint_rates(self.tree, qd)
        return [b for cut in self.cuts for b in cut_bias(self.tree, cut, positions, rates)]

    def equations(self, q: Array) -> tuple[Array, Array]:
        """Residual (N, equations) and its derivatives A (N, equations, tree), rows scaled by the loop's size."""
        equation, coordinate = self.recorded_places
        values = _stacked(self.recorded.run(columns_by_name(q=q)), len(q), q.dtype)
        A = np.zeros((len(q), len(self.units), self.tree.n), dtype=q.dtype)
        A[:, equation, coordinate] = values[:, len(self.units) :]
        return np.asarray(values[:, : len(self.units)] / self.units), np.asarray(A / self.units[:, None])

    def bias(self, q: Array, qd: Array) -> Array:
        """Second time derivative of the equations at zero accelerations, shape (N, equations)."""
        values = self.recorded_bias.run(columns_by_name(q=q, qd=qd))
        return np.asarray(_stacked(values, len(q), np.result_type(q, qd)) / self.units)

    @cached_property
    def recorded(self) -> Tape:
        """Tape of all equations, then their structurally non-zero derivatives (`recorded_places`), on inputs q.

        Recorded once: loop closure takes hundreds of steps, each of which would evaluate the geometry again.
        """
        values, rows = self._symbolic
        return Tape([*values, *(entry for row in rows for entry in row.values())])

    @cached_property
    def recorded_places(self) -> tuple[list[int], list[int]]:
        """Equation and coordinate of each derivative of `recorded`."""
        _, rows = self._symbolic
        return [k for k, row in enumerate(rows) for _ in row], [c for row in rows for c in row]

    @cached_property
    def _symbolic(self) -> tuple[list[Scalar], list[Row]]:
        q = Graph().variables("q", self.tree.n)
        found = [self.cut_equations(cut, q) for cut in self.cuts]
        return [value for own, _ in found for value in own], [row for _, own in found for row in own]

    @cached_property
    def recorded_bias(self) -> Tape:
        """Tape of `cut_bias`, on inputs q and qd."""
        graph = Graph()
        return Tape(self.cut_bias(*(graph.variables(name, self.tree.n) for name in ("q", "qd"))))

    def acceleration_slopes(self, q: Scalars, qd: Scalars, qdd: Scalars) -> tuple[list[list[Scalar]], ...]:
        """Derivatives with respect to q and to qd of the equations' second time derivatives A qdd + b, by rows."""
        tree, count = self.tree.n, len(self.units)
        values = {f"{name}[{c}]": v for name, own in zip(MOTION, (q, qd, qdd), strict=True) for c, v in enumerate(own)}
        entries = iter(replayed(self._traced_slopes, values))
        return tuple([[next(entries) for _ in range(tree)] for _ in range(count)] for _ in range(2))

    @cached_property
    def _traced_slopes(self) -> list[Scalar]:
        graph = Graph()
        q, qd, qdd = (graph.variables(name, self.tree.n) for name in MOTION)
        rows = [row for cut in self.cuts for row in self.cut_equations(cut, q)[1]]
        moved = [total(*(mul(entry, qdd[c]) for c, entry in row.items())) for row in rows]
        rates = [add(a, b) for a, b in zip(moved, self.cut_bias(q, qd), strict=True)]
        adjoints = [reverse(graph, [rate], [graph.constant(1)]) for rate in rates]
        return [by.get(x.id, 0) for part in (q, qd) for by in adjoints for x in part]

    @cached_property
    def starts(self) -> list[int]:
        """Index of the first equation of each cut, and the total number."""
        return [0, *np.cumsum([equation_count(cut) for cut in self.cuts]).tolist()]

    def equations_of(self, k: int) -> range:
        """Range of the equation indices of a cut."""
        return range(self.starts[k], self.starts[k + 1])

    def _units(self, cut: Cut) -> Array:
        """Scale of a cut's equations: the size of its loop [m] for positions, 1 for cosines."""
        rows, count = self.cut_equations(cut, list(self.start))[1], position_rows(cut)
        levers = [abs(float(e)) for row in rows[:count] for c, e in row.items() if self.turns[c]]
        units = np.ones(len(rows))
        units[:count] = max(levers, default=0.0) or 1.0
        return units

    def off(self, q: Array) -> Array:
        """Largest loop-closure residual at positions (N, tree)."""
        return np.asarray(np.abs(self.equations(q)[0]).max(axis=1, initial=0.0))

    def members(self, cut: Cut) -> set[int]:
        """Coordinates of the tree that move the two sides of a cut relative to one another."""
        return {c for chain in cut_chains(self.tree, cut) for j in chain for c, _ in self.tree.shares(j)}

    @property
    def names(self) -> str:
        """Names of the cuts, as text."""
        return ", ".join(f"'{cut.name}'" for cut in self.cuts)


def columns_by_name(**arrays: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Columns of arrays (N, tree) by the names of a graph's inputs."""
    return {f"{name}[{c}]": column for name, array in arrays.items() for c, column in enumerate(array.T)}


def _stacked(values: Sequence[Scalar], count: int, dtype: DTypeLike) -> Array:
    """Stack scalars, some of which are arrays (count,), as columns."""
    rows = np.empty((len(values), count), dtype=dtype)
    for row, value in zip(rows, values, strict=True):
        row[:] = value
    return rows.T


# --------------------------------------------------------------------------- blocks, in the order in which they close


SINGULAR = 1e-5  # smallest over largest singular value below which no motion of a loop can be told from its coordinates


@dataclass(frozen=True, slots=True)
class LoopBlock:
    """Block of loops that are solved together, after the preceding blocks.

    passive: passive coordinates.  rows: independent equations, as many as passive coordinates.  sign: sign
    of the determinant at the seed.  ratio: ratio of the smallest to the largest singular value there.
    """

    cuts: tuple[int, ...]
    passive: tuple[int, ...]
    rows: tuple[int, ...]
    sign: float
    ratio: float


def loop_blocks(loops: LoopEquations, seed: Array) -> list[LoopBlock]:
    """Loops in the order of their solution: one by one where possible, the remaining ones together."""
    A = loops.equations(seed[None])[1][0] * loops.sizes
    left, cuts = list(loops.passive), list(range(len(loops.cuts)))
    of = [list(loops.equations_of(k)) for k in cuts]
    members = [loops.members(cut) for cut in loops.cuts]
    found: list[LoopBlock] = []
    while left and cuts:
        chosen = next(([k] for k in cuts if _closes(A, of[k], [c for c in left if c in members[k]])), cuts)
        passive = [c for c in left if any(c in members[k] for k in chosen)]
        found.append(_block(loops, A, tuple(chosen), [row for k in chosen for row in of[k]], passive))
        left = [c for c in left if c not in passive]
        cuts = [k for k in cuts if k not in chosen]
    if left:
        raise _unspanned(loops, len(left))
    return found


def _closes(A: Array, rows: list[int], passive: list[int]) -> bool:
    """Whether these rows determine these passive coordinates."""
    return bool(passive) and int(np.linalg.matrix_rank(A[np.ix_(rows, passive)], tol=SINGULAR)) == len(passive)


def _block(loops: LoopEquations, A: Array, cuts: tuple[int, ...], rows: list[int], passive: list[int]) -> LoopBlock:
    """Independent rows by pivoted QR, with determinant and conditioning."""
    part = A[np.ix_(rows, passive)]
    if not passive or len(rows) < len(passive):
        raise _unspanned(loops, len(passive) - len(rows) if passive else len(loops.passive))
    _, _, order = qr(part.T, mode="economic", pivoting=True)
    chosen = sorted(rows[k] for k in order[: len(passive)])
    square = A[np.ix_(chosen, passive)]
    s = np.linalg.svd(square, compute_uv=False)
    if s[-1] < SINGULAR * s[0]:
        raise _unspanned(loops, int((s < SINGULAR * s[0]).sum()))
    sign, ratio = float(np.sign(np.linalg.det(square))), float(s[-1] / s[0])
    return LoopBlock(cuts, tuple(passive), tuple(chosen), sign, ratio)


def _unspanned(loops: LoopEquations, missing: int) -> InputError:
    return InputError(
        f"the loops of '{loops.robot.name}' ({loops.names}) leave {missing} of {len(loops.passive)} passive "
        "joints undetermined at the seed, which is singular, or there are too few coordinates; give another seed "
        "or actuate more joints"
    )
