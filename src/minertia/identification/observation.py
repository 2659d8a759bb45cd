"""The linear problem of a set of recordings: streamed once, kept as one small triangle per block and effort.

Memory does not grow with the logs, and logs can be appended.  What needs the rows themselves (robust weights,
instruments, on-line estimation) streams them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from minertia.errors import MinertiaError, ShapeError
from minertia.identification.linear import LinearModel
from minertia.identification.threads import one_thread
from minertia.identification.triangles import Accumulator, merged, triangle

Array = NDArray[np.float64]
CHUNK = 4096  # samples whose columns are in memory at a time
BLOCKS = 64  # kept per recording, at most
SHORTEST_BLOCK = 16  # samples
STILL = 1e-3  # rad or m: a joint that moves less within a section stands still


class MotionLike(Protocol):
    """A prepared recording, or a section of one: joint side, samples first, all of the same length."""

    @property
    def t(self) -> Array: ...  # noqa: D102
    @property
    def q(self) -> Array: ...  # noqa: D102
    @property
    def qd(self) -> Array: ...  # noqa: D102
    @property
    def qdd(self) -> Array: ...  # noqa: D102
    @property
    def tau(self) -> Array: ...  # noqa: D102


Source: TypeAlias = MotionLike | Iterable[MotionLike]  # one recording: whole, or in sections that can be read again
Change: TypeAlias = Callable[[MotionLike], MotionLike]


class RowFilter(Protocol):
    """A linear filter along time for both sides of the equation, after which some samples of a section are kept.

    The section says which, in `keep` (start, stop, step).
    """

    def halo(self, section: Any) -> int:
        """Samples on either side that a result depends on."""

    def __call__(self, section: Any, columns: Array) -> Array:
        """Columns [N, k] of a section, filtered along the first axis, at the samples it keeps."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows of the linear problem: Y (N, efforts, unknowns), tau (N, efforts), of one recording."""

    record: int
    Y: Array
    tau: Array


class Stream(Protocol):
    """A pass over all rows; `change` replaces the motion of each section (same samples) before its columns are made."""

    def __call__(self, change: Change | None = None) -> Iterator[Chunk]: ...  # noqa: D102


@dataclass(frozen=True)
class Record:
    """What is kept of one recording: block triangles of [Y tau] per effort, samples per block, largest entries."""

    name: str
    triangles: Array  # (blocks, efforts, k, k)
    counts: Array  # (blocks,)
    largest: Array  # (efforts, k)
    still: tuple[int, ...]  # coordinates that never moved

    @cached_property
    def total(self) -> Array:
        """One triangle per effort."""
        return merged(self.triangles)

    @property
    def samples(self) -> int:
        """Rows per effort."""
        return int(self.counts.sum())


@dataclass(frozen=True)
class Observation:
    """The linear problem Y beta = tau over all recordings.

    names: unknowns; keep, shift: how they come from the model's, beta_model[keep] = beta, the rest (and what is added)
    is known: beta_model = scatter(beta) + shift.
    """

    model: LinearModel
    names: tuple[str, ...]
    records: tuple[Record, ...]
    stream: Stream
    keep: tuple[int, ...]
    shift: Array

    @property
    def count(self) -> int:
        """Number of unknowns."""
        return len(self.names)

    @property
    def samples(self) -> int:
        """Rows per effort, over all recordings."""
        return sum(record.samples for record in self.records)

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the efforts."""
        return self.model.row_names

    @cached_property
    def totals(self) -> Array:
        """One triangle per effort, (efforts, k, k)."""
        return merged(np.stack([record.total for record in self.records]))

    @cached_property
    def blocks(self) -> Array:
        """All block triangles, (blocks, efforts, k, k), recording by recording."""
        return np.concatenate([record.triangles for record in self.records])

    @cached_property
    def largest(self) -> Array:
        """Largest entry of each column and of the effort, (efforts, k)."""
        return np.asarray(np.max([record.largest for record in self.records], axis=0))

    @cached_property
    def effort_rms(self) -> Array:
        """Root mean square of each effort."""
        return np.asarray(np.linalg.norm(self.totals[:, :, -1], axis=1) / np.sqrt(max(self.samples, 1)))

    def triangle(self, sigma: Array | None = None) -> Array:
        """The triangle of all rows, each divided by its effort's noise level."""
        rows = self.totals if sigma is None else self.totals / np.asarray(sigma)[:, None, None]
        return triangle(rows.reshape(-1, rows.shape[-1]))

    def residuals(self, beta: Array, totals: Array | None = None) -> Array:
        """Norm of the residual of each effort, exactly, without the rows."""
        totals = self.totals if totals is None else totals
        return np.asarray(np.linalg.norm(totals @ np.append(-beta, 1.0), axis=1))

    def reduced(self, keep: Sequence[int], known: Array | None = None) -> Observation:
        """The problem for some of the unknowns; the others have the values in `known` (all unknowns; default 0).

        What a kept unknown has in `known` is taken off too: the new unknown is the rest.
        """
        values = np.zeros(self.count) if known is None else np.asarray(known, float)
        T = np.zeros((self.count + 1, len(keep) + 1))
        T[list(keep), range(len(keep))] = 1.0
        T[:-1, -1] = -values
        T[-1, -1] = 1.0
        columns = [*keep, self.count]
        records = tuple(
            replace(r, triangles=triangle(r.triangles @ T), largest=r.largest[:, columns]) for r in self.records
        )
        shift = self.shift.copy()
        shift[list(self.keep)] += values
        stream, has_shift = self.stream, bool(np.any(values))

        def mapped(change: Change | None = None) -> Iterator[Chunk]:
            for c in stream(change):
                yield Chunk(c.record, c.Y[:, :, list(keep)], c.tau - c.Y @ values if has_shift else c.tau)

        kept = tuple(self.keep[k] for k in keep)
        return Observation(self.model, tuple(self.names[k] for k in keep), records, mapped, kept, shift)

    def expand(self, beta: Array) -> Array:
        """Values of all the model's unknowns."""
        full = self.shift.copy()
        full[list(self.keep)] += beta
        return full

    def expand_covariance(self, covariance: Array) -> Array:
        """Covariance of all the model's unknowns; known ones have none."""
        full = np.zeros((self.model.count, self.model.count))
        full[np.ix_(self.keep, self.keep)] = covariance
        return full

    def only(self, records: Sequence[int]) -> Observation:
        """The problem of some of the recordings."""
        stream, where = self.stream, {r: k for k, r in enumerate(records)}

        def chosen(change: Change | None = None) -> Iterator[Chunk]:
            return (replace(c, record=where[c.record]) for c in stream(change) if c.record in where)

        return replace(self, records=tuple(self.records[r] for r in records), stream=chosen)

    def appended(self, other: Observation) -> Observation:
        """The problem with more recordings of the same robot and unknowns."""
        if other.names != self.names or not np.array_equal(other.shift, self.shift):
            raise ShapeError("the two sets of recordings have different unknowns")
        first, second, offset = self.stream, other.stream, len(self.records)

        def both(change: Change | None = None) -> Iterator[Chunk]:
            yield from first(change)
            yield from (replace(c, record=c.record + offset) for c in second(change))

        return replace(self, records=self.records + other.records, stream=both)


def observe(
    model: LinearModel,
    sources: Sequence[Source],
    *,
    names: Sequence[str] | None = None,
    rows: RowFilter | None = None,
    method: str = "qr",
    load: Callable[[Array, Array, Array], Array] | None = None,
    blocks: int = BLOCKS,
) -> Observation:
    """Stream recordings into triangles.

    rows: filter and decimation of both sides.  method: "qr", or "gram" (preconditioned normal equations, faster on long
    logs).  load(q, qd, qdd): efforts the links ask for, for load-dependent effects.
    """
    if not sources:
        raise MinertiaError("there is no recording to identify from")
    if method not in ("qr", "gram"):
        raise MinertiaError(f"there is no method '{method}' to accumulate with; use 'qr' or 'gram'")
    titles = tuple(names) if names is not None else tuple(f"recording {k + 1}" for k in range(len(sources)))

    def stream(change: Change | None = None) -> Iterator[Chunk]:
        for k, source in enumerate(sources):
            for part in sections(source):
                section = part if change is None else change(part)
                for Y, tau in _section_rows(model, section, rows, load, titles[k]):
                    yield Chunk(k, Y, tau)

    with one_thread():
        records = [
            _record(model, source, title, rows, load, method, blocks)
            for source, title in zip(sources, titles, strict=True)
        ]
    return Observation(model, model.names, tuple(records), stream, tuple(range(model.count)), np.zeros(model.count))


def sections(source: Source) -> Iterator[MotionLike]:
    """The sections of a recording."""
    if hasattr(source, "tau"):
        yield cast(MotionLike, source)
    else:
        yield from source


def _record(
    model: LinearModel,
    source: Source,
    title: str,
    rows: RowFilter | None,
    load: Callable[[Array, Array, Array], Array] | None,
    method: str,
    blocks: int,
) -> Record:
    """One pass over a recording."""
    store: Accumulator | None = None
    largest = np.zeros((len(model.rows), model.count + 1))
    still = set(range(model.robot.n))
    for section in sections(source):
        if store is None:
            expected = len(section.t) if rows is None else len(range(*cast(Any, section).keep))
            store = Accumulator(max(SHORTEST_BLOCK, -(-expected // blocks)), blocks, method)
        still &= set(_still(model, np.asarray(section.q, float)))
        for Y, tau in _section_rows(model, section, rows, load, title):
            both = np.concatenate([Y, tau[:, :, None]], axis=2)
            largest = np.maximum(largest, np.abs(both).max(axis=0))
            store.add(both)
    if store is None or (not store.done and not store.pending):
        raise MinertiaError(f"{title}: no sample is left after the filter")
    triangles, counts = store.finish()
    return Record(title, triangles, counts, largest, tuple(sorted(still)))


def _section_rows(
    model: LinearModel,
    section: MotionLike,
    rows: RowFilter | None,
    load: Callable[[Array, Array, Array], Array] | None,
    title: str,
) -> Iterator[tuple[Array, Array]]:
    """Y and tau of a section, a chunk at a time; both sides filtered and decimated alike."""
    q, qd, qdd, tau = _checked(model, section, title)
    for j in _still(model, q):  # what a still joint seems to move is noise
        first, offset = 6 * model.robot.is_floating + j, 7 * model.robot.is_floating + j
        qd[:, first] = qdd[:, first] = 0.0
        q[:, offset] = q[:, offset].mean()
    state = (q, qd, qdd, tau)
    for part, (q, qd, qdd, tau) in _parts(section, state, rows):
        asked = None if load is None else load(q, qd, qdd)
        Y = block_columns(model, q, qd, qdd, asked)
        effort = tau[:, list(model.rows)]
        if rows is not None:
            flat = rows(part, np.concatenate([Y.reshape(len(Y), -1), effort], axis=1))
            Y, effort = flat[:, : -effort.shape[1]].reshape(-1, *Y.shape[1:]), flat[:, -effort.shape[1] :]
        yield Y, effort


def _parts(section: Any, state: tuple[Array, ...], rows: RowFilter | None) -> Iterator[tuple[Any, tuple[Array, ...]]]:
    """Pieces of a section whose columns fit in memory, each with the samples its filter needs around it."""
    n = len(state[0])
    if rows is None:
        for start in range(0, n, CHUNK):
            yield section, tuple(a[start : start + CHUNK] for a in state)
        return
    first, stop, step = section.keep
    halo = rows.halo(section)
    size = max(max(CHUNK, 8 * halo) // step, 1) * step
    for start in range(first, stop, size):
        end = min(start + size, stop)
        a, b = max(start - halo, 0), min(end + halo, n)
        arrays = tuple(x[a:b] for x in state)
        named = dict(zip(("q", "qd", "qdd", "tau"), arrays, strict=True))
        yield replace(section, t=section.t[a:b], **named, keep=(start - a, end - a, step)), arrays


def block_columns(model: LinearModel, q: Array, qd: Array, qdd: Array, load: Array | None) -> Array:
    """Columns of a block of samples: the one place where a compiled kernel takes over from NumPy."""
    return model.columns(q, qd, qdd, load)


def _still(model: LinearModel, q: Array) -> list[int]:
    own = q[:, 7 * model.robot.is_floating :]
    return [j for j in range(model.robot.n) if np.ptp(own[:, j]) < STILL]


def _checked(model: LinearModel, section: MotionLike, title: str) -> tuple[Array, Array, Array, Array]:
    robot, samples = model.robot, len(section.t)
    result = []
    for name, width in (
        ("q", robot.n_position),
        ("qd", robot.n_velocity),
        ("qdd", robot.n_velocity),
        ("tau", robot.n_velocity),
    ):
        array = np.array(getattr(section, name), dtype=float)
        if array.shape != (samples, width):
            raise ShapeError(
                f"{title}: {name} has shape {array.shape}; '{robot.name}' needs ({samples}, {width}), samples first"
            )
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            raise MinertiaError(f"{title}: {name} of joint {bad[0][1] + 1} is not a number at sample {bad[0][0] + 1}")
        result.append(array)
    return result[0], result[1], result[2], result[3]
