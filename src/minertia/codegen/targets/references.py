"""What the programs around the dynamics must return, from the recursion on numbers; see `selftest.reference`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.codegen.program import Program
from minertia.codegen.setting import Setting
from minertia.dynamics import model

Array = NDArray[np.float64]
Arrays = dict[str, Array]


def named(program: Program, inputs: Arrays) -> Arrays:
    """The inputs that a program takes."""
    return {port.name: inputs[port.name] for port in program.inputs}


def motor_side(setting: Setting, tau: Array) -> Array:
    """Efforts at the motors where the program gives these; a floating base's six stay in front."""
    if not setting.motors:
        return tau
    first = 6 * setting.robot.is_floating
    return np.hstack([tau[:, :first], tau[:, first:] @ setting.to_motors.T])


def _with_wrench(setting: Setting, inputs: Arrays, chi: Any, rng: np.random.Generator) -> tuple[Arrays, Array]:
    wrench = rng.uniform(-20.0, 20.0, (len(inputs["q"]), 6))
    state = (inputs["q"], inputs["qd"], inputs["qdd"])
    options: dict[str, Any] = {"temperature": inputs.get("temperature"), "wrench": wrench, "frame": setting.frame}
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


FIND: dict[str, Callable[..., tuple[Arrays, Arrays]]] = {
    "inverse_dynamics_wrench": _inverse_wrench,
    "forward_dynamics_wrench": _forward_wrench,
    "jacobian": _jacobian,
    "forward_kinematics": _pose,
}
