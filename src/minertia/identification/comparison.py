"""`compare_models`: comparison of two identified models of one robot."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.identification.model import Model
from minertia.identification.model_file import read_model
from minertia.io.errors import InputError, expected
from minertia.io.notebook import clipped, html_table, plural

FORMAT = 1
LEVEL = 0.05  # of finding any difference between two fits of one robot, all values together
QUANTILE = 1.959963984540054  # of a 95 % interval, in deviations
ROUNDING = 1e-9  # of eigenvalues of correlations
Array = NDArray[np.float64]
UNNAMED = re.compile(r"log \d+")  # of recordings in memory
LEFT_OUT = ("name", "joints")  # of a campaign's record: no settings


@dataclass(frozen=True)
class ComparedValue:
    """One parameter in two models, None if a model lacks it.

    apart: difference divided by its standard deviation.  p: p-value of the difference, corrected for multiple
    tests (Holm); None if one model lacks the parameter, or has other effects at that joint, which changes its
    meaning.  The standard deviation of the difference assumes independent fits; for fits of the same logs it
    is too large, so that differences appear less significant than they are.
    """

    name: str
    first: Mapping[str, Any] | None
    second: Mapping[str, Any] | None
    apart: float | None
    p: float | None = None

    @property
    def differs(self) -> bool:
        """Whether both models have the parameter and the difference is significant after Holm's correction."""
        return self.p is not None and self.p < LEVEL

    @property
    def is_apart(self) -> bool:
        """Whether the two values differ significantly, or only one model has the parameter."""
        return self.differs or self.is_in_one

    @property
    def is_in_one(self) -> bool:
        """Whether only one of the models has the parameter."""
        return self.first is None or self.second is None


@dataclass(frozen=True)
class JointDifference:
    """Joint test of all parameters: squared Mahalanobis distance chi2, degrees of freedom and p-value."""

    chi2: float
    df: int
    p: float


@dataclass(frozen=True)
class ModelComparison:
    """Comparison of two models: their parameters by name, and the settings that differ, as text."""

    first: Model
    second: Model
    titles: tuple[str, str]
    values: tuple[ComparedValue, ...]
    settings: Mapping[str, tuple[str, str]]
    joint: JointDifference | None = None

    @property
    def differing(self) -> tuple[ComparedValue, ...]:
        """Parameters of both models that differ significantly."""
        return tuple(value for value in self.values if value.differs)

    @property
    def apart(self) -> tuple[ComparedValue, ...]:
        """Parameters that differ significantly, and those that only one of the models has."""
        return tuple(value for value in self.values if value.is_apart)

    @property
    def in_one(self) -> tuple[ComparedValue, ...]:
        """Parameters that only one of the models has, such as an effect selected for one log only."""
        return tuple(value for value in self.values if value.is_in_one)

    @property
    def unlike(self) -> tuple[ComparedValue, ...]:
        """Parameters with a different meaning in each model, whose effects differ at that joint."""
        return tuple(value for value in self.values if not value.is_in_one and value.p is None)

    @property
    def shared_logs(self) -> tuple[str, ...]:
        """Names of logs that both models were fitted to."""
        names = [[_log_name(log) for log in model.campaign.get("train") or ()] for model in (self.first, self.second)]
        return tuple(name for name in names[0] if name in names[1] and not UNNAMED.fullmatch(name))

    def sentences(self) -> tuple[str, ...]:
        """Results of the comparison in whole sentences."""
        both = len(self.values) - len(self.in_one) - len(self.unlike)
        chance = f"(expected by chance in {LEVEL:.0%} of comparisons)"
        told = [
            f"{len(self.differing)} of {both} values differ by more than their standard deviations explain {chance}"
        ]
        if self.joint is not None:
            verdict = "differ" if self.joint.p < LEVEL else "do not differ"
            told.append(
                f"all values together {verdict}: chi2 {self.joint.chi2:.4g} of {self.joint.df}, p = {self.joint.p:.2g}"
            )
        if self.in_one:
            told.append(f"only in one of the models: {', '.join(value.name for value in self.in_one)}")
        if self.unlike:
            named = ", ".join(value.name for value in self.unlike)
            told.append(f"not compared, because the models have different effects at these joints: {named}")
        if self.shared_logs:
            logs = ", ".join(self.shared_logs)
            told.append(
                f"both models were fitted to logs called {logs}: if these are the same logs, differences "
                "are less significant"
            )
        return tuple(told)

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data."""
        return {
            "format": FORMAT,
            "robot": self.first.nominal.name,
            "models": [
                {"title": title, **_evidence(model)}
                for title, model in zip(self.titles, (self.first, self.second), strict=True)
            ],
            "parameters": [
                {
                    "name": v.name,
                    "first": _shown(v.first),
                    "second": _shown(v.second),
                    "apart": v.apart,
                    "p": v.p,
                    "differs": v.differs,
                }
                for v in self.values
            ],
            "joint": None if self.joint is None else {"chi2": self.joint.chi2, "df": self.joint.df, "p": self.joint.p},
            "differing": len(self.differing),
            "sentences": list(self.sentences()),
            "settings": {key: list(pair) for key, pair in self.settings.items()},
        }

    def __repr__(self) -> str:
        return (
            f"<ModelComparison of '{clipped(self.first.nominal.name, 40)}': {len(self.differing)} of "
            f"{plural(len(self.values), 'value')} differ>"
        )

    def _repr_html_(self) -> str:
        rows = [
            (v.name, *(_short(side) for side in (v.first, v.second)), "" if v.apart is None else f"{v.apart:.2g}")
            for v in self.values
        ]
        headers = ("parameter", *self.titles, "difference, in standard deviations")
        return html_table(f"Two models of {self.first.nominal.name}", headers, rows, right=(1, 2, 3))


def compare_models(
    first: Model | str | Path,
    second: Model | str | Path,
    titles: tuple[str, str] = ("first", "second"),
) -> ModelComparison:
    """Compare two identified models of one robot; titles: names for the two."""
    first, second = (read_model(m) if isinstance(m, str | Path) else m for m in (first, second))
    for model in (first, second):
        expected(model, Model, "what is compared", "read_model")
    if first.nominal.coordinate_names != second.nominal.coordinate_names:
        raise InputError(
            f"the models describe different robots: '{first.nominal.name}' has the coordinates "
            f"{', '.join(first.nominal.coordinate_names)}, '{second.nominal.name}' has "
            f"{', '.join(second.nominal.coordinate_names)}; compare models of one robot"
        )
    if type(first) is not type(second):
        raise InputError(
            "the models are of different kinds (efforts, corrected geometry, a tool on a sensor), which have no value "
            "in common; compare two models of one kind"
        )
    ours, theirs = ({str(p["name"]): p for p in model.parameters} for model in (first, second))
    names = [*ours, *(name for name in theirs if name not in ours)]
    common = [name for name in ours if name in theirs]
    alike = _comparable(first, second, common)
    steps = dict(zip(common, _apart(*_difference(first, second, common)), strict=True))
    difference, covariance = _difference(first, second, alike)
    chances = dict(zip(alike, _holm(_apart(difference, covariance)), strict=True))
    values = tuple(
        ComparedValue(name, ours.get(name), theirs.get(name), _finite(steps.get(name)), chances.get(name))
        for name in names
    )
    one, two = (dict(_flat(model.campaign)) for model in (first, second))
    keys = [*one, *(key for key in two if key not in one)]
    settings = {key: (one.get(key, ""), two.get(key, "")) for key in keys if one.get(key) != two.get(key)}
    return ModelComparison(first, second, titles, values, settings, _joint(difference, covariance))


def _difference(first: Model, second: Model, names: Sequence[str]) -> tuple[Array, Array]:
    """Differences of the named parameters, and their covariance."""
    (a, A), (b, B) = (_stated(model, names) for model in (first, second))
    return a - b, A + B


def _stated(model: Model, names: Sequence[str]) -> tuple[Array, Array]:
    """Values of the named parameters and their covariance, consistent with the stated 95 % intervals.

    Standard deviations are not smaller than those that the intervals imply.
    """
    known = [str(p["name"]) for p in model.parameters]
    values, C = model.beta, model.covariance
    if len(values) != len(known):  # gains of position loops are stated beside the model's own unknowns
        values = np.array([p["value"] for p in model.parameters], float)
        C = np.diag(np.array([p["deviation"] for p in model.parameters], float) ** 2)
    wide = np.array([(p["interval"][1] - p["interval"][0]) / (2 * QUANTILE) for p in model.parameters], float)
    own = np.sqrt(np.maximum(np.diag(C), 0.0))
    scale = np.where(own > 0, np.maximum(wide / np.where(own > 0, own, 1.0), 1.0), 1.0)
    kept = [known.index(n) for n in names]
    return values[kept], (C * np.outer(scale, scale))[np.ix_(kept, kept)]


def _comparable(first: Model, second: Model, names: Sequence[str]) -> list[str]:
    """Parameters with the same meaning in both models.

    Coulomb friction beside a Stribeck effect is not the same as Coulomb friction alone.
    """
    odd = set(first.effect_names) ^ set(second.effect_names)
    joints = {_joint_of(name) for name in odd}
    effects = {*first.effect_names, *second.effect_names}
    return [name for name in names if name not in effects or _joint_of(name) not in joints]


def _joint_of(name: str) -> str:
    """Number of the joint in the name of an effect coefficient, such as FS3@0.2."""
    found = re.match(r"[A-Z]+(\d+)", name)
    return found[1] if found else name


def _apart(difference: Array, covariance: Array) -> Array:
    """Differences over their standard deviations; infinite between exactly known values that differ."""
    size = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    exact = np.where(difference == 0, 0.0, np.inf)
    return np.where(size > 0, np.abs(difference) / np.where(size > 0, size, 1.0), exact)


def _holm(apart: Array) -> list[float]:
    """Holm-adjusted p-values of the differences."""
    chances = np.array([math.erfc(z / math.sqrt(2.0)) for z in apart])
    order = np.argsort(chances, kind="stable")
    steps = np.maximum.accumulate(chances[order] * np.arange(len(chances), 0, -1))
    found = np.empty_like(chances)
    found[order] = np.minimum(steps, 1.0)
    return [float(p) for p in found]


def _joint(difference: Array, covariance: Array) -> JointDifference | None:
    """Joint test of all parameters that have a standard deviation; None if there are none."""
    from scipy.stats import chi2  # here: it takes half a second to load

    size = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    known = size > 0
    if not known.any():
        return None
    part = covariance[np.ix_(known, known)] / np.outer(size[known], size[known])
    weights, axes = np.linalg.eigh(part)
    seen = weights > ROUNDING * weights[-1]
    steps = (axes.T @ (difference[known] / size[known]))[seen]
    total = float(np.sum(steps**2 / weights[seen]))
    return JointDifference(total, int(seen.sum()), float(chi2.sf(total, int(seen.sum()))))


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _log_name(log: Any) -> str:
    return str(log.get("file", log) if isinstance(log, Mapping) else log)


def _evidence(model: Model) -> dict[str, Any]:
    """Estimator, conditioning, residuals and verdict stored in a model's file, with its effects."""
    keys = ("estimator", "count", "condition", "training", "validation", "verdict")
    return {key: model.evidence.get(key) for key in keys} | {
        "effects": list(model.effect_names),
        "physical": model.is_physical,
    }


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Settings of a record as text, by their full dotted names."""
    for key, value in table.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        elif name not in LEFT_OUT and value is not None:
            yield name, _text(value)


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(_text(v) for v in value)
    if isinstance(value, Mapping):
        return " ".join(f"{key} {_text(v)}" for key, v in value.items())
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _shown(side: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if side is None else {key: side[key] for key in ("value", "deviation", "interval", "class")}


def _short(side: Mapping[str, Any] | None) -> str:
    return "" if side is None else f"{side['value']:.4g} \u00b1 {side['deviation']:.2g}"
