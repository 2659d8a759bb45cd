"""A fleet that never was: evidence of robots and days from exact sums of each stretch, without rows.

Columns of a stretch are those of its program, times powers of its temperature; so sums over a day are sums of the
program times moments of the temperatures, and noise is drawn as its sums with the columns.  What the columns cannot
say is in the truth: friction that falls with the temperature like exp, a Stribeck speed between those of the basis,
gear ripple, backlash, sensors that lag behind and are off, day effects, noise with memory that joints share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks.simulated_program import (
    HIDDEN,
    MEMORY,
    MOTION,
    NOISE,
    OWN,
    PHASES,
    RATE,
    SHARED,
    STRETCH,
    STRETCHES,
    Program,
    column_name,
    load_direction,
    nominal_values,
    seen_inertial,
    simulated_layout,
    simulated_model,
    simulated_program,
)
from minertia.fleet.evidence import EvidenceLayout, FleetEvidence, Stretches
from minertia.fleet.robot_day import RobotDay
from minertia.io.resources import one_thread

Array = NDArray[np.float64]
VISCOUS_FALL, DRY_FALL = 0.25, 0.08  # per 10 K
START = 739_000  # a day of 2024
REFERENCE = 25.0  # degC


@dataclass(frozen=True)
class FleetChange:
    """What happens to a robot: viscous or dry friction of a joint (from 0) times 1 + size, or a load of size kg.

    swap: friction of another robot of its type; temperature: a hall that is warmer by size K.
    """

    robot: int
    what: str  # "viscous", "dry", "load", "swap", "temperature"
    size: float
    day: int  # from which on, counted from 0
    joint: int = 0
    grows: int = 0  # days until it is there

    def part(self, days: Array) -> Array:
        """How much of it is there on these days."""
        return np.clip((days - self.day + 1) / max(self.grows, 1), 0.0, 1.0)


@dataclass(frozen=True)
class SimulatedFleet:
    """Robots by number; each has a program, a climate, sensors, a load and friction of its own.

    programs: how many there are, shared by the robots in turn.  blind: no temperature is logged.  plain: the columns
    say all there is, and friction is constant.
    """

    robots: int
    days: int
    seed: int = 0
    changes: Sequence[FleetChange] = ()
    programs: int = 24
    day_effects: tuple[float, float, float] = (0.7, 0.015, 0.01)  # memory, of viscous and of dry friction
    blind: bool = False
    plain: bool = False
    new_programs: Mapping[int, int] = field(default_factory=dict)  # robot -> day
    twin_programs: Mapping[int, int] = field(default_factory=dict)  # the same with programs of like histograms
    stretches_until: int | None = None  # day from which on no stretches are made; None: always

    @cached_property
    def sigma(self) -> Array:
        """Noise of each effort, the same for all robots."""
        return np.asarray(np.median([simulated_program(k).sigma for k in range(min(self.programs, 8))], axis=0))

    def true_values(self, k: int, d: int) -> dict[str, float]:
        """Values of the columns of a plain robot on one day."""
        life = _life(self, k, np.random.default_rng([self.seed, k]))
        values = dict(zip(simulated_model().names, nominal_values() + life.load[d] * load_direction(), strict=True))
        for j in range(life.dry.shape[1]):
            own = {"FV": life.viscous[d, j], "FC": life.dry[d, j], "OFF": 0.02 * life.dry[0, j], "FCL": 0.03}
            values |= {column_name(symbol, j): own.get(symbol, 0.0) for symbol, _, _ in OWN}
        return {name: float(value) for name, value in values.items()}

    def names(self) -> list[str]:
        """Of the robots."""
        return [f"r{k:03d}" for k in range(self.robots)]

    def robot(self, k: int) -> dict[int, RobotDay]:
        """All days of one robot, by number of the day; the same however often it is asked."""
        with one_thread():
            return _robot(self, k)

    def friction(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Viscous and dry friction of the joints of one robot."""
        model = simulated_model()
        usual = self.sigma / NOISE
        spread = np.exp(0.1 * rng.normal(size=(2, model.robot.n)))
        return 0.15 * usual * spread[0], 0.15 * usual * spread[1]


@dataclass(frozen=True)
class _Life:
    """A robot's true values by day: levels of friction (days, joints), temperatures (days, stretches, joints), load."""

    viscous: Array
    dry: Array
    true: Array
    logged: Array
    load: Array


def _life(fleet: SimulatedFleet, k: int, rng: np.random.Generator) -> _Life:
    n, D = simulated_model().robot.n, fleet.days
    viscous, dry = fleet.friction(rng)
    phi, wide, narrow = fleet.day_effects
    effects = _ar1(rng, D, (2, n), phi)
    days = np.arange(D)
    levels = np.stack([viscous * (1 + wide * effects[:, 0]), dry * (1 + narrow * effects[:, 1])])
    load = np.full(D, rng.uniform(0.5, 2.0))
    for change in fleet.changes:
        if change.robot == k and change.what == "load":
            load = load + change.size * change.part(days)
        elif change.robot == k and change.what == "swap":
            other = np.random.default_rng([fleet.seed, k, 1]).normal(size=(2, 2, n))
            ratio = np.exp(0.1 * (other[0] - other[1]))  # of two robots of the type
            levels *= 1 + (ratio[:, None, :] - 1) * change.part(days)[:, None]
        elif change.robot == k and change.what in ("viscous", "dry"):
            levels[0 if change.what == "viscous" else 1, :, change.joint] *= 1 + change.size * change.part(days)
    true, logged = _temperatures(rng, D, n)
    for change in fleet.changes:
        if change.robot == k and change.what == "temperature":
            true, logged = (T + change.size * change.part(days)[:, None, None] for T in (true, logged))
    return _Life(levels[0], levels[1], true, logged, load)


def _ar1(rng: np.random.Generator, days: int, shape: tuple[int, ...], phi: float) -> Array:
    """Effects of variance 1 by day, (days, *shape)."""
    u = np.zeros((days, *shape))
    u[0] = rng.normal(size=shape)
    for d in range(1, days):
        u[d] = phi * u[d - 1] + np.sqrt(1 - phi**2) * rng.normal(size=shape)
    return u


def _temperatures(rng: np.random.Generator, D: int, n: int) -> tuple[Array, Array]:
    """True and logged temperatures of the joints [degC], (days, stretches, joints): season, weather, warm-up."""
    hours = (np.arange(STRETCHES) + 0.5) / STRETCHES * 8
    season = 3 * np.sin(2 * np.pi * (np.arange(D) / 365 + rng.uniform()))
    weather = 3.0 * _ar1(rng, D, (), 0.7)
    start = 20 + season + weather
    rise = rng.uniform(8, 16, n)
    hour = 1.0 * np.exp(0.2 * rng.normal(size=n))
    warm = 1 - np.exp(-hours[:, None] / hour)
    late = 1 - np.exp(-np.maximum(hours - 0.15, 0)[:, None] / hour)  # the sensor lags behind
    bias = 1.5 * rng.normal(size=n)
    load = 1 + 0.1 * rng.normal(size=(D, 1, 1))
    true = start[:, None, None] + rise * warm * load
    return true, start[:, None, None] + rise * late * load + bias + 0.1 * rng.normal(size=(D, STRETCHES, n))


def _robot(fleet: SimulatedFleet, k: int) -> dict[int, RobotDay]:
    rng = np.random.default_rng([fleet.seed, k])
    life = _life(fleet, k, rng)
    programs = [
        simulated_program(
            (k + 11 * (fleet.new_programs.get(k, fleet.days) <= d)) % fleet.programs,
            fleet.twin_programs.get(k, fleet.days) <= d,
        )
        for d in range(fleet.days)
    ]
    layout, result = simulated_layout(), {}
    for d, program in enumerate(programs):
        logged = np.zeros_like(life.logged[d]) if fleet.blind else life.logged[d] - REFERENCE
        evidence = _day(fleet, layout, program, life, d, logged, rng)
        mean = np.full(logged.shape[1], np.nan) if fleet.blind else life.logged[d].mean(axis=0)
        wobble = program.histograms + 0.002 * rng.random(program.histograms.shape)
        result[START + d] = RobotDay(evidence, mean, wobble / wobble.sum(axis=1, keepdims=True), "")
    return result


def _truth(fleet: SimulatedFleet, life: _Life, d: int, j: int) -> Array:
    """Values of [inertial | motion | hidden] of an effort in each stretch, (stretches, k)."""
    warm = (life.true[d, :, j] - REFERENCE) / 10
    inertial = (nominal_values() + life.load[d] * load_direction())[list(seen_inertial()[j])]
    viscous, dry = life.viscous[d, j] * np.exp(-VISCOUS_FALL * warm), life.dry[d, j] * np.exp(-DRY_FALL * warm)
    motion = np.zeros((STRETCHES, len(MOTION) + HIDDEN))
    motion[:, 0], motion[:, 1], motion[:, 2] = viscous, dry, 0.02 * life.dry[0, j]
    motion[:, 11] = 0.03 * dry / life.dry[0, j]
    if fleet.plain:
        motion[:, 0], motion[:, 1], motion[:, 11] = life.viscous[d, j], life.dry[d, j], 0.03
        return np.concatenate([np.broadcast_to(inertial, (STRETCHES, len(inertial))), motion], axis=1)
    hidden = np.column_stack(
        [0.15 * dry, np.full(STRETCHES, 0.5 * fleet.sigma[j]), np.full(STRETCHES, 0.3 * fleet.sigma[j])]
    )
    motion[:, len(MOTION) :] = hidden
    return np.concatenate([np.broadcast_to(inertial, (STRETCHES, len(inertial))), motion], axis=1)


def _day(
    fleet: SimulatedFleet,
    layout: EvidenceLayout,
    program: Program,
    life: _Life,
    d: int,
    logged: Array,
    rng: np.random.Generator,
) -> FleetEvidence:
    """Evidence of a day with its stretches; inside, stretches are ordered by phase: (phases, repeats, ...)."""
    n, count = logged.shape[1], int(RATE * STRETCH)
    shared = _shared_noise(program, rng)
    triangles, sums = [], []
    for j in range(n):
        truth, sigma = _by_phase(_truth(fleet, life, d, j)), fleet.sigma[j]
        own = rng.normal(size=truth.shape) @ np.swapaxes(program.own_root[j], 1, 2)
        noise = sigma * (np.sqrt(1 - SHARED) * own + np.sqrt(SHARED) * shared[j])
        XY = truth @ program.gram[j] + noise
        squares = count * sigma**2 * (STRETCHES + 0.05 * np.sqrt(STRETCHES) * rng.normal())
        YY = float(np.sum(truth * (XY + noise)) + squares)
        powers, places = _own_columns(len(seen_inertial()[j]))
        scale = _by_phase(logged[:, j, None] ** powers)
        sums.append((program.gram[j][:, places][:, :, places], scale, scale * XY[..., places]))
        triangles.append(_triangle(sums[-1], YY))
    samples = np.full(n, float(count * STRETCHES))
    evidence = FleetEvidence(layout, tuple(triangles), samples)
    if fleet.stretches_until is not None and d >= fleet.stretches_until:
        return evidence
    return replace(evidence, stretches=_stretches(fleet, evidence, sums))


def _stretches(fleet: SimulatedFleet, evidence: FleetEvidence, sums: Sequence[tuple[Array, Array, Array]]) -> Stretches:
    """What is left of each stretch of a day beside the day's own values; sums: of each effort."""
    layout, n, count = evidence.layout, len(sums), int(RATE * STRETCH)
    beta = evidence.superset_fit() if fleet.blind else _values(evidence)
    scores, diagonals = [], []
    for (gram, scale, XY), own in zip(sums, layout.seen, strict=True):
        fitted = scale * ((scale * beta[list(own)]) @ gram)
        scores.append(_in_time(XY - fitted).astype(np.float32))
        diagonals.append(_in_time(scale**2 * np.einsum("pkk->pk", gram)[:, None]).astype(np.float32))
    counts, memory = np.full(STRETCHES, float(count)), np.full(n, 2 * MEMORY * RATE)
    return Stretches(tuple(scores), tuple(diagonals), counts, memory, evidence.residuals(beta))


def _by_phase(x: Array) -> Array:
    """(stretches, k) to (phases, repeats, k); stretches go through the phases in turn."""
    return np.ascontiguousarray(np.swapaxes(x.reshape(STRETCHES // PHASES, PHASES, -1), 0, 1))


def _in_time(x: Array) -> Array:
    return np.swapaxes(x, 0, 1).reshape(STRETCHES, -1)


def _shared_noise(program: Program, rng: np.random.Generator) -> list[Array]:
    """Sums of the columns of each joint with noise that all joints share, (phases, repeats, k) each."""
    roots = program.shared_root
    draws = [rng.normal(size=(STRETCHES // PHASES, root.shape[1])) @ root.T for root in roots]
    ends = np.cumsum([root.shape[1] for root in program.own_root])
    return np.split(np.stack(draws), ends[:-1], axis=2)


@cache
def _own_columns(inertial: int) -> tuple[Array, list[int]]:
    """Power of the temperature and place among [inertial | motion] of each column of an effort."""
    powers = np.array([float(power) for _, _, power in OWN] + [0.0] * inertial)
    return powers, [*(inertial + place for _, place, _ in OWN), *range(inertial)]


def _triangle(parts: tuple[Array, Array, Array], YY: float) -> Array:
    """The triangle of a day's sums of one effort; columns that are never there stay zero."""
    gram, scale, XY = parts
    k = scale.shape[-1]
    G = np.zeros((k + 1, k + 1))
    G[:k, :k] = np.sum(gram * (np.swapaxes(scale, 1, 2) @ scale), axis=0)
    G[:k, k] = G[k, :k] = XY.sum(axis=(0, 1))
    G[k, k] = YY
    size = np.sqrt(np.diag(G))
    shown = np.flatnonzero(size > 0)
    unit = G[np.ix_(shown, shown)] / np.outer(size[shown], size[shown])
    R = np.zeros((k + 1, k + 1))
    R[np.ix_(shown, shown)] = np.linalg.cholesky(unit + 1e-14 * np.eye(len(shown))).T * size[shown]
    return R


def _values(evidence: FleetEvidence) -> Array:
    """The superset fit by normal equations, quicker where all columns are shown."""
    k = len(evidence.layout.names)
    A, b = np.zeros((k, k)), np.zeros(k)
    for R, own in zip(evidence.triangles, evidence.layout.seen, strict=True):
        weight = 1 / R[-1, -1] ** 2
        A[np.ix_(own, own)] += weight * (R[:-1, :-1].T @ R[:-1, :-1])
        b[list(own)] += weight * (R[:-1, :-1].T @ R[:-1, -1])
    size = np.sqrt(np.diag(A))
    return np.asarray(np.linalg.solve(A / np.outer(size, size) + 1e-13 * np.eye(k), b / size) / size)
