"""Viscous friction that programs bias: the levels of other robots of the type correct the sizes of its changes."""

from __future__ import annotations

import numpy as np
import pytest

from minertia.fleet.level_scale import FEWEST, level_scales
from minertia.fleet.streams import RobotStreams

ROBOTS, SPREAD, BIAS = 200, 0.1, 0.2


def drawn(seed: int = 3) -> tuple[list[RobotStreams], np.ndarray, np.ndarray]:
    """Robots whose viscous friction is biased; true and learnt levels of one joint."""
    rng = np.random.default_rng(seed)
    true = 5.0 * np.exp(SPREAD * rng.normal(size=ROBOTS))
    learnt = true + 5.0 * BIAS * rng.normal(size=ROBOTS)
    learnt[7] = -2.0  # a bias far larger than all others
    others = {("FC", f"j{k}"): np.exp(SPREAD * rng.normal(size=ROBOTS)) for k in range(1, 7)}
    levels = {("FV", "j1"): learnt} | others
    robots = [
        RobotStreams(f"r{k}", (0, 1), (), levels={key: float(own[k]) for key, own in levels.items()})
        for k in range(ROBOTS)
    ]
    return robots, true, learnt


def test_intervals_of_sizes_hold_the_true_ones() -> None:
    robots, true, learnt = drawn()
    scales = level_scales(robots)
    assert set(scales) == {(f"r{k}", "j1") for k in range(ROBOTS)}
    own = [scales[f"r{k}", "j1"] for k in range(ROBOTS)]
    stated = np.array([s.factor for s in own]) / learnt  # size of a change by 1, relative
    error = stated * true - 1.0
    held = np.abs(error) < 1.96 * np.array([s.deviation for s in own])
    assert 0.9 < held.mean() < 0.99 and held[7]
    assert np.sqrt(np.mean(error**2)) < 0.6 * np.sqrt(np.mean(np.delete(true / learnt - 1.0, 7) ** 2))


def test_few_robots_and_levels_without_bias_stay_as_they_are() -> None:
    robots, _, _ = drawn()
    assert level_scales(robots[: FEWEST - 1]) == {} == level_scales([])
    plain = [RobotStreams(f"r{k}", (0, 1), (), levels={("FV", "j1"): 2.0}) for k in range(FEWEST)]
    assert all(s.factor == pytest.approx(1.0) and s.deviation == 0.0 for s in level_scales(plain).values())
