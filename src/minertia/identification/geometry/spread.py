"""Covariance of the estimates from measurement noise and joint repeatability.

Readings of one posture share the errors of its joints, so the covariance of its rows is sigma_u^2 on the
diagonal plus sigma_j^2 B B', with B the derivatives of the rows with respect to the joint positions.
Both variances are estimated by restricted maximum likelihood (average information, Gilmour, Thompson and
Cullis 1995) at the fitted state, and propagated through the fit, which does not use them as weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minertia.identification.geometry.chain import Array
from minertia.identification.geometry.fit import GeometryFit, inverse, rms
from minertia.identification.geometry.layout import LinearisedReadings
from minertia.identification.geometry.measures import UNITS

ROUNDS = 30
SETTLED = 1e-3
LARGEST_CHANGE = 1.5  # of a logarithm of a variance in a round
LEAST = 1e-12
ENOUGH = 1000  # postures that the variances are found from
BLOCK = 500  # postures at a time
NEGLIGIBLE = 1e-4  # of the variance of rows, that of joints
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


def spread_of(found: GeometryFit, rows: LinearisedReadings | None = None) -> GeometrySpread:
    """Noise standard deviations of a fit, and the covariance of its estimates.

    rows: readings linearised at the fitted state, if already computed.
    """
    rows = found.layout.linearised(found.state) if rows is None else rows
    noise = _TwoNoises(list(_blocks(rows, found, max(1, found.layout.postures.count // ENOUGH))), found)
    noise.estimate()
    middle = np.diag(found.prior)
    for block in _blocks(rows, found):
        weighted = block.A * (block.weight[:, None] / _by_unit(found.sizes.rows, block.unit) ** 2)[:, :, None]
        middle = middle + _flat(weighted).T @ _flat(noise.covariance(block) @ weighted)
    named = {UNITS[u]: float(np.sqrt(v)) for u, v in noise.rows_variance.items()}
    return GeometrySpread(named, float(np.sqrt(noise.joints_variance)), found.S @ middle @ found.S)


class _PostureBlock(NamedTuple):
    """Rows of k postures with c rows each: residuals r (k, c), and their derivatives.

    A: derivatives with respect to the estimates.  B: derivatives with respect to the joint positions.
    """

    r: Array
    A: Array
    B: Array
    unit: NDArray[np.intp]
    weight: Array  # of each posture (k,)


def _blocks(rows: LinearisedReadings, found: GeometryFit, step: int = 1) -> Iterator[_PostureBlock]:
    """Postures in blocks with equal numbers of rows per posture, limited in size to save memory.

    step: use only every `step`-th posture.
    """
    first = np.flatnonzero(np.diff(rows.posture, prepend=-1))
    counts = np.diff(np.append(first, len(rows.posture)))
    for count in np.unique(counts):
        places = first[counts == count][::step, None] + np.arange(count)
        for part in np.array_split(places, -(-len(places) // BLOCK)):
            yield _PostureBlock(
                rows.residual[part],
                rows.A[part[:, :, None], found.active],
                rows.by_joints[part],
                rows.unit[part],
                found.weights[rows.posture[part[:, 0]]],
            )


def _by_unit(sizes: Mapping[int, float], unit: NDArray[np.intp]) -> Array:
    return np.array([sizes.get(u, 1.0) for u in range(len(UNITS))])[unit]


def _flat(x: Array) -> Array:
    """(k, c, K) as (k c, K)."""
    return x.reshape(-1, x.shape[-1])


class _TwoNoises:
    """Restricted maximum likelihood estimate of two variances, with rows in blocks of one posture."""

    def __init__(self, blocks: Sequence[_PostureBlock], found: GeometryFit) -> None:
        self.blocks, self.found = blocks, found
        self.rows_variance = {u: size**2 for u, size in found.sizes.rows.items()}
        self.lever = rms(np.concatenate([np.sqrt(np.sum(block.B**2, axis=2)).ravel() for block in blocks]))
        residual = rms(np.concatenate([block.r.ravel() for block in blocks]))
        self.joints_variance = (PART * residual / max(self.lever, LEAST)) ** 2

    def covariance(self, block: _PostureBlock) -> Array:
        """Covariance (k, c, c) of the rows of each posture."""
        V = self.joints_variance * (block.B @ np.swapaxes(block.B, 1, 2))
        count = range(block.r.shape[1])
        V[:, count, count] += _by_unit(self.rows_variance, block.unit)
        return np.asarray(V / block.weight[:, None, None])

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
            if np.abs(change[:-1] if self._is_without_joints() else change).max() < SETTLED:
                return

    def _is_without_joints(self) -> bool:
        """Whether joint errors hardly contribute to the noise, so that their variance need not converge."""
        return self.joints_variance * self.lever**2 < NEGLIGIBLE * max(self.rows_variance.values())

    def _slopes(self, names: list[int | None]) -> tuple[Array, Array]:
        """Gradient and average information with respect to the log-variances, with the parameters refitted."""
        Vi = [np.asarray(np.linalg.inv(self.covariance(block)), float) for block in self.blocks]
        ViA = [inv @ block.A for inv, block in zip(Vi, self.blocks, strict=True)]
        prior = self.found.prior
        H = sum((_flat(b.A).T @ _flat(L) for b, L in zip(self.blocks, ViA, strict=True)), np.diag(prior))
        S = inverse(H)
        slope_of_fit = sum(
            (b.r.ravel() @ _flat(L) for b, L in zip(self.blocks, ViA, strict=True)), -prior * self.found.values
        )
        step = S @ slope_of_fit
        slope, works, trace = np.zeros(len(names)), [], np.zeros(len(names))
        for block, inv, L in zip(self.blocks, Vi, ViA, strict=True):
            left = (inv @ (block.r - block.A @ step)[:, :, None])[:, :, 0]
            parts = [self._part(name, block, left, L, inv, S) for name in names]
            trace += [own for _, own in parts]
            slope += [float(np.sum(work * left)) for work, _ in parts]
            works.append(np.stack([work for work, _ in parts], axis=2))
        v = np.array([self.joints_variance if n is None else self.rows_variance[n] for n in names])
        information = np.zeros((len(names),) * 2)
        cross = np.zeros((len(prior), len(names)))
        for work, inv, L in zip(works, Vi, ViA, strict=True):
            information += _flat(work).T @ _flat(inv @ work)
            cross += _flat(L).T @ _flat(work)
        information = np.outer(v, v) * (information - cross.T @ S @ cross)
        return 0.5 * v * (slope - trace), 0.5 * information

    def _part(
        self, name: int | None, block: _PostureBlock, left: Array, L: Array, inv: Array, S: Array
    ) -> tuple[Array, float]:
        """V_a P y (k, c) and the trace of P V_a for one variance at some postures; left: P y, L: V^-1 A."""
        w = block.weight[:, None]
        if name is None:
            B, back = block.B, np.swapaxes(block.B, 1, 2)
            work = (B @ (back @ left[:, :, None]))[:, :, 0] / w
            BL = _flat(back @ L / np.sqrt(w)[:, :, None])
            return work, float(np.sum((inv @ B) * B / w[:, :, None]) - np.sum(S * (BL.T @ BL)))
        of = (block.unit == name) / w
        weighted = _flat(L * np.sqrt(of)[:, :, None])
        own = float(np.sum(np.einsum("kii->ki", inv) * of))
        return of * left, own - float(np.sum(S * (weighted.T @ weighted)))
