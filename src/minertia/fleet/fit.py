"""Fit of a fleet from its triangular factors: inertial parameters of the type, friction of each robot."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

import numpy as np

from minertia.fleet.day_memory import day_memory
from minertia.fleet.day_stack import DayStack, noise_levels
from minertia.fleet.effect_choice import chosen_symbols
from minertia.fleet.evidence import EvidenceLayout, FleetEvidence
from minertia.fleet.fit_result import FleetFit, PooledType
from minertia.fleet.levels import (
    Levels,
    RobotSums,
    RobotValues,
    TypeValues,
    many_sums,
    robot_values,
    type_values,
)
from minertia.fleet.options import FitOptions
from minertia.fleet.packed_stack import PackedStack
from minertia.fleet.robot_fit import from_stretches, robot_fit
from minertia.identification.physical.consistency import GAPS_ONLY, feasibility, physical_space
from minertia.identification.physical.fit import physical_fit
from minertia.identification.problem.linear import LinearModel, symbol_of
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError, SolverFailed
from minertia.io.resources import keep_freed_memory, one_thread

LOOKED_AT = 20  # robots, for weights of efforts and the choice of effects
NEIGHBOURS = 16  # robots that one thread works on at once
Result = TypeVar("Result")
Days = DayStack | PackedStack


class LostEvidence(MinertiaError):
    """A robot has no readable records; it is reported, and the others are fitted."""


def fit_fleet(
    name: str,
    robots: Mapping[str, Days],
    options: FitOptions | None = None,
    model: LinearModel | None = None,
    one_day: Callable[[str], FleetEvidence | None] | None = None,
    looked_at: Callable[[str], Days] | None = None,
) -> FleetFit:
    """Fit a type and its robots.

    robots: stacks of days, each read once.  model: linear model of the inertial unknowns, for the
    physically consistent fit.  one_day(robot): evidence with time blocks, for the standard deviations of
    robots with few days. looked_at(robot): stack of a robot from the sample that determines weights and
    effects; default: taken from `robots`.
    """
    opts = options or FitOptions()
    if not robots:
        raise MinertiaError(f"the type '{name}' has no robot with records; add logs first")
    order = sorted(robots)
    keep_freed_memory()
    with one_thread():
        some = order[:: max(1, len(order) // LOOKED_AT)]
        look = looked_at or robots.__getitem__
        looked = _by_threads(lambda names: list(_found(look, names, {}).values()), some, opts.workers)
        if not looked:
            looked = list(_found(look, order, {}).values())
        if not looked:
            raise MinertiaError(f"no record of the type '{name}' can be read; add its logs again")
        sigma = noise_levels(own.noise() for own in looked)
        symbols = opts.symbols if opts.symbols is not None else chosen_symbols(looked, sigma)
        levels = Levels.of(looked[0].layout, symbols, opts.load)
        sums, faults = _all_sums(robots, order, levels, sigma, opts)
        pooled = type_values(list(sums.values()))
        of_type = pooled.by_name()
        found = {robot: robot_values(own, of_type) for robot, own in sums.items()}
        pooled, found = _mean_load(pooled, found, levels)
        shared = pooled.by_name()
        memory = day_memory([_friction_days(v) for v in found.values()])
        fits = {r: robot_fit(r, found[r], sums[r], memory, opts.half_life) for r in found}
        if one_day is not None:
            fits = {r: from_stretches(own, levels, sigma, shared, one_day) for r, own in fits.items()}
        return FleetFit(_pooled(name, pooled, opts, model), fits, tuple(symbols), sigma, memory, faults)


def _mean_load(
    pooled: TypeValues, found: dict[str, RobotValues], levels: Levels
) -> tuple[TypeValues, dict[str, RobotValues]]:
    """Assign the mean payload to the type, as payloads are identifiable only as differences between robots."""
    if levels.load is None:
        return pooled, found
    loads = np.array([[own.own[name] for name in levels.loads] for own in found.values()])
    mean = loads.mean(axis=0)
    scatter = (
        np.cov(loads.T).reshape(len(mean), len(mean)) / len(loads) if len(loads) > 1 else np.zeros((len(mean),) * 2)
    )
    covariance = pooled.covariance + levels.load @ scatter @ levels.load.T
    moved = replace(pooled, values=pooled.values + levels.load @ mean, covariance=covariance)
    less = dict(zip(levels.loads, mean.tolist(), strict=True))
    return moved, {
        robot: replace(own, own={n: v - less.get(n, 0.0) for n, v in own.own.items()}) for robot, own in found.items()
    }


def _all_sums(
    robots: Mapping[str, Days], order: Sequence[str], levels: Levels, sigma: Array, options: FitOptions
) -> tuple[dict[str, RobotSums], dict[str, str]]:
    """`RobotSums` of every robot, and the reasons for excluded robots, such as other columns."""
    wanted = set((*levels.day, *levels.robot, *levels.type))

    def some(names: Sequence[str]) -> list[tuple[str, RobotSums | str]]:
        lost: dict[str, str] = {}
        stacks = _found(robots.__getitem__, names, lost)
        if options.half_life is not None:
            stacks = {robot: own.forgotten(options.half_life) for robot, own in stacks.items()}
        alike: dict[EvidenceLayout, list[str]] = {}
        for robot, own in stacks.items():
            alike.setdefault(own.layout, []).append(robot)
        found: list[tuple[str, RobotSums | str]] = list(lost.items())
        for layout, own_names in alike.items():
            if wanted <= set(layout.names):
                found += zip(own_names, many_sums([stacks[r] for r in own_names], levels, sigma), strict=True)
            else:
                found += [(r, "its records have other columns than those of the other robots") for r in own_names]
        return found

    sums, faults = {}, {}
    for robot, own in sorted(_by_threads(some, order, options.workers), key=lambda pair: pair[0]):
        if isinstance(own, str):
            faults[robot] = own
        else:
            sums[robot] = own
    return sums, faults


def _found(look: Callable[[str], Days], names: Sequence[str], lost: dict[str, str]) -> dict[str, Days]:
    """Stacks by robot; robots without a stack are added to `lost`, with the reason."""
    stacks = {}
    for robot in names:
        try:
            stacks[robot] = look(robot)
        except LostEvidence as err:
            lost[robot] = str(err)
    return stacks


def _by_threads(work: Callable[[Sequence[str]], list[Result]], robots: Sequence[str], workers: int) -> list[Result]:
    """Process robots in threads; each thread takes neighbouring robots, which are in the same monthly file."""
    size = max(1, min(NEIGHBOURS, -(-len(robots) // workers)))
    parts = [robots[k : k + size] for k in range(0, len(robots), size)]
    if workers < 2:
        return list(itertools.chain(*map(work, parts)))
    with ThreadPoolExecutor(workers) as pool:
        return list(itertools.chain(*pool.map(work, parts)))


def _friction_days(values: RobotValues) -> Array:
    own = [k for k, n in enumerate(values.day_names) if symbol_of(n) in ("FV", "FC")]
    return np.asarray(values.days[:, own])


def _pooled(name: str, values: TypeValues, options: FitOptions, model: LinearModel | None) -> PooledType:
    deviation = np.sqrt(np.maximum(np.diag(values.covariance), 0.0))
    if not options.physical:
        return PooledType(name, values.names, values.values, deviation, values.robots)
    if model is None or model.names != values.names:
        raise MinertiaError(
            f"the physically consistent fit of '{name}' needs a linear model of the robot with the same columns"
        )
    space = physical_space(model)
    try:
        slack = feasibility(space, values.values).slack
        found = physical_fit(space, values.triangle, max(int(values.rows), 1), weight=GAPS_ONLY)
    except SolverFailed as err:
        raise MinertiaError(
            f"no physically consistent parameters were found near the estimates of '{name}' (solver status: "
            f"{err.status}); fit without --physical, and check the columns and units of its logs"
        ) from None
    return PooledType(
        name, values.names, values.values, deviation, values.robots, slack is not None and slack > 0, found
    )
