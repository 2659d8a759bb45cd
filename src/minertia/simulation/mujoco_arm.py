"""A tree robot in MuJoCo (extra `sim`): its integrator and its dynamics, independent of `minertia.dynamics`.

Effects without a MuJoCo element (Stribeck, load-dependent friction, gas springs ...) are computed before
every step from the effect table: friction as the bound of MuJoCo's own dry friction, which holds joints at
rest and never drives them, all other effects as applied efforts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minertia.robot.effect import JointState
from minertia.robot.formats.mjcf.write import constant_efforts
from minertia.robot.robot import Robot
from minertia.simulation.arm import GRIP, ActingEffect, Array, More, SimulatedArm, acting_effects
from minertia.simulation.engines import NATIVE, build_model, mujoco_package


class MujocoArm:
    """One robot without closed kinematic chains; h: step [s]."""

    def __init__(self, robot: Robot, h: float, more: More, temperature: Array | None) -> None:
        robot.require_tree("a plant")
        self.mujoco: Any = mujoco_package()
        self.robot = robot.numeric
        self.model = build_model(self.mujoco, self.robot, h)
        self.data = self.mujoco.MjData(self.model)
        joints = [self.model.joint(f"j{j}") for j in range(robot.n_joints)]
        self.where = np.array([joint.qposadr[0] for joint in joints])
        self.dof = np.array([joint.dofadr[0] for joint in joints])
        own = np.array(self.robot.independent)
        # of the coordinates; and the memory of the state, which is asked for at every step
        self.positions, self.rates = _run_of(self.where[own]), _run_of(self.dof[own])
        self.state = self.data.qpos, self.data.qvel
        self.efforts, self.joint_rates = self.data.qfrc_applied, _run_of(self.dof)
        self.offset = constant_efforts(self.robot)
        self.effects = _PlantEffects(self, more, temperature) if self.robot.other_effects or more else None

    def place(self, q: Array, qd: Array) -> None:
        """Set the state of the robot at time 0."""
        self.mujoco.mj_resetData(self.model, self.data)
        for j in range(self.robot.n_joints):
            self.data.qpos[self.where[j]] = self.robot.joint_position(j, q.tolist())
            self.data.qvel[self.dof[j]] = self.robot.joint_rate(j, qd.tolist())

    def go_on_from(self, other: SimulatedArm) -> None:
        """Take over the state of the same robot with other parameters."""
        assert isinstance(other, MujocoArm)
        old = other.data
        self.data.qpos[:], self.data.qvel[:], self.data.time = old.qpos, old.qvel, old.time

    @property
    def q(self) -> Array:
        """True positions of the coordinates."""
        return np.array(self.state[0][self.positions])

    @property
    def qd(self) -> Array:
        """True velocities of the coordinates."""
        return np.array(self.state[1][self.rates])

    def step(self, tau: Array, outside: Array | None) -> None:
        """Apply efforts for one step; outside: external efforts, in MuJoCo's coordinates."""
        efforts = self.efforts
        efforts[self.joint_rates] = -self.offset
        efforts[self.rates] += tau
        if outside is not None:
            efforts += outside
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
        """Jacobian of `grip` with respect to the robot's coordinates (3, n), dependent joints included."""
        found = np.zeros((len(jacobian), self.robot.n))
        for j, column in enumerate(jacobian[:, self.dof].T):
            for c, ratio in self.robot.shares(j):
                found[:, c] += float(ratio) * column  # type: ignore[arg-type]
        return found


def _run_of(places: NDArray[Any]) -> slice | NDArray[Any]:
    """Indices as a slice where they are consecutive, for faster access."""
    first, count = int(places[0]) if len(places) else 0, len(places)
    return slice(first, first + count) if np.array_equal(places, np.arange(first, first + count)) else places


class _Side(NamedTuple):
    """Joint with effects that MuJoCo has no element for, its index in MuJoCo's velocities, and its coordinate."""

    joint: int
    effects: Sequence[ActingEffect]
    dof: int
    coordinate: int


class _PlantEffects:
    """Effects without a MuJoCo element; load-dependent ones use the joint loads of the previous step."""

    def __init__(self, arm: MujocoArm, more: More, temperature: Array | None) -> None:
        self.mujoco, self.model, self.data, robot = arm.mujoco, arm.model, arm.data, arm.robot
        self.sides = [
            _Side(j, acting, int(arm.dof[j]), robot.coordinate_of(j))
            for j, own in enumerate(robot.effects)
            if (acting := acting_effects(robot, j, {s: v for s, v in own.items() if s not in NATIVE}, more))
        ]
        self.robot, self.where, self.warmth = robot, arm.where, temperature
        self.motors = self._motors() if robot.coupling is not None and robot.motor_effects else []
        self.dry = self.model.dof_frictionloss.copy()
        self.dry_motors = self.model.tendon_frictionloss.copy()
        self.last = np.ones(self.model.nv)
        self.needs_load = any("load" in effect.row.inputs for side in self.sides for effect in side.effects)
        self.moving = np.zeros(self.model.nv)

    def _motors(self) -> list[tuple[list[ActingEffect], int]]:
        """(effects, tendon) of the motors coupled to several joints."""
        found = []
        for j, row in self.robot.coupled_motors.items():
            own = {s: v for s, v in self.robot.motor_effects[row].items() if s not in NATIVE}
            if acting := acting_effects(self.robot, j, own):
                found.append((acting, self.model.tendon(f"m{row}").id))
        return found

    def apply(self) -> None:
        """Add the effects to the applied efforts, and set the bounds of dry friction, for the next step."""
        load = self._load() if self.needs_load else self.moving
        for side in self.sides:
            d = side.dof
            v = self._velocity(d)
            warmth = None if self.warmth is None else float(self.warmth[side.coordinate])
            state = JointState(float(self.data.qpos[self.where[side.joint]]), v, 0.0, float(load[d]), warmth)
            friction, rest = _parted(side.effects, state)
            self.model.dof_frictionloss[d] = max(self.dry[d] + friction, 0.0)
            self.data.qfrc_applied[d] -= rest + math.copysign(min(self.dry[d] + friction, 0.0), v)
        for effects, tendon in self.motors:
            v = float(self.data.ten_velocity[tendon])
            friction, _ = _parted(effects, JointState(0.0, v if v else 1e-9, 0.0))
            self.model.tendon_frictionloss[tendon] = max(self.dry_motors[tendon] + friction, 0.0)

    def _velocity(self, d: int) -> float:
        """Velocity, or a tiny value in the last direction of motion at standstill."""
        v = float(self.data.qvel[d])
        if v != 0:
            self.last[d] = math.copysign(1.0, v)
        return v if v != 0 else 1e-9 * float(self.last[d])

    def _load(self) -> Array:
        """Rigid-body and rotor efforts in the last step."""
        self.mujoco.mj_mulM(self.model, self.data, self.moving, self.data.qacc)
        return np.asarray(self.moving + self.data.qfrc_bias)


def _parted(effects: Sequence[ActingEffect], state: JointState) -> tuple[float, float]:
    """(friction against the motion, other efforts) of some effects of a joint."""
    friction = rest = 0.0
    for row, value, constants in effects:
        effort = value * float(row.shape(state, constants))
        if "qd" in row.inputs:
            friction += effort * math.copysign(1.0, state.qd)
        else:
            rest += effort
    return friction, rest
