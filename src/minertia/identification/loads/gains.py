"""Drive gains from a load that is known, when the logged efforts are currents.

Row j of a recording in amperes: current_j = k_j (Y_j beta + load_j), with k_j = 1 / gain_j.  The noise is in the
current alone, so fitting the currents (and not the torques gain_j current_j) is free of the bias towards small gains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.errors import InputError, MinertiaError
from minertia.identification.loads.body import loaded_model
from minertia.identification.loads.load import LARGEST, Load
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.observation import observe
from minertia.identification.problem.rows import LogMotion
from minertia.identification.problem.triangles import triangle
from minertia.notebook import clipped, html_table
from minertia.robot.inertia import from_com, symmetric
from minertia.threads import one_thread

Array = NDArray[np.float64]
ITERATIONS = 50


@dataclass(frozen=True)
class DriveGains:
    """Effort per logged unit of each joint [N m/A], with deviations; joints the load does not show have none."""

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
        """As plain data."""
        rows = zip(self.joints, self.gains.tolist(), self.deviations.tolist(), strict=True)
        return {"gains": [{"joint": j, "gain": g, "deviation": d} for j, g, d in rows]}


def drive_gains(
    model: LinearModel, unloaded: Sequence[LogMotion], loaded: Sequence[LogMotion], load: Load
) -> DriveGains:
    """Gains of all joints from logs in amperes without and with a known load.

    Without a centre only the load's mass is known, and where it sits is found with the gains.
    """
    for value in (load.mass, *(load.com or ()), *(load.inertia or ())):
        if not abs(value) <= LARGEST:
            raise InputError(f"a known load has numbers of at most {LARGEST:g} [kg, m, kg m2], not {value:g}")
    if model.choice.needs_load:
        raise MinertiaError("friction that grows with the load cannot be fitted together with the gains of the drives")
    with one_thread():
        with_load = observe(loaded_model(model, load.at, True), loaded)
        both = observe(loaded_model(model, load.at, False), unloaded).appended(with_load)
        if load.com is None:
            parts = _known_mass(both.totals, model.count, load.mass)
        else:
            parts = _known_load(
                both.totals, model.count, np.array(from_com(load.mass, load.com, _matrix(load.inertia)))
            )
        beta, gains = _start(parts)
        if not np.all(gains > 0):
            bad = [name for name, own in zip(both.row_names, gains, strict=True) if own <= 0]
            raise MinertiaError(f"the load does not show in the currents of {', '.join(bad)}")
        return _refined(both.row_names, parts, beta, 1 / gains, both.samples)


def _matrix(inertia: Sequence[float] | None) -> Array:
    return np.zeros((3, 3)) if inertia is None else symmetric(inertia)


def _known_load(totals: Array, p: int, ten: Array) -> Array:
    """Per effort the triangle of [Y, effort of the load, current]."""
    T = np.zeros((p + 11, p + 2))
    T[range(p), range(p)] = 1.0
    T[p : p + 10, p] = ten
    T[-1, -1] = 1.0
    return triangle(totals @ T)


def _known_mass(totals: Array, p: int, mass: float) -> Array:
    """The same with the nine other parameters of the load among the unknowns."""
    T = np.eye(p + 11)
    T[p + 9, p + 9] = mass
    return triangle(totals @ T)


def _start(parts: Array) -> tuple[Array, Array]:
    """beta and gains of the equations Y beta + load = gain current, linear in both; noise makes these gains small."""
    n, k = len(parts), parts.shape[-1]
    p = k - 2
    rows, right = np.zeros((0, p + n)), np.zeros(0)
    for j, R in enumerate(parts):
        size = max(float(np.linalg.norm(R[:, -1])), 1e-300)
        own = np.zeros((k, p + n))
        own[:, :p], own[:, p + j] = R[:, :p] / size, -R[:, -1] / size
        rows, right = np.concatenate([rows, own]), np.concatenate([right, -R[:, p] / size])
    lengths = np.maximum(np.linalg.norm(rows, axis=0), 1e-300)
    found = np.linalg.lstsq(rows / lengths, right, rcond=1e-10)[0] / lengths
    return np.asarray(found[:p]), np.asarray(found[p:])


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
    variance = np.sum((Vt.T[p:] * inv) ** 2, axis=1) / lengths[p:] ** 2  # of the gains; an arm need not show all loads
    return DriveGains(names, 1 / k, np.sqrt(variance) / k**2)
