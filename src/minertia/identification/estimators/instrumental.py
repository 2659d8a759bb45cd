"""Instrumental variables: regressor of a simulated motion, uncorrelated with the noise of the measured one.

Noise in the measured positions biases least squares towards zero; instruments from a simulation of the model that
follows the measured motion remove that bias (Janot, Vandanjon, Gautier 2014).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from minertia.identification.estimators.estimate import Fit
from minertia.identification.estimators.estimator import Estimator
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.solve import inverse, weighted_solution
from minertia.identification.signals.filtering import Motion
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError
from minertia.io.schema import option

LOST = 100.0  # travels of the joint that moves most; a simulation farther off is that of no robot


@final
@dataclass(frozen=True)
class InstrumentalVariable(Estimator):
    """Refined instrumental variables: simulate with the last estimate, solve, repeat."""

    bandwidth: float = option(
        20.0,
        "Bandwidth of the tracking controller of the simulation.",
        unit="rad/s",
        range=(0.1, 1e4),
    )
    segments: int = option(
        32,
        "Number of segments of a recording that are simulated in parallel, each from its measured state.",
        range=(1, 1_000_000),
    )
    iterations: int = option(3, "Maximum number of iterations.", range=(1, 10_000))
    tolerance: float = option(1e-3, "Convergence tolerance on the step, in standard deviations.", range=(1e-12, 1))

    def fit(self, problem: Observation) -> Fit:  # noqa: D102
        if len(problem.row_names) < problem.model.robot.n_velocity:
            raise MinertiaError(
                "simulated instruments need the efforts of all joints; identify all joints, with momentum or "
                "torque equations"
            )
        if problem.model.choice.needs_load:
            raise MinertiaError(
                "simulated instruments do not support load-dependent friction; remove load_coulomb from the "
                "effects, or choose another estimator"
            )
        beta, R, sigma = weighted_solution(problem)
        inv = inverse(R[:-1, :-1])
        for _ in range(self.iterations):
            with np.errstate(over="ignore", invalid="ignore"):  # a simulation that runs away is refused, not warned of
                step, ZZ, ZW = self._step(problem, beta, inv, sigma)
            beta = beta + inv @ step
            if np.abs(step).max(initial=0.0) < self.tolerance:
                break
        half = inv @ np.linalg.inv(ZW)
        return Fit(beta, half @ ZZ @ half.T, sigma)

    def _step(self, problem: Observation, beta: Array, inv: Array, sigma: Array) -> tuple[Array, Array, Array]:
        """Instrumental-variable correction of beta, Z'Z and Z'W, with the measured columns W orthonormalised.

        The correction is in standard deviations.  Z: columns of the simulated motion (the instruments).
        """
        p = problem.count
        ZZ, ZW, Zr = np.zeros((p, p)), np.zeros((p, p)), np.zeros(p)
        change = _simulation(problem.model, problem.expand(beta), self.bandwidth, self.segments)
        for measured, simulated in zip(problem.stream(), problem.stream(change), strict=True):
            W = (measured.Y / sigma[:, None]).reshape(-1, p) @ inv
            Z = (simulated.Y / sigma[:, None]).reshape(-1, p) @ inv
            rest = ((measured.tau - measured.Y @ beta) / sigma).ravel()
            ZZ, ZW, Zr = ZZ + Z.T @ Z, ZW + Z.T @ W, Zr + Z.T @ rest
        try:
            return np.asarray(np.linalg.solve(ZW, Zr)), ZZ, ZW
        except np.linalg.LinAlgError:
            raise _no_instruments("does not excite every unknown") from None


def _simulation(model: LinearModel, beta: Array, bandwidth: float, segments: int) -> Callable[[Motion], Motion]:
    return lambda section: simulated(model, beta, section, bandwidth, segments)


def simulated(model: LinearModel, beta: Array, section: Motion, bandwidth: float, segments: int) -> Motion:
    """Simulate the model under the measured efforts, kept near the measured positions by an observer.

    x' = v + 2 w (q - x), v' = model + w^2 (q - x): measured velocities do not enter.  Fixed steps of one sample
    (classical Runge-Kutta), all segments in parallel, each started early enough that its initial state decays.
    """
    t, q, qd, tau = section.t, section.q, section.qd, section.tau
    samples = len(t)
    length = -(-samples // min(segments, max(samples // 8, 1)))
    starts = np.arange(0, samples, length)
    warm = int(min(np.ceil(6 / (bandwidth * float(np.median(np.diff(t))))), samples))
    first = np.maximum(starts - warm, 0)
    ends = np.append(starts[1:], samples)
    steps = int((ends - first).max())
    rate = _rates(model, beta, bandwidth, 4 * steps * len(starts))
    x, v = q[first].copy(), qd[first].copy()
    Q, V, A = (np.zeros_like(q) for _ in range(3))
    farthest = LOST * float(np.ptp(q, axis=0).max(initial=0.0))
    for k in range(steps):
        here = np.minimum(first + k, samples - 1)
        after = np.minimum(here + 1, samples - 1)
        if not np.all(np.abs(x - q[here]) <= farthest):
            raise _no_instruments("diverges from the measured one")
        now, then = (q[here], tau[here]), (q[after], tau[after])
        middle = (0.5 * (now[0] + then[0]), 0.5 * (now[1] + then[1]))
        v1, a1 = rate(x, v, now)
        inside = (first + k >= starts) & (first + k < ends)
        Q[here[inside]], V[here[inside]], A[here[inside]] = x[inside], v[inside], a1[inside]
        h = (t[after] - t[here])[:, None]
        v2, a2 = rate(x + h / 2 * v1, v + h / 2 * a1, middle)
        v3, a3 = rate(x + h / 2 * v2, v + h / 2 * a2, middle)
        v4, a4 = rate(x + h * v3, v + h * a3, then)
        x, v = x + h / 6 * (v1 + 2 * v2 + 2 * v3 + v4), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    return replace(section, q=Q, qd=V, qdd=A)  # its filter is the simulated one's, too


def _rates(model: LinearModel, beta: Array, bandwidth: float, states: int) -> Callable[..., tuple[Array, Array]]:
    """Function that returns x' and v' of the observer; states: total number of states to be evaluated."""

    def rates(x: Array, v: Array, measured: tuple[Array, Array]) -> tuple[Array, Array]:
        q, tau = measured
        count, n = x.shape
        unit = np.vstack([np.zeros(n), np.eye(n)])  # efforts are affine in accelerations: those of n + 1 show D
        state = (np.repeat(x, n + 1, axis=0), np.repeat(v, n + 1, axis=0), np.tile(unit, (count, 1)))
        efforts = (model.columns(*state, samples=states * (n + 1)) @ beta).reshape(count, n + 1, n)
        bias, D = efforts[:, 0], np.swapaxes(efforts[:, 1:] - efforts[:, :1], 1, 2)
        try:
            asked = np.linalg.solve(D, (tau - bias)[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:
            raise _no_instruments("has no acceleration: the mass matrix is singular") from None
        return np.asarray(v + 2 * bandwidth * (q - x)), np.asarray(asked + bandwidth**2 * (q - x))

    return rates


def _no_instruments(what: str) -> MinertiaError:
    return MinertiaError(
        f"the motion simulated with the least-squares estimate {what}, so it gives no instruments; use a better "
        "excitation or fit with --estimator wls or physical"
    )
