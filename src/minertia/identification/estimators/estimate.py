"""`Estimate`: parameter estimates with standard deviations, and the parameters that could not be estimated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from minertia.identification.problem.observation import Observation
from minertia.identification.problem.tried import Tried
from minertia.io.notebook import plural

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Prior:
    """Prior that a fit was regularised towards, for the unknowns of its problem.

    target: prior values.  rows (unknowns, unknowns): multiplied by beta - target, they enter the sum of squares beside
    the weighted rows.  error (unknowns, unknowns): covariance of target minus truth for a relative error of 1.
    """

    target: Array
    rows: Array
    error: Array


@dataclass(frozen=True)
class Fit:
    """Result of an estimator for the unknowns of its problem.

    sigma: noise standard deviation of each effort.  standard: all standard parameters where the estimator found them.
    verdict: of a physical fit.  notes: messages for the user.  refit: estimate from the R factor of other rows of the
    same problem, with the same choices; None for plain least squares.  prior: None where there is none.
    """

    beta: Array
    covariance: Array
    sigma: Array
    standard: Mapping[str, float] = field(default_factory=dict)
    verdict: Mapping[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    refit: Callable[[Array], Array] | None = None
    prior: Prior | None = None

    def __repr__(self) -> str:
        return f"<Fit of {plural(len(self.beta), 'unknown')}, {plural(len(self.sigma), 'noise level')}>"


@dataclass(frozen=True)
class Estimate:
    """Estimates of all unknowns of a linear model.

    beta, covariance: of every unknown; fixed ones have a standard deviation of zero.  not_excited: unidentifiable
    unknowns, whose entry in `beta` only serves predictions of the same motion, each with a message.  fit, part: result
    of the estimator, and the problem it solved; fills_gaps: whether priors or constraints determine what the data do
    not.  tried: estimators that were compared, where the choice was automatic.
    """

    names: tuple[str, ...]
    classes: tuple[str, ...]
    beta: Array
    covariance: Array
    sigma: Array
    estimator: str
    rank: int
    condition: float
    scaled_condition: float
    fixed: tuple[str, ...] = ()
    not_excited: Mapping[str, str] = field(default_factory=dict)
    standard: Mapping[str, float] = field(default_factory=dict)
    verdict: Mapping[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    fit: Fit | None = field(default=None, repr=False)
    part: Observation | None = field(default=None, repr=False)
    fills_gaps: bool = False
    tried: tuple[Tried, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        for name in ("beta", "covariance", "sigma"):
            array = np.array(getattr(self, name), dtype=float)
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def deviation(self) -> Array:
        """Standard deviation of each unknown."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def relative_deviation(self) -> Array:
        """Relative standard deviation; infinite for a value of zero."""
        size = np.abs(self.beta)
        return np.asarray(np.divide(self.deviation, size, out=np.full(size.shape, np.inf), where=size > 0))

    @property
    def identified(self) -> tuple[int, ...]:
        """Indices of the unknowns that the data identify."""
        return tuple(k for k, name in enumerate(self.names) if name not in self.not_excited and name not in self.fixed)

    def value(self, name: str) -> float:
        """Estimate of an unknown by name."""
        return float(self.beta[self.names.index(name)])

    def __repr__(self) -> str:
        return (
            f"<Estimate by {self.estimator}: {plural(len(self.identified), 'value')} from the data, {len(self.fixed)} "
            f"fixed, {len(self.not_excited)} not excited; condition number {self.condition:.3g}>"
        )

    def __str__(self) -> str:
        width = max((len(name) for name in self.names), default=4)
        lines = [f"{'name':<{width}}  {'value':>12}  {'deviation':>10}  relative"]
        for k, name in enumerate(self.names):
            if name in self.not_excited:
                continue
            mark = "fixed" if name in self.fixed else f"{100 * self.relative_deviation[k]:6.2f} %"
            lines.append(f"{name:<{width}}  {self.beta[k]:>12.5g}  {self.deviation[k]:>10.2g}  {mark}")
        head = (
            f"{self.estimator}: rank {self.rank}, condition number {self.condition:.3g}; standard deviations for "
            "white residuals"
        )
        return "\n".join([head, *lines, *self.not_excited.values(), *self.notes])


@dataclass(frozen=True, repr=False)
class EstimateSet:
    """Estimates of K sets of efforts: beta (K, unknowns), covariance (K, unknowns, unknowns), sigma (K, joints)."""

    names: tuple[str, ...]
    beta: Array
    covariance: Array
    sigma: Array

    @property
    def deviation(self) -> Array:
        """Standard deviations (K, unknowns)."""
        return np.sqrt(np.diagonal(self.covariance, axis1=1, axis2=2))

    def __len__(self) -> int:
        return len(self.beta)

    def __repr__(self) -> str:
        return f"<EstimateSet of {plural(len(self), 'set')} of efforts, {plural(len(self.names), 'unknown')}>"
