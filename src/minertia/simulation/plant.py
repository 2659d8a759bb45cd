"""Simulated robot with sensor and drive imperfections, under a controller.

It runs a `SimulatedArm`: MuJoCo for a tree, or an arm whose closed chains stay exactly closed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.excitation.trajectory import Trajectory, frozen
from minertia.io.errors import Infeasible, MinertiaError, ShapeError
from minertia.robot.effects import BY_SYMBOL
from minertia.robot.robot import Robot
from minertia.simulation.arm import RUNAWAY, ActingEffect, SimulatedArm
from minertia.simulation.closed_arm import ClosedArm
from minertia.simulation.mujoco_arm import MujocoArm

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Imperfections:
    """Imperfections of a real arm; one value for all joints or one per joint.

    resolution: encoder resolution [rad or m].  torque_noise: standard deviation of the measured effort [N m
    or N].  delay: time from the command to the effort at the joint [s].  stribeck: excess of static over
    Coulomb friction [N m or N], decaying over stribeck_velocity [rad/s or m/s].  velocity_cutoff: cut-off of
    the filter on differentiated encoder signals [Hz].  is_dithered: the rounding error of the encoders is
    random, uniform over one step, instead of computed.  With computed rounding a controller amplifies the
    last bits of the simulation, so that runs differ between processors.
    """

    resolution: ArrayLike = 0.0
    torque_noise: ArrayLike = 0.0
    delay: float = 0.0
    stribeck: ArrayLike = 0.0
    stribeck_velocity: float = 0.05
    velocity_cutoff: float = 80.0
    is_dithered: bool = False


@dataclass(frozen=True)
class PlantLog:
    """Log of a run: t (N,), q and tau (N, n) measured; and true signals of the simulation.

    tau, measured at the joints, acts from its row to the next one: it corresponds to a time half a period after q
    (`recording_of`).  true_q, true_qd: without quantisation; applied: efforts at the joints without noise;
    reference: commanded positions.  ran_away: time at which the arm became unstable [s]; later rows repeat the
    last stable sample.
    """

    t: Array
    q: Array
    tau: Array
    true_q: Array
    true_qd: Array
    applied: Array
    reference: Array
    ran_away: float | None = None

    def __post_init__(self) -> None:
        for name in ("t", "q", "tau", "true_q", "true_qd", "applied", "reference"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def error(self) -> Array:
        """Tracking error: reference - true position (N, n)."""
        return np.asarray(self.reference - self.true_q)


class ControlSample(NamedTuple):
    """Inputs of a controller in one period: time, measured position and velocity, and the reference."""

    t: float
    q: Array
    qd: Array
    q_ref: Array
    qd_ref: Array
    qdd_ref: Array


Controller = Callable[[ControlSample], Array]
Listener = Callable[[ControlSample, Array], None]  # with the measured effort: an estimator beside the controller
# time [s], position [m] and velocity [m/s] of a point of the last link -> force on it [N], all in the world's axes
Touch = Callable[[float, Array, Array], Array]


class Plant:
    """One simulated robot; period [s] of the controller, with `substeps` integrator steps in each.

    temperature [degC] of the joints, one or n values; None for the reference temperature of every effect.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        period: float = 1e-3,
        substeps: int = 1,
        imperfections: Imperfections | None = None,
        seed: int = 0,
        temperature: ArrayLike | None = None,
    ) -> None:
        if not period > 0 or substeps < 1:
            raise Infeasible("a simulated robot needs a positive period and at least one time step per period")
        if robot.is_floating:
            raise Infeasible("a simulated robot needs a fixed base; read the robot with a fixed base")
        self.period, self.substeps, self.seed = period, substeps, seed
        self.flaws = imperfections or Imperfections()
        self.temperature = None if temperature is None else np.broadcast_to(np.asarray(temperature, float), (robot.n,))
        self.outside: Array | None = None  # efforts of a touch, as the Jacobian of `grip` counts coordinates
        self.arm = self._arm_of(robot)

    def _arm_of(self, robot: Robot) -> SimulatedArm:
        make = ClosedArm if robot.cuts else MujocoArm
        return make(robot, self.period / self.substeps, self._flawed_friction(robot), self.temperature)

    def _flawed_friction(self, robot: Robot) -> dict[int, list[ActingEffect]]:
        """Unmodelled Stribeck friction, by joint."""
        row, values = BY_SYMBOL["FS"], np.broadcast_to(np.asarray(self.flaws.stribeck, float), (robot.n,))
        slow = {"velocity": self.flaws.stribeck_velocity}
        return {j: [ActingEffect(row, float(v), slow)] for j, v in zip(robot.independent, values, strict=True) if v}

    # ------------------------------------------------------------------ state

    @property
    def robot(self) -> Robot:
        """Robot that is currently simulated, without symbols."""
        return self.arm.robot

    def place(self, q: ArrayLike, qd: ArrayLike | None = None) -> None:
        """Set the state of the robot at time 0."""
        position = np.asarray(q, float)
        if position.shape != (self.robot.n,):
            raise ShapeError(f"a posture of '{self.robot.name}' has {self.robot.n} numbers, not shape {position.shape}")
        self.arm.place(position, np.zeros(self.robot.n) if qd is None else np.asarray(qd, float))

    @property
    def q(self) -> Array:
        """True positions of the coordinates."""
        return self.arm.q

    @property
    def qd(self) -> Array:
        """True velocities of the coordinates."""
        return self.arm.qd

    def step(self, tau: Array) -> None:
        """Apply efforts for one period."""
        effort = np.asarray(tau, float)
        for _ in range(self.substeps):
            self.arm.step(effort, self.outside)

    def grip(self) -> tuple[Array, Array, Array]:
        """Position (3,) [m] and velocity (3,) [m/s] of the point `GRIP` of the last link, and its Jacobian."""
        return self.arm.grip()

    def on_coordinates(self, jacobian: Array) -> Array:
        """Jacobian of `grip` with respect to the robot's coordinates (3, n)."""
        return self.arm.on_coordinates(jacobian)

    def touched(self, touch: Touch, t: float) -> None:
        """Apply an external force to the last link for the next period."""
        point, velocity, jacobian = self.grip()
        self.outside = np.asarray(jacobian.T @ touch(t, point, velocity))

    # ------------------------------------------------------------------ a run

    def run(
        self,
        controller: Controller,
        trajectory: Trajectory,
        *,
        settle: float = 0.0,
        events: Sequence[tuple[float, Robot]] = (),
        listener: Listener | None = None,
        touch: Touch | None = None,
    ) -> PlantLog:
        """Track a trajectory from its first posture; `settle` [s]: time for which the last posture is then held.

        events: (time, robot) at which the arm is replaced by another, such as the same robot with a payload.  touch:
        function that returns an external force on the last link, called once per period.
        """
        if trajectory.n != self.robot.n:
            raise ShapeError(f"the trajectory has {trajectory.n} joints, but '{self.robot.name}' has {self.robot.n}")
        begun, pending = self.arm, sorted(events, key=lambda event: event[0])
        self.place(trajectory.q[0], trajectory.qd[0])
        count = round((trajectory.t[-1] - trajectory.t[0] + settle) / self.period) + 1
        recorder = _Recorder(self, trajectory, count)
        try:
            for k in range(count):
                while pending and pending[0][0] <= k * self.period:
                    self._become(self._arm_of(pending.pop(0)[1]))
                if touch is not None:
                    self.touched(touch, k * self.period)
                recorder.period(k, controller, listener)
                speeds = self.qd.tolist()
                if max(speeds, default=0.0) > RUNAWAY or min(speeds, default=0.0) < -RUNAWAY:
                    recorder.stop(k)
                    break
        finally:
            self.outside = None
            if self.arm is not begun:
                self._become(begun)
        return recorder.log()

    def _become(self, arm: SimulatedArm) -> None:
        """Continue the simulation with another arm, from the current state."""
        arm.go_on_from(self.arm)
        self.arm = arm


class Sensors:
    """Encoders and effort measurements of n joints."""

    def __init__(self, flaws: Imperfections, n: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.is_dithered = flaws.is_dithered
        self.resolution = np.broadcast_to(np.asarray(flaws.resolution, float), (n,))
        self.has_lines = self.resolution > 0
        self.is_quantised = bool(np.any(self.has_lines))
        self.line = np.where(self.has_lines, self.resolution, 1.0)
        self.noise = np.broadcast_to(np.asarray(flaws.torque_noise, float), (n,))

    def position(self, q: Array) -> Array:
        """Encoder readings of positions (n,)."""
        if not self.is_quantised:
            return q
        if self.is_dithered:
            return np.asarray(q + self.resolution * (self.rng.random(len(q)) - 0.5))
        return np.asarray(np.where(self.has_lines, np.round(q / self.line) * self.line, q))

    def effort(self, tau: Array) -> Array:
        """Measurements of joint efforts (n,)."""
        return np.asarray(tau + self.noise * self.rng.standard_normal(len(tau)))


class _Recorder:
    """Signal chain of one run: sensors, velocity filter, delay, and the log."""

    def __init__(self, plant: Plant, trajectory: Trajectory, count: int) -> None:
        n, flaws = plant.robot.n, plant.flaws
        self.plant = plant
        self.sensors = Sensors(flaws, n, plant.seed)
        self.gain = 1 - np.exp(-2 * np.pi * flaws.velocity_cutoff * plant.period)
        self.commands: deque[Array] = deque()
        self.delay = round(flaws.delay / plant.period)
        self.last: Array | None = None
        self.ran_away: float | None = None
        self.velocity = plant.qd
        self.table = np.zeros((6, count, n))
        self.times = np.asarray(np.arange(count) * plant.period, np.float64)
        self.asked = trajectory.at(trajectory.t[0] + self.times)  # at once: sample by sample takes as long as the rest

    def period(self, k: int, controller: Controller, listener: Listener | None) -> None:
        """One period: measure, call the controller, apply its effort of `delay` periods ago, record."""
        plant = self.plant
        q_true, qd_true = plant.q, plant.qd
        q = self.sensors.position(q_true)
        qd = self._velocity(q, qd_true)
        q_ref, qd_ref, qdd_ref = self.asked
        sample = ControlSample(float(self.times[k]), q, qd, q_ref[k], qd_ref[k], qdd_ref[k])
        command = np.asarray(controller(sample), float)
        if not np.isfinite(command).all():
            raise MinertiaError(f"the controller returned a number that is not finite at {sample.t:.3f} s")
        self.commands.append(command)
        applied = self.commands.popleft() if len(self.commands) > self.delay else self.commands[0]
        measured = self.sensors.effort(applied)
        for row, value in zip(self.table, (q, measured, q_true, qd_true, applied, sample.q_ref), strict=True):
            row[k] = value
        if listener is not None:
            listener(sample, measured)
        plant.step(applied)

    def _velocity(self, q: Array, true: Array) -> Array:
        """Velocity from filtered encoder differences (first order); the true velocity for perfect encoders."""
        if not self.sensors.is_quantised:
            return true
        if self.last is not None:
            self.velocity = self.velocity + self.gain * ((q - self.last) / self.plant.period - self.velocity)
        self.last = q
        return self.velocity

    def stop(self, k: int) -> None:
        """End the log after period k, at which the arm became unstable."""
        self.table[:, k + 1 :] = self.table[:, k : k + 1]
        self.ran_away = float(self.times[k])

    def log(self) -> PlantLog:
        return replace(PlantLog(self.times, *self.table), ran_away=self.ran_away)
