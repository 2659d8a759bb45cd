"""Reference values for programs around the dynamics, from the numeric recursion; see `selftest.reference`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from minertia.codegen.calibrated_programs import calibrated_frame, corrected_positions, correction_slopes
from minertia.codegen.elastic_programs import parted, sprung_joints
from minertia.codegen.program import Program
from minertia.codegen.setting import Setting
from minertia.dynamics import model
from minertia.dynamics.effects import effect_torques
from minertia.dynamics.frame import FrameWrench
from minertia.dynamics.kinematics import State
from minertia.dynamics.loops.projection import project
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot

Arrays = dict[str, Array]


def named(program: Program, inputs: Arrays) -> Arrays:
    """Select the inputs of a program."""
    return {port.name: inputs[port.name] for port in program.inputs}


def motor_side(setting: Setting, tau: Array) -> Array:
    """Convert efforts to the motor side if the program returns motor efforts.

    The six efforts of a floating base come first and are unchanged.
    """
    if not setting.motors:
        return tau
    first = 6 * setting.robot.is_floating
    return np.hstack([tau[:, :first], tau[:, first:] @ setting.to_motors.T])


def _with_wrench(setting: Setting, inputs: Arrays, chi: Any, rng: np.random.Generator) -> tuple[Arrays, Array]:
    wrench = rng.uniform(-20.0, 20.0, (len(inputs["q"]), 6))
    state = (inputs["q"], inputs["qd"], inputs["qdd"])
    options: dict[str, Any] = {"temperature": inputs.get("temperature"), "wrench": FrameWrench(wrench, setting.frame)}
    tau = np.asarray(model.inverse_dynamics(setting.robot, *state, parameters=chi, **options))
    return inputs | {"wrench": wrench}, tau


def _inverse_wrench(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    given, tau = _with_wrench(setting, inputs, chi, rng)
    return named(program, given), {"tau": motor_side(setting, tau)}


def _forward_wrench(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    given, tau = _with_wrench(replace(setting, motors=False), inputs, chi, rng)
    return named(program, given | {"tau": tau}), {"qdd": inputs["qdd"]}


def _jacobian(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    return named(program, inputs), {"J": np.asarray(model.jacobian(setting.robot, inputs["q"], setting.frame))}


def _pose(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    R, p = model.forward_kinematics(setting.robot, inputs["q"], setting.frame)
    return named(program, inputs), {"R": np.asarray(R), "p": np.asarray(p)}


def _coriolis(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    """Reference of the Coriolis matrix, column by column from the bilinear recursion.

    D' - 2 C is checked to be skew-symmetric, with D' from the mass matrix itself.  D does not depend on the
    pose of a floating base.
    """
    robot, q, qd = setting.robot, inputs["q"], inputs["qd"]
    links = _links(chi)
    n, rest = robot.n_velocity, np.zeros_like(qd)
    options: dict[str, Any] = {"parameters": links}
    g = model.slotine_li_torques(robot, q, qd, rest, rest, **options)
    columns = [model.slotine_li_torques(robot, q, qd, rest + e, rest, **options) - g for e in np.eye(n)]
    C = np.stack(columns, axis=2)
    step = 1e-5
    along = joint_motion(robot, q, qd)
    after, before = (model.mass_matrix(robot, q + s * along, rotors=False, **options) for s in (step, -step))
    skew = (after - before) / (2 * step) - 2 * C
    size = np.abs(skew).max(initial=0.0)
    if np.abs(skew + skew.transpose(0, 2, 1)).max(initial=0.0) > 1e-6 * max(size, np.abs(after).max(initial=0.0)):
        raise MinertiaError(f"the Coriolis matrix of '{robot.name}' is inconsistent with its mass matrix")
    return named(program, inputs), {"C": C}


def joint_motion(robot: Robot, q: Array, qd: Array) -> Array:
    """Joint velocities in the shape of q, with zeros for the pose of a floating base."""
    along = np.zeros_like(q)
    along[:, 7 * robot.is_floating :] = qd[:, 6 * robot.is_floating :]
    return along


def _links(chi: Any) -> list[dict[str, float]]:
    """Link parameters without effects."""
    return [{symbol: x[symbol] for symbol in LINK_SYMBOLS} for x in chi]


def _with_reference(inputs: Arrays, rng: np.random.Generator) -> Arrays:
    size = inputs["qd"].shape
    return inputs | {"qdr": rng.uniform(-2.0, 2.0, size), "qddr": rng.uniform(-5.0, 5.0, size)}


def _slotine_li(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    """Reference of D qddr + C qdr + g, from the mass matrix and polarised velocity efforts; friction at qd.

    The polarised efforts (tau(qd + qdr) - tau(qd - qdr)) / 4 are symmetric in both velocities.  For a
    floating base half of D times the Lie bracket of the two velocities is added.
    """
    given, robot, links = _with_reference(inputs, rng), setting.robot, _links(chi)
    q, qd, qdr, qddr = (given[name] for name in ("q", "qd", "qdr", "qddr"))
    rest = np.zeros_like(qd)
    tau = np.asarray(model.inverse_dynamics(robot, q, rest, qddr, parameters=links))
    more, less = (model.velocity_torques(robot, q, qd + s * qdr, parameters=links) for s in (1, -1))
    rigid = tau + (more - less) / 4
    if robot.is_floating:
        D = model.mass_matrix(robot, q, parameters=links, rotors=False)
        rigid += np.einsum("kij,kj->ki", D[..., :6], _bracket(qd, qdr)) / 2
    effort = _efforts_of_effects(setting, given, chi, rigid)
    return named(program, given), {"tau": motor_side(setting, rigid + effort)}


def _bracket(a: Array, b: Array) -> Array:
    """Lie bracket of two twists of a floating base; (N, 6)."""
    slide = np.cross(a[:, 3:6], b[:, :3]) + np.cross(a[:, :3], b[:, 3:6])
    return np.hstack([slide, np.cross(a[:, 3:6], b[:, 3:6])])


def _efforts_of_effects(setting: Setting, given: Arrays, chi: Any, rigid: Array) -> Array:
    closed = project(setting.robot.numeric, State(*(list(given[name].T) for name in ("q", "qd", "qddr"))))
    state, _ = closed.along_reference(list(given["qd"].T), list(given["qdr"].T))
    warmth = closed.of_active(list(given["temperature"].T) if "temperature" in given else None)
    found = closed.efforts(effect_torques(closed.tree, chi, state, list(rigid.T), warmth))
    return np.stack([np.broadcast_to(np.asarray(f, float), len(rigid)) for f in found], axis=1)


def _slotine_li_regressor(
    setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any
) -> tuple[Arrays, Arrays]:
    given, base = _with_reference(inputs, rng), setting.base
    state = (given[name] for name in ("q", "qd", "qdr", "qddr"))
    Y = np.asarray(model.slotine_li_regressor(setting.robot, *state, columns=base.kept))
    mixing = np.linalg.inv(base.K[:, base.kept_indices])
    return named(program, given), {"Y": (Y @ mixing)[..., setting.essential_rows]}


def _inverse_slopes(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    state = (inputs["q"], inputs["qd"], inputs["qdd"])
    options: dict[str, Any] = {"parameters": chi, "temperature": inputs.get("temperature")}
    found = model.inverse_dynamics_derivatives(setting.robot, *state, **options)
    return named(program, inputs), dict(zip(("dtau_dq", "dtau_dqd", "dtau_dqdd"), found, strict=True))


def _forward_slopes(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    state = (inputs["q"], inputs["qd"], inputs["qdd"])
    options: dict[str, Any] = {"parameters": chi, "temperature": inputs.get("temperature")}
    tau = np.asarray(model.inverse_dynamics(setting.robot, *state, **options))
    found = model.forward_dynamics_derivatives(setting.robot, *state[:2], tau, **options)
    return named(program, inputs | {"tau": tau}), dict(zip(("dqdd_dq", "dqdd_dqd", "dqdd_dtau"), found, strict=True))


# --------------------------------------------------------------------------------------------------- calibrated robots


def _correct_joints(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    return named(program, inputs), {"q_corrected": corrected_positions(setting.robot.numeric, inputs["q"])}


def _command_joints(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    """Reference of the inverse joint correction: random commands, and the joint positions that they result in."""
    command = inputs["q"]
    return {"q": corrected_positions(setting.robot.numeric, command)}, {"q_command": command}


def _calibrated_pose(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    robot, frame = setting.robot.numeric, calibrated_frame(setting.robot, setting.frame)
    R, p = model.forward_kinematics(robot, corrected_positions(robot, inputs["q"]), frame)
    return named(program, inputs), {"R": np.asarray(R), "p": np.asarray(p)}


def _calibrated_jacobian(
    setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any
) -> tuple[Arrays, Arrays]:
    robot, frame = setting.robot.numeric, calibrated_frame(setting.robot, setting.frame)
    J = np.asarray(model.jacobian(robot, corrected_positions(robot, inputs["q"]), frame))
    return named(program, inputs), {"J": J @ correction_slopes(robot, inputs["q"])}


# ----------------------------------------------------------------------------------------------------- elastic joints


def _motion(
    setting: Setting, inputs: Arrays, chi: Any, rng: np.random.Generator, most: float = 0.0
) -> tuple[Arrays, Arrays]:
    """Reference states of links and motors, and the motor efforts.

    most: bound of a random term added to the spring efforts; it is the expected `residual` of the link
    equations.
    """
    robot, shape = setting.robot, inputs["qd"].shape
    # soft springs: stiffness times the rounding of a position is the error of an effort in single precision
    sprung = np.isin(np.arange(robot.n), sprung_joints(robot))
    given = {name: rng.uniform(*span, shape) for name, span in
             (("stiffness", (20.0, 200.0)), ("damping", (1.0, 9.0)), ("rotor", (0.1, 2.0)),
              ("motor_rate", (-2.0, 2.0)), ("motor_acceleration", (-9.0, 9.0)))}  # fmt: skip
    q, qd, qdd = (inputs[name] for name in ("q", "qd", "qdd"))
    moving = [{s: v for s, v in x.items() if s in (*LINK_SYMBOLS, "IA", "IAM")} for x in chi]
    rigid = np.asarray(model.inverse_dynamics(robot, q, qd, qdd, parameters=moving))
    if not setting.rotors:
        bare = [{s: x[s] for s in LINK_SYMBOLS} for x in chi]
        rigid = np.asarray(model.inverse_dynamics(robot, q, qd, qdd, parameters=bare))
    at_motor, at_link = parted(chi)
    more = np.where(sprung, rng.uniform(-most, most, shape), 0.0)
    load = rigid + _effects(setting, at_link, inputs, qd, rigid) + more
    given["motor"] = q + (load - given["damping"] * (given["motor_rate"] - qd)) / given["stiffness"]
    rate = np.where(sprung, given["motor_rate"], qd)
    acceleration = np.where(sprung, given["motor_acceleration"], qdd)
    friction = _effects(setting, at_motor, inputs, rate, load)
    tau = given["rotor"] * acceleration + friction + load
    return inputs | given | {"tau": tau}, {
        "tau": tau,
        "residual": more,
        "qdd": qdd,
        "motor_acceleration": acceleration,
    }


def _effects(setting: Setting, chi: Any, inputs: Arrays, qd: Array, load: Array) -> Array:
    robot = setting.robot.numeric
    warmth = list(inputs["temperature"].T) if "temperature" in inputs else None
    state = State(list(inputs["q"].T), list(qd.T), [0] * robot.n)
    found = effect_torques(robot, chi, state, list(load.T), warmth, rotors=False)
    return np.stack([np.broadcast_to(np.asarray(f, float), len(qd)) for f in found], axis=1)


def _forward(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    given, found = _motion(setting, inputs, chi, rng)
    return named(program, given), {name: found[name] for name in ("qdd", "motor_acceleration")}


def _inverse(setting: Setting, program: Program, inputs: Arrays, chi: Any, rng: Any) -> tuple[Arrays, Arrays]:
    given, found = _motion(setting, inputs, chi, rng, most=9.0)
    return named(program, given), {name: found[name] for name in ("tau", "residual")}


FIND: dict[str, Callable[..., tuple[Arrays, Arrays]]] = {
    "inverse_dynamics_wrench": _inverse_wrench,
    "forward_dynamics_wrench": _forward_wrench,
    "jacobian": _jacobian,
    "forward_kinematics": _pose,
    "coriolis_matrix": _coriolis,
    "slotine_li": _slotine_li,
    "slotine_li_regressor": _slotine_li_regressor,
    "inverse_dynamics_derivatives": _inverse_slopes,
    "forward_dynamics_derivatives": _forward_slopes,
    "elastic_forward_dynamics": _forward,
    "elastic_inverse_dynamics": _inverse,
    "correct_joints": _correct_joints,
    "command_joints": _command_joints,
    "calibrated_forward_kinematics": _calibrated_pose,
    "calibrated_jacobian": _calibrated_jacobian,
}
