"""Fits of a fleet from its triangles: inertial values of the type, friction of each robot, how robots differ."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from minertia.errors import MinertiaError, UnknownName
from minertia.fleet.between import FEWEST_ROBOTS, Between, between_robots
from minertia.fleet.calendar import day_name
from minertia.fleet.day_stack import DayStack, merged_stack, noise_levels
from minertia.fleet.elimination import projected
from minertia.fleet.evidence import LEFT_OUT, FleetEvidence, upright
from minertia.fleet.levels import (
    DAY,
    ROBOT,
    Levels,
    RobotSums,
    RobotValues,
    TypeValues,
    robot_sums,
    robot_values,
    type_values,
)
from minertia.fleet.outliers import OutlierRobot, outlier_robots
from minertia.identification.evidence.intervals import FEWEST_FREEDOM, LEVEL, NORMAL
from minertia.identification.physical.consistency import GAPS_ONLY, feasibility, physical_space
from minertia.identification.physical.fit import PhysicalFit, physical_fit
from minertia.identification.problem.linear import LinearModel, symbol_of
from minertia.identification.problem.solve import solution
from minertia.notebook import plural
from minertia.threads import one_thread

Array = NDArray[np.float64]
FEWEST_DAYS = 5  # from which days tell by themselves how much they differ
USUAL_MEMORY = 0.7  # of day effects, where too few robots tell
ENOUGH_ROBOTS = 5  # to tell it
LOOKED_AT = 20  # robots, for weights of efforts and the choice of effects
CORRELATION = 20.0  # samples that count as one in the choice of effects, where the records do not say
WORKERS = 2
NEIGHBOURS = 16  # robots that one thread works on in turn
FORMAT = 1  # of the JSON
Result = TypeVar("Result")
ROUNDS = 20
MOST_MEMORY = 0.95


@dataclass(frozen=True)
class FitOptions:
    """How a fleet is fitted.

    symbols: own columns, such as FV, FC, OFF; None: FV, FC, OFF and those others that the evidence asks for.  half_life
    [days]: of evidence; None: all days count alike.  load (inertial columns, any): 1 kg at the flange and first
    moments, where robots carry loads that differ: the type's values are then those with the mean load, a robot's load
    what it carries beyond that.  physical: also the physical robot that fits best.  workers: threads.
    """

    symbols: tuple[str, ...] | None = None
    half_life: float | None = None
    load: Array | None = None
    physical: bool = False
    workers: int = WORKERS

    def __post_init__(self) -> None:
        for symbol in self.symbols or ():
            if symbol not in (*DAY, *ROBOT):
                raise UnknownName("effect", symbol, (*DAY, *ROBOT))
        if self.half_life is not None and not self.half_life > 0:
            raise MinertiaError(f"the half-life of evidence must be a positive number of days, not {self.half_life:g}")


@dataclass(frozen=True)
class RobotFit:
    """Values of one robot; deviations are half of 95 % intervals over 1.96, NaN where too few days tell them.

    days: first and last; count: how many with logs.  not_shown: names without a value, with a sentence each.
    """

    robot: str
    days: tuple[int, int]
    count: int
    names: tuple[str, ...]
    values: Array
    deviation: Array
    freedom: Array
    not_shown: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<RobotFit of '{self.robot}': {plural(len(self.names), 'value')} from {plural(self.count, 'day')}>"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        rows = zip(self.names, self.values.tolist(), self.deviation.tolist(), strict=True)
        return {
            "robot": self.robot,
            "days": [day_name(d) for d in self.days],
            "count": self.count,
            "values": {n: {"value": _number(v), "deviation": _number(s)} for n, v, s in rows},
            "not_shown": dict(self.not_shown),
            "remarks": list(self.remarks),
        }


@dataclass(frozen=True)
class PooledType:
    """Inertial values that robots of a type share, robots as clusters; physical: the physical robot that fits best."""

    name: str
    names: tuple[str, ...]
    values: Array
    deviation: Array
    robots: int
    free_is_physical: bool | None = None
    physical: PhysicalFit | None = None

    def __repr__(self) -> str:
        return f"<PooledType '{self.name}': {plural(len(self.names), 'value')} from {plural(self.robots, 'robot')}>"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        rows = zip(self.names, self.values.tolist(), self.deviation.tolist(), strict=True)
        found: dict[str, Any] = {
            "type": self.name,
            "robots": self.robots,
            "values": {n: {"value": v, "deviation": _number(s)} for n, v, s in rows},
        }
        if self.physical is not None:
            found["physical"] = {
                "free_is_physical": self.free_is_physical,
                "excess": self.physical.excess,
                "at_boundary": list(self.physical.at_boundary),
                "values": dict(zip(self.names, self.physical.beta.tolist(), strict=True)),
            }
        return found


@dataclass(frozen=True)
class FleetFit:
    """A fleet of one type: what its robots share, each robot's values, how they differ.

    between: by joint, of the pair of viscous and dry friction; empty with fewer than three robots.  memory: of the
    day values of friction.
    """

    type: PooledType
    robots: Mapping[str, RobotFit]
    symbols: tuple[str, ...]
    sigma: Array
    memory: DayMemory
    faults: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"<FleetFit of '{self.type.name}': {plural(len(self.robots), 'robot')}, effects {', '.join(self.symbols)}>"
        )

    @cached_property
    def between(self) -> Mapping[str, Between]:
        """How robots differ, by joint."""
        found = {}
        for joint in sorted({n[2:] for n in self._friction()}, key=lambda j: (len(j), j)):
            names = tuple(n for n in (f"FV{joint}", f"FC{joint}") if n in self._friction())
            values, covariances, robots = self._table(names)
            if len(robots) >= FEWEST_ROBOTS:
                found[joint] = between_robots(names, values, covariances)
        return found

    def outliers(self, q: float = 0.1) -> tuple[OutlierRobot, ...]:
        """Robots unlike the others in the friction of some joint, of which a part of at most q is false."""
        joints = list(dict.fromkeys(n[2:] for n in self._friction()))
        tables = []
        for joint in joints:
            names = tuple(n for n in (f"FV{joint}", f"FC{joint}") if n in self._friction())
            values, covariances, robots = self._table(names)
            tables.append((robots, names, values, covariances))
        return outlier_robots(tables, q)

    def _friction(self) -> list[str]:
        first = next(iter(self.robots.values()))
        return [n for n in first.names if symbol_of(n) in ("FV", "FC")]

    def _table(self, names: Sequence[str]) -> tuple[Array, Array, tuple[str, ...]]:
        """Values and covariances of the robots that have all of these."""
        values, covariances, robots = [], [], []
        for robot, own in self.robots.items():
            places = [own.names.index(n) for n in names if n in own.names]
            row, deviation = own.values[places], own.deviation[places]
            if len(places) == len(names) and np.all(np.isfinite(row)) and np.all(np.isfinite(deviation)):
                values.append(row)
                covariances.append(np.diag(deviation**2))
                robots.append(robot)
        p = len(names)
        return np.array(values).reshape(-1, p), np.array(covariances).reshape(-1, p, p), tuple(robots)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "format": FORMAT,
            "type": self.type.to_json(),
            "effects": list(self.symbols),
            "day_effects": {"part": self.memory.part, "memory": self.memory.memory},
            "robots": [own.to_json() for own in self.robots.values()],
            "between": {
                joint: {
                    n: {"mean": m, "deviation": d, "spread": s}
                    for n, m, d, s in zip(
                        own.names, own.mean.tolist(), own.deviation.tolist(), own.spread.tolist(), strict=True
                    )
                }
                for joint, own in self.between.items()
            },
            "faults": dict(self.faults),
        }


def fit_fleet(
    name: str,
    robots: Mapping[str, DayStack],
    options: FitOptions | None = None,
    model: LinearModel | None = None,
    one_day: Callable[[str], FleetEvidence | None] | None = None,
) -> FleetFit:
    """Fit a type and its robots.

    robots: stacks of days, each asked for once or twice.  model: of the inertial unknowns, for the physical fit.
    one_day(robot): evidence with stretches, for the deviations of robots with few days.
    """
    opts = options or FitOptions()
    if not robots:
        raise MinertiaError(f"the type '{name}' has no robot with evidence; add logs first")
    order = sorted(robots)
    with one_thread():
        looked = _by_threads(robots.__getitem__, order[:: max(1, len(order) // LOOKED_AT)], opts.workers)
        sigma = noise_levels(looked)
        symbols = opts.symbols if opts.symbols is not None else chosen_symbols(looked, sigma)
        levels = Levels.of(looked[0].layout, symbols, opts.load)
        sums, bounds, faults = _all_sums(robots, order, levels, sigma, opts)
        pooled = type_values(list(sums.values()))
        found = {robot: robot_values(own, pooled.by_name()) for robot, own in sums.items()}
        pooled, found = _mean_load(pooled, found, levels)
        shared = pooled.by_name()
        memory = day_memory([_friction_days(v) for v in found.values()])
        fits = {r: _robot_fit(r, found[r], sums[r], memory, bounds[r], opts.half_life) for r in found}
        if one_day is not None:
            fits = {r: _from_stretches(own, levels, sigma, shared, one_day) for r, own in fits.items()}
        return FleetFit(_pooled(name, pooled, opts, model), fits, tuple(symbols), sigma, memory, faults)


def _mean_load(
    pooled: TypeValues, found: dict[str, RobotValues], levels: Levels
) -> tuple[TypeValues, dict[str, RobotValues]]:
    """A load is told from the type's values only between robots: the mean load goes to the type."""
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
    robots: Mapping[str, DayStack], order: Sequence[str], levels: Levels, sigma: Array, options: FitOptions
) -> tuple[dict[str, RobotSums], dict[str, tuple[int, int]], dict[str, str]]:
    """Sums of every robot; robots whose columns are not those of the others are named and left out."""
    wanted = set((*levels.day, *levels.robot, *levels.type))

    def one(robot: str) -> tuple[str, RobotSums | str]:
        stack = robots[robot]
        if not wanted <= set(stack.layout.names):
            return robot, "its evidence has other columns than that of the other robots"
        stack = stack if options.half_life is None else stack.forgotten(options.half_life)
        return robot, robot_sums(stack, levels, sigma)

    sums, bounds, faults = {}, {}, {}
    for robot, own in _by_threads(one, order, options.workers):
        if isinstance(own, str):
            faults[robot] = own
        else:
            sums[robot] = own
            bounds[robot] = (own.days[0], own.days[-1])
    return sums, bounds, faults


def _by_threads(work: Callable[[str], Result], robots: Sequence[str], workers: int) -> list[Result]:
    """What comes of each robot.  Threads take neighbours, which lie in the same file of a month, by themselves."""
    if workers < 2 or len(robots) < 2:
        return [work(robot) for robot in robots]
    size = min(NEIGHBOURS, -(-len(robots) // workers))
    parts = [robots[k : k + size] for k in range(0, len(robots), size)]
    with ThreadPoolExecutor(workers) as pool:
        return list(itertools.chain(*pool.map(lambda part: [work(robot) for robot in part], parts)))


def chosen_symbols(stacks: Sequence[DayStack], sigma: Array, correlation: float = CORRELATION) -> tuple[str, ...]:
    """FV, FC, OFF, and those further effects without which the evidence is explained clearly worse (BIC)."""
    levels = Levels.of(stacks[0].layout)
    present = [s for s in ROBOT if any(symbol_of(n) == s for n in levels.robot)]
    gain = dict.fromkeys(present, 0.0)
    for stack in stacks:
        left, _ = projected(stack.weighted(sigma), levels.day)
        for R, own, samples in zip(
            merged_stack(left).triangles, left.layout.seen, stack.samples.sum(axis=0), strict=True
        ):
            count = max(float(samples) / correlation, 2.0)
            for symbol in present:
                gone = [k for k, c in enumerate(own) if symbol_of(left.layout.names[c]) == symbol]
                gain[symbol] += _gain(R, gone, count)
    return (*DAY, *(s for s in present if gain[s] > 0))


def _gain(R: Array, gone: Sequence[int], count: float) -> float:
    """What columns improve, by the Bayesian information criterion of `count` rows."""
    shown = [k for k in gone if np.linalg.norm(R[:, k]) > 0]
    if not shown:
        return 0.0
    kept = [k for k in range(R.shape[1]) if k not in shown]
    full, without = R[-1, -1] ** 2, upright(R[:, kept])[-1, -1] ** 2
    if full <= 0:
        return float("inf") if without > 0 else 0.0
    return float(count * np.log(without / full) - len(shown) * np.log(count))


@dataclass(frozen=True)
class DayMemory:
    """How day values hang together: a part of their variance has this memory from day to day, the rest has none."""

    part: float = 1.0
    memory: float = USUAL_MEMORY

    def of_mean(self, count: int) -> float:
        """Variance of the mean of so many days, over that of one."""
        if count < 1:
            return 1.0
        lag = np.arange(1, count)
        remembered = (1 + 2 * np.sum((1 - lag / count) * self.memory**lag)) / count
        return float(self.part * remembered + (1 - self.part) / count)


def day_memory(days: Sequence[Array]) -> DayMemory:
    """From the first two autocorrelations of friction over all robots, what taking means off takes away given back."""
    sums, lengths = np.zeros(3), []
    for values in days:
        x = values[np.isfinite(values).all(axis=1)] if values.size else values
        if len(x) >= FEWEST_DAYS:
            x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-300)
            sums += [float(np.sum(x[k:] * x[: len(x) - k])) * len(x) / (len(x) - k) for k in range(3)]
            lengths.append(len(x))
    if len(lengths) < ENOUGH_ROBOTS:
        return DayMemory()
    r, found, D = sums[1:] / sums[0], DayMemory(), int(np.mean(lengths))
    for _ in range(ROUNDS):
        v = found.of_mean(D)
        first, second = r * (1 - v) + v
        memory = float(np.clip(second / max(first, 1e-3), 0.0, MOST_MEMORY))
        found = DayMemory(float(np.clip(first / max(memory, 1e-3), 0.0, 1.0)), memory)
    return found


def _friction_days(values: RobotValues) -> Array:
    own = [k for k, n in enumerate(values.day_names) if symbol_of(n) in ("FV", "FC")]
    return np.asarray(values.days[:, own])


def _robot_fit(
    robot: str,
    values: RobotValues,
    sums: RobotSums,
    memory: DayMemory,
    bounds: tuple[int, int],
    half_life: float | None,
) -> RobotFit:
    """Means over days with deviations under day effects that remember; the robot's own with days as clusters."""
    count = len(sums.days)
    age = sums.days[-1] - np.array(sums.days)
    weight = (np.ones(count) if half_life is None else 0.5 ** (age / half_life))[:, None] * np.isfinite(values.days)
    total = weight.sum(axis=0)
    shown = total > 0
    part = weight / np.where(shown, total, 1.0)
    known = np.nan_to_num(values.days)
    mean = np.where(shown, np.sum(part * known, axis=0), np.nan)
    spread = np.sum(part * (known - np.nan_to_num(mean)) ** 2, axis=0)
    square = np.sum(part**2, axis=0)
    number = np.where(shown, 1 / np.where(shown, square, 1.0), 0.0)  # days that the weights stand for
    counts, which = np.unique(np.rint(number).astype(int), return_inverse=True)
    of_mean = np.array([memory.of_mean(int(n)) for n in counts])[which]
    variance = spread * of_mean / np.maximum(1 - of_mean, 1e-3)  # the sample's own spread misses the mean's
    freedom = np.maximum(1 / np.maximum(of_mean, 1e-3) - 1, FEWEST_FREEDOM)
    deviation = np.sqrt(variance + _from_own(sums, values.day_names))
    own_deviation = np.sqrt(np.maximum(np.diag(values.covariance), 0.0))
    own_freedom = np.full(len(own_deviation), max(count - 1.0, FEWEST_FREEDOM))
    names = (*values.day_names, *values.own)
    all_values = np.concatenate([mean, np.array(list(values.own.values()))])
    all_freedom = np.concatenate([freedom, own_freedom])
    wider = stdtrit(all_freedom, 0.5 + LEVEL / 2) / NORMAL
    stated = np.concatenate([deviation, own_deviation]) * wider
    hidden = {n: f"{n} was not shown on any day" for n, ok in zip(values.day_names, shown, strict=True) if not ok}
    hidden |= {n: f"{n} was not shown" for n, s in zip(values.own, own_deviation, strict=True) if s == 0}
    remarks: tuple[str, ...] = ()
    if count < FEWEST_DAYS:
        stated = np.full(len(names), np.nan)
        remarks = (f"{plural(count, 'day')} of logs do not tell how much days differ",)
    return RobotFit(robot, bounds, count, names, all_values, stated, all_freedom, hidden, remarks)


def _from_own(sums: RobotSums, names: Sequence[str]) -> Array:
    """Variance that means over days have from the robot's own values, by which all days err together."""
    found, place = dict.fromkeys(names, 0.0), {name: k for k, name in enumerate(sums.names)}
    for own, J, rest in sums.day_head.mean_slopes():
        columns = [k for k, name in enumerate(rest) if name in place]
        P = sums.covariance[np.ix_(*[[place[rest[k]] for k in columns]] * 2)]
        found |= dict(zip(own, np.sum(J[:, columns] @ P * J[:, columns], axis=1).tolist(), strict=True))
    return np.array([found[name] for name in names])


def _from_stretches(
    own: RobotFit,
    levels: Levels,
    sigma: Array,
    shared: Mapping[str, float],
    one_day: Callable[[str], FleetEvidence | None],
) -> RobotFit:
    """Values and deviations of a robot with few days, from the stretches of one of them."""
    if own.count >= FEWEST_DAYS:
        return own
    evidence = one_day(own.robot)
    if evidence is None or evidence.stretches is None:
        return own
    wanted = [n for n in (*levels.day, *levels.robot) if n not in own.not_shown]
    part = evidence.columns((*wanted, *levels.type)).fixed({n: shared[n] for n in levels.type}).weighted(sigma)
    spread, beta = part.spread(), solution(part.total)
    white = np.sqrt(np.diag(spread.white))
    remarks = ["deviations are those within a day: how much days differ is not in them"]
    if part.unexplained(beta) > LEFT_OUT:
        remarks.append("columns that were left out explain much of this day, so its deviations are in doubt")
    return RobotFit(
        own.robot, own.days, own.count, tuple(wanted), beta, spread.inflation * white, spread.freedom,
        own.not_shown, tuple(remarks),
    )  # fmt: skip


def _pooled(name: str, values: TypeValues, options: FitOptions, model: LinearModel | None) -> PooledType:
    deviation = np.sqrt(np.maximum(np.diag(values.covariance), 0.0))
    if not options.physical:
        return PooledType(name, values.names, values.values, deviation, values.robots)
    if model is None or model.names != values.names:
        raise MinertiaError(f"the physical fit of '{name}' needs the robot's own model of its inertial columns")
    space = physical_space(model)
    slack = feasibility(space, values.values).slack
    found = physical_fit(space, values.triangle, max(int(values.rows), 1), weight=GAPS_ONLY)
    return PooledType(
        name, values.names, values.values, deviation, values.robots, slack is not None and slack > 0, found
    )


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
