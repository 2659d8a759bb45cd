"""Alternative set-ups of a campaign: a table of common errors, each with a function that proposes set-ups to test.

A new check is one function and one row of `CHECKS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from minertia.identification.evidence import thresholds as at
from minertia.identification.evidence.trial import LONGEST_DELAY, Setup, Trial

Array = NDArray[np.float64]
TURNS = tuple(math.radians(d) for d in (-150, -120, -90, -60, -30, 30, 60, 90, 120, 150, 180))
QUARTERS = tuple(math.radians(d) for d in (-90, 90, 180))
SLIDES = tuple(k / 10 for k in range(-5, 6) if k)  # m
UNITS = {"revolute": ("degrees", math.pi / 180, 'angle = "deg"'), "prismatic": ("millimetres", 1e-3, 'length = "mm"')}
CLOCKS = tuple(float(c) for c in np.geomspace(0.2, 5, 15))
PACES = (0.8, 0.9, 1.11, 1.25)  # seconds in a second, of clocks that are slightly off
DELAYS = tuple(float(d) for d in np.linspace(-LONGEST_DELAY, LONGEST_DELAY, 41) if abs(d) > 1e-6)
RATIOS = tuple(float(f) for f in np.geomspace(0.5, 2.0, 6))  # of a joint's position
ENDS = (-0.45, -0.3, -0.2, -0.1, -0.05, 0.05, 0.1, 0.2, 0.3, 0.45)  # s by which clocks are apart at the end
LATES = tuple(s * d for d in (0.05, 0.1, 0.16, 0.24, 0.32) for s in (-1, 1))  # s of one joint
LENGTHS = (0.6, 0.75, 1.3, 1.65)  # of all links
COUPLINGS = (-0.7, 0.7)  # turns of a motor with another joint
NEARBY = (-0.5, -0.35, -0.2, -0.1, 0.1, 0.2, 0.35, 0.5)  # of a step between proposals, where the best is refined


@dataclass(frozen=True)
class Proposal:
    """Alternative set-up, its description, and the line of the campaign that would set it.

    nearby: function that proposes refinements, such as values between this one and its neighbours in a list.
    """

    setup: Setup
    what: str
    change: str
    nearby: Callable[[], Iterable[Proposal]] = tuple


Proposing = Callable[[Trial], Iterable[Proposal]]


def _name(trial: Trial, j: int) -> str:
    return f"joint {j + 1} ({trial.robot.coordinate_names[j]})"


def _list(values: Sequence[float]) -> str:
    return f"[{', '.join(f'{v:g}' for v in values)}]"


def _turned(trial: Trial, j: int) -> tuple[float, ...]:
    return tuple(-1.0 if k == j else 1.0 for k in range(trial.robot.n))


def exchanged(trial: Trial) -> Iterator[Proposal]:
    """Propose exchanged columns of two joints, for all signals or efforts only, and likely cycles of three."""
    for a, b in combinations(trial.tried, 2):
        what = f"{_name(trial, a)} and {_name(trial, b)} seem exchanged"
        change = "exchange their columns in q and effort of [columns]"
        order = _in_turn(trial, (a, b))
        yield Proposal(Setup(order=order), what, change, _thirds(trial, a, b))
        what = f"the efforts of {_name(trial, a)} and {_name(trial, b)} seem exchanged"
        yield Proposal(Setup(effort_order=order), what, "exchange their columns in effort of [columns]")


def _thirds(trial: Trial, a: int, b: int) -> Callable[[], Iterable[Proposal]]:
    others = [c for c in trial.tried if c not in (a, b)]
    return lambda: (_three(trial, turn) for c in others for turn in ((a, b, c), (a, c, b)))


def _three(trial: Trial, turn: tuple[int, ...]) -> Proposal:
    a, b, c = (_name(trial, j) for j in turn)
    what = f"three joints seem exchanged: {a} is in the columns of {b}, {b} in those of {c}, and {c} in those of {a}"
    return Proposal(Setup(order=_in_turn(trial, turn)), what, "put them in this order in q and effort of [columns]")


def _in_turn(trial: Trial, turn: tuple[int, ...]) -> tuple[int, ...]:
    """Cyclic permutation of the columns of the given coordinates."""
    order = list(range(trial.robot.n))
    for j, taken in zip(turn, (*turn[1:], turn[0]), strict=True):
        order[j] = taken
    return tuple(order)


def signs(trial: Trial) -> Iterator[Proposal]:
    """Propose joints with reversed sign, of position and effort or of one of them."""
    for j in trial.tried:
        sign = _turned(trial, j)
        both = f"reverse it: signs = {_list(sign)} in [drive], relative to the present ones"
        effort = f"reverse it: effort_signs = {_list(sign)} in [drive], relative to the present ones"
        yield Proposal(Setup(signs=sign), f"the sign of {_name(trial, j)} seems reversed, in position and effort", both)
        yield Proposal(Setup(effort_signs=sign), f"the sign of the effort of {_name(trial, j)} seems reversed", effort)
        only = Setup(signs=sign, effort_signs=sign)
        change = f"multiply signs and effort_signs in [drive] by {_list(sign)}"
        yield Proposal(only, f"the sign of the position of {_name(trial, j)} seems reversed", change)
    every = tuple(-1.0 for _ in range(trial.robot.n))
    change = f"multiply effort_signs in [drive] by {_list(every)}"
    yield Proposal(Setup(effort_signs=every), "the sign of all efforts seems reversed", change)


def units(trial: Trial) -> Iterator[Proposal]:
    """Propose a revolute joint in degrees among others in radians, or a prismatic joint in millimetres."""
    kinds = [trial.robot.joints[j].kind for j in trial.robot.independent]
    far = [j for j in trial.tried if np.ptp(trial.q[:, j]) > at.FAR]
    slides = [j for j in far if kinds[j] == "prismatic"]
    for some in ([j] for j in far):
        yield _in_unit(trial, some, kinds[some[0]])
    if len(slides) > 1:
        yield _in_unit(trial, slides, "prismatic")


def _in_unit(trial: Trial, some: list[int], kind: str) -> Proposal:
    unit, factor, key = UNITS[kind]
    factors = tuple(factor if j in some else 1.0 for j in range(trial.robot.n))
    verb = "seem" if len(some) > 1 else "seems"
    what = f"the position of {' and '.join(_name(trial, j) for j in some)} {verb} to be in {unit}"
    change = f"set {key} in [columns] if it applies to all such joints, else correct the log"
    return Proposal(Setup(units=factors), what, change)


def zeros(trial: Trial) -> Iterator[Proposal]:
    """Propose joints with a different zero position."""
    for j in trial.tried:
        is_turning = trial.robot.joints[trial.robot.independent[j]].kind == "revolute"
        steps = (TURNS if trial.has_masses else QUARTERS) if is_turning else SLIDES
        for value in steps:
            step = TURNS[1] - TURNS[0] if is_turning else SLIDES[1] - SLIDES[0]
            yield _zero(trial, j, value, step, is_turning)


def _zero(trial: Trial, j: int, value: float, step: float, is_turning: bool) -> Proposal:
    offsets = tuple(value if k == j else 0.0 for k in range(trial.robot.n))
    size = f"{math.degrees(value):.3g} degrees" if is_turning else f"{value:.3g} m"
    change = f"add {value:.4g} {'rad' if is_turning else 'm'} to its entry in offsets of [drive]"
    what = f"the zero of {_name(trial, j)} seems to be off by {size}"

    def nearby() -> Iterator[Proposal]:
        near = (value + part * step for part in NEARBY)
        return (_zero(trial, j, v, step, is_turning) for v in near if not is_turning or abs(v) >= at.TURNED)

    return Proposal(Setup(offsets=offsets), what, change, nearby)


def gravities(trial: Trial) -> Iterator[Proposal]:
    """Propose another direction of gravity, no gravity in the efforts, or reduced gravity."""
    stated = np.array(trial.robot.gravity)
    size = float(np.linalg.norm(stated))
    if size == 0:
        return
    none, change = "gravity seems to be compensated already in the logged efforts", "set gravity = [0, 0, 0]"
    change += ", or log the total effort"
    yield Proposal(Setup(gravity=(0.0, 0.0, 0.0)), none, change, _fitted(trial, stated))
    for direction in (*np.eye(3), *-np.eye(3), -stated / size):
        if direction @ stated < math.cos(at.ELSEWHERE) * size:
            yield _mounted(trial, stated, size * direction)


def _fitted(trial: Trial, stated: Array) -> Callable[[], Iterable[Proposal]]:
    """Function that proposes a fitted gravity (direction or magnitude); none if the robot file has no masses."""
    return (lambda: _fitted_gravity(trial, stated)) if trial.has_masses else tuple


def _fitted_gravity(trial: Trial, stated: Array) -> Iterator[Proposal]:
    """Propose the gravity direction that best fits the file's masses, or else a far smaller magnitude.

    The magnitude is proposed only if the fitted direction agrees with the specified one.
    """
    inertia, fitted = trial.inertia_and_gravity()
    size, length = float(np.linalg.norm(stated)), float(np.linalg.norm(fitted))
    if length > 0 and fitted @ stated < math.cos(at.ELSEWHERE) * size * length:
        yield _mounted(trial, stated, fitted * size / length)
    elif 0 < length < inertia * size / at.SCALE:
        part = length / (inertia * size)
        g = (part * float(stated[0]), part * float(stated[1]), part * float(stated[2]))
        what = f"only {100 * part:.0f} % of gravity seems to be in the efforts (is the rest compensated already?)"
        yield Proposal(Setup(gravity=g), what, f"set gravity = {_plain(g)}, or log the total effort")


def _mounted(trial: Trial, stated: Array, gravity: Array) -> Proposal:
    size = float(np.linalg.norm(stated))
    angle = math.degrees(math.acos(float(np.clip(stated @ gravity / size**2, -1, 1))))
    g = (float(gravity[0]), float(gravity[1]), float(gravity[2]))
    word = (
        "gravity seems reversed"
        if angle > 175
        else (f"gravity seems to point in another direction, by {angle:.0f} degrees")
    )
    what, change = f"{word} (is the robot mounted differently?)", f"set gravity = {_plain(g)}"
    return Proposal(Setup(gravity=g), what, change, _fitted(trial, stated))


def _plain(gravity: Sequence[float]) -> str:
    return _list([float(f"{v:.3g}") + 0.0 for v in gravity])


def clocks(trial: Trial) -> Iterator[Proposal]:
    """Propose other time units: gravity torque does not depend on the clock, inertia torque on its square.

    If gravity torque does not vary, the clock is as uncertain as the effort scale, and confounded with it except
    for friction.
    """
    if not any(trial.robot.gravity):
        return
    if not trial.has_masses or trial.shows_gravity:
        yield from (_clock(clock) for clock in (*CLOCKS, *_fitted_clock(trial)) if _is_other(clock))
        return
    found, clear, far = _far(trial)
    if 2 * far.sum() > clear.sum():
        yield replace(_clock(_typical(found[clear]) ** -0.5), nearby=tuple)


def _fitted_clock(trial: Trial) -> Iterator[float]:
    """Clock factor that best fits the file's masses, if gravity is about as specified."""
    if not trial.has_masses:
        return
    inertia, fitted = trial.inertia_and_gravity()
    length, stated = float(np.linalg.norm(fitted)), np.array(trial.robot.gravity)
    if inertia > 0 and fitted @ stated > math.cos(at.ELSEWHERE) * length * float(np.linalg.norm(stated)):
        yield math.sqrt(length / float(np.linalg.norm(stated)) / inertia)


def _is_other(clock: float) -> bool:
    return abs(math.log(clock)) > math.log(at.OTHER_CLOCK)


def _clock(clock: float) -> Proposal:
    step = math.log(CLOCKS[1] / CLOCKS[0])
    near = tuple(c for part in NEARBY if _is_other(c := clock * math.exp(part * step)))
    return _paced(clock, lambda: map(_clock, near))


def paces(trial: Trial) -> Iterator[Proposal]:
    """Propose clocks that are slightly wrong, such as 120 rows per second instead of 100.

    The ratio of inertia to gravity torque distinguishes them.
    """
    if any(trial.robot.gravity):
        yield from map(_pace, PACES)


def _pace(clock: float) -> Proposal:
    step = math.log(PACES[1] / PACES[0])
    near = [c for part in NEARBY if abs(math.log(c := clock * math.exp(part * step))) > math.log(at.OTHER_PACE)]
    return _paced(clock, lambda: map(_pace, near))


def _paced(clock: float, nearby: Callable[[], Iterable[Proposal]]) -> Proposal:
    what = f"the clock seems to be off: a second of the log is {clock:.3g} seconds"
    change = "give the unit of the time stamps with time_unit in [columns], or correct them"
    return Proposal(Setup(clock=clock), what, change, nearby)


def delays(trial: Trial) -> Iterator[Proposal]:
    """Propose delayed or advanced efforts."""
    for delay in DELAYS:
        yield _delay(delay)


def _delay(delay: float) -> Proposal:
    word = "lag" if delay > 0 else "lead"
    edge = " or more, the longest delay tried" if abs(delay) > 0.99 * LONGEST_DELAY else ""
    what = f"the efforts seem to {word} the positions by {abs(delay) * 1e3:.0f} ms{edge}"
    step, change = DELAYS[1] - DELAYS[0], f"add {delay:.3f} s to delay of [drive]"
    return Proposal(Setup(delay=delay), what, change, lambda: (_delay(delay + p * step) for p in NEARBY))


def scales(trial: Trial) -> Iterator[Proposal]:
    """Propose effort scales other than that of the file's masses: of one joint, or of most joints.

    A smaller error suffices for one joint than for several.  Too large an effort is no evidence unless a
    joint further out has the right scale: a tool that is missing in the file makes the efforts of a wrist
    thirty times as large.
    """
    if not trial.has_masses:
        return
    found, clear, far = _far(trial)
    if 2 * far.sum() > clear.sum():
        typical = _typical(found[clear])
        yield _sized(trial, np.where(clear, found, typical))
        yield _sized(trial, np.full(len(found), typical))
    near = far | _far(trial, at.CLEAR_SCALE, at.EXPLAINED_CLEARLY)[2]
    for k in np.flatnonzero(near if near.sum() == 1 else far):
        if found[k] < 1 or np.any(clear[k + 1 :] & ~far[k + 1 :]):
            yield _sized(trial, np.where(np.arange(len(found)) == k, found, 1.0))


def _far(
    trial: Trial, least: float = at.SCALE, part: float = at.EXPLAINED
) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_]]:
    """Ratio of each joint's effort to that of the file's masses, whether significant, and whether far from 1."""
    found, explained = trial.scales()
    clear = (explained > part) & (found > 0)
    return found, clear, clear & (np.abs(np.log(np.maximum(found, 1e-300))) > math.log(least))


def _typical(factors: Array) -> float:
    return float(np.exp(np.median(np.log(factors))))


def gains(trial: Trial) -> Iterator[Proposal]:
    """Propose an effort scale of one joint, confirmed by the other joints that move the same masses."""
    if len(trial.joints) < 2:
        return
    for j, factor in trial.fitted_gains().items():
        if abs(math.log(factor)) > math.log(at.OTHER_GAIN):
            yield _sized(trial, np.array([factor if k == j else 1.0 for k in trial.joints]))


def ratios(trial: Trial) -> Iterator[Proposal]:
    """Propose another position ratio of a joint, with its effort (a gear) or without (an encoder)."""
    for j in trial.tried:
        for factor in RATIOS:
            yield from (_ratio(trial, j, factor, with_effort) for with_effort in (True, False))


def _ratio(trial: Trial, j: int, factor: float, with_effort: bool) -> Proposal:
    every = tuple(factor if k == j else 1.0 for k in range(trial.robot.n))
    scales = tuple(1 / f for f in every) if with_effort else None
    and_effort = f" and its effort {1 / factor:.3g} times" if with_effort else ""
    what = (
        f"the ratio of {_name(trial, j)} seems to be wrong: its position is {factor:.3g} times the logged "
        f"one{and_effort}"
    )
    change = "check its entry in ratios of [drive], and its encoder resolution"
    step = math.log(RATIOS[1] / RATIOS[0])
    near = [f for part in NEARBY if abs(math.log(f := factor * math.exp(part * step))) > math.log(at.OTHER_RATIO)]
    return Proposal(
        Setup(units=every, scales=scales), what, change, lambda: (_ratio(trial, j, f, with_effort) for f in near)
    )


def drifts(trial: Trial) -> Iterator[Proposal]:
    """Propose a clock drift between positions and efforts: a growing delay, from the start or about the middle."""
    seconds = max(track.seconds for track in trial.tracks)
    for end in ENDS:
        yield from (_drift(trial, end / seconds, start) for start in (0.0, -end / 2))


def _drift(trial: Trial, drift: float, start: float) -> Proposal:
    what = (
        f"the clocks of positions and efforts seem to drift apart by {abs(drift) * 1e3:.3g} ms in each second (efforts "
        f"get {'later' if drift > 0 else 'earlier'})"
    )
    change = "log both with one clock, or correct the time stamps of one of them"
    near = [(1 + part) * drift for part in NEARBY]
    share = start / drift
    return Proposal(Setup(delay=start, drift=drift), what, change, lambda: (_drift(trial, d, share * d) for d in near))


def lates(trial: Trial) -> Iterator[Proposal]:
    """Propose a delayed or advanced effort of one joint relative to the others."""
    for j in trial.tried:
        for delay in LATES:
            yield _late(trial, j, delay)


def _late(trial: Trial, j: int, delay: float) -> Proposal:
    word = "lag" if delay > 0 else "lead"
    what = f"the effort of {_name(trial, j)} alone seems to {word} its position by {abs(delay) * 1e3:.0f} ms (a delay)"
    late = tuple(delay if k == j else 0.0 for k in range(trial.robot.n))
    step, change = LATES[-1] - LATES[-2], "log all joints with one clock, or shift this effort in the log"
    return Proposal(Setup(late=late), what, change, lambda: (_late(trial, j, delay + p * step) for p in NEARBY))


def couplings(trial: Trial) -> Iterator[Proposal]:
    """Propose a motor coupled to two neighbouring joints, which the robot file does not model."""
    if trial.robot.coupling is not None:
        return
    pairs = [(a, b) for a in trial.tried for b in (a - 1, a + 1) if b in trial.tried]
    for c in COUPLINGS:
        yield from (_coupling(trial, *pair, c) for pair in pairs)


def _coupling(trial: Trial, a: int, b: int, c: float) -> Proposal:
    first, second = _name(trial, a), _name(trial, b)
    what = f"{first} and {second} seem coupled: the motor of the second turns {c:.2g} times with the first"
    change = "give the coupling of the motors in the robot file"
    near = [c + part for part in NEARBY]
    return Proposal(Setup(coupled=(a, b, c)), what, change, lambda: (_coupling(trial, a, b, v) for v in near))


def lengths(trial: Trial) -> Iterator[Proposal]:
    """Propose the robot file of another size of the same family."""
    if trial.robot.open_cuts or not any(np.any(joint.p) for joint in trial.bare.joints[1:]):
        return
    yield from (_length(factor) for factor in LENGTHS)


def _length(factor: float) -> Proposal:
    what = f"the lengths between the joints seem to be {factor:.3g} times those of the robot file"
    change = "check whether the file describes another size of the same family, and give this robot's file"
    step = math.log(LENGTHS[1] / LENGTHS[0])
    near = [f for part in NEARBY if abs(math.log(f := factor * math.exp(part * step))) > math.log(at.OTHER_LENGTHS)]
    return Proposal(Setup(lengths=factor), what, change, lambda: map(_length, near))


def _sized(trial: Trial, found: Array) -> Proposal:
    factors = np.ones(trial.robot.n)
    factors[list(trial.joints)] = 1 / found
    change = (
        "check effort_unit of [columns], and gains, ratios and side (effort) of [drive]; gains that are "
        f"{_list([float(f'{v:.2g}') for v in factors])} times the present ones would fit the file's masses"
    )
    alone = np.flatnonzero(found != 1.0)
    if len(alone) == 1 and trial.robot.n > 1:
        own = _name(trial, trial.joints[alone[0]])
        what = f"the effort of {own} is {found[alone[0]]:.2g} times that predicted from the file's masses"
    else:
        low, high = float(found.min()), float(found.max())
        times = f"{low:.2g}" if high < 1.05 * low else f"{low:.2g} to {high:.2g}"
        what = (
            f"the efforts are {times} times those predicted from the file's masses (currents, motor side, "
            "another unit?)"
        )
    return Proposal(Setup(scales=tuple(factors.tolist())), what, change)


CHECKS: dict[str, Proposing] = {
    "scale": scales,
    "gain": gains,
    "order": exchanged,
    "signs": signs,
    "units": units,
    "zeros": zeros,
    "gravity": gravities,
    "clock": clocks,
    "delay": delays,
    "ratio": ratios,
    "drift": drifts,
    "late": lates,
    "coupling": couplings,
    "lengths": lengths,
    "pace": paces,
}
