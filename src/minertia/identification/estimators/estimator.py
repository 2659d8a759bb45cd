"""The abstract estimator."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self

from minertia.identification.estimators.estimate import Fit
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.observation import Observation
from minertia.io.schema import Declared


@dataclass(frozen=True)
class Known:
    """What is known before the data are looked at, by full names of standard parameters.

    prior: values that fits may be drawn to, None without any.  fixed: parameters that are not fitted.
    """

    prior: Mapping[str, float] | None = None
    fixed: Mapping[str, float] = field(default_factory=dict)


class Estimator(Declared, abc.ABC):
    """A way to solve Y beta = tau.

    fills_gaps: whether it gives a value to what the motion does not excite (from a prior); other estimators are given
    problems of full rank.  takes_prior: whether it can be drawn to prior values.
    """

    fills_gaps: ClassVar[bool] = False
    takes_prior: ClassVar[bool] = False

    @abc.abstractmethod
    def fit(self, problem: Observation) -> Fit:
        """Values, covariance and noise levels."""

    def informed(self, model: LinearModel, known: Known) -> Self:
        """The estimator told what is known beforehand; those that take no prior have no use for it."""
        return self

    def chosen(self, problem: Observation) -> Choice:
        """The estimator to use for a problem: this one, unless it is one that chooses."""
        return Choice(self)


@dataclass(frozen=True)
class Choice:
    """An estimator to use, its name in the table where it is not the one asked for, and sentences that say why."""

    estimator: Estimator
    name: str | None = None
    notes: tuple[str, ...] = ()


def prior_weight(weight: float) -> str:
    """How far a fit was drawn to its prior, as a sentence."""
    return f"the prior has weight {weight:.3g} (at 1 it counts as much as the logs)"
