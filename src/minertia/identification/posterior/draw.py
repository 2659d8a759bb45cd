"""Independent draws from a posterior, by randomise-then-optimise with a Metropolis test.

The posterior density is exp(-|r|^2 / 2) with r(z) = [W (A x(z) - b); z].  Let J = Q R be the QR
factorisation of its Jacobian at the maximum, and eta a standard normal vector.  The solution z of Q' r(z)
= eta is a proposal of known density (Bardsley, Solonen, Haario, Laine 2014).  A Metropolis test between
such independent proposals makes the draws exact, without burn-in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from minertia.identification.posterior.space import RobotSpace
from minertia.io.arrays import Array
from minertia.io.errors import InputError
from minertia.io.resources import one_thread

Places = NDArray[np.integer]
TRIED = 4  # proposals for each draw: the chain is thinned by as much, so that few draws are repeated
BATCH = 256  # proposals that are solved together: their matrices stay in the cache
STEPS = 40  # of Newton's method for a proposal
SOLVED = 1e-8  # size of Q' r - eta at a solution, beside normals of size 1
LONGEST = 2.0  # step of a coordinate, in deviations of the prior
HALVINGS = 8  # of a step that does not come nearer
ITERATIONS = 200  # of the search for the maximum
SETTLED = 1e-9  # fall of the sum of squares that ends it
LEAST_SOLVED = 0.9  # share of the proposals below which the draws are refused
# share of accepted proposals (usual: 0.14 to 0.8) below which the draws are refused, as most are copies, and from how
# many proposals on it is judged
LEAST_ACCEPTED, TELLING = 0.05, 200


@dataclass(frozen=True)
class Density:
    """Posterior density exp(-|r|^2 / 2) with r(z) = [rows x(z) - values; z].

    rows, values: equations of the data, divided by their standard deviations.
    """

    space: RobotSpace
    rows: Array
    values: Array

    def residual(self, z: Array) -> Array:
        """Residual vectors r (N, data + coordinates) at points z (N, coordinates)."""
        return np.concatenate([self.space.values(z) @ self.rows.T - self.values, z], axis=1)

    def jacobian(self, z: Array) -> tuple[Array, Array]:
        """Residual vector r at one point z, and its Jacobian."""
        x, D, others = self.space.moved(z[None])
        slopes = _times(self.rows, self.space, D, others)[0]
        return np.append(self.rows @ x[0] - self.values, z), np.concatenate([slopes, np.eye(len(z))])


@dataclass(frozen=True)
class PosteriorDraws:
    """Draws z (N, coordinates) from a posterior; best: maximum of the density.

    accepted: fraction of proposals that the Metropolis test accepted.  effective: effective sample size of
    the weighted proposals, as a fraction.  unsolved: fraction of proposals without a solution.
    """

    z: Array
    best: Array
    accepted: float
    effective: float
    unsolved: float


def draw(density: Density, count: int, seed: int) -> PosteriorDraws:
    """Draw `count` samples from a posterior."""
    with one_thread():
        best = _maximum(density)
        proposals = _Proposals(density, best)
        rng = np.random.default_rng(seed)
        sizes = [min(BATCH, TRIED * count - k) for k in range(0, TRIED * count, BATCH)]
        parts = [proposals.of(rng.normal(size=(size, density.space.size))) for size in sizes]
    z, weights = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    unsolved = float(np.mean(~np.isfinite(weights)))
    if unsolved > 1 - LEAST_SOLVED:
        raise InputError(
            f"{100 * unsolved:.0f} % of the draws have no solution: the prior is too wide for these logs; give a "
            "smaller --prior"
        )
    chosen, accepted = _metropolis(weights, rng)
    share = np.exp(weights - weights.max())
    effective = float(share.sum() ** 2 / np.sum(share**2) / len(share))
    if accepted < LEAST_ACCEPTED and len(weights) >= TELLING:
        raise InputError(
            f"the draws would be copies of few robots ({100 * accepted:.2g} % of the proposals are accepted), as "
            "hardly any physically consistent robot has the identified values; identify with other effects, more logs "
            "or --physical, or give another --prior"
        )
    return PosteriorDraws(z[chosen[TRIED - 1 :: TRIED]], best, accepted, effective, unsolved)


def _maximum(density: Density) -> Array:
    """Maximum of the density, by Levenberg-Marquardt from the prior."""
    z, damping = np.zeros(density.space.size), 1e-3
    r, J = density.jacobian(z)
    for _ in range(ITERATIONS):
        # the prior makes the triangle regular whatever the data show
        step = np.linalg.lstsq(
            np.concatenate([J, np.sqrt(damping) * np.diag(np.linalg.norm(J, axis=0))]),
            np.append(-r, np.zeros(len(z))),
            rcond=None,
        )[0]
        step *= min(1.0, LONGEST / max(float(np.abs(step).max(initial=0.0)), 1e-300))
        tried = density.residual((z + step)[None])[0]
        before, after = float(r @ r), float(tried @ tried)
        if after < before:
            z, damping = z + step, damping / 10
            r, J = density.jacobian(z)
            if before - after < SETTLED * before:
                break
        else:
            damping *= 10
            if damping > 1e12:
                break
    return z


class _Proposals:
    """Solutions of Q' r(z) = eta, with the logarithms of their weights."""

    def __init__(self, density: Density, best: Array) -> None:
        r, J = density.jacobian(best)
        self.density, self.best = density, best
        self.Q, self.R = np.linalg.qr(J)
        data = len(density.values)
        self.rows, self.own = self.Q[:data].T @ density.rows, self.Q[data:].T
        self.offset = self.Q[:data].T @ density.values
        self.at_best = self.Q.T @ r

    def of(self, eta: Array) -> tuple[Array, Array]:
        """Proposals (N, coordinates) for normal vectors eta, and their log weights, -inf without a solution."""
        z = self.best + solve_triangular(self.R, (eta - self.at_best).T).T
        z = np.clip(z, self.best - 3 * LONGEST, self.best + 3 * LONGEST)
        active = np.arange(len(z))
        x, D, others = self.density.space.moved(z)
        F = self._error(x, z, eta)
        for _ in range(STEPS):
            J = self.own + _times(self.rows, self.density.space, D, others)
            step = np.asarray(-np.linalg.solve(J, F[active][:, :, None])[:, :, 0], float)
            step *= np.minimum(1.0, LONGEST / np.maximum(np.abs(step).max(axis=1), 1e-300))[:, None]
            self._take(z, F, eta, active, step)
            active = active[np.linalg.norm(F[active], axis=1) > SOLVED * np.sqrt(len(self.best))]
            if not len(active):
                break
            _, D, others = self.density.space.moved(z[active])
        weights = self._weights(z, eta)
        weights[active] = -np.inf
        return z, weights

    def _error(self, x: Array, z: Array, eta: Array) -> Array:
        return np.asarray(x @ self.rows.T - self.offset + z @ self.own.T - eta)

    def _take(self, z: Array, F: Array, eta: Array, active: Places, step: Array) -> None:
        """Move the active proposals by their steps, halved until they come nearer to a solution."""
        size, share = np.linalg.norm(F[active], axis=1), np.ones(len(active))
        left = np.arange(len(active))
        for _ in range(HALVINGS):
            places = active[left]
            tried = z[places] + share[left, None] * step[left]
            error = self._error(self.density.space.values(tried), tried, eta[places])
            nearer = np.linalg.norm(error, axis=1) < size[left]
            z[places[nearer]], F[places[nearer]] = tried[nearer], error[nearer]
            left = left[~nearer]
            share[left] /= 2
            if not len(left):
                return

    def _weights(self, z: Array, eta: Array) -> Array:
        """Log weights of the proposals, log of exp(-|r|^2 / 2 + |Q'r|^2 / 2) / |det Q'J|."""
        x, D, others = self.density.space.moved(z)
        r = np.concatenate([x @ self.density.rows.T - self.density.values, z], axis=1)
        _, size = np.linalg.slogdet(self.own + _times(self.rows, self.density.space, D, others))
        return np.asarray((np.sum(eta**2, axis=1) - np.sum(r**2, axis=1)) / 2 - size)


def _times(rows: Array, space: RobotSpace, D: Array, others: Array) -> Array:
    """Rows times the derivatives of the values with respect to the coordinates, (N, rows, coordinates)."""
    parts = [rows[:, list(ten)] @ D[:, k] for k, ten in enumerate(space.links)]
    rest = rows[:, list(space.others)] * others[:, None]
    return np.concatenate([*parts, rest], axis=2)


def _metropolis(weights: Array, rng: np.random.Generator) -> tuple[Places, float]:
    """Index of the proposal at each step of an independence Metropolis chain, and the acceptance rate.

    The chain starts at a proposal that is drawn with its weight, so its first states follow the posterior, too.
    The proposal of largest weight would be left least readily, and an arbitrary one may be far out.
    """
    shares = np.exp(weights - weights.max())
    at, taken = int(rng.choice(len(weights), p=shares / shares.sum())), 0
    chances = np.log(rng.random(len(weights)))
    found = np.empty(len(weights), dtype=np.int64)
    for k, weight in enumerate(weights):
        if np.isfinite(weight) and chances[k] < weight - weights[at]:
            at, taken = k, taken + 1
        found[k] = at
    return found, taken / max(len(weights), 1)
