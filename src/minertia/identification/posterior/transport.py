"""Map from normal vectors to robots, under which the posterior is nearly a standard normal (randomise, then optimise).

Let Q R be the QR factorisation of the Jacobian of the residual at the maximum, and L L' the curvature of the
density there in the coordinates R z.  The solution z of L' Q' r(z) = eta for a standard normal eta has a known density
(Bardsley, Solonen, Haario, Laine 2014; L = 1 there, which suffices where the residual at the maximum is small).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from minertia.identification.posterior.density import LONGEST, Density, curvature, times
from minertia.io.arrays import Array

Places = NDArray[np.integer]
STEPS = 40  # of Newton's method for a point
SOLVED = 1e-6  # size of L' Q' r - eta at a solution, beside normals of size 1
HALVINGS = 8  # of a step that does not come nearer


class Transport:
    """Solutions of L' Q' r(z) = eta, with the logarithms of the weights of the posterior in eta."""

    def __init__(self, density: Density, best: Array) -> None:
        r, J = density.jacobian(best)
        at = curvature(density, best, r, J)
        self.density, self.best = density, best
        Q, data = at.Q @ (at.axes * at.scales), len(density.values)
        self.R, self.scales, self.axes = at.R, at.scales, at.axes
        self.rows, self.own = Q[:data].T @ density.rows, Q[data:].T
        self.offset = Q[:data].T @ density.values
        self.at_best = Q.T @ r

    def of(self, eta: Array) -> tuple[Array, Array]:
        """Points z (N, coordinates) of normal vectors eta, and their log weights, -inf without a solution."""
        space = self.density.space
        inner = self.axes @ ((eta - self.at_best) / self.scales).T
        z = self.best + solve_triangular(self.R, inner).T
        z = np.clip(z, self.best - 3 * LONGEST, self.best + 3 * LONGEST)
        active = np.arange(len(z))
        x, D, others = space.moved(z)
        F = self._error(x, z, eta)
        for _ in range(STEPS):
            J = self.own + times(self.rows, space, D, others)
            step = np.asarray(-np.linalg.solve(J, F[active][:, :, None])[:, :, 0], float)
            step *= np.minimum(1.0, LONGEST / np.maximum(np.abs(step).max(axis=1), 1e-300))[:, None]
            self._take(z, F, eta, active, step)
            active = active[np.linalg.norm(F[active], axis=1) > SOLVED * np.sqrt(len(self.best))]
            if not len(active):
                break
            _, D, others = space.moved(z[active])
        weights = self._weights(z, eta)
        weights[active] = -np.inf
        return z, weights

    def _error(self, x: Array, z: Array, eta: Array) -> Array:
        return np.asarray(x @ self.rows.T - self.offset + z @ self.own.T - eta)

    def _take(self, z: Array, F: Array, eta: Array, active: Places, step: Array) -> None:
        """Move the active points by their steps, halved until they come nearer to a solution."""
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
        """Log weights of the points, log of exp(-|r|^2 / 2 + |eta|^2 / 2) / |det L'Q'J|."""
        x, D, others = self.density.space.moved(z)
        r = np.concatenate([x @ self.density.rows.T - self.density.values, z], axis=1)
        _, size = np.linalg.slogdet(self.own + times(self.rows, self.density.space, D, others))
        return np.asarray((np.sum(eta**2, axis=1) - np.sum(r**2, axis=1)) / 2 - size)
