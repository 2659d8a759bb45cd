"""Angles at which the known loads of a servo are mounted: a pendulum that rests askew is not a heavier one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from minertia.identification.closed_loop.carrying import turned
from minertia.identification.closed_loop.found import LoopFit
from minertia.identification.closed_loop.logs import LoopLog
from minertia.identification.closed_loop.model import ServoModel
from minertia.io.arrays import Array

Angles = Mapping[tuple[float, ...], float]  # rad, of loads by their parameters


def with_angles(model: ServoModel, logs: Sequence[LoopLog]) -> ServoModel:
    """Model with an unknown angle of each load of its logs, about their mean, which is the encoder's zero."""
    loads = tuple(dict.fromkeys(load_of(log) for log in logs))
    return replace(
        model,
        names=(*model.names, *(f"TURN{k + 1}" for k in range(len(loads)))),
        G=np.pad(model.G, ((0, 0), (0, len(loads)))),
        lower=np.append(model.lower, np.full(len(loads), -np.inf)),
        turns=loads,
    )


def without_angles(fit: LoopFit) -> tuple[LoopFit, Angles]:
    """Fit whose angles count like initial states, and these angles: loads that are not fitted have none."""
    model, count = fit.model, fit.model.count - len(fit.model.turns)
    angles = fit.theta[count:] - np.mean(fit.theta[count:])
    plain = replace(model, names=model.names[:count], G=model.G[:, :count], lower=model.lower[:count], turns=())
    return replace(fit, model=plain, theta=fit.theta[:count], known=model.known), dict(
        zip(model.turns, angles.tolist(), strict=True)
    )


def mounted(model: ServoModel, logs: Sequence[LoopLog], angles: Angles) -> tuple[LoopLog, ...]:
    """Logs whose loads are mounted at known angles; a load that is not among them hangs as stated."""
    found = []
    for log in logs:
        load = load_of(log)
        carried: Array = np.array(load) + angles.get(load, 0.0) * turned(model.links, np.array(load))
        found.append(replace(log, carried=carried))
    return tuple(found)


def load_of(log: LoopLog) -> tuple[float, ...]:
    """Parameters of the load of a run."""
    assert log.carried is not None  # every run has one
    return tuple(log.carried.tolist())
