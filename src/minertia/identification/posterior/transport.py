"""Map from normal vectors to robots, under which the posterior is nearly a standard normal (randomise, then optimise).

Let Q R be the QR factorisation of the Jacobian of the residual at the maximum, and L L' the curvature of the
density there in the coordinates R z.  The solution z of L' Q' r(z) = eta for a standard normal eta has a known density
(Bardsley, Solonen, Haario, Laine 2014; L = 1 there, which suffices where the residual at the maximum is small).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from minertia.identification.posterior.density import LONGEST, Density, curvature, times
from minertia.io.arrays import Array

Places = NDArray[np.integer]
STEPS = 40  # of Newton's method for a point
SOLVED = 1e-6  # size of L' Q' r - eta at a solution, beside normals of size 1
HALVINGS = 8  # of a step that does not come nearer


@dataclass(frozen=True)
class _Points:
    """Points z (N, coordinates) with their values x, errors F = L' Q' r - eta, and derivatives J of F."""

    z: Array
    x: Array
    F: Array
    J: Array

    def put(self, places: Places, others: _Points, chosen: NDArray[np.bool_]) -> None:
        """Replace the points at some places by chosen ones of others."""
        for name in ("z", "x", "F", "J"):
            getattr(self, name)[places] = getattr(others, name)[chosen]


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
        inner = self.axes @ ((eta - self.at_best) / self.scales).T
        z = self.best + solve_triangular(self.R, inner).T
        at = self._points(np.clip(z, self.best - 3 * LONGEST, self.best + 3 * LONGEST), eta)
        active = np.arange(len(z))
        for _ in range(STEPS):
            step = np.asarray(-np.linalg.solve(at.J[active], at.F[active][:, :, None])[:, :, 0], float)
            step *= np.minimum(1.0, LONGEST / np.maximum(np.abs(step).max(axis=1), 1e-300))[:, None]
            self._take(at, eta, active, step)
            active = active[np.linalg.norm(at.F[active], axis=1) > SOLVED * np.sqrt(len(self.best))]
            if not len(active):
                break
        weights = self._weights(at, eta)
        weights[active] = -np.inf
        return at.z, weights

    def _points(self, z: Array, eta: Array) -> _Points:
        x, D, others = self.density.space.moved(z)
        F = np.asarray(x @ self.rows.T - self.offset + z @ self.own.T - eta)
        return _Points(z, x, F, self.own + times(self.rows, self.density.space, D, others))

    def _take(self, at: _Points, eta: Array, active: Places, step: Array) -> None:
        """Move the active points by their steps, halved until they come nearer to a solution."""
        size, share = np.linalg.norm(at.F[active], axis=1), np.ones(len(active))
        left = np.arange(len(active))
        for _ in range(HALVINGS):
            places = active[left]
            tried = self._points(at.z[places] + share[left, None] * step[left], eta[places])
            nearer = np.linalg.norm(tried.F, axis=1) < size[left]
            at.put(places[nearer], tried, nearer)
            left = left[~nearer]
            share[left] /= 2
            if not len(left):
                return

    def _weights(self, at: _Points, eta: Array) -> Array:
        """Log weights of the points, log of exp(-|r|^2 / 2 + |eta|^2 / 2) / |det L'Q'J|."""
        r = np.concatenate([at.x @ self.density.rows.T - self.density.values, at.z], axis=1)
        _, size = np.linalg.slogdet(at.J)
        return np.asarray((np.sum(eta**2, axis=1) - np.sum(r**2, axis=1)) / 2 - size)
