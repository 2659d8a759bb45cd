"""Choices that a campaign of commands leaves open, made on part of its logs.

Equal servos, no offsets, position-dependent friction, ground contact and load-dependent friction are tried in turn,
each from the values of the fit before.  Ground contact and load-dependent friction are taken if the likelihood of the
positions rises by more than Schwarz's penalty for their unknowns, equal servos unless it falls by more, where so many
rows count as one as residuals are correlated over.  A part of each log suffices for that: its first rows or, if the
tip is in those of no log as low as where it may touch the ground, the first ones in which it is.  The values are the
start of the final fit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from minertia.dynamics.model import gravity_torques
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import Floor
from minertia.identification.campaigns.prepare import Tell
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.contact import Mask, pushed
from minertia.identification.closed_loop.fit import Reached, coarse_steps, output_error, reached
from minertia.identification.closed_loop.gains import (
    Change,
    rescaled,
    with_nearest_gain,
    with_same_gains,
    without_offsets,
)
from minertia.identification.closed_loop.ground import heights, with_floor
from minertia.identification.closed_loop.judge import loose_names
from minertia.identification.closed_loop.logs import LoopLog
from minertia.identification.closed_loop.model import ServoModel
from minertia.identification.closed_loop.placed_friction import with_placed_friction
from minertia.identification.problem.ladder import usual_effects
from minertia.identification.problem.terms import at_joints
from minertia.identification.problem.tried import Tried
from minertia.io.errors import MinertiaError
from minertia.io.schema import UNKNOWN
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
SEARCHED = 80.0  # s of all logs together
PROBED = 40.0  # the same for a look at elastic joints, which have two coordinates each
LOW = 0.1  # part of the heights of the tip at which it may touch the ground
LOADED = "load_coulomb"
SHOWN = 0.1  # of Coulomb friction: smaller load-dependent friction is not told from it
ONE_KP, NO_OFFSETS = "one kp for all servos", "no offsets"
BEGIN_LOADED = (0.3, 0.6)  # of load-dependent friction at most: a third, and two thirds, of the most there can be


@dataclass(frozen=True)
class ChosenCommands:
    """Campaign with its choices, values from which its fit starts (None: those of the control law), and messages.

    tried: every option that was tried.
    """

    campaign: Campaign
    model: ServoModel
    start: Array | None = None
    notes: tuple[str, ...] = ()
    tried: tuple[Tried, ...] = ()


def is_open(campaign: Campaign, servos: ServoModel) -> bool:
    """Whether a campaign leaves something open that is searched for."""
    gains, none = [name for name in servos.names if name.startswith("KP")], np.zeros(servos.count)
    can_change = any(change(campaign, servos, gains, none) for change in (with_same_gains, without_offsets))
    is_searched = not servos.layout.elastic and campaign.command.law != "servo"
    return is_searched and (campaign.effects is None or can_change)


def chosen(campaign: Campaign, servos: ServoModel, logs: Sequence[LoopLog], tell: Tell) -> ChosenCommands:
    """Choose what a campaign leaves open."""
    return _CommandSearch(campaign, servos, logs, tell).run()


def with_scale(
    made: ChosenCommands, logs: Sequence[LoopLog], theta: Array, loose: Sequence[str], tell: Tell
) -> ChosenCommands:
    """Choices with what makes loose gains identifiable: those that a fit of all logs, of values theta, leaves open."""
    return _CommandSearch(made.campaign, made.model, logs, tell).again(made, theta, loose)


def shortened(logs: Sequence[LoopLog], seconds: float = SEARCHED, shown: Sequence[Mask] | None = None) -> list[LoopLog]:
    """Rows of each log, together of a limited duration: the first ones, or the first that have some of those shown.

    shown: rows (N,) of each log of which some are wanted, in the middle unless the log begins or ends there; the first
    ones of all logs suffice if those of one log have some.
    """
    rows = [max(round(seconds / len(logs) / log.period), 4 * log.first) for log in logs]
    late = shown is not None and not any(own[:count].any() for own, count in zip(shown, rows, strict=True))
    found = []
    for k, (log, count) in enumerate(zip(logs, rows, strict=True)):
        wanted = np.flatnonzero(shown[k]) if late and shown is not None else np.zeros(0, int)
        first = min(int(wanted[0]) - count // 2, len(log.q) - count) if len(wanted) else 0
        found.append(log if len(log.q) <= count else replace(log.part(first, first + count), name=log.name))
    return found


def low_rows(campaign: Campaign, logs: Sequence[LoopLog]) -> list[Mask] | None:
    """Rows of each log (N,) in which the tip is in the lowest part of the heights of all logs; None without a tip.

    There ground contact shows, if there is any: a search in other rows would take its effect for friction.
    """
    floor = _floor_under(campaign)
    if floor is None:
        return None
    robot = campaign.robot
    up = [heights(robot, floor, log.q[:, : robot.n])[:, 0] for log in logs]
    return [_is_low(own, np.concatenate(up)) for own in up]


def _is_low(up: Array, every: Array) -> Mask:
    """Mask of heights in the lowest part of all of them."""
    return np.asarray(up < every.min() + LOW * np.ptp(every))


class _CommandSearch:
    """State of the search: the campaign as chosen so far, its model and its values."""

    def __init__(self, campaign: Campaign, servos: ServoModel, logs: Sequence[LoopLog], tell: Tell) -> None:
        self.campaign, self.model, self.tell = campaign, servos, tell
        self.is_open = campaign.effects is None
        self.period = min(log.period for log in logs)
        self.logs = shortened(logs, SEARCHED, low_rows(campaign, logs))
        self.steps = coarse_steps(self.logs)
        self.notes: list[str] = []
        self.tried: list[Tried] = []

    def run(self) -> ChosenCommands:
        self.found = self._fitted(self.model, None)
        self._scale()
        self._touch()
        if self._is_pushed():
            self.logs = [replace(log, pushed=rows) for log, rows in zip(self.logs, self._pushed(), strict=True)]
            self.found = self._fitted(self.model, self.found.theta, deviations=False)
        if self.is_open:
            self._place()
            self._load()
        return self._chosen()

    def again(self, made: ChosenCommands, theta: Array, loose: Sequence[str]) -> ChosenCommands:
        """Choices made before, with what makes gains identifiable that are loose in a fit of all logs."""
        self.notes, self.tried = list(made.notes), list(made.tried)
        self.found = self._fitted(self.model, theta)
        self._scale(loose)
        return made if self.model is made.model else self._chosen()

    def _chosen(self) -> ChosenCommands:
        return ChosenCommands(self.campaign, self.model, self.found.theta, tuple(self.notes), tuple(self.tried))

    def _scale(self, also: Sequence[str] = ()) -> None:
        """Assumptions on gains and offsets, if the logs do not determine the scale of some gains.

        One kp for all servos or, if the logs contradict it, that of the nearest joint for each of these gains.  also:
        gains that a fit of more logs does not determine.
        """

        def loose() -> list[str]:
            found = loose_names(self.model, self.found.theta, self.found.deviation)
            return [name for name in self.model.names if name in found or name in also]

        self._assume(ONE_KP, with_same_gains, loose())
        for name in loose():
            others = [other for other in loose() if other != name]
            self._assume(f"kp of the joint nearest to that of {name}", with_nearest_gain, [name, *others])
        self._assume(NO_OFFSETS, without_offsets, loose())

    def _assume(self, option: str, change: Change, loose: Sequence[str]) -> None:
        """Make an assumption if some gains are loose, unless the logs contradict it by Schwarz's criterion."""
        choice = "gains and offsets"
        if any(one.option == option and np.isfinite(one.gain) for one in self.tried):
            return
        every = [name for name in self.model.names if name.startswith("KP")]
        if not loose and change(self.campaign, self.model, every, self.found.theta) is not None:
            self._refuse(choice, option, "the scale of each gain is identifiable")
        changed = change(self.campaign, self.model, loose, self.found.theta)
        if changed is None:
            return
        self.tell("choosing gains and offsets")
        try:
            model = loop_model(changed[0], self.period)
            other = self._fitted(model, self._mapped(model))
        except MinertiaError as err:
            self._refuse(choice, option, f"it cannot be simulated here: {err}")
            return
        gain, fall, penalty = _gain(self.found, other), -_likelier(self.found, other), self._penalty(model.count)
        if change is without_offsets:
            is_right = len(loose_names(model, other.theta, other.deviation)) < len(loose)
            reason = "without them, the scale is not identifiable either"
        else:
            is_right = fall <= penalty
            reason = f"the logarithm of the likelihood falls by {fall:.3g}, Schwarz's criterion allows {penalty:.3g}"
        if not is_right:
            self._refuse(choice, option, reason, gain)
            return
        self.campaign, self.model, self.found = changed[0], model, other
        self.notes.append(changed[1])
        self._record(choice, option, gain, changed[1])

    def _penalty(self, count: int) -> float:
        """Schwarz's penalty for the unknowns that one of two models, of which the other has so many, has more."""
        return float(0.5 * abs(count - self.model.count) * np.log(max(float(self.found.apart.sum()), 2.0)))

    def _fitted(self, model: ServoModel, start: Array | None, *, deviations: bool = True) -> Reached:
        return reached(model, self.logs, start, self.steps, self.tell, deviations=deviations)

    def _take(self, campaign: Campaign, note: str) -> None:
        model = loop_model(campaign, self.period)
        self.found = self._fitted(model, self._mapped(model))
        self.campaign, self.model = campaign, model
        self.notes.append(note)

    def _mapped(self, model: ServoModel) -> Array:
        """Values of the fit, mapped to another model; those of new unknowns are zero, of a floor usual ones."""
        own = dict(zip(self.model.names, self.found.theta.tolist(), strict=True))
        loose = loose_names(self.model, self.found.theta, self.found.deviation)
        gains = {name: value for name, value in own.items() if name.startswith("KP")}
        shown = [value for name, value in gains.items() if name not in loose] or list(gains.values())
        usual = {"KP": float(np.median(shown))} if gains else {}
        theta = np.array([own.get(name, usual.get(name, 0.0)) for name in model.names])
        theta = rescaled(self.model, self.found.theta, model, theta)
        return with_floor(model, self.logs, theta) if not self.model.floor.touches else theta

    def _record(self, choice: str, option: str, gain: float, reason: str = "", *, is_selected: bool = True) -> None:
        others = [one for one in self.tried if (one.choice, one.option) != (choice, option)]
        self.tried = [*others, Tried(choice, option, gain, is_selected, reason)]

    def _refuse(self, choice: str, option: str, reason: str, gain: float = float("nan")) -> None:
        self._record(choice, option, gain, reason, is_selected=False)

    def _touch(self) -> None:
        """Ground contact of the tip, where residuals are larger when it is low."""
        floor = _floor_under(self.campaign)
        if floor is None:
            return
        name = floor.touches[0]
        if not self._rests_low(floor):
            self._refuse("ground contact", name, "residuals are not larger where it is low")
            return
        self.tell("searching for ground contact")
        note = f"contact with a horizontal ground was found, touched by {name} (give [floor] to choose yourself)"
        self._try("ground contact", name, replace(self.campaign, floor=floor), note)

    def _rests_low(self, floor: Floor) -> bool:
        """Whether residuals are larger in the lowest tenth of the heights that the tip reaches than above."""
        n = self.model.robot.n
        zeros = self.model.of_kind("zero", self.model.atom_values(self.found.theta))
        up = np.concatenate([heights(self.model.robot, floor, log.q[:, :n] + zeros)[:, 0] for log in self.logs])
        squares = np.mean((np.concatenate(self.found.rest) / self.found.rms) ** 2, axis=1)
        is_low = _is_low(up, up)
        return bool(is_low.any() and not is_low.all() and squares[is_low].mean() > squares[~is_low].mean())

    def _pushed(self) -> list[Mask]:
        """Masks of the rows with external contact."""
        return pushed(self.model, self.logs, self.found.rest)

    def _is_pushed(self) -> bool:
        """Whether the fit shows external contact, and may leave it out."""
        return self.campaign.command.leave_out_contact and any(rows.any() for rows in self._pushed())

    def _place(self) -> None:
        """Position-dependent friction, by its own rule."""
        self.tell("searching for position-dependent friction")
        fit = output_error(self.model, self.logs, self.found.theta, steps=self.steps, iterate=False)
        placed = with_placed_friction(self.campaign, fit, self.logs, self.tell)
        self.tried.append(placed.tried)
        if placed.campaign is not None:
            self._take(placed.campaign, placed.note)

    def _load(self) -> None:
        """Load-dependent friction, at the joints whose weight would show it."""
        self.tell("searching for load-dependent friction")
        robot = self.campaign.robot
        effects = usual_effects(robot) if self.campaign.effects is None else self.campaign.effects
        joints = self._loaded()
        at = "" if len(joints) == len(robot.driven) else f" at {', '.join(robot.joints[j].name for j in joints)}"
        note = (
            f"load-dependent friction ({LOADED}){at} makes the positions more likely (give effects to choose yourself)"
        )
        more = at_joints(robot, LOADED, joints)
        campaign = replace(self.campaign, effects=(*effects, more))
        self._try("effects", f"{LOADED}{at or ' at all joints'}", campaign, note, self._shared)

    def _loaded(self) -> list[int]:
        """Joints at which usual load-dependent friction is not small beside Coulomb friction; all if there are none."""
        own, driven = dict(zip(self.model.names, self.found.theta, strict=True)), self.campaign.robot.driven
        weights = self._weights(self.model, self.found.theta)
        if len(weights) != self.campaign.robot.n_joints:  # mimic joints: a coordinate bears the weights of several
            return list(driven)
        found = [j for j in driven if BEGIN_LOADED[0] * weights[j] > SHOWN * own.get(f"FC{j + 1}", 0.0)]
        return found or list(driven)

    def _weights(self, model: ServoModel, theta: Array) -> Array:
        """Mean gravity torque of each joint in the logs [N m or N]; zero without masses."""
        n = model.robot.n
        if not model.robot.has_parameters:
            return np.zeros(n)
        zeros = model.of_kind("zero", model.atom_values(theta))
        q = np.concatenate([log.q[:, :n] + zeros for log in self.logs])
        return np.asarray(np.mean(np.abs(gravity_torques(model.robot, q)), axis=0))

    def _try(
        self,
        choice: str,
        option: str,
        campaign: Campaign,
        note: str,
        starts: Callable[[ServoModel, Array], Iterable[Array]] | None = None,
    ) -> None:
        """Take more unknowns if they make the positions likelier by more than Schwarz's penalty.

        choice, option: names of what is tried.  starts: initial values of the fits, the better of which counts, from
        those mapped to the model; default: these.
        """
        likelier = partial(_likelier, self.found)
        try:
            model = loop_model(campaign, self.period)
            start = self._mapped(model)
            begins = [start] if starts is None else starts(model, start)
            other = max((self._fitted(model, one, deviations=False) for one in begins), key=likelier)
        except MinertiaError as err:
            self._refuse(choice, option, f"it cannot be simulated here: {err}")
            return
        penalty = self._penalty(model.count)
        if likelier(other) > penalty:
            self._refit_from(model, other)
        gain, change = _gain(self.found, other), _likelier(self.found, other)
        if change > penalty:
            self.campaign, self.model, self.found = campaign, model, other
            self.notes.append(note)
            self._record(choice, option, gain)
        else:
            reason = f"the logarithm of the likelihood changes by {change:+.3g}, Schwarz's penalty is {penalty:.3g}"
            self._refuse(choice, option, reason, gain)

    def _refit_from(self, model: ServoModel, other: Reached) -> None:
        """Better fit without more unknowns, from the values of a fit with them, if there is one.

        Of short logs the search may end in a worse minimum, and further unknowns would only lead out of it.
        """
        own = dict(zip((*self.model.names, *model.names), (*self.found.theta, *other.theta), strict=True))
        with contextlib.suppress(MinertiaError):  # the values without them may not be simulated
            again = self._fitted(self.model, np.array([own[name] for name in self.model.names]))
            self.found = max(self.found, again, key=partial(_likelier, self.found))

    def _shared(self, model: ServoModel, theta: Array) -> Iterator[Array]:
        """Initial values where Coulomb friction gives way to load-dependent friction, with the same friction in all.

        At most half of it gives way.  From zero, load-dependent friction would stay there.
        """
        own, weights = dict(zip(model.names, theta.tolist(), strict=True)), self._weights(model, theta)
        for most in BEGIN_LOADED:
            changed = dict(own)
            for j, weight in enumerate(weights, 1):
                dry = own.get(f"FC{j}", 0.0)
                part = min(most, 0.5 * dry / max(float(weight), 1e-12))
                changed |= {f"FC{j}": dry - part * float(weight), f"FCL{j}": part}
            yield np.array([changed[name] for name in model.names])


def _likelier(found: Reached, other: Reached) -> float:
    """Logarithm of the likelihood of the positions with another fit, less that with a first one."""
    return float(np.sum(found.apart * np.log(found.rms / other.rms)))


def _gain(found: Reached, other: Reached) -> float:
    """Relative reduction of the residual by another fit; a position counts by its independent rows."""
    return float(1 - np.exp(-_likelier(found, other) / found.apart.sum()))


def _floor_under(campaign: Campaign) -> Floor | None:
    """Ground that the tip of a robot could touch; None where it is specified or cannot be simulated."""
    if campaign.floor.touches or campaign.command.integrator == "euler" or not any(campaign.robot.gravity):
        return None
    tip = _tip(campaign.robot)
    return None if tip is None else Floor((tip,), friction=UNKNOWN)


def _tip(robot: Robot) -> str | None:
    """Frame of the last link that is farthest from its joint; None of robots with several last links."""
    last = set(range(robot.n_joints)) - {joint.parent for joint in robot.joints}
    own = {name: frame for name, frame in robot.frames.items() if frame.joint in last}
    if len(last) != 1 or not own:
        return None
    return max(own, key=lambda name: float(np.linalg.norm(np.array(own[name].pose[1], float))))
