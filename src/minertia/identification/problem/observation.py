"""The linear problem of a set of logs: read once, stored as one small R factor per block and effort.

Memory does not grow with the logs, and logs can be appended.  Methods that need the rows themselves (robust weights,
instruments, on-line estimation) read them again, unless they are few: those are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.path import with_path
from minertia.identification.problem.rows import (
    POWER,
    Change,
    Load,
    LogMotion,
    RowMaker,
    blocks_of,
    reach_rows,
    row_count,
    states,
    still_joints,
)
from minertia.identification.problem.triangles import Accumulator, merged, triangle
from minertia.identification.signals.filtering import Motion
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError, ShapeError
from minertia.io.notebook import clipped, plural
from minertia.io.resources import one_thread

BLOCKS = 64  # kept per log, at most
SHORTEST_BLOCK = 16  # samples
KEPT = 2_000_000  # numbers of a problem's rows that are kept, at most


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of the log with index `log`: regressor Y (N, efforts, unknowns) and efforts tau (N, efforts)."""

    log: int
    Y: Array
    tau: Array


class Stream(Protocol):
    """Pass over all rows; `change` replaces the motion of each block (same samples) before its columns are computed."""

    def __call__(self, change: Change | None = None) -> Iterator[Rows]: ...  # noqa: D102


@dataclass(frozen=True)
class LogTriangles:
    """Reduced data of one log: block R factors of [Y tau] per effort, samples per block, largest entries.

    still: coordinates that never moved.  reach (3, n): lowest and highest position and highest speed of each
    coordinate.  equations (efforts,): equations that each effort has left after projection, None for one a sample.
    noise (efforts,): noise levels for which the projection is made, None without one.
    """

    name: str
    triangles: Array  # (blocks, efforts, k, k)
    counts: Array  # (blocks,)
    largest: Array  # (efforts, k)
    still: tuple[int, ...]  # coordinates that never moved
    reach: Array  # lowest and highest position and highest speed of each coordinate, (3, n)
    equations: Array | None = None
    noise: Array | None = None

    def __repr__(self) -> str:
        return (
            f"<LogTriangles of '{clipped(self.name, 50)}': {plural(self.samples, 'sample')} in "
            f"{plural(len(self.counts), 'block')}>"
        )

    @cached_property
    def total(self) -> Array:
        """One R factor per effort."""
        return merged(self.triangles)

    @property
    def samples(self) -> int:
        """Number of rows per effort."""
        return int(self.counts.sum())


@dataclass(frozen=True)
class Observation:
    """The linear problem Y beta = tau over all logs.

    names: unknowns.  keep, shift: relation to all unknowns of the model, beta_model = scatter(beta) + shift,
    where beta_model[keep] receives beta; the other unknowns and the offsets in `shift` are known.
    """

    model: LinearModel
    names: tuple[str, ...]
    logs: tuple[LogTriangles, ...]
    stream: Stream
    rest: Callable[[Array], Iterator[tuple[int, Array]]]  # model's values -> residuals, log by log
    keep: tuple[int, ...]
    shift: Array
    made: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)  # fits, each made once

    def __repr__(self) -> str:
        return (
            f"<Observation of {plural(self.count, 'unknown')}: {plural(self.samples, 'sample')} of "
            f"{plural(len(self.row_names), 'joint')} in {plural(len(self.logs), 'log')}>"
        )

    @property
    def count(self) -> int:
        """Number of unknowns."""
        return len(self.names)

    @property
    def samples(self) -> int:
        """Number of rows per effort, over all logs."""
        return sum(log.samples for log in self.logs)

    @cached_property
    def equations(self) -> Array:
        """Number of independent equations of each effort (efforts,): fewer than samples where some are projected."""
        rows = np.ones(self.logs[0].triangles.shape[1])
        return np.asarray(sum(rows * log.samples if log.equations is None else log.equations for log in self.logs))

    @cached_property
    def stated_noise(self) -> Array | None:
        """Noise levels (efforts,) for which projections are made, root mean square over logs; None without any."""
        levels = [log.noise for log in self.logs if log.noise is not None]
        return np.sqrt(np.mean(np.square(levels), axis=0)) if levels else None

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the equations at each sample: one per effort, or one for the total power."""
        names = self.model.row_names
        return names if self.logs[0].triangles.shape[1] == len(names) else (POWER,)

    @cached_property
    def totals(self) -> Array:
        """One R factor per effort, (efforts, k, k)."""
        return merged(np.stack([log.total for log in self.logs]))

    @cached_property
    def blocks(self) -> Array:
        """All block R factors, (blocks, efforts, k, k), log by log."""
        return np.concatenate([log.triangles for log in self.logs])

    @cached_property
    def largest(self) -> Array:
        """Largest entry of each column and of the effort, (efforts, k)."""
        return np.asarray(np.max([log.largest for log in self.logs], axis=0))

    @cached_property
    def effort_rms(self) -> Array:
        """Root mean square of each effort."""
        return np.asarray(np.linalg.norm(self.totals[:, :, -1], axis=1) / np.sqrt(max(self.samples, 1)))

    @cached_property
    def filled(self) -> tuple[Array, NDArray[np.intp]]:
        """Rows (m, k) of `totals` that are not zero, and the effort of each (m,)."""
        filled = self.totals.any(axis=2)
        return self.totals[filled], np.nonzero(filled)[0]

    def triangle(self, sigma: Array | None = None) -> Array:
        """R factor of all rows, each divided by its effort's noise level."""
        rows, effort = self.filled
        return triangle(rows if sigma is None else rows / np.asarray(sigma)[effort, None])

    def residuals(self, beta: Array, totals: Array | None = None) -> Array:
        """Norm of the residual of each effort, computed exactly from R factors."""
        totals = self.totals if totals is None else totals
        return np.asarray(np.linalg.norm(totals @ np.append(-beta, 1.0), axis=1))

    def reduced(self, keep: Sequence[int], known: Array | None = None) -> Observation:
        """Problem in some of the unknowns; the others are fixed to their values in `known` (default 0).

        For a retained unknown, its value in `known` is subtracted: the new unknown is the difference.
        """
        values = np.zeros(self.count) if known is None else np.asarray(known, float)
        if list(keep) == list(range(self.count)) and not np.any(values):
            return self
        columns, has_shift = [*keep, self.count], bool(np.any(values))

        def part(triangles: Array) -> Array:
            own = triangles[..., columns]
            if has_shift:
                own[..., -1] -= triangles[..., :-1] @ values
            return triangle(own)

        logs = tuple(replace(r, triangles=part(r.triangles), largest=r.largest[:, columns]) for r in self.logs)
        shift = self.shift.copy()
        shift[list(self.keep)] += values
        stream = self.stream

        def mapped(change: Change | None = None) -> Iterator[Rows]:
            for c in stream(change):
                yield Rows(c.log, c.Y[:, :, list(keep)], c.tau - c.Y @ values if has_shift else c.tau)

        kept = tuple(self.keep[k] for k in keep)
        return Observation(self.model, tuple(self.names[k] for k in keep), logs, mapped, self.rest, kept, shift)

    def expand(self, beta: Array) -> Array:
        """Values of all the model's unknowns from those of this problem."""
        full = self.shift.copy()
        full[list(self.keep)] += beta
        return full

    def own(self, beta: Array) -> Array:
        """Values of this problem's unknowns from those of all the model's."""
        return np.asarray((beta - self.shift)[list(self.keep)])

    def expand_covariance(self, covariance: Array) -> Array:
        """Covariance of all the model's unknowns; zero for known ones."""
        full = np.zeros((self.model.count, self.model.count))
        full[np.ix_(self.keep, self.keep)] = covariance
        return full

    def only(self, logs: Sequence[int]) -> Observation:
        """Problem restricted to some of the logs."""
        stream, every, where = self.stream, self.rest, {r: k for k, r in enumerate(logs)}

        def chosen(change: Change | None = None) -> Iterator[Rows]:
            return (replace(c, log=where[c.log]) for c in stream(change) if c.log in where)

        def rest(beta: Array) -> Iterator[tuple[int, Array]]:
            return ((where[r], e) for r, e in every(beta) if r in where)

        return replace(self, logs=tuple(self.logs[r] for r in logs), stream=chosen, rest=rest)

    def appended(self, other: Observation) -> Observation:
        """Problem with more logs of the same robot and unknowns."""
        if other.names != self.names or not np.array_equal(other.shift, self.shift):
            raise ShapeError("the two sets of logs have different unknowns")
        first, second, offset = self.stream, other.stream, len(self.logs)

        def both(change: Change | None = None) -> Iterator[Rows]:
            yield from first(change)
            yield from (replace(c, log=c.log + offset) for c in second(change))

        def rest(beta: Array) -> Iterator[tuple[int, Array]]:
            yield from self.rest(beta)
            yield from ((r + offset, e) for r, e in other.rest(beta))

        return replace(self, logs=self.logs + other.logs, stream=both, rest=rest)


def observe(
    model: LinearModel,
    motions: Sequence[LogMotion],
    *,
    names: Sequence[str] | None = None,
    method: str = "qr",
    load: Load | None = None,
    blocks: int = BLOCKS,
) -> Observation:
    """Reduce the motions of logs to R factors; the parallel filter is applied to both sides of the equation.

    method: "qr", or "gram" (preconditioned normal equations, faster on long logs).  load(q, qd, qdd): rigid-body
    torques, for load-dependent friction.  blocks: R factors kept of each log and effort, at most; 1 takes the least
    time where no folds are needed.
    """
    if not motions:
        raise MinertiaError("there is no log to identify from")
    if method not in ("qr", "gram"):
        raise MinertiaError(f"there is no method '{method}' to accumulate with; use 'qr' or 'gram'")
    titles = tuple(names) if names is not None else tuple(f"log {k + 1}" for k in range(len(motions)))
    makers = [RowMaker(model, load, title, states(m)) for m, title in zip(motions, titles, strict=True)]
    store = _KeptRows()
    with one_thread():
        logs = [
            _log_triangles(m, maker, method, blocks, store.of(k))
            for k, (m, maker) in enumerate(zip(motions, makers, strict=True))
        ]
    stream, rest = _passes(motions, makers, store.rows)
    keep, shift = tuple(range(model.count)), np.zeros(model.count)
    return Observation(model, model.names, tuple(logs), stream, rest, keep, shift)


class _KeptRows:
    """Rows of a pass over the logs, kept for further passes unless they are too many."""

    def __init__(self) -> None:
        self.rows: list[Rows] = []
        self.left = KEPT

    def of(self, log: int) -> Callable[[Array, Array], None]:
        """Function that keeps rows of a log."""

        def keep(Y: Array, tau: Array) -> None:
            self.left -= Y.size
            if self.left < 0:
                self.rows.clear()
            else:
                self.rows.append(Rows(log, Y, tau))

        return keep


def _passes(
    motions: Sequence[LogMotion], makers: Sequence[RowMaker], kept: Sequence[Rows]
) -> tuple[Stream, Callable[[Array], Iterator[tuple[int, Array]]]]:
    """Functions that return the rows of all logs, and the residuals of a given estimate.

    kept: the rows; if there are none, the logs are read again.
    """

    def blocks(change: Change | None = None) -> Iterator[tuple[int, RowMaker, Motion]]:
        for k, (motion, maker) in enumerate(zip(motions, makers, strict=True)):
            read = blocks_of(motion)
            for block in with_path(maker.model, read if change is None else map(change, read)):
                yield k, maker, block

    def stream(change: Change | None = None) -> Iterator[Rows]:
        if change is None and kept:
            return iter(kept)
        return (Rows(k, Y, tau) for k, maker, block in blocks(change) for Y, tau in maker.rows(block))

    def rest(beta: Array) -> Iterator[tuple[int, Array]]:
        if kept:
            return ((rows.log, np.asarray(rows.tau - rows.Y @ beta)) for rows in kept)
        return ((k, e) for k, maker, block in blocks() for e in maker.residuals(block, beta))

    return stream, rest


def _log_triangles(
    motion: LogMotion, maker: RowMaker, method: str, blocks: int, keep: Callable[[Array, Array], None]
) -> LogTriangles:
    """Reduce one log in one pass; keep: takes its rows."""
    store: Accumulator | None = None
    model = maker.model
    still = set(range(model.robot.n))
    reach = np.array([np.inf, -np.inf, 0.0])[:, None] * np.ones(model.robot.n)
    equations: Array | None = None
    noise: Array | None = None
    for block in with_path(model, blocks_of(motion)):
        noise = block.noise
        if block.projection is not None:
            own_part = np.einsum("nii->i", block.projection)
            equations = own_part if equations is None else equations + own_part
        if store is None:
            # a log in blocks may know how many samples it keeps
            expected = getattr(motion, "kept", None) or block.kept
            size = max(SHORTEST_BLOCK, -(-expected // blocks))
            store = Accumulator(row_count(model, block), model.count + 1, size, blocks, method)
        still &= set(still_joints(model, block.q))
        for Y, tau in maker.rows(block):
            store.add(Y, tau)
            keep(Y, tau)
        own = reach_rows(model.robot, block.q, block.qd)
        reach = np.stack([np.minimum(reach[0], own[0]), *np.maximum(reach[1:], own[1:])])
    if store is None or not store.samples:
        raise MinertiaError(f"{maker.title}: no sample remains after the filter; use a longer log")
    triangles, counts = store.finish()
    return LogTriangles(maker.title, triangles, counts, store.largest, tuple(sorted(still)), reach, equations, noise)
