"""Covariance of the estimates from measurement noise and joint repeatability.

Readings of one posture share the errors of its joints, so the covariance of its rows is sigma_u^2 on the diagonal
plus sigma_j^2 B B', B their derivatives over the joints.  Both are estimated by restricted maximum likelihood (average
information, Gilmour, Thompson and Cullis 1995) at the fitted state, and propagated through the fit, which does not use
them as weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minertia.identification.geometry.chain import Array
from minertia.identification.geometry.fit import GeometryFit, inverse, rms
from minertia.identification.geometry.layout import LinearisedReadings
from minertia.identification.geometry.measures import UNITS

ROUNDS = 30
SETTLED = 1e-3
LARGEST_CHANGE = 1.5  # of a logarithm of a variance in a round
LEAST = 1e-12
PART = 0.3  # of the residual that joints make to begin with


@dataclass(frozen=True)
class GeometrySpread:
    """Standard deviations of rows by unit and of joints [rad; m for prismatic], and covariance of the estimates."""

    rows: dict[str, float]
    joints: float
    covariance: Array

    @property
    def deviations(self) -> Array:
        """Standard deviations of the estimates."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


def spread_of(found: GeometryFit) -> GeometrySpread:
    """Noise standard deviations of a fit, and the covariance of its estimates."""
    rows = found.layout.linearised(found.state)
    A = rows.A[:, found.active]
    noise = _TwoNoises(rows, A, found)
    noise.estimate()
    size = np.array([found.sizes.rows.get(u, 1.0) for u in range(len(UNITS))])[rows.unit]
    weighted = A * (found.weights[rows.posture] / size**2)[:, None]
    middle = weighted.T @ noise.times(weighted) + np.diag(found.prior)
    named = {UNITS[u]: float(np.sqrt(v)) for u, v in noise.rows_variance.items()}
    return GeometrySpread(named, float(np.sqrt(noise.joints_variance)), found.S @ middle @ found.S)


class _TwoNoises:
    """Restricted maximum likelihood estimate of two variances, with rows in blocks of one posture."""

    def __init__(self, rows: LinearisedReadings, A: Array, found: GeometryFit) -> None:
        self.rows, self.A, self.found = rows, A, found
        self.root = np.sqrt(found.weights[rows.posture])
        self.by_joints = rows.by_joints
        first = np.flatnonzero(np.diff(rows.posture, prepend=-1))
        counts = np.diff(np.append(first, len(rows.posture)))
        self.places = [first[counts == c][:, None] + np.arange(c) for c in np.unique(counts)]
        self.rows_variance = {u: size**2 for u, size in found.sizes.rows.items()}
        lever = rms(np.sqrt(np.sum(self.by_joints**2, axis=1)))
        self.joints_variance = (PART * rms(rows.residual) / max(lever, LEAST)) ** 2

    def _covariances(self) -> list[Array]:
        variance = np.array([self.rows_variance.get(u, 1.0) for u in range(len(UNITS))])[self.rows.unit]
        found = []
        for places in self.places:
            B = self.by_joints[places]
            V = self.joints_variance * (B @ np.swapaxes(B, 1, 2))
            count = places.shape[1]
            V[:, range(count), range(count)] += variance[places]
            found.append(V / self.found.weights[self.rows.posture[places[:, 0]]][:, None, None])
        return found

    def times(self, x: Array) -> Array:
        """V x for rows x (M, K)."""
        return self._times(self._covariances(), x)

    def estimate(self) -> None:
        """Average-information iteration over the logarithms of the variances."""
        names = [*self.rows_variance, None]  # None: joints
        for _ in range(ROUNDS):
            slope, information = self._slopes(names)
            damped = information + 1e-6 * np.diag(np.maximum(np.diag(information), LEAST))
            change = np.clip(np.linalg.lstsq(damped, slope, rcond=None)[0], -LARGEST_CHANGE, LARGEST_CHANGE)
            for name, c in zip(names, change, strict=True):
                if name is None:
                    self.joints_variance = max(self.joints_variance * float(np.exp(c)), LEAST**2)
                else:
                    self.rows_variance[name] = max(self.rows_variance[name] * float(np.exp(c)), LEAST**2)
            if np.abs(change).max() < SETTLED:
                return

    def _slopes(self, names: list[int | None]) -> tuple[Array, Array]:
        """Gradient and average information by the log-variances, with the parameters fitted at these weights."""
        Vi = [np.asarray(np.linalg.inv(v), float) for v in self._covariances()]
        ViA = self._times(Vi, self.A)
        now = self.found.values
        S = inverse(self.A.T @ ViA + np.diag(self.found.prior))
        step = S @ (ViA.T @ self.rows.residual - self.found.prior * now)
        left = self._times(Vi, (self.rows.residual - self.A @ step)[:, None])[:, 0]
        slope, works = [], []
        for name in names:
            v = self.joints_variance if name is None else self.rows_variance[name]
            work, trace = self._part(name, left, ViA, Vi, S)
            slope.append(-0.5 * v * (trace - work @ left))
            works.append(v * work)
        W = np.stack(works, axis=1)
        cross = ViA.T @ W
        return np.array(slope), 0.5 * (W.T @ self._times(Vi, W) - cross.T @ S @ cross)

    def _times(self, blocks: list[Array], x: Array) -> Array:
        """Product of block-diagonal matrices, one block per posture, and rows x (M, K)."""
        out = np.empty_like(x)
        for places, block in zip(self.places, blocks, strict=True):
            out[places] = block @ x[places]
        return out

    def _part(self, name: int | None, left: Array, ViA: Array, Vi: list[Array], S: Array) -> tuple[Array, float]:
        """V_a P y, and the trace of P V_a, of one variance."""
        work, trace = np.empty_like(left), 0.0
        for places, block in zip(self.places, Vi, strict=True):
            w = self.found.weights[self.rows.posture[places[:, 0]]][:, None]
            L = ViA[places]
            if name is None:
                B = self.by_joints[places]
                work[places] = np.einsum("kij,kj->ki", B, np.einsum("kij,ki->kj", B, left[places])) / w
                BL = np.swapaxes(B, 1, 2) @ L
                own = np.einsum("kia,kij,kja->k", B, block, B, optimize=True) - np.sum((BL @ S) * BL, axis=(1, 2))
            else:
                of = (self.rows.unit[places] == name).astype(float)
                work[places] = of * left[places] / w
                own = np.einsum("kii,ki->k", block, of) - np.einsum("ki,kic,kic->k", of, L @ S, L, optimize=True)
            trace += float((own / w[:, 0]).sum())
        return work, trace
