"""`compare_models`: two identified models of one robot side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from minertia.errors import InputError, expected
from minertia.identification.model import IdentifiedModel
from minertia.notebook import clipped, html_table, plural

FORMAT = 1
APART = 2.0  # deviations of a difference from which it is called one
LEFT_OUT = ("name", "joints")  # of a campaign's record: no settings


@dataclass(frozen=True)
class ComparedValue:
    """One parameter in two models, None where one of them lacks it; apart: difference in deviations of the difference.

    The deviation of a difference takes the two fits for independent, so that values from the same logs count as nearer
    than they are.
    """

    name: str
    first: Mapping[str, Any] | None
    second: Mapping[str, Any] | None
    apart: float | None

    @property
    def is_apart(self) -> bool:
        """Whether the two values differ, or only one is there."""
        return self.apart is None or self.apart > APART


@dataclass(frozen=True)
class ModelComparison:
    """Two models: their values by name, and their settings where they differ (as text, empty for none)."""

    first: IdentifiedModel
    second: IdentifiedModel
    titles: tuple[str, str]
    values: tuple[ComparedValue, ...]
    settings: Mapping[str, tuple[str, str]]

    @property
    def apart(self) -> tuple[ComparedValue, ...]:
        """The values that differ."""
        return tuple(value for value in self.values if value.is_apart)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "format": FORMAT,
            "robot": self.first.nominal.name,
            "models": [
                {"title": title, **_evidence(model)}
                for title, model in zip(self.titles, (self.first, self.second), strict=True)
            ],
            "parameters": [
                {"name": v.name, "first": _shown(v.first), "second": _shown(v.second), "apart": v.apart}
                for v in self.values
            ],
            "settings": {key: list(pair) for key, pair in self.settings.items()},
        }

    def __repr__(self) -> str:
        return (
            f"<ModelComparison of '{clipped(self.first.nominal.name, 40)}': {len(self.apart)} of "
            f"{plural(len(self.values), 'value')} differ by more than {APART:g} deviations>"
        )

    def _repr_html_(self) -> str:
        rows = [
            (v.name, *(_short(side) for side in (v.first, v.second)), "" if v.apart is None else f"{v.apart:.2g}")
            for v in self.values
        ]
        headers = ("parameter", *self.titles, "apart, in deviations")
        return html_table(f"Two models of {self.first.nominal.name}", headers, rows, right=(1, 2, 3))


def compare_models(
    first: IdentifiedModel, second: IdentifiedModel, titles: tuple[str, str] = ("first", "second")
) -> ModelComparison:
    """Two models of one robot side by side; titles: what they are called."""
    for model in (first, second):
        expected(model, IdentifiedModel, "what is compared", "read_model")
    if first.nominal.coordinate_names != second.nominal.coordinate_names:
        raise InputError(
            f"the models are of different robots: '{first.nominal.name}' has the coordinates "
            f"{', '.join(first.nominal.coordinate_names)}, '{second.nominal.name}' has "
            f"{', '.join(second.nominal.coordinate_names)}; compare models of one robot"
        )
    ours, theirs = ({str(p["name"]): p for p in model.parameters} for model in (first, second))
    names = [*ours, *(name for name in theirs if name not in ours)]
    values = tuple(_compared(name, ours.get(name), theirs.get(name)) for name in names)
    a, b = (dict(_flat(model.campaign)) for model in (first, second))
    keys = [*a, *(key for key in b if key not in a)]
    settings = {key: (a.get(key, ""), b.get(key, "")) for key in keys if a.get(key) != b.get(key)}
    return ModelComparison(first, second, titles, values, settings)


def _compared(name: str, a: Mapping[str, Any] | None, b: Mapping[str, Any] | None) -> ComparedValue:
    if a is None or b is None:
        return ComparedValue(name, a, b, None)
    size = math.hypot(float(a["deviation"]), float(b["deviation"]))
    difference = abs(float(a["value"]) - float(b["value"]))
    apart = difference / size if size > 0 else 0.0 if difference == 0 else None
    return ComparedValue(name, a, b, apart)


def _evidence(model: IdentifiedModel) -> dict[str, Any]:
    """What a model's file remembers of how good it is."""
    keys = ("estimator", "count", "condition", "training", "validation", "verdict")
    return {key: model.evidence.get(key) for key in keys} | {
        "effects": list(model.effect_names),
        "physical": model.is_physical,
    }


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Settings of a record by their whole names, as text."""
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
