"""Abstract base class of the estimators."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self

from minertia.identification.estimators.estimate import Fit
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.tried import Tried
from minertia.io.schema import Declared


@dataclass(frozen=True)
class Known:
    """Prior knowledge, by full names of standard parameters.

    prior: values that fits may be regularised towards, None without any.  fixed: parameters that are not fitted.
    """

    prior: Mapping[str, float] | None = None
    fixed: Mapping[str, float] = field(default_factory=dict)


class Estimator(Declared, abc.ABC):
    """Estimator of beta in Y beta = tau.

    fills_gaps: whether it estimates parameters that the motion does not excite (from a prior); other estimators are
    given problems of full rank.  takes_prior: whether it can be regularised towards prior values.
    """

    fills_gaps: ClassVar[bool] = False
    takes_prior: ClassVar[bool] = False

    @abc.abstractmethod
    def fit(self, problem: Observation) -> Fit:
        """Fit the problem: estimate, covariance and noise levels."""

    def informed(self, model: LinearModel, known: Known) -> Self:
        """Estimator with prior knowledge; estimators without a prior ignore it."""
        return self

    def chosen(self, problem: Observation) -> Choice:
        """Estimator to use for a problem: this one, unless it selects among others."""
        return Choice(self)


@dataclass(frozen=True)
class Choice:
    """Estimator to use, its name where it is not the requested one, and messages that give the reason.

    tried: the estimators that were compared.
    """

    estimator: Estimator
    name: str | None = None
    notes: tuple[str, ...] = ()
    tried: tuple[Tried, ...] = ()


def prior_weight(weight: float) -> str:
    """Message that states the weight of the prior in a fit."""
    return f"the prior has weight {weight:.3g} (with weight 1 it counts as much as the logs)"
