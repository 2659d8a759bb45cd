"""Position servos of an identified model for simulators: MJCF `<position>` actuators, and Isaac Lab text.

The files state the meaning of each value (docs/output-error.md has the table).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from minertia.identification.closed_loop.found import EARLY
from minertia.identification.closed_loop.record import LOOP
from minertia.identification.model import IdentifiedModel
from minertia.io.errors import MinertiaError, one_line
from minertia.robot.formats.mjcf.values import AT_MOTOR, FAR, HELD, far_rest
from minertia.robot.formats.mjcf.write import effect_attributes, to_mjcf
from minertia.robot.formats.usd.actuators import NewtonActuator
from minertia.robot.formats.writing import unheld_effects
from minertia.robot.formats.xml import quoted, written
from minertia.robot.robot import Robot
from minertia.version import __version__

BY_VOLTAGE = ("voltage", "servo")  # laws whose limit is that of the supply, and does not hold back-EMF
IN_ISAAC = ("IA", "FV", "FC", "OFF")
ISAAC_STEP = 0.005  # s, physics step that delays of Isaac Lab and Newton are counted in


def loop_of(model: IdentifiedModel) -> dict[str, Any]:
    """Position servos of a model; raises an error if it was fitted to efforts."""
    found = model.evidence.get(LOOP)
    if found is None:
        raise MinertiaError("this model was fitted to efforts and has no servo model; fit logs of commands to get one")
    if found["gauges"]:
        raise MinertiaError(
            f"the scale of this model is not identifiable (kp of {', '.join(found['gauges'])} was set to 1), but "
            "a simulator needs it; give a gain and fit again"
        )
    return dict(found)


def to_position_mjcf(model: IdentifiedModel) -> str:
    """Identified robot as MJCF with a `<position>` actuator at each joint: force = kp (ctrl - q) - kv qd.

    MuJoCo's integrator is implicitfast, as damping of actuators is unstable with its default at usual steps; values
    fitted for the default have their own step.
    armature, damping and frictionloss of its joints are IA, FV and FC; offsets act as constant forces.  Damping on the
    velocity error, and the back-EMF of servos in voltage mode, which is not limited, are a separate `<velocity>`
    actuator (`rate_name`).  Motors of elastic joints are separate joints (`motor_name`), coupled to their
    links by tendons with stiffness and damping.
    """
    return position_mjcf(model.robot, loop_of(model), not_held(model))


def position_mjcf(robot: Robot, loop: dict[str, Any], missing: Sequence[str] = ()) -> str:
    """Robot with its effects as MJCF with the actuators of a record of position servos; missing: what it lacks."""
    robot, elastic = _bounded(robot, loop), loop.get("elastic", {})
    if elastic.get("feedback") == "link":
        raise MinertiaError(
            f"position servos of {', '.join(elastic['joints'])} measure the links and act on the motors through "
            "springs, which MuJoCo actuators cannot represent; validate this model with minertia only"
        )
    motors = [loop["joints"].index(joint) for joint in elastic.get("joints", ())]
    moved = [f"{symbol}{robot.independent[j] + 1}" for j in motors for symbol in AT_MOTOR]
    bare = robot.without_effects([name for name in moved if name in robot.effect_values])
    told = [f"position servos identified by minertia {__version__}", *_meanings(loop), *missing]
    comments = [f"  <!-- {re.sub('--+', '-', one_line(text))} -->" for text in told]
    rotors = "".join(f"{line}\n" for j in motors for line in _rotor(robot, j))
    lines = [*comments, *_springs(elastic), "  <actuator>", *_drives(loop), "  </actuator>"]
    option = f'timestep="{loop["euler_step"]:.9g}"' if "euler_step" in loop else 'integrator="implicitfast"'
    body, end = to_mjcf(bare).replace("<option ", f"<option {option} ", 1).rsplit("</mujoco>", 1)
    tree, rest = body.rsplit("  </worldbody>", 1)
    return f"{tree}{rotors}  </worldbody>{rest}" + "\n".join(lines) + f"\n</mujoco>{end}"


def motor_name(joint: str) -> str:
    """Name of the motor joint of an elastic joint in an MJCF."""
    return f"{joint}_motor"


def rate_name(joint: str) -> str:
    """Name of a joint's damping actuator in an MJCF; its ctrl is the commanded velocity, or 0."""
    return f"{joint}_rate"


def spring_name(joint: str) -> str:
    """Name of the tendon between motor and link of an elastic joint in an MJCF."""
    return f"{joint}_spring"


def damps_apart(loop: dict[str, Any]) -> bool:
    """Whether damping is a separate actuator: it acts on the velocity error, or is not limited."""
    return bool(loop["velocity_reference"] or loop["law"] in BY_VOLTAGE)


def _bounded(robot: Robot, loop: dict[str, Any]) -> Robot:
    """Robot with the servo's effort limits at its joints, if they bound the sum of two actuators."""
    if "limit" not in loop or not loop["velocity_reference"] or loop["law"] in BY_VOLTAGE:
        return robot
    joints = list(robot.joints)
    for j, limit in zip(robot.independent, loop["limit"], strict=True):
        joints[j] = replace(joints[j], limits=replace(joints[j].limits, effort=limit))
    return replace(robot, joints=tuple(joints))


def _drives(loop: dict[str, Any]) -> list[str]:
    lines, elastic, apart = [], loop.get("elastic", {}).get("joints", ()), damps_apart(loop)
    for j, joint in enumerate(loop["joints"]):
        at = f"joint={quoted(motor_name(joint) if joint in elastic else joint)}"
        bounds = "limit" in loop and (not apart or loop["law"] in BY_VOLTAGE)
        limit = f' forcerange="{-loop["limit"][j]:.9g} {loop["limit"][j]:.9g}"' if bounds else ""
        damping = "" if apart else f' kv="{loop["kd"][j]:.9g}"'
        lines.append(f'    <position name={quoted(joint)} {at} kp="{loop["kp"][j]:.9g}"{damping}{limit}/>')
        if apart:
            lines.append(f'    <velocity name={quoted(rate_name(joint))} {at} kv="{loop["kd"][j]:.9g}"/>')
    return lines


def _rotor(robot: Robot, j: int) -> list[str]:
    """Motor body of an elastic coordinate: massless, with the rotor inertia as armature of its joint."""
    joint, own = robot.coordinate_names[j], robot.effects[robot.independent[j]]
    kind = "slide" if robot.joints[robot.independent[j]].kind == "prismatic" else "hinge"
    values = effect_attributes({symbol: value for symbol, value in own.items() if symbol in AT_MOTOR})
    if own.get("OFF"):
        values |= {"stiffness": written(abs(own["OFF"]) / FAR), "springref": written(far_rest(own["OFF"]))}
    given = "".join(f' {name}="{value}"' for name, value in values.items())
    return [
        f'    <body name={quoted(f"{joint}_rotor")} gravcomp="1">',
        f'      <joint name={quoted(motor_name(joint))} type="{kind}" axis="0 0 1"{given}/>',
        '      <inertial pos="0 0 0" mass="1e-9" diaginertia="1e-9 1e-9 1e-9"/>',
        "    </body>",
    ]


def _springs(elastic: dict[str, Any]) -> list[str]:
    """Tendons between motors and links."""
    lines = []
    for k, joint in enumerate(elastic.get("joints", ())):
        given = f'stiffness="{elastic["stiffness"][k]:.9g}" damping="{elastic["damping"][k]:.9g}"'
        lines += [
            f'    <fixed name={quoted(spring_name(joint))} springlength="0" {given}>',
            f'      <joint joint={quoted(motor_name(joint))} coef="1"/>',
            f'      <joint joint={quoted(joint)} coef="-1"/>',
            "    </fixed>",
        ]
    return ["  <tendon>", *lines, "  </tendon>"] if lines else []


def _meanings(loop: dict[str, Any]) -> list[str]:
    """Comments for an MJCF that explain the meaning of its values."""
    found = []
    if any(loop["damping_is_one"]):
        found.append(
            "kv contains the damping of the servo and viscous friction, which are not distinguishable from positions"
        )
    if loop["velocity_reference"]:
        found.append(f"ctrl of the actuators {rate_name('*')} is the commanded velocity")
    elif damps_apart(loop):
        found.append(f"the actuators {rate_name('*')} represent back-EMF: keep their ctrl at 0")
    if early := early_delay(loop):
        found.append(early)
    elif loop["delay"] and loop["delay_of"] == "command":
        found.append(f"delay of the command: {1000.0 * loop['delay']:.4g} ms, not included in this file: delay ctrl")
    if "servo" in loop:
        own = loop["servo"]
        speeds = ", ".join(f"{v:.4g}" for v in own.get("target_speed", ())) or "any"
        found.append(
            f"kp and forcerange are those of a register of {own['register']:g} and {own['volts']:.3g} V; let ctrl "
            f"follow the command at {speeds} rad/s or m/s at most"
        )
    if any(loop["zeros"]):
        found.append(f"positions here are those of the log plus {', '.join(f'{v:.4g}' for v in loop['zeros'])}")
    if any(loop.get("elastic", {}).get("rest", ())):
        found.append("positions of motors here are those of the log less the difference of the encoders' zeros")
    return found


def early_delay(loop: Mapping[str, Any]) -> str:
    """Message on a negative delay, in place of which a simulator gets none; empty for other delays."""
    if loop["delay"] >= 0:
        return ""
    return f"the fitted delay is {1000.0 * loop['delay']:.4g} ms and was left out; {EARLY}"


def not_held(model: IdentifiedModel) -> list[str]:
    """Messages on features of an identified model that MuJoCo does not simulate."""
    loop, robot = loop_of(model), model.robot
    rigid = replace(robot, joints=tuple(replace(joint, elastic=None) for joint in robot.joints))
    found = [f"{note.where}: {note.text}" for note in unheld_effects(rigid, HELD, "MJCF")]
    if any(loop["ki"]):
        found.append("the integral action of the position servos is not simulated: MuJoCo actuators have none")
    if loop["delay"] and loop["delay_of"] == "effort":
        found.append(
            f"the delay of the effort, {1000.0 * loop['delay']:.4g} ms, is not simulated: MuJoCo actuators act "
            "immediately"
        )
    if "floor" in loop:
        found.append(
            f"the ground contact at {loop['floor']['height']:.4g} m is not simulated: add a plane and "
            "contact geometries"
        )
    return found


def newton_actuators(model: IdentifiedModel, robot: Robot, step: float = ISAAC_STEP) -> list[NewtonActuator]:
    """Actuators for Newton: identified servos with their offsets; of models fitted to efforts, the offsets alone.

    robot: the robot that is written.  step: of the actuators [s].
    """
    offsets = {robot.joints[j].name: robot.effects[j].get("OFF", 0.0) for j in robot.independent}
    if LOOP not in model.evidence:
        return [NewtonActuator(name, -offset) for name, offset in offsets.items() if offset]
    loop = loop_of(model)
    limits = loop.get("limit") or [None] * len(loop["joints"])
    delay = max(loop["delay"], 0.0) if loop["delay_of"] == "command" else 0.0
    rows = zip(loop["joints"], loop["kp"], loop["kd"], limits, strict=True)
    return [NewtonActuator(name, -offsets[name], kp, kd, limit, delay, step) for name, kp, kd, limit in rows]


def newton_notes(model: IdentifiedModel) -> tuple[str, ...]:
    """Messages on the actuators for Newton: on a negative delay."""
    early = early_delay(model.evidence[LOOP]) if LOOP in model.evidence else ""
    return (early,) if early else ()


def to_isaac_lab(model: IdentifiedModel, step: float = ISAAC_STEP) -> str:
    """Python text for Isaac Lab with the actuator configuration; step: of its physics [s].

    Values follow Isaac Sim 5 and later, where `friction` is an effort [N m], with Isaac Lab 2.2 to 3.0.  A model that
    was fitted to efforts has no servos: gains are then those of the user's own controller.
    """
    loop = loop_of(model) if LOOP in model.evidence else None
    robot = model.robot if loop is not None else model.to_robot("isaac-lab")
    effects = dict(robot.effect_values)
    names = [robot.joints[j].name for j in robot.independent] if loop is None else loop["joints"]
    whole = 0 if loop is None else max(round(loop["delay"] / step), 0)
    kind = "DelayedPDActuatorCfg" if whole else "ImplicitActuatorCfg"

    def table(values: Sequence[float]) -> str:
        return "{" + ", ".join(f"{json.dumps(n)}: {value:.9g}" for n, value in zip(names, values, strict=True)) + "}"

    def of(symbol: str) -> list[float]:
        return [effects.get(f"{symbol}{j + 1}", 0.0) for j in robot.independent]

    friction = table(of("FC"))
    lines = [
        f"# actuators of '{one_line(robot.name)}', identified by minertia {__version__}; joint side, N m, rad, s",
        f"from isaaclab.actuators import {kind}",
        "",
        "ACTUATORS = {",
        f'    "joints": {kind}(',
        f"        joint_names_expr={names!r},",
        *_isaac_gains(loop, table),
        f"        armature={table(of('IA'))},  # IA",
        f"        friction={friction},  # FC, an effort from Isaac Sim 5.0 on (a coefficient before)",
        f"        dynamic_friction={friction},  # the same: no Stribeck effect",
        f"        viscous_friction={table(of('FV'))},  # FV",
    ]
    if loop is not None and "limit" in loop:  # explicit actuators limit their efforts themselves
        lines.append(f"        {'effort_limit' if whole else 'effort_limit_sim'}={table(loop['limit'])},")
    if whole:
        lines.append(f"        min_delay={whole}, max_delay={whole},  # physics steps of {step:g} s")
    lines += ["    ),", "}"]
    if loop is not None:
        rest = loop["delay"] - whole * step
        late = (
            f"identified delay: {1000.0 * loop['delay']:.4g} ms, of which {1000.0 * rest:.4g} ms is not covered by the "
            "steps above"
        )
        shifts = [off / kp for off, kp in zip(of("OFF"), loop["kp"], strict=True)]
        lines += [
            f"# {early_delay(loop) or late}",
            f"# offsets cannot be represented there: subtract these from position targets [rad]: {table(shifts)}",
        ]
    lines.append("# velocity_limit and saturation_effort are not identified: take them from the data sheet")
    lines += [f"# {one_line(text)}" for text in _not_in_isaac(robot, loop)]
    return "\n".join(lines) + "\n" + CHECK_ISAAC


def _isaac_gains(loop: dict[str, Any] | None, table: Callable[[Sequence[float]], str]) -> list[str]:
    """Lines with the gains of the servos; None, for those of the asset, without servos."""
    if loop is None:
        return ["        stiffness=None, damping=None,  # of your controller: the logs contain efforts"]
    shared = ", including viscous friction, not distinguishable" if any(loop["damping_is_one"]) else ""
    return [
        f"        stiffness={table(loop['kp'])},  # KP",
        f"        damping={table(loop['kd'])},  # KD of the loop{shared}",
    ]


CHECK_ISAAC = '''

def check(asset, tolerance=1e-4):
    """Raise an error if the simulated articulation does not have these values: importers may drop some."""
    own, data = ACTUATORS["joints"], asset.data
    there = {
        "armature": data.joint_armature,
        "friction": data.joint_friction_coeff,
        "dynamic_friction": data.joint_dynamic_friction_coeff,
        "viscous_friction": data.joint_viscous_friction_coeff,
    }
    for key, values in there.items():
        values = getattr(values, "torch", values)  # Isaac Lab 3.0
        for name, wanted in getattr(own, key).items():
            found = float(values[0, asset.joint_names.index(name)])
            if abs(found - wanted) > tolerance * max(abs(wanted), 1e-6):
                raise ValueError(f"{key} of {name} is {found:g} in the simulation, not {wanted:g}")
'''


def _not_in_isaac(robot: Robot, loop: dict[str, Any] | None) -> list[str]:
    """Messages on features of a robot and its servos that Isaac Lab's actuators do not support."""
    held = IN_ISAAC if loop is not None else tuple(symbol for symbol in IN_ISAAC if symbol != "OFF")
    found = [f"{note.where}: {note.text}" for note in unheld_effects(robot, held, "Isaac Lab")]
    if loop is None:
        return found
    if any(loop["ki"]):
        found.append("the integral action of the position servos cannot be represented there")
    if loop["velocity_reference"]:
        found.append("damping acts on the commanded less the measured velocity: also set velocity targets")
    if loop["law"] in BY_VOLTAGE and "limit" in loop:
        found.append(
            "the limit applies to the proportional part only, not to the back-EMF, which is part of the damping above"
        )
    if loop["delay"] and loop["delay_of"] == "effort":
        found.append(
            "the identified delay is that of the effort, including measured positions; delays there are "
            "those of targets"
        )
    if "floor" in loop:
        found.append(f"the ground contact at {loop['floor']['height']:.4g} m cannot be represented there")
    return found
