"""Coordinates of physically consistent robots: every point is a robot, and the prior is a standard normal.

The pseudo-inertia of a link is P = G exp(S) G' with a symmetric S; G G' is that of the prior.  The norm of S is the
affine-invariant distance of both bodies, which is the same in any frame and unit (Lee, Wensing, Park 2020).
Values that the file states and that cannot be negative are a multiple exp(z) of it; those that it does not state add to
their centre, bent smoothly to stay above zero; all others add to the prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from minertia.io.arrays import Array
from minertia.robot.inertia import pseudo_inertia

PAIRS = tuple((i, j) for i in range(4) for j in range(i, 4))  # entries of a symmetric matrix
EQUAL = 1e-6  # eigenvalues of S that differ by less have the derivative at their mean


@dataclass(frozen=True)
class RobotSpace:
    """Values `names` of robots as functions of coordinates z, of which a standard normal is the prior.

    prior: values at z = 0.  links: places of the ten parameters of each link that varies.  scaled, shifted, bent:
    places of values that vary by a factor, by a sum, and by a sum that is bent above zero, x = g log(1 + exp(w / g))
    with the grains g of `grains`.  widths (coordinates): prior deviation of the entries of S, of logarithms
    and of sums.  All other values are those of the prior.
    """

    names: tuple[str, ...]
    prior: Array
    links: tuple[tuple[int, ...], ...]
    scaled: tuple[int, ...]
    shifted: tuple[int, ...]
    widths: Array
    bent: tuple[int, ...] = ()
    grains: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return 10 * len(self.links) + len(self.others)

    @property
    def varied(self) -> tuple[int, ...]:
        """Indices of the values that vary."""
        return (*(k for ten in self.links for k in ten), *self.others)

    @property
    def others(self) -> tuple[int, ...]:
        """Places of the values that vary and are no parameters of links."""
        return (*self.scaled, *self.shifted, *self.bent)

    @cached_property
    def _roots(self) -> Array:
        """Cholesky factors of the prior pseudo-inertias, (links, 4, 4)."""
        found = [np.linalg.cholesky(pseudo_inertia(self.prior[list(ten)].tolist())) for ten in self.links]
        return np.array(found).reshape(-1, 4, 4)

    def values(self, z: Array) -> Array:
        """Values (N, names) at coordinates z (N, coordinates)."""
        return self.moved(z, slopes=False)[0]

    def moved(self, z: Array, *, slopes: bool = True) -> tuple[Array, Array, Array]:
        """Values (N, names), derivatives of links (N, links, 10, 10) and of the other varied values (N, others)."""
        count, L = len(z), len(self.links)
        w = z * self.widths
        x = np.repeat(self.prior[None], count, axis=0)
        S = w[:, : 10 * L].reshape(count, L, 10) @ _BASIS
        eigenvalues, V = np.linalg.eigh(S.reshape(count, L, 4, 4))
        A = self._roots @ V  # P = A diag(exp l) A'
        powers = np.exp(eigenvalues)
        x[:, self.link_places] = _ten((A * powers[:, :, None, :]) @ np.swapaxes(A, -1, -2)).reshape(count, 10 * L)
        D = self._link_slopes(A, V, eigenvalues, powers) if slopes else np.zeros((count, L, 0, 0))
        return x, D, self._move_others(x, w[:, 10 * L :]) * self.widths[10 * L :]

    def _move_others(self, x: Array, w: Array) -> Array:
        """Move values that are no parameters of links, in place, and return their derivatives (N, others)."""
        s, t = len(self.scaled), len(self.scaled) + len(self.shifted)
        scaled, shifted, bent = np.split(self.other_places, [s, t])
        others = np.ones(w.shape)
        if s:
            x[:, scaled] *= np.exp(w[:, :s])
            others[:, :s] = x[:, scaled]
        if len(shifted):
            x[:, shifted] += w[:, s:t]
        if len(bent):
            inner = (self._bent_from + w[:, t:]) / self.grains
            x[:, bent] = self.grains * np.logaddexp(0.0, inner)
            others[:, t:] = expit(inner)
        return others

    @cached_property
    def link_places(self) -> NDArray[np.integer]:
        """Indices of the parameters of links that vary, link by link."""
        return np.array([k for ten in self.links for k in ten], int)

    @cached_property
    def other_places(self) -> NDArray[np.integer]:
        """Indices of the other values that vary."""
        return np.array(self.others, int)

    @cached_property
    def _bent_from(self) -> Array:
        """Arguments of the bent values at the prior."""
        x, g = self.prior[list(self.bent)], self.grains
        return np.asarray(x + g * np.log(-np.expm1(-x / g)))

    def _link_slopes(self, A: Array, V: Array, eigenvalues: Array, powers: Array) -> Array:
        """Derivatives of the ten parameters with respect to S: A (g * V'EV) A' with divided differences g."""
        a, b = eigenvalues[..., :, None], eigenvalues[..., None, :]
        near = np.abs(a - b) < EQUAL
        g = np.where(
            near, np.exp((a + b) / 2), (powers[..., :, None] - powers[..., None, :]) / np.where(near, 1, a - b)
        )
        count, L = eigenvalues.shape[:2]
        inner = (_BASIS @ _products(V)) * g.reshape(count, L, 1, 16)
        moved = inner @ (np.swapaxes(_products(A), -1, -2) @ _TEN)
        own = self.widths[: 10 * L].reshape(L, 10)
        return np.asarray(np.swapaxes(moved * own[:, :, None], -1, -2))


def _products(A: Array) -> Array:
    """Matrices (..., 16, 16) by which the 16 entries of X are multiplied, as a row, to those of A' X A."""
    return np.asarray(A[..., :, None, :, None] * A[..., None, :, None, :]).reshape(*A.shape[:-2], 16, 16)


def _basis() -> Array:
    """Orthonormal basis of symmetric 4x4 matrices, by their entries (10, 16)."""
    found = np.zeros((10, 4, 4))
    for k, (i, j) in enumerate(PAIRS):
        found[k, i, j] = found[k, j, i] = 1.0 if i == j else np.sqrt(0.5)
    return found.reshape(10, 16)


def _ten(P: Array) -> Array:
    """Ten parameters of pseudo-inertias along the last two axes."""
    return np.asarray(P.reshape(*P.shape[:-2], 16) @ _TEN)


def _ten_of_pseudo() -> Array:
    """Linear map from the 16 entries of a pseudo-inertia to the ten parameters: J = trace(P) 1 - P, ms, m."""
    found = np.zeros((4, 4, 10))
    for k, (i, j) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))):
        found[i, j, k] -= 1.0
        if i == j:
            found[[0, 1, 2], [0, 1, 2], k] += 1.0
    for k in range(4):
        found[k, 3, 6 + k] = 1.0
    return found.reshape(16, 10)


_BASIS, _TEN = _basis(), _ten_of_pseudo()


def robot_space(
    names: Sequence[str],
    prior: Array,
    links: Sequence[Sequence[int]],
    scaled: Sequence[tuple[int, float]],
    shifted: Sequence[tuple[int, float]],
    *,
    link_width: float,
    bent: Sequence[tuple[int, float, float]] = (),
) -> RobotSpace:
    """Space around a prior; scaled, shifted: places of values with the deviation of their logarithm or of their sum.

    bent: places, deviations and grains of values that are bent above zero.
    """
    widths = [link_width] * (10 * len(links)) + [w for _, w in (*scaled, *shifted)] + [w for _, w, _ in bent]
    return RobotSpace(
        tuple(names),
        np.asarray(prior, float),
        tuple(tuple(ten) for ten in links),
        tuple(k for k, _ in scaled),
        tuple(k for k, _ in shifted),
        np.array(widths),
        tuple(k for k, _, _ in bent),
        np.array([grain for _, _, grain in bent]),
    )
