"""Sequential estimation link by link: each stage uses the previous estimates with their uncertainty.

From the last link to the first (Lin 1995, section IV): joint i's effort depends only on the parameters of bodies i
and beyond.  One joint at a time (Khosla 1987): the logs in which only outer joints move come first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from minertia.identification.estimators.estimate import Fit
from minertia.identification.estimators.estimator import Estimator
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import noise_floor, weighted_solution
from minertia.identification.problem.triangles import triangle

Array = NDArray[np.float64]
VISIBLE = 1e-7  # of the largest singular value of a stage, columns scaled to length 1
ROUNDING = 1e-10  # of the longest a column is in any stage; a shorter one shows nothing


@final
@dataclass(frozen=True)
class Sequential(Estimator):
    """One small least-squares problem per joint, from the last to the first."""

    def fit(self, problem: Observation) -> Fit:  # noqa: D102
        found = _StagedValues(np.linalg.norm(problem.totals[:, :, :-1], axis=1).max(axis=0))
        floor = noise_floor(problem)
        sigma = np.zeros(len(floor))
        for j in reversed(range(len(floor))):
            sigma[j] = found.learn(problem.totals[j], problem.samples, float(floor[j]))
        found.finish()
        return Fit(found.beta, found.covariance, sigma)


@final
@dataclass(frozen=True)
class OneJointAtATime(Estimator):
    """Least squares in stages of logs, starting with those in which only the outermost joints move."""

    def fit(self, problem: Observation) -> Fit:  # noqa: D102
        _, _, sigma = weighted_solution(problem)
        n = problem.model.robot.n
        stages: dict[int, list[int]] = {}
        for k, record in enumerate(problem.logs):
            innermost = min((j for j in range(n) if j not in record.still), default=n)
            stages.setdefault(innermost, []).append(k)
        found = _StagedValues(np.linalg.norm(problem.triangle(sigma)[:, :-1], axis=0))
        for stage in sorted(stages, reverse=True):
            part = problem.only(stages[stage])
            found.learn(part.triangle(sigma), part.samples * len(sigma), 1.0, scale=1.0)
        found.finish()
        return Fit(found.beta, found.covariance, sigma)


class _StagedValues:
    """Estimates so far, and the equations of the remaining unknowns; longest: largest norm of each column.

    Columns whose norm is negligible relative to `longest` are set to zero.
    """

    def __init__(self, longest: Array) -> None:
        count = len(longest)
        self.least = ROUNDING * longest
        self.beta = np.zeros(count)
        self.covariance = np.zeros((count, count))
        self.known = np.zeros(count, bool)
        self.waiting = np.zeros((0, count + 1))

    def learn(self, R: Array, rows: int, floor: float, scale: float | None = None) -> float:
        """Estimate the parameters that the rows of an R factor determine; returns their noise level."""
        R = np.where(np.append(np.linalg.norm(R[:, :-1], axis=0) > self.least, True), R, 0.0)
        level = self._noise(R, rows, floor) if scale is None else scale
        self._solve(triangle(np.concatenate([self.waiting, R / level])))
        return level

    def finish(self) -> None:
        """Estimate the parameters that no single stage determined from all deferred equations."""
        if not self.known.all():
            self._solve(self.waiting, everything=True)

    def _noise(self, R: Array, rows: int, floor: float) -> float:
        U = np.flatnonzero(~self.known & (np.abs(R[:, :-1]).max(axis=0) > 0))
        rest = R[:, -1] - R[:, :-1][:, self.known] @ self.beta[self.known]
        left = rest - R[:, U] @ np.linalg.lstsq(R[:, U], rest, rcond=None)[0] if U.size else rest
        return max(float(np.linalg.norm(left) / np.sqrt(max(rows - U.size, 1))), floor)

    def _solve(self, R: Array, everything: bool = False) -> None:
        K = np.flatnonzero(self.known)
        U = np.flatnonzero(~self.known & (np.abs(R[:, :-1]).max(axis=0, initial=0.0) > 0))
        if U.size == 0:
            return
        lengths = np.linalg.norm(R[:, U], axis=0)
        P, s, Vt = np.linalg.svd(R[:, U] / lengths, full_matrices=True)
        rank = int((s > VISIBLE * s[0]).sum())
        pinv = (Vt[:rank].T / s[:rank]) @ P[:, :rank].T / lengths[:, None]
        alone = np.ones(U.size, bool) if everything else np.linalg.norm(Vt[rank:], axis=0) < 1e-6
        values = pinv @ (R[:, -1] - R[:, K] @ self.beta[K])
        carried = -pinv @ R[:, K]
        own = pinv @ pinv.T + carried @ self.covariance[np.ix_(K, K)] @ carried.T
        cross = carried @ self.covariance[np.ix_(K, K)]
        new = U[alone]
        self.beta[new] = values[alone]
        self.covariance[np.ix_(new, new)] = own[np.ix_(alone, alone)]
        self.covariance[np.ix_(new, K)] = cross[alone]
        self.covariance[np.ix_(K, new)] = cross[alone].T
        self.known[new] = True
        self.waiting = np.zeros((0, R.shape[1])) if alone.all() else R
