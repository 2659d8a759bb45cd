"""Posterior density of the coordinates of a robot, with its maximum and its curvature there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from minertia.identification.posterior.space import RobotSpace
from minertia.io.arrays import Array

LONGEST = 2.0  # step of a coordinate, in deviations of the prior
ITERATIONS = 200  # of the search for the maximum
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
    """Maximum of the density, by Newton's method with damping, from the prior."""
    z, damping = np.zeros(density.space.size), 1e-3
    r, J = density.jacobian(z)
    for _ in range(ITERATIONS):
        damped = np.concatenate([J, np.sqrt(damping) * np.diag(np.linalg.norm(J, axis=0))])
        at = curvature(density, z, r, damped)
        whitened = (at.axes.T @ (at.Q[: len(r)].T @ r)) / at.scales**2
        step = -solve_triangular(at.R, at.axes @ whitened)
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
            if damping > STEEPEST:
                break
    return z


def times(rows: Array, space: RobotSpace, D: Array, others: Array) -> Array:
    """Rows times the derivatives of the values with respect to the coordinates, (N, rows, coordinates)."""
    parts = [rows[:, list(ten)] @ D[:, k] for k, ten in enumerate(space.links)]
    rest = rows[:, list(space.others)] * others[:, None]
    return np.concatenate([*parts, rest], axis=2)
