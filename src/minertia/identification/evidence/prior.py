"""Standard deviations of regularised estimates: variance due to noise, and error of the prior.

A regularised fit has less variance than its data alone, and a bias that depends on the error of the
prior.  That error is estimated in the directions that the data do determine: the prior's relative error
there is assumed for all directions (empirical Bayes, Morris 1983), and gives the mean square error of
each parameter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from minertia.identification.estimators.estimate import Fit, Prior
from minertia.identification.evidence.intervals import Spread, residue_of, spread_by
from minertia.identification.problem.marginal import BELIEF, USUAL_ERROR
from minertia.identification.problem.observation import Observation
from minertia.io.resources import one_thread

Array = NDArray[np.float64]
RANGE = np.geomspace(0.01, 100.0, 241)  # relative errors that are looked at
HELD = 0.5  # part of the prior's variance of a value that is left where the prior, not the data, gives it


@dataclass(frozen=True)
class HeldSpread:
    """Standard deviations of a fit with a prior.

    widths: standard deviations due to noise and to the error of the prior.  by_prior: whether the prior rather
    than the data determines each unknown.  relative_error: of the prior, estimated from the data.
    """

    widths: Spread
    by_prior: tuple[bool, ...]
    relative_error: float


def held_spread(problem: Observation, fit: Fit) -> HeldSpread:
    """Standard deviations of a fit with a prior, under correlated residuals."""
    prior = fit.prior
    assert prior is not None

    with one_thread():
        error = USUAL_ERROR**2 * prior.rows @ prior.error @ prior.rows.T
        usual = residue_of(problem, fit.beta, fit.sigma, prior.rows, error)
        first = spread_by(usual, problem.samples)
        relative = prior_error(problem, fit.sigma, prior, float(np.median(first.inflation)) ** 2)
        widths = spread_by(usual.with_error((relative / USUAL_ERROR) ** 2), problem.samples)
    alone = np.sqrt(np.diag(widths.white))
    stated = widths.inflation * alone
    # the truth is about the prior, so no value is off by more than it differs from that, and that from the truth
    before = relative**2 * np.diag(prior.error)
    most = np.sqrt(before + (fit.beta - prior.target) ** 2)
    capped = replace(widths, inflation=np.minimum(stated, most) / alone)
    return HeldSpread(capped, tuple((np.minimum(stated, most) ** 2 > HELD * before).tolist()), relative)


def prior_error(problem: Observation, sigma: Array, prior: Prior, noise: float) -> float:
    """Most probable relative error s of a prior, from the directions that the data determine.

    The difference of data and prior prediction has the variance s^2 l_i + noise in eigendirection i; s^2 has
    a scaled inverse chi-square prior about USUAL_ERROR^2 with BELIEF degrees of freedom.  noise: power of the noise
    relative to that of white noise of the same standard deviation.
    """
    R = problem.triangle(sigma)[:-1]
    values, vectors = np.linalg.eigh(R[:, :-1] @ prior.error @ R[:, :-1].T)
    square = (vectors.T @ (R[:, -1] - R[:, :-1] @ prior.target)) ** 2
    variance = RANGE[:, None] ** 2 * np.maximum(values, 0.0) + max(noise, 1.0)
    cost = np.sum(np.log(variance) + square / variance, axis=1)
    cost = cost + BELIEF * (np.log(RANGE**2) + USUAL_ERROR**2 / RANGE**2)
    return float(RANGE[int(np.argmin(cost))])
