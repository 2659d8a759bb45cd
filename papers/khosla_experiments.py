"""The four off-line experiments of Khosla 1987, on two and on six joints."""

from __future__ import annotations

from functools import cache

from papers.khosla_arm import A1, ESTIMATED, INITIAL, arm, lowered
from papers.khosla_runs import Experiment, experiments

LOW = 0.8  # the second set of initial values over the first
SEEDS = {"A": 1, "B": 2}


@cache
def two_joint_experiments(a1: float = A1, duration: float = 4.0) -> tuple[Experiment, ...]:
    """Two trajectories with two sets of initial values, the arm of table 4."""
    true, first = arm(ESTIMATED, 2, a1), arm(INITIAL, 2, a1)
    models = {"printed": first, f"{LOW:g} x printed": lowered(first, LOW)}
    return tuple(experiments(true, models, SEEDS, duration=duration))


@cache
def six_joint_experiments(postures: int = 5, duration: float = 1.5) -> tuple[Experiment, ...]:
    """The four experiments on all six joints."""
    true, first = arm(ESTIMATED, 6), arm(INITIAL, 6)
    models = {"printed": first, f"{LOW:g} x printed": lowered(first, LOW)}
    return tuple(experiments(true, models, SEEDS, postures=postures, duration=duration))
