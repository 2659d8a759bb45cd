"""Estimate from static poses: the bias model is chosen, then all unknowns are fitted."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from minertia.identification.campaigns.prepare import Tell
from minertia.identification.estimators.estimate import Estimate
from minertia.identification.estimators.estimator import Estimator
from minertia.identification.wrench.choice import BiasChoice, chosen
from minertia.identification.wrench.fit import WrenchFit
from minertia.identification.wrench.samples import SensorPoses
from minertia.identification.wrench.setups import WrenchReading
from minertia.io.errors import CampaignError

NAME = "restricted likelihood"


@dataclass(frozen=True, repr=False)
class WrenchEstimate(Estimate):
    """Estimates of load, mount, gravity direction and bias, with the fit and the choice of the bias model."""

    wrench: WrenchFit = field(kw_only=True, repr=False)
    choice: BiasChoice = field(kw_only=True, repr=False)

    __repr__ = Estimate.__repr__
    __str__ = Estimate.__str__


def refuse_estimators(asked: str | Estimator) -> None:
    """Raise an error for an estimator of joint efforts, which does not apply to this kind of measurement."""
    if asked in ("auto", NAME):
        return
    word = f"'{asked}'" if isinstance(asked, str) else type(asked).__name__
    raise CampaignError(f"the estimator {word} does not fit wrenches; use auto, and set bias in [wrench]")


def solve_wrench(poses: SensorPoses, reading: WrenchReading, tell: Tell) -> WrenchEstimate:
    """Estimate load, mount, gravity direction and bias from poses interpreted by `reading`."""
    found, choice = chosen(poses, reading, tell)
    deviation = np.sqrt(np.diag(found.covariance))
    correlation = found.covariance / np.outer(deviation, deviation)
    s = np.linalg.svd(correlation, compute_uv=False)
    condition = float(np.sqrt(s[0] / s[-1])) if s[-1] > 0 else float("inf")
    return WrenchEstimate(
        names=found.names,
        classes=tuple("alone" for _ in found.names),
        beta=found.values,
        covariance=found.covariance,
        sigma=found.noise.white,
        estimator=NAME,
        rank=len(found.names),
        condition=condition,
        scaled_condition=condition,
        wrench=found,
        choice=choice,
    )
