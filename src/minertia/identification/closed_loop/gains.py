"""Assumptions on servos that make the scale of their gains identifiable where the logs do not show it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import SAME
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.problem.linear import symbol_of
from minertia.io.schema import UNKNOWN
from minertia.robot.effects import BY_SYMBOL

Array = NDArray[np.float64]
Changed = tuple[Campaign, str] | None
Change = Callable[[Campaign, ServoModel, Sequence[str], Array], Changed]
SCALELESS = "was not identifiable alone (standard deviation above 30 %)"


def with_same_gains(campaign: Campaign, model: ServoModel, loose: Sequence[str], theta: Array) -> Changed:
    """Campaign with one common kp if the scale of some gains is not determined, and the reason; else None."""
    if not loose or any(value != UNKNOWN for value in campaign.command.each("kp", campaign.robot.n)):
        return None
    return replace(campaign, command=replace(campaign.command, kp=SAME)), (
        f"the scale of {', '.join(loose)} {SCALELESS}: the servos were assumed to be equal, with one kp, which the "
        "logs do not contradict"
    )


def with_nearest_gain(campaign: Campaign, model: ServoModel, loose: Sequence[str], theta: Array) -> Changed:
    """Campaign with the first of some gains that are not determined set to that of the nearest joint that is.

    None without such a joint of the same kind.
    """
    numbers = {int(name[2:]) - 1 for name in loose if name[2:]}
    if not numbers:
        return None
    robot, gains = model.robot, model.of_kind("kp", model.atom_values(theta))
    j = int(loose[0][2:]) - 1
    kinds = [robot.joints[k].kind for k in robot.independent]
    others = [k for k in range(robot.n) if k not in numbers and kinds[k] == kinds[j] and gains[k] > 0]
    if not others:
        return None
    near = min(others, key=lambda k: abs(k - j))
    names = robot.coordinate_names
    return replace(campaign, fix={**campaign.fix, loose[0]: float(gains[near])}), (
        f"the scale of {loose[0]} {SCALELESS}: kp of joint {names[j]} was assumed to be that of joint {names[near]} "
        f"({gains[near]:.4g}), which the logs do not contradict"
    )


def without_offsets(campaign: Campaign, model: ServoModel, loose: Sequence[str], theta: Array) -> Changed:
    """Campaign without offsets if they are confounded with the weights that scale kp, and the reason; else None."""
    offsets = [name for name in model.names if symbol_of(name) == "OFF"]
    if not loose or not offsets or not model.keeps_links:
        return None
    return replace(campaign, fix={**campaign.fix, **dict.fromkeys(offsets, 0.0)}), (
        f"the scale of {', '.join(loose)} was not distinguishable from offsets (standard deviation above 30 %), "
        "which act like weights here: offsets were assumed to be zero, as for servos whose commands and encoders "
        "have the same zeros"
    )


def rescaled(before: ServoModel, theta: Array, model: ServoModel, start: Array) -> Array:
    """Values `start` of a model in which each joint's friction, inertia and damping change as its kp does.

    So its motion stays nearly the same.  before, theta: the model and the values from which those of `start` are.
    """
    old, new = (m.of_kind("kp", m.atom_values(x)) for m, x in ((before, theta), (model, start)))
    ratio = np.where((old > 0) & (new > 0), new / np.maximum(old, 1e-300), 1.0)
    found = start.copy()
    for k, column in enumerate(model.G.T):
        own = [model.atoms[i] for i in np.flatnonzero(column)]
        if own and all(atom.kind in ("kd", "ki") or _is_effort(atom.kind) for atom in own):
            found[k] *= float(np.median([ratio[atom.place] for atom in own]))
    return found


def _is_effort(kind: str) -> bool:
    """Whether the coefficient of an effect is an effort: friction by load is not."""
    return kind in BY_SYMBOL and "load" not in BY_SYMBOL[kind].inputs
