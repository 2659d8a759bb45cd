"""Loop closure on any scalar, for expressions and code: block by block, in closed form or by Newton iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from minertia.algebra.matrix import Eliminated, Pivots
from minertia.algebra.scalar import Scalar, add, div, mul, neg, sqrt, sub, total
from minertia.dynamics.kinematics import Scalars
from minertia.dynamics.loops.closing import Closing
from minertia.dynamics.loops.equations import LoopBlock
from minertia.io.errors import InputError
from minertia.robot.loops.closure import Row


@dataclass(frozen=True)
class NewtonStart:
    """Initial values of Newton's method, and its number of steps.

    q: positions of the passive joints that have no closed form, in the order of `Closing.iterated`.
    """

    q: Sequence[Scalar]
    steps: int


class LoopsOnScalars:
    """Loops of a robot at one position of its coordinates on any scalar, solved block by block.

    start: initial values for blocks without a closed form; if it is None, such a block raises an error.
    """

    def __init__(self, closing: Closing, q: Scalars, start: NewtonStart | None = None) -> None:
        self.closing, self.first = closing, 6 * closing.robot.is_floating
        known: dict[int, Scalar] = dict(zip(closing.active, q, strict=True))
        for block, dyad in zip(closing.blocks, closing.dyads, strict=True):
            if dyad is not None:
                known |= dict(zip(dyad.coordinates, dyad.angles(closing.tree, known), strict=True))
            else:
                known |= self._iterated(block, known, start)
        self.q = [known[c] for c in range(closing.tree.n)]
        found = self._equations(range(len(closing.cuts)), known)
        self.values = {k: value for k, (value, _) in found.items()}
        self.solvers = [self._solver(block, found) for block in closing.blocks]
        self.G = self._rates(len(q))

    def _rates(self, n: int) -> list[list[Scalar]]:
        own: dict[int, list[Scalar]] = {
            c: [int(k == place) for place in range(n)] for k, c in enumerate(self.closing.active)
        }
        for solver in self.solvers:
            none = [0] * len(solver.passive)
            columns = [solver.solved({c: own[c][k] for c in own}, none) for k in range(n)]
            own |= {c: [column[c] for column in columns] for c in solver.passive}
        return [own[c] for c in range(self.closing.tree.n)]

    def _iterated(self, block: LoopBlock, known: Mapping[int, Scalar], start: NewtonStart | None) -> dict[int, Scalar]:
        """Passive positions of a block after Newton iteration."""
        if start is None:
            names = ", ".join(f"'{self.closing.cuts[k].name}'" for k in block.cuts)
            raise InputError(
                f"the loop {names} of '{self.closing.robot.name}' has no closed-form solution for expressions "
                "(only planar loops with two passive revolute joints have one); use the numeric functions, or a "
                "generated program"
            )
        places = self.closing.iterated
        found: dict[int, Scalar] = {c: start.q[places.index(c)] for c in block.passive}
        pivots = self.closing.pivots(block)
        for _ in range(start.steps):
            rows = self._equations(block.cuts, {**known, **found})
            solver = Eliminated(pivots, [_among(rows[k][1], block.passive) for k in block.rows])
            change = solver.solve([rows[k][0] for k in block.rows])
            found = {c: sub(found[c], change[place]) for place, c in enumerate(block.passive)}
        return found

    def _equations(self, cuts: Sequence[int], known: Mapping[int, Scalar]) -> dict[int, tuple[Scalar, Row]]:
        """{index of the equation: value and derivatives} of some cuts."""
        q = [known.get(c, 0) for c in range(self.closing.tree.n)]
        found: dict[int, tuple[Scalar, Row]] = {}
        for k in cuts:
            pairs = zip(*self.closing.cut_equations(self.closing.cuts[k], q), strict=True)
            found |= dict(enumerate(pairs, start=self.closing.starts[k]))
        return found

    def _solver(self, block: LoopBlock, found: Mapping[int, tuple[Scalar, Row]]) -> _Solver:
        rows = [found[k][1] for k in block.rows]
        return _Solver(block.passive, rows, None if len(rows) == 2 else self.closing.pivots(block))

    @property
    def residual(self) -> Scalar:
        """Norm of the loop-closure residual after Newton iteration [rad, fractions of the loop's size]."""
        kept = [b for b, dyad in zip(self.closing.blocks, self.closing.dyads, strict=True) if dyad is None]
        numbers = [n for block in kept for k in block.cuts for n in self.closing.equations_of(k)]
        parts = [mul(float(1 / self.closing.units[n]), self.values[n]) for n in numbers]
        return sqrt(total(*(mul(part, part) for part in parts)))

    @property
    def branch(self) -> list[Scalar]:
        """Determinant of the equations of each Newton block, relative to its determinant at the seed.

        It is 1 at the seed, 0 at singular postures, and negative on the branches that meet the seed's branch
        there.
        """
        closing, found = self.closing, list[Scalar]()
        at_seed = closing.equations(closing.seed[None])[1][0] * closing.units[:, None]
        for solver, block, dyad in zip(self.solvers, closing.blocks, closing.dyads, strict=True):
            if dyad is None:
                rows = [{c: float(at_seed[row, c]) for c in block.passive} for row in block.rows]
                seed = _Solver(block.passive, rows, solver.pivots).diagonal
                found.append(
                    reduce(mul, (mul(entry, 1 / own) for entry, own in zip(solver.diagonal, seed, strict=True)))
                )
        return found

    def drift(self, qd: Scalars) -> list[Scalar]:
        """Accelerations of the tree at its velocities qd and zero accelerations of the robot's coordinates."""
        return self.settled(self.closing.cut_bias(self.q, qd[self.first :]))

    def settled(self, bias: Sequence[Scalar]) -> list[Scalar]:
        """Values x of the tree's coordinates with A x = -bias in all loop closures; zero for active coordinates."""
        found: dict[int, Scalar] = dict.fromkeys(self.closing.active, 0)
        for block, solver in zip(self.closing.blocks, self.solvers, strict=True):
            found |= solver.solved(found, [bias[k] for k in block.rows])
        return [0] * self.first + [found[c] for c in range(self.closing.tree.n)]


class _Solver:
    """Solver of loop-closure equations, as many as passive coordinates.

    pivots: pivots of the elimination; None for two equations, which are solved with an explicit inverse.
    """

    def __init__(self, passive: Sequence[int], rows: Sequence[Row], pivots: Pivots | None) -> None:
        self.passive, self.rows, self.pivots = tuple(passive), tuple(rows), pivots
        self.eliminated = None
        if pivots is not None:
            self.eliminated = Eliminated(pivots, [_among(row, self.passive) for row in rows])
            self.diagonal = self.eliminated.diagonal
            return
        (a, b), (c, d) = ([row.get(p, 0) for p in self.passive] for row in self.rows)
        self.diagonal = [sub(mul(a, d), mul(b, c))]  # see `Eliminated`
        part = div(1, self.diagonal[0])
        self.inverse = ((mul(d, part), neg(mul(b, part))), (neg(mul(c, part)), mul(a, part)))

    def solved(self, known: Mapping[int, Scalar], bias: Sequence[Scalar]) -> dict[int, Scalar]:
        """Passive values from known ones: A_p x = -(A_k x_k + bias)."""
        right = [
            neg(
                add(
                    b,
                    total(*(mul(entry, known[c]) for c, entry in row.items() if c in known and c not in self.passive)),
                )
            )
            for row, b in zip(self.rows, bias, strict=True)
        ]
        if self.eliminated is not None:
            found = self.eliminated.solve(right)
            return {c: found[place] for place, c in enumerate(self.passive)}
        return {
            c: total(*(mul(x, y) for x, y in zip(row, right, strict=True)))
            for c, row in zip(self.passive, self.inverse, strict=True)
        }


def _among(row: Row, passive: Sequence[int]) -> dict[int, Scalar]:
    """Entries of a row by their index among the passive coordinates."""
    return {place: row[c] for place, c in enumerate(passive) if c in row}
