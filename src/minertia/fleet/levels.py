"""Three levels of unknowns: of the type (inertial), of a robot (temperature, load, slow speeds), of a day (friction).

Levels are taken off from below: what is left of a day's rows when its own columns are projected out goes up to its
robot, what is left of those to the type; values come back down.  As days are free, a robot's coefficients are learnt
from contrasts within days only, and a drift cannot leak into them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from minertia.errors import MinertiaError, ShapeError
from minertia.fleet.evidence import EvidenceLayout, FleetEvidence, upright
from minertia.identification.problem.linear import symbol_of
from minertia.notebook import plural
from minertia.threads import one_thread

Array = NDArray[np.float64]
DAY = ("FV", "FC", "OFF")
ROBOT = ("FVA", "FVQ", "FS", "FCL", "FVK", "FCK", "FVKK", "KS")
VISCOUS, DRY = ("FV", "FVK", "FVKK"), ("FC", "FCK", "FS", "FCL")  # families that wear scales as wholes
THERMAL = ("FVK", "FCK", "FVKK")
LOAD = "load"  # name of the column of a load at the flange [kg]; more of them are its first moments
LOADS = (LOAD, "load x", "load y", "load z")
RANK = 1e-6  # of a column's length: less than that beside the columns before it is nothing
RIDGE = 1e-10  # on columns scaled to length 1: what is not shown at all gets a deviation that says so
SHOWN = 1e-7  # of the largest singular value, columns scaled to length 1


@dataclass(frozen=True)
class Levels:
    """Names of the columns of each level.

    load (type's columns, any): 1 kg at the flange and, where the load's centre is not known, its first moments, in
    terms of the type's columns; None: robots carry none that differs.
    """

    day: tuple[str, ...]
    robot: tuple[str, ...]
    type: tuple[str, ...]
    load: Array | None = None

    @classmethod
    def of(cls, layout: EvidenceLayout, symbols: Sequence[str] | None = None, load: Array | None = None) -> Levels:
        """Levels by the symbols of columns, of all own columns or of these alone."""
        own = [n for n in layout.names if symbol_of(n) in (*DAY, *ROBOT)]
        wanted = own if symbols is None else [n for n in own if symbol_of(n) in symbols]
        inertial = tuple(n for n in layout.names if n not in own)
        if load is not None:
            load = np.asarray(load, float).reshape(len(load), -1)
            if len(load) != len(inertial) or load.shape[1] > len(LOADS):
                raise ShapeError(f"a load is {len(inertial)} numbers, one for each inertial column, not {len(load)}")
        day = tuple(n for n in wanted if symbol_of(n) in DAY)
        return cls(day, tuple(n for n in wanted if n not in day), inertial, load)

    @property
    def loads(self) -> tuple[str, ...]:
        """Names of the columns of the load."""
        return () if self.load is None else LOADS[: self.load.shape[1]]


@dataclass(frozen=True)
class DayStack:
    """Rows of the days of one robot, effort by effort: (D, any, k_i), the effort last; days in ascending order."""

    layout: EvidenceLayout
    days: tuple[int, ...]
    rows: tuple[Array, ...]
    samples: Array  # (D, efforts)

    def __repr__(self) -> str:
        return f"<DayStack of {plural(len(self.days), 'day')}: {plural(len(self.layout.names), 'column')}>"

    @classmethod
    def of(cls, days: Mapping[int, FleetEvidence]) -> DayStack:
        """The triangles of days by number."""
        if not days:
            raise MinertiaError("there is no day with evidence to fit; add logs first")
        order = sorted(days)
        layout = days[order[0]].layout
        if any(days[d].layout != layout for d in order):
            raise MinertiaError("the days have evidence on different columns; add their logs with one set of columns")
        rows = tuple(np.stack([days[d].triangles[i] for d in order]) for i in range(len(layout.efforts)))
        return cls(layout, tuple(order), rows, np.stack([days[d].samples for d in order]))

    @classmethod
    def of_packed(cls, layout: EvidenceLayout, days: Sequence[int], packed: Array, samples: Array) -> DayStack:
        """The same from packed triangles (D, numbers) and samples (D, efforts), as stores hold them."""
        order = np.argsort(days, kind="stable")
        packed, rows, done = np.asarray(packed, float)[order], [], 0
        for k in layout.sizes:
            R, count = np.zeros((len(order), k, k)), k * (k + 1) // 2
            upper = np.triu_indices(k)
            R[:, upper[0], upper[1]] = packed[:, done : done + count]
            rows.append(R)
            done += count
        return cls(layout, tuple(int(days[k]) for k in order), tuple(rows), np.asarray(samples, float)[order])

    def noise(self) -> Array:
        """Noise level of each effort with all columns: what triangles leave last over the samples."""
        left = np.array([np.sum(R[:, -1, -1] ** 2) for R in self.rows])
        return np.asarray(np.sqrt(left / np.maximum(self.samples.sum(axis=0), 1.0)))

    def only(self, first: int, last: int) -> DayStack:
        """The days from first to last."""
        kept = [k for k, d in enumerate(self.days) if first <= d <= last]
        rows = tuple(R[kept] for R in self.rows)
        return DayStack(self.layout, tuple(self.days[k] for k in kept), rows, self.samples[kept])

    def forgotten(self, half_life: float) -> DayStack:
        """Days that count by half for each half-life [days] before the last."""
        weight = 0.5 ** ((self.days[-1] - np.array(self.days)) / half_life)
        rows = tuple(R * np.sqrt(weight)[:, None, None] for R in self.rows)
        return replace(self, rows=rows, samples=self.samples * weight[:, None])

    def columns(self, names: Sequence[str]) -> DayStack:
        """Some of the columns, in the order given."""
        layout, places = self.layout.chosen(names)
        rows = tuple(R[:, :, [*own, R.shape[2] - 1]] for R, own in zip(self.rows, places, strict=True))
        return DayStack(layout, self.days, rows, self.samples)

    def prepared(self, levels: Levels, sigma: Array) -> DayStack:
        """The columns of all levels, those of the load last, over the noise of each effort."""
        names = (*levels.day, *levels.robot, *levels.type)
        layout, places = self.layout.chosen(names)
        first, loads = len(levels.day) + len(levels.robot), len(levels.loads)
        rows, seen = [], []
        for R, own, new, s in zip(self.rows, places, layout.seen, sigma, strict=True):
            chosen = R[:, :, [*own, R.shape[2] - 1]]
            chosen /= s
            inertial = [k for k, c in enumerate(new) if c >= first]
            part = np.zeros((0, 0)) if levels.load is None else levels.load[[new[k] - first for k in inertial]]
            if not np.any(part):
                rows.append(chosen)
                seen.append(new)
                continue
            wide = np.empty((*chosen.shape[:2], chosen.shape[2] + loads))
            wide[:, :, : len(new)] = chosen[:, :, :-1]
            wide[:, :, len(new) : -1] = chosen[:, :, inertial] @ part
            wide[:, :, -1] = chosen[:, :, -1]
            rows.append(wide)
            seen.append((*new, *range(len(names), len(names) + loads)))
        whole = EvidenceLayout((*names, *levels.loads), self.layout.efforts, tuple(seen))
        return DayStack(whole, self.days, tuple(rows), self.samples)

    def weighted(self, sigma: Array) -> DayStack:
        """Rows over the noise of their effort."""
        return replace(self, rows=tuple(R / s for R, s in zip(self.rows, sigma, strict=True)))

    def joined(self) -> DayStack:
        """All efforts as one, over all names: where a column that is taken off belongs to several efforts."""
        k = len(self.layout.names)
        rows = np.zeros((len(self.days), sum(R.shape[1] for R in self.rows), k + 1))
        done = 0
        for R, own in zip(self.rows, self.layout.seen, strict=True):
            rows[:, done : done + R.shape[1], [*own, k]] = R
            done += R.shape[1]
        layout = EvidenceLayout(self.layout.names, ("all",), (tuple(range(k)),))
        return DayStack(layout, self.days, (rows,), self.samples.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Head:
    """What gives columns that were taken off their values back: R own = H [rest | effort], effort by effort."""

    names: tuple[tuple[str, ...], ...]
    R: tuple[Array, ...]  # (..., e, e)
    H: tuple[Array, ...]  # (..., e, k)
    rest: tuple[tuple[str, ...], ...]  # names of the k - 1 columns

    def values(self, above: Mapping[str, float]) -> dict[str, Array]:
        """Values of the columns, (...,) each, where those above have these."""
        found: dict[str, Array] = {}
        for names, R, H, rest in zip(self.names, self.R, self.H, self.rest, strict=True):
            if names:
                known = np.array([-above[name] for name in rest] + [1.0])
                own = _solved(R, H @ known)
                found |= {name: own[..., k] for k, name in enumerate(names)}
        return found


def projected(stack: DayStack, names: Sequence[str]) -> tuple[DayStack, Head]:
    """What is left of the rows when columns, free on each day, are projected out, and what gives their values back."""
    wanted = set(names)
    counts = [sum(c in own for own in stack.layout.seen) for c, n in enumerate(stack.layout.names) if n in wanted]
    if max(counts, default=0) > 1 and len(stack.rows) > 1:
        stack = stack.joined()
    above = [n for n in stack.layout.names if n not in wanted]
    layout, places = stack.layout.chosen(above)
    rows, own_names, Rs, Hs, rests = [], [], [], [], []
    for B, seen, kept, new in zip(stack.rows, stack.layout.seen, places, layout.seen, strict=True):
        gone = [k for k in range(len(seen)) if k not in set(kept)]
        rest = B[:, :, [*kept, B.shape[2] - 1]]
        if gone:
            usual = np.einsum("dnk,dnk->k", rest, rest)
            Q, R = _basis(B[:, :, gone])
            H = np.swapaxes(Q, 1, 2) @ rest
            rest -= Q @ H
            _clear(rest, usual)
        else:
            R, H = np.zeros((len(B), 0, 0)), np.zeros((len(B), 0, rest.shape[2]))
        rows.append(rest)
        own_names.append(tuple(stack.layout.names[seen[k]] for k in gone))
        Rs.append(R)
        Hs.append(H)
        rests.append(tuple(above[c] for c in new))
    head = Head(tuple(own_names), tuple(Rs), tuple(Hs), tuple(rests))
    return DayStack(layout, stack.days, tuple(rows), stack.samples), head


def _clear(left: Array, usual: Array) -> None:
    """Set columns of which next to nothing is left to zero: rounding must not pass for a direction."""
    dead = np.einsum("dnk,dnk->k", left, left) <= RANK**2 * usual
    dead[-1] = False  # an effort may be explained completely
    if dead.any():
        left[:, :, dead] = 0.0


def _basis(X: Array) -> tuple[Array, Array]:
    """Orthogonal columns that span those of X (D, N, e), and R with X = Q R; columns that add nothing are zero in both.

    Column by column where some add nothing: Householder's way would span other directions in their place, and take
    those off the rows.
    """
    lengths = np.linalg.norm(X, axis=1)
    if X.shape[2] == 0:
        return X, np.zeros((len(X), 0, 0))
    Q, R = np.linalg.qr(X)
    if np.all(np.abs(np.einsum("dii->di", R)) > RANK * np.maximum(lengths, 1e-300)):
        return Q, R
    Q, R = np.zeros(X.shape), np.zeros((len(X), X.shape[2], X.shape[2]))
    for k in range(X.shape[2]):
        v = X[:, :, k]
        for _ in range(2):  # twice is enough
            part = np.einsum("dnj,dn->dj", Q[:, :, :k], v)
            v = v - np.einsum("dnj,dj->dn", Q[:, :, :k], part)
            R[:, :k, k] += part
        size = np.linalg.norm(v, axis=1)
        alive = size > RANK * np.maximum(lengths[:, k], 1e-300)
        R[:, k, k] = np.where(alive, size, 0.0)
        Q[:, :, k] = np.where(alive[:, None], v / np.where(alive, size, 1.0)[:, None], 0.0)
    return Q, R


def _solved(R: Array, b: Array) -> Array:
    """R x = b for triangles (..., e, e) some rows of which may be zero: their values are NaN."""
    if np.all(np.einsum("...ii->...i", R) != 0):
        return np.asarray(np.linalg.solve(R, b[..., None])[..., 0])
    x = np.full(b.shape, np.nan)
    for k in range(R.shape[-1] - 1, -1, -1):
        rest = b[..., k] - np.einsum("...j,...j->...", R[..., k, k + 1 :], np.nan_to_num(x[..., k + 1 :]))
        pivot = R[..., k, k]
        x[..., k] = np.where(pivot != 0, rest / np.where(pivot != 0, pivot, 1.0), np.nan)
    return x


def noise_levels(stacks: Iterable[DayStack]) -> Array:
    """Noise of each effort: the median of the robots that show it; 1 where none does."""
    found = np.array([stack.noise() for stack in stacks])
    levels = [np.median(own[own > 0]) if np.any(own > 0) else 1.0 for own in found.T]
    return np.array(levels, float)


def merged_stack(stack: DayStack) -> FleetEvidence:
    """Evidence of all rows, whatever day they are of."""
    triangles = tuple(upright(R.reshape(-1, R.shape[2])) for R in stack.rows)
    return FleetEvidence(stack.layout, triangles, stack.samples.sum(axis=0))


@dataclass(frozen=True)
class RobotSums:
    """A robot with days and own coefficients taken off: what goes up to its type, and the way back.

    names, covariance: of the robot's own values (and the load), days as clusters, the type's values known.  up:
    evidence over the type's columns.  heads: of the days, of the robot's columns and of the load.
    """

    days: tuple[int, ...]
    names: tuple[str, ...]
    covariance: Array
    up: FleetEvidence
    day_head: Head
    own_head: Head
    load_head: Head | None


def robot_sums(stack: DayStack, levels: Levels, sigma: Array) -> RobotSums:
    """Take the two lower levels off the days of one robot."""
    with one_thread():
        left, day_head = projected(stack.prepared(levels, sigma), levels.day)
        merged = merged_stack(left)
        names = tuple(n for n in left.layout.names if n not in set(levels.type))
        covariance = _day_clusters(left, merged, names)
        above, own_head = projected(as_stack(merged), levels.robot)
        load_head = None
        if levels.load is not None:
            above, load_head = projected(above, levels.loads)
        return RobotSums(stack.days, names, covariance, merged_stack(above), day_head, own_head, load_head)


def as_stack(evidence: FleetEvidence) -> DayStack:
    """Evidence as that of a single day."""
    return DayStack(evidence.layout, (0,), tuple(R[None] for R in evidence.triangles), evidence.samples[None])


@dataclass(frozen=True)
class TypeValues:
    """Values of the type's columns with their covariance, robots as clusters; triangle: of [type | effort]."""

    names: tuple[str, ...]
    values: Array
    covariance: Array
    triangle: Array
    rows: float
    robots: int

    def by_name(self) -> dict[str, float]:
        """Values by name."""
        return dict(zip(self.names, self.values.tolist(), strict=True))


def type_values(sums: Sequence[RobotSums]) -> TypeValues:
    """The level of the type from what robots sent up, in the order given."""
    if not sums:
        raise MinertiaError("there is no robot to fit the type from")
    with one_thread():
        totals = np.stack([own.up.total for own in sums])
        R = upright(totals.reshape(-1, totals.shape[2]))
        beta, inv = shown_solution(R)
        if len(sums) > 2:
            e = totals[:, :, -1] - totals[:, :, :-1] @ beta
            z = np.einsum("nrk,nr->nk", totals[:, :, :-1], e) @ (inv @ inv.T)
            covariance = z.T @ z * len(sums) / (len(sums) - 1)
        else:
            covariance = inv @ inv.T
    rows = float(sum(own.up.samples.sum() for own in sums))
    return TypeValues(sums[0].up.layout.names, beta, covariance, R, rows, len(sums))


def shown_solution(R: Array) -> tuple[Array, Array]:
    """Values and a root of the covariance for white noise of a triangle, without directions that it does not show."""
    A, b = R[:-1, :-1], R[:-1, -1]
    lengths = np.linalg.norm(A, axis=0)
    lengths = np.where(lengths > 0, lengths, 1.0)
    U, s, Vt = np.linalg.svd(A / lengths)
    kept = s > SHOWN * s.max(initial=0.0)
    root = (Vt[kept].T / s[kept]) / lengths[:, None]
    return np.asarray(root @ (U[:, kept].T @ b)), np.asarray(root)


@dataclass(frozen=True)
class RobotValues:
    """Values of one robot where its type's are known.

    own: of the robot's columns (and the load), with their covariance, days as clusters.  days (D, columns): of the
    day's columns; NaN where a day does not show one.
    """

    own: dict[str, float]
    covariance: Array
    day_names: tuple[str, ...]
    days: Array


def robot_values(sums: RobotSums, of_type: Mapping[str, float]) -> RobotValues:
    """Values of a robot, coming back down."""
    with one_thread():
        above = dict(of_type)
        if sums.load_head is not None:
            above |= {name: float(np.nan_to_num(v[0])) for name, v in sums.load_head.values(above).items()}
        own = {name: float(np.nan_to_num(v[0])) for name, v in sums.own_head.values(above).items()}
        values = {**above, **own}
        by_day = sums.day_head.values(values)
    days = np.stack(list(by_day.values()), axis=1) if by_day else np.zeros((len(sums.days), 0))
    return RobotValues({n: values[n] for n in sums.names}, sums.covariance, tuple(by_day), days)


def _day_clusters(left: DayStack, merged: FleetEvidence, names: tuple[str, ...]) -> Array:
    """Covariance of a robot's values with its type's known: scores of days, which share nothing but the values.

    Scores are taken at each effort's own fit: only the residual matters.
    """
    count = len(names)
    A, z = np.zeros((count, count)), np.zeros((len(left.days), count))
    place = {n: k for k, n in enumerate(names)}
    for B, R, own in zip(left.rows, merged.triangles, left.layout.seen, strict=True):
        mine = [k for k, c in enumerate(own) if left.layout.names[c] in place]
        into = [place[left.layout.names[own[k]]] for k in mine]
        e = B @ np.append(-_back_substituted(R), 1.0)
        A[np.ix_(into, into)] += R[:, mine].T @ R[:, mine]
        z[:, into] += (e[:, None, :] @ B)[:, 0, mine]
    dead = np.diag(A) <= 0
    size = np.sqrt(np.where(dead, 1.0, np.diag(A)))
    inv = np.linalg.inv(A / np.outer(size, size) + RIDGE * np.eye(count)) / np.outer(size, size)
    inv[dead], inv[:, dead] = 0.0, 0.0
    if len(z) < 2:
        return np.asarray(inv)
    half = z @ inv
    return np.asarray(half.T @ half * len(z) / (len(z) - 1))


def _back_substituted(R: Array) -> Array:
    """Values of a triangle of [W tau]; those of columns that add nothing to the ones before them are 0."""
    T, b = R[:-1, :-1].copy(), R[:-1, -1].copy()
    d = np.arange(len(b))
    dead = np.abs(T[d, d]) <= RANK * np.maximum(np.linalg.norm(T, axis=0), 1e-300)
    T[dead], T[:, dead], b[dead] = 0.0, 0.0, 0.0
    T[d[dead], d[dead]] = 1.0
    return np.asarray(solve_triangular(T, b, check_finite=False))
