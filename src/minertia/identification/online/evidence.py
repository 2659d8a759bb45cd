"""Sequential change detection, block by block, with a given false-alarm rate (docs/howto/watch.md).

For each joint and each hypothetical step s of its residual the evidence is R <- (1 + R) exp(s w - s^2 /
2) with the clipped innovation w of the block.  R minus the number of blocks is a martingale while nothing
changes (Shiryaev and Roberts), so that the mean of all R reaches a threshold A after A blocks on average,
or later.  Payloads are fitted to the same whitened rows: a known one is refined, and a hypothetical one
is fitted to the rows since the evidence began to rise.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from minertia.codegen.watch_rules import (
    BEGINS,
    BEGINS_AT,
    BY_LOAD,
    CLIP,
    FULL,
    LOAD,
    NAMED,
    NOTHING,
    QUIET,
    RECENT,
    RESIDUAL,
    SIGNED,
    SKIPPED,
    SURE,
    SUSPECTED,
)
from minertia.identification.online.levels import WatchLevels
from minertia.io.arrays import Array

Flags = NDArray[np.bool_]
ARM, GYRATION = 0.3, 0.15  # m: how far out the centre of a load may be, and its mass be spread about it
STEPPED = np.array(SIGNED)
HALVES = STEPPED**2 / 2


@dataclass
class BlockStage:
    """State of the change detection between blocks.

    load (10,), root (10, 10): known payload, with covariance root root'.  R (n, steps): evidence.
    information, moment, squares, rows: sums over the rows since the suspected change, which began at block
    `since`; squares: with the known payload subtracted, and of the efforts themselves.
    """

    levels: WatchLevels
    load: Array = field(default_factory=lambda: np.zeros(10))
    root: Array = field(default_factory=lambda: np.zeros((10, 10)))

    def __post_init__(self) -> None:
        n = len(self.levels.joints)
        self.sigma, self.alike = np.array(self.levels.sigma), np.array(self.levels.alike)
        self.R = np.zeros((n, len(STEPPED)))
        self.before, self.likeness = np.zeros((n, 11)), np.zeros(n)  # rows that counted last, and how alike the next is
        self.high, self.recent, self.last = np.zeros(n, bool), np.ones(n), np.zeros(n, int)
        self.block, self.joint, self.raised = 0, 0, -1
        self.deviation = np.zeros(10)
        self.fitted = np.zeros(10)
        self._forget()

    def _forget(self) -> None:
        self.since, self.rows = self.block, 0
        self.information, self.moment, self.squares = np.zeros((10, 10)), np.zeros(10), np.zeros(2)

    @property
    def doubt(self) -> Array:
        """Prior standard deviations (10,) of an unknown payload, in the order XX ... MX MY MZ M."""
        return load_doubt(self.levels.options.heaviest)

    @property
    def evidence(self) -> float:
        """Mean evidence over all joints and steps."""
        return float(self.R.mean())

    def step(self, e: Array, Y: Array, valid: Flags) -> int:
        """Process one block; returns NOTHING, SUSPECTED at the alarm, LOAD or RESIDUAL once it is classified."""
        self.block += 1
        rows = np.column_stack([e, Y]) / self.sigma[:, None]
        fresh = self.last <= self.since + SKIPPED  # whose last row may be that of another load
        white = self._whitened(rows, valid)
        for j in np.flatnonzero(valid).tolist():
            if not self.high[j] and self.block > self.since + SKIPPED:
                self._suspect((rows if fresh[j] else white)[j])
            self._row(j, white[j, 0], white[j, 1:])
        self.last = np.where(valid, self.block, self.last)
        if self.raised >= 0:
            return self._name() if self.block - self.since >= NAMED else NOTHING
        if self.evidence < max(BEGINS, BEGINS_AT * self.levels.threshold):
            self._forget()
            return NOTHING
        if self.evidence < self.levels.threshold:
            return NOTHING
        self.raised, self.joint = self.block, int(np.argmax(self.R.max(axis=1)))
        return SUSPECTED

    def _whitened(self, rows: Array, valid: Flags) -> Array:
        """Whitened rows (n, 11): innovations given the last valid rows, with unit variance."""
        rho = self.likeness[:, None]
        white = (rows - rho * self.before) / np.sqrt(1 - rho**2)
        self.before = np.where(valid[:, None], rows, self.before)
        self.likeness = np.where(valid, self.alike, self.likeness * self.alike)
        return np.asarray(white)

    def _row(self, j: int, effort: float, y: Array) -> None:
        """Update the change statistic and the payload estimate with the regressor row of one joint."""
        f = self.root.T @ y
        spread = 1.0 + float(f @ f)
        w = (effort - float(y @ self.load)) / spread**0.5
        clipped = min(max(w, -CLIP), CLIP)
        self.recent[j] = RECENT * self.recent[j] + (1 - RECENT) * clipped * clipped
        if self.high[j]:
            self.high[j] = self.recent[j] > QUIET
            return
        self.R[j] = np.minimum((1 + self.R[j]) * np.exp(STEPPED * clipped - HALVES), FULL)
        if spread > 1.0 and self.block == self.since + 1:  # nothing is suspected; what is far off pulls no harder
            reach = self.root @ f
            self.load = self.load + reach * (clipped / spread**0.5)
            self.root = self.root - np.outer(reach, f) / (spread + spread**0.5)  # Potter's update

    def _suspect(self, row: Array) -> None:
        """Add a row to the fit of the payload that may explain the suspected change."""
        effort, y = float(row[0]), row[1:]
        rest = effort - float(y @ self.load)
        self.information += np.outer(y, y)
        self.moment += y * effort
        self.squares += (rest * rest, effort * effort)
        self.rows += 1

    # ------------------------------------------------------------------ names

    def _name(self) -> int:
        """Classify the suspected change: a payload if it explains the rows, else a high residual of the joint."""
        inverse: Array = np.asarray(np.linalg.inv(self.information + np.diag(self.doubt**-2.0)), float)
        self.fitted, self.deviation = inverse @ self.moment, np.sqrt(np.diag(inverse))
        change = self.fitted[9] - self.load[9]
        doubt = self.deviation[9] ** 2 + float(self.root[9] @ self.root[9])
        excess = self.squares[0] - self.rows
        explained = self.squares[0] - (self.squares[1] - float(self.moment @ self.fitted))
        is_load = change**2 > SURE**2 * doubt and explained > BY_LOAD * excess
        if is_load:
            self.load, self.root = self.fitted, _upper_root(inverse)
        else:
            self.high[self.joint] = True
            self.recent[self.joint] = CLIP**2
        self.R[:] = 0.0
        self.raised = -1
        self._forget()
        return LOAD if is_load else RESIDUAL


def load_doubt(heaviest: float) -> Array:
    """Prior standard deviations (10,) of an unknown payload of at most `heaviest` kg, in the order XX ... M."""
    m = heaviest
    return np.array([m * (ARM**2 + GYRATION**2)] * 6 + [m * ARM] * 3 + [m])


def _upper_root(P: Array) -> Array:
    """Upper triangular S with S S' = P."""
    flipped = np.linalg.cholesky(P[::-1, ::-1])
    return np.asarray(flipped[::-1, ::-1])
