"""Uncertainty of each parameter: standard deviations and intervals under correlated residuals and under a prior."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.identification.estimators.estimate import Estimate
from minertia.identification.evidence.intervals import NORMAL, Spread
from minertia.identification.problem.diagnosis import excitation
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import solution
from minertia.io.notebook import clipped

Array = NDArray[np.float64]
PRIOR = "prior"  # class of a value that a prior gives: the data say little of it


@dataclass(frozen=True)
class ParameterEvidence:
    """One parameter: estimate, standard deviation and 95 % interval under correlated residuals.

    over_recordings: mean, standard deviation, minimum and maximum of the estimates from each log alone.
    """

    name: str
    value: float
    deviation: float
    relative_deviation: float
    interval: tuple[float, float]
    kind: str  # "alone", "combination", "prior" or "fixed"
    over_recordings: Mapping[str, float] | None = None

    def __repr__(self) -> str:
        known = "fixed" if self.kind == "fixed" else f"standard deviation {self.deviation:.2g}, {self.kind}"
        return f"<ParameterEvidence {clipped(self.name, 40)} = {self.value:.5g}, {known}>"

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict: an entry of the result's parameter list."""
        relative = self.relative_deviation
        return {
            "name": self.name,
            "value": self.value,
            "deviation": self.deviation,
            "relative_deviation": relative if np.isfinite(relative) else None,
            "class": self.kind,
        }


def over_recordings(problem: Observation, sigma: Array) -> dict[str, dict[str, float]]:
    """Mean, standard deviation, minimum and maximum over fits of each log alone that excites the unknown."""
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


def parameter_evidence(
    estimate: Estimate,
    problem: Observation,
    widths: Spread | None,
    repeated: Mapping[str, Mapping[str, float]],
    by_prior: Collection[str] = (),
) -> tuple[ParameterEvidence, ...]:
    """One entry per parameter that the data (or a fixed value) determine; unidentifiable ones have none.

    widths: of the unknowns of the problem.  by_prior: parameters that a prior determines rather than the data.
    """
    stated = {} if widths is None else dict(zip(problem.names, np.sqrt(np.diag(widths.stated)).tolist(), strict=True))
    entries = []
    for k, name in enumerate(estimate.names):
        if name in estimate.not_excited:
            continue
        value, deviation = float(estimate.beta[k]), stated.get(name, float(estimate.deviation[k]))
        kind = "fixed" if name in estimate.fixed else PRIOR if name in by_prior else estimate.classes[k]
        half = NORMAL * deviation
        relative = deviation / abs(value) if value != 0 else float("inf") if deviation > 0 else 0.0
        offset = float(problem.shift[k])
        own = {
            key: v if key in ("deviation", "recordings") else v + offset for key, v in repeated.get(name, {}).items()
        }
        interval = (value - half, value + half)
        entries.append(ParameterEvidence(name, value, deviation, relative, interval, kind, own or None))
    return tuple(entries)
