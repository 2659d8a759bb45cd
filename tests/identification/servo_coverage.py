"""How many 95 % intervals of servos hold what was planted, over servos that are drawn at random."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.prepare import silent
from minertia.identification.closed_loop.judge import loop_parameters
from minertia.identification.closed_loop.servo_problem import ServoProblem
from minertia.identification.evidence.intervals import NORMAL
from minertia.identification.servo_options import ServoOptions
from minertia.identification.servo_runs import Run

from .planted_servo import PlantedServo, planted_run

# of small servos; back-EMF in parts of the effort of a volt
RANGES = {
    "per_volt": (0.3, 0.7), "back": (1.6, 2.4), "inertia": (0.01, 0.03), "viscous": (0.02, 0.06),
    "coulomb": (0.05, 0.15), "by_load": (0.1, 0.3), "speed": (3.0, 5.0), "delay": (0.006, 0.02),
    "start": (0.008, 0.02), "warming": (-0.01, -0.002), "sag": (0.1, 0.3), "lapse": (0.02, 0.08),
}  # fmt: skip
SYMBOLS = {
    "per_volt": "KP1", "back": "KD1", "inertia": "IA1", "viscous": "FV1", "coulomb": "FC1", "by_load": "FCL1",
    "speed": "SPEED1", "delay": "delay", "start": "START1", "warming": "WARM1", "sag": "SAG1", "lapse": "LAPSE1",
}  # fmt: skip
ASKEW = 0.02  # rad, deviation of the angles at which loads are mounted
ARMS, REGISTERS, KINDS = ((0.008, 0.6), (0.014, 0.9), (0.02, 1.2)), (8.0, 16.0, 24.0), ("steps", "sines", "drop")


def drawn_servo(seed: int) -> PlantedServo:
    """A servo whose values are drawn from `RANGES`."""
    rng = np.random.default_rng(seed)
    values = {key: float(rng.uniform(*ends)) for key, ends in RANGES.items()}
    return PlantedServo(**values | {"back": values["back"] * values["per_volt"]})


def drawn_angles(seed: int) -> list[float]:
    """Positions at which the loads of a servo hang [rad]."""
    found: list[float] = np.random.default_rng((seed, 1)).normal(0.0, ASKEW, len(ARMS)).tolist()
    return found


def truth_of(servo: PlantedServo, seed: int) -> dict[str, float]:
    """Planted values by the names of the unknowns; the encoder's zero is that of the mean of the loads."""
    own = {SYMBOLS[own.name]: getattr(servo, own.name) for own in fields(servo) if own.name in SYMBOLS}
    return own | {"ZERO1": -float(np.mean(drawn_angles(seed)))}


def planted_runs(servo: PlantedServo, seed: int, rows: int = 301) -> list[Run]:
    """Runs with each load, gain and motion."""
    loads = list(zip(ARMS, drawn_angles(seed), strict=True))
    ways = [(load, register, kind) for load in loads for register in REGISTERS for kind in KINDS]
    return [
        Run(
            planted_run(replace(servo, askew=askew), kind, arm, register, rows=rows, seed=1000 * seed + k),
            *arm, register, kind, None,
        )
        for k, ((arm, askew), register, kind) in enumerate(ways)
    ]  # fmt: skip


def misses(seed: int) -> dict[str, float]:
    """Errors of a drawn servo's values over their stated deviations, by the names of the unknowns."""
    servo = drawn_servo(seed)
    options = ServoOptions(("m3",), error_gain=servo.error_gain, duty_limit=servo.duty_limit)
    problem = ServoProblem.of(planted_runs(servo, seed), [], options, silent)
    truth = truth_of(servo, seed)
    found = loop_parameters(problem.solve(None, silent).servo)
    return {one.name: (one.value - truth[one.name]) / one.deviation for one in found}


def is_held(misses: Iterable[float]) -> NDArray[np.bool_]:
    """Whether the 95 % intervals hold the truth."""
    return np.abs(np.fromiter(misses, float)) < NORMAL
