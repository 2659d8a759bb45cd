"""Planted robots with elastic joints under their position loops, simulated with steps far shorter than a fit takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.logs import LoopLog
from minertia.identification.closed_loop.simulate import simulated
from minertia.identification.logs.recording import Recording

Array = NDArray[np.float64]


def waves(t: Array, n: int, seed: int, size: float = 0.25, top: float = 3.0) -> Array:
    """Commands that begin at rest."""
    rng = np.random.default_rng(seed)
    f, phase = rng.uniform(0.2, top, (6, n)), rng.uniform(0, 2 * np.pi, (6, n))
    found = np.sin(2 * np.pi * f[:, None] * t[:, None] + phase[:, None]) / f[:, None] ** 0.7
    return np.asarray(size * found.sum(axis=0) * np.minimum(t / 0.5, 1.0)[:, None] ** 2)


def sprung_log(
    campaign: Campaign,
    planted: Mapping[str, float],
    *,
    rate: float = 250.0,
    seconds: float = 5.0,
    seed: int = 0,
    noise: float = 1e-4,
    size: float = 0.25,
    top: float = 3.0,
) -> Recording:
    """A log with both encoders; of rigid joints they show the same, each with noise of its own."""
    t, n = np.arange(round(seconds * rate)) / rate, campaign.robot.n
    u = waves(t, n, seed, size, top)
    model = loop_model(replace(campaign, elastic=replace(campaign.elastic, encoder="both")), 1 / rate)
    layout, theta = model.layout, np.array([planted.get(name, 0.0) for name in model.names])
    start = u[0, list(layout.joint_of)]
    nothing = np.zeros((len(t), len(layout.outputs)))
    plain = LoopLog("plant", None, 1 / rate, nothing, u, None, start, 0 * start, 0.0, 0, layout=layout)  # type: ignore[arg-type]
    found = simulated(model, theta, plain, round(16000 / rate), slopes=False)
    assert found is not None
    rng = np.random.default_rng(seed + 100)
    q, motor = found.q[:, :n], found.q[:, :n].copy()
    motor[:, list(layout.elastic)] = found.q[:, n:]
    q, motor = (x + noise * rng.normal(size=x.shape) for x in (q, motor))
    return Recording(t=t, q=q, channels={"command": u, "motor": motor})


def one_side(log: Recording, side: str) -> Recording:
    """The same log with one encoder."""
    q = log.channels["motor"] if side == "motor" else log.q
    return Recording(t=log.t, q=q, channels={"command": log.channels["command"]})
