"""Loop closure: from the robot's coordinates to all joints of its spanning tree, on one assembly branch.

Positions are found by Newton's method with continuation in small steps from the robot's seed, so that its branch is
kept; velocities and accelerations by the linear equations that follow (theory, eqs. 36 to 38).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from minertia.algebra.matrix import Pivots, pivots_of
from minertia.algebra.scalar import Scalar
from minertia.dynamics.loops.dyad import Dyad, dyad_of
from minertia.dynamics.loops.equations import SINGULAR, LoopBlock, LoopEquations, loop_blocks
from minertia.io.arrays import Array
from minertia.io.errors import InputError
from minertia.robot.robot import Robot

Flags = NDArray[np.bool_]
STEPS = (0.1, 0.01, 0.001)  # rad, or part of the loop's size: how far coordinates go at once, finer where needed
ON_THE_WAY = 2  # most Newton steps after each of these
CORRECTIONS = 3  # Newton steps for what is differentiated by complex numbers
MOST_STEPS = 30  # of Newton's method where it ends
CLOSED = 1e-9  # rad, or part of the loop's size: largest residual of a loop that is closed
BROKEN = 1e-6  # the same on the way; what does not close at all comes so near only where a loop is not regular
REGULAR = 1e-2  # smallest over largest singular value of a loop, in states that are drawn
DEPENDENT = 1e-9  # singular values below this part of the largest do not count while a seed is closed
HALVINGS = 6  # of a step towards the seed
NEXT = 1e-6  # rad or m: what is nearer to a closed state is closed from there
ROWS = 20_000  # positions looked at together
SHARING, FEWEST_WAYS = 4, 8  # states drawn on one way from the seed, and ways of few states
LOOKED_AT = 32  # states in which pivots must be good
MANY, EVERY = 64, 8  # samples of a log of which only every so many-th is reached from the seed, the rest from these
NEAR = 1 / 3  # part of its value at the seed that counts where the seed itself is not regular


class Closing(LoopEquations):
    """Loop-closure equations of a robot without symbols, with its seed and its branch."""

    def __init__(self, robot: Robot) -> None:
        super().__init__(robot)
        self.seed = self._closed_seed()
        self.blocks = loop_blocks(self, self.seed)
        self.rows = [row for block in self.blocks for row in block.rows]
        self.solved = [c for block in self.blocks for c in block.passive]
        self.drawn: Array = np.zeros((0, self.tree.n))  # closed states that were drawn last

    def _closed_seed(self) -> Array:
        """Seed closed to machine precision, without changing the robot's own coordinates."""

        def step(q: Array, off: Array, A: Array) -> Array:
            change = np.zeros_like(q)
            change[0, self.passive] = np.linalg.lstsq(A[0][:, self.passive], off[0], rcond=DEPENDENT)[0]
            for _ in range(HALVINGS):  # a seed may be far off, where whole steps lead away
                if self.off(q - change)[0] < _largest(off)[0]:
                    break
                change = 0.5 * change
            return change

        seed = self._newton(self.start[None], step)
        if self.off(seed)[0] > CLOSED:
            raise InputError(
                f"the loops of '{self.robot.name}' ({self.names}) do not close near the seed (closure error "
                f"{self.off(seed)[0]:.1e}); give a seed nearer to a closed configuration, or correct lengths and "
                "axes"
            )
        return np.asarray(seed[0])

    # ------------------------------------------------------------------ positions

    def close(self, q: Array) -> Array:
        """Positions (N, tree) of the spanning tree's coordinates, from those of the robot's coordinates (N, n).

        Complex positions (complex-step derivatives) are closed at their real part first.
        """
        if np.iscomplexobj(q):
            found = self.close(q.real).astype(complex)
            found[:, self.active] = q
            for _ in range(CORRECTIONS):
                found = found - self._step(found, *self.equations(found))
            return found
        found, done = self.found(q)
        if not done.all():
            raise self._unreached(q, int(np.flatnonzero(~done)[0]))
        return found

    def is_reached(self, q: Array, *, alone: bool = False) -> Flags:
        """Mask of the positions (N, n) of the robot's coordinates at which its loops close on the seed's branch.

        alone: test each posture directly from the seed, for lists of postures that are not samples of one motion.
        """
        if alone and self.iterated:
            return self._reached(np.tile(self.seed, (len(q), 1)), q, SINGULAR)[1]
        return self.found(q)[1]

    def found(self, q: Array, near: Array | None = None) -> tuple[Array, Flags]:
        """Positions (N, tree) at positions (N, n), and a mask of the closed ones; near: closed initial positions."""
        if all(dyad is not None for dyad in self.dyads):
            found, done = self._direct(q)
            return found, done & self._is_connected(q, done)
        return self._carried_on(q, near)

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
        """Passive coordinates without a closed form, which expressions and code solve by Newton iteration."""
        pairs = zip(self.blocks, self.dyads, strict=True)
        return [c for block, dyad in pairs if dyad is None for c in block.passive]

    @property
    def iterated_names(self) -> list[str]:
        """Names of the joints of `iterated`."""
        return [self.tree.joints[self.tree.independent[c]].name for c in self.iterated]

    def pivots(self, block: LoopBlock) -> Pivots:
        """Elimination pivots of a block's equations: well conditioned at the seed and in random states around it."""
        if block not in self._pivots:
            rng = np.random.default_rng(0)
            around = self.sizes[self.active] * rng.uniform(-1, 1, (LOOKED_AT, len(self.active)))
            states = np.vstack([self.seed, self._regular(self.seed[self.active] + around, rng)])
            A = self.equations(states)[1] * self.sizes
            self._pivots[block] = pivots_of(A[:, block.rows][:, :, block.passive])
        return self._pivots[block]

    @cached_property
    def _pivots(self) -> dict[LoopBlock, Pivots]:
        return {}

    def _direct(self, q: Array) -> tuple[Array, Flags]:
        """Positions by closed forms, passive angles within half a turn of the seed, and a mask of closed samples."""
        found = self._angles(q)
        done: Flags = np.asarray(np.isfinite(found).all(axis=1))
        found[done] = self._newton(found[done], self._step)
        off, A = self.equations(found[done])
        done[done] = self._is_good(off, A, SINGULAR) & (_largest(off) < CLOSED)
        return found, done

    def _angles(self, q: Array) -> Array:
        """Positions of the tree by closed forms; NaN where a loop does not close."""
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
        """Mask of the samples that can be reached from the seed, directly or along neighbours in the log.

        Closed forms also have solutions in parts of the joint range that are not connected to the part of the
        seed; these cannot be reached without disassembling the loop.
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
        together = max(1, ROWS // len(q))  # steps at once: what a few samples cost is the calls
        for first in range(1, count, together):
            steps = np.arange(first, min(first + together, count))
            left = np.flatnonzero(straight)
            between = q[left] - (steps / count)[:, None, None] * way[left]
            found = self._angles(between.reshape(-1, q.shape[1]))
            straight[left] = np.isfinite(found).all(axis=1).reshape(len(steps), len(left)).all(axis=0)
        return np.asarray(np.isin(parts, parts[straight]))

    def _carried_on(self, q: Array, near: Array | None = None) -> tuple[Array, Flags]:
        """Positions by Newton continuation from the seed, or from a neighbour, and a mask of the closed ones."""
        found, done = self._reached(self._starts(q) if near is None else near, q, SINGULAR)
        if near is None and len(q) > MANY and not done.all():  # a neighbour in a list of postures may be far away
            left = np.flatnonzero(~done)
            found[left], done[left] = self._reached(np.tile(self.seed, (len(left), 1)), q[left], SINGULAR)
        while not done.all() and done.any():  # what cannot be reached straight from the seed may be from a neighbour
            left, beside = _next_to(done)
            if not left.size:
                break
            found[left], done[left] = self._reached(found[beside], q[left], SINGULAR)
            if not done[left].any():
                break
        return found, done

    def _starts(self, q: Array) -> Array:
        """Closed initial positions (N, tree) of the continuation: the seed, or solutions of nearby samples."""
        if self.drawn.shape == (len(q), self.tree.n) and np.abs(self.drawn[:, self.active] - q).max() < NEXT:
            return self.drawn  # whose way from the seed has been gone
        starts = np.tile(self.seed, (len(q), 1))
        if len(q) > MANY:
            found, done = self._carried_on(q[::EVERY])
            nearest = np.minimum((np.arange(len(q)) + EVERY // 2) // EVERY, len(done) - 1)
            starts[done[nearest]] = found[nearest[done[nearest]]]
        return starts

    def _unreached(self, q: Array, k: int) -> InputError:
        where = ", ".join(f"{v:.4g}" for v in q[k])
        return InputError(
            f"the loops of '{self.robot.name}' ({self.names}) do not close at ({where}), sample {k + 1}, on the "
            "assembly branch of the seed: the posture is out of reach or past a singularity; reduce the motion, "
            "or give another seed"
        )

    def _reached(self, starts: Array, targets: Array, least: float) -> tuple[Array, Flags]:
        """Closed positions at the targets, and a mask of the targets that were reached."""
        q, good = np.array(starts), np.zeros(len(starts), bool)
        for step in STEPS:  # a finer step goes on from where a coarser one stopped
            left = np.flatnonzero(~good)
            for reached, fine in self.march(q[left], targets[left], least, step):
                q[left], good[left] = reached, fine
            if good.all():
                break
        q[good] = self._newton(q[good], self._step)
        good[good] = self.off(q[good]) < CLOSED
        return q, good

    def march(
        self, starts: Array, targets: Array, least: float, step: float = STEPS[0]
    ) -> Iterator[tuple[Array, Flags]]:
        """Continuation from closed positions to targets: yields the states after each step, and a mask of valid ones.

        A state stops before a loop breaks, changes its branch, or comes nearer than `least` to a singular posture.
        step: largest change of a coordinate per step.
        """
        q, good = np.array(starts), np.ones(len(starts), bool)
        way = targets - q[:, self.active]
        q[:, self._free] = targets[:, [self.active.index(c) for c in self._free]]
        way[:, [self.active.index(c) for c in self._free]] = 0.0
        count = max(1, int(np.ceil(np.abs(way / self.sizes[self.active]).max(initial=0.0) / step)))
        A = self.equations(q)[1]
        last: Array | None = None  # how passive joints went in the step before
        for _ in range(count):
            moved, off, slopes, went = self._moved(q[good], A[good], way[good] / count, last)
            fine = self._is_good(off, slopes, least)
            q[np.flatnonzero(good)[fine]], A[np.flatnonzero(good)[fine]] = moved[fine], slopes[fine]
            good[good], last = fine, went[fine]
            yield q, good
            if not good.any():
                return

    @cached_property
    def _free(self) -> list[int]:
        """Active coordinates that belong to no loop."""
        members = {c for cut in self.cuts for c in self.members(cut)}
        return [c for c in self.active if c not in members]

    def _moved(self, q: Array, A: Array, change: Array, last: Array | None) -> tuple[Array, Array, Array, Array]:
        """States after a small change of their coordinates, their equations, and the predicted passive change.

        Predictor along the tangent with the curvature of the previous step, then Newton corrections until all are
        closed.
        """
        moved = np.array(q)
        with np.errstate(all="ignore"):
            A = A[:, self.rows]
            went = -_solve(A[:, :, self.solved], A[:, :, self.active] @ change[:, :, None])[:, :, 0]
            moved[:, self.solved] += went if last is None else 1.5 * went - 0.5 * last
            moved[:, self.active] += change
            off, A = self.equations(moved)
            for _ in range(ON_THE_WAY):
                if not (_largest(off) >= BROKEN).any():  # what is no number is given up
                    break
                moved = moved - self._step(moved, off, A)
                off, A = self.equations(moved)
        return moved, off, A, went

    def _is_good(self, off: Array, A: Array, least: float) -> Flags:
        fine = np.isfinite(A).all(axis=(1, 2)) & (_largest(off) < BROKEN)
        A = np.where(fine[:, None, None], A * self.sizes, 0.0)
        for block in self.blocks:
            part = A[:, block.rows][:, :, block.passive]
            s = np.linalg.svd(part, compute_uv=False)
            fine &= s[:, -1] > min(least, NEAR * block.ratio) * s[:, 0]
            fine &= np.sign(np.linalg.det(part)) == block.sign
        return np.asarray(fine)

    def _step(self, q: Array, off: Array, A: Array) -> Array:
        """Newton step, to be subtracted; off, A: the equations at q."""
        change = np.zeros_like(q)
        change[:, self.solved] = _solve(A[:, self.rows][:, :, self.solved], off[:, self.rows, None])[:, :, 0]
        return change

    def _newton(self, q: Array, step: Callable[[Array, Array, Array], Array]) -> Array:
        """Iterate Newton's method until it no longer improves."""
        left, slopes = self.equations(q)
        best, off = q, _largest(left)
        for _ in range(MOST_STEPS if len(q) else 0):
            q = best - step(best, left, slopes)
            new, A = self.equations(q)
            now = _largest(new)
            better = now < off
            halved = bool((now < 0.5 * off).any()) or bool((better & (off > CLOSED)).any())
            best, off = np.where(better[:, None], q, best), np.where(better, now, off)
            left, slopes = np.where(better[:, None], new, left), np.where(better[:, None, None], A, slopes)
            if not halved:
                break
        return best

    # ------------------------------------------------------------------ rates

    def rates(self, q: Array) -> Array:
        """Matrix G with tree velocities qd = G qd_a, shape (N, tree, n), at closed positions."""
        A = self.equations(q)[1][:, self.rows]
        G = np.zeros((len(q), self.tree.n, len(self.active)), dtype=A.dtype)
        G[:, self.active] = np.eye(len(self.active))
        G[:, self.solved] = -_solve(A[:, :, self.solved], A[:, :, self.active])
        return G

    def branch(self, q: Array) -> Array:
        """Branch indicator: determinants of the equations over those at the seed, (N, blocks without closed form)."""
        A = self.equations(np.vstack([self.seed, q]))[1]
        blocks = [block for block, dyad in zip(self.blocks, self.dyads, strict=True) if dyad is None]
        found = np.stack([np.linalg.det(A[:, block.rows][:, :, block.passive]) for block in blocks], axis=1)
        return np.asarray(found[1:] / found[0])

    def drift(self, q: Array, qd: Array) -> Array:
        """Tree accelerations (N, tree) at zero accelerations of the robot's coordinates; qd: tree velocities."""
        return self.settled(q, self.bias(q, qd))

    def settled(self, q: Array, bias: Array) -> Array:
        """Solution x = -A_p^-1 b of the loop closure A_p x + b = 0 for the passive coordinates.

        bias: b (N, equations).  Returns x (N, tree), zero for all other coordinates.
        """
        A, b = self.equations(q)[1][:, self.rows], bias[:, self.rows]
        found = np.zeros((len(q), self.tree.n), dtype=b.dtype)
        found[:, self.solved] = -_solve(A[:, :, self.solved], b[:, :, None])[:, :, 0]
        return found

    @cached_property
    def moving(self) -> dict[int, set[int]]:
        """{passive coordinate: active ones that can move it}, from the dependencies between loops."""
        found: dict[int, set[int]] = {}
        for block in self.blocks:
            members = {c for k in block.cuts for c in self.members(self.cuts[k])} - set(block.passive)
            movers = {c for c in members if c in self.active}.union(*(found.get(c, set()) for c in members))
            found |= dict.fromkeys(block.passive, movers)
        return found

    # ------------------------------------------------------------------ random states

    def draw(self, targets: Array, rng: np.random.Generator) -> Array:
        """Random regular positions (N, n) of the robot's coordinates, each on the path to a target."""
        self.drawn = self._regular(targets, rng)
        return np.asarray(self.drawn[:, self.active])

    def _regular(self, targets: Array, rng: np.random.Generator) -> Array:
        """Random regular positions (N, tree) on the paths to targets (N, n).

        States share paths, which are expensive; coordinates outside loops are drawn for each state.
        """
        ways = min(len(targets), max(FEWEST_WAYS, -(-len(targets) // SHARING)))
        starts = np.broadcast_to(self.seed, (ways, self.tree.n))
        path, good = [np.array(starts)], np.zeros(ways, int)
        for q, fine in self.march(starts, targets[:ways], REGULAR):
            path.append(np.array(q))
            good += fine
        way = np.arange(len(targets)) % max(ways, 1)
        place = np.rint(rng.uniform(size=len(targets)) * good[way]).astype(int)
        found = np.asarray(np.stack(path)[place, way], float)
        found[:, self._free] = targets[:, [self.active.index(c) for c in self._free]]
        return found


def closing_of(robot: Robot) -> Closing:
    """Cached `Closing` of a robot."""
    kept = vars(robot)
    if "_closing" not in kept:
        kept["_closing"] = Closing(robot)
    found: Closing = kept["_closing"]
    return found


def _largest(off: Array) -> Array:
    """Largest loop-closure residual of each sample."""
    return np.asarray(np.abs(off).max(axis=1, initial=0.0))


def _solve(A: Array, b: Array) -> Array:
    """Solve A x = b for every sample; NaN for singular matrices, so that they are not accepted."""
    try:
        return np.asarray(np.linalg.solve(A, b))
    except np.linalg.LinAlgError:
        return np.stack([_solve_one(a, c) for a, c in zip(A, b, strict=True)])


def _solve_one(a: Array, b: Array) -> Array:
    try:
        return np.asarray(np.linalg.solve(a, b))
    except np.linalg.LinAlgError:
        return np.full_like(b, np.nan)


def _next_to(done: Flags) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of unsolved samples next to a solved one, and of that solved sample."""
    after = np.flatnonzero(~done[1:] & done[:-1]) + 1
    before = np.setdiff1d(np.flatnonzero(~done[:-1] & done[1:]), after)
    return np.concatenate([after, before]), np.concatenate([after - 1, before + 1])
