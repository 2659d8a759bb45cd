"""On-line (recursive) estimation, sample by sample, in square-root form, with exponential forgetting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from minertia.identification.estimators.estimate import Fit
from minertia.identification.estimators.estimator import Estimator
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import inverse, noise_levels, solution, weighted_solution
from minertia.identification.problem.triangles import triangle
from minertia.io.errors import MinertiaError
from minertia.io.schema import option

Array = NDArray[np.float64]


class OnlineState:
    """R factor of all samples so far, with exponential forgetting.

    Square-root information form: the R factor is updated by orthogonal transformations, so the information matrix stays
    positive semidefinite.  With forgetting a second R factor is needed for the covariance: weights lambda^k give the
    estimate, and their squares its variance due to noise.
    """

    def __init__(
        self, count: int, sigma: Array, *, forgetting: float = 1.0, prior: Array | None = None, trust: float = 0.0
    ) -> None:
        """prior, trust: initial values and their weight (1 / standard deviation, the same for all unknowns)."""
        if not 0 < forgetting <= 1:
            raise MinertiaError(f"the forgetting factor must be above 0 and at most 1, not {forgetting:g}")
        self.R: Array = np.zeros((count + 1, count + 1))
        start = np.zeros(count) if prior is None else np.asarray(prior, float)
        self.R[:-1, :-1] = trust * np.eye(count)
        self.R[:-1, -1] = trust * start
        self.squared: Array = trust * np.eye(count)  # triangle of sum lambda^2k y' y / sigma^2
        self.sigma = np.asarray(sigma, float)
        self.forgetting = forgetting
        self.samples = 0

    def update(self, Y: Array, tau: Array) -> None:
        """Update with one sample: Y (efforts, unknowns), tau (efforts,)."""
        rows = np.column_stack([Y, tau]) / self.sigma[:, None]
        self.R = triangle(np.concatenate([np.sqrt(self.forgetting) * self.R, rows]))
        if self.forgetting < 1:
            self.squared = triangle(np.concatenate([self.forgetting * self.squared, rows[:, :-1]]))
        self.samples += 1

    @property
    def is_ready(self) -> bool:
        """Whether every unknown has been excited."""
        d = np.abs(np.diag(self.R)[:-1])
        lengths = np.linalg.norm(self.R[:, :-1], axis=0)
        return bool(np.all(d > 1e-9 * np.maximum(lengths, 1e-300)))

    @property
    def beta(self) -> Array:
        """Current estimate."""
        if not self.is_ready:
            raise MinertiaError(f"after {self.samples} samples the motion has not excited every unknown yet")
        return solution(self.R)

    @property
    def covariance(self) -> Array:
        """Covariance of the estimate, for white noise of the given levels: P (sum lambda^2k y' y / sigma^2) P.

        P = inverse(sum lambda^k y' y / sigma^2) alone is wider by sqrt(1 + lambda) with forgetting.
        """
        inv = inverse(self.R[:-1, :-1])
        if self.forgetting == 1:
            return np.asarray(inv @ inv.T)
        half = inv @ (self.squared @ inv).T
        return np.asarray(half @ half.T)


@final
@dataclass(frozen=True)
class Recursive(Estimator):
    """Recursive least squares over the logs in order."""

    forgetting: float = option(1.0, "Forgetting factor per sample.", range=(0.5, 1))

    def fit(self, problem: Observation) -> Fit:  # noqa: D102
        _, _, sigma = weighted_solution(problem)
        state = OnlineState(problem.count, sigma, forgetting=self.forgetting)
        for block in problem.stream():
            for Y, tau in zip(block.Y, block.tau, strict=True):
                state.update(Y, tau)
        levels = noise_levels(problem, state.beta, problem.triangle(sigma), sigma)
        return Fit(state.beta, state.covariance, levels)
