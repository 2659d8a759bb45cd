"""Selection of friction effects and springs by the marginal likelihood of the efforts.

The initial model has rotor inertia, viscous and Coulomb friction, an offset, and the springs of the robot file.  All
candidate effects are added to it, each kind at all joints, with prior deviations that maximise the marginal likelihood
(`marginal`).  Then the constants of each joint (the width of smooth Coulomb friction, the Stribeck velocity) are those
of the largest likelihood, and effects are removed, first a kind from all joints, then from one, as long as the
likelihood does not fall by more than one unit of its logarithm: of models that predict alike the simplest is selected,
and of smooth and sharp Coulomb friction the smooth one.
Rotor inertia is removed by the same rule; torque sensors behind the gears do not measure it.  All candidates are
columns of one pass over the data; every trial is algebra on R factors.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minertia.identification.problem.marginal import SIZES, Groups, MarginalLikelihood
from minertia.identification.problem.observation import Observation
from minertia.identification.problem.rows import LogMotion, blocks_of
from minertia.identification.problem.solve import excited_fit, noise_floor
from minertia.identification.problem.terms import EffectSpec, at_joints, everywhere
from minertia.identification.problem.tried import Tried
from minertia.io.arrays import Array
from minertia.io.notebook import clipped, plural
from minertia.robot.effect import JointState
from minertia.robot.effects import BY_SYMBOL, WORDS
from minertia.robot.joint import Joint
from minertia.robot.robot import Robot

SAMPLES = 30_000  # of a log, on which the choice is made
TIE = 1.0  # of the logarithm of the marginal likelihood: models that differ less predict alike
# autocorrelation times of the residual that count as one row: fewer than for values, as an effect that is missed costs
# more than one too many, whose size has a prior of its own
EFFECT_TIMES = 1.0
TRAVEL = 4.2 * math.pi  # rad: arms with cables turn twice at most (+-360 deg, with some reserve)
ROUNDS = 2  # of the search for constants
EXCESS = 1.0  # of Coulomb friction: Stribeck friction is at most that, as static friction of drives is at most twice it
MARGIN = 1.5  # times the highest speed and the range of the logs, up to which friction must take power from the motion
FRACTIONS = {  # of the highest speed of a joint, for presliding of its range: values of constants that are tried
    "FCT": (0.003, 0.0055, 0.01, 0.018, 0.03, 0.055, 0.1),  # further apart, other effects make up for the difference
    "FVS": (0.03, 0.1, 0.3),
    "FS": (0.01, 0.03, 0.1),
    "FP": (0.001, 0.003, 0.01, 0.03),
}
ALIKE, SHARPER = "the simpler model predicts alike", "friction that jumps at rest predicts better"
POWER = "it adds power to the motion at high speeds"
STATIC = "friction at rest would be more than twice that of sliding"
PUSHES = "Coulomb friction would be negative just outside the range of the logs"
SAME_ERROR = 5e-4  # relative change of the error of predictions that is told as none: 0.05 %
WARM = 8  # iterations of the factors from those of a larger model


@dataclass(frozen=True)
class Step:
    """Candidate effect, tried with several values of its constant if it has one.

    replaces: the effect that it replaces.
    """

    word: str
    symbol: str
    constant: str = ""
    replaces: str = ""


LADDER = (
    Step("smooth_coulomb", "FCT", "width", replaces="FC"),
    Step("load_coulomb", "FCL"),
    Step("spring", "KS"),
    Step("shear_thinning", "FVS", "velocity"),
    Step("cubic", "FVC"),
    Step("stribeck", "FS", "velocity"),
    Step("position_coulomb", "FCQ", "middle"),
    Step("presliding", "FP", "displacement"),
)
DRY = ("FCT", "FP")  # steps that reach a level of Coulomb friction
CURVED = ("FVS", "FVC")  # steps of viscous friction that is not proportional to the speed
START = ("rotor", "viscous", "coulomb", "offset")
DROPPED = "rotor"  # of the start, where the logs do not show it


@dataclass(frozen=True)
class Taken:
    """Selected step at joints (from 0); gain: relative reduction of the error of predictions.

    values: value of its constant at each of the joints, None if it has no constant.
    """

    step: Step
    joints: tuple[int, ...]
    values: tuple[float | None, ...]
    gain: float

    def sentence(self, robot: Robot) -> str:
        """Message on the selected effect and the change of the error of predictions with it."""
        numbers = sorted({f"{value:g}" for value in self.values if value is not None}, key=float)
        constant = f" ({self.step.constant} {' to '.join(dict.fromkeys((numbers[0], numbers[-1])))})" if numbers else ""
        where = robot.joints[self.joints[0]].name if len(self.joints) == 1 else f"{len(self.joints)} joints"
        change = f"{-100 * self.gain:+.2g} %" if abs(self.gain) >= SAME_ERROR else "unchanged"
        return f"{where}: {self.step.word}{constant}, {change}"


@dataclass(frozen=True)
class Ladder:
    """Result of the selection: the effects, as a campaign specifies them, and the selected steps.

    start: effects of the initial model.  tried: all candidate steps, in order.  unselected: covariance of
    unknowns, by name, due to effects that were not selected: they may act, too small to be seen.
    """

    robot: Robot
    steps: tuple[Taken, ...] = ()
    start: tuple[str, ...] = START
    tried: tuple[Tried, ...] = ()
    unselected: tuple[tuple[str, ...], Array] | None = None

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
        start = f"effects chosen by the marginal likelihood: {', '.join((*self.start, *own))}"
        dropped = "" if DROPPED in self.start else f" ({DROPPED} omitted: it is not identifiable from the logs)"
        if not self.steps:
            return (f"{start}{dropped}; no further effect makes predictions better",)
        told = "; ".join(taken.sentence(self.robot) for taken in self.steps)
        return (
            f"{start}{dropped}; further effects, with the change of the error of predictions: {told} (give effects to "
            "choose yourself)",
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


def usual_effects(robot: Robot) -> tuple[EffectSpec, ...]:
    """Effects of the initial model: rotor inertia and plain friction at all joints, and the springs of the file."""
    return (*(everywhere(robot, word) for word in START), *springs(robot))


def springs(robot: Robot) -> tuple[EffectSpec, ...]:
    """Springs and counterbalances of the robot file, for `chosen_effects`: their kind cannot be identified."""
    return tuple(
        at_joints(robot, BY_SYMBOL[symbol].word, [j], robot.constants[j].get(symbol, {}))
        for j, own in enumerate(robot.effects)
        for symbol, value in own.items()
        if value and BY_SYMBOL[symbol].inputs == ("q",)
    )


def candidates(
    robot: Robot,
    reach: Array,
    fractions: Mapping[str, Sequence[float]] = FRACTIONS,
    *,
    memory: bool = False,
    fixed: Collection[str] = (),
) -> tuple[EffectSpec, ...]:
    """All candidate effects on every joint, for `chosen_effects`.

    reach (3, n): lowest and highest position and highest speed of each coordinate; at a joint that stands still there
    is no candidate.  fractions: values of the constant of an effect, by symbol, in parts of the highest speed, of a
    displacement in parts of the range.
    memory: with effects that depend on the path of the joint.  fixed: names of known parameters, whose effects are
    not replaced.
    """
    steps = [step for step in LADDER if memory or "presliding" not in BY_SYMBOL[step.symbol].inputs]
    found = [*usual_effects(robot)]
    sprung = {j for j, effects in enumerate(robot.effects) if any(BY_SYMBOL[s].inputs == ("q",) for s in effects)}
    for j in (one for one in robot.driven if joint_speed(robot, one, reach[2]) > 0):
        for step in steps:
            if step.symbol == "KS" and (j in sprung or not _is_limited(robot.joints[j])):
                continue  # the file tells
            if f"{step.replaces}{j + 1}" in fixed:
                continue
            for value in _values(robot, step, j, reach, fractions):
                constants = {} if value is None else {step.constant: value}
                found.append(at_joints(robot, step.word, [j], constants, _tag(value)))
    return tuple(found)


def _is_limited(joint: Joint) -> bool:
    """Whether the travel of a joint is limited, so that a cable or hose can pull it like a spring all the way."""
    lower, upper = joint.limits.lower, joint.limits.upper
    return joint.kind == "prismatic" or (lower is not None and upper is not None and upper - lower <= TRAVEL)


def joint_speed(robot: Robot, j: int, speeds: Array) -> float:
    """Highest speed of joint j when all its coordinates are at their highest speed, likewise its widest range."""
    return float(sum(float(speeds[c]) * abs(float(ratio)) for c, ratio in robot.shares(j)))  # type: ignore[arg-type]


def _values(
    robot: Robot, step: Step, j: int, reach: Array, fractions: Mapping[str, Sequence[float]]
) -> list[float | None]:
    """Candidate values of the constant, rounded so that they do not depend on the last digits of a log."""
    if not step.constant:
        return [None]
    if step.constant == "middle":
        middle = 0.5 * (reach[0] + reach[1])
        return [float(f"{sum(middle[c] * float(ratio) for c, ratio in robot.shares(j)):.2g}")]  # type: ignore[arg-type]
    whole = joint_speed(robot, j, reach[1] - reach[0] if step.constant == "displacement" else reach[2])
    return [float(f"{part * whole:.2g}") for part in fractions[step.symbol]]


def _tag(value: float | None) -> str:
    return "@" if value is None else f"@{value:g}"


def shortened(motion: LogMotion) -> LogMotion:
    """First block of a log's motion, limited in length, for the selection."""
    first = next(blocks_of(motion))
    if first.filter is None:
        return first
    start, stop, step = first.keep
    return replace(first, keep=(start, min(stop, start + SAMPLES), step))


def climbed(problem: Observation, reach: Array, groups: Groups, memory: float) -> Ladder:
    """Select effects on a problem with all candidate columns.

    reach: see `candidates`.  groups: prior of its parameters.  memory: number of rows that count as one.
    """
    return _Selection(problem, reach, groups, memory).run()


def _reason(step: Step, loss: float) -> str:
    """Why a step was removed that cost so much of the likelihood."""
    return SHARPER if step.replaces and loss < 0 else ALIKE


class _Selection:
    """State of the selection: the columns in use, and the posterior of their parameters."""

    def __init__(self, problem: Observation, reach: Array, groups: Groups, memory: float) -> None:
        self.problem, self.robot, self.reach = problem, problem.model.robot, reach
        self.likelihood = MarginalLikelihood(problem, groups, memory)
        self.index = {name: k for k, name in enumerate(problem.names)}
        self.places: dict[str, list[int]] = {}
        for name, k in self.index.items():
            if "@" in name:
                self.places.setdefault(name.partition("@")[0], []).append(k)
        self.rows = problem.samples * len(problem.row_names) / max(memory, 1.0)
        self.tried: list[Tried] = []

    def run(self) -> Ladder:
        if self._is_exact():
            return Ladder(self.robot)
        self.use = self._everything()
        self.found = self.likelihood.maximised(self.use)
        for _ in range(ROUNDS):
            if not self._constants():
                break
            self.found = self.likelihood.maximised(self.use, self.found)
        self.full = self.use
        for step in LADDER[::-1]:
            self._remove_kind(step)
        start = tuple(word for word in START if word != DROPPED) if self._drop() else START
        self._remove_single()
        return Ladder(self.robot, self._taken(), start, tuple(self.tried), self._unselected())

    def _is_exact(self) -> bool:
        """Whether the initial model explains the efforts up to rounding errors."""
        start = [k for name, k in self.index.items() if "@" not in name]
        sigma = excited_fit(self.problem.reduced(start)).sigma
        return bool(np.all(sigma <= 1e3 * noise_floor(self.problem)))

    def _everything(self) -> Array:
        """All columns, with one value of each constant: the last."""
        use = np.ones(self.problem.count, bool)
        for step in LADDER:
            for j in self.robot.driven:
                use[self._places(step, j)[:-1]] = False
                if step.replaces and self._places(step, j):
                    use[self._replaced(step, j)] = False
        return use

    def _places(self, step: Step, j: int) -> list[int]:
        """Columns of a step at a joint, one for each value of its constant."""
        return self.places.get(f"{step.symbol}{j + 1}", [])

    def _tie(self, step: Step, joints: Sequence[int]) -> float:
        """Fall of the likelihood up to which a step is removed from joints.

        Smooth friction has as many unknowns as the friction that it replaces, and no jump whose direction is that of
        noise where a joint rests: if they predict alike, it stays.  But not at a joint that does not turn back, where
        friction and an offset look alike, and only starts and stops would decide between them.
        """
        return -TIE if step.replaces and all(self._turns_back(step, j) for j in joints) else TIE

    def _turns_back(self, step: Step, j: int) -> bool:
        """Whether one row or more, of those that count, is of the other direction of a joint."""
        pair = [self.index[name] for name in (f"{step.replaces}{j + 1}", f"OFF{j + 1}") if name in self.index]
        if len(pair) < 2:
            return True
        products = self.likelihood.normal[:, pair][:, :, pair].sum(axis=0)
        size = float(np.sqrt(products[0, 0] * products[1, 1]))
        other = 0.5 * (size - abs(float(products[0, 1]))) / max(size, 1e-300)  # part of the rows
        return bool(other * self.problem.samples >= self.likelihood.memory)

    def _replaced(self, step: Step, j: int) -> list[int]:
        return [k for k in (self.index.get(f"{step.replaces}{j + 1}"),) if k is not None and step.replaces]

    def _constants(self) -> bool:
        """Give each joint the values of its constants with the largest likelihood; whether one has changed."""
        changed = False
        for step in LADDER:
            for j in self.robot.driven:
                options = [*self._replaced(step, j), *self._places(step, j)]
                if len(options) < 2:
                    continue
                trials = [self._with_only(options, k) for k in options]
                likely = np.array([self.likelihood.likelihood(use, self.found) for use in trials])
                likely[: len(options) - len(self._places(step, j))] += self._tie(step, (j,))
                best = trials[int(np.argmax(likely))]
                changed |= not np.array_equal(best, self.use)
                self.use = best
        return changed

    def _with_only(self, options: Sequence[int], k: int) -> Array:
        use = self.use.copy()
        use[list(options)] = False
        use[k] = True
        return use

    def _joints(self, step: Step) -> tuple[int, ...]:
        """Joints at which a step is in use."""
        return tuple(j for j in self.robot.driven if self.use[self._places(step, j)].any())

    def _without(self, step: Step, joints: Sequence[int]) -> Array:
        use = self.use.copy()
        for j in joints:
            use[self._places(step, j)] = False
            use[self._replaced(step, j)] = True
        return use

    def _remove_kind(self, step: Step) -> None:
        """Remove an effect from all joints if the likelihood does not fall."""
        joints = self._joints(step)
        if not joints:
            return
        use = self._without(step, joints)
        other = self.likelihood.maximised(use, self.found, WARM)
        loss = self.found.likelihood - other.likelihood
        where = f"{len(joints)} joints" if len(joints) > 1 else self.robot.joints[joints[0]].name
        if loss > self._tie(step, joints):
            return
        self.tried.append(Tried("effects", f"{step.word} at {where}", self._gain(loss), False, _reason(step, loss)))
        self.use, self.found = use, other

    def _remove_single(self) -> None:
        """Remove effects from single joints, and those that are held at zero or add power to the motion.

        All joints of a kind together may cost no more than one kind does: many small effects are not nothing.
        """
        for step in LADDER[::-1]:
            left, found = TIE, self.found
            losses = {j: self._loss(step, j) for j in self._joints(step)}
            for j in sorted(losses, key=lambda j: losses[j]):
                use = self._without(step, (j,))
                loss = losses[j] if self.found is found else self._loss(step, j)
                (k,) = [k for k in self._places(step, j) if self.use[k]]
                wrong = self._implausible(step, j, k)
                if loss > min(left, self._tie(step, (j,))) and not wrong:
                    continue
                left -= max(loss, 0.0)
                reason = wrong or _reason(step, loss)
                name = self.robot.joints[j].name
                self.tried.append(Tried("effects", f"{step.word} at {name}", self._gain(loss), False, reason))
                self.use = use
                self.found = self.likelihood.maximised(use, self.found, WARM)

    def _loss(self, step: Step, j: int) -> float:
        """Fall of the likelihood when an effect is removed from a joint, at the deviations in use."""
        return self.found.likelihood - self.likelihood.likelihood(self._without(step, (j,)), self.found)

    def _rotors(self) -> list[int]:
        """Columns of rotor inertia."""
        (symbol,) = WORDS[DROPPED]
        return [k for name, k in self.index.items() if name.rstrip("0123456789") in (symbol, f"{symbol}M")]

    def _drop(self) -> bool:
        """Drop rotor inertia from all joints if the likelihood does not fall; whether it was dropped."""
        own = self._rotors()
        if not own:
            return False
        use = self.use.copy()
        use[own] = False
        other = self.likelihood.maximised(use, self.found, WARM)
        loss = self.found.likelihood - other.likelihood
        stays = loss > TIE
        reason = "the logs are less likely without it" if stays else ""
        self.tried.append(Tried("effects", f"without {DROPPED}", self._gain(-loss), not stays, reason))
        if not stays:
            self.use, self.found = use, other
        return not stays

    def _taken(self) -> tuple[Taken, ...]:
        taken = []
        for step in LADDER:
            joints = self._joints(step)
            if not joints:
                continue
            columns = [k for j in joints for k in self._places(step, j) if self.use[k]]
            told = [_value_of(self.problem.names[k]) for k in columns]
            values = tuple(float(value) if value else None for value in told)
            other = self.likelihood.maximised(self._without(step, joints), self.found, WARM)
            one = Taken(step, joints, values, self._gain(self.found.likelihood - other.likelihood))
            taken.append(one)
            where = f"{len(joints)} joints" if len(joints) > 1 else self.robot.joints[joints[0]].name
            self.tried.append(Tried("effects", f"{step.word} at {where}", one.gain, True))
        return tuple(taken)

    def _unselected(self) -> tuple[tuple[str, ...], Array]:
        """Covariance of the unknowns due to effects that were not selected: they may act, too small to be seen.

        Each effect at each joint may act with a factor of `SIZES`, as probable a priori as not at all.
        """
        one = self.likelihood.addition(self.use, self.found)
        place = {k: n for n, k in enumerate(one.own)}
        more = np.zeros((len(one.own), len(one.own)))
        for column, replaced in self._removed():
            square, change = one.second_moment(column, SIZES)
            for k in replaced:
                change[place[k]] += 1.0  # both are levels of the same friction
            more += square * np.outer(change, change)
        return tuple(self.problem.names[k].partition("@")[0] for k in one.own), more

    def _removed(self) -> Iterator[tuple[int, list[int]]]:
        """Columns of effects that were removed, with those in use that they could replace."""
        yield from ((k, []) for k in self._rotors() if self.likelihood.live[k] and not self.use[k])
        for step in LADDER:
            for j in self.robot.driven:
                places = self._places(step, j)
                own = [k for k in places if self.full[k] and self.likelihood.live[k]]
                if own and not self.use[places].any():
                    yield own[0], [k for k in self._replaced(step, j) if self.use[k] and self.likelihood.live[k]]

    def _gain(self, loss: float) -> float:
        """Relative reduction of the error of predictions that corresponds to a difference of log-likelihoods."""
        return float(1 - np.exp(-loss / self.rows))

    def _implausible(self, step: Step, j: int, k: int) -> str:
        """Why the value of an effect (column k) at a joint cannot be friction; empty if it can."""
        beta = self.found.beta
        coulomb = self._sliding(j, 0.0)
        if step.symbol in CURVED:
            v = max(MARGIN * joint_speed(self.robot, j, self.reach[2]), self.robot.joints[j].limits.velocity or 0.0)
            return "" if self._sliding(j, v) > 0 else POWER
        if step.symbol == "FS":
            return "" if beta[k] <= EXCESS * coulomb else STATIC
        if step.symbol == "FCQ":
            far = MARGIN * 0.5 * joint_speed(self.robot, j, self.reach[1] - self.reach[0])  # from the middle
            return "" if abs(beta[k]) * far <= coulomb else PUSHES
        return ""

    def _level(self, symbol: str, j: int) -> float:
        """Value of an effect of the initial model at a joint, 0 if it is not in use."""
        k = self.index.get(f"{symbol}{j + 1}")
        return 0.0 if k is None else float(self.found.beta[k])

    def _sliding(self, j: int, v: float) -> float:
        """Friction of a joint that slides at v [rad/s or m/s], without what Stribeck's, the load and the place add."""
        total = self._level("FC", j) + self._level("FV", j) * v
        for step in LADDER:
            for k in self._places(step, j):
                if step.symbol in DRY:
                    total += self.found.beta[k]
                elif step.symbol in CURVED:
                    value = _value_of(self.problem.names[k])
                    constants = {step.constant: float(value)} if value else {}
                    shape = BY_SYMBOL[step.symbol].shape(JointState(0.0, v, 0.0), constants)
                    total += float(self.found.beta[k]) * float(shape)  # type: ignore[arg-type]
        return total


def _value_of(name: str) -> str:
    """Value of the constant in the name of a candidate, after the @."""
    return name.partition("@")[2]


def reach_of(problem: Observation) -> Array:
    """Lowest and highest position and highest speed (3, n) of each coordinate over all logs."""
    reach = np.array([log.reach for log in problem.logs])
    return np.stack([reach[:, 0].min(axis=0), reach[:, 1].max(axis=0), reach[:, 2].max(axis=0)])
