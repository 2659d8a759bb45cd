"""Evidence: how well each value is known, and how well the model predicts what it was and was not fitted on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.errors import SolverFailed
from minertia.identification.estimate import Estimate
from minertia.identification.estimators.estimator import inverse, solve, weighted_solution
from minertia.identification.intervals import Spread, spread
from minertia.identification.problem.diagnosis import excitation
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.triangles import merged, triangle
from minertia.threads import one_thread

Array = NDArray[np.float64]
FOLDS = 5


@dataclass(frozen=True)
class ParameterEvidence:
    """One value: deviation and 95 % interval under correlated residuals; over recordings: mean, deviation, min, max."""

    name: str
    value: float
    deviation: float
    relative_deviation: float
    interval: tuple[float, float]
    kind: str  # "alone", "combination" or "fixed"
    over_recordings: Mapping[str, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The entry of the result's parameter list."""
        relative = self.relative_deviation
        return {
            "name": self.name,
            "value": self.value,
            "deviation": self.deviation,
            "relative_deviation": relative if np.isfinite(relative) else None,
            "class": self.kind,
        }


@dataclass(frozen=True)
class Residuals:
    """Residuals of one recording or of several: relative = norm of residual over norm of effort; rmse [N m or N]."""

    log: str
    relative: float
    rmse: float
    joints: tuple[str, ...]
    joint_relative: tuple[float, ...]
    joint_rmse: tuple[float, ...]
    remarks: tuple[str, ...] = ()  # how far the motion leaves what was fitted

    def to_dict(self, with_log: bool = True) -> dict[str, Any]:
        """As plain data; a relative residual of a joint without effort is null."""
        per_joint = [
            {"joint": j, "relative": r if np.isfinite(r) else None, "rmse": e}
            for j, r, e in zip(self.joints, self.joint_relative, self.joint_rmse, strict=True)
        ]
        head: dict[str, Any] = {"log": self.log} if with_log else {}
        told = {"remarks": list(self.remarks)} if self.remarks else {}
        return head | {"relative": self.relative, "rmse": self.rmse, "per_joint": per_joint} | told


def residuals_of(log: str, joints: Sequence[str], residual: Array, effort: Array, samples: int) -> Residuals:
    """From norms per joint of residual and effort over a number of samples."""
    total, size = float(np.linalg.norm(residual)), float(np.linalg.norm(effort))
    relative = np.divide(residual, effort, out=np.full(len(effort), np.inf), where=effort > 0)
    return Residuals(
        log,
        total / size if size > 0 else float("inf"),
        total / float(np.sqrt(max(samples * len(joints), 1))),
        tuple(joints),
        tuple(relative.tolist()),
        tuple((residual / np.sqrt(max(samples, 1))).tolist()),
    )


def residuals_of_arrays(log: str, joints: Sequence[str], measured: Array, predicted: Array) -> Residuals:
    """From efforts (N, joints)."""
    rest = np.linalg.norm(measured - predicted, axis=0)
    return residuals_of(log, joints, rest, np.linalg.norm(measured, axis=0), len(measured))


def training_residuals(observation: Observation, beta: Array, log: str = "training") -> Residuals:
    """Over all recordings of an observation of all the model's unknowns, as the fit saw them."""
    effort = np.linalg.norm(observation.totals[:, :, -1], axis=1)
    return residuals_of(log, observation.row_names, observation.residuals(beta), effort, observation.samples)


def recording_residuals(observation: Observation, beta: Array) -> list[Residuals]:
    """One per recording."""
    return [training_residuals(observation.only([k]), beta, r.name) for k, r in enumerate(observation.records)]


def pooled(log: str, parts: Sequence[tuple[Residuals, int]]) -> Residuals:
    """Residuals of several recordings together, with their numbers of samples."""
    joints = parts[0][0].joints
    rest = np.sqrt(sum(n * np.array(r.joint_rmse) ** 2 for r, n in parts))
    sizes = [np.array(r.joint_rmse) * np.sqrt(n) / np.maximum(np.array(r.joint_relative), 1e-300) for r, n in parts]
    effort = np.sqrt(sum(s**2 for s in sizes))
    return residuals_of(log, joints, np.asarray(rest), np.asarray(effort), sum(n for _, n in parts))


def over_recordings(problem: Observation, sigma: Array) -> dict[str, dict[str, float]]:
    """Mean, deviation, minimum and maximum over fits of each recording alone, where it excites the unknown."""
    if len(problem.records) < 2:
        return {}
    values: dict[str, list[float]] = {name: [] for name in problem.names}
    for k in range(len(problem.records)):
        part = problem.only([k])
        found = excitation(part)
        fitted = part.reduced(found.independent)
        beta = solve(fitted.triangle(sigma))
        for name, value in zip(fitted.names, beta, strict=True):
            if name not in found.not_excited:
                values[name].append(float(value))
    return {
        name: {
            "mean": float(np.mean(v)),
            "deviation": float(np.std(v, ddof=1)),
            "min": min(v),
            "max": max(v),
            "recordings": float(len(v)),
        }
        for name, v in values.items()
        if len(v) > 1
    }


@dataclass(frozen=True)
class DataAlone:
    """What the data say without a prior or constraints, by name: value, deviation and half of the 95 % interval.

    Physics and priors pull values: their own curvature says how far noise moves them, not how far the pull does.  The
    interval of the data alone holds whatever they were drawn to; it is widened to hold the value that was taken.
    """

    value: Mapping[str, float]
    deviation: Mapping[str, float]
    half: Mapping[str, float]
    inflation: Mapping[str, float]

    def rms_error(self, name: str, value: float, deviation: float) -> float:
        """Deviation of a drawn value with its bias: the square of the pull beyond what noise explains of it."""
        if name not in self.value:
            return deviation
        by_noise = max(self.deviation[name] ** 2 - deviation**2, 0.0)
        return float(np.sqrt(deviation**2 + max((value - self.value[name]) ** 2 - by_noise, 0.0)))

    def interval(self, name: str, value: float) -> tuple[float, float] | None:
        """The interval of the data alone, widened to hold the value; None where the data alone say nothing."""
        if name not in self.value:
            return None
        centre, half = self.value[name], self.half[name]
        return min(centre - half, value), max(centre + half, value)


def data_alone(problem: Observation, independent: Sequence[int]) -> DataAlone | None:
    """The weighted fit of what a problem excites; None where there are too few stretches to judge it."""
    part = problem.reduced(independent)
    if not part.count or sum(len(r.counts) for r in part.records) < 4:
        return None
    beta, R, sigma = weighted_solution(part)
    widths = spread(part, beta, sigma)
    deviation = np.linalg.norm(inverse(R[:-1, :-1]), axis=1) * widths.inflation
    values = part.expand(beta)[list(part.keep)]
    columns = (values, deviation, widths.half_width(deviation), widths.inflation)
    return DataAlone(*(dict(zip(part.names, column.tolist(), strict=True)) for column in columns))


def parameter_evidence(
    estimate: Estimate,
    problem: Observation,
    widths: Spread | None,
    repeated: Mapping[str, Mapping[str, float]],
    alone: DataAlone | None = None,
) -> tuple[ParameterEvidence, ...]:
    """One entry per value that the data (or a pin) give; what was not excited has none.

    alone: given where the values were drawn to a prior or held by constraints.
    """
    factor = dict(zip(problem.names, widths.inflation.tolist(), strict=True)) if widths is not None else {}
    if alone is not None:
        factor = {**alone.inflation, **factor}
    half = _half_widths(estimate, problem, widths)
    entries = []
    for k, name in enumerate(estimate.names):
        if name in estimate.not_excited:
            continue
        value, deviation = float(estimate.beta[k]), float(estimate.deviation[k]) * factor.get(name, 1.0)
        kind = "fixed" if name in estimate.fixed else estimate.classes[k]
        h = half.get(name, 1.96 * deviation)
        interval = None
        if alone is not None and kind != "fixed":
            interval, deviation = alone.interval(name, value), alone.rms_error(name, value, deviation)
        relative = deviation / abs(value) if value != 0 else float("inf") if deviation > 0 else 0.0
        offset = float(problem.shift[k])
        own = {
            key: v if key in ("deviation", "recordings") else v + offset for key, v in repeated.get(name, {}).items()
        }
        interval = interval or (value - h, value + h)
        entries.append(ParameterEvidence(name, value, deviation, relative, interval, kind, own or None))
    return tuple(entries)


def _half_widths(estimate: Estimate, problem: Observation, widths: Spread | None) -> dict[str, float]:
    """Half of the 95 % interval of each unknown of a problem under correlated residuals."""
    if widths is None:
        return {}
    deviations = np.array([estimate.deviation[estimate.names.index(n)] for n in problem.names]) * widths.inflation
    return dict(zip(problem.names, widths.half_width(deviations).tolist(), strict=True))


def friction_only(observation: Observation, nominal: Array | None) -> Array:
    """The rival: inertias as the robot's file gives them (none where it gives none), friction and offsets fitted."""
    model = observation.model
    friction = [k for k in range(model.count) if model.is_friction(k)]
    known = np.zeros(model.count) if nominal is None else np.array(nominal, float)
    known[friction] = 0.0
    if not friction:
        return known
    rest = observation.reduced(friction, known)
    found = excitation(rest)
    rest = rest.reduced(found.independent)
    if rest.count == 0:
        return known
    beta, _, _ = weighted_solution(rest)
    return rest.expand(beta)


@dataclass(frozen=True)
class LeftOut:
    """Stretches of the recordings predicted by fits of the others: norms per joint of residual and effort."""

    rest: Array
    effort: Array
    samples: int

    @property
    def relative(self) -> float:
        """Norm of the residual over that of the effort; nan without stretches, inf where a fit was impossible."""
        size = float(np.linalg.norm(self.effort))
        return float(np.linalg.norm(self.rest)) / size if size > 0 else float("nan" if not len(self.rest) else "inf")


NOTHING_LEFT_OUT = LeftOut(np.zeros(0), np.zeros(0), 0)


def left_out_error(
    problem: Observation, sigma: Array, refit: Callable[[Array], Array] | None = None, folds: int = FOLDS
) -> LeftOut:
    """Residuals of stretches of the recordings predicted by a fit of the others.

    refit: values from a triangle of weighted rows; by default those of plain least squares.
    """
    with one_thread():
        blocks = problem.blocks / sigma[:, None, None]
        parts = np.array_split(np.arange(len(blocks)), min(folds, len(blocks)))
        if len(parts) < 2:
            return NOTHING_LEFT_OUT
        k = blocks.shape[-1]
        pieces = [triangle(merged(blocks[p]).reshape(-1, k)) for p in parts]
        rest, effort = np.zeros((2, len(sigma)))
        for out, own in zip(parts, range(len(pieces)), strict=True):
            R = triangle(np.concatenate([p for m, p in enumerate(pieces) if m != own]))
            beta = _refitted(R, refit)
            if beta is None:  # the other stretches do not excite everything
                return LeftOut(np.full(len(sigma), np.inf), np.ones(len(sigma)), problem.samples)
            T = merged(problem.blocks[out])
            rest += np.sum((T @ np.append(-beta, 1.0)) ** 2, axis=1)
            effort += np.sum(T[:, :, -1] ** 2, axis=1)
        return LeftOut(np.sqrt(rest), np.sqrt(effort), problem.samples)


def _refitted(R: Array, refit: Callable[[Array], Array] | None) -> Array | None:
    """Values from a triangle; plain least squares where there is no refit or it fails, None where that is singular."""
    if refit is not None:
        try:
            return refit(R)
        except SolverFailed:  # data without noise ask for more digits than a cone solver has
            pass
    least = np.abs(np.diag(R)[:-1]).min(initial=1.0)
    is_singular = least <= 1e-9 * np.linalg.norm(R[:, :-1], axis=0).max(initial=1.0)
    return None if is_singular else solve(R)
