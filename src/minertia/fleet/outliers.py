"""Detection of outlier robots at a specified false discovery rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError
from minertia.io.resources import one_thread

FREEDOM = 5.0  # of Student's distribution that location and scatter are taken with
FEWEST = 10  # robots from which a scatter can be told
ROUNDS = 200


@dataclass(frozen=True)
class OutlierRobot:
    """Robot whose values are outliers among those of its type.

    distance: squared Mahalanobis distance from the location of the type; p: p-value of this distance.
    name, deviations: the most outlying value, and its distance from the location in standard deviations.
    """

    robot: str
    distance: float
    p: float
    name: str
    deviations: float


def distances(values: Array, covariances: Array) -> tuple[Array, Array, Array]:
    """Squared robust distances d_i = r_i'(T + V_i)^-1 r_i, standardised residuals (N, p), and location.

    Location and scatter T are estimated with Student weights; T is rescaled so that the median distance
    equals the median of the chi-square distribution.
    """
    count, p = values.shape
    if count < max(FEWEST, p + 2):
        raise MinertiaError(f"the comparison of robots needs at least {max(FEWEST, p + 2)} robots, not {count}")
    unit = np.maximum(np.median(np.abs(values - np.median(values, axis=0)), axis=0) * 1.4826, 1e-300)
    b, V = values / unit, covariances / np.outer(unit, unit)
    with one_thread():
        location, T = np.median(b, axis=0), np.eye(p)
        for _ in range(ROUNDS):
            location, T = _student_round(b, V, location, T)
        S = T + V
        r = b - location
        d = np.einsum("ni,ni->n", r, np.linalg.solve(S, r[..., None])[..., 0])
        T = T * max(float(np.median(d)) / chi2.median(p), 1e-12)
        S = T + V
        d = np.einsum("ni,ni->n", r, np.linalg.solve(S, r[..., None])[..., 0])
    return d, r / np.sqrt(np.einsum("nii->ni", S)), location * unit


def _student_round(b: Array, V: Array, location: Array, T: Array) -> tuple[Array, Array]:
    p = b.shape[1]
    r = b - location
    S = T + V
    d = np.einsum("ni,ni->n", r, np.linalg.solve(S, r[..., None])[..., 0])
    weight = (FREEDOM + p) / (FREEDOM + d)
    location = weight @ b / weight.sum()
    r = b - location
    TW = T @ np.linalg.inv(S)
    u = np.einsum("nij,nj->ni", TW, r)  # the robot's own part of its difference; V_i's is taken off
    scatter = np.einsum("n,ni,nj->ij", weight, u, u) / len(b) + np.mean(T - TW @ T, axis=0)
    return location, (scatter + scatter.T) / 2


@dataclass(frozen=True)
class _Found:
    distance: float
    p: float
    name: str
    deviations: float


def outlier_robots(
    tables: Sequence[tuple[tuple[str, ...], tuple[str, ...], Array, Array]], q: float = 0.1
) -> tuple[OutlierRobot, ...]:
    """Outlier robots at a false discovery rate of at most q (Benjamini and Hochberg), furthest first.

    tables: one table per group of values that are tested together (those of a joint): robots, names, values
    (N, p), covariances (N, p, p).
    """
    worst: dict[str, _Found] = {}
    for robots, names, values, covariances in tables:
        d, r, _ = distances(values, covariances)
        p = np.minimum(chi2.sf(d, values.shape[1]) * len(tables), 1.0)  # the worst of several tables
        most = np.abs(r).argmax(axis=1)
        for k, robot in enumerate(robots):
            if robot not in worst or p[k] < worst[robot].p:
                worst[robot] = _Found(float(d[k]), float(p[k]), names[most[k]], float(r[k, most[k]]))
    order = sorted(worst, key=lambda robot: (worst[robot].p, robot))
    passed = [k for k, robot in enumerate(order, 1) if worst[robot].p <= q * k / len(order)]
    chosen = order[: passed[-1]] if passed else []
    return tuple(OutlierRobot(r, worst[r].distance, worst[r].p, worst[r].name, worst[r].deviations) for r in chosen)
