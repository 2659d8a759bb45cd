"""Distances between segments, and from segments to boxes, vectorised, with the nearest points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minertia.io.arrays import Array

TINY = 1e-12  # m2, or a part: below this a segment is a point and two segments are parallel


class Nearest(NamedTuple):
    """Distance (M,) of each pair, and the position on both segments (0 at the first end, 1 at the last).

    away (M, 3): unit vector from the second to the first (0 where they meet).
    """

    distance: Array
    on_first: Array
    on_second: Array
    away: Array


def between_segments(a0: Array, a1: Array, b0: Array, b1: Array) -> Nearest:
    """Nearest points of the segments a0 a1 and b0 b1, each end (M, 3) (Ericson 2005, section 5.1.9)."""
    u, v, r = a1 - a0, b1 - b0, a0 - b0
    uu, vv, uv = _dot(u, u), _dot(v, v), _dot(u, v)
    ur, vr = _dot(u, r), _dot(v, r)
    across = uu * vv - uv * uv
    crossing = across > TINY * uu * vv
    s = np.where(crossing, np.clip(_over(uv * vr - ur * vv, across, crossing), 0.0, 1.0), 0.0)
    t = _over(uv * s + vr, vv, vv > TINY)
    clipped = np.clip(t, 0.0, 1.0)
    again = (clipped != t) | ~crossing  # the other segment's end counts: the nearest point to that
    s = np.where(again, np.clip(_over(uv * clipped - ur, uu, uu > TINY), 0.0, 1.0), s)
    return _nearest(r + s[:, None] * u - clipped[:, None] * v, s, clipped)


def to_boxes(a0: Array, a1: Array, half: Array) -> Nearest:
    """Nearest points of segments (M, 3) to boxes about the origin with half sides (M, 3); `on_second` is zero.

    Along a segment the derivative of the squared distance is increasing and piecewise linear, with breaks where a
    coordinate crosses a face, so its zero lies between two of those and is found exactly.
    """
    u = a1 - a0
    with np.errstate(divide="ignore", invalid="ignore"):
        passes = np.concatenate([(half - a0) / u, (-half - a0) / u], axis=1)
    passes = np.where(np.isfinite(passes), np.clip(passes, 0.0, 1.0), 0.0)
    ends = np.broadcast_to([0.0, 1.0], (len(a0), 2))
    places = np.sort(np.concatenate([ends, passes], axis=1), axis=1)  # (M, 8)
    points = a0[:, None, :] + places[:, :, None] * u[:, None, :]
    outside = points - np.clip(points, -half[:, None, :], half[:, None, :])
    slope = np.einsum("mkc,mc->mk", outside, u)
    k = np.clip((slope < 0).sum(axis=1), 1, places.shape[1] - 1)
    rows = np.arange(len(a0))
    before, after = slope[rows, k - 1], slope[rows, k]
    rising = (before < 0) & (after > 0)
    part = np.where(before < 0, 1.0, 0.0)
    part = np.where(rising, _over(-before, after - before, rising), part)
    s = places[rows, k - 1] + part * (places[rows, k] - places[rows, k - 1])
    x = a0 + s[:, None] * u
    return _nearest(x - np.clip(x, -half, half), s, np.zeros(len(s)))


def _nearest(between: Array, s: Array, t: Array) -> Nearest:
    d = np.sqrt(_dot(between, between))
    away = between / np.where(d > 0, d, 1.0)[:, None]
    return Nearest(d, s, t, away)


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum("mc,mc->m", a, b))


def _over(a: Array, b: Array, where: NDArray[np.bool_]) -> Array:
    """a / b where the mask is true, 0 elsewhere."""
    return np.asarray(np.divide(a, b, out=np.zeros_like(a), where=where))
