"""Drive gains from a load that is known, when the logged efforts are currents.

Row j of a recording in amperes: current_j = k_j (Y_j beta + load_j), with k_j = 1 / gain_j.  The noise is in the
current alone, so fitting the currents (and not the torques gain_j current_j) is free of the bias towards small gains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minertia.errors import MinertiaError
from minertia.identification.linear import linear_model
from minertia.identification.observation import observe
from minertia.identification.payload import loaded_model
from minertia.identification.rows import RowFilter, Source
from minertia.identification.terms import DEFAULT_EFFECTS, Wanted
from minertia.identification.threads import one_thread
from minertia.identification.triangles import triangle
from minertia.robot.inertia import from_com, symmetric
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
ITERATIONS = 50


@dataclass(frozen=True)
class DriveGains:
    """Effort per logged unit of each joint [N m/A], with deviations; joints the load does not show have none."""

    joints: tuple[str, ...]
    gains: Array
    deviations: Array

    def to_dict(self) -> dict[str, object]:
        """As plain data."""
        rows = zip(self.joints, self.gains.tolist(), self.deviations.tolist(), strict=True)
        return {"gains": [{"joint": j, "gain": g, "deviation": d} for j, g, d in rows]}


def drive_gains(
    robot: Robot,
    unloaded: Sequence[Source],
    loaded: Sequence[Source],
    mass: float,
    com: Sequence[float] = (0, 0, 0),
    inertia: Sequence[float] = (0, 0, 0, 0, 0, 0),
    *,
    at: str | None = None,
    effects: Sequence[Wanted] = DEFAULT_EFFECTS,
    rows: RowFilter | None = None,
) -> DriveGains:
    """Gains of all joints from recordings in amperes without and with a known load (about its centre of mass)."""
    model = linear_model(robot, effects)
    ten = np.array(from_com(mass, com, symmetric(inertia)))
    with one_thread():
        with_load = observe(loaded_model(model, at, True), loaded, rows=rows)
        without = observe(loaded_model(model, at, False), unloaded, rows=rows)
        both = without.appended(with_load)
        p = model.count
        T = np.zeros((p + 11, p + 2))
        T[range(p), range(p)] = 1.0
        T[p : p + 10, p] = ten
        T[-1, -1] = 1.0
        parts = triangle(both.totals @ T)  # per effort, of [Y, effort of the load, current]
        start = [_alone(R) for R in parts]
        if not all(k > 0 for k in start):
            bad = [name for name, k in zip(both.row_names, start, strict=True) if k <= 0]
            raise MinertiaError(f"the load does not show in the currents of {', '.join(bad)}")
        base = _base_start(model.count, parts, np.array(start))
        return _refined(both.row_names, parts, base, np.array(start), both.samples)


def _alone(R: Array) -> float:
    """1 / gain of one joint by itself: the coefficient of the load in its current."""
    X = R[:, :-1]
    lengths = np.linalg.norm(X, axis=0)
    unit = X / np.where(lengths > 0, lengths, 1.0)
    solution = np.linalg.lstsq(unit, R[:, -1], rcond=1e-9)[0]
    return float(solution[-1] / lengths[-1]) if lengths[-1] > 0 else 0.0


def _base_start(p: int, parts: Array, k: Array) -> Array:
    """beta with the gains known: rows k_j Y_j beta = current_j - k_j load_j."""
    stacked = np.concatenate(
        [np.column_stack([kj * R[:, :p], R[:, -1] - kj * R[:, p]]) for kj, R in zip(k, parts, strict=True)]
    )
    return np.asarray(np.linalg.lstsq(stacked[:, :p], stacked[:, -1], rcond=1e-9)[0])


def _refined(names: tuple[str, ...], parts: Array, beta: Array, k: Array, samples: int) -> DriveGains:
    """Gauss-Newton over beta and all gains together, efforts weighted by their residuals."""
    p, n = len(beta), len(k)
    sigma = np.ones(n)
    for _ in range(ITERATIONS):
        J, r = np.zeros((0, p + n)), np.zeros(0)
        for j, R in enumerate(parts):
            effort = R[:, :p] @ beta + R[:, p]
            rows = np.zeros((len(R), p + n))
            rows[:, :p], rows[:, p + j] = k[j] * R[:, :p], effort
            rest = R[:, -1] - k[j] * effort
            sigma[j] = max(
                float(np.linalg.norm(rest)) / np.sqrt(samples), 1e-12 * float(np.linalg.norm(R[:, -1])), 1e-300
            )
            J, r = np.concatenate([J, rows / sigma[j]]), np.concatenate([r, rest / sigma[j]])
        lengths = np.maximum(np.linalg.norm(J, axis=0), 1e-300)
        step = np.linalg.lstsq(J / lengths, r, rcond=1e-10)[0] / lengths
        beta, k = beta + step[:p], k + step[p:]
        if np.all(np.abs(step[p:]) < 1e-9 * np.abs(k)):
            break
    U, s, Vt = np.linalg.svd(J / lengths, full_matrices=False)
    inv = np.where(s > 1e-10 * s[0], 1 / np.maximum(s, 1e-300), 0.0)
    variance = np.sum((Vt.T * inv) ** 2, axis=1) / lengths**2
    return DriveGains(names, 1 / k, np.sqrt(variance[p:]) / k**2)
