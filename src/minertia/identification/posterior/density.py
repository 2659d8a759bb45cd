"""Posterior density of the coordinates of a robot, with its maximum and its curvature there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from minertia.identification.posterior.space import RobotSpace
from minertia.io.arrays import Array

LONGEST = 2.0  # step of a coordinate, in deviations of the prior
DAMPING = 1e-3  # of the first step, and the largest with which a small fall ends the search
ITERATIONS = 500  # of the search for the maximum
SETTLED = 1e-9  # fall of the sum of squares that ends it, over the sum
STEEPEST = 1e12  # damping at which no step comes nearer: rounding
DIFFERENCE = 1e-5  # of coordinates, for second derivatives from exact first ones
FLATTEST = 0.05  # curvature of the density over that without second derivatives, at least: a proposal is 4 times wider


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
        slopes = times(self.rows, self.space, D, others)[0]
        return np.append(self.rows @ x[0] - self.values, z), np.concatenate([slopes, np.eye(len(z))])

    def second(self, z: Array, r: Array) -> Array:
        """Second derivatives of the residuals at one point z, each times its residual r, and summed."""
        L, along = len(self.space.links), r[: len(self.values)] @ self.rows
        # no link depends on the coordinates of another one: all are moved together
        moves = np.zeros((11, len(z)))
        moves[:10, : 10 * L] = np.tile(np.eye(10), L)
        moves[10, 10 * L :] = 1.0
        gradients = []
        for own in (z + DIFFERENCE * moves, z - DIFFERENCE * moves):
            _, D, others = self.space.moved(own)
            gradients.append(times(along[None], self.space, D, others)[:, 0])
        change = (gradients[0] - gradients[1]) / (2 * DIFFERENCE)
        found = np.diag(change[10])
        for k in range(L):
            own = change[:10, 10 * k : 10 * k + 10]
            found[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = (own + own.T) / 2
        return found


@dataclass(frozen=True)
class Curvature:
    """Second derivatives of |r|^2 / 2 at a point: R' axes diag(scales^2) axes' R, with the Jacobian J = Q R."""

    Q: Array
    R: Array
    axes: Array
    scales: Array


def curvature(density: Density, z: Array, r: Array, J: Array) -> Curvature:
    """Curvature of the density at a point.

    Without the second derivatives of the residuals, which count where the data contradict every possible robot,
    proposals leave the ridge of the density sideways.  J: with or without further rows that damp a step.
    """
    Q, R = np.linalg.qr(J)
    B = density.second(z, r)
    half = solve_triangular(R, B, trans="T")
    relative = solve_triangular(R, half.T, trans="T")
    eigenvalues, axes = np.linalg.eigh((relative + relative.T) / 2)
    return Curvature(Q, R, axes, np.sqrt(np.maximum(1.0 + eigenvalues, FLATTEST)))


def maximum(density: Density) -> Array:
    """Maximum of the density, from the prior, by the better of a Newton and a Gauss-Newton step with damping.

    Gauss-Newton steps lead to the ridge of the density, Newton steps along it where the residual stays large.
    """
    z, damping = np.zeros(density.space.size), DAMPING
    r, J = density.jacobian(z)
    for _ in range(ITERATIONS):
        damped = np.concatenate([J, np.sqrt(damping) * np.diag(np.linalg.norm(J, axis=0))])
        tried = z + _steps(curvature(density, z, r, damped), r)
        sums = np.sum(density.residual(tried) ** 2, axis=1)
        before, best = float(r @ r), int(np.argmin(sums))
        after = float(sums[best])
        if after < before:
            z, is_free, damping = tried[best], damping <= DAMPING, damping / 10
            r, J = density.jacobian(z)
            if is_free and before - after < SETTLED * before:
                break
        else:
            damping *= 10
            if damping > STEEPEST:
                break
    return z


def _steps(at: Curvature, r: Array) -> Array:
    """Newton and Gauss-Newton step from a point with the residual r, none longer than `LONGEST`, (2, coordinates)."""
    along = at.axes.T @ (at.Q[: len(r)].T @ r)
    steps = -solve_triangular(at.R, at.axes @ np.column_stack([along / at.scales**2, along])).T
    return np.asarray(steps * np.minimum(1.0, LONGEST / np.maximum(np.abs(steps).max(axis=1), 1e-300))[:, None])


def times(rows: Array, space: RobotSpace, D: Array, others: Array) -> Array:
    """Rows times the derivatives of the values with respect to the coordinates, (N, rows, coordinates)."""
    L = len(space.links)
    of_links = np.swapaxes(rows[:, space.link_places].reshape(len(rows), L, 10), 0, 1) @ D
    rest = rows[:, space.other_places] * others[:, None]
    return np.concatenate([np.swapaxes(of_links, 1, 2).reshape(len(D), len(rows), 10 * L), rest], axis=2)
