"""`Calibration`: what a calibration found, how well it is known, and whether it is good."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from minertia.algebra.show import text
from minertia.calibration.chain import Array, Chain
from minertia.calibration.choice import LevelChoice
from minertia.calibration.corrected import CorrectedRobot, corrected
from minertia.calibration.fit import FREE, GeometryFit, rms
from minertia.calibration.measures import told
from minertia.calibration.setups import OtherReading
from minertia.calibration.spread import GeometrySpread
from minertia.identification.evidence.verdict import Verdict
from minertia.io.notebook import clipped, html_table, plural

BY_PRIOR = 0.5  # part of the prior's variance above which the prior decided a value
QUANTILE = 1.959963984540054
FORMAT = 1


@dataclass(frozen=True)
class GeometricValue:
    """One base geometric parameter: what it stands for, its value and deviation [m, rad]."""

    name: str
    group: str
    stands_for: str
    value: float
    deviation: float
    decided_by_prior: bool
    unit: str

    @property
    def interval(self) -> tuple[float, float]:
        """95 %."""
        return self.value - QUANTILE * self.deviation, self.value + QUANTILE * self.deviation

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        names = ("name", "group", "stands_for", "value", "deviation", "unit", "decided_by_prior")
        return {name: getattr(self, name) for name in names} | {"interval": list(self.interval)}


@dataclass(frozen=True)
class ReadingErrors:
    """Sizes of the errors of readings [unit: m, rad, px], beside those of base and tool alone."""

    file: str
    unit: str
    count: int
    rms: float
    median: float
    p95: float
    max: float
    nominal_rms: float
    zeros_rms: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {f: getattr(self, f) for f in self.__dataclass_fields__}


@dataclass(frozen=True)
class ShownGeometry:
    """What a kind of measurement can show of this chain, and what these postures show: counts and singular values."""

    count: int
    here: int
    gap: float
    smallest: float
    weak: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        gap = self.gap if np.isfinite(self.gap) else None
        return {"count": self.count, "rank": self.here, "gap": gap, "smallest": self.smallest, "weak": list(self.weak)}


@dataclass(frozen=True)
class Calibration:
    """The result of a calibration."""

    chain: Chain
    fit: GeometryFit
    spread: GeometrySpread
    choice: LevelChoice
    shown: ShownGeometry
    training: ReadingErrors
    validation: tuple[ReadingErrors, ...]
    values: tuple[GeometricValue, ...]
    verdict: Verdict
    other_readings: tuple[OtherReading, ...] = ()
    notes: tuple[str, ...] = ()
    zeros_in_file: bool = field(default=True)

    @cached_property
    def corrected(self) -> CorrectedRobot:
        """The corrected robot, where it stands, and where the tool's points are."""
        points = {}
        for measure, own in zip(self.fit.layout.postures.measures, self.fit.state.own, strict=True):
            if measure.has_point:
                points[measure.name] = own[:3]
        return corrected(self.chain, self.fit.state, points, zeros_in_file=self.zeros_in_file)

    @property
    def robot(self) -> Any:
        """The corrected robot."""
        return self.corrected.robot

    def joint_corrections(self) -> dict[str, float]:
        """{name: value [rad, m]} of corrections of joint positions, which no robot file holds."""
        return {v.name: v.value for v in self.values if v.group not in ("zeros", "lengths", "angles")}

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        made = self.corrected
        return {
            "format": FORMAT,
            "robot": self.chain.robot.name,
            "tip": self.chain.tip,
            "joints": list(self.chain.names),
            "levels": list(self.choice.levels),
            "count": self.shown.count,
            "shown_here": self.shown.here,
            "parameters": [v.to_dict() for v in self.values],
            "base": made.base.tolist(),
            "points": {name: list(p) for name, p in made.points.items()},
            "zeros": made.zeros,
            "noise": {"readings": self.spread.rows, "joints": self.spread.joints},
            "prior": {name: size for name, size in self.fit.sizes.groups.items()},
            "training": self.training.to_dict(),
            "validation": [e.to_dict() for e in self.validation],
            "levels_tried": [
                {"levels": list(levels), "rms": left.rms, "by_region": left.by_region.tolist()}
                for levels, left in self.choice.tried
            ],
            "certificate": self.shown.to_dict(),
            "verdict": self.verdict.to_dict() | {"suspicions": [s.to_dict() for s in self.other_readings]},
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def __repr__(self) -> str:
        judged = self.validation or (self.training,)
        return (
            f"<Calibration of '{clipped(self.chain.robot.name, 40)}': {plural(len(self.values), 'value')} "
            f"({', '.join(self.choice.levels) or 'no correction'}), "
            f"{told(judged[0].rms, judged[0].unit)}, {self.verdict.word}>"
        )

    def _repr_html_(self) -> str:
        rows = [(v.name, f"{v.value:.4g}", f"{v.deviation:.2g}", v.unit, v.stands_for) for v in self.values]
        return html_table(repr(self)[1:-1], ("name", "value", "deviation", "unit", "stands for"), rows)


def geometric_values(fit: GeometryFit, spread: GeometrySpread) -> tuple[GeometricValue, ...]:
    """All fitted values but those of base and tool."""
    kept = fit.layout.kept
    meanings = dict(zip(kept.columns, (text(form) for form in kept.forms), strict=True))
    meanings |= {c.name: c.words for c in fit.layout.joint_columns}
    shares = np.diag(fit.S) * fit.prior
    found = []
    for k, (name, group) in enumerate(zip(fit.names, fit.groups, strict=True)):
        if group in FREE:
            continue
        unit = "m" if group == "lengths" or (group == "zeros" and name.startswith("D")) else "rad"
        value, deviation = float(fit.values[k]), float(spread.deviations[k])
        by_prior = bool(shares[k] > BY_PRIOR)
        found.append(GeometricValue(name, str(group), meanings[name], value, deviation, by_prior, unit))
    return tuple(found)


def errors_row(file: str, unit: str, sizes: Array, nominal: Array, zeros: Array | None = None) -> ReadingErrors:
    """Figures of the errors of one file."""
    return ReadingErrors(
        file,
        unit,
        len(sizes),
        rms(sizes),
        float(np.median(sizes)),
        float(np.percentile(sizes, 95)),
        float(sizes.max()),
        rms(nominal),
        None if zeros is None else rms(zeros),
    )
