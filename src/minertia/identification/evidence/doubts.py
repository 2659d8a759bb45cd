"""Diagnosis of a campaign from its fitted logs: set-up, masses, motion, limits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from minertia.dynamics.model import inverse_dynamics
from minertia.identification.evidence import thresholds as at
from minertia.identification.evidence.changed import tool_beside
from minertia.identification.evidence.novelty import alike, of_motion, other_combinations
from minertia.identification.evidence.setups import Suspicion, suspicions
from minertia.identification.evidence.trial import Trial

NOTHING_TRIED = (
    "not evaluated, because the base floats or the logs are too short: order, signs and zeros of the joints, "
    "gravity, clock, delay and scale of the efforts"
)
WITHOUT_MASSES = (
    "not evaluated, because {}: the scale of the efforts (unit, side, gains), the zero of the last joint, and "
    "whether gravity is aligned with an axis of the base"
)
TAKEN_BY_ROTORS = (
    "not evaluated, because rotors, friction and offsets can explain all that the file's masses contribute in "
    "this motion (no joint's inertia varies): the clock, and scale factors of the efforts except by constant "
    "weights"
)


@dataclass(frozen=True)
class Doubts:
    """Diagnosis: alternative set-ups that explain the efforts better, decisive faults, and checks not made."""

    suspicions: tuple[Suspicion, ...] = ()
    faults: tuple[str, ...] = ()
    not_judged: tuple[str, ...] = ()


def doubts(trial: Trial | None, unseen: list[Trial]) -> Doubts:
    """Diagnosis from the fitted logs, and from each validation log."""
    if trial is None:
        return Doubts(not_judged=(NOTHING_TRIED,))
    found = suspicions(trial)
    unexplained = None if found else _unlike_its_weight(trial) or _contradiction(trial)
    faults = [_simulated_part(trial) or unexplained, _beyond_limits(trial), _moves_alike(trial, unseen)]
    return Doubts(found, tuple(f for f in faults if f is not None), _not_judged(trial))


def _not_judged(trial: Trial) -> tuple[str, ...]:
    if not trial.has_masses:
        reason = "the robot file has no masses" if trial.in_newtons else "the efforts are not in N m or N"
        return (WITHOUT_MASSES.format(reason),)
    return () if trial.shows_masses else (TAKEN_BY_ROTORS,)


def _unlike_its_weight(trial: Trial) -> str | None:
    """Message on a prismatic joint whose constant effort contradicts the file's weight, hidden by an offset."""
    if not trial.has_masses:
        return None
    for j, (measured, asked) in trial.offsets().items():
        slide = trial.slides[j]
        more = measured - asked
        if slide.excess(more + slide.stated, float(trial.sizes[j])) > 0 and not _is_tool(trial, j, more):
            return (
                f"the constant effort of joint {j + 1} ({trial.robot.coordinate_names[j]}) is {measured:.3g} N, "
                f"but the robot file's masses, {slide.weight:.3g} N of weight on this prismatic joint, predict "
                f"{asked:.3g} N; mass errors of 30 % and friction do not explain such an offset: check order and "
                "effort_unit of [columns], gains and signs of [drive], and gravity (mounting, weight "
                "compensation); give a counterbalance as the joint's offset in the robot file, and a payload "
                "with load in [logs]"
            )
    return None


def _is_tool(trial: Trial, j: int, more: float) -> bool:
    """Whether a payload, confirmed by the other joints, explains additional weight on a prismatic joint [N]."""
    if more * trial.slides[j].asked <= 0:
        return False
    tool = tool_beside(trial, j)
    return tool is not None and tool.explains(more)


def _simulated_part(trial: Trial) -> str | None:
    """Message on parts of the logs whose efforts are those of the robot file alone, while those of others are not."""
    if not trial.has_masses:
        return None
    tau, joints = trial.tau(), list(trial.joints)
    rests = [
        tau - np.asarray(inverse_dynamics(robot, trial.q, trial.qd, trial.qdd)) for robot in (trial.bare, trial.robot)
    ]
    left, speed = np.zeros((2, len(trial.parts)))
    for k, part in enumerate(trial.parts):
        sizes = np.maximum(np.std(tau[part], axis=0), at.AS_FAST * trial.sizes)
        own = [np.mean((rest[part] / np.maximum(sizes, 1e-300))[:, joints] ** 2) for rest in rests]
        left[k], speed[k] = np.sqrt(min(own)), np.sqrt(np.mean(trial.qd[part] ** 2))
    is_file = left < at.SIMULATED
    if not is_file.any() or is_file.all():
        return None
    less = np.median(left[~is_file]) < at.NOT_SIMULATED * np.median(left[is_file])
    if less or np.median(speed[is_file]) < at.AS_FAST * np.median(speed[~is_file]):
        return None
    return (
        f"{100 * is_file.mean():.2g} % of the fitted samples have the efforts that the robot file alone predicts "
        f"(relative residual {100 * np.median(left[is_file]):.2g} %, of the others "
        f"{100 * np.median(left[~is_file]):.2g} %): this part seems to be simulated, not measured; "
        "remove it"
    )


def _contradiction(trial: Trial) -> str | None:
    """Message where the file's masses contradict this log, and no alternative set-up resolves it."""
    left = trial.masses_left()[0] if trial.has_masses else 0.0
    if left < at.CONTRADICTS or trial.within_left() < at.CONTRADICTS_WITHIN:
        return None
    return (
        f"the file's masses with fitted friction have a relative residual of {100 * left:.3g} %, while a correct "
        "set-up has less than 30 %, and no other order, sign, zero, gravity, clock, delay or scale of efforts "
        "that was tried improves it: check [columns] and [drive], and the masses in the robot file"
    )


def _beyond_limits(trial: Trial) -> str | None:
    """Message on efforts far beyond the file's limits, for robots without masses that determine their scale."""
    if trial.has_masses or not trial.in_newtons:
        return None
    tau, over = np.abs(trial.tau()), []
    for j in trial.joints:
        limit = trial.robot.joints[trial.robot.independent[j]].limits.effort
        if limit:
            over.append(float(np.percentile(tau[:, j], at.OFTEN)) / limit)
    if not over or float(np.median(over)) < at.BEYOND_LIMITS:
        return None
    return (
        f"the efforts reach {np.median(over):.2g} times the limits in the robot file: check effort_unit of "
        "[columns], and gains and side (effort) of [drive]"
    )


def _moves_alike(trial: Trial, unseen: list[Trial]) -> str | None:
    """Message if joints do not move independently, so that validation is not informative about other motion."""
    times = other_combinations(trial)
    tested = max((of_motion(trial, other) for other in unseen), default=1.0)
    together = alike([trial, *unseen])
    if not math.isfinite(times) or (times < at.OTHER_MOTION * max(tested, 1.0) and together < at.ALONE):
        return None
    what = "the validation logs move" if unseen else "the held-out folds move"
    part = f" ({100 * together:.3g} % of their motion is one line or plane of positions)"
    line = part if together >= at.ALONE else ""
    return (
        f"the joints do not move independently{line}: in other combinations of the same motions the predicted "
        f"efforts are {times:.2g} times less certain than in the fitted motion, and {what} in the same way, so "
        "they are no evidence; record motion in which each joint has its own frequencies (minertia excite)"
    )
