"""Fit of load, bias, mount and gravity direction: Gauss-Newton with noise and drift by restricted likelihood."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from minertia.identification.wrench.drift import BiasCurve, Clock, SensorNoise
from minertia.identification.wrench.load import CHANNELS, LOAD, TILT, Mount, angle_columns, load_columns, wrench_of
from minertia.identification.wrench.poses import StaticPoses
from minertia.io.arrays import Array

USUAL_TILT = np.deg2rad(1.0)  # of a sensor bolted to its flange: dowels and flanges are within a degree
USUAL_LEAN = np.deg2rad(0.5)  # of a base that was levelled
ROUNDS = 3  # of steps and noise in turn: angles of degrees settle in two
WALKS = np.log(1e-6), np.log(1e3)  # log of walk over noise, per step: nothing, and nothing else
FIRST_WALK = np.log(0.05)
FLOOR, CEILING = 1e-9, 1e6  # N or N m: noise of data without any, and more than any sensor measures
DRAWS = 100  # of the noise, for the covariance of the values
WIDEST = 2.0  # deviation of the log of a noise or walk that the poses hardly tell
HEAVIEST = 3.0  # log of the weight of a draw over that of the estimate: a single one must not decide


@dataclass(frozen=True)
class CarriedTool:
    """Tool on a sensor: mount, load (4,) and bias.

    is_ordered: whether the recording order of the fitted poses is known.
    """

    mount: Mount
    load: Array
    bias: BiasCurve
    is_ordered: bool

    def bias_at(self, poses: StaticPoses) -> Array:
        """Bias (N, 6) at the given poses; the last known value if their recording order is unknown."""
        is_known = (self.is_ordered and poses.has_order) or len(self.bias.order) == 1
        return self.bias.at(poses.order if is_known else None, len(poses))

    def predicted(self, poses: StaticPoses) -> Array:
        """Predicted wrench (N, 6) at the given poses, bias included."""
        return wrench_of(self.mount, poses.R, self.load) + self.bias_at(poses)


@dataclass(frozen=True)
class WrenchFit:
    """Estimates of all unknowns (`names`) with their covariance.

    usual (5,): prior standard deviations of tilt and gravity direction [rad], infinite for no prior.  has_slope:
    whether the bias is linear in the recording order.  walks: whether it is a random walk.
    """

    poses: StaticPoses
    mount: Mount
    values: Array
    covariance: Array
    noise: SensorNoise
    usual: Array
    has_slope: bool
    walks: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns."""
        slopes = tuple(f"slope_{c}" for c in CHANNELS) if self.has_slope else ()
        return (*LOAD, *TILT, *self.mount.lean_names, *(f"bias_{c}" for c in CHANNELS), *slopes)

    @property
    def load(self) -> Array:
        """Mass M [kg] and first moments [kg m], (4,)."""
        return self.values[:4]

    @property
    def bias(self) -> Array:
        """Mean bias (6,) over the fitted poses [N, N m]."""
        return self.values[9:15]

    @cached_property
    def clock(self) -> Clock:
        """Recording order of the fitted poses."""
        return Clock(self.poses.order)

    @cached_property
    def curve(self) -> BiasCurve:
        """Bias over the recording order; beyond the fitted poses a random walk keeps its last value."""
        slope = self.values[15:] if self.has_slope else np.zeros(6)
        order = np.unique(self.poses.order)
        steady = self.bias + self.clock.steps(self.poses.order)[:, None] * slope
        left = self.poses.wrench - wrench_of(self.mount, self.poses.R, self.load) - steady
        bias = steady + self.noise.drift(self.clock, left.T)
        each = np.stack([bias[self.poses.order == at].mean(axis=0) for at in order])
        if not (self.walks or self.has_slope):
            order, each = order[-1:], each[-1:]
        return BiasCurve(order, each, slope / self.clock.step)

    @property
    def carried(self) -> CarriedTool:
        """Identified tool and bias, for the prediction of wrenches."""
        return CarriedTool(self.mount, self.load, self.curve, self.poses.has_order)


def fit_wrench(
    poses: StaticPoses,
    mount: Mount,
    usual: Array,
    bias: str,
    start: WrenchFit | None = None,
) -> WrenchFit:
    """Fit all unknowns to poses; usual: see `WrenchFit`.  start: fit of most of these poses, as initial values."""
    clock, has_slope, walks = Clock(poses.order), bias == "linear", bias == "walk"
    load = first_load(poses, mount) if start is None else start.load
    noise = None if start is None or start.walks != walks else start.noise
    mount = mount if start is None else start.mount
    for _ in range(ROUNDS if start is None else 1):
        rows = WrenchRows.at(poses, mount, load, clock, usual, has_slope)
        noise = rows.noise(walks, noise)
        values, covariance = rows.solution(noise)
        load, mount = values[:4], mount.moved(values[4:9] - mount.angles)
    values = np.concatenate([load, mount.angles, values[9:]])
    assert noise is not None
    return WrenchFit(poses, mount, values, covariance, noise, usual, has_slope, walks)


def widened(fit: WrenchFit) -> WrenchFit:
    """Fit whose covariance also includes the uncertainty of the noise estimate."""
    rows = WrenchRows.at(fit.poses, fit.mount, fit.load, fit.clock, fit.usual, fit.has_slope)
    return replace(fit, covariance=rows.spread(fit.noise, fit.walks))


def first_load(poses: StaticPoses, mount: Mount) -> Array:
    """Initial load (4,) by unweighted least squares on mean-free wrenches."""
    X = load_columns(mount.felt(poses.R))
    X, y = X - X.mean(axis=1, keepdims=True), (poses.wrench - poses.wrench.mean(axis=0)).T
    return np.asarray(np.linalg.lstsq(X.reshape(-1, 4), y.ravel(), rcond=None)[0])


@dataclass(frozen=True)
class WrenchRows:
    """Linearised regression equations: X (6, N, p) and y (6, N), in the modes of the random walk.

    prior (p,): inverse prior standard deviation of each unknown, 0 for no prior.
    """

    X: Array
    y: Array
    prior: Array
    clock: Clock

    @classmethod
    def at(
        cls, poses: StaticPoses, mount: Mount, load: Array, clock: Clock, usual: Array, has_slope: bool
    ) -> WrenchRows:
        """Equations linearised at a mount and a load (4,) [kg, kg m]."""
        angles, N = angle_columns(mount, poses.R, load), len(poses)
        parts = [load_columns(mount.felt(poses.R)), angles, _by_channel(np.ones(N))]
        parts += [_by_channel(clock.steps(poses.order))] if has_slope else []
        X = np.concatenate(parts, axis=2)
        y = poses.wrench.T + angles @ mount.angles
        prior = np.zeros(X.shape[2])
        prior[4:9] = 1 / usual
        _, modes = clock.modes
        return cls(np.einsum("nm,cnp->cmp", modes, X), y @ modes, prior, clock)

    def _weighted(self, noise: SensorNoise) -> tuple[Array, Array]:
        """Equations and right-hand side divided by their standard deviations, followed by those of the prior."""
        w, p = noise.weights(self.clock), len(self.prior)
        known = np.flatnonzero(self.prior)
        below = np.zeros((len(known), p))
        below[np.arange(len(known)), known] = self.prior[known]
        A = np.concatenate([(w[:, :, None] * self.X).reshape(-1, p), below])
        return A, np.concatenate([(w * self.y).ravel(), np.zeros(len(known))])

    def solution(self, noise: SensorNoise) -> tuple[Array, Array]:
        """Estimates and their covariance for a given noise."""
        A, y = self._weighted(noise)
        Q, R = np.linalg.qr(A)
        inverse = np.linalg.pinv(R, rcond=1e-13)
        return inverse @ (Q.T @ y), inverse @ inverse.T

    def cost(self, noise: SensorNoise) -> tuple[float, Array]:
        """Minus twice the restricted log-likelihood, up to a constant, and its gradient (6, N).

        The gradient is with respect to the logarithm of the variances v_i of the equations: with residuals e_i and
        leverages h_i it is 1 - h_i - e_i^2 / v_i.
        """
        A, y = self._weighted(noise)
        w = noise.weights(self.clock)
        Q, R = np.linalg.qr(A)
        left = y - Q @ (Q.T @ y)
        sizes = np.maximum(np.abs(np.diag(R)), 1e-150)
        slope = 1 - np.sum(Q**2, axis=1) - left**2
        total = left @ left + 2 * np.log(sizes).sum() - 2 * np.log(w).sum()
        return float(total), slope[: w.size].reshape(w.shape)

    def noise(self, walks: bool, start: SensorNoise | None) -> SensorNoise:
        """Estimate the white noise of forces and moments and, if `walks`, the random walk of each channel."""
        from scipy.optimize import minimize  # here: it takes long to load

        x = self._start(walks) if start is None else _packed(start, walks)
        bounds = [(np.log(FLOOR), np.log(CEILING))] * 2 + ([WALKS] * 6 if walks else [])
        found = minimize(self._objective, x, jac=True, method="L-BFGS-B", bounds=bounds)
        return _unpacked(found.x)

    def _objective(self, x: Array) -> tuple[float, Array]:
        noise = _unpacked(x)
        total, slope = self.cost(noise)
        by_white = 2 * slope.reshape(2, -1).sum(axis=1)
        walked = noise.walk[:, None] * self.clock.modes[0]
        by_walk = (slope * walked / (1 + walked)).sum(axis=1)
        return total, np.concatenate([by_white, by_walk if len(x) > 2 else []])

    def spread(self, noise: SensorNoise, walks: bool) -> Array:
        """Covariance of the estimates, including the uncertainty of the noise estimate.

        Noise parameters are drawn about their estimate with the curvature of the likelihood, and weighted by the
        likelihood; the result is the mean covariance plus the spread of the estimates over these draws.
        """
        x, step = _packed(noise, walks), 1e-3
        cost, _ = self._objective(x)
        slopes = [(self._objective(x + d)[1] - self._objective(x - d)[1]) / (2 * step) for d in step * np.eye(len(x))]
        curvature = (np.array(slopes) + np.array(slopes).T) / 4
        sizes, axes = np.linalg.eigh(curvature)
        scale = axes / np.sqrt(np.maximum(sizes, 1 / WIDEST**2))
        z = np.random.default_rng(0).normal(size=(DRAWS, len(x)))
        values, total, weight = self.solution(noise)[0], np.zeros((len(self.prior),) * 2), 0.0
        for own in z:
            drawn = x + scale @ own
            w = np.exp(min((cost - self._objective(drawn)[0] + own @ own) / 2, HEAVIEST))
            found, covariance = self.solution(_unpacked(drawn))
            total += w * (covariance + np.outer(found - values, found - values))
            weight += w
        return np.asarray(total / weight)

    def _start(self, walks: bool) -> Array:
        values, _ = self.solution(_unpacked(np.zeros(2)))
        left = self.y - self.X @ values
        size = np.sqrt(np.mean(left.reshape(2, -1) ** 2, axis=1))
        return np.concatenate([np.log(np.maximum(size, FLOOR)), [FIRST_WALK] * 6 if walks else []])


def _by_channel(values: Array) -> Array:
    """Columns (6, N, 6) of one unknown per channel, whose effect over the poses is `values` (N,)."""
    return np.asarray(np.einsum("n,ck->cnk", values, np.eye(6)))


def _packed(noise: SensorNoise, walks: bool) -> Array:
    return np.concatenate([np.log(noise.white[[0, 3]]), np.log(noise.walk) if walks else []])


def _unpacked(x: Array) -> SensorNoise:
    return SensorNoise(np.repeat(np.exp(x[:2]), 3), np.exp(x[2:]) if len(x) > 2 else np.zeros(6))
