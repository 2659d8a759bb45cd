"""The estimators, by name; each is imported on demand."""

from __future__ import annotations

import importlib
import warnings
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from minertia.io.errors import OldName, UnknownName
from minertia.io.schema import Option, options

if TYPE_CHECKING:
    from minertia.identification.estimators.estimator import Estimator

_HERE = "minertia.identification.estimators"
ESTIMATORS = {
    "auto": f"{_HERE}.automatic:Automatic",
    "ols": f"{_HERE}.least_squares:OrdinaryLeastSquares",
    "wls": f"{_HERE}.least_squares:WeightedLeastSquares",
    "robust": f"{_HERE}.robust:Robust",
    "tls": f"{_HERE}.total:TotalLeastSquares",
    "iv": f"{_HERE}.instrumental:InstrumentalVariable",
    "ridge": f"{_HERE}.ridge:Ridge",
    "sequential": f"{_HERE}.staged:Sequential",
    "offline": f"{_HERE}.staged:OneJointAtATime",
    "recursive": f"{_HERE}.recursive:Recursive",
    "physical": f"{_HERE}.physical:Physical",
}
OLD_NAMES = {"weighted": "wls", "ordinary": "ols", "total": "tls", "instrumental": "iv", "sdp": "physical"}


def table_name(name: str) -> str:
    """Current name of an estimator; an old one works until 1.0.0, with a deprecation warning."""
    known = OLD_NAMES.get(name, name)
    if known not in ESTIMATORS:
        raise UnknownName("estimator", name, ESTIMATORS)
    if known != name:
        warnings.warn(
            f"the estimator '{name}' has been renamed to '{known}'; the old name will be removed in 1.0.0",
            OldName,
            stacklevel=3,
        )
    return known


def estimator_class(name: str) -> type[Estimator]:
    """Class of an estimator, by name."""
    module, kind = ESTIMATORS[table_name(name)].split(":")
    found: type[Estimator] = getattr(importlib.import_module(module), kind)
    return found


def estimator_options(name: str) -> tuple[Option, ...]:
    """Options of an estimator, by name."""
    return options(estimator_class(name))


def named_estimator(name: str, **given: Any) -> Estimator:
    """Estimator with its options, by name."""
    make = estimator_class(name)
    known = [field.name for field in fields(make) if field.init]  # type: ignore[arg-type]
    for option in given:
        if option not in known:
            raise UnknownName(f"option of the estimator '{name}'", option, known or ("none",))
    made: Estimator = make(**given)
    return made


def takes_prior(name: str) -> bool:
    """Whether an estimator accepts prior values to regularise towards."""
    return estimator_class(name).takes_prior
