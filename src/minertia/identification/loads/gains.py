"""Drive gains from a known payload, when the logged efforts are currents.

Row j of a recording in amperes: current_j = k_j (Y_j beta + load_j), with k_j = 1 / gain_j.  The noise is in the
current alone, so fitting the currents (and not the torques gain_j current_j) is free of the bias towards small gains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from minertia.identification.evidence.intervals import Weighted, spread_of
from minertia.identification.loads.body import loaded_model
from minertia.identification.loads.load import LARGEST, Load
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.observation import Observation, observe
from minertia.identification.problem.rows import LogMotion
from minertia.identification.problem.triangles import triangle
from minertia.io.arrays import Array
from minertia.io.errors import InputError, MinertiaError
from minertia.io.notebook import clipped, html_table
from minertia.io.resources import one_thread
from minertia.robot.inertia import from_com, symmetric
from minertia.robot.robot import Robot

ITERATIONS = 50
GROUPS = 20  # of blocks that are left out in turn


@dataclass(frozen=True)
class DriveGains:
    """Effort per logged unit of each joint [N m/A], with standard deviations under correlated residuals."""

    joints: tuple[str, ...]
    gains: Array
    deviations: Array
    logs: tuple[Any, ...] = field(default=(), repr=False)  # as they were read

    def __repr__(self) -> str:
        shown = ", ".join(f"{gain:.3g}" for gain in self.gains)
        return f"<DriveGains of {len(self.joints)} joints: {clipped(shown, 80)} N m per logged unit>"

    def _repr_html_(self) -> str:
        rows = [(j, f"{g:.5g}", f"{d:.2g}") for j, g, d in zip(self.joints, self.gains, self.deviations, strict=True)]
        headers = ("joint", "gain [N m or N per logged unit]", "deviation")
        return html_table("Gains of the drives", headers, rows, right=(1, 2))

    def to_dict(self) -> dict[str, object]:
        """Return as a dict of plain data."""
        rows = zip(self.joints, self.gains.tolist(), self.deviations.tolist(), strict=True)
        return {"gains": [{"joint": j, "gain": g, "deviation": d} for j, g, d in rows]}


def drive_gains(
    model: LinearModel, unloaded: Sequence[LogMotion], loaded: Sequence[LogMotion], load: Load
) -> DriveGains:
    """Gains of all joints from logs in amperes without and with a known payload.

    If its centre of mass is not given, only the mass is known, and the position is estimated with the gains.
    """
    for value in (load.mass, *(load.com or ()), *(load.inertia or ())):
        if not abs(value) <= LARGEST:
            raise InputError(
                f"a known payload must have numbers of magnitude at most {LARGEST:g} [kg, m, kg m2], not {value:g}"
            )
    if model.choice.needs_load:
        raise MinertiaError("load-dependent friction cannot be fitted together with the drive gains")
    with one_thread():
        with_load = observe(loaded_model(model, load.at, True), loaded)
        both = observe(loaded_model(model, load.at, False), unloaded).appended(with_load)
        T = _map(model.count, load)
        parts = triangle(both.totals @ T)
        beta, gains = _start(parts, len(parts))
        if not np.all(gains > 0):
            bad = [name for name, own in zip(both.row_names, gains, strict=True) if own <= 0]
            raise MinertiaError(
                f"the payload has no effect on the currents of {', '.join(bad)}; use postures in "
                "which gravity loads these joints"
            )
        return _refined(both, parts, T, beta, 1 / gains)


def sensor_gains(observation: Observation) -> DriveGains:
    """Gains of all joints from logs in amperes with force/torque sensors, whose wrenches are in N and N m.

    A sensor fixes the common scale of the gains if its wrench is not that of one rigid body fixed to the near link.
    """
    robot = observation.model.robot
    refuse_one_load(robot)
    joints = sum(row < robot.n_velocity for row in observation.model.rows)
    T = np.insert(np.eye(observation.count + 1), observation.count, 0.0, axis=1)  # no known load
    with one_thread():
        parts = triangle(observation.totals @ T)
        beta, gains = _start(parts, joints)
        if not np.all(gains > 0):
            bad = [name for name, own in zip(observation.row_names, gains, strict=False) if own <= 0]
            raise MinertiaError(
                f"the gains of {', '.join(bad)} cannot be found from the sensor: these joints hardly move a load; "
                "record a motion that accelerates and turns it, or give gains in [drive]"
            )
        found = _refined(observation, parts, T, beta, 1 / gains)
        spread = _left_out(observation, T, beta, 1 / found.gains)
        return replace(found, deviations=np.maximum(found.deviations, spread))


def _left_out(observation: Observation, T: Array, beta: Array, k: Array) -> Array:
    """Jackknife deviations of the gains over blocks of the logs.

    Errors of accelerations are common to all efforts of a sample, also to those of precise sensors.
    """
    blocks = observation.blocks @ T
    groups = np.array_split(np.arange(len(blocks)), min(GROUPS, len(blocks)))
    found = []
    for own in groups:
        kept = np.setdiff1d(np.arange(len(blocks)), own)
        parts = triangle(np.moveaxis(blocks[kept], 1, 0).reshape(blocks.shape[1], -1, blocks.shape[-1]))
        found.append(1 / _converged(parts, observation.samples, beta, k)[1])
    return np.asarray(np.sqrt(len(found) - 1) * np.std(found, axis=0))


def refuse_one_load(robot: Robot) -> None:
    """Raise an error if no sensor fixes the common scale of the drive gains."""
    places = [(one.joint, one.pose) for one in robot.sensors]
    is_fixed = any(one.beyond or (one.joint is None and not robot.is_floating) for one in robot.sensors)
    if not is_fixed and len(set(places)) == len(places):
        raise MinertiaError(
            "one load on a sensor at the end of the arm does not determine the scale of the drive gains: add a log "
            "with a second load (tool in [logs]), or give gains in [drive]"
        )


def _matrix(inertia: Sequence[float] | None) -> Array:
    return np.zeros((3, 3)) if inertia is None else symmetric(inertia)


def _map(p: int, load: Load) -> Array:
    """Transformation from [Y, the body's ten columns, current] to [Y, effort of the payload, current].

    If only the mass is known, the nine other parameters of the payload are unknowns.
    """
    if load.com is None:
        T = np.eye(p + 11)
        T[p + 9, p + 9] = load.mass
        return T
    T = np.zeros((p + 11, p + 2))
    T[range(p), range(p)] = 1.0
    T[p : p + 10, p] = from_com(load.mass, load.com, _matrix(load.inertia))
    T[-1, -1] = 1.0
    return T


def _start(parts: Array, n: int) -> tuple[Array, Array]:
    """Initial beta and gains from Y beta + load = gain current, linear in both; noise biases these gains low.

    n: number of efforts in currents; the efforts after them have no gain.
    """
    k = parts.shape[-1]
    p = k - 2
    rows, right = np.zeros((0, p + n)), np.zeros(0)
    for j, R in enumerate(parts):
        size = max(float(np.linalg.norm(R[:, -1])), 1e-300)
        own = np.zeros((k, p + n))
        own[:, :p] = R[:, :p] / size
        if j < n:
            own[:, p + j] = -R[:, -1] / size
        given = -R[:, p] / size if j < n else (R[:, -1] - R[:, p]) / size
        rows, right = np.concatenate([rows, own]), np.concatenate([right, given])
    lengths = np.maximum(np.linalg.norm(rows, axis=0), 1e-300)
    found = np.linalg.lstsq(rows / lengths, right, rcond=1e-10)[0] / lengths
    return np.asarray(found[:p]), np.asarray(found[p:])


def _refined(problem: Observation, parts: Array, T: Array, beta: Array, k: Array) -> DriveGains:
    """Gauss-Newton fit of beta and all gains together, with efforts weighted by their residuals."""
    p, n = len(beta), len(k)
    beta, k, J, lengths, sigma = _converged(parts, problem.samples, beta, k)
    _, s, Vt = np.linalg.svd(J / lengths, full_matrices=False)
    shown = s > 1e-10 * s[0]  # an arm need not show all of a load
    inv = (Vt[shown].T / s[shown]) / lengths[:, None]
    seen = [[*np.flatnonzero(np.abs(R[:, :p]).max(axis=0)).tolist(), *([p + j] if j < n else [])]
            for j, R in enumerate(parts)]  # fmt: skip
    widths = spread_of(_rows(problem, T, beta, k, sigma), [log.samples for log in problem.logs], inv, seen)
    deviation = widths.inflation[p:] * np.sqrt(np.diag(widths.white)[p:])
    return DriveGains(problem.row_names[:n], 1 / k, deviation / k**2)


def _converged(parts: Array, samples: int, beta: Array, k: Array) -> tuple[Array, Array, Array, Array, Array]:
    """beta and 1 / gains after Gauss-Newton steps; Jacobian, its column lengths, and noise level of each effort."""
    p, n = len(beta), len(k)
    sigma = np.ones(len(parts))
    for _ in range(ITERATIONS):
        J, r = np.zeros((0, p + n)), np.zeros(0)
        for j, R in enumerate(parts):
            rows, rest = _linearised(R, j, beta, k)
            least = max(1e-12 * float(np.linalg.norm(R[:, -1])), 1e-300)
            sigma[j] = max(float(np.linalg.norm(rest)) / np.sqrt(samples), least)
            J, r = np.concatenate([J, rows / sigma[j]]), np.concatenate([r, rest / sigma[j]])
        lengths = np.linalg.norm(J, axis=0)
        lengths = np.where(lengths > 0, lengths, 1.0)
        step = np.linalg.lstsq(J / lengths, r, rcond=1e-10)[0] / lengths
        beta, k = beta + step[:p], k + step[p:]
        if np.all(np.abs(step[p:]) < 1e-9 * np.abs(k)):
            break
    return beta, k, J, lengths, sigma


def _linearised(R: Array, j: int, beta: Array, k: Array) -> tuple[Array, Array]:
    """Columns of beta and of all 1 / gain for rows of effort j, and the residual of its current."""
    p, n = len(beta), len(k)
    effort = R[:, :p] @ beta + R[:, p]
    rows = np.zeros((len(R), p + n))
    if j >= n:  # a sensor's effort has no gain
        rows[:, :p] = R[:, :p]
        return rows, R[:, -1] - effort
    rows[:, :p], rows[:, p + j] = k[j] * R[:, :p], effort
    return rows, R[:, -1] - k[j] * effort


def _rows(problem: Observation, T: Array, beta: Array, k: Array, sigma: Array) -> Iterator[Weighted]:
    """Weighted rows of the last Gauss-Newton step."""
    for rows in problem.stream():
        R = np.concatenate([rows.Y, rows.tau[:, :, None]], axis=2) @ T
        pairs = [_linearised(R[:, j], j, beta, k) for j in range(len(sigma))]
        X = np.stack([own / level for (own, _), level in zip(pairs, sigma, strict=True)], axis=1)
        e = np.stack([rest / level for (_, rest), level in zip(pairs, sigma, strict=True)], axis=1)
        yield Weighted(rows.log, X, e)
