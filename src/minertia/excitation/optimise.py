"""Multistart optimisation with decreasing barrier weights; the best motion within all limits on a fine grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from minertia.excitation.check import Checker, Margins
from minertia.excitation.criteria import Criterion, log_det
from minertia.excitation.newton import minimise
from minertia.excitation.objective import FINER, INFINITE, Objective, ObjectiveValue
from minertia.excitation.trajectory import ContinuousMotion
from minertia.io.arrays import Array
from minertia.io.errors import Infeasible
from minertia.io.notebook import plural

SHARPEST = 1e3
SHRINK = 0.99
DRAWN, DRAWS = 0.9, 60  # how a motion is drawn towards the posture it begins in, and how often at most
SMALLEST = 0.05  # part of a motion below which it is not drawn in further


@dataclass(frozen=True, slots=True)
class Stage:
    """One minimisation: criterion, barrier weight, sharpness of the means, stopping rule."""

    criterion: Criterion | None  # None for the one asked for
    weight: float
    sharpness: float
    iterations: int
    tolerance: float


# D-optimality first: it is smooth everywhere and leads to where the other criteria are well behaved
WARM = (Stage(log_det, 0.02, 0, 100, 0.3),)
VOLUME = (Stage(log_det, 0.005, 0, 100, 0.1), Stage(log_det, 0.001, 0, 150, 0.03))
EXTREME = (
    Stage(None, 1e-3, 4, 100, 1e-2),
    Stage(None, 3e-4, 8, 100, 1e-2),
    Stage(None, 1e-4, 16, 100, 1e-2),
    Stage(None, 3e-5, 32, 150, 1e-3),
)


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a search: index and number of starts, evaluations so far, smallest criterion value."""

    start: int
    starts: int
    evaluations: int
    value: float


@dataclass(frozen=True)
class FoundMotion:
    """Result of a search.

    values: criterion reached by every start that was run to its end (infinite if no initial motion was found).
    scaled_back: factor (1 if none was needed) on the motion after the search.
    """

    motion: ContinuousMotion
    value: float
    margins: Margins
    seeds: tuple[int, ...]
    values: tuple[float, ...]
    evaluations: int
    scaled_back: float
    interrupted: bool

    def __repr__(self) -> str:
        kept = ", interrupted" if self.interrupted else ""
        return (
            f"<FoundMotion: criterion {self.value:.4g} after {plural(len(self.seeds), 'start')} and {self.evaluations} "
            f"evaluations{kept}; {self.motion!r}>"
        )


def _nothing(G: Array, sharpness: float) -> tuple[float, Array]:
    """Constant criterion, for finding feasible motions."""
    return 0.0, np.zeros_like(G)


@dataclass
class _Candidate:
    y: Array
    value: float
    seed: int


@dataclass
class Search:
    """Multistart search; `run` may be interrupted (Ctrl-C) and then returns the best motion so far."""

    objective: Objective
    criterion: Criterion
    checker: Checker
    progress: Callable[[Progress], None] | None = None
    patience: float = 1.0
    best: _Candidate | None = None
    history: dict[int, float] = field(default_factory=dict)

    def run(self, starts: int, seed: int) -> FoundMotion:
        """Run a short search from every start, continue the better half, and return the best feasible motion."""
        interrupted = False
        seeds = tuple(seed + k for k in range(starts))
        with threadpool_limits(1):  # small matrices: threads only wait for one another
            try:
                self._search(seeds)
            except KeyboardInterrupt:
                if self.best is None:  # nothing to return yet, and nothing is known of the limits
                    raise
                interrupted = True
            if self.best is None:
                raise Infeasible(self._why())
            motion, margins, factor = self._scaled_back(self.best.y)
        values = tuple(self.history.get(s, INFINITE) for s in seeds)
        return FoundMotion(
            motion, self.best.value, margins, seeds, values, self.objective.evaluations, factor, interrupted
        )

    def _why(self) -> str:
        """Reason why no feasible motion about the posture was found."""
        problem = self.objective.problem
        margins = self.checker.posture(problem.offset)
        if not self.objective(np.zeros(self.objective.n * problem.family.free), _nothing, 1.0, 0)[0] < INFINITE:
            return f"the start posture leaves no margin to move: {self.checker.tightest(margins)}"
        limits, w = problem.limits, 2 * np.pi / problem.family.duration
        jerk = [] if limits.jerk is None else [limits.jerk / w**3]
        swings = np.array([limits.half, limits.velocity / w, limits.acceleration / w**2, *jerk])
        what, j = np.unravel_index(int(np.argmin(swings)), swings.shape)
        return (
            "no trajectory within the limits excites the robot enough to identify its parameters: joint "
            f"'{limits.names[j]}' can move by at most {swings[what, j]:.2g} rad or m under its "
            f"{('position', 'velocity', 'acceleration', 'jerk')[what]} limit; widen the limits or lengthen the "
            "trajectory"
        )

    def _search(self, seeds: tuple[int, ...]) -> None:
        warm = []
        for k, seed in enumerate(seeds):
            for y in self._first(seed):
                warm.append(self._follow(_Candidate(y, INFINITE, seed), WARM, k, len(seeds)))
                break
        warm.sort(key=lambda c: c.value)
        stages = VOLUME if self.criterion is log_det else EXTREME
        for k, candidate in enumerate(warm[: (len(warm) + 1) // 2]):
            self._follow(candidate, stages, k, len(seeds))

    def _first(self, seed: int) -> Iterator[Array]:
        """Random initial motion inside the barriers."""
        rng = np.random.default_rng(seed)
        size = self.objective.n * self.objective.problem.family.free
        for _ in range(10):
            y = rng.normal(size=size)
            y *= 0.7 / self.objective.use(y)
            for _ in range(25):
                if self.objective(y, log_det, 1e-3, 0)[0] < INFINITE:
                    yield y
                    break
                y = 0.75 * y

    def _follow(self, candidate: _Candidate, stages: tuple[Stage, ...], start: int, starts: int) -> _Candidate:
        model: Array | None = None
        for stage in stages:
            begun = candidate.y
            while True:
                try:
                    model = self._minimise(candidate, stage, model)
                finally:
                    is_clear = self._record(candidate)
                if is_clear or not self.objective.refine():
                    break
                candidate.y = self._inside(begun)
            if self.progress is not None and self.best is not None:
                self.progress(Progress(start + 1, starts, self.objective.evaluations, self.best.value))
        return candidate

    def _minimise(self, candidate: _Candidate, stage: Stage, model: Array | None) -> Array:
        criterion = stage.criterion or self.criterion
        lowest = INFINITE

        def function(y: Array) -> ObjectiveValue | None:
            nonlocal lowest
            found = self.objective.evaluate(y, criterion, stage.weight, stage.sharpness)
            if found is not None and found.value < lowest:
                lowest, candidate.y = found.value, y
            return found

        limit = max(3, int(stage.iterations * self.patience))
        options = {"weight": stage.weight, "tolerance": stage.tolerance}
        return minimise(self.objective, function, candidate.y, iterations=limit, model=model, **options).model

    def _inside(self, y: Array) -> Array:
        """Shrink a motion until its objective is finite, for example after grid refinement."""
        for _ in range(DRAWS):
            if self.objective(y, log_det, 1e-3, 0)[0] < INFINITE:
                break
            y = DRAWN * y
        return y

    def _record(self, candidate: _Candidate) -> bool:
        """Score a candidate by the criterion itself, shrunk until it keeps its clearances on the fine grid.

        Returns False if it had to be shrunk.
        """
        y, is_clear = candidate.y, True
        while not self.objective.clears(y):
            if float(np.abs(y).max()) < SMALLEST * float(np.abs(candidate.y).max()):
                return False
            y, is_clear = DRAWN * y, False
        value, _ = self.objective(y, self.criterion, 0.0, SHARPEST)
        if value < INFINITE:
            candidate.value = value
            self.history[candidate.seed] = min(value, self.history.get(candidate.seed, INFINITE))
            if self.best is None or value < self.best.value:
                self.best = _Candidate(y.copy(), value, candidate.seed)
        return is_clear

    def _scaled_back(self, y: Array) -> tuple[ContinuousMotion, Margins, float]:
        """Motion, shrunk towards its offset posture until the fine grid shows no violation."""
        problem = self.objective.problem
        factor = 1.0
        count = FINER * problem.n_samples + 1
        while True:
            x = factor * self.objective.coefficients(y)
            motion = problem.family.from_free(problem.offset, x)
            margins = self.checker.motion(motion, count)
            if margins.is_feasible:
                return motion, margins, factor
            if factor < 0.05:
                raise Infeasible(f"no trajectory about this posture is feasible: {self.checker.explain(margins)}")
            factor *= min(SHRINK, 1 / margins.worst)
