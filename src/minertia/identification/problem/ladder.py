"""Forward selection of friction effects, joint by joint, by cross-validation.

Every model starts with rotor inertia, viscous and Coulomb friction, an offset, and the springs of the
robot file.  Rotor inertia is retained if its estimates are jointly significantly positive, or if models
with it predict better; it is dropped if models without it do.  Torque sensors behind the gears do not
measure it, and its columns would increase the variance.  Then the candidate effects are tried in order,
some on all joints at once, then on every joint.  An effect is selected if the held-out error decreases
significantly and by at least a fiftieth of the joint's residual, both relative to the noise levels and in
units of effort.

The criterion is the held-out error plus a variance cost of the effect: how far the fits of the folds
disagree on decoupled motion, in which every joint moves as in the logs and independently of the others.
Folds alone would select effects that fit one motion and degrade the prediction of another.  Folds are
blocks of time, and whole logs if there are several.  All candidates are columns of one pass over the
data; every trial is algebra on R factors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import stdtrit

from minertia.identification.problem.diagnosis import excitation
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.rows import LogMotion, blocks_of
from minertia.identification.problem.solve import Fold, block_folds, log_folds, noise_floor, weighted_solution
from minertia.identification.problem.terms import EffectSpec, at_joints, everywhere
from minertia.identification.problem.triangles import triangle
from minertia.identification.problem.tried import Tried
from minertia.identification.signals.filtering import Motion
from minertia.io.arrays import Array
from minertia.io.notebook import clipped, plural
from minertia.robot.effects import BY_SYMBOL, WORDS
from minertia.robot.robot import Robot

SAMPLES = 30_000  # of a log, on which the choice is made
GAIN = 0.02  # part of a joint's left-out sum of squares by which a step must lower that of all joints
ERRORS = 1.5  # standard errors of its gain over the folds that a step must exceed; several dozen steps are tried
CERTAIN = 0.99  # confidence that rotor inertias are together above zero (Student, one-sided)
DECOUPLED = 1000  # states of decoupled motion
COUNT = 8  # folds of blocks
DEPENDENT = 1e-6  # of a column's length: what less is left of it by the others cannot be told apart from them
MARGIN = 1.5  # times the highest speed of the logs up to which friction must take power from the motion
FRACTIONS = {  # of the highest speed of a joint: values of a constant that are tried
    "width": (0.003, 0.01, 0.03, 0.1),
    "velocity": (0.01, 0.03, 0.1),
}


@dataclass(frozen=True)
class Step:
    """Candidate step of the forward selection: an effect, tried with several values of its constant if it has one.

    replaces: the effect that it replaces.  is_common: it is tried on all joints at once before joint by joint.
    """

    word: str
    symbol: str
    constant: str = ""
    replaces: str = ""
    is_nonnegative: bool = True
    is_common: bool = False


LADDER = (
    Step("smooth_coulomb", "FCT", "width", replaces="FC", is_common=True),
    Step("load_coulomb", "FCL"),
    Step("cubic", "FVC", is_nonnegative=False),
    Step("stribeck", "FS", "velocity"),
)
START = ("rotor", "viscous", "coulomb", "offset")
DROPPED = "rotor"  # of the start, where the logs do not show it


@dataclass(frozen=True)
class Taken:
    """Selected step at joints (from 0); gain: relative reduction of the compared error.

    values: value of its constant at each of the joints, None if it has no constant.
    """

    step: Step
    joints: tuple[int, ...]
    values: tuple[float | None, ...]
    gain: float

    def sentence(self, robot: Robot) -> str:
        """Message on the selected effect and its gain."""
        numbers = sorted({f"{value:g}" for value in self.values if value is not None}, key=float)
        constant = f" ({self.step.constant} {' to '.join(dict.fromkeys((numbers[0], numbers[-1])))})" if numbers else ""
        where = robot.joints[self.joints[0]].name if len(self.joints) == 1 else f"{len(self.joints)} joints"
        return f"{where}: {self.step.word}{constant}, -{100 * self.gain:.2g} %"


@dataclass(frozen=True)
class Ladder:
    """Result of the forward selection: the effects, as a campaign specifies them, and the selected steps.

    start: effects of the initial model.  tried: all candidate steps, in order.
    """

    robot: Robot
    steps: tuple[Taken, ...] = ()
    start: tuple[str, ...] = START
    tried: tuple[Tried, ...] = ()

    def __repr__(self) -> str:
        taken = ", ".join(f"{t.step.word} at {plural(len(t.joints), 'joint')}" for t in self.steps) or "nothing more"
        return f"<Ladder of '{clipped(self.robot.name, 40)}': {clipped(taken, 120)}>"

    @property
    def effects(self) -> tuple[EffectSpec, ...]:
        """Selected effects, for `chosen_effects`."""
        smooth = {j for taken in self.steps if taken.step.replaces for j in taken.joints}
        chosen = []
        for word in self.start:
            joints = [j for j in self.robot.driven if word != "coulomb" or j not in smooth]
            if joints:
                chosen.append(at_joints(self.robot, word, joints))
        for taken in self.steps:
            for j, value in zip(taken.joints, taken.values, strict=True):
                constants = {} if value is None else {taken.step.constant: value}
                chosen.append(at_joints(self.robot, taken.step.word, [j], constants))
        return (*chosen, *springs(self.robot))

    @property
    def notes(self) -> tuple[str, ...]:
        """Message on the selected steps and their gains."""
        own = sorted({spring.kind for spring in springs(self.robot)})
        start = f"effects chosen by cross-validation: {', '.join((*self.start, *own))}"
        dropped = "" if DROPPED in self.start else f" ({DROPPED} omitted: it is not identifiable from the logs)"
        if not self.steps:
            return (f"{start}{dropped}; no further friction term reduced the error on held-out folds",)
        told = "; ".join(taken.sentence(self.robot) for taken in self.steps)
        return (
            f"{start}{dropped}; forward selection added {told} of the error on held-out folds and decoupled "
            "motion (give effects to choose yourself)",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the selection as a dict of plain data, for JSON."""
        return {
            "start": list(self.start),
            "steps": [
                {
                    "effect": taken.step.word,
                    "joints": [self.robot.joints[j].name for j in taken.joints],
                    **({taken.step.constant: list(taken.values)} if taken.step.constant else {}),
                    "gain": taken.gain,
                }
                for taken in self.steps
            ],
        }


def springs(robot: Robot) -> tuple[EffectSpec, ...]:
    """Springs and counterbalances of the robot file, for `chosen_effects`: their kind cannot be identified."""
    return tuple(
        at_joints(robot, BY_SYMBOL[symbol].word, [j], robot.constants[j].get(symbol, {}))
        for j, own in enumerate(robot.effects)
        for symbol, value in own.items()
        if value and BY_SYMBOL[symbol].inputs == ("q",)
    )


def candidates(robot: Robot, speeds: Array) -> tuple[EffectSpec, ...]:
    """All candidate effects on every joint, for `chosen_effects`; speeds: highest speed of each coordinate."""
    found = [*(everywhere(robot, word) for word in START), *springs(robot)]
    for j in robot.driven:
        fastest = joint_speed(robot, j, speeds)
        for step in LADDER:
            for value in _values(step, fastest):
                constants = {} if value is None else {step.constant: value}
                found.append(at_joints(robot, step.word, [j], constants, _tag(value)))
    return tuple(found)


def joint_speed(robot: Robot, j: int, speeds: Array) -> float:
    """Highest speed of joint j when all its coordinates are at their highest speed."""
    return float(sum(float(speeds[c]) * abs(float(ratio)) for c, ratio in robot.shares(j)))  # type: ignore[arg-type]


def _values(step: Step, fastest: float) -> list[float | None]:
    """Candidate values of the constant, rounded so that they do not depend on the last digits of a log."""
    if not step.constant:
        return [None]
    return [float(f"{part * fastest:.2g}") for part in FRACTIONS[step.constant] if part * fastest > 0]


def _tag(value: float | None) -> str:
    return "@" if value is None else f"@{value:g}"


def shortened(motion: LogMotion) -> LogMotion:
    """First block of a log's motion, limited in length, for the selection."""
    first = next(blocks_of(motion))
    if first.filter is None:
        return first
    start, stop, step = first.keep
    return replace(first, keep=(start, min(stop, start + SAMPLES), step))


def decoupled(blocks: Sequence[Motion], robot: Robot) -> Motion:
    """Decoupled motion: joint states of the logs, drawn independently for each joint; efforts are zero."""
    rng = np.random.default_rng(0)
    q, qd, qdd = (np.concatenate([_kept(block, name) for block in blocks]) for name in ("q", "qd", "qdd"))
    drawn = rng.integers(len(q), size=(DECOUPLED, robot.n + 1))

    def mixed(x: Array) -> Array:
        found, first = x[drawn[:, -1]], x.shape[1] - robot.n
        for j in range(robot.n):
            found[:, first + j] = x[drawn[:, j], first + j]
        return found

    t = np.arange(DECOUPLED, dtype=float)
    return Motion(t, mixed(q), mixed(qd), mixed(qdd), np.zeros((DECOUPLED, robot.n_efforts)))


def _kept(block: Motion, name: str) -> Array:
    return np.asarray(getattr(block, name)[block.keep[0] : block.keep[1]])


def climbed(problem: Observation, speeds: Array, decoupled: Observation) -> Ladder:
    """Run the forward selection on a problem with all candidate columns.

    decoupled: problem with the same columns on decoupled motion.
    """
    return _Climb(problem, speeds, decoupled).run()


@dataclass(frozen=True)
class _Errors:
    """Sums of squares of each fold: weighted, relative to the noise levels; plain, in units of effort."""

    weighted: Array
    plain: Array

    def is_below(self, other: _Errors) -> bool:
        """Whether the error is smaller by both measures: small joints must not gain at the cost of large ones."""
        return bool(self.weighted.sum() < other.weighted.sum() and self.plain.sum() < other.plain.sum())

    def gain_over(self, other: _Errors) -> float:
        """Relative reduction of the root-mean-square error compared with `other`."""
        return float(1 - np.sqrt(self.weighted.sum() / other.weighted.sum()))

    def beats(self, other: _Errors, least: float = 0.0) -> bool:
        """Whether the error is smaller, significantly and by at least `least`."""
        return not self.objection(other, least)

    def objection(self, other: _Errors, least: float = 0.0) -> str:
        """Reason why the error is not clearly smaller than that of `other`; empty if it is."""
        if not np.all(np.isfinite(self.weighted)):
            return "the fit without some fold is singular"
        if not self.is_below(other):
            return "the error is not smaller, both relative to the noise and in units of effort"
        gains = other.weighted - self.weighted
        total, error = float(gains.sum()), float(gains.std(ddof=1) * np.sqrt(len(gains)))
        if not total > ERRORS * error:
            return f"the gain is below {ERRORS:g} standard errors"
        return "" if total > least else f"the gain is below {100 * GAIN:g} % of the joint's squared error"


class _Climb:
    """State of a forward selection: the columns in use, and their errors on each fold."""

    def __init__(self, problem: Observation, speeds: Array, decoupled: Observation) -> None:
        self.problem, self.robot, self.speeds = problem, problem.model.robot, speeds
        self.decoupled = decoupled.totals / np.sqrt(decoupled.samples)
        self.index = {name: k for k, name in enumerate(problem.names)}
        start = [k for name, k in self.index.items() if "@" not in name]
        self.used = [start[k] for k in excitation(problem.reduced(start)).independent]
        _, _, self.sigma = weighted_solution(problem.reduced(self.used))
        self.is_exact = bool(np.all(self.sigma <= 1e3 * noise_floor(problem)))
        self.folds = block_folds(problem, self.sigma, COUNT)
        self.logs = log_folds(problem, self.sigma)
        self.tried: list[Tried] = []

    def run(self) -> Ladder:
        if len(self.folds) < 3 or self.is_exact:
            return Ladder(self.robot)
        start = tuple(word for word in START if word != DROPPED) if self._drop() else START
        steps: list[Taken] = []
        for step in LADDER:
            every = self.robot.driven
            for joints in ((every,) if step.is_common and len(every) > 1 else ()) + tuple((j,) for j in every):
                taken = self._try(step, joints)
                if taken is not None:
                    steps.append(taken)
        return Ladder(self.robot, tuple(steps), start, tuple(self.tried))

    def _drop(self) -> bool:
        """Drop rotor inertia from all joints if that predicts better, or if it is not significant.

        Returns whether it was dropped.
        """
        (symbol,) = WORDS[DROPPED]
        own = [k for k in self.used if self.problem.names[k].rstrip("0123456789") in (symbol, f"{symbol}M")]
        rest = [k for k in self.used if k not in own]
        without, whole = self._errors(rest), self._errors(self.used)
        if not own or not np.all(np.isfinite(without.weighted)):
            return False
        is_fitted = bool(np.all(np.isfinite(whole.weighted)))
        stays = is_fitted and not without.beats(whole) and (whole.beats(without) or self._is_positive(own))
        gain = without.gain_over(whole) if is_fitted else float("nan")
        reason = "models with it predict better, or its estimates are significantly positive" if stays else ""
        self.tried.append(Tried("effects", f"without {DROPPED}", gain, not stays, reason))
        if stays:
            return False
        self.used = rest
        return True

    def _is_positive(self, own: Sequence[int]) -> bool:
        """Whether parameters that cannot be negative are jointly significantly positive.

        They are present or absent together, so the sum of their t-values is tested; standard deviations by a jackknife
        over the folds.
        """
        fits = [_fit(fold, self.used, self.problem.count) for fold in self.folds]
        values = np.array(fits)[:, [self.used.index(k) for k in own]]
        total = np.sum(values / _jackknife(values), axis=1)
        return bool(total.mean() > stdtrit(len(fits) - 1, CERTAIN) * _jackknife(total))

    def _try(self, step: Step, joints: tuple[int, ...]) -> Taken | None:
        """Select a step at the given joints if it reduces the error enough; else return None."""
        joints = tuple(j for j in joints if self._has_place(step, j))
        if not joints:
            return None
        before = self._errors(self.used)
        trials = [self._columns(step, joints, k) for k in range(len(self._tried(step, joints[0])))]
        after = [self._errors(columns) for columns, _ in trials]
        best = min(range(len(trials)), key=lambda k: float(after[k].weighted.sum()))
        columns, new = trials[best]
        least = GAIN * min(self._own(j) for j in joints)
        reason = after[best].objection(before, least) or self._objection(step, joints, columns, new)
        gain = after[best].gain_over(before) if np.all(np.isfinite(after[best].weighted)) else float("nan")
        where = self.robot.joints[joints[0]].name if len(joints) == 1 else f"{len(joints)} joints"
        self.tried.append(Tried("effects", f"{step.word} at {where}", gain, not reason, reason))
        if reason:
            return None
        self.used = columns
        values = tuple(float(value) if value else None for k in new for value in [_value_of(self.problem.names[k])])
        return Taken(step, joints, values, gain)

    def _objection(self, step: Step, joints: tuple[int, ...], columns: Sequence[int], new: Sequence[int]) -> str:
        """Reason not to select a step that lowers the error of the folds; empty if there is none."""
        if not self._is_sane(step, joints, columns, new):
            return "its sign is not possible, or it adds power to the motion"
        if self.logs and not self._errors(columns, self.logs).is_below(self._errors(self.used, self.logs)):
            return "the error of whole held-out logs is not smaller"
        return ""

    def _tried(self, step: Step, j: int) -> list[int]:
        """Column indices of a step at a joint, one for each value of its constant."""
        return [k for name, k in self.index.items() if name.startswith(f"{step.symbol}{j + 1}@")]

    def _has_place(self, step: Step, j: int) -> bool:
        is_free = not step.replaces or self.index.get(f"{step.replaces}{j + 1}") in self.used
        return is_free and bool(self._tried(step, j)) and not set(self._tried(step, j)) & set(self.used)

    def _columns(self, step: Step, joints: tuple[int, ...], value: int) -> tuple[list[int], list[int]]:
        """Columns in use together with those of a step, and the new ones alone.

        value: index of the value of the step's constant.
        """
        old = {self.index.get(f"{step.replaces}{j + 1}") for j in joints} if step.replaces else set()
        new = [self._tried(step, j)[min(value, len(self._tried(step, j)) - 1)] for j in joints]
        return [*(k for k in self.used if k not in old), *new], new

    def _errors(self, columns: Sequence[int], folds: Sequence[Fold] | None = None) -> _Errors:
        """Held-out error of each fold; infinite if the fit of the others is singular."""
        squares = self._squares(columns, folds)
        return _Errors(np.sum(squares / self.sigma**2, axis=1), squares.sum(axis=1))

    def _squares(self, columns: Sequence[int], folds: Sequence[Fold] | None = None) -> Array:
        """Sums of squared prediction errors (folds, efforts) on held-out folds.

        If the folds are time blocks, a variance of the fits is added, since neighbouring blocks are alike: the
        jackknife variance, converted to as many samples of independent motion.
        """
        chosen = self.folds if folds is None else folds
        fits = [_fit(fold, columns, self.problem.count) for fold in chosen]
        betas = [beta for beta in fits if beta is not None]
        if len(betas) < len(chosen):
            return np.full((len(chosen), len(self.sigma)), np.inf)
        rest = [f.left_out[:, :, -1] - f.left_out[:, :, list(columns)] @ b for f, b in zip(chosen, betas, strict=True)]
        squares = np.array([np.sum(own**2, axis=1) for own in rest])
        return squares if folds is not None else squares + self._disagreement(columns, np.array(betas))

    def _disagreement(self, columns: Sequence[int], betas: Array) -> Array:
        """Sums of squares (folds, efforts) of the folds' fits about their mean, on decoupled motion.

        They are scaled to as many samples as the logs have.
        """
        off = np.einsum("eij,kj->kei", self.decoupled[:, :, list(columns)], betas - betas.mean(axis=0))
        return np.asarray(np.sum(off**2, axis=2) * self.problem.samples * (len(betas) - 1) / len(betas))

    def _own(self, j: int) -> float:
        """Contribution of the effort of joint j to the compared error, relative to its noise variance."""
        row = self._row(j)
        return np.inf if row is None else float(self._squares(self.used)[:, row].sum() / self.sigma[row] ** 2)

    def _row(self, j: int) -> int | None:
        row = self.robot.coordinate_of(j) + 6 * self.robot.is_floating
        return self.problem.model.rows.index(row) if row in self.problem.model.rows else None

    def _is_sane(self, step: Step, joints: tuple[int, ...], columns: Sequence[int], new: Sequence[int]) -> bool:
        """Whether a fit of all data gives the effect admissible signs, and friction that dissipates power."""
        R = triangle(self.problem.triangle(self.sigma)[:, [*columns, self.problem.count]])
        beta = dict(zip(columns, solve_triangular(R[:-1, :-1], R[:-1, -1]).tolist(), strict=True))
        if step.is_nonnegative:
            return all(beta[k] > 0 for k in new)
        return all(self._takes_power(beta, j, k) for j, k in zip(joints, new, strict=True))

    def _takes_power(self, beta: Mapping[int, float], j: int, cubic: int) -> bool:
        value = {name: beta.get(self.index.get(f"{name}{j + 1}", -1), 0.0) for name in ("FV", "FC")}
        smooth = [v for k, v in beta.items() if self.problem.names[k].startswith(f"FCT{j + 1}@")]
        v = MARGIN * joint_speed(self.robot, j, self.speeds)
        return bool(value["FC"] + sum(smooth) + value["FV"] * v + beta[cubic] * v**3 > 0)


def _jackknife(values: Array) -> Array:
    """Jackknife standard deviation from estimates that omit one fold each (first axis)."""
    return np.asarray(np.sqrt(len(values) - 1) * values.std(axis=0))


def _value_of(name: str) -> str:
    """Value of the constant in the name of a candidate, after the @."""
    return name.partition("@")[2]


def _fit(fold: Fold, columns: Sequence[int], effort: int) -> Array | None:
    """Estimate of the columns from the data outside a fold; None if it is not determined."""
    R = triangle(fold.fitted[:, [*columns, effort]])
    lengths = np.linalg.norm(R[:, :-1], axis=0)
    if np.any(np.abs(np.diag(R)[:-1]) <= DEPENDENT * np.maximum(lengths, 1e-300)):
        return None
    return np.asarray(solve_triangular(R[:-1, :-1], R[:-1, -1]))


def highest_speeds(problem: Observation) -> Array:
    """Highest speed of each coordinate over all logs [rad/s or m/s]."""
    return np.asarray(np.max([log.reach[2] for log in problem.logs], axis=0))
