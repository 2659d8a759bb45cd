"""Detection of extrapolation: motion outside the range of the fitted logs.

Two indicators.  The parameter covariance, propagated to the efforts of the motion, gives the uncertainty of a
prediction: var(tau) = Y cov(beta) Y'.  And positions and speeds outside the range of the fit depend on friction, cables
and counterbalances that were never measured there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minertia.identification.evidence import thresholds as at
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.path import presliding_of
from minertia.identification.problem.prediction import load_efforts
from minertia.identification.problem.rows import MotionLike, projected, reach_rows
from minertia.identification.signals.filtering import Motion
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
SAMPLES = 500  # of a part of a log that are looked at


@dataclass(frozen=True)
class Reach:
    """Range of motion: lowest and highest position and highest speed per coordinate [rad or m, rad/s or m/s]."""

    low: Array
    high: Array
    speed: Array

    def to_dict(self) -> dict[str, list[float]]:
        """Return as a dict of plain data."""
        return {"low": self.low.tolist(), "high": self.high.tolist(), "speed": self.speed.tolist()}

    @classmethod
    def from_dict(cls, table: Mapping[str, Sequence[float]]) -> Reach:
        """Create from plain data."""
        return cls(*(np.array(table[key], float) for key in ("low", "high", "speed")))


def fitted_reach(observation: Observation) -> Reach:
    """Range of motion of the fitted logs."""
    low, high, speed = np.stack([log.reach for log in observation.logs]).swapaxes(0, 1)
    return Reach(low.min(axis=0), high.max(axis=0), speed.max(axis=0))


def reach_of(robot: Robot, parts: Iterable[MotionLike]) -> Reach:
    """Range of a motion."""
    found = np.stack([reach_rows(robot, p.q, p.qd) for p in parts])
    return Reach(found[:, 0].min(axis=0), found[:, 1].max(axis=0), found[:, 2].max(axis=0))


def unknown_part(model: LinearModel, beta: Array, covariance: Array, parts: Iterable[MotionLike]) -> float:
    """Relative uncertainty of the predicted efforts: norm of their standard deviations over that of the effort."""
    load = load_efforts(model, beta) if model.choice.needs_load else None
    spread = effort = 0.0
    for part in parts:
        rows = slice(0, None, max(1, len(part.t) // SAMPLES))
        q, qd, qdd = (np.asarray(a, float)[rows] for a in (part.q, part.qd, part.qdd))
        slid = {name: values[rows] for name, values in presliding_of(model, Motion.of(part)).items()}
        Y = model.columns(q, qd, qdd, None if load is None else load(q, qd, qdd), presliding=slid)
        Y = projected(model, Motion.of(part).select(rows), Y)
        spread += float(np.einsum("nrp,pq,nrq->", Y, covariance, Y))
        effort += float(np.sum(np.asarray(part.tau, float)[rows][:, list(model.rows)] ** 2))
    return float(np.sqrt(max(spread, 0.0) / effort)) if effort > 0 else float("inf")


def remarks(
    model: LinearModel,
    beta: Array,
    covariance: Array,
    fitted: Reach,
    training: float,
    parts: Iterable[MotionLike],
    *,
    seen: float = float("inf"),
    unknown: float | None = None,
) -> tuple[str, ...]:
    """Warnings if a motion extrapolates; training, seen: relative residuals of the fit and of this motion.

    unknown: `unknown_part` of the motion, if already computed.
    """
    found = []
    part = unknown_part(model, beta, covariance, parts) if unknown is None else unknown
    if training < part <= at.REFUTED * max(seen, training):  # deviations far beyond what was seen are refuted by it
        found.append(
            "the parameters are not known accurately enough for this motion: their standard deviations alone "
            f"make {100 * part:.3g} % of the effort uncertain, more than the training residual "
            f"({100 * training:.3g} %)"
        )
    own = reach_of(model.robot, parts)
    names = model.robot.coordinate_names
    outside = _beyond(fitted, own) > at.OUTSIDE
    faster = own.speed > at.FASTER * fitted.speed
    if outside.any():
        found.append(f"positions outside the range of the training logs: {_listed(names, outside)}")
    if faster.any():
        ratios = own.speed[faster & (fitted.speed > 0)] / fitted.speed[faster & (fitted.speed > 0)]
        times = f", up to {ratios.max():.2g} times" if ratios.size else ""  # of joints that stood still there is none
        found.append(f"faster than in the training logs{times}: {_listed(names, faster)}")
    return tuple(found)


def unmoved(robot: Robot, fitted: Reach, parts: Iterable[MotionLike]) -> dict[str, float]:
    """Joints that hardly moved in the fit and far exceed that range in a motion, with the ratio of the ranges."""
    beyond = _beyond(fitted, reach_of(robot, parts))
    each = zip(robot.coordinate_names, beyond.tolist(), strict=True)
    return {name: times for name, times in each if times > at.UNMOVED}


def _beyond(fitted: Reach, own: Reach) -> Array:
    """Excess of each coordinate beyond the range of the fit, relative to that range."""
    width = np.maximum(fitted.high - fitted.low, 1e-6)
    return np.asarray(np.maximum(fitted.low - own.low, own.high - fitted.high) / width)


def _listed(names: Sequence[str], chosen: NDArray[np.bool_]) -> str:
    return ", ".join(name for name, is_chosen in zip(names, chosen, strict=True) if is_chosen)
