"""The robot in MuJoCo (extra `sim`), with the imperfections of a real one, under a controller.

The integrator and the contact-free dynamics are MuJoCo's; nothing of `minertia.dynamics` takes part in the motion.
What MuJoCo has no element for (Stribeck, load-dependent friction, gas springs ...) is computed before every step from
the table of effects: friction as the bound of MuJoCo's own dry friction, which holds still joints and never pushes,
the rest as applied efforts.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.errors import Infeasible, MinertiaError, ShapeError
from minertia.excitation.trajectory import Trajectory, frozen
from minertia.robot.effects import BY_SYMBOL, JointState
from minertia.robot.mjcf.write import constant_efforts
from minertia.robot.robot import Robot
from minertia.validation.engines import NATIVE, build_model, mujoco_package

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Imperfections:
    """What a real arm adds; numbers for all joints or one per joint.

    resolution: of the encoders [rad or m].  torque_noise: deviation of the measured effort [N m or N].  delay: from the
    command to the effort at the joint [s].  stribeck: how much friction at standstill exceeds Coulomb friction [N m or
    N], fading over stribeck_velocity [rad/s or m/s].  velocity_cutoff: of the filter on differentiated encoders [Hz].
    is_dithered: the rounding of the encoders is drawn, evenly over one step, instead of computed.  A controller that
    sees computed rounding steers by the last bits of the simulation, so each processor has a run of its own.
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
    """A run as a robot would record it: t (N,), q and tau (N, n) measured; and what only a simulation knows.

    tau, measured at the joints, moved the robot from its row to the next: it belongs half a period after q
    (`recording_of`).  true_q, true_qd: without quantisation; applied: efforts at the joints without noise; reference:
    positions asked for.  ran_away: when the arm went out of control [s]; what follows repeats the sample before it.
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
        """reference - true position (N, n)."""
        return np.asarray(self.reference - self.true_q)


class ControlSample(NamedTuple):
    """What a controller sees at one period: time, measured position and velocity, and the reference."""

    t: float
    q: Array
    qd: Array
    q_ref: Array
    qd_ref: Array
    qdd_ref: Array


RUNAWAY = 1e3  # rad/s or m/s: no joint moves so fast under control, and MuJoCo still computes
Controller = Callable[[ControlSample], Array]
Listener = Callable[[ControlSample, Array], None]  # with the measured effort: an estimator beside the controller
# time [s], position [m] and velocity [m/s] of a point of the last link -> force on it [N], all in the world's axes
Touch = Callable[[float, Array, Array], Array]
GRIP = (0.1, 0.0, 0.1)  # m, in the last link's frame: off the axis of a joint that turns there


class Plant:
    """One robot in MuJoCo; period [s] of the controller, substeps of the integrator in each.

    temperature [degC] of the joints, one or n numbers; None for the reference temperature of every effect.
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
            raise Infeasible("a plant needs a positive period and at least one step in each")
        if robot.is_floating:
            raise Infeasible("a plant stands on the ground; read the robot with a fixed base")
        self._prepare(robot)
        self.period, self.substeps, self.seed = period, substeps, seed
        self.flaws = imperfections or Imperfections()
        self.temperature = None if temperature is None else np.broadcast_to(np.asarray(temperature, float), (robot.n,))
        self.stribeck = np.asarray(self.flaws.stribeck, float) if np.any(self.flaws.stribeck) else None
        self.outside: Array | None = None  # efforts of a touch, as MuJoCo counts coordinates
        self._install(robot)

    def _prepare(self, robot: Robot) -> None:
        """Load what simulates, and refuse what it cannot."""
        robot.require_tree("a plant")
        self.mujoco: Any = mujoco_package()

    def _install(self, robot: Robot) -> None:
        """Build the model of a robot; a state already reached is kept."""
        self.robot = robot.numeric
        old = getattr(self, "data", None)
        self.model = build_model(self.mujoco, self.robot, self.period / self.substeps)
        self.data = self.mujoco.MjData(self.model)
        joints = [self.model.joint(f"j{j}") for j in range(robot.n_joints)]
        self.where = np.array([joint.qposadr[0] for joint in joints])
        self.dof = np.array([joint.dofadr[0] for joint in joints])
        self.own = np.array(self.robot.independent)
        # of the coordinates; and the memory of the state, which is asked for at every step
        self.positions, self.rates = _run_of(self.where[self.own]), _run_of(self.dof[self.own])
        self.state = self.data.qpos, self.data.qvel
        self.efforts, self.joint_rates = self.data.qfrc_applied, _run_of(self.dof)
        self.offset = constant_efforts(self.robot)
        self.effects = PlantEffects(self) if self.robot.other_effects else None
        if old is not None:
            self.data.qpos[:], self.data.qvel[:], self.data.time = old.qpos, old.qvel, old.time

    # ------------------------------------------------------------------ state

    def place(self, q: ArrayLike, qd: ArrayLike | None = None) -> None:
        """Put the robot into a state at time 0."""
        position = np.asarray(q, float)
        if position.shape != (self.robot.n,):
            raise ShapeError(f"a posture of '{self.robot.name}' has {self.robot.n} numbers, not shape {position.shape}")
        velocity = np.zeros(self.robot.n) if qd is None else np.asarray(qd, float)
        self.mujoco.mj_resetData(self.model, self.data)
        for j in range(self.robot.n_joints):
            self.data.qpos[self.where[j]] = self.robot.joint_position(j, position.tolist())
            self.data.qvel[self.dof[j]] = self.robot.joint_rate(j, velocity.tolist())

    @property
    def q(self) -> Array:
        """True positions of the coordinates."""
        return np.array(self.state[0][self.positions])

    @property
    def qd(self) -> Array:
        """True velocities of the coordinates."""
        return np.array(self.state[1][self.rates])

    def step(self, tau: Array) -> None:
        """Apply efforts for one period."""
        extra, moved, efforts = self.stribeck, self.rates, self.efforts
        for _ in range(self.substeps):
            effort = np.asarray(tau, float)
            if extra is not None:
                v = self.qd
                effort = effort - extra * np.tanh(v / (0.1 * self.flaws.stribeck_velocity)) * np.exp(
                    -((v / self.flaws.stribeck_velocity) ** 2)
                )
            efforts[self.joint_rates] = -self.offset
            efforts[moved] += effort
            if self.outside is not None:
                efforts += self.outside
            if self.effects is not None:
                self.effects.apply()
            self.mujoco.mj_step(self.model, self.data)

    def grip(self) -> tuple[Array, Array, Array]:
        """Position (3,) [m] and velocity (3,) [m/s] of the point `GRIP` of the last link, and its Jacobian (3, nv)."""
        mujoco, model, data = self.mujoco, self.model, self.data
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        body = model.body(f"b{self.robot.n_joints - 1}").id
        point = np.asarray(data.xpos[body] + data.xmat[body].reshape(3, 3) @ np.array(GRIP))
        jacobian = np.zeros((3, model.nv))
        mujoco.mj_jac(model, data, jacobian, None, point, body)
        return point, np.asarray(jacobian @ data.qvel), jacobian

    def on_coordinates(self, jacobian: Array) -> Array:
        """A Jacobian of `grip` by the robot's coordinates (3, n), joints that follow others counted with those."""
        found = np.zeros((len(jacobian), self.robot.n))
        for j, column in enumerate(jacobian[:, self.dof].T):
            for c, ratio in self.robot.shares(j):
                found[:, c] += float(ratio) * column  # type: ignore[arg-type]
        return found

    def touched(self, touch: Touch, t: float) -> None:
        """Let a force act on the last link for the next period."""
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
        """Follow a trajectory from its first posture; `settle` [s]: how long its last one is held afterwards.

        events: (time, robot) at which the arm becomes another one, such as the same with a payload.  touch: a force on
        the last link, asked once a period.
        """
        if trajectory.n != self.robot.n:
            raise ShapeError(f"the trajectory has {trajectory.n} joints and '{self.robot.name}' has {self.robot.n}")
        robot, pending = self.robot, sorted(events, key=lambda event: event[0])
        self.place(trajectory.q[0], trajectory.qd[0])
        count = round((trajectory.t[-1] - trajectory.t[0] + settle) / self.period) + 1
        recorder = _Recorder(self, trajectory, count)
        try:
            for k in range(count):
                while pending and pending[0][0] <= k * self.period:
                    self._install(pending.pop(0)[1])
                if touch is not None:
                    self.touched(touch, k * self.period)
                recorder.period(k, controller, listener)
                speeds = self.qd.tolist()
                if max(speeds, default=0.0) > RUNAWAY or min(speeds, default=0.0) < -RUNAWAY:
                    recorder.stop(k)
                    break
        finally:
            self.outside = None
            if self.robot is not robot:
                self._install(robot)
        return recorder.log()


def _run_of(places: NDArray[Any]) -> slice | NDArray[Any]:
    """Places as a slice where they follow one another, which is read and written in a fraction of the time."""
    first, count = int(places[0]) if len(places) else 0, len(places)
    return slice(first, first + count) if np.array_equal(places, np.arange(first, first + count)) else places


class PlantEffects:
    """Effects that MuJoCo has no element for; the load of a joint is that of MuJoCo's last step."""

    def __init__(self, plant: Plant) -> None:
        self.mujoco, self.model, self.data, robot = plant.mujoco, plant.model, plant.data, plant.robot
        self.sides = [
            _Side(j, values, int(plant.dof[j]), robot.coordinate_of(j))
            for j, own in enumerate(robot.effects)
            if (values := {s: v for s, v in own.items() if v and s not in NATIVE})
        ]
        self.robot, self.where, self.warmth = robot, plant.where, plant.temperature
        self.motors = self._motors() if robot.coupling is not None and robot.motor_effects else []
        self.dry = self.model.dof_frictionloss.copy()
        self.dry_motors = self.model.tendon_frictionloss.copy()
        self.last = np.ones(self.model.nv)
        self.needs_load = any("load" in BY_SYMBOL[s].inputs for side in self.sides for s in side.values)
        self.moving = np.zeros(self.model.nv)

    def _motors(self) -> list[tuple[int, dict[str, float], int]]:
        """(joint, effects, tendon) of the motors that turn with several joints."""
        return [
            (j, values, self.model.tendon(f"m{row}").id)
            for j, row in self.robot.coupled_motors.items()
            if (values := {s: v for s, v in self.robot.motor_effects[row].items() if v and s not in NATIVE})
        ]

    def apply(self) -> None:
        """Add to the efforts already applied, and set the bounds of dry friction, for the next step."""
        load = self._load() if self.needs_load else self.moving
        for side in self.sides:
            d = side.dof
            v = self._velocity(d)
            warmth = None if self.warmth is None else float(self.warmth[side.coordinate])
            state = JointState(float(self.data.qpos[self.where[side.joint]]), v, 0.0, float(load[d]), warmth)
            friction, rest = _parted(self.robot, side.joint, side.values, state)
            self.model.dof_frictionloss[d] = max(self.dry[d] + friction, 0.0)
            self.data.qfrc_applied[d] -= rest + math.copysign(min(self.dry[d] + friction, 0.0), v)
        for j, values, tendon in self.motors:
            v = float(self.data.ten_velocity[tendon])
            friction, _ = _parted(self.robot, j, values, JointState(0.0, v if v else 1e-9, 0.0))
            self.model.tendon_frictionloss[tendon] = max(self.dry_motors[tendon] + friction, 0.0)

    def _velocity(self, d: int) -> float:
        """Velocity, or next to nothing in the last direction of motion where a joint stands still."""
        v = float(self.data.qvel[d])
        if v != 0:
            self.last[d] = math.copysign(1.0, v)
        return v if v != 0 else 1e-9 * float(self.last[d])

    def _load(self) -> Array:
        """What moved links and rotors in the last step."""
        self.mujoco.mj_mulM(self.model, self.data, self.moving, self.data.qacc)
        return np.asarray(self.moving + self.data.qfrc_bias)


class _Side(NamedTuple):
    """A joint with effects of its own: their values, its place in MuJoCo's vectors, its coordinate."""

    joint: int
    values: dict[str, float]
    dof: int
    coordinate: int


def _parted(robot: Robot, j: int, values: Mapping[str, float], state: JointState) -> tuple[float, float]:
    """(friction against the motion, other efforts) of some effects of a joint."""
    friction = rest = 0.0
    for symbol, value in values.items():
        effect = BY_SYMBOL[symbol]
        effort = value * float(effect.shape(state, robot.effect_constants(j, symbol)))
        if "qd" in effect.inputs:
            friction += effort * math.copysign(1.0, state.qd)
        else:
            rest += effort
    return friction, rest


class Sensors:
    """Encoders and measured efforts of n joints: what a robot tells of where it is and of what moved it."""

    def __init__(self, flaws: Imperfections, n: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.is_dithered = flaws.is_dithered
        self.resolution = np.broadcast_to(np.asarray(flaws.resolution, float), (n,))
        self.has_lines = self.resolution > 0
        self.is_quantised = bool(np.any(self.has_lines))
        self.line = np.where(self.has_lines, self.resolution, 1.0)
        self.noise = np.broadcast_to(np.asarray(flaws.torque_noise, float), (n,))

    def position(self, q: Array) -> Array:
        """What the encoders tell of positions (n,)."""
        if not self.is_quantised:
            return q
        if self.is_dithered:
            return np.asarray(q + self.resolution * (self.rng.random(len(q)) - 0.5))
        return np.asarray(np.where(self.has_lines, np.round(q / self.line) * self.line, q))

    def effort(self, tau: Array) -> Array:
        """What is measured of efforts (n,) at the joints."""
        return np.asarray(tau + self.noise * self.rng.standard_normal(len(tau)))


class _Recorder:
    """The electronics of one run: sensors, velocity filter, delay, and the log."""

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
        """Measure, ask the controller, apply what it said `delay` periods ago, record."""
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
        """Differences of the encoder through a first-order filter; perfect encoders give the velocity itself."""
        if not self.sensors.is_quantised:
            return true
        if self.last is not None:
            self.velocity = self.velocity + self.gain * ((q - self.last) / self.plant.period - self.velocity)
        self.last = q
        return self.velocity

    def stop(self, k: int) -> None:
        """The arm is out of control after period k: nothing that follows means anything."""
        self.table[:, k + 1 :] = self.table[:, k : k + 1]
        self.ran_away = float(self.times[k])

    def log(self) -> PlantLog:
        return replace(PlantLog(self.times, *self.table), ran_away=self.ran_away)
