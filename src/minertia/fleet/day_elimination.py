"""Elimination of a robot's day-specific columns, with all days merged.

In records these columns are the first of each effort.  The rows below them in a triangular factor are
then the evidence after elimination, so packed factors can be merged without unpacking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dtrtrs

from minertia.codegen.kernels import build
from minertia.fleet.day_stack import DayStack, merged_stack, upper_places
from minertia.fleet.elimination import RANK, Head, projected, shows_all
from minertia.fleet.evidence import EvidenceLayout, FleetEvidence
from minertia.fleet.packed_stack import PackedStack
from minertia.identification.problem.triangles import upright
from minertia.io.arrays import Array


@dataclass(frozen=True)
class WithoutDays:
    """Evidence of all days after elimination of the day-specific columns.

    scores (D, k_i): scores of the days for each effort, at the fit of that effort over all days (only its
    residual matters).  head: data for back-substitution of the day values.
    """

    evidence: FleetEvidence
    scores: tuple[Array, ...]
    head: Head


def without_days(stack: DayStack | PackedStack, names: Sequence[str], kept: Sequence[str]) -> WithoutDays:
    """Eliminate columns that are free on each day; kept: remaining columns, in this order."""
    if isinstance(stack, DayStack) or stack.layout.shares(names):
        return _general(stack if isinstance(stack, DayStack) else stack.unpacked(), names, kept)
    plan = _plan(stack.layout, tuple(names), tuple(kept))
    efforts = [_folded(stack.packed, own) or _one(stack, own, names, kept) for own in plan.efforts]
    triangles, scores, R, H = zip(*efforts, strict=True)
    head = Head(tuple(own.gone for own in plan.efforts), R, H, plan.layout.titles)
    return WithoutDays(FleetEvidence(plan.layout, triangles, stack.samples.sum(axis=0)), scores, head)


def _general(stack: DayStack, names: Sequence[str], kept: Sequence[str]) -> WithoutDays:
    left, head = projected(stack, names, kept)
    merged = merged_stack(left)
    scores = []
    for B, R in zip(left.rows, merged.triangles, strict=True):
        e = B @ np.append(-_back_substituted(R), 1.0)
        scores.append((e[:, None, :] @ B)[:, 0])
    return WithoutDays(merged, tuple(scores), head)


@dataclass(frozen=True)
class _EffortPlan:
    """Indices of one effort in a packed record.

    number: index of the effort.  start, size: first index and number of columns of its triangular factor.
    gone: names of its day columns, which come first.  head (e, kept + 1): indices of the rows of the day
    columns.  square: indices of the triangle of the day columns; upper: indices of that triangle in a flat
    e x e matrix.  kept: indices of the remaining columns and of the effort.
    """

    number: int
    start: int
    size: int
    gone: tuple[str, ...]
    head: NDArray[np.intp]
    square: NDArray[np.intp]
    upper: NDArray[np.intp]
    kept: NDArray[np.int32]
    is_first: bool


@dataclass(frozen=True)
class _Plan:
    layout: EvidenceLayout
    efforts: tuple[_EffortPlan, ...]


@lru_cache(maxsize=16)  # robots of a type ask the same
def _plan(layout: EvidenceLayout, names: tuple[str, ...], kept: tuple[str, ...]) -> _Plan:
    wanted, (left, places) = set(names), layout.chosen(kept)
    efforts, start = [], 0
    for number, (titles, own, size) in enumerate(zip(layout.titles, places, layout.sizes, strict=True)):
        gone = tuple(name for name in titles if name in wanted)
        count, stay = len(gone), np.array([*own, size - 1], np.int32)
        rows = np.arange(count)
        begins = start + rows * size - rows * (rows + 1) // 2  # a row of packed numbers lacks those below the diagonal
        upper = upper_places(count)
        square, head = (begins[:, None] + rows).ravel()[upper], np.asarray(begins[:, None] + stay, np.intp)
        efforts.append(_EffortPlan(number, start, size, gone, head, square, upper, stay, gone == titles[:count]))
        start += size * (size + 1) // 2
    return _Plan(left, tuple(efforts))


Effort = tuple[Array, Array, Array, Array]  # triangle, scores, and R and H of the head


def _folded(packed: Array, own: _EffortPlan) -> Effort | None:
    """Evidence of an effort after elimination, from packed values; None if that needs the general projection."""
    native, count = build.native(), len(own.gone)
    if not own.is_first or not hasattr(native, "fold_packed"):
        return None
    R = np.zeros((len(packed), count, count))
    R.reshape(len(packed), -1)[:, own.upper] = packed[:, own.square]
    T = np.zeros((len(own.kept), len(own.kept)))
    where = (packed, own.start, own.size, count)
    if not shows_all(R) or not native.fold_packed(T, *where, own.kept):  # type: ignore[union-attr]
        return None
    H = packed[:, own.head]
    alive = _alive(T, H) if count else np.ones(len(T), bool)
    if not alive.all():
        T = upright(T * alive)
    at, z = np.zeros(own.size), np.zeros((len(packed), own.size))
    at[own.kept] = np.append(-_back_substituted(T), 1.0)
    native.packed_scores(*where, at, z)  # type: ignore[union-attr]
    return T, z[:, own.kept] * alive, R, H


def _alive(T: Array, H: Array) -> NDArray[np.bool_]:
    """Mask of columns whose norm exceeds rounding error; the effort column is exempt."""
    left, taken = np.einsum("nk,nk->k", T, T), np.einsum("dek,dek->k", H, H)
    found = left > RANK**2 * (left + taken)
    found[-1] = True
    return np.asarray(found)


def _one(stack: PackedStack, own: _EffortPlan, names: Sequence[str], kept: Sequence[str]) -> Effort:
    """Evidence of any effort after elimination, by general projection."""
    layout, i = stack.layout, own.number
    alone = EvidenceLayout(layout.names, (layout.efforts[i],), (layout.seen[i],))
    numbers = stack.packed[:, own.start : own.start + own.size * (own.size + 1) // 2]
    days = DayStack.of_packed(alone, stack.days, numbers, stack.samples[:, i : i + 1])
    found = _general(days, names, kept)
    return found.evidence.triangles[0], found.scores[0], found.head.R[0], found.head.H[0]


def _back_substituted(R: Array) -> Array:
    """Least-squares solution of a triangular factor of [W tau]; 0 for linearly dependent columns."""
    T, b = R[:-1, :-1].copy(), R[:-1, -1].copy()
    diagonal = np.diagonal(T)
    dead = np.abs(diagonal) <= RANK * np.maximum(np.sqrt(np.einsum("ij,ij->j", T, T)), 1e-300)
    if dead.any():
        T[dead], T[:, dead], b[dead] = 0.0, 0.0, 0.0
        T[dead, dead] = 1.0
    return np.asarray(dtrtrs(T.T, b, lower=1, trans=1)[0]) if len(b) else b  # without the cost of `solve_triangular`
