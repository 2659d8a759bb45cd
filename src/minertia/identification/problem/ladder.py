"""Friction chosen by evidence: a stated ladder of effects, joint by joint, on folds that were left out.

Every model starts with rotor inertia, viscous and Coulomb friction and an offset.  The steps of the ladder are tried in
order on every joint; one is taken where the rest of the data, fitted with it, predicts the left-out folds better: by
more than one standard error of that gain (Hastie, Tibshirani, Friedman 2009, 7.10), by a fiftieth of what the joint
leaves there, and not only in noise levels but in efforts, too.  Folds are blocks of time, and whole logs where there
are several.  All candidates are columns of one pass over the data; every trial is algebra on triangles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from minertia.identification.problem.diagnosis import excitation
from minertia.identification.problem.folds import Fold, block_folds, log_folds
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.rows import LogMotion, blocks_of
from minertia.identification.problem.solve import noise_floor, weighted_solution
from minertia.identification.problem.triangles import triangle
from minertia.identification.signals.filtering import Motion
from minertia.notebook import clipped
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
SAMPLES = 30_000  # of a log, on which the choice is made
GAIN = 0.02  # part of a joint's left-out sum of squares by which a step must lower that of all joints
ERRORS = 1.0  # standard errors of its gain over the folds that a step must exceed
COUNT = 8  # folds of blocks
DEPENDENT = 1e-6  # of a column's length: what less is left of it by the others cannot be told apart from them
MARGIN = 1.5  # times the highest speed of the logs up to which friction must take power from the motion
FRACTIONS = {  # of the highest speed of a joint: values of a constant that are tried
    "width": (0.003, 0.01, 0.03, 0.1),
    "velocity": (0.01, 0.03, 0.1),
}


@dataclass(frozen=True)
class Step:
    """A step of the ladder: an effect by its word, tried with several values of its constant where it has one.

    replaces: the effect whose place it takes.
    """

    word: str
    symbol: str
    constant: str = ""
    replaces: str = ""
    is_nonnegative: bool = True


LADDER = (
    Step("smooth_coulomb", "FCT", "width", replaces="FC"),
    Step("load_coulomb", "FCL"),
    Step("cubic", "FVC", is_nonnegative=False),
    Step("stribeck", "FS", "velocity"),
)
START = ("rotor", "viscous", "coulomb", "offset")


@dataclass(frozen=True)
class Taken:
    """A step that was taken at a joint (from 0); gain: part of the left-out residual that it takes away."""

    step: Step
    joint: int
    value: float | None
    gain: float

    def sentence(self, robot: Robot) -> str:
        """What was taken, and what it gained."""
        constant = "" if self.value is None else f" ({self.step.constant} {self.value:g})"
        return f"{robot.joints[self.joint].name}: {self.step.word}{constant}, -{100 * self.gain:.2g} %"


@dataclass(frozen=True)
class Ladder:
    """The effects that a ladder ended with, as a campaign states them, and the steps that led there."""

    robot: Robot
    steps: tuple[Taken, ...] = ()

    def __repr__(self) -> str:
        taken = ", ".join(f"{t.step.word} at joint {t.joint + 1}" for t in self.steps) or "nothing more"
        return f"<Ladder of '{clipped(self.robot.name, 40)}': {clipped(taken, 120)}>"

    @property
    def effects(self) -> tuple[Any, ...]:
        """Words and tables for `chosen_effects`."""
        every = list(range(1, self.robot.n_joints + 1))
        smooth = {taken.joint + 1 for taken in self.steps if taken.step.replaces}
        chosen: list[Any] = []
        for word in START:
            joints = [j for j in every if word != "coulomb" or j not in smooth]
            if joints:
                chosen.append(word if joints == every else {"kind": word, "joints": joints})
        for taken in self.steps:
            constants = {} if taken.value is None else {taken.step.constant: taken.value}
            chosen.append({"kind": taken.step.word, "joints": [taken.joint + 1], **constants})
        return tuple(chosen)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was taken and what each step gained, in a sentence."""
        if not self.steps:
            return (
                f"effects chosen by cross-validation: {', '.join(START)}; no further friction paid on left-out folds",
            )
        told = "; ".join(taken.sentence(self.robot) for taken in self.steps)
        return (
            f"effects chosen by cross-validation: {', '.join(START)}, and of the ladder {told} of the residual on "
            "left-out folds (state effects to choose yourself)",
        )


def candidates(robot: Robot, speeds: Array) -> tuple[Any, ...]:
    """All effects of the ladder on every joint, for `chosen_effects`; speeds: highest of each coordinate."""
    found: list[Any] = list(START)
    for j in range(robot.n_joints):
        fastest = float(speeds[robot.coordinate_of(j)] * abs(float(robot.joints[j].rate(1))))
        for step in LADDER:
            for value in _values(step, fastest):
                constants = {} if value is None else {step.constant: value}
                found.append({"kind": step.word, "joints": [j + 1], "tag": _tag(value), **constants})
    return tuple(found)


def _values(step: Step, fastest: float) -> list[float | None]:
    """Values of the constant to try, round so that they do not hang on the last digits of a log."""
    if not step.constant:
        return [None]
    return [float(f"{part * fastest:.2g}") for part in FRACTIONS[step.constant] if part * fastest > 0]


def _tag(value: float | None) -> str:
    return "@" if value is None else f"@{value:g}"


def shortened(motion: LogMotion) -> LogMotion:
    """The beginning of a log's motion, on which the choice is made."""
    first = next(blocks_of(motion))
    if not isinstance(first, Motion):
        return first
    start, stop, step = first.keep
    return replace(first, keep=(start, min(stop, start + SAMPLES), step))


def climbed(problem: Observation, speeds: Array) -> Ladder:
    """Climb the ladder on a problem with the columns of all candidates."""
    return _Climb(problem, speeds).run()


@dataclass(frozen=True)
class _Errors:
    """Sums of squares of each fold: efforts in noise levels, and as they are."""

    weighted: Array
    plain: Array

    def is_below(self, other: _Errors) -> bool:
        """Whether less is left, by either measure: small joints must not gain at the cost of large ones."""
        return bool(self.weighted.sum() < other.weighted.sum() and self.plain.sum() < other.plain.sum())

    def gain_over(self, other: _Errors) -> float:
        """Part of the other's residual that is gone."""
        return float(1 - np.sqrt(self.weighted.sum() / other.weighted.sum()))


class _Climb:
    """One climb: the columns in use, and the errors they leave on each fold."""

    def __init__(self, problem: Observation, speeds: Array) -> None:
        self.problem, self.robot, self.speeds = problem, problem.model.robot, speeds
        self.index = {name: k for k, name in enumerate(problem.names)}
        start = [k for name, k in self.index.items() if "@" not in name]
        self.used = [start[k] for k in excitation(problem.reduced(start)).independent]
        _, _, self.sigma = weighted_solution(problem.reduced(self.used))
        self.is_exact = bool(np.all(self.sigma <= 1e3 * noise_floor(problem)))
        self.folds = block_folds(problem, self.sigma, COUNT)
        self.logs = log_folds(problem, self.sigma)

    def run(self) -> Ladder:
        steps: list[Taken] = []
        if len(self.folds) < 3 or self.is_exact:
            return Ladder(self.robot)
        for step in LADDER:
            for j in range(self.robot.n_joints):
                taken = self._try(step, j)
                if taken is not None:
                    steps.append(taken)
        return Ladder(self.robot, tuple(steps))

    def _try(self, step: Step, j: int) -> Taken | None:
        """Take a step at a joint where it pays."""
        tried = {name: k for name, k in self.index.items() if name.startswith(f"{step.symbol}{j + 1}@")}
        old = self.index.get(f"{step.replaces}{j + 1}") if step.replaces else None
        if not tried or (step.replaces and old not in self.used):
            return None
        base = [k for k in self.used if k != old]
        before = self._errors(self.used, self.folds)
        after = {name: self._errors([*base, k], self.folds) for name, k in tried.items()}
        best = min(after, key=lambda name: float(after[name].weighted.sum()))
        columns = [*base, tried[best]]
        if not self._pays(before, after[best], j) or not self._is_sane(step, j, columns, tried[best]):
            return None
        if self.logs and not self._errors(columns, self.logs).is_below(self._errors(self.used, self.logs)):
            return None
        self.used = columns
        value = best.partition("@")[2]
        return Taken(step, j, float(value) if value else None, after[best].gain_over(before))

    def _errors(self, columns: Sequence[int], folds: Sequence[Fold]) -> _Errors:
        """What fits of the others leave of each fold; infinite where such a fit is singular."""
        weighted, plain = [], []
        for fold in folds:
            R = triangle(fold.fitted[:, [*columns, self.problem.count]])
            lengths = np.linalg.norm(R[:, :-1], axis=0)
            if np.any(np.abs(np.diag(R)[:-1]) <= DEPENDENT * np.maximum(lengths, 1e-300)):
                return _Errors(np.full(len(folds), np.inf), np.full(len(folds), np.inf))
            beta = solve_triangular(R[:-1, :-1], R[:-1, -1])
            rest = fold.left_out[:, :, -1] - fold.left_out[:, :, list(columns)] @ beta
            own = np.sum(rest**2, axis=1)
            weighted.append(float(np.sum(own / self.sigma**2)))
            plain.append(float(own.sum()))
        return _Errors(np.array(weighted), np.array(plain))

    def _pays(self, before: _Errors, after: _Errors, j: int) -> bool:
        """Whether left-out folds gain enough, and by more than chance would."""
        gains = before.weighted - after.weighted
        if not np.all(np.isfinite(gains)) or not after.is_below(before):
            return False
        total, error = float(gains.sum()), float(gains.std(ddof=1) * np.sqrt(len(gains)))
        return total > ERRORS * error and total > GAIN * self._own(j)

    def _own(self, j: int) -> float:
        """Left-out sum of squares of the joint's own effort, in noise levels."""
        row = self._row(j)
        if row is None:
            return np.inf
        total = 0.0
        for fold in self.folds:
            R = triangle(fold.fitted[:, [*self.used, self.problem.count]])
            beta = solve_triangular(R[:-1, :-1], R[:-1, -1])
            own = fold.left_out[row] / self.sigma[row]
            total += float(np.sum((own[:, -1] - own[:, self.used] @ beta) ** 2))
        return total

    def _row(self, j: int) -> int | None:
        row = self.robot.coordinate_of(j) + 6 * self.robot.is_floating
        return self.problem.model.rows.index(row) if row in self.problem.model.rows else None

    def _is_sane(self, step: Step, j: int, columns: Sequence[int], new: int) -> bool:
        """Whether a fit of all data gives the effect a possible sign, and friction that takes power from the motion."""
        R = triangle(self.problem.triangle(self.sigma)[:, [*columns, self.problem.count]])
        beta = dict(zip(columns, solve_triangular(R[:-1, :-1], R[:-1, -1]).tolist(), strict=True))
        if step.is_nonnegative:
            return bool(beta[new] > 0)
        value = {name: beta.get(self.index.get(f"{name}{j + 1}", -1), 0.0) for name in ("FV", "FC")}
        smooth = [v for k, v in beta.items() if self.problem.names[k].startswith(f"FCT{j + 1}@")]
        v = MARGIN * float(self.speeds[self.robot.coordinate_of(j)])
        return bool(value["FC"] + sum(smooth) + value["FV"] * v + beta[new] * v**3 > 0)


def highest_speeds(problem: Observation) -> Array:
    """Highest speed of each coordinate over all logs."""
    return np.asarray(np.max([log.reach[2] for log in problem.logs], axis=0))


def ladder_table(ladder: Ladder) -> list[Mapping[str, Any]]:
    """The steps as plain data."""
    return [
        {
            "joint": ladder.robot.joints[taken.joint].name,
            "effect": taken.step.word,
            **({} if taken.value is None else {taken.step.constant: taken.value}),
            "gain": taken.gain,
        }
        for taken in ladder.steps
    ]
