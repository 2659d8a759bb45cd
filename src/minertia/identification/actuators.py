"""Position loops of an identified model for simulators: MJCF with `<position>` actuators, and Isaac Lab's text.

What each number means there is stated in the file that holds it (docs/output-error.md has the table).
"""

from __future__ import annotations

from typing import Any

from minertia.errors import MinertiaError
from minertia.identification.commanded import LOOP
from minertia.identification.model import IdentifiedModel
from minertia.robot.mjcf.write import to_mjcf
from minertia.version import __version__

ISAAC_STEP = 0.005  # s, physics step that delays of Isaac Lab are counted in


def loop_of(model: IdentifiedModel) -> dict[str, Any]:
    """The position loops of a model; refused where it was fitted to efforts."""
    found = model.evidence.get(LOOP)
    if found is None:
        raise MinertiaError("this model was fitted to efforts and has no position loops; fit logs of commands for that")
    if found["gauges"]:
        raise MinertiaError(
            f"nothing fixed the scale of this model (kp of {', '.join(found['gauges'])} is 1): a simulator needs a gain"
        )
    return dict(found)


def position_mjcf(model: IdentifiedModel) -> str:
    """The identified robot as MJCF with a `<position>` actuator at each joint: force = kp (ctrl - q) - kv qd.

    armature, damping and frictionloss of its joints are IA, FV and FC; offsets act as constant forces.
    """
    loop = loop_of(model)
    lines = ["  <actuator>"]
    for j, joint in enumerate(loop["joints"]):
        limit = f' forcerange="{-loop["limit"][j]:.9g} {loop["limit"][j]:.9g}"' if "limit" in loop else ""
        lines.append(
            f'    <position name="{joint}" joint="{joint}" kp="{loop["kp"][j]:.9g}" kv="{loop["kd"][j]:.9g}"{limit}/>'
        )
    lines.append("  </actuator>")
    told = [f"position loops identified by minertia {__version__}", *_remarks(loop)]
    comment = "\n".join(f"  <!-- {text.replace('--', '-')} -->" for text in told)
    body, end = to_mjcf(model.robot).rsplit("</mujoco>", 1)
    return f"{body}{comment}\n" + "\n".join(lines) + f"\n</mujoco>{end}"


def _remarks(loop: dict[str, Any]) -> list[str]:
    found = []
    if any(loop["damping_is_one"]):
        found.append("kv holds the damping of the loop and viscous friction, which positions do not tell apart")
    if loop["delay"]:
        found.append(f"delay of the {loop['delay_of']}: {1e3 * loop['delay']:.4g} ms, not in this file: delay ctrl")
    if any(loop["zeros"]):
        found.append(f"positions here are those of the log plus {', '.join(f'{v:.4g}' for v in loop['zeros'])}")
    if any(loop["ki"]):
        found.append("integral gains are not in this file")
    return found


def isaac_lab_text(model: IdentifiedModel, step: float = ISAAC_STEP) -> str:
    """A piece of Python for Isaac Lab with the actuators' configuration; step: of its physics [s].

    Numbers are those of Isaac Sim 5 and later, where `friction` is an effort [N m].
    """
    loop, robot = loop_of(model), model.robot
    effects = dict(robot.effect_values)
    whole = max(round(loop["delay"] / step), 0)
    rest = loop["delay"] - whole * step
    kind = "DelayedPDActuatorCfg" if whole else "ImplicitActuatorCfg"
    names = loop["joints"]

    def table(values: list[float]) -> str:
        return "{" + ", ".join(f'"{name}": {value:.6g}' for name, value in zip(names, values, strict=True)) + "}"

    def of(symbol: str) -> list[float]:
        return [effects.get(f"{symbol}{j + 1}", 0.0) for j in range(len(names))]

    friction = table(of("FC"))
    lines = [
        f"# actuators of '{robot.name}', identified by minertia {__version__}; joint side, N m, rad, s",
        f"from isaaclab.actuators import {kind}",
        "",
        "ACTUATORS = {",
        f'    "joints": {kind}(',
        f"        joint_names_expr={names!r},",
        f"        stiffness={table(loop['kp'])},  # KP",
        f"        damping={table(loop['kd'])},  # KD of the loop"
        + (", with viscous friction, not told apart" if any(loop["damping_is_one"]) else ""),
        f"        armature={table(of('IA'))},  # IA",
        f"        friction={friction},  # FC, an effort from Isaac Sim 5.0 on (a coefficient before)",
        f"        dynamic_friction={friction},  # the same: no Stribeck effect",
        f"        viscous_friction={table(of('FV'))},  # FV",
    ]
    if "limit" in loop:
        lines.append(f"        effort_limit_sim={table(loop['limit'])},")
    if whole:
        lines.append(f"        min_delay={whole}, max_delay={whole},  # physics steps of {step:g} s")
    lines += ["    ),", "}"]
    lines.append(
        f"# delay identified: {1e3 * loop['delay']:.4g} ms; {1e3 * rest:.4g} ms of it is not in the steps above"
    )
    shifts = [off / kp for off, kp in zip(of("OFF"), loop["kp"], strict=True)]
    lines.append(f"# offsets have no place there: subtract these from position targets [rad]: {table(shifts)}")
    lines.append("# velocity_limit and saturation_effort are not identified: take them from the data sheet")
    return "\n".join(lines) + "\n"
