"""Evaluation of a fit to commands by simulation of logs from their commands alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from minertia.codegen.rollout.effects import SIMULATED
from minertia.identification.campaigns.prepare import Tell, silent
from minertia.identification.closed_loop.carrying import is_weightless
from minertia.identification.closed_loop.contact import Mask, pushed_rows, told_times, usual_rest
from minertia.identification.closed_loop.fit import FEW, MOVED, coarse_steps, moved, output_error
from minertia.identification.closed_loop.found import EARLY, LoopFit
from minertia.identification.closed_loop.logs import LoopLog
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.closed_loop.simulate import simulated, with_start
from minertia.identification.evidence import thresholds as at
from minertia.identification.evidence.evidence import Evidence
from minertia.identification.evidence.intervals import normal_interval
from minertia.identification.evidence.left_out import NOTHING_LEFT_OUT, LeftOut
from minertia.identification.evidence.measure import LAG
from minertia.identification.evidence.parameters import ParameterEvidence
from minertia.identification.evidence.residuals import Residuals, pooled, residuals_of_arrays
from minertia.identification.problem.linear import link_number, symbol_of
from minertia.robot.check import doubtful_bodies
from minertia.robot.effects import BY_SYMBOL

Array = NDArray[np.float64]
FILE = "the robot file's own parameters"
FRICTION = "the robot file's masses with fitted friction"
FRICTIONAL = tuple(s for s in SIMULATED if "qd" in BY_SYMBOL[s].inputs)  # what friction alone fits, besides the loop


def position_residuals(model: ServoModel, theta: Array, log: LoopLog, h: float) -> Residuals:
    """Simulation residuals of a log, with the initial state from its first rows; infinite if it diverges."""
    return _residuals(model, log, _rest(model, theta, log, h))


def _rest(model: ServoModel, theta: Array, log: LoopLog, h: float) -> Array | None:
    """Measured less simulated positions, (N, n); None if the simulation diverges."""
    steps = steps_of(log, h)
    found = simulated(model, theta, with_start(model, theta, log, steps), steps, slopes=False)
    return None if found is None else np.asarray(log.q - found.q)


def _residuals(model: ServoModel, log: LoopLog, rest: Array | None, counted: Mask | None = None) -> Residuals:
    """Residuals of the evaluated rows of a log; `counted`: mask (N, n) of positions to include, default: all."""
    joints, lag = model.output_names, log.lag[log.rows]
    if rest is None:
        endless = (float("inf"),) * len(joints)
        return Residuals(log.name, float("inf"), float("inf"), joints, endless, endless)
    e = rest[log.rows]
    if counted is not None:
        lag, e = (np.where(counted[log.rows], x, 0.0) for x in (lag, e))
    return residuals_of_arrays(log.name, joints, lag, lag - e)


def contact_sentences(fit: LoopFit, logs: Sequence[LoopLog], unseen: Sequence[LoopLog], h: float) -> list[str]:
    """Messages on validation logs with apparent external contact, with the residual of their other rows."""
    model, found = fit.model, []
    if not model.command.leave_out_contact or not unseen:
        return []
    known = [(log, _rest(model, fit.theta, log, h)) for log in logs]
    usual = usual_rest(model, *zip(*((log, e) for log, e in known if e is not None), strict=True))
    for log in unseen:
        rest = _rest(model, fit.theta, log, h)
        rows = None if rest is None or usual is None else pushed_rows(model, log, rest, usual)
        if rows is not None and rows.any():
            left = _residuals(model, log, rest, ~rows).relative
            found.append(
                f"{log.name} seems to contain external contact ({told_times(log, rows)}): the relative residual "
                f"of the other rows is {_percent(left)}"
            )
    return found


def steps_of(log: LoopLog, h: float) -> int:
    """Number of steps between rows, each at most h [s]."""
    return max(1, int(np.ceil(log.period / h - 1e-9)))


def file_values(model: ServoModel, theta: Array) -> Array | None:
    """Parameter values with the robot file's inertia and friction and the same servos; None without file masses."""
    robot = model.robot
    if not robot.has_parameters:
        return None
    own = dict(zip(model.linear.names, model.linear.nominal().tolist(), strict=True))
    effects = dict(robot.effect_values)
    found = theta.copy()
    for k, name in enumerate(model.names):
        if model.keeps_links and symbol_of(name) in SIMULATED and "+" not in name:
            found[k] = effects.get(f"{symbol_of(name)}{link_number(name)}", 0.0)
        elif name in own:
            found[k] = own[name]
        elif name == "delay":
            found[k] = 0.0
    return found


def command_evidence(fit: LoopFit, logs: Sequence[LoopLog], unseen: Sequence[LoopLog], tell: Tell = silent) -> Evidence:
    """Residuals of training and validation logs, those of reference models, and unidentifiable parameters."""
    h = finest_step(fit, logs)
    left = None if unseen else left_out(fit, logs, h, tell)
    file = file_values(fit.model, fit.theta)
    rivals = {}
    if file is not None and unseen:
        rivals[FILE] = tuple(position_residuals(fit.model, file, u, h) for u in unseen)
        plain = _friction_alone(fit, logs, file, tell)
        if plain is not None:
            rivals[FRICTION] = tuple(position_residuals(plain.model, plain.theta, u, h) for u in unseen)
    return evidence_beside(fit, logs, unseen, left, rivals)


def finest_step(fit: LoopFit, logs: Sequence[LoopLog]) -> float:
    """Shortest step of a fit's simulations [s]."""
    return min(log.period / count for log, count in zip(logs, fit.steps, strict=True))


def evidence_beside(
    fit: LoopFit,
    logs: Sequence[LoopLog],
    unseen: Sequence[LoopLog],
    left: Residuals | None,
    rivals: Mapping[str, tuple[Residuals, ...]],
) -> Evidence:
    """Evidence on a fit; left: residual of held-out data.  rivals: residuals of reference models on `unseen`."""
    model, theta, h = fit.model, fit.theta, finest_step(fit, logs)
    own = tuple(position_residuals(model, theta, log, h) for log in logs)
    bodies = [f"{note.where}: {note.text}" for note in doubtful_bodies(model.robot)]
    pushed = contact_sentences(fit, logs, unseen, h)
    told = (scale(model), *bodies, *_early(fit), *hidden_sentences(fit), *fit.notes, *pushed)
    return Evidence(
        training=pooled("training", [(r, log.samples) for r, log in zip(own, logs, strict=True)]),
        logs=own,
        parameters=loop_parameters(fit),
        left_out=NOTHING_LEFT_OUT if left is None else LeftOut.of(left),
        unseen=tuple(position_residuals(model, theta, log, h) for log in unseen),
        rivals=rivals,
        not_excited=fit.hidden,
        spread=fit.widths,
        remarks=told,
        measure=LAG,
    )


def _friction_alone(fit: LoopFit, logs: Sequence[LoopLog], file: Array, tell: Tell) -> LoopFit | None:
    """Fit of friction, gains and delay, all else from the robot file; None if there is nothing to fix or to fit."""
    names = fit.model.names
    fixed = {name: float(file[k]) for k, name in enumerate(names) if not _is_frictional(name)}
    if not fixed or len(fixed) == len(names):
        return None
    start = np.array([fit.theta[k] for k, name in enumerate(names) if name not in fixed])
    return output_error(fit.model.with_fixed(fixed), logs, start, steps=fit.steps, tell=tell)


def _is_frictional(name: str) -> bool:
    return "+" in name or name == "delay" or name[:2] in ("KP", "KD", "KI") or symbol_of(name) in FRICTIONAL


def left_out(fit: LoopFit, logs: Sequence[LoopLog], h: float, tell: Tell = silent) -> Residuals | None:
    """Held-out residual of the last log, or of the last part of a single log; None if that is too short."""
    logs = [replace(log, pushed=rows) for log, rows in zip(logs, fit.pushed, strict=True)]
    if len(logs) > 1:
        rest, last = list(logs[:-1]), logs[-1]
        steps = fit.steps[:-1]
    else:
        log = logs[0]
        cut = int(len(log.q) * (1 - at.LEFT_PART))
        if cut < 3 * log.first or len(log.q) - cut < 2 * log.first:
            return None
        rest, last, steps = [log.part(0, cut)], log.part(cut, len(log.q)), fit.steps
    steps = coarser_steps(steps, rest)  # values and residual of one step: its bias is in neither
    again = moved(fit.model, rest, fit.theta, steps, FEW, close=MOVED, tell=tell)
    return position_residuals(fit.model, again.theta[: fit.model.count], last, max(h, rest[0].period / steps[0]))


def coarser_steps(steps: Sequence[int], logs: Sequence[LoopLog]) -> tuple[int, ...]:
    """Simulation steps between rows of fits that serve as evidence: those of a first fit, or the given ones."""
    return tuple(min(pair) for pair in zip(steps, coarse_steps(logs), strict=True))


def scale(model: ServoModel) -> str:
    """Message on the reference that fixes the scale."""
    if model.gauges:
        names = ", ".join(model.robot.coordinate_names[j] for j in model.gauges)
        return f"the scale is not identifiable: values are ratios, in units of kp of {names}, which was set to 1"
    if all(not isinstance(v, str) for v in model.command.each("kp", model.robot.n)):
        return (
            "scale: your gains; a gain wrong by 10 % makes every inertia wrong by 10 %, which logs of positions "
            "cannot reveal"
        )
    if model.command.reference == "load":
        return "scale: the payload that you gave; a mass wrong by 10 % makes gains, friction and inertia wrong by 10 %"
    if is_weightless(model.robot):
        return "scale: the loads that you gave; a load wrong by 10 % makes gains, friction and inertia wrong by 10 %"
    if model.keeps_links:
        return "scale: the masses of the robot file; if they are wrong, gains and friction are wrong by the same factor"
    return "scale: the gains that you gave, one for each group of joints that inertia couples"


def hidden_sentences(fit: LoopFit) -> list[str]:
    """Warnings on parameters that this motion does not distinguish: a gain without a scale, delay and damping."""
    return [*(_scale(fit, name) for name in loose_gains(fit)), *_delay_and_damping(fit)]


def loose_gains(fit: LoopFit) -> list[str]:
    """Names of gains kp with a large relative standard deviation: the logs do not determine their scale.

    A rank test does not detect them.
    """
    return loose_names(fit.model, fit.theta, fit.deviation)


def loose_names(model: ServoModel, theta: Array, deviation: Array) -> list[str]:
    """Names of gains kp with a large relative standard deviation, from values and deviations."""
    return [
        name
        for k, name in enumerate(model.names)
        if name.startswith("KP") and not deviation[k] <= at.POOR * abs(theta[k])
    ]


def _scale(fit: LoopFit, name: str) -> str:
    if name == "KP":
        return "the gain of all joints has no reference: give it, or masses on which gravity acts"
    joint = fit.model.robot.coordinate_names[int(name[2:]) - 1]
    return (
        f'{name} has no reference: gravity has no effect on joint {joint}; give its gain, or set kp = "same" if '
        "the servos are equal"
    )


def _early(fit: LoopFit) -> list[str]:
    """Warning on a negative delay: the rows of positions and commands may not be as assumed."""
    delay = next((p for p in loop_parameters(fit) if p.name == "delay"), None)
    if delay is None or delay.value >= 0:
        return []
    return [
        f"the fitted delay is {1e3 * delay.value:.3g} +- {1e3 * delay.deviation:.2g} ms; {EARLY}; simulators get none"
    ]


def _delay_and_damping(fit: LoopFit) -> list[str]:
    """Warning if slow motion determines only the sum kd + fv + kp delay, with the sums and standard deviations."""
    model = fit.model
    if "delay" not in model.names or model.names.index("delay") not in fit.kept:
        return []
    values, C = model.atom_values(fit.theta), fit.covariance
    d = model.names.index("delay")
    sums = []
    for j in range(model.robot.n):
        kp = values[model.index("kp", j)]
        rate = model.G[model.index("kd", j)] + model.G[model.index("FV", j)]
        if not np.any(rate):
            continue
        together = rate + model.G[model.index("kp", j)] * fit.theta[d]
        together[d] += kp
        alone, both = (float(np.sqrt(max(g @ C @ g, 0.0))) for g in (rate, together))
        if alone > at.TOGETHER * both:
            total = values[model.index("kd", j)] + values[model.index("FV", j)] + kp * fit.theta[d]
            sums.append(f"{total:.3g} +- {both:.1g} N m s/rad at {model.robot.coordinate_names[j]}")
    if len(sums) < max(1, model.robot.n // 2):
        return []
    shown = ", ".join(sums[:3]) + (" ..." if len(sums) > 3 else "")
    return [
        f"delay and damping are not distinguishable in this motion; their combination is {shown}: add motion above 3 Hz"
    ]


def loop_parameters(fit: LoopFit) -> tuple[ParameterEvidence, ...]:
    """Estimate, standard deviation and confidence interval of each parameter of the servo model.

    Intervals of values that cannot be negative end at zero.
    """
    entries = []
    for k, name in enumerate(fit.model.names):
        if k not in fit.kept:
            continue
        value, deviation = float(fit.theta[k]), float(fit.deviation[k])
        least = 0.0 if fit.model.lower[k] >= 0 else -np.inf
        if name.startswith("CJ"):  # fitted as a compliance, told as a stiffness
            name, value, deviation = f"KJ{name[2:]}", 1 / value, deviation / value**2
        relative = deviation / abs(value) if value else float("inf")
        interval = normal_interval(value, deviation, least)
        kind = "combination" if "+" in name else "alone"
        entries.append(ParameterEvidence(name, value, deviation, relative, interval, kind))
    return tuple(entries)


def ratios(fit: LoopFit) -> list[dict[str, float | str | None]]:
    """Parameters of each joint divided by its kp, with standard deviations.

    These ratios are sufficient to simulate a servo and do not depend on how the scale was fixed.
    """
    model = fit.model
    values, C = model.atom_values(fit.theta), fit.covariance
    stiff, warm = model.supplied(values)
    units = {"IA": "s2", "FV+kd": "s", "FC": "", "OFF": ""}  # without one: of the joint's position
    found: list[dict[str, float | str | None]] = []
    for j, joint in enumerate(model.robot.coordinate_names):
        kp, gain = stiff[j] * values[model.index("kp", j)], stiff[j] * model.G[model.index("kp", j)]
        own_unit = "m" if model.robot.joints[model.robot.independent[j]].kind == "prismatic" else "rad"
        for what, unit in units.items():
            own = [model.index(kind, j) for kind in what.split("+")]
            part = np.array([warm[j] if kind == "kd" else 1.0 for kind in what.split("+")])
            value = float(part @ values[own]) / kp
            slope = (part @ model.G[own] - value * gain) / kp
            found.append(
                {
                    "joint": joint,
                    "ratio": f"({what.upper()})/KP" if "+" in what else f"{what.upper()}/KP",
                    "unit": unit or own_unit,
                    "value": value,
                    "deviation": float(np.sqrt(max(slope @ C @ slope, 0.0))),
                }
            )
    return found


def _percent(x: float) -> str:
    return f"{100 * x:.3g} %"
