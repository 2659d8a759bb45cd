"""Joint effects of parameter samples that an export target can represent, and stand-ins for other friction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from minertia.identification.problem.linear import link_number, symbol_of
from minertia.identification.samples import Samples
from minertia.io.arrays import Array
from minertia.robot.effect import Effect, JointState
from minertia.robot.effects import BY_SYMBOL
from minertia.robot.identified import export_values
from minertia.robot.parameters import full_name
from minertia.robot.robot import Note, Robot
from minertia.robot.targets import BY_NAME

USUAL = 0.5  # usual speed of a joint over the highest one of the fitted logs: about the mean of a sine's
UNKNOWN_SPEED, UNKNOWN_LOAD = 1.0, 1.0  # rad/s or m/s, and N m or N, where a model does not state them


def held_values(samples: Samples, target: str, without: Sequence[str] = ()) -> dict[str, Array]:
    """Samples (N,) of the effects that the files of an export target can represent, by name.

    Friction that they cannot represent is replaced by FV and FC, as fitted for the target, which vary with the
    friction that they replace (`_stand_ins`).  without: symbols that a program does not read from such files.
    """
    held = set(BY_NAME[target].held) - set(without)
    own = {name: k for k, name in enumerate(samples.names) if symbol_of(name) in BY_SYMBOL}
    found = {name: samples.x[:, k] for name, k in own.items() if symbol_of(name) in held}
    friction: dict[int, list[str]] = {}
    for name in own:
        if _is_friction(name):
            friction.setdefault(link_number(name), []).append(name)
    fitted = (export_values(samples.model.exports, target) or {}).get("standard", {})
    if any(symbol_of(name) in without for name in own):
        fitted = {}  # these are beside an effect that is not read
    for joint, names in friction.items():
        if any(symbol_of(name) not in held for name in names):
            found |= _stand_ins(samples, joint, names, fitted)
    return found


def _is_friction(name: str) -> bool:
    return "qd" in BY_SYMBOL[symbol_of(name)].inputs


def _stand_ins(samples: Samples, joint: int, names: Sequence[str], fitted: Mapping[str, float]) -> dict[str, Array]:
    """Samples of FV and FC (N,) of a joint that replace all its friction, by name.

    At the joint's usual speed they have the relative scatter of the friction that they replace.  FV varies as the
    viscous part of that friction where it stays positive, and FC takes the rest.  names: of the joint's friction.
    """
    places = [samples.names.index(name) for name in names]
    speed, load = _usual(samples, joint)
    efforts, slopes = _friction_shapes(samples, names, speed, load)
    effort, viscous = samples.x[:, places] @ efforts, samples.x[:, places] @ slopes
    first, first_viscous = float(samples.best[places] @ efforts), float(samples.best[places] @ slopes)
    FV, FC = full_name("FV", joint), full_name("FC", joint)
    is_fitted = FV in fitted or FC in fitted
    damping = fitted.get(FV, 0.0) if is_fitted else first_viscous
    whole = damping * speed + (fitted.get(FC, 0.0) if is_fitted else first - first_viscous * speed)
    scale = whole / first if first > 0 else 1.0
    total = np.maximum(whole + scale * (effort - first), 0.0)
    varied = np.clip(damping + scale * (viscous - first_viscous), 0.0, total / speed)
    return {FV: varied, FC: total - varied * speed}


def _usual(samples: Samples, joint: int) -> tuple[float, float]:
    """Usual speed [rad/s or m/s] and load [N m or N] of a joint (from 1) in the fitted logs."""
    evidence, coordinates = samples.model.evidence, samples.model.nominal.independent
    speeds = evidence.get("reach", {}).get("speed", ())
    rows = evidence.get("training", {}).get("per_joint", ()) if not samples.servo_names else ()
    k = coordinates.index(joint - 1) if joint - 1 in coordinates else len(coordinates)
    speed = USUAL * speeds[k] if k < len(speeds) else 0.0
    load = rows[k]["rmse"] / rows[k]["relative"] if k < len(rows) and rows[k].get("relative") else 0.0
    return speed or UNKNOWN_SPEED, load or UNKNOWN_LOAD


def _friction_shapes(samples: Samples, names: Sequence[str], speed: float, load: float) -> tuple[Array, Array]:
    """Efforts at a speed per unit of each friction parameter, and their slopes where they are viscous, else 0."""
    settings = {term.name: term.settings for term in samples.model.linear.choice.terms}
    rows = [BY_SYMBOL[symbol_of(name)] for name in names]
    shapes = [_shape(row, settings.get(name, {}), speed, load) for name, row in zip(names, rows, strict=True)]
    slopes = [0.0 if row.is_dry or row.is_bounded else e / speed for row, e in zip(rows, shapes, strict=True)]
    return np.array(shapes), np.array(slopes)


def _shape(effect: Effect, given: Mapping[str, float], speed: float, load: float) -> float:
    """Effort against the motion per unit of a friction parameter, over both directions and both signs of the load."""
    constants, _ = effect.filled(given)
    q = constants.get("middle", 0.0)
    along, against = (
        [float(effect.shape(JointState(q, qd, 0.0, sign * load), constants)) for sign in (1, -1)]
        for qd in (speed, -speed)
    )
    return (sum(along) - sum(against)) / 4


def held_robot(samples: Samples, k: int, held: Mapping[str, Array]) -> Robot:
    """Sampled robot k: its sampled link parameters, with the effects from `held_values` for a target."""
    return with_effects(samples.robot(k), {name: float(v[k]) for name, v in held.items()})  # with their constants


def with_effects(robot: Robot, values: Mapping[str, float]) -> Robot:
    """Robot with these values of effects, and 0 for all others."""
    gone = {name: 0.0 for name in (*robot.columns(True, True), *robot.effect_values) if symbol_of(name) in BY_SYMBOL}
    return robot.with_parameters({**gone, **values})


def held_best(samples: Samples, target: str, without: Sequence[str] = ()) -> dict[str, float]:
    """Effects of the most probable robot that the files of a target can represent, by name."""
    first = replace(samples, x=samples.best[None])
    return {name: float(value[0]) for name, value in held_values(first, target, without).items()}


def lost_notes(samples: Samples, target: str, engine: str, without: Sequence[str] = ()) -> tuple[Note, ...]:
    """Notes on effects that the files of a target cannot represent; without: as in `held_values`."""
    held = set(BY_NAME[target].held) - set(without)
    lost = [n for n in samples.names if symbol_of(n) in BY_SYMBOL and symbol_of(n) not in held]
    friction = [name for name in lost if _is_friction(name)]
    others = [name for name in lost if not _is_friction(name)]
    joints = sorted({link_number(name) for name in friction if "load" in BY_SYMBOL[symbol_of(name)].inputs})
    loads = ", ".join(f"{_usual(samples, joint)[1]:.3g}" for joint in joints)
    at = f", as at a load of {loads} N m or N" if joints else ""
    notes = [f"{engine} has no place for {', '.join(friction)}: FV and FC stand in for it{at}"] if friction else []
    notes += [f"{engine} has no place for {', '.join(others)}: left out"] if others else []
    return tuple(Note("info", target, text) for text in notes)
