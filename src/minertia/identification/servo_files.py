"""Files of an identified servo: values, predicted runs, BAM's JSON, MJCF, and Newton's clamping."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from minertia.identification.closed_loop.actuators import position_mjcf
from minertia.identification.closed_loop.record import loop_record
from minertia.identification.closed_loop.servo_choice import ChosenServo
from minertia.identification.closed_loop.servo_models import MODELS, ServoFit, chosen_model
from minertia.identification.loads.body import carried
from minertia.identification.servo_runs import PENDULUM
from minertia.io.files import write_file
from minertia.robot.robot import Note

FILES = ("servo.toml", "bam.json", "servo.mjcf")
ACTUATOR = "sts3215"  # of BAM, unless told
PLAIN = next(iter(MODELS))  # Coulomb friction, which MuJoCo has
NO_PLACE = {  # symbols of identified values that neither BAM nor MuJoCo has
    "SPEED": "the speed of the target",
    "LAPSE": "the part of it that new commands cost",
    "START": "the duty that starts the motor",
    "SAG": "the sag of the supply",
    "WARM": "the effect of the temperature",
}


def write_servo(draft: Path, result: ChosenServo) -> tuple[Note, ...]:
    """Write all files of a result into a folder; notes name what the formats cannot represent."""
    toml, bam, mjcf = FILES
    write_file(draft / toml, servo_toml(result))
    write_file(draft / bam, json.dumps(to_bam(result), indent=2) + "\n")
    write_file(draft / mjcf, to_servo_mjcf(result))
    (draft / "predicted").mkdir(exist_ok=True)
    for one in (*result.fitted, *result.validated):
        rows = np.column_stack([one.t, one.q, one.simulated])
        lines = ["t,q1,q1_sim", *(f"{t:.6g},{q:.6g},{s:.6g}" for t, q, s in rows.tolist())]
        write_file(draft / "predicted" / predicted_name(one.run.log.name), "\n".join(lines) + "\n", force=True)
    return servo_notes(result)


def servo_notes(result: ChosenServo) -> tuple[Note, ...]:
    """Notes on the values of the files for BAM and MuJoCo, and on what they cannot represent."""
    _, bam, mjcf = FILES
    return (
        Note("info", bam, _told(result, bam_model(result), "BAM")),
        Note("info", mjcf, f"{_told(result, result.of(PLAIN), 'MuJoCo')}; the load is that of the first run"),
    )


def _told(result: ChosenServo, held: ServoFit, program: str) -> str:
    """Friction model of a file with its error in runs left out, and identified values that the program cannot hold."""
    error = f"{1e3 * np.mean(held.left_out):.3g} mrad of runs left out"
    if held.name != result.best.name:
        error += (
            f", {1e3 * np.mean(result.best.left_out):.3g} with {result.best.name}, which {program} cannot represent"
        )
    lost = [
        f"{NO_PLACE[symbol]} ({name})" for name, v in held.values.items() if v and (symbol := name[:-1]) in NO_PLACE
    ]
    lacks = f"; {program} has no place for {', '.join(lost)}" if lost else ""
    return f"values of {held.name}: mean error {error}{lacks}"


def predicted_name(log: str) -> str:
    """Name of the table of a predicted run."""
    return f"{log.removesuffix('.gz').removesuffix('.csv')}.csv"


def servo_toml(result: ChosenServo) -> str:
    """Values with their intervals, what was known, how the model was chosen, and Newton's clamping."""
    servo, newton = result.loop["servo"], to_newton(result)
    lines = [f'model = "{result.best.name}"', "", "[left_out]  # mean error of runs left out [rad]"]
    lines += [f"{fit.name} = {np.mean(fit.left_out):.6g}" for fit in result.compared]
    lines += ["", "[values]  # value, 95 % interval; joint side, N m, rad, s; KP1: N m/V"]
    lines += [f"{name} = [{v['value']:.9g}, {v['low']:.9g}, {v['high']:.9g}]" for name, v in result.values.items()]
    lines += [
        "",
        "[known]",
        *(f"{key} = {servo[key]:.9g}" for key in ("error_gain", "register", "volts", "duty_limit")),
    ]
    lines += [f"stribeck_velocity = {result.best.velocity:g}", "", "[newton]  # NewtonDCMotorClampingAPI"]
    lines += [f"{key} = {value:.9g}" for key, value in newton.items()]
    return "\n".join(lines) + "\n"


def to_newton(result: ChosenServo) -> dict[str, float]:
    """Clamping of a motor for Newton: effort at stall [N m] and speed without load [rad/s]."""
    loop = result.loop
    return {"saturationEffort": loop["limit"][0], "velocityLimit": loop["limit"][0] / loop["kd"][0]}


def to_bam(result: ChosenServo) -> dict[str, Any]:
    """Parameters of BAM's model: of the one that was chosen, or of the best that BAM can hold (m1 to m5)."""
    best = bam_model(result)
    x = best.values
    kt = x["KD1"] / x["KP1"]
    found: dict[str, Any] = {
        "model": best.name,
        "actuator": ACTUATOR,
        "kt": kt,
        "R": kt / x["KP1"],
        "armature": x["IA1"],
        "friction_base": x["FC1"],
        "friction_viscous": x["FV1"],
        "q_offset": x.get("ZERO1", 0.0),
        "command_delay": max(x.get("delay", 0.0), 0.0),
    }
    return found | _bam_friction(best)


def bam_model(result: ChosenServo) -> ServoFit:
    """Fit of the friction model that was chosen, or of the best that BAM can hold."""
    held = [fit for fit in result.compared if not (MODELS[fit.name].is_quadratic or MODELS[fit.name].has_play)]
    return result.best if result.best.name in [fit.name for fit in held] else chosen_model(held)


def _bam_friction(best: ServoFit) -> dict[str, float]:
    """Friction of BAM's models beyond Coulomb friction; its load is motor plus gravity, ours their weighted mean."""
    x, words = best.values, MODELS[best.name].words
    part, found = x.get("SHARE1", 0.5), {}
    if "stribeck" in words:
        found = {"friction_stribeck": x["FS1"], "dtheta_stribeck": best.velocity, "alpha": 2.0}
    for symbol, plain, ending in (("FCL1", "load_friction_base", ""), ("FSL1", "load_friction_stribeck", "_stribeck")):
        if symbol in x and MODELS[best.name].is_directional:
            found[f"load_friction_motor{ending}"] = x[symbol] * part
            found[f"load_friction_external{ending}"] = x[symbol] * (1 - part)
        elif symbol in x:
            found[plain] = 0.5 * x[symbol]
    return found


def to_servo_mjcf(result: ChosenServo) -> str:
    """Servo with the load of the first run as MJCF, with the values of m1: MuJoCo has no friction by load."""
    plain = result.of(PLAIN)
    load = result.fitted[0].run.log.load
    body = None if load is None else carried(PENDULUM, load)
    assert body is not None
    x = plain.values
    effects = {symbol: x[f"{symbol}1"] for symbol in ("IA", "FV", "FC")}
    robot = replace(PENDULUM, links=(tuple(body.ten),), effects=(effects,))
    values = f"values of the friction model {PLAIN}, as MuJoCo has no friction by load"
    return position_mjcf(robot, loop_record(plain.fit.model, plain.fit.theta), [values])
