"""Sets of robots whose rules leave too many columns: coupled drives, slides under gravity; symbols and numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import minertia as mi
from minertia.base.grouping import BaseParameters, matrix_of
from minertia.base.numeric import Sample
from minertia.robot.robot import Robot
from tests.lettered_robots import lettered_robot

STATES, LEFT = 100, 1e-7  # part of a column that is not of those before it
SEEDS = [pytest.param(seed, marks=() if seed % 7 in (1, 4) and seed < 35 else pytest.mark.slow) for seed in range(70)]


def with_coupled_drives(robot: Robot, seed: int) -> Robot:
    """One motor turns with the joint before its own, too."""
    rng, n = np.random.default_rng(seed), robot.n
    G = np.eye(n)
    G[motor := int(rng.integers(1, n)), motor - 1] = float(rng.choice([-1.0, 0.5, 0.8, -0.3]))
    return replace(robot, coupling=tuple(map(tuple, G.tolist())))


def base_to_tip(sample: Sample, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Columns that are no combination of those before them."""
    basis = np.zeros((len(sample.R), 0))
    kept = []
    for c in np.flatnonzero(sample.shown):
        v = sample.R[:, c] / sample.lengths[c]
        for _ in range(2):
            v = v - basis @ (basis.T @ v)
        if np.linalg.norm(v) > LEFT:
            basis = np.column_stack([basis, v / np.linalg.norm(v)])
            kept.append(columns[c])
    return tuple(kept)


def elsewhere(found: BaseParameters) -> tuple[Sample, dict[str, float]]:
    """The regressor at a third draw of the symbols, which nothing was decided by."""
    values = found.robot.other_values(7)
    return Sample.of(found.robot.at(values), found.columns, STATES, 5), values


def holding(found: BaseParameters, sample: Sample, K: np.ndarray) -> list[str]:
    """Relations marked numeric whose every coefficient is the one that the regressor has there."""
    kept, lengths = found.kept_indices, np.where(sample.lengths > 0, sample.lengths, 1.0)
    scaled = sample.R / lengths
    true = np.linalg.lstsq(scaled[:, kept], scaled, rcond=1e-11)[0] * lengths / lengths[kept][:, None]
    gaps = np.abs((K - true) * sample.lengths).max(axis=1) / lengths[kept]
    marked = zip(found.names, found.is_numeric, gaps, strict=True)
    return [name for name, is_numeric, gap in marked if is_numeric and gap < 1e-8]


@pytest.mark.parametrize("is_coupled", [False, True], ids=["plain", "coupled"])
@pytest.mark.parametrize("seed", SEEDS)
def test_relations_are_numeric_only_where_they_hold_for_the_values_drawn_alone(seed: int, is_coupled: bool) -> None:
    robot = lettered_robot(seed, tree=seed % 3 == 0)
    robot = with_coupled_drives(robot, seed) if is_coupled else robot
    found = mi.base_parameters(robot, rotors=True, friction=True)
    own = Sample.of(robot.at(robot.symbol_values), found.columns, STATES, 3)
    assert base_to_tip(own, found.columns) == tuple(name for name in found.columns if name in found.kept)
    if not robot.has_letters:
        return
    sample, values = elsewhere(found)
    K = matrix_of(found.relations, found.columns, values)
    if not any(found.is_numeric):
        assert sample.error(found.kept_indices, K) < 1e-9
    else:
        assert not holding(found, sample, K), "what is marked numeric holds at other values, too"
