"""Mergeable evidence of a robot's logs: one triangular factor per effort over the columns that act on it.

Rows are [columns | effort] of a superset of columns, chosen once per robot type.  Subsets of columns, known values,
weights of efforts, forgetting and merging act on the factors exactly as on the rows.  Statistics of time blocks of
a log provide standard deviations under correlated residuals.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from minertia.fleet.stretch_spread import score_spread, triangle_spread
from minertia.identification.evidence.intervals import Spread
from minertia.identification.problem.triangles import folded, upright
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError, ShapeError, UnknownName
from minertia.io.notebook import plural
from minertia.io.resources import one_thread

TRUNCATED = 1e-9  # of the largest singular value, columns scaled to length 1: what the superset fit leaves out
LEFT_OUT = 0.1  # of the squared residual: what columns left out may explain before deviations from scores are in doubt


@dataclass(frozen=True)
class EvidenceLayout:
    """Superset of columns and the columns of each effort.

    names: the superset of columns.  efforts: names of the efforts (joints).  seen: for each effort, the indices of its
    columns in ascending order.
    """

    names: tuple[str, ...]
    efforts: tuple[str, ...]
    seen: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.names):
            raise MinertiaError("two columns of the record have the same name; give each column a unique name")
        if len(self.seen) != len(self.efforts):
            raise ShapeError(f"there are {len(self.efforts)} efforts, but column indices for {len(self.seen)}")
        for effort, own in zip(self.efforts, self.seen, strict=True):
            if list(own) != sorted(set(own)) or (own and not (own[0] >= 0 and own[-1] < len(self.names))):
                raise ShapeError(
                    f"the columns of effort '{effort}' must be ascending indices of the {len(self.names)} names"
                )

    def __repr__(self) -> str:
        return f"<EvidenceLayout of {plural(len(self.names), 'column')} and {plural(len(self.efforts), 'effort')}>"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of columns of each effort's triangular factor, including the effort."""
        return tuple(len(own) + 1 for own in self.seen)

    @property
    def packed_length(self) -> int:
        """Number of values in the packed triangular factors."""
        return sum(k * (k + 1) // 2 for k in self.sizes)

    def index(self, name: str) -> int:
        """Index of a column."""
        if name not in self._places:
            raise UnknownName("column", name, self.names)
        return self._places[name]

    @cached_property
    def titles(self) -> tuple[tuple[str, ...], ...]:
        """Names of the columns of each effort."""
        return tuple(tuple(self.names[c] for c in own) for own in self.seen)

    def shares(self, names: Collection[str]) -> bool:
        """Whether one of these columns acts on several efforts."""
        shown = [name for titles in self.titles for name in titles if name in names]
        return len(set(shown)) < len(shown)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.names)}

    def chosen(self, names: Sequence[str]) -> tuple[EvidenceLayout, tuple[tuple[int, ...], ...]]:
        """Layout of some columns in the order given, and for each effort their indices in the old layout."""
        return _chosen(self, tuple(names))


@lru_cache(maxsize=64)  # robots of a type ask the same
def _chosen(layout: EvidenceLayout, names: tuple[str, ...]) -> tuple[EvidenceLayout, tuple[tuple[int, ...], ...]]:
    wanted = [layout.index(name) for name in names]
    seen, places = [], []
    for own in layout.seen:
        where = {column: k for k, column in enumerate(own)}
        seen.append(tuple(k for k, column in enumerate(wanted) if column in where))
        places.append(tuple(where[column] for column in wanted if column in where))
    return EvidenceLayout(names, layout.efforts, tuple(seen)), tuple(places)


@dataclass(frozen=True)
class Stretches:
    """Statistics of the time blocks of a log, for standard deviations under correlated residuals, for any columns.

    scores, diagonals: for each effort (B, columns), float32: W_b'(y_b - W_b beta0) at the fit beta0 of this
    log with all columns, and diag(W_b'W_b).  counts (B,): samples of each block.  correlation (efforts,):
    autocorrelation time of the residuals [samples].  rest (efforts,): squared residual of each effort at
    beta0, over all blocks.  triangles: for each effort, triangular factors (blocks, any, columns + 1) of
    fewer blocks, the effort last; None if not stored.
    """

    scores: tuple[NDArray[np.float32], ...]
    diagonals: tuple[NDArray[np.float32], ...]
    counts: Array
    correlation: Array
    rest: Array
    triangles: tuple[Array, ...] | None = None

    def __repr__(self) -> str:
        return f"<Stretches: {len(self.counts)} of {int(np.sum(self.counts))} samples in all>"

    def chosen(self, places: Sequence[Sequence[int]]) -> Stretches:
        """Statistics of some columns of each effort."""
        scores = tuple(s[:, list(own)] for s, own in zip(self.scores, places, strict=True))
        diagonals = tuple(g[:, list(own)] for g, own in zip(self.diagonals, places, strict=True))
        triangles = self._mapped(lambda i, R: R[..., [*places[i], R.shape[-1] - 1]])
        return replace(self, scores=scores, diagonals=diagonals, triangles=triangles)

    def fixed(self, known: Sequence[Array]) -> Stretches:
        """Statistics of efforts after subtraction of columns with these values.

        Scores are unchanged, as they belong to the residual of the log's fit.
        """
        return replace(
            self,
            triangles=self._mapped(
                lambda i, R: np.concatenate([R[..., :-1], R[..., -1:] - R[..., :-1] @ known[i][:, None]], axis=-1)
            ),
        )

    def _mapped(self, change: Callable[[int, Array], Array]) -> tuple[Array, ...] | None:
        return None if self.triangles is None else tuple(change(i, R) for i, R in enumerate(self.triangles))

    def scaled(self, factor: Array) -> Stretches:
        """Statistics of rows whose squares are scaled by a factor, (efforts,)."""
        scores = tuple((s * f).astype(np.float32) for s, f in zip(self.scores, factor, strict=True))
        diagonals = tuple((g * f).astype(np.float32) for g, f in zip(self.diagonals, factor, strict=True))
        triangles = self._mapped(lambda i, R: R * np.sqrt(factor[i]))
        return replace(self, scores=scores, diagonals=diagonals, rest=self.rest * factor, triangles=triangles)

    def joined(self, other: Stretches) -> Stretches:
        """Concatenated statistics of two logs."""
        share = np.sum(self.counts) / max(np.sum(self.counts) + np.sum(other.counts), 1.0)
        return Stretches(
            tuple(np.concatenate(pair) for pair in zip(self.scores, other.scores, strict=True)),
            tuple(np.concatenate(pair) for pair in zip(self.diagonals, other.diagonals, strict=True)),
            np.concatenate([self.counts, other.counts]),
            share * self.correlation + (1 - share) * other.correlation,
            self.rest + other.rest,
            None
            if self.triangles is None or other.triangles is None
            else tuple(np.concatenate(pair) for pair in zip(self.triangles, other.triangles, strict=True)),
        )


@dataclass(frozen=True)
class FleetEvidence:
    """Triangular factors of [columns | effort] per effort, over the columns that act on it, diagonals not negative.

    triangles: (k_i, k_i) for each effort, the effort last.  samples (efforts,): number of rows of each (not an integer
    after forgetting).  stretches: statistics of time blocks, None if not stored.
    """

    layout: EvidenceLayout
    triangles: tuple[Array, ...]
    samples: Array
    stretches: Stretches | None = None

    def __post_init__(self) -> None:
        sizes = tuple(R.shape for R in self.triangles)
        if sizes != tuple((k, k) for k in self.layout.sizes) or np.shape(self.samples) != (len(sizes),):
            raise ShapeError(
                f"the triangular factors have the shapes {sizes}, but their layout requires {self.layout.sizes}"
            )

    def __repr__(self) -> str:
        rows = int(np.max(self.samples, initial=0.0))
        kept = (
            "no stretches"
            if self.stretches is None
            else plural(len(self.stretches.counts), "stretch").replace("hs", "hes")
        )
        return f"<FleetEvidence of {plural(len(self.layout.names), 'column')}: {plural(rows, 'sample')}, {kept}>"

    # ------------------------------------------------------------------ from and to numbers

    @classmethod
    def empty(cls, layout: EvidenceLayout) -> FleetEvidence:
        """Evidence of no rows."""
        return cls(layout, tuple(np.zeros((k, k)) for k in layout.sizes), np.zeros(len(layout.efforts)))

    @classmethod
    def of_rows(cls, layout: EvidenceLayout, rows: Sequence[Array]) -> FleetEvidence:
        """Evidence of rows [columns | effort] of each effort, (N_i, k_i)."""
        with one_thread():
            triangles = tuple(upright(np.asarray(own, float)) for own in rows)
        return cls(layout, triangles, np.array([float(len(own)) for own in rows]))

    def packed(self) -> Array:
        """Upper triangles in one vector, by efforts and rows."""
        parts = [R[np.triu_indices(len(R))] for R in self.triangles]
        return np.concatenate(parts) if parts else np.zeros(0)

    @classmethod
    def unpacked(
        cls, layout: EvidenceLayout, numbers: Array, samples: Array, stretches: Stretches | None = None
    ) -> FleetEvidence:
        """Evidence from packed triangular factors."""
        numbers = np.asarray(numbers, float)
        if numbers.shape != (layout.packed_length,):
            raise ShapeError(
                f"packed triangular factors of this layout are {layout.packed_length} numbers, not {numbers.shape}"
            )
        triangles, done = [], 0
        for k in layout.sizes:
            R, count = np.zeros((k, k)), k * (k + 1) // 2
            R[np.triu_indices(k)] = numbers[done : done + count]
            triangles.append(R)
            done += count
        return cls(layout, tuple(triangles), np.asarray(samples, float), stretches)

    def without_stretches(self) -> FleetEvidence:
        """Evidence without the statistics of time blocks."""
        return replace(self, stretches=None)

    # ------------------------------------------------------------------ choosing, weighing, merging

    def columns(self, names: Sequence[str]) -> FleetEvidence:
        """Evidence on some columns, in the order given; the values of the others are 0."""
        layout, places = self.layout.chosen(names)
        with one_thread():
            triangles = tuple(upright(R[:, [*own, len(R) - 1]]) for R, own in zip(self.triangles, places, strict=True))
        stretches = None if self.stretches is None else self.stretches.chosen(places)
        return FleetEvidence(layout, triangles, self.samples, stretches)

    def fixed(self, values: Mapping[str, float]) -> FleetEvidence:
        """Evidence on the other columns, with the columns in `values` fixed at these known values."""
        known = np.zeros(len(self.layout.names))
        for name, value in values.items():
            known[self.layout.index(name)] = value
        mine = [known[list(own)] for own in self.layout.seen]
        triangles = []
        for R, own in zip(self.triangles, mine, strict=True):
            taken = R.copy()
            taken[:, -1] -= R[:, :-1] @ own
            triangles.append(taken)
        stretches = None if self.stretches is None else self.stretches.fixed(mine)
        shifted = replace(self, triangles=tuple(triangles), stretches=stretches)
        return shifted.columns([name for name in self.layout.names if name not in values])

    def weighted(self, sigma: Array) -> FleetEvidence:
        """Evidence of the rows divided by their effort's noise level, (efforts,)."""
        level = np.asarray(sigma, float)
        if level.shape != (len(self.triangles),) or not np.all(level > 0):
            raise ShapeError(f"noise levels must be {len(self.triangles)} positive numbers, one per effort")
        triangles = tuple(R / s for R, s in zip(self.triangles, level, strict=True))
        stretches = None if self.stretches is None else self.stretches.scaled(level**-2)
        return FleetEvidence(self.layout, triangles, self.samples, stretches)

    def forgotten(self, keep: float) -> FleetEvidence:
        """Evidence weighted by a forgetting factor; applied on request, never stored."""
        if not 0 < keep <= 1:
            raise MinertiaError(f"the retained fraction must be between 0 and 1, not {keep:g}")
        triangles = tuple(np.sqrt(keep) * R for R in self.triangles)
        factor = np.full(len(triangles), float(keep))
        stretches = None if self.stretches is None else self.stretches.scaled(factor)
        return FleetEvidence(self.layout, triangles, self.samples * keep, stretches)

    def merged(self, other: FleetEvidence) -> FleetEvidence:
        """Merged evidence of both; statistics of time blocks are kept if both have them.

        Rounding errors depend on the order: `calendar` merges in an order determined only by the dates.
        """
        if other.layout != self.layout:
            raise MinertiaError(
                "records with different columns cannot be merged; select the same columns of both first"
            )
        with one_thread():
            triangles = tuple(folded(R, own) for R, own in zip(self.triangles, other.triangles, strict=True))
        both = self.stretches is not None and other.stretches is not None
        stretches = self.stretches.joined(other.stretches) if both else None  # type: ignore[union-attr, arg-type]
        return FleetEvidence(self.layout, triangles, self.samples + other.samples, stretches)

    # ------------------------------------------------------------------ asking

    @cached_property
    def total(self) -> Array:
        """Triangular factor (k+1, k+1) of all efforts' rows over all names, the effort last."""
        with one_thread():
            return upright(joined_rows(self.layout, self.triangles))

    def residuals(self, beta: Array) -> Array:
        """Squared residual of each effort at values of all columns, exactly, without the rows."""
        parts = zip(self.triangles, self.layout.seen, strict=True)
        return np.array([float(np.sum((R @ np.append(-beta[list(own)], 1.0)) ** 2)) for R, own in parts])

    def superset_fit(self) -> Array:
        """Truncated least-squares values of all columns at which scores are taken, for any column subset.

        Efforts are weighted by their noise, in two iterations.  Only the residual at these values is meaningful.
        """
        sizes = np.array([float(np.sum(R[:, -1] ** 2)) for R in self.triangles])
        rows = np.maximum(self.samples, 1.0)
        floor = 1e-20 * np.maximum(sizes.max(initial=0.0), 1e-300)
        variance = np.maximum(sizes, floor) / rows
        beta = np.zeros(len(self.layout.names))
        for _ in range(2):
            R = self.weighted(np.sqrt(variance)).without_stretches().total
            beta = truncated(R)
            variance = np.maximum(self.residuals(beta), floor) / rows
        return beta

    def with_stretches(
        self,
        scores: Sequence[NDArray[np.float32]],
        diagonals: Sequence[NDArray[np.float32]],
        counts: Array,
        correlation: Array,
        beta: Array,
    ) -> FleetEvidence:
        """Evidence with statistics of time blocks whose scores were taken at these values of all columns."""
        stretches = Stretches(
            tuple(np.asarray(s, np.float32) for s in scores),
            tuple(np.asarray(g, np.float32) for g in diagonals),
            np.asarray(counts, float),
            np.asarray(correlation, float),
            self.residuals(beta),
        )
        return replace(self, stretches=stretches)

    def with_stretch_triangles(self, triangles: Sequence[Array]) -> FleetEvidence:
        """Evidence with triangular factors (blocks, k_i, k_i) of a few time blocks, in 32 bits as in records."""
        assert self.stretches is not None
        kept = tuple(np.asarray(R, np.float32).astype(float) for R in triangles)
        return replace(self, stretches=replace(self.stretches, triangles=kept))

    def unexplained(self, beta: Array) -> float:
        """Relative increase of the squared residual at beta over that of the superset fit.

        It measures the contribution of excluded columns.  If it exceeds `LEFT_OUT`, standard deviations from
        scores are unreliable, as scores belong to the superset fit; those from factors of time blocks are not
        affected.
        """
        if self.stretches is None:
            raise MinertiaError("this record has no time blocks; standard deviations need records that contain them")
        rest = float(np.sum(self.stretches.rest))
        return max(float(np.sum(self.residuals(beta))) / max(rest, 1e-300) - 1.0, 0.0)

    def spread(self, sigma: Array | None = None) -> Spread:
        """Covariance of the values of all columns, from the time blocks of one day: their factors, else scores.

        sigma: noise levels of efforts, if the evidence is not weighted yet.  Blocks of different days must not be
        pooled: day effects, which they share within a day, would be taken for noise that averages out.
        """
        if self.stretches is None:
            raise MinertiaError("this record has no time blocks; standard deviations need records that contain them")
        own = self if sigma is None else self.weighted(sigma)
        assert own.stretches is not None
        kept = own.stretches
        length = max(int(np.median(kept.correlation)), 1) if len(kept.correlation) else 1
        if kept.triangles is not None:
            return triangle_spread(own.total, joined_rows(own.layout, kept.triangles), length)
        return score_spread(own.total, *_gathered(own.layout, kept), length)


def truncated(R: Array) -> Array:
    """Truncated least-squares solution of a triangular factor of [W tau], without unidentifiable directions."""
    A, b = R[:-1, :-1], R[:-1, -1]
    lengths = np.linalg.norm(A, axis=0)
    lengths = np.where(lengths > 0, lengths, 1.0)
    with one_thread():
        return np.asarray(np.linalg.lstsq(A / lengths, b, rcond=TRUNCATED)[0] / lengths)


def joined_rows(layout: EvidenceLayout, parts: Sequence[Array]) -> Array:
    """Rows (..., n_i, k_i) of all efforts as rows (..., all, names + 1) over all names, the effort last."""
    k = len(layout.names)
    rows, done = np.zeros((*parts[0].shape[:-2], sum(R.shape[-2] for R in parts), k + 1)), 0
    for R, own in zip(parts, layout.seen, strict=True):
        rows[..., done : done + R.shape[-2], [*own, k]] = R
        done += R.shape[-2]
    return rows


def _gathered(layout: EvidenceLayout, stretches: Stretches) -> tuple[Array, Array]:
    """Scores z_b and information g_b of the names, summed over efforts, (B, names) each."""
    z = np.zeros((len(stretches.counts), len(layout.names)))
    g = np.zeros_like(z)
    for score, diagonal, own in zip(stretches.scores, stretches.diagonals, layout.seen, strict=True):
        z[:, list(own)] += score
        g[:, list(own)] += diagonal
    return z, g
