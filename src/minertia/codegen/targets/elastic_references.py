"""What programs for elastic joints must return: a motion is chosen, and the efforts that go with it are computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minertia.codegen.elastic_programs import parted, sprung_joints
from minertia.codegen.program import Program
from minertia.codegen.setting import Setting
from minertia.codegen.targets.references import named
from minertia.dynamics import model
from minertia.dynamics.effects import effect_torques
from minertia.dynamics.kinematics import State
from minertia.io.arrays import Array
from minertia.robot.parameters import LINK_SYMBOLS

Arrays = dict[str, Array]


def _motion(
    setting: Setting, inputs: Arrays, chi: Any, rng: np.random.Generator, most: float = 0.0
) -> tuple[Arrays, Arrays]:
    """States of links and motors with the efforts of the motors; most: that springs give beyond what links need."""
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


ELASTIC: dict[str, Callable[..., tuple[Arrays, Arrays]]] = {
    "elastic_forward_dynamics": _forward,
    "elastic_inverse_dynamics": _inverse,
}
