"""Collision detection by the generated momentum observer: delay, force, and false-alarm rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minertia.excitation.trajectory import frozen
from minertia.identification.alarm import APART, AlarmThresholds, output_thresholds
from minertia.io.errors import Infeasible, MinertiaError
from minertia.io.notebook import plural
from minertia.simulation.moves import random_moves
from minertia.simulation.plant import ControlSample, PlantLog, Touch
from minertia.simulation.rig import Rig
from minertia.simulation.tracking import Gains, computed_torque

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
GAIN = 200.0  # 1/s, of the observer
PER_HOUR = 1.0  # false alarms that the thresholds are made for
LEARNED = 120.0  # s of free motion that they are made from
PIECE = 60.0  # s of motion in one run
SLIDES = 0.05  # rad/s or m/s: a slower joint may stick, and its friction is anything between its two values
SOON = 0.010  # s in which a collision is to be felt
MARGIN = 1.5  # on the force that the thresholds ask for
HIT, APART_HITS = 0.05, 1.0  # s that a collision lasts, and s between two
LEAST_SPEED = 0.1  # part of the largest speed of the hand below which nothing is hit
LEARNING, WATCHED = 1000, 2000  # added to the number of a run, so that motions and noise differ


@dataclass(frozen=True)
class Detection:
    """Collisions of the end-effector and false alarms, with thresholds set for `per_hour` false alarms per hour.

    force [N]: force of the collisions, each a step against the motion of the end-effector.  delays (k,) [s]:
    time from each collision to the alarm, infinite if there was none.  seconds: duration of the monitored
    free motion; alarms: number of false alarms in it.  sliding, standing: thresholds of each joint [N m or N]
    while it moves, and while it may stick.  t (N,), largest (N,): largest ratio of any joint's observer
    output to its threshold, in the run with the first collisions, which begin at `begun`.
    """

    force: float
    per_hour: float
    delays: tuple[float, ...]
    seconds: float
    alarms: int
    sliding: tuple[float, ...]
    standing: tuple[float, ...]
    begun: tuple[float, ...] = field(default=(), compare=False, repr=False)
    t: Array = field(default_factory=lambda: np.zeros(0), compare=False, repr=False)
    largest: Array = field(default_factory=lambda: np.zeros(0), compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("t", "largest"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def soon(self) -> int:
        """Number of collisions detected within 10 ms."""
        return sum(delay <= SOON + 1e-9 for delay in self.delays)

    @property
    def latest(self) -> float:
        """Largest detection delay [s]."""
        return max(self.delays, default=float("inf"))

    def sentence(self) -> str:
        """Result as a message."""
        return (
            f"{self.soon} of {plural(len(self.delays), 'collision')} of {self.force:.3g} N detected within "
            f"{1000.0 * SOON:.0f} ms; {plural(self.alarms, 'false alarm')} in {self.seconds:.0f} s of motion, "
            f"specified rate at most {self.per_hour:g} per hour"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON."""
        return {
            "force": self.force,
            "per_hour": self.per_hour,
            "delays": [delay if np.isfinite(delay) else None for delay in self.delays],
            "within_10_ms": self.soon,
            "watched": self.seconds,
            "false_alarms": self.alarms,
            "thresholds_sliding": list(self.sliding),
            "thresholds_standing": list(self.standing),
        }


class _Watch:
    """Generated observer beside a controller: its outputs, and which joints are in motion."""

    def __init__(self, rig: Rig) -> None:
        n = rig.robot.n
        self.observe = rig.code.function("momentum_observer", (n, n, n, n, 1, n), (n, n))
        self.period, self.momentum = rig.period, np.zeros(n)
        self.outputs, self.velocities = list[Array](), list[Array]()

    def __call__(self, sample: ControlSample, tau: Array) -> None:
        r, self.momentum = self.observe(sample.q, sample.qd, tau, GAIN, self.period, self.momentum)
        self.outputs.append(r)
        self.velocities.append(sample.qd)

    def result(self) -> tuple[Array, Flags]:
        """Outputs (N, n), and whether each joint was in motion throughout the memory of the observer."""
        slow = (np.abs(np.array(self.velocities)) < SLIDES).astype(float)
        memory = _memory(self.period)
        held = np.cumsum(np.concatenate([np.ones((memory, slow.shape[1])), slow]), axis=0)
        return np.array(self.outputs), held[memory:] - held[:-memory] < 0.5


@dataclass(frozen=True)
class _Alarm:
    """Alarm rule: an output beyond the threshold of its joint, which is higher where the joint may stick."""

    sliding: AlarmThresholds
    standing: AlarmThresholds

    def levels(self, outputs: Array, slides: Flags) -> Array:
        """Largest ratio of any joint's output to its threshold (N,)."""
        threshold = np.where(slides, np.array(self.sliding.values), np.array(self.standing.values))
        return np.asarray((np.abs(outputs) / threshold).max(axis=1))


def show_collisions(rig: Rig, seconds: float = 60.0, *, learned: float = LEARNED, collisions: int = 20) -> Detection:
    """Set thresholds from free motion, monitor other motion, and simulate collisions of the moving end-effector."""
    alarm = _alarm(rig, [_watched(rig, LEARNING + k, x)[1:] for k, x in enumerate(_pieces(learned))])
    alarms, watched = 0, 0.0
    for k, length in enumerate(_pieces(seconds)):
        log, outputs, slides = _watched(rig, WATCHED + k, length)
        levels = alarm.levels(outputs, slides)[_memory(rig.period) :]
        alarms, watched = alarms + _separate(levels > 1, _memory(rig.period)), watched + len(levels) * rig.period
    hands = _hands(rig, log, collisions)
    force = _stated(MARGIN * max(_needed(alarm, hand) for hand in hands))
    hit, outputs, slides = _watched(rig, WATCHED + k, length, _hits(rig, hands, force))
    levels = alarm.levels(outputs, slides)
    return Detection(
        force=force,
        per_hour=PER_HOUR,
        delays=tuple(_delay(levels, hand.sample, rig.period) for hand in hands),
        seconds=watched,
        alarms=alarms,
        sliding=alarm.sliding.values,
        standing=alarm.standing.values,
        begun=tuple(hand.sample * rig.period for hand in hands),
        t=hit.t,
        largest=levels,
    )


def _pieces(seconds: float) -> list[float]:
    """Durations of the runs that make up a motion of this length."""
    count = max(1, math.ceil(seconds / PIECE))
    return [seconds / count] * count


def _stated(force: float) -> float:
    """Force rounded up to two significant digits."""
    unit = 10.0 ** (math.floor(math.log10(force)) - 1)
    return math.ceil(force / unit) * unit


def _memory(period: float) -> int:
    """Memory of the observer in samples."""
    return max(1, round(APART / GAIN / period))


def _watched(rig: Rig, number: int, length: float, touch: Touch | None = None) -> tuple[PlantLog, Array, Flags]:
    """Run of random moves under computed torque with the observer: log, outputs, and joints in motion."""
    trajectory = random_moves(rig.limits, length, rig.period, (rig.seed << 16) + number)
    watch = _Watch(rig)
    controller = computed_torque(rig.code.model, Gains())
    log = rig.plant(number).run(controller, trajectory, listener=watch, touch=touch)
    if log.ran_away is not None:
        raise MinertiaError(
            f"the simulated arm became unstable at {log.ran_away:.3g} s, so no collision could be simulated; give "
            "the drives in the robot file rotor inertias and friction, or use a higher rate"
        )
    return log, *watch.result()


def _alarm(rig: Rig, learned: Sequence[tuple[Array, Flags]]) -> _Alarm:
    """Thresholds: half of the false alarms for joints in motion, half for all samples, sticking joints included."""
    outputs, slides = (np.concatenate(parts) for parts in zip(*learned, strict=True))
    rate = 1.0 / rig.period
    sliding = output_thresholds(outputs, rate, GAIN, 0.5 * PER_HOUR, among=slides)
    return _Alarm(sliding, output_thresholds(outputs, rate, GAIN, 0.5 * PER_HOUR))


def _separate(above: Flags, apart: int) -> int:
    """Number of alarms that are further apart than the memory of the observer."""
    where = np.flatnonzero(above)
    return int(len(where) > 0) + int(np.sum(np.diff(where) > apart))


# ------------------------------------------------------------------ collisions


class _Hand(NamedTuple):
    """End-effector at a sample of a run: direction of motion (3,), efforts (n,), and which joints are in motion.

    efforts: joint efforts due to a unit force on the end-effector in that direction.
    """

    sample: int
    direction: Array
    efforts: Array
    slides: Flags


def _hands(rig: Rig, log: PlantLog, count: int) -> list[_Hand]:
    """Samples at which the end-effector moves, spaced in time."""
    plant = rig.plant()
    apart = round(APART_HITS / rig.period)
    samples = range(apart, len(log.t) - apart, max(1, apart // 20))
    grips = []
    for k in samples:
        plant.place(log.true_q[k], log.true_qd[k])
        grips.append(plant.grip()[1:])
    speeds = [float(np.linalg.norm(velocity)) for velocity, _ in grips]
    least, found = LEAST_SPEED * max(speeds, default=0.0), list[_Hand]()
    for k, speed, (velocity, jacobian) in zip(samples, speeds, grips, strict=True):
        if speed > least and (not found or k - found[-1].sample >= apart) and len(found) < count:
            u = velocity / speed
            efforts = plant.on_coordinates(jacobian).T @ u
            found.append(_Hand(k, u, efforts, np.abs(log.true_qd[k]) > SLIDES))
    if not found:
        raise Infeasible("the end-effector of this robot does not move, so no collision can be simulated")
    return found


def _needed(alarm: _Alarm, hand: _Hand) -> float:
    """Smallest force [N] against the end-effector's motion with which a joint reaches its threshold in 10 ms."""
    threshold = np.where(hand.slides, np.array(alarm.sliding.values), np.array(alarm.standing.values))
    reached = 1 - np.exp(-GAIN * SOON)
    return float(np.min(threshold / np.maximum(np.abs(hand.efforts) * reached, 1e-12)))


def _hits(rig: Rig, hands: Sequence[_Hand], force: float) -> Touch:
    """Force against the motion of the end-effector, for a short time from each of these samples."""
    length = round(HIT / rig.period)
    acting = {hand.sample + i: -force * hand.direction for hand in hands for i in range(length)}
    nothing = np.zeros(3)
    return lambda t, _point, _velocity: acting.get(round(t / rig.period), nothing)


def _delay(levels: Array, k: int, period: float) -> float:
    """Detection delay of a collision [s]; infinite where the alarm comes only after the collision."""
    felt = np.flatnonzero(levels[k + 1 : k + 1 + round(HIT / period)] > 1)
    return float((felt[0] + 1) * period) if len(felt) else float("inf")
