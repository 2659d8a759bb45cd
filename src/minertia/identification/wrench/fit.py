"""Fit of load, bias, mount and gravity direction: Gauss-Newton with noise and drift by restricted likelihood."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from minertia.identification.wrench.drift import BiasCurve, Clock, SensorNoise
from minertia.identification.wrench.load import (
    CHANNELS,
    INERTIA,
    LOAD,
    TILT,
    Mount,
    angle_columns,
    load_columns,
    wrench_of,
)
from minertia.identification.wrench.samples import SensorPoses
from minertia.io.arrays import Array

USUAL_TILT = np.deg2rad(0.4)  # of a sensor bolted to its flange: dowels hold 0.1 degrees, clamped flanges 1 to 2
USUAL_LEAN = np.deg2rad(0.2)  # of a base that was levelled
ANGLE_SPREAD = 1.0  # deviation of the log of both: sensors with dowels and clamped ones, a factor of ten apart
USUAL_REACH = 0.3  # m: a tool's mass at this distance has the inertia that is expected where motion shows none
ROUNDS = 3  # of steps and noise in turn: angles of degrees settle in two
WALKS = np.log(1e-6), np.log(1e3)  # log of walk over noise, per step: nothing, and nothing else
FIRST_WALKS = 0.05, 1.0  # walk over noise that the search starts from: load and drift may exchange parts, two optima
USUAL_WALK = np.log(0.03), 3.0  # mean and deviation of the log of walk over noise: from none to the noise at each step
WALK_SPREAD = 1.5  # deviation of that log between the channels of forces, and of moments: they share one amplifier
ANGLES = np.log(0.01), np.log(100.0)  # log of the scale of tilt and gravity direction
FLOOR, CEILING = 1e-9, 1e6  # N or N m: noise of data without any, and more than any sensor measures
DRAWS, FEWER = 100, 20  # of the noise, for the covariance of the values: of poses, and of motions, which tell it well
WIDEST = 2.0  # deviation of the log of a noise or walk that the poses hardly tell
HEAVIEST = 3.0  # log of the weight of a draw over that of the estimate: a single one must not decide


@dataclass(frozen=True)
class CarriedTool:
    """Tool on a sensor: mount, load (4,) or (10,), and bias.

    is_ordered: whether the recording order of the fitted poses is known, so that the bias may vary over it.
    """

    mount: Mount
    load: Array
    bias: BiasCurve
    is_ordered: bool

    def bias_at(self, poses: SensorPoses) -> Array:
        """Bias (N, 6) at the given poses; the last known value if their recording order is unknown."""
        is_known = (self.is_ordered and poses.has_order) or len(self.bias.order) == 1
        return self.bias.at(poses.order if is_known else None, len(poses))

    def predicted(self, poses: SensorPoses) -> Array:
        """Predicted wrench (N, 6) at the given poses, bias included."""
        return wrench_of(self.mount, poses.R, self.load, poses.motion) + self.bias_at(poses)


@dataclass(frozen=True)
class WrenchFit:
    """Estimates of all unknowns `names`, with their covariance; model: name of the bias model.

    usual (5,): typical prior standard deviations of tilt and gravity direction [rad], infinite for no prior; `noise`
    holds their estimated scale.
    has_slope: whether the bias is linear in the recording order.  walks: whether it is a random walk.
    """

    poses: SensorPoses
    mount: Mount
    values: Array
    covariance: Array
    noise: SensorNoise
    usual: Array
    model: str

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns."""
        return unknowns(self.poses, self.mount, self.model)

    @property
    def load(self) -> Array:
        """Mass [kg], first moments [kg m] and, for a motion, inertias [kg m^2]; (4,) or (10,).

        Moments and inertias are about the sensor's origin.
        """
        return self.values[: load_count(self.poses)]

    @property
    def angles(self) -> Array:
        """Angles (5,) of tilt (sensor axes) and lean (gravity direction) [rad]."""
        return self.values[self._after(0) : self._after(5)]

    @property
    def angle_deviations(self) -> Array:
        """Standard deviations (5,) of tilt and lean [rad]."""
        return np.sqrt(np.diag(self.covariance))[self._after(0) : self._after(5)]

    @property
    def angle_prior(self) -> Array:
        """Prior standard deviations (5,) of tilt and lean [rad], at their estimated scale."""
        return self.usual * np.repeat(self.noise.angles, (3, 2))

    @property
    def bias(self) -> Array:
        """Mean bias (6,) over the fitted poses [N, N m]."""
        return np.asarray((self.trend @ self.bias_values).mean(axis=0))

    @property
    def bias_values(self) -> Array:
        """Coefficients (K, 6) of the columns of `trend` in the bias [N, N m]."""
        return self.values[self._after(5) :].reshape(-1, 6)

    @property
    def walks(self) -> bool:
        """Whether the bias is a random walk."""
        return self.model == "walk"

    def _after(self, count: int) -> int:
        return load_count(self.poses) + count

    @cached_property
    def clock(self) -> Clock:
        """Recording order of the fitted poses."""
        return Clock(self.poses.order)

    @property
    def trend(self) -> Array:
        """Columns (N, K) of the bias over the poses, without the random walk."""
        return trends(self.poses, self.clock, self.model)

    @cached_property
    def curve(self) -> BiasCurve:
        """Bias over the recording order; beyond the fitted poses a random walk keeps its last value."""
        slope = self.bias_values[1] / self.clock.step if self.model == "linear" else np.zeros(6)
        order = np.unique(self.poses.order)
        steady = self.trend @ self.bias_values
        left = self.poses.wrench - wrench_of(self.mount, self.poses.R, self.load, self.poses.motion) - steady
        bias = steady + self.noise.drift(self.clock, left.T)
        each = np.stack([bias[self.poses.order == at].mean(axis=0) for at in order])
        if self.model == "constant":
            order, each = order[-1:], each[-1:]
        return BiasCurve(order, each, slope)

    @property
    def carried(self) -> CarriedTool:
        """Identified tool and bias, for the prediction of wrenches."""
        return CarriedTool(self.mount, self.load, self.curve, self.poses.has_order)


def load_count(poses: SensorPoses) -> int:
    """Number of identifiable load parameters: four at rest, ten in motion."""
    return len(LOAD) if poses.motion is None else len(LOAD + INERTIA)


def unknowns(poses: SensorPoses, mount: Mount, bias: str) -> tuple[str, ...]:
    """Names of the unknowns: load, mount, gravity direction, bias and its variation."""
    more: tuple[str, ...] = ("slope",) if bias == "linear" else ()
    if bias == "steps":
        more = tuple(f"step{k}" for k in range(1, int(poses.stretch.max()) + 1))
    biases = (f"{word}_{c}" for word in ("bias", *more) for c in CHANNELS)
    return (*(LOAD + INERTIA)[: load_count(poses)], *TILT, *mount.lean_names, *biases)


def trends(poses: SensorPoses, clock: Clock, bias: str) -> Array:
    """Columns (N, K) of the bias over the poses: a constant, and a slope or one step per tare."""
    one = np.ones(len(poses))
    if bias == "linear":
        return np.stack([one, clock.steps(poses.order)], axis=1)
    if bias == "steps":
        stretch = poses.stretch
        return np.stack([one, *(1.0 * (stretch == k) for k in range(1, int(stretch.max()) + 1))], axis=1)
    return one[:, None]


def fit_wrench(
    poses: SensorPoses,
    mount: Mount,
    usual: Array,
    bias: str,
    start: WrenchFit | None = None,
) -> WrenchFit:
    """Fit all unknowns to poses; usual: see `WrenchFit`.  start: fit of most of these poses, as initial values."""
    clock, walks = Clock(poses.order), bias == "walk"
    load = first_load(poses, mount) if start is None else start.load
    noise = None if start is None or start.walks != walks else start.noise
    mount, L = mount if start is None else start.mount, load_count(poses)
    for _ in range(ROUNDS if start is None else 1):
        rows = WrenchRows.at(poses, mount, load, clock, usual, bias)
        noise = rows.noise(walks, noise)
        values, covariance = rows.solution(noise)
        load, mount = values[:L], mount.moved(values[L : L + 5] - mount.angles)
    values = np.concatenate([load, mount.angles, values[L + 5 :]])
    assert noise is not None
    return WrenchFit(poses, mount, values, covariance, noise, usual, bias)


def widened(fit: WrenchFit) -> WrenchFit:
    """Fit whose covariance also includes the uncertainty of the noise estimate."""
    rows = WrenchRows.at(fit.poses, fit.mount, fit.load, fit.clock, fit.usual, fit.model)
    return replace(fit, covariance=rows.spread(fit.noise, fit.walks))


def first_load(poses: SensorPoses, mount: Mount) -> Array:
    """Load (4,) or (10,) by least squares on wrenches without their mean, forces and moments weighted equally."""
    X = load_columns(mount, poses.R, poses.motion)
    X, y = X - X.mean(axis=1, keepdims=True), (poses.wrench - poses.wrench.mean(axis=0)).T
    return np.asarray(np.linalg.lstsq(X.reshape(-1, X.shape[2]), y.ravel(), rcond=None)[0])


@dataclass(frozen=True)
class WrenchRows:
    """Linearised regression equations: X (6, N, p) and y (6, N), in the modes of the random walk.

    prior (p,): inverse prior standard deviation of each unknown, 0 for no prior; of angles, at the scale 1.
    angles: first column of the five angles.
    """

    X: Array
    y: Array
    prior: Array
    angles: int
    clock: Clock
    moves: bool

    @classmethod
    def at(cls, poses: SensorPoses, mount: Mount, load: Array, clock: Clock, usual: Array, bias: str) -> WrenchRows:
        """Rows about a mount and a load [kg, kg m, kg m^2]."""
        angles, trend, L = angle_columns(mount, poses.R, load, poses.motion), trends(poses, clock, bias), len(load)
        steady = np.einsum("nk,cd->cnkd", trend, np.eye(6)).reshape(6, len(poses), -1)
        X = np.concatenate([load_columns(mount, poses.R, poses.motion), angles, steady], axis=2)
        y = poses.wrench.T + angles @ mount.angles
        prior = np.zeros(X.shape[2])
        prior[L : L + 5] = 1 / usual
        prior[4:L] = 1 / max(abs(load[0]) * USUAL_REACH**2, FLOOR)
        _, modes = clock.modes
        return cls(np.einsum("nm,cnp->cmp", modes, X), y @ modes, prior, L, clock, poses.motion is not None)

    @property
    def known(self) -> NDArray[np.intp]:
        """Columns of the unknowns with a prior."""
        return np.flatnonzero(self.prior)

    def _weighted(self, noise: SensorNoise) -> tuple[Array, Array]:
        """Equations and right-hand side divided by their standard deviations, followed by those of the prior."""
        w, p, known = noise.weights(self.clock), len(self.prior), self.known
        below, prior = np.zeros((len(known), p)), self.prior.copy()
        prior[self.angles : self.angles + 5] /= np.repeat(noise.angles, (3, 2))
        below[np.arange(len(known)), known] = prior[known]
        A = np.concatenate([(w[:, :, None] * self.X).reshape(-1, p), below])
        return A, np.concatenate([(w * self.y).ravel(), np.zeros(len(known))])

    def solution(self, noise: SensorNoise) -> tuple[Array, Array]:
        """Estimates and their covariance for a given noise."""
        A, y = self._weighted(noise)
        Q, R = np.linalg.qr(A)
        inverse = np.linalg.pinv(R, rcond=1e-13)
        return inverse @ (Q.T @ y), inverse @ inverse.T

    def cost(self, noise: SensorNoise) -> tuple[float, Array, Array]:
        """Minus twice the restricted log-likelihood, up to a constant, and its gradients (6, N) and (2,).

        The first is with respect to the logarithm of the variances v_i of the equations: with residuals e_i and
        leverages h_i it is 1 - h_i - e_i^2 / v_i.  The second is with respect to that of the variances of tilt and
        gravity direction.
        """
        A, y = self._weighted(noise)
        w = noise.weights(self.clock)
        Q, R = np.linalg.qr(A)
        left = y - Q @ (Q.T @ y)
        sizes = np.maximum(np.abs(np.diag(R)), 1e-150)
        slope = 1 - np.sum(Q**2, axis=1) - left**2
        of = np.digitize(self.known - self.angles, (0, 3, 5))  # 1: tilt, 2: gravity direction
        count, by_angles = np.bincount(of, minlength=4), np.bincount(of, slope[w.size :], minlength=4)
        total = left @ left + 2 * np.log(sizes).sum() - 2 * np.log(w).sum() + 2 * count[1:3] @ np.log(noise.angles)
        return float(total), slope[: w.size].reshape(w.shape), np.asarray(by_angles[1:3], float)

    def noise(self, walks: bool, start: SensorNoise | None) -> SensorNoise:
        """Noise estimate by restricted maximum likelihood, with a weak prior of walks and angles.

        White noise of forces and of moments; scale of the angles; for a motion, noise that rises with frequency;
        for a random-walk bias, the walk of each channel.
        """
        from scipy.optimize import minimize  # here: it takes long to load

        layout = NoiseLayout(self.moves, walks)
        starts = self._starts(layout) if start is None else [start]
        tried = [
            minimize(self._objective, layout.packed(own), (layout,), jac=True, method="L-BFGS-B", bounds=layout.bounds)
            for own in starts
        ]
        return layout.unpacked(min(tried, key=lambda found: found.fun).x)

    def _objective(self, x: Array, layout: NoiseLayout) -> tuple[float, Array]:
        noise = layout.unpacked(x)
        total, slope, angles = self.cost(noise)
        share = slope / noise.variance(self.clock)
        walk = (share * noise.walk[:, None] * self.clock.modes[0]).sum(axis=1)
        rise = (share * noise.rise[:, None] * self.clock.rises).sum(axis=1)
        below, by_prior = layout.prior(x)
        return total + below, layout.gathered(2 * slope.sum(axis=1), 2 * angles, rise, walk) + by_prior

    def spread(self, noise: SensorNoise, walks: bool) -> Array:
        """Covariance of the estimates, including the uncertainty of the noise estimate.

        Noise parameters are drawn about their estimate with the curvature of the likelihood, and weighted by the
        likelihood; the result is the mean covariance plus the spread of the estimates over these draws.
        """
        layout, step = NoiseLayout(self.moves, walks), 1e-3
        x, around = layout.packed(noise), step * np.eye(layout.size)
        cost, _ = self._objective(x, layout)
        slopes = [(self._objective(x + d, layout)[1] - self._objective(x - d, layout)[1]) / (2 * step) for d in around]
        curvature = (np.array(slopes) + np.array(slopes).T) / 4
        sizes, axes = np.linalg.eigh(curvature)
        scale = axes / np.sqrt(np.maximum(sizes, 1 / WIDEST**2))
        z = np.random.default_rng(0).normal(size=(FEWER if self.moves else DRAWS, len(x)))
        values, total, weight = self.solution(noise)[0], np.zeros((len(self.prior),) * 2), 0.0
        for own in z:
            drawn = x + scale @ own
            w = np.exp(min((cost - self._objective(drawn, layout)[0] + own @ own) / 2, HEAVIEST))
            found, covariance = self.solution(layout.unpacked(drawn))
            total += w * (covariance + np.outer(found - values, found - values))
            weight += w
        return np.asarray(total / weight)

    def _starts(self, layout: NoiseLayout) -> list[SensorNoise]:
        values, _ = self.solution(SensorNoise(np.ones(6)))
        left = self.y - self.X @ values
        size = np.sqrt(np.mean(left.reshape(2, -1) ** 2, axis=1))
        first = np.repeat(np.maximum(size, FLOOR), 3)
        walks = FIRST_WALKS if layout.walks else FIRST_WALKS[:1]
        return [SensorNoise(first, np.full(6, walk), np.ones(6)) for walk in walks]


@dataclass(frozen=True)
class NoiseLayout:
    """Vector of the unknown noise parameters, as logarithms: white noise, angles, rising noise and random walk.

    moves: whether noise that rises with frequency is included.  walks: whether a random walk of each channel is
    included.  White and rising noise have one value for forces and one for moments, angles one for tilt and one for
    the gravity direction.
    """

    moves: bool
    walks: bool

    @property
    def size(self) -> int:
        """Number of unknown noise parameters."""
        return 4 + 2 * self.moves + 6 * self.walks

    @property
    def _walk(self) -> slice:
        return slice(4 + 2 * self.moves, self.size)

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Lower and upper bound of each unknown (logarithms)."""
        first = [(np.log(FLOOR), np.log(CEILING))] * 2 + [ANGLES] * 2
        return first + [WALKS] * 2 * self.moves + [WALKS] * 6 * self.walks

    def prior(self, x: Array) -> tuple[float, Array]:
        """Minus twice the log of the prior density of angles and walks, up to a constant, and its gradient."""
        slope, (usual, spread) = np.zeros(len(x)), USUAL_WALK
        slope[2:4] = x[2:4] / ANGLE_SPREAD**2
        total, walk = float(slope[2:4] @ x[2:4]), x[self._walk]
        if self.walks:
            apart = walk - np.repeat(walk.reshape(2, 3).mean(axis=1), 3)
            total += float(apart @ apart / WALK_SPREAD**2 + np.sum((walk - usual) ** 2) / spread**2)
            slope[self._walk] = apart / WALK_SPREAD**2 + (walk - usual) / spread**2
        return total, 2 * slope

    def gathered(self, white: Array, angles: Array, rise: Array, walk: Array) -> Array:
        """Gradient with respect to the unknowns, from gradients with respect to the channels' parameters (6,)."""
        white, rise = (v.reshape(2, 3).sum(axis=1) for v in (white, rise))
        return np.concatenate([white, angles, rise[: 2 * self.moves], walk[: 6 * self.walks]])

    def packed(self, noise: SensorNoise) -> Array:
        """Vector of the unknowns from a noise."""
        rise, walk = np.log(np.maximum(noise.rise[[0, 3]], np.exp(WALKS[0]))), np.log(np.maximum(noise.walk, 1e-300))
        first = np.log(np.concatenate([noise.white[[0, 3]], noise.angles]))
        return np.concatenate([first, rise[: 2 * self.moves], walk[: 6 * self.walks]])

    def unpacked(self, x: Array) -> SensorNoise:
        """Noise from a vector of the unknowns."""
        rise = np.repeat(np.exp(x[4:6]), 3) if self.moves else np.zeros(6)
        walk = np.exp(x[self._walk]) if self.walks else np.zeros(6)
        return SensorNoise(np.repeat(np.exp(x[:2]), 3), walk, rise, np.exp(x[2:4]))
