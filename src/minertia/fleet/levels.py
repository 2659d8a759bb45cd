"""Hierarchical model of unknowns: type (inertial), robot (temperature, load, low speeds), day (friction).

Levels are eliminated from below: the rows of a day, with its day columns projected out, are evidence
for its robot; the rows of the robot, with its columns projected out, are evidence for the type; then
values are back-substituted. As day values are free, a robot's coefficients are estimated from contrasts
within days only, so that a drift does not bias them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from minertia.fleet.columns import DAY, FLEET, ROBOT
from minertia.fleet.day_elimination import without_days
from minertia.fleet.day_stack import DayStack
from minertia.fleet.elimination import Head, projected
from minertia.fleet.evidence import EvidenceLayout, FleetEvidence
from minertia.fleet.packed_stack import PackedStack
from minertia.identification.problem.linear import symbol_of
from minertia.identification.problem.triangles import upright
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError, ShapeError
from minertia.io.resources import one_thread
from minertia.robot.parameters import BIAS_SYMBOLS

# families that wear scales as wholes
VISCOUS = tuple(symbol for symbol, effect in FLEET.items() if effect.is_viscous)
DRY = tuple(symbol for symbol, effect in FLEET.items() if effect.is_dry)
LOAD = "load"  # name of the column of a load at the flange [kg]; more of them are its first moments
LOADS = (LOAD, "load x", "load y", "load z")
RIDGE = 1e-10  # on columns scaled to length 1: what is not shown at all gets a deviation that says so
SHOWN = 1e-7  # of the largest singular value, columns scaled to length 1


@dataclass(frozen=True)
class Levels:
    """Names of the columns of each level.

    load: matrix (type's columns, 1 or more) of the effect of 1 kg at the flange and, if the load's centre
    is not known, of its first moments, in the type's columns; None: payloads do not differ between robots.
    """

    day: tuple[str, ...]
    robot: tuple[str, ...]
    type: tuple[str, ...]
    load: Array | None = None

    @classmethod
    def of(cls, layout: EvidenceLayout, symbols: Sequence[str] | None = None, load: Array | None = None) -> Levels:
        """Assign columns to levels by their symbols; symbols: effects to use, default: all."""
        own = [n for n in layout.names if symbol_of(n) in (*DAY, *ROBOT, *BIAS_SYMBOLS)]
        wanted = own if symbols is None else [n for n in own if symbol_of(n) in (*symbols, *BIAS_SYMBOLS)]
        inertial = tuple(n for n in layout.names if n not in own)
        if load is not None:
            load = np.asarray(load, float).reshape(len(load), -1)
            if len(load) != len(inertial) or load.shape[1] > len(LOADS):
                raise ShapeError(
                    f"a payload must be {len(inertial)} numbers, one for each inertial column, not {len(load)}"
                )
        day = tuple(n for n in wanted if symbol_of(n) in (*DAY, *BIAS_SYMBOLS))
        return cls(day, tuple(n for n in wanted if n not in day), inertial, load)

    @property
    def loads(self) -> tuple[str, ...]:
        """Names of the load columns."""
        return () if self.load is None else LOADS[: self.load.shape[1]]


@dataclass(frozen=True)
class RobotSums:
    """Robot after elimination of its day and robot columns: evidence for its type, and back-substitution.

    names, covariance: names and covariance of the robot's values (and the load), with days as clusters and
    known values of the type.  up: evidence over the type's columns.  day_head, own_head, load_head:
    back-substitution of the day columns, of the robot's columns and of the load.
    """

    days: tuple[int, ...]
    names: tuple[str, ...]
    covariance: Array
    up: FleetEvidence
    day_head: Head
    own_head: Head
    load_head: Head | None


def robot_sums(stack: DayStack | PackedStack, levels: Levels, sigma: Array) -> RobotSums:
    """Eliminate the day and robot levels from the days of one robot."""
    return many_sums([stack], levels, sigma)[0]


def many_sums(stacks: Sequence[DayStack | PackedStack], levels: Levels, sigma: Array) -> list[RobotSums]:
    """Eliminate the day and robot levels from the days of several robots with the same columns.

    Noise levels weight the evidence after elimination of the days, and a load is a linear combination of
    the type's columns.  Both are applied after the days are merged, where they cost little.
    """
    if stacks[0].layout.shares(set(levels.day)):  # their efforts become one, which has no noise level of its own
        stacks, sigma = [stack.weighted(sigma) for stack in stacks], np.ones(1)
    with one_thread():
        left = [without_days(stack, levels.day, (*levels.robot, *levels.type)) for stack in stacks]
        loaded = _LoadColumns.of(left[0].evidence.layout, levels)
        merged = zip(*(own.evidence.triangles for own in left), strict=True)
        rows = loaded.wide([np.stack(own) / s for own, s in zip(merged, sigma, strict=True)])
        samples = np.stack([own.evidence.samples for own in left])
        whole = DayStack(loaded.layout, tuple(range(len(left))), rows, samples)  # a robot in place of a day
        above, own_head = projected(whole, levels.robot, alone=True)
        load_head = None
        if levels.load is not None:
            above, load_head = projected(above, levels.loads, alone=True)
        names = (*levels.robot, *levels.loads)
        inverse, found = _inverses(whole, names), []
        for k, (stack, own) in enumerate(zip(stacks, left, strict=True)):
            scores = loaded.wide([z / s**2 for z, s in zip(own.scores, sigma, strict=True)])
            covariance = _day_clusters(loaded.layout, inverse[k], scores, names)
            up = FleetEvidence(above.layout, tuple(upright(R[k]) for R in above.rows), above.samples[k])
            day_head = replace(own.head, H=loaded.wide(own.head.H), rest=loaded.layout.titles)
            load = None if load_head is None else load_head.one(k)
            found.append(RobotSums(stack.days, names, covariance, up, day_head, own_head.one(k), load))
        return found


@dataclass(frozen=True)
class _LoadColumns:
    """Load columns appended to the columns of each effort.

    layout: layout that includes these columns.  parts: for each effort, its load columns as a matrix
    (columns, loads) in terms of its other columns; None if the load does not act on it.
    """

    layout: EvidenceLayout
    parts: tuple[Array | None, ...]

    @classmethod
    def of(cls, layout: EvidenceLayout, levels: Levels) -> _LoadColumns:
        if levels.load is None:
            return cls(layout, (None,) * len(layout.efforts))
        full = np.zeros((len(layout.names), len(levels.loads)))
        full[[layout.index(name) for name in levels.type]] = levels.load
        parts = tuple(full[list(own)] if np.any(full[list(own)]) else None for own in layout.seen)
        more = tuple(range(len(full), len(full) + len(levels.loads)))
        seen = tuple(own if part is None else (*own, *more) for own, part in zip(layout.seen, parts, strict=True))
        return cls(EvidenceLayout((*layout.names, *levels.loads), layout.efforts, seen), parts)

    def wide(self, rows: Sequence[Array]) -> tuple[Array, ...]:
        """Rows (..., k) of each effort with the load columns inserted before the effort column."""
        return tuple(
            R if part is None else np.concatenate([R[..., :-1], R[..., :-1] @ part, R[..., -1:]], axis=-1)
            for R, part in zip(rows, self.parts, strict=True)
        )


@dataclass(frozen=True)
class TypeValues:
    """Estimates of the type's columns with their covariance, robots as clusters.

    triangle: triangular factor of [type | effort].
    """

    names: tuple[str, ...]
    values: Array
    covariance: Array
    triangle: Array
    rows: float
    robots: int

    def by_name(self) -> dict[str, float]:
        """Estimates by column name."""
        return dict(zip(self.names, self.values.tolist(), strict=True))


def type_values(sums: Sequence[RobotSums]) -> TypeValues:
    """Estimate the type's values from the evidence of its robots, in the given order."""
    if not sums:
        raise MinertiaError("there is no robot from which to fit the type; add logs first")
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
    """Least-squares solution of a triangular factor, and a square root of its covariance for white noise.

    Both are restricted to the identifiable directions.
    """
    A, b = R[:-1, :-1], R[:-1, -1]
    lengths = np.linalg.norm(A, axis=0)
    lengths = np.where(lengths > 0, lengths, 1.0)
    U, s, Vt = np.linalg.svd(A / lengths)
    kept = s > SHOWN * s.max(initial=0.0)
    root = (Vt[kept].T / s[kept]) / lengths[:, None]
    return np.asarray(root @ (U[:, kept].T @ b)), np.asarray(root)


@dataclass(frozen=True)
class RobotValues:
    """Values of one robot, given those of its type.

    own: values of the robot's columns (and the load).  covariance: covariance of `own`, with days as
    clusters.  days (D, columns): values of the day columns; NaN where unidentifiable.
    """

    own: dict[str, float]
    covariance: Array
    day_names: tuple[str, ...]
    days: Array


def robot_values(sums: RobotSums, of_type: Mapping[str, float]) -> RobotValues:
    """Back-substitute the values of a robot, given those of its type."""
    with one_thread():
        values = dict(of_type)
        for head in (sums.load_head, sums.own_head):
            if head is not None:
                values |= {name: 0.0 if np.isnan(v[0]) else float(v[0]) for name, v in head.values(values).items()}
        by_day = sums.day_head.values(values)
    days = np.stack(list(by_day.values()), axis=1) if by_day else np.zeros((len(sums.days), 0))
    return RobotValues({n: values[n] for n in sums.names}, sums.covariance, tuple(by_day), days)


def _inverses(whole: DayStack, names: tuple[str, ...]) -> Array:
    """Inverse information matrices (robots, names, names) of each robot's values, from all days.

    The values of its type are taken as known.
    """
    robots, count = len(whole.days), len(names)
    A = np.zeros((robots, count, count))
    for rows, (mine, into) in zip(whole.rows, _found_in(whole.layout, names), strict=True):
        own = rows[:, :, mine]
        A[:, into[:, None], into] += np.swapaxes(own, 1, 2) @ own
    square = np.einsum("nii->ni", A)
    dead = square <= 0
    size = np.sqrt(np.where(dead, 1.0, square))
    unit = size[:, :, None] * size[:, None, :]
    inverse = np.linalg.inv(A / unit + RIDGE * np.eye(count)) / unit
    inverse[dead[:, :, None] | dead[:, None, :]] = 0.0
    return np.asarray(inverse)


def _day_clusters(layout: EvidenceLayout, inverse: Array, scores: Sequence[Array], names: tuple[str, ...]) -> Array:
    """Covariance of a robot's values, with days as independent clusters and known values of its type.

    inverse: inverse information of all days.  scores (D, k_i): scores of the days, for each effort.
    """
    z = np.zeros((len(scores[0]), len(names)))
    if len(z) < 2:
        return inverse
    for score, (mine, into) in zip(scores, _found_in(layout, names), strict=True):
        z[:, into] += score[:, mine]
    half = z @ inverse
    return np.asarray(half.T @ half * len(z) / (len(z) - 1))


@lru_cache(maxsize=16)  # robots of a type ask the same
def _found_in(layout: EvidenceLayout, names: tuple[str, ...]) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]:
    """For each effort, the indices of its columns that are among `names`, and their indices in `names`."""
    place = {n: k for k, n in enumerate(names)}
    pairs = ([(k, place[n]) for k, n in enumerate(titles) if n in place] for titles in layout.titles)
    found = (np.array(own, np.intp).reshape(-1, 2) for own in pairs)
    return tuple((own[:, 0], own[:, 1]) for own in found)
