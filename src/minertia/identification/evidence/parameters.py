"""How well each value is known: deviations and intervals that hold under correlated residuals and under a prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.identification.estimators.estimate import Estimate
from minertia.identification.evidence.intervals import NORMAL, Spread, spread
from minertia.identification.problem.diagnosis import excitation
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import inverse, solution, weighted_solution
from minertia.notebook import clipped

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ParameterEvidence:
    """One value: deviation and 95 % interval under correlated residuals; over the logs: mean, deviation, min, max."""

    name: str
    value: float
    deviation: float
    relative_deviation: float
    interval: tuple[float, float]
    kind: str  # "alone", "combination" or "fixed"
    over_recordings: Mapping[str, float] | None = None

    def __repr__(self) -> str:
        known = "fixed" if self.kind == "fixed" else f"deviation {self.deviation:.2g}, {self.kind}"
        return f"<ParameterEvidence {clipped(self.name, 40)} = {self.value:.5g}, {known}>"

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


def over_recordings(problem: Observation, sigma: Array) -> dict[str, dict[str, float]]:
    """Mean, deviation, minimum and maximum over fits of each log alone, where it excites the unknown."""
    if len(problem.logs) < 2:
        return {}
    values: dict[str, list[float]] = {name: [] for name in problem.names}
    for k in range(len(problem.logs)):
        part = problem.only([k])
        found = excitation(part)
        fitted = part.reduced(found.independent)
        beta = solution(fitted.triangle(sigma))
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
    """The weighted fit of what a problem excites; None where there are too few blocks to judge it."""
    part = problem.reduced(independent)
    if not part.count or sum(len(r.counts) for r in part.logs) < 4:
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
        h = half.get(name, NORMAL * deviation)
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
