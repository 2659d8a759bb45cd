"""Conversion of position servos to and from the plain data of a saved model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.codegen.rollout.effects import SIMULATED
from minertia.codegen.rollout.floor import FLOOR
from minertia.codegen.rollout.task import OF_SPRINGS
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import REFERENCE, Command, Floor
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.found import LoopFit
from minertia.identification.closed_loop.judge import ratios
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.kind import ModelParts, Section
from minertia.identification.model import IdentifiedModel
from minertia.identification.physical.consistency import physical_space
from minertia.identification.physical.fit import nearest_with_base
from minertia.identification.problem.ladder import START
from minertia.identification.problem.terms import at_joints
from minertia.identification.remembered import is_possible
from minertia.io.errors import SolverFailed
from minertia.io.schema import UNKNOWN
from minertia.robot.effects import BY_SYMBOL
from minertia.robot.joint import Elastic
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
LOOP = "loop"  # key of a model's evidence that holds its position loops


def command_parts(fit: LoopFit) -> ModelParts:
    """Components of an identified model from a fit to commands; its evidence contains the position servos."""
    model, theta = fit.model, fit.theta
    slopes = model.standard_slopes()
    standard, is_physical = _standard(model, theta)
    values, covariance = model.linear.values(standard), np.asarray(slopes @ fit.covariance @ slopes.T)
    further = {LOOP: loop_record(model, theta), "ratios": ratios(fit), "standard_excess": 0.0}
    linear = replace(model.linear, robot=_sprung(model, theta))
    return ModelParts(linear, values, covariance, standard, is_physical, further)


def _sprung(model: ServoModel, theta: Array) -> Robot:
    """Robot with the identified stiffness and damping of its elastic joints."""
    robot, values = model.robot, model.atom_values(theta)
    joints = list(robot.joints)
    for j in model.layout.elastic:
        found = Elastic(1 / float(values[model.index("cj", j)]), float(values[model.index("dj", j)]))
        joints[robot.independent[j]] = replace(joints[robot.independent[j]], elastic=found)
    return replace(robot, joints=tuple(joints))


def _standard(model: ServoModel, theta: Array) -> tuple[dict[str, float], bool]:
    """All standard parameters, and whether they are physically consistent.

    If the links were fitted, their parameters are physically consistent ones with the same efforts, if these
    exist.
    """
    standard = model.standard(theta)
    if not model.keeps_links:
        rotors = [f"IA{j + 1}" for j in model.layout.elastic]
        known = {name: standard[name] for name in rotors if name in standard}
        space = physical_space(model.linear, None, known, np.ones(model.robot.n)).free()
        try:
            x = nearest_with_base(space, model.linear.values(standard))
            standard = dict(zip(model.linear.standard, x.tolist(), strict=True))
        except SolverFailed:
            pass
    return standard, is_possible(model.robot, standard)


def recorded_loop(campaign: Campaign, model: IdentifiedModel, period: float) -> tuple[ServoModel, Array]:
    """Servo model of a saved model, and the values of its unknowns."""
    loop = model.evidence[LOOP]
    given: dict[str, Any] = {key: loop[key] for key in ("law", "hold", "delay_of", "velocity_reference")}
    given |= {key: tuple(loop[key]) for key in ("kp", "kd", "ki", "limit", "zeros") if key in loop}
    if "servo" in loop:
        given |= {key: tuple(v) if isinstance(v, list) else v for key, v in loop["servo"].items()}
        given |= {"kp": given.pop("per_volt"), "kd": given.pop("back_emf", given["kd"]), "limit": None}
    if loop["law"] == "p":
        given["kd"] = 0.0
    if loop["law"] != "pid":
        given["ki"] = 0.0
    robot = model.robot
    campaign = replace(campaign, command=Command(**given, delay=UNKNOWN), floor=Floor(**loop.get("floor", {})))
    made = loop_model(replace(campaign, robot=robot, links="robot", effects=_own_effects(robot), fix={}), period)
    values = dict(robot.effect_values)
    values |= {"delay": float(loop["delay"]), **loop.get("elastic", {}).get("values", {})}
    return made, np.array([values.get(name, 0.0) for name in made.names])


def _own_effects(robot: Robot) -> tuple[Any, ...]:
    """Default effects, and all other effects of a robot that the servo simulation supports."""
    more = [
        at_joints(robot, symbol, [j], robot.constants[j].get(symbol, {}))
        for j, own in enumerate(robot.effects)
        for symbol, value in own.items()
        if value and symbol in SIMULATED and not BY_SYMBOL[symbol].is_standard
    ]
    return (*START, *more)


def loop_record(model: ServoModel, theta: Array) -> dict[str, Any]:
    """Position servos of a robot as plain data."""
    values, command = model.atom_values(theta), model.command
    n = model.robot.n
    limit = command.each("limit", n)
    found: dict[str, Any] = {
        "law": command.law,
        **{name: model.of_kind(name, values).tolist() for name in ("kp", "kd", "ki")},
        "delay": float(values[model.places["delay"][0]]),
        "delay_of": command.delay_of,
        "hold": command.hold,
        "zeros": model.of_kind("zero", values).tolist(),
        "velocity_reference": command.velocity_reference,
        "joints": list(model.robot.coordinate_names),
        "damping_is_one": [f"KD{j + 1}+FV{j + 1}" in model.names or "KD+FV" in model.names for j in range(n)],
        "gauges": [model.robot.coordinate_names[j] for j in model.gauges],
    }
    found |= {} if None in limit else {"limit": [float(v) for v in limit]}
    found |= {"euler_step": command.step} if command.integrator == "euler" else {}
    found |= _servo_record(model, values) if command.law == "servo" else {}
    if model.floor.touches:
        below = dict(zip(FLOOR, model.of_kind("floor", values).tolist(), strict=True))
        found["floor"] = {"touches": list(model.floor.touches), **below}
    return found | ({"elastic": _elastic_record(model, values)} if model.layout.elastic else {})


def _servo_record(model: ServoModel, values: Array) -> dict[str, Any]:
    """Servos driven by their duty: gain and limit at the supply and register of the fit, and their origin."""
    c, per = model.command, model.of_kind("kp", values)
    assert c.volts is not None  # `with_supply` gives it
    speeds, (gain, warm) = model.of_kind("speed", values).tolist(), model.supplied(values)
    return {
        "kp": (gain * per).tolist(),
        "kd": (warm * model.of_kind("kd", values)).tolist(),
        "limit": (warm * per * c.duty_limit * c.volts).tolist(),
        "servo": {
            "per_volt": per.tolist(),
            "back_emf": model.of_kind("kd", values).tolist(),
            **{key: getattr(c, key) for key in ("error_gain", "register", "volts", "duty_limit", "temperature")},
            **({"target_speed": speeds} if any(speeds) else {}),
            "target_lapse": model.of_kind("lapse", values).tolist(),
            "load_share": model.of_kind("share", values).tolist(),
            "load_curve": model.of_kind("curve", values).tolist(),
            "startup_duty": model.of_kind("start", values).tolist(),
            "warming": model.of_kind("warm", values).tolist(),
            "supply_sag": model.of_kind("sag", values).tolist(),
            "backlash": model.of_kind("play", values).tolist(),
        },
    }


def _elastic_record(model: ServoModel, values: Array) -> dict[str, Any]:
    """Elastic joints [N m/rad, N m s/rad; N/m, N s/m], with all their simulation parameters, by name."""
    layout, names = model.layout, model.robot.coordinate_names
    numbers = {kind: [float(values[model.index(kind, j)]) for j in layout.elastic] for kind in (*OF_SPRINGS, "IA")}
    return {
        "joints": [names[j] for j in layout.elastic],
        "stiffness": [1 / c for c in numbers["cj"]],
        "damping": numbers["dj"],
        "rest": numbers["rj"],
        "encoder": layout.encoder,
        "feedback": layout.feedback,
        "values": {
            f"{kind.upper()}{j + 1}": own[k] for kind, own in numbers.items() for k, j in enumerate(layout.elastic)
        },
    }


def delay_sentence(loop: Mapping[str, Any]) -> str:
    """Sentence on the delay of a record of position servos."""
    delay = 1000.0 * loop["delay"]
    if delay < 0:
        return f"the {loop['delay_of']} acts {-delay:.3g} ms before its row"
    return f"the {loop['delay_of']} is delayed by {delay:.3g} ms"


def loop_section(loop: Mapping[str, Any]) -> Section:
    """Report section of the position servos of a record."""
    columns = [key for key in ("kp", "kd", "ki", "limit", "zeros") if key in loop]
    rows = tuple((joint, *(float(loop[key][j]) for key in columns)) for j, joint in enumerate(loop["joints"]))
    held = "each command is held until the next" if loop["hold"] == "zero" else ("commands are interpolated linearly")
    told = [
        f"Control law: {loop['law']}; {delay_sentence(loop)}; {held}",
        "Joint side, in N m and rad (N and m for prismatic joints), and s",
    ]
    one = [joint for joint, is_one in zip(loop["joints"], loop["damping_is_one"], strict=True) if is_one]
    if "servo" in loop:
        own = loop["servo"]
        told.append(
            f"kp, kd and limit at a register of {own['register']:g}, {own['volts']:.3g} V and "
            f"{own['temperature']:.3g} °C; effort of a volt at {REFERENCE:g} °C "
            f"{', '.join(f'{v:.4g}' for v in own['per_volt'])}; speed of the target "
            f"{', '.join(f'{v:.4g}' for v in own.get('target_speed', ())) or 'not limited'}"
        )
    told += [f"kd includes viscous friction: {', '.join(one)}"] if one else []
    return Section("Position loops", tuple(told), ("joint", *columns), rows)
