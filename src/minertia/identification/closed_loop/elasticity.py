"""Detection of joint elasticity in joints that were fitted as rigid.

With two encoders, the difference of both sides is proportional to the link effort.  With one, a very stiff
spring is added to the fitted servo model at every joint.  A joint is reported as elastic if the first step of
a fit makes its spring softer by many standard deviations and removes much of a residual that is not noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import ElasticJoints
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.fit import probed
from minertia.identification.closed_loop.found import LoopFit
from minertia.identification.closed_loop.law import filtered_signals
from minertia.identification.closed_loop.logs import LoopLog, made_log
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.closed_loop.springs import link_efforts, link_inertias, placed
from minertia.identification.evidence import thresholds as at
from minertia.identification.signals.spectrum import chosen_cutoff
from minertia.io.errors import MinertiaError

Array = NDArray[np.float64]
STIFF = 40.0  # Hz, of the springs that are put in


def elasticity_notes(campaign: Campaign, fit: LoopFit, logs: Sequence[LoopLog]) -> tuple[str, ...]:
    """Messages on joints that were fitted as rigid but appear to be elastic."""
    both = _both_sides(campaign, fit, logs)
    return both if both is not None else _one_side(campaign, fit, logs)


# ---------------------------------------------------------------------- two encoders


def _both_sides(campaign: Campaign, fit: LoopFit, logs: Sequence[LoopLog]) -> tuple[str, ...] | None:
    """Messages on elasticity from the difference of two encoders; None if the logs do not have both."""
    model, names = fit.model, campaign.robot.coordinate_names
    if not all("motor" in log.recording.channels for log in logs):
        return None
    n, wound, efforts, count = model.robot.n, [], [], 0.0
    for log in logs:
        beside = replace(log, q=np.hstack([log.recording.q, log.recording.channels["motor"]]))
        q, qd, qdd = filtered_signals(beside)
        wound.append(q[:, n:] - q[:, :n])
        efforts.append(link_efforts(model, fit.theta, q[:, :n], qd[:, :n], qdd[:, :n]))
        count += 2 * band(beside) * len(log.q) * log.period
    notes = []
    for j in range(n):
        if j in model.layout.elastic:
            continue
        x, y = (np.concatenate([part[:, j] for part in parts]) for parts in (efforts, wound))
        x, y = x - x.mean(), y - y.mean()
        together = float(x @ y) / max(float(np.linalg.norm(x) * np.linalg.norm(y)), 1e-300)
        if together > max(at.WOUND_TOGETHER, at.WOUND_CHANCE / np.sqrt(max(count, 1.0))):
            about = float(x @ x) / float(x @ y)
            notes.append(
                f"joint {names[j]} is elastic: the difference of motor and link positions is proportional to the "
                f"effort, with a stiffness of about {about:.2g} {_unit(model, j)}, which a rigid fit does not "
                "model; name the joint in [elastic]"
            )
    return tuple(notes)


def band(log: LoopLog) -> float:
    """Cut-off of a log's filter [Hz]."""
    return float(chosen_cutoff(log.q, 1 / log.period))


def _unit(model: ServoModel, j: int) -> str:
    return "N m/rad" if model.robot.joints[model.robot.independent[j]].kind == "revolute" else "N/m"


# ---------------------------------------------------------------------- one encoder


def _one_side(campaign: Campaign, fit: LoopFit, logs: Sequence[LoopLog]) -> tuple[str, ...]:
    loud = fit.sigma > at.SPRING_LOUD * np.sqrt(np.mean([noise(log.q) ** 2 for log in logs], axis=0))
    if fit.model.layout.elastic or not loud.any():
        return ()
    sides = [_springs_wanted(campaign, fit, logs, side) for side in ("motor", "link")]  # of the encoder: not known
    wanted = max(sides, key=lambda found: sum(part for j, (_, part) in found.items() if loud[j]))
    found = {
        j: part for j, (sure, part) in wanted.items() if loud[j] and sure > at.SPRING_SURE and part > at.SPRING_PART
    }
    names = campaign.robot.coordinate_names
    return tuple(
        f"the model of joint {names[j]} is incomplete: its residual {fit.sigma[j]:.2g} is more than noise, and a "
        f"spring between motor and link would explain {100 * part:.0f} % of its sum of squares; if the joint is "
        "elastic, name it in [elastic]"
        for j, part in found.items()
    )


def noise(q: Array) -> Array:
    """Standard deviation of encoder noise [rad or m] from third differences, including quantisation.

    Third differences contain little motion.
    """
    third = np.diff(q, n=3, axis=0)
    return np.asarray(np.median(np.abs(third), axis=0) / 0.6745 / np.sqrt(20.0))


def _springs_wanted(
    campaign: Campaign, fit: LoopFit, logs: Sequence[LoopLog], side: str
) -> dict[int, tuple[float, float]]:
    """Significance of each joint's compliance [standard deviations], and the residual fraction that it removes."""
    elastic = ElasticJoints(joints=tuple(range(1, campaign.robot.n + 1)), encoder=side)
    known = {name: value for name, value in campaign.fix.items() if name in fit.model.linear.names}
    try:
        model = loop_model(replace(campaign, elastic=elastic, fix=known), min(log.period for log in logs))
    except MinertiaError:
        return {}  # what is not simulated at elastic joints
    own = dict(zip(fit.model.names, fit.theta, strict=True))
    theta = np.array([own.get(name, 0.0) for name in model.names])
    inertia = link_inertias(model, theta, logs[0])
    for j in range(campaign.robot.n):
        theta = placed(model, theta, inertia, j, inertia[j] * (2 * np.pi * STIFF) ** 2)
    asked = replace(campaign, elastic=elastic)
    again = [replace(made_log(asked, log.name, log.recording), logged=log.logged) for log in logs]
    found = probed(model, again, theta, fit.steps)
    if found is None:
        return {}
    step, deviation, part = found
    places = {j: model.names.index(f"CJ{j + 1}") for j in range(campaign.robot.n)}
    return {j: (float(step[k] / deviation[k]), float(part[j])) for j, k in places.items()}
