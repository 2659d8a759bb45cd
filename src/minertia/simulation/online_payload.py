"""On-line payload estimation: a recursive estimator beside a controller that does not know the payload."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.algebra.expr import Expr
from minertia.dynamics import model as dynamics
from minertia.excitation.trajectory import Trajectory, frozen
from minertia.identification.estimators.recursive import OnlineState
from minertia.io.errors import Infeasible
from minertia.io.resources import one_thread
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot
from minertia.simulation.change import ChangeDetector, clipped_weights
from minertia.simulation.control_model import ControlModel, ScalarFunction, control_model
from minertia.simulation.measured import STANDSTILL
from minertia.simulation.passive_joints import passive_joints
from minertia.simulation.plant import ControlSample, Plant
from minertia.simulation.tracking import Gains, computed_torque

Array = NDArray[np.float64]
WINDOW = 0.06  # s of positions that one velocity and acceleration are taken from
DEGREE = 4
LEAST = 7  # samples of a window, whatever the rate
DOUBT = 0.1  # 1 / kg, 1 / (kg m) ...: trust in "no load" at the start and after a change


@dataclass(frozen=True)
class OnlinePayload:
    """Estimates over time of the payload on the last link, in its frame: t (N,); values, deviations (N, 10).

    names: names of the ten parameters, XX ... MX, MY, MZ, M.  Estimates use the samples up to t, delayed by half
    a window.  changes: times at which earlier samples were dropped because they contradicted the new ones.
    """

    names: tuple[str, ...]
    t: Array
    values: Array
    deviations: Array
    changes: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name in ("t", "values", "deviations"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def mass(self) -> Array:
        """Estimated mass [kg] over time."""
        return np.asarray(self.values[:, -1])

    @property
    def mass_deviation(self) -> Array:
        """Standard deviation of the mass [kg]."""
        return np.asarray(self.deviations[:, -1])

    def at(self, t: float) -> tuple[Array, Array]:
        """Estimates and standard deviations (10,) at the last update up to a time [s]."""
        k = int(np.searchsorted(self.t, t, side="right")) - 1
        if k < 0:
            raise Infeasible(f"there is no estimate before {float(self.t[0]):.3g} s")
        return self.values[k], self.deviations[k]


class PayloadListener:
    """Recursive estimator on the samples of a run; every `every`-th sample updates the estimate.

    model: efforts of the robot without a payload.  noise: standard deviation of the measured efforts.  memory
    [s]: time constant of forgetting.  Velocities and accelerations come from a polynomial over a short window of
    measured positions, so an estimate is delayed by half a window.  Joints that reverse are excluded, as their
    friction is unknown.  When samples contradict the estimate for longer than a window (`change.py`), all earlier
    ones are dropped, because an average over two payloads would be wrong, and so would its standard deviation.
    """

    def __init__(
        self,
        robot: Robot,
        model: ControlModel,
        noise: ArrayLike,
        period: float,
        *,
        memory: float = 0.5,
        every: int = 5,
    ) -> None:
        if not (memory > 0 and period > 0 and every >= 1):
            raise Infeasible("on-line estimation needs a positive memory and period, and at least one sample")
        self.period, self.model, self.every = period, model, every
        self.columns = load_columns(robot)
        sigma = np.broadcast_to(np.asarray(noise, float), (robot.n,))
        self.sigma, self.forgetting = sigma, float(np.exp(-every * period / memory))
        half = max(round(0.5 * WINDOW / period), LEAST // 2)
        self.half, self.weights = half, _polynomial(half, period)
        self.detector = ChangeDetector(robot.n, -(-(2 * half + 1) // every), every * period)
        self._begin()
        self.q: deque[Array] = deque(maxlen=2 * half + 1)
        self.tau: deque[Array] = deque(maxlen=half + 1)
        self.asked: deque[Array] = deque(maxlen=2 * half + 1)
        self.count = 0
        self.times, self.values, self.deviations = list[float](), list[Array](), list[Array]()
        self.changes = list[float]()

    def _begin(self) -> None:
        self.state = OnlineState(10, self.sigma, forgetting=self.forgetting, trust=DOUBT)
        self.detector.forget()

    def __call__(self, sample: ControlSample, tau: Array) -> None:
        """Process one period of the controller."""
        self.q.append(sample.q)
        self.tau.append(tau)
        self.asked.append(np.sign(sample.qd_ref))
        self.count += 1
        if len(self.q) < 2 * self.half + 1 or self.count % self.every:
            return
        q, qd, qdd = self.weights @ np.array(self.q)
        rest = self.tau[0] - self.model.rigid(q, qd, qdd) - self.model.friction(q, qd, qdd)
        slides = self._slides(qd)
        Y = self.columns(q, qd, qdd)
        e = self._innovations(Y, rest)
        if self.detector.is_change(e, slides > 0):
            self.changes.append(sample.t)
            self.q.clear()  # a window with both loads in it belongs to neither
            self._begin()
            return
        weights = slides * clipped_weights(e)
        self.state.update(Y * weights[:, None], rest * weights)
        self.times.append(sample.t)
        self.values.append(self.state.beta)
        self.deviations.append(np.sqrt(np.diag(self.state.covariance)))

    def _slides(self, qd: Array) -> Array:
        """1 for joints that keep their direction over the window, 0 for those that reverse in it.

        The reference must not reverse either, because the controller's friction term, and with it the acceleration,
        would jump.
        """
        k = self.half
        asked = np.array(self.asked)
        steady = (asked == asked[0]).all(axis=0)
        first, last = self.q[k] - self.q[0], self.q[2 * k] - self.q[k]
        least = STANDSTILL * k * self.period
        same_way = np.minimum(first * np.sign(qd), last * np.sign(qd)) > least
        return np.asarray(steady & same_way, np.float64)

    def _innovations(self, Y: Array, rest: Array) -> Array:
        """Innovations: measured minus predicted efforts, over their predicted standard deviation."""
        spread = self.sigma**2 + np.einsum("ij,jk,ik->i", Y, self.state.covariance, Y)
        return np.asarray((rest - Y @ self.state.beta) / np.sqrt(spread))

    def result(self) -> OnlinePayload:
        """Return all estimates so far."""
        if not self.times:
            raise Infeasible("the run was too short for an estimate")
        values, deviations = np.array(self.values), np.array(self.deviations)
        return OnlinePayload(LINK_SYMBOLS, np.array(self.times), values, deviations, tuple(self.changes))


def load_columns(robot: Robot) -> Callable[[Array, Array, Array], Array]:
    """Function that computes the regressor (n, 10) of a payload on the last link from q, qd, qdd."""
    robot = robot.numeric
    empty = [dict.fromkeys(x, 0.0) for x in robot.parameters()]

    def all_columns(q: list[Expr], qd: list[Expr], qdd: list[Expr]) -> list[Any]:
        found: list[Any] = []
        for symbol in LINK_SYMBOLS:
            unit = [dict(x) for x in empty]
            unit[robot.tip + robot.is_floating][symbol] = 1.0
            found += dynamics.inverse_dynamics(robot, q, qd, qdd, parameters=unit)
        return found

    schedule = ScalarFunction(robot.n, 3, all_columns, passive_joints(robot))
    return lambda q, qd, qdd: schedule(q, qd, qdd).reshape(10, robot.n).T


def watch_payload(
    robot: Robot,
    trajectory: Trajectory,
    events: Sequence[tuple[float, Robot]],
    plant: Plant,
    *,
    model: ControlModel | None = None,
    gains: Gains | None = None,
    memory: float = 0.5,
) -> OnlinePayload:
    """Track a trajectory while the payload changes at given times; the controller's model has no payload."""
    known = model or control_model(robot)
    noise = np.broadcast_to(np.asarray(plant.flaws.torque_noise, float), (robot.n,))
    smallest = 1e-3 * float(np.abs(known.gravity(trajectory.q[0])).max()) + 1e-6
    listener = PayloadListener(robot, known, np.maximum(noise, smallest), plant.period, memory=memory)
    with one_thread():  # small matrices, many times
        plant.run(computed_torque(known, gains or Gains()), trajectory, events=events, listener=listener)
    return listener.result()


def _polynomial(half: int, period: float) -> Array:
    """Weights (3, samples) for position, velocity and acceleration half a period after the middle sample.

    An effort that is held for a period corresponds to this time.
    """
    t = np.arange(-half, half + 1) - 0.5
    size = float(half)
    powers = (t[:, None] / size) ** np.arange(DEGREE + 1)
    coefficients = np.linalg.pinv(powers)
    scale = 1 / (size * period)
    return np.array([coefficients[0], coefficients[1] * scale, 2 * coefficients[2] * scale**2])
