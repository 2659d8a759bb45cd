"""Closing of loops: from the coordinates of a robot to all joints of the tree that its cuts leave, on one branch.

Positions come from Newton's method, carried on in small steps from the robot's seed so that its branch is kept;
velocities and accelerations from the linear equations that follow (theory, eqs. 36 to 38).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from minertia.algebra.scalar import Scalar
from minertia.dynamics.dyad import Dyad, dyad_of
from minertia.dynamics.elimination import Pivots, pivots_of
from minertia.dynamics.kinematics import Scalars, joint_positions, joint_rates
from minertia.errors import InputError
from minertia.robot.closure_rows import (
    Row,
    cut_bias,
    cut_chains,
    cut_equations,
    equation_count,
    on_coordinates,
    position_rows,
)
from minertia.robot.loop import Cut
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
STEPS = (
    0.1,
    0.01,
    0.001,
)  # rad, or part of the loop's size: how far coordinates go at once, finer where needed
CORRECTIONS = 3  # Newton steps for what is differentiated by complex numbers
MOST_STEPS = 30  # of Newton's method where it ends
CLOSED = 1e-9  # rad, or part of the loop's size: largest residual of a loop that is closed
BROKEN = 1e-6  # the same on the way; what does not close at all comes so near only where a loop is not regular
REGULAR = 1e-2  # smallest over largest singular value of a loop, in states that are drawn
SINGULAR = 1e-5  # the same below which no motion of the loop can be told from its coordinates
DEPENDENT = 1e-9  # singular values below this part of the largest do not count while a seed is closed
HALVINGS = 6  # of a step towards the seed
NEXT = 1e-6  # rad or m: what is nearer to a closed state is closed from there
LOOKED_AT = 32  # states in which pivots must be good
NEAR = 1 / 3  # part of its value at the seed that counts where the seed itself is not regular


@dataclass(frozen=True, slots=True)
class LoopBlock:
    """Loops that close together once those before them have: passive coordinates, and as many independent rows.

    sign: of the determinant at the seed.  ratio: of the smallest to the largest singular value there.
    """

    cuts: tuple[int, ...]
    passive: tuple[int, ...]
    rows: tuple[int, ...]
    sign: float
    ratio: float


class Closing:
    """The closing of a robot without letters.

    active, passive: which coordinates of the tree are coordinates of the robot, and which follow from closing.
    """

    def __init__(self, robot: Robot) -> None:
        self.robot, self.cuts = robot, robot.open_cuts
        self.tree = replace(robot.opened, base="fixed")  # loops do not see where a floating base is
        self.active = [self.tree.independent.index(j) for j in robot.independent]
        self.passive = [c for c in range(self.tree.n) if c not in self.active]
        self.turns = np.array([self.tree.joints[j].kind == "revolute" for j in self.tree.independent])
        given = (0.0,) * self.tree.n_joints if robot.seed is None else robot.seed
        start = np.array([float(given[j]) for j in self.tree.independent])
        self.units = np.concatenate([self._units(cut, start) for cut in self.cuts])
        self.sizes = np.where(self.turns, 1.0, self.units.max())  # of a step of each coordinate
        self.seed = self._closed_seed(start)
        self.blocks = self._blocks()
        self.rows = [row for block in self.blocks for row in block.rows]
        self.solved = [c for block in self.blocks for c in block.passive]
        self.drawn: Array = np.zeros((0, self.tree.n))  # closed states that were drawn last

    # ------------------------------------------------------------------ equations

    def cut_equations(self, cut: Cut, q: Scalars) -> tuple[list[Scalar], list[Row]]:
        """The equations of a cut on any scalar and their derivatives by the tree's coordinates, in m and cosines."""
        values, rows = cut_equations(self.tree, cut, joint_positions(self.tree, q))
        return values, [on_coordinates(self.tree, row) for row in rows]

    def cut_bias(self, q: Scalars, qd: Scalars) -> list[Scalar]:
        """Second rates of the equations of all cuts on any scalar, without accelerations."""
        positions, rates = joint_positions(self.tree, q), joint_rates(self.tree, qd)
        return [b for cut in self.cuts for b in cut_bias(self.tree, cut, positions, rates)]

    def equations(self, q: Array) -> tuple[Array, Array]:
        """Residual (N, equations) and its derivatives A (N, equations, tree), rows in parts of the loop's size."""
        found = [self.cut_equations(cut, list(q.T)) for cut in self.cuts]
        rows = [row for _, own in found for row in own]
        A = np.zeros((len(q), len(rows), self.tree.n), dtype=q.dtype)
        for k, row in enumerate(rows):
            for c, entry in row.items():
                A[:, k, c] = entry
        values = _stacked([value for own, _ in found for value in own], len(q))
        return np.asarray(values / self.units), np.asarray(A / self.units[:, None])

    def bias(self, q: Array, qd: Array) -> Array:
        """Second rate of the equations without accelerations, shape (N, equations)."""
        return np.asarray(_stacked(self.cut_bias(list(q.T), list(qd.T)), len(q)) / self.units)

    @cached_property
    def starts(self) -> list[int]:
        """Number of the first equation of each cut, and that of all."""
        return [0, *np.cumsum([equation_count(cut) for cut in self.cuts]).tolist()]

    def equations_of(self, k: int) -> range:
        """Numbers of the equations of a cut."""
        return range(self.starts[k], self.starts[k + 1])

    def _units(self, cut: Cut, start: Array) -> Array:
        """The size of a loop [m] for its positions, 1 for its cosines."""
        rows, count = self.cut_equations(cut, list(start))[1], position_rows(cut)
        levers = [abs(float(e)) for row in rows[:count] for c, e in row.items() if self.turns[c]]
        units = np.ones(len(rows))
        units[:count] = max(levers, default=0.0) or 1.0
        return units

    # ------------------------------------------------------------------ seed and rows

    def _closed_seed(self, start: Array) -> Array:
        """The seed closed as far as numbers go, its coordinates kept."""

        def step(q: Array) -> Array:
            off, A = self.equations(q)
            change = np.zeros_like(q)
            change[0, self.passive] = np.linalg.lstsq(A[0][:, self.passive], off[0], rcond=DEPENDENT)[0]
            for _ in range(HALVINGS):  # a seed may be far off, where whole steps lead away
                if self._off(q - change)[0] < self._off(q)[0]:
                    break
                change = 0.5 * change
            return change

        seed = self._newton(start[None], step)
        if self._off(seed)[0] > CLOSED:
            raise InputError(
                f"the loops of '{self.robot.name}' ({self._names}) do not close near its seed (residual "
                f"{self._off(seed)[0]:.1e}); give a seed nearer to where they close, or correct lengths and axes"
            )
        return np.asarray(seed[0])

    @property
    def _names(self) -> str:
        return ", ".join(f"'{cut.name}'" for cut in self.cuts)

    def _blocks(self) -> list[LoopBlock]:
        """Loops in the order in which they close: one by one where that goes, the rest together."""
        A = self.equations(self.seed[None])[1][0] * self.sizes
        left, cuts = list(self.passive), list(range(len(self.cuts)))
        of = [list(self.equations_of(k)) for k in cuts]
        members = [self._members(cut) for cut in self.cuts]
        found: list[LoopBlock] = []
        while left and cuts:
            chosen = next(([k] for k in cuts if self._closes(A, of[k], [c for c in left if c in members[k]])), cuts)
            passive = [c for c in left if any(c in members[k] for k in chosen)]
            found.append(self._block(A, tuple(chosen), [row for k in chosen for row in of[k]], passive))
            left = [c for c in left if c not in passive]
            cuts = [k for k in cuts if k not in chosen]
        if left:
            raise self._unspanned(len(left))
        return found

    def _members(self, cut: Cut) -> set[int]:
        """Coordinates of the tree that move the two sides of a cut against one another."""
        return {c for chain in cut_chains(self.tree, cut) for j in chain for c, _ in self.tree.shares(j)}

    @staticmethod
    def _closes(A: Array, rows: list[int], passive: list[int]) -> bool:
        """Whether some rows determine some passive coordinates."""
        return bool(passive) and int(np.linalg.matrix_rank(A[np.ix_(rows, passive)], tol=SINGULAR)) == len(passive)

    def _block(self, A: Array, cuts: tuple[int, ...], rows: list[int], passive: list[int]) -> LoopBlock:
        """Independent rows by pivoted QR, with determinant and conditioning."""
        part = A[np.ix_(rows, passive)]
        if not passive or len(rows) < len(passive):
            raise self._unspanned(len(passive) - len(rows) if passive else len(self.passive))
        _, _, order = qr(part.T, mode="economic", pivoting=True)
        chosen = sorted(rows[k] for k in order[: len(passive)])
        square = A[np.ix_(chosen, passive)]
        s = np.linalg.svd(square, compute_uv=False)
        if s[-1] < SINGULAR * s[0]:
            raise self._unspanned(int((s < SINGULAR * s[0]).sum()))
        sign, ratio = float(np.sign(np.linalg.det(square))), float(s[-1] / s[0])
        return LoopBlock(cuts, tuple(passive), tuple(chosen), sign, ratio)

    def _unspanned(self, missing: int) -> InputError:
        return InputError(
            f"the loops of '{self.robot.name}' ({self._names}) leave {missing} of {len(self.passive)} passive joints "
            "free at its seed, which is singular, or coordinates are too few; give another seed or actuate more joints"
        )

    # ------------------------------------------------------------------ positions

    def close(self, q: Array) -> Array:
        """Positions of the tree's coordinates, shape (N, tree), at positions (N, n) of the robot's.

        Complex positions, whose imaginary part carries a derivative, are closed at their real part first.
        """
        if np.iscomplexobj(q):
            found = self.close(q.real).astype(complex)
            found[:, self.active] = q
            for _ in range(CORRECTIONS):
                found = found - self._step(found)
            return found
        found, done = self._found(q)
        if not done.all():
            raise self._unreached(q, int(np.flatnonzero(~done)[0]))
        return found

    def is_reached(self, q: Array) -> Flags:
        """At which positions (N, n) of the robot's coordinates its loops close on the branch of the seed."""
        return self._found(q)[1]

    def _found(self, q: Array) -> tuple[Array, Flags]:
        if all(dyad is not None for dyad in self.dyads):
            found, done = self._direct(q)
            return found, done & self._is_connected(q, done)
        return self._carried_on(q)

    @cached_property
    def dyads(self) -> list[Dyad | None]:
        """The closed form of each block, None where it has none."""
        found: list[Dyad | None] = []
        for block in self.blocks:
            is_alone = len(block.cuts) == 1
            cut = self.cuts[block.cuts[0]]
            found.append(dyad_of(self.tree, cut, block.passive, self.seed.tolist()) if is_alone else None)
        return found

    @cached_property
    def iterated(self) -> list[int]:
        """Passive coordinates without a closed form, which expressions and code find by Newton's steps."""
        pairs = zip(self.blocks, self.dyads, strict=True)
        return [c for block, dyad in pairs if dyad is None for c in block.passive]

    def pivots(self, block: LoopBlock) -> Pivots:
        """Pivots of a block's equations: good at the seed and in states drawn around it."""
        if block not in self._pivots:
            rng, drawn = np.random.default_rng(0), self.drawn
            targets = self.seed[self.active] + self.sizes[self.active] * rng.uniform(
                -1, 1, (LOOKED_AT, len(self.active))
            )
            self.draw(targets, rng)
            states = np.vstack([self.seed, self.drawn])
            self.drawn = drawn
            A = self.equations(states)[1] * self.sizes
            self._pivots[block] = pivots_of(A[:, block.rows][:, :, block.passive])
        return self._pivots[block]

    @cached_property
    def _pivots(self) -> dict[LoopBlock, Pivots]:
        return {}

    def _direct(self, q: Array) -> tuple[Array, Flags]:
        """Positions by closed forms, passive angles within half a turn of the seed's, and where they are closed."""
        found = self._angles(q)
        done: Flags = np.asarray(np.isfinite(found).all(axis=1))
        found[done] = self._newton(found[done], self._step)
        off, A = self.equations(found[done])
        done[done] = self._is_good(off, A, SINGULAR) & (np.abs(off).max(axis=1, initial=0.0) < CLOSED)
        return found, done

    def _angles(self, q: Array) -> Array:
        """Positions of the tree by closed forms; no numbers where a loop does not close."""
        known: dict[int, Scalar] = dict(zip(self.active, q.T, strict=True))
        found = np.zeros((len(q), self.tree.n))
        found[:, self.active] = q
        with np.errstate(all="ignore"):
            for dyad in self.dyads:
                assert dyad is not None
                for c, turn in zip(dyad.coordinates, dyad.angles(self.tree, known), strict=True):
                    known[c] = turn
                    off = np.arctan2(*np.broadcast_arrays(turn.s, turn.c)) - self.seed[c]
                    found[:, c] = self.seed[c] + np.arctan2(np.sin(off), np.cos(off))
        return found

    def _is_connected(self, q: Array, done: Flags) -> Flags:
        """Which samples can be reached from the seed, straight or along their neighbours in the log.

        Closed forms also hold in parts of the range that the seed's has no way to; nobody gets there without taking
        the loop apart.
        """
        if not len(q):
            return done
        near = (np.abs(np.diff(q, axis=0) / self.sizes[self.active]).max(axis=1) < STEPS[0]) & done[1:] & done[:-1]
        parts = np.concatenate([[0], np.cumsum(~near)])
        straight = done.copy()
        way = np.zeros_like(q)
        moving = [k for k, c in enumerate(self.active) if c not in self._free]
        way[:, moving] = (q - self.seed[self.active])[:, moving]
        count = int(np.ceil(np.abs(way / self.sizes[self.active]).max(initial=0.0) / STEPS[0]))
        for k in range(1, count):
            left = np.flatnonzero(straight)
            straight[left] = np.isfinite(self._angles(q[left] - (k / count) * way[left])).all(axis=1)
        return np.asarray(np.isin(parts, parts[straight]))

    def _carried_on(self, q: Array) -> tuple[Array, Flags]:
        """Positions by Newton's method in small steps from the seed, or from a neighbour, and where they are closed."""
        starts: Array = np.broadcast_to(self.seed, (len(q), self.tree.n))
        if self.drawn.shape == starts.shape and np.abs(self.drawn[:, self.active] - q).max() < NEXT:
            starts = self.drawn  # whose way from the seed has been gone
        found, done = self._reached(starts, q, SINGULAR)
        while not done.all() and done.any():  # what cannot be reached straight from the seed may be from a neighbour
            left, beside = _next_to(done)
            if not left.size:
                break
            found[left], done[left] = self._reached(found[beside], q[left], SINGULAR)
            if not done[left].any():
                break
        return found, done

    def _unreached(self, q: Array, k: int) -> InputError:
        where = ", ".join(f"{v:.4g}" for v in q[k])
        return InputError(
            f"the loops of '{self.robot.name}' ({self._names}) do not close at ({where}), sample {k + 1}, on the "
            "branch of its seed: that is out of reach or past a singular posture; move less, or give another seed"
        )

    def _reached(self, starts: Array, targets: Array, least: float) -> tuple[Array, Flags]:
        """Closed positions at the targets and where they could be reached."""
        q, good = np.array(starts), np.zeros(len(starts), bool)
        for step in STEPS:  # a finer step goes on from where a coarser one stopped
            left = np.flatnonzero(~good)
            for reached, fine in self.march(q[left], targets[left], least, step):
                q[left], good[left] = reached, fine
            if good.all():
                break
        q[good] = self._newton(q[good], self._step)
        good[good] = self._off(q[good]) < CLOSED
        return q, good

    def march(
        self, starts: Array, targets: Array, least: float, step: float = STEPS[0]
    ) -> Iterator[tuple[Array, Flags]]:
        """States on their way from closed positions to targets, after each step, and which of them are still good.

        A state stops before a loop breaks, changes its branch, or comes nearer than `least` to a singular posture.
        step: the longest that a coordinate goes at once.
        """
        q, good = np.array(starts), np.ones(len(starts), bool)
        way = targets - q[:, self.active]
        q[:, self._free] = targets[:, [self.active.index(c) for c in self._free]]
        way[:, [self.active.index(c) for c in self._free]] = 0.0
        count = max(1, int(np.ceil(np.abs(way / self.sizes[self.active]).max(initial=0.0) / step)))
        A = self.equations(q)[1]
        for _ in range(count):
            moved = self._moved(q[good], A[good], way[good] / count)
            off, slopes = self.equations(moved)
            fine = self._is_good(off, slopes, least)
            q[np.flatnonzero(good)[fine]], A[np.flatnonzero(good)[fine]] = moved[fine], slopes[fine]
            good[good] = fine
            yield q, good
            if not good.any():
                return

    @cached_property
    def _free(self) -> list[int]:
        """Active coordinates that move no loop."""
        members = {c for cut in self.cuts for c in self._members(cut)}
        return [c for c in self.active if c not in members]

    def _moved(self, q: Array, A: Array, change: Array) -> Array:
        """States after a small change of their coordinates: along the tangent, then two steps of Newton's method."""
        moved = np.array(q)
        with np.errstate(all="ignore"):
            A = A[:, self.rows]
            moved[:, self.solved] -= _solve(A[:, :, self.solved], A[:, :, self.active] @ change[:, :, None])[:, :, 0]
            moved[:, self.active] += change
            moved = moved - self._step(moved)
            return moved - self._step(moved)

    def _is_good(self, off: Array, A: Array, least: float) -> Flags:
        fine = np.isfinite(A).all(axis=(1, 2)) & (np.abs(off).max(axis=1) < BROKEN)
        A = np.where(fine[:, None, None], A * self.sizes, 0.0)
        for block in self.blocks:
            part = A[:, block.rows][:, :, block.passive]
            s = np.linalg.svd(part, compute_uv=False)
            fine &= s[:, -1] > min(least, NEAR * block.ratio) * s[:, 0]
            fine &= np.sign(np.linalg.det(part)) == block.sign
        return np.asarray(fine)

    def _step(self, q: Array) -> Array:
        """A step of Newton's method, to be taken off."""
        change = np.zeros_like(q)
        off, A = self.equations(q)
        change[:, self.solved] = _solve(A[:, self.rows][:, :, self.solved], off[:, self.rows, None])[:, :, 0]
        return change

    def _newton(self, q: Array, step: Callable[[Array], Array]) -> Array:
        """Newton's method until it improves nothing."""
        best, off = q, self._off(q)
        for _ in range(MOST_STEPS if len(q) else 0):
            q = best - step(best)
            now = self._off(q)
            better = now < off
            halved = bool((now < 0.5 * off).any()) or bool((better & (off > CLOSED)).any())
            best, off = np.where(better[:, None], q, best), np.where(better, now, off)
            if not halved:
                break
        return best

    def _off(self, q: Array) -> Array:
        return np.asarray(np.abs(self.equations(q)[0]).max(axis=1, initial=0.0))

    # ------------------------------------------------------------------ rates

    def rates(self, q: Array) -> Array:
        """G with qd = G qd_a, shape (N, tree, n), at closed positions."""
        A = self.equations(q)[1][:, self.rows]
        G = np.zeros((len(q), self.tree.n, len(self.active)), dtype=A.dtype)
        G[:, self.active] = np.eye(len(self.active))
        G[:, self.solved] = -_solve(A[:, :, self.solved], A[:, :, self.active])
        return G

    def drift(self, q: Array, qd: Array) -> Array:
        """Accelerations (N, tree) of the tree where its closed coordinates have none; qd: of the tree."""
        A, b = self.equations(q)[1][:, self.rows], self.bias(q, qd)[:, self.rows]
        found = np.zeros((len(q), self.tree.n), dtype=b.dtype)
        found[:, self.solved] = -_solve(A[:, :, self.solved], b[:, :, None])[:, :, 0]
        return found

    @cached_property
    def moving(self) -> dict[int, set[int]]:
        """{passive coordinate: active ones that can move it}, from which loops hang on which."""
        found: dict[int, set[int]] = {}
        for block in self.blocks:
            members = {c for k in block.cuts for c in self._members(self.cuts[k])} - set(block.passive)
            movers = {c for c in members if c in self.active}.union(*(found.get(c, set()) for c in members))
            found |= dict.fromkeys(block.passive, movers)
        return found

    # ------------------------------------------------------------------ random states

    def draw(self, targets: Array, rng: np.random.Generator) -> Array:
        """Positions (N, n) of the robot's coordinates, each somewhere on the way to a target that stays regular."""
        starts = np.broadcast_to(self.seed, (len(targets), self.tree.n))
        path, good = [np.array(starts)], np.zeros(len(targets), int)
        for q, fine in self.march(starts, targets, REGULAR):
            path.append(np.array(q))
            good += fine
        place = np.rint(rng.uniform(size=len(targets)) * good).astype(int)
        self.drawn = np.asarray(np.stack(path), float)[place, np.arange(len(targets))]
        return np.asarray(self.drawn[:, self.active])


def closing_of(robot: Robot) -> Closing:
    """The closing of a robot, made once for each, as its cached properties are."""
    kept = vars(robot)
    if "_closing" not in kept:
        kept["_closing"] = Closing(robot)
    found: Closing = kept["_closing"]
    return found


def _solve(A: Array, b: Array) -> Array:
    """A^-1 b of every sample; what is singular gives no numbers, so that it is not taken for good."""
    try:
        return np.asarray(np.linalg.solve(A, b))
    except np.linalg.LinAlgError:
        return np.stack([_solve_one(a, c) for a, c in zip(A, b, strict=True)])


def _solve_one(a: Array, b: Array) -> Array:
    try:
        return np.asarray(np.linalg.solve(a, b))
    except np.linalg.LinAlgError:
        return np.full_like(b, np.nan)


def _stacked(values: Sequence[Scalar], count: int) -> Array:
    return np.stack([np.broadcast_to(value, (count,)) for value in values], axis=1)


def _next_to(done: Flags) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Samples that are not done beside one that is, and that one."""
    after = np.flatnonzero(~done[1:] & done[:-1]) + 1
    before = np.setdiff1d(np.flatnonzero(~done[:-1] & done[1:]), after)
    return np.concatenate([after, before]), np.concatenate([after - 1, before + 1])
